//! Forces from outside, `[[field]]` and `[[wall]]`, and `[grains]`, which rub against walls.

use super::fields::{Fields, entry_span};
use super::group;
use super::model::{
    Axis, FieldInput, FieldStrength, ForceInput, GrainsInput, Input, Located, PairInput, Source, WallForce,
    WallInput,
};
use jostle_core::quantity::nearest;
use jostle_core::{Driven, Error, Result, Species, Vec3};
use jostle_potentials::external::{Field, Surface, Wall};
use jostle_potentials::{Grains, PairChoice, PairTerm};

/// Name of walls among species.
pub(super) const WALL: &str = "wall";

/// `[[field]]`
pub(super) fn field(source: &Source, fields: &Fields) -> Result<Located<FieldInput>> {
    let strengths = [
        ("force", FieldStrength::Force as fn(Vec3) -> FieldStrength),
        ("acceleration", FieldStrength::Acceleration),
        ("electric", FieldStrength::Electric),
    ];
    let given = strengths.iter().find_map(|(key, strength)| {
        let vector = fields.get::<[f64; 3]>(key)?;
        Some(strength(vector.value))
    });
    let strength = given.unwrap_or(FieldStrength::Force([0.0; 3]));
    let value = FieldInput { strength, species: fields.get("species"), atoms: group::atoms(source, fields)? };
    Ok(Located { value, span: fields.span.clone() })
}

/// `[grains]`
pub(super) fn grains(fields: Located<Fields>) -> Result<Located<GrainsInput>> {
    let Located { value: fields, span } = fields;
    let value = GrainsInput {
        stiffness: fields.need("stiffness")?,
        normal_damping: fields.need("normal_damping")?,
        tangential_damping: fields.need("tangential_damping")?,
        friction: fields.need("friction")?,
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
        None => WallForce::Grains,
    };
    let value = WallInput {
        axis: fields.need_choice("axis")?,
        at: fields.need("at")?,
        atoms: fields.need_choice("atoms")?,
        force,
    };
    Ok(Located { value, span: fields.span.clone() })
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
    if let Some(dispersion) = &force.value.dispersion {
        return Err(source.error(&dispersion.span, "a wall has no images to sum over").hint("leave it out"));
    }
    Ok(())
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
            radius: species.iter().map(radius).collect::<Result<_>>()?,
        }))
    }

    /// The fields, for these species.
    pub(crate) fn resolve_fields(&self, species: &[Species]) -> Result<Vec<Field>> {
        self.fields.iter().map(|field| self.resolve_field(&field.value, species)).collect()
    }

    fn resolve_field(&self, field: &FieldInput, species: &[Species]) -> Result<Field> {
        if let Some(named) = &field.species {
            let known: Vec<&str> = species.iter().map(|s| s.name.as_str()).collect();
            if let Some(unknown) = named.value.iter().find(|name| !known.contains(&name.as_str())) {
                let error = self.source.error(&named.span, format!("there is no species \"{unknown}\""));
                return Err(match nearest(unknown, known.iter().copied()) {
                    Some(near) => error.hint(format!("did you mean \"{near}\"?")),
                    None => error.hint(format!("the species are {}", known.join(", "))),
                });
            }
        }
        let force = |s: &Species| match &field.species {
            Some(named) if !named.value.contains(&s.name) => [0.0; 3],
            _ => match field.strength {
                FieldStrength::Force(force) => force,
                FieldStrength::Acceleration(a) => a.map(|a| s.mass * a),
                FieldStrength::Electric(e) => e.map(|e| s.charge * e),
            },
        };
        Ok(Field::new(species.iter().map(force).collect()))
    }

    /// The walls, for these species; `term` resolves a force.
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
            let WallInput { axis, at, atoms, force } = &wall.value;
            let axis = match axis {
                Axis::X => 0,
                Axis::Y => 1,
                Axis::Z => 2,
            };
            let mut force = match (force, grains) {
                (WallForce::Pairs(force), _) => (**force).clone(),
                (WallForce::Grains, Some(grains)) => {
                    let mut wall = Wall::new(axis, *at, *atoms, grains.springs_of_wall());
                    wall.surface = Surface::Grains;
                    return Ok(wall);
                }
                (WallForce::Grains, None) => {
                    let message = "a wall of the material of grains, but there is no [grains]";
                    let hint = "add [grains], or give the wall a force";
                    return Err(self.source.error(&wall.span, message).hint(hint));
                }
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
            Ok(Wall::new(axis, *at, *atoms, term))
        };
        self.walls.iter().map(resolve).collect()
    }
}
