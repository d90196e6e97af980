//! Forces from outside, `[[field]]` and `[[wall]]`, and `[grains]`, which rub against walls.

use super::fields::{Fields, entry_span};
use super::formula;
use super::group;
use super::model::{
    Action, Cutoff, FieldEnergy, FieldInput, FieldStrength, FieldWork, ForceInput, GrainsInput, Input,
    Located, PairInput, Source, StageInput, WALL, WallForce, WallInput,
};
use jostle_core::quantity::nearest;
use jostle_core::{Driven, Error, Result, Species, System, Vec3, Vector};
use jostle_potentials::external::{
    Field, FormulaField, ReflectingWall, Surface, Wall, WallMotion, check_meeting,
};
use jostle_potentials::grains::Rolling;
use jostle_potentials::{Formula, Grains, PairChoice, PairTerm};

/// All `[[field]]`
pub(super) fn fields(source: &Source, tables: &[Fields]) -> Result<Vec<Located<FieldInput>>> {
    tables.iter().map(|table| field(source, table)).collect()
}

/// `[[field]]`
fn field(source: &Source, fields: &Fields) -> Result<Located<FieldInput>> {
    let strengths = [
        ("force", FieldStrength::Force as fn(Vec3) -> FieldStrength),
        ("acceleration", FieldStrength::Acceleration),
        ("electric", FieldStrength::Electric),
    ];
    let given = strengths.iter().find_map(|(key, strength)| {
        let vector = fields.get::<[f64; 3]>(key)?;
        Some(strength(Vector(vector.value)))
    });
    let energy = match fields.get::<String>("energy") {
        Some(text) => Some(field_energy(source, fields, text)?),
        None => None,
    };
    let strength = given.or(energy).unwrap_or(FieldStrength::Force(Vec3::ZERO));
    let value = FieldInput { strength, species: fields.get("species"), atoms: group::atoms(source, fields)? };
    Ok(Located { value, span: fields.span.clone() })
}

/// Energy of a field, whose formula is read; its names are resolved when the atoms are known.
fn field_energy(source: &Source, fields: &Fields, text: Located<String>) -> Result<FieldStrength> {
    let parameters = formula::numbers(fields, "parameters");
    let known = parameters.iter().cloned().collect();
    let formula =
        Formula::with(&text.value, &known).map_err(|mistake| formula::point(source, &text, mistake))?;
    let names = Formula::new(&text.value).map(|formula| formula.parameters().to_vec()).unwrap_or_default();
    if let Some((unused, _)) = parameters.iter().find(|(name, _)| !names.contains(name)) {
        return Err(formula::unknown(source, &formula, unused, &entry_span(fields, "parameters")));
    }
    let positions = fields.need_choice("positions")?;
    let work = fields.need_choice("work")?;
    if work == FieldWork::Recorded && !names.iter().any(|name| name == "time") {
        let message = "the energy of this field does not depend on time, so that it does no work by changing";
        return Err(source.error(&entry_span(fields, "work"), message).hint("leave work out"));
    }
    Ok(FieldStrength::Energy(FieldEnergy { text, parameters, positions, work }))
}

/// `[grains]`
pub(super) fn grains(source: &Source, fields: Located<Fields>) -> Result<Located<GrainsInput>> {
    let Located { value: fields, span } = fields;
    let rolling = fields.get::<Fields>("rolling").map(|table| {
        let rolling = Rolling {
            stiffness: table.value.need("stiffness")?,
            damping: table.value.need("damping")?,
            friction: table.value.need("friction")?,
        };
        if rolling.stiffness == 0.0 && rolling.damping == 0.0 {
            let message = "rolling has neither a stiffness nor a damping, so that nothing resists it";
            return Err(source.error(&table.span, message).hint("give one of them, or leave rolling out"));
        }
        Ok(rolling)
    });
    let (tangential_stiffness, friction) = (fields.need("tangential_stiffness")?, fields.need("friction")?);
    if tangential_stiffness > 0.0 && friction == 0.0 {
        let message = "tangential_stiffness holds surfaces no stronger than friction allows, which is 0";
        return Err(source
            .error(&entry_span(&fields, "tangential_stiffness"), message)
            .hint("give friction"));
    }
    let value = GrainsInput {
        tangential_stiffness,
        rolling: rolling.transpose()?.unwrap_or_default(),
        stiffness: fields.need("stiffness")?,
        normal_damping: fields.need("normal_damping")?,
        tangential_damping: fields.need("tangential_damping")?,
        friction,
    };
    Ok(Located { value, span })
}

