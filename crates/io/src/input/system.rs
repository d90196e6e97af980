//! `[system]` and `[species]`: which atoms there are, and where.

use super::build::Builder;
use super::fields::{Entry, Fields, Value, entry_span};
use super::formula;
use super::model::*;
use crate::memory;
use jostle_core::{Dimension, Result, SimBox, Vec3, Vector, WaterShape};
use std::ops::Range;

/// Random positions keep this fraction of the mean distance by default: a packing of 18%, well
/// below the 38% at which random placement jams.
const DEFAULT_MIN_DISTANCE: f64 = 0.7;

/// Atoms are numbered in 32 bits.
const MAX_ATOMS: u64 = u32::MAX as u64;

/// Keys of an input for what a topology has of its own.
pub(super) const NOT_BESIDE_A_TOPOLOGY: [&str; 8] =
    ["species", "metal", "three_body", "grains", "bond", "angle", "dihedral", "exclude"];

impl Builder<'_> {
    pub(super) fn species(&self, entry: &Entry) -> Result<Located<SpeciesInput>> {
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
        let frozen = fields.get::<bool>("frozen").and_then(|f| f.value.then_some(Vec3::ZERO));
        let driven = fields.get::<[f64; 3]>("velocity").map(|v| Vector(v.value)).or(frozen);
        let radius = fields.get::<f64>("radius").map(|r| r.value);
        let constants = formula::numbers(fields, "constants");
        let amount = count.or(fraction);
        let value = SpeciesInput { name, mass, charge, driven, radius, constants, amount };
        Ok(Located { value, span: entry.span.clone() })
    }

    pub(super) fn system(
        &self,
        fields: &Fields,
        species: &mut [Located<SpeciesInput>],
        molecules: &[Fields],
    ) -> Result<SystemInput> {
        let place = fields.choice::<Placement>("place").map(|place| place.value);
        if place != Some(Placement::Molecules) {
            self.refuse_molecules(molecules)?;
        }
        let atoms = if let Some(path) = fields.get::<String>("file") {
            self.refuse_amounts(species)?;
            let types = fields.get::<Vec<String>>("types").map(|t| t.value).unwrap_or_default();
            let path = self.source.folder().join(path.value);
            Located { value: AtomsInput::File { path, types }, span: entry_span(fields, "file") }
        } else if let Some(topology) = fields.get::<String>("topology") {
            let molecules = self.files(&topology.value, fields);
            Located { value: AtomsInput::Molecules(molecules), span: topology.span }
        } else if place == Some(Placement::Molecules) {
            Located { value: self.mixture(fields, molecules)?, span: entry_span(fields, "place") }
        } else {
            self.check_built_species(fields, species)?;
            let key = if fields.has_key("lattice") { "lattice" } else { "place" };
            let value = match place {
                None | Some(Placement::Molecules) => self.lattice(fields, species)?,
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
        let periodic = periodic(fields);
        let replicate = fields.get::<[u64; 3]>("replicate");
        let copies = replicate.map_or([1; 3], |r| r.value.map(|n| usize::try_from(n).unwrap_or(usize::MAX)));
        let replicate = Located { value: copies, span: entry_span(fields, "replicate") };
        Ok(SystemInput { atoms, replicate, periodic, velocities, seed: fields.need("seed")? })
    }

    /// The file of molecules has their species and forces.
    pub(super) fn refuse_other_forces(&self, root: &Fields) -> Result<()> {
        let Some(entry) =
            NOT_BESIDE_A_TOPOLOGY.iter().filter(|key| root.has_key(key)).find_map(|key| root.entry(key))
        else {
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
                self.room_for(n, &cells.span)?;
                self.check_counts(species, n, &cells.span)?;
                LatticeExtent::Cells(cells.value.map(|n| n as usize))
            }
            None => {
                let atoms = fields.get::<u64>("atoms");
                let span = atoms.as_ref().map_or(fields.span.clone(), |a| a.span.clone());
                let n = atoms.map_or(0, |a| a.value);
                self.room_for(n, &span)?;
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
        // The counts of species add up to the number of atoms where that is not given.
        let of_species = species.last().map_or(fields.span.clone(), |s| s.span.clone());
        self.room_for(atoms, &fields.get::<u64>("atoms").map_or(of_species, |atoms| atoms.span))?;
        let region = region(fields)?;
        let n = atoms as f64;
        let volume_per_atom = match region {
            RegionInput::Box { lengths, .. } => lengths.iter().product::<f64>() / n,
            RegionInput::Density(DensityInput::Mass(density)) => mean_mass(species, n) / density,
            RegionInput::Density(DensityInput::Number(density)) => 1.0 / density,
            RegionInput::Density(DensityInput::LatticeConstant(edge)) => edge.powi(3),
        };
        // No more than what a box of one or two atoms, or a narrow one, has room for.
        let usual = DEFAULT_MIN_DISTANCE * volume_per_atom.cbrt();
        let default = || usual.min(largest_distance(&region, n * volume_per_atom, periodic(fields)));
        let min_distance = fields.get::<f64>("min_distance").map_or_else(default, |d| d.value);
        Ok(AtomsInput::Random { atoms: atoms as usize, region, min_distance })
    }

    /// Refuses keys that belong to another way of placing atoms.
    pub(super) fn refuse(&self, fields: &Fields, keys: &[&str], place: &str) -> Result<()> {
        match keys.iter().find(|key| fields.has_key(key)) {
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
        self.room_for(atoms, &chains.span)?;
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
        self.room_for(molecules.value.saturating_mul(shape.atoms() as u64), &molecules.span)?;
        Ok(AtomsInput::Water { molecules: molecules.value as usize, region: region(fields)?, shape })
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

    /// Refuses more atoms than there are numbers or memory for.
    fn room_for(&self, atoms: u64, span: &Range<usize>) -> Result<()> {
        if atoms > MAX_ATOMS {
            return Err(self.too_many(span));
        }
        let Source { path, text, .. } = self.source;
        memory::room_for_atoms(atoms).map_err(|e| e.at_span(path, text, span.clone()))
    }

    fn too_many(&self, span: &Range<usize>) -> jostle_core::Error {
        self.source.error(span, format!("more than {MAX_ATOMS} atoms"))
    }
}

fn density((value, dimension): (f64, Dimension)) -> DensityInput {
    if dimension == Dimension::MASS_DENSITY { DensityInput::Mass(value) } else { DensityInput::Number(value) }
}

pub(super) fn region(fields: &Fields) -> Result<RegionInput> {
    Ok(match fields.get::<Fields>("box") {
        Some(region) => {
            RegionInput::Box { lengths: region.value.need("lengths")?, tilts: region.value.need("tilts")? }
        }
        None => RegionInput::Density(density(fields.need("density")?)),
    })
}

/// The axes along which the box is periodic, where they are given.
fn periodic(fields: &Fields) -> Option<[bool; 3]> {
    fields.get::<[bool; 3]>("periodic").map(|p| p.value)
}

/// The largest distance of atoms that is one of nearest images in a box with this volume; infinite in one that makes no sense.
fn largest_distance(region: &RegionInput, volume: f64, periodic: Option<[bool; 3]>) -> f64 {
    let (lengths, tilts) = match region {
        RegionInput::Box { lengths, tilts } => (*lengths, *tilts),
        RegionInput::Density(_) => ([volume.cbrt(); 3], [0.0; 3]),
    };
    let simbox = SimBox::new([0.0; 3], lengths, tilts, periodic.unwrap_or([true; 3]));
    simbox.map_or(f64::INFINITY, |simbox| simbox.largest_cutoff())
}

/// The sum of the counts, if the species give counts.
fn total_count(species: &[Located<SpeciesInput>]) -> Option<u64> {
    let count = |s: &Located<SpeciesInput>| match s.value.amount {
        Some(Amount::Count(n)) => Some(n as u64),
        _ => None,
    };
    species.iter().map(count).try_fold(0u64, |sum, n| Some(sum.saturating_add(n?)))
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
