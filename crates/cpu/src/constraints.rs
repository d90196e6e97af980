//! Rigid distances, virtual sites and rigid bodies by [`jostle_core::constraints`], for as many molecules at a time as a
//! register holds.

use crate::cells::Clusters;
use crate::constraint_kernels::{Positions, Velocities};
use crate::group_batch::{BatchOutcome, BatchPart, GroupBatch, GroupKind};
use crate::simd::{Level, Scalar};
use crate::threads::Team;
use jostle_core::constraints::{Group, Groups, MOST_ATOMS, Shape};
use jostle_core::virtual_sites::spread;
use jostle_core::{Error, IdIndex, Result, RigidBody, SimBox, State, SymTensor, System, Vec3, Vector};
use std::ops::Range;

/// The constraints of a system.
#[derive(Default)]
pub struct Constraints {
    shapes: Vec<Shape>,
    runs: Vec<KindGroups>,
    batches: Vec<GroupBatch>,
    /// Number of groups in a register.
    width: usize,
    /// Group that begins with an atom, by id.
    led: Vec<u32>,
    /// Run of each group.
    run_of: Vec<u32>,
    /// Ids and inverse masses of atoms, group by group, and the parameters of each group, see
    /// [`numbers_of`].
    atoms: Vec<u32>,
    masses: Vec<f64>,
    parameters: Vec<f64>,
    /// Id, index in the arrays and inverse mass, by slot. A slot is the place of an atom in the batches, in
    /// which the atoms that groups have at the same position stand together, for as many groups as a register
    /// has lanes. Lanes that are left over repeat the last group.
    ids: Vec<u32>,
    places: Vec<u32>,
    inverse_mass: Vec<f64>,
    /// Parameters of the groups of each batch, a register each.
    numbers: Vec<f64>,
    /// Slots of atoms by index; atoms without constraints have one that follows all others.
    slots: Vec<u32>,
    /// Task of an atom and the place of its force there, by slot; empty without virtual sites.
    force_at: Vec<[u32; 2]>,
    /// Corrections of the last call, by slot.
    corrections: Vec<Vec3>,
    /// Largest distance of an atom of a rigid body from the first one.
    extent: f64,
}

/// All groups of one kind.
#[derive(Debug, Clone, Copy)]
struct KindGroups {
    kind: GroupKind,
    n_atoms: usize,
    n_parameters: usize,
    first_group: usize,
    /// Beginnings of the atoms and parameters of its groups.
    first_atom: usize,
    first_parameter: usize,
    /// Batches of the groups that are here.
    batches: [usize; 2],
}

/// Mark of an atom that no group begins with.
const NONE: u32 = u32::MAX;

/// Parameters of a group: those of [`settle`], or the lengths of its constraints.
fn numbers_of(group: &Group) -> Vec<f64> {
    match &group.water {
        Some(water) => vec![water.to_apex, water.to_base, water.half_base, water.weight],
        None => group.lengths.clone(),
    }
}

impl Constraints {
    /// Constraints of a system, for registers of this level.
    ///
    /// # Errors
    /// If too many constraints are coupled.
    pub fn new(system: &System, level: Level) -> Result<Self> {
        let groups = Groups::new(system)?;
        if groups.are_empty() {
            return Ok(Constraints::default());
        }
        let Groups { shapes, groups, bodies } = groups;
        let (_, inverse_mass) = system.dynamic_masses();
        let inverse_mass = inverse_mass.by_id(&system.state);
        let extents = system.topology.rigid_bodies.iter().map(RigidBody::extent);
        let mut all = Constraints {
            width: level.width::<f64>(),
            led: vec![NONE; system.state.len()],
            extent: extents.fold(0.0, f64::max),
            ..Constraints::default()
        };
        for alike in groups.chunk_by(|a, b| a.shape == b.shape) {
            let members = alike.iter().map(|group| (&group.atoms[..], numbers_of(group)));
            all.add_run(GroupKind::Constrained(alike[0].shape), members, &inverse_mass);
        }
        for alike in bodies.chunk_by(|a, b| (a.form, a.ids.len()) == (b.form, b.ids.len())) {
            let members = alike.iter().map(|body| (&body.ids[..], body.numbers()));
            all.add_run(GroupKind::Rigid(alike[0].form), members, &inverse_mass);
        }
        Ok(Constraints { shapes, ..all })
    }

    /// Adds groups of one kind, of as many atoms and parameters each.
    fn add_run<'a>(
        &mut self,
        kind: GroupKind,
        members: impl Iterator<Item = (&'a [u32], Vec<f64>)>,
        inverse_mass: &[f64],
    ) {
        let mut run = KindGroups {
            kind,
            n_atoms: 0,
            n_parameters: 0,
            first_group: self.run_of.len(),
            first_atom: self.atoms.len(),
            first_parameter: self.parameters.len(),
            batches: [0; 2],
        };
        for (atoms, parameters) in members {
            (run.n_atoms, run.n_parameters) = (atoms.len(), parameters.len());
            self.led[atoms[0] as usize] = self.run_of.len() as u32;
            self.run_of.push(self.runs.len() as u32);
            self.atoms.extend(atoms);
            self.masses.extend(atoms.iter().map(|id| inverse_mass[*id as usize]));
            self.parameters.extend(parameters);
        }
        self.runs.push(run);
    }

