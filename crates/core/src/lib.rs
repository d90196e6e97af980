//! The vocabulary that the rest of Jostle is written in: numbers ([`Real`]), boxes ([`SimBox`]),
//! atoms ([`State`], [`System`]), what binds them ([`Topology`]), units ([`UnitSystem`], [`quantity`]), random
//! numbers, errors, and what a device must be able to do ([`Backend`]). No files, no threads, no devices.

pub mod arithmetic;
pub mod backend;
mod by_id;
pub mod constraints;
pub mod driven;
pub mod dual;
pub mod error;
pub mod group;
pub mod molecules;
pub mod names;
pub mod prediction;
pub mod quantity;
pub mod random;
pub mod real;
mod replicate;
pub mod rigid_body;
mod shell;
pub mod simbox;
pub mod skin_search;
pub mod state;
pub mod system;
pub mod thermostat;
pub mod topology;
pub mod units;
pub mod vector;
pub mod virtual_sites;
pub mod volume;
mod whole;

pub use backend::{
    AddedForces, Algorithm, ArraysChanged, AtomStorage, Backend, ClosingKick, DeviceArrays, DeviceForce,
    DeviceReport, Energies, Evaluate, ForceEvaluation, Kinetic, NoiseKey, Precision, Processor,
    RespaSchedule, Sample, Settings, Snapshot, StepBatch, SubSteps, VolumeMove,
};
pub use by_id::{AtomRows, AtomVector, OneLoop, RowWriter, VectorArrays};
pub use driven::{Driven, Masses};
pub use dual::Dual;
pub use error::{Error, ErrorKind, Place, Result};
pub use group::Group;
pub use molecules::Molecules;
pub use names::{AtomName, Names, Residue};
pub use prediction::PositionPrediction;
pub use real::Real;
pub use rigid_body::{BodyForm, RigidBody};
pub use shell::shell_word;
pub use simbox::SimBox;
pub use state::{IdIndex, RememberedContact, Species, State};
pub use system::System;
pub use thermostat::Thermostat;
pub use topology::{
    Angle, Arms, Bond, Constraint, CrossTerm, Dihedral, Exclude, LocalFrame, SiteRule, Topology, VirtualSite,
    WaterShape,
};
pub use units::{Dimension, UnitSystem};
pub use vector::{Components, Vec3, Vector};
pub use volume::{MolecularVirial, SavedVolume};
pub use whole::WholeGroups;

/// A symmetric tensor in the order xx, yy, zz, xy, xz, yz.
pub type SymTensor = [f64; 6];
