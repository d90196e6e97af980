//! Every kind of analysis against a case that is known exactly.

use jostle_analysis::{
    Kind, MeasureSettings, Observable, Paths, Polarity, Results, SystemInfo, View, Whole, kinds, restore,
    save,
};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vec3, Vector};

struct Frame {
    positions: Vec<Vec3>,
    velocities: Option<Vec<Vec3>>,
}

/// Frames at times 0, 0.1, 0.2, ...
fn analyze(kind: &str, settings: &[&str], simbox: &SimBox, frames: impl Iterator<Item = Frame>) -> Results {
    let kind: &Kind = kinds::find(kind).unwrap();
    let words: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let settings = MeasureSettings::parse(&words, kind.settings, UnitSystem::Lj).unwrap();
    let (mut measure, mut paths) = (None, Paths::default());
    for (k, frame) in frames.enumerate() {
        let n = frame.positions.len();
        let measure = measure.get_or_insert_with(|| {
            let (names, species) =
                (vec!["A".into(), "B".into()], (0..n).map(|k| u16::from(k % 4 == 0)).collect());
            let polarity = Polarity::Unknown;
            let system_info =
                SystemInfo { units: UnitSystem::Lj, names, species, simbox: *simbox, polarity, unmoved: 0 };
            kind.measure(&system_info, &settings).unwrap()
        });
        let view = View {
            time: Some(0.1 * k as f64),
            simbox,
            lattice: simbox,
            positions: &frame.positions,
            unwrapped: paths.advance(simbox, &frame.positions, None).1,
            images: None,
            molecules: None,
            velocities: frame.velocities.as_deref(),
            whole: None,
        };
        measure.add(&view).unwrap();
    }
    measure.unwrap().results().unwrap()
}

fn at_rest(positions: Vec<Vec3>) -> Frame {
    Frame { positions, velocities: None }
}

/// Deviation of a value from the exact one, in its errors.
fn off(results: &Results, name: &str, expected: f64) -> f64 {
    let value = results.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", results.values));
    let error = value.error.unwrap();
    assert!(error > 0.0 && error < 0.2 * expected.abs().max(1.0), "{name}: {} ± {error}", value.value);
    (value.value - expected) / error
}

fn gas(n: usize, simbox: SimBox, frames: u64) -> impl Iterator<Item = Frame> {
    (0..frames).map(move |k| {
        let mut stream = Stream::new(k, Purpose::Test, 0, 0);
        let mut uniform = || (stream.normal() * 1e3).rem_euclid(1.0);
        at_rest((0..n).map(|_| simbox.to_cartesian(Vector([uniform(), uniform(), uniform()]))).collect())
    })
}

/// Mean square of (value - expected) / error: 1 for independent values with right errors.
fn chi_square(
    results: &Results,
    table: &str,
    column: &str,
    expected: impl Fn(f64) -> f64,
    above: f64,
) -> f64 {
    let table = results.tables.iter().find(|t| t.name == table).unwrap();
    let (values, errors) = (table.column(column).unwrap(), table.column(&format!("{column} error")).unwrap());
    let rows = (0..values.len()).filter(|k| table.columns[0].values[*k] > above && errors[*k] > 0.0);
    let squares: Vec<f64> =
        rows.map(|k| ((values[k] - expected(table.columns[0].values[k])) / errors[k]).powi(2)).collect();
    assert!(squares.len() > 10, "{} of {} rows", squares.len(), values.len());
    squares.iter().sum::<f64>() / squares.len() as f64
}

