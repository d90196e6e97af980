//! Cost of exact sums in the pair forces of the CPU engine: the inner loop of a Lennard-Jones row over atoms 16 at a time,
//! with reactions added up in f32 and, as the GPU has it where runs are reproducible, in whole numbers of 64 bits.
//!
//! rustc -C opt-level=3 benches/cpu/exact_sums.rs -o exact_sums && ./exact_sums   (a processor with AVX-512)

use std::arch::x86_64::*;
use std::hint::black_box;
use std::time::Instant;

/// Groups of 16 atoms within reach of a row.
const GROUPS: usize = 64;
/// Unit of forces in whole numbers.
const UNIT: f32 = 1.0 / 4_294_967_296.0;

#[repr(align(64))]
struct Numbers<T>([T; GROUPS * 48]);

/// Distances of a group's atoms from the atom of a row, and their force over distance, times a factor.
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn force(group: &[f32], center: [__m512; 3], factor: f32) -> ([__m512; 3], __m512) {
    // SAFETY: a group has 48 numbers.
    let at = |k: usize| unsafe { _mm512_loadu_ps(group[16 * k..16 * k + 16].as_ptr()) };
    let d = [0, 1, 2].map(|k| _mm512_sub_ps(center[k], at(k)));
    let r2 = _mm512_fmadd_ps(d[2], d[2], _mm512_fmadd_ps(d[1], d[1], _mm512_mul_ps(d[0], d[0])));
    let near = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(r2, _mm512_set1_ps(6.25));
    let guess = _mm512_rcp14_ps(r2);
    let inverse = _mm512_mul_ps(guess, _mm512_fnmadd_ps(r2, guess, _mm512_set1_ps(2.0)));
    let sixth = _mm512_mul_ps(_mm512_mul_ps(inverse, inverse), inverse);
    let well = _mm512_fmadd_ps(_mm512_set1_ps(48.0 * factor), sixth, _mm512_set1_ps(-24.0 * factor));
    (d, _mm512_maskz_mul_ps(near, _mm512_mul_ps(well, sixth), inverse))
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn rounded(positions: &Numbers<f32>, reactions: &mut Numbers<f32>, center: [f32; 3]) -> f64 {
    let center = center.map(|x| _mm512_set1_ps(x));
    let mut own = [_mm512_setzero_ps(); 3];
    for (group, reaction) in positions.0.chunks_exact(48).zip(reactions.0.chunks_exact_mut(48)) {
        let (d, f) = force(group, center, 1.0);
        for k in 0..3 {
            own[k] = _mm512_fmadd_ps(f, d[k], own[k]);
            let to = reaction[16 * k..16 * k + 16].as_mut_ptr();
            // SAFETY: there are 16 numbers.
            unsafe { _mm512_storeu_ps(to, _mm512_fnmadd_ps(f, d[k], _mm512_loadu_ps(to))) };
        }
    }
    own.iter().map(|sum| f64::from(_mm512_reduce_add_ps(*sum))).sum()
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn exact(positions: &Numbers<f32>, reactions: &mut Numbers<i64>, center: [f32; 3]) -> f64 {
    let center = center.map(|x| _mm512_set1_ps(x));
    let mut own = [_mm512_setzero_si512(); 6];
    for (group, reaction) in positions.0.chunks_exact(48).zip(reactions.0.chunks_exact_mut(48)) {
        let (d, f) = force(group, center, 1.0 / UNIT);
        for k in 0..3 {
            let component = _mm512_mul_ps(f, d[k]);
            let halves = [_mm512_castps512_ps256(component), _mm512_extractf32x8_ps::<1>(component)];
            for (half, numbers) in halves.into_iter().enumerate() {
                let whole = _mm512_cvtps_epi64(numbers);
                own[2 * k + half] = _mm512_add_epi64(own[2 * k + half], whole);
                let to = reaction[16 * k + 8 * half..16 * k + 8 * half + 8].as_mut_ptr().cast();
                // SAFETY: there are 8 numbers.
                unsafe { _mm512_storeu_si512(to, _mm512_sub_epi64(_mm512_loadu_si512(to), whole)) };
            }
        }
    }
    own.iter().map(|sum| _mm512_reduce_add_epi64(*sum) as f64).sum()
}

fn main() {
    if !is_x86_feature_detected!("avx512dq") || !is_x86_feature_detected!("avx512vl") {
        println!("this processor has no AVX-512");
        return;
    }
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut positions = Box::new(Numbers([0.0f32; GROUPS * 48]));
    positions.0.iter_mut().for_each(|x| *x = 6.0 * uniform());
    let centers: Vec<[f32; 3]> = (0..16).map(|_| [(); 3].map(|()| 6.0 * uniform())).collect();
    let (mut in_f32, mut in_i64) =
        (Box::new(Numbers([0.0; GROUPS * 48])), Box::new(Numbers([0; GROUPS * 48])));
    let mut ratios: Vec<f64> = (0..21)
        .map(|_| {
            let mut time = |exactly: bool| {
                let begin = Instant::now();
                let mut sum = 0.0;
                for center in centers.iter().cycle().take(32_000) {
                    // SAFETY: the processor has these instructions.
                    sum += match exactly {
                        true => unsafe { exact(&positions, &mut in_i64, *center) },
                        false => unsafe { rounded(&positions, &mut in_f32, *center) },
                    };
                }
                black_box(sum);
                begin.elapsed().as_secs_f64()
            };
            let rounded = time(false);
            time(true) / rounded
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("exact sums take {:.2} times as long (median of {})", ratios[ratios.len() / 2], ratios.len());
}