/// `[[wall]]`, with its force if it has one of its own.
pub(super) fn wall(
    source: &Source,
    fields: &Fields,
    force: Option<Located<ForceInput>>,
) -> Result<Located<WallInput>> {
    let force = match force {
        Some(force) => {
            check_force(source, fields, &force)?;
            WallForce::Pairs(Box::new(force))
        }
        None if fields.has_key("reflection") => WallForce::ElasticReflection,
        None => WallForce::Grains,
    };
    let motion = fields.get::<Fields>("motion").map_or(Ok(WallMotion::REST), |m| wall_motion(source, &m))?;
    let work = fields.need_choice("work")?;
    let unknown = match (motion.is_moving(), &force) {
        (false, _) => {
            Some(("this wall stays, so that it does no work", "leave work out, or give motion = { ... }"))
        }
        (_, WallForce::Pairs(_)) => None,
        (_, WallForce::Grains) => {
            Some(("grains lose energy at their contacts, so that no energy is conserved", "leave work out"))
        }
        (_, WallForce::ElasticReflection) => Some((
            "the work of a wall that reflects atoms is not recorded",
            "leave work out, or give the wall a force",
        )),
    };
    if let Some((message, hint)) = unknown.filter(|_| work == FieldWork::Recorded) {
        return Err(source.error(&entry_span(fields, "work"), message).hint(hint));
    }
    let value = WallInput {
        axis: fields.need_choice("axis")?,
        at: fields.need("at")?,
        motion,
        work,
        atoms: fields.need_choice("atoms")?,
        force,
    };
    Ok(Located { value, span: fields.span.clone() })
}

/// `motion` of a `[[wall]]`
fn wall_motion(source: &Source, motion: &Located<Fields>) -> Result<WallMotion> {
    let Located { value: fields, span } = motion;
    let value = WallMotion {
        velocity: fields.need("velocity")?,
        amplitude: fields.get("amplitude").map_or(0.0, |amplitude| amplitude.value),
        period: fields.get("period").map_or(WallMotion::REST.period, |period| period.value),
        from: fields.need("from")?,
        to: fields.get("to").map_or(WallMotion::REST.to, |to| to.value),
    };
    if value.to <= value.from {
        let message = "the motion ends before it begins";
        return Err(source.error(&entry_span(fields, "to"), message).hint("choose to after from"));
    }
    if !value.is_moving() {
        let message = "a motion with neither a velocity nor an amplitude";
        return Err(source.error(span, message).hint("give velocity, or amplitude and period"));
    }
    Ok(value)
}

fn check_force(source: &Source, fields: &Fields, force: &Located<ForceInput>) -> Result<()> {
    let among = |pair: &&Located<PairInput>| pair.value.species.iter().filter(|s| *s == WALL).count() != 1;
    if let Some(pair) = force.value.pairs.iter().find(among) {
        return Err(source
            .error(&pair.span, "a wall acts between itself and a species")
            .hint(format!("write pairs.\"A-{WALL}\" = {{ ... }}")));
    }
    if force.value.tail_correction {
        let span = fields
            .get::<Fields>("force")
            .map_or(fields.span.clone(), |f| entry_span(&f.value, "tail_correction"));
        return Err(source.error(&span, "there is no tail correction for walls").hint("leave it out"));
    }
    if force.value.cutoff == Some(Cutoff::HalfBox) {
        let span =
            fields.get::<Fields>("force").map_or(fields.span.clone(), |f| entry_span(&f.value, "cutoff"));
        return Err(source
            .error(&span, "a wall is across an open axis, which has no half")
            .hint("give a length"));
    }
    if let Some(dispersion) = &force.value.dispersion {
        return Err(source.error(&dispersion.span, "a wall has no images to sum over").hint("leave it out"));
    }
    Ok(())
}

