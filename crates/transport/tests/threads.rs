//! Ranks that are threads.

use jostle_core::Error;
use jostle_transport::{self_test, threads};

#[test]
fn the_self_test_passes_with_any_number_of_threads() {
    for n in [1, 2, 3, 4, 7] {
        threads::run(n, self_test::run).unwrap();
    }
}

#[test]
fn a_failure_of_one_rank_reaches_all() {
    let failed = threads::run(3, |communicator| {
        if communicator.rank() == 1 {
            return Err(Error::simulation("the disk is full"));
        }
        communicator.barrier()
    });
    assert_eq!(failed.unwrap_err().message(), "the disk is full");
}

#[test]
fn a_panic_of_one_rank_ends_the_others() {
    let failed = threads::run(3, |communicator| {
        assert_ne!(communicator.rank(), 2, "a test of panics");
        communicator.barrier()
    });
    assert!(failed.unwrap_err().message().contains("a test of panics"));
}
