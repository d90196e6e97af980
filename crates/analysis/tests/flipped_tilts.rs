//! Boxes under shear whose tilts are brought back to half an edge, as LAMMPS does: the same lattice, and the same paths.

use jostle_analysis::{MeasureSettings, Paths, Polarity, Results, SystemInfo, View, kinds};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vec3};

/// Edge of the box.
const EDGE: f64 = 10.0;

/// Tilts of the files.
#[derive(Clone, Copy, PartialEq)]
enum Tilts {
    Growing,
    Flipped,
}

/// Results for 100 atoms that walk at random, by 0.1 along each axis and frame, beside following a box that is sheared at
/// a rate a frame: from positions in the box, with counted crossings or without.
fn analyze(kind: &str, rate: f64, written: Tilts, counted: bool) -> Results {
    let kind = kinds::find(kind).unwrap();
    let settings: &[String] = if kind.name == "msd" { &[] } else { &["cutoff=2".into()] };
    let settings = MeasureSettings::parse(settings, kind.settings, UnitSystem::Lj).unwrap();
    let mut stream = Stream::new(5, Purpose::Test, 0, 0);
    let mut atoms: Vec<Vec3> = (0..100).map(|_| Vec3::from_fn(|_| stream.uniform())).collect();
    let (mut measure, mut paths) = (None, Paths::default());
    for k in 0..120 {
        let tilt = EDGE * rate * f64::from(k);
        let box_of = |tilts| SimBox::new([0.0; 3], [EDGE; 3], tilts, [true; 3]).unwrap();
        let growing = box_of([tilt, 0.3 * tilt, -tilt]);
        let simbox = match written {
            Tilts::Growing => growing,
            Tilts::Flipped => {
                let nearest = |tilt: f64| tilt - (tilt / EDGE).round() * EDGE;
                // The third edge takes the tilted second one along.
                let xz = 0.3 * tilt - (-tilt / EDGE).round() * tilt;
                box_of([tilt, xz, -tilt].map(nearest))
            }
        };
        let step = |stream: &mut Stream| growing.to_fractional(Vec3::from_fn(|_| 0.1 * stream.normal()));
        atoms.iter_mut().for_each(|s| *s += step(&mut stream));
        let mut wrapped: Vec<Vec3> = atoms.iter().map(|s| growing.to_cartesian(*s)).collect();
        let mut images = vec![[0; 3]; atoms.len()];
        wrapped.iter_mut().zip(&mut images).for_each(|(r, image)| simbox.wrap(r, image));
        let images = counted.then_some(&images[..]);
        let (lattice, unwrapped) = paths.advance(&simbox, &wrapped, images);
        let measure = measure.get_or_insert_with(|| {
            let (names, species) = (vec!["A".into()], vec![0; atoms.len()]);
            let polarity = Polarity::Unknown;
            let info = SystemInfo { units: UnitSystem::Lj, names, species, simbox, polarity, unmoved: 0 };
            kind.measure(&info, &settings).unwrap()
        });
        let view = View {
            time: Some(f64::from(k)),
            simbox: &simbox,
            lattice: &lattice,
            positions: &wrapped,
            unwrapped,
            images,
            molecules: None,
            velocities: None,
            whole: None,
        };
        measure.add(&view).unwrap();
    }
    measure.unwrap().results().unwrap()
}

/// Displacements beyond the flow are those of the walk, whatever the tilts of the file and its counts of crossings.
#[test]
fn displacements_are_those_of_the_lattice() {
    let (msd, own, others) = (("msd", "msd all"), ("van-hove", "self 1"), ("van-hove", "distinct 2"));
    for ((kind, column), rate) in [(msd, 0.005), (msd, 0.03), (own, 0.005), (others, 0.005)] {
        let values = |written, counted| {
            let results = analyze(kind, rate, written, counted);
            results.tables[0].column(column).unwrap().to_vec()
        };
        let expected = values(Tilts::Growing, false);
        if kind == "msd" {
            // Squares of 36,000 numbers, to one percent.
            assert!((expected[1] / 0.03 - 1.0).abs() < 0.04, "{expected:?}");
        }
        for (written, counted) in [(Tilts::Flipped, false), (Tilts::Growing, true), (Tilts::Flipped, true)] {
            let found = values(written, counted);
            let same = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()));
            assert!(found.len() == expected.len() && same, "{kind} {rate}: {found:?} {expected:?}");
        }
    }
}
