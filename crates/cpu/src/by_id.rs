//! Vectors of atoms in the order of their ids, written by the team.
//!
//! Threads walk over the atoms as they are stored and write rows out of order: of all that is read and written the rows
//! alone are far apart. A walk over the ids would jump between positions and images, and would need indices by id.

use crate::threads::{SharedRows, Team};
use jostle_core::{OneLoop, RowWriter, Vec3};

/// Fewest atoms for which the team gains time.
const ATOMS_OF_TEAM: usize = 4_000;

/// Rows written by a team, each thread those of a part of the atoms with these ids.
#[derive(Clone, Copy)]
pub struct ByTeam<'a> {
    pub team: &'a Team,
    pub ids: &'a [u32],
}

impl RowWriter for ByTeam<'_> {
    fn write(self, rows: &mut [Vec3], vector: impl Fn(usize) -> Vec3 + Sync) {
        if self.ids.len() < ATOMS_OF_TEAM || self.team.size() == 1 {
            return OneLoop(self.ids).write(rows, vector);
        }
        let rows = SharedRows::new(rows);
        let size = self.ids.len().div_ceil(self.team.size());
        self.team.map(self.ids.chunks(size).collect(), |k, ids| {
            for (index, id) in (k * size..).zip(ids) {
                rows.set(*id as usize, vector(index));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    #[test]
    fn rows_follow_the_order_of_atoms() {
        let n = 2 * ATOMS_OF_TEAM as u32 + 1;
        for (threads, step) in [(1, 7919), (2, 7919), (3, 101)] {
            let ids: Vec<u32> =
                (0..n).map(|index| ((u64::from(index) * step + 13) % u64::from(n)) as u32).collect();
            let team = Team::new(threads);
            for n_rows in [n as usize, 5] {
                let mut rows = vec![Vector([-1.0; 3]); n_rows];
                let writer = ByTeam { team: &team, ids: &ids };
                writer.write(&mut rows, |index| Vector([f64::from(ids[index]), index as f64, 0.0]));
                assert!(rows.iter().zip(0..).all(|(row, id)| row[0] == f64::from(id)), "{threads} threads");
            }
        }
    }
}
