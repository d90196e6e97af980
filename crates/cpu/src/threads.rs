//! A team of threads that work on one parallel loop after another.
//!
//! A time step of a small system takes some 50 microseconds and has four parallel loops; waking a
//! sleeping thread takes as long as the whole step. The team's threads therefore spin for a moment before
//! they go to sleep, and task `i` goes to the same thread each time, which has the data in its own cache.
//!
//! Where other programs want the cores, a thread may get none for milliseconds, the time of a hundred loops. The
//! thread that calls the loop therefore does the share of any other that has not begun when its own is done.

use jostle_core::Vec3;
use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Number of looks of a spinning thread before it yields its core, and before it goes to sleep.
const LOOKS_BEFORE_YIELD: u32 = 64;
const LOOKS_BEFORE_SLEEP: u32 = 20_000;

type Loop<'a> = dyn Fn(usize) + Sync + 'a;

/// A number on a cache line of its own, so that threads do not wait for each other's.
#[repr(align(64))]
struct OwnLine<T>(T);

struct TeamState {
    /// The loop body now running; valid from the moment `round` grows until `working` is 0.
    body: UnsafeCell<Option<*const Loop<'static>>>,
    n_tasks: AtomicUsize,
    n_threads: usize,
    /// Grows by one with every loop.
    round: AtomicUsize,
    /// Last loop whose share has been taken, by thread (the caller's is not counted).
    taken: Vec<OwnLine<AtomicUsize>>,
    /// Shares of the current loop, other than the caller's, that are not finished.
    unfinished: AtomicUsize,
    stop: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `body` is written only by the caller while all shares are finished (`unfinished == 0`), and read by a thread
// only after it has taken its share of a loop, which it can once the caller has published the loop (`round`, with
// `Release`) and until that share is finished.
unsafe impl Sync for TeamState {}
// SAFETY: the pointer in `body` is to something `Sync`.
unsafe impl Send for TeamState {}

impl TeamState {
    /// Takes the share of a thread in a loop; false if it has been taken already.
    fn take(&self, thread: usize, round: usize) -> bool {
        self.taken[thread].0.compare_exchange(round.wrapping_sub(1), round, AcqRel, Relaxed).is_ok()
    }

    /// Runs the tasks of a share that was taken, or of the caller's.
    fn work(&self, thread: usize) {
        // SAFETY: the share is taken and not finished (see `Sync`), so `body` is set and outlives this call: the caller
        // does not return before `unfinished` is 0.
        let body = unsafe { &*self.body.get() };
        if let Some(body) = body {
            // SAFETY: as above.
            let body = unsafe { &**body };
            let tasks = (thread..self.n_tasks.load(Relaxed)).step_by(self.n_threads);
            let result = catch_unwind(AssertUnwindSafe(|| tasks.for_each(body)));
            if let Err(panic) = result {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
        }
    }

    /// Takes the share of another thread and runs it, if that has not begun.
    fn work_for(&self, thread: usize, round: usize) {
        if self.take(thread, round) {
            self.work(thread);
            self.unfinished.fetch_sub(1, Release);
        }
    }
}

/// A team of threads; the thread that calls it is one of them.
pub struct Team {
    shared: Arc<TeamState>,
    threads: Vec<JoinHandle<()>>,
}

impl Team {
    /// A team of `n` threads (at least one). If the system refuses threads, it has fewer.
    pub fn new(n: usize) -> Team {
        let shared = |n_threads| {
            Arc::new(TeamState {
                body: UnsafeCell::new(None),
                n_tasks: AtomicUsize::new(0),
                n_threads,
                round: AtomicUsize::new(0),
                taken: (0..n_threads).map(|_| OwnLine(AtomicUsize::new(0))).collect(),
                unfinished: AtomicUsize::new(0),
                stop: AtomicBool::new(false),
                panic: Mutex::new(None),
            })
        };
        let team = shared(n.max(1));
        let mut threads = Vec::new();
        for thread in 1..n {
            let mine = team.clone();
            let spawned = std::thread::Builder::new()
                .name(format!("jostle-{thread}"))
                .spawn(move || attend(&mine, thread));
            match spawned {
                Ok(handle) => threads.push(handle),
                // Without all its threads the division of labour above is wrong: the caller works alone.
                Err(_) => {
                    stop(&team, &mut threads);
                    return Team { shared: shared(1), threads };
                }
            }
        }
        Team { shared: team, threads }
    }

