//! Atoms that constraints, virtual sites or rigid bodies join. A group of them is never cut: the rank that owns the place
//! of its first atom has all of it, in the images in which its atoms are next to that one. They reach out of the domain
//! then, by the overhang.

use super::Domains;
use super::grid::distance2_from;
use jostle_core::{IdIndex, Result, SimBox, State, Vec3};

impl Domains {
    /// Index of the first atom of the group that each atom is in, in storage order; an atom that is in none is its own.
    /// Groups must be whole.
    pub(super) fn first_of_groups(&self, ids: &[u32]) -> Vec<u32> {
        if self.leaders.is_empty() {
            return (0..ids.len() as u32).collect();
        }
        let index_by_id = IdIndex::new(ids);
        ids.iter().map(|id| index_by_id.of(self.leaders[*id as usize]) as u32).collect()
    }

    /// Moves atoms to the images in which they are next to the first atoms of their groups, along the axes that are
    /// divided; elsewhere the search for pairs looks at images, of atoms that are in the box.
    pub fn join_groups(&self, simbox: &SimBox, state: &mut State, places: &mut [Vec3]) {
        if self.leaders.is_empty() {
            return;
        }
        let (divided, periodic) = (self.axes_with_ghosts(), simbox.periodic());
        for (index, first) in self.first_of_groups(&state.id).into_iter().enumerate() {
            if first as usize == index {
                continue;
            }
            let [s, beside] = [index, first as usize].map(|index| simbox.to_fractional(places[index]));
            let away = [0, 1, 2].map(|k| match divided[k] && periodic[k] {
                true => (beside[k] - s[k]).round() as i32,
                false => 0,
            });
            if away != [0; 3] {
                let shift = simbox.shift(away);
                for r in [&mut places[index], &mut state.position[index]] {
                    *r += shift;
                }
                (0..3).for_each(|k| state.image[index][k] -= away[k]);
            }
        }
    }

    /// How far places of the atoms of any rank are out of its domain.
    ///
    /// # Errors
    /// If another rank has failed.
    pub(super) fn overhang(&self, simbox: &SimBox, places: &[Vec3]) -> Result<f64> {
        if self.leaders.is_empty() {
            return Ok(0.0);
        }
        let region = self.grid.region(self.rank());
        let outside2 = |place: &Vec3| {
            let s = simbox.to_fractional(*place);
            distance2_from(&region, simbox, [s, s])
        };
        let own = places[..self.n_owned].iter().map(outside2).fold(0.0, f64::max);
        self.communicator.largest(own.sqrt())
    }
}
