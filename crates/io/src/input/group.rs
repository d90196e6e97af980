//! `[[group]]`, `[[restraint]]`, and atoms chosen by words elsewhere in an input.

use super::fields::Fields;
use super::model::{
    FieldInput, FieldStrength, GroupInput, Holds, Input, InteractionInput, Located, RestraintInput, Scaling,
    Source,
};
use crate::Selection;
use crate::select::Fault;
use jostle_core::group::{Group, chosen};
use jostle_core::{Driven, Error, Result, System, UnitSystem, Vec3, Vector, WholeGroups};
use jostle_potentials::Forces;
use jostle_potentials::restraint::{Anchor, Center, Distance, Restraints, Spring};
use std::ops::Range;

/// A selection, from where it stands.
pub(super) fn selection(source: &Source, text: Located<String>) -> Result<Located<Selection>> {
    let Located { value, span } = text;
    let parsed = Selection::parse(&value).map_err(|fault| point_at(source, &span, &value, fault))?;
    Ok(Located { value: parsed, span })
}

/// Error for a fault of a selection, at its place in the input.
fn point_at(source: &Source, span: &Range<usize>, selection: &str, fault: Fault) -> Error {
    // Escapes in a string shift the places in it from those in the file.
    let written = source.text.get(span.clone()).and_then(|raw| raw.find(selection));
    let here = match written {
        Some(begin) if !fault.span.is_empty() => {
            span.start + begin + fault.span.start..span.start + begin + fault.span.end
        }
        _ => span.clone(),
    };
    source.error(&here, fault.message).hint(fault.hint)
}

/// Ids of the atoms that a selection has, of which there must be one.
pub(super) fn some_ids(
    source: &Source,
    Located { value, span }: &Located<Selection>,
    system: &System,
    units: UnitSystem,
) -> Result<Vec<u32>> {
    value.some_ids(system, units).map_err(|fault| point_at(source, span, value.text(), fault))
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
        let frozen = fields.get::<bool>("frozen").and_then(|f| f.value.then_some(Vec3::ZERO));
        let value = GroupInput {
            name: name.value,
            atoms: selection(source, atoms)?,
            driven: fields.get::<[f64; 3]>("velocity").map(|v| Vector(v.value)).or(frozen),
            reported: fields.need("report")?,
        };
        groups.push(Located { value, span: fields.span.clone() });
    }
    Ok(groups)
}

/// All `[[restraint]]`
pub(super) fn restraints(source: &Source, tables: &[Fields]) -> Result<Vec<Located<RestraintInput>>> {
    let mut restraints: Vec<Located<RestraintInput>> = Vec::new();
    for fields in tables {
        let restraint = restraint(source, fields)?;
        if let Some(Located { value: name, span }) = fields.get::<String>("name") {
            if name.is_empty() || name.trim() != name {
                let message = format!("\"{name}\" cannot be the name of a restraint");
                return Err(source.error(&span, message).hint("use a name like backbone"));
            }
            if restraints.iter().any(|other| other.value.name.as_ref() == Some(&name)) {
                let message = format!("there are two restraints \"{name}\"");
                return Err(source.error(&span, message).hint("choose another name for one of them"));
            }
        }
        restraints.push(restraint);
    }
    Ok(restraints)
}

/// `[[restraint]]`
fn restraint(source: &Source, fields: &Fields) -> Result<Located<RestraintInput>> {
    let span = fields.span.clone();
    let stiffness = fields.need("stiffness")?;
    let name = fields.get::<String>("name").map(|name| name.value);
    if let Some(atoms) = atoms(source, fields)? {
        let holds = Holds::Places { atoms, scaling: fields.need_choice("scaling")? };
        return Ok(Located { value: RestraintInput { name, stiffness, holds }, span });
    }
    let two = two_selections(source, fields, "a distance")?;
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
    let holds = Holds::Distance { between: two, range };
    Ok(Located { value: RestraintInput { name, stiffness, holds }, span })
}

/// Name of a table, which formulas and columns can have.
pub(super) fn name(source: &Source, fields: &Fields, what: &str) -> Result<Located<String>> {
    let name: Located<String> =
        fields.get("name").unwrap_or(Located { value: String::new(), span: fields.span.clone() });
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    if name.value.is_empty()
        || !name.value.chars().all(plain)
        || name.value.starts_with(|c: char| c.is_numeric())
    {
        let message = format!("\"{}\" cannot be the name of a {what}", name.value);
        return Err(source.error(&name.span, message).hint("use letters, digits and underscores: phi_1"));
    }
    Ok(name)
}

/// The two selections of `between`.
fn two_selections(source: &Source, fields: &Fields, what: &str) -> Result<[Located<Selection>; 2]> {
    let between: Located<Vec<String>> =
        fields.get("between").unwrap_or(Located { value: Vec::new(), span: fields.span.clone() });
    let one = |text: &String| selection(source, Located { value: text.clone(), span: between.span.clone() });
    let selections = between.value.iter().map(one).collect::<Result<Vec<_>>>()?;
    <[Located<Selection>; 2]>::try_from(selections).map_err(|selections| {
        let message = format!("{what} is between two selections, not {}", selections.len());
        source.error(&between.span, message).hint("write between = [\"index 3\", \"resid 5 and name CA\"]")
    })
}

