//! Positions of atoms in the box and along their unwrapped trajectories; vectors of atoms in the order of their ids.

use crate::{Error, Result, SimBox, State, Vec3, Vector};

/// A vector that each atom has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomVector {
    /// Position in the box.
    Position,
    /// Position along the unwrapped path.
    UnwrappedPosition,
    /// Velocity.
    Velocity,
    /// Angular velocity of a grain; zero without grains.
    AngularVelocity,
    /// Force of the last evaluation.
    Force,
}

/// A way to write rows in the order of ids: in one loop, or by threads of a device.
pub trait RowWriter {
    /// Writes `vector(index)` to the row of the id that the atom of this index in storage order has.
    fn write(self, rows: &mut [Vec3], vector: impl Fn(usize) -> Vec3 + Sync);
}

/// Rows written in one loop over atoms with these ids.
#[derive(Debug, Clone, Copy)]
pub struct OneLoop<'a>(pub &'a [u32]);

impl RowWriter for OneLoop<'_> {
    fn write(self, rows: &mut [Vec3], vector: impl Fn(usize) -> Vec3 + Sync) {
        for (index, id) in self.0.iter().enumerate() {
            if let Some(row) = rows.get_mut(*id as usize) {
                *row = vector(index);
            }
        }
    }
}

impl State {
    /// The position of an atom in the box, and the number of boxes it has crossed along each axis.
    pub fn wrapped_with_image(&self, simbox: &SimBox, index: usize) -> (Vec3, [i32; 3]) {
        let (mut position, mut image) = (self.position[index], self.image[index]);
        simbox.wrap(&mut position, &mut image);
        (position, image)
    }

    /// The position of an atom that has never been wrapped into the box.
    #[inline]
    pub fn unwrapped_position(&self, simbox: &SimBox, index: usize) -> Vec3 {
        unwrapped(simbox, self.position[index], self.image[index])
    }

    /// Arrays that vectors of the atoms are made of.
    pub fn vector_arrays(&self) -> VectorArrays<'_> {
        let State { position, image, velocity, angular_velocity, force, .. } = self;
        VectorArrays { position, image, velocity, angular_velocity, force }
    }

    /// Writes a vector of each atom to the row of its id.
    ///
    /// # Errors
    /// If there are not as many rows as atoms.
    pub fn write_by_id(&self, simbox: &SimBox, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        self.vector_arrays().write_by_id(simbox, vector, rows, OneLoop(&self.id))
    }
}

/// Arrays that vectors of atoms are made of, in storage order. Only those of the vectors that are written are needed,
/// besides positions.
#[derive(Debug, Clone, Copy, Default)]
pub struct VectorArrays<'a> {
    /// Positions.
    pub position: &'a [Vec3],
    /// Images.
    pub image: &'a [[i32; 3]],
    /// Velocities.
    pub velocity: &'a [Vec3],
    /// Angular velocities of grains.
    pub angular_velocity: &'a [Vec3],
    /// Forces.
    pub force: &'a [Vec3],
}

impl VectorArrays<'_> {
    /// Writes a vector of each atom to the row of its id.
    ///
    /// # Errors
    /// If there are not as many rows as atoms.
    pub fn write_by_id(
        &self,
        simbox: &SimBox,
        vector: AtomVector,
        rows: &mut [Vec3],
        writer: impl RowWriter,
    ) -> Result<()> {
        let n = self.position.len();
        if rows.len() != n {
            return Err(Error::input(format!("{} rows for {n} atoms", rows.len())));
        }
        match vector {
            AtomVector::Position => {
                let interior = Interior::of(simbox);
                writer.write(rows, |index| {
                    let (mut position, mut image) = (self.position[index], self.image[index]);
                    if !interior.contains(position) {
                        simbox.wrap(&mut position, &mut image);
                    }
                    position
                });
            }
            AtomVector::UnwrappedPosition => {
                writer.write(rows, |index| unwrapped(simbox, self.position[index], self.image[index]));
            }
            AtomVector::Velocity => writer.write(rows, |index| self.velocity[index]),
            AtomVector::AngularVelocity => {
                let spins = self.angular_velocity;
                writer.write(rows, |index| spins.get(index).copied().unwrap_or_default());
            }
            AtomVector::Force => writer.write(rows, |index| self.force[index]),
        }
        Ok(())
    }

    /// Rows of some vectors.
    pub fn rows(
        &self,
        simbox: &SimBox,
        vectors: &[AtomVector],
        writer: impl RowWriter + Copy,
    ) -> Result<AtomRows> {
        let rows = vectors.iter().map(|&vector| {
            let mut rows = vec![Vec3::ZERO; self.position.len()];
            self.write_by_id(simbox, vector, &mut rows, writer).map(|()| (vector, rows))
        });
        rows.collect::<Result<_>>().map(AtomRows::new)
    }
}

