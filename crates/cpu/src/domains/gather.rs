//! Atoms of all ranks on rank 0, for files and observers.

use super::Domains;
use jostle_core::{Result, SimBox, State, Vec3, Vector};
use std::ops::Range;

/// Numbers of an atom: id, species, images, position, velocity, force, angular velocity.
const ROW: usize = 17;

impl Domains {
    /// Puts the atoms of all ranks together on rank 0, in the order of ranks; `places` are those in the lists, if there
    /// are any. Atoms are in the images in which these are in the box, as atoms of one process are.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn gather_atoms(&mut self, simbox: &SimBox, state: &State, places: Option<&[Vec3]>) -> Result<()> {
        let rows = self.gather_rows(ROW, |row, index| {
            row.extend([f64::from(state.id[index]), f64::from(state.species[index])]);
            let mut away = [0; 3];
            if let Some(mut place) = places.and_then(|places| places.get(index).copied()) {
                simbox.wrap(&mut place, &mut away);
            }
            let (shift, image, r) = (simbox.shift(away), state.image[index], state.position[index]);
            row.extend([0, 1, 2].map(|k| f64::from(image[k].saturating_add(away[k]))));
            row.extend(r - shift);
            [&state.velocity, &state.force].into_iter().for_each(|all| row.extend(all[index]));
            row.extend(state.angular_velocity.get(index).copied().unwrap_or_default());
        })?;
        let mut all = State::default();
        for row in rows.chunks_exact(ROW) {
            let vector = |at: usize| -> Vec3 { Vector([row[at], row[at + 1], row[at + 2]]) };
            all.id.push(row[0] as u32);
            all.species.push(row[1] as u16);
            all.image.push(*vector(2).map(|n| n as i32));
            all.position.push(vector(5));
            all.velocity.push(vector(8));
            all.force.push(vector(11));
            if self.turning {
                all.angular_velocity.push(vector(14));
            }
        }
        self.gathered = all;
        Ok(())
    }

    /// Puts the positions that atoms have in the lists together on rank 0, in the box and in the order of ranks.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn gather_places(&mut self, simbox: &SimBox, places: &[Vec3]) -> Result<()> {
        let rows = self.gather_rows(3, |row, index| {
            let mut place = places.get(index).copied().unwrap_or_default();
            simbox.wrap(&mut place, &mut [0; 3]);
            row.extend(place);
        })?;
        self.gathered_places = rows.chunks_exact(3).map(|row| Vector([row[0], row[1], row[2]])).collect();
        Ok(())
    }

    /// Part of this rank in the order of ranks.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn own_part(&self) -> Result<Range<usize>> {
        let counts = self.communicator.gather_equal(&[self.n_owned as u64])?;
        let begin = counts[..self.rank()].iter().sum::<u64>() as usize;
        Ok(begin..begin + self.n_owned)
    }

    /// Rows of the atoms of all ranks, on rank 0; none on others.
    fn gather_rows(&self, n_each: usize, write: impl Fn(&mut Vec<f64>, usize)) -> Result<Vec<f64>> {
        let counts = self.communicator.gather_equal(&[self.n_owned as u64])?;
        let mut own = Vec::with_capacity(n_each * self.n_owned);
        (0..self.n_owned).for_each(|index| write(&mut own, index));
        let expected: Vec<_> = match self.rank() {
            0 => counts.iter().enumerate().map(|(rank, n)| (rank, *n as usize * n_each)).collect(),
            _ => Vec::new(),
        };
        Ok(self.swap(vec![(0, own)], &expected)?.concat())
    }
}
