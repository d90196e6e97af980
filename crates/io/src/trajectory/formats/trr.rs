//! GROMACS TRR, as GROMACS' `trrio` lays it out: positions and velocities, which are written in single
//! precision and read in single or double. Forces and virials are passed over.

use crate::trajectory::format::{
    Access, Content, FormatDefinition, FormatWriter, Precision, single_precision,
};
use crate::trajectory::frame::{Frame, Snapshot, TrajectoryHeader};
use crate::trajectory::source::{
    Binary, ByteOrder, Evidence, FileUnits, FrameSource, Width, damaged, simbox_of,
};
use crate::trajectory::units::{length_factor, picoseconds};
use jostle_core::{Components, Error, Result, Vec3};

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "trr",
    title: "TRR",
    about: "GROMACS TRR: positions and velocities in single precision",
    contents: &[Content::Velocities, Content::Times, Content::RequiredTimes],
    precision: Precision::SINGLE,
    access: Access::Stream,
    writer: || Box::new(Writer),
    recognize: |start| start.bytes.starts_with(&MAGIC.to_be_bytes()).then_some(Evidence::Signature),
    open: |stream, _| Ok(Box::new(Source::new(Binary::new(stream, ByteOrder::Big)))),
};

/// Number at the beginning of each frame.
const MAGIC: i32 = 1993;

struct Writer;

impl FormatWriter for Writer {
    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        let (nm, ps) = (length_factor(header.units, "nm"), picoseconds(header.units));
        let n = frame.positions.len();
        let bytes =
            i32::try_from(12 * n).map_err(|_| Error::simulation("a TRR file cannot hold so many atoms"))?;
        let mut int = |x: i32| out.extend(x.to_be_bytes());
        let periodic = frame.simbox.periodic() != [false; 3];
        int(MAGIC);
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
            out.extend(single_precision(x, "TRR")?.to_be_bytes());
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

struct Source {
    binary: Binary,
}

impl Source {
    fn new(binary: Binary) -> Self {
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
        let mut edges = [Vec3::ZERO; 3];
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
}