    /// Number of threads.
    pub fn size(&self) -> usize {
        self.shared.n_threads
    }

    /// Calls `body(0)` to `body(n_tasks - 1)`, each once, spread over the team; returns when all
    /// are done.
    pub fn run(&self, n_tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        if self.threads.is_empty() || n_tasks <= 1 {
            (0..n_tasks).for_each(body);
            return;
        }
        let shared = &*self.shared;
        // SAFETY: only the lifetime is erased; the threads use `body` before `unfinished` is 0, and
        // this function does not return, nor unwind, before that.
        let erased = unsafe { std::mem::transmute::<*const Loop<'_>, *const Loop<'static>>(body) };
        // SAFETY: no thread reads `body` now: all shares of the loop before are finished.
        unsafe { *shared.body.get() = Some(erased) };
        shared.n_tasks.store(n_tasks, Relaxed);
        shared.unfinished.store(self.threads.len(), Relaxed);
        let round = shared.round.fetch_add(1, Release).wrapping_add(1);
        for thread in &self.threads {
            thread.thread().unpark();
        }
        shared.work(0);
        (1..shared.n_threads).for_each(|thread| shared.work_for(thread, round));
        let mut looks = 0;
        while shared.unfinished.load(Acquire) != 0 {
            look_again(&mut looks);
        }
        let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Calls `body` with each item and its number, and collects the results.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, body: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
        if self.threads.is_empty() {
            return items.into_iter().enumerate().map(|(i, item)| body(i, item)).collect();
        }
        let cells: Vec<Mutex<(Option<T>, Option<R>)>> =
            items.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
        self.run(cells.len(), &|i| {
            let mut cell = cells[i].lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(item) = cell.0.take() {
                cell.1 = Some(body(i, item));
            }
        });
        let results = cells.into_iter().map(|c| c.into_inner().unwrap_or_else(PoisonError::into_inner).1);
        results.flatten().collect()
    }
}

/// Vectors of which every thread of a loop may write any: numbers are written one by one, each as a whole.
pub struct SharedRows<'a>(&'a [[AtomicU64; 3]]);

impl<'a> SharedRows<'a> {
    /// These vectors, for one loop.
    pub fn new(rows: &'a mut [Vec3]) -> Self {
        const { assert!(align_of::<AtomicU64>() == align_of::<f64>()) }
        // SAFETY: `AtomicU64` has the size and the alignment of `f64`, and any bits are numbers of both; the vectors are
        // borrowed from nothing else as long as these are.
        SharedRows(unsafe { &*(std::ptr::from_mut(rows) as *const [[AtomicU64; 3]]) })
    }

    /// Writes a vector, if there is one of this index.
    pub fn set(&self, index: usize, vector: Vec3) {
        let Some(row) = self.0.get(index) else { return };
        for (to, number) in row.iter().zip(vector) {
            to.store(number.to_bits(), Relaxed);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        stop(&self.shared, &mut self.threads);
    }
}

fn stop(shared: &TeamState, threads: &mut Vec<JoinHandle<()>>) {
    shared.stop.store(true, Release);
    for thread in threads.drain(..) {
        thread.thread().unpark();
        // A panic in a thread has been handed to the caller of its loop already.
        let _ = thread.join();
    }
}

/// Body of a thread: it waits for a loop, does its tasks unless the caller has taken them, and reports the end.
fn attend(shared: &TeamState, thread: usize) {
    let mut seen = 0;
    loop {
        let mut looks = 0;
        let round = loop {
            let round = shared.round.load(Acquire);
            if round != seen {
                break round;
            }
            if shared.stop.load(Acquire) {
                return;
            }
            look_again(&mut looks);
            if looks > LOOKS_BEFORE_SLEEP {
                std::thread::park();
                looks = 0;
            }
        };
        seen = round;
        shared.work_for(thread, round);
    }
}

fn look_again(looks: &mut u32) {
    *looks += 1;
    if looks.is_multiple_of(LOOKS_BEFORE_YIELD) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}
