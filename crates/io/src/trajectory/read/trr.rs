//! GROMACS TRR: positions, velocities and boxes in single or double precision, as GROMACS' `trrio`
//! writes them. Forces and virials are passed over.

use super::binary::{Binary, Width};
use super::{Cast, FileUnits, FrameSource, Snapshot, damaged, simbox_of};
use jostle_core::Result;

pub(super) const MAGIC: i32 = 1993;

pub(super) struct Trr {
    binary: Binary,
}

impl Trr {
    pub fn new(binary: Binary) -> Self {
        Trr { binary }
    }
}

impl FrameSource for Trr {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        let b = &mut self.binary;
        if b.at_end()? {
            return Ok(None);
        }
        let magic = b.i32()?;
        if magic != MAGIC {
            return Err(damaged(format!("it begins with {magic} instead of {MAGIC}"))
                .hint("the file is damaged from here on"));
        }
        b.i32()?;
        let length = b.i32()?;
        let length = u64::try_from(length).ok().filter(|l| *l < 256);
        let length = length.ok_or_else(|| damaged("the name of its format is damaged"))?;
        b.bytes(length.next_multiple_of(4))?;
        // Bytes of: input record, energies, box, virial, pressure, topology, symbols, positions,
        // velocities, forces.
        let mut sizes = [0u64; 10];
        for size in &mut sizes {
            let bytes = b.i32()?;
            *size = u64::try_from(bytes).map_err(|_| damaged(format!("a part of it has {bytes} bytes")))?;
        }
        let [before @ .., _, _, _] = sizes;
        let [_, _, of_box, virial, pressure, _, _, of_x, of_v, of_f] = sizes;
        let n = b.i32()?;
        let n = usize::try_from(n).map_err(|_| damaged(format!("it says that it has {n} atoms")))?;
        let step = b.i32()?;
        b.i32()?;
        let width = match (of_box, [of_x, of_v, of_f].into_iter().find(|s| *s > 0)) {
            (72, _) => Width::Double,
            (0, Some(size)) if size == 24 * n as u64 => Width::Double,
            _ => Width::Single,
        };
        let array = |size: u64| size == 0 || size == 3 * n as u64 * width.bytes() as u64;
        let tensor = |size: u64| size == 0 || size == 9 * width.bytes() as u64;
        let unknown = before[0] + before[1] + before[5] + before[6];
        if ![of_x, of_v, of_f].into_iter().all(array)
            || ![of_box, virial, pressure].into_iter().all(tensor)
            || unknown > 0
        {
            return Err(damaged("the sizes of its parts contradict each other").hint("the file is damaged"));
        }
        b.check_claim(n, of_box + virial + pressure + of_x + of_v + of_f)?;
        let mut time = 0.0;
        b.floats(2, width, |k, x| {
            if k == 0 {
                time = x
            }
        })?;
        let mut edges = [[0.0; 3]; 3];
        if of_box > 0 {
            b.floats(9, width, |k, x| edges.as_flattened_mut()[k] = x)?;
        }
        b.bytes(virial + pressure)?;
        if of_x == 0 {
            return Err(damaged("it has no positions").hint(
                "write positions as often as velocities and forces, or select frames with gmx trjconv",
            ));
        }
        let positions = b.vectors(n, width)?;
        let velocities = (of_v > 0).then(|| b.vectors(n, width)).transpose()?;
        b.bytes(of_f)?;
        Ok(Some(Snapshot {
            step: u64::try_from(step).unwrap_or(0),
            time: Some(time),
            simbox: simbox_of(edges, &positions)?,
            positions,
            images: None,
            velocities,
        }))
    }

    fn units(&self) -> FileUnits {
        FileUnits::Fixed("nm")
    }

    fn cast(&self) -> Option<&Cast> {
        None
    }
}
