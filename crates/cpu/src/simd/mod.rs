//! SIMD registers as [`Real`] numbers: one formula, many atoms.
//!
//! A kernel is written once, generic over [`Simd`], with `#[inline(always)]` bodies; [`Level::run`]
//! enters it through a function compiled for the instruction set that was found at run time.

pub mod aligned;

/// Addition, subtraction, multiplication and division of registers by single instructions. Registers
/// are private to kernels, which only the `run` of their instruction set enters.
#[cfg(target_arch = "x86_64")]
macro_rules! arithmetic {
    ($lanes:ident: $($trait:ident $method:ident $intrinsic:ident),*) => {
        $(impl $trait for $lanes {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: only reached through `run`, whose caller has checked the processor.
                $lanes(unsafe { $intrinsic(self.0, other.0) })
            }
        })*
        impl Neg for $lanes {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // Minus zero: the compiler then knows it for a change of sign and folds it away.
                Self::lit(-0.0) - self
            }
        }
    };
}

/// The elementary functions that are the same on every instruction set.
macro_rules! elementary {
    ($($function:ident),*) => {
        $(
            #[inline(always)]
            fn $function(self) -> Self {
                super::elementary::$function(self)
            }
        )*
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[cfg_attr(without_avx512, expect(dead_code, reason = "no kernel of this build has these registers"))]
mod avx512;
pub(crate) mod elementary;
pub(crate) mod exp;
#[cfg(target_arch = "x86_64")]
pub(crate) mod guess;
mod portable;

use bytemuck::Pod;
use jostle_core::{Real, Vector};
use jostle_fourier::Planned;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

/// The memory form of a lane.
pub trait Scalar:
    Copy
    + Send
    + Sync
    + Default
    + PartialOrd
    + fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Planned
    + Pod
{
    /// The registers of this scalar in an instruction set.
    type Lanes<I: Simd>: Lanes<Scalar = Self>;
    /// Registers of this scalar with eight lanes at most.
    type Narrow<I: Simd>: Lanes<Scalar = Self>;
    /// Number rounded to the scalar's precision.
    fn from_f64(value: f64) -> Self;
    /// Number as f64, without rounding.
    fn to_f64(self) -> f64;
}

impl Scalar for f32 {
    type Lanes<I: Simd> = I::F32;
    type Narrow<I: Simd> = I::NarrowF32;
    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    type Lanes<I: Simd> = I::F64;
    type Narrow<I: Simd> = I::F64;
    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// Operations of elementary functions besides arithmetic.
pub trait Floating: Real {
    /// Returns true for f64, for which series have more terms.
    fn is_double() -> bool;
    /// The larger of two numbers; the second one if one of them is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers; the second one if one of them is NaN.
    fn min(self, other: Self) -> Self;
    /// The nearest whole number.
    fn round(self) -> Self;
    /// Product of `self` and 2^n for whole n within the range of exponents.
    fn times_power_of_two(self, n: Self) -> Self;
    /// Mantissa and exponent of a normal number greater than zero: m and n with m 2^n, 1 <= m < 2.
    fn split(self) -> (Self, Self);
}

/// A register of several numbers.
pub trait Lanes: Floating {
    /// The memory form of a lane.
    type Scalar: Scalar;
    /// Whole numbers that select entries of a table, one a lane.
    type Index: Copy;
    /// Number of lanes, at most [`MOST_LANES`].
    const WIDTH: usize;
    /// True if [`Lanes::lookup`] finds one of 32 numbers without going to memory for each lane.
    const HOLDS_32: bool = false;
    /// True for registers that few processors of this architecture have to do with. Kernels then have their
    /// most general variant alone, because what is compiled for a few is compiled by everybody.
    const IS_FALLBACK: bool = false;

    /// Reads `WIDTH` numbers from the start of the slice.
    fn load(from: &[Self::Scalar]) -> Self;
    /// Writes `WIDTH` numbers to the start of the slice.
    fn store(self, to: &mut [Self::Scalar]);
    /// Register with a number in all lanes.
    fn splat(value: Self::Scalar) -> Self;
    /// Sum of all lanes, in a fixed order.
    fn sum(self) -> Self::Scalar;
    /// Sums the rows of a square of `WIDTH` times `WIDTH` numbers: lane k is the sum of row k.
    fn sum_rows(square: &[Self::Scalar]) -> Self;
    /// Bits of a mask: bit k for lane k.
    fn bits(mask: Self::Mask) -> u32;
    /// Mask from bits: lane k for bit k.
    fn mask(bits: u32) -> Self::Mask;
    /// Lanes in both masks.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Reads `WIDTH` indices from the start of the slice.
    fn load_index(from: &[i32]) -> Self::Index;
    /// Whole numbers as indices.
    fn to_index(self) -> Self::Index;
    /// Four numbers that follow each other in a table, from `index + offset` on in every lane: the
    /// k-th register has the k-th of them. Where the table ends before, its last four.
    fn quadruples(table: &[Self::Scalar], index: Self::Index, offset: usize) -> [Self; 4];
    /// Numbers `table[index]` in every lane; the table's length is a multiple of `WIDTH`, its indices are
    /// below `n`.
    fn lookup(table: &[Self::Scalar], n: usize, index: Self::Index) -> Self;
    /// Function [`quarter`] for normal numbers greater than zero; the index may be too large by a multiple of
    /// 32 where [`Lanes::HOLDS_32`].
    #[inline(always)]
    fn quarter(self) -> (Self::Index, Self) {
        let (mut lanes, mut index) = ([Self::Scalar::default(); MOST_LANES], [0; MOST_LANES]);
        self.store(&mut lanes);
        for (lane, index) in lanes[..Self::WIDTH].iter_mut().zip(&mut index) {
            let (which, rest) = quarter(lane.to_f64());
            (*index, *lane) = (which as i32, Self::Scalar::from_f64(rest));
        }
        (Self::load_index(&index), Self::load(&lanes))
    }
    /// Lanes whose bits are set, packed from the first lane on; the lanes that follow are unspecified. There
    /// are no bits beyond the last lane.
    fn packed(self, lanes: u32) -> Self;
    /// Inverse of [`Lanes::packed`]: the first number in the first lane whose bit is set, and so on; zero
    /// elsewhere.
    fn unpacked(self, lanes: u32) -> Self;

    /// Reads the components of the first `WIDTH` vectors.
    #[inline(always)]
    fn load_vectors(from: &[Vector<Self::Scalar>]) -> Vector<Self> {
        let mut lanes = [[Self::Scalar::default(); MOST_LANES]; 3];
        for (lane, vector) in from[..Self::WIDTH].iter().enumerate() {
            for k in 0..3 {
                lanes[k][lane] = vector[k];
            }
        }
        Vector([Self::load(&lanes[0]), Self::load(&lanes[1]), Self::load(&lanes[2])])
    }

    /// Reads the components of vectors at `WIDTH` places.
    #[inline(always)]
    fn gather_vectors(from: &[Vector<Self::Scalar>], places: &[u32]) -> Vector<Self> {
        let mut some = [Vector::default(); MOST_LANES];
        for (vector, place) in some.iter_mut().zip(&places[..Self::WIDTH]) {
            *vector = from[*place as usize];
        }
        Self::load_vectors(&some)
    }

    /// Writes `WIDTH` vectors by their components.
    #[inline(always)]
    fn store_vectors(components: Vector<Self>, to: &mut [Vector<Self::Scalar>]) {
        let mut lanes = [[Self::Scalar::default(); MOST_LANES]; 3];
        for k in 0..3 {
            components[k].store(&mut lanes[k]);
        }
        for (lane, vector) in to[..Self::WIDTH].iter_mut().enumerate() {
            *vector = Vector([lanes[0][lane], lanes[1][lane], lanes[2][lane]]);
        }
    }
}

/// Quarter of an octave (from a power of two to the next) that contains a number, numbered on from octave to
/// octave and modulo 32, and distance from the middle of the quarter, in parts of the octave.
pub fn quarter(x: f64) -> (usize, f64) {
    let within = x.to_bits() & ((1 << 50) - 1) | 1f64.to_bits();
    ((x.to_bits() >> 50 & 31) as usize, f64::from_bits(within) - 1.125)
}

/// Lanes of the widest register.
pub const MOST_LANES: usize = 16;

/// The first numbers of a slice, of either precision, as a register of f64.
#[inline(always)]
pub fn widened<S: Scalar, D: Lanes<Scalar = f64>>(from: &[S]) -> D {
    let mut lanes = [0.0; MOST_LANES];
    for (lane, x) in lanes.iter_mut().zip(&from[..D::WIDTH]) {
        *lane = x.to_f64();
    }
    D::load(&lanes)
}

/// Calls a function of one number lane by lane.
#[inline(always)]
fn each_lane<L: Lanes>(x: L, function: fn(f64) -> f64) -> L {
    let mut lanes = [L::Scalar::default(); MOST_LANES];
    x.store(&mut lanes);
    for lane in &mut lanes[..L::WIDTH] {
        *lane = L::Scalar::from_f64(function(lane.to_f64()));
    }
    L::load(&lanes)
}

/// An instruction set: its registers of either precision.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Single precision.
    type F32: Lanes<Scalar = f32>;
    /// Single precision with eight lanes at most.
    type NarrowF32: Lanes<Scalar = f32>;
    /// Double precision, eight lanes at most.
    type F64: Lanes<Scalar = f64>;
}

/// Work to be done with the registers of some instruction set. `run` must be
/// `#[inline(always)]`, as must everything it calls that touches registers.
pub trait Kernel {
    /// Result.
    type Output;
    /// Does the work.
    fn run<I: Simd>(self) -> Self::Output;
}

/// Plain code that is worth compiling for the instruction set, too.
pub struct PlainCode<F>(pub F);

impl<R, F: FnOnce() -> R> Kernel for PlainCode<F> {
    type Output = R;
    #[inline(always)]
    fn run<I: Simd>(self) -> R {
        (self.0)()
    }
}

/// The instruction sets, best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain arrays that the compiler vectorises for any processor.
    Portable,
    /// 256-bit registers with fused multiply-add.
    Avx2,
    /// 512-bit registers.
    Avx512,
}

impl Level {
    /// All instruction sets.
    pub const ALL: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

    /// Best instruction set of this processor.
    pub fn best() -> Level {
        let found = Level::ALL.into_iter().rev().find(|level| level.is_available());
        found.unwrap_or(Level::Portable)
    }

    /// Returns true if this processor has the instruction set.
    pub fn is_available(self) -> bool {
        match self {
            Level::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(all(target_arch = "x86_64", not(without_avx512)))]
            Level::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(any(not(target_arch = "x86_64"), without_avx512))]
            _ => false,
        }
    }

    /// Number of atoms of a register in the given precision.
    pub fn width<S: Scalar>(self) -> usize {
        match self {
            Level::Portable => <S::Lanes<portable::Portable> as Lanes>::WIDTH,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => <S::Lanes<avx2::Avx2> as Lanes>::WIDTH,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => <S::Lanes<avx512::Avx512> as Lanes>::WIDTH,
            #[cfg(not(target_arch = "x86_64"))]
            _ => <S::Lanes<portable::Portable> as Lanes>::WIDTH,
        }
    }

    /// Runs a kernel with this instruction set, or the portable one where it is missing.
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(all(target_arch = "x86_64", not(without_avx512)))]
            // SAFETY: the guard has just found the instruction set on this processor.
            Level::Avx512 if self.is_available() => unsafe { avx512::run(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the guard has just found the instruction set on this processor.
            Level::Avx2 if self.is_available() => unsafe { avx2::run(kernel) },
            _ => kernel.run::<portable::Portable>(),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Level::Portable => "portable SIMD",
            Level::Avx2 => "AVX2",
            Level::Avx512 => "AVX-512",
        })
    }
}
