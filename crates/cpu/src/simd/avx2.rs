//! 256-bit registers with fused multiply-add.
//!
//! One file holds one instruction set: methods of two kinds of registers, a few lines each.

use super::{Floating, Kernel, Lanes, Simd, each_lane, exp, guess};
use jostle_core::Real;
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The AVX2 instruction set.
#[derive(Debug, Clone, Copy)]
pub struct Avx2;

impl Simd for Avx2 {
    type F32 = F32x8;
    type NarrowF32 = F32x8;
    type F64 = F64x4;
}

/// Runs a kernel compiled for AVX2.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,popcnt")]
pub unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

/// 8 single-precision numbers.
#[derive(Debug, Clone, Copy)]
pub struct F32x8(__m256);

/// 4 double-precision numbers.
#[derive(Debug, Clone, Copy)]
pub struct F64x4(__m256d);

arithmetic!(F32x8: Add add _mm256_add_ps, Sub sub _mm256_sub_ps, Mul mul _mm256_mul_ps, Div div _mm256_div_ps);
arithmetic!(F64x4: Add add _mm256_add_pd, Sub sub _mm256_sub_pd, Mul mul _mm256_mul_pd, Div div _mm256_div_pd);

// SAFETY (of all blocks below): only reached through `run`, whose caller has checked the processor;
// loads and stores are checked against the length of their slice.
impl Real for F32x8 {
    type Mask = __m256;

    #[inline(always)]
    fn lit(value: f64) -> Self {
        Self::splat(value as f32)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) })
    }
    #[inline(always)]
    fn recip(self) -> Self {
        // SAFETY: as above.
        let y = F32x8(unsafe { _mm256_rcp_ps(self.0) });
        // 12 to 24 bits.
        guess::recip_from_far(self, y)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        // SAFETY: as above.
        let y = F32x8(unsafe { _mm256_rsqrt_ps(self.0) });
        // 12 to 24 bits.
        guess::rsqrt_from_far(self, y)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        exp::exp(self, exp::LOWEST_SINGLE, &exp::SINGLE)
    }
    elementary!(ln, sin, cos, tanh, erf, erfc);
    #[inline(always)]
    fn acos(self) -> Self {
        each_lane(self, f64::acos)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> Self::Mask {
        // SAFETY: as above.
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_blendv_ps(b.0, a.0, mask) })
    }
}

impl Floating for F32x8 {
    #[inline(always)]
    fn is_double() -> bool {
        false
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn times_power_of_two(self, n: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n.0), _mm256_set1_epi32(127));
            let power = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent));
            F32x8(_mm256_mul_ps(self.0, power))
        }
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let bits = _mm256_castps_si256(self.0);
            let exponent = _mm256_sub_epi32(_mm256_srli_epi32::<23>(bits), _mm256_set1_epi32(127));
            let fraction = _mm256_and_si256(bits, _mm256_set1_epi32(0x007f_ffff));
            let mantissa = _mm256_or_si256(fraction, _mm256_set1_epi32(127 << 23));
            (F32x8(_mm256_castsi256_ps(mantissa)), F32x8(_mm256_cvtepi32_ps(exponent)))
        }
    }
}

