//! Numbers that were sampled too coarsely, too shortly or in too small a box: given with a warning, or not
//! at all; never silently wrong.

use jostle_analysis::{
    Measure, MeasureSettings, Paths, Polarity, Results, SystemInfo, Verdict, View, Whole, kinds,
};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vec3, Vector};

fn cube(edge: f64) -> SimBox {
    SimBox::orthorhombic([edge; 3]).unwrap()
}

fn measure(kind: &str, settings: &[&str], simbox: SimBox, atoms: usize) -> Box<dyn Measure> {
    let kind = kinds::find(kind).unwrap();
    let words: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let settings = MeasureSettings::parse(&words, kind.settings, UnitSystem::Lj).unwrap();
    let (names, species, polarity) = (vec!["A".into()], vec![0; atoms], Polarity::Neutral);
    let system_info = SystemInfo { units: UnitSystem::Lj, names, species, simbox, polarity, unmoved: 0 };
    kind.measure(&system_info, &settings).unwrap()
}

fn normals(streams: &mut [Stream]) -> Vec<Vec3> {
    streams.iter_mut().map(|s| Vector([s.normal(), s.normal(), s.normal()])).collect()
}

fn streams(n: usize) -> Vec<Stream> {
    (0..n as u64).map(|k| Stream::new(k, Purpose::Test, 7, 0)).collect()
}

/// Values that forget exponentially, at intervals of which so many make their relaxation time.
fn forgetful(n: usize, interval: f64) -> impl FnMut() -> Vec<Vec3> {
    let mut streams = streams(n);
    let mut values = normals(&mut streams);
    let (keep, fresh) = ((-interval).exp(), (1.0 - (-2.0 * interval).exp()).sqrt());
    move || {
        for (value, noise) in values.iter_mut().zip(normals(&mut streams)) {
            *value = keep * *value + fresh * noise;
        }
        values.clone()
    }
}

/// The vacf of velocities with the correlation exp(-t), in frames so far apart.
fn vacf(interval: f64, frames: usize, settings: &[&str]) -> Results {
    let (n, simbox) = (300, cube(10.0));
    let mut measure = measure("vacf", settings, simbox, n);
    let mut velocities = forgetful(n, interval);
    for frame in 0..frames {
        let velocities = velocities();
        let view = View {
            time: Some(interval * frame as f64),
            simbox: &simbox,
            lattice: &simbox,
            positions: &[],
            unwrapped: &[],
            images: None,
            molecules: None,
            velocities: Some(&velocities),
            whole: None,
        };
        measure.add(&view).unwrap();
    }
    measure.results().unwrap()
}

const COEFFICIENT: &str = "diffusion coefficient all";

/// D = 1 exactly. What is given without a warning is right within its error and a few percent, what is off
/// by more has one, and what is far off is not given.
#[test]
fn diffusion_by_velocities_says_when_frames_are_too_far_apart() {
    for (interval, lags, verdict) in [
        (0.1, "lags=80", None),
        (0.4, "lags=20", None),
        (1.0, "lags=10", Some(Verdict::Doubtful)),
        (2.0, "lags=10", Some(Verdict::Withheld)),
        (30.0, "lags=10", Some(Verdict::Withheld)),
        // Resolved, but cut off where it is still large.
        (0.1, "lags=10", Some(Verdict::Withheld)),
        (0.1, "lags=30", Some(Verdict::Doubtful)),
    ] {
        let results = vacf(interval, 4000, &[lags]);
        let value = results.get(COEFFICIENT);
        let warning = results.warning(COEFFICIENT);
        println!("{interval} {lags}: {value:?} {warning:?}");
        assert_eq!(warning.map(|w| w.verdict), verdict, "{interval} {lags}: {value:?}");
        assert_eq!(value.is_none(), verdict == Some(Verdict::Withheld));
        if let (Some(value), None) = (value, warning) {
            assert!((value.value - 1.0).abs() < 3.0 * value.error.unwrap() + 0.03, "{value:?}");
        }
        // The correlation is what it is.
        let table = &results.tables[0];
        let off = |(t, c): (&f64, &f64)| (c - 3.0 * (-t).exp()).abs();
        let worst = table.columns[0].values.iter().zip(table.column("vacf").unwrap()).map(off);
        assert!(worst.fold(0.0, f64::max) < 0.1);
    }
}

