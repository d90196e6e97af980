//! The first peak of g(r) of crystals whose atoms scatter about their places, and of gases, which have none.

use jostle_analysis::{MeasureSettings, Polarity, Results, SystemInfo, View, kinds};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vec3, Vector};

fn rdf(edge: f64, frames: impl Iterator<Item = Vec<Vec3>>, words: &[&str]) -> Results {
    let (kind, simbox) = (kinds::find("rdf").unwrap(), SimBox::orthorhombic([edge; 3]).unwrap());
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    let settings = MeasureSettings::parse(&words, kind.settings, UnitSystem::Lj).unwrap();
    let mut measure = None;
    for (k, positions) in frames.enumerate() {
        let system_info = || SystemInfo {
            units: UnitSystem::Lj,
            names: vec!["A".into()],
            species: vec![0; positions.len()],
            simbox,
            polarity: Polarity::Unknown,
            unmoved: 0,
        };
        let measure = measure.get_or_insert_with(|| kind.measure(&system_info(), &settings).unwrap());
        let view = View {
            time: Some(k as f64),
            simbox: &simbox,
            lattice: &simbox,
            positions: &positions,
            unwrapped: &positions,
            images: None,
            molecules: None,
            velocities: None,
            whole: None,
        };
        measure.add(&view).unwrap();
    }
    measure.unwrap().results().unwrap()
}

/// Atoms of so many cells of a lattice, each displaced at random.
fn scattered(
    basis: &[[f64; 3]],
    (cells, constant): (usize, f64),
    noise: f64,
    frames: u64,
    seed: u64,
) -> impl Iterator<Item = Vec<Vec3>> {
    (0..frames).map(move |frame| {
        let mut stream = Stream::new(seed, Purpose::Test, 0, frame);
        let cell = |n: usize| [n / (cells * cells), n / cells % cells, n % cells].map(|n| n as f64);
        let atoms = (0..cells.pow(3)).flat_map(|n| basis.iter().map(move |site| (cell(n), *site)));
        let place = |(cell, site): ([f64; 3], [f64; 3])| {
            Vector([0, 1, 2].map(|k| constant * (cell[k] + site[k]) + noise * stream.normal()))
        };
        atoms.map(place).collect()
    })
}

/// The eight places of a cell of diamond.
fn diamond() -> Vec<[f64; 3]> {
    let faces = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    faces.iter().flat_map(|r| [*r, r.map(|x| x + 0.25)]).collect()
}

/// The nearest neighbours of diamond are four, those of a simple cubic lattice six; the next twelve make a higher peak.
#[test]
fn the_first_peak_is_that_of_the_nearest() {
    let silicon = rdf(3.0 * 5.431, scattered(&diamond(), (3, 5.431), 0.15, 20, 1), &["cutoff=8"]);
    let cubic = rdf(6.0, scattered(&[[0.0; 3]], (6, 1.0), 0.03, 40, 2), &[]);
    for (results, expected) in [(silicon, 5.431 * 0.75f64.sqrt() / 2.0), (cubic, 1.0)] {
        let place = results.get("first peak all").unwrap();
        // Scatter of s in each atom takes the maximum of g(r), which has 1/r^2 in it, inwards by about 4 s^2 / r.
        assert!((place.value / expected - 0.99).abs() < 0.012, "{place:?}");
        assert!(place.error.unwrap() < 0.01 * expected, "{place:?}");
        let table = results.tables.iter().find(|table| table.name == "rdf").unwrap();
        let (r, g) = (&table.columns[0].values, table.column("g all").unwrap());
        let near = r.iter().zip(g).filter(|(r, _)| **r < 1.15 * expected).map(|(_, g)| *g);
        let highest = near.fold(0.0, f64::max);
        let height = results.get("height of first peak all").unwrap();
        assert!((height.value / highest - 1.0).abs() < 0.1, "{height:?} {highest}");
    }
}

/// Places scatter from series to series by their errors.
#[test]
fn the_error_of_the_place_is_its_scatter() {
    let basis = diamond();
    for (noise, bins) in [(0.15, "bins=200"), (0.2, "bins=100"), (0.2, "bins=400")] {
        let places: Vec<(f64, f64)> = (0..100)
            .map(|seed| {
                let frames = scattered(&basis, (2, 5.431), noise, 16, seed);
                let place =
                    rdf(2.0 * 5.431, frames, &["cutoff=5.4", bins]).get("first peak all").unwrap().clone();
                (place.value, place.error.unwrap())
            })
            .collect();
        let mean = places.iter().map(|place| place.0).sum::<f64>() / 100.0;
        let chi = places.iter().map(|(place, error)| ((place - mean) / error).powi(2)).sum::<f64>() / 99.0;
        let scatter = places.iter().map(|place| (place.0 - mean).powi(2)).sum::<f64>() / 99.0;
        println!("{noise} {bins}: {mean} scatter {} chi {chi}", scatter.sqrt());
        assert!((0.3..1.7).contains(&chi), "{noise}, {bins}: {mean}, chi square {chi}");
        assert!(scatter.sqrt() < 0.03, "{noise}, {bins}: {mean} {scatter}");
    }
}

/// Atoms at random have no peak.
#[test]
fn a_gas_has_no_first_peak() {
    let mut found = 0;
    for seed in 0..60 {
        let frames = (0..20).map(|frame| {
            let mut stream = Stream::new(seed, Purpose::Test, 1, frame);
            let mut uniform = || (stream.normal() * 1e3).rem_euclid(8.0);
            (0..200).map(|_| Vector([uniform(), uniform(), uniform()])).collect()
        });
        let results = rdf(8.0, frames, &[]);
        found += usize::from(results.get("first peak all").is_some());
        let reason = results.warning("first peak all").map(|warning| warning.reason.clone());
        assert!(reason.is_none_or(|reason| reason.contains("stands out from its noise")));
    }
    assert!(found <= 1, "{found} of 60");
}
