//! Viscosity and heat capacity of series whose values are known.

use jostle_analysis::{Results, Series, Settings, series};
use jostle_core::UnitSystem;
use jostle_core::random::{Purpose, Stream};

fn normal(row: usize, quantity: u32) -> f64 {
    Stream::new(17, Purpose::Thermostat, quantity, row as u64).normal()
}

/// Rows 0.01 apart of 500 atoms in a volume of 600.
fn series(columns: Vec<(&str, Vec<f64>)>, units: UnitSystem) -> Series {
    let time = (0..columns[0].1.len()).map(|k| 0.01 * k as f64).collect();
    let columns = columns.into_iter().map(|(name, values)| (name.to_string(), values)).collect();
    Series { units, atoms: 500, degrees_of_freedom: 1500, volume: 600.0, time, columns }
}

fn analyze(kind: &str, series: &Series, settings: &[&str]) -> jostle_core::Result<Results> {
    let kind = series::find(kind).unwrap();
    let words: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    (kind.analyze)(series, &Settings::parse(&words, kind.settings, series.units)?)
}

/// Stresses that forget exponentially: eta = V/kT sigma^2 tau, for sampled ones the trapezoidal sum.
#[test]
fn the_viscosity_of_stresses_that_forget() {
    let (rows, sigma, tau, thermal) = (200_000, 0.3, 0.08, 1.5);
    let keep = f64::exp(-0.01 / tau);
    for units in [UnitSystem::Lj, UnitSystem::Metal] {
        let pressure = |quantity: u32, sigma: f64, mean: f64| -> Vec<f64> {
            let mut p = sigma * normal(0, quantity);
            let next = |row: usize| {
                p = keep * p + sigma * (1.0 - keep * keep).sqrt() * normal(row, quantity);
                units.pressure_to_user(p + mean)
            };
            (1..=rows).map(next).collect()
        };
        // Diagonal elements of an isotropic tensor vary by 4/3 of the others; here they are
        // independent, of which taking the trace away leaves 2/3.
        let diagonal = sigma * 2f64.sqrt();
        let off = |quantity| pressure(quantity, sigma, 0.0);
        let columns = vec![
            ("pxx", pressure(1, diagonal, 2.0)),
            ("pyy", pressure(2, diagonal, 2.0)),
            ("pzz", pressure(3, diagonal, 2.0)),
            ("pxy", off(4)),
            ("pxz", off(5)),
            ("pyz", off(6)),
            ("kinetic", vec![0.5 * 1500.0 * thermal; rows]),
        ];
        let results = analyze("viscosity", &series(columns, units), &["lags=100", "to=0.8"]).unwrap();
        let value = results.get("viscosity").unwrap();
        let sampled = 0.01 * (0.5 + keep / (1.0 - keep));
        // Up to the last lag.
        let exact = 600.0 / thermal * sigma * sigma * sampled * (1.0 - f64::exp(-0.8 / tau));
        let error = value.error.unwrap();
        assert!(error < 0.03 * exact, "{exact}: {value:?}");
        assert!((value.value - exact).abs() < 3.0 * error + 1e-3 * exact, "{exact}: {value:?}");
    }
}

#[test]
fn heat_capacities_of_both_ensembles() {
    let (rows, thermal, f) = (40_000, 0.7, 1500.0);
    let kinetic = |variance: f64| -> Vec<f64> {
        (0..rows).map(|row| 0.5 * f * thermal + variance.sqrt() * normal(row, 1)).collect()
    };
    let canonical = 0.5 * f * thermal * thermal;
    // 2.6 k_B an atom.
    let capacity: f64 = 2.6 * 500.0;
    let energy = |row: usize| -3000.0 + capacity.sqrt() * thermal * normal(row, 2);
    let constant = series(
        vec![("kinetic", kinetic(canonical * (1.0 - f / (2.0 * capacity)))), ("total", vec![-3000.0; rows])],
        UnitSystem::Lj,
    );
    let thermal = series(
        vec![("kinetic", kinetic(canonical)), ("total", (0..rows).map(energy).collect())],
        UnitSystem::Lj,
    );
    for (series, how) in [(&constant, "constant energy"), (&thermal, "constant temperature")] {
        let results = analyze("heat-capacity", series, &[]).unwrap();
        let value = results.get(&format!("heat capacity per atom over k_B, at {how}")).unwrap();
        let error = value.error.unwrap();
        assert!(error < 0.1 && (value.value - 2.6).abs() < 3.5 * error, "{value:?}");
    }
    // Velocities scaled to the temperature: no ensemble, no answer.
    let mut scaled = thermal.clone();
    scaled.columns[0].1 = vec![525.0; rows];
    assert!(analyze("heat-capacity", &scaled, &[]).unwrap_err().to_string().contains("canonical"));
}
