//! C++ compiler that makes libraries of kernels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;

use jostle_core::{Error, Result};
use tempfile::TempDir;

use crate::cache;

/// Part of CUDA that kernels use.
pub const HEADER: &str = include_str!("../../../kernels/emulation.h");
const HEADER_NAME: &str = "emulation.h";

pub struct Compiler {
    program: String,
    version: String,
}

/// Options of the compiler: those for NVRTC that it knows, and its own. Products are added without being
/// rounded first where the source says so, and nowhere else, as on a GPU. Kernels run for moments only:
/// compiling them takes most of the time, and a quarter of that goes into passes that make them no faster,
/// another one into copies of long functions, wherefore none is inlined by force.
pub fn flags(options: &[String]) -> Vec<String> {
    let ours = "-std=c++17 -O1 -fPIC -fvisibility=hidden \
                -fno-strict-aliasing -ffp-contract=off -fno-math-errno -w \
                -finline-small-functions \
                -fno-tree-dominator-opts -fno-tree-pre -fno-gcse -fno-schedule-insns -fno-ivopts";
    let mut flags = Vec::from_iter(ours.split_whitespace().map(str::to_owned));
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("f16c")
    {
        flags.extend(["-mavx2", "-mfma", "-mf16c"].map(str::to_owned));
    }
    flags.extend(options.iter().filter(|o| o.starts_with("-D")).cloned());
    flags
}

impl Compiler {
    /// The C++ compiler of this machine.
    pub fn find() -> Result<Self> {
        let mut candidates = Vec::from_iter(std::env::var("CXX").ok().filter(|c| !c.is_empty()));
        candidates.extend(["g++", "c++"].map(str::to_owned));
        let compiler = candidates.into_iter().find_map(|program| {
            let output = Command::new(&program).arg("--version").output().ok()?;
            let version = String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned();
            output.status.success().then_some(Compiler { program, version })
        });
        compiler.ok_or_else(|| {
            Error::device("no C++ compiler found, which the emulated GPU needs")
                .hint("install g++, or name a compiler in the variable CXX")
        })
    }

    /// First line that the compiler says of itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Header of all kernels in a folder below this one, with what the compiler has made of it: reading it takes as long
    /// as compiling a kernel. `None` where there is no such folder, or the compiler makes nothing of headers.
    pub fn header(&self, libraries: &Path, flags: &[String]) -> Option<PathBuf> {
        let flags = Vec::from_iter(flags.iter().filter(|flag| !flag.starts_with("-D")).cloned());
        let place = cache::path(libraries, &[HEADER, &flags.join("\0"), &self.version], "header");
        let turn = cache::turn_at(&place);
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if !place.exists() {
            fs::create_dir_all(libraries).ok()?;
            let folder = TempDir::new_in(libraries).ok()?;
            let header = folder.path().join(HEADER_NAME);
            fs::write(&header, HEADER).ok()?;
            let compiled = header.with_extension("h.gch");
            self.run(HEADER_NAME, &flags, &["-x", "c++-header"], &header, Some(&compiled)).ok()?;
            // Another process may have been faster.
            fs::rename(folder.path(), &place).ok();
        }
        place.is_dir().then(|| place.join(HEADER_NAME))
    }

    /// Compiles in two rounds: macros first, so that the names of kernels and shared variables can be found. A header that
    /// was compiled before stays out of the first one.
    pub fn compile(
        &self,
        name: &str,
        source: &str,
        flags: &[String],
        header: Option<&Path>,
        folder: &Path,
    ) -> Result<PathBuf> {
        let write = |file: &str, text: &str| {
            let path = folder.join(file);
            fs::write(&path, text).map_err(|e| Error::io("write", &path, &e)).map(|()| path)
        };
        let (header, first) = match header {
            Some(header) => (header.to_owned(), &["-E", "-fpch-preprocess"][..]),
            None => (write(HEADER_NAME, HEADER)?, &["-E"][..]),
        };
        let header = header.display();
        // Names have no linkage: kernels of different libraries may share them.
        let whole = format!("#include \"{header}\"\nnamespace {{\n#line 1 \"{name}\"\n{source}\n}}\n");
        let plain = write("kernel.cpp", &whole)?;
        let text = self.run(name, flags, first, &plain, None)?;
        let ready = write("kernel.ii", &rewrite(&text))?;
        let library = folder.join("kernel.so");
        self.run(name, flags, &["-shared", "-Wl,-z,nodelete"], &ready, Some(&library))?;
        Ok(library)
    }

