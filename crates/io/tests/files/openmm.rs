//! Systems of OpenMM: custom forces that are read, and those that are refused with their line.

use crate::forcefields::{SYSTEM, read};
use jostle_core::{Error, UnitSystem};
use jostle_io::forcefield::Molecules;

/// A System of four atoms with a torsion of this energy, k = 10 kJ/mol and theta0 = 180 degrees.
fn torsion(energy: &str) -> String {
    format!(
        r#"<System openmmVersion="8" type="System" version="1">
<Particles>{atoms}</Particles>
<Constraints/>
<Forces>
<Force type="CustomTorsionForce" energy="{energy}">
<PerTorsionParameters><Parameter name="k"/><Parameter name="theta0"/></PerTorsionParameters>
<Torsions><Torsion p1="0" p2="1" p3="2" p4="3" param1="10" param2="3.141592653589793"/></Torsions>
</Force>
<Force type="NonbondedForce" method="0"><Particles>{charges}</Particles><Exceptions/></Force>
</Forces>
</System>
"#,
        atoms = r#"<Particle mass="12"/>"#.repeat(4),
        charges = r#"<Particle eps="0" q="0" sig="1"/>"#.repeat(4),
    )
}

/// Impropers of CHARMM, k times the square of the shorter way around the circle, in the words of OpenMM and of ParmEd.
#[test]
fn harmonic_impropers_of_openmm_and_parmed_are_read() {
    let parmed = "k*dtheta_torus^2;dtheta_torus = dtheta - floor(dtheta/(2*pi)+0.5)*(2*pi);\
                  dtheta = theta - theta0;pi = 3.141593;";
    let energies = [
        "k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0);pi = 3.1415926535",
        "0.5*K*x*x; K = 2*k; x = min(2*pi-y, y); y = abs(theta0-theta)",
        parmed,
    ];
    for energy in energies {
        let molecules = read(&torsion(energy), UnitSystem::Nano).unwrap_or_else(|e| panic!("{energy}: {e}"));
        let kind = molecules.topology.dihedrals[0].kind as usize;
        let parameters = molecules.forces.dihedrals.iter().find_map(|term| term.parameters(kind));
        // A spring has half of its stiffness in its energy.
        assert_eq!(parameters.unwrap(), [20.0, 180.0], "{energy}");
    }
    let half = "0.5*k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0); pi = 3.1415926535";
    let energies = [(half, 10.0), ("k*(theta-theta0)^2", 20.0)];
    for (energy, stiffness) in energies {
        let read = read(&torsion(energy).replace("3.141592653589793", "0"), UnitSystem::Nano).unwrap();
        assert_eq!(read.forces.dihedrals[0].parameters(0).unwrap(), [stiffness, 0.0], "{energy}");
    }
    // OpenMM takes them as they are written.
    for energy in ["k*(theta-theta0)^2", &half.replace("3.1415926535", "3.2")] {
        let error = read(&torsion(energy), UnitSystem::Nano).unwrap_err();
        assert!(error.message().contains("theta0 = 3.141592653589793 jumps"), "{error}");
        assert_eq!(error.place().unwrap().line, Some(7), "{error}");
        assert!(error.help().unwrap().contains("min(dtheta, 2*pi-dtheta)"), "{error}");
    }
    for energy in [
        &parmed.replace("+0.5", "+0.4"),
        "k*(1-cos(theta-theta0))",
        "scale*k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0)",
        "min(k*min(dtheta, 2*pi-dtheta)^2, 50); dtheta = abs(theta-theta0)",
        "0.25*k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0)",
        "k*d^2; d = d*d",
        ";",
    ] {
        let error = read(&torsion(energy), UnitSystem::Nano).unwrap_err();
        assert!(error.message().contains("CustomTorsionForce"), "{energy}: {error}");
    }
}

/// Lennard-Jones forces by pairs of types, with elements behind the particles, a kind and the values of the tables, and
/// the second particle's type.
fn table(elements: &str, kind: &str, values: [f64; 4], second: &str) -> Result<Molecules, Error> {
    let values: String = values.iter().map(|v| format!("<Value v=\"{v}\"/>")).collect();
    let function = |name: &str| {
        format!(
            r#"<Function name="{name}" type="{kind}" xsize="2" ysize="2"><Values>{values}</Values></Function>"#
        )
    };
    let force = format!(
        r#"<Force type="CustomNonbondedForce" energy="acoef(type1,type2)/r^12-bcoef(type1,type2)/r^6" method="0">
<PerParticleParameters><Parameter name="type"/></PerParticleParameters>
<Particles><Particle param1="0"/><Particle param1="{second}"/></Particles>
<Exclusions><Exclusion p1="0" p2="1"/></Exclusions>
<Functions>{}
{}</Functions>
{elements}</Force>
</Forces>"#,
        function("acoef"),
        function("bcoef")
    );
    let uncharged = SYSTEM.replace("eps=\"0.65\"", "eps=\"0\"");
    read(&uncharged.replace("</Forces>", &force), UnitSystem::Nano)
}

/// Tables and groups that would give pairs other forces than those of their types.
#[test]
fn forces_by_pairs_of_types_are_those_of_all_pairs() {
    let (kind, values) = ("Discrete2DFunction", [1.0, 2.0, 2.0, 4.0]);
    let groups = "<InteractionGroups>\n<InteractionGroup/></InteractionGroups>";
    let found = table("<InteractionGroups/>", kind, values, "1").unwrap();
    // Of a / r^12 - a / r^6 the well has the depth a / 4, and the size 1.
    assert_eq!(found.lennard_jones, [[0.25, 1.0], [0.5, 1.0], [0.5, 1.0], [1.0, 1.0]]);
    let rounded = [1.0, 2.0, 2.0 + 4.0 * f64::EPSILON, 4.0];
    assert!(table("", kind, rounded, "1").is_ok());
    for (found, line, message) in [
        (table(groups, kind, values, "1"), 23, "between two groups of atoms"),
        (
            table("", kind, [1.0, 2.0, 3.0, 4.0], "1"),
            20,
            "acoef of the types 0 and 1 is 3 in one order and 2",
        ),
        (table("", "Continuous2DFunction", values, "1"), 20, "acoef is a Continuous2DFunction"),
        (table("", kind, values, "0.5"), 18, "the type 0.5, which is none"),
        (table("", kind, values, "-1"), 18, "the type -1, which is none"),
        (table("<Switches/>", kind, values, "1"), 22, "does not know Switches of a CustomNonbondedForce"),
    ] {
        let Err(error) = found else { panic!("{message}: read") };
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.place().unwrap().line, Some(line), "{error}");
    }
}
