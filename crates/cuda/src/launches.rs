//! Launches of a step, a list, and the ends of a segment, put together from the parts that a run has.

mod forces;

use crate::biases::BiasKernels;
use crate::bonded::BondedKernels;
use crate::constraints::{Constraints, MoveFrom};
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Kernel, Launch, Waits};
use crate::electrostatics::LatticeSumKernel;
use crate::exchange::{Division, Exchange, MotionDivision, Needs};
use crate::external::ExternalForces;
use crate::kernels::{ATOM_THREADS, DISPLACED_ATOMS, Kernels, SCAN_BLOCK, Work, blocks_of};
use crate::mid_step::MidStepForces;
use crate::neighbor_engine::{NeighborEngine, SlotBefore, Trigger};
use crate::sums::{KINETIC, Summation, VIRIAL};
use crate::thermostat::ScalingThermostat;
use crate::vacuum::VacuumKernel;
use jostle_core::Evaluate;

/// Presence of forces that others compute on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// None.
    #[default]
    Absent,
    /// One or more.
    Present,
}

/// Part of a sequence.
#[derive(Clone)]
pub enum SequencePart {
    /// Kernel of this engine.
    Kernel(Launch),
    /// Forces of others, in a slot where a trigger says that they are due.
    Others(i32, Trigger),
}

/// Parts from which launches are put together.
pub struct Launches<'a> {
    pub kernels: &'a Kernels,
    pub neighbor_engine: &'a dyn NeighborEngine,
    pub charges: &'a [LatticeSumKernel],
    pub vacuum: Option<&'a VacuumKernel>,
    pub bonded: Option<&'a BondedKernels>,
    pub constraints: Option<&'a Constraints>,
    pub external: Option<&'a ExternalForces>,
    pub biases: Option<&'a BiasKernels>,
    pub thermostat: Option<&'a ScalingThermostat>,
    /// Forces in the middle of the steps of this batch.
    pub mid_step: Option<&'a dyn MidStepForces>,
    pub others: Others,
    /// Exchange of forces with other GPUs, and what is divided among them.
    pub exchange: Option<&'a Exchange>,
    pub division: Option<Division>,
    pub motion: MotionDivision,
    /// True where lists are built with what GPUs need to know of each other's atoms.
    pub divides_lists: bool,
    pub needs: Needs,
    /// True where each GPU adds up the energies of its own atoms, and of what is not divided the first one.
    pub divides_sums: bool,
    /// True for the only GPU, or the first.
    pub leads: bool,
    pub data: DeviceData,
    /// Number of terms, and of those that are pair forces: these come first.
    pub n_terms: usize,
    pub n_pairs: usize,
    pub sums: Summation,
    /// Number of blocks that the device runs at a time.
    pub resident_blocks: u32,
    /// Weight of long-range forces in evaluations outside steps.
    pub long_range_weight: f64,
    /// Address of the array for forces of meshes.
    pub mesh_force: Option<u64>,
}

