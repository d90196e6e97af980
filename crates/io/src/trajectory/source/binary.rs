//! Numbers from a binary stream. No count in a file makes anyone reserve memory for more than the
//! file has.

use super::stream::ByteStream;
use super::{reserved, unreadable};
use jostle_core::{Result, Vec3};
use std::io::{BufRead, Read};

/// A stream of numbers in one byte order.
pub(in crate::trajectory) struct Binary {
    stream: ByteStream,
    order: ByteOrder,
    block: Vec<u8>,
}

/// Order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::trajectory) enum ByteOrder {
    Little,
    Big,
}

/// Size of a floating-point number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::trajectory) enum Width {
    Single,
    Double,
}

impl Width {
    pub fn bytes(self) -> usize {
        match self {
            Width::Single => 4,
            Width::Double => 8,
        }
    }
}

macro_rules! numbers {
    ($($name:ident $type:ty;)*) => {
        $(pub fn $name(&mut self) -> Result<$type> {
            let mut bytes = [0; size_of::<$type>()];
            self.stream.read_exact(&mut bytes).map_err(|e| unreadable(&e))?;
            Ok(match self.order {
                ByteOrder::Little => <$type>::from_le_bytes(bytes),
                ByteOrder::Big => <$type>::from_be_bytes(bytes),
            })
        })*
    };
}

impl Binary {
    pub fn new(stream: ByteStream, order: ByteOrder) -> Self {
        Binary { stream, order, block: Vec::new() }
    }

    /// Returns true at the end of the stream.
    pub fn at_end(&mut self) -> Result<bool> {
        self.stream.fill_buf().map(<[u8]>::is_empty).map_err(|e| unreadable(&e))
    }

    numbers! {
        i32 i32;
        i64 i64;
        f32 f32;
    }

    /// Checks that the file has room for these atoms, which take this number of bytes at least.
    ///
    /// # Errors
    /// If the file has no room for them.
    pub fn check_claim(&self, atoms: usize, bytes: u64) -> Result<()> {
        self.stream.check_claim(atoms, bytes)
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: u64) -> Result<&[u8]> {
        self.block.clear();
        let limited = Read::take(&mut self.stream, count);
        let read = { limited }.read_to_end(&mut self.block).map_err(|e| unreadable(&e))?;
        if read as u64 != count {
            return Err(unreadable(&std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(&self.block)
    }

    /// The next `count` floating-point numbers, handed over one by one.
    pub fn floats(&mut self, count: usize, width: Width, mut each: impl FnMut(usize, f64)) -> Result<()> {
        let order = self.order;
        let bytes = self.bytes(count as u64 * width.bytes() as u64)?;
        match width {
            Width::Single => {
                for (k, chunk) in bytes.as_chunks::<4>().0.iter().enumerate() {
                    let x = if order == ByteOrder::Little {
                        f32::from_le_bytes(*chunk)
                    } else {
                        f32::from_be_bytes(*chunk)
                    };
                    each(k, f64::from(x));
                }
            }
            Width::Double => {
                for (k, chunk) in bytes.as_chunks::<8>().0.iter().enumerate() {
                    let x = if order == ByteOrder::Little {
                        f64::from_le_bytes(*chunk)
                    } else {
                        f64::from_be_bytes(*chunk)
                    };
                    each(k, x);
                }
            }
        }
        Ok(())
    }

    /// The next `count` vectors.
    pub fn vectors(&mut self, count: usize, width: Width) -> Result<Vec<Vec3>> {
        self.check_claim(count, 3 * count as u64 * width.bytes() as u64)?;
        // Reserved memory is not there before something is written to it: of a pipe, whose end nothing tells,
        // that is what has been read.
        let mut vectors: Vec<Vec3> = reserved(count)?;
        self.floats(3 * count, width, |k, x| {
            if k % 3 == 0 {
                vectors.push(Vec3::ZERO);
            }
            vectors[k / 3][k % 3] = x;
        })?;
        Ok(vectors)
    }
}
