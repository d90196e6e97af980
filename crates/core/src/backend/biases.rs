//! Biases on functions of centres of groups, as plain data: a device that takes them evaluates and applies them in
//! its own steps.

use super::bias_memory::BiasMemory;
use crate::{Error, Result, Vec3};

/// An atom of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CenterMember {
    /// Its id.
    pub id: u32,
    /// Its part in the centre.
    pub share: f64,
    /// Image of its unwrapped position that belongs to the group.
    pub image: [i32; 3],
    /// Its charge.
    pub charge: f64,
}

/// A formula of named numbers and variables.
#[derive(Debug, Clone, PartialEq)]
pub struct VariableExpression {
    /// Text of the formula.
    pub text: String,
    /// Numbers by name.
    pub numbers: Vec<(String, f64)>,
    /// Variables by name, with their indices among all variables.
    pub variables: Vec<(String, usize)>,
}

/// Function of a distance by which a pair of atoms is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PairCount {
    /// (1 - x^n) / (1 - x^m) with x the distance over `reach`.
    Rational {
        /// Distance at which a pair counts n / m.
        reach: f64,
        /// n and m.
        powers: [u32; 2],
    },
    /// 1 / (1 + exp(steepness (r - end))), with the end of each pair.
    Falling {
        /// Steepness.
        steepness: f64,
    },
}

/// A pair of members of two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberPair {
    /// Their numbers in the groups.
    pub members: [usize; 2],
    /// Distance at which it counts one half, where the function has one for each pair.
    pub end: f64,
}

/// A function of centres or of the box.
#[derive(Debug, Clone, PartialEq)]
pub enum CenterFunction {
    /// Distance of two centres.
    Distance,
    /// Part along an axis of the vector from the first to the second centre.
    DistanceAlong(usize),
    /// Length of the part of that vector in the plane of two axes.
    DistanceInPlane([usize; 2]),
    /// Angle at the second of three centres.
    Angle,
    /// Dihedral angle of four centres.
    Dihedral,
    /// Place of a centre along an axis, on its unbroken path.
    Position(usize),
    /// Angle between an axis and the vector from the first to the second centre.
    Tilt(usize),
    /// Length of an edge of the box.
    Edge(usize),
    /// Volume of the box.
    Volume,
    /// A formula of variables before it.
    Formula(VariableExpression),
    /// Radius of gyration of the members of a group.
    Gyration,
    /// Root mean square deviation of the members of a group from a reference, given about its centre, after the best
    /// rotation.
    Deviation(Vec<Vec3>),
    /// Dipole moment of the members of a group about its centre: its part along an axis, or its magnitude.
    Dipole(Option<usize>),
    /// Number of pairs of members of two groups, each counted by a function of its distance.
    Pairs(PairCount, Vec<MemberPair>),
}

/// A variable: a function of some groups.
#[derive(Debug, Clone, PartialEq)]
pub struct CenterVariable {
    /// Name, for messages.
    pub name: String,
    /// The function.
    pub function: CenterFunction,
    /// Indices of its groups.
    pub groups: Vec<usize>,
    /// Period of its values, if they are those of a circle.
    pub period: Option<f64>,
}

/// An axis of a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridAxis {
    /// Value at the first point.
    pub lower: f64,
    /// Distance of points.
    pub spacing: f64,
    /// Number of intervals.
    pub intervals: usize,
    /// True where the last point is the first one again.
    pub periodic: bool,
}

impl GridAxis {
    /// Number of points.
    pub fn points(&self) -> usize {
        self.intervals + usize::from(!self.periodic)
    }
}

/// An energy of some variables, and of time.
#[derive(Debug, Clone, PartialEq)]
pub enum BiasFunction {
    /// A spring whose centre and stiffness change linearly from the first to the second value.
    Harmonic {
        /// Centre.
        center: [f64; 2],
        /// Stiffness.
        stiffness: [f64; 2],
    },
    /// A constant force, whose energy vanishes at the centre.
    Linear {
        /// Force.
        force: f64,
        /// Centre.
        center: f64,
    },
    /// A spring beyond a value.
    Wall {
        /// The value.
        at: f64,
        /// Stiffness.
        stiffness: f64,
        /// 1 where it acts above the value, -1 where it acts below.
        side: f64,
    },
    /// A formula.
    Formula(VariableExpression),
    /// Hills on a grid of one or two variables, see [`HillSettings`].
    Metadynamics(HillSettings),
    /// An energy that follows from a density of kernels, see [`KernelSettings`].
    Opes(KernelSettings),
    /// Springs to a particle that gets the mean force on it taken off, see [`AdaptiveForceSettings`].
    AdaptiveForce(AdaptiveForceSettings),
}

/// Blocks of the samples of an adaptive biasing force, from which errors follow. They double in length when all are
/// full.
pub const SAMPLE_BLOCKS: usize = 16;