impl Launches<'_> {
    fn n_atoms(&self) -> u32 {
        self.data.n as u32
    }

    /// Number of blocks of a kernel with a thread for each atom.
    pub fn atom_blocks(&self) -> u32 {
        blocks_of(self.data.n)
    }

    /// Number of shares that such a kernel leaves of a sum.
    pub fn atom_shares(&self) -> u32 {
        self.sums.shares(self.n_atoms() as usize, ATOM_THREADS)
    }

    /// Launch of a kernel with a thread for each atom.
    pub fn atoms(&self, kernel: &Kernel) -> Launch {
        Launch::new(kernel, self.atom_blocks(), ATOM_THREADS).with_value(self.data)
    }

    /// Sorts atoms and builds the list, if that of a slot is stale.
    pub fn build(&self, slot: i32) -> Vec<Launch> {
        let geometry = &self.data.geometry;
        let bins = geometry.columns[0] as usize * geometry.columns[1] as usize * geometry.bins as usize;
        let mut launches = self.exchange_of_motion(slot, Trigger::Build);
        let over_atoms = self.atom_blocks().min(self.resident_blocks);
        for (kernel, work) in &self.kernels.sort {
            let blocks = match work {
                Work::Atoms => over_atoms,
                Work::Bins => bins.div_ceil(SCAN_BLOCK) as u32,
            };
            let launch =
                Launch::new(kernel, blocks, ATOM_THREADS).with_value(self.with_mesh_forces(self.data));
            launches.push(launch.with_value(slot));
        }
        for kernel in self.kernels.exclusions.iter().filter(|_| self.data.exclusions.fours > 0) {
            let launch = Launch::new(kernel, over_atoms, ATOM_THREADS);
            launches.push(launch.with_value(self.data).with_value(slot));
        }
        let bonded = self.bonded.map(|b| b.build(&self.data, slot)).unwrap_or_default();
        let constraints = self.constraints.map(|c| c.build(&self.data, slot)).unwrap_or_default();
        let external = self.external.and_then(|o| o.build(&self.data, slot));
        let division = self.division_of_motion(slot);
        launches.extend(
            bonded
                .into_iter()
                .chain(constraints)
                .chain(division)
                .chain(external)
                .chain(self.biases.map(|biases| biases.build(&self.data, slot)))
                .map(|launch| launch.waits(Waits::SideStream)),
        );
        launches.extend(self.neighbor_engine.build(&self.data, slot));
        launches.extend(self.exchange.map(|exchange| exchange.needs(&self.data, slot)));
        launches.push(self.settle(slot, 1).waits(Waits::AllStreams));
        launches
    }

    /// Division of atoms among the GPUs, each of which moves its own: what others need to know of them.
    fn division_of_motion(&self, slot: i32) -> Vec<Launch> {
        let Some(exchange) = self.exchange.filter(|_| self.divides_lists) else { return Vec::new() };
        let first_atoms = self.constraints.map_or([0; 2], Constraints::first_atoms);
        let mut launches = exchange.divide(&self.data, first_atoms, slot);
        launches.extend(self.bonded.and_then(|bonded| bonded.mark(&self.data, slot)));
        launches.extend(exchange.find_needs(&self.data, self.needs, slot));
        launches
    }

    fn settle(&self, slot: i32, after_build: i32) -> Launch {
        Launch::new(&self.kernels.settle, 1, 64)
            .with_value(self.data)
            .with_value(slot)
            .with_value(after_build)
    }

    fn next_part(&self, begun: i32) -> Launch {
        Launch::new(&self.kernels.next_part, 1, 1).with_value(self.data).with_value(begun)
    }

    /// Searches around displaced atoms once they are in a slot for pairs that the list lacks.
    pub fn find_missing_pairs(&self, slot: i32) -> Option<Launch> {
        let blocks = self.n_atoms().div_ceil(DISPLACED_ATOMS);
        let launch = || Launch::new(&self.kernels.find_missing_pairs, blocks, ATOM_THREADS);
        (self.data.atoms.displaced != 0).then(|| launch().with_value(self.data).with_value(slot))
    }

    /// Number of numbers in a sample: energies of pair forces, virial, energies of other forces, kinetic
    /// tensor, momentum, and the thermostat.
    pub fn row_length(&self) -> usize {
        self.n_terms + VIRIAL + KINETIC + self.thermostat.map_or(0, ScalingThermostat::row_length)
    }

    /// Adds up the shares of so many blocks.
    pub fn add_shares(&self, blocks: u32, count: usize, offset: usize, trigger: Trigger) -> Launch {
        self.sum(&self.kernels.add_shares, blocks, count, offset, trigger)
    }

    /// Adds shares to the sum that is there: the energy of a term and the virial, or the virial alone.
    fn add_onto(&self, blocks: u32, count: usize, offset: usize, trigger: Trigger) -> Launch {
        let after = self.n_pairs + VIRIAL - count - offset;
        self.sum(&self.kernels.add_shares_onto, blocks, count, offset, trigger).with_value(after as i32)
    }

    fn sum(&self, kernel: &Kernel, blocks: u32, count: usize, offset: usize, trigger: Trigger) -> Launch {
        let row = self.row_length() as i32;
        Launch::new(kernel, count as u32, ATOM_THREADS)
            .with_value(self.data)
            .with_value(blocks as i32)
            .with_value(count as i32)
            .with_value(row)
            .with_value(offset as i32)
            .with_value(trigger as i32)
    }

    /// Launches of the sums of kinetic tensor and momentum.
    pub fn kinetic(&self, trigger: Trigger) -> Vec<Launch> {
        let offset = if trigger == Trigger::SegmentEnd { self.n_terms + VIRIAL } else { 0 };
        vec![
            self.atoms(&self.kernels.kinetic_shares).with_value(trigger as i32),
            self.add_shares(self.atom_shares(), KINETIC, offset, trigger),
        ]
    }

    /// Launches of the beginning of a segment.
    pub fn begin(&self) -> Vec<Launch> {
        let mut launches: Vec<Launch> =
            self.thermostat.map(|thermostat| thermostat.begin(&self.data)).into_iter().collect();
        match self.constraints {
            Some(constraints) => {
                let noise = constraints.noise(&self.data, 0, MoveFrom::SegmentStart);
                launches.push(noise.waits(Waits::ThirdStream));
                launches.extend(constraints.moves(&self.data, 0, MoveFrom::SegmentStart));
            }
            None => launches.push(self.atoms(&self.kernels.begin_segment).with_value(0i32)),
        }
        launches.extend(self.find_missing_pairs(1));
        launches.extend([self.next_part(1), self.settle(1, 0)]);
        launches
    }

    /// Forces that others compute, where there are any.
    fn of_others(&self, slot: i32, trigger: Trigger) -> Option<SequencePart> {
        (self.others == Others::Present).then_some(SequencePart::Others(slot, trigger))
    }

    fn step(&self, slot: i32) -> Vec<SequencePart> {
        let forces = || {
            let launches = self.forces(slot, Trigger::Step, Evaluate::Forces);
            launches.into_iter().map(SequencePart::Kernel).chain(self.of_others(slot, Trigger::Step))
        };
        let thermostat = self.thermostat.map(|thermostat| {
            thermostat.after_each_drift(&self.data, slot, Trigger::Step, self.row_length())
        });
        let mut launches = kernels(thermostat.unwrap_or_default());
        // Steps in one kernel include pair forces only.
        let before = if self.mid_step.is_some() { SlotBefore::MidStep } else { SlotBefore::Step };
        let at_once = match self.moves_with_pairs() {
            true => self.neighbor_engine.step(&self.moved(), slot, before),
            false => None,
        };
        match (self.constraints, at_once) {
            (Some(constraints), _) => {
                let noise = constraints.noise(&self.moved(), slot, MoveFrom::Step);
                launches.push(SequencePart::Kernel(noise.waits(self.noise_beside())));
                launches.extend(forces());
                launches.extend(kernels(constraints.moves(&self.moved(), slot, MoveFrom::Step)));
            }
            (None, Some(step)) => launches.extend(kernels(step)),
            (None, None) => {
                launches.extend(forces());
                launches.push(SequencePart::Kernel(self.advance(slot)));
            }
        }
        let of_biases = self.biases.map(|biases| biases.end_step_of_batch(&self.data));
        launches.extend(of_biases.map(SequencePart::Kernel));
        launches.extend(self.exchange_of_slot(slot + 1).map(SequencePart::Kernel));
        launches
    }

    /// Moves the atoms that this GPU moves, from the forces on them.
    fn advance(&self, slot: i32) -> Launch {
        let data = self.moved();
        let blocks = blocks_of(data.owned.end - data.owned.first);
        let launch = Launch::new(&self.kernels.advance, blocks, ATOM_THREADS).with_value(data);
        launch.with_value(slot).waits(Waits::AllStreams)
    }

    /// Data for a kernel that moves atoms: all of them, or those of this GPU, whose positions it sends to the others.
    fn moved(&self) -> DeviceData {
        match (self.motion, self.exchange) {
            (MotionDivision::Divided, Some(exchange)) => {
                DeviceData { peers: exchange.positions(), ..self.data }
            }
            _ => {
                let data = self.with_mesh_forces(self.data.with_all_atoms());
                self.with_bias_forces(self.with_bond_forces(data))
            }
        }
    }

    /// True where steps are one kernel, which finds the forces of pairs, the only ones, and moves atoms.
    fn moves_with_pairs(&self) -> bool {
        self.only_pairs() && (self.exchange.is_none() || self.motion == MotionDivision::Divided)
    }

    /// Exchange of what GPUs have found about a slot in which the atoms of each have arrived.
    fn exchange_of_slot(&self, slot: i32) -> Option<Launch> {
        let exchange = self.exchange.filter(|_| self.motion == MotionDivision::Divided);
        exchange.map(|exchange| exchange.slot(&self.data, slot))
    }

    /// Exchange of what each GPU alone knows of the atoms that it has moved.
    fn exchange_of_motion(&self, slot: i32, trigger: Trigger) -> Vec<Launch> {
        let exchange = self.exchange.filter(|_| self.motion == MotionDivision::Divided);
        exchange.map_or_else(Vec::new, |exchange| exchange.motion(&self.data, slot, trigger).to_vec())
    }

    /// True where samples are taken by steps, and not at the ends of segments.
    pub fn samples_in_passing(&self) -> bool {
        self.neighbor_engine.samples()
            && self.moves_with_pairs()
            && (self.exchange.is_none() || self.divides_sums)
            && self.thermostat.is_none()
            && self.mid_step.is_none()
    }

    /// True where the forces are only those of pairs within a cut-off.
    fn only_pairs(&self) -> bool {
        !self.charges.iter().any(LatticeSumKernel::acts)
            && self.vacuum.is_none()
            && self.bonded.is_none()
            && self.constraints.is_none()
            && self.external.is_none()
            && self.others == Others::Absent
            && self.biases.is_none()
    }

    /// Cost of an idle slot, whose kernels find nothing to do, relative to a check of the list.
    pub fn idle_share(&self) -> f64 {
        if self.others == Others::Present {
            // Others compute their forces in idle slots, too.
            return 1.0;
        }
        self.step(0).len() as f64 / self.build(0).len().max(1) as f64
    }

    /// Step slots of this number, and lists after them.
    pub fn steps(&self, slots: i32) -> Vec<SequencePart> {
        let made = |slot| {
            let mut launches = match self.mid_step {
                // Segments begin with half a drift.
                Some(mid_step) if slot % 2 == 0 => kernels(mid_step.cross(&self.data, slot)),
                _ => self.step(slot),
            };
            if let Some(search) = self.find_missing_pairs(slot + 1) {
                launches.push(SequencePart::Kernel(search));
                launches.extend(self.exchange_of_slot(slot + 1).map(SequencePart::Kernel));
            }
            launches
        };
        let mut launches: Vec<SequencePart> = (0..slots).flat_map(made).collect();
        launches.extend(kernels(self.build(slots)));
        launches
    }

    /// End of a segment.
    pub fn end(&self, evaluate: Evaluate) -> Vec<SequencePart> {
        let thermostat = self.thermostat.map(|thermostat| {
            thermostat.after_each_drift(&self.data, 0, Trigger::SegmentEnd, self.row_length())
        });
        let mut before = self.exchange_of_motion(0, Trigger::SegmentEnd);
        before.extend(thermostat.unwrap_or_default());
        before.extend(self.forces(0, Trigger::SegmentEnd, evaluate));
        let mut after = Vec::new();
        match self.constraints {
            Some(constraints) => {
                after.extend(constraints.kick(&self.data, 0, Trigger::SegmentEnd));
                if evaluate == Evaluate::ForcesAndEnergies && self.counts_undivided() {
                    after.push(constraints.sums(&self.data, self.row_length(), Trigger::SegmentEnd));
                }
            }
            None => after.push(self.atoms(&self.kernels.end_segment)),
        }
        after.extend(
            self.thermostat
                .map(|thermostat| thermostat.end_segment(&self.data, self.row_length()))
                .into_iter()
                .flatten(),
        );
        if evaluate == Evaluate::ForcesAndEnergies {
            after.extend(self.kinetic(Trigger::SegmentEnd));
        }
        after.push(self.next_part(0));
        let others = self.of_others(0, Trigger::SegmentEnd);
        kernels(before).into_iter().chain(others).chain(kernels(after)).collect()
    }
}

/// Launches as parts of a sequence.
pub fn kernels(launches: Vec<Launch>) -> Vec<SequencePart> {
    launches.into_iter().map(SequencePart::Kernel).collect()
}

/// Buffers of sums that kernels leave for the host.
pub struct Sums {
    pub partial: Buffer<f64>,
    pub total: Buffer<f64>,
}
