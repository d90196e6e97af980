//! Molecules that are placed anew, `place = "molecules"`: their topologies, joined, and the form of each.

use super::coordinates::Coordinates;
use super::nonbonded::{NonbondedParameters, UnlikePairs};
use super::{Molecules, join};
use crate::input::Input;
use crate::input::model::{AtomsInput, DensityInput, Located, MixtureInput, RegionInput};
use jostle_core::{Error, Result, SimBox, System, Topology, Vec3};
use jostle_potentials::Forces;

/// Molecules that are to be placed.
#[derive(Debug, Clone)]
pub struct Mixture {
    /// All molecules, those of one topology after those of the one before.
    pub molecules: Molecules,
    /// Form of the molecules of each topology, in this order.
    pub forms: Vec<MoleculeForm>,
    /// No two atoms of different molecules are placed nearer than this.
    pub min_distance: f64,
    region: RegionInput,
}

/// Form of a molecule, and the number of its copies.
#[derive(Debug, Clone, PartialEq)]
pub struct MoleculeForm {
    /// Positions of its atoms.
    pub positions: Vec<Vec3>,
    /// Number of copies.
    pub count: usize,
}

impl Mixture {
    /// Box of the input, or the cube of its density; periodic along all axes.
    ///
    /// # Errors
    /// If edges make no box.
    pub fn simbox(&self) -> Result<SimBox> {
        let cube = |volume: f64| SimBox::new([0.0; 3], [volume.cbrt(); 3], [0.0; 3], [true; 3]);
        let n = self.molecules.atoms.len() as f64;
        match self.region {
            RegionInput::Box { lengths, tilts } => SimBox::new([0.0; 3], lengths, tilts, [true; 3]),
            RegionInput::Density(DensityInput::Number(density)) => cube(n / density),
            RegionInput::Density(DensityInput::LatticeConstant(edge)) => cube(n * edge.powi(3)),
            RegionInput::Density(DensityInput::Mass(density)) => {
                let Molecules { species, atoms, units, .. } = &self.molecules;
                let mass: f64 = atoms.iter().map(|s| units.mass_to_user(species[usize::from(*s)].mass)).sum();
                cube(mass / density)
            }
        }
    }
}

impl Input {
    /// Molecules of `place = "molecules"`; `None` if the input has another system.
    ///
    /// # Errors
    /// Errors of [`Molecules::read`] and [`Coordinates::read`], or if there is no rule for pairs of different
    /// topologies.
    pub fn read_mixture(&self) -> Result<Option<Mixture>> {
        let AtomsInput::Mixture(MixtureInput { molecules, region, min_distance }) = &self.system.atoms.value
        else {
            return Ok(None);
        };
        let (mut parts, mut forms) = (Vec::new(), Vec::new());
        for Located { value: placed, span } in molecules {
            let (part, coordinates) = self.read_part(&placed.files, span)?;
            let (n, given) = (part.atoms.len(), coordinates.positions.len());
            if n != given {
                let message = format!("the topology has {n} atoms, the coordinates have {given}");
                return Err(self.source.error(span, message).hint("both are those of one molecule"));
            }
            forms.push(MoleculeForm { positions: coordinates.positions, count: placed.count });
            parts.push((part, placed.count));
        }
        let rule = self.forces.first().and_then(|force| force.value.mixing.as_ref()).map(|rule| rule.value);
        let at = |e: Error| e.at_span(&self.source.path, &self.source.text, self.system.atoms.span.clone());
        let molecules = join::join(&parts, rule).map_err(at)?;
        Ok(Some(Mixture { molecules, forms, min_distance: *min_distance, region: *region }))
    }

    /// System of molecules that have been placed, and its forces.
    ///
    /// # Errors
    /// Errors of [`Molecules::into_system`], or if the input does not say how far forces reach.
    pub fn system_of_mixture(
        &self,
        mixture: Mixture,
        simbox: SimBox,
        positions: Vec<Vec3>,
    ) -> Result<(System, Forces)> {
        let wells = NonbondedParameters::of(&mixture.molecules, unlike(&mixture));
        let (system, bound) = self.copies(mixture.molecules, simbox, positions)?;
        let forces = self.forces_of_molecules(&system, &wells, bound)?;
        Ok((system, forces))
    }

    /// System of molecules, with the copies of it that the input wants side by side, and forces of its bonded terms.
    fn copies(&self, molecules: Molecules, simbox: SimBox, positions: Vec<Vec3>) -> Result<(System, Forces)> {
        let coordinates = Coordinates { positions, simbox: Some(simbox), ..Coordinates::default() };
        let (system, bound) = molecules
            .into_system(coordinates, self.system.periodic)
            .map_err(|e| e.at_span(&self.source.path, &self.source.text, self.system.atoms.span.clone()))?;
        Ok((self.replicated(system)?, bound))
    }

    /// Forces of the molecules of a system that was made by [`Input::system_of_mixture`]; `None` if the input has
    /// another system.
    ///
    /// # Errors
    /// If the files are not those that the system was made of.
    pub fn forces_of_mixture(&self, system: &System) -> Result<Option<Forces>> {
        let Some(mixture) = self.read_mixture()? else { return Ok(None) };
        let wells = NonbondedParameters::of(&mixture.molecules, unlike(&mixture));
        // Bonded terms do not depend on the positions of molecules.
        let forms = mixture.forms.iter().flat_map(|form| std::iter::repeat_n(&form.positions, form.count));
        let positions = forms.flatten().copied().collect();
        let simbox = mixture.simbox()?;
        let (read, forces) = self.copies(mixture.molecules, simbox, positions)?;
        // Bodies are joined once, when a run begins.
        let own = Topology { rigid_bodies: Vec::new(), ..system.topology.clone() };
        if (&read.topology, &read.charges) != (&own, &system.charges) {
            let error = Error::input("the files of the molecules are not those that the run began with");
            let span = self.system.atoms.span.clone();
            return Err(error.at_span(&self.source.path, &self.source.text, span));
        }
        self.forces_of_molecules(system, &wells, forces).map(Some)
    }
}

/// Origin of unlike pairs: with several topologies, the rule of the input.
fn unlike(mixture: &Mixture) -> UnlikePairs {
    if mixture.forms.len() > 1 { UnlikePairs::OfInput } else { UnlikePairs::OfFiles }
}
