//! Thermal conductivity from a heat flux that a run drives through a periodic box, and the temperatures that it
//! leads to (F. Müller-Plathe, J. Chem. Phys. 106 (1997) 6082).
//!
//! The box is cut into an even number of slabs. Heat is taken out of the first one and put into the middle one, so
//! that half of it flows each way. In between, the temperature rises linearly by Fourier's law, and the thermal
//! conductivity is the flux over the gradient. Slabs where heat is exchanged are no part of the line, nor are their
//! neighbours where there are others.

use crate::blocks::{BlockEstimate, Blocks};
use crate::report::{Record, Results, SiUnit, Table, unit};
use crate::saved_state::SavedState;
use crate::warning::Verdict;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use std::f64::consts::SQRT_2;

/// Name of the analysis in files and records.
pub const THERMAL_CONDUCTIVITY: &str = "thermal-conductivity";

pub(crate) const CONDUCTIVITY: Dimension =
    Dimension { energy: 1, length: -1, time: -1, temperature: -1, ..Dimension::NUMBER };
const FLUX: Dimension = Dimension { energy: 1, length: -2, time: -1, ..Dimension::NUMBER };
const GRADIENT: Dimension = Dimension { temperature: 1, length: -1, ..Dimension::NUMBER };

/// Fewest slabs of which three in each half are between those where heat is exchanged.
pub const FEWEST_SLABS: usize = 8;
/// Slabs from which on neighbours of those where heat is exchanged are left out.
const MANY_SLABS: usize = 16;
/// Part of the mean temperature between the two ends beyond which a gradient is hardly small.
const STEEP: f64 = 0.5;
/// Part by which the two halves of the frames may differ.
const UNSETTLED: f64 = 0.1;

/// Numbers of an exchange of heat.
#[derive(Debug, Clone, Copy)]
pub struct HeatExchange<'a> {
    /// Heat that was carried from the first slab to the middle one.
    pub heat: f64,
    /// Time since the exchange before.
    pub time: f64,
    /// Area of the box across the flux.
    pub area: f64,
    /// Height of the box along the flux.
    pub height: f64,
    /// Temperature of each slab before the exchange; NaN where no atom was.
    pub temperatures: &'a [f64],
}

/// Unit of thermal conductivities in SI units.
pub(crate) const WATT_PER_METRE_KELVIN: SiUnit = SiUnit { name: "W/(m K)", per_base: 1.0 };

/// Averages over the exchanges of heat of a stage.
#[derive(Debug, Clone)]
pub struct HeatFlux {
    slabs: usize,
    /// For each slab its temperature; then the gradient in each half, the flux, and the height of the box.
    blocks: Blocks,
}

impl HeatFlux {
    /// No exchanges yet, in a box that is cut into so many slabs.
    ///
    /// # Errors
    /// If the slabs are too few, their number is odd, or their averages do not fit into memory.
    pub fn new(slabs: usize) -> Result<Self> {
        if slabs < FEWEST_SLABS || !slabs.is_multiple_of(2) {
            return Err(Error::input(format!("{slabs} slabs cannot carry a flux both ways"))
                .hint(format!("choose an even number of slabs from {FEWEST_SLABS} on")));
        }
        let blocks = Blocks::fitting(slabs + 4, "choose fewer slabs")?;
        Ok(HeatFlux { slabs, blocks })
    }

    /// Adds an exchange.
    pub fn add(&mut self, exchange: &HeatExchange) {
        let width = exchange.height / self.slabs as f64;
        let gradients = self.gradients(exchange.temperatures).map(|gradient| gradient / width);
        let flux = exchange.heat / (2.0 * exchange.area * exchange.time);
        self.blocks.frame();
        let numbers = exchange.temperatures.iter().copied().chain(gradients).chain([flux, exchange.height]);
        for (k, number) in numbers.enumerate().filter(|(_, number)| number.is_finite()) {
            self.blocks.add(k, number);
        }
    }

