//! A team of threads: every task once, and panics that reach the caller.

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
