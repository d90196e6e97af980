//! Boxes of rigid water: molecules on a grid, turned at random.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, Vec3, Vector, WaterShape};

/// Positions of oxygen, the two hydrogens and, if there is one, the fourth site of every molecule, one
/// after the other. Molecules are whole and may reach beyond the box.
pub fn positions(simbox: &SimBox, molecules: usize, shape: &WaterShape, seed: u64) -> Vec<Vec3> {
    let (half, bond) = (0.5 * shape.angle.to_radians(), shape.bond_length);
    let cells = grid(simbox, molecules);
    let n_cells: u128 = cells.iter().map(|n| *n as u128).product();
    let mut positions = Vec::with_capacity(shape.atoms() * molecules);
    for molecule in 0..molecules {
        let mut random = Stream::new(seed, Purpose::Placement, molecule as u32, 0);
        // Empty cells are spread over the box.
        let cell = (molecule as u128 * n_cells / molecules as u128) as usize;
        let numbers = [cell / (cells[1] * cells[2]), cell / cells[2] % cells[1], cell % cells[2]];
        let center = simbox.to_cartesian(Vector::from_fn(|k| (numbers[k] as f64 + 0.5) / cells[k] as f64));
        // Direction of the bisector, and a direction at right angles to it.
        let (u, v) = (random.direction(), random.direction());
        let along: f64 = (0..3).map(|k| u[k] * v[k]).sum();
        let across: Vec3 = v - along * u;
        let length = across.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
        positions.push(center);
        for side in [half.sin(), -half.sin()] {
            let arm = |k: usize| bond * (half.cos() * u[k] + side * across[k] / length);
            positions.push(Vector::from_fn(|k| center[k] + arm(k)));
        }
        positions.extend(shape.site_distance.map(|d| -> Vec3 { center + d * u }));
    }
    positions
}

/// Numbers of cells along each edge, for cells that are nearly cubic and at least as many as molecules.
pub(super) fn grid(simbox: &SimBox, molecules: usize) -> [usize; 3] {
    let widths = simbox.widths();
    let mut side = (simbox.volume() / molecules as f64).cbrt();
    loop {
        // A flat box would otherwise have more cells along an edge than there are molecules.
        let cells = widths.map(|w| ((w / side).round() as usize).clamp(1, molecules));
        if cells.iter().map(|n| *n as f64).product::<f64>() >= molecules as f64 {
            return cells;
        }
        side *= 0.999;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn molecules_have_their_shape_and_do_not_overlap() {
        let simbox = SimBox::orthorhombic([20.0, 25.0, 31.0]).unwrap();
        let shape = WaterShape::new(1.0, 109.47);
        let positions = positions(&simbox, 500, &shape, 3);
        let distance = |a: usize, b: usize| {
            let d: Vec3 = positions[a] - positions[b];
            simbox.nearest_image(d).iter().map(|x| x * x).sum::<f64>().sqrt()
        };
        for m in (0..1500).step_by(3) {
            assert!((distance(m, m + 1) - 1.0).abs() < 1e-12 && (distance(m, m + 2) - 1.0).abs() < 1e-12);
            let across = 2.0 * (0.5 * 109.47f64.to_radians()).sin();
            assert!((distance(m + 1, m + 2) - across).abs() < 1e-12);
            assert!((m + 3..1500).step_by(3).all(|other| distance(m, other) > 2.5));
        }
    }
}
