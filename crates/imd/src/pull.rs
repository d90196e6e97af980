//! Forces of clients on atoms, constant between two requests, and springs of pages, with the work that they do.

use crate::hub::Hub;
use crate::spring::{ForceLimit, Spring, SpringReport};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem, Vec3};
use jostle_engine::Quantity;
use jostle_engine::custom_force::{
    AtomChoice, AtomForces, Configuration, CustomForce, EnergyColumn, ForceSums,
};
use jostle_engine::degrees_of_freedom::Momentum;
use jostle_engine::model::Action;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Column of `thermo.csv` with the work that clients have done.
pub const WORK_COLUMN: &str = "imd_work";
/// Length of its state in a checkpoint: the work, and a flag for the column.
const SAVED: usize = 9;

/// Forces of clients and springs of pages. They have no potential: they change as a person moves a mouse. The work over
/// a step is the mean of the forces at both ends times the displacement, as velocity Verlet has it, and is taken off the
/// conserved quantity.
pub struct PullForce {
    /// Clients; `None` in a run that goes on without a server.
    hub: Option<Arc<Hub>>,
    units: UnitSystem,
    column: Column,
    /// Number of the forces that are taken over, see [`Hub::pulls_changed`].
    seen: Option<u64>,
    ids: Vec<u32>,
    pulled: Vec<Pulled>,
    grips: Vec<Grip>,
    release: Release,
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

/// Presence of atoms or springs whose last force is still to be booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Release {
    None,
    UnderWay,
}

/// Atom that is pulled, or was in the last step.
#[derive(Debug, Clone, Copy, Default)]
struct Pulled {
    /// Constant force that clients ask for.
    wanted: Vec3,
    /// Number of springs that pull it.
    springs: usize,
    /// Position and force at the end of the last step.
    before: Option<(Vec3, Vec3)>,
    /// Position and force at the last evaluation.
    now: Option<(Vec3, Vec3)>,
}

impl Pulled {
    /// Displacement in the step that is over.
    fn displacement(&self) -> Vec3 {
        let (Some((r, _)), Some((before, _))) = (self.now, self.before) else { return Vec3::ZERO };
        r - before
    }
}

/// Spring that pulls atoms, or did in the last step.
struct Grip {
    spring: Spring,
    state: GripState,
    /// Index of each of its atoms among those that are pulled.
    places: Vec<usize>,
    /// Index of the atom at which it begins.
    first: usize,
    /// Step at whose end the positions were first known.
    since: Option<u64>,
    /// Force at the end of the last step, and at the last evaluation.
    before: Vec3,
    now: Vec3,
    limit: ForceLimit,
    work: f64,
}

/// State of a spring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GripState {
    Held,
    Released,
}

impl Grip {
    fn new(spring: Spring) -> Self {
        Grip {
            spring,
            state: GripState::Held,
            places: Vec::new(),
            first: 0,
            since: None,
            before: Vec3::ZERO,
            now: Vec3::ZERO,
            limit: ForceLimit::Below,
            work: 0.0,
        }
    }

    /// Takes over the end and stiffness that the page has given since, or lets go.
    fn follow(&mut self, springs: &mut Vec<Spring>) {
        match springs.iter().position(|spring| spring.grip == self.spring.grip) {
            Some(k) => self.spring = springs.swap_remove(k),
            None => self.state = GripState::Released,
        }
    }

    /// Finds its atoms among those that are pulled, which are in ascending order.
    fn find(&mut self, ids: &[u32]) {
        let place = |atom: u32| ids.partition_point(|id| *id < atom);
        self.places = self.spring.shares.iter().map(|share| place(share.atom)).collect();
        self.first = place(self.spring.atom);
    }

    /// Force of the spring on all its atoms: none before the step at whose beginning their positions are known.
    fn evaluate(&mut self, now: &Configuration, most: f64) -> Vec3 {
        let since = *self.since.get_or_insert(now.step);
        (self.now, self.limit) = match self.state {
            GripState::Held if since < now.step => {
                self.spring.force(now.simbox, now.positions[self.first], most)
            }
            GripState::Held | GripState::Released => (Vec3::ZERO, ForceLimit::Below),
        };
        self.now
    }

    /// Part of each atom in the force, with the atom's index.
    fn parts(&self) -> impl Iterator<Item = (usize, f64)> {
        let mass = self.spring.mass();
        self.places
            .iter()
            .zip(self.spring.shares.iter())
            .map(move |(place, share)| (*place, share.mass / mass))
    }

