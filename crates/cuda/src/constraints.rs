//! Constraints of distances, virtual sites and rigid bodies (`kernels/constraints.cu`), as in
//! [`jostle_core::constraints`].

use crate::codegen::{Recorder, scalar_function};
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch, Waits};
use crate::kernels::{self, Build, Gpus};
use crate::neighbor_engine::Trigger;
use crate::rigid::{self, RigidBodies};
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::constraints::{
    Body, Group, Groups, ImpulseCoupling, MOST_ROUNDS, Shape, Solver, TOLERANCE, Water, rattle, settle, shake,
};
use jostle_core::virtual_sites::{follow, spread};
use jostle_core::{Evaluate, Precision, Real, Result, System, Vector};
use std::collections::HashMap;

/// Number of threads of a block, and number of atoms of a block that assigns groups to threads: as in
/// `constraints.cu`.
const BODY_THREADS: u32 = 64;
const SPAN: u32 = 1024;

/// Number of blocks that a multiprocessor runs at a time where atoms are moved, or a few more.
const RESIDENT: u32 = 8;

/// Number of numbers of a share: arms times impulses.
const IMPULSES: usize = 6;

/// Mark of an atom without constraints.
const UNCONSTRAINED: u32 = u32::MAX;

/// Mark of an atom that is not the first of its group.
const FOLLOWER: u32 = u32::MAX - 1;

shared_structure! {
    /// Groups of atoms that constraints hold together.
    struct ConstraintData {
        /// Group whose first atom it is, by id; FOLLOWER of the first one, or UNCONSTRAINED.
        leads: u64 = "const u32*",
        /// Slot among the atoms of groups, by id.
        slot: u64 = "const u32*",
        /// Shape of each group, its first slot, and where its numbers begin.
        group: u64 = "const uint4*",
        /// Lengths of the groups, or what replaces them.
        numbers: u64 = "const double*",
        /// `leads`, in storage order.
        leader: u64 = "u32*",
        /// Atoms that move: 32 for each warp group. An atom that moves itself (UNCONSTRAINED), or the first one of a
        /// group, or NO_ATOM; and its shape, first slot and numbers.
        mover: u64 = "uint4*",
        /// Number of those at the beginning of `mover`, which this GPU moves, and at its end, which others may move.
        n_warp_groups: u64 = "int*",
        /// Capacity of `mover`.
        most_warp_groups: i64,
        /// Index and species of the atom, by slot.
        index: u64 = "uint2*",
        /// Noise of the step under way, in storage order: [n][3].
        noise: u64 = "double*",
    }
}

/// Part of a step that a kernel makes before the first half of the next kick: as in `constraints.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum MoveFrom {
    /// None: a segment begins.
    SegmentStart = 0,
    /// Second half of the kick of the step before.
    Step = 1,
}

/// Kernels, and groups of constrained atoms.
pub struct Constraints {
    held: ConstraintData,
    disband: Kernel,
    indices: Kernel,
    noise: Kernel,
    moves: Kernel,
    kick: Kernel,
    brake: Kernel,
    trial_kick: Kernel,
    sums: Kernel,
    hold: Kernel,
    /// Kernel of the forces on virtual sites, where there are any.
    spread: Option<Kernel>,
    /// Rigid bodies, whose atoms are followers here.
    bodies: Option<RigidBodies>,
    n_pairs: usize,
    n_atoms: usize,
    /// Number of blocks that move atoms.
    move_blocks: u32,
    summation: Summation,
    extent: Option<f64>,
    /// Memory to which the addresses in `held` point.
    words: [Buffer<u32>; 7],
    groups: Buffer<[u32; 4]>,
    numbers: [Buffer<f64>; 2],
}

/// Largest number of warp groups, see `constraints.cu`.
fn most_warp_groups(n_atoms: usize, n_shapes: usize) -> usize {
    n_atoms.div_ceil(SPAN as usize) * (SPAN as usize / 32 + 2 * (n_shapes + 1))
}

/// Constants of a group: lengths, or those of water.
fn numbers(group: &Group) -> Vec<f64> {
    match group.water {
        Some(Water { to_apex, to_base, half_base, weight }) => vec![to_apex, to_base, half_base, weight],
        None => group.lengths.clone(),
    }
}

