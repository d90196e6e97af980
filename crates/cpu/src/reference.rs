//! The plain reference: every pair, one after the other, in f64. It is kept for ever; every
//! faster kernel is tested against it.

use jostle_core::{Energies, Result, SymTensor, System, Vec3};
use jostle_potentials::{Forces, PairFunction, PairTerm, PairVisitor};

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
    Ok((forces, energies))
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
        for i in 0..state.len() {
            for j in i + 1..state.len() {
                let pair = state.species[i] as usize * n_species + state.species[j] as usize;
                let Some((cutoff2, c)) = &table[pair] else { continue };
                let (a, b) = (state.position[i], state.position[j]);
                let d = self.system.simbox.nearest_image([a[0] - b[0], a[1] - b[1], a[2] - b[2]]);
                let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                if r2 >= *cutoff2 {
                    continue;
                }
                let (energy, force_over_r) = F::evaluate(r2, c);
                total += energy;
                let f = d.map(|x| force_over_r * x);
                for k in 0..3 {
                    self.forces[i][k] += f[k];
                    self.forces[j][k] -= f[k];
                }
                for (w, (p, q)) in
                    self.virial.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)])
                {
                    *w += d[p] * f[q];
                }
            }
        }
        total
    }
}
