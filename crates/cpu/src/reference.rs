//! The plain reference: every pair, one after the other, in f64. It is kept for ever; every
//! faster kernel is tested against it.

use crate::bonded::{Broken, TENSOR};
use crate::electrostatics::ewald::EwaldSum;
use jostle_core::{Energies, IdIndex, Result, SymTensor, System, Vec3};
use jostle_potentials::bonded::{
    AngleFunction, AngleVisitor, DihedralFunction, DihedralVisitor, angle_forces, dihedral_forces,
};
use jostle_potentials::external::on_atom;
use jostle_potentials::restraint::{AtomRestraints, RestraintForce};
use jostle_potentials::{
    AngleTerm, BondTerm, DihedralTerm, Embedded, Forces, LatticeSum, PairFunction, PairTerm, PairVisitor,
    ThreeBody, Vacuum,
};

/// Forces in storage order, energies by term, and the virial of a system.
///
/// # Errors
/// If a bond has broken: names the two atoms.
pub fn evaluate(system: &System, terms: &Forces) -> Result<(Vec<Vec3>, Energies)> {
    evaluate_weighted(system, terms, 1.0)
}

/// Forces, energies and virial with long-range forces multiplied by `weight`.
///
/// # Errors
/// See [`evaluate`].
pub fn evaluate_weighted(
    system: &System,
    terms: &Forces,
    long_range_weight: f64,
) -> Result<(Vec<Vec3>, Energies)> {
    let mut forces = vec![Vec3::ZERO; system.state.len()];
    let mut energies = Energies::default();
    let exclusions = system.topology.exclusions(system.state.len(), terms.exclude);
    for term in &terms.pairs {
        let mut energy = add_pairs(system, term, &exclusions, &mut forces, &mut energies.virial);
        let volume = system.simbox.volume();
        let [tail_energy, tail_virial] = term.tail(&system.counts()).at(volume);
        energy += tail_energy;
        for k in 0..3 {
            energies.virial[k] += tail_virial;
        }
        energies.terms.push(energy);
    }
    if let Some(term) = &terms.embedded {
        let energy = embedded(system, term, &mut forces, &mut energies.virial);
        energies.terms.push(energy);
    }
    if let Some(term) = &terms.three_body {
        let energy = three_body(system, term, &mut forces, &mut energies.virial);
        energies.terms.push(energy);
    }
    for sum in terms.sums() {
        let energy =
            sum_images(system, (&sum, long_range_weight), &exclusions, &mut forces, &mut energies.virial);
        energies.terms.push(energy);
    }
    if let Some(term) = &terms.vacuum {
        energies.terms.extend(vacuum(system, term, &exclusions, &mut forces, &mut energies.virial));
    }
    let index_by_id = system.state.index_by_id();
    let mut bound =
        BondedSums { system, index_by_id: &index_by_id, forces: &mut forces, virial: &mut energies.virial };
    for term in &terms.bonds {
        let (energy, broken) = term.kind.visit(Bonds { bound: &mut bound, term });
        if let Some(broken) = broken {
            return Err(broken.error(&system.state));
        }
        energies.terms.push(energy);
    }
    for term in &terms.angles {
        energies.terms.push(term.kind.visit(Angles { bound: &mut bound, term }));
    }
    for term in &terms.dihedrals {
        energies.terms.push(term.kind.visit(Dihedrals { bound: &mut bound, term }));
    }
    if !terms.cmaps.is_empty() {
        let mut total = 0.0;
        for cross in &system.topology.cross_terms {
            let Some(map) = terms.cmaps.get(cross.kind as usize) else { continue };
            total += bound.chain(cross.atoms, |vectors| map.forces(vectors));
        }
        energies.terms.push(total);
    }
    let external = add_external(system, terms, &mut forces, &mut energies.virial);
    energies.terms.extend(external);
    Ok((forces, energies))
}

