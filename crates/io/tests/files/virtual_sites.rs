//! Points that follow atoms in files of other programs: what is read, and what is refused and why.

use jostle_core::{Arms, Error, SiteRule, UnitSystem};
use jostle_io::forcefield::Molecules;
use jostle_io::input::model::{MoleculesInput, Rigid};
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the results of `tests/external/make_sites_reference.py`.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/data/sites");

/// A topology of the reference with something in place of something else.
fn read(name: &str, changes: &[(&str, &str)]) -> Result<Molecules, Error> {
    let mut text = fs::read_to_string(Path::new(DATA).join(name)).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from:?}");
        text = text.replacen(from, to, 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let topology = folder.path().join(name);
    fs::write(&topology, text).unwrap();
    let parameters = match name.ends_with(".psf") {
        true => vec![Path::new(DATA).join("lone_pairs.prm")],
        false => Vec::new(),
    };
    let files = MoleculesInput {
        topology,
        parameters,
        define: Vec::new(),
        include: Vec::new(),
        coordinates: PathBuf::new(),
        rigid: Rigid::None,
        hydrogen_mass: None,
    };
    Molecules::read(&files, UnitSystem::Nano)
}

fn refused(name: &str, changes: &[(&str, &str)], message: &str) {
    let Err(error) = read(name, changes) else { panic!("{changes:?} are read") };
    assert!(error.message().contains(message) && error.place().is_some(), "{changes:?}: {error}");
}

/// The rule of a point, and its atoms.
fn rule(molecules: &Molecules, site: u32) -> ([u32; 3], SiteRule) {
    let site = molecules.topology.virtual_sites.iter().find(|v| v.site == site).unwrap();
    (site.atoms, site.rule)
}

fn excludes(molecules: &Molecules, a: u32, b: u32) -> bool {
    molecules.topology.excluded.iter().any(|pair| *pair == [a, b] || *pair == [b, a])
}

const FIRST: &str = "       2       1   F          1.64             0             0";
const SECOND: &str = "       3       4   F         -0.15             0             0";
const NO_HOSTS: &str = "       0       1   F             0             0             0";

/// Distances of zero mean on an atom, or in the middle of others, by mass or not.
#[test]
fn lone_pairs_may_be_averages() {
    let put = |line: &str| read("lone_pairs.psf", &[(FIRST, line)]).map(|m| rule(&m, 8)).unwrap();
    assert_eq!(put("1 1 F 0.0 0.0 0.0"), ([2, 2, 2], SiteRule::Average([1.0, 0.0, 0.0])));
    assert_eq!(put("2 1 F 0.0 0.0 0.0"), ([2, 0, 0], SiteRule::Average([0.5, 0.5, 0.0])));
    let (carbon, chlorine) = (12.011, 35.453);
    let share = chlorine / (carbon + chlorine);
    let (_, by_mass) = put("2 1 T 0.0 0.0 0.0");
    let SiteRule::Average([a, b, c]) = by_mass else { panic!("{by_mass:?}") };
    assert!((a - share).abs() < 1e-12 && (a + b - 1.0).abs() < 1e-12 && c == 0.0, "{by_mass:?}");
    // The site is this part of the distance of both atoms beyond the first.
    assert_eq!(put("2 1 F 0.0 0.5 0.0"), ([2, 0, 0], SiteRule::Average([1.5, -0.5, 0.0])));
    let (_, both) = put("2 1 F 1.64 0.5 0.0");
    let SiteRule::Frame(frame) = both else { panic!("{both:?}") };
    assert_eq!((frame.origin, frame.x), ([-0.5, 0.0], [-1.0, 0.0]));
    assert!((frame.place[0] - 0.164).abs() < 1e-12, "{frame:?}");
    let water = read("lone_pairs.psf", &[(SECOND, "3 4 F 0.0 0.0 0.0")]).map(|m| rule(&m, 12)).unwrap();
    assert_eq!(water, ([9, 10, 11], SiteRule::Average([1.0 / 3.0; 3])));
}

/// Lone pairs have the exclusions of their first hosts, and no 1-4 pairs of their own.
#[test]
fn lone_pairs_have_the_forces_of_their_hosts() {
    let molecules = read("lone_pairs.psf", &[]).unwrap();
    for other in [0, 1, 2, 3, 4] {
        assert!(excludes(&molecules, 8, other), "{other}");
    }
    assert!(!excludes(&molecules, 8, 5) && excludes(&molecules, 2, 5));
    assert!(excludes(&molecules, 17, 18));
}

#[test]
fn lone_pairs_without_hosts_are_refused() {
    let psf = |changes: &[(&str, &str)], message: &str| refused("lone_pairs.psf", changes, message);
    let hosts = "       9       3       1      13";
    psf(
        &[(hosts, "       9      33       1      13")],
        "the lone pair atom 9 (LP1 of M1 1, chain MOL): there is no atom 33",
    );
    psf(&[(hosts, "      99       3       1      13")], "there is no atom 99");
    psf(&[(hosts, "       9       3       3      13")], "axes of the virtual site atom 9");
    psf(&[(FIRST, NO_HOSTS)], "it is fixed in space");
    psf(&[(FIRST, "4 1 F 0.0 0.0 0.0")], "it is the centre of 4 atoms");
    psf(&[(FIRST, "2 15 F 1.64 0.0 0.0")], "2 hosts from place 15 on, but NUMLP has 15 atoms");
    psf(&[(FIRST, "2 0 F 1.64 0.0 0.0")], "2 hosts from place 0 on");
    psf(&[(FIRST, "2 1 X 1.64 0.0 0.0")], "\"X\" should be T or F");
    psf(&[(FIRST, "2 1 F 1.64 nan 0.0")], "the angle is NaN");
    psf(&[("      15 !NUMLP", "      16 !NUMLP")], "NUMLP has 15 of 16 numbers");
}

