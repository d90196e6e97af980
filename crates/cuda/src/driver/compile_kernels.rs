//! Program as a process that compiles kernels for another one: see `compiler_processes.rs`.

use super::compiler_processes::{CODE, FAILURE, PROTOCOL, receive, send};
use super::nvrtc::Nvrtc;
use crate::cache;
use jostle_core::Result;
use std::io::{self, Read, Write};
use std::path::Path;

/// Compiles what `requests` ask for until they end.
///
/// # Errors
/// If a request is none, or an answer cannot be written.
pub fn compile_kernels(requests: &mut impl Read, answers: &mut impl Write) -> io::Result<()> {
    let mut compiler: Option<(String, Nvrtc)> = None;
    while let Some(request) = receive(requests)? {
        let answer = answer(&request, &mut compiler).ok_or(io::ErrorKind::InvalidData)?;
        let (kind, content) = match answer {
            Ok(code) => (CODE, code),
            Err(error) => (FAILURE, error.to_string().into_bytes()),
        };
        send(answers, &cache::packed(&[kind.to_vec(), content]))?;
    }
    Ok(())
}

/// Answer to a request; `None` where it is none that is understood. The compiler is kept for the next.
fn answer(request: &[u8], compiler: &mut Option<(String, Nvrtc)>) -> Option<Result<Vec<u8>>> {
    let parts = cache::unpacked(request)?;
    let (protocol, texts) = parts.split_first()?;
    let texts = texts.iter().map(|part| String::from_utf8(part.clone()).ok()).collect::<Option<Vec<_>>>()?;
    let [library, name, architecture, source, options @ ..] = &texts[..] else { return None };
    if protocol != PROTOCOL {
        return None;
    }
    if compiler.as_ref().is_none_or(|(path, _)| path != library) {
        *compiler = Some((library.clone(), Nvrtc::load(Path::new(library))?));
    }
    let (_, nvrtc) = compiler.as_ref()?;
    Some(nvrtc.compile(name, source, options, architecture))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_requests_are_not_answered() {
        for other in [&b"0"[..], b"2"] {
            let parts = [other, b"/lib", b"name", b"sm_90", b"source"].map(<[u8]>::to_vec);
            let mut request = Vec::new();
            send(&mut request, &cache::packed(&parts)).unwrap();
            let mut answers = Vec::new();
            assert!(compile_kernels(&mut &request[..], &mut answers).is_err());
            assert!(answers.is_empty());
        }
    }
}
