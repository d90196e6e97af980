//! Molecules with their force field: `topology` and its keys, in `[system]` or in `[[molecule]]`.

use super::build::Builder;
use super::fields::{Fields, entry_span};
use super::model::*;
use super::system::region;
use jostle_core::{Dimension, Result};
use std::path::PathBuf;

/// Distance of atoms of different molecules that are placed, in metres: that of hydrogens in liquids.
const MIN_DISTANCE: f64 = 2e-10;

impl Builder<'_> {
    /// Files of molecules with this topology.
    pub(super) fn files(&self, topology: &str, fields: &Fields) -> MoleculesInput {
        let path = |name: &str| self.source.folder().join(name);
        let names = |key: &str| fields.get::<Vec<String>>(key).map(|n| n.value).unwrap_or_default();
        let paths = |key: &str| -> Vec<PathBuf> { names(key).iter().map(|name| path(name)).collect() };
        let coordinates = fields.get::<String>("coordinates").map(|given| given.value);
        MoleculesInput {
            topology: path(topology),
            parameters: paths("parameters"),
            define: names("define"),
            include: paths("include"),
            coordinates: path(coordinates.as_deref().unwrap_or(topology)),
            rigid: fields.choice("rigid").map(|r| r.value).unwrap_or_default(),
            hydrogen_mass: fields.get("hydrogen_mass").map(|m| m.value),
        }
    }

    /// `place = "molecules"`
    pub(super) fn mixture(&self, fields: &Fields, molecules: &[Fields]) -> Result<AtomsInput> {
        let others = ["atoms", "chains", "beads", "bond_length", "molecules", "bond_angle", "site_distance"];
        self.refuse(fields, &others, "molecules")?;
        let Some(length) = self.units.from_si(Dimension::LENGTH) else {
            let message = format!("units = \"{}\" are reduced, but molecules have real units", self.units);
            return Err(self.source.error(&entry_span(fields, "place"), message));
        };
        let one = |fields: &Fields| -> Result<Located<PlacedInput>> {
            let topology: String = fields.need("topology")?;
            let count: u64 = fields.need("count")?;
            let value = PlacedInput { files: self.files(&topology, fields), count: count as usize };
            Ok(Located { value, span: fields.span.clone() })
        };
        let placed = molecules.iter().map(one).collect::<Result<Vec<_>>>()?;
        if placed.is_empty() {
            let error = self.source.error(&entry_span(fields, "place"), "there is no [[molecule]] to place");
            return Err(
                error.hint("add [[molecule]] with topology = \"...\", coordinates = \"...\", count = 100")
            );
        }
        let min_distance = fields.get("min_distance").map_or(MIN_DISTANCE * length, |d| d.value);
        Ok(AtomsInput::Mixture(MixtureInput { molecules: placed, region: region(fields)?, min_distance }))
    }

    /// Refuses `[[molecule]]` beside atoms of another origin.
    pub(super) fn refuse_molecules(&self, molecules: &[Fields]) -> Result<()> {
        match molecules.first() {
            Some(fields) => Err(self
                .source
                .error(&fields.span, "[[molecule]] is placed, but the atoms come from elsewhere")
                .hint("write place = \"molecules\" in [system]")),
            None => Ok(()),
        }
    }
}
