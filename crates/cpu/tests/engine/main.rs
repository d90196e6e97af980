//! The CPU engine against exact derivatives, the plain double loop and other programs.
//! One program, so that it is linked once and no core waits for the slowest test of each file.

mod accuracy;
mod added;
mod alchemy;
mod bonds;
mod constraints;
mod dispersion;
mod domain_charges;
mod domain_groups;
mod domains;
mod dual_topology;
mod electrostatics;
mod elementary;
mod embedded;
mod engine;
mod every_potential;
mod force_table;
mod formulas;
mod frozen;
mod heat_current;
mod mixed;
mod noise;
mod pair_search;
mod reference_values;
mod screened;
mod skin;
mod team;
mod threads;
mod three_body;
mod virtual_sites;
