//! Migration: atoms that have left a domain go to the rank that owns the place where they are expected.

use super::Domains;
use jostle_core::{Error, Result, SimBox, State, Vec3, Vector};

/// Numbers of an atom without angular velocity: id, species, images, position, place in the lists, velocity, force.
const ROW: usize = 17;
const ROW_TURNING: usize = ROW + 3;

impl Domains {
    /// Drops the atoms that other ranks own, from a state that has all of them; `places` decide.
    pub fn keep_own(&mut self, simbox: &SimBox, state: &mut State, places: &[Vec3]) {
        let first = self.first_of_groups(&state.id);
        let owner = |index: u32| self.grid.owner(simbox, places[first[index as usize] as usize]);
        let own: Vec<u32> = (0..state.len() as u32).filter(|index| owner(*index) == self.rank()).collect();
        state.permute(&own);
        state.force.resize(state.len(), Vec3::ZERO);
        self.n_owned = state.len();
        (self.halo, self.builds, self.load) = (super::Halo::default(), 0, 0.0);
    }

    /// Sends atoms to their owners, by the places that the first atoms of their groups have in the lists, and takes those
    /// that come.
    ///
    /// # Errors
    /// If another rank has failed, or an atom has been lost on the way.
    pub fn migrate(&mut self, simbox: &SimBox, state: &mut State, places: &mut Vec<Vec3>) -> Result<()> {
        let (own, size) = (self.rank(), self.communicator.size());
        let mut leaving: Vec<Vec<f64>> = vec![Vec::new(); size];
        let mut counts = vec![0u64; size];
        let mut staying = Vec::with_capacity(state.len());
        for (index, first) in self.first_of_groups(&state.id).into_iter().enumerate() {
            let owner = self.grid.owner(simbox, places[first as usize]);
            if owner == own {
                staying.push(index as u32);
                continue;
            }
            counts[owner] += 1;
            write_row(&mut leaving[owner], state, places, index);
        }
        let all = self.communicator.gather_equal(&counts)?;
        let row = if self.turning { ROW_TURNING } else { ROW };
        let coming = (0..size).map(|from| (from, all[from * size + own] as usize * row));
        let expected: Vec<_> = coming.filter(|(from, n)| *from != own && *n > 0).collect();
        if staying.len() < state.len() {
            state.permute(&staying);
            *places = staying.iter().map(|index| places[*index as usize]).collect();
        }
        let sent = leaving.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()).collect();
        for rows in self.swap(sent, &expected)? {
            rows.chunks_exact(row).for_each(|row| read_row(row, state, places));
        }
        self.n_owned = state.len();
        let mut total = [self.n_owned as f64];
        self.communicator.sum(&mut total)?;
        if total[0] != self.n_atoms as f64 {
            let (n_atoms, found) = (self.n_atoms, total[0]);
            return Err(Error::simulation(format!("of {n_atoms} atoms all ranks together own {found}"))
                .hint("this is a bug in Jostle"));
        }
        Ok(())
    }
}

fn write_row(row: &mut Vec<f64>, state: &State, places: &[Vec3], index: usize) {
    row.extend([f64::from(state.id[index]), f64::from(state.species[index])]);
    row.extend(state.image[index].map(f64::from));
    for vectors in [&state.position, places, &state.velocity, &state.force] {
        row.extend(vectors[index]);
    }
    row.extend(state.angular_velocity.get(index).into_iter().flatten());
}

fn read_row(row: &[f64], state: &mut State, places: &mut Vec<Vec3>) {
    let vector = |at: usize| -> Vec3 { Vector([row[at], row[at + 1], row[at + 2]]) };
    state.id.push(row[0] as u32);
    state.species.push(row[1] as u16);
    state.image.push(*vector(2).map(|n| n as i32));
    state.position.push(vector(5));
    places.push(vector(8));
    state.velocity.push(vector(11));
    state.force.push(vector(14));
    if row.len() == ROW_TURNING {
        state.angular_velocity.push(vector(17));
    }
}
