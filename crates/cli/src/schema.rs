//! `jostle schema`

use crate::arguments::SchemaOptions;
use crate::output;
use jostle_core::Result;
use jostle_io::input::{schema_json, schema_text};

/// Prints every key of the input file.
///
/// # Errors
/// If stdout cannot be written.
pub fn schema(options: &SchemaOptions) -> Result<()> {
    if options.format.json { output::print_json(&schema_json()) } else { output::print(&schema_text()) }
}
