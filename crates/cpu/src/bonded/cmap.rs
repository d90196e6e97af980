//! Maps over two dihedral angles, evaluated one by one: a protein has one for each residue at most.

use super::entries::{BondedContext, BondedEntry, BondedKernel, Broken, TENSOR, on_chain};
use crate::blocks::Sums;
use crate::simd::{Level, Scalar};
use jostle_core::Evaluate;
use jostle_potentials::Cmap;

struct Maps(Vec<Cmap>);

/// The term of all maps; `None` where there are none.
pub(super) fn of_maps<S: Scalar>(maps: &[Cmap]) -> Option<Box<dyn BondedKernel<S, 4>>> {
    (!maps.is_empty()).then(|| -> Box<dyn BondedKernel<S, 4>> { Box::new(Maps(maps.to_vec())) })
}

impl<S: Scalar> BondedKernel<S, 4> for Maps {
    fn has(&self, kind: u32) -> bool {
        (kind as usize) < self.0.len()
    }

    fn add_forces(
        &self,
        _level: Level,
        context: &mut BondedContext<S>,
        entries: &[BondedEntry<4>],
    ) -> (Sums, Option<Broken>) {
        let mut sums = Sums::default();
        for entry in entries {
            let vectors = context.vectors.chain(entry);
            let (energy, forces) = self.0[entry.kind as usize].forces(vectors);
            context.add(entry, on_chain(entry.role, forces));
            if context.evaluate == Evaluate::ForcesAndEnergies && entry.role == 0 {
                sums.energy += energy;
                for (vector, force) in vectors.iter().zip(forces) {
                    for (w, (p, q)) in sums.virial.iter_mut().zip(TENSOR) {
                        *w += vector[p] * force[q];
                    }
                }
            }
        }
        (sums, None)
    }
}
