//! Analysis of configurations: distribution functions, correlations in time, order.
//!
//! A measure takes frames one after the other and gives tables ([`Measure`]); it depends neither
//! on files nor on a device, so that it serves during a run as on a trajectory. All kinds are in
//! one registry, [`kinds::ALL`]. Every average has an error, from blocks of frames ([`Blocks`]).

pub mod averages;
mod blocks;
pub mod cells;
mod common_motion;
mod correlate;
mod green_kubo;
mod heat_flux;
pub mod kinds;
mod lattice;
mod leaps;
mod limits;
mod measure;
mod molecules;
mod parts;
mod paths;
mod report;
mod saved_state;
pub mod series;
mod settings;
mod sphere_union;
mod transport;
mod view;
mod warning;

pub use blocks::{BlockEstimate, Blocks};
pub use common_motion::CommonMotion;
pub use heat_flux::{FEWEST_SLABS, HeatExchange, HeatFlux, THERMAL_CONDUCTIVITY};
pub use kinds::{Kind, Observable};
pub use measure::{Measure, restore, save};
pub use molecules::MoleculeView;
pub use paths::Paths;
pub use report::{Column, Record, Results, Table, Value};
pub use saved_state::SavedState;
pub use settings::{MeasureSettings, Setting};
pub use view::{FrameSubset, Polarity, SystemInfo, View, Whole, slab};
pub use warning::{ResultWarning, Verdict, judge_fluctuations};
