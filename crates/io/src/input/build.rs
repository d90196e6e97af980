//! The typed [`Input`] from checked values, with the checks of values against each other.

use super::alchemy;
use super::barostat::refuse_changing_screening;
use super::choice::NamedChoice;
use super::cutoff::refuse_changing_cutoffs;
use super::enhanced;
use super::external;
use super::fields::{Entry, Fields, Value, entry_span};
use super::group;
use super::model::*;
use super::rigid;
use super::sampling;
use super::stage::stages;
use jostle_core::{Result, Settings, UnitSystem};
use jostle_potentials::BondedKind;

pub(super) fn build(source: Source, units: UnitSystem, root: &Fields) -> Result<Input> {
    let builder = Builder { source: &source, units };
    let system: Fields = root.need("system")?;
    let entries: Vec<Entry> = root.get("species").map(|s| s.value).unwrap_or_default();
    let mut species = entries.iter().map(|e| builder.species(e)).collect::<Result<Vec<_>>>()?;
    let molecules: Vec<Fields> = root.need("molecule")?;
    let system = builder.system(&system, &mut species, &molecules)?;
    let of_files = matches!(system.atoms.value, AtomsInput::Molecules(_) | AtomsInput::Mixture(_));
    let built = !(of_files || matches!(system.atoms.value, AtomsInput::File { .. }));
    if of_files {
        builder.refuse_other_forces(root)?;
    }
    let forces = builder.forces(root, &species, built)?;
    let metal = root.get::<Fields>("metal").map(|m| builder.metal(m)).transpose()?;
    let three_body = root.get::<Fields>("three_body").map(|t| builder.three_body(t)).transpose()?;
    let electrostatics = root.get::<Fields>("electrostatics");
    let electrostatics = electrostatics.map(|e| builder.electrostatics(e)).transpose()?;
    let grains = root.get::<Fields>("grains").map(|g| external::grains(&source, g)).transpose()?;
    let bonds = builder.bonded(root.need("bond")?)?;
    let angles = builder.bonded(root.need("angle")?)?;
    let dihedrals = builder.bonded(root.need("dihedral")?)?;
    let exclude = root.need_choice("exclude")?;
    let restraints = root.need::<Vec<Fields>>("restraint")?;
    let restraints = group::restraints(&source, &restraints)?;
    let groups = group::groups(&source, &root.need::<Vec<Fields>>("group")?)?;
    let enhanced = enhanced::enhanced(&source, &root.need::<Vec<Fields>>("enhanced")?, &system.atoms.value)?;
    let rigid = rigid::rigid(&source, &root.need::<Vec<Fields>>("rigid")?)?;
    let interactions = group::interactions(&source, &root.need::<Vec<Fields>>("interaction")?)?;
    let fields = external::fields(&source, &root.need::<Vec<Fields>>("field")?)?;
    let walls: Vec<Fields> = root.need("wall")?;
    let walls = walls.iter().map(|w| builder.wall(w, &species, built)).collect::<Result<_>>()?;
    if grains.is_some() {
        builder.refuse_temperatures(root)?;
    }
    let summed = has_reciprocal_sum(electrostatics.as_ref(), &forces);
    let temperature = system.velocities.as_ref().map(|velocities| velocities.temperature);
    let stages = stages(&source, &root.need::<Vec<Fields>>("stage")?, &restraints, summed, temperature)?;
    let variables = sampling::variables(&source, &root.need::<Vec<Fields>>("variable")?)?;
    let biases = root.need::<Vec<Fields>>("bias")?;
    let biases = sampling::biases(&source, units, &biases, &variables, &stages)?;
    let alchemy = alchemy::alchemy(&source, root, &stages, (&variables, &biases))?;
    let run = builder.run(&root.need("run")?)?;
    let title = root.need("title")?;
    let input = Input {
        title,
        units,
        system,
        species,
        forces,
        metal,
        three_body,
        electrostatics,
        grains,
        bonds,
        angles,
        dihedrals,
        exclude,
        groups,
        enhanced,
        rigid,
        fields,
        walls,
        restraints,
        interactions,
        variables,
        biases,
        alchemy,
        stages,
        run,
        source: source.clone(),
    };
    refuse_contradictions(&input)?;
    if built && input.has_known_cutoffs() {
        // All species are known, so everything about pairs can be checked now; any density of
        // charges does for that.
        let species = input.species_with_mass()?;
        input.resolve_forces(&species, &input.built_topology(), 1.0)?;
    }
    Ok(input)
}

