//! Displacements in a box that breathes.

use jostle_analysis::{MeasureSettings, Polarity, Results, SystemInfo, View, kinds};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vec3, Vector};

/// Atoms do not move because the box breathes and they with it: the same walk in a box that changes and in one so large
/// that nothing crosses it.
#[test]
fn a_box_that_breathes_adds_no_displacement() {
    let kind = kinds::find("msd").unwrap();
    let cube = |edge: f64| SimBox::orthorhombic([edge; 3]).unwrap();
    let walk = |edge: &dyn Fn(usize) -> f64| {
        let (n, simbox) = (50, cube(edge(0)));
        let (names, species, polarity) = (vec!["A".into()], vec![0; n], Polarity::Unknown);
        let system_info = SystemInfo { units: UnitSystem::Lj, names, species, simbox, polarity, unmoved: 0 };
        let settings = MeasureSettings::parse(&[], kind.settings, UnitSystem::Lj).unwrap();
        let mut measure = kind.measure(&system_info, &settings).unwrap();
        let (mut at, mut images) = (vec![Vector([2.5; 3]); n], vec![[0; 3]; n]);
        let mut stream = Stream::new(5, Purpose::Test, 0, 0);
        for frame in 0..400 {
            let simbox = cube(edge(frame));
            let stretch = edge(frame) / edge(frame.saturating_sub(1));
            for (r, image) in at.iter_mut().zip(&mut images) {
                *r = r.map(|x| x * stretch + 0.3 * stream.normal());
                simbox.wrap(r, image);
            }
            let whole = at.iter().zip(&images).map(|(r, n)| *r + simbox.shift(*n));
            let view = View {
                time: Some(0.1 * frame as f64),
                simbox: &simbox,
                lattice: &simbox,
                positions: &at,
                unwrapped: &whole.collect::<Vec<Vec3>>(),
                images: Some(&images),
                molecules: None,
                velocities: None,
                whole: None,
            };
            measure.add(&view).unwrap();
        }
        assert!(edge(0) > 1e3 || images.as_flattened().iter().any(|n| n.abs() > 1));
        measure.results().unwrap()
    };
    let (breathing, still) = (walk(&|frame| 5.0 + 0.3 * (0.7 * frame as f64).sin()), walk(&|_| 1e4));
    let msd = |results: &Results| results.tables[0].column("msd all").unwrap().to_vec();
    for (a, b) in msd(&breathing).iter().zip(msd(&still)) {
        // Displacements are as long as the box is large when they end, 6 % more or less; few of them end at the longest
        // lags. On paths shifted by whole edges those of one step would have the changes of several edges in them.
        assert!((a - b).abs() <= 0.03 * b, "{a} {b}");
    }
}
