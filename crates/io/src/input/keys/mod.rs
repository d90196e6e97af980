//! All keys of an input file, as one table of sections; those of stages are in `stage.rs`. One file, because it is one
//! table.

mod sampling;
mod stage;

use super::choice::{ForceKind, choices};
use super::model::{Axis, Distribution, Lattice, Placement, Rigid, Scaling};
use super::schema::Fallback::{Absent, Required, Value};
use super::schema::NumberRange::{Fraction, Inside, NonNegative, Positive};
use super::schema::*;
use jostle_core::{Algorithm, Dimension, Exclude, Precision, UnitSystem};
use jostle_potentials::electrostatics::NetCharge;
use jostle_potentials::external::Side;
use jostle_potentials::{AngleKind, BondKind, EmbeddedKind, Mixing, PairKind, Screening, Truncation};
use sampling::{BIASES, variables};
use stage::STAGE;

/// The whole file.
pub static INPUT: Section = Section {
    keys: &[
        Key::new("title", Kind::Text, Value("\"\""), "a line about the run"),
        Key::new("units", Kind::Choice(choices::<UnitSystem>), Required, "the units of bare numbers"),
        Key::new("system", Kind::Table(&SYSTEM), Required, "the box and the atoms"),
        Key::new(
            "species",
            Kind::Named(&SPECIES),
            Absent("those of the structure file"),
            "the kinds of atoms, by name",
        ),
        Key::new("force", Kind::Tables(&FORCES), Value("[]"), "the forces, which add up"),
        Key::new(
            "metal",
            Kind::Variants(METALS),
            Absent("none"),
            "the many-body force of a metal or an alloy, besides the forces between pairs",
        ),
        Key::new(
            "electrostatics",
            Kind::Variants(ELECTROSTATICS),
            Absent("charges have no force of their own"),
            "Coulomb's forces between all charges",
        ),
        Key::new(
            "grains",
            Kind::Table(&GRAINS),
            Absent("atoms do not touch"),
            "spheres that push, damp and rub each other where they touch (Silbert 2001), and turn",
        ),
        Key::new("bond", Kind::Tables(&BONDS), Value("[]"), "forces along bonds"),
        Key::new("angle", Kind::Tables(&ANGLES), Value("[]"), "forces that bend angles between bonds"),
        Key::new(
            "exclude",
            Kind::Choice(choices::<Exclude>),
            Value("\"none\""),
            "bound atoms that the pair forces leave out",
        ),
        Key::new(
            "group",
            Kind::Tables(&GROUPS),
            Value("[]"),
            "atoms chosen by words, once, when a run begins",
        ),
        Key::new("field", Kind::Tables(&FIELDS), Value("[]"), "external forces, the same everywhere"),
        Key::new("wall", Kind::Tables(&WALLS), Value("[]"), "planes that act on atoms near them"),
        Key::new(
            "restraint",
            Kind::Several(|| RESTRAINTS),
            Value("[]"),
            "springs that hold chosen atoms at places or distances",
        ),
        Key::new(
            "variable",
            Kind::Several(variables),
            Value("[]"),
            "collective variables: functions of positions, which are columns of thermo.csv",
        ),
        Key::new(
            "bias",
            Kind::Several(|| BIASES),
            Value("[]"),
            "energies and adaptive forces along variables; computed by the host at each step",
        ),
        Key::new("stage", Kind::Tables(&STAGE), Value("[]"), "what is done, one after the other"),
        Key::new("run", Kind::Table(&RUN), Value("{}"), "how it is computed; never changes the physics"),
    ],
    alternatives: &[],
};

