//! Kernels for a GPU that processes of the program compile; it takes NVRTC but no GPU.

use jostle_cuda::driver::compiler_processes::{VERB, compile_by};
use jostle_cuda::driver::facts;
use jostle_cuda::nvrtc;
use std::io::Write;
use std::process::{Command, Stdio};

const JOSTLE: &str = env!("CARGO_BIN_EXE_jostle");

fn kernel(name: &str, body: &str) -> String {
    format!("extern \"C\" __global__ void {name}(float* x) {{\n    {body}\n}}\n")
}

#[test]
fn kernels_are_compiled_by_processes_of_the_program() {
    // Tests of the kernels insist on a compiler where the environment names one.
    if let Err(why) = facts().compiler {
        println!("skipped: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    // A shell that leaves a mark becomes the program, or ends.
    let shell = r#"echo started >> "$0"; [ -e "$0.no" ] && exit 1; exec "$1" "$2""#;
    let words = ["sh".into(), "-c".into(), shell.into(), started.clone().into_os_string(), JOSTLE.into()];
    compile_by(words.to_vec());

    let right = kernel("doubled", "x[threadIdx.x] *= 2;");
    let two = kernel("halved", "x[threadIdx.x] *= 0.5f;") + &right;
    assert_eq!(nvrtc::check_each(&two, &[], "sm_90").unwrap(), 2);
    let marks = std::fs::read_to_string(&started).unwrap().lines().count();
    assert!((1..=2).contains(&marks), "{marks}");

    // Messages are those that the compiler has without a process.
    let wrong = kernel("wrong", "y = 1;");
    let alone = nvrtc::check(&wrong, &[], "sm_90").unwrap_err().to_string();
    let beside = nvrtc::check_each(&(wrong + &right), &[], "sm_90").unwrap_err().to_string();
    assert!(alone.contains("identifier \"y\" is undefined"), "{alone}");
    assert_eq!(alone, beside);

    // Where processes fail, threads compile.
    std::fs::write(folder.path().join("started.no"), "").unwrap();
    assert_eq!(nvrtc::check_each(&two, &[], "sm_80").unwrap(), 2);
    let after = std::fs::read_to_string(&started).unwrap().lines().count();
    assert!(after > marks, "{after}");
}

#[test]
fn what_is_no_request_ends_the_process() {
    let mut process = Command::new(JOSTLE)
        .arg(VERB)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(&[7; 1000]).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn the_end_of_requests_is_the_end_of_the_process() {
    let output = Command::new(JOSTLE).arg(VERB).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
}