/// A System may have weights that make no axes, or points on more atoms than three.
#[test]
fn sites_in_local_coordinates_are_checked() {
    let xml = |changes: &[(&str, &str)], message: &str| refused("lone_pairs.xml", changes, message);
    let (_, both) = rule(&read("lone_pairs.xml", &[]).unwrap(), 12);
    let SiteRule::Frame(frame) = both else { panic!("{both:?}") };
    assert_eq!((frame.arms, frame.origin, frame.x), (Arms::AsLong, [0.0; 2], [0.5, 0.5]));
    xml(&[("wo1=\"1\"", "wo1=\"0.9\"")], "the weights wo of a virtual site add up to 0.9, not to 1");
    xml(&[("wx1=\"1\"", "wx1=\"0.9\"")], "the weights wx");
    xml(
        &[("wx1=\"1\" wx2=\"-1\"", "wx1=\"0\" wx2=\"0\"")],
        "axes of the virtual site atom 9 have no direction",
    );
    xml(&[("<LocalCoordinatesSite p1", "<LocalCoordinatesSite p4=\"3\" p1")], "of more than three atoms");
    xml(&[("<LocalCoordinatesSite", "<SymmetrySite")], "unknown virtual site, SymmetrySite");
}

/// TIP5P in a prmtop is that of OpenMM's force field, point by point, but for the digits that distances have.
#[test]
fn five_sites_of_water_are_those_of_openmm() {
    let molecules = read("extra_points.prmtop", &[]).unwrap();
    for (site, across) in [(20, -6.4437903), (21, 6.4437903)] {
        let (atoms, found) = rule(&molecules, site);
        let SiteRule::OutOfPlane([a, b, c]) = found else { panic!("{found:?}") };
        assert_eq!(atoms, [17, 18, 19]);
        assert!((a + 0.34490826).abs() < 2e-4 && a == b && (c - across).abs() < 1e-3, "{found:?}");
    }
    // Points are excluded from what their atoms are, whatever the file says, and from each other.
    assert!(excludes(&molecules, 5, 3) && excludes(&molecules, 5, 6) && excludes(&molecules, 0, 5));
    assert!(molecules.topology.angles.iter().all(|angle| !angle.atoms.contains(&5)));
    assert!(molecules.topology.dihedrals.iter().all(|dihedral| !dihedral.atoms.contains(&5)));
}

#[test]
fn extra_points_without_a_frame_are_refused() {
    let prmtop = |changes: &[(&str, &str)], message: &str| refused("extra_points.prmtop", changes, message);
    let [first, second] = ["      30      27      28      -1      -1       4", "      -1       5      32"];
    // Bonds of the ether: of its oxygen with both carbons and both points.
    let bonds = "       0       3       4       0       6       4";
    let points = |rest: &str| {
        ("       0      15       7       0      18       7", format!("       0      15       7{rest}"))
    };
    for (rest, message) in [
        (
            "       9      18       7",
            "atom 7 (EP2 of R0 1) is an extra point on atom 4 (C3 of R0 1), which has one neighbour",
        ),
        ("       0       9       7", "is an extra point on atom 1 (O of R0 1), which has 3 neighbours"),
        (
            "      15      18       7",
            "atom 6 (EP1 of R0 1) is an extra point on atom 7 (EP2 of R0 1), which has 0 neighbours",
        ),
        ("       3      15       7", "atom 6 (EP1 of R0 1) has no mass, and 2 frames"),
        (
            "     900      18       7",
            "atom 7 (EP2 of R0 1) is an extra point on atom 301, which has 0 neighbours",
        ),
    ] {
        let (from, to) = points(rest);
        prmtop(&[(from, &to)], message);
    }
    prmtop(
        &[(bonds, "       0       3       4      18       6       4")],
        "is an extra point on atom 1 (O of R0 1), which has one neighbour, so that",
    );
    prmtop(&[(first, "      99      27      28      -1      -1       4")], "there is no atom 99");
    prmtop(&[(first, "      30      27      99      -1      -1       4")], "there is no atom 99");
    prmtop(
        &[(first, "      30      27      28      -1      -1      10")],
        "atom 30 (EP4 of R5 6) has a frame of the kind 10",
    );
    prmtop(&[(second, "      -1       3      32")], "a frame of the kind 3");
    let last = [
        ("      35      27      28      -1      -1       9\n", ""),
        (" -4.00000000E-01  0.00000000E+00  0.00000000E+00\n", ""),
    ];
    prmtop(&last, "atom 35 (EP9 of R5 6) has no mass, and 0 frames");
    prmtop(&[(" -4.00000000E-01  0.00000000E+00  0.00000000E+00\n", "")], "has 15 numbers for 6 frames");
    prmtop(&[(second, "      -1       5")], "is not made of rows of 6 numbers");
}
