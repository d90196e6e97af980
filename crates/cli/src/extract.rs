//! `jostle extract`

use crate::arguments::{ExtractOptions, SetOptions};
use crate::input_file;
use crate::new_system::{NewSystem, length};
use crate::numbers::grouped;
use crate::output;
use jostle_core::{Error, Result, System, shell_word};
use jostle_engine::build::extraction::{Extraction, sections_left_out};
use jostle_engine::{Checkpoint, Existing, system_from_input};
use jostle_io::{Input, Selection};
use serde_json::json;
use std::path::Path;

/// Writes a part of a system as one of its own: chosen residues that move, and a frozen shell around them.
///
/// # Errors
/// If the input or the selection is wrong, the run is another one, or a file exists. Nothing is written then.
pub fn extract(options: &ExtractOptions) -> Result<()> {
    let text = &options.selection;
    let selection = Selection::parse(text).map_err(|fault| fault.alone(text))?;
    let existing = if options.overwrite { Existing::Replace } else { Existing::Refuse };
    let new = NewSystem::at(&options.output, existing)?;
    let input = input_file::read(&options.file, &SetOptions::default())?;
    let shell = length("shell", &options.shell, input.units)?;
    let (mut system, _) = system_from_input(&input)?;
    if let Some(run) = &options.run {
        take_positions(&mut system, run, &input)?;
    }
    let chosen = selection.some_ids(&system, input.units).map_err(|fault| fault.alone(text))?;
    let part = Extraction::of(&system, &chosen, shell, input.units)?;
    new.write(&part.files(&input, &system, &new.name)?)?;
    let sections = sections_left_out(&input);
    if !sections.is_empty() {
        say!("the new input has none of {} of {}", sections.join(", "), options.file.display());
    }
    report(options, &part, &system, &new)
}

/// Takes the box and the positions of the last checkpoint of a run.
fn take_positions(system: &mut System, run: &Path, input: &Input) -> Result<()> {
    let checkpoint = if run.is_dir() { Checkpoint::of_run(run)? } else { Checkpoint::read(run)? };
    let units = checkpoint.units()?;
    let found = checkpoint.into_system()?;
    let [there, here] = [found.state.len(), system.state.len()];
    if there != here || units != input.units || found.topology != system.topology {
        let message =
            format!("this run has {there} atoms in units of \"{units}\", and is not one of the input");
        return Err(Error::file(run, message).hint("give the input that the run began with"));
    }
    (system.simbox, system.state) = (found.simbox, found.state);
    Ok(())
}

fn report(options: &ExtractOptions, part: &Extraction, system: &System, new: &NewSystem) -> Result<()> {
    let [molten, shell] = [part.molten.len(), part.shell.len()];
    let left_out = system.state.len() - molten - shell;
    let count = |n: usize| grouped(n as u64);
    say!(
        "{} atoms move, {} around them are frozen, {} are left out",
        count(molten),
        count(shell),
        count(left_out)
    );
    let [topology, coordinates, input] = new.names();
    say!("wrote {topology}, {coordinates}, {input}; next: jostle run {} --view", shell_word(&input));
    if options.format.json {
        output::print_json(&json!({
            "molten": part.molten,
            "shell": part.shell,
            "left_out": left_out,
            "files": new.names(),
        }))?;
    }
    Ok(())
}
