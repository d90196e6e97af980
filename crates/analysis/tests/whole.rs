//! Boxes that change, and structures that their faces cut.

use jostle_analysis::{MeasureSettings, MoleculeView, Paths, Polarity, Results, SystemInfo, View, kinds};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vec3, Vector};

/// Planes of atoms of a simple cubic crystal along each axis.
const PLANES: usize = 4;
/// Mean square distance of its atoms from their centre in squares of their spacing: 3 (0.5^2 + 1.5^2) / 2.
const SIZE: f64 = 3.75;

/// Frames of a trajectory: boxes and positions, wrapped.
type Frame = (SimBox, Vec<Vec3>);

/// Joined atoms: molecule of each, and its vector from the first atom of its molecule in a frame.
type Joined<'a> = &'a dyn Fn(&Frame) -> (Vec<u32>, Vec<Vec3>);

fn cube(edge: f64) -> SimBox {
    SimBox::orthorhombic([edge; 3]).unwrap()
}

/// Results of a kind of analysis; crossings of the box before the first frame by atom.
fn analyze(
    kind: &str,
    settings: &[&str],
    frames: &[Frame],
    joined: Option<Joined>,
    crossed: &[[i32; 3]],
) -> Results {
    let kind = kinds::find(kind).unwrap();
    let words: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let settings = MeasureSettings::parse(&words, kind.settings, UnitSystem::Lj).unwrap();
    let system_info = SystemInfo {
        units: UnitSystem::Lj,
        names: vec!["A".into()],
        species: vec![0; frames[0].1.len()],
        simbox: frames[0].0,
        polarity: Polarity::Unknown,
        unmoved: 0,
    };
    let mut measure = kind.measure(&system_info, &settings).unwrap();
    let mut paths = Paths::default();
    for (k, frame) in frames.iter().enumerate() {
        let (simbox, positions) = frame;
        let unwrapped = paths.advance(simbox, positions, None).1.iter().enumerate();
        let crossed = |k: usize| simbox.shift(crossed.get(k).copied().unwrap_or_default());
        let unwrapped: Vec<Vec3> = unwrapped.map(|(k, r)| *r + crossed(k)).collect();
        let joined = joined.map(|joined| joined(frame));
        let molecules = joined.as_ref().map(|(of_atoms, arms)| MoleculeView { of_atoms, arms });
        let view = View {
            time: Some(0.1 * k as f64),
            simbox,
            lattice: simbox,
            positions,
            unwrapped: &unwrapped,
            images: None,
            molecules,
            velocities: None,
            whole: None,
        };
        measure.add(&view).unwrap();
    }
    measure.results().unwrap()
}

/// A crystal without noise, row by row, in a box of so many times its size.
fn crystal(scale: f64) -> Frame {
    let spacing = |n: usize| scale * (n as f64 + 0.3);
    let sites = (0..PLANES.pow(3)).map(|k| [k / PLANES / PLANES, k / PLANES % PLANES, k % PLANES]);
    (cube(scale * PLANES as f64), sites.map(|site| Vector(site.map(spacing))).collect())
}

fn each_alone(frame: &Frame) -> (Vec<u32>, Vec<Vec3>) {
    ((0..frame.1.len() as u32).collect(), vec![Vec3::ZERO; frame.1.len()])
}

/// A crystal that grows by a hundredth deviates by as much of its radius, whether its atoms are known to be unbound or
/// bonds are not known, and whatever faces they crossed before.
#[test]
fn unbound_atoms_deviate_by_the_growth_of_one_box() {
    let frames = [1.0, 1.01, 0.98, 1.01].map(crystal);
    let mut stream = Stream::new(1, Purpose::Test, 0, 0);
    let crossings: Vec<[i32; 3]> =
        (0..PLANES.pow(3)).map(|_| [0; 3].map(|_: i32| (5.0 * stream.normal()) as i32)).collect();
    for joined in [None, Some(&each_alone as Joined)] {
        for crossed in [&[][..], &crossings] {
            let results = analyze("rmsd", &[], &frames, joined, crossed);
            let last = results.get("last deviation").unwrap().value;
            assert!((last - 0.01 * SIZE.sqrt()).abs() < 1e-9, "{last}");
            let largest = results.get("largest deviation").unwrap().value;
            assert!((largest - 0.02 * SIZE.sqrt()).abs() < 1e-9, "{largest}");
        }
    }
}

