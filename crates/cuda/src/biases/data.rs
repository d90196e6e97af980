//! Arrays that the kernels for biases read, and their layout.

use super::hills::{HILL_COUNT, HillArrays, NUMBERS};
use crate::shared::shared_structure;
use jostle_core::Vec3;
use jostle_core::backend::{
    AdaptiveForceSettings, BiasFunction, CenterBiases, CenterFunction, DensityMemory, GridAxis, HILL_NUMBERS,
    HillMemory, KERNEL_NUMBERS, KernelMemory, KernelSettings, PairCount, ParticleMemory, SAMPLE_BLOCKS,
    SpringMemory, VariableExpression,
};
use jostle_sampling::bias::{FIRST_VELOCITY, MERGED, project_every};
use std::collections::HashMap;

/// Numbers of a variable that is a function of all members of a group: factors of arms and of the turned reference in its
/// slopes, the slope by charge, strain, sums over members, and one more sum.
pub const STRUCTURE_NUMBERS: usize = 38;
/// Stands for nothing that is undefined.
pub const NONE_UNDEFINED: u64 = u64::MAX;

shared_structure! {
    /// Atom of a group.
    pub struct BiasMember {
        /// Its place among all atoms of groups.
        pub place: u32,
        pub image: [i32; 3],
        pub share: f64,
        /// Charge less the share of the charge of the group.
        pub charge: f64,
        /// Position in the reference, about its centre.
        pub reference: Vec3,
    }

    /// Partner of a member in a pair that is counted.
    pub struct BiasPartner {
        pub member: i64,
        /// Distance at which the pair counts one half.
        pub end: f64,
    }

    /// Members of a group, and the chunks of a large one.
    pub struct BiasGroup {
        pub first: u32,
        pub end: u32,
        pub first_chunk: u32,
        pub chunks: u32,
    }

    /// Variable: a function of vectors between centres, or of others.
    pub struct BiasVariable {
        pub function: i32,
        pub axis: i32,
        pub vectors: i32,
        pub formula: i32,
        /// Groups at the ends of its vectors.
        pub from: [i32; 3],
        pub to: [i32; 3],
        /// Entries of the variables of a formula.
        pub first: i32,
        pub count: i32,
        /// 0: it is not periodic.
        pub period: f64,
    }

    /// Bias.
    pub struct BiasTerm {
        pub function: i32,
        pub formula: i32,
        /// Entries of its variables.
        pub first: i32,
        pub count: i32,
        /// Harmonic: centre and stiffness, first and last. Linear: force, centre. Wall: place, stiffness, side. Hills:
        /// height, interval, gamma (0: not tempered), k_B T. Adaptive force: k_B T, damping, samples, steps between
        /// projections. OPES: k_B T, interval, scale of the energy, least value of a density.
        pub parameters: [f64; 4],
        /// Widths of hills or of the first kernel, or stiffness of the springs to a particle.
        pub width: [f64; 2],
        /// Mass of a particle.
        pub mass: [f64; 2],
        pub lower: [f64; 2],
        pub spacing: [f64; 2],
        pub intervals: [i64; 2],
        pub points: [i64; 2],
        pub periodic: [i32; 2],
        pub grid: u64 = "double*",
        /// Values and slopes of a hill at the points of each axis; modes of the bins of an adaptive force.
        pub tables: u64 = "double*",
        /// Hills, or kernels of two densities in turns, and the number that there is memory for.
        pub hills: u64 = "double*",
        pub capacity: i64,
        /// Squared distance, in widths, beyond which kernels vanish.
        pub square_cutoff: f64,
    }

    /// Stages in which a bias acts: steps before the present one, and of all.
    pub struct BiasSpan {
        pub before: f64,
        pub total: f64,
        pub acts: i64,
    }

    /// State of all biases together.
    pub struct BiasState {
        /// Step of the last evaluation.
        pub step: i64,
        /// Steps before the stage, the time at its beginning, and the length of a step.
        pub first_step: i64,
        pub start_time: f64,
        pub timestep: f64,
        pub seed: u64,
        /// Not 0 until the first evaluation of a stage that has just begun.
        pub fresh: i64,
        /// Variable or, counted after all of them, bias that is not defined at the last evaluation, and the first one of
        /// the run with its step.
        pub undefined: u64,
        pub fault: u64,
        pub fault_step: i64,
        /// Not 0 where a step has been evaluated that another launch ends.
        pub unended: i64,
    }

    /// Addresses and numbers of everything.
    pub struct BiasData {
        pub n_groups: i64,
        pub n_variables: i64,
        pub n_terms: i64,
        pub n_entries: i64,
        pub first_bias_entry: i64,
        pub n_places: i64,
        /// Place among the atoms of groups, by id; -1 for others.
        pub place_by_id: u64 = "const int*",
        /// Index of each of them.
        pub index: u64 = "u32*",
        /// Place of each atom, likewise.
        pub place_of_atom: u64 = "int*",
        pub members: u64 = "const BiasMember*",
        pub groups: u64 = "const BiasGroup*",
        /// First member of each chunk, and one after the last.
        pub chunks: u64 = "const u32*",
        pub chunk_sums: u64 = "double*",
        pub variables: u64 = "const BiasVariable*",
        pub terms: u64 = "const BiasTerm*",
        /// Variables of formulas, then of biases.
        pub entries: u64 = "const int*",
        pub spans: u64 = "const BiasSpan*",
        pub state: u64 = "BiasState*",
        /// Groups of each atom of groups, and its part in them.
        pub first_share: u64 = "const u32*",
        pub share_group: u64 = "const u32*",
        pub shares: u64 = "const double*",
        /// Member of each of these entries.
        pub share_member: u64 = "const u32*",
        /// Variable that is a function of all members of a group; -1: there is none.
        pub group_structure: u64 = "const int*",
        /// Partners of each member in pairs that are counted, and the slope of their number with its position.
        pub first_partner: u64 = "const u32*",
        pub partners: u64 = "const BiasPartner*",
        pub member_slopes: u64 = "double*",
        /// Numbers of each such variable, see [`STRUCTURE_NUMBERS`].
        pub structures: u64 = "double*",
        pub centers: u64 = "double*",
        pub center_force: u64 = "double*",
        pub values: u64 = "double*",
        pub vectors: u64 = "double*",
        pub gradients: u64 = "double*",
        pub weights: u64 = "double*",
        /// Derivative of each formula or bias with the variable of each entry.
        pub slopes: u64 = "double*",
        /// Energy, centre and, in rows, work of each bias.
        pub energies: u64 = "double*",
        pub virial: u64 = "double*",
        pub numbers: u64 = "double*",
        pub fault_values: u64 = "double*",
        /// Rows for the host.
        pub rows: u64 = "double*",
    }
}

