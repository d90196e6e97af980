//! Texts of the files of a new system: topology and coordinates for GROMACS, OpenMM and Jostle, and an input.

/// Texts of the files of a new system.
#[derive(Debug)]
pub struct SystemFiles {
    /// `NAME.top`
    pub topology: String,
    /// `NAME.gro`
    pub coordinates: String,
    /// `NAME.toml`
    pub input: String,
}

/// Text as it stands between the quotation marks of an input.
pub(super) fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
