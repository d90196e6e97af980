//! Fields, walls and restraints.

use crate::blocks::Sums;
use crate::cells::Clusters;
use crate::division::Division;
use crate::simd::{Kernel, Lanes, Level, MOST_LANES, Scalar, Simd};
use jostle_core::{Components, IdIndex, Result, System, Vector};
use jostle_potentials::external::FormulaField;
use jostle_potentials::restraint::{AtomRestraints, RestraintForce, RestraintState};
use jostle_potentials::{Forces, external};
use std::ops::Range;

/// The restraints of a system, made ready.
#[derive(Default)]
pub struct RestraintKernel {
    by_atom: AtomRestraints,
    /// Index of each atom in storage, by id.
    index_by_id: IdIndex,
    /// Current state of the restraints.
    now: RestraintState,
}

impl RestraintKernel {
    /// Restraints of a system.
    pub fn new(system: &System, forces: &Forces) -> Self {
        let by_atom = AtomRestraints::new(&forces.restraints, system.state.len());
        RestraintKernel { by_atom, ..RestraintKernel::default() }
    }

    /// Returns true if there are no restraints.
    pub fn is_empty(&self) -> bool {
        self.by_atom.first.is_empty()
    }

    /// Takes the indices of atoms after they have been sorted.
    pub fn place(&mut self, index_by_id: &IdIndex) {
        if !self.is_empty() {
            self.index_by_id.clone_from(index_by_id);
        }
    }

    /// Evaluates the restraints of distances. Atoms with indices up to `n_owned` are this rank's; ranks with domains add
    /// their parts of centres.
    ///
    /// # Errors
    /// If another rank has failed.
    pub(crate) fn evaluate_distances(
        &mut self,
        system: &System,
        forces: &Forces,
        (n_owned, division): (usize, &Division),
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let (restraints, state) = (&forces.restraints, (&system.state, n_owned));
        let mut centers = restraints.group_centers(&system.simbox, state, &self.index_by_id);
        if let Some(domains) = division.domains().filter(|_| !centers.is_empty()) {
            domains.communicator.sum(centers.as_flattened_mut().as_flattened_mut())?;
        }
        self.now = restraints.at_centers(&system.simbox, &centers);
        Ok(())
    }

    /// Adds energies and virials of the restraints of distances to the sums of the term.
    pub fn add_to(&self, sums: Option<&mut Sums>) {
        let Some(sums) = sums else { return };
        self.now.distance_forces.iter().for_each(|restraint| add(sums, restraint));
    }
}

fn add(sums: &mut Sums, restraint: &RestraintForce) {
    sums.energy += restraint.energy;
    sums.virial.iter_mut().zip(restraint.virial).for_each(|(w, part)| *w += part);
}

/// Adds the forces of fields, walls and restraints on some clusters; returns sums by term.
pub fn add_forces<S: Scalar>(
    level: Level,
    (system, forces): (&System, &Forces),
    restraints: &RestraintKernel,
    clusters: &Clusters<S>,
    own: Range<usize>,
    to: &mut [S],
) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); forces.n_external()];
    if sums.is_empty() {
        return sums;
    }
    for (field, sum) in forces.formula_fields.iter().zip(&mut sums[forces.first_formula_field()..]) {
        sum.energy = level.run(FormulaForces { field, system, clusters, own: own.clone(), to: &mut *to });
    }
    if forces.n_external() == forces.formula_fields.len() {
        return sums;
    }
    let (state, width, last) = (&system.state, clusters.width, sums.len() - 1);
    for (c, cluster) in own.enumerate() {
        for (lane, atom) in clusters.atoms(cluster).enumerate() {
            let place = (state.position[atom], state.image[atom]);
            let who = (usize::from(state.species[atom]), state.id[atom]);
            let acting = (&forces.fields[..], &forces.walls[..]);
            let mut force = external::on_atom(acting, &system.simbox, who, place, |term, energy| {
                sums[term].energy += energy;
            });
            if !restraints.is_empty() {
                let at = (&system.simbox, state.position[atom]);
                let restraint =
                    restraints.by_atom.on(state.id[atom], at, &forces.restraints, &restraints.now);
                add(&mut sums[last], &restraint);
                force += restraint.force;
            }
            for (k, f) in force.iter().enumerate() {
                let to = &mut to[(3 * c + k) * width + lane];
                *to = S::from_f64(to.to_f64() + f);
            }
        }
    }
    sums
}

/// Forces of a field by a formula, a register of atoms at a time; gives the energy.
struct FormulaForces<'a, S> {
    field: &'a FormulaField,
    system: &'a System,
    clusters: &'a Clusters<S>,
    own: Range<usize>,
    to: &'a mut [S],
}

impl<S: Scalar> Kernel for FormulaForces<'_, S> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Simd>(self) -> f64 {
        let FormulaForces { field, system, clusters, own, to } = self;
        let (state, width) = (&system.state, clusters.width);
        let of_cluster = |(c, cluster): (usize, usize)| {
            clusters.atoms(cluster).enumerate().map(move |(lane, atom)| (3 * c * width + lane, atom))
        };
        let atoms = own.enumerate().flat_map(of_cluster);
        let mut atoms = atoms.filter(|(_, atom)| field.acts_on(state.id[*atom]));
        let mut numbers = vec![[0.0; MOST_LANES]; field.n_inputs()];
        let (mut inputs, mut results) = (Vec::with_capacity(numbers.len()), Vec::new());
        let mut places = [0; MOST_LANES];
        let mut sum = 0.0;
        loop {
            let mut lanes = 0;
            for (place, atom) in atoms.by_ref().take(I::F64::WIDTH) {
                let at = (state.position[atom], state.image[atom]);
                field.inputs(&system.simbox, state.id[atom], at, |k, x| numbers[k][lanes] = x);
                places[lanes] = place;
                lanes += 1;
            }
            if lanes == 0 {
                return sum;
            }
            // Lanes without an atom repeat the last one.
            for number in &mut numbers {
                let last = number[lanes - 1];
                number[lanes..].fill(last);
            }
            inputs.clear();
            inputs.extend(numbers.iter().map(|number| I::F64::load(number)));
            let (energy, force): (I::F64, Vector<I::F64>) = field.evaluate(&inputs, &mut results);
            let mut one = [0.0; MOST_LANES];
            energy.store(&mut one);
            sum += one[..lanes].iter().sum::<f64>();
            for (k, force) in force.into_iter().enumerate() {
                force.store(&mut one);
                for (place, f) in places[..lanes].iter().zip(&one) {
                    let to = &mut to[place + k * width];
                    *to = S::from_f64(to.to_f64() + f);
                }
            }
        }
    }
}