impl BiasTerm {
    /// Takes the axes of its grid.
    fn lay_out(&mut self, axes: &[GridAxis]) {
        for (d, axis) in axes.iter().enumerate() {
            (self.lower[d], self.spacing[d]) = (axis.lower, axis.spacing);
            (self.intervals[d], self.points[d]) = (axis.intervals as i64, axis.points() as i64);
            self.periodic[d] = i32::from(axis.periodic);
        }
    }
}

/// Functions of variables, in the order of the enumeration of CUDA.
const VARIABLES: [&str; 18] = [
    "BIAS_DISTANCE",
    "BIAS_ALONG_X",
    "BIAS_ALONG_Y",
    "BIAS_ALONG_Z",
    "BIAS_IN_PLANE_XY",
    "BIAS_IN_PLANE_XZ",
    "BIAS_IN_PLANE_YZ",
    "BIAS_ANGLE",
    "BIAS_DIHEDRAL",
    "BIAS_TILT",
    "BIAS_POSITION",
    "BIAS_EDGE",
    "BIAS_VOLUME",
    "BIAS_FORMULA_OF_VARIABLES",
    "BIAS_GYRATION",
    "BIAS_DEVIATION",
    "BIAS_DIPOLE",
    "BIAS_PAIRS",
];
/// Functions of biases, likewise.
const BIASES: [&str; 7] =
    ["BIAS_HARMONIC", "BIAS_LINEAR", "BIAS_WALL", "BIAS_HILLS", "BIAS_FORMULA", "BIAS_ADAPTIVE", "BIAS_OPES"];

/// Functions of variables and biases that kernels have code for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Functions {
    /// Functions of a run. Code that is not run takes time as well: what is run lies farther apart in it, and the rest of a step
    /// leaves none of it in the caches of instructions.
    InUse,
    All,
}

