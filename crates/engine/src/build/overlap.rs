//! Checks of the atoms of a system before it is run.

use jostle_core::{Error, Result, SimBox, State, System, Topology, Vec3};
use std::cell::LazyCell;
use std::collections::HashSet;

/// Fraction of the box below which the distance of two atoms counts as zero.
const SAME_PLACE: f64 = 1e-7;

/// Most cells along an axis: so many that few atoms share a cell, however unevenly the box is filled.
const MOST_CELLS: f64 = 131_072.0;

/// Refuses positions or velocities that are not finite, and two atoms at the same place, where
/// every force is infinite or has no direction. Atoms without a force on each other may be at one place, as copies are.
pub fn check_atoms(system: &System) -> Result<()> {
    let State { id, position, velocity, .. } = &system.state;
    for ((id, r), v) in id.iter().zip(position).zip(velocity) {
        if r.iter().any(|x| !x.is_finite()) {
            return Err(Error::input(format!("the position of {} is not finite: {r:?}", number(*id))));
        }
        if v.iter().any(|x| !x.is_finite()) {
            return Err(Error::input(format!("the velocity of {} is not finite: {v:?}", number(*id))));
        }
    }
    let reach = SAME_PLACE * system.simbox.lengths().into_iter().fold(0.0, f64::max);
    let unrelated = LazyCell::new(|| unrelated(&system.topology));
    let has_force = |[a, b]: [usize; 2]| {
        let mut ids = [id[a], id[b]];
        ids.sort_unstable();
        !unrelated.contains(&ids)
    };
    let Some(mut pair) = OccupiedCells::new(&system.simbox, position, reach).first_pair(&has_force) else {
        return Ok(());
    };
    pair.sort_unstable();
    let [a, b] = pair.map(|index| number(id[index]));
    let [r, other] = pair.map(|index| position[index]);
    let apart = system.simbox.nearest_image(other - r).norm();
    if apart > 0.0 {
        let edge = system.simbox.lengths().into_iter().fold(0.0, f64::max);
        let message = format!(
            "{a} and {b} are {apart:.3e} apart, less than 10^-7 of the box, whose longest edge is {edge:e}"
        );
        return Err(Error::input(message)
            .hint("check the box; along an open axis it may end close to the outermost atoms"));
    }
    Err(Error::input(format!("{a} and {b} are at the same place: {other:?}"))
        .hint("remove one of them, or check the box: periodic images count, too"))
}

/// Excluded pairs without any other force, in ascending order.
fn unrelated(topology: &Topology) -> HashSet<[u32; 2]> {
    fn pairs(atoms: &[u32]) -> impl Iterator<Item = [u32; 2]> {
        let further = move |(k, a): (usize, &u32)| {
            atoms[k + 1..].iter().map(|b| [*a.min(b), *a.max(b)]).collect::<Vec<_>>()
        };
        atoms.iter().enumerate().flat_map(further)
    }
    let mut unrelated: HashSet<[u32; 2]> = topology.excluded.iter().flat_map(|atoms| pairs(atoms)).collect();
    let held = topology.constraints.iter().flat_map(|c| pairs(&c.atoms));
    let bonded = topology.bonds.iter().flat_map(|b| pairs(&b.atoms));
    let bent = topology.angles.iter().flat_map(|a| pairs(&a.atoms));
    let turned = topology.dihedrals.iter().flat_map(|d| pairs(&d.atoms));
    held.chain(bonded).chain(bent).chain(turned).for_each(|atoms| {
        unrelated.remove(&atoms);
    });
    unrelated
}

/// Atoms sorted by small cells; only cells with atoms are stored.
struct OccupiedCells<'a> {
    simbox: &'a SimBox,
    position: &'a [Vec3],
    reach: f64,
    /// Number of cells along each axis.
    count: [u64; 3],
    /// Fractional coordinate at which the first cell begins.
    low: Vec3,
    /// Cells per unit of the fractional coordinate.
    scale: Vec3,
    /// Fraction of a cell, next to its faces, within `reach` of the cell beyond.
    margin: Vec3,
    /// Number of the cell and index of each atom, sorted.
    atoms: Vec<(u64, u32)>,
}

