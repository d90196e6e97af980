//! Leaves out of a development build what could not run where it is built.
//!
//! Kernels for AVX-512 are more than a third of what is compiled, and few processors have it. The types of their code
//! are checked everywhere; kernels are made of it where this processor has AVX-512, and in every release build.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(without_avx512)");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let runs_here = variable("PROFILE") == "debug" && variable("HOST") == variable("TARGET");
    if runs_here && !has_avx512() {
        println!("cargo::rustc-cfg=without_avx512");
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}
