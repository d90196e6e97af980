//! DCD as CHARMM, NAMD, LAMMPS and X-PLOR write it, in either byte order.

use super::binary::{Binary, Width};
use super::{Cast, FileUnits, Snapshot, Source, damaged, simbox_of, unreadable};
use crate::trajectory::dcd::AKMA;
use jostle_core::{Result, Vec3};

pub(super) struct Dcd {
    binary: Binary,
    atoms: usize,
    first_step: u64,
    every: u64,
    /// In ps; 0 where the file does not say.
    timestep: f64,
    unit_cell: bool,
    fourth: bool,
    frames: u64,
}

impl Dcd {
    pub fn open(mut binary: Binary) -> Result<Self> {
        let b = &mut binary;
        let whole = |length: i32, wanted: i32| match length == wanted {
            true => Ok(()),
            false => Err(damaged(format!("a record of the header has {length} bytes instead of {wanted}"))
                .hint("only DCD files with 32-bit record marks are read")),
        };
        whole(b.i32()?, 84)?;
        match b.bytes(4)? {
            b"CORD" => {}
            b"VELD" => return Err(damaged("the file holds velocities, not positions")),
            _ => return Err(damaged("this is no DCD file: CORD is missing")),
        }
        let mut control = [0i32; 20];
        for (k, word) in control.iter_mut().enumerate() {
            // CHARMM measures the time step in single precision; X-PLOR has a double in its place
            // and no version number.
            *word = if k == 9 { b.f32()?.to_bits() as i32 } else { b.i32()? };
        }
        whole(b.i32()?, 84)?;
        if control[8] != 0 {
            return Err(damaged(format!("{} of its atoms are fixed", control[8]))
                .hint("DCD files with fixed atoms are not read; convert the file with another program"));
        }
        let charmm = control[19] != 0;
        let title = b.i32()?;
        b.bytes(u64::try_from(title).map_err(|_| damaged("its title is damaged"))?)?;
        whole(b.i32()?, title)?;
        whole(b.i32()?, 4)?;
        let atoms = b.i32()?;
        whole(b.i32()?, 4)?;
        let atoms = usize::try_from(atoms).map_err(|_| damaged(format!("it has {atoms} atoms")))?;
        let count = |word: i32| u64::try_from(word).unwrap_or(0);
        Ok(Dcd {
            atoms,
            first_step: count(control[1]),
            every: count(control[2]).max(1),
            timestep: if charmm { f64::from(f32::from_bits(control[9] as u32)) * AKMA } else { 0.0 },
            unit_cell: charmm && control[10] != 0,
            fourth: charmm && control[11] != 0,
            frames: 0,
            binary,
        })
    }

    /// The mark of a record of so many bytes.
    fn mark(&mut self, wanted: usize) -> Result<()> {
        let length = self.binary.i32()?;
        if usize::try_from(length).is_ok_and(|l| l == wanted) {
            return Ok(());
        }
        Err(damaged(format!("a record has {length} bytes instead of {wanted}"))
            .hint("the file is damaged from here on"))
    }
}

impl Source for Dcd {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        if self.binary.at_end()? {
            return Ok(None);
        }
        let mut cell = [0.0; 6];
        if self.unit_cell {
            self.mark(48)?;
            self.binary.floats(6, Width::Double, |k, x| cell[k] = x)?;
            self.mark(48)?;
        }
        let mut positions: Vec<Vec3> = Vec::new();
        for axis in 0..3 {
            self.mark(4 * self.atoms)?;
            if axis == 0 {
                self.binary.floats(self.atoms, Width::Single, |_, x| positions.push([x, 0.0, 0.0]))?;
            } else {
                self.binary.floats(self.atoms, Width::Single, |id, x| positions[id][axis] = x)?;
            }
            self.mark(4 * self.atoms)?;
        }
        if self.fourth {
            let length = self.binary.i32()?;
            let length =
                u64::try_from(length).map_err(|_| unreadable(&std::io::ErrorKind::InvalidData.into()))?;
            self.binary.bytes(length + 4)?;
        }
        let step = self.first_step + self.every * self.frames;
        self.frames += 1;
        Ok(Some(Snapshot {
            step,
            time: (self.timestep > 0.0).then_some(step as f64 * self.timestep),
            simbox: simbox_of(edges(cell)?, &positions)?,
            positions,
            images: None,
            velocities: None,
        }))
    }

    fn units(&self) -> FileUnits {
        FileUnits::Fixed("A")
    }

    fn cast(&self) -> Option<&Cast> {
        None
    }
}

/// Edges from A, gamma, B, beta, alpha, C; angles as cosines or, where one is not between -1 and 1,
/// in degrees.
fn edges([a, gamma, b, beta, alpha, c]: [f64; 6]) -> Result<[Vec3; 3]> {
    if [a, b, c] == [0.0; 3] {
        return Ok([[0.0; 3]; 3]);
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
    let edges = [[a, 0.0, 0.0], [b * gamma, b * sine, 0.0], [cx, cy, cz]];
    match edges.as_flattened().iter().all(|x| x.is_finite()) {
        true => Ok(edges),
        false => Err(damaged(format!("its unit cell makes no sense: edges {a} {b} {c}"))),
    }
}