impl Functions {
    /// True where threads share the members of a group, or the kernels of a density.
    pub fn are_shared(self, biases: &CenterBiases) -> bool {
        let of_members = |function: &CenterFunction| {
            use CenterFunction::{Deviation, Dipole, Gyration, Pairs};
            matches!(function, Gyration | Deviation(_) | Dipole(_) | Pairs(..))
        };
        self == Functions::All
            || biases.variables.iter().any(|variable| of_members(&variable.function))
            || biases.biases.iter().any(|bias| matches!(bias.function, BiasFunction::Opes(_)))
    }

    /// Bits of these functions of variables and of biases, by their numbers.
    fn bits(self, biases: &CenterBiases) -> [u32; 2] {
        match self {
            Functions::All => [(1 << VARIABLES.len()) - 1, (1 << BIASES.len()) - 1],
            Functions::InUse => [
                biases.variables.iter().fold(0, |bits, variable| bits | 1 << shape(&variable.function).0),
                biases.biases.iter().fold(0, |bits, bias| bits | 1 << number_of_function(&bias.function)),
            ],
        }
    }
}

/// Enumerations and constants in CUDA.
pub fn constants(biases: &CenterBiases, functions: Functions) -> String {
    let numbers = [
        ("BIAS_NUMBERS", NUMBERS),
        ("SPRING_WORK", SpringMemory::WORK),
        ("SPRING_KNOWN", SpringMemory::KNOWN),
        ("SPRING_VALUE", SpringMemory::VALUE),
        ("SPRING_PROGRESS", SpringMemory::PROGRESS),
        ("HILL_WORK", HillMemory::WORK),
        ("HILL_KNOWN", HillMemory::KNOWN),
        ("HILL_VALUES", HillMemory::VALUES),
        ("HILL_PENDING", HillMemory::PENDING),
        ("HILL_PENDING_HILL", HillMemory::PENDING_HILL),
        ("HILL_NEWEST", HillMemory::NEWEST),
        ("HILL_NEWEST_HILL", HillMemory::NEWEST_HILL),
        ("KERNEL_WORK", KernelMemory::WORK),
        ("KERNEL_KNOWN", KernelMemory::KNOWN),
        ("KERNEL_VALUES", KernelMemory::VALUES),
        ("KERNEL_PENDING", KernelMemory::PENDING),
        ("KERNEL_NEWEST", KernelMemory::NEWEST),
        ("KERNEL_CURRENT", KernelMemory::CURRENT),
        ("FIRST_DENSITY", KernelMemory::DENSITIES[0]),
        ("DENSITY_KERNELS", DensityMemory::KERNELS),
        ("DENSITY_WEIGHT", DensityMemory::WEIGHT),
        ("DENSITY_SQUARES", DensityMemory::SQUARES),
        ("DENSITY_MEAN", DensityMemory::MEAN),
        ("DENSITY_SIZE", DensityMemory::COUNT),
        ("KERNEL_SIZE", KERNEL_NUMBERS),
        ("PARTICLE_WORK", ParticleMemory::WORK),
        ("PARTICLE_KNOWN", ParticleMemory::KNOWN),
        ("PARTICLE_VALUES", ParticleMemory::VALUES),
        ("PARTICLE_LAST_PLACE", ParticleMemory::LAST_PLACE),
        ("PARTICLE_BEGUN", ParticleMemory::BEGUN),
        ("PARTICLE_PLACE", ParticleMemory::PLACE),
        ("PARTICLE_VELOCITY", ParticleMemory::VELOCITY),
        ("PARTICLE_PENDING", ParticleMemory::PENDING),
        ("PARTICLE_NEXT", ParticleMemory::NEXT),
        ("PARTICLE_SAMPLES", ParticleMemory::SAMPLES),
        ("SAMPLE_BLOCKS", SAMPLE_BLOCKS),
        ("STRUCTURE_NUMBERS", STRUCTURE_NUMBERS),
        ("FIRST_VELOCITY", FIRST_VELOCITY as usize),
        ("HILL_COUNT", HILL_COUNT),
        ("HILL_SIZE", HILL_NUMBERS),
    ];
    let [of_variables, of_biases] = functions.bits(biases);
    let numbers: Vec<String> = numbers.iter().map(|(name, k)| format!("{name} = {k}")).collect();
    format!(
        "enum {{ {} }};\nenum {{ {} }};\nenum {{ {} }};\n#define NONE_UNDEFINED {NONE_UNDEFINED}ull\n\
         #define MERGED_SQUARE {:?}\n#define VARIABLES_IN_USE {of_variables}u\n#define BIASES_IN_USE {of_biases}u\n",
        VARIABLES.join(", "),
        BIASES.join(", "),
        numbers.join(", "),
        MERGED * MERGED
    )
}