impl FieldInput {
    /// Returns true where it acts on atoms of a species, as far as species say.
    fn acts_on(&self, species: &Species) -> bool {
        self.species.as_ref().is_none_or(|named| named.value.contains(&species.name))
    }
}

impl StageInput {
    /// Time that stages take at least: those up to one that may end by itself.
    pub fn certain_time<'a>(stages: impl Iterator<Item = &'a StageInput>) -> f64 {
        let of = |stage: &StageInput| match stage.action {
            Action::Dynamics { steps, timestep, .. } => steps as f64 * timestep,
            Action::Minimize { .. } => 0.0,
        };
        stages.take_while(|stage| stage.until.is_none()).map(of).sum()
    }

    /// Refuses a minimisation between walls that reflect atoms: these have no energy that could become smaller.
    ///
    /// # Errors
    /// If the stage is one.
    pub fn check_walls(&self, reflecting: &[ReflectingWall]) -> Result<()> {
        match &self.action {
            Action::Minimize { .. } if !reflecting.is_empty() => Err(Error::input(
                "walls that reflect atoms have no energy, so that nothing holds atoms in a minimisation",
            )
            .hint("give the walls a force, or minimise with such walls in a run of its own")),
            _ => Ok(()),
        }
    }
}

impl Input {
    /// The velocities that atoms of some species keep.
    pub(super) fn driven_species(&self, species: &[Species]) -> Driven {
        let said = |s: &Species| self.species.iter().find(|other| other.value.name == s.name)?.value.driven;
        let driven: Vec<_> = species.iter().map(said).collect();
        Driven::BySpecies(if driven.iter().any(Option::is_some) { driven } else { Vec::new() })
    }

    /// The grains, for these species.
    pub(super) fn resolve_grains(&self, species: &[Species]) -> Result<Option<Grains>> {
        let said = |s: &Species| self.species.iter().find(|other| other.value.name == s.name)?.value.radius;
        let Some(Located { value, span }) = &self.grains else {
            let useless = self.species.iter().find(|s| s.value.radius.is_some());
            return useless.map_or(Ok(None), |s| {
                let message = format!("[species.{}] has a radius, but there is no [grains]", s.value.name);
                Err(self.source.error(&s.span, message).hint("add [grains], or leave it out"))
            });
        };
        let radius = |s: &Species| {
            said(s).ok_or_else(|| {
                let message = format!("grains have radii, but [species.{}] has none", s.name);
                self.source.error(span, message).hint("add radius = ...")
            })
        };
        Ok(Some(Grains {
            stiffness: value.stiffness,
            normal_damping: value.normal_damping,
            tangential_damping: value.tangential_damping,
            friction: value.friction,
            tangential_stiffness: value.tangential_stiffness,
            rolling: value.rolling,
            radius: species.iter().map(radius).collect::<Result<_>>()?,
        }))
    }

    /// The fields, for these species.
    pub(crate) fn resolve_fields(&self, species: &[Species]) -> Result<Vec<Field>> {
        let one = |field: &Located<FieldInput>| self.resolve_field(&field.value, species).transpose();
        self.fields.iter().filter_map(one).collect()
    }

    /// Refuses electric fields that act on no charge of a species.
    pub(super) fn check_electric_fields(&self, species: &[Species]) -> Result<()> {
        let acts = |field: &FieldInput| species.iter().any(|s| field.acts_on(s) && s.charge != 0.0);
        let in_vain = |field: &&Located<FieldInput>| {
            matches!(field.value.strength, FieldStrength::Electric(_)) && !acts(&field.value)
        };
        let Some(field) = self.fields.iter().find(in_vain) else { return Ok(()) };
        let error =
            self.source.error(&field.span, "no species that this electric field acts on has a charge");
        Err(error.hint("give one a charge: [species.NAME] charge = ...; or give force = [...]"))
    }

