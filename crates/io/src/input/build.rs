//! From checked values to the typed [`Input`]: what the values mean together.

use super::barostat::refuse_changing_screening;
use super::fields::{Entry, Fields, Value};
use super::formula;
use super::group;
use super::model::*;
use super::outside;
use super::stage::stages;
use super::table;
use super::word::{ForceKind, Word};
use jostle_core::{Dimension, Result, Settings, UnitSystem, WaterShape};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{BondedKind, EmbeddedKind, PairChoice, PairKind, Preset, Screening, Truncation};
use std::collections::HashMap;
use std::ops::Range;

/// Random positions keep this fraction of the mean distance by default: a packing of 18%, well
/// below the 38% at which random placement jams.
const DEFAULT_MIN_DISTANCE: f64 = 0.7;

pub(super) fn build(source: Source, units: UnitSystem, root: &Fields) -> Result<Input> {
    let builder = Builder { source: &source, units };
    let system: Fields = root.need("system")?;
    let entries: Vec<Entry> = root.get("species").map(|s| s.value).unwrap_or_default();
    let mut species = entries.iter().map(|e| builder.species(e)).collect::<Result<Vec<_>>>()?;
    let system = builder.system(&system, &mut species)?;
    let built = !matches!(system.atoms.value, AtomsInput::File { .. } | AtomsInput::Molecules(_));
    if let AtomsInput::Molecules(_) = system.atoms.value {
        builder.refuse_other_forces(root)?;
    }
    let forces: Vec<Fields> = root.need("force")?;
    let forces = forces.iter().map(|f| builder.force(f, &species, built));
    let forces = forces.collect::<Result<Vec<_>>>()?;
    let metal = root.get::<Fields>("metal").map(|m| builder.metal(m)).transpose()?;
    let electrostatics = root.get::<Fields>("electrostatics");
    let electrostatics = electrostatics.map(|e| builder.electrostatics(e)).transpose()?;
    let grains = root.get::<Fields>("grains").map(outside::grains).transpose()?;
    let bonds = builder.bonded(root.need("bond")?)?;
    let angles = builder.bonded(root.need("angle")?)?;
    let exclude = root.need_choice("exclude")?;
    let restraints = root.need::<Vec<Fields>>("restraint")?;
    let restraints = restraints.iter().map(|r| group::restraint(&source, r)).collect::<Result<_>>()?;
    let groups = group::groups(&source, &root.need::<Vec<Fields>>("group")?)?;
    let fields = root
        .need::<Vec<Fields>>("field")?
        .iter()
        .map(|f| outside::field(&source, f))
        .collect::<Result<_>>()?;
    let walls: Vec<Fields> = root.need("wall")?;
    let walls = walls.iter().map(|w| builder.wall(w, &species, built)).collect::<Result<_>>()?;
    if grains.is_some() {
        builder.refuse_thermostats(root)?;
    }
    let summed = |kind| matches!(kind, ElectrostaticsKind::Pme { .. } | ElectrostaticsKind::Ewald { .. });
    let has_waves = electrostatics.as_ref().is_some_and(|charges| summed(charges.value.kind))
        || forces.iter().any(|force| force.value.dispersion.is_some());
    let stages = stages(&source, &root.need::<Vec<Fields>>("stage")?, has_waves)?;
    let run = builder.run(&root.need("run")?)?;
    let title = root.need("title")?;
    let input = Input {
        title,
        units,
        system,
        species,
        forces,
        metal,
        electrostatics,
        grains,
        bonds,
        angles,
        exclude,
        groups,
        fields,
        walls,
        restraints,
        stages,
        run,
        source: source.clone(),
    };
    refuse_changing_screening(&input)?;
    if built {
        // All species are known, so everything about pairs can be checked now; any density of
        // charges does for that.
        let species = input.species_with_mass()?;
        input.resolve_forces(&species, &input.built_topology(), 1.0)?;
    }
    Ok(input)
}

struct Builder<'a> {
    source: &'a Source,
    units: UnitSystem,
}

