//! Collective variables and biases.

use super::*;
use jostle_sampling::VariableFormula;
use jostle_sampling::bias::{AbfSettings, MetadynamicsSettings, OpesSettings};
use jostle_sampling::definition::Value;
use jostle_sampling::variable::VariableKind;

/// `[[variable]]`
#[derive(Debug, Clone)]
pub struct VariableInput {
    /// Name.
    pub name: Located<String>,
    /// Kind.
    pub kind: &'static VariableKind,
    /// Selections of atoms.
    pub selections: Vec<Located<Selection>>,
    /// Weights of atoms in centres.
    pub weights: WeightsInput,
    /// Parameters by name, defaults included.
    pub values: Vec<(&'static str, Value)>,
    /// File with reference positions.
    pub reference: Option<Located<PathBuf>>,
    /// The formula, of variables before this one.
    pub formula: Option<VariableFormula>,
}

/// Weights of atoms in the centre of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightsInput {
    /// Masses.
    Mass,
    /// Equal weights.
    Equal,
}

/// Side of a wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WallSide {
    /// It acts beyond larger values.
    Upper,
    /// It acts beyond smaller values.
    Lower,
}

/// `[[bias]]`
#[derive(Debug, Clone)]
pub struct BiasInput {
    /// Name.
    pub name: String,
    /// Variables that it acts on, by number.
    pub variables: Vec<usize>,
    /// Names of the stages in which it acts; empty: all stages of time steps.
    pub stages: Vec<String>,
    /// Kind and parameters.
    pub action: BiasAction,
}

impl BiasInput {
    /// Returns true where the bias acts in a stage.
    pub fn acts_in(&self, stage: &StageInput) -> bool {
        matches!(stage.action, Action::Dynamics { .. })
            && (self.stages.is_empty() || self.stages.contains(&stage.name))
    }

    /// Returns true where its energy is a function of variables and stays the same while it acts.
    pub fn stays(&self) -> bool {
        match &self.action {
            BiasAction::Harmonic { center, stiffness } => {
                center[0] == center[1] && stiffness[0] == stiffness[1]
            }
            BiasAction::Linear { .. } | BiasAction::Wall { .. } | BiasAction::Formula(_) => true,
            BiasAction::Torque { .. }
            | BiasAction::Metadynamics(..)
            | BiasAction::Opes(_)
            | BiasAction::Abf(_) => false,
        }
    }
}

/// Returns true where a variable is an energy, or a formula of one.
pub fn takes_energies(variables: &[Located<VariableInput>], number: usize) -> bool {
    let VariableInput { kind, formula, .. } = &variables[number].value;
    let of_formula = formula.iter().flat_map(VariableFormula::variables);
    kind.takes_energies() || of_formula.into_iter().any(|k| takes_energies(variables, *k))
}

/// `walkers = "folder"`: runs of the same metadynamics that share their hills.
#[derive(Debug, Clone, PartialEq)]
pub struct WalkersInput {
    /// Folder with a file of hills of each.
    pub folder: PathBuf,
    /// Steps between exchanges, at least.
    pub every: u64,
}

/// Kind of a bias with its parameters, in the units of the file.
#[derive(Debug, Clone)]
pub enum BiasAction {
    /// `kind = "harmonic"`: centre and stiffness at the beginning and at the end.
    Harmonic {
        /// Centre.
        center: [f64; 2],
        /// Stiffness.
        stiffness: [f64; 2],
    },
    /// `kind = "linear"`
    Linear {
        /// Force.
        force: f64,
        /// Value without energy.
        center: f64,
    },
    /// `kind = "torque"`
    Torque {
        /// Torque, towards larger angles.
        torque: f64,
    },
    /// `kind = "wall"`
    Wall {
        /// Where it begins.
        at: f64,
        /// Stiffness.
        stiffness: f64,
        /// Its side.
        side: WallSide,
    },
    /// `kind = "formula"`
    Formula(VariableFormula),
    /// `kind = "metadynamics"`
    Metadynamics(MetadynamicsSettings, Option<WalkersInput>),
    /// `kind = "opes"`
    Opes(OpesSettings),
    /// `kind = "abf"`
    Abf(AbfSettings),
}
