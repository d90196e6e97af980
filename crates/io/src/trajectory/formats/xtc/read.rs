//! GROMACS XTC. The decoder is our own because a damaged file must be an error: that of `molly`,
//! whose encoder we use, trusts every count it reads. The compression has no specification; this
//! follows `xdr3dfcoord` of GROMACS (F. van Hoesel) as `molly` documents it.

use crate::trajectory::frame::Snapshot;
use crate::trajectory::source::{Binary, FileUnits, FrameSource, Width, damaged, reserved, simbox_of};
use jostle_core::{Components, Result, Vec3, Vector};

pub(super) const MAGIC: i32 = 1995;
/// Files with more than 298,261,617 atoms, which count bytes in 64 bits.
pub(super) const MAGIC_LARGE: i32 = 2023;

/// Largest number of atoms of frames that are not compressed.
const UNCOMPRESSED: usize = 9;

/// Numbers of values that a difference may take, by an index into this table: 2^(k/3).
const SIZES: [u32; 73] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256, 322, 406,
    512, 645, 812, 1024, 1290, 1625, 2048, 2580, 3250, 4096, 5060, 6501, 8192, 10321, 13003, 16384, 20642,
    26007, 32768, 41285, 52015, 65536, 82570, 104031, 131072, 165140, 208063, 262144, 330280, 416127, 524287,
    660561, 832255, 1048576, 1321122, 1664510, 2097152, 2642245, 3329021, 4194304, 5284491, 6658042, 8388607,
    10568983, 13316085, 16777216,
];
/// The first index of a number of values that is not zero.
const FIRST: usize = 9;

pub(super) struct Source {
    binary: Binary,
}

impl Source {
    pub fn new(binary: Binary) -> Self {
        Source { binary }
    }
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        let b = &mut self.binary;
        if b.at_end()? {
            return Ok(None);
        }
        let magic = b.i32()?;
        if magic != MAGIC && magic != MAGIC_LARGE {
            return Err(damaged(format!("it begins with {magic} instead of {MAGIC}"))
                .hint("the file is damaged from here on"));
        }
        let n = b.i32()?;
        let (step, time) = (b.i32()?, b.f32()?);
        let mut edges = [Vec3::ZERO; 3];
        b.floats(9, Width::Single, |k, x| edges.as_flattened_mut()[k] = x)?;
        let again = b.i32()?;
        let count = usize::try_from(n).ok().filter(|_| n == again);
        let count = count.ok_or_else(|| damaged(format!("it says that it has {n} atoms, and {again}")))?;
        let positions = match count {
            ..=UNCOMPRESSED => b.vectors(count, Width::Single)?,
            _ => decompress(b, count, magic)?,
        };
        Ok(Some(Snapshot {
            step: u64::try_from(step).unwrap_or(0),
            time: Some(f64::from(time)),
            simbox: simbox_of(edges, &positions)?,
            positions,
            images: None,
            velocities: None,
        }))
    }

    fn units(&self) -> FileUnits {
        FileUnits::Fixed("nm")
    }
}

