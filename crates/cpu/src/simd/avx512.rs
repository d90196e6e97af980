//! 512-bit registers.
//!
//! One file holds one instruction set: methods of two kinds of registers, a few lines each.

use super::{Floating, Kernel, Lanes, Simd, avx2, each_lane, exp, guess};
use jostle_core::{Real, Vec3, Vector};
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The AVX-512 instruction set.
#[derive(Debug, Clone, Copy)]
pub struct Avx512;

impl Simd for Avx512 {
    type F32 = F32x16;
    type NarrowF32 = avx2::F32x8;
    type F64 = F64x8;
}

/// Runs a kernel compiled for AVX-512.
///
/// # Safety
/// The processor must have AVX-512.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt")]
pub unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

/// 16 single-precision numbers.
#[derive(Debug, Clone, Copy)]
pub struct F32x16(__m512);

/// 8 double-precision numbers.
#[derive(Debug, Clone, Copy)]
pub struct F64x8(__m512d);

arithmetic!(F32x16: Add add _mm512_add_ps, Sub sub _mm512_sub_ps, Mul mul _mm512_mul_ps, Div div _mm512_div_ps);
arithmetic!(F64x8: Add add _mm512_add_pd, Sub sub _mm512_sub_pd, Mul mul _mm512_mul_pd, Div div _mm512_div_pd);

// SAFETY (of all blocks below): only reached through `run`, whose caller has checked the processor;
// loads and stores are checked against the length of their slice.
impl Real for F32x16 {
    type Mask = __mmask16;

    #[inline(always)]
    fn lit(value: f64) -> Self {
        Self::splat(value as f32)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
    }
    #[inline(always)]
    fn recip(self) -> Self {
        // SAFETY: as above.
        let y = F32x16(unsafe { _mm512_rcp14_ps(self.0) });
        // 14 to 24 bits.
        guess::recip(self, y)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        // SAFETY: as above.
        let y = F32x16(unsafe { _mm512_rsqrt14_ps(self.0) });
        // 14 to 24 bits.
        guess::rsqrt(self, y)
    }
    #[inline(always)]
    fn inverse_powers(self) -> [Self; 2] {
        // SAFETY: as above.
        let y = F32x16(unsafe { _mm512_rsqrt14_ps(self.0) });
        guess::inverse_powers(self, y)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        exp::exp_by_scaling(self)
    }
    elementary!(ln, sin, cos, tanh, erf, erfc);
    #[inline(always)]
    fn acos(self) -> Self {
        each_lane(self, f64::acos)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> Self::Mask {
        // SAFETY: as above.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_mask_blend_ps(mask, b.0, a.0) })
    }
}

impl Floating for F32x16 {
    #[inline(always)]
    fn is_double() -> bool {
        false
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_roundscale_ps::<_MM_FROUND_TO_NEAREST_INT>(self.0) })
    }
    #[inline(always)]
    fn times_power_of_two(self, n: Self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_scalef_ps(self.0, n.0) })
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let mantissa = _mm512_getmant_ps::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(self.0);
            (F32x16(mantissa), F32x16(_mm512_getexp_ps(self.0)))
        }
    }
}

impl exp::Scaling for F32x16 {
    #[inline(always)]
    fn fraction(self) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_reduce_ps::<_MM_FROUND_TO_NEG_INF>(self.0) })
    }
    #[inline(always)]
    fn scaled_where(self, n: Self, mask: __mmask16) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_maskz_scalef_ps(mask, self.0, n.0) })
    }
}

