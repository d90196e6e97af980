//! Viscosity and heat capacity of series whose values are known.

use jostle_analysis::{MeasureSettings, Polarity, Results, SystemInfo, View, Whole, kinds};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vector};

const ATOMS: usize = 500;
/// Atoms without mass, which no quantity per atom counts.
const SITES: usize = 100;
const FREEDOM: usize = 1500;
const THERMAL: f64 = 1.5;

fn normal(row: usize, quantity: u32) -> f64 {
    Stream::new(17, Purpose::Test, quantity, row as u64).normal()
}

fn whole(kinetic: f64, total: f64) -> Whole {
    Whole {
        kinetic,
        total,
        degrees_of_freedom: FREEDOM,
        pressure: None,
        dipole: None,
        current: None,
        heat_current: None,
    }
}

/// Frames 0.01 apart of atoms in a volume of 600.
fn analyze(
    kind: &str,
    frames: impl Iterator<Item = Whole>,
    settings: &[&str],
) -> jostle_core::Result<Results> {
    analyze_with(kind, frames.map(|frame| (frame, 600.0)), settings)
}

/// Series in volumes that may vary.
fn analyze_with(
    kind: &str,
    frames: impl Iterator<Item = (Whole, f64)>,
    settings: &[&str],
) -> jostle_core::Result<Results> {
    let (kind, units) = (kinds::find(kind).unwrap(), UnitSystem::Lj);
    let words: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let simbox = SimBox::orthorhombic([10.0, 10.0, 6.0]).unwrap();
    let system_info = SystemInfo {
        units,
        names: vec!["A".into()],
        species: vec![0; ATOMS + SITES],
        simbox,
        polarity: Polarity::Neutral,
        unmoved: SITES,
    };
    let mut measure = kind.measure(&system_info, &MeasureSettings::parse(&words, kind.settings, units)?)?;
    for (k, (frame, volume)) in frames.enumerate() {
        let simbox = SimBox::orthorhombic([10.0, 10.0, volume / 100.0])?;
        measure.add(&View::of_whole(0.01 * k as f64, &simbox, frame))?;
    }
    measure.results()
}

/// Stresses that forget exponentially: eta = V/kT sigma^2 tau, for sampled ones the trapezoidal sum.
#[test]
fn the_viscosity_of_stresses_that_forget() {
    let (rows, sigma, tau) = (200_000, 0.3, 0.08);
    let keep = f64::exp(-0.01 / tau);
    // Diagonal elements of an isotropic tensor vary by 4/3 of the others; here they are
    // independent, of which taking the trace away leaves 2/3.
    let diagonal = sigma * 2f64.sqrt();
    let sigmas = [diagonal, diagonal, diagonal, sigma, sigma, sigma];
    let mut p = [0; 6].map(|_| 0.0);
    let frames = (0..rows).map(|row| {
        for (k, p) in p.iter_mut().enumerate() {
            let fresh = if row == 0 { 1.0 } else { (1.0 - keep * keep).sqrt() };
            *p = keep * *p + sigmas[k] * fresh * normal(row, k as u32);
        }
        let mean = [2.0, 2.0, 2.0, 0.0, 0.0, 0.0];
        let pressure = Some([0, 1, 2, 3, 4, 5].map(|k| p[k] + mean[k]));
        Whole { pressure, ..whole(0.5 * FREEDOM as f64 * THERMAL, 0.0) }
    });
    let results = analyze("viscosity", frames, &["to=0.8"]).unwrap();
    let value = results.get("viscosity").unwrap();
    let sampled = 0.01 * (0.5 + keep / (1.0 - keep));
    // Up to the last lag.
    let exact = 600.0 / THERMAL * sigma * sigma * sampled * (1.0 - f64::exp(-0.8 / tau));
    let error = value.error.unwrap();
    assert!(error < 0.03 * exact, "{exact}: {value:?}");
    assert!((value.value - exact).abs() < 3.0 * error + 1e-3 * exact, "{exact}: {value:?}");
}