    /// Fields by formulas, for atoms that are known.
    ///
    /// # Errors
    /// If a name of a formula stands for nothing, or the energy jumps at a face of the box.
    pub(super) fn formula_fields(&self, system: &System) -> Result<Vec<FormulaField>> {
        let energy = |field: &Located<FieldInput>| match &field.value.strength {
            FieldStrength::Energy(energy) => Some(self.formula_field(system, field, energy)),
            _ => None,
        };
        self.fields.iter().filter_map(energy).collect()
    }

    fn formula_field(
        &self,
        system: &System,
        field: &Located<FieldInput>,
        energy: &FieldEnergy,
    ) -> Result<FormulaField> {
        let numbers = energy.parameters.iter().cloned().collect();
        let constant = |name: &str, k: usize| {
            let species = self.species.iter().find(|s| s.value.name == system.species[k].name)?;
            species.value.constants.iter().find(|constant| constant.0 == name).map(|constant| constant.1)
        };
        let mass_unit = self.units.mass_to_user(1.0);
        let mut formula = FormulaField::new(&energy.text.value, &numbers, system, mass_unit, &constant)
            .map_err(|mistake| formula::point(&self.source, &energy.text, mistake))?;
        formula.positions = energy.positions;
        let n = system.state.len();
        let chosen = field.value.atoms.as_ref().map(|atoms| self.chosen(system, atoms)).transpose()?;
        if let Some(atoms) = chosen {
            formula.only(atoms.iter().copied(), n);
        }
        if let Some(named) = &field.value.species {
            self.check_species(named, &system.species)?;
            let acts = |index: &usize| {
                named.value.contains(&system.species[usize::from(system.state.species[*index])].name)
            };
            let acting: Vec<u32> = (0..n)
                .filter(acts)
                .map(|index| system.state.id[index])
                .filter(|id| formula.acts_on(*id))
                .collect();
            formula.only(acting.into_iter(), n);
        }
        let span = energy.text.span.clone();
        let checked = formula.check(&system.simbox);
        checked.map_err(|error| error.at_span(&self.source.path, &self.source.text, span))?;
        Ok(formula)
    }

