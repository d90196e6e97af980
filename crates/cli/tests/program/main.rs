//! The program as its users have it: the real binary, real files, real signals.

mod analysis;
mod batches;
mod commands;
mod compiling;
mod documents;
mod equilibrium;
mod extract;
mod failures;
mod far_right;
mod file_columns;
mod gpus;
mod hostile;
mod imd;
mod ipi;
mod jostle;
mod profiles;
mod ranks;
mod runs;
mod sampling;
mod solvate;
mod state_tables;
mod trajectories;
mod unmoved;
mod viewer;
