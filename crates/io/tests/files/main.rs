//! What is read and written, right and wrong.
//! One program, so that it is linked once and no core waits for the slowest test of each file.

mod amber;
mod bad_inputs;
mod bad_structures;
mod charmm;
mod dynamo;
mod forcefields;
mod gromacs;
mod input;
mod lammps;
mod molecules_never_panic;
mod never_panics;
mod peers;
mod reading;
mod select;
mod structure;
mod table;
mod trajectory;
mod virtual_sites;