    /// Returns true if there are no constraints.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Largest distance of an atom of a rigid body from the first one; 0 without bodies.
    pub fn extent(&self) -> f64 {
        self.extent
    }

    /// Returns true if there are virtual sites.
    pub fn have_sites(&self) -> bool {
        self.shapes.iter().any(|shape| !shape.sites.is_empty())
    }

    /// First atom of the group that each atom is in, by id; an atom that is in none is its own. Empty without groups.
    pub fn leaders(&self) -> Vec<u32> {
        let mut leaders: Vec<u32> = (0..self.led.len() as u32).collect();
        for (group, run) in self.run_of.iter().enumerate() {
            let run = &self.runs[*run as usize];
            let first = run.first_atom + (group - run.first_group) * run.n_atoms;
            let atoms = &self.atoms[first..first + run.n_atoms];
            atoms.iter().for_each(|id| leaders[*id as usize] = atoms[0]);
        }
        leaders
    }

    /// Finds the atoms after they have been sorted and clusters divided among tasks, by ids in the order of
    /// storage and the index of each id. Groups whose first atoms are not among these ids belong to other ranks.
    pub fn place<S: Scalar>(
        &mut self,
        id: &[u32],
        index_by_id: &IdIndex,
        clusters: &Clusters<S>,
        tasks: &[Range<usize>],
    ) {
        self.sort(id, index_by_id);
        if !self.have_sites() {
            return;
        }
        let force_at = |place: &u32| {
            let cluster = clusters.first.partition_point(|first| first <= place) - 1;
            let task = tasks.partition_point(|range| range.end <= cluster);
            let lane = (place - clusters.first[cluster]) as usize;
            [task, (cluster - tasks[task].start) * 3 * clusters.width + lane].map(|x| x as u32)
        };
        self.force_at = self.places.iter().map(force_at).collect();
    }

    /// Puts groups into batches in the order in which their first atoms are stored, so that threads find
    /// the atoms of their batches near each other, and in the cache of the core that moved them.
    fn sort(&mut self, id: &[u32], index_by_id: &IdIndex) {
        self.lay_batches(id);
        let Constraints { runs, batches, width, ids, places, inverse_mass, numbers, slots, .. } = self;
        slots.clear();
        slots.resize(id.len(), ids.len() as u32);
        let mut n_placed = vec![0; runs.len()];
        for id in id {
            let group = self.led[*id as usize];
            if group == NONE {
                continue;
            }
            let number = self.run_of[group as usize] as usize;
            let (run, placed) = (&runs[number], &mut n_placed[number]);
            let (batch, lane) = (&batches[run.batches[0] + *placed / *width], *placed % *width);
            *placed += 1;
            let in_run = group as usize - run.first_group;
            let first = run.first_atom + in_run * run.n_atoms;
            for k in 0..run.n_atoms {
                let (slot, id) = (batch.first_slot + k * *width + lane, self.atoms[first + k]);
                let index = index_by_id.of(id);
                (ids[slot], places[slot], inverse_mass[slot]) = (id, index as u32, self.masses[first + k]);
                slots[index] = slot as u32;
            }
            for k in 0..run.n_parameters {
                numbers[batch.first_number + k * *width + lane] =
                    self.parameters[run.first_parameter + in_run * run.n_parameters + k];
            }
        }
        // The last batch of a run may have lanes left over.
        for run in runs.iter().filter(|run| run.batches[0] < run.batches[1]) {
            let last = batches[run.batches[1] - 1];
            for lane in last.groups..*width {
                for k in 0..run.n_atoms {
                    let register = last.first_slot + k * *width;
                    let (from, to) = (register + last.groups - 1, register + lane);
                    (ids[to], places[to], inverse_mass[to]) = (ids[from], places[from], inverse_mass[from]);
                }
                for k in 0..run.n_parameters {
                    let register = last.first_number + k * *width;
                    numbers[register + lane] = numbers[register + last.groups - 1];
                }
            }
        }
    }

    /// Makes batches for the groups that begin with these atoms, and room for their atoms and numbers.
    fn lay_batches(&mut self, ids: &[u32]) {
        let Constraints { runs, batches, width, .. } = self;
        let mut counts = vec![0; runs.len()];
        for group in ids.iter().map(|id| self.led[*id as usize]).filter(|group| *group != NONE) {
            counts[self.run_of[group as usize] as usize] += 1;
        }
        batches.clear();
        let (mut n_slots, mut n_numbers) = (0, 0);
        for (run, count) in runs.iter_mut().zip(counts) {
            let first = batches.len();
            for begin in (0..count).step_by(*width) {
                let (groups, first_slot, first_number) = ((count - begin).min(*width), n_slots, n_numbers);
                batches.push(GroupBatch {
                    kind: run.kind,
                    atoms: run.n_atoms,
                    groups,
                    first_slot,
                    first_number,
                });
                n_slots += run.n_atoms * *width;
                n_numbers += run.n_parameters * *width;
            }
            run.batches = [first, batches.len()];
        }
        self.ids.resize(n_slots, 0);
        self.places.resize(n_slots, 0);
        self.inverse_mass.resize(n_slots, 0.0);
        self.numbers.resize(n_numbers, 0.0);
        // The last one is of atoms without constraints.
        self.corrections.clear();
        self.corrections.resize(n_slots + 1, Vec3::ZERO);
    }

