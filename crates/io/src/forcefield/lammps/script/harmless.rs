//! Commands of LAMMPS that change neither atoms nor forces: of these a script may have any, for what is done with
//! the forces is said by the input.

use super::Place;
use jostle_core::Result;
use jostle_core::quantity::nearest;

/// Commands about runs, output, neighbours, processors and variables.
const COMMANDS: &[&str] = &[
    "angle_write",
    "atom_modify",
    "atom_style",
    "balance",
    "bond_write",
    "boundary",
    "box",
    "comm_modify",
    "comm_style",
    "compute",
    "compute_modify",
    "create_box",
    "dielectric",
    "dihedral_write",
    "dimension",
    "dump",
    "dump_modify",
    "dynamical_matrix",
    "echo",
    "fix_modify",
    "group",
    "group2ndx",
    "info",
    "kspace_modify",
    "kspace_style",
    "label",
    "lattice",
    "log",
    "min_modify",
    "min_style",
    "minimize",
    "molecule",
    "ndx2group",
    "neigh_modify",
    "neighbor",
    "newton",
    "next",
    "package",
    "pair_write",
    "print",
    "processors",
    "python",
    "quit",
    "read_data",
    "region",
    "rerun",
    "reset_atoms",
    "reset_timestep",
    "restart",
    "run",
    "run_style",
    "shell",
    "suffix",
    "thermo",
    "thermo_modify",
    "thermo_style",
    "third_order",
    "timer",
    "timestep",
    "uncompute",
    "undump",
    "unfix",
    "variable",
    "velocity",
    "write_coeff",
    "write_data",
    "write_dump",
    "write_restart",
];

/// Fixes that move atoms, keep temperature and pressure, or measure.
const FIXES: &[&str] = &[
    "ave/atom",
    "ave/chunk",
    "ave/correlate",
    "ave/correlate/long",
    "ave/histo",
    "ave/histo/weight",
    "ave/time",
    "balance",
    "box/relax",
    "dt/reset",
    "halt",
    "langevin",
    "momentum",
    "nph",
    "npt",
    "nve",
    "nve/limit",
    "nvt",
    "press/berendsen",
    "print",
    "property/atom",
    "recenter",
    "store/force",
    "store/state",
    "temp/berendsen",
    "temp/csld",
    "temp/csvr",
    "temp/rescale",
    "vector",
];

/// Endings of styles that are computed in another way.
const ACCELERATED: &[&str] = &["/gpu", "/intel", "/kk", "/omp", "/opt"];

/// Beginnings of the names of other fixes, and what has their place in an input.
const INSTEAD: &[(&str, &str)] = &[
    ("cmap", "maps over two dihedrals are not read from LAMMPS' files"),
    ("addforce", "write [[field]] in the input, and leave this line out"),
    ("efield", "write [[field]] in the input, and leave this line out"),
    ("gravity", "write [[field]] in the input, and leave this line out"),
    ("wall", "write [[wall]] in the input, and leave this line out"),
    ("spring", "write [[restraint]] or [[bias]] in the input, and leave this line out"),
    ("restrain", "write [[restraint]] or [[bias]] in the input, and leave this line out"),
    ("colvars", "write [[variable]] and [[bias]] in the input, and leave this line out"),
    ("plumed", "write [[variable]] and [[bias]] in the input, and leave this line out"),
    ("setforce", "write frozen = true in a [[group]] of the input, and leave this line out"),
    ("freeze", "write frozen = true in a [[group]] of the input, and leave this line out"),
    ("move", "write velocity = [...] in a [[group]] of the input, and leave this line out"),
    ("deform", "write deform in a stage of the input, and leave this line out"),
    ("shake", "write rigid = \"water\" or \"hydrogens\" in [system], and leave this line out"),
    ("rattle", "write rigid = \"water\" or \"hydrogens\" in [system], and leave this line out"),
    ("rigid", "write [[rigid]] in the input, and leave this line out"),
];

/// Refuses commands that are not known to change nothing.
pub(super) fn check_command(name: &str, place: &Place) -> Result<()> {
    if COMMANDS.contains(&name) {
        return Ok(());
    }
    let error = place.error(format!("there is no command {name} that is read or passed over here"));
    Err(match nearest(name, COMMANDS.iter().chain(super::READ).copied()) {
        Some(like) => {
            error.hint(format!("is {like} meant? else leave it out, if it changes neither atoms nor forces"))
        }
        None => error.hint("leave it out, if it changes neither atoms nor forces"),
    })
}

/// Refuses fixes that would add forces, hold atoms, or are not known to do neither.
pub(super) fn check_fix(style: &str, place: &Place) -> Result<()> {
    let plain = ACCELERATED.iter().find_map(|ending| style.strip_suffix(ending)).unwrap_or(style);
    if FIXES.contains(&plain) {
        return Ok(());
    }
    let instead = INSTEAD.iter().find(|(name, _)| plain.starts_with(name));
    let hint = instead
        .map_or("leave this line out, if the input says the same or it changes no forces", |(_, hint)| hint);
    Err(place.error(format!("fix {style} is not carried out here")).hint(hint))
}
