//! All keys of an input file, as tables of sections: the whole file and `[run]` here, the others in files of their own.

mod alchemy;
mod electrostatics;
mod external;
mod force;
mod molecule;
mod sampling;
mod stage;
mod system;

use super::choice::choices;
use super::schema::Fallback::{Absent, Required, Value};
use super::schema::NumberRange::Positive;
use super::schema::*;
use alchemy::ALCHEMY;
use electrostatics::ELECTROSTATICS;
use external::{ENHANCED, FIELDS, RESTRAINTS, RIGID, WALLS};
pub use force::{ANGLE_TYPES, BOND_TYPES, DIHEDRAL_TYPES};
use force::{ANGLES, BONDS, DIHEDRALS, FORCES, GRAINS, METALS, THREE_BODY};
use jostle_core::{Algorithm, Exclude, Precision, UnitSystem};
use sampling::{BIASES, variables};
use stage::STAGE;
use system::{GROUPS, INTERACTIONS, SPECIES, SYSTEM};

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
        Key::new(
            "molecule",
            Kind::Tables(&molecule::MOLECULE),
            Value("[]"),
            "the molecules of place = \"molecules\": files and number of each",
        ),
        Key::new("force", Kind::Tables(&FORCES), Value("[]"), "the forces, which add up"),
        Key::new(
            "metal",
            Kind::Variants(METALS),
            Absent("none"),
            "the many-body force of a metal or an alloy, besides the forces between pairs",
        ),
        Key::new(
            "three_body",
            Kind::Variants(THREE_BODY),
            Absent("none"),
            "the many-body force of atoms whose bonds prefer angles, besides the forces between pairs",
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
            "dihedral",
            Kind::Tables(&DIHEDRALS),
            Value("[]"),
            "forces that turn four atoms about the bond in their middle; impropers, too",
        ),
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
        Key::new(
            "enhanced",
            Kind::Tables(&ENHANCED),
            Value("[]"),
            "locally enhanced sampling: several copies of chosen atoms of a topology, which do not see each other and have one part in so many of their energy",
        ),
        Key::new(
            "rigid",
            Kind::Tables(&RIGID),
            Value("[]"),
            "rigid bodies: atoms that move as one, in the form that they have when a run begins",
        ),
        Key::new(
            "field",
            Kind::Tables(&FIELDS),
            Value("[]"),
            "external forces, the same everywhere or by a formula",
        ),
        Key::new("wall", Kind::Tables(&WALLS), Value("[]"), "planes that act on atoms near them"),
        Key::new(
            "restraint",
            Kind::Several(|| RESTRAINTS),
            Value("[]"),
            "springs that hold chosen atoms at places or distances",
        ),
        Key::new(
            "interaction",
            Kind::Tables(&INTERACTIONS),
            Value("[]"),
            "energies of interaction of two groups, by term, as columns of thermo.csv",
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
            "energies and adaptive forces along variables",
        ),
        Key::new(
            "alchemy",
            Kind::Table(&ALCHEMY),
            Absent("no interaction is scaled"),
            "a molecule that is decoupled from all others: charges and Lennard-Jones forces scaled, its own energy kept",
        ),
        Key::new("stage", Kind::Tables(&STAGE), Value("[]"), "what is done, one after the other"),
        Key::new("run", Kind::Table(&RUN), Value("{}"), "how it is computed; never changes the physics"),
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
