//! `[[group]]`, `[[restraint]]`, and atoms chosen by words elsewhere in an input.

use super::fields::Fields;
use super::model::{GroupInput, Holds, Input, Located, RestraintInput, Source};
use crate::Selection;
use crate::select::Fault;
use jostle_core::group::{Group, chosen};
use jostle_core::{Driven, Error, Result, System};
use jostle_potentials::Forces;
use jostle_potentials::restraint::{Anchor, Center, Distance, Restraints};
use std::ops::Range;

/// A selection, from where it stands.
fn selection(source: &Source, text: Located<String>) -> Result<Located<Selection>> {
    let Located { value, span } = text;
    let parsed = Selection::parse(&value).map_err(|fault| point_at(source, &span, &value, fault))?;
    Ok(Located { value: parsed, span })
}

/// What is wrong with a selection, where it stands in an input.
fn point_at(source: &Source, span: &Range<usize>, selection: &str, fault: Fault) -> Error {
    // Where a string has escapes in it, places in it are others than in the file.
    let written = source.text.get(span.clone()).and_then(|raw| raw.find(selection));
    let here = match written {
        Some(begin) if !fault.span.is_empty() => {
            span.start + begin + fault.span.start..span.start + begin + fault.span.end
        }
        _ => span.clone(),
    };
    source.error(&here, fault.message).hint(fault.hint)
}

/// `atoms = "..."` or `group = "..."`
pub(super) fn atoms(source: &Source, fields: &Fields) -> Result<Option<Located<Selection>>> {
    let of_group =
        |Located { value, span }: Located<String>| Located { value: format!("group \"{value}\""), span };
    let text = fields.get("atoms").or_else(|| fields.get("group").map(of_group));
    text.map(|text| selection(source, text)).transpose()
}

/// `[[group]]`
pub(super) fn groups(source: &Source, tables: &[Fields]) -> Result<Vec<Located<GroupInput>>> {
    let mut groups: Vec<Located<GroupInput>> = Vec::new();
    for fields in tables {
        let name: Located<String> =
            fields.get("name").unwrap_or(Located { value: String::new(), span: 0..0 });
        if name.value.is_empty() || name.value.contains(|c: char| c.is_whitespace() || c == '"') {
            let message = format!("\"{}\" cannot be the name of a group", name.value);
            return Err(source.error(&name.span, message).hint("use a name without spaces: slab"));
        }
        if groups.iter().any(|group| group.value.name == name.value) {
            let message = format!("there are two groups \"{}\"", name.value);
            return Err(source.error(&name.span, message).hint("choose another name for one of them"));
        }
        let atoms =
            fields.get("atoms").unwrap_or(Located { value: String::new(), span: fields.span.clone() });
        let frozen = fields.get::<bool>("frozen").and_then(|f| f.value.then_some([0.0; 3]));
        let value = GroupInput {
            name: name.value,
            atoms: selection(source, atoms)?,
            driven: fields.get::<[f64; 3]>("velocity").map(|v| v.value).or(frozen),
            reported: fields.need("report")?,
        };
        groups.push(Located { value, span: fields.span.clone() });
    }
    Ok(groups)
}

/// `[[restraint]]`
pub(super) fn restraint(source: &Source, fields: &Fields) -> Result<Located<RestraintInput>> {
    let span = fields.span.clone();
    let stiffness = fields.need("stiffness")?;
    if let Some(places) = atoms(source, fields)? {
        return Ok(Located { value: RestraintInput { stiffness, holds: Holds::Places(places) }, span });
    }
    let between: Located<Vec<String>> =
        fields.get("between").unwrap_or(Located { value: Vec::new(), span: span.clone() });
    let one = |text: &String| selection(source, Located { value: text.clone(), span: between.span.clone() });
    let selections = between.value.iter().map(one).collect::<Result<Vec<_>>>()?;
    let Ok(two) = <[Located<Selection>; 2]>::try_from(selections) else {
        let message = format!("a distance is between two selections, not {}", between.value.len());
        let hint = "write between = [\"index 3\", \"resid 5 and name CA\"]";
        return Err(source.error(&between.span, message).hint(hint));
    };
    let number = |key: &str| fields.get::<f64>(key).map(|x| x.value);
    let range = match (number("length"), number("from"), number("to")) {
        (Some(length), ..) => [length; 2],
        (None, None, None) => {
            let error = source.error(&span, "the restraint does not say at what distance");
            return Err(error.hint("give length, or from and to, or one of them"));
        }
        (None, from, to) => [from.unwrap_or(0.0), to.unwrap_or(f64::INFINITY)],
    };
    if range[0] > range[1] {
        let message = format!("from = {} is beyond to = {}", range[0], range[1]);
        return Err(source.error(&span, message).hint("exchange them"));
    }
    Ok(Located { value: RestraintInput { stiffness, holds: Holds::Distance { between: two, range } }, span })
}

