//! The plain reference: every pair, one after the other, in f64. It is kept for ever; every
//! faster kernel is tested against it.

use jostle_core::{Energies, Result, SymTensor, System, Vec3};
use jostle_potentials::{Embedded, Forces, PairFunction, PairTerm, PairVisitor};

/// Forces in storage order, energies by term, and the virial of a system.
pub fn evaluate(system: &System, terms: &Forces) -> Result<(Vec<Vec3>, Energies)> {
    let mut forces = vec![[0.0; 3]; system.state.len()];
    let mut energies = Energies::default();
    for term in &terms.pairs {
        let sums = Sums { system, term, forces: &mut forces, virial: &mut energies.virial };
        let mut energy = term.kind.visit(term.truncation, sums);
        let volume = system.simbox.volume();
        let [tail_energy, tail_virial] = term.tail_times_volume(&system.counts());
        energy += tail_energy / volume;
        for k in 0..3 {
            energies.virial[k] += tail_virial / volume;
        }
        energies.terms.push(energy);
    }
    if let Some(term) = &terms.embedded {
        let energy = embedded(system, term, &mut forces, &mut energies.virial);
        energies.terms.push(energy);
    }
    Ok((forces, energies))
}

/// Calls `visit(i, j, d, r2)` for every two atoms within a distance; d leads from j to i.
fn each_pair(system: &System, cutoff: f64, mut visit: impl FnMut(usize, usize, Vec3, f64)) {
    let position = &system.state.position;
    for i in 0..position.len() {
        for j in i + 1..position.len() {
            let (a, b) = (position[i], position[j]);
            let d = system.simbox.nearest_image([a[0] - b[0], a[1] - b[1], a[2] - b[2]]);
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if r2 < cutoff * cutoff {
                visit(i, j, d, r2);
            }
        }
    }
}

/// Adds the forces and the virial of embedded atoms; their energy.
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
    for (w, (p, q)) in virial.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
        *w += d[p] * f[q];
    }
}

struct Sums<'a> {
    system: &'a System,
    term: &'a PairTerm,
    forces: &'a mut [Vec3],
    virial: &'a mut SymTensor,
}

impl PairVisitor for Sums<'_> {
    type Output = f64;

    fn visit<F: PairFunction>(self) -> f64 {
        let state = &self.system.state;
        let n_species = self.system.species.len();
        let table: Vec<Option<(f64, Vec<f64>)>> = (0..n_species * n_species)
            .map(|k| {
                let (a, b) = (k / n_species, k % n_species);
                Some((self.term.get(a, b)?.cutoff.powi(2), self.term.coefficients(a, b)?))
            })
            .collect();
        let mut total = 0.0;
        each_pair(self.system, self.term.largest_cutoff(), |i, j, d, r2| {
            let pair = state.species[i] as usize * n_species + state.species[j] as usize;
            if let Some((cutoff2, c)) = &table[pair]
                && r2 < *cutoff2
            {
                let (energy, force_over_r) = F::evaluate(r2, c);
                total += energy;
                add_force(self.forces, self.virial, (i, j), d, force_over_r);
            }
        });
        total
    }
}
