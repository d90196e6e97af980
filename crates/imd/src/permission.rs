//! Rights of clients.

/// Rights of clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Permission {
    /// Clients may pull atoms, pause and end the run.
    #[default]
    Full,
    /// Clients get frames and nothing else.
    Watch,
}
