//! Ghosts that a rank asks for by id: atoms bound to its own that are not within reach of pair forces, or in domains
//! below its own. They are in no cluster, and have positions alone.

use super::Domains;
use jostle_core::{Error, IdIndex, Result, State, Vector};

/// Numbers of an atom: id, species, position.
const ROW: usize = 5;

impl Domains {
    /// Asks other ranks for atoms, by id, and puts them behind the ghosts: near ranks first, then all.
    ///
    /// # Errors
    /// If another rank has failed, or no rank has an atom.
    pub fn import_guests(&mut self, mut wanted: Vec<u32>, state: &mut State) -> Result<()> {
        let owned = IdIndex::new(&state.id[..self.n_owned]);
        for ranks in [self.halo.ranks(), (0..self.communicator.size()).collect()] {
            if self.communicator.largest(wanted.len() as f64)? == 0.0 {
                return Ok(());
            }
            let asked = self.swap_any(&ranks, ranks.iter().map(|_| wanted.clone()).collect())?;
            let mut answers = Vec::with_capacity(ranks.len());
            for (rank, ids) in ranks.iter().zip(asked) {
                let found: Vec<usize> = ids.into_iter().filter_map(|id| owned.get(id)).collect();
                let row = |index: &usize| -> [f64; ROW] {
                    let Vector([x, y, z]) = state.position[*index];
                    [f64::from(state.id[*index]), f64::from(state.species[*index]), x, y, z]
                };
                answers.push(found.iter().flat_map(row).collect::<Vec<f64>>());
                self.halo.send_more(*rank, &found);
            }
            let first = state.len();
            for (rank, rows) in ranks.iter().zip(self.swap_any(&ranks, answers)?) {
                let begin = state.len();
                for row in rows.chunks_exact(ROW) {
                    self.push_ghost(state, [row[0] as u32, row[1] as u32], Vector([row[2], row[3], row[4]]));
                }
                self.halo.receive_more(*rank, begin..state.len());
            }
            let found = IdIndex::new(&state.id[first..]);
            wanted.retain(|id| found.get(*id).is_none());
        }
        let all_found = wanted.first().map_or(Ok(()), |id| {
            Err(Error::simulation(format!("no rank has atom {}", id + 1)).hint("this is a bug in Jostle"))
        });
        self.agree_on(all_found)
    }

    /// Sends any numbers to ranks that send some back.
    fn swap_any<T: bytemuck::Pod>(&self, ranks: &[usize], numbers: Vec<Vec<T>>) -> Result<Vec<Vec<T>>> {
        let lengths = ranks.iter().zip(&numbers).map(|(rank, numbers)| (*rank, vec![numbers.len() as u64]));
        let one_each: Vec<_> = ranks.iter().map(|rank| (*rank, 1)).collect();
        let lengths = self.swap(lengths.collect(), &one_each)?.concat();
        let expected: Vec<_> = ranks.iter().zip(lengths).map(|(rank, n)| (*rank, n as usize)).collect();
        self.swap(ranks.iter().copied().zip(numbers).collect(), &expected)
    }
}
