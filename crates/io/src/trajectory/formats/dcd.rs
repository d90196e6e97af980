//! DCD as CHARMM and NAMD write it: Fortran records, little-endian, positions in f32 angstrom,
//! with a unit cell in every frame.
//!
//! The format has no specification; this follows what NAMD and LAMMPS write and what the readers
//! of VMD and MDAnalysis expect.
//!
//! A file has the step of its first frame, the steps between frames and the time step, and no times: that of a
//! frame is its step times the time step. Where the time of the first frame is another one, as after a stage with
//! another time step, steps are numbered so that times are right ([`FrameClock`]). Frames that are not equally far
//! apart in time are refused.

mod programs;
mod read;

use crate::trajectory::TrajectoryFormat;
use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision};
use crate::trajectory::frame::{Frame, TrajectoryHeader, WrittenSoFar};
use crate::trajectory::source::Evidence;
use crate::trajectory::units::{length_factor, picoseconds};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, SimBox, Vec3};

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "dcd",
    title: "DCD",
    about: "CHARMM/NAMD DCD: positions in single precision",
    contents: &[Content::Times],
    precision: Precision::SINGLE,
    access: Access::Stream,
    writer: || Box::new(Writer),
    recognize: |start| read::FileLayout::of(start.bytes).map(|_| Evidence::Signature),
    open: |stream, _| Ok(Box::new(read::Source::open(stream)?)),
};

/// AKMA unit of time, sqrt(u A^2 / (kcal/mol)), in ps; DCD measures the time step in it.
const AKMA: f64 = 0.04888821;

/// Largest number of steps between frames for times of steps other than those of the run.
const FINEST: u64 = 1_000_000;

/// Denominators of the fractions that are nearest to a finite number, by its continued fraction, up to [`FINEST`].
fn denominators(number: f64) -> impl Iterator<Item = u64> {
    let (mut rest, mut before, mut last) = (number, 0u64, 1u64);
    std::iter::from_fn(move || {
        let found = last;
        rest = 1.0 / (rest - rest.floor());
        (before, last) = (last, (rest.floor() as u64).saturating_mul(last).saturating_add(before));
        (found <= FINEST).then_some(found)
    })
}

/// Numbers by which a reader finds the time of a frame: `(first + number * every) * timestep`.
#[derive(Debug, PartialEq)]
struct FrameClock {
    first: i32,
    every: i32,
    /// Time of a step; 0 where it is not known.
    timestep: f64,
}

impl FrameClock {
    /// Clock of the frames in a file: steps are those of the run where they agree with its times. Else there are as few
    /// steps between frames as make the time of the first frame a whole number of them, within the rounding of single
    /// precision.
    fn of(header: &TrajectoryHeader, written: &WrittenSoFar) -> FrameClock {
        let count = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
        let every = header.every.max(1);
        let unknown = FrameClock { first: count(written.first_step), every: count(every), timestep: 0.0 };
        let Some([start, _]) = written.times else { return unknown };
        let of_steps = Some(header.timestep * every as f64).filter(|interval| *interval > 0.0);
        // A single frame may be any interval from zero.
        let single = if start == 0.0 { 1.0 } else { start.abs() };
        let interval = written.interval().or(of_steps).unwrap_or(single);
        let intervals = start / interval;
        if !intervals.is_finite() {
            return unknown;
        }
        let rounding = 1e-6 * interval + 1.2e-7 * start.abs();
        let clock = |every: u64| {
            let timestep = interval / every as f64;
            let first = (start / timestep).round();
            let is_right = (first * timestep - start).abs() <= rounding && first.abs() <= f64::from(i32::MAX);
            let every = i32::try_from(every).ok()?;
            is_right.then_some(FrameClock { first: first as i32, every, timestep })
        };
        let found = std::iter::once(every).chain(denominators(intervals)).find_map(clock);
        found.filter(|clock| clock.timestep > 0.0).unwrap_or(unknown)
    }
}

struct Writer;

