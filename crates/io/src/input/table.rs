//! Forces from files: `kind = "table"`.

use super::fields::{Fields, entry_span};
use super::model::{Cutoff, ForceInput, Input, Located, PairInput, Source, TableInput};
use crate::table::PairTable;
use jostle_core::{Error, Result, Species};
use jostle_potentials::table::{Curve, Tables, truncated};
use jostle_potentials::{PairEntry, PairTerm, Truncation};

/// Facts about the table of a pair of species.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFacts {
    /// The two species.
    pub species: [String; 2],
    /// Number of cubics.
    pub intervals: usize,
    /// The first distance and the cut-off.
    pub range: [f64; 2],
    /// The largest difference to the numbers of the file, relative to energy and r times force.
    pub error: f64,
}

/// File and section of the table of a pair.
pub(super) fn choice(source: &Source, given: &Fields) -> Result<TableInput> {
    let file: String = given.need("file")?;
    Ok(TableInput {
        file: source.folder().join(file),
        section: given.get("section").map(|s| s.value),
        cutoff: given.get("cutoff").map(|c| c.value),
        span: entry_span(given, "file"),
    })
}

impl Input {
    /// The term of tables, for these species, and how exact they are.
    pub(super) fn table_term(
        &self,
        force: &Located<ForceInput>,
        species: &[Species],
    ) -> Result<(PairTerm, Vec<TableFacts>)> {
        let ForceInput { truncation, cutoff, pairs, .. } = &force.value;
        let n = species.len();
        let (mut curves, mut entries, mut facts) = (Vec::new(), Vec::new(), Vec::new());
        for (a, b) in (0..n).flat_map(|a| (a..n).map(move |b| (a, b))) {
            let names = [a, b].map(|k| species[k].name.clone());
            let about = |pair: &&Located<PairInput>| {
                let [p, q] = &pair.value.species;
                [p, q] == [&names[0], &names[1]] || [q, p] == [&names[0], &names[1]]
            };
            let [p, q] = &names;
            let Some(pair) = pairs.iter().find(about) else {
                let message = format!("nothing is said about the pair {p}-{q}");
                return Err(self.source.error(&force.span, message).hint(format!(
                    "add pairs.\"{p}-{q}\" = {{ file = \"...\" }}, or \"none\" if they do not interact"
                )));
            };
            let Some(table) = &pair.value.table else { continue };
            let at = |e: Error| {
                e.context(format!("pair {p}-{q}")).at_span(
                    &self.source.path,
                    &self.source.text,
                    table.span.clone(),
                )
            };
            let file = PairTable::read(&table.file, table.section.as_deref(), self.units).map_err(at)?;
            let [from, to] = file.range();
            let cutoff = table.cutoff.or(cutoff.and_then(Cutoff::length)).unwrap_or(to);
            if cutoff <= from || cutoff > to * (1.0 + 1e-9) {
                let message = format!("cutoff = {cutoff}, but the file has distances from {from} to {to}");
                return Err(at(
                    Error::input(message).hint("choose a cut-off within that range, or leave it out")
                ));
            }
            let function = truncated(*truncation, cutoff, |r| file.at(r));
            let curve = Curve::through(from, cutoff, &function);
            let error = curve.error(file.distances().filter(|r| *r <= cutoff), &function);
            facts.push(TableFacts {
                species: names,
                intervals: curve.n_intervals(),
                range: [from, cutoff],
                error,
            });
            entries.push((a, b, PairEntry { parameters: vec![curves.len() as f64], cutoff }));
            curves.push(curve);
        }
        let mut term = PairTerm::new(Tables::new("table", curves), Truncation::Plain, n);
        for (a, b, entry) in entries {
            term.set(a, b, entry);
        }
        Ok((term, facts))
    }

    /// Facts about the tables of the input's forces, for these species.
    ///
    /// # Errors
    /// If a file cannot be read or understood.
    pub fn tables(&self, species: &[Species]) -> Result<Vec<TableFacts>> {
        let tables = self.forces.iter().filter(|f| f.value.potential == super::model::PotentialInput::Table);
        let mut facts = Vec::new();
        for force in tables {
            facts.extend(self.table_term(force, species)?.1);
        }
        Ok(facts)
    }
}