#[test]
fn an_ideal_gas_has_no_structure() {
    let simbox = SimBox::new([0.0; 3], [8.0, 9.0, 10.0], [2.0, -1.0, 1.5], [true; 3]).unwrap();
    let results = analyze("rdf", &["bins=40"], &simbox, gas(400, simbox, 64));
    for column in ["g all", "g A-A", "g A-B", "g B-B"] {
        let chi = chi_square(&results, "rdf", column, |_| 1.0, 0.5);
        assert!((0.4..2.0).contains(&chi), "{column}: {chi}");
    }
    // N_A around a B: all of them within a sphere.
    let density = 300.0 / simbox.volume();
    let expected = |r: f64| 4.0 / 3.0 * std::f64::consts::PI * r.powi(3) * 100.0 / 300.0 * density;
    let around = results.tables.iter().find(|t| t.name == "coordination").unwrap();
    let (r, n) = (&around.columns[0].values, around.column("n A-B").unwrap());
    assert!((n[39] / expected(r[39]) - 1.0).abs() < 0.02, "{} {}", n[39], expected(r[39]));
    let direct = analyze("structure-factor", &["bins=20", "largest=6"], &simbox, gas(400, simbox, 64));
    let chi = chi_square(&direct, "structure-factor", "S", |_| 1.0, 0.0);
    assert!((0.3..2.5).contains(&chi), "{chi}");
    let van_hove = analyze("van-hove", &["bins=40", "lags=2"], &simbox, gas(400, simbox, 64));
    let chi = chi_square(&van_hove, "van-hove", "distinct 0.1", |_| 1.0, 0.5);
    assert!((0.4..2.0).contains(&chi), "{chi}");
    let profile = analyze("density-profile", &["axis=2", "bins=20"], &simbox, gas(400, simbox, 64));
    let chi = chi_square(&profile, "density-profile", "density all", |_| 400.0 / simbox.volume(), 0.0);
    assert!((0.3..2.5).contains(&chi), "{chi}");
}

/// S(q) of a crystal is N at a reciprocal lattice vector and 0 between.
#[test]
fn a_crystal_scatters_at_its_reciprocal_lattice() {
    let simbox = SimBox::orthorhombic([6.0; 3]).unwrap();
    let sc = crystal(&[Vec3::ZERO], 6);
    let results = analyze(
        "structure-factor",
        &["bins=700", "largest=7"],
        &simbox,
        [at_rest(sc.clone()), at_rest(sc)].into_iter(),
    );
    let table = &results.tables[0];
    for (q, s) in table.columns[0].values.iter().zip(&table.columns[1].values) {
        let bragg = (q - std::f64::consts::TAU).abs() < 1e-9;
        // Other vectors of the same length, (2, 4, 4)/6 of the box, share the bin.
        assert!(if bragg { *s > 1.0 } else { s.abs() < 1e-20 }, "S({q}) = {s}");
    }
}

/// Cells of edge 1 with atoms at these places.
fn crystal(basis: &[Vec3], cells: usize) -> Vec<Vec3> {
    let mut atoms = Vec::new();
    for x in 0..cells {
        for y in 0..cells {
            for z in 0..cells {
                let corner = Vector([x, y, z].map(|c| c as f64));
                atoms.extend(basis.iter().map(|b| corner + *b));
            }
        }
    }
    atoms
}

