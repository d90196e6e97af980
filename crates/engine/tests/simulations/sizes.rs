//! Inputs that need more memory than any machine has are refused with the number, before anything is
//! allocated.

use jostle_engine::{Overrides, Simulation};
use jostle_io::{Input, memory};
use std::path::Path;

/// An input of ions with particle-mesh Ewald.
fn ions(system: &str, more: &str) -> String {
    format!(
        r#"units = "real"
[system]
{system}
temperature = 300
[species.A]
mass = 30
charge = 1
fraction = 0.5
[species.B]
mass = 40
charge = -1
fraction = 0.5
[[force]]
kind = "lennard-jones"
cutoff = 8
mixing = "lorentz-berthelot"
pairs."A-A" = {{ epsilon = 0.1, sigma = 3 }}
pairs."B-B" = {{ epsilon = 0.1, sigma = 3 }}
[electrostatics]
kind = "pme"
[[stage]]
steps = 10
timestep = 1
{more}
"#
    )
}

/// Message, line and hint of the error of an input.
fn refused(text: &str) -> (String, Option<usize>, String) {
    let error = Input::parse(Path::new("ions.toml"), text)
        .and_then(|input| Simulation::from_input(&input, &Overrides::default()).map(|_| ()))
        .unwrap_err();
    let line = error.place().and_then(|place| place.line);
    (error.message().to_string(), line, error.help().unwrap_or_default().to_string())
}

const RANDOM: &str = "place = \"random\"\natoms = 1000\ndensity = \"1 g/cm3\"";

#[test]
fn sizes_too_large_are_refused_with_the_number() {
    let heavy = |mass: &str| ions(RANDOM, "").replace("mass = 30", mass);
    let copied = format!("{RANDOM}\nreplicate = [1_000_000, 1_000_000, 1_000]");
    for (text, message, line, hint) in [
        // The mesh of a box that follows from an absurd mass.
        (
            heavy("mass = 1e20"),
            "reciprocal-space sums in a box of ",
            Some(21),
            "look at the box, or at the density",
        ),
        (heavy("mass = 1e200"), "reciprocal-space sums in a box of ", Some(21), "look at the box"),
        (
            heavy("mass = 1e20").replace("\"pme\"", "\"ewald\""),
            "reciprocal-space sums in a box of ",
            Some(21),
            "",
        ),
        (
            ions(&copied, ""),
            "1,000,000,000,000,000,000 atoms would take at least 16.0 EiB",
            Some(6),
            "fewer atoms",
        ),
        (
            ions(RANDOM, "[run]\nskin = 1e9"),
            "skin = 1000000000.0 is longer than lists can reach",
            None,
            "leave it out",
        ),
        (
            ions(RANDOM, "[run]\nthreads = 1e9"),
            "threads = 1000000000, but at most 1024",
            None,
            "leave it out",
        ),
        (
            ions(RANDOM, "[run]\nskin = 1e300"),
            "skin = 1e300 is longer than lists can reach",
            None,
            "leave it out",
        ),
    ] {
        let (said, at, help) = refused(&text);
        assert!(said.contains(message) && help.contains(hint), "{said} / {help}");
        assert_eq!(at, line, "{said}");
    }
}

/// Boxes whose volume overflows or underflows are refused as such; flat boxes are refused for other reasons.
#[test]
fn boxes_out_of_all_bounds_are_refused() {
    let sized = |lengths: &str| {
        let system =
            format!("place = \"random\"\natoms = 1000\nbox = {{ lengths = {lengths} }}\nmin_distance = 1e-9");
        refused(&ions(&system, "")).0
    };
    // Faces whose squared area overflows.
    for lengths in
        ["[7e100, 7e100, 7e100]", "[1e150, 1e150, 1e150]", "[1e-320, 20, 20]", "[1e-200, 1e-200, 20]"]
    {
        assert!(sized(lengths).contains("is out of all bounds"), "{}", sized(lengths));
    }
    assert!(sized("[1e-3, 1e3, 1e3]").contains("more than half the box"), "{}", sized("[1e-3, 1e3, 1e3]"));
    let flat = "place = \"water\"\nmolecules = 1000\nbond_length = 1\nbond_angle = 109\nbox = { lengths = [1e-3, 1e-3, 1e12] }";
    let said = refused(&ions(flat, "").replace("fraction = 0.5", "")).0;
    assert!(said.contains("more than half the box"), "{said}");
}

/// Boxes whose lattice has room for a cut-off, but that are tilted by more than half an edge: the error says which tilts
/// are those of the same lattice.
#[test]
fn tilts_of_more_than_half_an_edge_are_named() {
    let tilted = |tilts: &str| {
        let system = format!(
            "place = \"random\"\natoms = 1000\nbox = {{ lengths = [40, 40, 40], tilts = {tilts} }}\nmin_distance = 1e-3"
        );
        refused(&ions(&system, ""))
    };
    let (said, _, help) = tilted("[120, 190, 160]");
    assert!(said.contains("more than half the box"), "{said}");
    // yz = 160 - 4 40; xz = 190 - 4 120 + 7 40; xy = 120 - 3 40.
    assert!(help.contains("xy = 0, xz = -10, yz = 0"), "{help}");
}

/// Nearly as many atoms as 32-bit numbers count, in every way of building a system, on a machine without
/// memory for them.
#[test]
fn atoms_that_no_memory_holds_are_refused() {
    let atoms = 4_000_000_000;
    if memory::available().is_none_or(|bytes| bytes > atoms * memory::BYTES_PER_ATOM) {
        eprintln!("skipped: this machine has memory for {atoms} atoms");
        return;
    }
    let density = "density = 0.02";
    let water = "molecules = 1_333_333_333\nbond_length = 1\nbond_angle = 109";
    for system in [
        format!("place = \"random\"\natoms = {atoms}\n{density}"),
        format!("lattice = \"sc\"\natoms = {atoms}\n{density}"),
        format!("lattice = \"sc\"\ncells = [1000, 1000, 4000]\n{density}"),
        format!("place = \"chains\"\nchains = 4_000\nbeads = 1_000_000\nbond_length = 1\n{density}"),
        format!("place = \"water\"\n{water}\n{density}"),
    ] {
        let text = ions(&system, "");
        let text = if system.contains("water") { text.replace("fraction = 0.5", "") } else { text };
        let (said, line, help) = refused(&text);
        assert!(said.contains("atoms would take at least 1.8 TiB of memory, but only"), "{system}: {said}");
        assert_eq!(line, Some(4), "{system}: {said}");
        assert!(help.contains("ask for fewer atoms"), "{help}");
    }
    // The sum of the counts of species is checked as well.
    let counts = ions(&format!("place = \"random\"\n{density}"), "").replace("fraction = 0.5", "count = 2e9");
    assert!(refused(&counts).0.starts_with("4,000,000,000 atoms would take"), "{:?}", refused(&counts));
}
