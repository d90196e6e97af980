//! Forces of clients on atoms: constant between two requests, with the work that they do.

use crate::hub::Hub;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem, Vec3};
use jostle_engine::Quantity;
use jostle_engine::custom_force::{
    AtomChoice, AtomForces, Configuration, CustomForce, EnergyColumn, ForceSums,
};
use jostle_engine::degrees_of_freedom::Momentum;
use jostle_engine::model::Action;
use std::sync::Arc;

/// Column of `thermo.csv` with the work that clients have done.
pub const WORK_COLUMN: &str = "imd_work";
/// Length of its state in a checkpoint: the work, and a flag for the column.
const SAVED: usize = 9;

/// Forces of clients. A force has no potential: it changes as a person moves a mouse. Its work over a step is the
/// mean of the forces at both ends times the displacement, as velocity Verlet has it, and is taken off the conserved
/// quantity.
pub struct PullForce {
    /// Clients; `None` in a run that goes on without a server.
    hub: Option<Arc<Hub>>,
    units: UnitSystem,
    column: Column,
    /// Number of the forces that are taken over, see [`Hub::pulls_changed`].
    seen: u64,
    ids: Vec<u32>,
    pulled: Vec<Pulled>,
    /// Step of the last evaluation.
    step: u64,
    work: f64,
}

/// Place of the work in `thermo.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    There,
    /// The table of the run was begun without it.
    Missing,
}

/// Atom that is pulled, or was in the last step.
#[derive(Debug, Clone, Copy, Default)]
struct Pulled {
    /// Force that clients ask for.
    wanted: Vec3,
    /// Position and force at the end of the last step.
    before: Option<(Vec3, Vec3)>,
    /// Position and force at the last evaluation.
    now: Option<(Vec3, Vec3)>,
}

impl PullForce {
    /// Name of the force, by which checkpoints know it.
    pub const NAME: &str = "imd";

    pub(crate) fn new(hub: Arc<Hub>, units: UnitSystem, begun: bool) -> Self {
        let column = if begun { Column::Missing } else { Column::There };
        PullForce { hub: Some(hub), column, ..PullForce::without_clients(units) }
    }

    /// The force of a run that had clients and goes on without; its work is in the checkpoint.
    pub fn without_clients(units: UnitSystem) -> Self {
        PullForce {
            hub: None,
            units,
            column: Column::There,
            seen: 0,
            ids: Vec::new(),
            pulled: Vec::new(),
            step: 0,
            work: 0.0,
        }
    }

    /// Takes over the forces of clients, and lets go of atoms whose last step with a force is booked. An atom gets
    /// its force when its position at the beginning of a step is known.
    fn take_over(&mut self) {
        let Some(hub) = &self.hub else { return };
        let changed = hub.pulls_changed();
        if changed == self.seen && self.pulled.iter().all(|atom| atom.wanted != [0.0; 3]) {
            return;
        }
        self.seen = changed;
        let mut wanted = hub.pulls();
        let old = std::mem::take(&mut self.ids).into_iter().zip(std::mem::take(&mut self.pulled));
        let mut all: Vec<(u32, Pulled)> = old
            .map(|(id, atom)| (id, Pulled { wanted: wanted.remove(&id).unwrap_or_default(), ..atom }))
            .filter(|(_, atom)| atom.wanted != [0.0; 3] || atom.now.is_some_and(|(_, f)| f != [0.0; 3]))
            .collect();
        all.extend(wanted.into_iter().map(|(id, wanted)| (id, Pulled { wanted, ..Pulled::default() })));
        (self.ids, self.pulled) = all.into_iter().unzip();
    }
}

impl CustomForce for PullForce {
    fn name(&self) -> &str {
        PullForce::NAME
    }

    fn energy_column(&self) -> EnergyColumn {
        EnergyColumn::Absent
    }

    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::Ids(&self.ids)
    }

    /// Momentum is conserved but for the moments of a pull, so that the presence of a server changes no temperature.
    fn momentum(&self) -> Momentum {
        Momentum::Conserved
    }

    fn prepare(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::Dynamics { .. } => self.take_over(),
            // A minimiser looks for a minimum of the energy, which these forces do not have.
            Action::Minimize { .. } => {
                self.ids.clear();
                self.pulled.clear();
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
        if now.step != self.step {
            self.step = now.step;
            self.pulled.iter_mut().for_each(|atom| atom.before = atom.now);
        }
        for ((atom, position), force) in self.pulled.iter_mut().zip(now.positions).zip(forces.iter_mut()) {
            if atom.before.is_some() {
                *force = atom.wanted;
            }
            atom.now = Some((*position, *force));
        }
        Ok(ForceSums::default())
    }

    fn end_step(&mut self, _now: &Configuration) -> Result<()> {
        for atom in &self.pulled {
            let (Some((r, f)), Some((r_before, f_before))) = (atom.now, atom.before) else { continue };
            self.work += (0..3).map(|k| 0.5 * (f[k] + f_before[k]) * (r[k] - r_before[k])).sum::<f64>();
        }
        Ok(())
    }

    fn work(&self) -> f64 {
        self.work
    }

    fn columns(&self) -> Vec<Quantity> {
        let unit = unit_name(self.units, Dimension::ENERGY);
        match self.column {
            Column::There => vec![Quantity { name: WORK_COLUMN.into(), unit }],
            Column::Missing => Vec::new(),
        }
    }

    fn values(&self) -> Vec<Option<f64>> {
        match self.column {
            Column::There => vec![Some(self.work)],
            Column::Missing => Vec::new(),
        }
    }

    fn save(&self) -> Result<Vec<u8>> {
        let mut bytes = self.work.to_le_bytes().to_vec();
        bytes.push(u8::from(self.column == Column::There));
        Ok(bytes)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let damaged = || Error::simulation("the work of IMD clients in the checkpoint is damaged");
        let [work @ .., column] = <&[u8; SAVED]>::try_from(saved).map_err(|_| damaged())?;
        self.work = f64::from_le_bytes(*work);
        self.column = if *column == 1 { Column::There } else { Column::Missing };
        if self.work.is_finite() { Ok(()) } else { Err(damaged()) }
    }
}
