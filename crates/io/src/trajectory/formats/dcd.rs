//! DCD as CHARMM and NAMD write it: Fortran records, little-endian, positions in f32 angstrom,
//! with a unit cell in every frame.
//!
//! The format has no specification; this follows what NAMD and LAMMPS write and what the readers
//! of VMD and MDAnalysis expect.

mod read;

use crate::trajectory::format::{Access, FormatDefinition, FormatWriter, Precision};
use crate::trajectory::frame::{Frame, TrajectoryHeader, WrittenSoFar};
use crate::trajectory::source::Evidence;
use crate::trajectory::units::{length_factor, picoseconds};
use jostle_core::{Error, Result, SimBox, Vec3};

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "dcd",
    title: "DCD",
    about: "CHARMM/NAMD DCD: positions in single precision",
    contents: &[],
    precision: Precision::SINGLE,
    access: Access::Stream,
    writer: || Box::new(Writer),
    recognize: |start| read::FileLayout::of(start.bytes).map(|_| Evidence::Signature),
    open: |stream, _| Ok(Box::new(read::Source::open(stream)?)),
};

/// AKMA unit of time, sqrt(u A^2 / (kcal/mol)), in ps; DCD measures the time step in it.
const AKMA: f64 = 0.04888821;

struct Writer;

impl FormatWriter for Writer {
    fn file_header(&self, header: &TrajectoryHeader, written: &WrittenSoFar) -> Vec<u8> {
        let count = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
        let last = header.every.saturating_mul(written.frames);
        let mut control = [0i32; 20];
        control[0] = count(written.frames);
        control[1] = count(written.first_step);
        control[2] = count(header.every.max(1));
        control[3] = count(last);
        let delta = (header.timestep * picoseconds(header.units) / AKMA) as f32;
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
