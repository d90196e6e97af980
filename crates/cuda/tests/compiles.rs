//! Kernels compile for every architecture we support; it takes NVRTC but no GPU.

use jostle_cuda::driver::facts;
use jostle_cuda::nvrtc;

/// The oldest and the newest that NVRTC 13.0 knows, and what lies between.
const ARCHITECTURES: [&str; 6] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"];

/// Whether there is NVRTC. Where the variable names it, it must be there.
fn compiler() -> bool {
    match facts().compiler {
        Ok(_) => true,
        Err(why) if std::env::var_os("JOSTLE_NVRTC").is_some() => panic!("{why}"),
        Err(why) => {
            println!("skipped: {why}");
            false
        }
    }
}

#[test]
fn a_kernel_compiles_and_a_wrong_one_does_not() {
    if !compiler() {
        return;
    }
    let source = r#"
extern "C" __global__ void __launch_bounds__(SIZE) scaled(float* x) { x[threadIdx.x] *= SIZE; }"#;
    for architecture in ARCHITECTURES {
        nvrtc::check(source, &["-DSIZE=64".into()], architecture).unwrap();
    }
    let error = nvrtc::check(source, &[], "sm_90").unwrap_err();
    assert!(error.message().contains("SIZE"), "{error}");
    assert!(nvrtc::check(source, &["-DSIZE=64".into()], "sm_1").is_err());
}

/// The emulation has no function that CUDA has not.
#[test]
fn the_functions_of_the_emulation_exist() {
    if compiler() {
        nvrtc::check(include_str!("intrinsics.cu"), &[], "sm_90").unwrap();
    }
}
