//! Thermal conductivity by Green and Kubo, from the autocorrelation of the heat current.

use super::{Frames, Kind, Measure, Observable};
use crate::heat_flux::{CONDUCTIVITY, THERMAL_CONDUCTIVITY, in_watts};
use crate::report::Results;
use crate::saved_state::SavedState;
use crate::settings::TEMPERATURE;
use crate::transport::{Coefficient, END, Transport};
use crate::view::View;
use jostle_core::{Dimension, Error, Result, UnitSystem, Vec3};

pub(super) const KIND: Kind = Kind {
    name: THERMAL_CONDUCTIVITY,
    about: "thermal conductivity by Green and Kubo, autocorrelation of the heat current",
    observable: Observable::HeatCurrent,
    frames: Frames::AlongPath,
    settings: &[END, TEMPERATURE],
    new: |system_info, settings| {
        if system_info.simbox.periodic() != [true; 3] {
            return Err(Error::input("a thermal conductivity needs a box that is periodic along all axes"));
        }
        let transport = Transport::new(&COEFFICIENT, system_info.units, settings)?;
        let thermal = settings.thermal_energy(system_info.units)?;
        Ok(Box::new(ThermalConductivity { units: system_info.units, thermal, transport }))
    },
};

/// (1 / (3 V k_B T^2)) times the integral of <J(0) . J(t)> (J.-P. Hansen and I. R. McDonald, Theory of Simple Liquids,
/// 4th ed., section 8.4). Right for atoms of one species, of which the current carries no matter.
static COEFFICIENT: Coefficient<Vec3> = Coefficient {
    name: "thermal conductivity",
    fluxes: "heat currents",
    dimension: CONDUCTIVITY,
    of_correlation: Dimension { energy: 2, length: 2, time: -2, ..Dimension::NUMBER },
    product: |a, b| a.dot(*b) / 3.0,
    scale: |units, volume, thermal_energy| units.boltzmann() / (volume * thermal_energy.powi(2)),
    more: "look more often: measure = [{ kind = \"thermal-conductivity\", every = 5 }]",
};

struct ThermalConductivity {
    units: UnitSystem,
    /// k_B T, where that was said.
    thermal: Option<f64>,
    transport: Transport<Vec3>,
}

impl Measure for ThermalConductivity {
    fn add(&mut self, frame: &View) -> Result<()> {
        let whole = frame.whole.ok_or_else(|| {
            Error::input("a trajectory does not tell the forces between its atoms")
                .hint("they come from the run beside it, or from an input: --input FILE")
        })?;
        let current = whole.heat_current.ok_or_else(|| {
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
        if let Some(found) = found.map(|value| (value.value, value.error)) {
            in_watts(&mut results, self.units, found);
        }
        Ok(results)
    }
}