impl Lanes for F32x16 {
    type Scalar = f32;
    type Index = __m512i;
    const WIDTH: usize = 16;
    const HOLDS_32: bool = true;

    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        assert!(from.len() >= 16);
        // SAFETY: as above; the slice is long enough.
        F32x16(unsafe { _mm512_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        assert!(to.len() >= 16);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as above.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    fn sum_rows(square: &[f32]) -> Self {
        assert!(square.len() >= 256);
        // Four rounds, each of which halves the number of registers: two are interleaved so that
        // adding their halves keeps both sums. The order of the rows comes out right at the end.
        // SAFETY: as above; the slice is long enough.
        unsafe {
            let row = |k: usize| _mm512_loadu_ps(square.as_ptr().add(16 * k));
            let mut fours = [_mm512_setzero_ps(); 4];
            for (k, four) in fours.iter_mut().enumerate() {
                let [a, b, c, d] = [row(4 * k), row(4 * k + 1), row(4 * k + 2), row(4 * k + 3)];
                let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
                let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
                // Partial sums of four rows in each quarter.
                *four = _mm512_add_ps(
                    _mm512_shuffle_ps::<0b01_00_01_00>(ab, cd),
                    _mm512_shuffle_ps::<0b11_10_11_10>(ab, cd),
                );
            }
            let [a, b, c, d] = fours;
            let ab = _mm512_add_ps(
                _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b),
                _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b),
            );
            let cd = _mm512_add_ps(
                _mm512_shuffle_f32x4::<0b10_00_10_00>(c, d),
                _mm512_shuffle_f32x4::<0b11_01_11_01>(c, d),
            );
            F32x16(_mm512_add_ps(
                _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd),
                _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd),
            ))
        }
    }
    #[inline(always)]
    fn bits(mask: __mmask16) -> u32 {
        u32::from(mask)
    }
    #[inline(always)]
    fn mask(bits: u32) -> __mmask16 {
        bits as __mmask16
    }
    #[inline(always)]
    fn and(a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }
    #[inline(always)]
    fn load_index(from: &[i32]) -> __m512i {
        assert!(from.len() >= 16);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn to_index(self) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_cvtps_epi32(self.0) }
    }
    #[inline(always)]
    fn quadruples(table: &[f32], index: __m512i, offset: usize) -> [Self; 4] {
        assert!(table.len() >= 4 + offset && table.len() < 1 << 30);
        // SAFETY: as above; indices are unsigned and cut off where four numbers still follow.
        unsafe {
            let last = _mm512_set1_epi32((table.len() - offset - 4) as i32);
            let mut places = [0u32; 16];
            _mm512_storeu_si512(places.as_mut_ptr().cast(), _mm512_min_epu32(index, last));
            // One load a lane, then squares of four by four are turned within quarters: several
            // times as fast as four gathers. Without closures, which would be compiled without the
            // instruction set.
            let from = table.as_ptr().add(offset);
            let mut rows = [_mm512_setzero_ps(); 4];
            for k in 0..4 {
                let row = _mm512_castps128_ps512(_mm_loadu_ps(from.add(places[k] as usize)));
                let row = _mm512_insertf32x4::<1>(row, _mm_loadu_ps(from.add(places[k + 4] as usize)));
                let row = _mm512_insertf32x4::<2>(row, _mm_loadu_ps(from.add(places[k + 8] as usize)));
                rows[k] = _mm512_insertf32x4::<3>(row, _mm_loadu_ps(from.add(places[k + 12] as usize)));
            }
            let low01 = _mm512_castps_pd(_mm512_unpacklo_ps(rows[0], rows[1]));
            let high01 = _mm512_castps_pd(_mm512_unpackhi_ps(rows[0], rows[1]));
            let low23 = _mm512_castps_pd(_mm512_unpacklo_ps(rows[2], rows[3]));
            let high23 = _mm512_castps_pd(_mm512_unpackhi_ps(rows[2], rows[3]));
            [
                F32x16(_mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23))),
                F32x16(_mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23))),
                F32x16(_mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23))),
                F32x16(_mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23))),
            ]
        }
    }
    #[inline(always)]
    fn lookup(table: &[f32], n: usize, index: __m512i) -> Self {
        assert!(table.len() >= n && table.len() >= 16);
        if n <= 16 {
            // SAFETY: as above; the table has a register's length.
            F32x16(unsafe { _mm512_permutexvar_ps(index, _mm512_loadu_ps(table.as_ptr())) })
        } else if n <= 32 && table.len() >= 32 {
            let (low, high) = table.split_at(16);
            // SAFETY: as above; the table has the length of two registers.
            F32x16(unsafe {
                let (low, high) = (_mm512_loadu_ps(low.as_ptr()), _mm512_loadu_ps(high.as_ptr()));
                _mm512_permutex2var_ps(low, index, high)
            })
        } else {
            // SAFETY: as above; all indices are below n, which is within the table.
            F32x16(unsafe { _mm512_i32gather_ps::<4>(index, table.as_ptr().cast()) })
        }
    }
    #[inline(always)]
    fn quarter(self) -> (__m512i, Self) {
        // SAFETY: as above. What follows the exponent's end and two bits more is the place within the
        // quarter; permutations look at the last five bits of an index.
        unsafe {
            let (bits, one) = (_mm512_castps_si512(self.0), _mm512_castps_si512(_mm512_set1_ps(1.0)));
            let within = _mm512_and_si512(bits, _mm512_set1_epi32((1 << 21) - 1));
            let within = F32x16(_mm512_castsi512_ps(_mm512_or_si512(within, one)));
            (_mm512_srli_epi32::<21>(bits), within - Self::lit(1.125))
        }
    }
    #[inline(always)]
    fn packed(self, lanes: u32) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_maskz_compress_ps(lanes as __mmask16, self.0) })
    }
    #[inline(always)]
    fn unpacked(self, lanes: u32) -> Self {
        // SAFETY: as above.
        F32x16(unsafe { _mm512_maskz_expand_ps(lanes as __mmask16, self.0) })
    }
}

