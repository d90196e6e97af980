//! Work that waits for the compiler, done side by side. Where the system refuses a thread, it is done in turn.

use std::panic::resume_unwind;
use std::thread::{Builder, ScopedJoinHandle, scope};

/// Stack of a thread, in bytes: compilers need as much as that of a program.
const STACK: usize = 8 << 20;

/// Results of two functions.
pub fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    scope(|scope| {
        let thread = Builder::new().stack_size(STACK).spawn_scoped(scope, &first);
        let second = second();
        (thread.map_or_else(|_| first(), result_of), second)
    })
}

/// Results of a function of each item.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let work = &work;
    scope(|scope| {
        let start = |item| Builder::new().stack_size(STACK).spawn_scoped(scope, move || work(item));
        let threads: Vec<_> = items.iter().map(|item| (item, start(item))).collect();
        threads.into_iter().map(|(item, thread)| thread.map_or_else(|_| work(item), result_of)).collect()
    })
}

fn result_of<R>(thread: ScopedJoinHandle<R>) -> R {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_are_in_their_order_and_made_at_the_same_time() {
        let items = Vec::from_iter(0..10);
        let all_here = Barrier::new(items.len());
        let squares = each(&items, |k| {
            all_here.wait();
            k * k
        });
        assert_eq!(squares, items.iter().map(|k| k * k).collect::<Vec<_>>());
        let both_here = Barrier::new(2);
        let wait = |result| {
            both_here.wait();
            result
        };
        assert_eq!(both(|| wait(1), || wait(2)), (1, 2));
    }

    #[test]
    #[should_panic(expected = "the first of two")]
    fn a_panic_reaches_the_caller() {
        both(|| panic!("the first of two"), || ());
    }
}
