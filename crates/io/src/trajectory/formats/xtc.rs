//! GROMACS XTC: positions to 0.001 nm, compressed (the encoder is the `molly` crate's).

mod read;

use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision};
use crate::trajectory::frame::{Frame, TrajectoryHeader, WrittenSoFar};
use crate::trajectory::source::{Binary, ByteOrder, Evidence};
use crate::trajectory::units::{length_factor, picoseconds};
use jostle_core::quantity::unit_name;
use jostle_core::{Components, Dimension, Error, Result};
use molly::XTCWriter;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "xtc",
    title: "XTC",
    about: "GROMACS XTC: positions to 0.001 nm (0.001 in lj), compressed",
    contents: &[Content::Times, Content::RequiredTimes],
    precision: Precision { position: 0.5 / PRECISION, unit: Some("nm"), ..Precision::SINGLE },
    access: Access::Stream,
    writer: || Box::new(Writer::Exact),
    recognize: |start| {
        let magic = start.bytes.first_chunk().map(|bytes| i32::from_be_bytes(*bytes));
        matches!(magic, Some(read::MAGIC | read::MAGIC_LARGE)).then_some(Evidence::Signature)
    },
    open: |stream, _| Ok(Box::new(read::Source::new(Binary::new(stream, ByteOrder::Big)))),
};

/// Positions are kept to 1 / PRECISION nm, unless the atoms are spread too far for that.
const PRECISION: f64 = 1000.0;

/// Number of steps of 1 / precision from the origin beyond which the sum of the differences of two positions
/// along the three axes would not fit into 32 bits with a sign, as the encoder needs it.
const FARTHEST: f64 = (1 << 28) as f64;

/// Number of steps below which two atoms that follow each other must come once: else the encoder may number
/// differences by more than 64 bits.
const NEAREST: f64 = 400_000.0;

/// Largest number of atoms of frames that are not compressed.
const UNCOMPRESSED: usize = 9;

/// Writer, by the precision of the frames so far.
enum Writer {
    /// [`PRECISION`] in all.
    Exact,
    /// Less in some, with the note about it until that is handed over.
    Coarse(Option<String>),
}

impl Writer {
    /// Takes note of a frame that is less precise than others.
    fn note(&mut self, header: &TrajectoryHeader, frame: &Frame, precision: f64) {
        if precision == PRECISION || matches!(self, Writer::Coarse(_)) {
            return;
        }
        let unit = unit_name(header.units, Dimension::LENGTH);
        let steps =
            [precision, PRECISION].map(|precision| 1.0 / precision / length_factor(header.units, "nm"));
        // Powers of ten in single precision have no digits but their own.
        let [kept, usual] = steps.map(|step| step as f32);
        let largest = frame.positions.as_flattened().iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        *self = Writer::Coarse(Some(format!(
            "positions are kept to {kept} {unit} only, not to {usual}, from step {} on: coordinates reach {largest:.0} {unit}, \
             and XTC files have no more digits; extended XYZ files and LAMMPS dumps have, or wrap the atoms into the box",
            frame.step
        )));
    }
}

impl FormatWriter for Writer {
    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        let nm = length_factor(header.units, "nm");
        let positions: Vec<[f32; 3]> = frame.positions.iter().map(|r| r.map(|x| (x * nm) as f32).0).collect();
        let precision = precision(&positions).ok_or_else(|| {
            Error::simulation(format!("atoms are too far apart for an XTC file at step {}", frame.step))
                .hint("write format = \"xyz\" or \"dcd\"; has an atom left an open box?")
        })?;
        self.note(header, frame, precision);
        let mut edges = [0.0; 9];
        if frame.simbox.periodic() != [false; 3] {
            for (place, x) in edges.iter_mut().zip(frame.simbox.edges().as_flattened()) {
                *place = (x * nm) as f32;
            }
        }
        // The format counts steps in 32 bits, with a sign.
        let step = frame.step.min(i32::MAX as u64) as u32;
        let time = (frame.time_or_step() * picoseconds(header.units)) as f32;
        XTCWriter::new(out)
            .write_frame_parts(step, time, edges, positions.iter(), precision as f32)
            .map_err(|e| Error::simulation(format!("a frame cannot be compressed: {e}")))
    }

    fn take_note(&mut self, _: &WrittenSoFar) -> Option<String> {
        match self {
            Writer::Exact => None,
            Writer::Coarse(note) => note.take(),
        }
    }
}

/// The largest power of ten up to [`PRECISION`] at which no number takes more than 64 bits: neither
/// that of a grid cell among those that the atoms span, nor that of a difference between atoms that
/// follow each other. (The format allows up to 72, but `molly` 0.7 packs those in the wrong order;
/// f32 would not have the digits either.)
fn precision(positions: &[[f32; 3]]) -> Option<f64> {
    if positions.len() <= UNCOMPRESSED {
        return positions.as_flattened().iter().all(|x| x.is_finite()).then_some(PRECISION);
    }
    let cells = |precision: f64| -> f64 {
        let along = (0..3).map(|axis| {
            let scaled = || positions.iter().map(|r| f64::from(r[axis]) * precision);
            let (low, high) = (scaled().fold(0.0, f64::min), scaled().fold(0.0, f64::max));
            if high > FARTHEST || low < -FARTHEST { f64::INFINITY } else { high - low + 2.0 }
        });
        along.product()
    };
    let apart = |pair: &[[f32; 3]]| (0..3).map(|k| f64::from((pair[0][k] - pair[1][k]).abs())).sum::<f64>();
    let nearest = positions.windows(2).map(apart).fold(f64::INFINITY, f64::min);
    let fits = |precision: &f64| cells(*precision) < 2f64.powi(63) && nearest * precision < NEAREST;
    [PRECISION, PRECISION / 10.0, PRECISION / 100.0, PRECISION / 1000.0].into_iter().find(fits)
}