    /// Spreads the forces on virtual sites over their atoms; `forces` has the forces of each task, in clusters
    /// of this width. Returns the change of the virial.
    pub fn spread<S: Scalar>(
        &self,
        simbox: &SimBox,
        state: &State,
        width: usize,
        forces: &mut [&mut [S]],
    ) -> SymTensor {
        let mut virial = [0.0; 6];
        for batch in &self.batches {
            let GroupKind::Constrained(shape) = batch.kind else { continue };
            let Shape { atoms: n, sites, .. } = &self.shapes[shape];
            if sites.is_empty() {
                continue;
            }
            let places_matter = sites.iter().any(|site| !site.rule.is_average());
            for first in (0..batch.groups).map(|group| batch.first_slot + group) {
                let slot = |k: usize| first + k * self.width;
                let (mut r, mut force) = ([Vec3::ZERO; MOST_ATOMS], [Vec3::ZERO; MOST_ATOMS]);
                let origin = state.position[self.places[first] as usize];
                for k in 0..*n {
                    let [task, at] = self.force_at[slot(k)].map(|x| x as usize);
                    force[k] = Vector::from_fn(|axis| forces[task][at + axis * width].to_f64());
                    if places_matter {
                        let place = self.places[slot(k)] as usize;
                        r[k] = simbox.nearest_image(state.position[place] - origin);
                    }
                }
                let more = spread(sites, &r[..*n], &mut force[..*n]);
                virial.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                for (k, force) in force[..*n].iter().enumerate() {
                    let [task, at] = self.force_at[slot(k)].map(|x| x as usize);
                    for (axis, f) in force.iter().enumerate() {
                        forces[task][at + axis * width] = S::from_f64(*f);
                    }
                }
            }
        }
        virial
    }

    /// Corrections of the last call, by slot.
    pub fn corrections(&self) -> &[Vec3] {
        &self.corrections
    }

    /// Slots of atoms, by index.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Finds the corrections of positions after a drift for `dt`, of which `still_to_drift` has not been made
    /// yet.
    ///
    /// # Errors
    /// If the iteration does not converge: names an atom.
    pub fn correct_positions(
        &mut self,
        (team, level): (&Team, Level),
        simbox: &SimBox,
        state: &State,
        dt: f64,
        still_to_drift: f64,
    ) -> Result<()> {
        let outcomes =
            self.each(team, simbox, state, |part| level.run(Positions { part, dt, still_to_drift }));
        match outcomes.iter().position(|(held, _)| !held) {
            None => Ok(()),
            Some(batch) => {
                let GroupBatch { kind, first_slot, .. } = self.batches[batch];
                let atom = self.ids[first_slot] + 1;
                let message = match kind {
                    GroupKind::Rigid(_) => format!("the rigid body of atom {atom} turns too far in one step"),
                    GroupKind::Constrained(_) => {
                        format!("the constraints of the molecule of atom {atom} do not hold")
                    }
                };
                Err(Error::simulation(message).hint("shorten the time step, or begin with a shorter one"))
            }
        }
    }

    /// Finds the corrections of velocities with which no distance changes; returns the sum of arm times
    /// impulse over all constraints. Velocities are those before a kick by `unkicked`.
    pub fn correct_velocities(
        &mut self,
        (team, level): (&Team, Level),
        simbox: &SimBox,
        state: &State,
        unkicked: f64,
    ) -> SymTensor {
        let outcomes = self.each(team, simbox, state, |part| level.run(Velocities { part, unkicked }));
        let mut sum = [0.0; 6];
        for (_, part) in outcomes {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        sum
    }

    /// Runs `body` on all batches, spread over the team.
    fn each(
        &mut self,
        team: &Team,
        simbox: &SimBox,
        state: &State,
        body: impl Fn(BatchPart) -> Vec<BatchOutcome> + Sync,
    ) -> Vec<BatchOutcome> {
        let Constraints { shapes, batches, width, places, inverse_mass, numbers, corrections, .. } = self;
        let share = batches.len().div_ceil(team.size()).max(1);
        let mut rest = &mut corrections[..];
        let mut parts = Vec::new();
        for batches in batches.chunks(share) {
            let n: usize = batches.iter().map(|b| *width * b.atoms).sum();
            let corrections = rest.split_off_mut(..n).unwrap_or_default();
            parts.push(BatchPart {
                shapes,
                batches,
                places,
                inverse_mass,
                numbers,
                simbox,
                state,
                corrections,
            });
        }
        team.map(parts, |_, part| body(part)).into_iter().flatten().collect()
    }
}
