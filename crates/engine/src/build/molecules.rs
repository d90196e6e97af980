//! Boxes of molecules of any form: on a grid in random order, turned at random, then pushed apart.
//!
//! In the push-off a molecule is a network of springs, which keeps its form nearly; afterwards each gets exactly its
//! form back, where it has come to. Lengths are in units of the smallest distance between molecules.

use super::grid::Grid;
use super::push_off::{SPRING, push_apart};
use super::water::grid;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Bond, Error, Result, SimBox, Species, System, Topology, Vec3, Vector};
use jostle_io::forcefield::MoleculeForm;
use jostle_potentials::{BondKind, BondTerm};
use jostle_sampling::rotation::best_rotation;

/// Reach of the springs of a network.
const REACH: f64 = 3.0;
/// Least distance of atoms of different molecules that is taken as success: springs have given way a little.
const LEAST: f64 = 0.8;
/// Stream of random numbers for the order of molecules; the others are numbers of molecules.
const ORDER: u32 = u32::MAX;

/// Positions of all molecules, those of one form after those of the form before. Molecules are whole and may reach
/// beyond the box.
///
/// # Errors
/// If a molecule is longer than half the box, or molecules cannot keep `distance` between each other.
pub fn positions(simbox: &SimBox, forms: &[MoleculeForm], distance: f64, seed: u64) -> Result<Vec<Vec3>> {
    let unit = simbox.converted(|x| x / distance)?;
    let shapes: Vec<Shape> = forms.iter().map(|form| Shape::new(&form.positions, distance)).collect();
    for shape in &shapes {
        if shape.extent() > unit.largest_cutoff() {
            let (extent, most) = (shape.extent() * distance, simbox.largest_cutoff());
            let message = format!("a molecule is {extent:.4} long, more than half the box, {most:.4}");
            return Err(Error::input(message).hint("place more molecules, or less densely"));
        }
    }
    let copies = shapes.iter().zip(forms).flat_map(|(shape, form)| std::iter::repeat_n(shape, form.count));
    let molecules: Vec<&Shape> = copies.collect();
    let relaxed = relaxed(&unit, &shapes, &molecules, seed)?;
    let mut positions = Vec::with_capacity(relaxed.len());
    let mut rest = &relaxed[..];
    for shape in &molecules {
        let (own, others) = rest.split_at(shape.positions.len());
        rest = others;
        let center = mean(own);
        let from_center: Vec<Vec3> = own.iter().map(|r| *r - center).collect();
        let rotation = best_rotation(&shape.positions, &from_center, &vec![1.0; own.len()]);
        positions.extend(shape.turned(&rotation, center));
    }
    check_distances(&unit, &molecules, &positions, distance)?;
    Ok(positions.into_iter().map(|r| r * distance).collect())
}

/// Form of a molecule about its centre.
struct Shape {
    positions: Vec<Vec3>,
    /// Pairs within reach of a spring, with their distances.
    springs: Vec<([u32; 2], f64)>,
}

impl Shape {
    fn new(positions: &[Vec3], unit: f64) -> Self {
        let center = mean(positions);
        let positions: Vec<Vec3> = positions.iter().map(|r| (*r - center) / unit).collect();
        let mut springs = Vec::new();
        for (a, r) in positions.iter().enumerate() {
            for (b, s) in positions.iter().enumerate().skip(a + 1) {
                let length = norm(*r - *s);
                if length < REACH && length > 0.0 {
                    springs.push(([a as u32, b as u32], length));
                }
            }
        }
        Shape { positions, springs }
    }

    /// An upper bound of the distance of two atoms.
    fn extent(&self) -> f64 {
        2.0 * self.positions.iter().map(|r| norm(*r)).fold(0.0, f64::max)
    }

    fn turned(&self, rotation: &[Vec3; 3], center: Vec3) -> impl Iterator<Item = Vec3> {
        let rotation = *rotation;
        let turn = move |r: &Vec3| center + Vector(rotation.map(|row| dot(row, *r)));
        self.positions.iter().map(turn)
    }
}

