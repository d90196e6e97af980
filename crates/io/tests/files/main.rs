//! Files read and written, right and wrong.
//! All tests are one program, which is linked once and keeps all cores busy to its end.

mod amber;
mod bad_grains;
mod bad_inputs;
mod bad_sections;
mod bad_structures;
mod beside;
mod charmm;
mod completed;
mod difference;
mod dynamo;
mod far_pairs;
mod forcefields;
mod gromacs;
mod gromacs_lines;
mod indexed;
mod input;
mod insertion_codes;
mod lammps;
mod lammps_molecules;
mod molecule_names;
mod molecules_never_panic;
mod never_panics;
mod openmm;
mod peers;
mod reading;
mod refusals;
mod select;
mod structure;
mod table;
mod three_body;
mod times;
mod trajectory;
mod virtual_sites;
mod written;