    /// Rise of the temperature from slab to slab in each half, by least squares; NaN where a slab has none.
    fn gradients(&self, temperatures: &[f64]) -> [f64; 2] {
        let skip = if self.slabs < MANY_SLABS { 1 } else { 2 };
        let half = self.slabs / 2;
        let (first, last) = (skip, half - skip);
        let middle = 0.5 * (first + last) as f64;
        let sum = |of: &dyn Fn(usize) -> f64| (first..=last).map(of).sum::<f64>();
        let squares = sum(&|k| (k as f64 - middle).powi(2));
        let slope = |slab: &dyn Fn(usize) -> usize| {
            sum(&|k| (k as f64 - middle) * temperatures[slab(k) % self.slabs]) / squares
        };
        [slope(&|k| k), slope(&|k| self.slabs - k)]
    }

    /// The state, for a checkpoint.
    pub fn saved_state(&mut self) -> &mut dyn SavedState {
        &mut self.blocks
    }

    /// Profile of the temperature along an axis (0 to 2), thermal conductivity with its error, flux and gradient, and
    /// warnings.
    ///
    /// # Errors
    /// If there was no exchange.
    pub fn record(&self, units: UnitSystem, axis: usize) -> Result<Record> {
        if self.blocks.frames() == 0 {
            return Err(Error::input("no heat has been exchanged yet"));
        }
        let n = self.slabs;
        let means = self.blocks.means();
        let height = means[n + 3].0;
        let along = (0..n).map(|k| (k as f64 + 0.5) * height / n as f64).collect();
        let name = ["x", "y", "z"][axis];
        let mut table = Table::new(THERMAL_CONDUCTIVITY, name, unit(units, 1, 0), along);
        table.with_errors("temperature", &unit_name(units, Dimension::TEMPERATURE), &means[..n]);
        let gradient = |m: &[f64]| 0.5 * (m[n] + m[n + 1]);
        let derived = self.blocks.derive(|m| vec![m[n + 2] / gradient(m), gradient(m), m[n] - m[n + 1]]);
        let [conductivity, slope, difference] = [derived[0], derived[1], derived[2]];
        let mut results = Results { tables: vec![table], ..Results::default() };
        if let Some((reason, remedy)) = self.obstacle(&means) {
            results.warn("thermal conductivity", (Verdict::Withheld, reason), remedy);
        } else if slope.0 > 2.0 * slope.1.unwrap_or(f64::INFINITY) {
            results.value("thermal conductivity", &unit_name(units, CONDUCTIVITY), conductivity);
            let dimension = (units, CONDUCTIVITY);
            results.value_in_si("thermal conductivity", WATT_PER_METRE_KELVIN, dimension, conductivity);
            self.warn(&mut results, &means, difference);
        } else {
            let reason = "the gradient of the temperature is not larger than twice its error".to_string();
            let remedy = "exchange more heat (a smaller every, more swaps), or run longer";
            results.warn("thermal conductivity", (Verdict::Withheld, reason), remedy);
        }
        results.value("heat flux", &unit_name(units, FLUX), means[n + 2]);
        results.value("temperature gradient", &unit_name(units, GRADIENT), slope);
        Ok(Record {
            kind: THERMAL_CONDUCTIVITY.into(),
            units: units.name().into(),
            frames: self.blocks.frames(),
            results,
        })
    }

    /// Cause for which no heat was carried, or nothing can be told of where it flows, and a remedy.
    fn obstacle(&self, means: &[BlockEstimate]) -> Option<(String, &'static str)> {
        const ELSEWHERE: &str = "frozen and driven atoms in other slabs, another axis, or fewer slabs";
        let n = self.slabs;
        let lies_still = |k: &usize| means[*k].0.is_nan();
        let no_flux = means[n + 2].0 == 0.0;
        if let Some(slab) = [0, n / 2].into_iter().find(lies_still) {
            let which = if slab == 0 { "first" } else { "middle" };
            let reason = format!(
                "no atom of the {which} slab moves by itself (none is there, or all are frozen or driven), so that no heat is carried"
            );
            return Some((reason, ELSEWHERE));
        }
        if no_flux {
            let reason = "no heat was carried: no atom of the first slab was faster than one of its species in the middle slab";
            return Some((reason.into(), "slabs that both have moving atoms of one species"));
        }
        let slope_is_missing = means[n].0.is_nan() || means[n + 1].0.is_nan();
        let slab = (0..n).find(lies_still).filter(|_| slope_is_missing)?;
        let reason =
            format!("no atom of slab {} of {n} moves by itself, so that it has no temperature", slab + 1);
        Some((reason, ELSEWHERE))
    }