impl Real for F64x8 {
    type Mask = __mmask8;

    #[inline(always)]
    fn lit(value: f64) -> Self {
        Self::splat(value)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_fmadd_pd(self.0, b.0, c.0) })
    }
    #[inline(always)]
    fn recip(self) -> Self {
        // SAFETY: as above.
        let y = F64x8(unsafe { _mm512_rcp14_pd(self.0) });
        // 14 to 53 bits.
        guess::recip(self, guess::recip(self, y))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_sqrt_pd(self.0) })
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        // SAFETY: as above.
        let y = F64x8(unsafe { _mm512_rsqrt14_pd(self.0) });
        // 14 to 53 bits.
        guess::rsqrt(self, guess::rsqrt(self, y))
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
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_mask_blend_pd(mask, b.0, a.0) })
    }
}

impl Floating for F64x8 {
    #[inline(always)]
    fn is_double() -> bool {
        true
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_max_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_roundscale_pd::<_MM_FROUND_TO_NEAREST_INT>(self.0) })
    }
    #[inline(always)]
    fn times_power_of_two(self, n: Self) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_scalef_pd(self.0, n.0) })
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let mantissa = _mm512_getmant_pd::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(self.0);
            (F64x8(mantissa), F64x8(_mm512_getexp_pd(self.0)))
        }
    }
}

