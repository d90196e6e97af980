//! Shear viscosity by Green and Kubo, from the autocorrelation of the pressure tensor.

use super::{Frames, Kind, Measure, Observable};
use crate::report::{Results, SiUnit};
use crate::saved_state::SavedState;
use crate::transport::{Coefficient, END, Transport};
use crate::view::View;
use jostle_core::simbox::mean_diagonal;
use jostle_core::{Dimension, Error, Result, SymTensor};

pub(super) const KIND: Kind = Kind {
    name: "viscosity",
    about: "shear viscosity by Green and Kubo, autocorrelation of the pressure tensor",
    observable: Observable::Whole,
    frames: Frames::AlongPath,
    settings: &[END],
    new: |system_info, settings| {
        Ok(Box::new(Viscosity(Transport::new(&COEFFICIENT, system_info.units, settings)?)))
    },
};

static COEFFICIENT: Coefficient<SymTensor> = Coefficient {
    name: "viscosity",
    fluxes: "pressures",
    dimension: Dimension { energy: 1, length: -3, time: 1, ..Dimension::NUMBER },
    of_correlation: Dimension { energy: 2, length: -6, ..Dimension::NUMBER },
    product,
    scale: |_, volume, thermal_energy| volume / thermal_energy,
    si: SiUnit { name: "mPa s", per_base: 1e3 },
    more: "look more often: measure = [{ kind = \"viscosity\", every = 5 }], or thermo = { every = 5 } for rows of thermo.csv",
};

/// Pressure tensors without their trace.
struct Viscosity(Transport<SymTensor>);

impl Measure for Viscosity {
    fn add(&mut self, frame: &View) -> Result<()> {
        let whole = frame.whole()?;
        let mut p = whole.pressure.ok_or_else(|| {
            Error::input("there is no pressure").hint("a box that is open along an axis has none")
        })?;
        let mean = mean_diagonal(&p);
        p[..3].iter_mut().for_each(|p| *p -= mean);
        self.0.add(frame, whole.thermal_energy(), p)
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        self.0.saved_state()
    }

    fn results(&self) -> Result<Results> {
        self.0.results()
    }
}

/// Product of two traceless tensors, averaged over all independent components as if they were P_xy: a tenth
/// of their double contraction (P. J. Daivis and D. J. Evans, J. Chem. Phys. 100 (1994) 541).
fn product(a: &SymTensor, b: &SymTensor) -> f64 {
    let diagonal: f64 = (0..3).map(|k| a[k] * b[k]).sum();
    let others: f64 = (3..6).map(|k| a[k] * b[k]).sum();
    (diagonal + 2.0 * others) / 10.0
}
