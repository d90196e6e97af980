//! Densities that an open box has not, and atoms that are alone.

use jostle_analysis::{MeasureSettings, Polarity, ResultWarning, Results, SystemInfo, Verdict, View, kinds};
use jostle_core::{Result, SimBox, UnitSystem, Vec3, Vector};

/// Three frames of atoms that stay.
fn analyze(kind: &str, settings: &[&str], simbox: SimBox, positions: &[Vec3]) -> Result<Results> {
    let kind = kinds::find(kind).unwrap();
    let words: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let settings = MeasureSettings::parse(&words, kind.settings, UnitSystem::Lj)?;
    let system_info = SystemInfo {
        units: UnitSystem::Lj,
        names: vec!["A".into()],
        species: vec![0; positions.len()],
        simbox,
        polarity: Polarity::Unknown,
        unmoved: 0,
    };
    let mut measure = kind.measure(&system_info, &settings)?;
    for frame in 0..3 {
        measure.add(&View {
            time: Some(f64::from(frame)),
            simbox: &simbox,
            lattice: &simbox,
            positions,
            unwrapped: positions,
            images: None,
            molecules: None,
            velocities: None,
            whole: None,
        })?;
    }
    measure.results()
}

/// A simple cubic crystal of so many atoms along each axis.
fn cubic(n: u32) -> Vec<Vec3> {
    let place = |k: u32| Vector([k % n, k / n % n, k / (n * n)].map(|index| f64::from(index) + 0.5));
    (0..n.pow(3)).map(place).collect()
}

fn simbox(height: f64, periodic: [bool; 3]) -> SimBox {
    SimBox::new([0.0; 3], [6.0, 6.0, height], [0.0; 3], periodic).unwrap()
}

const FILM: [bool; 3] = [true, true, false];

fn warning<'a>(results: &'a Results, about: &str) -> &'a ResultWarning {
    results.warning(about).unwrap_or_else(|| panic!("no warning about {about}: {:?}", results.warnings))
}

/// The open edge says nothing: g(r) is named as doubtful, and numbers of neighbours do not depend on it.
#[test]
fn open_boxes_have_no_density() {
    let atoms = cubic(6);
    let around = |height| {
        let results = analyze("rdf", &["cutoff=2.5"], simbox(height, FILM), &atoms).unwrap();
        let doubt = warning(&results, "g(r)");
        assert_eq!(doubt.verdict, Verdict::Doubtful);
        assert!(doubt.reason.contains("no density") && doubt.remedy.contains("coordination"), "{doubt}");
        let table = results.tables.iter().find(|table| table.name == "coordination").unwrap();
        table.column("n all").unwrap().to_vec()
    };
    assert_eq!(around(6.0), around(60.0));
    let results = analyze("van-hove", &["cutoff=2.5", "lags=1"], simbox(6.0, FILM), &atoms).unwrap();
    assert!(warning(&results, "distinct part").reason.contains("no density"));
    for kind in ["rdf", "van-hove"] {
        let results = analyze(kind, &["cutoff=2.5"], simbox(6.0, [true; 3]), &atoms).unwrap();
        assert!(results.warnings.iter().all(|w| !w.reason.contains("density")), "{:?}", results.warnings);
    }
}

/// Slices of a film have an area only where they are parallel to it.
#[test]
fn slices_across_a_film_have_no_area() {
    let atoms = cubic(6);
    let along =
        |axis: &str| analyze("density-profile", &[axis, "bins=6"], simbox(6.0, FILM), &atoms).unwrap();
    assert!(warning(&along("axis=1"), "density").reason.contains("no area"));
    assert_eq!(along("axis=3").warnings, []);
}

#[test]
fn the_distance_of_neighbours_is_no_default_in_an_open_box() {
    let atoms = cubic(6);
    for periodic in [FILM, [false; 3]] {
        let refused = analyze("bond-order", &[], simbox(6.0, periodic), &atoms).unwrap_err();
        assert!(refused.to_string().contains("the cutoff must be given"), "{refused}");
        assert!(refused.help().is_some_and(|hint| hint.contains("cutoff=")));
        analyze("bond-order", &["cutoff=1.2"], simbox(6.0, periodic), &atoms).unwrap();
    }
}

/// Two atoms of ten have a neighbour: q4 and q6 of a single bond are 1, and eight atoms are not in the means.
#[test]
fn atoms_without_neighbours_are_named() {
    let wide = SimBox::orthorhombic([100.0; 3]).unwrap();
    let mut atoms: Vec<Vec3> = (0..9).map(|k| Vector([10.0 * f64::from(k), 5.0, 5.0])).collect();
    atoms.push(Vector([1.0, 5.0, 5.0]));
    let results = analyze("bond-order", &["cutoff=1.5"], wide, &atoms).unwrap();
    let doubt = warning(&results, "q4, q6 and w6");
    assert!(doubt.verdict == Verdict::Doubtful && doubt.reason.starts_with("80 % of the atoms"), "{doubt}");
    for name in ["q4", "q6", "averaged q6"] {
        assert!((results.get(name).unwrap().value - 1.0).abs() < 1e-12, "{name}");
    }
    assert!((results.get("neighbours").unwrap().value - 0.2).abs() < 1e-12);
    // The distribution is that of the atoms that the means are of: all of it at 1.
    let of_q6 = results.tables[0].column("p(averaged q6)").unwrap();
    assert_eq!((of_q6[0], of_q6[99]), (0.0, 100.0));

    let alone = analyze("bond-order", &["cutoff=0.1"], wide, &atoms).unwrap();
    assert_eq!(warning(&alone, "q4, q6 and w6").verdict, Verdict::Withheld);
    assert!(alone.get("q4").is_none() && alone.get("averaged w6").is_none(), "{:?}", alone.values);
    assert_eq!(alone.get("neighbours").unwrap().value, 0.0);
    assert!(alone.values.iter().all(|value| value.value.is_finite()), "{:?}", alone.values);
}

#[test]
fn settings_of_bond_order_that_make_no_sense_are_refused() {
    let (atoms, small) = (cubic(6), simbox(6.0, [true; 3]));
    for threshold in ["threshold=1.5", "threshold=-1.01"] {
        let refused = analyze("bond-order", &[threshold], small, &atoms).unwrap_err();
        assert!(refused.to_string().contains("-1 to 1") && refused.help().is_some(), "{refused}");
    }
    analyze("bond-order", &["threshold=-1"], small, &atoms).unwrap();
    let far = analyze("bond-order", &["cutoff=3.5"], small, &atoms).unwrap();
    assert!(warning(&far, "bond order").reason.contains("half the smallest width"));
    let near = analyze("bond-order", &["cutoff=1.2"], small, &atoms).unwrap();
    assert_eq!(near.warnings, []);
    // Some 33 000 neighbours of each atom.
    let refused = analyze("bond-order", &["cutoff=20"], small, &atoms).unwrap_err();
    assert!(refused.to_string().contains("neighbours within 20") && refused.help().is_some(), "{refused}");
}
