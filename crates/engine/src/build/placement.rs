//! Random positions that do not overlap (Hoang et al. 2011): atoms are placed at random one after the other,
//! and a position nearer than the smallest distance to an atom already placed is drawn again.

use super::grid::Grid;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Error, Result, SimBox, Vec3, Vector};

/// Most positions that are tried for one atom.
const MOST_TRIES: usize = 200_000;

/// The packing fraction at which random sequential placement of equal spheres saturates: 0.3841 (G. Zhang and
/// S. Torquato, Phys. Rev. E 88 (2013) 053312).
const SATURATION: f64 = 0.3841;

/// Random positions of `atoms` atoms in a box, no two nearer than `min_distance`.
///
/// # Errors
/// If they do not fit; the hint names a distance and a density that would.
pub fn random_positions(simbox: &SimBox, atoms: usize, min_distance: f64, seed: u64) -> Result<Vec<Vec3>> {
    if !(min_distance >= 0.0 && min_distance.is_finite()) {
        return Err(Error::input(format!("min_distance = {min_distance} is not a distance")));
    }
    if min_distance > simbox.largest_cutoff() {
        let most = simbox.largest_cutoff();
        return Err(Error::input(format!("min_distance = {min_distance} is more than half the box"))
            .hint(format!("this box allows at most {most:.6}")));
    }
    let packing = packing_fraction(simbox, atoms, min_distance);
    if packing > SATURATION {
        return Err(too_dense(simbox, atoms, min_distance));
    }
    // A distance of zero still needs cells of some size.
    let reach = min_distance.max(1e-9 * simbox.volume().cbrt());
    let mut grid = Grid::new(*simbox, reach, atoms);
    let mut positions = Vec::with_capacity(atoms);
    for atom in 0..atoms {
        let mut stream = Stream::new(seed, Purpose::Placement, atom as u32, 0);
        let mut draw = || simbox.to_cartesian(Vector([stream.uniform(), stream.uniform(), stream.uniform()]));
        let free = (0..MOST_TRIES).map(|_| draw()).find(|r| grid.neighbor(*r).is_none());
        let position = free.ok_or_else(|| too_dense(simbox, atoms, min_distance))?;
        grid.insert(position);
        positions.push(position);
    }
    Ok(positions)
}

/// The part of the volume that spheres with the smallest distance as their diameter take up.
fn packing_fraction(simbox: &SimBox, atoms: usize, diameter: f64) -> f64 {
    atoms as f64 * std::f64::consts::PI / 6.0 * diameter.powi(3) / simbox.volume()
}

fn too_dense(simbox: &SimBox, atoms: usize, min_distance: f64) -> Error {
    // Well below saturation placing is quick, too.
    let comfortable = 0.9 * SATURATION;
    let packing = packing_fraction(simbox, atoms, min_distance);
    let distance = min_distance * (comfortable / packing).cbrt();
    let density = atoms as f64 / simbox.volume() * comfortable / packing;
    Error::input(format!(
        "{atoms} atoms at least {min_distance} apart do not fit at random: they would fill {:.0}% of the box, \
         and random placement ends at {:.0}%",
        100.0 * packing,
        100.0 * SATURATION
    ))
    .hint(format!(
        "use min_distance = {distance:.4} and relax with a minimize stage, a number density of at most \
         {density:.4}, or a lattice"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least_distance(simbox: &SimBox, r: &[Vec3]) -> f64 {
        let mut least = f64::INFINITY;
        for i in 0..r.len() {
            for j in 0..i {
                let d = simbox.nearest_image(r[i] - r[j]);
                least = least.min(d.iter().map(|x| x * x).sum::<f64>().sqrt());
            }
        }
        least
    }

    #[test]
    fn no_two_atoms_are_too_near() {
        let tilted = SimBox::new([1.0, -2.0, 0.5], [9.0, 8.0, 10.0], [2.0, -1.0, 1.5], [true; 3]).unwrap();
        let open = SimBox::new([0.0; 3], [9.0; 3], [0.0; 3], [true, false, true]).unwrap();
        for simbox in [tilted, open] {
            let r = random_positions(&simbox, 400, 0.9, 1).unwrap();
            assert_eq!(r.len(), 400);
            assert!(least_distance(&simbox, &r) >= 0.9);
            assert!(r.iter().all(|r| simbox.to_fractional(*r).iter().all(|s| (0.0..=1.0).contains(s))));
        }
    }

    #[test]
    fn boxes_of_a_few_cells_work() {
        let simbox = SimBox::orthorhombic([2.5, 2.2, 7.0]).unwrap();
        let r = random_positions(&simbox, 12, 1.0, 3).unwrap();
        assert!(least_distance(&simbox, &r) >= 1.0);
    }

    #[test]
    fn the_seed_decides() {
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        let place = |seed| random_positions(&simbox, 50, 0.5, seed).unwrap();
        assert_eq!(place(1), place(1));
        assert_ne!(place(1), place(2));
    }

    #[test]
    fn too_dense_is_refused_with_a_distance_that_works() {
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        let error = random_positions(&simbox, 1000, 1.0, 1).unwrap_err();
        let hint = error.help().unwrap();
        let distance: f64 = hint.split([' ', ',']).find_map(|w| w.parse().ok()).unwrap();
        assert!(random_positions(&simbox, 1000, distance, 1).is_ok(), "{hint}");
        assert!(random_positions(&simbox, 2, 6.0, 1).is_err());
        assert!(random_positions(&simbox, 2, f64::NAN, 1).is_err());
    }
}