/// Settings of an adaptive biasing force on a particle that is bound to the variables.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveForceSettings {
    /// Stiffness of the spring to each variable.
    pub stiffness: Vec<f64>,
    /// Mass of the particle along each variable.
    pub mass: Vec<f64>,
    /// k_B T
    pub thermal_energy: f64,
    /// Friction of the particle, a rate.
    pub damping: f64,
    /// Samples in a bin from which the whole mean force is taken off.
    pub full_samples: u64,
    /// Axes, whose intervals are bins.
    pub axes: Vec<GridAxis>,
}

impl AdaptiveForceSettings {
    /// Number of bins.
    pub fn bins(&self) -> usize {
        self.axes.iter().map(|axis| axis.intervals).product()
    }

    /// Number of numbers in the bins: counts and sums by the place of the particle, then by that of the variables for
    /// each block of samples, then values whose slopes push the particle.
    pub fn numbers(&self) -> usize {
        self.bins() * ((1 + SAMPLE_BLOCKS) * (1 + self.axes.len()) + 1)
    }
}

/// Settings of metadynamics.
#[derive(Debug, Clone, PartialEq)]
pub struct HillSettings {
    /// Standard deviation of hills along each variable.
    pub width: Vec<f64>,
    /// Height of hills.
    pub height: f64,
    /// Steps between hills.
    pub every: u64,
    /// gamma and k_B T where hills are tempered.
    pub tempering: Option<[f64; 2]>,
    /// Axes of the grid.
    pub axes: Vec<GridAxis>,
}

/// Settings of a bias that follows from a density of kernels of one or two variables.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSettings {
    /// Width of the first kernel along each variable.
    pub width: Vec<f64>,
    /// Steps between kernels.
    pub every: u64,
    /// k_B T
    pub thermal_energy: f64,
    /// Energy by which the bias changes where the density is e times as high.
    pub scale: f64,
    /// Least value of the density over its mean, and value of a kernel of height 1 at its cutoff.
    pub least: f64,
    /// Squared distance, in widths, beyond which kernels vanish.
    pub square_cutoff: f64,
}

/// A bias.
#[derive(Debug, Clone, PartialEq)]
pub struct CenterBias {
    /// Name, for messages.
    pub name: String,
    /// Its energy.
    pub function: BiasFunction,
    /// Indices of its variables.
    pub variables: Vec<usize>,
}

/// All variables and biases of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CenterBiases {
    /// Members of each group.
    pub groups: Vec<Vec<CenterMember>>,
    /// Variables, formulas after what they are made of.
    pub variables: Vec<CenterVariable>,
    /// Biases.
    pub biases: Vec<CenterBias>,
}

/// Stage under way, as biases need it.
#[derive(Debug, Clone, PartialEq)]
pub struct BiasCourse {
    /// Number of steps before the stage, over all stages.
    pub first_step: u64,
    /// Simulated time at its beginning.
    pub start_time: f64,
    /// Length of a step.
    pub timestep: f64,
    /// Seed of the run.
    pub seed: u64,
    /// True until the first evaluation of a stage that has just begun.
    pub fresh: bool,
    /// For each bias the steps of the stages in which it acts, before this stage and in all; `None`: it does not act.
    pub spans: Vec<Option<[u64; 2]>>,
}

/// Energies and values at a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BiasRow {
    /// Virial of the forces of all biases.
    pub virial: crate::SymTensor,
    /// Values of the variables.
    pub values: Vec<f64>,
    /// Energy, present centre and work of each bias.
    pub biases: Vec<[f64; 3]>,
}

impl BiasRow {
    /// Energy of all biases.
    pub fn energy(&self) -> f64 {
        self.biases.iter().map(|[energy, ..]| energy).sum()
    }
}

/// Answer of a device that is given biases.
#[derive(Debug, Clone, PartialEq)]
pub enum Installation {
    /// The device evaluates and applies them from now on.
    Taken,
    /// It does not, for this reason.
    Refused(String),
}

/// Biases that a device evaluates and applies with its own forces.
pub trait BiasEvaluation {
    /// Takes biases, in place of those before.
    ///
    /// # Errors
    /// If kernels cannot be made, or the device failed.
    fn install_biases(&mut self, biases: &CenterBiases) -> Result<Installation>;

    /// Begins or continues a stage with these numbers of each bias.
    ///
    /// # Errors
    /// If they are those of other biases, or the device failed.
    fn begin_biases(&mut self, course: &BiasCourse, memory: &[BiasMemory]) -> Result<()>;

    /// Sets the number of the step whose sub-steps follow; batches count by themselves.
    ///
    /// # Errors
    /// If the device failed.
    fn begin_bias_step(&mut self, step: u64) -> Result<()>;

    /// Ends a step that was made by sub-steps, at its last evaluation: work, and hills that are due.
    ///
    /// # Errors
    /// If the device failed.
    fn end_bias_step(&mut self) -> Result<()>;

