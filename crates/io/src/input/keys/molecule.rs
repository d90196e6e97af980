//! Keys of molecules with their force field: in `[system]` for a whole system, in `[[molecule]]` for one of which copies
//! are placed.

use super::super::choice::choices;
use super::super::model::Rigid;
use super::super::schema::Fallback::{Absent, Required, Value};
use super::super::schema::NumberRange::Positive;
use super::super::schema::*;

pub(super) const TOPOLOGY: Key = Key::new(
    "topology",
    Kind::Path,
    Absent(""),
    "molecules with their force field: prmtop (AMBER), PSF, top (GROMACS), System (OpenMM), LAMMPS data",
);

pub(super) const PARAMETERS: Key = Key::new(
    "parameters",
    Kind::Names,
    Absent("none: prmtop and System have their own"),
    "files in their order: CHARMM's parameters for a PSF; LAMMPS' styles and coefficients for a data file",
)
.with(&["topology"]);

pub(super) const DEFINE: Key =
    Key::new("define", Kind::Names, Absent("none"), "macros of a GROMACS topology: [\"FLEXIBLE\"]")
        .with(&["topology"]);

pub(super) const INCLUDE: Key = Key::new(
    "include",
    Kind::Names,
    Absent("the folder of the topology alone"),
    "folders of files that a GROMACS topology includes",
)
.with(&["topology"]);

pub(super) const COORDINATES: Key = Key::new(
    "coordinates",
    Kind::Path,
    Absent("that of the topology, if it is a LAMMPS data file"),
    "where the atoms of a topology are, without their forces: PDB, mmCIF, inpcrd or rst7, gro, extended XYZ",
)
.with(&["topology"]);

pub(super) const RIGID: Key =
    Key::new("rigid", Kind::Choice(choices::<Rigid>), Value("\"none\""), "distances that do not change")
        .with(&["topology"]);

pub(super) const HYDROGEN_MASS: Key = Key::new(
    "hydrogen_mass",
    Kind::Quantity(MASS, Positive),
    Absent("that of the topology"),
    "mass of hydrogens, taken from the atoms they are bound to; rigid water keeps its masses",
)
.with(&["topology"]);

pub(super) static MOLECULE: Section = Section {
    keys: &[
        Key { default: Required, ..TOPOLOGY },
        PARAMETERS,
        DEFINE,
        INCLUDE,
        COORDINATES,
        RIGID,
        HYDROGEN_MASS,
        Key::new("count", Kind::Count(1), Required, "how many of it"),
    ],
    alternatives: &[],
};