impl<'a> OccupiedCells<'a> {
    fn new(simbox: &'a SimBox, position: &'a [Vec3], reach: f64) -> Self {
        let fractions: Vec<Vec3> = position.iter().map(|r| simbox.to_fractional(*r)).collect();
        let (widths, periodic) = (simbox.widths(), simbox.periodic());
        let (mut low, mut extent) = (Vec3::ZERO, [1.0; 3]);
        for k in (0..3).filter(|k| !periodic[*k]) {
            let along = || fractions.iter().map(|s| s[k]);
            low[k] = along().fold(f64::INFINITY, f64::min);
            extent[k] = (along().fold(f64::NEG_INFINITY, f64::max) - low[k]).max(0.0);
        }
        let most = |k: usize| (widths[k] * extent[k] / reach).floor().clamp(1.0, MOST_CELLS);
        let count = [0, 1, 2].map(most);
        let scale = Vec3::from_fn(|k| if extent[k] > 0.0 { count[k] / extent[k] } else { 0.0 });
        let margin = Vec3::from_fn(|k| reach * scale[k] / widths[k]);
        let count = count.map(|n| n as u64);
        let mut cells =
            OccupiedCells { simbox, position, reach, count, low, scale, margin, atoms: Vec::new() };
        let numbered = fractions.iter().zip(0..).map(|(s, atom)| (cells.number(cells.cell(*s).0), atom));
        let mut atoms: Vec<(u64, u32)> = numbered.collect();
        atoms.sort_unstable();
        cells.atoms = atoms;
        cells
    }

    /// The cell of an atom, and the fraction of the cell below the atom along each axis.
    fn cell(&self, fraction: Vec3) -> ([u64; 3], Vec3) {
        let periodic = self.simbox.periodic();
        let mut cell = [0; 3];
        let within = Vec3::from_fn(|k| {
            let s = fraction[k] - self.low[k];
            let s = if periodic[k] { s - s.floor() } else { s };
            cell[k] = ((s * self.scale[k]) as u64).min(self.count[k] - 1);
            s * self.scale[k] - cell[k] as f64
        });
        (cell, within)
    }

    fn number(&self, [x, y, z]: [u64; 3]) -> u64 {
        (z * self.count[1] + y) * self.count[0] + x
    }

    /// The first pair of atoms nearer than `reach` that has a force.
    fn first_pair(&self, has_force: &dyn Fn([usize; 2]) -> bool) -> Option<[usize; 2]> {
        (0..self.atoms.len()).find_map(|k| {
            let (own, atom) = self.atoms[k];
            let rest = self.atoms[k + 1..].iter().take_while(|(number, _)| *number == own);
            self.near(atom, rest, has_force).or_else(|| {
                self.cells_beside(atom).find_map(|number| {
                    let first = self.atoms.partition_point(|(other, _)| *other < number);
                    let others = self.atoms[first..].iter().take_while(|(other, _)| *other == number);
                    self.near(atom, others, has_force)
                })
            })
        })
    }

    fn near<'b>(
        &self,
        atom: u32,
        others: impl Iterator<Item = &'b (u64, u32)>,
        has_force: &dyn Fn([usize; 2]) -> bool,
    ) -> Option<[usize; 2]> {
        let here = self.position[atom as usize];
        let is_near = |other: u32| {
            let there = self.position[other as usize];
            let d = self.simbox.nearest_image(there - here);
            d.iter().map(|x| x * x).sum::<f64>() < self.reach * self.reach
        };
        let mut pairs = others.filter(|(_, other)| is_near(*other));
        pairs.find_map(|(_, other)| Some([atom as usize, *other as usize]).filter(|pair| has_force(*pair)))
    }

    /// The adjacent cells within `reach` of an atom: none but for atoms near a face.
    fn cells_beside(&self, atom: u32) -> impl Iterator<Item = u64> {
        let (cell, within) = self.cell(self.simbox.to_fractional(self.position[atom as usize]));
        let periodic = self.simbox.periodic();
        let along = |k: usize| {
            let (n, at) = (self.count[k], cell[k]);
            let before = (within[k] < self.margin[k] && (at > 0 || periodic[k])).then_some((at + n - 1) % n);
            let after = within[k] > 1.0 - self.margin[k] && (at + 1 < n || periodic[k]);
            let after = after.then_some((at + 1) % n);
            [Some(at), before, after].into_iter().flatten().collect::<Vec<_>>()
        };
        let [xs, ys, zs] = [along(0), along(1), along(2)];
        let own = self.number(cell);
        let mut beside = Vec::new();
        for z in &zs {
            for y in &ys {
                beside.extend(xs.iter().map(|x| self.number([*x, *y, *z])).filter(|number| *number != own));
            }
        }
        beside.into_iter()
    }
}