    fn report(&self) -> SpringReport {
        let Spring { page, grip, atom, end, .. } = self.spring;
        let (n_atoms, force, work, limit) = (self.places.len(), self.now, self.work, self.limit);
        SpringReport { page, grip, atom, n_atoms, end, force, work, limit }
    }
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
            seen: None,
            ids: Vec::new(),
            pulled: Vec::new(),
            grips: Vec::new(),
            release: Release::None,
            step: 0,
            work: 0.0,
        }
    }

    /// Takes over the forces of clients, and lets go of atoms whose last step with a force is booked. An atom gets
    /// its force when its position at the beginning of a step is known.
    fn take_over(&mut self) {
        let Some(hub) = &self.hub else { return };
        let changed = Some(hub.pulls_changed());
        if changed == self.seen && self.release == Release::None {
            return;
        }
        self.seen = changed;
        let mut springs = hub.pages.springs();
        self.grips.iter_mut().for_each(|grip| grip.follow(&mut springs));
        self.grips.retain(|grip| grip.state == GripState::Held || grip.now != [0.0; 3]);
        self.grips.extend(springs.into_iter().map(Grip::new));
        let old = std::mem::take(&mut self.ids).into_iter().zip(std::mem::take(&mut self.pulled));
        let mut all: BTreeMap<u32, Pulled> =
            old.map(|(id, atom)| (id, Pulled { wanted: Vec3::ZERO, springs: 0, ..atom })).collect();
        for (id, force) in hub.pulls() {
            all.entry(id).or_default().wanted = force;
        }
        for share in self.grips.iter().flat_map(|grip| grip.spring.shares.iter()) {
            all.entry(share.atom).or_default().springs += 1;
        }
        let goes = |atom: &Pulled| atom.wanted == [0.0; 3] && atom.springs == 0;
        all.retain(|_, atom| !goes(atom) || atom.now.is_some_and(|(_, force)| force != [0.0; 3]));
        let release =
            all.values().any(goes) || self.grips.iter().any(|grip| grip.state == GripState::Released);
        self.release = if release { Release::UnderWay } else { Release::None };
        (self.ids, self.pulled) = all.into_iter().unzip();
        self.grips.iter_mut().for_each(|grip| grip.find(&self.ids));
    }

    /// Tells pages of springs and of the work.
    fn report(&self) {
        if let Some(hub) = &self.hub {
            hub.pages.report(self.grips.iter().map(Grip::report), self.work);
        }
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
                self.grips.clear();
                self.seen = None;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
        if now.step != self.step {
            self.step = now.step;
            self.pulled.iter_mut().for_each(|atom| atom.before = atom.now);
            self.grips.iter_mut().for_each(|grip| grip.before = grip.now);
        }
        for (atom, force) in self.pulled.iter().zip(forces.iter_mut()) {
            if atom.before.is_some() {
                *force = atom.wanted;
            }
        }
        let most = self.hub.as_ref().map_or(0.0, |hub| hub.facts.greatest_acceleration);
        for grip in &mut self.grips {
            let all = grip.evaluate(now, most);
            for (place, part) in grip.parts() {
                forces[place] += part * all;
            }
        }
        for ((atom, position), force) in self.pulled.iter_mut().zip(now.positions).zip(forces.iter()) {
            atom.now = Some((*position, *force));
        }
        Ok(ForceSums::default())
    }

    fn end_step(&mut self, _now: &Configuration) -> Result<()> {
        for atom in &self.pulled {
            let (Some((_, f)), Some((_, before))) = (atom.now, atom.before) else { continue };
            let along = atom.displacement();
            self.work += (0..3).map(|k| 0.5 * (f[k] + before[k]) * along[k]).sum::<f64>();
        }
        for grip in &mut self.grips {
            let mut along = Vec3::ZERO;
            for (place, part) in grip.parts() {
                along += part * self.pulled[place].displacement();
            }
            grip.work += (0..3).map(|k| 0.5 * (grip.now[k] + grip.before[k]) * along[k]).sum::<f64>();
        }
        if !self.ids.is_empty() {
            self.report();
        }
        Ok(())
    }

    fn work(&self) -> f64 {
        self.work
    }

    fn columns(&self) -> Vec<Quantity> {
        let unit = unit_name(self.units, Dimension::ENERGY);
        match self.column {
            Column::There => vec![Quantity::at_row(WORK_COLUMN, unit)],
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
        self.report();
        if self.work.is_finite() { Ok(()) } else { Err(damaged()) }
    }
}
