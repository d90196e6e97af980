//! Vectors of downloaded atoms in the order of their ids, written by threads of the host.

use jostle_core::{RowWriter, Vec3};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Fewest atoms for which a further thread gains time.
const ATOMS_PER_THREAD: usize = 50_000;

/// Rows written by at most so many threads; `ids` are those of the atoms in storage order, each once.
///
/// Threads divide the rows, not the atoms, and each goes through all ids: so every row has one writer.
#[derive(Clone, Copy)]
pub struct ByThreads<'a> {
    pub ids: &'a [u32],
    pub threads: usize,
}

impl<'a> ByThreads<'a> {
    /// Rows written by as many threads as there are cores.
    pub fn new(ids: &'a [u32]) -> Self {
        ByThreads { ids, threads: thread::available_parallelism().map_or(1, usize::from) }
    }
}

impl RowWriter for ByThreads<'_> {
    fn write(self, rows: &mut [Vec3], vector: impl Fn(usize) -> Vec3 + Sync) {
        let threads = self.threads.min(rows.len() / ATOMS_PER_THREAD).max(1);
        let size = rows.len().div_ceil(threads).max(1);
        let fill = |first: usize, rows: &mut [Vec3]| {
            for (index, id) in self.ids.iter().enumerate() {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    #[test]
    fn rows_are_by_id_for_any_number_of_threads() {
        let n = 3 * ATOMS_PER_THREAD as u32 + 1;
        let ids: Vec<u32> =
            (0..n).map(|index| ((u64::from(index) * 7919 + 13) % u64::from(n)) as u32).collect();
        for threads in [1, 2, 3, 64] {
            let mut rows = vec![Vector([-1.0; 3]); n as usize];
            let writer = ByThreads { ids: &ids, threads };
            writer.write(&mut rows, |index| Vector([f64::from(ids[index]), index as f64, 0.0]));
            assert!(
                rows.iter()
                    .enumerate()
                    .all(|(id, row)| row[0] == id as f64 && ids[row[1] as usize] == id as u32)
            );
        }
        ByThreads { ids: &[], threads: 4 }.write(&mut [], |_| Vec3::ZERO);
    }
}
