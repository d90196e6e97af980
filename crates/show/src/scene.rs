//! Atoms as a page shows them: who they are once, and where they are frame by frame.

use jostle_core::{SimBox, Vec3};
use jostle_engine::Checkpoint;

/// Who the atoms are.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Names of the species.
    pub names: Vec<String>,
    /// The species of each atom, by id.
    pub species: Vec<u16>,
    /// Atoms that are bound.
    pub bonds: Vec<[u32; 2]>,
}

/// Where the atoms are.
#[derive(Debug, Clone, Copy)]
pub struct Atoms<'a> {
    /// The step.
    pub step: u64,
    /// The time.
    pub time: f64,
    /// The box.
    pub simbox: &'a SimBox,
    /// Positions by id, in the box or not.
    pub positions: &'a [Vec3],
    /// Velocities by id.
    pub velocities: Option<&'a [Vec3]>,
}

/// Speeds above so many times their root mean square look alike.
const FASTEST: f64 = 2.5;
/// Numbers before the places of the atoms.
const HEADER: usize = 16;

impl Scene {
    /// The species as bytes; colours repeat long before they run out.
    pub(crate) fn kinds(&self) -> Vec<u8> {
        self.species.iter().map(|s| *s as u8).collect()
    }

    /// The bonds as bytes, little endian.
    pub(crate) fn bond_bytes(&self) -> Vec<u8> {
        self.bonds.as_flattened().iter().flat_map(|atom| atom.to_le_bytes()).collect()
    }

    /// What a checkpoint holds: the atoms, and where they were.
    pub(crate) fn of_checkpoint(checkpoint: Checkpoint) -> jostle_core::Result<(Scene, Vec<u8>)> {
        let step = checkpoint.step();
        let system = checkpoint.into_system()?;
        let scene = Scene {
            names: system.species.iter().map(|s| s.name.clone()).collect(),
            species: system.state.species.clone(),
            bonds: system.topology.bonds.iter().map(|b| b.atoms).collect(),
        };
        let (simbox, state) = (&system.simbox, &system.state);
        let velocities = Some(&state.velocity[..]);
        let atoms = Atoms { step, time: 0.0, simbox, positions: &state.position, velocities };
        Ok((scene, atoms.bytes()))
    }
}

impl Atoms<'_> {
    /// A frame as a page reads it, little endian: 16 doubles (atoms, time, step, the speed at which
    /// colours end, origin and edges of the box), places in the box as three 16-bit numbers, speeds
    /// as bytes where there are any.
    pub fn bytes(&self) -> Vec<u8> {
        let places: Vec<Vec3> = self.positions.iter().map(|r| self.simbox.to_fractional(*r)).collect();
        let periodic = self.simbox.periodic();
        let (mut low, mut high) = ([0.0; 3], [1.0; 3]);
        for k in (0..3).filter(|k| !periodic[*k]) {
            let along = || places.iter().map(|s| s[k]);
            (low[k], high[k]) = (along().fold(0.0, f64::min), along().fold(1.0, f64::max));
        }
        let fastest = self.velocities.map_or(0.0, |v| {
            let squares: f64 = v.as_flattened().iter().map(|x| x * x).sum();
            FASTEST * (squares / v.len().max(1) as f64).sqrt()
        });
        let mut bytes = Vec::with_capacity(8 * HEADER + 7 * places.len());
        let edges = self.simbox.edges();
        let edges = [0, 1, 2].map(|k| edges[k].map(|x| x * (high[k] - low[k])));
        let numbers = [places.len() as f64, self.time, self.step as f64, fastest];
        let shape = [self.simbox.to_cartesian(low), edges[0], edges[1], edges[2]];
        for x in numbers.iter().chain(shape.as_flattened()) {
            bytes.extend(x.to_le_bytes());
        }
        for s in &places {
            for k in 0..3 {
                let part =
                    if periodic[k] { s[k] - s[k].floor() } else { (s[k] - low[k]) / (high[k] - low[k]) };
                bytes.extend(((part * 65535.0).round() as u16).to_le_bytes());
            }
        }
        if fastest > 0.0 {
            let speed = |v: &Vec3| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let byte = |v: &Vec3| (255.0 * (speed(v) / fastest).min(1.0)) as u8;
            bytes.extend(self.velocities.into_iter().flatten().map(byte));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_box_and_where_they_should_be() {
        let simbox =
            SimBox::new([1.0, 0.0, 0.0], [4.0, 5.0, 6.0], [1.0, 0.0, 0.0], [true, true, false]).unwrap();
        let positions = [simbox.to_cartesian([0.25, -0.5, 0.5]), simbox.to_cartesian([0.0, 0.0, 2.0])];
        let velocities = [[0.0; 3], [3.0, 0.0, 4.0]];
        let atoms = Atoms {
            step: 7,
            time: 0.5,
            simbox: &simbox,
            positions: &positions,
            velocities: Some(&velocities),
        };
        let bytes = atoms.bytes();
        assert_eq!(bytes.len(), 128 + 2 * 7);
        let number = |k: usize| f64::from_le_bytes(bytes[8 * k..8 * k + 8].try_into().unwrap());
        assert_eq!([number(0), number(1), number(2)], [2.0, 0.5, 7.0]);
        assert_eq!([number(4), number(7), number(10), number(15)], [1.0, 4.0, 1.0, 12.0]);
        let place = |k: usize| u16::from_le_bytes(bytes[128 + 2 * k..130 + 2 * k].try_into().unwrap());
        assert_eq!([place(0), place(1), place(2), place(5)], [16384, 32768, 16384, 65535]);
        assert_eq!(bytes[140], 0);
        assert!(bytes[141] > 100);
    }
}
