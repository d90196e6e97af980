//! Electrical conductivity by Green and Kubo, from the autocorrelation of the electric current.

use super::{Frames, Kind, Measure, Observable};
use crate::report::Results;
use crate::saved_state::SavedState;
use crate::settings::TEMPERATURE;
use crate::transport::{Coefficient, END, Transport};
use crate::view::{Polarity, SystemInfo, View};
use jostle_core::{Dimension, Error, Result, UnitSystem, Vec3};

pub(super) const KIND: Kind = Kind {
    name: "conductivity",
    about: "electrical conductivity by Green and Kubo, autocorrelation of the current of all charges",
    observable: Observable::Current,
    frames: Frames::AlongPath,
    settings: &[END, TEMPERATURE],
    new: |system_info, settings| {
        check(system_info)?;
        let transport = Transport::new(&COEFFICIENT, system_info.units, settings)?;
        let thermal = settings.thermal_energy(system_info.units)?;
        Ok(Box::new(Conductivity { units: system_info.units, thermal, transport }))
    },
};

/// (1 / (3 V k_B T)) times the integral of <J(0) . J(t)>, J = sum of q v (J.-P. Hansen and I. R. McDonald, Theory of
/// Simple Liquids, 4th ed., section 10.5). With images in a
/// conductor, as of Ewald's sum, it is the response to the field within.
static COEFFICIENT: Coefficient<Vec3> = Coefficient {
    name: "conductivity",
    fluxes: "currents",
    dimension: CONDUCTIVITY,
    of_correlation: Dimension { charge: 2, length: 2, time: -2, ..Dimension::NUMBER },
    product: |a, b| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / 3.0,
    scale: |_, volume, thermal_energy| 1.0 / (volume * thermal_energy),
    more: "look more often: measure = [{ kind = \"conductivity\", every = 5 }]",
};

const CONDUCTIVITY: Dimension =
    Dimension { charge: 2, energy: -1, length: -1, time: -1, ..Dimension::NUMBER };

/// Refuses systems without a current.
fn check(system_info: &SystemInfo) -> Result<()> {
    match system_info.polarity {
        Polarity::Ions { .. } | Polarity::Neutral => {}
        Polarity::Unknown => {
            return Err(Error::input("a trajectory has no charges").hint(
                "they come from the checkpoint beside it, or from the input that --input names; or measure \
                 during a run: measure = [{ kind = \"conductivity\", every = 5 }]",
            ));
        }
        Polarity::Uncharged => return Err(Error::input("no atom has a charge")),
    }
    match system_info.simbox.periodic() {
        [true, true, true] => Ok(()),
        _ => Err(Error::input("the conductivity needs a box that is periodic along all axes")),
    }
}

struct Conductivity {
    units: UnitSystem,
    /// k_B T, where that was said.
    thermal: Option<f64>,
    transport: Transport<Vec3>,
}

impl Measure for Conductivity {
    fn add(&mut self, frame: &View) -> Result<()> {
        let whole = frame.whole()?;
        let current = whole.current.ok_or_else(|| {
            Error::input("the trajectory has no velocities").hint("xyz, trr and lammpstrj files have them")
        })?;
        self.transport.add(frame, self.thermal.unwrap_or(whole.thermal_energy()), current)
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        self.transport.saved_state()
    }

    fn results(&self) -> Result<Results> {
        let mut results = self.transport.results()?;
        let found = results.values.iter().find(|value| value.name == COEFFICIENT.name);
        if let (Some(found), Some(siemens)) = (found, self.units.from_si(CONDUCTIVITY)) {
            let estimate = (found.value / siemens, found.error.map(|error| error / siemens));
            results.value("conductivity in SI units", "S/m", estimate);
        }
        Ok(results)
    }
}