static SYSTEM: Section = Section {
    keys: &[
        Key::new("lattice", Kind::Choice(choices::<Lattice>), Absent(""), "atoms on a lattice"),
        Key::new("place", Kind::Choice(choices::<Placement>), Absent(""), "atoms placed anew"),
        Key::new(
            "file",
            Kind::Path,
            Absent(""),
            "atoms from a LAMMPS data file, extended XYZ or a Jostle checkpoint",
        ),
        Key::new(
            "topology",
            Kind::Path,
            Absent(""),
            "molecules with their force field: prmtop (AMBER), PSF, top (GROMACS), System (OpenMM)",
        ),
        Key::new(
            "parameters",
            Kind::Names,
            Absent("none: prmtop and System have their own"),
            "files of CHARMM's parameters for a PSF: prm, par, str, rtf, in their order",
        )
        .with(&["topology"]),
        Key::new("define", Kind::Names, Absent("none"), "macros of a GROMACS topology: [\"FLEXIBLE\"]")
            .with(&["topology"]),
        Key::new(
            "include",
            Kind::Names,
            Absent("the folder of the topology alone"),
            "folders of files that a GROMACS topology includes",
        )
        .with(&["topology"]),
        Key::new(
            "coordinates",
            Kind::Path,
            Absent(""),
            "where the atoms of a topology are, without their forces: PDB, mmCIF, inpcrd or rst7, gro, extended XYZ",
        )
        .with(&["topology"]),
        Key::new("rigid", Kind::Choice(choices::<Rigid>), Value("\"none\""), "distances that do not change")
            .with(&["topology"]),
        Key::new(
            "hydrogen_mass",
            Kind::Quantity(MASS, Positive),
            Absent("that of the topology"),
            "mass of hydrogens, taken from the atoms they are bound to; rigid water keeps its masses",
        )
        .with(&["topology"]),
        Key::new(
            "atoms",
            Kind::Count(1),
            Absent("from cells, or the counts of the species"),
            "how many atoms",
        )
        .with(&["lattice", "place"]),
        Key::new("cells", Kind::Counts, Absent("a cube that holds the atoms"), "unit cells along each axis")
            .with(&["lattice"]),
        Key::new(
            "density",
            Kind::Quantity(DENSITY, Positive),
            Absent("from lattice_constant or box"),
            "atoms per volume (a bare number), or mass per volume (with a unit)",
        )
        .with(&["lattice", "place"]),
        Key::new(
            "lattice_constant",
            Kind::Quantity(LENGTH, Positive),
            Absent("from density"),
            "edge of the cubic unit cell",
        )
        .with(&["lattice"]),
        Key::new("box", Kind::Table(&BOX), Absent("a cube, from density"), "the box").with(&["place"]),
        Key::new(
            "min_distance",
            Kind::Quantity(LENGTH, Positive),
            Absent("0.7 of the mean distance (volume / atoms)^(1/3)"),
            "no two atoms are placed nearer than this",
        )
        .with(&["place"]),
        Key::new("chains", Kind::Count(1), Absent(""), "how many chains (place = \"chains\")")
            .with(&["place"]),
        Key::new("beads", Kind::Count(2), Absent(""), "atoms of each chain (place = \"chains\")")
            .with(&["place"]),
        Key::new(
            "bond_length",
            Kind::Quantity(LENGTH, Positive),
            Absent(""),
            "distance of bound beads, or of oxygen and hydrogen (place = \"chains\", \"water\")",
        )
        .with(&["place"]),
        Key::new("molecules", Kind::Count(1), Absent(""), "how many molecules (place = \"water\")")
            .with(&["place"]),
        Key::new(
            "bond_angle",
            Kind::Number(Positive),
            Absent(""),
            "angle between the bonds of a molecule, in degrees (place = \"water\")",
        )
        .with(&["place"]),
        Key::new(
            "site_distance",
            Kind::Quantity(LENGTH, Positive),
            Absent("three sites"),
            "distance of the oxygen from the fourth site, a point with the charge of the third species \
             (place = \"water\")",
        )
        .with(&["place"]),
        Key::new(
            "types",
            Kind::Names,
            Absent("from the file's type labels, else \"1\", \"2\", ..."),
            "species names of the numeric types of a LAMMPS data file",
        )
        .with(&["file"]),
        Key::new(
            "periodic",
            Kind::Axes,
            Absent("as the file says; true for built systems"),
            "which axes are periodic: true, false or [true, true, false]",
        ),
        Key::new(
            "replicate",
            Kind::Counts,
            Value("[1, 1, 1]"),
            "how many copies of the box and all in it stand side by side along each edge",
        ),
        Key::new(
            "temperature",
            Kind::Quantity(TEMPERATURE, NonNegative),
            Absent("velocities of the file; a built system is at rest"),
            "temperature of the first velocities",
        ),
        Key::new(
            "velocities",
            Kind::Choice(choices::<Distribution>),
            Value("\"maxwell\""),
            "how first velocities are drawn",
        )
        .with(&["temperature"]),
        Key::new("seed", Kind::Count(0), Value("1"), "seed of everything random"),
    ],
    alternatives: &[
        Alternatives { keys: &["lattice", "place", "file", "topology"], needed: Needed::Always },
        Alternatives { keys: &["atoms", "cells"], needed: Needed::With("lattice") },
        Alternatives { keys: &["density", "lattice_constant"], needed: Needed::With("lattice") },
        Alternatives { keys: &["density", "box"], needed: Needed::With("place") },
        Alternatives { keys: &["coordinates"], needed: Needed::With("topology") },
    ],
};

static BOX: Section = Section {
    keys: &[
        Key::new("lengths", Kind::Vector(LENGTH, Positive), Required, "lx, ly, lz"),
        Key::new(
            "tilts",
            Kind::Vector(LENGTH, NumberRange::Any),
            Value("[0, 0, 0]"),
            "xy, xz, yz: edges (lx, 0, 0), (xy, ly, 0), (xz, yz, lz)",
        ),
    ],
    alternatives: &[],
};

