//! Cores of a process that drives GPUs: it has a thread for each, and a messenger, which wait by looking.

/// Threads besides those of GPUs: of the messenger, and of the MPI library.
const BESIDE: usize = 2;

/// Lets this thread, and those that it will start, use all cores of the host where they may use too few for so many GPUs:
/// launchers bind a process to one core if nothing else is said.
pub fn allow(gpus: usize) {
    let allowed = std::thread::available_parallelism().map_or(1, usize::from);
    if gpus > 0 && allowed < gpus + BESIDE {
        allow_all();
    }
}

#[cfg(target_os = "linux")]
fn allow_all() {
    // SAFETY: a set of cores is plain bits, and it is read only. Cores that the host does not have, or does not let the
    // process use, are left out by the system; where it refuses, things are as they were.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        (0..libc::CPU_SETSIZE as usize).for_each(|core| libc::CPU_SET(core, &mut all));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &all);
    }
}

#[cfg(not(target_os = "linux"))]
fn allow_all() {}