/// Number of a variable's function, its axis, and the vectors between its groups by their numbers.
fn shape(function: &CenterFunction) -> (i32, i32, &'static [[usize; 2]]) {
    const ONE: &[[usize; 2]] = &[[0, 1]];
    match *function {
        CenterFunction::Distance => (0, 0, ONE),
        CenterFunction::DistanceAlong(axis) => (1 + axis as i32, 0, ONE),
        CenterFunction::DistanceInPlane(axes) => (3 + (axes[0] + axes[1]) as i32, 0, ONE),
        CenterFunction::Angle => (7, 0, &[[1, 0], [1, 2]]),
        CenterFunction::Dihedral => (8, 0, &[[0, 1], [1, 2], [2, 3]]),
        CenterFunction::Tilt(axis) => (9, axis as i32, ONE),
        CenterFunction::Position(axis) => (10, axis as i32, &[]),
        CenterFunction::Edge(axis) => (11, axis as i32, &[]),
        CenterFunction::Volume => (12, 0, &[]),
        CenterFunction::Formula(_) => (13, 0, &[]),
        CenterFunction::Gyration => (14, 0, &[]),
        CenterFunction::Deviation(_) => (15, 0, &[]),
        CenterFunction::Dipole(along) => (16, along.map_or(-1, |axis| axis as i32), &[]),
        CenterFunction::Pairs(..) => (17, 0, &[]),
    }
}

/// Number of a bias' function.
fn number_of_function(function: &BiasFunction) -> i32 {
    match function {
        BiasFunction::Harmonic { .. } => 0,
        BiasFunction::Linear { .. } => 1,
        BiasFunction::Wall { .. } => 2,
        BiasFunction::Metadynamics(_) => 3,
        BiasFunction::Formula(_) => 4,
        BiasFunction::AdaptiveForce(_) => 5,
        BiasFunction::Opes(_) => 6,
    }
}

/// Entries of the variables of formulas and biases, as they are filled.
#[derive(Default)]
pub struct Entries {
    pub variables: Vec<i32>,
    pub first_of_biases: usize,
}

impl Entries {
    /// Adds some; returns the first and their number.
    fn add(&mut self, variables: impl Iterator<Item = usize>) -> (i32, i32) {
        let first = self.variables.len();
        self.variables.extend(variables.map(|k| k as i32));
        (first as i32, (self.variables.len() - first) as i32)
    }
}

/// Formulas of variables, then those of biases, in this order.
pub fn formulas(biases: &CenterBiases) -> Vec<&VariableExpression> {
    let of_variables = biases.variables.iter().filter_map(|variable| match &variable.function {
        CenterFunction::Formula(expression) => Some(expression),
        _ => None,
    });
    let of_biases = biases.biases.iter().filter_map(|bias| match &bias.function {
        BiasFunction::Formula(expression) => Some(expression),
        _ => None,
    });
    of_variables.chain(of_biases).collect()
}

/// Functions by which pairs are counted, of each variable that is a number of pairs.
pub fn pair_counts(biases: &CenterBiases) -> impl Iterator<Item = &PairCount> {
    biases.variables.iter().filter_map(|variable| match &variable.function {
        CenterFunction::Pairs(count, _) => Some(count),
        _ => None,
    })
}

/// The number of a formula among all of them.
fn number_of(biases: &CenterBiases, expression: &VariableExpression) -> i32 {
    formulas(biases).iter().position(|other| std::ptr::eq(*other, expression)).unwrap_or(0) as i32
}

