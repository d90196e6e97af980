//! DCD as CHARMM, NAMD, LAMMPS, OpenMM and X-PLOR write it ([`super::programs`]), in either byte order, with record marks of 32 or
//! 64 bits, and with atoms that are fixed: frames after the first leave them out.
//!
//! The six numbers of a unit cell are lengths and cosines of angles (as programs write that call themselves
//! CHARMM of version 24), or lengths and angles in degrees (NAMD before 2.6); or, in CHARMM's own files since
//! version 25, the lower triangle of the symmetric matrix of its edges, in whose frame positions are. As
//! MDAnalysis does, numbers that make no sense as angles are taken for such a matrix, too.

use super::AKMA;
use super::programs::StepUnit;
use crate::trajectory::frame::Snapshot;
use crate::trajectory::source::{
    Binary, ByteOrder, ByteStream, FileUnits, FrameSource, Width, damaged, reserved, simbox_of, unreadable,
};
use jostle_core::{Components, Result, Vec3, Vector};
use std::io::BufRead;

/// The first version of CHARMM whose cells are symmetric matrices.
const SYMMETRIC_CELLS: i32 = 25;

/// Order of bytes and marks of records in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileLayout {
    order: ByteOrder,
    marks: RecordMarks,
}

/// Number of bits in the marks on both sides of a Fortran record, which are its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordMarks {
    Bits32,
    Bits64,
}

impl FileLayout {
    /// Layout of a file that begins with these bytes: the first record of a DCD file has 84 bytes and begins
    /// with a word of four letters.
    pub(super) fn of(start: &[u8]) -> Option<FileLayout> {
        let is = |mark: &[u8]| {
            start.starts_with(mark) && [b"CORD", b"VELD"].iter().any(|w| start[mark.len()..].starts_with(*w))
        };
        let layout = |order, marks| Some(FileLayout { order, marks });
        match () {
            () if is(&84i32.to_le_bytes()) => layout(ByteOrder::Little, RecordMarks::Bits32),
            () if is(&84i32.to_be_bytes()) => layout(ByteOrder::Big, RecordMarks::Bits32),
            () if is(&84i64.to_le_bytes()) => layout(ByteOrder::Little, RecordMarks::Bits64),
            () if is(&84i64.to_be_bytes()) => layout(ByteOrder::Big, RecordMarks::Bits64),
            () => None,
        }
    }
}

/// Numbers in records, each of which stands between two marks of its length.
struct Records {
    binary: Binary,
    marks: RecordMarks,
}

impl Records {
    fn mark(&mut self) -> Result<u64> {
        let length = match self.marks {
            RecordMarks::Bits32 => i64::from(self.binary.i32()?),
            RecordMarks::Bits64 => self.binary.i64()?,
        };
        u64::try_from(length).map_err(|_| damaged(format!("a record has {length} bytes")))
    }

    /// Reads the mark of a record, which must have `wanted` bytes.
    fn expect(&mut self, wanted: usize) -> Result<()> {
        let length = self.mark()?;
        if length == wanted as u64 {
            return Ok(());
        }
        Err(damaged(format!("a record has {length} bytes instead of {wanted}"))
            .hint("the file is damaged from here on"))
    }

    /// Record of `count` floating-point numbers, handed over one by one.
    fn floats(&mut self, count: usize, width: Width, each: impl FnMut(usize, f64)) -> Result<()> {
        self.expect(count * width.bytes())?;
        self.binary.floats(count, width, each)?;
        self.expect(count * width.bytes())
    }

    /// Record of `count` whole numbers.
    fn whole(&mut self, count: usize) -> Result<Vec<i32>> {
        self.expect(4 * count)?;
        self.binary.check_claim(count, 4 * count as u64)?;
        let numbers = (0..count).map(|_| self.binary.i32()).collect::<Result<_>>()?;
        self.expect(4 * count)?;
        Ok(numbers)
    }

    /// Passes over a record of any length.
    fn pass(&mut self) -> Result<()> {
        self.text().map(drop)
    }

    /// Record of any length as text.
    fn text(&mut self) -> Result<String> {
        let length = self.mark()?;
        let text = String::from_utf8_lossy(self.binary.bytes(length)?).into_owned();
        self.expect(length as usize)?;
        Ok(text)
    }
}