impl Builder<'_> {
    fn species(&self, entry: &Entry) -> Result<Located<SpeciesInput>> {
        let name = entry.name.clone();
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == '"';
        if name.is_empty() || name.contains(odd) {
            let message = format!("\"{name}\" cannot be the name of a species");
            return Err(self
                .source
                .error(&entry.key_span, message)
                .hint("use a name without spaces: Ar, Na+, W1"));
        }
        let Value::Table(fields) = &entry.value else {
            return Err(self.source.error(&entry.span, format!("[species.{name}] must be a table")));
        };
        let count = fields.get::<u64>("count").map(|c| Amount::Count(c.value as usize));
        let fraction = fields.get::<f64>("fraction").map(|f| Amount::Fraction(f.value));
        let mass = fields.get::<f64>("mass").map(|m| m.value);
        let charge = fields.get::<f64>("charge").map(|c| c.value);
        let frozen = fields.get::<bool>("frozen").and_then(|f| f.value.then_some([0.0; 3]));
        let driven = fields.get::<[f64; 3]>("velocity").map(|v| v.value).or(frozen);
        let radius = fields.get::<f64>("radius").map(|r| r.value);
        let constants = formula::numbers(fields, "constants");
        let amount = count.or(fraction);
        let value = SpeciesInput { name, mass, charge, driven, radius, constants, amount };
        Ok(Located { value, span: entry.span.clone() })
    }

    fn system(&self, fields: &Fields, species: &mut [Located<SpeciesInput>]) -> Result<SystemInput> {
        let atoms = if let Some(path) = fields.get::<String>("file") {
            self.refuse_amounts(species)?;
            let types = fields.get::<Vec<String>>("types").map(|t| t.value).unwrap_or_default();
            let path = self.source.folder().join(path.value);
            Located { value: AtomsInput::File { path, types }, span: entry_span(fields, "file") }
        } else if let Some(topology) = fields.get::<String>("topology") {
            let path = |name: String| self.source.folder().join(name);
            let coordinates = path(fields.need("coordinates")?);
            let names = |key: &str| fields.get::<Vec<String>>(key).map(|n| n.value).unwrap_or_default();
            let paths = |key: &str| names(key).into_iter().map(path).collect();
            let molecules = MoleculesInput {
                topology: path(topology.value),
                parameters: paths("parameters"),
                define: names("define"),
                include: paths("include"),
                coordinates,
                rigid: fields.choice("rigid").map(|r| r.value).unwrap_or_default(),
                hydrogen_mass: fields.get("hydrogen_mass").map(|m| m.value),
            };
            Located { value: AtomsInput::Molecules(molecules), span: topology.span }
        } else {
            self.check_built_species(fields, species)?;
            let key = if fields.gives("lattice") { "lattice" } else { "place" };
            let value = match fields.choice("place").map(|p| p.value) {
                None => self.lattice(fields, species)?,
                Some(Placement::Random) => self.random(fields, species)?,
                Some(Placement::Chains) => self.chains(fields, species)?,
                Some(Placement::Water) => self.water(fields, species)?,
            };
            Located { value, span: entry_span(fields, key) }
        };
        let temperature = fields.get::<f64>("temperature").map(|t| t.value);
        let distribution = fields.choice("velocities").map(|d| d.value);
        let velocities = temperature
            .zip(distribution)
            .map(|(temperature, distribution)| VelocityInput { temperature, distribution });
        let periodic = fields.get::<[bool; 3]>("periodic").map(|p| p.value);
        let replicate = fields.get::<[u64; 3]>("replicate");
        let copies = replicate.map_or([1; 3], |r| r.value.map(|n| usize::try_from(n).unwrap_or(usize::MAX)));
        let replicate = Located { value: copies, span: entry_span(fields, "replicate") };
        Ok(SystemInput { atoms, replicate, periodic, velocities, seed: fields.need("seed")? })
    }

    /// The file of molecules has their species and forces.
    fn refuse_other_forces(&self, root: &Fields) -> Result<()> {
        let others = ["species", "metal", "grains", "bond", "angle", "exclude"];
        let Some(entry) = others.iter().filter(|key| root.gives(key)).find_map(|key| root.entry(key)) else {
            return Ok(());
        };
        let message =
            format!("\"{}\" beside a topology, which has species and forces of its own", entry.name);
        Err(self.source.error(&entry.key_span, message).hint("leave it out"))
    }

    /// A structure file says how many atoms of each species there are.
    fn refuse_amounts(&self, species: &[Located<SpeciesInput>]) -> Result<()> {
        match species.iter().find(|s| s.value.amount.is_some()) {
            Some(s) => Err(self
                .source
                .error(
                    &s.span,
                    format!(
                        "[species.{}] gives a count or a fraction, but the atoms come from a file",
                        s.value.name
                    ),
                )
                .hint("leave it out: the file says how many atoms there are")),
            None => Ok(()),
        }
    }

    /// A built system needs species with masses and, if there are several, amounts.
    fn check_built_species(&self, fields: &Fields, species: &mut [Located<SpeciesInput>]) -> Result<()> {
        if species.is_empty() {
            return Err(self
                .source
                .error(&fields.span, "a system that is built needs to know its species")
                .hint("add a section such as [species.Ar] with mass = 39.948"));
        }
        // Water says itself how many atoms of each there are.
        let is_water = fields.choice::<Placement>("place").is_some_and(|p| p.value == Placement::Water);
        let several = species.len() > 1 && !is_water;
        // The fourth site of water is a point without mass.
        let site = fields.entry("site_distance").filter(|_| is_water).map(|_| 2);
        for (k, s) in species.iter_mut().enumerate() {
            let name = &s.value.name;
            if site == Some(k) {
                if s.value.mass.is_some() {
                    let message = format!("[species.{name}] is the fourth site of water, which has no mass");
                    return Err(self.source.error(&s.span, message).hint("leave out its mass"));
                }
                s.value.mass = Some(0.0);
                continue;
            }
            if several && s.value.amount.is_none() {
                return Err(self
                    .source
                    .error(
                        &s.span,
                        format!("[species.{name}] needs a count or a fraction, as there are several species"),
                    )
                    .hint("for example fraction = 0.5"));
            }
            if s.value.mass.is_none() && self.units.is_reduced() {
                s.value.mass = Some(1.0);
            }
            if s.value.mass.is_none() {
                return Err(self.source.error(&s.span, format!("[species.{name}] needs a mass")).hint(
                    format!(
                        "add mass = ... ({})",
                        jostle_core::quantity::unit_name(self.units, Dimension::MASS)
                    ),
                ));
            }
        }
        let fractions: Vec<f64> = species
            .iter()
            .filter_map(|s| match s.value.amount {
                Some(Amount::Fraction(x)) => Some(x),
                _ => None,
            })
            .collect();
        let sum: f64 = fractions.iter().sum();
        let at = species.last().map_or(0..0, |s| s.span.clone());
        if !fractions.is_empty() && fractions.len() < species.len() {
            return Err(self
                .source
                .error(&at, "some species give a count and some a fraction")
                .hint("give all of them a count, or all of them a fraction"));
        }
        if !fractions.is_empty() && (sum - 1.0).abs() > 1e-9 {
            return Err(self
                .source
                .error(&at, format!("the fractions of the species add up to {sum}, not to 1"))
                .hint("change one of them so that they add up to 1"));
        }
        Ok(())
    }

    fn lattice(&self, fields: &Fields, species: &[Located<SpeciesInput>]) -> Result<AtomsInput> {
        let lattice: Lattice = fields.need_choice("lattice")?;
        let extent = match fields.get::<[u64; 3]>("cells") {
            Some(cells) => {
                let sites =
                    cells.value.iter().try_fold(lattice.atoms_per_cell() as u64, |n, c| n.checked_mul(*c));
                let n = sites.filter(|n| *n <= MAX_ATOMS);
                let n = n.ok_or_else(|| self.too_many(&cells.span))?;
                self.check_counts(species, n, &cells.span)?;
                LatticeExtent::Cells(cells.value.map(|n| n as usize))
            }
            None => {
                let atoms = fields.get::<u64>("atoms");
                let span = atoms.as_ref().map_or(fields.span.clone(), |a| a.span.clone());
                let n = atoms.map_or(0, |a| a.value);
                if n > MAX_ATOMS {
                    return Err(self.too_many(&span));
                }
                self.check_counts(species, n, &span)?;
                LatticeExtent::Atoms(n as usize)
            }
        };
        let density = match fields.get::<f64>("lattice_constant") {
            Some(edge) => DensityInput::LatticeConstant(edge.value),
            None => density(fields.need("density")?),
        };
        Ok(AtomsInput::Lattice { lattice, extent, density })
    }

    fn random(&self, fields: &Fields, species: &[Located<SpeciesInput>]) -> Result<AtomsInput> {
        let others = ["chains", "beads", "bond_length", "molecules", "bond_angle", "site_distance"];
        self.refuse(fields, &others, "random")?;
        let atoms = match (fields.get::<u64>("atoms"), total_count(species)) {
            (Some(atoms), _) => {
                self.check_counts(species, atoms.value, &atoms.span)?;
                atoms.value
            }
            (None, Some(total)) => total,
            (None, None) => {
                return Err(self
                    .source
                    .error(&fields.span, "[system] needs \"atoms\": how many atoms")
                    .hint("add atoms = 1000, or give every species a count"));
            }
        };
        if atoms > MAX_ATOMS {
            return Err(self.too_many(&entry_span(fields, "atoms")));
        }
        let region = region(fields)?;
        let n = atoms as f64;
        let volume_per_atom = match region {
            RegionInput::Box { lengths, .. } => lengths.iter().product::<f64>() / n,
            RegionInput::Density(DensityInput::Mass(density)) => mean_mass(species, n) / density,
            RegionInput::Density(DensityInput::Number(density)) => 1.0 / density,
            RegionInput::Density(DensityInput::LatticeConstant(edge)) => edge.powi(3),
        };
        let min_distance = fields
            .get::<f64>("min_distance")
            .map_or(DEFAULT_MIN_DISTANCE * volume_per_atom.cbrt(), |d| d.value);
        Ok(AtomsInput::Random { atoms: atoms as usize, region, min_distance })
    }

    /// Refuses keys that belong to another way of placing atoms.
    fn refuse(&self, fields: &Fields, keys: &[&str], place: &str) -> Result<()> {
        match keys.iter().find(|key| fields.gives(key)) {
            Some(key) => Err(self
                .source
                .error(&entry_span(fields, key), format!("\"{key}\" means nothing with place = \"{place}\""))
                .hint("leave it out")),
            None => Ok(()),
        }
    }

    fn chains(&self, fields: &Fields, species: &[Located<SpeciesInput>]) -> Result<AtomsInput> {
        self.refuse(
            fields,
            &["atoms", "min_distance", "molecules", "bond_angle", "site_distance"],
            "chains",
        )?;
        let needed = |key: &str, example: &str| {
            let message = format!("place = \"chains\" needs \"{key}\"");
            self.source.error(&fields.span, message).hint(format!("add {key} = {example}"))
        };
        let chains = fields.get::<u64>("chains").ok_or_else(|| needed("chains", "100"))?;
        let beads = fields.get::<u64>("beads").ok_or_else(|| needed("beads", "50"))?;
        let bond_length = fields.get::<f64>("bond_length").ok_or_else(|| needed("bond_length", "0.97"))?;
        let atoms = chains.value.checked_mul(beads.value).filter(|n| *n <= MAX_ATOMS);
        let atoms = atoms.ok_or_else(|| self.too_many(&chains.span))?;
        self.check_counts(species, atoms, &chains.span)?;
        Ok(AtomsInput::Chains {
            chains: chains.value as usize,
            beads: beads.value as usize,
            region: region(fields)?,
            bond_length: bond_length.value,
        })
    }

    fn water(&self, fields: &Fields, species: &[Located<SpeciesInput>]) -> Result<AtomsInput> {
        self.refuse(fields, &["atoms", "min_distance", "chains", "beads"], "water")?;
        if let Some(s) = species.iter().find(|s| s.value.amount.is_some()) {
            let name = &s.value.name;
            let message = format!("[species.{name}] gives a count or a fraction, but this is water");
            return Err(self.source.error(&s.span, message).hint("leave it out, and give molecules = ..."));
        }
        let needed = |key: &str, example: &str| {
            let message = format!("place = \"water\" needs \"{key}\"");
            self.source.error(&fields.span, message).hint(format!("add {key} = {example}"))
        };
        let molecules = fields.get::<u64>("molecules").ok_or_else(|| needed("molecules", "1000"))?;
        let bond_length = fields.get::<f64>("bond_length").ok_or_else(|| needed("bond_length", "1.0"))?;
        let angle = fields.get::<f64>("bond_angle").ok_or_else(|| needed("bond_angle", "109.47"))?;
        if angle.value >= 180.0 {
            let message = format!("bond_angle = {}, but it must be less than 180", angle.value);
            return Err(self.source.error(&angle.span, message));
        }
        let site_distance = fields.get::<f64>("site_distance").map(|d| d.value);
        let shape = WaterShape { bond_length: bond_length.value, angle: angle.value, site_distance };
        if molecules.value > MAX_ATOMS / shape.atoms() as u64 {
            return Err(self.too_many(&molecules.span));
        }
        Ok(AtomsInput::Water { molecules: molecules.value as usize, region: region(fields)?, shape })
    }

    /// `[[bond]]` or `[[angle]]`
    fn bonded<K: BondedKind + Word>(&self, tables: Vec<Fields>) -> Result<Vec<Located<BondedInput<K>>>> {
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

    fn check_counts(&self, species: &[Located<SpeciesInput>], atoms: u64, span: &Range<usize>) -> Result<()> {
        match total_count(species) {
            Some(total) if total != atoms => Err(self
                .source
                .error(
                    span,
                    format!("there are {atoms} atoms, but the counts of the species add up to {total}"),
                )
                .hint("change one of the counts, or give fractions")),
            _ => Ok(()),
        }
    }

    fn too_many(&self, span: &Range<usize>) -> jostle_core::Error {
        self.source.error(span, format!("more than {MAX_ATOMS} atoms"))
    }

    fn force(
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
        let cutoff = fields.get::<f64>("cutoff").map(|c| c.value);
        let mut truncation: Truncation = fields.need_choice("truncation")?;
        if let Some(given) = fields.get::<f64>("switch_from") {
            let Truncation::Switched { from } = &mut truncation else {
                let message =
                    format!("\"switch_from\" means nothing with truncation = \"{}\"", truncation.name());
                return Err(self
                    .source
                    .error(&given.span, message)
                    .hint("leave it out, or choose truncation = \"switched\""));
            };
            *from = given.value;
        }
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

    fn wall(
        &self,
        fields: &Fields,
        species: &[Located<SpeciesInput>],
        built: bool,
    ) -> Result<Located<WallInput>> {
        let mut all = species.to_vec();
        if let Some(mut wall) = species.first().cloned() {
            wall.value.name = outside::WALL.into();
            all.push(wall);
        }
        let force = fields.get::<Fields>("force").map(|force| self.force(&force.value, &all, built));
        outside::wall(self.source, fields, force.transpose()?)
    }

    fn refuse_thermostats(&self, root: &Fields) -> Result<()> {
        for stage in root.need::<Vec<Fields>>("stage")? {
            if stage.gives("thermostat") {
                let message = "grains have no temperature that a thermostat could keep";
                return Err(self
                    .source
                    .error(&entry_span(&stage, "thermostat"), message)
                    .hint("leave it out: they lose energy by damping and friction"));
            }
        }
        Ok(())
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

    /// That of a pair force, which must have one.
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

    fn metal(&self, fields: Located<Fields>) -> Result<Located<MetalInput>> {
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

    /// What becomes of forces beyond their cut-off.
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

    fn electrostatics(&self, fields: Located<Fields>) -> Result<Located<ElectrostaticsInput>> {
        let Located { value: fields, span } = fields;
        let kind = self.long_range(&fields)?;
        let cutoff = fields.get("cutoff").map(|c| c.value);
        let net_charge = fields.choice("net_charge").map(|n| n.value).unwrap_or_default();
        let screening = self.screening(&fields)?;
        Ok(Located { value: ElectrostaticsInput { kind, cutoff, net_charge, screening }, span })
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
            },
            output: fields.get::<String>("output").map(|o| self.source.folder().join(o.value)),
        })
    }
}

