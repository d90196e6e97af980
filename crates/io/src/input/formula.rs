//! Forces that are written down: `kind = "formula"`.

use super::choice::ForceKind;
use super::fields::{Entry, Fields, Value, entry_span};
use super::model::{Cutoff, ForceInput, Input, Located, PotentialInput, Source, WALL};
use jostle_core::quantity::nearest;
use jostle_core::{Error, Result, Species};
use jostle_potentials::formula::{FormulaForce, Mistake};
use jostle_potentials::{Formula, PairChoice, PairTerm};
use std::collections::HashMap;
use std::ops::Range;

/// Numbers by name that a key has.
pub(super) fn numbers(fields: &Fields, key: &str) -> Vec<(String, f64)> {
    let entries: Vec<Entry> = fields.get(key).map(|e| e.value).unwrap_or_default();
    let number = |e: Entry| match e.value {
        Value::Number(x) => Some((e.name, x)),
        _ => None,
    };
    entries.into_iter().filter_map(number).collect()
}

/// Keys that mean nothing for a kind of force, and the hint where they are given.
pub(super) fn foreign_keys(kind: ForceKind) -> (&'static [&'static str], &'static str) {
    match kind {
        ForceKind::BuiltIn(_) => (&["energy", "parameters"], "leave it out, or choose kind = \"formula\""),
        ForceKind::Formula => (
            &["mixing", "preset", "screening_length", "screening"],
            "give the parameters of every pair, or constants to the species",
        ),
        ForceKind::Table => (
            &[
                "energy",
                "parameters",
                "mixing",
                "preset",
                "screening_length",
                "screening",
                "tail_correction",
                "dispersion",
                "tabulate",
            ],
            "leave it out: the file has all there is",
        ),
    }
}

/// Refuses keys that mean nothing for this kind of force.
pub(super) fn refuse_keys(source: &Source, kind: ForceKind, fields: &Fields) -> Result<()> {
    let (foreign, hint) = foreign_keys(kind);
    if let Some(entry) = foreign.iter().find_map(|key| fields.entry(key).filter(|_| fields.has_key(key))) {
        let name = super::NamedChoice::name(kind);
        let message = format!("\"{}\" means nothing with kind = \"{name}\"", entry.name);
        return Err(source.error(&entry.key_span, message).hint(hint));
    }
    Ok(())
}

/// The formula of a force.
pub(super) fn potential(source: &Source, fields: &Fields) -> Result<PotentialInput> {
    let Some(energy) = fields.get::<String>("energy") else {
        return Err(source
            .error(&fields.span, "kind = \"formula\" needs \"energy\": u(r) as a formula")
            .hint("add for example energy = \"4 epsilon ((sigma/r)^12 - (sigma/r)^6)\""));
    };
    let formula = Formula::new(&energy.value).map_err(|mistake| point(source, &energy, mistake))?;
    let parameters = numbers(fields, "parameters");
    for (name, _) in &parameters {
        if !formula.parameters().contains(name) {
            return Err(unknown(source, &formula, name, &entry_span(fields, "parameters")));
        }
    }
    Ok(PotentialInput::Formula { formula: formula.into(), parameters })
}

/// Place in the file of some bytes of a text; that of the whole text where it is written with escapes.
pub(super) fn place(source: &Source, text: &str, span: &Range<usize>, at: &Range<usize>) -> Range<usize> {
    let written = source.text.get(span.clone()).unwrap_or("");
    match written.find(text) {
        Some(start) => span.start + start + at.start..span.start + start + at.end,
        None => span.clone(),
    }
}

/// The error of a mistake in a formula, which points at it.
pub(super) fn point(source: &Source, text: &Located<String>, mistake: Mistake) -> Error {
    let at = place(source, &text.value, &text.span, &mistake.at);
    source.error(&at, mistake.message).hint(mistake.hint)
}

/// The error of a number that the formula does not have.
pub(super) fn unknown(source: &Source, formula: &Formula, name: &str, span: &Range<usize>) -> Error {
    let names = formula.parameters().iter().map(String::as_str);
    let error = source.error(span, format!("there is no \"{name}\" in the formula"));
    match nearest(name, names.clone()) {
        Some(near) => error.hint(format!("did you mean \"{near}\"?")),
        None => error.hint(format!("its parameters are {}", names.collect::<Vec<_>>().join(", "))),
    }
}

/// Parameters of a pair.
pub(super) fn choice(source: &Source, formula: &Formula, given: &Fields) -> Result<PairChoice> {
    let names = formula.parameters();
    let known = |e: &&Entry| e.name != "cutoff" && !names.contains(&e.name);
    if let Some(entry) = given.entries.iter().find(known) {
        return Err(unknown(source, formula, &entry.name, &entry.key_span));
    }
    let parameters = names.iter().map(|name| given.get::<f64>(name).map(|v| v.value)).collect();
    Ok(PairChoice::Given { parameters, cutoff: given.get("cutoff").map(|c| c.value) })
}

impl Input {
    /// The term of a formula, for these species.
    pub(super) fn formula_term(
        &self,
        force: &ForceInput,
        (formula, shared): (&Formula, &[(String, f64)]),
        species: &[Species],
    ) -> Result<PairTerm> {
        let wall = species.iter().position(|s| s.name == WALL).filter(|_| !self.walls.is_empty());
        let constants = |(k, s): (usize, &Species)| {
            if wall == Some(k) {
                return HashMap::new();
            }
            let said = self.species.iter().find(|other| other.value.name == s.name);
            let mut all: HashMap<String, f64> = said.iter().flat_map(|s| s.value.constants.clone()).collect();
            all.insert("mass".into(), self.units.mass_to_user(s.mass));
            all.insert("charge".into(), s.charge);
            all
        };
        let mut parameters: HashMap<String, f64> = shared.iter().cloned().collect();
        parameters.entry("coulomb".into()).or_insert(self.units.coulomb());
        let mut pairs = Vec::new();
        for pair in &force.pairs {
            let index = |name: &String| {
                species.iter().position(|s| s.name == *name).ok_or_else(|| {
                    let known: Vec<&str> = species.iter().map(|s| s.name.as_str()).collect();
                    let error = self.source.error(&pair.span, format!("there is no species '{name}'"));
                    error.hint(format!("the species are {}", known.join(", ")))
                })
            };
            let [a, b] = &pair.value.species;
            pairs.push(([index(a)?, index(b)?], pair.value.choice.clone()));
        }
        let force = FormulaForce {
            formula,
            truncation: force.truncation,
            species: species.iter().enumerate().map(|(k, s)| (s.name.as_str(), constants((k, s)))).collect(),
            wall,
            parameters,
            cutoff: force.cutoff.and_then(Cutoff::length),
            pairs,
        };
        force.build()
    }
}