/// Independent frames: neither integral nor spectrum, and the reason in the JSON.
#[test]
fn what_was_not_resolved_is_not_derived() {
    let results = vacf(30.0, 400, &["lags=20"]);
    let names: Vec<&str> = results.tables.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["vacf"]);
    assert!(results.tables[0].column("running diffusion coefficient").is_none());
    let json = results.json();
    let warnings = json["warnings"].as_array().unwrap();
    let about: Vec<&str> = warnings.iter().map(|w| w["about"].as_str().unwrap()).collect();
    assert_eq!(about, [COEFFICIENT, "spectrum"]);
    assert!(warnings.iter().all(|w| w["verdict"] == "withheld"));
    assert!(warnings[0]["reason"].as_str().unwrap().contains("30"), "{}", warnings[0]);
    let words = results.warnings[0].to_string();
    assert!(words.contains("is not given") && words.contains("every = 5"), "{words}");
    // A resolved one has both.
    let results = vacf(0.1, 2000, &["lags=80"]);
    assert!(results.warnings.is_empty() && results.tables.len() == 2, "{:?}", results.warnings);
}

/// Displacements of atoms that step by so much along each axis: in one direction, at random, or about a
/// place.
fn msd(frames: usize, settings: &[&str], next: impl FnMut(&[Vec3]) -> Vec<Vec3>) -> Results {
    msd_of(200, frames, settings, next)
}

fn msd_of(n: usize, frames: usize, settings: &[&str], next: impl FnMut(&[Vec3]) -> Vec<Vec3>) -> Results {
    msd_in(cube(6.0), n, frames, settings, next)
}

fn msd_in(
    simbox: SimBox,
    n: usize,
    frames: usize,
    settings: &[&str],
    mut next: impl FnMut(&[Vec3]) -> Vec<Vec3>,
) -> Results {
    let mut measure = measure("msd", settings, simbox, n);
    let (mut at, mut paths) = (vec![Vector([3.0; 3]); n], Paths::default());
    for frame in 0..frames {
        at = next(&at);
        let mut wrapped = at.clone();
        wrapped.iter_mut().for_each(|r| simbox.wrap(r, &mut [0; 3]));
        let view = View {
            time: Some(0.1 * frame as f64),
            simbox: &simbox,
            lattice: &simbox,
            positions: &wrapped,
            unwrapped: paths.advance(&simbox, &wrapped, None).1,
            images: None,
            molecules: None,
            velocities: None,
            whole: None,
        };
        measure.add(&view).unwrap();
    }
    measure.results().unwrap()
}

fn stepped(at: &[Vec3], by: &[Vec3], size: f64) -> Vec<Vec3> {
    at.iter().zip(by).map(|(r, d)| *r + size * *d).collect()
}

