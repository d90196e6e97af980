//! `jostle report`

use crate::arguments::ReportOptions;
use crate::numbers::bytes;
use crate::output;
use jostle_core::Result;
use jostle_show::{RunFiles, report as page};

/// Writes the report on a run.
///
/// # Errors
/// If the folder holds no run, or the report cannot be written.
pub fn report(options: &ReportOptions) -> Result<()> {
    let html = page(&RunFiles::read(&options.folder)?)?;
    let path = options.output.clone().unwrap_or_else(|| options.folder.join("report.html"));
    output::write_file(&path, html.as_bytes())?;
    say!("{}: {}, opens in any browser, offline too", path.display(), bytes(html.len() as u64));
    Ok(())
}
