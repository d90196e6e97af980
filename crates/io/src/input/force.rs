//! `[[force]]`, `[metal]` and `[electrostatics]`: what acts between atoms.

use super::build::Builder;
use super::choice::ForceKind;
use super::fields::{Entry, Fields, Value, entry_span};
use super::formula;
use super::model::*;
use super::table;
use jostle_core::Result;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{EmbeddedKind, PairChoice, PairKind, Preset, Screening, ThreeBodyKind, Truncation};
use std::collections::HashMap;

impl Builder<'_> {
    /// `[[force]]` in the order of the file.
    pub(super) fn forces(
        &self,
        root: &Fields,
        species: &[Located<SpeciesInput>],
        built: bool,
    ) -> Result<Vec<Located<ForceInput>>> {
        let forces: Vec<Fields> = root.need("force")?;
        forces.iter().map(|fields| self.force(fields, species, built)).collect()
    }

    pub(super) fn force(
        &self,
        fields: &Fields,
        species: &[Located<SpeciesInput>],
        built: bool,
    ) -> Result<Located<ForceInput>> {
        let kind: ForceKind = fields.need_choice("kind")?;
        let potential = match kind {
            ForceKind::BuiltIn(kind) => PotentialInput::BuiltIn(kind),
            ForceKind::Formula => formula::potential(self.source, fields)?,
            ForceKind::Table => PotentialInput::Table,
        };
        formula::refuse_keys(self.source, kind, fields)?;
        let cutoff = fields.get::<Cutoff>("cutoff").map(|c| c.value);
        let truncation = self.truncation(fields)?;
        let names: Vec<&str> = species.iter().map(|s| s.value.name.as_str()).collect();
        let entries: Vec<Entry> = fields.need("pairs")?;
        let mut seen: HashMap<[String; 2], String> = HashMap::new();
        let mut pairs = Vec::new();
        for entry in &entries {
            let species = self.pair_names(entry, &names, built)?;
            let mut sorted = species.clone();
            sorted.sort();
            if let Some(earlier) = seen.insert(sorted, entry.name.clone()) {
                let message = format!("the pair \"{}\" is given twice, first as \"{earlier}\"", entry.name);
                return Err(self.source.error(&entry.key_span, message).hint("leave out one of the two"));
            }
            let choice = match (&entry.value, &potential) {
                (Value::Table(given), PotentialInput::BuiltIn(kind)) => PairChoice::Given {
                    parameters: kind
                        .parameters()
                        .iter()
                        .map(|p| given.get(p.name).map(|v| v.value))
                        .collect(),
                    cutoff: given.get("cutoff").map(|c| c.value),
                },
                (Value::Table(given), PotentialInput::Formula { formula, .. }) => {
                    formula::choice(self.source, formula, given)?
                }
                _ => PairChoice::None,
            };
            let table = match (&entry.value, &potential) {
                (Value::Table(given), PotentialInput::Table) => Some(table::choice(self.source, given)?),
                _ => None,
            };
            let span = entry.key_span.start.min(entry.span.start)..entry.span.end.max(entry.key_span.end);
            pairs.push(Located { value: PairInput { species, choice, table }, span });
        }
        let (preset, screening) = match &potential {
            PotentialInput::BuiltIn(kind) => {
                (self.preset(*kind, fields)?, self.pair_screening(*kind, fields)?)
            }
            PotentialInput::Formula { .. } | PotentialInput::Table => (None, None),
        };
        let value = ForceInput {
            potential,
            cutoff,
            truncation,
            tail_correction: fields.need("tail_correction")?,
            dispersion: fields
                .get::<Fields>("dispersion")
                .map(|d| Ok(Located { value: self.long_range(&d.value)?, span: d.span }))
                .transpose()?,
            tabulate: fields.need("tabulate")?,
            mixing: fields.choice("mixing"),
            preset,
            screening,
            pairs,
        };
        Ok(Located { value, span: fields.span.clone() })
    }

    fn truncation(&self, fields: &Fields) -> Result<Truncation> {
        let mut truncation: Truncation = fields.need_choice("truncation")?;
        if let Some(given) = fields.get::<f64>("switch_from") {
            let (Truncation::Switched { from } | Truncation::CharmmSwitched { from }) = &mut truncation
            else {
                let message =
                    format!("\"switch_from\" means nothing with truncation = \"{}\"", truncation.name());
                return Err(self
                    .source
                    .error(&given.span, message)
                    .hint("leave it out, or choose truncation = \"switched\" or \"charmm-switched\""));
            };
            *from = given.value;
        }
        Ok(truncation)
    }

    fn preset(&self, kind: PairKind, fields: &Fields) -> Result<Option<Located<Preset>>> {
        let Some(name) = fields.get::<String>("preset") else { return Ok(None) };
        if let Some(preset) = kind.presets().iter().find(|p| p.name == name.value) {
            return Ok(Some(Located { value: *preset, span: name.span }));
        }
        let message = format!("there is no preset \"{}\" for kind = \"{}\"", name.value, kind.name());
        let known: Vec<&str> = kind.presets().iter().map(|p| p.name).collect();
        let hint = match known.is_empty() {
            true => "leave it out and give the parameters of every pair".to_string(),
            false => format!("its presets are {}", known.join(", ")),
        };
        Err(self.source.error(&name.span, message).hint(hint))
    }

    /// The screening length that a table gives, if it does.
    fn screening(&self, fields: &Fields) -> Result<Option<Located<ScreeningInput>>> {
        if let Some(Located { value: length, span }) = fields.get::<f64>("screening_length") {
            return Ok(Some(Located { value: ScreeningInput::Length(length), span }));
        }
        let Some(Located { value: electrons, span }) = fields.get::<Fields>("screening") else {
            return Ok(None);
        };
        let name: String = electrons.need("kind")?;
        let density = electrons.get::<f64>("electron_density").map(|d| d.value);
        let screening = Screening::ALL.into_iter().find(|s| s.name() == name);
        let electrons = screening.map(|kind| ScreeningInput::Electrons { kind, density });
        let value = electrons.ok_or_else(|| self.source.error(&span, "unknown kind of screening"))?;
        Ok(Some(Located { value, span }))
    }

    /// Screening of a pair force whose kind needs it.
    fn pair_screening(&self, kind: PairKind, fields: &Fields) -> Result<Option<Located<ScreeningInput>>> {
        let given = self.screening(fields)?;
        if let Some(given) = &given
            && kind.parameters().iter().all(|p| p.name != "screening_length")
        {
            let message = format!("kind = \"{}\" has no screening length", kind.name());
            let hint = "leave it out, or choose kind = \"yukawa\"";
            return Err(self.source.error(&given.span, message).hint(hint));
        }
        Ok(given)
    }

    /// The two species of `"A-B"`. Names may have dashes of their own ("Cl-"): then the split
    /// where both names are known is meant.
    fn pair_names(&self, entry: &Entry, known: &[&str], built: bool) -> Result<[String; 2]> {
        let name = entry.name.as_str();
        let dashes = name.match_indices('-').map(|(k, _)| (&name[..k], &name[k + 1..]));
        let splits: Vec<_> = dashes.filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect();
        let sure: Vec<_> = splits.iter().filter(|(a, b)| known.contains(a) && known.contains(b)).collect();
        let error = |message: String| self.source.error(&entry.key_span, message);
        match (&sure[..], &splits[..]) {
            ([(a, b)], _) => Ok([a.to_string(), b.to_string()]),
            ([], [(a, b)]) if !built => Ok([a.to_string(), b.to_string()]),
            ([], [(a, b)]) => {
                let unknown = if known.contains(a) { b } else { a };
                let made = error(format!("\"{name}\" names the species \"{unknown}\", which does not exist"));
                Err(match jostle_core::quantity::nearest(unknown, known.iter().copied()) {
                    Some(near) => made.hint(format!("did you mean \"{near}\"?")),
                    None => made.hint(format!("the species are {}", known.join(", "))),
                })
            }
            ([], []) => Err(error(format!("\"{name}\" is not a pair of species"))
                .hint("write the two names with a dash between them: pairs.\"Ar-Ar\"")),
            ([], _) => Err(error(format!("it is not clear which two species \"{name}\" names"))
                .hint("give each of them a section [species.NAME], then their dashes are understood")),
            _ => Err(error(format!("\"{name}\" can be read as more than one pair of species"))
                .hint("choose names of species without dashes")),
        }
    }

    pub(super) fn metal(&self, fields: Located<Fields>) -> Result<Located<MetalInput>> {
        let Located { value: fields, span } = fields;
        let elements = fields.get::<Vec<String>>("elements").map(|e| e.value).unwrap_or_default();
        let functions = if fields.need::<String>("kind")? == EmbeddedKind::SuttonChen.name() {
            MetalFunctions::SuttonChen { cutoff: fields.get("cutoff").map(|c| c.value) }
        } else {
            let files = match fields.get::<Vec<String>>("files") {
                Some(files) => files.value,
                None => vec![fields.need("file")?],
            };
            MetalFunctions::Files(files.iter().map(|f| self.source.folder().join(f)).collect())
        };
        Ok(Located { value: MetalInput { functions, elements }, span })
    }

    pub(super) fn three_body(&self, fields: Located<Fields>) -> Result<Located<ThreeBodyInput>> {
        let Located { value: fields, span } = fields;
        let kind = match fields.need::<String>("kind")? == ThreeBodyKind::Tersoff.name() {
            true => ThreeBodyKind::Tersoff,
            false => ThreeBodyKind::StillingerWeber,
        };
        let file = fields.get::<String>("file").map(|file| self.source.folder().join(file.value));
        let elements = fields.get::<Vec<String>>("elements").map(|e| e.value).unwrap_or_default();
        Ok(Located { value: ThreeBodyInput { kind, file, elements }, span })
    }

    /// Treatment of forces beyond their cut-off.
    fn long_range(&self, fields: &Fields) -> Result<ElectrostaticsKind> {
        Ok(match fields.need::<String>("kind")?.as_str() {
            "pme" => {
                let order = fields.need::<u64>("order")? as usize;
                if !Method::ORDERS.contains(&order) {
                    let message = format!("order = {order}, but it must be 4, 5 or 6");
                    return Err(self.source.error(&entry_span(fields, "order"), message));
                }
                ElectrostaticsKind::Pme { accuracy: fields.need("accuracy")?, order }
            }
            "ewald" => ElectrostaticsKind::Ewald { accuracy: fields.need("accuracy")? },
            "reaction-field" => {
                ElectrostaticsKind::ReactionField { dielectric: fields.get("dielectric").map(|d| d.value) }
            }
            _ => ElectrostaticsKind::Cutoff,
        })
    }

    pub(super) fn electrostatics(&self, fields: Located<Fields>) -> Result<Located<ElectrostaticsInput>> {
        let Located { value: fields, span } = fields;
        let kind = self.long_range(&fields)?;
        let cutoff = fields.get("cutoff").map(|c| c.value);
        let net_charge = fields.choice("net_charge").map(|n| n.value).unwrap_or_default();
        let screening = self.screening(&fields)?;
        Ok(Located { value: ElectrostaticsInput { kind, cutoff, net_charge, screening }, span })
    }
}
