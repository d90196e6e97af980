//! Arithmetic of whole numbers.

/// Greatest common divisor; that of a number and 0 is the number.
pub fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
