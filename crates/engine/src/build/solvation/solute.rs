//! Molecules that are to be put into water: their size, and the way into the middle of a box.

use super::super::grid::Grid;
use super::shape::SizeOf;
use jostle_core::{Error, Result, SimBox, Vec3, Vector};
use jostle_io::forcefield::Molecules;
use jostle_io::forcefield::coordinates::Coordinates;

/// Atoms of a solute that are nearer than this to an image of it overlap, in nm: a hydrogen bond is 0.18.
const OVERLAP: f64 = 0.15;

/// Steps of the search for the sphere around the solute.
const SPHERE_STEPS: usize = 200;

/// Molecules in nm and kJ/mol, and where their atoms are.
#[derive(Debug, Clone)]
pub struct Solute {
    /// The molecules.
    pub molecules: Molecules,
    /// Their atoms; molecules are whole.
    pub positions: Vec<Vec3>,
}

impl Solute {
    /// Molecules with coordinates, in nm. Molecules across the border of a box become whole.
    ///
    /// # Errors
    /// If numbers of atoms differ, or an atom is another one in the coordinates.
    pub fn new(molecules: Molecules, coordinates: Coordinates) -> Result<Self> {
        let periodic = coordinates.simbox.map_or([false; 3], |simbox| simbox.periodic());
        let (system, _) = molecules.clone().into_system(coordinates, Some(periodic))?;
        let state = &system.state;
        let bound = jostle_core::Molecules::new(&system.topology, &system.species, state);
        let index_by_id = state.index_by_id();
        let paths = bound.paths(&system.simbox, |id| state.position[index_by_id.of(id)]);
        let mut first: Vec<Option<Vec3>> = vec![None; bound.count()];
        let mut positions = Vec::with_capacity(state.len());
        for (atom, (molecule, path)) in bound.of_atoms().iter().zip(&paths).enumerate() {
            let shift = system.simbox.shift(state.image[atom]);
            let start =
                *first[*molecule as usize].get_or_insert_with(|| state.position[atom] + shift - *path);
            positions.push(start + *path);
        }
        Ok(Solute { molecules: Molecules { names: system.names, ..molecules }, positions })
    }

    /// Charge of all its atoms.
    pub fn charge(&self) -> f64 {
        self.molecules.charges.iter().sum()
    }

    /// Sigma of an atom.
    pub(super) fn sigma(&self, atom: usize) -> f64 {
        let species = usize::from(self.molecules.atoms[atom]);
        let [epsilon, sigma] = self.molecules.lennard_jones[species * (self.molecules.species.len() + 1)];
        // Where nothing attracts, sigma may be anything.
        if epsilon > 0.0 { sigma.min(1.0) } else { 0.0 }
    }

    /// Size of the solute: the diameter of the sphere around it, or its lengths along the axes.
    pub(super) fn size(&self, of: SizeOf) -> Vec3 {
        let (low, high) = self.limits();
        match of {
            SizeOf::Distance => Vector([2.0 * self.sphere().1; 3]),
            SizeOf::Edges => high - low,
        }
    }

    fn limits(&self) -> (Vec3, Vec3) {
        let start = (Vector([f64::INFINITY; 3]), Vector([f64::NEG_INFINITY; 3]));
        self.positions.iter().fold(start, |(low, high), r| {
            (Vector::from_fn(|k| low[k].min(r[k])), Vector::from_fn(|k| high[k].max(r[k])))
        })
    }

    /// A sphere around all atoms, nearly the smallest (M. Badoiu and K. L. Clarkson, SODA 2003, 801): the centre
    /// moves towards the farthest atom by ever shorter ways.
    fn sphere(&self) -> (Vec3, f64) {
        let (low, high) = self.limits();
        let mut center = 0.5 * (low + high);
        let farthest = |center: Vec3| {
            let distance = |r: &Vec3| (0..3).map(|k| (r[k] - center[k]).powi(2)).sum::<f64>();
            let all = self.positions.iter().map(|r| (distance(r), *r));
            all.max_by(|a, b| a.0.total_cmp(&b.0)).map_or((0.0, center), |(d2, r)| (d2.sqrt(), r))
        };
        let mut best = (center, farthest(center).0);
        for step in 1..=SPHERE_STEPS {
            let (radius, atom) = farthest(center);
            if radius < best.1 {
                best = (center, radius);
            }
            center += (atom - center) / (step as f64 + 1.0);
        }
        best
    }

    /// The solute with the middle of its sphere in the middle of the box.
    pub(super) fn centered(mut self, simbox: &SimBox) -> Self {
        let (low, high) = self.limits();
        let sphere = self.sphere().0;
        let middle = simbox.to_cartesian(Vector([0.5; 3]));
        let own = if simbox.is_orthorhombic() { 0.5 * (low + high) } else { sphere };
        for r in &mut self.positions {
            *r = *r + middle - own;
        }
        self
    }

    /// Refuses a box in which the solute would lie upon an image of its own.
    pub(super) fn check_images(&self, simbox: &SimBox) -> Result<()> {
        let mut grid = Grid::new(*simbox, OVERLAP, self.positions.len());
        let mut held: Vec<Vec3> = Vec::with_capacity(self.positions.len());
        for r in &self.positions {
            let image = |other: usize, r2: f64| {
                let direct: f64 = (0..3).map(|k| (held[other][k] - r[k]).powi(2)).sum();
                r2 < OVERLAP * OVERLAP && direct > 4.0 * OVERLAP * OVERLAP
            };
            if grid.find(*r, image).is_some() {
                let Vector([a, b, c]) = self.size(SizeOf::Edges);
                let message =
                    format!("the box is smaller than the solute, which is {a:.3} x {b:.3} x {c:.3} nm");
                return Err(Error::input(message).hint("give a larger box, or a padding: --padding 1"));
            }
            grid.insert(*r);
            held.push(*r);
        }
        Ok(())
    }
}