/// q4, q6 and W6 of perfect crystals: P. J. Steinhardt et al., Phys. Rev. B 28 (1983) 784, figure 2
/// and tables; the digits follow from the definitions.
#[test]
fn perfect_crystals_have_their_order() {
    let h = 0.5;
    let fcc: &[Vec3] = &[Vec3::ZERO, Vector([h, h, 0.0]), Vector([h, 0.0, h]), Vector([0.0, h, h])];
    for (basis, neighbours, q4, q6, w6) in [
        (&[Vec3::ZERO][..], 6.0, 0.763_763, 0.353_553, 0.013_161),
        (&[Vec3::ZERO, Vector([h; 3])][..], 14.0, 0.036_370, 0.510_688, 0.013_161),
        (fcc, 12.0, 0.190_941, 0.574_524, -0.013_161),
    ] {
        let simbox = SimBox::orthorhombic([5.0; 3]).unwrap();
        // Rotations change nothing: the crystal as it is, and in a sheared cell of the same lattice.
        let sheared = SimBox::new([0.0; 3], [5.0; 3], [5.0, 0.0, 0.0], [true; 3]).unwrap();
        for simbox in [simbox, sheared] {
            let atoms = crystal(basis, 5);
            let n = atoms.len() as f64;
            let results = analyze("bond-order", &[], &simbox, std::iter::once(at_rest(atoms)));
            let is = |name: &str, expected: f64, tolerance: f64| {
                let value = results.get(name).unwrap();
                assert!(
                    (value.value - expected).abs() <= tolerance,
                    "{name}: {} is not {expected}",
                    value.value
                );
                assert_eq!(value.error, None, "one frame cannot tell");
            };
            is("neighbours", neighbours, 1e-12);
            for (name, expected) in [("q4", q4), ("q6", q6), ("w6", w6)] {
                is(name, expected, 1e-6);
                is(&format!("averaged {name}"), expected, 1e-6);
            }
            let solid = f64::from(neighbours >= 7.0);
            is("fraction in crystals", solid, 0.0);
            is("largest crystal", solid * n, 0.0);
        }
    }
}

/// A random walk of normal steps: <r^2> = 3 sigma^2 per step, Gaussian at all times.
#[test]
fn a_random_walk_diffuses() {
    let simbox = SimBox::orthorhombic([5.0; 3]).unwrap();
    let n = 200;
    let mut streams: Vec<Stream> = (0..n).map(|k| Stream::new(k, Purpose::Test, 1, 1)).collect();
    let mut at = vec![Vector([2.5; 3]); n as usize];
    let frames = (0..2000).map(|_| {
        for (r, stream) in at.iter_mut().zip(&mut streams) {
            // Wrapped into the box, as trajectories are.
            *r = r.map(|x| (x + 0.1 * stream.normal()).rem_euclid(5.0));
        }
        at_rest(at.clone())
    });
    let frames: Vec<_> = frames.collect();
    // An end of the fit before the usual beginning moves that, too.
    let early = analyze("msd", &["to=8"], &simbox, frames.iter().map(|f| at_rest(f.positions.clone())));
    assert_eq!(["fit from", "fit to"].map(|name| early.get(name).unwrap().value), [1.6, 8.0]);
    let results = analyze("msd", &[], &simbox, frames.into_iter());
    let exact = 0.01 / 2.0 / 0.1;
    for name in ["all", "A", "B"] {
        let off = off(&results, &format!("diffusion coefficient {name}"), exact);
        assert!(off.abs() < 4.0, "{name}: off by {off} errors");
    }
    let table = &results.tables[0];
    for (t, msd, alpha) in table.columns[0]
        .values
        .iter()
        .zip(table.column("msd all").unwrap())
        .zip(table.column("alpha2").unwrap())
        .map(|((t, m), a)| (t, m, a))
        .skip(1)
    {
        assert!((msd / (6.0 * exact * t) - 1.0).abs() < 0.2, "msd({t}) = {msd}");
        assert!(alpha.abs() < 0.2, "alpha2({t}) = {alpha}");
    }
}