    /// Refuses a species that is not there.
    fn check_species(&self, named: &Located<Vec<String>>, species: &[Species]) -> Result<()> {
        let known: Vec<&str> = species.iter().map(|s| s.name.as_str()).collect();
        let Some(unknown) = named.value.iter().find(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let error = self.source.error(&named.span, format!("there is no species \"{unknown}\""));
        Err(match nearest(unknown, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean \"{near}\"?")),
            None => error.hint(format!("the species are {}", known.join(", "))),
        })
    }

    /// A field that is the same everywhere; `None` for one by a formula.
    fn resolve_field(&self, field: &FieldInput, species: &[Species]) -> Result<Option<Field>> {
        if let Some(named) = &field.species {
            self.check_species(named, species)?;
        }
        let strength: &dyn Fn(&Species) -> Vec3 = match &field.strength {
            FieldStrength::Force(force) => &|_| *force,
            FieldStrength::Acceleration(a) => &|s| s.mass * *a,
            FieldStrength::Electric(e) => &|s| s.charge * *e,
            FieldStrength::Energy(_) => return Ok(None),
        };
        let force = |s: &Species| if field.acts_on(s) { strength(s) } else { Vec3::ZERO };
        Ok(Some(Field::new(species.iter().map(force).collect())))
    }

    /// The walls that reflect atoms.
    pub(crate) fn reflecting_walls(&self) -> Vec<ReflectingWall> {
        let reflecting = self.walls.iter().map(|wall| &wall.value).filter(|wall| wall.reflects());
        let of_input = |WallInput { axis, at, motion, atoms, .. }: &WallInput| ReflectingWall {
            axis: axis.index(),
            begin: *at,
            motion: *motion,
            side: *atoms,
        };
        reflecting.map(of_input).collect()
    }

    /// Refuses stages that cannot be between walls that reflect atoms; the error points at the stage.
    pub(super) fn check_stages_between_walls(&self) -> Result<()> {
        let walls = self.reflecting_walls();
        self.stages.iter().try_for_each(|stage| {
            let checked = stage.value.check_walls(&walls);
            checked.map_err(|error| error.at_span(&self.source.path, &self.source.text, stage.span.clone()))
        })?;
        let moving = self.walls.iter().find(|wall| wall.value.reflects() && wall.value.motion.is_moving());
        let met =
            check_meeting(&walls, StageInput::certain_time(self.stages.iter().map(|stage| &stage.value)));
        met.map_err(|error| match moving {
            Some(wall) => error.at_span(&self.source.path, &self.source.text, wall.span.clone()),
            None => error,
        })
    }

    /// Refuses walls that reflect atoms where they cannot, or where some atoms begin behind them.
    ///
    /// # Errors
    /// If there is such a wall; the error points at it.
    pub fn check_reflections(&self, system: &System) -> Result<()> {
        let reflecting = self.walls.iter().filter(|wall| wall.value.reflects());
        reflecting.zip(self.reflecting_walls()).try_for_each(|(given, wall)| {
            let checked = wall.check(system).and_then(|()| wall.check_beginning(system));
            checked.map_err(|error| error.at_span(&self.source.path, &self.source.text, given.span.clone()))
        })
    }

    /// The walls with a force, for these species; `term` resolves one.
    pub(crate) fn resolve_walls(
        &self,
        species: &[Species],
        grains: Option<&Grains>,
        term: impl Fn(&Located<ForceInput>, &[Species]) -> Result<PairTerm>,
    ) -> Result<Vec<Wall>> {
        if let (Some(wall), true) = (self.walls.first(), species.iter().any(|s| s.name == WALL)) {
            let error =
                self.source.error(&wall.span, format!("a species is called \"{WALL}\", as walls are"));
            return Err(error.hint("choose another name for it"));
        }
        let mut all = species.to_vec();
        all.push(Species { name: WALL.into(), mass: 1.0, charge: 0.0 });
        let resolve = |wall: &Located<WallInput>| {
            let WallInput { axis, at, motion, atoms, force, .. } = &wall.value;
            let axis = axis.index();
            let mut force = match (force, grains) {
                (WallForce::Pairs(force), _) => (**force).clone(),
                (WallForce::Grains, Some(grains)) => {
                    let mut wall = Wall::new(axis, *at, *atoms, grains.springs_of_wall()).moving(*motion);
                    wall.surface = Surface::Grains;
                    return Ok(Some(wall));
                }
                (WallForce::Grains, None) => {
                    let message = "a wall of the material of grains, but there is no [grains]";
                    let hint = "add [grains], or give the wall a force";
                    return Err(self.source.error(&wall.span, message).hint(hint));
                }
                (WallForce::ElasticReflection, _) => return Ok(None),
            };
            // The wall's force does not act between atoms.
            let names = all.iter().map(|s| &s.name);
            let others = species.iter().flat_map(|a| names.clone().map(move |b| [a.name.clone(), b.clone()]));
            let others = others.filter(|[_, b]| b != WALL).chain([[WALL.to_string(), WALL.to_string()]]);
            for pair in others {
                let known = |p: &Located<PairInput>| {
                    let [a, b] = &p.value.species;
                    [a, b] == [&pair[0], &pair[1]] || [b, a] == [&pair[0], &pair[1]]
                };
                if !force.value.pairs.iter().any(known) {
                    let value = PairInput { species: pair, choice: PairChoice::None, table: None };
                    force.value.pairs.push(Located { value, span: force.span.clone() });
                }
            }
            let term = term(&force, &all).map_err(|e: Error| e.context("wall"))?;
            Ok(Some(Wall::new(axis, *at, *atoms, term).moving(*motion)))
        };
        self.walls.iter().filter_map(|wall| resolve(wall).transpose()).collect()
    }
}
