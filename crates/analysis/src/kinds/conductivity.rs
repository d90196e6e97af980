//! Electrical conductivity by Green and Kubo, from the autocorrelation of the electric current.

use super::{Frames, Kind, Observable};
use crate::report::SiUnit;
use crate::transport::{ByCurrent, Coefficient, mean_product};
use crate::view::{Polarity, SystemInfo, Whole};
use jostle_core::{Dimension, Error, Result, Vec3};

pub(super) const KIND: Kind = Kind {
    name: "conductivity",
    about: "electrical conductivity by Green and Kubo, autocorrelation of the current of all charges",
    observable: Observable::Current,
    frames: Frames::AlongPath,
    settings: ByCurrent::SETTINGS,
    new: |system_info, settings| {
        check(system_info)?;
        let current = |whole: &Whole| whole.current;
        Ok(Box::new(ByCurrent::new(&COEFFICIENT, current, system_info.units, settings)?))
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
    product: mean_product,
    scale: |_, volume, thermal_energy| 1.0 / (volume * thermal_energy),
    si: SiUnit { name: "S/m", per_base: 1.0 },
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