/// Largest distance of an atom of a group from its first one; `None` where virtual sites may be anywhere.
fn extent(group: &Group, shape: &Shape) -> Option<f64> {
    let reached =
        |atom: &usize| shape.pairs.iter().any(|[a, b]| [*a, *b] == [0, *atom] || [*b, *a] == [0, *atom]);
    let lengths = group.lengths.iter().copied();
    match (shape.sites.is_empty(), (1..shape.atoms).all(|atom| reached(&atom))) {
        (false, _) => None,
        (true, true) => Some(lengths.fold(0.0, f64::max)),
        (true, false) => Some(lengths.sum()),
    }
}

/// Tables of groups, as kernels read them: see [`ConstraintData`].
struct GroupTables {
    leads: Vec<u32>,
    slots: Vec<u32>,
    /// Slot of the first atom of each atom's group, by id.
    first: Vec<u32>,
    rows: Vec<[u32; 4]>,
    numbers: Vec<f64>,
    n_slots: u32,
}

impl GroupTables {
    fn new(groups: &[Group], bodies: &[Body], n_atoms: usize) -> Self {
        let [mut leads, mut slots, mut first] = std::array::from_fn(|_| vec![UNCONSTRAINED; n_atoms]);
        let (mut rows, mut all_numbers, mut n_slots) = (Vec::new(), Vec::new(), 0);
        // Molecules that are alike share their numbers.
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        for (number, group) in groups.iter().enumerate() {
            let numbers = numbers(group);
            let begin = *known.entry(numbers.iter().map(|x| x.to_bits()).collect()).or_insert_with(|| {
                all_numbers.extend(&numbers);
                (all_numbers.len() - numbers.len()) as u32
            });
            rows.push([group.shape as u32, n_slots, begin, 0]);
            let first_slot = n_slots;
            for (k, id) in group.atoms.iter().enumerate() {
                leads[*id as usize] = if k == 0 { number as u32 } else { FOLLOWER };
                first[*id as usize] = first_slot;
                slots[*id as usize] = n_slots;
                n_slots += 1;
            }
        }
        for body in bodies {
            let first_slot = n_slots;
            for id in body.ids.iter().map(|id| *id as usize) {
                (leads[id], first[id], slots[id]) = (FOLLOWER, first_slot, n_slots);
                n_slots += 1;
            }
        }
        GroupTables { leads, slots, first, rows, numbers: all_numbers, n_slots }
    }
}

fn vectors(x: &[Recorder]) -> Vec<Vector<Recorder>> {
    x.chunks_exact(3).map(|v| Vector([v[0], v[1], v[2]])).collect()
}

/// Vectors of all atoms from those of all but the first, which are relative to it.
fn from_first(x: &[Recorder]) -> Vec<Vector<Recorder>> {
    [vec![Vector([Recorder::lit(0.0); 3])], vectors(x)].concat()
}

