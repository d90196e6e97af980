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
//!
//! Pages of a browser ([`Session::pages`]) are clients without a connection: a server of another room asks for frames on
//! their behalf, and takes hold of atoms by springs.

mod client;
mod encoder;
mod facts;
mod frame;
mod hub;
mod outbox;
mod page_table;
mod pages;
mod permission;
pub mod protocol;
mod pull;
mod scale;
mod server;
mod spring;

pub use page_table::{LiveFrame, PullReport};
pub use pages::Pages;
pub use permission::Permission;
pub use protocol::Version;
pub use pull::{PullForce, WORK_COLUMN};
pub use server::{Server, ServerOptions, Session};
pub use spring::{ForceLimit, Hold, PageId, SpringReport};
