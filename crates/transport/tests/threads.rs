//! Ranks that are threads.

use jostle_core::Error;
use jostle_transport::threads::communicators;
use jostle_transport::{Communicator, Incoming, self_test, threads};

#[test]
fn the_self_test_passes_with_any_number_of_threads() {
    for n in [1, 2, 3, 4, 7] {
        threads::run(n, self_test::run).unwrap();
    }
}

#[test]
fn sums_and_the_largest_number_are_those_of_all_ranks() {
    for n in [1, 2, 3, 5, 8, 13] {
        let results = threads::run(n, |communicator| {
            let rank = communicator.rank() as f64;
            // The largest is on a rank that differs with the number of ranks.
            let largest = communicator.largest(-(rank - n as f64 / 3.0).abs())?;
            let mut sums = [rank, 1.0, rank * rank];
            communicator.sum(&mut sums)?;
            Ok((largest, sums))
        });
        let all = (0..n).map(|rank| rank as f64);
        let expected =
            all.clone().map(|rank| -(rank - n as f64 / 3.0).abs()).fold(f64::NEG_INFINITY, f64::max);
        let sums = [all.clone().sum(), n as f64, all.map(|rank| rank * rank).sum()];
        assert_eq!(results.unwrap(), vec![(expected, sums); n]);
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

/// A rank that has lost another one, but lingers, keeps no third one waiting.
#[test]
fn a_loss_is_passed_on() {
    let mut communicators = communicators(3).into_iter();
    let ranks = [0, 1, 2].map(|_| communicators.next().unwrap());
    let [first, second, third] = ranks;
    let lost = |communicator: &Communicator, from: usize| {
        let incoming = &mut [Incoming { from, bytes: &mut [0; 8] }];
        communicator.exchange(&[], incoming).unwrap_err().message().to_string()
    };
    let waiting = std::thread::spawn(move || lost(&first, 1));
    third.abort(&Error::simulation("out of luck"));
    // It stays until the first one has heard of it.
    let messages = [lost(&second, 2), waiting.join().unwrap()];
    assert!(messages.iter().all(|message| message.contains("rank 2 failed: out of luck")), "{messages:?}");
    drop(second);
}
