//! Cubic lattices.

use jostle_core::{Error, Result, Vec3, Vector};
use jostle_io::input::NamedChoice;
use jostle_io::input::model::Lattice;

/// Positions of the atoms of one cubic cell, in units of its edge. The positions keep clear of the faces, so
/// that no atom of a fresh lattice is exactly on a boundary.
pub fn basis(lattice: Lattice) -> &'static [Vec3] {
    match lattice {
        Lattice::Sc => &[Vector([0.5, 0.5, 0.5])],
        Lattice::Bcc => &[Vector([0.25, 0.25, 0.25]), Vector([0.75, 0.75, 0.75])],
        Lattice::Fcc => &[
            Vector([0.25, 0.25, 0.25]),
            Vector([0.25, 0.75, 0.75]),
            Vector([0.75, 0.25, 0.75]),
            Vector([0.75, 0.75, 0.25]),
        ],
        Lattice::Diamond => &[
            Vector([0.125, 0.125, 0.125]),
            Vector([0.125, 0.625, 0.625]),
            Vector([0.625, 0.125, 0.625]),
            Vector([0.625, 0.625, 0.125]),
            Vector([0.375, 0.375, 0.375]),
            Vector([0.375, 0.875, 0.875]),
            Vector([0.875, 0.375, 0.875]),
            Vector([0.875, 0.875, 0.375]),
        ],
    }
}

/// Edge, in cells, of the cube that holds exactly `atoms` atoms.
///
/// # Errors
/// If no cube holds this number; the hint names the nearest numbers that fit.
pub fn cube_of(lattice: Lattice, atoms: usize) -> Result<usize> {
    let per_cell = basis(lattice).len();
    let edge = (atoms as f64 / per_cell as f64).cbrt().round() as usize;
    let holds = |edge: usize| per_cell * edge * edge * edge;
    if atoms > 0 && holds(edge) == atoms {
        return Ok(edge);
    }
    let below = if holds(edge) < atoms { edge } else { edge.saturating_sub(1) };
    let nearest = match below {
        0 => format!("use {} atoms", holds(1)),
        _ => format!("use {} or {} atoms", holds(below), holds(below + 1)),
    };
    Err(Error::input(format!("a cube of {} cells cannot hold {atoms} atoms", lattice.name()))
        .hint(format!("{nearest}, or give cells = [nx, ny, nz]")))
}

/// Positions of all atoms of a block of cells with a corner at the origin.
pub fn positions(lattice: Lattice, cells: [usize; 3], constant: f64) -> Vec<Vec3> {
    let mut positions = Vec::with_capacity(basis(lattice).len() * cells.iter().product::<usize>());
    for z in 0..cells[2] {
        for y in 0..cells[1] {
            for x in 0..cells[0] {
                for site in basis(lattice) {
                    let corner = Vector([x as f64, y as f64, z as f64]);
                    positions.push((corner + *site) * constant);
                }
            }
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::SimBox;

    /// Distance and number of the nearest neighbours of the first atom, in lattice constants.
    fn nearest(lattice: Lattice) -> (f64, usize) {
        let r = positions(lattice, [4; 3], 1.0);
        let simbox = SimBox::orthorhombic([4.0; 3]).unwrap();
        let distances: Vec<f64> = r[1..]
            .iter()
            .map(|b| simbox.nearest_image(*b - r[0]))
            .map(|d| d.iter().map(|x| x * x).sum::<f64>().sqrt())
            .collect();
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        (least, distances.iter().filter(|d| **d < least + 1e-9).count())
    }

    #[test]
    fn coordination_is_the_textbook_one() {
        for (lattice, distance, number) in [
            (Lattice::Sc, 1.0, 6),
            (Lattice::Bcc, 0.75f64.sqrt(), 8),
            (Lattice::Fcc, 0.5f64.sqrt(), 12),
            (Lattice::Diamond, 0.1875f64.sqrt(), 4),
        ] {
            let (least, count) = nearest(lattice);
            assert!((least - distance).abs() < 1e-12);
            assert_eq!(count, number);
        }
    }

    #[test]
    fn atom_numbers_fit_or_the_nearest_are_named() {
        assert_eq!(cube_of(Lattice::Fcc, 864).unwrap(), 6);
        assert_eq!(cube_of(Lattice::Sc, 1_000_000).unwrap(), 100);
        let hint = |atoms| cube_of(Lattice::Fcc, atoms).unwrap_err().help().unwrap_or("").to_string();
        assert!(hint(1000).contains("864 or 1372"), "{}", hint(1000));
        assert!(hint(1).contains("use 4 atoms"));
        assert!(hint(0).contains("use 4 atoms"));
    }
}
