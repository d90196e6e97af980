//! `jostle schema`

use crate::arguments::SchemaOptions;
use crate::output;
use jostle_core::Result;
use jostle_io::input::{schema_json, schema_markdown, schema_text};

/// Prints every key of the input file.
///
/// # Errors
/// If stdout cannot be written.
pub fn schema(options: &SchemaOptions) -> Result<()> {
    match (options.format.json, options.markdown) {
        (true, _) => output::print_json(&schema_json()),
        (false, true) => output::print(&schema_markdown()),
        (false, false) => output::print(&schema_text()),
    }
}