fn decompress(b: &mut Binary, count: usize, magic: i32) -> Result<Vec<Vec3>> {
    let precision = b.f32()?;
    let low = [b.i32()?, b.i32()?, b.i32()?];
    let high = [b.i32()?, b.i32()?, b.i32()?];
    let mut small = usize::try_from(b.i32()?).unwrap_or(0);
    let length = if magic == MAGIC_LARGE { b.i64()? } else { i64::from(b.i32()?) };
    let length = u64::try_from(length).map_err(|_| damaged(format!("its positions have {length} bytes")))?;
    // An atom takes at least a bit.
    b.check_claim(count, length.max(count as u64 / 8))?;
    // XDR pads to whole words.
    let bytes = b.bytes(length.next_multiple_of(4))?;
    let broken = || damaged("its compressed positions make no sense").hint("the file is damaged");
    let plausible = precision.is_finite() && precision > 0.0 && count as u64 / 8 <= length;
    if !plausible || !(FIRST..SIZES.len()).contains(&small) {
        return Err(broken());
    }
    let mut spans = [0u32; 3];
    for k in 0..3 {
        let span = i64::from(high[k]) - i64::from(low[k]) + 1;
        spans[k] = u32::try_from(span).ok().filter(|s| *s > 0).ok_or_else(broken)?;
    }
    // Coordinates with many digits stand one by one; others are one number.
    let apart = spans.iter().any(|s| *s > 0xff_ffff).then(|| spans.map(|s| 32 - s.leading_zeros()));
    let product = spans.iter().fold(1u128, |p, s| p.saturating_mul(u128::from(*s)));
    let together = 128 - product.leading_zeros();
    let mut bits = Bits::new(bytes);
    let mut positions = reserved(count)?;
    let scale = 1.0 / precision;
    let place = |c: [i32; 3]| Vector(c.map(|x| f64::from(x as f32 * scale)));
    let mut run = 0;
    while positions.len() < count {
        let whole = match apart {
            Some(widths) => widths.map(|w| bits.plain(w) as u32),
            None => bits.triple(together, spans),
        };
        let mut before: [i32; 3] = std::array::from_fn(|k| low[k].wrapping_add(whole[k] as i32));
        let mut change = 0;
        if bits.plain(1) == 1 {
            run = bits.plain(5) as usize;
            change = run as i32 % 3 - 1;
            run -= run % 3;
        }
        // The atoms that follow are near: differences to the one before. The first two of them are
        // swapped, which makes water shorter (hydrogen, oxygen, hydrogen).
        if run == 0 {
            positions.push(place(before));
        }
        let half = (SIZES[small] / 2) as i32;
        for k in 0..run / 3 {
            let d = bits.triple(small as u32, [SIZES[small]; 3]);
            let here = std::array::from_fn(|a| before[a].wrapping_add(d[a] as i32).wrapping_sub(half));
            positions.push(place(here));
            if k == 0 {
                positions.push(place(before));
            }
            before = here;
        }
        small = small
            .checked_add_signed(change as isize)
            .filter(|s| (FIRST..SIZES.len()).contains(s))
            .ok_or_else(broken)?;
        if bits.overrun() {
            return Err(broken());
        }
    }
    positions.truncate(count);
    Ok(positions)
}

/// Bits of a stream, the most significant first. Beyond its end there are zeros.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Bits { bytes, at: 0 }
    }

    /// Returns true where more was read than there is.
    fn overrun(&self) -> bool {
        self.at > 8 * self.bytes.len()
    }

    /// A number of at most 56 bits.
    #[inline]
    fn plain(&mut self, count: u32) -> u64 {
        if count == 0 {
            return 0;
        }
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_be_bytes(*eight),
            None => rest.iter().enumerate().fold(0, |word, (k, b)| word | u64::from(*b) << (56 - 8 * k)),
        };
        let number = word << (self.at % 8) >> (64 - count);
        self.at += count as usize;
        number
    }

    /// Number of at most 56 bits whose bytes are in the opposite order; bits that do not fill a byte come
    /// last.
    #[inline]
    fn reversed(&mut self, count: u32) -> u64 {
        let (full, rest) = (count & !7, count & 7);
        let number = self.plain(count);
        if full == 0 {
            return number;
        }
        let low = ((number >> rest) << (64 - full)).swap_bytes();
        low | (number & ((1 << rest) - 1)) << full
    }

    /// Three numbers below `spans`, packed into one of `count` bits (at most 72).
    #[inline]
    fn triple(&mut self, count: u32, spans: [u32; 3]) -> [u32; 3] {
        let [_, y, z] = spans;
        if count <= 56 {
            let number = self.reversed(count);
            let (y, z) = (u64::from(y), u64::from(z));
            let rest = number / z;
            return [(rest / y) as u32, (rest % y) as u32, (number % z) as u32];
        }
        let number = u128::from(self.reversed(56)) | u128::from(self.reversed(count - 56)) << 56;
        let (y, z) = (u128::from(y), u128::from(z));
        let rest = number / z;
        [(rest / y) as u32, (rest % y) as u32, (number % z) as u32]
    }
}
