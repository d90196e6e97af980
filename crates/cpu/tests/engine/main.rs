//! The CPU engine against exact derivatives, the plain double loop and other programs.
//! One program, so that it is linked once and no core waits for the slowest test of each file.

mod accuracy;
mod bonds;
#[path = "../chains/mod.rs"]
mod chains;
#[path = "../charges/mod.rs"]
mod charges;
mod constraints;
mod dispersion;
mod electrostatics;
mod elementary;
mod embedded;
#[path = "../charges/engine.rs"]
mod engine;
mod every_potential;
mod force_table;
mod formulas;
mod mixed;
mod noise;
mod pair_search;
#[path = "../pairs/mod.rs"]
mod pairs;
#[path = "../reference/mod.rs"]
mod reference;
mod reference_values;
mod screened;
mod skin;
mod team;
mod threads;
#[path = "../typical/mod.rs"]
mod typical;
mod virtual_sites;
#[path = "../charges/water.rs"]
mod water;
