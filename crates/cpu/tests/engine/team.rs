//! A team of threads: every task once, panics that reach the caller, and vectors by id.

use jostle_core::{RowWriter, Vector};
use jostle_cpu::by_id::ByTeam;
use jostle_cpu::threads::Team;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn every_task_runs_once_per_loop() {
    for n in [1, 2, 3, 5] {
        let team = Team::new(n);
        for n_tasks in [0, 1, 2, 7, 100] {
            let done: Vec<AtomicUsize> = (0..n_tasks).map(|_| AtomicUsize::new(0)).collect();
            for _ in 0..50 {
                team.run(n_tasks, &|i| {
                    done[i].fetch_add(1, Relaxed);
                });
            }
            assert!(done.iter().all(|d| d.load(Relaxed) == 50));
        }
        let squares = team.map((0..20).collect(), |i, x: usize| i * x);
        assert_eq!(squares, (0..20).map(|x| x * x).collect::<Vec<_>>());
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_team_goes_on() {
    let team = Team::new(3);
    let result = catch_unwind(AssertUnwindSafe(|| team.run(9, &|i| assert_ne!(i, 4))));
    assert!(result.is_err());
    assert_eq!(team.map(vec![1, 2, 3], |_, x| x + 1), [2, 3, 4]);
}

/// Vectors by id of more atoms than one thread writes alone.
#[test]
fn rows_follow_the_order_of_atoms() {
    let n = 8_001_u32;
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
