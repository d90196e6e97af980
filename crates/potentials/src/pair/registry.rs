//! Kinds of pair potential as values, and the way from a kind to its type.

use super::function::At;
use super::{MixesAs, PairKind};
use crate::truncation::Truncation;
use jostle_core::Real;

/// Declares the module of every potential and the enum of their kinds, from lines `file::Type`.
macro_rules! pair_potentials {
    ($($file:ident::$name:ident,)*) => {
        $(mod $file; pub use $file::$name;)*

        /// Kinds of pair potential.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum PairKind {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name,)*
        }

        impl PairKind {
            /// List of all kinds, in the order of the documentation.
            pub const ALL: &'static [PairKind] = &[$(PairKind::$name,)*];

            /// Name in the input file.
            pub fn name(self) -> &'static str {
                match self { $(PairKind::$name => $name::KIND,)* }
            }

            /// Description of one line for help and documentation.
            pub fn about(self) -> &'static str {
                match self { $(PairKind::$name => $name::ABOUT,)* }
            }

            /// Text of u(r).
            pub fn formula(self) -> &'static str {
                match self { $(PairKind::$name => $name::FORMULA,)* }
            }

            /// Parameters of a pair.
            pub fn parameters(self) -> &'static [Parameter] {
                match self { $(PairKind::$name => $name::PARAMETERS,)* }
            }

            /// Published sets of parameters.
            pub fn presets(self) -> &'static [Preset] {
                match self { $(PairKind::$name => $name::PRESETS,)* }
            }

            /// Distance at which the potential ends by itself, if it does.
            pub fn natural_cutoff(self, parameters: &[f64]) -> Option<f64> {
                match self { $(PairKind::$name => $name::natural_cutoff(parameters),)* }
            }

            /// Integral of the tail beyond the cut-off, see [`PairPotential::tail`].
            fn tail_integral(self, parameters: &[f64], cutoff: f64) -> Option<f64> {
                match self { $(PairKind::$name => $name::tail(parameters, cutoff),)* }
            }

            /// Coefficients of the potential itself.
            fn own_coefficients(self, parameters: &[f64]) -> Vec<f64> {
                match self { $(PairKind::$name => $name::coefficients(parameters),)* }
            }

            /// Calls the visitor with the potential wrapped in a truncation, as a type.
            pub fn visit<V: PairVisitor>(self, truncation: crate::Truncation, visitor: V) -> V::Output {
                match self { $(PairKind::$name => truncation.visit::<$name, V>(visitor),)* }
            }

            /// Calls the visitor with the potential itself, as a type.
            pub fn visit_whole<V: PairVisitor>(self, visitor: V) -> V::Output {
                match self { $(PairKind::$name => visitor.visit::<$name>(),)* }
            }
        }
    };
}

pub(super) use pair_potentials;

impl PairKind {
    /// Kind with this name in the input file.
    pub fn from_name(name: &str) -> Option<PairKind> {
        PairKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns true where the potential has an end of its own, so that no cut-off is given.
    pub fn ends_by_itself(self) -> bool {
        let examples: Vec<f64> = self.parameters().iter().map(|p| p.example).collect();
        self.natural_cutoff(&examples).is_some()
    }

    /// Returns true where mixing rules can give the parameters of unlike pairs.
    pub fn mixes(self) -> bool {
        self.parameters().iter().all(|p| p.mixes_as != MixesAs::Never)
    }

    /// Coefficients of the potential wrapped in a truncation, for the function that
    /// [`PairKind::visit`] hands out.
    pub fn coefficients(self, truncation: Truncation, parameters: &[f64], cutoff: f64) -> Vec<f64> {
        let mut c = self.own_coefficients(parameters);
        let end = self.evaluate(Truncation::Plain, cutoff * cutoff, &c);
        c.extend(truncation.coefficients(end, cutoff));
        c
    }

    /// Energy and force over distance at a squared distance, with the coefficients of
    /// [`PairKind::coefficients`].
    pub fn evaluate<R: Real>(self, truncation: Truncation, r2: R, c: &[R]) -> (R, R) {
        self.visit(truncation, At { r2, coefficients: c })
    }

    /// Integrals beyond `cutoff` of r^2 u(r) and of r^3 du/dr, from which long-range corrections follow.
    /// `None` if they do not exist or are not known.
    pub fn tail(self, parameters: &[f64], cutoff: f64) -> Option<[f64; 2]> {
        if self.ends_by_itself() {
            return Some([0.0; 2]);
        }
        let energy = self.tail_integral(parameters, cutoff)?;
        let c = self.coefficients(Truncation::Plain, parameters, cutoff);
        let (u, _) = self.evaluate(Truncation::Plain, cutoff * cutoff, &c);
        // The energy follows by parts: r^3 u vanishes at infinity wherever the integral of r^2 u exists.
        Some([energy, -cutoff.powi(3) * u - 3.0 * energy])
    }
}
