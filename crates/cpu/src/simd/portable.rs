//! Plain arrays that the compiler vectorises with whatever the processor has.

use super::{Floating, Lanes, Simd, each_lane, exp};
use jostle_core::Real;
use std::array::from_fn;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// No instruction set in particular.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

impl Simd for Portable {
    type F32 = Array<f32, 4>;
    type NarrowF32 = Array<f32, 4>;
    type F64 = Array<f64, 2>;
}

/// An array that is computed with lane by lane.
#[derive(Debug, Clone, Copy)]
pub struct Array<T, const N: usize>([T; N]);

macro_rules! array {
    ($scalar:ident, $n:literal, $lowest:expr, $series:expr, $bias:literal, $mantissa:literal) => {
        array!(@binary $scalar $n Add add, Sub sub, Mul mul, Div div);

        impl Neg for Array<$scalar, $n> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Array(self.0.map(|x| -x))
            }
        }

        impl Real for Array<$scalar, $n> {
            type Mask = [bool; $n];

            #[inline(always)]
            fn lit(value: f64) -> Self {
                Array([value as $scalar; $n])
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                self * b + c
            }
            #[inline(always)]
            fn recip(self) -> Self {
                Self::lit(1.0) / self
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Array(self.0.map($scalar::sqrt))
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                self.sqrt().recip()
            }
            #[inline(always)]
            fn exp(self) -> Self {
                exp::exp(self, $lowest, &$series)
            }
            elementary!(ln, sin, cos, tanh, erf, erfc);
            #[inline(always)]
            fn acos(self) -> Self {
                each_lane(self, f64::acos)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> Self::Mask {
                from_fn(|k| self.0[k] < other.0[k])
            }
            #[inline(always)]
            fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
                Array(from_fn(|k| if mask[k] { a.0[k] } else { b.0[k] }))
            }
        }

        impl Floating for Array<$scalar, $n> {
            #[inline(always)]
            fn is_double() -> bool {
                size_of::<$scalar>() == 8
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Array(from_fn(|k| if self.0[k] > other.0[k] { self.0[k] } else { other.0[k] }))
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Array(from_fn(|k| if self.0[k] < other.0[k] { self.0[k] } else { other.0[k] }))
            }
            #[inline(always)]
            fn round(self) -> Self {
                // Adding 1.5 * 2^mantissa leaves no room for a fraction.
                let magic = Self::lit(1.5 * (1u64 << $mantissa) as f64);
                self + magic - magic
            }
            #[inline(always)]
            fn times_power_of_two(self, n: Self) -> Self {
                let power = |n: $scalar| $scalar::from_bits(((n as i64 + $bias) << $mantissa) as _);
                Array(from_fn(|k| self.0[k] * power(n.0[k])))
            }
            #[inline(always)]
            fn split(self) -> (Self, Self) {
                let bits = self.0.map(|x| x.to_bits());
                let fraction = (1 << $mantissa) - 1;
                let exponent = |k: usize| ((bits[k] >> $mantissa) as i64 - $bias) as $scalar;
                let mantissa = |k: usize| $scalar::from_bits((bits[k] & fraction) | ($bias << $mantissa));
                (Array(from_fn(mantissa)), Array(from_fn(exponent)))
            }
        }

        impl Lanes for Array<$scalar, $n> {
            type Scalar = $scalar;
            type Index = [i32; $n];
            const WIDTH: usize = $n;
            const IS_FALLBACK: bool = cfg!(target_arch = "x86_64");

            #[inline(always)]
            fn load(from: &[$scalar]) -> Self {
                let from = &from[..$n];
                Array(from_fn(|k| from[k]))
            }
            #[inline(always)]
            fn store(self, to: &mut [$scalar]) {
                to[..$n].copy_from_slice(&self.0);
            }
            #[inline(always)]
            fn splat(value: $scalar) -> Self {
                Array([value; $n])
            }
            #[inline(always)]
            fn sum(self) -> $scalar {
                self.0.iter().sum()
            }
            #[inline(always)]
            fn sum_rows(square: &[$scalar]) -> Self {
                Array(from_fn(|k| square[k * $n..(k + 1) * $n].iter().sum()))
            }
            #[inline(always)]
            fn bits(mask: Self::Mask) -> u32 {
                mask.iter().enumerate().map(|(k, &m)| u32::from(m) << k).sum()
            }
            #[inline(always)]
            fn mask(bits: u32) -> Self::Mask {
                from_fn(|k| bits >> k & 1 == 1)
            }
            #[inline(always)]
            fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                from_fn(|k| a[k] && b[k])
            }
            #[inline(always)]
            fn load_index(from: &[i32]) -> Self::Index {
                from_fn(|k| from[k])
            }
            #[inline(always)]
            fn to_index(self) -> Self::Index {
                self.0.map(|x| x as i32)
            }
            #[inline(always)]
            fn quadruples(table: &[$scalar], index: Self::Index, offset: usize) -> [Self; 4] {
                let last = table.len() - 4;
                let place = index.map(|k| (k as u32 as usize + offset).min(last));
                from_fn(|k| Array(from_fn(|lane| table[place[lane] + k])))
            }
            #[inline(always)]
            fn lookup(table: &[$scalar], _n: usize, index: Self::Index) -> Self {
                Array(index.map(|k| table[k as usize]))
            }
            #[inline(always)]
            fn packed(self, lanes: u32) -> Self {
                let (mut packed, mut n) = (self, 0);
                for lane in 0..$n {
                    packed.0[n] = self.0[lane];
                    n += (lanes >> lane & 1) as usize;
                }
                packed
            }
            #[inline(always)]
            fn unpacked(self, lanes: u32) -> Self {
                let before = |lane: usize| (lanes & !(!0 << lane)).count_ones() as usize;
                let is_set = |lane: usize| lanes >> lane & 1 == 1;
                Array(from_fn(|lane| if is_set(lane) { self.0[before(lane)] } else { 0.0 }))
            }
        }
    };
    (@binary $scalar:ident $n:literal $($trait:ident $method:ident),*) => {
        $(impl $trait for Array<$scalar, $n> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Array(from_fn(|k| self.0[k].$method(other.0[k])))
            }
        })*
    };
}

array!(f32, 4, exp::LOWEST_SINGLE, exp::SINGLE, 127, 23);
array!(f64, 2, exp::LOWEST_DOUBLE, exp::DOUBLE, 1023, 52);
