//! The relative permittivity from the fluctuations of the dipole moment.

use super::{Frames, Kind, Measure, Observable};
use crate::averages::BlockAverage;
use crate::blocks::Blocks;
use crate::report::Results;
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, TEMPERATURE};
use crate::view::{Polarity, SystemInfo, View};
use crate::warning::{Verdict, independent, judge_fluctuations};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem, Vector};
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "dielectric",
    about: "relative permittivity from fluctuations of the dipole moment of neutral molecules, with charges by ewald or pme",
    observable: Observable::Dipole,
    frames: Frames::EachAlone,
    settings: &[TEMPERATURE],
    new: |system_info, settings| Ok(Box::new(Dielectric::new(system_info, settings)?)),
};

/// Three components of the dipole moment, its square, the volume, k_B T.
const WIDTH: usize = 6;

/// In a conductor, which is what Ewald's sum has around its images,
/// epsilon = 1 + 4 pi k (<M^2> - <M>^2) / (3 V k_B T) with Coulomb's constant k (M. Neumann, Mol. Phys.
/// 50 (1983) 841).
struct Dielectric {
    units: UnitSystem,
    /// k_B T, where that was said.
    thermal: Option<f64>,
    blocks: Blocks,
    /// Each component of the dipole moment, for how many of its values are independent.
    moment: [BlockAverage; 3],
}

impl Dielectric {
    fn new(system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Self> {
        match system_info.polarity {
            Polarity::Neutral => {}
            Polarity::Unknown => {
                return Err(Error::input("a trajectory has no charges").hint(
                    "they come from the checkpoint beside it, or from the input that --input names; or measure \
                     during a run: measure = [{ kind = \"dielectric\", every = 20 }]",
                ));
            }
            Polarity::Uncharged => return Err(Error::input("no atom has a charge")),
            Polarity::Ions { atom, charge } => {
                return Err(Error::input(format!(
                    "the molecule of atom {} has the charge {charge:.4}, so that its dipole moment depends on the origin",
                    atom + 1
                ))
                .hint("all molecules have to be neutral; are there bonds?"));
            }
        }
        if system_info.simbox.periodic() != [true; 3] {
            return Err(Error::input("the permittivity needs a box that is periodic along all axes"));
        }
        let thermal = settings.thermal_energy(system_info.units)?;
        let (blocks, moment) = (Blocks::new(WIDTH), Default::default());
        Ok(Dielectric { units: system_info.units, thermal, blocks, moment })
    }
}

impl Measure for Dielectric {
    fn add(&mut self, frame: &View) -> Result<()> {
        let whole = frame.whole()?;
        let Vector([x, y, z]) = whole.dipole.ok_or_else(|| Error::input("the dipole moment is not known"))?;
        self.moment.iter_mut().zip([x, y, z]).for_each(|(average, value)| average.add(value));
        let square = x * x + y * y + z * z;
        let thermal = self.thermal.unwrap_or(whole.thermal_energy());
        self.blocks.add_frame(&[x, y, z, square, frame.simbox.volume(), thermal]);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks, &mut self.moment]
    }

    fn results(&self) -> Result<Results> {
        let frames = self.blocks.frames();
        if frames < 20 {
            return Err(Error::input(format!("{frames} dipole moments are too few for fluctuations")));
        }
        let permittivity = self.blocks.derive(|m| {
            let variance = m[3] - m[0] * m[0] - m[1] * m[1] - m[2] * m[2];
            vec![1.0 + 4.0 * PI * self.units.coulomb() * variance / (3.0 * m[4] * m[5])]
        });
        let mut results = Results::default();
        let independent = independent(&self.moment);
        let verdict = judge_fluctuations(independent);
        if let Some(verdict) = verdict {
            let reason = format!(
                "only some {independent:.0} of the {frames} dipole moments are independent, those of so many relaxations"
            );
            results.warn(
                "relative permittivity",
                (verdict, reason),
                "a run of a hundred relaxation times or more",
            );
        }
        if verdict != Some(Verdict::Withheld) {
            results.value("relative permittivity", "", permittivity[0]);
            results.temperature(self.units, self.blocks.means()[WIDTH - 1]);
        }
        // These are zero: what they are not says how far there is to go.
        let moment = unit_name(self.units, Dimension { charge: 1, length: 1, ..Dimension::NUMBER });
        for (axis, mean) in ["x", "y", "z"].into_iter().zip(self.blocks.means()) {
            results.value(&format!("mean dipole moment {axis}"), &moment, mean);
        }
        Ok(results)
    }
}