    /// Numbers of each bias as they are now. Hills are given once.
    ///
    /// # Errors
    /// If the device failed.
    fn take_bias_memory(&mut self) -> Result<Vec<BiasMemory>>;

    /// Energies and values at the last evaluation with energies.
    ///
    /// # Errors
    /// If the device failed.
    fn bias_row(&mut self) -> Result<BiasRow>;
}

/// Place where biases can be evaluated.
pub enum BiasPlace<'a> {
    /// On the device.
    Device(&'a mut dyn BiasEvaluation),
    /// On the host only, for this reason.
    Host(&'static str),
}

impl CenterBiases {
    /// Number of numbers of a row: virial, values, and three of each bias.
    pub fn row_length(&self) -> usize {
        6 + self.variables.len() + 3 * self.biases.len()
    }

    /// The row with these numbers, of which there are as many as a row has.
    pub fn row(&self, numbers: &[f64]) -> BiasRow {
        let (virial, rest) = numbers.split_at(6);
        let (values, biases) = rest.split_at(self.variables.len());
        let mut row = BiasRow { values: values.to_vec(), ..BiasRow::default() };
        row.virial.copy_from_slice(virial);
        row.biases = biases.as_chunks::<3>().0.to_vec();
        row
    }

    /// The error of the variable or, counted after all of them, the bias that is not defined for these values.
    pub fn undefined(&self, index: usize, values: &[f64]) -> Error {
        let Some(bias) = index.checked_sub(self.variables.len()).and_then(|bias| self.biases.get(bias))
        else {
            let name = self.variables.get(index).map_or("", |variable| &variable.name);
            return Error::simulation(format!(
                "variable '{name}' is not defined: its centres are on a line or at one place, or its formula gives \
                 no finite number"
            ))
            .hint("bias something else, such as a distance");
        };
        let own: Vec<f64> = bias.variables.iter().filter_map(|k| values.get(*k).copied()).collect();
        let outside = |axes: &[GridAxis]| {
            let range = |axis: &GridAxis| [axis.lower, axis.lower + axis.intervals as f64 * axis.spacing];
            let mut off = axes.iter().zip(&own).zip(&bias.variables).filter(|((axis, x), _)| {
                let [lower, upper] = range(axis);
                !axis.periodic && !(lower..=upper).contains(*x)
            });
            off.next().map(|((axis, x), variable)| {
                let ([lower, upper], name) = (range(axis), &self.variables[*variable].name);
                format!(
                    "variable '{name}' is {x}, outside of the grid of metadynamics from {lower} to {upper}"
                )
            })
        };
        let error = match &bias.function {
            BiasFunction::Metadynamics(settings) => Error::simulation(
                outside(&settings.axes)
                    .unwrap_or_else(|| "the variables are outside of the grid of metadynamics".to_string()),
            )
            .hint("widen the grid by lower and upper, or add a wall before its end"),
            BiasFunction::AdaptiveForce(_) => {
                let message = format!("the variables of a bias begin at {own:?}, outside of its bins");
                Error::simulation(message).hint("widen the range by lower and upper")
            }
            _ => Error::simulation(format!("its energy or force is not finite at {own:?}")),
        };
        error.context(format!("bias '{}'", bias.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadynamics() -> CenterBiases {
        let axes = vec![GridAxis { lower: 0.0, spacing: 0.25, intervals: 4, periodic: false }];
        let settings = HillSettings { width: vec![0.1], height: 1.0, every: 5, tempering: None, axes };
        let function = BiasFunction::Metadynamics(settings);
        let (name, groups) = ("d".to_string(), vec![0, 1]);
        let variable = CenterVariable { name, function: CenterFunction::Distance, groups, period: None };
        let bias = CenterBias { name: "meta".into(), function, variables: vec![0] };
        CenterBiases { groups: vec![Vec::new(); 2], variables: vec![variable], biases: vec![bias] }
    }

    #[test]
    fn errors_name_what_is_not_defined() {
        let biases = metadynamics();
        let error = biases.undefined(1, &[1.5]);
        assert!(error.message().starts_with("bias 'meta'"), "{error}");
        assert!(error.message().contains("'d' is 1.5, outside of the grid of metadynamics from 0 to 1"));
        assert!(biases.undefined(0, &[f64::NAN]).message().starts_with("variable 'd' is not defined"));
    }

    #[test]
    fn a_row_has_the_virial_the_values_and_three_numbers_of_each_bias() {
        let biases = metadynamics();
        let numbers: Vec<f64> = (0..biases.row_length()).map(|k| k as f64).collect();
        let row = biases.row(&numbers);
        assert_eq!((row.virial[5], &row.values[..], row.biases[0]), (5.0, &[6.0][..], [7.0, 8.0, 9.0]));
        assert_eq!(row.energy(), 7.0);
    }
}
