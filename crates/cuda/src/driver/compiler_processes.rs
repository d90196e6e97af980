//! Processes in which kernels are compiled side by side.
//!
//! NVRTC has locks around its stages, so that threads of one process take turns at each. Processes of their own do not
//! wait for each other; they are the program itself, started once more with [`VERB`]. A few take the longest kernels while
//! threads compile the others: more are no faster where kernels are few, and each holds some 100 MB. Where there is
//! no such program, or it fails, threads compile all.
//!
//! A request and its answer are lists of bytes as in `cache.rs`, behind their length. The process ends with its input.

use crate::cache;
use jostle_core::{Error, Result};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Argument by which the program becomes a process that compiles kernels.
pub const VERB: &str = "compile-kernels";

/// Version of requests and answers: a program that was replaced while it runs may not understand them.
pub(super) const PROTOCOL: &[u8] = b"1";

/// Kinds of answers.
pub(super) const CODE: &[u8] = b"code";
pub(super) const FAILURE: &[u8] = b"failure";

/// Longest request or answer: what is longer is none.
const MOST_BYTES: u64 = 1 << 30;

/// Most processes at a time.
const MOST_PROCESSES: usize = 8;

static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

static PROCESSES: Mutex<Processes> = Mutex::new(Processes { count: 0, idle: Vec::new() });

/// Sets the command that starts the program: its name, and arguments if it needs some. Only the first one counts.
pub fn compile_by(program: Vec<OsString>) {
    let _ = PROGRAM.set(program);
}

/// Kernel to be compiled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    /// Path of NVRTC.
    pub library: &'a Path,
    /// Name of the source in messages.
    pub name: &'a str,
    /// Source of the kernel.
    pub source: &'a str,
    /// Options of the compiler.
    pub options: &'a [String],
    /// Architecture of the GPU.
    pub architecture: &'a str,
}

impl Request<'_> {
    /// Machine code, or what the compiler says, by a process; `None` where there is none.
    pub fn by_a_process(&self) -> Option<Result<Vec<u8>>> {
        let mut process = take()?;
        let answer = process.compile(self);
        let mut processes = processes();
        match answer {
            Ok(answer) => {
                processes.idle.push(process);
                Some(answer)
            }
            Err(_) => {
                processes.count -= 1;
                None
            }
        }
    }

    fn packed(&self) -> Option<Vec<u8>> {
        let texts = [self.library.to_str()?, self.name, self.architecture, self.source];
        let parts = texts.into_iter().chain(self.options.iter().map(String::as_str));
        let parts = std::iter::once(PROTOCOL).chain(parts.map(str::as_bytes));
        Some(cache::packed(&Vec::from_iter(parts.map(<[u8]>::to_vec))))
    }
}

/// Processes that were started and have not ended.
struct Processes {
    count: usize,
    /// Processes without work.
    idle: Vec<CompilerProcess>,
}

fn processes() -> MutexGuard<'static, Processes> {
    PROCESSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Process without work, which may be a new one; `None` where there are enough.
fn take() -> Option<CompilerProcess> {
    let program = PROGRAM.get()?;
    let mut processes = processes();
    if let Some(process) = processes.idle.pop() {
        return Some(process);
    }
    if processes.count >= MOST_PROCESSES {
        return None;
    }
    processes.count += 1;
    drop(processes);
    let started = CompilerProcess::start(program);
    if started.is_err() {
        self::processes().count -= 1;
    }
    started.ok()
}

/// Ends all processes without work: each holds memory of NVRTC.
pub(super) fn end_idle() {
    let mut processes = processes();
    processes.count -= processes.idle.len();
    processes.idle.clear();
}

/// Process that compiles one kernel after the other.
struct CompilerProcess {
    child: Child,
    requests: ChildStdin,
    answers: ChildStdout,
}

impl CompilerProcess {
    fn start(program: &[OsString]) -> io::Result<Self> {
        let (name, arguments) = program.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(name);
        command.args(arguments).arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C is for the run, which ends its processes.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (requests, answers) =
            (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        Ok(CompilerProcess { child, requests, answers })
    }

    /// Asks for machine code; an error is one of the process, not of the source.
    fn compile(&mut self, request: &Request) -> io::Result<Result<Vec<u8>>> {
        let strange = || io::Error::from(io::ErrorKind::InvalidData);
        send(&mut self.requests, &request.packed().ok_or_else(strange)?)?;
        let answer = receive(&mut self.answers)?.ok_or_else(strange)?;
        let parts = cache::unpacked(&answer).ok_or_else(strange)?;
        match &parts[..] {
            [kind, code] if kind == CODE => Ok(Ok(code.clone())),
            [kind, message] if kind == FAILURE => {
                Ok(Err(Error::device(String::from_utf8_lossy(message).into_owned())))
            }
            _ => Err(strange()),
        }
    }
}

impl Drop for CompilerProcess {
    fn drop(&mut self) {
        // It has no work, or did not do it: there is nothing to lose, and an end that fails is one that was before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a message.
pub(super) fn send(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    to.write_all(&(message.len() as u64).to_le_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// Next message; `None` at the end.
pub(super) fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = Vec::new();
    from.by_ref().take(8).read_to_end(&mut length)?;
    if length.is_empty() {
        return Ok(None);
    }
    let length = <[u8; 8]>::try_from(length).map_err(|_| io::ErrorKind::UnexpectedEof)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = Vec::new();
    from.take(length).read_to_end(&mut message)?;
    if message.len() as u64 == length { Ok(Some(message)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_or_not_at_all() {
        let mut bytes = Vec::new();
        send(&mut bytes, b"kernel").unwrap();
        send(&mut bytes, b"").unwrap();
        let mut from = &bytes[..];
        assert_eq!(receive(&mut from).unwrap().as_deref(), Some(&b"kernel"[..]));
        assert_eq!(receive(&mut from).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(receive(&mut from).unwrap(), None);
        assert!(receive(&mut &bytes[..10]).is_err());
        assert!(receive(&mut &bytes[..3]).is_err());
        assert!(receive(&mut &u64::MAX.to_le_bytes()[..]).is_err());
    }
}