impl Lanes for F32x8 {
    type Scalar = f32;
    type Index = __m256i;
    const WIDTH: usize = 8;

    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        assert!(from.len() >= 8);
        // SAFETY: as above; the slice is long enough.
        F32x8(unsafe { _mm256_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        assert!(to.len() >= 8);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_set1_ps(value) })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as above.
        unsafe {
            let half = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
            _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)))
        }
    }
    #[inline(always)]
    fn sum_rows(square: &[f32]) -> Self {
        let mut sums = [0.0; 8];
        for k in 0..8 {
            sums[k] = Self::load(&square[8 * k..]).sum();
        }
        Self::load(&sums)
    }
    #[inline(always)]
    fn bits(mask: __m256) -> u32 {
        // SAFETY: as above.
        unsafe { _mm256_movemask_ps(mask) as u32 }
    }
    #[inline(always)]
    fn mask(bits: u32) -> __m256 {
        // SAFETY: as above.
        unsafe {
            let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let set = _mm256_and_si256(_mm256_set1_epi32(bits as i32), bit);
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bit))
        }
    }
    #[inline(always)]
    fn and(a: __m256, b: __m256) -> __m256 {
        // SAFETY: as above.
        unsafe { _mm256_and_ps(a, b) }
    }
    #[inline(always)]
    fn load_index(from: &[i32]) -> __m256i {
        assert!(from.len() >= 8);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn to_index(self) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_cvtps_epi32(self.0) }
    }
    #[inline(always)]
    fn quadruples(table: &[f32], index: __m256i, offset: usize) -> [Self; 4] {
        assert!(table.len() >= 4 + offset && table.len() < 1 << 30);
        // SAFETY: as above; indices are unsigned and cut off where four numbers still follow.
        unsafe {
            let last = _mm256_set1_epi32((table.len() - offset - 4) as i32);
            let mut places = [0u32; 8];
            _mm256_storeu_si256(places.as_mut_ptr().cast(), _mm256_min_epu32(index, last));
            let from = table.as_ptr().add(offset);
            let mut rows = [_mm256_setzero_ps(); 4];
            for k in 0..4 {
                let low = _mm_loadu_ps(from.add(places[k] as usize));
                rows[k] = _mm256_set_m128(_mm_loadu_ps(from.add(places[k + 4] as usize)), low);
            }
            let low01 = _mm256_castps_pd(_mm256_unpacklo_ps(rows[0], rows[1]));
            let high01 = _mm256_castps_pd(_mm256_unpackhi_ps(rows[0], rows[1]));
            let low23 = _mm256_castps_pd(_mm256_unpacklo_ps(rows[2], rows[3]));
            let high23 = _mm256_castps_pd(_mm256_unpackhi_ps(rows[2], rows[3]));
            [
                F32x8(_mm256_castpd_ps(_mm256_unpacklo_pd(low01, low23))),
                F32x8(_mm256_castpd_ps(_mm256_unpackhi_pd(low01, low23))),
                F32x8(_mm256_castpd_ps(_mm256_unpacklo_pd(high01, high23))),
                F32x8(_mm256_castpd_ps(_mm256_unpackhi_pd(high01, high23))),
            ]
        }
    }
    #[inline(always)]
    fn lookup(table: &[f32], n: usize, index: __m256i) -> Self {
        assert!(table.len() >= n && table.len() >= 8);
        if n <= 8 {
            // SAFETY: as above; the table has a register's length.
            F32x8(unsafe { _mm256_permutevar8x32_ps(_mm256_loadu_ps(table.as_ptr()), index) })
        } else {
            // SAFETY: as above; all indices are below n, which is within the table.
            F32x8(unsafe { _mm256_i32gather_ps::<4>(table.as_ptr(), index) })
        }
    }
    #[inline(always)]
    fn packed(self, lanes: u32) -> Self {
        self.permuted(PACKED[lanes as usize])
    }
    #[inline(always)]
    fn unpacked(self, lanes: u32) -> Self {
        Self::select(Self::mask(lanes), self.permuted(UNPACKED[lanes as usize]), Self::lit(0.0))
    }
}

/// Lanes from which [`Lanes::packed`] takes each number, for every set of lanes.
static PACKED: [[u8; 8]; 256] = {
    let mut from = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut n) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                from[set][n] = lane;
                n += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    from
};

/// Lanes from which [`Lanes::unpacked`] takes each number, for every set of lanes.
static UNPACKED: [[u8; 8]; 256] = {
    let mut from = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let mut lane = 0;
        while lane < 8 {
            from[set][lane] = (set & ((1 << lane) - 1)).count_ones() as u8;
            lane += 1;
        }
        set += 1;
    }
    from
};

impl F32x8 {
    /// Permutation: each lane gets the number of the given lane.
    #[inline(always)]
    fn permuted(self, from: [u8; 8]) -> Self {
        // SAFETY: as above.
        unsafe {
            let from = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(from)));
            F32x8(_mm256_permutevar8x32_ps(self.0, from))
        }
    }

    /// Register with each two lanes as one number.
    #[inline(always)]
    fn as_wholes(self) -> F64x4 {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_castps_pd(self.0) })
    }
}

impl F64x4 {
    /// Register with each number as two lanes.
    #[inline(always)]
    fn as_halves(self) -> F32x8 {
        // SAFETY: as above.
        F32x8(unsafe { _mm256_castpd_ps(self.0) })
    }
}

/// Bits 2k and 2k + 1 for bit k of four.
#[inline(always)]
fn both_halves(lanes: u32) -> u32 {
    3 * (lanes & 1 | (lanes & 2) << 1 | (lanes & 4) << 2 | (lanes & 8) << 3)
}

impl Real for F64x4 {
    type Mask = __m256d;

    #[inline(always)]
    fn lit(value: f64) -> Self {
        Self::splat(value)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_fmadd_pd(self.0, b.0, c.0) })
    }
    #[inline(always)]
    fn recip(self) -> Self {
        Self::lit(1.0) / self
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_sqrt_pd(self.0) })
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::lit(1.0) / self.sqrt()
    }
    #[inline(always)]
    fn exp(self) -> Self {
        exp::exp(self, exp::LOWEST_DOUBLE, &exp::DOUBLE)
    }
    elementary!(ln, sin, cos, tanh, erf, erfc);
    #[inline(always)]
    fn acos(self) -> Self {
        each_lane(self, f64::acos)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> Self::Mask {
        // SAFETY: as above.
        unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_blendv_pd(b.0, a.0, mask) })
    }
}

