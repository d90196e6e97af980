//! Transport coefficients of currents whose integrals are known, over many series: bias, and coverage by the errors.

use jostle_analysis::{MeasureSettings, Polarity, SystemInfo, View, Whole, kinds};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, UnitSystem, Vector};

/// A part of a current that forgets exponentially and turns: its correlation is its variance times
/// exp(-t/decay) cos(frequency t).
#[derive(Clone, Copy)]
struct Part {
    variance: f64,
    decay: f64,
    frequency: f64,
}

const fn part(variance: f64, decay: f64, frequency: f64) -> Part {
    Part { variance, decay, frequency }
}

impl Part {
    /// Trapezoidal sum of its correlation at intervals of 1.
    fn integral(&self) -> f64 {
        let keep = (-1.0 / self.decay).exp();
        let (re, im) = (keep * self.frequency.cos(), keep * self.frequency.sin());
        self.variance * (0.5 + (re * (1.0 - re) - im * im) / ((1.0 - re).powi(2) + im * im))
    }
}

/// Series of currents, their parts drawn from equilibrium.
fn series(parts: &[Part], rows: usize, seed: u64) -> Vec<[f64; 3]> {
    let mut stream = Stream::new(seed, Purpose::Test, 0, 0);
    let mut states = vec![[[0.0; 2]; 3]; parts.len()];
    let mut row = |first: bool| {
        let mut current = [0.0; 3];
        for (part, state) in parts.iter().zip(&mut states) {
            let keep = (-1.0 / part.decay).exp();
            let (sin, cos) = part.frequency.sin_cos();
            let fresh = if first { 1.0 } else { (1.0 - keep * keep).sqrt() };
            for ([x, y], current) in state.iter_mut().zip(&mut current) {
                let turned = [cos * *x - sin * *y, sin * *x + cos * *y];
                *x = keep * turned[0] + fresh * stream.normal();
                *y = keep * turned[1] + fresh * stream.normal();
                *current += part.variance.sqrt() * *x;
            }
        }
        current
    };
    (0..rows).map(|k| row(k == 0)).collect()
}

/// A coefficient and what it should be.
struct Found {
    value: f64,
    error: f64,
    end: f64,
    truncation: f64,
    exact: f64,
}

fn conductivity(parts: &[Part], rows: usize, seed: u64) -> Found {
    let (kind, units) = (kinds::find("conductivity").unwrap(), UnitSystem::Lj);
    let simbox = SimBox::orthorhombic([1.0; 3]).unwrap();
    let (names, species) = (vec!["A".into()], vec![0; 8]);
    let system_info = SystemInfo { units, names, species, simbox, polarity: Polarity::Neutral, unmoved: 0 };
    let settings = MeasureSettings::parse(&[], kind.settings, units).unwrap();
    let mut measure = kind.measure(&system_info, &settings).unwrap();
    for (k, current) in series(parts, rows, seed).into_iter().enumerate() {
        let whole = Whole {
            kinetic: 12.0,
            total: 0.0,
            degrees_of_freedom: 24,
            pressure: None,
            dipole: None,
            current: Some(Vector(current)),
            heat_current: None,
        };
        measure.add(&View::of_whole(k as f64, &simbox, whole)).unwrap();
    }
    let results = measure.results().unwrap();
    let value = results.get("conductivity").unwrap();
    Found {
        value: value.value,
        error: value.error.unwrap(),
        end: results.get("integral to").unwrap().value,
        truncation: results.get("truncation error").unwrap().value,
        exact: parts.iter().map(Part::integral).sum(),
    }
}