/// Profiles between walls are along an axis that is open; atoms beyond its edge are said to be missing.
#[test]
fn density_profiles_go_along_open_axes() {
    let simbox = SimBox::new([0.0; 3], [4.0, 5.0, 6.0], [0.0; 3], [true, true, false]).unwrap();
    for (beyond, z) in [(0.0, 5.5), (25.0, 6.5)] {
        let atoms = [0.5, 1.5, 1.6, z].map(|z| Vector([1.0, 2.0, z]));
        let frames = (0..16).map(|_| at_rest(atoms.to_vec()));
        let profile = analyze("density-profile", &["axis=3", "bins=6"], &simbox, frames);
        let density = profile.tables[0].column("density all").unwrap();
        let expected = [1.0, 2.0, 0.0, 0.0, 0.0, f64::from(beyond == 0.0)].map(|n| n / 20.0);
        assert!(density.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{density:?}");
        let said = profile.warning("density").map(|w| w.reason.clone()).unwrap_or_default();
        assert_eq!(said.contains(&format!("{beyond:.3} % of the atoms")), beyond > 0.0, "{said}");
    }
}

/// A crystal that is moved as it is: every distance is known.
#[test]
fn a_crystal_that_moves_has_its_van_hove_functions() {
    let simbox = SimBox::orthorhombic([6.0; 3]).unwrap();
    let sc = crystal(&[Vec3::ZERO], 6);
    let (moved, cutoff, bins) = (0.323, 1.5, 150);
    let frames = (0..3)
        .map(|k| at_rest(sc.iter().map(|r| Vector([r[0] + moved * f64::from(k), r[1], r[2]])).collect()));
    let settings = ["lags=2", "cutoff=1.5", "bins=150"];
    let results = analyze("van-hove", &settings, &simbox, frames);
    let count = |column: &str, density: f64| -> Vec<(usize, f64)> {
        let counts = results.tables[0].column(column).unwrap().iter().enumerate().map(|(bin, g)| {
            let r = |k: usize| k as f64 * cutoff / bins as f64;
            let shell = 4.0 / 3.0 * std::f64::consts::PI * (r(bin + 1).powi(3) - r(bin).powi(3));
            (bin, (g * shell * density * 1e6).round() / 1e6)
        });
        counts.filter(|(_, n)| *n > 0.0).collect()
    };
    for (lag, time) in [(1, "0.1"), (2, "0.2")] {
        let u = moved * f64::from(lag);
        assert_eq!(count(&format!("self {time}"), 1.0), [((u * 100.0) as usize, 1.0)]);
        let mut expected = std::collections::BTreeMap::new();
        for n in (0..125)
            .map(|k| [k / 25, k / 5 % 5, k % 5].map(|x| f64::from(x) - 2.0))
            .filter(|n| *n != [0.0; 3])
        {
            let r = ((n[0] + u).powi(2) + n[1] * n[1] + n[2] * n[2]).sqrt();
            if r < cutoff {
                *expected.entry((r * 100.0) as usize).or_insert(0.0) += 1.0;
            }
        }
        let found = count(&format!("distinct {time}"), 215.0 / 216.0);
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{time}");
    }
}

/// Yeh and Hummer's correction: 2.837297 k_B T / (6 pi eta L).
#[test]
fn diffusion_is_corrected_for_the_size_of_the_box() {
    let simbox = SimBox::orthorhombic([5.0; 3]).unwrap();
    let mut stream = Stream::new(1, Purpose::Test, 5, 1);
    let mut at = vec![Vector([2.5; 3]); 50];
    let frames = (0..400).map(|_| {
        at.iter_mut().for_each(|r| *r = r.map(|x| x + 0.1 * stream.normal()));
        at_rest(at.clone())
    });
    let results = analyze("msd", &["viscosity=2", "temperature=3"], &simbox, frames);
    let value = |name: &str| results.get(name).unwrap().value;
    let shift = value("diffusion coefficient all, infinite box") - value("diffusion coefficient all");
    assert!((shift / (2.837297 * 3.0 / (6.0 * std::f64::consts::PI * 2.0 * 5.0)) - 1.0).abs() < 1e-9);
}

/// Velocities by an Ornstein-Uhlenbeck process: <v(0) v(t)> = 3 exp(-gamma t), D = 1 / gamma; its
/// spectrum is a Lorentzian.
#[test]
fn velocities_forget_exponentially() {
    let simbox = SimBox::orthorhombic([5.0; 3]).unwrap();
    let n = 400;
    let gamma: f64 = 1.0;
    let keep = (-gamma * 0.1).exp();
    let mut streams: Vec<Stream> = (0..n).map(|k| Stream::new(k, Purpose::Test, 2, 1)).collect();
    let mut v: Vec<Vec3> = streams.iter_mut().map(|s| Vector([s.normal(), s.normal(), s.normal()])).collect();
    let frames = (0..1500).map(|_| {
        for (v, stream) in v.iter_mut().zip(&mut streams) {
            *v = v.map(|x| keep * x + (1.0 - keep * keep).sqrt() * stream.normal());
        }
        Frame { positions: vec![Vec3::ZERO; n as usize], velocities: Some(v.clone()) }
    });
    let results = analyze("vacf", &["lags=80"], &simbox, frames);
    // The trapezoidal rule on exp(-t) with steps of 0.1, up to 8.
    let exact = 0.05 * (1.0 + keep) / (1.0 - keep) * (1.0 - (-8.0f64).exp());
    let off = off(&results, "diffusion coefficient all", exact);
    assert!(off.abs() < 4.0, "off by {off} errors");
    let table = &results.tables[0];
    for (t, c) in table.columns[0].values.iter().zip(table.column("vacf").unwrap()) {
        assert!((c - 3.0 * (-gamma * t).exp()).abs() < 0.05, "vacf({t}) = {c}");
    }
    let spectrum = &results.tables[1];
    let (f, power) = (&spectrum.columns[0].values, spectrum.column("power").unwrap());
    let integral: f64 =
        f.windows(2).zip(power.windows(2)).map(|(f, p)| 0.5 * (f[1] - f[0]) * (p[0] + p[1])).sum();
    assert!((integral - 1.0).abs() < 1e-9, "{integral}");
    let half = power[0] / 2.0;
    let at = f.iter().zip(power).find(|(_, p)| **p < half).unwrap().0;
    // Half its height at omega = gamma; the window widens it somewhat.
    assert!((std::f64::consts::TAU * at / gamma - 1.0).abs() < 0.45, "{at}");
}

#[test]
fn clusters_are_counted_across_the_boundary() {
    let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
    let atoms = vec![
        Vector([0.2, 5.0, 5.0]),
        Vector([9.6, 5.0, 5.0]),
        Vector([1.0, 5.0, 5.0]),
        Vector([5.0; 3]),
        Vector([5.0, 5.0, 5.9]),
        Vector([2.0, 2.0, 2.0]),
    ];
    let results =
        analyze("clusters", &["cutoff=1"], &simbox, [at_rest(atoms.clone()), at_rest(atoms)].into_iter());
    let value = |name: &str| results.get(name).unwrap().value;
    assert_eq!([value("number of clusters"), value("largest cluster")], [3.0, 3.0]);
    assert_eq!(value("mean size weighted by size"), 14.0 / 6.0);
    assert_eq!(results.tables[0].columns[0].values, [1.0, 2.0, 3.0]);
}

/// Random walks of n normal steps: <R^2> = n b^2 and <Rg^2> = b^2 n (n + 2) / (6 (n + 1)).
#[test]
fn ideal_chains_have_their_size() {
    let simbox = SimBox::orthorhombic([6.0; 3]).unwrap();
    let frames = (0..64).map(|k| {
        let mut stream = Stream::new(k, Purpose::Test, 3, 1);
        let mut atoms = Vec::new();
        for _ in 0..50 {
            let mut r = [3.0; 3];
            for _ in 0..20 {
                atoms.push(Vector(r));
                r = r.map(|x| (x + 0.3 * stream.normal()).rem_euclid(6.0));
            }
        }
        at_rest(atoms)
    });
    let results = analyze("gyration", &["length=20"], &simbox, frames);
    let bond = 3.0 * 0.09;
    for (name, exact) in [
        ("squared end-to-end distance", 19.0 * bond),
        ("squared radius of gyration", bond * 19.0 * 21.0 / (6.0 * 20.0)),
    ] {
        let off = off(&results, name, exact);
        assert!(off.abs() < 4.0, "{name}: off by {off} errors");
    }
}

/// Atoms that shake independently by sigma along each axis: sqrt(3) sigma over their distance.
#[test]
fn an_einstein_crystal_has_its_lindemann_ratio() {
    let simbox = SimBox::orthorhombic([4.0; 3]).unwrap();
    let frames = (0..200).map(|k| {
        let mut stream = Stream::new(k, Purpose::Test, 4, 1);
        let places = crystal(&[Vec3::ZERO], 4).into_iter();
        at_rest(places.map(|r| r.map(|x| (x + 0.05 * stream.normal()).rem_euclid(4.0))).collect())
    });
    let results = analyze("lindemann", &["spacing=1"], &simbox, frames);
    // The mean positions are those of 200 frames, and the centre that of 64 atoms.
    let exact = (3.0 * 0.0025 * 199.0 / 200.0f64 * 63.0 / 64.0).sqrt();
    let off = off(&results, "Lindemann ratio", exact);
    assert!(off.abs() < 4.0, "off by {off} errors");
    let measured = analyze("lindemann", &[], &simbox, (0..8).map(|_| at_rest(crystal(&[Vec3::ZERO], 4))));
    assert_eq!(measured.get("nearest-neighbour distance").unwrap().value, 1.0);
    assert_eq!(measured.get("Lindemann ratio").unwrap().value, 0.0);
}

/// A ball, and a tube through the periodic box, which has a hole.
#[test]
fn balls_and_tubes_have_their_minkowski_functionals() {
    let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
    let settings = ["radius=3", "voxel=0.1"];
    let ball = analyze("minkowski", &settings, &simbox, std::iter::once(at_rest(vec![Vector([5.0; 3])])));
    let pi = std::f64::consts::PI;
    let value = |results: &Results, name: &str| results.get(name).unwrap().value;
    assert!((value(&ball, "volume fraction") / (36.0 * pi / 1000.0) - 1.0).abs() < 0.01);
    assert!((value(&ball, "surface") / (36.0 * pi) - 1.0).abs() < 0.03);
    assert!((value(&ball, "mean breadth") / 6.0 - 1.0).abs() < 0.03);
    assert_eq!(value(&ball, "Euler characteristic"), 1.0);
    let tube = (0..100).map(|k| Vector([5.0, 5.0, 0.1 * f64::from(k)])).collect();
    let tube = analyze("minkowski", &settings, &simbox, std::iter::once(at_rest(tube)));
    assert_eq!(value(&tube, "Euler characteristic"), 0.0);
}

/// Plates and rods of close spheres, and two that overlap: surface and mean breadth are the same however they lie.
#[test]
fn surface_and_mean_breadth_do_not_depend_on_direction() {
    use std::f64::consts::PI;
    let edge = 20;
    let simbox = SimBox::orthorhombic([f64::from(edge); 3]).unwrap();
    let at_rest_where = |holds: &dyn Fn([i32; 3]) -> bool| {
        let site = |k: i32| [k % edge, k / edge % edge, k / edge / edge];
        let sites = (0..edge.pow(3)).map(site).filter(|site| holds(*site));
        at_rest(sites.map(|site| Vector(site.map(f64::from))).collect())
    };
    let area = f64::from(edge * edge);
    let length = f64::from(edge);
    let check = |shape: &str, frame, radius: f64, surface: f64, breadth: f64, tolerance: f64| {
        let settings = [format!("radius={radius}"), "voxel=0.5".to_string()];
        let settings = settings.each_ref().map(String::as_str);
        let found = analyze("minkowski", &settings, &simbox, std::iter::once(frame));
        for (name, exact) in [("surface", surface), ("mean breadth", breadth)] {
            let value = found.get(name).unwrap().value;
            let off = (value - exact).abs() / exact.max(length);
            assert!(off < tolerance, "{shape}, {name}: {value} for {exact}");
        }
    };
    // Spheres a whole unit apart make surfaces rough: by s^2 / 12 R^2 for a square lattice.
    check("plate 001", at_rest_where(&|[_, _, z]| z == 3), 4.0, 2.0 * area, 0.0, 0.008);
    check("plate 110", at_rest_where(&|[x, y, _]| (x + y) % edge == 0), 4.0, 8f64.sqrt() * area, 0.0, 0.012);
    check(
        "plate 111",
        at_rest_where(&|[x, y, z]| (x + y + z) % edge == 0),
        5.0,
        12f64.sqrt() * area,
        0.0,
        0.012,
    );
    // Beads on a string have the surface of a cylinder, and edges that are rings.
    let rod = |radius: f64, apart: f64| {
        let ring = (radius * radius - 0.25 * apart * apart).sqrt() * (0.5 * apart / radius).asin();
        (2.0 * PI * radius * apart * length, (apart - ring) * length)
    };
    let (surface, breadth) = rod(4.0, 1.0);
    check("rod 001", at_rest_where(&|[x, y, _]| (x, y) == (7, 0)), 4.0, surface, breadth, 1e-9);
    let (surface, breadth) = rod(5.0, 3f64.sqrt());
    check("rod 111", at_rest_where(&|[x, y, z]| x == y && y == z), 5.0, surface, breadth, 1e-9);

    // The intersection of two spheres is a lens, whose mean breadth is the mean of its widths.
    let (radius, apart) = (3.0f64, 3.5);
    let (half, rim) = (0.5 * apart, (radius * radius - 0.25 * apart * apart).sqrt());
    let support = |angle: f64| match angle.cos() > half / radius {
        true => radius - half * angle.cos(),
        false => rim * angle.sin(),
    };
    let angles = (0..10_000).map(|k| 0.5 * PI * (f64::from(k) + 0.5) / 1e4);
    let lens = 2.0 * angles.map(|angle| support(angle) * angle.sin()).sum::<f64>() * 0.5 * PI / 1e4;
    let surface = 2.0 * (4.0 * PI * radius * radius - 2.0 * PI * radius * (radius - half));
    let pair =
        at_rest(vec![Vector([1.0, 19.0, 5.0]), Vector([1.0, 19.0, 5.0]) + Vector([2.0, 1.5, 6f64.sqrt()])]);
    check("two spheres", pair, radius, surface, 4.0 * radius - lens, 1e-3);
}

/// Separate spheres of radius 0.4, 0.95 apart or a little less: coarse voxels join them, and finer ones tell so. Where nothing
/// is doubtful numbers are those of separate spheres.
#[test]
fn voxels_that_join_spheres_are_told_from_fine_ones() {
    let simbox = SimBox::orthorhombic([5.7; 3]).unwrap();
    let mut stream = Stream::new(3, Purpose::Test, 0, 0);
    let place = |k: i32| {
        Vector([k % 6, k / 6 % 6, k / 36].map(|n| 0.95 * f64::from(n)))
            + Vec3::from_fn(|_| 0.06 * stream.uniform())
    };
    let spheres: Vec<Vec3> = (0..216).map(place).collect();
    let exact = [216.0 * 4.0 * std::f64::consts::PI * 0.16, 216.0 * 0.8, 216.0];
    for (voxel, joins) in [(0.05, false), (0.1, false), (0.2, true), (0.4, true)] {
        let settings = ["radius=0.4", &format!("voxel={voxel}")];
        let found = analyze("minkowski", &settings, &simbox, std::iter::once(at_rest(spheres.clone())));
        for (name, exact) in ["surface", "mean breadth", "Euler characteristic"].iter().zip(exact) {
            let (value, warning) = (found.get(name).map(|value| value.value), found.warning(name));
            let is_right = value.is_some_and(|value| (value / exact - 1.0).abs() < 0.03);
            assert_eq!(warning.is_none(), is_right, "{voxel} {name}: {value:?} for {exact}, {warning:?}");
        }
        assert_eq!(found.warning("Euler characteristic").is_some(), joins, "{voxel}");
    }
}

#[test]
fn what_cannot_be_set_is_refused() {
    let kind = kinds::find("rdf").unwrap();
    let parse = |word: &str| MeasureSettings::parse(&[word.to_string()], kind.settings, UnitSystem::Real);
    assert_eq!(parse("cutoff=1nm").unwrap().get("cutoff"), Some(10.0));
    let error = parse("cutof=3").unwrap_err().to_string();
    assert!(error.contains("cutof") && error.contains("did you mean cutoff=...?"), "{error}");
    assert!(parse("cutoff=3 ps").is_err());
    assert!(parse("cutoff=").is_err());
}

/// Every kind: written down in the middle and read by another measure, it finds the same.
#[test]
fn what_is_remembered_is_all_there_is_to_remember() {
    let simbox = SimBox::orthorhombic([6.0; 3]).unwrap();
    let n = 64;
    let mut stream = Stream::new(3, Purpose::Test, 0, 0);
    let mut vectors =
        |size: f64| -> Vec<Vec3> { (0..n).map(|_| Vector::from_fn(|_| size * stream.normal())).collect() };
    let (start, velocities) = (vectors(3.0), vectors(1.0));
    let settings = [("cutoff", 1.5), ("length", 8.0), ("radius", 0.5), ("spacing", 1.0), ("voxel", 0.5)];
    for kind in kinds::ALL {
        let settings = MeasureSettings::of(kind.settings, |s| {
            settings.iter().find(|(name, _)| *name == s.name).map(|(_, value)| *value).or(s.default)
        });
        let (names, species) = (vec!["A".into(), "B".into()], (0..n as u16).map(|k| k % 2).collect());
        let polarity = Polarity::Neutral;
        let system_info = SystemInfo { units: UnitSystem::Lj, names, species, simbox, polarity, unmoved: 0 };
        let fresh = || kind.measure(&system_info, &settings).unwrap();
        let (mut whole, mut parts) = (fresh(), fresh());
        for frame in 0..40 {
            let time = 0.1 * f64::from(frame);
            let moved: Vec<Vec3> = start.iter().zip(&velocities).map(|(r, v)| *r + *v * time).collect();
            // No more than what it is said to see.
            let seen = |takes, atoms| if takes { atoms } else { &[][..] };
            let positions = seen(kind.observable.positions(), &moved[..]);
            let view = View {
                time: Some(time),
                simbox: &simbox,
                lattice: &simbox,
                positions,
                unwrapped: positions,
                images: Some(&vec![[0; 3]; positions.len()]),
                molecules: None,
                velocities: Some(seen(kind.observable == Observable::Velocities, &velocities[..])),
                whole: Some(Whole {
                    kinetic: 100.0 + time.cos(),
                    total: -50.0,
                    degrees_of_freedom: 3 * n,
                    pressure: Some([1, 2, 3, 4, 5, 6].map(|k| f64::from(k) * time.cos())),
                    dipole: Some(Vector([time.cos(), time.sin(), 1.0])),
                    current: Some(Vector([-time.sin(), time.cos(), 0.0])),
                    heat_current: Some(Vector([time.cos(), -time.sin(), 0.0])),
                }),
            };
            whole.add(&view).unwrap();
            parts.add(&view).unwrap();
            if frame % 13 == 7 {
                let bytes = save(&mut *parts).unwrap();
                parts = fresh();
                restore(&mut *parts, &bytes).unwrap();
                assert!(restore(&mut *fresh(), &bytes[..bytes.len() - 1]).is_err(), "{}", kind.name);
            }
        }
        let (whole, parts) = (whole.results().unwrap(), parts.results().unwrap());
        assert_eq!(whole.json(), parts.json(), "{}", kind.name);
        assert!(!whole.values.is_empty() || !whole.tables.is_empty() || !whole.warnings.is_empty());
    }
}