impl Lanes for F64x8 {
    type Scalar = f64;
    type Index = __m512i;
    const WIDTH: usize = 8;

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        assert!(from.len() >= 8);
        // SAFETY: as above; the slice is long enough.
        F64x8(unsafe { _mm512_loadu_pd(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        assert!(to.len() >= 8);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_set1_pd(value) })
    }
    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: as above.
        unsafe { _mm512_reduce_add_pd(self.0) }
    }
    #[inline(always)]
    fn sum_rows(square: &[f64]) -> Self {
        let mut sums = [0.0; 8];
        for k in 0..8 {
            sums[k] = Self::load(&square[8 * k..]).sum();
        }
        Self::load(&sums)
    }
    #[inline(always)]
    fn bits(mask: __mmask8) -> u32 {
        u32::from(mask)
    }
    #[inline(always)]
    fn mask(bits: u32) -> __mmask8 {
        bits as __mmask8
    }
    #[inline(always)]
    fn and(a: __mmask8, b: __mmask8) -> __mmask8 {
        a & b
    }
    #[inline(always)]
    fn load_index(from: &[i32]) -> __m512i {
        assert!(from.len() >= 8);
        // SAFETY: as above; the slice is long enough.
        unsafe { _mm512_cvtepi32_epi64(_mm256_loadu_si256(from.as_ptr().cast())) }
    }
    #[inline(always)]
    fn to_index(self) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_cvtpd_epi64(self.0) }
    }
    #[inline(always)]
    fn quadruples(table: &[f64], index: __m512i, offset: usize) -> [Self; 4] {
        assert!(table.len() >= 4 + offset);
        // SAFETY: as above; indices are unsigned and cut off where four numbers still follow.
        unsafe {
            let last = _mm512_set1_epi64((table.len() - offset - 4) as i64);
            let place = _mm512_min_epu64(index, last);
            let from = table.as_ptr().add(offset);
            [
                F64x8(_mm512_i64gather_pd::<8>(place, from.cast())),
                F64x8(_mm512_i64gather_pd::<8>(place, from.add(1).cast())),
                F64x8(_mm512_i64gather_pd::<8>(place, from.add(2).cast())),
                F64x8(_mm512_i64gather_pd::<8>(place, from.add(3).cast())),
            ]
        }
    }
    #[inline(always)]
    fn lookup(table: &[f64], n: usize, index: __m512i) -> Self {
        assert!(table.len() >= n && table.len() >= 8);
        if n <= 8 {
            // SAFETY: as above; the table has a register's length.
            F64x8(unsafe { _mm512_permutexvar_pd(index, _mm512_loadu_pd(table.as_ptr())) })
        } else {
            // SAFETY: as above; all indices are below n, which is within the table.
            F64x8(unsafe { _mm512_i64gather_pd::<8>(index, table.as_ptr().cast()) })
        }
    }
    #[inline(always)]
    fn packed(self, lanes: u32) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_maskz_compress_pd(lanes as __mmask8, self.0) })
    }
    #[inline(always)]
    fn unpacked(self, lanes: u32) -> Self {
        // SAFETY: as above.
        F64x8(unsafe { _mm512_maskz_expand_pd(lanes as __mmask8, self.0) })
    }
    #[inline(always)]
    fn load_vectors(from: &[Vec3]) -> Vector<Self> {
        assert!(from.len() >= 8);
        // SAFETY: as above; eight vectors are three registers.
        unsafe {
            let from = from.as_ptr().cast::<f64>();
            let all = [_mm512_loadu_pd(from), _mm512_loadu_pd(from.add(8)), _mm512_loadu_pd(from.add(16))];
            Vector([
                F64x8(chosen(all, [0, 3, 6, 9, 12, 15, 0, 0], [0, 1, 2, 3, 4, 5, 10, 13])),
                F64x8(chosen(all, [1, 4, 7, 10, 13, 0, 0, 0], [0, 1, 2, 3, 4, 8, 11, 14])),
                F64x8(chosen(all, [2, 5, 8, 11, 14, 0, 0, 0], [0, 1, 2, 3, 4, 9, 12, 15])),
            ])
        }
    }
    #[inline(always)]
    fn gather_vectors(from: &[Vec3], places: &[u32]) -> Vector<Self> {
        let places = &places[..8];
        // SAFETY: as above; each vector is read by a load of its three numbers alone.
        unsafe {
            // Vectors k and k + 4 in the halves of a register, which are then turned.
            let mut both = [_mm512_setzero_pd(); 4];
            for k in 0..4 {
                let vector = |lane: usize| from[places[lane] as usize].as_ptr();
                let low = _mm512_castpd256_pd512(_mm256_maskz_loadu_pd(0b111, vector(k)));
                both[k] = _mm512_insertf64x4::<1>(low, _mm256_maskz_loadu_pd(0b111, vector(k + 4)));
            }
            let [a, b, c, d] = both;
            let (xz01, xz23) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
            let (y01, y23) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
            let first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let last = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            Vector([
                F64x8(_mm512_permutex2var_pd(xz01, first, xz23)),
                F64x8(_mm512_permutex2var_pd(y01, first, y23)),
                F64x8(_mm512_permutex2var_pd(xz01, last, xz23)),
            ])
        }
    }
    #[inline(always)]
    fn store_vectors(Vector([x, y, z]): Vector<Self>, to: &mut [Vec3]) {
        assert!(to.len() >= 8);
        let all = [x.0, y.0, z.0];
        // SAFETY: as above; eight vectors are three registers.
        unsafe {
            let to = to.as_mut_ptr().cast::<f64>();
            let first = chosen(all, [0, 8, 0, 1, 9, 0, 2, 10], [0, 1, 8, 3, 4, 9, 6, 7]);
            let second = chosen(all, [0, 3, 11, 0, 4, 12, 0, 5], [10, 1, 2, 11, 4, 5, 12, 7]);
            let third = chosen(all, [13, 0, 6, 14, 0, 7, 15, 0], [0, 13, 2, 3, 14, 5, 6, 15]);
            _mm512_storeu_pd(to, first);
            _mm512_storeu_pd(to.add(8), second);
            _mm512_storeu_pd(to.add(16), third);
        }
    }
}

/// Selects lanes of two registers (those of the second from 8 on), then lanes of these and of a third.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
unsafe fn chosen([a, b, c]: [__m512d; 3], of_two: [i64; 8], of_third: [i64; 8]) -> __m512d {
    // SAFETY: as the caller has promised; the arrays have the length of a register.
    unsafe {
        let two = _mm512_permutex2var_pd(a, _mm512_loadu_si512(of_two.as_ptr().cast()), b);
        _mm512_permutex2var_pd(two, _mm512_loadu_si512(of_third.as_ptr().cast()), c)
    }
}