/// Currents that forget exponentially: J^2 tau / (3 V k T), for sampled ones the trapezoidal sum.
#[test]
fn the_conductivity_of_currents_that_forget() {
    let (rows, sigma, tau) = (200_000, 2.0, 0.08);
    let keep = f64::exp(-0.01 / tau);
    let mut current = [0.0; 3];
    let frames = (0..rows).map(|row| {
        for (k, j) in current.iter_mut().enumerate() {
            let fresh = if row == 0 { 1.0 } else { (1.0 - keep * keep).sqrt() };
            *j = keep * *j + sigma * fresh * normal(row, k as u32);
        }
        Whole { current: Some(Vector(current)), ..whole(0.5 * FREEDOM as f64 * THERMAL, 0.0) }
    });
    let frames: Vec<Whole> = frames.collect();
    let value = |settings: &[&str]| {
        let results = analyze("conductivity", frames.iter().copied(), settings).unwrap();
        assert!(results.get("conductivity in SI units").is_none(), "reduced units have no SI");
        results.get("conductivity").unwrap().clone()
    };
    let found = value(&["to=0.8"]);
    let sampled = 0.01 * (0.5 + keep / (1.0 - keep));
    let exact = sigma * sigma * sampled * (1.0 - f64::exp(-0.8 / tau)) / (600.0 * THERMAL);
    let error = found.error.unwrap();
    assert!(error < 0.03 * exact, "{exact}: {found:?}");
    assert!((found.value - exact).abs() < 3.0 * error + 1e-3 * exact, "{exact}: {found:?}");
    let warm = value(&["to=0.8", "temperature=3"]);
    assert!((warm.value / found.value - 0.5).abs() < 1e-12, "{warm:?}");
}

/// Stresses with a part that swings fast, so that the correlation soon passes through zero, over one that
/// forgets slowly: where nothing says how far the integral goes, it goes beyond both.
#[test]
fn the_viscosity_of_stresses_that_swing() {
    let (rows, slow, fast, frequency) = (200_000, 0.4f64, 0.05f64, 60.0f64);
    let (keep, decay) = (f64::exp(-0.01 / slow), f64::exp(-0.01 / fast));
    let (sin, cos) = (0.01 * frequency).sin_cos();
    let mut parts = [[0.0; 3]; 5];
    let frames = (0..rows).map(|row| {
        for (k, [p, x, y]) in parts.iter_mut().enumerate() {
            let fresh = |keep: f64| if row == 0 { 1.0 } else { (1.0 - keep * keep).sqrt() };
            let noise = |n: u32| normal(row, 3 * k as u32 + n);
            *p = keep * *p + fresh(keep) * noise(0);
            let turned = [cos * *x - sin * *y, sin * *x + cos * *y];
            [*x, *y] =
                [decay * turned[0] + fresh(decay) * noise(1), decay * turned[1] + fresh(decay) * noise(2)];
        }
        // Five independent elements, each as a shear stress.
        let p = parts.map(|[p, x, _]| 0.3 * p + 0.9 * x);
        let [a, b] = [p[0], p[1] / 3f64.sqrt()];
        let pressure = Some([a + b, b - a, -2.0 * b, p[2], p[3], p[4]]);
        Whole { pressure, ..whole(0.5 * FREEDOM as f64 * THERMAL, 0.0) }
    });
    let results = analyze("viscosity", frames, &[]).unwrap();
    // Trapezoidal sums of exp(-t/slow) and of exp(-t/fast) cos(frequency t).
    let steady = 0.01 * (0.5 + keep / (1.0 - keep));
    let (re, im) = (decay * cos, decay * sin);
    let swinging = 0.01 * (0.5 + (re * (1.0 - re) - im * im) / ((1.0 - re).powi(2) + im * im));
    let exact = 600.0 / THERMAL * (0.09 * steady + 0.81 * swinging);
    let (value, until) = (results.get("viscosity").unwrap(), results.get("integral to").unwrap());
    println!("{value:?} to {until:?}, exactly {exact}");
    let correlation = results.tables[0].column("correlation").unwrap();
    assert!(correlation[..10].iter().any(|c| *c < 0.0) && until.value > 2.0 * slow, "{until:?}");
    let error = value.error.unwrap();
    assert!(error < 0.1 * exact && (value.value - exact).abs() < 3.0 * error, "{value:?}, exactly {exact}");
}

