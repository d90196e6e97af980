//! Systems of OpenMM as other programs make them.

use jostle_core::{Error, UnitSystem};
use jostle_io::forcefield::Molecules;
use jostle_io::input::model::{MoleculesInput, Rigid};
use std::fs;
use std::path::PathBuf;

/// A System of four atoms with a torsion of this energy, k = 10 kJ/mol and theta0 = 180 degrees.
fn read(energy: &str) -> Result<Molecules, Error> {
    let text = format!(
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
    );
    let folder = tempfile::tempdir().unwrap();
    let topology = folder.path().join("a.xml");
    fs::write(&topology, text).unwrap();
    let files = MoleculesInput {
        topology,
        parameters: Vec::new(),
        define: Vec::new(),
        include: Vec::new(),
        coordinates: PathBuf::new(),
        rigid: Rigid::None,
        hydrogen_mass: None,
    };
    Molecules::read(&files, UnitSystem::Nano)
}

/// Impropers of CHARMM, k times the square of the shorter way around the circle, in the words of OpenMM and of ParmEd.
#[test]
fn harmonic_impropers_of_openmm_and_parmed_are_read() {
    let parmed = "k*dtheta_torus^2;dtheta_torus = dtheta - floor(dtheta/(2*pi)+0.5)*(2*pi);\
                  dtheta = theta - theta0;pi = 3.141593;";
    let energies = [
        "k*(theta-theta0)^2",
        "k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0);pi = 3.141593;",
        parmed,
    ];
    for energy in energies {
        let molecules = read(energy).unwrap_or_else(|e| panic!("{energy}: {e}"));
        let kind = molecules.topology.dihedrals[0].kind as usize;
        let parameters = molecules.forces.dihedrals.iter().find_map(|term| term.parameters(kind));
        // A spring has half of its stiffness in its energy.
        assert_eq!(parameters.unwrap(), [20.0, 180.0], "{energy}");
    }
    let error = read(&parmed.replace("+0.5", "+0.4")).unwrap_err();
    assert!(error.message().contains("CustomTorsionForce"), "{error}");
}