/// Adds forces of fields, walls and restraints; energies of each.
fn add_external(
    system: &System,
    terms: &Forces,
    forces: &mut [Vec3],
    virial_sum: &mut SymTensor,
) -> Vec<f64> {
    let mut external = vec![0.0; terms.n_external()];
    for (k, force) in forces.iter_mut().enumerate() {
        let place = (system.state.position[k], system.state.image[k]);
        let who = (usize::from(system.state.species[k]), system.state.id[k]);
        let more = on_atom((&terms.fields, &terms.walls), &system.simbox, who, place, |term, energy| {
            external[term] += energy;
        });
        *force += more;
        for (field, sum) in terms.formula_fields.iter().zip(&mut external[terms.first_formula_field()..]) {
            let (energy, more) = field.on(&system.simbox, who.1, place);
            *sum += energy;
            *force += more;
        }
    }
    if let (false, Some(sum)) = (terms.restraints.is_empty(), external.last_mut()) {
        let (simbox, state) = (&system.simbox, &system.state);
        let now = terms.restraints.at(simbox, state, &state.index_by_id());
        let by_atom = AtomRestraints::new(&terms.restraints, state.len());
        let mut add = |RestraintForce { energy, virial, .. }: RestraintForce| {
            *sum += energy;
            virial_sum.iter_mut().zip(virial).for_each(|(w, part)| *w += part);
        };
        for (k, force) in forces.iter_mut().enumerate() {
            let restraint = by_atom.on(state.id[k], (simbox, state.position[k]), &terms.restraints, &now);
            *force += restraint.force;
            add(restraint);
        }
        now.distance_forces.into_iter().for_each(add);
    }
    external
}

/// Calls `visit(i, j, d, r2)` for every two atoms within a distance; d leads from j to i.
fn each_pair(system: &System, cutoff: f64, mut visit: impl FnMut(usize, usize, Vec3, f64)) {
    let position = &system.state.position;
    for i in 0..position.len() {
        for j in i + 1..position.len() {
            let (a, b) = (position[i], position[j]);
            let d = system.simbox.nearest_image(a - b);
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if r2 < cutoff * cutoff {
                visit(i, j, d, r2);
            }
        }
    }
}

/// Adds the forces and the virial of charges or dispersion; returns their energy. Ewald's sum serves for the
/// long-range part, whether there is a mesh or not; its forces are multiplied by the weight.
fn sum_images(
    system: &System,
    (sum, weight): (&LatticeSum, f64),
    exclusions: &[Vec<u32>],
    forces: &mut [Vec3],
    virial: &mut SymTensor,
) -> f64 {
    let id = &system.state.id;
    let charges = sum.strengths(system);
    let (method, cutoff) = (sum.method(), sum.cutoff());
    let [itself, even] = sum.constants(system);
    let mut energy = itself + even;
    virial[..3].iter_mut().for_each(|w| *w += even);
    let is_excluded =
        |i: usize, j: usize| exclusions.get(id[i] as usize).is_some_and(|list| list.contains(&id[j]));
    // With a reciprocal-space sum, excluded pairs have forces at any distance.
    let reach = if method.alpha().is_some() { f64::INFINITY } else { cutoff };
    each_pair(system, reach, |i, j, d, r2| {
        let excluded = is_excluded(i, j);
        if excluded || r2 < cutoff.powi(2) {
            let one = if excluded { 0.0 } else { 1.0 };
            // Zero times the force of a point charge at no distance is no number.
            let r2 = if excluded { r2.max(f64::MIN_POSITIVE.sqrt()) } else { r2 };
            let (u, force_over_r) = sum.direct(r2, one);
            energy += charges[i] * charges[j] * u;
            add_force(forces, virial, (i, j), d, charges[i] * charges[j] * force_over_r);
        }
    });
    let (Some(longest), Some(spectrum)) = (sum.longest(), sum.spectrum()) else {
        return energy;
    };
    let (simbox, position) = (&system.simbox, &system.state.position);
    let ewald = EwaldSum::new(simbox, spectrum, longest);
    let amplitudes = ewald.amplitudes(simbox, position, &charges);
    let on_atoms = ewald.forces(simbox, position, &charges, &amplitudes);
    for (force, more) in forces.iter_mut().zip(on_atoms) {
        *force += weight * more;
    }
    let sums = ewald.sums(&amplitudes);
    virial.iter_mut().zip(sums.virial).for_each(|(w, part)| *w += part);
    energy + sums.energy
}

/// Adds the forces and the virial of embedded atoms; returns their energy.
fn embedded(system: &System, term: &Embedded, forces: &mut [Vec3], virial: &mut SymTensor) -> f64 {
    let species = |i: usize| usize::from(system.state.species[i]);
    let mut density = vec![0.0; forces.len()];
    each_pair(system, term.cutoff(), |i, j, _, r2| {
        density[i] += term.density(species(i), species(j), r2.sqrt()).0;
        density[j] += term.density(species(j), species(i), r2.sqrt()).0;
    });
    let embed = |(i, rho): (usize, &f64)| term.embedding(species(i), *rho);
    let (values, slopes): (Vec<f64>, Vec<f64>) = density.iter().enumerate().map(embed).unzip();
    let mut energy: f64 = values.iter().sum();
    each_pair(system, term.cutoff(), |i, j, d, r2| {
        let (u, force_over_r) = term.pair([species(i), species(j)], r2, [slopes[i], slopes[j]]);
        energy += u;
        add_force(forces, virial, (i, j), d, force_over_r);
    });
    energy
}

