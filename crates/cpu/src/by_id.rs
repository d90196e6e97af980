//! Vectors of atoms in the order of their ids, gathered by the team.

use crate::threads::Team;
use jostle_core::{IdIndex, RowWriter, Vec3};

/// Fewest atoms for which the team gains time.
const ATOMS_OF_TEAM: usize = 4_000;

/// Order of the atoms, and their indices by id, which are found anew where the order has changed.
#[derive(Default)]
pub struct OrderById {
    ids: Vec<u32>,
    index_by_id: IdIndex,
}

impl OrderById {
    /// Indices of atoms with these ids. A comparison costs far less than the search that it mostly spares.
    pub fn of(&mut self, ids: &[u32]) -> &IdIndex {
        if self.ids != ids {
            self.ids.clear();
            self.ids.extend_from_slice(ids);
            self.index_by_id = IdIndex::new(ids);
        }
        &self.index_by_id
    }
}

/// Rows written by a team, each thread a part of them, from the atoms of these indices.
pub struct ByTeam<'a> {
    pub team: &'a Team,
    pub index_by_id: &'a IdIndex,
}

impl RowWriter for ByTeam<'_> {
    fn write(self, rows: &mut [Vec3], vector: impl Fn(usize) -> Vec3 + Sync) {
        let gather = |first: usize, rows: &mut [Vec3]| {
            for (row, index) in rows.iter_mut().zip(self.index_by_id.starting_at(first)) {
                *row = vector(index);
            }
        };
        if rows.len() < ATOMS_OF_TEAM {
            return gather(0, rows);
        }
        let size = rows.len().div_ceil(self.team.size());
        self.team.map(rows.chunks_mut(size).collect(), |k, rows| gather(k * size, rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_the_order_of_atoms() {
        let n = 2 * ATOMS_OF_TEAM as u32 + 1;
        let mut order = OrderById::default();
        for (threads, step) in [(1, 7919), (2, 7919), (3, 101)] {
            let ids: Vec<u32> =
                (0..n).map(|index| ((u64::from(index) * step + 13) % u64::from(n)) as u32).collect();
            let team = Team::new(threads);
            for n_rows in [n as usize, 5] {
                let mut rows = vec![[-1.0; 3]; n_rows];
                let writer = ByTeam { team: &team, index_by_id: order.of(&ids) };
                writer.write(&mut rows, |index| [f64::from(ids[index]), index as f64, 0.0]);
                assert!(rows.iter().zip(0..).all(|(row, id)| row[0] == f64::from(id)), "{threads} threads");
            }
        }
    }
}
