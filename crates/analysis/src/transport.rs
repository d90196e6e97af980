//! Transport coefficients by Green and Kubo from fluxes of the system as a whole: stress, electric current,
//! heat current.

use crate::blocks::Blocks;
use crate::correlate::{FrameSpacing, MultiTau};
use crate::green_kubo::GreenKubo;
use crate::measure::Measure;
use crate::report::{Results, SiUnit, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting, TEMPERATURE};
use crate::view::{View, Whole, without_velocities};
use crate::warning::Verdict;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem, Vec3};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Setting of where the integral ends.
pub(crate) const END: Setting = Setting {
    name: "to",
    dimension: Dimension::TIME,
    default: None,
    about: "where the integral ends [default: where it has settled: later gains are within their noise; their truncation error is in the error]",
};

/// Up to this lag every frame is an origin of time.
const LAGS: usize = 128;

/// Definition of a coefficient.
pub(crate) struct Coefficient<T> {
    /// Name among results.
    pub name: &'static str,
    /// Plural of the flux in messages.
    pub fluxes: &'static str,
    pub dimension: Dimension,
    /// Dimension of the correlation.
    pub of_correlation: Dimension,
    /// Product of two fluxes, averaged over independent components.
    pub product: fn(&T, &T) -> f64,
    /// Factor of the integral, given the units, the volume and the thermal energy.
    pub scale: fn(UnitSystem, f64, f64) -> f64,
    /// Its unit of the SI.
    pub si: SiUnit,
    /// Hint where fluxes are too few or too far apart.
    pub more: &'static str,
}

/// The correlation of a flux, and its integral.
pub(crate) struct Transport<T: 'static> {
    what: &'static Coefficient<T>,
    units: UnitSystem,
    settings: MeasureSettings,
    clock: FrameSpacing,
    past: MultiTau<T>,
    /// The correlation at each lag; the volume and the thermal energy.
    blocks: Blocks,
}

/// Measure of a coefficient by a current of the whole system.
pub(crate) struct ByCurrent {
    current: fn(&Whole) -> Option<Vec3>,
    /// k_B T, where that was said.
    thermal: Option<f64>,
    transport: Transport<Vec3>,
}

impl ByCurrent {
    /// Settings of such a measure.
    pub const SETTINGS: &'static [Setting] = &[END, TEMPERATURE];

    /// No frames yet; `current` is the one of a frame, if its velocities are known.
    ///
    /// # Errors
    /// If the integral would end before it begins, or the temperature is not greater than zero.
    pub fn new(
        what: &'static Coefficient<Vec3>,
        current: fn(&Whole) -> Option<Vec3>,
        units: UnitSystem,
        settings: &MeasureSettings,
    ) -> Result<Self> {
        let (thermal, transport) = (settings.thermal_energy(units)?, Transport::new(what, units, settings)?);
        Ok(ByCurrent { current, thermal, transport })
    }
}

impl Measure for ByCurrent {
    fn add(&mut self, frame: &View) -> Result<()> {
        let whole = frame.whole()?;
        let current = (self.current)(&whole).ok_or_else(without_velocities)?;
        self.transport.add(frame, self.thermal.unwrap_or(whole.thermal_energy()), current)
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        self.transport.saved_state()
    }

    fn results(&self) -> Result<Results> {
        self.transport.results()
    }
}

/// Product of two vectors, averaged over their components.
pub(crate) fn mean_product(a: &Vec3, b: &Vec3) -> f64 {
    a.dot(*b) / 3.0
}

impl<T: Serialize + DeserializeOwned> Transport<T> {
    /// No fluxes yet.
    ///
    /// # Errors
    /// If the integral would end before it begins.
    pub fn new(what: &'static Coefficient<T>, units: UnitSystem, settings: &MeasureSettings) -> Result<Self> {
        settings.positive(END.name, 1.0)?;
        let past = MultiTau::new(LAGS);
        let (clock, blocks) = (FrameSpacing::default(), Blocks::new(past.width() + 2));
        Ok(Transport { what, units, settings: settings.clone(), clock, past, blocks })
    }

