//! The list of pair potentials: one line each.

use super::*;
use crate::truncation::{ForceShifted, Plain, Shifted, Switched, Truncation};

/// Something to do with a potential once its type is known: build a kernel, write source code,
/// test its derivative. See [`PairKind::visit`].
pub trait PairVisitor {
    /// What comes out.
    type Output;
    /// Called with the potential wrapped in its truncation.
    fn visit<F: PairFunction>(self) -> Self::Output;
}

macro_rules! registry {
    ($($name:ident,)*) => {
        /// The kinds of pair potential.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PairKind {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name,)*
        }

        impl PairKind {
            /// All kinds, in the order of the documentation.
            pub const ALL: &'static [PairKind] = &[$(PairKind::$name,)*];

            /// The name in the input file.
            pub fn name(self) -> &'static str {
                match self { $(PairKind::$name => $name::KIND,)* }
            }

            /// One line for help and documentation.
            pub fn about(self) -> &'static str {
                match self { $(PairKind::$name => $name::ABOUT,)* }
            }

            /// u(r), as text.
            pub fn formula(self) -> &'static str {
                match self { $(PairKind::$name => $name::FORMULA,)* }
            }

            /// The parameters of a pair.
            pub fn parameters(self) -> &'static [Parameter] {
                match self { $(PairKind::$name => $name::PARAMETERS,)* }
            }

            /// Where the potential ends by itself.
            pub fn natural_cutoff(self, parameters: &[f64]) -> Option<f64> {
                match self { $(PairKind::$name => $name::natural_cutoff(parameters),)* }
            }

            /// Integrals of the tail, see [`PairPotential::tail`].
            pub fn tail(self, parameters: &[f64], cutoff: f64) -> Option<[f64; 2]> {
                match self { $(PairKind::$name => $name::tail(parameters, cutoff),)* }
            }

            /// Coefficients of the potential wrapped in a truncation, for the function that
            /// [`PairKind::visit`] hands out.
            pub fn coefficients(self, truncation: Truncation, parameters: &[f64], cutoff: f64) -> Vec<f64> {
                match self {
                    $(PairKind::$name => truncation.coefficients::<$name>(parameters, cutoff),)*
                }
            }

            /// Calls the visitor with the potential wrapped in a truncation, as a type.
            pub fn visit<V: PairVisitor>(self, truncation: Truncation, visitor: V) -> V::Output {
                match self {
                    $(PairKind::$name => match truncation {
                        Truncation::Plain => visitor.visit::<Plain<$name>>(),
                        Truncation::Shifted => visitor.visit::<Shifted<$name>>(),
                        Truncation::ForceShifted => visitor.visit::<ForceShifted<$name>>(),
                        Truncation::Switched { .. } => visitor.visit::<Switched<$name>>(),
                    },)*
                }
            }
        }
    };
}

registry! {
    LennardJones,
}