#[test]
fn diffusion_by_displacements_needs_displacements_that_diffuse() {
    let verdict = |results: &Results| results.warning(COEFFICIENT).map(|w| w.verdict);
    let mut noise = streams(200);
    let walk = msd(600, &[], |at| stepped(at, &normals(&mut noise), 0.2));
    assert_eq!(verdict(&walk), None, "{:?}", walk.warnings);
    let value = walk.get(COEFFICIENT).unwrap();
    assert!((value.value - 0.2).abs() < 4.0 * value.error.unwrap(), "{value:?}");

    let velocities = normals(&mut streams(200));
    let flight = msd(100, &[], |at| stepped(at, &velocities, 0.02));
    let mut noise = streams(200);
    let crystal = msd(600, &[], |_| stepped(&[Vector([3.0; 3]); 200], &normals(&mut noise), 0.1));
    // Velocities that are forgotten over the whole window: neither one nor the other.
    let mut velocities = forgetful(200, 0.03);
    let between = msd(600, &["from=6", "to=20"], |at| stepped(at, &velocities(), 0.05));
    for (results, expected) in
        [(&flight, Verdict::Withheld), (&crystal, Verdict::Withheld), (&between, Verdict::Doubtful)]
    {
        println!("{:?} {:?}", results.get(COEFFICIENT), results.warnings);
        assert_eq!(verdict(results), Some(expected));
        assert_eq!(results.get(COEFFICIENT).is_none(), expected == Verdict::Withheld);
        assert!(results.tables[0].column("msd all").is_some());
    }
    let few = msd(8, &[], |at| stepped(at, &normals(&mut noise), 0.2));
    assert_eq!(verdict(&few), Some(Verdict::Withheld));
}

/// Many short random walks, whose diffusion coefficient is known: it is off by its error on average, and so are
/// displacements at all lags, up to half of the run.
#[test]
fn displacements_are_off_by_their_errors() {
    for (atoms, frames, walks) in [(64, 301, 150), (16, 500, 150)] {
        let (mut coefficients, mut displacements) = (0.0, Vec::new());
        for walk in 0..walks {
            let mut stream = Stream::new(walk, Purpose::Test, atoms, 7);
            let mut normals =
                || -> Vec<Vec3> { (0..atoms).map(|_| Vector::from_fn(|_| stream.normal())).collect() };
            let results = msd_of(atoms as usize, frames, &[], |at| stepped(at, &normals(), 0.2));
            let value = results.get(COEFFICIENT).unwrap();
            coefficients += ((value.value - 0.2) / value.error.unwrap()).powi(2) / walks as f64;
            let table = &results.tables[0];
            let [t, msd, error] = ["t", "msd all", "msd all error"].map(|name| table.column(name).unwrap());
            displacements.resize(t.len(), 0.0);
            for k in 1..t.len() {
                displacements[k] += ((msd[k] - 1.2 * t[k]) / error[k]).powi(2) / walks as f64;
            }
        }
        // Squares of 0.8 and 1.3; the mean of so many squares is good to 0.12, and that of t-distributed ones above 1.
        let within = 0.64..1.69;
        println!("{atoms} atoms: {coefficients}, {displacements:?}");
        assert!(within.contains(&coefficients), "{atoms} atoms: {coefficients}");
        assert!(displacements[1..].iter().all(|d| within.contains(d)), "{atoms} atoms: {displacements:?}");
    }
}

/// Atoms that walk together are as one: their spread is nothing, and blocks of frames give the error. That of a
/// displacement over a lag of t in a time T is sqrt(4 t / (9 (T - t))) of it, for the overlap of two windows leaves
/// 2/3 t as the time after which another one is independent, and one walker has three components.
#[test]
fn atoms_that_walk_together_do_not_hide_the_error() {
    let (walks, frames) = (40, 1000);
    let mut squares = [0.0; 2];
    for walk in 0..walks {
        let mut stream = Stream::new(walk, Purpose::Test, 0, 9);
        let results = msd_of(50, frames, &["from=0.5", "to=5"], |at| {
            let step = Vector::from_fn(|_| 0.2 * stream.normal());
            at.iter().map(|r| *r + step).collect()
        });
        let value = results.get(COEFFICIENT).unwrap();
        squares[0] += ((value.value - 0.2) / value.error.unwrap()).powi(2) / walks as f64;
        let table = &results.tables[0];
        let [t, error] = ["t", "msd all error"].map(|name| table.column(name).unwrap());
        let long = t.iter().position(|t| *t > 10.0).unwrap();
        let exact = (4.0 * t[long] / (9.0 * (0.1 * frames as f64 - t[long]))).sqrt();
        squares[1] += (error[long] / (1.2 * t[long]) / exact).powi(2) / walks as f64;
    }
    println!("{squares:?}");
    assert!(squares.iter().all(|square| (0.4..2.5).contains(square)), "{squares:?}");
}

