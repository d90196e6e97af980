//! Whole simulations, on the CPU and, where a test says so, on the emulated GPU. All tests are one program,
//! which is linked once and whose tests of all files run side by side.

mod advance;
mod biases;
mod blow_up;
mod chains;
mod conservation;
mod custom_forces;
mod deformation;
mod devices;
mod dispersion;
mod dissipative;
mod external;
mod files;
mod fixtures;
mod grains;
mod groups;
mod integrators;
mod long_range;
mod metals;
mod minimize;
mod molecules;
mod openmm;
mod plasma;
mod pressure;
mod ranks;
mod restart;
mod restraints;
mod sizes;
mod stages;
mod state_points;
mod step_batches;
mod thermostats;
mod until;
mod virtual_sites;
mod warnings;
mod water;