pub(super) struct Source {
    records: Records,
    atoms: usize,
    /// The atoms that move, where others are fixed.
    free: Option<Vec<usize>>,
    /// Positions of the first frame, where atoms are fixed.
    first: Vec<Vec3>,
    /// Less than zero where the first time is.
    first_step: i64,
    every: i64,
    /// Time step in ps or in the unit of the run; 0 where the file does not tell.
    timestep: f64,
    step_unit: StepUnit,
    notes: Vec<String>,
    /// Version of CHARMM whose format the file has; 0: none.
    version: i32,
    unit_cell: bool,
    fourth: bool,
    frames: i64,
}

impl Source {
    pub fn open(mut stream: ByteStream) -> Result<Self> {
        let start = stream.fill_buf().map_err(|e| unreadable(&e))?;
        let no_layout = || damaged("this is no DCD file: its first record has not 84 bytes");
        let FileLayout { order, marks } = FileLayout::of(start).ok_or_else(no_layout)?;
        let mut records = Records { binary: Binary::new(stream, order), marks };
        let r = &mut records;
        r.expect(84)?;
        match r.binary.bytes(4)? {
            b"CORD" => {}
            b"VELD" => return Err(damaged("the file holds velocities, not positions")),
            _ => return Err(damaged("this is no DCD file: CORD is missing")),
        }
        let mut control = [0i32; 20];
        for (k, word) in control.iter_mut().enumerate() {
            // CHARMM measures the time step in single precision; X-PLOR has a double in its place
            // and no version number.
            *word = if k == 9 { r.binary.f32()?.to_bits() as i32 } else { r.binary.i32()? };
        }
        r.expect(84)?;
        let titles = r.text()?;
        let atoms = r.whole(1)?[0];
        let atoms = usize::try_from(atoms).map_err(|_| damaged(format!("it has {atoms} atoms")))?;
        let free = match control[8] {
            0 => None,
            fixed => Some(free_atoms(r, atoms, fixed)?),
        };
        let (version, first) = (control[19], Vec::new());
        let in_header = if version != 0 { f32::from_bits(control[9] as u32) } else { 0.0 };
        let step_unit = StepUnit::of(&titles, control[1], control[2], in_header);
        let timestep = match step_unit {
            StepUnit::Akma => f64::from(in_header) * AKMA,
            // Digits of the input, not of its rounding to single precision.
            StepUnit::Run => in_header.to_string().parse().unwrap_or_default(),
            StepUnit::None => 0.0,
        };
        Ok(Source {
            records,
            atoms,
            free,
            first,
            first_step: control[1].into(),
            every: control[2].max(1).into(),
            timestep,
            step_unit,
            notes: step_unit.note(in_header).into_iter().collect(),
            version,
            unit_cell: version != 0 && control[10] != 0,
            fourth: version != 0 && control[11] != 0,
            frames: 0,
        })
    }

    /// The positions of a frame: of all atoms, or of those that move, the others being where they were.
    fn positions(&mut self) -> Result<Vec<Vec3>> {
        let free = self.free.as_ref().filter(|_| self.frames > 0);
        let count = free.map_or(self.atoms, Vec::len);
        self.records.binary.check_claim(count, 12 * count as u64)?;
        let mut positions: Vec<Vec3> = reserved(self.atoms)?;
        if free.is_some() {
            positions.extend(&self.first);
        }
        for axis in 0..3 {
            self.records.floats(count, Width::Single, |k, x| {
                let id = free.map_or(k, |free| free[k]);
                if id == positions.len() {
                    positions.push(Vec3::ZERO);
                }
                positions[id][axis] = x;
            })?;
        }
        if self.free.is_some() && self.frames == 0 {
            self.first = positions.clone();
        }
        Ok(positions)
    }
}

