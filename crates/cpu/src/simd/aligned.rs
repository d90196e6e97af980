//! Arrays that start on a cache line, so that no register-wide access straddles two.

use super::Scalar;

#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct CacheLine<S>([S; 16]);

/// A resizable array of numbers that starts on a cache line.
#[derive(Clone, Default)]
pub struct Aligned<S> {
    lines: Vec<CacheLine<S>>,
    len: usize,
}

impl<S: Scalar> Aligned<S> {
    /// Resizes the array to `len` numbers, whose contents are unspecified.
    pub fn resize(&mut self, len: usize) {
        self.lines.resize(len.div_ceil(16), CacheLine::default());
        self.len = len;
    }

    /// Resizes the array to `len` numbers, all equal to `value`.
    pub fn refill(&mut self, len: usize, value: S) {
        self.lines.clear();
        self.lines.resize(len.div_ceil(16), CacheLine([value; 16]));
        self.len = len;
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<CacheLine<S>>()
    }
}

impl<S: Scalar> std::ops::Deref for Aligned<S> {
    type Target = [S];
    #[inline(always)]
    fn deref(&self) -> &[S] {
        // SAFETY: `CacheLine` is an array of 16 numbers without padding (64 or 128 bytes, aligned to
        // 64), and `len` is at most 16 times the number of lines.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<S: Scalar> std::ops::DerefMut for Aligned<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S] {
        // SAFETY: as in `deref`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