/// Positions of all molecules as networks of springs, after they have been pushed apart.
fn relaxed(simbox: &SimBox, shapes: &[Shape], molecules: &[&Shape], seed: u64) -> Result<Vec<Vec3>> {
    let mut system = System::new(*simbox, vec![Species { name: "atom".into(), mass: 1.0, charge: 0.0 }]);
    let cells = grid(simbox, molecules.len());
    let n_cells: u128 = cells.iter().map(|n| *n as u128).product();
    let places = shuffled(molecules.len(), seed);
    let n_types = shapes.iter().map(|shape| shape.springs.len()).sum();
    let mut topology =
        Topology { bond_types: (0..n_types).map(|k| k.to_string()).collect(), ..Topology::default() };
    let mut springs = BondTerm::new(BondKind::HarmonicBond, n_types);
    let mut first_types = Vec::new();
    let mut next = 0;
    for shape in shapes {
        first_types.push(next);
        for (_, length) in &shape.springs {
            springs = springs.with(next, &[SPRING, *length])?;
            next += 1;
        }
    }
    for (number, (shape, place)) in molecules.iter().zip(places).enumerate() {
        let mut random = Stream::new(seed, Purpose::Placement, number as u32, 0);
        // Empty cells are spread over the box.
        let cell = (place as u128 * n_cells / molecules.len() as u128) as usize;
        let along = [cell / (cells[1] * cells[2]), cell / cells[2] % cells[1], cell % cells[2]];
        let center = simbox.to_cartesian(Vector::from_fn(|k| (along[k] as f64 + 0.5) / cells[k] as f64));
        let first = system.state.len() as u32;
        shape.turned(&random_rotation(&mut random), center).for_each(|r| system.state.push(0, r));
        let form = shapes.iter().position(|other| std::ptr::eq(other, *shape)).unwrap_or(0);
        for (k, (atoms, _)) in shape.springs.iter().enumerate() {
            let atoms = atoms.map(|atom| first + atom);
            topology.bonds.push(Bond { kind: (first_types[form] + k) as u32, atoms });
            topology.excluded.push(atoms);
        }
    }
    system.topology = topology;
    push_apart(system, springs)
}

/// Numbers from 0 in random order, so that molecules of several forms are mixed.
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut random = Stream::new(seed, Purpose::Placement, ORDER, 0);
    let mut numbers: Vec<usize> = (0..n).collect();
    for k in (1..n).rev() {
        numbers.swap(k, random.below(k + 1));
    }
    numbers
}

/// A rotation, all of them equally likely.
fn random_rotation(random: &mut Stream) -> [Vec3; 3] {
    let (u, v) = (random.direction(), random.direction());
    let along = dot(u, v);
    let across = v - along * u;
    let length = norm(across).max(1e-12);
    let v = across / length;
    [u, v, u.cross(v)]
}

/// Refuses molecules whose atoms are too near to those of others.
fn check_distances(simbox: &SimBox, molecules: &[&Shape], positions: &[Vec3], distance: f64) -> Result<()> {
    let mut grid = Grid::new(*simbox, LEAST, positions.len());
    let mut rest = positions;
    for shape in molecules {
        let (own, others) = rest.split_at(shape.positions.len());
        rest = others;
        if own.iter().any(|r| grid.neighbor(*r).is_some()) {
            let n = molecules.len();
            let message = format!("{n} molecules do not keep {distance:.4} between each other in this box");
            return Err(Error::input(message).hint(
                "place them less densely and let a barostat compress them, or give a smaller min_distance",
            ));
        }
        own.iter().for_each(|r| grid.insert(*r));
    }
    Ok(())
}

fn mean(positions: &[Vec3]) -> Vec3 {
    Vector::from_fn(|k| positions.iter().map(|r| r[k]).sum::<f64>() / positions.len().max(1) as f64)
}

fn dot(u: Vec3, v: Vec3) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