/// Atoms that move, where `fixed` of them are fixed.
fn free_atoms(records: &mut Records, atoms: usize, fixed: i32) -> Result<Vec<usize>> {
    let free = usize::try_from(fixed).ok().and_then(|fixed| atoms.checked_sub(fixed));
    let free = free.ok_or_else(|| damaged(format!("{fixed} of its {atoms} atoms are fixed")))?;
    let id = |number: i32| {
        let id = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        id.filter(|id| *id < atoms).ok_or_else(|| damaged(format!("atom {number} of {atoms} is free")))
    };
    records.whole(free)?.into_iter().map(id).collect()
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        if self.records.binary.at_end()? {
            return Ok(None);
        }
        let mut cell = [0.0; 6];
        if self.unit_cell {
            self.records.floats(6, Width::Double, |k, x| cell[k] = x)?;
        }
        let mut positions = self.positions()?;
        if self.fourth {
            self.records.pass()?;
        }
        let edges = match symmetric(cell, self.version) {
            Some(matrix) => turned(matrix, &mut positions),
            None => edges(cell)?,
        };
        let step = self.first_step.saturating_add(self.every.saturating_mul(self.frames));
        self.frames += 1;
        Ok(Some(Snapshot {
            step: u64::try_from(step).unwrap_or(0),
            time: (self.timestep > 0.0).then_some(step as f64 * self.timestep),
            simbox: simbox_of(edges, &positions)?,
            positions,
            images: None,
            velocities: None,
        }))
    }

    fn units(&self) -> FileUnits {
        self.step_unit.file_units()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The edges of a cell, where these are the lower triangle of their symmetric matrix.
fn symmetric(cell: [f64; 6], version: i32) -> Option<[Vec3; 3]> {
    let [xx, xy, yy, xz, yz, zz] = cell;
    // Numbers are angles in degrees where one of them is a right angle.
    let angles = |range: std::ops::RangeInclusive<f64>| [xy, xz, yz].iter().all(|x| range.contains(x));
    let in_degrees = angles(0.0..=180.0) && [xy, xz, yz].contains(&90.0);
    let possible = version >= SYMMETRIC_CELLS && !in_degrees
        || xx.min(yy).min(zz) > 0.0 && !angles(-1.0..=1.0) && !angles(0.0..=180.0);
    let minor = xx * yy - xy * xy;
    let volume = zz * minor - yz * (xx * yz - xy * xz) - xz * (yy * xz - xy * yz);
    let positive = xx > 0.0 && minor > 0.0 && volume > 0.0 && volume.is_finite();
    (possible && positive).then_some([Vector([xx, xy, xz]), Vector([xy, yy, yz]), Vector([xz, yz, zz])])
}

/// The edges of a cell turned until the first lies along x and the second in the xy plane, and positions
/// with them.
fn turned([a, b, c]: [Vec3; 3], positions: &mut [Vec3]) -> [Vec3; 3] {
    if [a[1], a[2], b[2]] == [0.0; 3] {
        return [a, b, c];
    }
    let dot = |u: Vec3, v: Vec3| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let unit = |u: Vec3| u / dot(u, u).sqrt();
    let (x, z) = (unit(a), unit(a.cross(b)));
    let y = z.cross(x);
    let turn = |r: Vec3| Vector([dot(r, x), dot(r, y), dot(r, z)]);
    positions.iter_mut().for_each(|r| *r = turn(*r));
    [Vector([dot(a, a).sqrt(), 0.0, 0.0]), Vector([dot(b, x), turn(b)[1], 0.0]), turn(c)]
}

/// Edges from A, gamma, B, beta, alpha, C; angles as cosines or, where one is not between -1 and 1,
/// in degrees.
fn edges([a, gamma, b, beta, alpha, c]: [f64; 6]) -> Result<[Vec3; 3]> {
    if [a, b, c] == [0.0; 3] {
        return Ok([Vec3::ZERO; 3]);
    }
    let degrees = [alpha, beta, gamma].iter().any(|x| x.abs() > 1.0);
    // Right angles must come out as such.
    let cosine = |x: f64| match degrees {
        true if x == 90.0 => 0.0,
        true => x.to_radians().cos(),
        false => x,
    };
    let [alpha, beta, gamma] = [alpha, beta, gamma].map(cosine);
    let sine = (1.0 - gamma * gamma).sqrt();
    let (cx, cy) = (c * beta, c * (alpha - beta * gamma) / sine);
    let cz = (c * c - cx * cx - cy * cy).sqrt();
    let edges = [Vector([a, 0.0, 0.0]), Vector([b * gamma, b * sine, 0.0]), Vector([cx, cy, cz])];
    match edges.as_flattened().iter().all(|x| x.is_finite()) {
        true => Ok(edges),
        false => Err(damaged(format!("its unit cell makes no sense: edges {a} {b} {c}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_may_be_marked_in_four_ways() {
        let starts = [
            84i32.to_le_bytes().to_vec(),
            84i32.to_be_bytes().to_vec(),
            84i64.to_le_bytes().to_vec(),
            84i64.to_be_bytes().to_vec(),
        ];
        let found = starts.map(|mark| FileLayout::of(&[&mark[..], b"CORD"].concat()));
        let layouts = [
            (ByteOrder::Little, RecordMarks::Bits32),
            (ByteOrder::Big, RecordMarks::Bits32),
            (ByteOrder::Little, RecordMarks::Bits64),
            (ByteOrder::Big, RecordMarks::Bits64),
        ];
        assert_eq!(found, layouts.map(|(order, marks)| Some(FileLayout { order, marks })));
        assert_eq!(FileLayout::of(&84i32.to_le_bytes()), None);
    }
}