/// A slow tail that is a third of the integral, in runs so short that it is within the noise of the whole: errors have it.
#[test]
fn the_error_of_a_viscosity_has_what_a_tail_adds() {
    let (runs, rows, fast, slow) = (40, 2000, 0.08f64, 0.6f64);
    let [keep_fast, keep_slow] = [fast, slow].map(|tau| f64::exp(-0.01 / tau));
    let parts = [(keep_fast, 0.3), (keep_slow, 0.08)];
    let sampled = |keep: f64| 0.01 * (0.5 + keep / (1.0 - keep));
    let exact: f64 =
        600.0 / THERMAL * parts.iter().map(|(keep, sigma)| sigma * sigma * sampled(*keep)).sum::<f64>();
    let (mut square, mut sum) = (0.0, 0.0);
    for run in 0..runs {
        let mut state = [[0.0; 2]; 5];
        let frames = (0..rows).map(|row| {
            let p: Vec<f64> = state
                .iter_mut()
                .enumerate()
                .map(|(k, both)| {
                    for (n, (x, (keep, sigma))) in both.iter_mut().zip(parts).enumerate() {
                        let fresh = if row == 0 { 1.0 } else { (1.0 - keep * keep).sqrt() };
                        *x = keep * *x + sigma * fresh * normal(run * rows + row, 2 * k as u32 + n as u32);
                    }
                    both.iter().sum()
                })
                .collect();
            // Five independent elements, each as a shear stress.
            let [a, b] = [p[0], p[1] / 3f64.sqrt()];
            let pressure = Some([a + b, b - a, -2.0 * b, p[2], p[3], p[4]]);
            Whole { pressure, ..whole(0.5 * FREEDOM as f64 * THERMAL, 0.0) }
        });
        let results = analyze("viscosity", frames, &[]).unwrap();
        let value = results.get("viscosity").unwrap();
        square += ((value.value - exact) / value.error.unwrap()).powi(2) / f64::from(runs as u32);
        sum += value.value / exact / f64::from(runs as u32);
    }
    // Ends by the error of the whole, without a tail in it, have a chi square of 15.
    println!("chi square {square}, mean {sum} of the exact value");
    assert!(square < 2.0 && (sum - 1.0).abs() < 0.15, "{square} {sum}");
}

/// A stress that oscillates slowly: lags that grow make the same integral,
/// eta(t) = V/kT (2 A^2 / 10) sin(w t) / w of one off-diagonal element with amplitude A.
#[test]
fn the_viscosity_at_lags_that_grow() {
    let (rows, period) = (400_000, 4000);
    let omega = 2.0 * std::f64::consts::PI / (0.01 * period as f64);
    let frames = (0..rows).map(|row| {
        let pressure = Some([0.0, 0.0, 0.0, (omega * 0.01 * row as f64).cos(), 0.0, 0.0]);
        Whole { pressure, ..whole(0.5 * FREEDOM as f64 * THERMAL, 0.0) }
    });
    let results = analyze("viscosity", frames, &["to=10"]).unwrap();
    let table = &results.tables[0];
    let (times, running) = (table.column("t").unwrap(), table.column("running viscosity").unwrap());
    // Fine steps at first, then coarser ones.
    assert!((times[1] - 0.01).abs() < 1e-12 && times.len() < 1000);
    // <cos cos> is half of cos(w t); what the ends of a hundred periods add is far less.
    let exact = |t: f64| 600.0 / THERMAL * 0.2 * 0.5 * (omega * t).sin() / omega;
    let largest = exact(0.25 * 2.0 * std::f64::consts::PI / omega);
    for (t, eta) in times.iter().zip(running).filter(|(t, _)| **t < 40.0) {
        assert!((eta - exact(*t)).abs() < 0.02 * largest, "{t}: {eta}, {}", exact(*t));
    }
}

