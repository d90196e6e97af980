//! Landing zone in memory of the host, which all GPUs of a process have in common where a run has GPUs of several
//! processes. A GPU stores its part of an array there, for the other GPUs of the process and for the messenger
//! (`messenger.rs`), which sends it on and stores the parts of other processes there, too.
//!
//! Advantage: it takes neither peer access nor an MPI that knows of GPUs, and works between any two hosts. Disadvantage:
//! every byte goes through the memory of the hosts, a tenth as fast as between linked GPUs.

use super::WORDS;
use crate::device_data::MOST_GPUS;
use crate::driver::{Device, HostBuffer};
use jostle_core::Result;
use std::ops::Range;

/// Bytes of a number.
const NUMBER: usize = 8;
/// Bytes of a word.
const WORD: usize = 4;

/// Landing zone that all GPUs of a process share. Clones are the same one.
#[derive(Clone)]
pub struct HostZone {
    buffer: HostBuffer,
    /// Bytes of one zone: there are two of them, used in turn.
    zone_bytes: usize,
}

impl HostZone {
    /// A zone for so many bytes, a multiple of 256.
    ///
    /// # Errors
    /// If the host has not so much memory.
    pub fn new(device: &Device, zone_bytes: usize) -> Result<Self> {
        let numbers = MOST_GPUS * NUMBER * (1 + 2 * 2);
        let bytes = 2 * zone_bytes + numbers + 2 * MOST_GPUS * WORDS * WORD;
        Ok(HostZone { buffer: HostBuffer::new(device, bytes)?, zone_bytes })
    }

    /// Memory of the zones, which begins with them.
    pub fn buffer(&self) -> &HostBuffer {
        &self.buffer
    }

    fn published_place(&self) -> usize {
        2 * self.zone_bytes
    }

    fn stored_place(&self) -> usize {
        self.published_place() + MOST_GPUS * NUMBER
    }

    fn words_place(&self) -> usize {
        self.stored_place() + 2 * 2 * MOST_GPUS * NUMBER
    }

    /// Address of the numbers that GPUs publish.
    pub fn published_address(&self) -> u64 {
        self.buffer.address() + self.published_place() as u64
    }

    /// Address of the ranges that GPUs have stored: begin and end, [2][MOST_GPUS][2].
    pub fn stored_address(&self) -> u64 {
        self.buffer.address() + self.stored_place() as u64
    }

    /// Address of the words of all GPUs.
    pub fn words_address(&self) -> u64 {
        self.buffer.address() + self.words_place() as u64
    }

    /// Number that a GPU has published.
    pub fn published(&self, gpu: usize) -> u64 {
        self.buffer.number(self.published_place() + gpu * NUMBER)
    }

    /// Publishes a number of a GPU of another process.
    pub fn publish(&self, gpu: usize, number: u64) {
        self.buffer.publish(self.published_place() + gpu * NUMBER, number);
    }

    /// Bytes of a zone that a GPU has stored in an exchange, from the beginning of the zone.
    pub fn stored(&self, gpu: usize, number: u64) -> [u64; 2] {
        let place = self.stored_place() + ((number % 2) as usize * MOST_GPUS + gpu) * 2 * NUMBER;
        [self.buffer.number(place), self.buffer.number(place + NUMBER)]
    }

    /// Notes the bytes that a GPU has stored, as kernels do.
    #[cfg(test)]
    pub fn set_stored(&self, gpu: usize, number: u64, bytes: [u64; 2]) {
        let place = self.stored_place() + ((number % 2) as usize * MOST_GPUS + gpu) * 2 * NUMBER;
        bytes.iter().enumerate().for_each(|(k, byte)| self.buffer.publish(place + k * NUMBER, *byte));
    }

    /// Part of the memory for so many bytes in an exchange; `None` where there are none, or not so many.
    pub fn part(&self, number: u64, [begin, end]: [u64; 2]) -> Option<Range<usize>> {
        let zone = (number % 2) as usize * self.zone_bytes;
        let inside = begin < end && end <= self.zone_bytes as u64;
        inside.then(|| zone + begin as usize..zone + end as usize)
    }

    /// Words that a GPU tells the others in an exchange.
    pub fn words(&self, gpu: usize, number: u64) -> [u32; WORDS] {
        let place = self.place_of_words(gpu, number);
        std::array::from_fn(|k| self.buffer.word(place + k * WORD))
    }

    /// Stores the words of a GPU of another process.
    pub fn set_words(&self, gpu: usize, number: u64, words: [u32; WORDS]) {
        let place = self.place_of_words(gpu, number);
        words.iter().enumerate().for_each(|(k, word)| self.buffer.set_word(place + k * WORD, *word));
    }

    fn place_of_words(&self, gpu: usize, number: u64) -> usize {
        self.words_place() + ((number % 2) as usize * MOST_GPUS + gpu) * WORDS * WORD
    }
}
