//! GROMACS TRR: positions and velocities in single precision, as GROMACS' `trrio` lays them out.

use super::{FormatWriter, Frame, TrajectoryHeader, WrittenSoFar, length_factor, picoseconds};
use jostle_core::{Error, Result};

pub(super) struct Trr;

impl FormatWriter for Trr {
    fn file_header(&self, _: &TrajectoryHeader, _: &WrittenSoFar) -> Vec<u8> {
        Vec::new()
    }

    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        let (nm, ps) = (length_factor(header.units, "nm"), picoseconds(header.units));
        let n = frame.positions.len();
        let bytes =
            i32::try_from(12 * n).map_err(|_| Error::simulation("a TRR file cannot hold so many atoms"))?;
        let mut int = |x: i32| out.extend(x.to_be_bytes());
        let periodic = frame.simbox.periodic() != [false; 3];
        int(1993);
        int(13);
        int(12);
        out.extend(b"GMX_trn_file");
        // Bytes of: input record, energies, box, virial, pressure, topology, symbols, positions,
        // velocities, forces; then atoms, step and a counter that is no longer used.
        let of_v = if frame.velocities.is_some() { bytes } else { 0 };
        let step = frame.step.min(i32::MAX as u64) as i32;
        for x in [0, 0, if periodic { 36 } else { 0 }, 0, 0, 0, 0, bytes, of_v, 0, n as i32, step, 0] {
            out.extend(x.to_be_bytes());
        }
        let mut single = |x: f64| -> Result<()> {
            let x = x as f32;
            if !x.is_finite() {
                return Err(Error::simulation("a number is too large for a TRR file"));
            }
            out.extend(x.to_be_bytes());
            Ok(())
        };
        single(frame.time_or_step() * ps)?;
        single(0.0)?;
        if periodic {
            frame.simbox.edges().as_flattened().iter().try_for_each(|x| single(x * nm))?;
        }
        frame.positions.as_flattened().iter().try_for_each(|x| single(x * nm))?;
        let velocities = frame.velocities.unwrap_or_default();
        velocities.as_flattened().iter().try_for_each(|v| single(v * nm / ps))
    }
}
