//! A word about kernels that are being compiled for a GPU, which takes seconds, once.

use crate::numbers::duration;
use std::sync::OnceLock;
use std::time::Instant;

static BEGUN: OnceLock<Instant> = OnceLock::new();

/// Says so when it begins.
pub fn listen() {
    jostle_engine::device::on_compiling(|gpu| {
        BEGUN.get_or_init(|| {
            say!("compiling kernels for {gpu}, once");
            Instant::now()
        });
    });
}

/// Says how long it took, if there was anything to compile; for when a simulation stands ready.
pub fn done() {
    if let Some(begun) = BEGUN.get() {
        say!("compiled within {}", duration(begun.elapsed().as_secs_f64()));
    }
}