/// All `[[interaction]]`
pub(super) fn interactions(source: &Source, tables: &[Fields]) -> Result<Vec<Located<InteractionInput>>> {
    let mut interactions: Vec<Located<InteractionInput>> = Vec::new();
    for fields in tables {
        let name = name(source, fields, "interaction")?;
        if interactions.iter().any(|other| other.value.name == name.value) {
            let message = format!("there are two interactions \"{}\"", name.value);
            return Err(source.error(&name.span, message).hint("choose another name for one of them"));
        }
        let between = two_selections(source, fields, "an interaction")?;
        let value = InteractionInput { name: name.value, between };
        interactions.push(Located { value, span: fields.span.clone() });
    }
    Ok(interactions)
}

impl RestraintInput {
    /// Selections of the restraint.
    fn selections(&self) -> &[Located<Selection>] {
        match &self.holds {
            Holds::Places { atoms, .. } => std::slice::from_ref(atoms),
            Holds::Distance { between, .. } => between,
        }
    }
}

impl Input {
    /// Chooses the atoms of all selections of the input, among those of a system as it begins.
    ///
    /// # Errors
    /// If a selection has no atoms, or names something that is not there; the error points at the word.
    pub fn choose(&self, system: &mut System) -> Result<()> {
        system.groups.clear();
        (system.reference_positions, system.reference_box) = (Vec::new(), None);
        if !self.restraints.is_empty() {
            system.reference_positions = system.unwrapped_by_id();
            system.reference_box = Some(system.simbox);
        }
        let named = self.groups.iter().map(|group| (group.value.name.as_str(), &group.value.atoms));
        let of_fields = self.fields.iter().filter_map(|field| field.value.atoms.as_ref());
        let of_stages = self.stages.iter().flat_map(|stage| &stage.value.measures);
        let of_measures = of_stages.filter_map(|measure| measure.value.atoms.as_ref());
        let of_restraints = self.restraints.iter().flat_map(|restraint| restraint.value.selections());
        let of_variables = self.variables.iter().flat_map(|variable| &variable.value.selections);
        let of_interactions = self.interactions.iter().flat_map(|interaction| &interaction.value.between);
        let of_bodies = self.rigid.iter().map(|rigid| &rigid.value.atoms);
        let of_alchemy = self.alchemy.iter().flat_map(|alchemy| alchemy.value.selections());
        let unnamed = of_fields
            .chain(of_measures)
            .chain(of_restraints)
            .chain(of_variables)
            .chain(of_alchemy)
            .chain(of_bodies)
            .chain(of_interactions);
        let unnamed = unnamed.map(|atoms| ("", atoms));
        for (name, given) in named.chain(unnamed) {
            let value = &given.value;
            if name.is_empty() && chosen(&system.groups, value.text()).is_some() {
                continue;
            }
            let atoms = some_ids(&self.source, given, system, self.units)?;
            system.groups.push(Group { name: name.into(), selection: value.text().into(), atoms });
        }
        Ok(())
    }

    /// Tells the fields of the input which of the chosen atoms they act on, and adds the restraints.
    ///
    /// # Errors
    /// If atoms were chosen by another input, or a restraint needs a centre of atoms without mass.
    pub fn apply_groups(&self, system: &System, forces: &mut Forces) -> Result<()> {
        forces.formula_fields = self.formula_fields(system)?;
        let is_uniform =
            |field: &&Located<FieldInput>| !matches!(field.value.strength, FieldStrength::Energy(_));
        let numbered = || self.fields.iter().zip(1..);
        let (uniform, formulas): (Vec<_>, Vec<_>) = numbered().partition(|(field, _)| is_uniform(field));
        forces.field_numbers = uniform.into_iter().chain(formulas).map(|(_, number)| number).collect();
        for (field, given) in forces.fields.iter_mut().zip(self.fields.iter().filter(is_uniform)) {
            if let Some(atoms) = &given.value.atoms {
                field.only(self.chosen(system, atoms)?, system.state.len());
            }
        }
        forces.restraints = Restraints::default();
        if self.restraints.is_empty() {
            return Ok(());
        }
        let start = WholeGroups::of_start(system);
        let Restraints { springs, anchors, distances } = &mut forces.restraints;
        for (spring, restraint) in (0..).zip(&self.restraints) {
            let mut own = Spring::new(restraint.value.stiffness);
            match &restraint.value.holds {
                Holds::Places { atoms, scaling } => {
                    let chosen = self.chosen(system, atoms)?;
                    // Any image of a place is as good as another, but for a centre.
                    let place = |id: &u32| match scaling {
                        Scaling::Center => start.in_whole_molecule(*id),
                        Scaling::None => system.reference_positions[*id as usize],
                    };
                    let places: Vec<Vec3> = chosen.iter().map(place).collect();
                    let center = match scaling {
                        Scaling::Center => Some(self.center_of_mass(system, (atoms, chosen), &places)?),
                        Scaling::None => None,
                    };
                    own.center = center.zip(system.reference_box).map(|(r, then)| then.to_fractional(r));
                    let from = center.unwrap_or_default();
                    let anchor =
                        |(atom, place): (&u32, Vec3)| Anchor { atom: *atom, place: place - from, spring };
                    anchors.extend(chosen.iter().zip(places).map(anchor));
                }
                Holds::Distance { between: [a, b], range } => {
                    let center = |atoms| {
                        let chosen = self.chosen(system, atoms)?;
                        self.center_of_mass(system, (atoms, chosen), &start.positions(chosen))?;
                        Ok(Center::new(system, &start, chosen))
                    };
                    let centers = [center(a)?, center(b)?];
                    distances.push(Distance { centers, range: *range, spring });
                }
            }
            springs.push(own);
        }
        Ok(())
    }