/// Adds the forces and the virial of three-body forces; returns their energy.
fn three_body(system: &System, term: &ThreeBody, forces: &mut [Vec3], virial: &mut SymTensor) -> f64 {
    let species = |i: usize| usize::from(system.state.species[i]);
    let mut neighbors = vec![Vec::new(); forces.len()];
    each_pair(system, term.cutoff(), |i, j, d, r2| {
        for (center, other, vector) in [(i, j, d.map(|x| -x)), (j, i, d)] {
            if r2 < term.cutoff_of(species(center), species(other)).powi(2) {
                neighbors[center].push((other, vector));
            }
        }
    });
    let mut total = 0.0;
    for (center, near) in neighbors.iter().enumerate() {
        let kinds: Vec<_> = near.iter().map(|(other, d)| (species(*other), *d)).collect();
        let (energy, gradients) = term.center(species(center), &kinds);
        total += energy;
        for ((other, d), gradient) in near.iter().zip(gradients) {
            for k in 0..3 {
                forces[*other][k] -= gradient[k];
                forces[center][k] += gradient[k];
            }
            for (w, (p, q)) in virial.iter_mut().zip(TENSOR) {
                *w -= d[p] * gradient[q];
            }
        }
    }
    total
}

/// Adds the forces and the virial of atoms in open space; returns both energies.
fn vacuum(
    system: &System,
    term: &Vacuum,
    exclusions: &[Vec<u32>],
    forces: &mut [Vec3],
    virial: &mut SymTensor,
) -> [f64; 2] {
    let state = &system.state;
    let mut total = [0.0; 2];
    each_pair(system, f64::INFINITY, |i, j, d, r2| {
        if exclusions.get(state.id[i] as usize).is_some_and(|list| list.contains(&state.id[j])) {
            return;
        }
        let coefficients = term.coefficients(state.species[i].into(), state.species[j].into());
        let strength = term.coulomb * system.charge(i) * system.charge(j);
        let (energies, force_over_r) = Vacuum::evaluate(r2, coefficients, strength);
        for (sum, energy) in total.iter_mut().zip(energies) {
            *sum += energy;
        }
        add_force(forces, virial, (i, j), d, force_over_r);
    });
    total
}

/// Adds the force that two atoms at distance `d` exert on each other, and its virial.
fn add_force(
    forces: &mut [Vec3],
    virial: &mut SymTensor,
    (i, j): (usize, usize),
    d: Vec3,
    force_over_r: f64,
) {
    let f = d.map(|x| force_over_r * x);
    for k in 0..3 {
        forces[i][k] += f[k];
        forces[j][k] -= f[k];
    }
    for (w, (p, q)) in virial.iter_mut().zip(TENSOR) {
        *w += d[p] * f[q];
    }
}

/// Output of bonds, angles and dihedrals.
struct BondedSums<'a> {
    system: &'a System,
    /// Index of an atom, by id.
    index_by_id: &'a IdIndex,
    forces: &'a mut [Vec3],
    virial: &'a mut SymTensor,
}

impl BondedSums<'_> {
    /// Vector from one atom to another.
    fn between(&self, from: usize, to: usize) -> Vec3 {
        let (a, b) = (self.system.state.position[from], self.system.state.position[to]);
        self.system.simbox.nearest_image(b - a)
    }

    /// Adds a force on an atom at the end of `arm`, and the opposite force on the atom where it starts.
    fn add_force(&mut self, start: usize, end: usize, arm: Vec3, force: Vec3) {
        for k in 0..3 {
            self.forces[end][k] += force[k];
            self.forces[start][k] -= force[k];
        }
        for (w, (p, q)) in self.virial.iter_mut().zip(TENSOR) {
            *w += arm[p] * force[q];
        }
    }
}

impl BondedSums<'_> {
    /// Adds the forces on a chain of atoms (ids), which are functions of the vectors from each to the next;
    /// returns the energy.
    fn chain<const N: usize, const M: usize>(
        &mut self,
        atoms: [u32; M],
        forces: impl FnOnce([Vec3; N]) -> (f64, [Vec3; N]),
    ) -> f64 {
        let places = atoms.map(|id| self.index_by_id.of(id));
        let vectors: [Vec3; N] = std::array::from_fn(|k| self.between(places[k], places[k + 1]));
        let (energy, forces) = forces(vectors);
        for k in 0..N {
            self.add_force(places[k], places[k + 1], vectors[k], forces[k]);
        }
        energy
    }
}