    /// Warnings about profiles that are not settled, differ between the halves of the box, or are too steep.
    fn warn(&self, results: &mut Results, means: &[BlockEstimate], difference: BlockEstimate) {
        let n = self.slabs;
        let mut doubt = |reason: String, remedy: &str| {
            results.warn("thermal conductivity", (Verdict::Doubtful, reason), remedy);
        };
        let [early, late] = self.blocks.halves(|m| vec![0.5 * (m[n] + m[n + 1])]).map(|half| half[0]);
        let slope = 0.5 * (early.0 + late.0);
        let noise = |estimate: BlockEstimate| estimate.1.unwrap_or(f64::INFINITY);
        let large = |change: f64, noise: f64| change.abs() > (UNSETTLED * slope.abs()).max(noise);
        // The second half alone tells the noise, as its gradient hardly drifts. Slow waves of heat make few blocks of it
        // too much alike: six standard errors of a difference of two such halves, where four would do.
        if large(late.0 - early.0, 6.0 * SQRT_2 * noise(late)) {
            let reason = format!(
                "the gradient was {:.2e} in the first half of the stage and {:.2e} in the second",
                early.0, late.0
            );
            doubt(reason, "drive the flux in a stage before this one, until the profile is settled");
        }
        if large(difference.0, 4.0 * noise(difference)) {
            let reason = format!("the gradients on both sides differ by {:.2e}", difference.0.abs());
            doubt(reason, "begin from a system that is uniform along the axis");
        }
        let (cold, hot) = (means[0].0, means[n / 2].0);
        if 2.0 * (hot - cold) > STEEP * (hot + cold) {
            let reason = format!("the ends are at {cold:.3} and {hot:.3}: the gradient is hardly small");
            doubt(reason, "exchange less heat: a larger every");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    fn exchange(temperatures: &[f64]) -> HeatExchange<'_> {
        HeatExchange { heat: 12.0, time: 0.5, area: 3.0, height: 20.0, temperatures }
    }

    /// Temperatures that rise by 0.2 per length to the middle and fall from there, slabs of exchange aside.
    fn roof(slabs: usize) -> Vec<f64> {
        let width = 20.0 / slabs as f64;
        (0..slabs).map(|k| 1.0 + 0.2 * width * k.min(slabs - k) as f64).collect()
    }

    #[test]
    fn a_line_has_its_conductivity() {
        for slabs in [8, 10, 20] {
            let mut flux = HeatFlux::new(slabs).unwrap();
            let mut temperatures = roof(slabs);
            (temperatures[0], temperatures[slabs / 2]) = (0.1, 13.0);
            if slabs >= MANY_SLABS {
                (temperatures[1], temperatures[slabs / 2 + 1]) = (0.2, 12.0);
            }
            for noise in [0.01, -0.01].repeat(50) {
                let noisy: Vec<f64> = temperatures.iter().map(|t| t * (1.0 + noise)).collect();
                flux.add(&exchange(&noisy));
            }
            let results = flux.record(UnitSystem::Lj, 2).unwrap().results;
            let value = |name: &str| results.get(name).unwrap().value;
            assert!((value("heat flux") - 4.0).abs() < 1e-12);
            assert!((value("temperature gradient") - 0.2).abs() < 1e-12, "{slabs}: {results:?}");
            assert!((value("thermal conductivity") - 20.0).abs() < 1e-9, "{slabs}: {results:?}");
            let profile = results.tables[0].column("temperature").unwrap();
            assert!(profile.iter().zip(&temperatures).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn doubtful_profiles_are_named() {
        let reasons = |profile: &dyn Fn(usize, usize) -> f64| {
            let mut flux = HeatFlux::new(16).unwrap();
            for frame in 0..200 {
                let noise = if frame % 2 == 0 { 1e-3 } else { -1e-3 };
                let temperatures: Vec<f64> =
                    (0..16).map(|slab| profile(frame, slab) * (1.0 + noise)).collect();
                flux.add(&exchange(&temperatures));
            }
            let warnings = flux.record(UnitSystem::Lj, 2).unwrap().results.warnings;
            warnings.into_iter().map(|warning| warning.reason).collect::<Vec<_>>().join("; ")
        };
        let height = |slab: usize| slab.min(16 - slab) as f64;
        assert_eq!(reasons(&|_, slab| 1.0 + 0.02 * height(slab)), "");
        assert!(reasons(&|_, slab| 1.0 + 0.2 * height(slab)).contains("hardly small"));
        let noise = |frame: usize, slab: usize| 1.0 + 0.01 * ((7 * frame + 3 * slab * slab) as f64).sin();
        assert!(reasons(&noise).contains("not larger than twice its error"), "{}", reasons(&noise));
        let growing = |frame: usize, slab| 1.0 + 1e-4 * frame as f64 * height(slab);
        assert!(reasons(&growing).contains("first half of the stage"), "{}", reasons(&growing));
        let settling =
            |frame: usize, slab| 1.0 + 0.02 * (1.0 - (-(frame as f64) / 30.0).exp()) * height(slab);
        assert!(reasons(&settling).contains("first half of the stage"), "{}", reasons(&settling));
        let uneven = |_, slab: usize| 1.0 + if slab < 8 { 0.02 } else { 0.03 } * height(slab);
        assert!(reasons(&uneven).contains("differ by"), "{}", reasons(&uneven));
    }

    /// Slabs whose atoms are all frozen or driven have no temperature and carry no heat.
    #[test]
    fn slabs_without_moving_atoms_are_named() {
        let reason = |still: &[usize], heat: f64| {
            let mut flux = HeatFlux::new(8).unwrap();
            for _ in 0..100 {
                let mut temperatures = roof(8);
                still.iter().for_each(|slab| temperatures[*slab] = f64::NAN);
                flux.add(&HeatExchange { heat, ..exchange(&temperatures) });
            }
            let results = flux.record(UnitSystem::Lj, 2).unwrap().results;
            assert!(results.get("thermal conductivity").is_none());
            results.warnings[0].reason.clone()
        };
        assert!(reason(&[0], 0.0).contains("no atom of the first slab moves by itself"));
        assert!(reason(&[3, 4], 0.0).contains("no atom of the middle slab moves by itself"));
        assert!(reason(&[], 0.0).contains("no heat was carried"));
        assert!(reason(&[2], 1.0).contains("no atom of slab 3 of 8"));
    }

    /// Slow waves of heat, 750 frames of which about 80 count as one: they change the gradient of the halves by more than
    /// a tenth of itself in most series.
    #[test]
    fn slow_waves_are_no_drift() {
        let (series, frames, keep) = (200, 750, (-1.0f64 / 40.0).exp());
        let (mut alarms, mut changes) = (0, 0);
        for seed in 0..series {
            let mut stream = Stream::new(seed, Purpose::Test, 0, 0);
            let mut flux = HeatFlux::new(16).unwrap();
            let mut wave = stream.normal();
            for _ in 0..frames {
                let gradient = 0.02 * (1.0 + 0.3 * wave);
                let temperatures: Vec<f64> =
                    (0..16).map(|k: usize| 1.0 + gradient * k.min(16 - k) as f64).collect();
                flux.add(&exchange(&temperatures));
                wave = keep * wave + (1.0 - keep * keep).sqrt() * stream.normal();
            }
            let [early, late] = flux.blocks.halves(|m| vec![m[16]]).map(|half| half[0].0);
            changes += usize::from((late / early - 1.0).abs() > UNSETTLED);
            let warnings = flux.record(UnitSystem::Lj, 2).unwrap().results.warnings;
            alarms += usize::from(warnings.iter().any(|warning| warning.reason.contains("first half")));
        }
        assert!(changes > series as usize / 2, "{changes} of {series}");
        assert!(alarms <= series as usize / 25, "{alarms} of {series}");
    }

    #[test]
    fn slabs_must_be_even_and_many() {
        for slabs in [0, 6, 9] {
            let error = HeatFlux::new(slabs).unwrap_err();
            assert!(error.message().contains("both ways"), "{error}");
        }
    }
}