static SPECIES: Section = Section {
    keys: &[
        Key::new(
            "mass",
            Kind::Quantity(MASS, Positive),
            Absent("of the structure file; 1 in reduced units"),
            "mass of an atom",
        ),
        Key::new(
            "charge",
            Kind::Quantity(CHARGE, NumberRange::Any),
            Absent("of the structure file, else 0"),
            "charge of an atom",
        ),
        Key::new("frozen", Kind::Flag, Absent("forces move its atoms"), "its atoms do not move"),
        Key::new(
            "velocity",
            Kind::Vector(VELOCITY, NumberRange::Any),
            Absent("forces move its atoms"),
            "its atoms keep this velocity, whatever acts on them",
        ),
        Key::new(
            "radius",
            Kind::Quantity(LENGTH, Positive),
            Absent("required with [grains]"),
            "of its atoms as grains",
        ),
        Key::new(
            "constants",
            Kind::Numbers,
            Absent("none"),
            "numbers that formulas know as NAME_a and NAME_b: { radius = 0.5 }",
        ),
        Key::new("count", Kind::Count(1), Absent("all atoms, if it is the only species"), "how many atoms"),
        Key::new("fraction", Kind::Number(Fraction), Absent("from count"), "share of all atoms"),
    ],
    alternatives: &[
        Alternatives { keys: &["count", "fraction"], needed: Needed::Never },
        Alternatives { keys: &["frozen", "velocity"], needed: Needed::Never },
    ],
};

static FORCES: Section = Section {
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
            Kind::Quantity(LENGTH, Positive),
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
            "where switching starts, as a fraction of the cut-off (truncation = \"switched\")",
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

static FIELDS: Section = Section {
    keys: &[
        Key::new("force", Kind::Vector(FORCE, NumberRange::Any), Absent(""), "on every atom"),
        Key::new(
            "acceleration",
            Kind::Vector(ACCELERATION, NumberRange::Any),
            Absent(""),
            "of every atom: the force is its mass times this",
        ),
        Key::new(
            "electric",
            Kind::Vector(ELECTRIC, NumberRange::Any),
            Absent(""),
            "the force is the charge of an atom times this",
        ),
        Key::new("species", Kind::Names, Absent("all"), "the species it acts on"),
        ATOMS,
        GROUP,
    ],
    alternatives: &[
        Alternatives { keys: &["force", "acceleration", "electric"], needed: Needed::Always },
        Alternatives { keys: &["atoms", "group"], needed: Needed::Never },
    ],
};

/// Selection of atoms.
pub(super) const ATOMS: Key =
    Key::new("atoms", Kind::Text, Absent("all"), "the atoms, in words: jostle help select lists them");
pub(super) const GROUP: Key =
    Key::new("group", Kind::Text, Absent("all"), "the same: atoms = \"group NAME\"");

const STIFFNESS_OF_SPRING: Key =
    Key::new("stiffness", Kind::Quantity(STIFFNESS, Positive), Required, "k of the energy k d^2 / 2");

const NAME_OF_RESTRAINT: Key =
    Key::new("name", Kind::Text, Absent("stages cannot speak of it"), "what stages call it");

static RESTRAINTS: &[Variant] = &[
    Variant {
        name: "position",
        about: "each atom to its reference position, where it was when the run began, in its nearest image",
        section: Section {
            keys: &[
                NAME_OF_RESTRAINT,
                Key { default: Absent(""), ..ATOMS },
                Key { default: Absent(""), ..GROUP },
                STIFFNESS_OF_SPRING,
                Key::new(
                    "scaling",
                    Kind::Choice(choices::<Scaling>),
                    Value("\"none\""),
                    "how reference positions follow a box that changes",
                ),
            ],
            alternatives: &[Alternatives { keys: &["atoms", "group"], needed: Needed::Always }],
        },
    },
    Variant {
        name: "distance",
        about: "the centres of mass of two selections to a distance, in their nearest images",
        section: Section {
            keys: &[
                NAME_OF_RESTRAINT,
                Key::new("between", Kind::Names, Required, "two selections: [\"index 3\", \"group lid\"]"),
                STIFFNESS_OF_SPRING,
                Key::new("length", Kind::Quantity(LENGTH, NonNegative), Absent(""), "where nothing pulls"),
                Key::new(
                    "from",
                    Kind::Quantity(LENGTH, NonNegative),
                    Absent("0"),
                    "nothing pulls from this distance on, instead of at one only",
                ),
                Key::new(
                    "to",
                    Kind::Quantity(LENGTH, NonNegative),
                    Absent("infinity"),
                    "nothing pulls up to this distance",
                ),
            ],
            alternatives: &[
                Alternatives { keys: &["length", "from"], needed: Needed::Never },
                Alternatives { keys: &["length", "to"], needed: Needed::Never },
            ],
        },
    },
];

static GROUPS: Section = Section {
    keys: &[
        Key::new("name", Kind::Text, Required, "what it is called: atoms = \"group NAME\""),
        Key::new("atoms", Kind::Text, Required, "its atoms, in words: jostle help select lists them"),
        Key::new("frozen", Kind::Flag, Absent("forces move its atoms"), "its atoms do not move"),
        Key::new(
            "velocity",
            Kind::Vector(VELOCITY, NumberRange::Any),
            Absent("forces move its atoms"),
            "its atoms keep this velocity, whatever acts on them",
        ),
        Key::new(
            "report",
            Kind::Flag,
            Value("false"),
            "its temperature, kinetic energy and centre of mass are columns of thermo.csv",
        ),
    ],
    alternatives: &[Alternatives { keys: &["frozen", "velocity"], needed: Needed::Never }],
};

static WALLS: Section = Section {
    keys: &[
        Key::new(
            "axis",
            Kind::Choice(choices::<Axis>),
            Required,
            "the axis it is perpendicular to, an open one",
        ),
        Key::new("at", Kind::Quantity(LENGTH, NumberRange::Any), Required, "where on this axis it is"),
        Key::new("atoms", Kind::Choice(choices::<Side>), Required, "where the atoms are"),
        Key::new(
            "force",
            Kind::Table(&FORCES),
            Absent(""),
            "as in [[force]], of the distance to the plane, with pairs.\"A-wall\" = { ... }",
        ),
        Key::new(
            "material",
            Kind::Choice(|| vec![("grains", "that of [grains]: it pushes, damps and rubs them")]),
            Absent(""),
            "what it is made of, instead of a force",
        ),
    ],
    alternatives: &[Alternatives { keys: &["force", "material"], needed: Needed::Always }],
};

static GRAINS: Section = Section {
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
    ],
    alternatives: &[],
};