/// Atoms that wander in the plane and are bounded across it, as between walls: the coefficient is that of the plane.
#[test]
fn diffusion_between_walls_is_that_of_the_plane() {
    let mut stream = Stream::new(3, Purpose::Test, 0, 9);
    let open = SimBox::new([0.0; 3], [6.0; 3], [0.0; 3], [true, true, false]).unwrap();
    // In the wider slit displacements still grow, if less and less.
    let mut walk = |simbox, width: f64, settings: &[&str]| {
        msd_in(simbox, 200, 1000, settings, |at| {
            let step = |r: &Vec3| {
                let [x, y, z] = [0, 1, 2].map(|k| r[k] + 0.2 * stream.normal());
                let folded = z.rem_euclid(2.0 * width);
                Vector([x, y, folded.min(2.0 * width - folded)])
            };
            at.iter().map(step).collect()
        })
    };
    let plane = ["from=2", "to=20", "across=3"];
    for (simbox, width, settings) in [
        (cube(6.0), 2.0, &plane[..2]),
        (cube(6.0), 2.0, &plane[..]),
        (open, 6.0, &plane[..2]),
        (open, 6.0, &plane[..]),
    ] {
        let results = walk(simbox, width, settings);
        let value = results.get(COEFFICIENT).unwrap();
        // Steps of 0.2 along each axis in 0.1: D = 0.2.
        assert!((value.value - 0.2).abs() < 4.0 * value.error.unwrap(), "{value:?}");
        assert!(value.error.unwrap() < 0.02, "{value:?}");
        let told = results.warning(COEFFICIENT).map(|warning| warning.reason.as_str());
        match settings.len() {
            2 => assert!(told.unwrap().contains("along z displacements are bounded"), "{told:?}"),
            _ => assert_eq!(told, None),
        }
        let axes = results.tables.iter().find(|table| table.name == "axes").unwrap();
        let [x, z] = ["msd all x", "msd all z"].map(|name| *axes.column(name).unwrap().last().unwrap());
        assert!(x > 2.0 * z, "{x} {z}");
    }
}

/// Independent walkers have a centre that moves by chance alone; a crystal that walks as a whole is told.
#[test]
fn motion_in_common_is_told() {
    for (together, told) in [(0.0, false), (0.2, true), (0.1, true)] {
        let mut stream = Stream::new(4, Purpose::Test, 0, 9);
        let results = msd_of(100, 2000, &["from=0.5", "to=5"], |at| {
            let common = Vector::from_fn(|_| together * stream.normal());
            at.iter().map(|r| *r + common + Vector::from_fn(|_| 0.2 * stream.normal())).collect()
        });
        let warning = results.warning(COEFFICIENT).map(|warning| warning.reason.clone());
        assert_eq!(warning.is_some(), told, "{warning:?}");
        let share = 100.0 * together * together / (together * together + 0.04);
        let said = warning.map(|reason| reason.split(' ').next().unwrap().parse::<f64>().unwrap());
        assert!(said.is_none_or(|said| (said - share).abs() < 0.5 * share), "{said:?} {share}");
        let value = results.get(COEFFICIENT).unwrap();
        let exact = 5.0 * (0.04 + together * together);
        assert!((value.value - exact).abs() < 4.0 * value.error.unwrap(), "{value:?} {exact}");
    }
}

/// Steps beyond half the box are taken for shorter ones.
#[test]
fn steps_too_long_for_nearest_images_are_told() {
    for (size, verdict) in [(0.2, None), (0.8, Some(Verdict::Doubtful)), (3.0, Some(Verdict::Withheld))] {
        let mut noise = streams(200);
        let results = msd(400, &[], |at| stepped(at, &normals(&mut noise), size));
        assert_eq!(results.warning(COEFFICIENT).map(|w| w.verdict), verdict, "{:?}", results.warnings);
    }
}

