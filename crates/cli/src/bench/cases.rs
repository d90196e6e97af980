//! The systems that are timed: the examples, in several sizes.

use crate::example::{self, Example};
use jostle_core::Result;
use jostle_engine::model::{self, AtomsInput, LatticeExtent};
use jostle_io::Input;

/// A built-in case: an example, maybe of another size or with another cut-off.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    example: Example,
    atoms: Option<usize>,
    cutoff: Cutoff,
    /// Occasion on which the case is measured.
    pub choice: Choice,
}

/// Cut-off of a case.
#[derive(Debug, Clone, Copy)]
enum Cutoff {
    /// Cut-off of the example.
    AsGiven,
    /// Half the box: every pair of nearest images within that distance.
    HalfTheBox,
}

/// Occasion on which a case is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Named, or no case named.
    Usual,
    /// Named, or `all`.
    Named,
}

use Choice::{Named, Usual};
use Cutoff::{AsGiven, HalfTheBox};
use example::{
    COPPER, DPD, KREMER_GREST, LENNARD_JONES_RAPAPORT, MELT, SILICON, SOFT_SPHERES, WATER, YUKAWA,
};

const fn case(name: &'static str, example: Example, atoms: usize, cutoff: Cutoff, choice: Choice) -> Case {
    Case { name, example, atoms: Some(atoms), cutoff, choice }
}

/// All cases.
pub const CASES: &[Case] = &[
    case("melt-4k", MELT, 4_000, AsGiven, Named),
    case("melt-32k", MELT, 32_000, AsGiven, Usual),
    Case { name: "melt", example: MELT, atoms: None, cutoff: AsGiven, choice: Usual },
    case("melt-256k", MELT, 256_000, AsGiven, Named),
    case("melt-1m", MELT, 1_000_188, AsGiven, Named),
    Case { name: "soft-spheres", example: SOFT_SPHERES, atoms: None, cutoff: AsGiven, choice: Usual },
    case("soft-spheres-262k", SOFT_SPHERES, 262_144, AsGiven, Named),
    case("soft-spheres-885k", SOFT_SPHERES, 884_736, AsGiven, Named),
    Case {
        name: "lennard-jones-rapaport",
        example: LENNARD_JONES_RAPAPORT,
        atoms: None,
        cutoff: AsGiven,
        choice: Usual,
    },
    case("lennard-jones-rapaport-262k", LENNARD_JONES_RAPAPORT, 262_144, AsGiven, Named),
    Case { name: "copper", example: COPPER, atoms: None, cutoff: AsGiven, choice: Named },
    case("copper-1m", COPPER, 1_000_188, AsGiven, Named),
    Case { name: "silicon-32k", example: SILICON, atoms: None, cutoff: AsGiven, choice: Named },
    case("silicon-1m", SILICON, 1_000_000, AsGiven, Named),
    case("ions-28k", YUKAWA, 27_648, HalfTheBox, Named),
    case("chains-32k", KREMER_GREST, 32_000, AsGiven, Named),
    Case { name: "water-24k", example: WATER, atoms: None, cutoff: AsGiven, choice: Named },
    case("dpd-24k", DPD, 24_000, AsGiven, Named),
    case("dpd-1m", DPD, 1_000_000, AsGiven, Named),
];

impl Case {
    /// The case as an input.
    ///
    /// # Errors
    /// None, as long as the examples are right.
    pub fn input(&self) -> Result<Input> {
        let mut input = self.example.input()?;
        if let Some(atoms) = self.atoms {
            resize(&mut input, atoms);
        }
        if let HalfTheBox = self.cutoff {
            cut_at_half_the_box(&mut input);
        }
        Ok(input)
    }
}

/// Gives an input so many atoms, at the same density.
pub fn resize(input: &mut Input, n: usize) {
    match &mut input.system.atoms.value {
        AtomsInput::Lattice { extent, .. } => *extent = LatticeExtent::Atoms(n),
        AtomsInput::Random { atoms, .. } => *atoms = n,
        AtomsInput::Chains { chains, beads, .. } => *chains = n / *beads,
        AtomsInput::Water { molecules, .. } => *molecules = n / 3,
        AtomsInput::File { .. } | AtomsInput::Molecules(_) | AtomsInput::Mixture(_) => {}
    }
}

/// Moves the cut-off of every force to half the box.
pub fn cut_at_half_the_box(input: &mut Input) {
    input.forces.iter_mut().for_each(|force| force.value.cutoff = Some(model::Cutoff::HalfBox));
}

/// The names of all cases.
pub fn names() -> String {
    CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ")
}