/// Name of an atom in messages, which count from 1.
fn number(id: u32) -> String {
    format!("atom {}", id + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{Angle, SimBox, Species, Vector};

    fn system(positions: &[Vec3]) -> System {
        let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
        let mut system = System::new(SimBox::orthorhombic([10.0; 3]).unwrap(), species);
        positions.iter().for_each(|r| system.state.push(0, *r));
        system
    }

    /// Atoms in a box a hundred million times as long as they are apart: that is what is said.
    #[test]
    fn boxes_that_are_far_too_large_are_named() {
        let mut system = system(&[Vector([1.0; 3]), Vector([3.0; 3])]);
        system.simbox = SimBox::new([0.0; 3], [1e8, 10.0, 10.0], [0.0; 3], [false; 3]).unwrap();
        let error = check_atoms(&system).unwrap_err();
        assert!(error.message().contains("3.464e0 apart, less than 10^-7 of the box"), "{error}");
    }

    #[test]
    fn both_atoms_are_named() {
        assert!(check_atoms(&system(&[Vector([1.0; 3]), Vector([2.0; 3]), Vector([1.1; 3])])).is_ok());
        let error =
            check_atoms(&system(&[Vector([1.0; 3]), Vector([2.0; 3]), Vector([1.0; 3])])).unwrap_err();
        assert!(error.message().starts_with("atom 1 and atom 3 are at the same place"), "{error}");
        // Positions that coincide across the boundary.
        let error = check_atoms(&system(&[Vector([0.0, 5.0, 5.0]), Vector([10.0, 5.0, 5.0])])).unwrap_err();
        assert!(error.message().starts_with("atom 1 and atom 2"), "{error}");
    }

    /// Atoms without a force on each other may be at one place; those of an angle may not.
    #[test]
    fn excluded_atoms_without_a_force_may_be_at_one_place() {
        let mut system = system(&[Vector([1.0; 3]), Vector([2.0; 3]), Vector([1.0; 3])]);
        system.topology.excluded = vec![[2, 0], [0, 1]];
        assert!(check_atoms(&system).is_ok());
        system.topology.angles = vec![Angle { kind: 0, atoms: [0, 1, 2] }];
        let error = check_atoms(&system).unwrap_err();
        assert!(error.message().starts_with("atom 1 and atom 3"), "{error}");
    }

    /// Most of the atoms are in a small part of a large box, where a coarse grid would have them all in one
    /// cell. Pairs are across the faces of cells, in every direction, in periodic and in open boxes.
    #[test]
    fn a_pair_is_found_however_unevenly_a_box_is_filled() {
        let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
        for periodic in [true, false] {
            let tilts = if periodic { [3e3, 0.0, 1e3] } else { [0.0; 3] };
            let simbox = SimBox::new([0.0; 3], [1e4, 2e4, 1e4], tilts, [periodic; 3]).unwrap();
            let mut system = System::new(simbox, species.clone());
            // Atoms at the spacing of a liquid, and one far away.
            let at = |k: usize| [k % 40, k / 40 % 40, k / 1600].map(|n| 1.1 * n as f64 + 0.3);
            (0..40 * 40 * 20).for_each(|k| system.state.push(0, at(k)));
            system.state.push(0, [9e3, 9e3, 9e3]);
            assert!(check_atoms(&system).is_ok());
            for (atom, axis, by) in
                [(5, 0, 1.9e-3), (40 * 39, 1, -1.9e-3), (31_999, 2, 1.9e-3), (7_777, 1, 1.9e-3)]
            {
                for beyond in [0.0, 0.2e-3] {
                    let mut both = system.clone();
                    let mut place = at(atom);
                    place[axis] += by + f64::signum(by) * beyond;
                    both.state.push(0, place);
                    let found = check_atoms(&both);
                    assert_eq!(found.is_err(), beyond == 0.0, "{atom} {axis} {by} {beyond}: {found:?}");
                    if let Err(error) = found {
                        let names = format!("atom {} and atom 32002 are 1.900e-3 apart, less than", atom + 1);
                        assert!(error.message().starts_with(&names), "{error}");
                    }
                }
            }
            // Thousands of atoms in one position are found as quickly as two.
            let all = vec![[1.0; 3]; 20_000];
            all.iter().for_each(|r| system.state.push(0, *r));
            assert!(check_atoms(&system).is_err());
        }
    }

    /// Pairs in many positions relative to the faces of cells.
    #[test]
    fn no_face_of_a_cell_hides_a_pair() {
        let reach = SAME_PLACE * 10.0;
        for k in 0..2000 {
            let at = k as f64 * 0.37 * reach + 3.0;
            for axis in 0..3 {
                let (mut a, mut b) = ([at, at + 1.0, at + 2.0], [at, at + 1.0, at + 2.0]);
                (a[axis], b[axis]) = (at, at + 0.9 * reach);
                assert!(check_atoms(&system(&[Vector(a), Vector(b)])).is_err(), "{at} along {axis}");
                b[axis] = at + 1.1 * reach;
                assert!(check_atoms(&system(&[Vector(a), Vector(b)])).is_ok(), "{at} along {axis}");
            }
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        let error = check_atoms(&system(&[Vector([1.0; 3]), Vector([f64::NAN, 0.0, 0.0])])).unwrap_err();
        assert!(error.message().contains("position of atom 2"), "{error}");
        let mut moving = system(&[Vector([1.0; 3])]);
        moving.state.velocity[0][1] = f64::INFINITY;
        assert!(check_atoms(&moving).unwrap_err().message().contains("velocity of atom 1"));
    }
}