/// Definitions that `constraints.cu` needs in front of it.
fn source(shapes: &[Shape]) -> String {
    let mut text = format!("#define MOST_ROUNDS {MOST_ROUNDS}\n#define TOLERANCE2 {:e}\n", TOLERANCE.powi(2));
    text += &format!("enum {{ N_SHAPES = {} }};\n", shapes.len());
    text += "template <int SHAPE> struct Shape;\n";
    for (number, shape) in shapes.iter().enumerate() {
        let (n, pairs) = (shape.atoms, &shape.pairs[..]);
        let (coupling, known) = match shape.solver {
            Solver::Shake => (3 * pairs.len() + ImpulseCoupling::<f64>::n_factors(pairs.len()), pairs.len()),
            Solver::Settle => (3 * (n - 1), 4),
        };
        text += &scalar_function(&format!("couple_{number}"), 4 * n - 3, |x| {
            let (before, inverse_mass) = x.split_at(3 * (n - 1));
            match shape.solver {
                Solver::Shake => {
                    let ImpulseCoupling { arms, factors } =
                        ImpulseCoupling::new(pairs, &from_first(before), inverse_mass);
                    let arms = arms.into_iter().take(pairs.len()).flatten();
                    arms.chain(factors).take(coupling).collect()
                }
                Solver::Settle => before.to_vec(),
            }
        });
        text += &scalar_function(&format!("round_{number}"), coupling + known + 4 * n, |x| {
            let (before, rest) = x.split_at(coupling);
            let (known, rest) = rest.split_at(known);
            let (inverse_mass, now) = rest.split_at(n);
            let mut now = vectors(now);
            let error = match shape.solver {
                Solver::Shake => {
                    let coupling = ImpulseCoupling::from_parts(
                        &vectors(&before[..3 * pairs.len()]),
                        &before[3 * pairs.len()..],
                    );
                    shake(pairs, &coupling, known, inverse_mass, &mut now)
                }
                Solver::Settle => {
                    let water =
                        Water { to_apex: known[0], to_base: known[1], half_base: known[2], weight: known[3] };
                    let before = from_first(before);
                    let settled = settle(&water, [before[0], before[1], before[2]], [now[0], now[1], now[2]]);
                    now[..3].copy_from_slice(&settled);
                    // Error: 0, or not a number where the positions are not.
                    now.iter().flatten().fold(Recorder::lit(0.0), |sum, x| sum + Recorder::lit(0.0) * *x)
                }
            };
            follow(&shape.sites, &mut now);
            now.into_iter().flatten().chain([error]).collect()
        });
        text += &scalar_function(&format!("spread_{number}"), 6 * n - 3, |x| {
            let (r, force) = x.split_at(3 * (n - 1));
            let mut force = vectors(force);
            let virial = spread(&shape.sites, &from_first(r), &mut force);
            force.into_iter().flatten().chain(virial).collect()
        });
        text += &scalar_function(&format!("brake_{number}"), 7 * n - 6, |x| {
            let (r, rest) = x.split_at(3 * (n - 1));
            let (inverse_mass, v) = rest.split_at(n);
            let mut v = from_first(v);
            let impulse = rattle(pairs, &from_first(r), inverse_mass, &mut v);
            v.into_iter().flatten().chain(impulse).collect()
        });
        text += &format!(
            "template <> struct Shape<{number}> {{\n    \
             enum {{ ATOMS = {n}, SITES = {}, NUMBERS = {known}, COUPLING = {coupling} }};\n",
            shape.sites.len()
        );
        for function in ["couple", "round", "brake", "spread"] {
            text += &format!(
                "    DEVICE_MEMBER static void {function}(const double* in, double* out) {{ \
                 {function}_{number}(in, out); }}\n"
            );
        }
        text += "};\n";
    }
    let each: String = (0..shapes.len()).map(|k| format!(" DO({k})")).collect();
    text + &format!("#define EACH_SHAPE(DO){each}\n")
}

/// Option for kernels that move few groups and atoms: fewer blocks need to be resident, so that threads have all the
/// registers that they want. `None` where there are many, and for an emulated device, which has no registers.
fn move_blocks(device: &Device, groups: &Groups, n_atoms: usize) -> Option<String> {
    if device.is_emulated() {
        return None;
    }
    let followers: usize = groups.groups.iter().map(|group| group.atoms.len() - 1).sum();
    let blocks = (n_atoms - followers).div_ceil(BODY_THREADS as usize);
    match blocks.div_ceil(device.multiprocessors() as usize) {
        0..=2 => Some("-DMOVE_BLOCKS=4".into()),
        3..=5 => Some("-DMOVE_BLOCKS=6".into()),
        _ => None,
    }
}

/// Source of the kernels for these groups.
pub fn build(groups: &Groups, precision: Precision, sums: Summation) -> Build {
    let constrained =
        concat!(include_str!("../kernels/body.cuh"), include_str!("../kernels/constraints.cu")).to_string();
    let kernels = match groups.bodies.is_empty() {
        true => constrained,
        false => constrained + include_str!("../kernels/rigid.cu"),
    };
    let definitions = source(&groups.shapes) + &rigid::source(&groups.bodies) + &ConstraintData::source();
    kernels::module_source(&definitions, &kernels, precision, sums)
}