/// Integrals end where nothing that can be told from noise follows, never at the first times, where all gains are small:
/// of currents that forget, that swing, that swing about a slow tail, that have a slow part of three quarters, and a tail
/// of a third of the integral. Series of 2000 rows tell them to a fifth or a half, those of 20,000 to a tenth.
#[test]
fn integrals_end_where_they_have_settled() {
    let forgets = [part(1.0, 8.0, 0.0)];
    let swings = [part(1.0, 20.0, 0.2)];
    let swings_about_a_tail = [part(0.2, 40.0, 0.0), part(1.0, 5.0, 0.6)];
    let slow = [part(0.6, 3.0, 0.0), part(0.4, 20.0, 0.0)];
    let tail = [part(0.93, 8.0, 0.0), part(0.07, 60.0, 0.0)];
    let currents: [&[Part]; 5] = [&forgets, &swings, &swings_about_a_tail, &slow, &tail];
    for (which, parts) in currents.into_iter().enumerate() {
        for (rows, runs) in [(2000, 200), (20_000, 40)] {
            let all: Vec<Found> = (0..runs).map(|seed| conductivity(parts, rows, seed)).collect();
            let mean = |of: &dyn Fn(&Found) -> f64| all.iter().map(of).sum::<f64>() / runs as f64;
            let bias = mean(&|found| found.value / found.exact) - 1.0;
            let scatter = mean(&|found| (found.value / found.exact - 1.0).powi(2)).sqrt();
            let chi_square = mean(&|found| ((found.value - found.exact) / found.error).powi(2));
            let covered = mean(&|found| f64::from((found.value - found.exact).abs() < 2.0 * found.error));
            let earliest = all.iter().map(|found| found.end).fold(f64::INFINITY, f64::min);
            let shortest = parts.iter().map(|part| part.decay).fold(f64::INFINITY, f64::min);
            let what = format!(
                "{which}, {rows} rows: bias {bias:.3}, scatter {scatter:.3}, chi square {chi_square:.2}, \
                 covered {covered:.2}, from {earliest}"
            );
            println!("{what}");
            // Four standard errors of the mean, and a tail that is hidden in the noise.
            let noise = 4.0 * scatter / f64::sqrt(runs as f64);
            assert!(bias.abs() < 0.05 + noise && bias.abs() < 0.1, "{what}");
            assert!(chi_square < 1.5 && covered > 0.9, "{what}");
            assert!(earliest > shortest, "{what}");
            let mut errors: Vec<f64> = all.iter().map(|found| found.error / found.exact).collect();
            errors.sort_by(f64::total_cmp);
            assert!(errors[runs as usize / 2] < 3.0 * scatter, "{what}");
            assert!(
                all.iter().all(|found| 0.0 < found.truncation && found.truncation < found.error),
                "{what}"
            );
        }
    }
}

/// A stress that stays what it is has the viscosity V/kT P^2 / 5 t; one kcal/mol fs/A^3 are 6.9477e-3 mPa s.
#[test]
fn viscosities_have_si_units() {
    let (kind, simbox) = (kinds::find("viscosity").unwrap(), SimBox::orthorhombic([10.0; 3]).unwrap());
    for units in [UnitSystem::Real, UnitSystem::Lj] {
        let (names, species) = (vec!["A".into()], vec![0; 8]);
        let system_info =
            SystemInfo { units, names, species, simbox, polarity: Polarity::Neutral, unmoved: 0 };
        let settings = MeasureSettings::parse(&["to=4".into()], kind.settings, units).unwrap();
        let mut measure = kind.measure(&system_info, &settings).unwrap();
        for k in 0..200 {
            let whole = Whole {
                kinetic: 12.0,
                total: 0.0,
                degrees_of_freedom: 24,
                pressure: Some([0.0, 0.0, 0.0, 0.5, 0.0, 0.0]),
                dipole: None,
                current: None,
                heat_current: None,
            };
            measure.add(&View::of_whole(f64::from(k), &simbox, whole)).unwrap();
        }
        let results = measure.results().unwrap();
        let value = results.get("viscosity").unwrap().value;
        assert!((value / (1000.0 * 0.25 / 5.0 * 4.0) - 1.0).abs() < 1e-12, "{value}");
        let si = results.get("viscosity in SI units").map(|si| (si.value / value, si.unit.as_str()));
        match units {
            UnitSystem::Lj => assert_eq!(si, None, "reduced units have no SI"),
            _ => assert!(
                matches!(si, Some((scale, "mPa s")) if (scale / 6.94770e-3 - 1.0).abs() < 1e-5),
                "{si:?}"
            ),
        }
    }
}
