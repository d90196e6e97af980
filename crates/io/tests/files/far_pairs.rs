//! Exceptions and bonded terms of OpenMM whose atoms are no nearest images of each other.

use crate::forcefields::files;
use jostle_core::{Error, UnitSystem};
use jostle_io::forcefield::Molecules;
use std::fs;

/// A chain of four atoms in a cube of 2 nm, with an exception between its ends.
fn chain(exception: &str, charge: f64, periodic: &str) -> String {
    let bonds: String =
        (0..3).map(|k| format!(r#"<Bond p1="{k}" p2="{}" d="0.3" k="1000"/>"#, k + 1)).collect();
    format!(
        r#"<System openmmVersion="8" type="System" version="1">
<PeriodicBoxVectors><A x="2" y="0" z="0"/><B x="0" y="2" z="0"/><C x="0" y="0" z="2"/></PeriodicBoxVectors>
<Particles>{atoms}</Particles>
<Constraints/>
<Forces>
<Force type="HarmonicBondForce"><Bonds>{bonds}</Bonds></Force>
<Force type="NonbondedForce" method="4" {periodic}><Particles>{particles}</Particles><Exceptions>
<Exception p1="0" p2="3" {exception} sig="0.3"/>
</Exceptions></Force>
</Forces>
</System>
"#,
        atoms = r#"<Particle mass="12"/>"#.repeat(4),
        particles = format!(r#"<Particle eps="0.1" q="{charge}" sig="0.3"/>"#).repeat(4),
    )
}

/// The system with these x of its atoms.
fn system(text: &str, x: [f64; 4]) -> Result<(), Error> {
    let folder = tempfile::tempdir().unwrap();
    let (topology, coordinates) = (folder.path().join("a.xml"), folder.path().join("a.xyz"));
    fs::write(&topology, text).unwrap();
    let atoms: String = x.iter().map(|x| format!("C {x} 1 1\n")).collect();
    fs::write(
        &coordinates,
        format!("4\nLattice=\"2 0 0 0 2 0 0 0 2\" Properties=species:S:1:pos:R:3 units=nano\n{atoms}"),
    )
    .unwrap();
    let files = jostle_io::input::model::MoleculesInput { coordinates, ..files(&topology, &[]) };
    let mut molecules = Molecules::read(&files, UnitSystem::Nano)?;
    let coordinates = molecules.take_coordinates(&files)?;
    molecules.into_system(coordinates, None).map(drop)
}

#[test]
fn exceptions_are_between_nearest_images_or_refused() {
    let (near, far) = ([0.1, 0.4, 0.7, 1.0], [0.1, 0.5, 0.9, 1.3]);
    // Molecules may have been wrapped into the box.
    let wrapped = |x: [f64; 4]| x.map(|x| (x + 1.3) % 2.0);
    let force = r#"eps="0.2" q="0""#;
    let none = r#"eps="0" q="0""#;
    for x in [near, wrapped(near)] {
        system(&chain(force, 0.1, ""), x).unwrap();
    }
    for x in [far, wrapped(far)] {
        for text in
            [chain(force, 0.0, ""), chain(force, 0.0, r#"exceptionsUsePeriodic="0""#), chain(none, 0.1, "")]
        {
            let error = system(&text, x).unwrap_err();
            assert!(error.message().contains("atom 1 and atom 4, which are an exception"), "{error}");
            assert!(error.help().unwrap().contains("setExceptionsUsePeriodic"), "{error}");
        }
        system(&chain(force, 0.1, r#"exceptionsUsePeriodic="1""#), x).unwrap();
        // Nothing acts between atoms without charges that are excluded.
        system(&chain(none, 0.0, ""), x).unwrap();
        system(&chain(force, 0.1, "").replace("method=\"4\"", "method=\"0\""), x).unwrap();
    }
}

/// A chain of four atoms with one more force.
fn chain_with(kind: &str, periodic: &str, term: &str) -> String {
    let force = format!(r#"<Force type="{kind}" {periodic}>{term}</Force>"#);
    chain(r#"eps="0" q="0""#, 0.0, "").replace("<Forces>", &format!("<Forces>{force}"))
}

/// The first bond of the chain.
const BOND: &str = r#"p1="0" p2="1" d="0.3" k="1000""#;

#[test]
fn bonded_terms_are_between_nearest_images_or_refused() {
    let near = [0.1, 0.4, 0.7, 1.0];
    let wrapped = near.map(|x| (x + 1.3) % 2.0);
    // An image of the second atom is 0.7 nm from the first one, the atom itself 1.3 nm.
    let far = [0.1, 1.4, 1.7, 2.0];
    let terms = [
        ("HarmonicBondForce", r#"<Bonds><Bond p1="0" p2="1" d="0.3" k="9"/></Bonds>"#, "which a bond joins"),
        (
            "HarmonicAngleForce",
            r#"<Angles><Angle p1="0" p2="3" p3="1" a="2" k="9"/></Angles>"#,
            "of an angle or a torsion",
        ),
        (
            "PeriodicTorsionForce",
            r#"<Torsions><Torsion p1="0" p2="3" p3="1" p4="2" k="9" periodicity="1" phase="0"/></Torsions>"#,
            "of an angle or a torsion",
        ),
    ];
    for (kind, term, what) in terms {
        for x in [near, wrapped] {
            system(&chain_with(kind, "", term), x).unwrap();
        }
        // Without the first bond of the chain nothing else joins the first atom to the rest.
        let loose = |text: String| text.replace(&format!("<Bond {BOND}/>"), "");
        for periodic in ["", r#"usesPeriodic="0""#] {
            let error = system(&loose(chain_with(kind, periodic, term)), far).unwrap_err();
            assert!(error.message().contains(what), "{error}");
            assert!(error.help().unwrap().contains("setUsesPeriodicBoundaryConditions(True)"), "{error}");
        }
        let text = loose(chain_with(kind, r#"usesPeriodic="1""#, term));
        system(&text, far).unwrap();
        system(&text.replace("method=\"4\"", "method=\"0\""), far).unwrap();
    }
}