/// Atoms that nothing joins are a cluster and no chain: one that fills the box is as large as the box.
#[test]
fn unbound_atoms_are_no_chain() {
    let length = format!("length={}", PLANES.pow(3));
    let results = analyze("gyration", &[&length], &[crystal(1.0)], Some(&each_alone), &[]);
    let size = results.get("squared radius of gyration").unwrap().value;
    assert!((size - SIZE).abs() < 1e-9, "{size}");
    assert!(results.warning("radius of gyration").is_none());
    // The list of atoms whose bonds are not known is followed, and leads beyond the box.
    let results = analyze("gyration", &[&length], &[crystal(1.0)], None, &[]);
    let warning = results.warning("radius of gyration").unwrap();
    assert!(warning.reason.contains("longer than the box"), "{warning}");
}

/// A rod longer than the box that turns and moves by nearly half a box from frame to frame: along its bonds it keeps its
/// shape and size, in any order of its atoms.
#[test]
fn bonds_keep_molecules_whole() {
    let (edge, bond, count) = (4.0, 0.9, 8usize);
    let frame = |k: usize| {
        let (sin, cos) = (0.9 * k as f64).sin_cos();
        let place =
            |n: usize| Vector([cos, sin, 0.0]) * (bond * n as f64) + Vec3::from_fn(|_| 1.9 * k as f64);
        // Every other atom, and the rest: the list is not the chain.
        let order = (0..count).map(|k| if k < count / 2 { 2 * k } else { 2 * (k - count / 2) + 1 });
        let wrapped = |r: Vec3| r.map(|x| x.rem_euclid(edge));
        (cube(edge), order.map(|n| wrapped(place(n))).collect::<Vec<Vec3>>())
    };
    let frames: Vec<Frame> = (0..6).map(frame).collect();
    let along = |(simbox, positions): &Frame| {
        let mut arms = vec![Vec3::ZERO; count];
        let atom = |n: usize| n / 2 + if n % 2 == 1 { count / 2 } else { 0 };
        for n in 1..count {
            let [before, after] = [atom(n - 1), atom(n)];
            arms[after] = arms[before] + simbox.nearest_image(positions[after] - positions[before]);
        }
        (vec![0; count], arms)
    };
    let results = analyze("rmsd", &[], &frames, Some(&along), &[]);
    let largest = results.get("largest deviation").unwrap().value;
    assert!(largest < 1e-6, "{largest}");
    let results = analyze("gyration", &[&format!("length={count}")], &frames, Some(&along), &[]);
    let size = results.get("squared radius of gyration").unwrap().value;
    let expected = bond * bond * (count * count - 1) as f64 / 12.0;
    assert!((size - expected).abs() < 1e-9, "{size}");
}

/// The correction of diffusion for the size of the box is that of the mean edge: 2.837297 k_B T / (6 pi eta L).
#[test]
fn diffusion_is_corrected_for_the_mean_size_of_the_box() {
    let mut stream = Stream::new(1, Purpose::Test, 5, 1);
    let mut at = vec![Vector([0.5; 3]); 50];
    let frames: Vec<Frame> = (0..400)
        .map(|k| {
            at.iter_mut().for_each(|r| *r = r.map(|x| x + 0.01 * stream.normal()));
            let edge = if k == 0 { 10.0 } else { 5.0 };
            (cube(edge), at.iter().map(|r| edge * r.map(|x| x.rem_euclid(1.0))).collect())
        })
        .collect();
    let results = analyze("msd", &["viscosity=2", "temperature=3"], &frames, None, &[]);
    let value = |name: &str| results.get(name).unwrap().value;
    let shift = value("diffusion coefficient all, infinite box") - value("diffusion coefficient all");
    let edge = 5.0 + 5.0 / 400.0;
    assert!((shift / (2.837297 * 3.0 / (6.0 * std::f64::consts::PI * 2.0 * edge)) - 1.0).abs() < 1e-9);
}