fn norm(v: Vec3) -> f64 {
    dot(v, v).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Butane with all its hydrogens, roughly, in angstrom.
    fn butane() -> Vec<Vec3> {
        let carbons: [Vec3; 4] = [
            Vector([0.0, 0.0, 0.0]),
            Vector([1.26, 0.86, 0.0]),
            Vector([2.52, 0.0, 0.0]),
            Vector([3.78, 0.86, 0.0]),
        ];
        let mut atoms = carbons.to_vec();
        for (k, Vector([x, y, _])) in carbons.into_iter().enumerate() {
            let out = if k % 2 == 0 { -0.63 } else { 0.63 };
            atoms.extend([Vector([x, y + out, 0.89]), Vector([x, y + out, -0.89])]);
        }
        atoms.extend([Vector([-0.89, 0.63, 0.0]), Vector([4.67, 0.23, 0.0])]);
        atoms
    }

    fn distances(positions: &[Vec3]) -> Vec<f64> {
        let pairs = (0..positions.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.map(|(a, b)| norm(positions[a] - positions[b])).collect()
    }

    /// Butane and an ion at the density of liquid butane, 0.6 g/cm^3: molecules have their form, to rounding, and
    /// keep apart; the same seed gives the same box.
    #[test]
    fn molecules_keep_their_form_and_keep_apart() {
        let forms = [
            MoleculeForm { positions: butane(), count: 60 },
            MoleculeForm { positions: vec![Vector([7.0, 8.0, 9.0])], count: 5 },
        ];
        let simbox = SimBox::orthorhombic([(60.0_f64 * 160.9).cbrt(); 3]).unwrap();
        let placed = positions(&simbox, &forms, 2.0, 4).unwrap();
        assert_eq!(placed.len(), 60 * 14 + 5);
        let form = distances(&butane());
        for molecule in placed[..60 * 14].chunks_exact(14) {
            for (a, b) in distances(molecule).iter().zip(&form) {
                assert!((a - b).abs() < 1e-10, "{a} {b}");
            }
        }
        let molecule = |atom: usize| if atom < 840 { atom / 14 } else { atom };
        for a in 0..placed.len() {
            for b in (0..a).filter(|b| molecule(*b) != molecule(a)) {
                let d = norm(simbox.nearest_image(placed[a] - placed[b]));
                assert!(d > LEAST * 2.0, "{a} and {b} are {d} apart");
            }
        }
        assert_eq!(placed, positions(&simbox, &forms, 2.0, 4).unwrap());
        assert_ne!(placed, positions(&simbox, &forms, 2.0, 5).unwrap());
    }

    /// Directions of many molecules point everywhere.
    #[test]
    fn molecules_are_turned_at_random() {
        let rod = MoleculeForm { positions: vec![Vec3::ZERO, Vector([0.0, 0.0, 1.0])], count: 3000 };
        let simbox = SimBox::orthorhombic([200.0; 3]).unwrap();
        let placed = positions(&simbox, &[rod], 2.0, 1).unwrap();
        let mut sums = [0.0; 3];
        for rod in placed.chunks_exact(2) {
            (0..3).for_each(|k| sums[k] += (rod[1][k] - rod[0][k]).powi(2) / 3000.0);
        }
        // The squares of a unit vector's components have variance 4/45.
        let error = (4.0_f64 / 45.0 / 3000.0).sqrt();
        assert!(sums.iter().all(|sum| (sum - 1.0 / 3.0).abs() < 4.5 * error), "{sums:?}");
    }

    #[test]
    fn molecules_that_cannot_fit_are_refused() {
        let butane = MoleculeForm { positions: butane(), count: 60 };
        let small = SimBox::orthorhombic([9.0; 3]).unwrap();
        let error = positions(&small, std::slice::from_ref(&butane), 2.0, 1).unwrap_err();
        assert!(error.message().contains("more than half the box"), "{error}");
        let dense = SimBox::orthorhombic([14.0; 3]).unwrap();
        let error = positions(&dense, &[butane], 2.0, 1).unwrap_err();
        assert!(error.message().contains("do not keep 2.0000 between"), "{error}");
    }
}