#[test]
fn heat_capacities_of_both_ensembles() {
    let (rows, thermal, f) = (40_000, 0.7, FREEDOM as f64);
    let kinetic = |row: usize, variance: f64| 0.5 * f * thermal + f64::sqrt(variance) * normal(row, 1);
    let canonical = 0.5 * f * thermal * thermal;
    // 2.6 k_B an atom.
    let capacity = 2.6 * ATOMS as f64;
    let energy = |row: usize| -3000.0 + capacity.sqrt() * thermal * normal(row, 2);
    let microcanonical = canonical * (1.0 - f / (2.0 * capacity));
    let constant = (0..rows).map(|row| whole(kinetic(row, microcanonical), -3000.0));
    let thermostatted = (0..rows).map(|row| whole(kinetic(row, canonical), energy(row)));
    for (results, how) in [
        (analyze("heat-capacity", constant, &[]), "constant energy"),
        (analyze("heat-capacity", thermostatted, &[]), "constant temperature"),
    ] {
        let results = results.unwrap();
        let value = results.get(&format!("heat capacity per atom over k_B, at {how}")).unwrap();
        let error = value.error.unwrap();
        assert!(error < 0.1 && (value.value - 2.6).abs() < 3.5 * error, "{value:?}");
    }
    // At constant pressure the volume takes its part of the enthalpy, 2.6 k_B together: E = H - P V.
    let pressure = 3.0;
    let breathing = (0..rows).map(|row| {
        let volume = 600.0 + 5.0 * normal(row, 3);
        let total = energy(row) - pressure * (volume - 600.0);
        let stress = [pressure + 0.2 * normal(row, 4), pressure, pressure, 0.0, 0.0, 0.0];
        (Whole { pressure: Some(stress), ..whole(kinetic(row, canonical), total) }, volume)
    });
    let results = analyze_with("heat-capacity", breathing, &[]).unwrap();
    let value = results.get("heat capacity per atom over k_B, at constant pressure").unwrap();
    assert!(
        value.error.unwrap() < 0.1 && (value.value - 2.6).abs() < 3.5 * value.error.unwrap(),
        "{value:?}"
    );
    // Velocities scaled to the temperature: no ensemble, no answer.
    let scaled = (0..rows).map(|row| whole(0.5 * f * thermal, energy(row)));
    let refused = analyze("heat-capacity", scaled, &[]).unwrap_err();
    assert!(refused.to_string().contains("canonical"));
}

/// At constant energy, 0.5 f / (1 - 2 var K / (f T^2)) has a meaning where K varies less than at constant temperature: rows
/// that begin out of equilibrium, and rows that drift, are refused or doubted.
#[test]
fn rows_out_of_equilibrium_have_no_heat_capacity() {
    let (rows, thermal, f) = (4000, 0.7, FREEDOM as f64);
    let canonical = 0.5 * f * thermal * thermal;
    let name = "heat capacity per atom over k_B, at constant energy";
    // 2.6 k_B an atom, and so many standard deviations more at a row.
    let deviation = f64::sqrt(canonical * (1.0 - 1.5 / 2.6));
    let found = |more: &dyn Fn(usize) -> f64| {
        let row = |row| whole(0.5 * f * thermal + deviation * (normal(row, 1) + more(row)), -3000.0);
        analyze("heat-capacity", (0..rows).map(row), &[])
    };
    let good = found(&|_| 0.0).unwrap();
    assert!(good.warnings.is_empty() && (good.get(name).unwrap().value - 2.6).abs() < 0.3, "{good:?}");
    // Rows in equilibrium that follow soon after each other, 2000 of which some 200 count as one.
    let doubted = (0..100).filter(|run| {
        let (keep, mut k) = (f64::exp(-0.2), normal(run * rows, 1));
        let kinetic = (0..2000).map(|row| {
            k = keep * k + (1.0 - keep * keep).sqrt() * normal(run * rows + row, 1);
            whole(0.5 * f * thermal + deviation * k, -3000.0)
        });
        !analyze("heat-capacity", kinetic, &[]).unwrap().warnings.is_empty()
    });
    let doubted = doubted.count();
    assert!(doubted <= 3, "{doubted} of 100");
    // Velocities of twice the temperature, of which atoms on a lattice lose the half at once.
    let melting =
        |times: f64| move |row: usize| times * 0.5 * f * thermal / deviation * (-(row as f64) / 10.0).exp();
    let refused = found(&melting(1.0)).unwrap_err().to_string();
    assert!(refused.contains("constant energy") && refused.contains("times as much"), "{refused}");
    for (more, why) in [
        (&melting(0.4) as &dyn Fn(usize) -> f64, "begin out of equilibrium"),
        (&|row| row as f64 / rows as f64, "not in equilibrium"),
    ] {
        let results = found(more).unwrap();
        assert!(results.warnings.iter().any(|warning| warning.reason.contains(why)), "{results:?}");
    }
}

