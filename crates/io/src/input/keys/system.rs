//! The keys of `[system]`, `[species]` and `[[group]]`, and those that choose atoms.

use super::molecule;
use crate::input::choice::choices;
use crate::input::model::{Distribution, Lattice, Placement};
use crate::input::schema::Fallback::{Absent, Required, Value};
use crate::input::schema::NumberRange::{Fraction, NonNegative, Positive};
use crate::input::schema::*;

/// Selection of atoms.
pub(super) const ATOMS: Key =
    Key::new("atoms", Kind::Text, Absent("all"), "the atoms, in words: jostle help select lists them");
pub(super) const GROUP: Key =
    Key::new("group", Kind::Text, Absent("all"), "the same: atoms = \"group NAME\"");

pub(super) static SYSTEM: Section = Section {
    keys: &[
        Key::new("lattice", Kind::Choice(choices::<Lattice>), Absent(""), "atoms on a lattice"),
        Key::new("place", Kind::Choice(choices::<Placement>), Absent(""), "atoms placed anew"),
        Key::new(
            "file",
            Kind::Path,
            Absent(""),
            "atoms from a LAMMPS data file, extended XYZ (its last frame) or a Jostle checkpoint",
        ),
        molecule::TOPOLOGY,
        molecule::PARAMETERS,
        molecule::DEFINE,
        molecule::INCLUDE,
        molecule::COORDINATES,
        molecule::RIGID,
        molecule::HYDROGEN_MASS,
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
            Absent("0.7 of the mean distance (volume / atoms)^(1/3), at most half the box; 2 angstrom between molecules"),
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

pub(super) static SPECIES: Section = Section {
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

pub(super) static GROUPS: Section = Section {
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
            "its temperature, kinetic energy and centre of mass (of whole molecules, on unbroken paths) are columns of thermo.csv",
        ),
    ],
    alternatives: &[Alternatives { keys: &["frozen", "velocity"], needed: Needed::Never }],
};

pub(super) static INTERACTIONS: Section = Section {
    keys: &[
        Key::new("name", Kind::Text, Required, "what its columns begin with: letters, digits and _"),
        Key::new(
            "between",
            Kind::Names,
            Required,
            "two selections without a common atom: [\"protein\", \"water\"]; the energies of both together less those of each alone, charges over all images, and the force of the second on the first, are found at each row",
        ),
    ],
    alternatives: &[],
};