/// Rows of the whole system, 0.01 apart.
fn of_whole(kind: &str, frames: usize, mut whole: impl FnMut() -> Whole) -> Results {
    let simbox = cube(8.0);
    let mut measure = measure(kind, &[], simbox, 500);
    for frame in 0..frames {
        measure.add(&View::of_whole(0.01 * frame as f64, &simbox, whole())).unwrap();
    }
    measure.results().unwrap()
}

fn whole(kinetic: f64, total: f64) -> Whole {
    Whole {
        kinetic,
        total,
        degrees_of_freedom: 1500,
        pressure: None,
        dipole: None,
        current: None,
        heat_current: None,
    }
}

/// Four hundred relaxation times are enough, sixty are few, and less than one says nothing.
#[test]
fn fluctuations_need_independent_values() {
    let permittivity = |interval: f64| {
        let mut moments = forgetful(1, interval);
        of_whole("dielectric", 2000, move || Whole { dipole: Some(moments()[0]), ..whole(1000.0, 0.0) })
    };
    // The mean energy of 1,500 degrees of freedom at T = 1 and a canonical scatter of both energies.
    let capacity = |interval: f64| {
        let (mut slow, mut fast) = (forgetful(1, interval), forgetful(1, 5.0));
        of_whole("heat-capacity", 2000, move || {
            whole(750.0 + 750f64.sqrt() * fast()[0][0], 40.0 * slow()[0][0])
        })
    };
    let heat = "heat capacity per atom over k_B, at constant temperature";
    for (name, results) in [
        ("relative permittivity", [0.2, 0.03, 2e-4].map(permittivity)),
        (heat, [0.2, 0.03, 2e-4].map(capacity)),
    ] {
        let verdicts = results.each_ref().map(|r| r.warning(name).map(|w| w.verdict));
        println!("{name}: {verdicts:?} {:?}", results.each_ref().map(|r| r.get(name)));
        assert_eq!(verdicts, [None, Some(Verdict::Doubtful), Some(Verdict::Withheld)], "{name}");
        assert!(results[1].get(name).is_some() && results[2].get(name).is_none());
    }
}

#[test]
fn a_viscosity_needs_stresses_that_follow_each_other() {
    for (interval, given) in [(0.2, true), (20.0, false)] {
        let mut stresses = forgetful(2, interval);
        let results = of_whole("viscosity", 4000, move || {
            let [a, b] = [stresses(), stresses()].map(|s| s[0]);
            Whole { pressure: Some([a[0], a[1], a[2], b[0], b[1], b[2]]), ..whole(1000.0, 0.0) }
        });
        assert_eq!(results.get("viscosity").is_some(), given, "{:?}", results.warnings);
        assert_eq!(results.tables[0].column("running viscosity").is_some(), given);
        assert!(results.tables[0].column("correlation").is_some());
    }
}

fn frames(kind: &str, settings: &[&str], simbox: SimBox, frames: &[Vec<Vec3>]) -> Results {
    let mut measure = measure(kind, settings, simbox, frames[0].len());
    for (k, positions) in frames.iter().enumerate() {
        let view = View {
            time: Some(0.1 * k as f64),
            simbox: &simbox,
            lattice: &simbox,
            positions,
            unwrapped: positions,
            images: None,
            molecules: None,
            velocities: None,
            whole: None,
        };
        measure.add(&view).unwrap();
    }
    measure.results().unwrap()
}

fn lattice(edge: usize) -> Vec<Vec3> {
    (0..edge.pow(3)).map(|k| Vector([k / edge / edge, k / edge % edge, k % edge]).map(|x| x as f64)).collect()
}

