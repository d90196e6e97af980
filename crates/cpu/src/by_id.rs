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
    /// The team.
    pub team: &'a Team,
    /// Ids of the atoms, in the order of storage.
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