/// Variables as kernels read them.
pub fn variables(biases: &CenterBiases, entries: &mut Entries) -> Vec<BiasVariable> {
    let one = |variable: &jostle_core::backend::CenterVariable| {
        let (function, axis, vectors) = shape(&variable.function);
        let group = |k: usize| variable.groups.get(k).map_or(-1, |group| *group as i32);
        let end = |n: usize, side: usize| vectors.get(n).map_or(-1, |ends| group(ends[side]));
        let (mut formula, (mut first, mut count)) = (0, (0, 0));
        if let CenterFunction::Formula(expression) = &variable.function {
            formula = number_of(biases, expression);
            (first, count) = entries.add(expression.variables.iter().map(|(_, k)| *k));
        }
        if let CenterFunction::Pairs(count, _) = &variable.function {
            formula = pair_counts(biases).position(|other| std::ptr::eq(other, count)).unwrap_or(0) as i32;
        }
        let mut from = [0, 1, 2].map(|n| end(n, 0));
        let mut to = [0, 1, 2].map(|n| end(n, 1));
        if vectors.is_empty() {
            (from[0], to[0]) = (group(0), group(1));
        }
        BiasVariable {
            function,
            axis,
            vectors: vectors.len() as i32,
            formula,
            from,
            to,
            first,
            count,
            period: variable.period.unwrap_or(0.0),
        }
    };
    let made = biases.variables.iter().map(one).collect();
    entries.first_of_biases = entries.variables.len();
    made
}

/// Biases as kernels read them; `arrays` has those with hills, kernels or bins, by the number of the bias.
pub fn terms(
    biases: &CenterBiases,
    entries: &mut Entries,
    arrays: &HashMap<usize, HillArrays>,
) -> Vec<BiasTerm> {
    let all = biases.biases.iter().enumerate();
    all.map(|(k, bias)| {
        let (first, count) = entries.add(bias.variables.iter().copied());
        let mut term = BiasTerm {
            function: number_of_function(&bias.function),
            formula: 0,
            first,
            count,
            parameters: [0.0; 4],
            width: [1.0; 2],
            mass: [1.0; 2],
            lower: [0.0; 2],
            spacing: [1.0; 2],
            intervals: [1; 2],
            points: [1; 2],
            periodic: [0; 2],
            grid: 0,
            tables: 0,
            hills: 0,
            capacity: 0,
            square_cutoff: 0.0,
        };
        if let Some(arrays) = arrays.get(&k) {
            (term.grid, term.tables) = (arrays.grid.address(), arrays.tables.address());
            (term.hills, term.capacity) = (arrays.hills.address(), arrays.capacity() as i64);
        }
        match &bias.function {
            BiasFunction::Harmonic { center: [a, b], stiffness: [c, d] } => {
                term.parameters = [*a, *b, *c, *d]
            }
            BiasFunction::Linear { force, center } => {
                term.parameters = [*force, *center, 0.0, 0.0];
            }
            BiasFunction::Wall { at, stiffness, side } => {
                term.parameters = [*at, *stiffness, *side, 0.0];
            }
            BiasFunction::Metadynamics(settings) => {
                let [gamma, thermal_energy] = settings.tempering.unwrap_or([0.0; 2]);
                term.parameters = [settings.height, settings.every as f64, gamma, thermal_energy];
                term.lay_out(&settings.axes);
                term.width[..settings.width.len()].copy_from_slice(&settings.width);
            }
            BiasFunction::Formula(expression) => {
                term.formula = number_of(biases, expression);
            }
            BiasFunction::AdaptiveForce(settings) => {
                let AdaptiveForceSettings { thermal_energy, damping, full_samples, .. } = *settings;
                let every = project_every(settings.bins()) as f64;
                term.parameters = [thermal_energy, damping, full_samples as f64, every];
                term.lay_out(&settings.axes);
                term.width[..settings.stiffness.len()].copy_from_slice(&settings.stiffness);
                term.mass[..settings.mass.len()].copy_from_slice(&settings.mass);
            }
            BiasFunction::Opes(settings) => {
                let KernelSettings { width, every, thermal_energy, scale, least, square_cutoff } = settings;
                term.parameters = [*thermal_energy, *every as f64, *scale, *least];
                term.square_cutoff = *square_cutoff;
                term.width[..width.len()].copy_from_slice(width);
            }
        }
        term
    })
    .collect()
}