impl RestraintInput {
    /// The atoms that it speaks of.
    fn selections(&self) -> &[Located<Selection>] {
        match &self.holds {
            Holds::Places(atoms) => std::slice::from_ref(atoms),
            Holds::Distance { between, .. } => between,
        }
    }
}

impl Input {
    /// Chooses all atoms that the input speaks of by words, among those of a system as it begins.
    ///
    /// # Errors
    /// If a selection has no atoms, or speaks of what is not there; the error points at the word.
    pub fn choose(&self, system: &mut System) -> Result<()> {
        system.groups.clear();
        system.anchors.clear();
        if !self.restraints.is_empty() {
            let System { simbox, state, .. } = &*system;
            let places = state.order().into_iter().map(|place| {
                let (r, shift) = (state.position[place], simbox.shift(state.image[place]));
                [0, 1, 2].map(|k| r[k] + shift[k])
            });
            system.anchors = places.collect();
        }
        let named = self.groups.iter().map(|group| (group.value.name.as_str(), &group.value.atoms));
        let of_fields = self.fields.iter().filter_map(|field| field.value.atoms.as_ref());
        let of_stages = self.stages.iter().flat_map(|stage| &stage.value.measures);
        let of_measures = of_stages.filter_map(|measure| measure.value.atoms.as_ref());
        let of_restraints = self.restraints.iter().flat_map(|restraint| restraint.value.selections());
        let unnamed = of_fields.chain(of_measures).chain(of_restraints).map(|atoms| ("", atoms));
        for (name, Located { value, span }) in named.chain(unnamed) {
            if name.is_empty() && chosen(&system.groups, value.text()).is_some() {
                continue;
            }
            let atoms = value
                .some_ids(system, self.units)
                .map_err(|fault| point_at(&self.source, span, value.text(), fault))?;
            system.groups.push(Group { name: name.into(), selection: value.text().into(), atoms });
        }
        Ok(())
    }

    /// Tells the fields of the input which of the chosen atoms they act on, and adds the restraints.
    ///
    /// # Errors
    /// If atoms were chosen by another input.
    pub fn apply_groups(&self, system: &System, forces: &mut Forces) -> Result<()> {
        for (field, given) in forces.fields.iter_mut().zip(&self.fields) {
            if let Some(atoms) = &given.value.atoms {
                field.only(self.chosen(system, atoms)?, system.state.len());
            }
        }
        forces.restraints = Restraints::default();
        for Located { value: RestraintInput { stiffness, holds }, .. } in &self.restraints {
            match holds {
                Holds::Places(atoms) => {
                    let anchor = |id: &u32| {
                        let place = system.anchors[*id as usize];
                        Anchor { atom: *id, place, stiffness: *stiffness }
                    };
                    forces.restraints.anchors.extend(self.chosen(system, atoms)?.iter().map(anchor));
                }
                Holds::Distance { between: [a, b], range } => {
                    let center =
                        |atoms| Ok(Center::new(system, self.chosen(system, atoms)?, &system.anchors));
                    let centers = [center(a)?, center(b)?];
                    let distance = Distance { centers, range: *range, stiffness: *stiffness };
                    forces.restraints.distances.push(distance);
                }
            }
        }
        Ok(())
    }

    /// Who was chosen by a selection of this input.
    fn chosen<'a>(&self, system: &'a System, atoms: &Located<Selection>) -> Result<&'a [u32]> {
        chosen(&system.groups, atoms.value.text()).ok_or_else(|| {
            let message = "these atoms are not among those that were chosen when the run began";
            self.source.error(&atoms.span, message).hint("begin a new run with this input")
        })
    }

    /// The velocities that atoms keep, of some species and of some groups.
    ///
    /// # Errors
    /// If an atom is in two groups that are driven.
    pub fn driven(&self, system: &System) -> Result<Driven> {
        let mut driven = self.driven_species(&system.species);
        let mut taken = vec![false; system.state.len()];
        for group in &self.groups {
            let Some(velocity) = group.value.driven else { continue };
            let atoms = self.chosen(system, &group.value.atoms)?;
            if let Some(id) = atoms.iter().find(|id| taken[**id as usize]) {
                let message = format!("{} is in two groups that are driven", system.names.describe(*id));
                return Err(self
                    .source
                    .error(&group.span, message)
                    .hint("take it out of one: \"and not group ...\""));
            }
            atoms.iter().for_each(|id| taken[*id as usize] = true);
            driven = driven.with(&system.state, atoms, velocity);
        }
        Ok(driven)
    }

    /// The names of the groups that are reported.
    pub fn reported_groups(&self) -> Vec<String> {
        let reported = self.groups.iter().filter(|group| group.value.reported);
        reported.map(|group| group.value.name.clone()).collect()
    }
}
