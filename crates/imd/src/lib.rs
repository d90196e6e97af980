//! Interactive molecular dynamics: a server by which VMD, MDAnalysis and others show a run while it goes on, pull
//! its atoms, pause and end it.
//!
//! The protocol is that of Stone, Gullingsrud and Schulten (I3D 2001), in version 2, which VMD speaks, and version 3
//! (imdclient.readthedocs.io). It has neither passwords nor encryption: whoever can connect can do all this, which
//! is why the server listens on this machine alone unless told otherwise.
//!
//! A [`Server`] listens; [`Server::attach`] joins it to a simulation by an observer, which sends frames, by a custom
//! force, which pulls atoms, and by a [`jostle_engine::RunHandle`], which holds and ends the run. Each client has two
//! threads, one that reads and one that writes, so that a slow client holds up none but itself.

mod client;
mod frame;
mod hub;
mod outbox;
mod permission;
pub mod protocol;
mod pull;
mod scale;
mod server;

pub use permission::Permission;
pub use protocol::Version;
pub use pull::{PullForce, WORK_COLUMN};
pub use server::{Server, ServerOptions, Session};
