//! The keys of `[electrostatics]`, and of what other forces share with it: screening by electrons, and dispersion
//! over all images.

use crate::input::choice::choices;
use crate::input::schema::Fallback::{Absent, Value};
use crate::input::schema::NumberRange::{Inside, Positive};
use crate::input::schema::*;
use jostle_core::Dimension;
use jostle_potentials::Screening;
use jostle_potentials::electrostatics::NetCharge;

const ELECTRONS: Section = Section {
    keys: &[Key::new(
        "electron_density",
        Kind::Quantity(&[Dimension::NUMBER_DENSITY], Positive),
        Absent("that of the atoms' charges: matter is neutral"),
        "electrons per volume",
    )],
    alternatives: &[],
};

pub(super) const SCREENINGS: &[Variant] = &[
    Variant {
        name: Screening::ThomasFermi.name(),
        about: "slow degenerate electrons: lambda^2 = pi a_0 / (4 k_F)",
        section: ELECTRONS,
    },
    Variant {
        name: Screening::Relativistic.name(),
        about: "degenerate electrons of any density: lambda^2 = pi / (4 alpha k_F sqrt(k_F^2 + (m_e c/hbar)^2))",
        section: ELECTRONS,
    },
    Variant {
        name: Screening::UltraRelativistic.name(),
        about: "the same without their mass: lambda = sqrt(pi / alpha) / (2 k_F)",
        section: ELECTRONS,
    },
];

const DIRECT: Key = Key::new(
    "cutoff",
    Kind::Quantity(LENGTH, Positive),
    Absent("the longest of the pair forces"),
    "where direct interactions end",
);
const ACCURACY: Key = Key::new(
    "accuracy",
    Kind::Number(Inside),
    Value("5e-4"),
    "the relative error of forces on charges in disorder, at most; where energy is to be kept for long, 1e-5",
);
const NET_CHARGE: Key = Key::new(
    "net_charge",
    Kind::Choice(choices::<NetCharge>),
    Value("\"refuse\""),
    "what a charge of the whole system means",
);
const SCREENING_LENGTH: Key = Key::new(
    "screening_length",
    Kind::Quantity(LENGTH, Positive),
    Absent("nothing screens"),
    "1/r becomes exp(-r/screening_length)/r, over all images (Salin and Caillol 2000)",
);
const SCREENED: Key = Key::new(
    "screening",
    Kind::Variants(SCREENINGS),
    Absent("nothing screens"),
    "the same, from the electrons",
);
pub(super) const ONE_SCREENING: Alternatives =
    Alternatives { keys: &["screening_length", "screening"], needed: Needed::Never };

const ORDER: Key = Key::new(
    "order",
    Kind::Count(4),
    Value("5"),
    "order of the splines, 4 to 6; of order p down to an accuracy of 1e-p",
);

pub(super) const DISPERSIONS: &[Variant] = &[
    Variant {
        name: "pme",
        about: "particle-mesh Ewald: all images, unlike atoms by the geometric mean (Essmann 1995)",
        section: Section { keys: &[ACCURACY, ORDER], alternatives: &[] },
    },
    Variant {
        name: "ewald",
        about: "the same wave by wave: exact, slow, for small systems and tests",
        section: Section { keys: &[ACCURACY], alternatives: &[] },
    },
];

pub(super) const ELECTROSTATICS: &[Variant] = &[
    Variant {
        name: "pme",
        about: "smooth particle-mesh Ewald: all images, in a conducting medium (Essmann 1995)",
        section: Section {
            keys: &[DIRECT, ACCURACY, ORDER, NET_CHARGE, SCREENING_LENGTH, SCREENED],
            alternatives: &[ONE_SCREENING],
        },
    },
    Variant {
        name: "ewald",
        about: "Ewald's sum wave by wave: exact, slow, for small systems and tests",
        section: Section {
            keys: &[DIRECT, ACCURACY, NET_CHARGE, SCREENING_LENGTH, SCREENED],
            alternatives: &[ONE_SCREENING],
        },
    },
    Variant {
        name: "reaction-field",
        about: "beyond the cut-off is a dielectric (Tironi 1995)",
        section: Section {
            keys: &[
                DIRECT,
                Key::new(
                    "dielectric",
                    Kind::Number(Positive),
                    Absent("infinite: a conductor"),
                    "its relative permittivity, 1 or more",
                ),
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "cutoff",
        about: "1/r ends at the cut-off",
        section: Section { keys: &[DIRECT], alternatives: &[] },
    },
];