    /// Takes the flux of the next frame.
    ///
    /// # Errors
    /// If its time is unknown, or another interval after the last than the one before.
    pub fn add(&mut self, frame: &View, thermal_energy: f64, flux: T) -> Result<()> {
        self.clock.add(frame.time)?;
        let (blocks, width) = (&mut self.blocks, self.past.width());
        blocks.frame();
        blocks.add(width, frame.simbox.volume());
        blocks.add(width + 1, thermal_energy);
        self.past.add(flux, |lag, then, now| blocks.add(lag, (self.what.product)(then, now)));
        Ok(())
    }

    /// Its state from one frame to the next.
    pub fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.clock, &mut self.past, &mut self.blocks]
    }

    /// The coefficient with its error, in the units of the system.
    ///
    /// # Errors
    /// If there were too few frames.
    pub fn results(&self) -> Result<Results> {
        let (what, units, frames) = (self.what, self.units, self.blocks.frames());
        if frames < 20 {
            let message = format!("{frames} {} are too few for correlations", what.fluxes);
            return Err(Error::input(message).hint(what.more));
        }
        // Beyond half of the time there are few independent origins.
        let width = self.past.width();
        let lags = (0..width).map(|k| self.past.lag(k)).take_while(|lag| *lag <= (frames - 1) / 2);
        let dt = self.clock.interval();
        let times: Vec<f64> = lags.map(|lag| lag as f64 * dt).collect();
        let scale = |m: &[f64]| (what.scale)(units, m[width], m[width + 1]);
        let time = unit(units, 0, 1);
        let kubo = GreenKubo { blocks: &self.blocks, times: &times, unit: &time, scale };
        let running = kubo.running();
        let (end, truncation) = self.end(&kubo)?;
        let error = running[end].1.map(|error| error.hypot(truncation.unwrap_or(0.0)));
        let name = unit_name(units, what.dimension);
        let mut table = Table::new(&what.name.replace(' ', "-"), "t", unit(units, 0, 1), times.clone());
        let mut results = Results::default();
        let unresolved = kubo.resolution(end);
        let withheld = matches!(unresolved, Some((Verdict::Withheld, _)));
        if !withheld {
            table.with_errors(&format!("running {}", what.name), &name, &running);
            results.value(what.name, &name, (running[end].0, error));
            results.value("integral to", &unit(units, 0, 1), (times[end], Some(0.0)));
            if let Some(truncation) = truncation {
                results.value("truncation error", &name, (truncation, Some(0.0)));
            }
            results.temperature(units, self.blocks.means()[width + 1]);
            results.value_in_si(what.name, what.si, (units, what.dimension), (running[end].0, error));
        }
        table.with_errors("correlation", &unit_name(units, what.of_correlation), &kubo.correlation());
        let unsettled = kubo.convergence(end).filter(|_| !withheld);
        // The running integral shows where it goes.
        let unsettled = unsettled.map(|(_, reason)| (Verdict::Doubtful, reason));
        let longer =
            format!("a longer run, or a later end where the running {} stays what it is: to=...", what.name);
        for (doubt, remedy) in [(unresolved, what.more), (unsettled, &longer)] {
            doubt.into_iter().for_each(|doubt| results.warn(what.name, doubt, remedy));
        }
        results.tables.push(table);
        Ok(results)
    }

    /// Number of the time at which the integral ends, and what it may lack there where that was not given.
    fn end<S: Fn(&[f64]) -> f64>(&self, kubo: &GreenKubo<S>) -> Result<(usize, Option<f64>)> {
        let times = kubo.times;
        if self.settings.get(END.name).is_some() {
            let to = self.settings.positive(END.name, 1.0)?;
            return Ok((times.iter().rposition(|t| *t <= to * (1.0 + 1e-9)).unwrap_or(0).max(1), None));
        }
        Ok(kubo.end().map_or((times.len() - 1, None), |(end, truncation)| (end, Some(truncation))))
    }
}
