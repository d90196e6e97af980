//! Extended XYZ: text in full precision, in the units of the run.
//!
//! <https://github.com/libAtoms/extxyz>; `Origin` is OVITO's, `units` names the unit system.

use super::{FormatWriter, Frame, TrajectoryHeader, WrittenSoFar};
use jostle_core::Result;
use std::io::Write;

pub(super) struct Xyz;

impl FormatWriter for Xyz {
    fn file_header(&self, _: &TrajectoryHeader, _: &WrittenSoFar) -> Vec<u8> {
        Vec::new()
    }

    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        write_xyz_frame(header, frame, out)
            .map_err(|e| jostle_core::Error::simulation(format!("a frame cannot be written as text: {e}")))
    }
}

/// Writes one frame.
pub(crate) fn write_xyz_frame(
    header: &TrajectoryHeader,
    frame: &Frame,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let numbers = |v: &[f64]| v.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let pbc = frame.simbox.periodic().map(|p| if p { "T" } else { "F" }).join(" ");
    writeln!(out, "{}", frame.positions.len())?;
    writeln!(
        out,
        "Lattice=\"{}\" Origin=\"{}\" Properties=species:S:1:pos:R:3{} pbc=\"{pbc}\"{} Step={} units={}",
        numbers(frame.simbox.edges().as_flattened()),
        numbers(&frame.simbox.origin()),
        if frame.velocities.is_some() { ":velo:R:3" } else { "" },
        frame.time.map(|time| format!(" Time={time}")).unwrap_or_default(),
        frame.step,
        header.units,
    )?;
    for (id, [x, y, z]) in frame.positions.iter().enumerate() {
        let species = usize::from(header.species[id]);
        let name = header.names.get(species).map_or("X", String::as_str);
        write!(out, "{name} {x} {y} {z}")?;
        if let Some(velocities) = frame.velocities {
            let [u, v, w] = velocities[id];
            write!(out, " {u} {v} {w}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