/// Shells beyond half the box are counted, with a warning that they hold images: of one atom in a
/// box nothing else.
#[test]
fn shells_beyond_half_the_box_are_told() {
    let gas: Vec<Vec<Vec3>> =
        (0..8).map(|_| normals(&mut streams(40)).iter().map(|r| r.map(|x| 2.0 * x)).collect()).collect();
    for (cutoff, told) in [("cutoff=3.9", false), ("cutoff=4.5", true), ("cutoff=9", true)] {
        for (kind, about) in [("rdf", "g(r)"), ("van-hove", "distinct part")] {
            let results = frames(kind, &[cutoff], cube(8.0), &gas);
            let warning = results.warning(about);
            assert_eq!(warning.is_some(), told, "{kind} {cutoff}: {:?}", results.warnings);
            assert!(warning.is_none_or(|w| w.reason.contains("half the smallest width of the box, 4")));
        }
    }
    assert!(frames("rdf", &[], cube(8.0), &gas).warning("g(r)").is_none());
}

#[test]
fn functions_cut_off_too_early_are_told() {
    let still = [lattice(6), lattice(6)];
    let crystal = frames("rdf", &["bins=50"], cube(6.0), &still);
    assert!(crystal.warning("structure-factor").is_some(), "{:?}", crystal.warnings);
    // Atoms that have not left their bin, and such that have all left the last one.
    let narrow = frames("van-hove", &["lags=1"], cube(6.0), &still);
    assert!(narrow.warning("self 0.1").unwrap().reason.contains("bins"), "{:?}", narrow.warnings);
    let moved: Vec<Vec3> = lattice(6).iter().map(|r| Vector([r[0] + 2.9, r[1] + 2.9, r[2]])).collect();
    let gone = frames("van-hove", &["lags=1"], cube(6.0), &[lattice(6), moved]);
    assert!(gone.warning("self 0.1").unwrap().reason.contains("100 %"), "{:?}", gone.warnings);
    let halfway: Vec<Vec3> = lattice(6).iter().map(|r| Vector([r[0] + 0.7, r[1], r[2]])).collect();
    let seen = frames("van-hove", &["lags=1"], cube(6.0), &[lattice(6), halfway]);
    assert!(seen.warning("self 0.1").is_none(), "{:?}", seen.warnings);
}

/// Atoms that wander have no ratio of Lindemann's; those that shake about their places have.
#[test]
fn a_liquid_has_no_lindemann_ratio() {
    let mut noise = streams(64);
    let places = lattice(4);
    let shaken: Vec<Vec<Vec3>> = (0..200).map(|_| stepped(&places, &normals(&mut noise), 0.05)).collect();
    let mut at = places.clone();
    let wandering = (0..200).map(|_| {
        at = stepped(&at, &normals(&mut noise), 0.05);
        at.clone()
    });
    let wandering: Vec<Vec<Vec3>> = wandering.collect();
    for (all, told) in [(shaken, false), (wandering, true)] {
        let results = frames("lindemann", &["spacing=1"], cube(4.0), &all);
        assert_eq!(results.warning("Lindemann ratio").is_some(), told, "{:?}", results.warnings);
    }
}

/// A crystal that walks as a whole vibrates no more than one at rest.
#[test]
fn a_crystal_that_drifts_has_its_lindemann_ratio() {
    let (places, mut noise, mut center) = (lattice(4), streams(65), Vec3::ZERO);
    let (mut still, mut drifting) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let steps = normals(&mut noise);
        center += 0.2 * steps[64];
        still.push(stepped(&places, &steps[..64], 0.05));
        drifting.push(still[still.len() - 1].iter().map(|r| *r + center).collect::<Vec<Vec3>>());
    }
    let [still, drifting] = [still, drifting].map(|all| frames("lindemann", &[], cube(4.0), &all));
    for name in ["Lindemann ratio", "nearest-neighbour distance"] {
        let [a, b] = [&still, &drifting].map(|results| results.get(name).unwrap().value);
        assert!((a - b).abs() < 1e-9, "{name}: {a} {b}");
    }
    assert!(drifting.warnings.is_empty(), "{:?}", drifting.warnings);
}
