//! Boxes and settings that would take all memory or all time are refused with the number.

use jostle_analysis::{Kind, MeasureSettings, Polarity, Results, SystemInfo, View, Whole, kinds};
use jostle_core::{Result, SimBox, UnitSystem, Vec3, Vector};

/// Two frames of a kind with those of these settings that it has, else its defaults.
fn analyze(kind: &Kind, settings: &[(&str, f64)], simbox: SimBox, positions: &[Vec3]) -> Result<Results> {
    let settings = MeasureSettings::of(kind.settings, |s| {
        settings.iter().find(|(name, _)| *name == s.name).map(|(_, value)| *value)
    });
    let species = vec![0; positions.len()];
    let system_info = SystemInfo {
        units: UnitSystem::Lj,
        names: vec!["A".into()],
        species,
        simbox,
        polarity: Polarity::Neutral,
        unmoved: 0,
    };
    let mut measure = kind.measure(&system_info, &settings)?;
    for frame in 0..2 {
        let view = View {
            time: Some(f64::from(frame)),
            simbox: &simbox,
            lattice: &simbox,
            positions,
            unwrapped: positions,
            images: None,
            molecules: None,
            velocities: Some(positions),
            whole: Some(Whole {
                kinetic: 1.0,
                total: 1.0,
                degrees_of_freedom: 9,
                pressure: Some([1.0; 6]),
                dipole: Some(Vector([1.0; 3])),
                current: Some(Vector([1.0; 3])),
                heat_current: Some(Vector([1.0; 3])),
            }),
        };
        measure.add(&view)?;
    }
    measure.results()
}

fn three() -> Vec<Vec3> {
    vec![Vector([1.0; 3]), Vector([2.0; 3]), Vector([3.0; 3])]
}

const USUAL: [(&str, f64); 4] = [("cutoff", 1.5), ("length", 3.0), ("radius", 1.5), ("spacing", 1.0)];

/// An edge that is hardly a number, and one that is 1e-10: no kind hangs, and those that go by distances say
/// why they do not go on.
#[test]
fn a_box_without_a_volume_is_refused() {
    for kind in kinds::ALL {
        let simbox = SimBox::orthorhombic([1e-320, 5.0, 5.0]).unwrap();
        let refused = analyze(kind, &USUAL, simbox, &three()).unwrap_err().to_string();
        assert!(refused.contains("e-320"), "{}: {refused}", kind.name);
    }
    for edges in [[1e-10, 5.0, 5.0], [5.0, 5.0, 1e-10], [1e-10; 3]] {
        let simbox = SimBox::orthorhombic(edges).unwrap();
        for kind in kinds::ALL.iter().filter(|kind| kind.observable.positions()) {
            let found = analyze(kind, &USUAL, simbox, &three());
            let by_distance = ["rdf", "van-hove", "clusters", "bond-order", "minkowski"].contains(&kind.name);
            if let Err(refused) = &found {
                println!("{}: {refused}", kind.name);
            }
            assert!(!by_distance || found.is_err(), "{}", kind.name);
            if let Err(refused) = found {
                assert!(refused.to_string().chars().any(|c| c.is_ascii_digit()), "{refused}");
            }
        }
    }
}

#[test]
fn settings_that_ask_for_too_much_are_refused_with_the_number() {
    let simbox = SimBox::orthorhombic([5.0; 3]).unwrap();
    for (kind, settings, said) in [
        ("rdf", &[("cutoff", 1e5)][..], "cells"),
        ("clusters", &[("cutoff", 1e5)], "cells"),
        ("bond-order", &[("cutoff", 1e5)], "cells"),
        ("van-hove", &[("cutoff", 1e5)], "cells"),
        ("structure-factor", &[("largest", 1e6)], "wave vectors"),
        ("minkowski", &[("radius", 1.0), ("voxel", 1e-6)], "voxels"),
    ] {
        let kind = kinds::find(kind).unwrap();
        let refused = analyze(kind, settings, simbox, &three()).unwrap_err();
        println!("{}: {refused}", kind.name);
        assert!(refused.to_string().contains(said), "{}: {refused}", kind.name);
        assert!(refused.help().is_some());
    }
}

/// Memory that grows with the atoms is estimated before the first frame.
#[test]
fn systems_that_do_not_fit_are_refused_before_they_begin() {
    let simbox = SimBox::orthorhombic([1e3; 3]).unwrap();
    let begin = |kind: &str, settings: &[(&str, f64)], names: usize, atoms: usize| {
        let kind = kinds::find(kind).unwrap();
        let settings = MeasureSettings::of(kind.settings, |s| {
            settings.iter().find(|(name, _)| *name == s.name).map(|(_, value)| *value)
        });
        let names = (0..names).map(|k| format!("A{k}")).collect();
        let species = vec![0; atoms];
        let system_info = SystemInfo {
            units: UnitSystem::Lj,
            names,
            species,
            simbox,
            polarity: Polarity::Unknown,
            unmoved: 0,
        };
        kind.measure(&system_info, &settings).map(|_| ()).map_err(|e| e.to_string())
    };
    let million = 1_000_000;
    for (kind, settings, names, atoms, said) in [
        ("rdf", &[("bins", 1e5)][..], 100, 1000, "GiB"),
        ("vacf", &[("lags", 1e4), ("origins", 1.0)], 1, million, "GiB"),
        ("van-hove", &[("lags", 12.0)], 1, million, "GiB"),
        ("lindemann", &[], 1, 8 * million, "GiB"),
        ("msd", &[], 1, 8 * million, "GiB"),
        ("gyration", &[("length", 8e6)], 1, 8 * million, "a frame"),
    ] {
        let refused = begin(kind, settings, names, atoms).unwrap_err();
        assert!(refused.contains(said), "{kind}: {refused}");
    }
    for (kind, settings) in
        [("rdf", &[][..]), ("vacf", &[]), ("van-hove", &[]), ("lindemann", &[]), ("msd", &[])]
    {
        begin(kind, settings, 1, million).unwrap();
    }
}

/// A clump in a wide box, and lists of neighbours that would fill a machine: estimated around the atoms, not
/// from the mean density.
#[test]
fn dense_clumps_are_seen_before_their_pairs_are_kept() {
    let simbox = SimBox::orthorhombic([1e4; 3]).unwrap();
    let n = 40_000;
    let place = |k: usize| Vector([0.618, 0.755, 0.570]).map(|part| (k as f64 * part).fract());
    let clump: Vec<Vec3> = (0..n).map(place).collect();
    for kind in ["bond-order", "clusters"] {
        let refused = analyze(kinds::find(kind).unwrap(), &[("cutoff", 2.0)], simbox, &clump).unwrap_err();
        assert!(refused.to_string().contains("GiB"), "{refused}");
    }
}