impl Constraints {
    /// Kernels for a system's constraints; `None` without constraints. Its samples begin with `n_pairs`
    /// energies.
    ///
    /// # Errors
    /// If too many constraints are coupled, there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        n_pairs: usize,
        gpus: Gpus,
        precision: Precision,
        summation: Summation,
    ) -> Result<Option<Self>> {
        let groups = Groups::new(system)?;
        if groups.are_empty() {
            return Ok(None);
        }
        let mut build = build(&groups, precision, summation).for_gpus(gpus);
        build.options.extend(move_blocks(device, &groups, system.state.len()));
        let Groups { shapes, groups, bodies } = groups;
        let n_atoms = system.state.len();
        let of_bodies = system.topology.rigid_bodies.iter().map(|body| Some(body.extent()));
        let mut extents = groups.iter().map(|group| extent(group, &shapes[group.shape])).chain(of_bodies);
        let extent = extents.try_fold(0.0, |most: f64, one| Some(most.max(one?)));
        let GroupTables { leads, slots, first: of_first, rows, numbers: all_numbers, n_slots } =
            GroupTables::new(&groups, &bodies, n_atoms);
        let module = device.compile("constraints.cu", &build.source, &build.options)?;
        let most_warp_groups = most_warp_groups(n_atoms, shapes.len());
        let n_body_atoms: u32 = bodies.iter().map(|body| body.ids.len() as u32).sum();
        let words = [
            device.upload(&leads)?,
            device.upload(&slots)?,
            device.alloc(n_atoms)?,
            device.alloc(2 * n_slots as usize)?,
            device.alloc(4 * 32 * most_warp_groups)?,
            device.alloc(2)?,
            device.upload(if gpus == Gpus::Several { &of_first } else { &[] })?,
        ];
        let [leads, slot, leader, index, mover, n_warp_groups] = std::array::from_fn(|k| words[k].address());
        let of_bodies = || RigidBodies::new(device, &module, &bodies, n_slots - n_body_atoms, summation);
        let bodies = (!bodies.is_empty()).then(of_bodies).transpose()?;
        let (groups, numbers) = (device.upload(&rows)?, device.upload(&all_numbers)?);
        let (group, first) = (groups.address(), numbers.address());
        let kicks = device.alloc(3 * n_atoms)?;
        let noise = kicks.address();
        Ok(Some(Constraints {
            held: ConstraintData {
                leads,
                slot,
                group,
                numbers: first,
                leader,
                mover,
                n_warp_groups,
                most_warp_groups: most_warp_groups as i64,
                index,
                noise,
            },
            disband: module.kernel("constrained_disband")?,
            indices: module.kernel("constrained_indices")?,
            noise: module.kernel("constrained_noise")?,
            moves: module.kernel("constrained_move")?,
            kick: module.kernel("constrained_kick")?,
            brake: module.kernel("constrained_brake")?,
            trial_kick: module.kernel("constrained_trial_kick")?,
            sums: module.kernel("constrained_sums")?,
            hold: module.kernel("constrained_hold")?,
            spread: match shapes.iter().all(|shape| shape.sites.is_empty()) {
                true => None,
                false => Some(module.kernel("constrained_spread")?),
            },
            bodies,
            n_pairs,
            n_atoms,
            move_blocks: (n_atoms as u32)
                .div_ceil(BODY_THREADS)
                .min(RESIDENT * device.multiprocessors())
                .max(1),
            summation,
            extent,
            words,
            groups,
            numbers: [numbers, kicks],
        }))
    }

    fn launch(&self, kernel: &Kernel, data: &DeviceData) -> Launch {
        let blocks = (data.n as u32).div_ceil(BODY_THREADS).max(1);
        Launch::new(kernel, blocks, BODY_THREADS).with_value(*data).with_value(self.held)
    }

    /// Number of shares that blocks leave of a sum over groups.
    pub fn shares(&self) -> u32 {
        self.summation.shares(self.n_atoms, BODY_THREADS)
    }

    /// Number of shares that blocks leave of the sum of impulses.
    fn shares_of_impulses(&self) -> u32 {
        self.shares() + self.bodies.as_ref().map_or(0, RigidBodies::shares)
    }

    /// Launches for groups, then for rigid bodies if there are any.
    fn both(&self, groups: Launch, bodies: impl FnOnce(&RigidBodies) -> Launch) -> Vec<Launch> {
        std::iter::once(groups).chain(self.bodies.as_ref().map(bodies)).collect()
    }

    /// Number of numbers that blocks leave as their shares.
    pub fn partial_length(&self) -> usize {
        self.shares_of_impulses() as usize * IMPULSES
    }

    /// Launches that find the atoms after a sort: part of building lists.
    pub fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        let launch = |kernel, blocks, threads| {
            Launch::new(kernel, blocks, threads).with_value(*data).with_value(self.held).with_value(slot)
        };
        let spans = (data.n as u32).div_ceil(SPAN).max(1);
        vec![launch(&self.disband, 1, 1), launch(&self.indices, spans, SPAN)]
    }

    /// Largest distance of an atom of a group from its first one; `None` without a limit.
    pub fn extent(&self) -> Option<f64> {
        self.extent
    }

    /// Slot of the first atom of each atom's group, by id, and the atom of each slot, as kernels of several GPUs read them.
    pub fn first_atoms(&self) -> [u64; 2] {
        [self.words[6].address(), self.held.index]
    }

    /// Returns true where there are virtual sites.
    pub fn has_sites(&self) -> bool {
        self.spread.is_some()
    }

    /// Launch that transfers the forces on virtual sites to the atoms that define them, if there are any;
    /// with energies, blocks leave their shares of the change of the virial.
    pub fn spread(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
    ) -> Option<Launch> {
        let energies = i32::from(evaluate == Evaluate::ForcesAndEnergies);
        let launch = self.launch(self.spread.as_ref()?, data).with_value(slot);
        Some(launch.with_value(trigger as i32).with_value(energies))
    }

    /// Launches that move atoms to where the next forces are evaluated: in place of `begin_segment` and
    /// `advance`.
    pub fn moves(&self, data: &DeviceData, slot: i32, from: MoveFrom) -> Vec<Launch> {
        let launch = Launch::new(&self.moves, self.move_blocks, BODY_THREADS).with_value(*data);
        let launch = launch.with_value(self.held).with_value(slot).with_value(from as i32);
        let launch = launch.waits(Waits::AllStreams);
        self.both(launch, |bodies| bodies.moves(data, self.held, slot, from as i32))
    }

    /// Launch that computes the noise of such a move, for which no forces are needed.
    pub fn noise(&self, data: &DeviceData, slot: i32, from: MoveFrom) -> Launch {
        self.launch(&self.noise, data).with_value(slot).with_value(from as i32)
    }

    /// Launches of the second half of the kick that ends a step.
    pub fn kick(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> Vec<Launch> {
        let launch = self.launch(&self.kick, data).with_value(slot).with_value(trigger as i32);
        let shares = self.shares();
        self.both(launch, |bodies| bodies.kick(data, self.held, slot, trigger as i32, shares))
    }

    /// Launches that follow a kick by `time`, as in `SubSteps::constrain_velocities`; `turning` is that of
    /// [`jostle_core::ClosingKick`].
    ///
    pub fn brake(&self, data: &DeviceData, time: f64, turning: f64) -> Vec<Launch> {
        let launch = self.launch(&self.brake, data).with_value(time).with_value(turning);
        self.both(launch, |bodies| bodies.brake(data, self.held, [time, turning], self.shares()))
    }

    /// Launches that compute the impulses after such a kick, see `ForceEvaluation::add_constraint_virial`, with the
    /// same arguments.
    ///
    pub fn trial_kick(&self, data: &DeviceData, time: f64, turning: f64) -> Vec<Launch> {
        let launch = self.launch(&self.trial_kick, data).with_value(time).with_value(turning);
        self.both(launch, |bodies| bodies.trial_kick(data, self.held, [time, turning], self.shares()))
    }

    /// Launch that adds the virial of [`Constraints::kick`] to a sample's; where velocities were corrected
    /// alone, it leaves arms times impulses in the first numbers of the totals.
    pub fn sums(&self, data: &DeviceData, row_length: usize, trigger: Trigger) -> Launch {
        Launch::new(&self.sums, 1, BODY_THREADS)
            .with_value(*data)
            .with_value(self.shares_of_impulses() as i32)
            .with_value(row_length as i32)
            .with_value(self.n_pairs as i32)
            .with_value(trigger as i32)
    }

    /// Launches that move atoms back to where distances are as required, after a drift by `dt`.
    pub fn hold(&self, data: &DeviceData, dt: f64) -> Vec<Launch> {
        let launch = self.launch(&self.hold, data).with_value(dt);
        self.both(launch, |bodies| bodies.hold(data, self.held, dt))
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let numbers = self.numbers.iter().map(Buffer::len).sum::<usize>();
        let bodies = self.bodies.as_ref().map_or(0, RigidBodies::bytes);
        4 * self.words.iter().map(Buffer::len).sum::<usize>() + 16 * self.groups.len() + 8 * numbers + bodies
    }
}