/// Refuses sections that contradict each other.
fn refuse_contradictions(input: &Input) -> Result<()> {
    refuse_changing_screening(input)?;
    refuse_changing_cutoffs(input)?;
    input.check_stages_between_walls()?;
    sampling::refuse_reproducible_walkers(input)
}

/// Returns true where charges or dispersion are summed over all images.
fn has_reciprocal_sum(
    electrostatics: Option<&Located<ElectrostaticsInput>>,
    forces: &[Located<ForceInput>],
) -> bool {
    let summed = |kind| matches!(kind, ElectrostaticsKind::Pme { .. } | ElectrostaticsKind::Ewald { .. });
    electrostatics.is_some_and(|charges| summed(charges.value.kind))
        || forces.iter().any(|force| force.value.dispersion.is_some())
}

/// Context in which values are read.
pub(super) struct Builder<'a> {
    pub source: &'a Source,
    pub units: UnitSystem,
}

impl Builder<'_> {
    /// `[[bond]]`, `[[angle]]` or `[[dihedral]]`
    fn bonded<K: BondedKind + NamedChoice>(
        &self,
        tables: Vec<Fields>,
    ) -> Result<Vec<Located<BondedInput<K>>>> {
        let one = |fields: &Fields| {
            let kind: K = fields.need_choice("kind")?;
            let mut types = Vec::new();
            for entry in fields.need::<Vec<Entry>>("types")? {
                let Value::Table(given) = &entry.value else { continue };
                let parameters = kind.parameters().iter().map(|p| given.need(p.name));
                let value =
                    TypeInput { name: entry.name.clone(), parameters: parameters.collect::<Result<_>>()? };
                types.push(Located { value, span: entry.key_span.clone() });
            }
            Ok(Located { value: BondedInput { kind, types }, span: fields.span.clone() })
        };
        tables.iter().map(one).collect()
    }

    fn wall(
        &self,
        fields: &Fields,
        species: &[Located<SpeciesInput>],
        built: bool,
    ) -> Result<Located<WallInput>> {
        let mut all = species.to_vec();
        if let Some(mut wall) = species.first().cloned() {
            wall.value.name = WALL.into();
            all.push(wall);
        }
        let force = fields.get::<Fields>("force").map(|force| self.force(&force.value, &all, built));
        external::wall(self.source, fields, force.transpose()?)
    }

    /// Refuses what needs a temperature, which grains have not.
    fn refuse_temperatures(&self, root: &Fields) -> Result<()> {
        let needing = [
            (
                "thermostat",
                "a thermostat could keep",
                "leave it out: they lose energy by damping and friction",
            ),
            ("heat_flux", "heat could follow", "leave it out"),
        ];
        for stage in root.need::<Vec<Fields>>("stage")? {
            if let Some((key, use_of_it, hint)) = needing.into_iter().find(|(key, ..)| stage.has_key(key)) {
                let message = format!("grains have no temperature that {use_of_it}");
                return Err(self.source.error(&entry_span(&stage, key), message).hint(hint));
            }
        }
        Ok(())
    }

    fn run(&self, fields: &Fields) -> Result<RunInput> {
        Ok(RunInput {
            device: fields.need("device")?,
            settings: Settings {
                threads: fields.get::<u64>("threads").map(|t| t.value as usize),
                precision: fields.need_choice("precision")?,
                reproducible: fields.need("reproducible")?,
                algorithm: fields.need_choice("algorithm")?,
                skin: fields.get("skin").map(|s| s.value),
                force_matrix: None,
            },
            output: fields.get::<String>("output").map(|o| self.source.folder().join(o.value)),
            strictness: if fields.need("strict")? { Strictness::Strict } else { Strictness::Lenient },
        })
    }
}
