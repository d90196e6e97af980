//! The keys of forces between atoms: `[[force]]`, `[metal]`, `[three_body]`, `[grains]`, `[[bond]]` and `[[angle]]`.

use super::electrostatics::{DISPERSIONS, ONE_SCREENING, SCREENINGS};
use crate::input::choice::{ForceKind, choices};
use crate::input::model::HALF_BOX;
use crate::input::schema::Fallback::{Absent, Required, Value};
use crate::input::schema::NumberRange::{Inside, NonNegative, Positive};
use crate::input::schema::*;
use jostle_potentials::{
    AngleKind, BondKind, DihedralKind, EmbeddedKind, Mixing, PairKind, ThreeBodyKind, Truncation,
};

pub(super) static FORCES: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(choices::<ForceKind>), Required, "the potential"),
        Key::new(
            "energy",
            Kind::Text,
            Absent("required with kind = \"formula\""),
            "u(r), as a formula in r and the names of parameters (kind = \"formula\")",
        ),
        Key::new(
            "parameters",
            Kind::Numbers,
            Absent("those of each pair"),
            "numbers of the formula that all pairs share (kind = \"formula\")",
        ),
        Key::new(
            "cutoff",
            Kind::QuantityOr(LENGTH, Positive, || vec![(HALF_BOX, "half the smallest width of a box that stays")]),
            Absent("where the potential ends by itself, or from each pair"),
            "where the interaction is cut off",
        ),
        Key::new(
            "truncation",
            Kind::Choice(choices::<Truncation>),
            Value("\"plain\""),
            "what happens at the cut-off",
        ),
        Key::new(
            "switch_from",
            Kind::Number(Inside),
            Absent("0.9"),
            "where switching starts, as a fraction of the cut-off (truncation = \"switched\", \"charmm-switched\")",
        )
        .with(&["truncation"]),
        Key::new(
            "tail_correction",
            Kind::Flag,
            Value("false"),
            "correct energy and pressure for what is beyond the cut-off and what a shift or a switch takes, as in a uniform fluid (not force-shifted)",
        ),
        Key::new(
            "dispersion",
            Kind::Variants(DISPERSIONS),
            Absent("r^-6 ends at the cut-off"),
            "beyond the cut-off of a Lennard-Jones force its r^-6 over all images",
        ),
        Key::new(
            "tabulate",
            Kind::Flag,
            Value("false"),
            "look energies and forces up in tables as exact as single precision, for costly functions",
        ),
        Key::new(
            "mixing",
            Kind::Choice(choices::<Mixing>),
            Absent("every unlike pair must be given"),
            "how parameters of unlike pairs follow from like ones",
        ),
        Key::new("preset", Kind::Choice(presets), Absent("none"), "a published set of parameters"),
        Key::new(
            "screening_length",
            Kind::Quantity(LENGTH, Positive),
            Absent("that of each pair"),
            "screening length of all pairs (kind = \"yukawa\")",
        ),
        Key::new(
            "screening",
            Kind::Variants(SCREENINGS),
            Absent("that of each pair"),
            "the same, from the electrons (kind = \"yukawa\")",
        ),
        Key::new(
            "pairs",
            Kind::Pairs,
            Value("{}"),
            "parameters by pair: pairs.\"A-B\" = { ... }, or \"none\"",
        ),
    ],
    alternatives: &[ONE_SCREENING],
};

const ELEMENTS: Key = Key::new(
    "elements",
    Kind::Names,
    Absent("the names of the species"),
    "the chemical symbol of each species, in the order of [species]",
);

pub(super) const METALS: &[Variant] = &[
    Variant {
        name: EmbeddedKind::EmbeddedAtom.name(),
        about: EmbeddedKind::EmbeddedAtom.about(),
        section: Section {
            keys: &[
                Key::new(
                    "file",
                    Kind::Path,
                    Absent(""),
                    "a DYNAMO file: setfl (eam/alloy, eam/fs) or funcfl",
                ),
                Key::new("files", Kind::Names, Absent(""), "a funcfl file for each metal of an alloy"),
                ELEMENTS,
            ],
            alternatives: &[Alternatives { keys: &["file", "files"], needed: Needed::Always }],
        },
    },
    Variant {
        name: EmbeddedKind::SuttonChen.name(),
        about: EmbeddedKind::SuttonChen.about(),
        section: Section {
            keys: &[
                Key::new(
                    "cutoff",
                    Kind::Quantity(LENGTH, Positive),
                    Absent("twice the largest lattice constant"),
                    "where the force ends, smoothly",
                ),
                ELEMENTS,
            ],
            alternatives: &[],
        },
    },
];

