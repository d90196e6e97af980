//! Kernels that are being compiled for a GPU, which takes seconds, once: a word about it, and the processes that do it.

use crate::error_report::{FAILURE, SUCCESS};
use crate::numbers::duration;
use crate::own_command::own_command;
use jostle_engine::device::{compile_kernels, compiler_processes};
use std::ffi::OsString;
use std::io::{IsTerminal, stdin, stdout};
use std::sync::OnceLock;
use std::time::Instant;

static BEGUN: OnceLock<Instant> = OnceLock::new();

/// Exit code where the arguments make the program a process that compiles kernels for another one; `None` otherwise.
pub fn serve(arguments: &[OsString]) -> Option<u8> {
    let [_, verb] = arguments else { return None };
    if verb != compiler_processes::VERB || stdin().is_terminal() {
        return None;
    }
    let served = compile_kernels(&mut stdin().lock(), &mut stdout().lock());
    Some(if served.is_ok() { SUCCESS } else { FAILURE })
}

/// Says so when it begins, and has this program started for it.
pub fn listen() {
    if let Ok(command) = own_command() {
        compiler_processes::compile_by(command);
    }
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