impl Floating for F64x4 {
    #[inline(always)]
    fn is_double() -> bool {
        true
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_max_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn times_power_of_two(self, n: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let exponent = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n.0));
            let exponent = _mm256_add_epi64(exponent, _mm256_set1_epi64x(1023));
            let power = _mm256_castsi256_pd(_mm256_slli_epi64::<52>(exponent));
            F64x4(_mm256_mul_pd(self.0, power))
        }
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let bits = _mm256_castpd_si256(self.0);
            // AVX2 has no such conversion: the exponent becomes the last bits of a number near 2^52.
            let large = _mm256_set1_epi64x(0x4330_0000_0000_0000);
            let exponent = _mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64::<52>(bits), large));
            let exponent = _mm256_sub_pd(exponent, _mm256_set1_pd(4_503_599_627_370_496.0 + 1023.0));
            let fraction = _mm256_and_si256(bits, _mm256_set1_epi64x(0x000f_ffff_ffff_ffff));
            let mantissa = _mm256_or_si256(fraction, _mm256_set1_epi64x(1023 << 52));
            (F64x4(_mm256_castsi256_pd(mantissa)), F64x4(exponent))
        }
    }
}

impl Lanes for F64x4 {
    type Scalar = f64;
    type Index = __m128i;
    const WIDTH: usize = 4;

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        assert!(from.len() >= 4);
        // SAFETY: as above; the slice is long enough.
        F64x4(unsafe { _mm256_loadu_pd(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        assert!(to.len() >= 4);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm256_storeu_pd(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: as above.
        F64x4(unsafe { _mm256_set1_pd(value) })
    }
    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: as above.
        unsafe {
            let half = _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)))
        }
    }
    #[inline(always)]
    fn sum_rows(square: &[f64]) -> Self {
        let mut sums = [0.0; 4];
        for k in 0..4 {
            sums[k] = Self::load(&square[4 * k..]).sum();
        }
        Self::load(&sums)
    }
    #[inline(always)]
    fn bits(mask: __m256d) -> u32 {
        // SAFETY: as above.
        unsafe { _mm256_movemask_pd(mask) as u32 }
    }
    #[inline(always)]
    fn mask(bits: u32) -> __m256d {
        // SAFETY: as above.
        unsafe {
            let bit = _mm256_setr_epi64x(1, 2, 4, 8);
            let set = _mm256_and_si256(_mm256_set1_epi64x(i64::from(bits)), bit);
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(set, bit))
        }
    }
    #[inline(always)]
    fn and(a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: as above.
        unsafe { _mm256_and_pd(a, b) }
    }
    #[inline(always)]
    fn load_index(from: &[i32]) -> __m128i {
        assert!(from.len() >= 4);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn to_index(self) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm256_cvtpd_epi32(self.0) }
    }
    #[inline(always)]
    fn quadruples(table: &[f64], index: __m128i, offset: usize) -> [Self; 4] {
        assert!(table.len() >= 4 + offset && table.len() < 1 << 30);
        // SAFETY: as above; indices are unsigned and cut off where four numbers still follow.
        unsafe {
            let last = _mm_set1_epi32((table.len() - offset - 4) as i32);
            let place = _mm_min_epu32(index, last);
            let from = table.as_ptr().add(offset);
            [
                F64x4(_mm256_i32gather_pd::<8>(from, place)),
                F64x4(_mm256_i32gather_pd::<8>(from.add(1), place)),
                F64x4(_mm256_i32gather_pd::<8>(from.add(2), place)),
                F64x4(_mm256_i32gather_pd::<8>(from.add(3), place)),
            ]
        }
    }
    #[inline(always)]
    fn lookup(table: &[f64], n: usize, index: __m128i) -> Self {
        assert!(table.len() >= n && table.len() >= 4);
        // SAFETY: as above; all indices are below n, which is within the table.
        F64x4(unsafe { _mm256_i32gather_pd::<8>(table.as_ptr(), index) })
    }
    #[inline(always)]
    fn packed(self, lanes: u32) -> Self {
        self.as_halves().packed(both_halves(lanes)).as_wholes()
    }
    #[inline(always)]
    fn unpacked(self, lanes: u32) -> Self {
        self.as_halves().unpacked(both_halves(lanes)).as_wholes()
    }
}