pub(super) const THREE_BODY: &[Variant] = &[
    Variant {
        name: ThreeBodyKind::StillingerWeber.name(),
        about: ThreeBodyKind::StillingerWeber.about(),
        section: Section {
            keys: &[
                Key::new(
                    "file",
                    Kind::Path,
                    Absent("the paper's silicon"),
                    "a file of LAMMPS' pair_style sw",
                ),
                ELEMENTS,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: ThreeBodyKind::Tersoff.name(),
        about: ThreeBodyKind::Tersoff.about(),
        section: Section {
            keys: &[Key::new("file", Kind::Path, Required, "a file of LAMMPS' pair_style tersoff"), ELEMENTS],
            alternatives: &[],
        },
    },
];

pub(super) static GRAINS: Section = Section {
    keys: &[
        Key::new(
            "stiffness",
            Kind::Quantity(STIFFNESS, Positive),
            Required,
            "Hooke's constant: force by overlap, overlap being the sum of radii less the distance",
        ),
        Key::new(
            "normal_damping",
            Kind::Quantity(RATE, NonNegative),
            Value("0"),
            "damping along the line of centres: force by velocity and effective mass",
        ),
        Key::new(
            "tangential_damping",
            Kind::Quantity(RATE, NonNegative),
            Value("0"),
            "the same where surfaces slide on each other, up to the limit of friction",
        ),
        Key::new(
            "friction",
            Kind::Number(NonNegative),
            Value("0"),
            "Coulomb's coefficient: the most that the force of sliding is, by that along the normal",
        ),
        Key::new(
            "tangential_stiffness",
            Kind::Quantity(STIFFNESS, NonNegative),
            Value("0"),
            "a spring between surfaces that stick to each other, often 2/7 of stiffness: contacts remember it, so that heaps rest",
        ),
        Key::new(
            "rolling",
            Kind::Table(&ROLLING),
            Absent("grains roll freely"),
            "resistance to rolling (Wang 2015)",
        ),
    ],
    alternatives: &[],
};

static ROLLING: Section = Section {
    keys: &[
        Key::new(
            "stiffness",
            Kind::Quantity(STIFFNESS, NonNegative),
            Value("0"),
            "a spring between surfaces that roll on each other; contacts remember it",
        ),
        Key::new(
            "damping",
            Kind::Quantity(RATE, NonNegative),
            Value("0"),
            "damping of rolling: force by velocity and effective mass",
        ),
        Key::new(
            "friction",
            Kind::Number(Positive),
            Required,
            "the most that the force of rolling is, by that along the normal",
        ),
    ],
    alternatives: &[],
};

/// Types of bonds.
pub static BOND_TYPES: Types = Types::of::<BondKind>();
/// Types of angles.
pub static ANGLE_TYPES: Types = Types::of::<AngleKind>();
/// Types of dihedrals.
pub static DIHEDRAL_TYPES: Types = Types::of::<DihedralKind>();

pub(super) static BONDS: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(choices::<BondKind>), Required, "the kind of bond"),
        Key::new(
            "types",
            Kind::Types(&BOND_TYPES),
            Required,
            "parameters by type of bond: types.NAME = { ... }; those of place = \"chains\" are called \"chain\"",
        ),
    ],
    alternatives: &[],
};

pub(super) static ANGLES: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(choices::<AngleKind>), Required, "the kind of angle"),
        Key::new("types", Kind::Types(&ANGLE_TYPES), Required, "parameters by type of angle, likewise"),
    ],
    alternatives: &[],
};

pub(super) static DIHEDRALS: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(choices::<DihedralKind>), Required, "the kind of dihedral"),
        Key::new(
            "types",
            Kind::Types(&DIHEDRAL_TYPES),
            Required,
            "parameters by type, likewise; impropers of a LAMMPS data file are types.improper-1, ...",
        ),
    ],
    alternatives: &[],
};

/// Published sets of parameters of all potentials.
fn presets() -> Vec<(&'static str, &'static str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for preset in PairKind::ALL.iter().flat_map(|kind| kind.presets()) {
        if names.iter().all(|(name, _)| *name != preset.name) {
            names.push((preset.name, preset.about));
        }
    }
    names
}
