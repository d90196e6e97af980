//! Positions of atoms in the box and along their unwrapped trajectories; vectors of atoms in the order of their ids.

use jostle_core::{SimBox, State, Vec3};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Fewest atoms for which a further thread gains time.
const ATOMS_PER_THREAD: usize = 50_000;

/// The position of an atom in the box.
#[inline]
pub(crate) fn wrapped_position(simbox: &SimBox, state: &State, index: usize) -> Vec3 {
    let position = state.position[index];
    // Most atoms are inside; rounding down is a call of a function on old processors.
    let inside = simbox.to_fractional(position).iter().all(|s| (0.0..1.0).contains(s));
    if inside { position } else { wrapped_with_image(simbox, state, index).0 }
}

/// The position of an atom in the box, and the number of boxes it has crossed along each axis.
pub(crate) fn wrapped_with_image(simbox: &SimBox, state: &State, index: usize) -> (Vec3, [i32; 3]) {
    let (mut position, mut image) = (state.position[index], state.image[index]);
    simbox.wrap(&mut position, &mut image);
    (position, image)
}

/// The position of an atom that has never been wrapped into the box.
#[inline]
pub(crate) fn unwrapped_position(simbox: &SimBox, state: &State, index: usize) -> Vec3 {
    let (position, shift) = (state.position[index], simbox.shift(state.image[index]));
    [0, 1, 2].map(|k| position[k] + shift[k])
}

/// Writes the vector of each atom to the row of its id. `ids` are those of the atoms in storage order, each once;
/// `vector` gives the vector by the index in that order.
///
/// Threads divide the rows, not the atoms, and each goes through all ids: so every row has one writer.
pub(crate) fn fill_rows_by_id(
    rows: &mut [Vec3],
    ids: &[u32],
    threads: usize,
    vector: &(impl Fn(usize) -> Vec3 + Sync),
) {
    let threads = threads.min(rows.len() / ATOMS_PER_THREAD).max(1);
    let size = rows.len().div_ceil(threads).max(1);
    let fill = |first: usize, rows: &mut [Vec3]| {
        for (index, id) in ids.iter().enumerate() {
            if let Some(row) = rows.get_mut((*id as usize).wrapping_sub(first)) {
                *row = vector(index);
            }
        }
    };
    let parts = Mutex::new(rows.chunks_mut(size).enumerate());
    let work = || {
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((k, part)) = part else { return };
            fill(k * size, part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system refuses a thread, the others take its part.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_the_box_are_left_alone_and_others_wrapped() {
        for tilts in [[0.0; 3], [0.4, 0.0, -0.3]] {
            let simbox = SimBox::new([-1.0, 0.0, 2.0], [2.0, 3.0, 4.0], tilts, [true; 3]).unwrap();
            for s in [[0.0, 0.0, 0.0], [0.999, 0.5, 0.2], [1.0, 0.5, -0.01], [-3.2, 1.7, 12.0]] {
                let position = simbox.to_cartesian(s);
                let state = State { position: vec![position], image: vec![[0; 3]], ..State::default() };
                let expected = wrapped_with_image(&simbox, &state, 0).0;
                assert_eq!(wrapped_position(&simbox, &state, 0), expected, "{tilts:?} {s:?}");
                let inside = simbox.to_fractional(expected);
                assert!(inside.iter().all(|s| (-1e-15..=1.0).contains(s)), "{inside:?}");
            }
        }
    }

    #[test]
    fn rows_are_by_id_for_any_number_of_threads() {
        let n = 3 * ATOMS_PER_THREAD as u32 + 1;
        let ids: Vec<u32> =
            (0..n).map(|index| ((u64::from(index) * 7919 + 13) % u64::from(n)) as u32).collect();
        for threads in [1, 2, 3, 64] {
            let mut rows = vec![[-1.0; 3]; n as usize];
            fill_rows_by_id(&mut rows, &ids, threads, &|index| [f64::from(ids[index]), index as f64, 0.0]);
            assert!(
                rows.iter()
                    .enumerate()
                    .all(|(id, row)| row[0] == id as f64 && ids[row[1] as usize] == id as u32)
            );
        }
        fill_rows_by_id(&mut [], &[], 4, &|_| [0.0; 3]);
    }
}