/// Vectors of all atoms, each in the order of the ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AtomRows(Vec<(AtomVector, Vec<Vec3>)>);

impl AtomRows {
    /// Rows of some vectors.
    pub fn new(rows: Vec<(AtomVector, Vec<Vec3>)>) -> Self {
        AtomRows(rows)
    }

    /// Takes the rows of a vector; none where there are no rows of it.
    pub fn take(&mut self, vector: AtomVector) -> Vec<Vec3> {
        let rows = self.0.iter_mut().find(|(there, _)| *there == vector);
        rows.map_or(Vec::new(), |(_, rows)| std::mem::take(rows))
    }
}

/// Interior of a box, without a thin layer at its faces. Most atoms are there, and need not be wrapped; three divisions,
/// one after the other, and rounding down would take longer than all else about them.
struct Interior {
    origin: Vec3,
    /// Rows of the matrix from distances to fractional coordinates.
    rows: [Vec3; 3],
}

impl Interior {
    /// Thickness of the layer, over the width of the box: far above rounding.
    const LAYER: f64 = 1e-9;

    fn of(simbox: &SimBox) -> Self {
        let ([x, y, z], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
        let first = Vector([1.0 / x, -xy / (x * y), (xy * yz / y - xz) / (x * z)]);
        Interior {
            origin: simbox.origin(),
            rows: [first, Vector([0.0, 1.0 / y, -yz / (y * z)]), Vector([0.0, 0.0, 1.0 / z])],
        }
    }

    #[inline]
    fn contains(&self, r: Vec3) -> bool {
        let d = r - self.origin;
        let middle = |row: &Vec3| (row[0] * d[0] + row[1] * d[1] + row[2] * d[2] - 0.5).abs();
        self.rows.iter().map(middle).fold(0.0, f64::max) < 0.5 - Interior::LAYER
    }
}

/// Position along the unwrapped path.
#[inline]
fn unwrapped(simbox: &SimBox, position: Vec3, image: [i32; 3]) -> Vec3 {
    position + simbox.shift(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_the_box_are_left_alone_and_others_wrapped() {
        for tilts in [[0.0; 3], [0.4, 0.0, -0.3]] {
            let simbox = SimBox::new([-1.0, 0.0, 2.0], [2.0, 3.0, 4.0], tilts, [true; 3]).unwrap();
            for s in [[0.0, 0.0, 0.0], [0.999, 0.5, 0.2], [1.0, 0.5, -0.01], [-3.2, 1.7, 12.0]] {
                let position = simbox.to_cartesian(Vector(s));
                let state = State { position: vec![position], image: vec![[0; 3]], ..State::default() };
                let (expected, image) = state.wrapped_with_image(&simbox, 0);
                let mut rows = [Vector([9.0; 3])];
                let arrays = state.vector_arrays();
                arrays.write_by_id(&simbox, AtomVector::Position, &mut rows, OneLoop(&[0])).unwrap();
                assert_eq!(rows, [expected], "{tilts:?} {s:?}");
                assert!(
                    !Interior::of(&simbox).contains(position) || s == [0.999, 0.5, 0.2],
                    "{tilts:?} {s:?}"
                );
                let inside = simbox.to_fractional(expected);
                assert!(inside.iter().all(|s| (-1e-15..=1.0).contains(s)), "{inside:?}");
                let wrapped = State { position: vec![expected], image: vec![image], ..State::default() };
                let unwrapped = wrapped.unwrapped_position(&simbox, 0);
                assert!((0..3).all(|k| (unwrapped[k] - position[k]).abs() < 1e-13), "{unwrapped:?}");
            }
        }
    }

    #[test]
    fn rows_are_by_id() {
        let mut state = State::default();
        (0..4).for_each(|k| state.push(0, [f64::from(k), 0.0, 0.5]));
        state.permute(&[2, 0, 3, 1]);
        let simbox = SimBox::new([0.0; 3], [10.0; 3], [0.0; 3], [true; 3]).unwrap();
        let mut rows = [Vector([9.0; 3]); 4];
        let (vector, writer) = (AtomVector::Position, OneLoop(&state.id));
        state.vector_arrays().write_by_id(&simbox, vector, &mut rows, writer).unwrap();
        assert_eq!(rows, [0.0, 1.0, 2.0, 3.0].map(|x| Vector([x, 0.0, 0.5])));
        let error = state.vector_arrays().write_by_id(&simbox, vector, &mut rows[..3], writer).unwrap_err();
        assert!(error.message().contains("3 rows for 4 atoms"), "{error}");
    }
}