    fn run(
        &self,
        name: &str,
        flags: &[String],
        more: &[&str],
        input: &Path,
        output: Option<&Path>,
    ) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args(flags).args(more).arg(input);
        if let Some(output) = output {
            command.arg("-o").arg(output);
        }
        let done =
            command.output().map_err(|e| Error::device(format!("cannot run {}: {e}", self.program)))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let log = String::from_utf8_lossy(&done.stderr);
        Err(Error::device(format!("{name} does not compile for the emulated GPU:\n{}", log.trim())))
    }
}

/// Turns `__global__` and `__shared__` into C++, and adds a function that launches each kernel.
fn rewrite(text: &str) -> String {
    let mut kernels = Vec::new();
    let mut output = String::with_capacity(text.len() + 4096);
    let mut pieces = text.split("EMULATED_GLOBAL");
    output.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let head = piece.split('(').next().unwrap_or_default();
        // Kernels that are declared before their definition occur twice.
        let name = head.split_whitespace().last().unwrap_or_default().to_owned();
        if !kernels.contains(&name) {
            kernels.push(name);
        }
        output.push_str(piece);
    }
    let mut output = rewrite_shared(&output);
    for name in kernels {
        output.push_str(&format!(
            "extern \"C\" __attribute__((visibility(\"default\"))) const char* launch_{name}(\
             unsigned blocks, unsigned rows, unsigned threads, size_t shared, void** arguments) {{ \
             return emulation::launch_kernel({name}, blocks, rows, threads, shared, arguments); }}\n\
             extern \"C\" __attribute__((visibility(\"default\"))) size_t parameters_{name}(\
             size_t* bytes) {{ return emulation::parameters({name}, bytes); }}\n"
        ));
    }
    output
}

/// Rewrites shared variables: static ones go to a section of their own, where they can be found and
/// overwritten between blocks; the dynamic one, `extern`, becomes a pointer.
fn rewrite_shared(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("EMULATED_SHARED") {
        let (before, after) = (&rest[..at], &rest[at + "EMULATED_SHARED".len()..]);
        let dynamic = before.trim_end().strip_suffix("extern");
        match (dynamic, after.split_once(';')) {
            (Some(before), Some((declaration, after))) => {
                let declaration = declaration.split('[').next().unwrap_or_default().trim_end();
                let start = declaration
                    .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                    .map_or(0, |space| space + 1);
                let (kind, name) = declaration.split_at(start);
                let kind = without_attributes(kind);
                output.push_str(before);
                output.push_str(&format!(
                    "{kind}* const {name} = reinterpret_cast<{kind}*>(emulation::dynamic_shared);"
                ));
                rest = after;
            }
            _ => {
                output.push_str(before);
                output.push_str("static __attribute__((section(\"emulated_shared\")))");
                rest = after;
            }
        }
    }
    output.push_str(rest);
    output
}

/// Type without `alignas(16)` and `__attribute__((aligned(16)))`.
fn without_attributes(kind: &str) -> String {
    let mut kind = kind.to_owned();
    for word in ["alignas", "__attribute__"] {
        while let Some(start) = kind.find(word) {
            let mut depth = 0;
            let end = kind[start..].char_indices().find_map(|(k, c)| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                (c == ')' && depth == 0).then_some(start + k + 1)
            });
            kind.replace_range(start..end.unwrap_or(kind.len()), "");
        }
    }
    kind.trim().to_owned()
}
