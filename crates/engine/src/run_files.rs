//! Names of the files in the folder of a run, and the status in its summary.

use jostle_core::{Error, Result};
use jostle_io::input::model::TrajectoryFormat;
use std::path::Path;

pub(crate) const LOG: &str = "jostle.log";
pub(crate) const THERMO: &str = "thermo.csv";
/// Name of the summary of a run.
pub const SUMMARY: &str = "summary.json";
/// Name of the copy of the input of a run.
pub const INPUT: &str = "input.toml";
/// The name of the last checkpoint in a run folder.
pub const CHECKPOINT: &str = "latest.checkpoint";
pub(crate) const START: &str = "start.xyz";
pub(crate) const PREVIOUS: &str = "previous.checkpoint";

/// Files that every run may have, besides trajectories and results.
pub(crate) const OWN_FILES: [&str; 8] =
    [LOG, THERMO, SUMMARY, INPUT, START, CHECKPOINT, PREVIOUS, ANSWER_FILE];
/// Name of the file with a command that has not been taken yet.
pub const COMMAND_FILE: &str = "order.json";
/// Name of the file with the answer to the last command.
pub(crate) const ANSWER_FILE: &str = "answer.json";

/// The status of a run in its summary.
pub(crate) fn status(path: &Path) -> Result<String> {
    let file = path.join(SUMMARY);
    let text = std::fs::read_to_string(&file).map_err(|e| Error::io("read", &file, &e))?;
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let status = summary["status"].as_str().map(String::from);
    status.ok_or_else(|| Error::file(&file, "this is no summary of a run"))
}

/// Beginning of the names of the files of a stage: the name of the stage, with characters replaced that a
/// file name cannot have.
pub(crate) fn stage_file(index: usize, stage: &str) -> String {
    let odd = |c: char| !(c.is_alphanumeric() || "-_.+".contains(c));
    let name = stage.replace(odd, "_");
    if name != stage || name.starts_with('.') { format!("{}-{name}", index + 1) } else { name }
}

/// Name of the file of a stage's trajectory.
pub(crate) fn trajectory_name(index: usize, stage: &str, format: TrajectoryFormat) -> String {
    let (name, ending) = (stage_file(index, stage), format.extension());
    match OWN_FILES.contains(&format!("{name}.{ending}").as_str()) {
        true => format!("{}-{name}.{ending}", index + 1),
        false => format!("{name}.{ending}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_get_files_of_their_own() {
        let name = |index, stage| trajectory_name(index, stage, TrajectoryFormat::Dcd);
        assert_eq!(name(0, "sample"), "sample.dcd");
        assert_eq!(name(1, "../up"), "2-.._up.dcd");
        assert_eq!(name(2, "a b"), "3-a_b.dcd");
        assert_ne!(name(2, "a b"), name(3, "a_b"));
        assert_eq!(name(0, "..").split('.').next(), Some("1-"));
    }
}
