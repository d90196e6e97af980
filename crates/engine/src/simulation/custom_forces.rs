//! Custom forces of a simulation: their columns and their state in checkpoints.

use super::Simulation;
use crate::custom_force::{CustomForce, EnergyColumn};
use crate::degrees_of_freedom::{DegreesOfFreedom, Momentum};
use crate::force_context::SavedForce;
use crate::thermostat::momentum;
use crate::warnings::ExternalWork;
use jostle_core::{AtomStorage, Error, Result};
use jostle_io::input::model::{Action, StageInput};

impl Simulation {
    /// Adds a force that the host computes, see [`CustomForce`]; its energy and its columns become columns of
    /// `thermo.csv`. In a resumed run it gets the state of the checkpoint.
    ///
    /// # Errors
    /// If the run has begun or its folder is there already, unless it was resumed and had this force before or the
    /// force has no columns; if there is a column of its name; if it cannot use the state of the checkpoint.
    pub fn add_custom_force(&mut self, force: impl CustomForce + 'static) -> Result<()> {
        self.add_boxed_force(Box::new(force))
    }

    /// Returns true where steps were made or the folder of the run is there: `thermo.csv` has its columns.
    pub fn has_begun(&self) -> bool {
        self.output.has_folder() || self.clock.step > 0
    }

    /// The degrees of freedom without restraints, under all forces that act in the stage under way.
    pub(super) fn degrees(&self) -> DegreesOfFreedom {
        self.backend.forces().fold(self.facts.degrees, |degrees, force| degrees.with(force.momentum()))
    }

    /// Behaviour of the total momentum in a stage.
    pub(super) fn momentum_in(&self, stage: &StageInput) -> Momentum {
        let degrees = self.degrees();
        let held = self.facts.springs.hold_positions(stage);
        let isolated = if held { degrees.held() } else { degrees };
        match &stage.action {
            Action::Dynamics { thermostat, .. } => momentum(thermostat.as_ref(), isolated.momentum),
            Action::Minimize { .. } => isolated.momentum,
        }
    }

    /// Names of the custom forces that a resumed run had and that have not been added again.
    pub fn missing_forces(&self) -> impl Iterator<Item = &str> {
        self.saved_forces.iter().map(|saved| saved.name.as_str())
    }

    pub(super) fn add_boxed_force(&mut self, mut force: Box<dyn CustomForce>) -> Result<()> {
        let name = force.name().to_string();
        let energy = force.energy_column();
        let has_columns = energy == EnergyColumn::Present || !force.columns().is_empty();
        match self.saved_forces.iter().position(|saved| saved.name == name) {
            Some(index) => force.restore(&self.saved_forces.remove(index).state)?,
            None if self.has_begun() && has_columns => {
                return Err(Error::input(format!("the force '{name}' comes too late: the run has begun"))
                    .hint("add forces before the folder of the run is named and before it runs"));
            }
            None => {}
        }
        self.check_on_device(&mut *force)?;
        if force.momentum() != Momentum::Conserved && self.facts.scales.work == ExternalWork::Nothing {
            self.facts.scales.work = ExternalWork::Done;
        }
        self.columns.add_force(&name, energy, self.units, force.columns())?;
        self.backend.add(force);
        self.disturb();
        Ok(())
    }

    /// Refuses a force in the memory of the device where there is no such memory, or that acts on virtual sites:
    /// devices have passed the forces on sites on to atoms before.
    fn check_on_device(&mut self, force: &mut dyn CustomForce) -> Result<()> {
        let Some(on_device) = force.on_device() else { return Ok(()) };
        let mut sites = self.tables.topology.virtual_sites.iter().map(|site| site.site);
        let site = match on_device.ids() {
            None => sites.next(),
            Some(ids) => sites.find(|site| ids.contains(site)),
        };
        if let Some(id) = site {
            let name = force.name();
            return Err(Error::input(format!(
                "the force '{name}' on the device acts on atom {id}, which is a virtual site without mass"
            ))
            .hint("choose atoms without virtual sites: atoms=[...]"));
        }
        self.backend.device_arrays().map(drop)
    }

    /// Gives the forces that are there already their states in a checkpoint; keeps the others until forces of
    /// their names are added.
    pub(super) fn restore_forces(&mut self, saved: Vec<SavedForce>) -> Result<()> {
        for saved in saved {
            match self.backend.force_mut(&saved.name) {
                Some(force) => force.restore(&saved.state)?,
                None => self.saved_forces.push(saved),
            }
        }
        Ok(())
    }

    /// Refuses to go on without a force that the run had.
    pub(super) fn check_saved_forces(&self) -> Result<()> {
        match self.saved_forces.first() {
            Some(SavedForce { name, .. }) => Err(Error::input(format!(
                "the run had a force '{name}' that the host computes, which is missing now"
            ))
            .hint("add it by add_custom_force before the run goes on")),
            None => Ok(()),
        }
    }

    /// States of all custom forces, for a checkpoint.
    pub(super) fn save_forces(&self) -> Result<Vec<SavedForce>> {
        let save =
            |force: &dyn CustomForce| Ok(SavedForce { name: force.name().to_string(), state: force.save()? });
        self.backend.forces().map(save).collect()
    }
}