struct Dihedrals<'a, 'b> {
    bound: &'a mut BondedSums<'b>,
    term: &'a DihedralTerm,
}

impl DihedralVisitor for Dihedrals<'_, '_> {
    type Output = f64;

    fn visit<F: DihedralFunction>(self) -> f64 {
        let Dihedrals { bound, term } = self;
        let mut total = 0.0;
        for dihedral in &bound.system.topology.dihedrals {
            let Some(c) = term.coefficients(dihedral.kind as usize) else { continue };
            total += bound.chain(dihedral.atoms, |vectors| dihedral_forces::<F, f64>(vectors, &c));
        }
        total
    }
}

struct Bonds<'a, 'b> {
    bound: &'a mut BondedSums<'b>,
    term: &'a BondTerm,
}

impl PairVisitor for Bonds<'_, '_> {
    type Output = (f64, Option<Broken>);

    fn visit<F: PairFunction>(self) -> Self::Output {
        let Bonds { bound, term } = self;
        let (mut total, mut broken) = (0.0, None);
        for bond in &bound.system.topology.bonds {
            let Some(c) = term.coefficients(bond.kind as usize) else { continue };
            let [a, b] = bond.atoms.map(|id| bound.index_by_id.of(id));
            let arm = bound.between(a, b);
            let r2: f64 = arm.iter().map(|x| x * x).sum();
            if r2.sqrt() >= term.longest(bond.kind as usize) {
                broken = broken.or(Some(Broken { atoms: [a, b], length: r2.sqrt() }));
            }
            let (energy, force_over_r) = F::evaluate(r2, &c);
            total += energy;
            bound.add_force(a, b, arm, arm.map(|x| x * force_over_r));
        }
        (total, broken)
    }
}

struct Angles<'a, 'b> {
    bound: &'a mut BondedSums<'b>,
    term: &'a AngleTerm,
}

impl AngleVisitor for Angles<'_, '_> {
    type Output = f64;

    fn visit<F: AngleFunction>(self) -> f64 {
        let Angles { bound, term } = self;
        let mut total = 0.0;
        for angle in &bound.system.topology.angles {
            let Some(c) = term.coefficients(angle.kind as usize) else { continue };
            let [a, middle, b] = angle.atoms.map(|id| bound.index_by_id.of(id));
            let arms = [bound.between(middle, a), bound.between(middle, b)];
            let (energy, on_a, on_b) = angle_forces::<F, f64>(arms[0], arms[1], &c);
            total += energy;
            bound.add_force(middle, a, arms[0], on_a);
            bound.add_force(middle, b, arms[1], on_b);
        }
        total
    }
}

/// Coefficients and square cut-offs of a pair force, by two species.
pub(crate) struct Coefficients<'a> {
    term: &'a PairTerm,
    of_species: Vec<Option<(f64, Vec<f64>)>>,
}

impl<'a> Coefficients<'a> {
    /// Coefficients of a pair force.
    pub fn new(term: &'a PairTerm) -> Self {
        let n = term.n_species();
        let of_species = (0..n * n)
            .map(|k| Some((term.get(k / n, k % n)?.cutoff.powi(2), term.coefficients(k / n, k % n)?)));
        Coefficients { term, of_species: of_species.collect() }
    }

    /// Energy and force over distance; nothing beyond the cut-off.
    pub fn evaluate(&self, [a, b]: [usize; 2], r2: f64) -> Option<(f64, f64)> {
        let (cutoff2, coefficients) = self.of_species[a * self.term.n_species() + b].as_ref()?;
        (r2 < *cutoff2).then(|| self.term.evaluate(r2, coefficients))
    }
}

/// Adds forces and virial of one term and returns its energy. Exclusions are ids by id; empty where
/// there are none.
fn add_pairs(
    system: &System,
    term: &PairTerm,
    exclusions: &[Vec<u32>],
    forces: &mut [Vec3],
    virial: &mut SymTensor,
) -> f64 {
    let state = &system.state;
    let coefficients = Coefficients::new(term);
    let mut total = 0.0;
    each_pair(system, term.largest_cutoff(), |i, j, d, r2| {
        if exclusions.get(state.id[i] as usize).is_some_and(|list| list.contains(&state.id[j])) {
            return;
        }
        let species = [i, j].map(|index| usize::from(state.species[index]));
        if let Some((energy, force_over_r)) = coefficients.evaluate(species, r2) {
            total += energy;
            add_force(forces, virial, (i, j), d, force_over_r);
        }
    });
    total
}
