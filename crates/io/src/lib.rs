//! Files: the input ([`input`]), structures ([`structure`]), trajectories ([`trajectory`]),
//! many-body potentials ([`dynamo`], [`three_body`]), molecules with their force fields ([`forcefield`]).
//!
//! ```
//! use jostle_io::Input;
//! use jostle_io::input::model::{Action, AtomsInput};
//!
//! let text = r#"
//! units = "real"
//!
//! [system]
//! lattice = "fcc"
//! atoms = 864
//! density = "1.374 g/cm3"
//!
//! [species.Ar]
//! mass = 39.948
//!
//! [[stage]]
//! steps = 1000
//! timestep = "5 fs"
//! "#;
//! let input = Input::parse("argon.toml".as_ref(), text)?;
//! assert!(matches!(input.stages[0].value.action, Action::Dynamics { steps: 1000, .. }));
//!
//! // A mistake is refused with its place, the cause and what would do.
//! let error = Input::parse("argon.toml".as_ref(), &text.replace("fcc", "fc")).unwrap_err();
//! assert_eq!(error.place().unwrap().line, Some(5));
//! assert_eq!(error.message(), "\"lattice\" cannot be \"fc\"");
//! assert!(error.help().unwrap().starts_with("did you mean \"fcc\"?"));
//! # Ok::<(), jostle_core::Error>(())
//! ```

mod bonds;
pub mod dynamo;
mod file_units;
pub mod forcefield;
pub mod gro;
pub mod input;
mod lines;
pub mod memory;
mod pdb;
pub mod read_files;
pub mod select;
pub mod structure;
pub mod table;
mod text;
pub mod three_body;
pub mod trajectory;

pub use bonds::chemical_bonds;
pub use input::Input;
pub use select::Selection;
pub use structure::Structure;
pub use trajectory::{
    Frame, Open, Snapshot, TrajectoryHeader, TrajectoryReader, TrajectoryWriter, stage_in_name,
};
