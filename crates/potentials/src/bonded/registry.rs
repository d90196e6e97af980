//! The lists of bonds, angles and dihedrals: one line each.

use super::*;
use crate::pair::PairVisitor;

/// Work on an angle whose type is known. See [`AngleKind::visit`].
pub trait AngleVisitor {
    /// Result of the work.
    type Output;
    /// Does the work for the angle.
    fn visit<F: AngleFunction>(self) -> Self::Output;
}

/// Work on a dihedral whose type is known. See [`DihedralKind::visit`].
pub trait DihedralVisitor {
    /// Result of the work.
    type Output;
    /// Does the work for the dihedral.
    fn visit<F: DihedralFunction>(self) -> Self::Output;
}

macro_rules! registry {
    ($(#[$doc:meta])* $kind:ident, $visitor:ident, $what:literal: $($name:ident,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $kind {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name,)*
        }

        impl $kind {
            /// Calls the visitor with the function, as a type.
            pub fn visit<V: $visitor>(self, visitor: V) -> V::Output {
                match self { $($kind::$name => visitor.visit::<$name>(),)* }
            }
        }

        impl BondedKind for $kind {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$($kind::$name,)*];

            fn name(self) -> &'static str {
                match self { $($kind::$name => $name::KIND,)* }
            }

            fn term(self) -> &'static str {
                match self { $($kind::$name => $name::TERM,)* }
            }

            fn about(self) -> &'static str {
                match self { $($kind::$name => $name::ABOUT,)* }
            }

            fn formula(self) -> &'static str {
                match self { $($kind::$name => $name::FORMULA,)* }
            }

            fn parameters(self) -> &'static [Parameter] {
                match self { $($kind::$name => $name::PARAMETERS,)* }
            }

            fn coefficients(self, parameters: &[f64]) -> Vec<f64> {
                match self { $($kind::$name => $name::coefficients(parameters),)* }
            }

            fn longest(self, parameters: &[f64]) -> Option<f64> {
                match self { $($kind::$name => $name::longest(parameters),)* }
            }

            fn conditioning(self) -> Conditioning {
                match self { $($kind::$name => $name::CONDITIONING,)* }
            }
        }
    };
}

registry! {
    /// The kinds of bonds.
    BondKind, PairVisitor, "bond":
    Fene,
    HarmonicBond,
    ScaledPair,
    SoftPair,
    SoftPairGapsys,
}

registry! {
    /// The kinds of angles.
    AngleKind, AngleVisitor, "angle":
    CosineAngle,
    HarmonicAngle,
}

registry! {
    /// The kinds of dihedrals.
    DihedralKind, DihedralVisitor, "dihedral":
    PeriodicDihedral,
    RyckaertBellemans,
    HarmonicDihedral,
    UnsignedHarmonicDihedral,
}