/// Independent dipoles, <M^2> = N mu^2, around a mean that counts for nothing.
#[test]
fn the_permittivity_of_a_gas_of_dipoles() {
    let (rows, square) = (20_000, 40.0 * 0.7 * 0.7);
    let frames = (0..rows).map(|row| {
        let component = |k: u32| (square / 3.0f64).sqrt() * normal(row, k) + f64::from(k);
        let dipole = Some(Vector([0, 1, 2].map(component)));
        Whole { dipole, ..whole(0.5 * FREEDOM as f64 * THERMAL, 0.0) }
    });
    let results = analyze("dielectric", frames, &[]).unwrap();
    let value = results.get("relative permittivity").unwrap();
    let exact = 1.0 + 4.0 * std::f64::consts::PI * square / (3.0 * 600.0 * THERMAL);
    let error = value.error.unwrap();
    assert!(error < 0.03 * (exact - 1.0), "{exact}: {value:?}");
    assert!((value.value - exact).abs() < 4.0 * error, "{exact}: {value:?}");
    let mean = results.get("mean dipole moment z").unwrap();
    assert!((mean.value - 2.0).abs() < 4.0 * mean.error.unwrap(), "{mean:?}");
}

#[test]
fn what_has_no_dipole_moment_is_refused() {
    let kind = kinds::find("dielectric").unwrap();
    let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
    let open = SimBox::new([0.0; 3], [10.0; 3], [0.0; 3], [true, true, false]).unwrap();
    for (polarity, simbox, why) in [
        (Polarity::Unknown, simbox, "a trajectory has no charges"),
        (Polarity::Uncharged, simbox, "no atom has a charge"),
        (Polarity::Ions { atom: 6, charge: -1.0 }, simbox, "the molecule of atom 7 has the charge -1"),
        (Polarity::Neutral, open, "periodic along all axes"),
    ] {
        let (names, species) = (vec!["A".into()], vec![0; ATOMS]);
        let system_info = SystemInfo { units: UnitSystem::Lj, names, species, simbox, polarity, unmoved: 0 };
        let settings = MeasureSettings::parse(&[], kind.settings, UnitSystem::Lj).unwrap();
        let refused = kind.measure(&system_info, &settings).err().unwrap().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn what_is_not_there_is_said() {
    let still = || (0..40).map(|_| whole(100.0, -50.0));
    let refused = analyze("viscosity", still(), &[]).unwrap_err();
    assert!(refused.to_string().contains("no pressure"), "{refused}");
    for kind in ["viscosity", "heat-capacity"] {
        let few = still().take(10).map(|w| Whole { pressure: Some([1.0; 6]), ..w });
        let refused = analyze(kind, few, &[]).unwrap_err();
        assert!(refused.to_string().contains("10"), "{refused}");
    }
}