const ELECTRONS: Section = Section {
    keys: &[Key::new(
        "electron_density",
        Kind::Quantity(&[Dimension::NUMBER_DENSITY], Positive),
        Absent("that of the atoms' charges: matter is neutral"),
        "electrons per volume",
    )],
    alternatives: &[],
};

const SCREENINGS: &[Variant] = &[
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
const ONE_SCREENING: Alternatives =
    Alternatives { keys: &["screening_length", "screening"], needed: Needed::Never };

const ORDER: Key = Key::new(
    "order",
    Kind::Count(4),
    Value("5"),
    "order of the splines, 4 to 6; of order p down to an accuracy of 1e-p",
);

const DISPERSIONS: &[Variant] = &[
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

const ELECTROSTATICS: &[Variant] = &[
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

const ELEMENTS: Key = Key::new(
    "elements",
    Kind::Names,
    Absent("the names of the species"),
    "the chemical symbol of each species, in the order of [species]",
);

const METALS: &[Variant] = &[
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

/// Types of bonds.
pub static BOND_TYPES: Types = Types::of::<BondKind>();
/// Types of angles.
pub static ANGLE_TYPES: Types = Types::of::<AngleKind>();

static BONDS: Section = Section {
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

static ANGLES: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(choices::<AngleKind>), Required, "the kind of angle"),
        Key::new("types", Kind::Types(&ANGLE_TYPES), Required, "parameters by type of angle, likewise"),
    ],
    alternatives: &[],
};

static RUN: Section = Section {
    keys: &[
        Key::new("device", Kind::Device, Value("\"auto\""), "what computes"),
        Key::new("threads", Kind::Count(1), Absent("all cores"), "CPU threads"),
        Key::new(
            "precision",
            Kind::Choice(choices::<Precision>),
            Value("\"mixed\""),
            "arithmetic of the forces",
        ),
        Key::new(
            "reproducible",
            Kind::Flag,
            Value("false"),
            "the same bits whatever the number of threads, and after a restart",
        ),
        Key::new("algorithm", Kind::Choice(choices::<Algorithm>), Value("\"auto\""), "how pairs are found"),
        Key::new(
            "skin",
            Kind::Quantity(LENGTH, Positive),
            Absent("tuned while running"),
            "how far beyond the cut-off neighbour lists reach",
        ),
        Key::new("output", Kind::Path, Absent("the input's name without its extension"), "the run folder"),
        Key::new(
            "strict",
            Kind::Flag,
            Value("false"),
            "warnings (drift, an unsettled stage, too long a time step, ...) are errors",
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
