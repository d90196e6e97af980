//! `jostle select`

use crate::arguments::{SelectOptions, SetOptions};
use crate::input_file;
use crate::numbers::grouped;
use crate::output;
use jostle_core::{Result, System};
use jostle_engine::system_from_input;
use jostle_io::Selection;
use jostle_io::select::keywords;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Prints which atoms of the system that an input describes a selection chooses.
///
/// # Errors
/// If the input or the selection is wrong.
pub fn select(options: &SelectOptions) -> Result<()> {
    let text = &options.selection;
    let selection = Selection::parse(text).map_err(|fault| fault.alone(text))?;
    let input = input_file::read(&options.file, &SetOptions::default())?;
    let (system, _) = system_from_input(&input)?;
    let ids = selection.ids(&system, input.units).map_err(|fault| fault.alone(text))?;
    let index_by_id = system.state.index_by_id();
    if options.format.json {
        let atoms: Vec<_> = ids.iter().map(|id| atom_json(&system, *id, index_by_id.of(*id))).collect();
        return output::print_json(&json!({ "selection": text, "count": ids.len(), "atoms": atoms }));
    }
    let mut text = format!("{} of {} atoms\n", grouped(ids.len() as u64), grouped(index_by_id.len() as u64));
    for id in ids {
        let _ = writeln!(text, "{id:>8}  {}", describe(&system, id, index_by_id.of(id)));
    }
    output::print(&text)
}

fn species(system: &System, index: usize) -> &str {
    &system.species[usize::from(system.state.species[index])].name
}

fn describe(system: &System, id: u32, index: usize) -> String {
    let known = system.names.atoms.get(id as usize);
    known.map_or(species(system, index).to_string(), |_| system.names.describe(id))
}

fn atom_json(system: &System, id: u32, index: usize) -> Value {
    let mut atom = json!({
        "index": id,
        "species": species(system, index),
        "position": system.state.position[index],
    });
    let known = system.names.atoms.get(id as usize);
    if let (Some(known), Value::Object(atom)) = (known, &mut atom) {
        atom.insert("name".into(), json!(known.name));
        if let Some(residue) = system.names.residues.get(known.residue as usize) {
            atom.insert("resname".into(), json!(residue.name));
            atom.insert("resid".into(), json!(residue.number));
            if !residue.insertion.is_empty() {
                atom.insert("insertion".into(), json!(residue.insertion));
            }
            atom.insert("chain".into(), json!(residue.chain));
        }
    }
    atom
}

/// The words of selections, for `jostle help select`.
pub fn help() -> String {
    format!(
        "Examples:\n  \
        jostle select protein.toml \"protein and name CA\"\n  \
        jostle select protein.toml \"same residue as (water and within 5 of resname LIG)\" --json\n  \
        jostle select mixture.toml \"species Ar and x > 10\"\n\n{}",
        keywords::help()
    )
}