/// Atoms are numbered in 32 bits.
const MAX_ATOMS: u64 = u32::MAX as u64;

fn density((value, dimension): (f64, Dimension)) -> DensityInput {
    if dimension == Dimension::MASS_DENSITY { DensityInput::Mass(value) } else { DensityInput::Number(value) }
}

fn region(fields: &Fields) -> Result<RegionInput> {
    Ok(match fields.get::<Fields>("box") {
        Some(region) => {
            RegionInput::Box { lengths: region.value.need("lengths")?, tilts: region.value.need("tilts")? }
        }
        None => RegionInput::Density(density(fields.need("density")?)),
    })
}

pub(super) fn entry_span(fields: &Fields, name: &str) -> Range<usize> {
    fields.entry(name).map_or(fields.span.clone(), |e| e.span.clone())
}

/// The sum of the counts, if the species give counts.
fn total_count(species: &[Located<SpeciesInput>]) -> Option<u64> {
    let count = |s: &Located<SpeciesInput>| match s.value.amount {
        Some(Amount::Count(n)) => Some(n as u64),
        _ => None,
    };
    species.iter().map(count).sum()
}

/// Mass per atom; `atoms` is how many there are in all.
fn mean_mass(species: &[Located<SpeciesInput>], atoms: f64) -> f64 {
    let share = |s: &SpeciesInput| match s.amount {
        Some(Amount::Count(n)) => n as f64 / atoms,
        Some(Amount::Fraction(x)) => x,
        None => 1.0,
    };
    species.iter().map(|s| share(&s.value) * s.value.mass.unwrap_or(0.0)).sum()
}
