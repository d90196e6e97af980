//! LAMMPS dumps in text and full precision (<https://docs.lammps.org/dump.html>).

use super::{FormatWriter, Frame, TrajectoryHeader, WrittenSoFar};
use jostle_core::Result;
use std::io::Write;

pub(super) struct Dump;

impl FormatWriter for Dump {
    fn file_header(&self, _: &TrajectoryHeader, _: &WrittenSoFar) -> Vec<u8> {
        Vec::new()
    }

    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        write(header, frame, out)
            .map_err(|e| jostle_core::Error::simulation(format!("a frame cannot be written as text: {e}")))
    }
}

fn write(header: &TrajectoryHeader, frame: &Frame, out: &mut dyn Write) -> std::io::Result<()> {
    let simbox = frame.simbox;
    let (origin, lengths, [xy, xz, yz]) = (simbox.origin(), simbox.lengths(), simbox.tilts());
    let periodic = simbox.periodic().map(|p| if p { "pp" } else { "ff" }).join(" ");
    writeln!(out, "ITEM: TIMESTEP\n{}\nITEM: NUMBER OF ATOMS\n{}", frame.step, frame.positions.len())?;
    // Bounds are those of what surrounds a tilted box.
    let low = [0.0f64.min(xy).min(xz).min(xy + xz), 0.0f64.min(yz), 0.0];
    let high = [0.0f64.max(xy).max(xz).max(xy + xz), 0.0f64.max(yz), 0.0];
    let tilted = !simbox.is_orthorhombic();
    writeln!(out, "ITEM: BOX BOUNDS {}{periodic}", if tilted { "xy xz yz " } else { "" })?;
    for (k, tilt) in [xy, xz, yz].into_iter().enumerate() {
        write!(out, "{} {}", origin[k] + low[k], origin[k] + lengths[k] + high[k])?;
        if tilted {
            write!(out, " {tilt}")?;
        }
        writeln!(out)?;
    }
    let velocities = if frame.velocities.is_some() { " vx vy vz" } else { "" };
    let images = if frame.images.is_some() { " ix iy iz" } else { "" };
    writeln!(out, "ITEM: ATOMS id type element x y z{velocities}{images}")?;
    for (id, [x, y, z]) in frame.positions.iter().enumerate() {
        let species = usize::from(header.species[id]);
        let name = header.names.get(species).map_or("X", String::as_str);
        write!(out, "{} {} {name} {x} {y} {z}", id + 1, species + 1)?;
        if let Some(velocities) = frame.velocities {
            let [u, v, w] = velocities[id];
            write!(out, " {u} {v} {w}")?;
        }
        if let Some(images) = frame.images {
            let [l, m, n] = images[id];
            write!(out, " {l} {m} {n}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
