//! Forces from outside the devices: a trait for forces of a library's user, a client or a bias.

use crate::degrees_of_freedom::Momentum;
pub use crate::force_context::{
    After, AtomChoice, AtomForces, Configuration, EnergyColumn, ForceSums, Potential, PotentialUse,
    StageEntry, StageSpan,
};
use crate::thermo::Quantity;
use jostle_core::{Components, DeviceForce, Error, Result, Vec3};
use jostle_io::input::model::Action;
use jostle_sampling::Biases;

/// A force that the host computes.
///
/// ```
/// use jostle_core::{Result, Vec3};
/// use jostle_engine::custom_force::{AtomChoice, AtomForces, Configuration, CustomForce, ForceSums};
/// use jostle_engine::degrees_of_freedom::Momentum;
///
/// /// A spring of stiffness k between two atoms.
/// struct Spring([u32; 2], f64);
///
/// impl CustomForce for Spring {
///     fn name(&self) -> &str {
///         "spring"
///     }
///     fn atoms(&self) -> AtomChoice<'_> {
///         AtomChoice::Ids(&self.0)
///     }
///     fn momentum(&self) -> Momentum {
///         Momentum::Conserved
///     }
///     fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
///         let [a, b] = [now.positions[0], now.positions[1]];
///         let d = now.simbox.nearest_image(b - a);
///         let force = d.map(|d| -self.1 * d);
///         forces[0] = force.map(|f| -f);
///         forces[1] = force;
///         let virial = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].map(|(i, j)| d[i] * force[j]);
///         Ok(ForceSums { energy: 0.5 * self.1 * d.iter().map(|d| d * d).sum::<f64>(), virial })
///     }
/// }
/// ```
pub trait CustomForce: Send {
    /// Name of the energy's column in `thermo.csv`.
    fn name(&self) -> &str;

    /// Presence of an energy, and of its column.
    fn energy_column(&self) -> EnergyColumn {
        EnergyColumn::Present
    }

    /// Atoms whose positions are needed and on which forces act. Where there are none, the force costs nothing and
    /// a GPU goes on making many steps on its own; the choice may change between steps.
    fn atoms(&self) -> AtomChoice<'_>;

    /// Use of the energies and forces of the device, which are in [`Configuration::potential`] then.
    fn potential_use(&self) -> PotentialUse {
        PotentialUse::None
    }

    /// Conservation of momentum: forces that hold atoms at places do not conserve it.
    fn momentum(&self) -> Momentum;

    /// Takes note that a step, a batch of steps or an iteration of a minimiser is about to begin: the time to
    /// change the choice of atoms.
    ///
    /// # Errors
    /// An error ends the run.
    fn prepare(&mut self, _action: &Action) -> Result<()> {
        Ok(())
    }

    /// Writes the force on each atom of [`CustomForce::atoms`], in this order, into `forces`, which are zero
    /// before: where none is written, none is added. It may be called several times a step (barostats and minimisers try configurations), and depends
    /// on the configuration and on what [`CustomForce::prepare`] and [`CustomForce::end_step`] have left alone.
    ///
    /// # Errors
    /// An error ends the run.
    fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums>;

    /// Memory of the force itself for the positions of all `n` atoms, by id, which are written there before each
    /// evaluation; `None`: they are in [`Configuration::positions`].
    ///
    /// # Errors
    /// If there is no memory.
    fn position_rows(&mut self, _n: usize) -> Result<Option<&mut [Vec3]>> {
        Ok(None)
    }

    /// The force as one that is computed in the memory of the device, on atoms which do not change; `None` where the
    /// host computes it. [`CustomForce::atoms`] are none then, and [`CustomForce::evaluate`] is not called.
    fn on_device(&mut self) -> Option<&mut dyn DeviceForce> {
        None
    }

    /// Variables and biases that a device may evaluate by itself; `None`: the host computes this force.
    fn biases(&mut self) -> Option<&mut Biases> {
        None
    }

    /// Takes note of the stage that begins or, after an interruption, is continued.
    ///
    /// # Errors
    /// An error ends the run.
    fn begin_stage(&mut self, _stage: &StageSpan) -> Result<()> {
        Ok(())
    }

    /// Returns true where it may act on atoms in the stage under way.
    fn acts(&self) -> bool {
        true
    }

    /// Takes note of a step of dynamics that is over, with the configuration of its last evaluation: once a step.
    ///
    /// # Errors
    /// An error ends the run.
    fn end_step(&mut self, _now: &Configuration) -> Result<()> {
        Ok(())
    }

    /// Reason, as what the run has, why its temperature may not change while it is under way; `None` where it may.
    fn fixes_temperature(&self) -> Option<&'static str> {
        None
    }

    /// Returns true where the force exchanges something with other runs now, by [`CustomForce::exchange`].
    fn is_exchange_due(&self, _after: After) -> bool {
        false
    }

    /// Exchanges what is due with other runs, between two steps or at the end of a stage.
    ///
    /// # Errors
    /// An error ends the run.
    fn exchange(&mut self, _after: After) -> Result<()> {
        Ok(())
    }

    /// Energy that has been put into the system since the run began, other than by the change of the energy with
    /// positions: it is taken off the conserved quantity.
    fn work(&self) -> f64 {
        0.0
    }

    /// Columns of `thermo.csv` besides the energy.
    fn columns(&self) -> Vec<Quantity> {
        Vec::new()
    }

    /// Values of these columns at the last evaluation, in their order; `None` where one has no meaning.
    fn values(&self) -> Vec<Option<f64>> {
        Vec::new()
    }

    /// Files with results so far, names and texts, which are written to the folder of the run with each checkpoint.
    fn files(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// State for a checkpoint; empty where there is none.
    ///
    /// # Errors
    /// If it cannot be written as bytes.
    fn save(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Restores the state of a checkpoint.
    ///
    /// # Errors
    /// If the bytes are not those that [`CustomForce::save`] gave for the same force.
    fn restore(&mut self, _saved: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// Refuses forces, energies and virials that are not finite.
pub(crate) fn check_sums(force: &dyn CustomForce, forces: &AtomForces, sums: &ForceSums) -> Result<()> {
    // One loop without a branch, since there are many; the atom is looked for where it is needed.
    let all_finite = |rows: &[Vec3]| rows.as_flattened().iter().fold(true, |all, x| all & x.is_finite());
    let is_bad = |f: &Vec3| f.iter().any(|x| !x.is_finite());
    if !forces.is_untouched()
        && !all_finite(forces)
        && let Some(k) = forces.iter().position(is_bad)
    {
        let id = match force.atoms() {
            AtomChoice::Ids(ids) => ids[k],
            AtomChoice::All | AtomChoice::Box => k as u32,
        };
        return Err(Error::simulation(format!("the force '{}' on atom {id} is not finite", force.name())));
    }
    if force.energy_column() == EnergyColumn::Absent && sums.energy != 0.0 {
        let message = format!("the force '{}' has an energy, but no column for it", force.name());
        return Err(Error::simulation(message).hint("let energy_column say that it is present"));
    }
    if !sums.energy.is_finite() || sums.virial.iter().any(|w| !w.is_finite()) {
        let message = format!("the energy or the virial of the force '{}' is not finite", force.name());
        return Err(Error::simulation(message));
    }
    Ok(())
}