    /// The centre of mass of the atoms that a selection has, at these places.
    ///
    /// # Errors
    /// If they have no mass.
    fn center_of_mass(
        &self,
        system: &System,
        (selection, atoms): (&Located<Selection>, &[u32]),
        places: &[Vec3],
    ) -> Result<Vec3> {
        let index_by_id = system.state.index_by_id();
        let (mut center, mut total) = (Vec3::ZERO, 0.0);
        for (id, place) in atoms.iter().zip(places) {
            let mass = system.mass(index_by_id.of(*id));
            total += mass;
            center += mass * *place;
        }
        if total > 0.0 {
            return Ok(center / total);
        }
        let message = "the atoms of a restraint have no mass, and so no centre of mass";
        let hint = "choose atoms with mass, such as those that a virtual site follows";
        Err(self.source.error(&selection.span, message).hint(hint))
    }

    /// Ids of the atoms of `[alchemy]`: of the molecule, or of both parts.
    ///
    /// # Errors
    /// If atoms were chosen by another input.
    pub fn alchemical_atoms(&self, system: &System) -> Result<Vec<Vec<u32>>> {
        let selections = self.alchemy.iter().flat_map(|alchemy| alchemy.value.selections());
        selections.map(|atoms| self.chosen(system, atoms).map(<[u32]>::to_vec)).collect()
    }

    /// Atoms chosen by a selection of this input.
    pub(super) fn chosen<'a>(&self, system: &'a System, atoms: &Located<Selection>) -> Result<&'a [u32]> {
        chosen(&system.groups, atoms.value.text()).ok_or_else(|| {
            let message = "these atoms are not among those that were chosen when the run began";
            self.source.error(&atoms.span, message).hint("begin a new run with this input")
        })
    }

    /// Names and ids of both groups of all interactions.
    ///
    /// # Errors
    /// If atoms were chosen by another input.
    pub fn chosen_interactions(&self, system: &System) -> Result<Vec<(String, [Vec<u32>; 2])>> {
        let one = |interaction: &Located<InteractionInput>| {
            let InteractionInput { name, between: [a, b] } = &interaction.value;
            Ok((name.clone(), [self.chosen(system, a)?.to_vec(), self.chosen(system, b)?.to_vec()]))
        };
        self.interactions.iter().map(one).collect()
    }

    /// The velocities that atoms keep, of some species and of some groups.
    ///
    /// # Errors
    /// If an atom is in two groups that are driven, or a virtual site would keep another velocity than its atoms.
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
        if driven == Driven::default() {
            return Ok(driven);
        }
        let kept = driven.clone().with_sites(system);
        self.check_driven_sites(system, &driven, &kept)?;
        Ok(kept)
    }

    /// Refuses a velocity that was given to a virtual site and that its atoms do not keep.
    fn check_driven_sites(&self, system: &System, given: &Driven, kept: &Driven) -> Result<()> {
        let index_by_id = system.state.index_by_id();
        let species = |id: u32| system.state.species[index_by_id.of(id)];
        let is_alone = |id: &u32| {
            let velocity = given.of(species(*id), *id);
            velocity.is_some() && kept.of(species(*id), *id) != velocity
        };
        let Some(site) = system.topology.virtual_sites.iter().map(|v| v.site).find(is_alone) else {
            return Ok(());
        };
        let has_site = |group: &&Located<GroupInput>| {
            let atoms = self.chosen(system, &group.value.atoms);
            group.value.driven.is_some() && atoms.is_ok_and(|atoms| atoms.contains(&site))
        };
        let name = &system.species[usize::from(species(site))].name;
        let of_group = self.groups.iter().find(has_site).map(|group| &group.span);
        let of_species = || self.species.iter().find(|s| s.value.name == *name).map(|s| &s.span);
        let site = system.names.describe(site);
        let message =
            format!("{site} is a virtual site, which moves with its atoms, and not all of them do so");
        let error = self.source.error(of_group.or_else(of_species).unwrap_or(&(0..0)), message);
        Err(error.hint("freeze or drive its atoms: virtual sites follow them"))
    }

    /// The names of the groups that are reported.
    pub fn reported_groups(&self) -> Vec<String> {
        let reported = self.groups.iter().filter(|group| group.value.reported);
        reported.map(|group| group.value.name.clone()).collect()
    }
}
