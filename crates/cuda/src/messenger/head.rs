//! Heads of messages.

use crate::exchange::WORDS;

/// Bytes of a head.
pub const HEAD_BYTES: usize = 8 * NUMBERS;
/// Numbers of a head.
const NUMBERS: usize = 8;

/// Kinds of messages, by the first number of their heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Stored = 1,
    Numbers,
    Failed,
    Close,
}

/// Head of a message: kind, GPU, number of the exchange or the call, bytes of the body from begin to end, words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    pub gpu: u64,
    pub number: u64,
    pub body: [u64; 2],
    pub words: [u32; WORDS],
}

impl Head {
    /// Head of a notice with a body of so many bytes.
    pub fn new(kind: Kind, gpu: usize, number: u64, bytes: usize) -> Self {
        Head { kind, gpu: gpu as u64, number, body: [0, bytes as u64], words: [0; WORDS] }
    }

    pub fn to_bytes(self) -> Vec<u8> {
        let mut numbers = [self.kind as u64, self.gpu, self.number, self.body[0], self.body[1], 0, 0, 0];
        for (k, word) in self.words.iter().enumerate() {
            numbers[5 + k / 2] |= u64::from(*word) << (32 * (k % 2));
        }
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// `None`: it is none.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut numbers = [0; NUMBERS];
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        let [kind, gpu, number, begin, end, ..] = numbers;
        let kinds = [Kind::Stored, Kind::Numbers, Kind::Failed, Kind::Close];
        let kind = kinds.into_iter().find(|one| *one as u64 == kind)?;
        let words = std::array::from_fn(|k| (numbers[5 + k / 2] >> (32 * (k % 2))) as u32);
        Some(Head { kind, gpu, number, body: [begin, end], words })
    }
}