impl FormatWriter for Writer {
    fn follows(&self, header: &TrajectoryHeader, written: &WrittenSoFar, frame: &Frame) -> Result<()> {
        let (Some([_, last]), Some(time)) = (written.times, frame.time) else { return Ok(()) };
        let apart = time - last;
        let before = written.interval().unwrap_or(apart);
        // Times of many files are in single precision.
        let rounding = 1e-4 * before.abs() + 3e-7 * time.abs().max(last.abs());
        if before >= 0.0 && (apart - before).abs() <= rounding {
            return Ok(());
        }
        let unit = unit_name(header.units, Dimension::TIME);
        let in_words = |time: f64| format!("{} {unit}", time as f32).trim_end().to_string();
        let kept = TrajectoryFormat::titles("and", TrajectoryFormat::needs_times);
        let message = format!(
            "DCD files have no times but those of frames equally far apart: frame {} follows after {}, those before it after {}",
            written.frames,
            in_words(apart),
            in_words(before)
        );
        Err(Error::input(message).hint(format!(
            "{kept} files keep the time of each frame; or take a part of the frames with equal intervals"
        )))
    }

    fn take_note(&mut self, written: &WrittenSoFar) -> Option<String> {
        let has_begun = written.frames == 2 && written.interval() == Some(0.0);
        has_begun
            .then(|| "times are left out: that of all frames is the same, and DCD files number frames".into())
    }

    fn file_header(&self, header: &TrajectoryHeader, written: &WrittenSoFar) -> Vec<u8> {
        let count = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
        let clock = FrameClock::of(header, written);
        let mut control = [0i32; 20];
        control[0] = count(written.frames);
        control[1] = clock.first;
        control[2] = clock.every;
        control[3] = count(written.frames).saturating_mul(clock.every);
        let delta = (clock.timestep * picoseconds(header.units) / AKMA) as f32;
        control[9] = i32::from_le_bytes(delta.to_le_bytes());
        control[10] = 1; // a unit cell in every frame
        control[19] = 24; // the version of CHARMM whose format this is
        let mut bytes = Vec::new();
        let mut first = b"CORD".to_vec();
        first.extend(control.iter().flat_map(|c| c.to_le_bytes()));
        record(&mut bytes, &first);
        let titles = ["Written by Jostle", unit_note(header)];
        let mut title = (titles.len() as i32).to_le_bytes().to_vec();
        for line in titles {
            title.extend(format!("{line:80}").into_bytes());
        }
        record(&mut bytes, &title);
        record(&mut bytes, &count(header.species.len() as u64).to_le_bytes());
        bytes
    }

    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        let angstrom = length_factor(header.units, "A");
        let cell: Vec<u8> = unit_cell(frame.simbox, angstrom).iter().flat_map(|x| x.to_le_bytes()).collect();
        record(out, &cell);
        let mut axis_bytes = Vec::with_capacity(4 * frame.positions.len());
        for axis in 0..3 {
            axis_bytes.clear();
            for (id, r) in frame.positions.iter().enumerate() {
                let x = (r[axis] * angstrom) as f32;
                if !x.is_finite() {
                    return Err(Error::simulation(format!("atom {id} is too far away for a DCD file")));
                }
                axis_bytes.extend(x.to_le_bytes());
            }
            record(out, &axis_bytes);
        }
        Ok(())
    }
}

/// A Fortran record: its length in bytes on both sides.
fn record(out: &mut Vec<u8>, contents: &[u8]) {
    let length = (contents.len() as u32).to_le_bytes();
    out.extend(length);
    out.extend(contents);
    out.extend(length);
}

/// A, cos(gamma), B, cos(beta), cos(alpha), C; all lengths 0 where no axis is periodic.
pub(super) fn unit_cell(simbox: &SimBox, angstrom: f64) -> [f64; 6] {
    if simbox.periodic() == [false; 3] {
        return [0.0; 6];
    }
    let [a, b, c] = simbox.edges();
    let dot = |u: Vec3, v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let [la, lb, lc] = [a, b, c].map(|u| dot(u, *u).sqrt());
    [
        la * angstrom,
        dot(a, *b) / (la * lb),
        lb * angstrom,
        dot(a, *c) / (la * lc),
        dot(b, *c) / (lb * lc),
        lc * angstrom,
    ]
}

fn unit_note(header: &TrajectoryHeader) -> &'static str {
    match header.units {
        jostle_core::UnitSystem::Lj => "Reduced units as they are: sigma as angstrom, tau as ps",
        jostle_core::UnitSystem::Plasma => "Reduced units as they are: ion-sphere radius as angstrom",
        jostle_core::UnitSystem::Nuclear => "Nuclear units as they are: fm as angstrom, fm/c as ps",
        _ => "Positions in angstrom",
    }
}
