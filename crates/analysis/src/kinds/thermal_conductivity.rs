//! Thermal conductivity by Green and Kubo, from the autocorrelation of the heat current.

use super::{Frames, Kind, Observable};
use crate::heat_flux::{CONDUCTIVITY, THERMAL_CONDUCTIVITY, WATT_PER_METRE_KELVIN};
use crate::transport::{ByCurrent, Coefficient, mean_product};
use crate::view::Whole;
use jostle_core::{Dimension, Error, Vec3};

pub(super) const KIND: Kind = Kind {
    name: THERMAL_CONDUCTIVITY,
    about: "thermal conductivity by Green and Kubo, autocorrelation of the heat current",
    observable: Observable::HeatCurrent,
    frames: Frames::AlongPath,
    settings: ByCurrent::SETTINGS,
    new: |system_info, settings| {
        if system_info.simbox.periodic() != [true; 3] {
            return Err(Error::input("a thermal conductivity needs a box that is periodic along all axes"));
        }
        let current = |whole: &Whole| whole.heat_current;
        Ok(Box::new(ByCurrent::new(&COEFFICIENT, current, system_info.units, settings)?))
    },
};

/// (1 / (3 V k_B T^2)) times the integral of <J(0) . J(t)> (J.-P. Hansen and I. R. McDonald, Theory of Simple Liquids,
/// 4th ed., section 8.4). Right for atoms of one species, of which the current carries no matter.
static COEFFICIENT: Coefficient<Vec3> = Coefficient {
    name: "thermal conductivity",
    fluxes: "heat currents",
    dimension: CONDUCTIVITY,
    of_correlation: Dimension { energy: 2, length: 2, time: -2, ..Dimension::NUMBER },
    product: mean_product,
    scale: |units, volume, thermal_energy| units.boltzmann() / (volume * thermal_energy.powi(2)),
    si: WATT_PER_METRE_KELVIN,
    more: "look more often: measure = [{ kind = \"thermal-conductivity\", every = 5 }]",
};
