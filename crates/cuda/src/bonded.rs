//! Bonds and angles (`kernels/bonded.cu`): forces that are added to those of pairs.

use crate::arrays::Reals;
use crate::codegen;
use crate::driver::{Buffer, Device, Kernel, Launch, Word};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::search::When;
use crate::sums::Summation;
use crate::world::World;
use jostle_core::{Evaluate, Precision, Result, System};
use jostle_potentials::Forces;
use jostle_potentials::bonded::{BondedKind, BondedTerm};

/// Stands where there is no other atom.
const ALONE: u32 = u32::MAX;

/// What kernels are told of what is bound: as in `bonded.cu`, field by field.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Bound {
    bonds: i32,
    angles: i32,
    bond_of: u64,
    bond_row: u64,
    angle_of: u64,
    angle_row: u64,
    place: u64,
    partner: u64,
    partner_row: u64,
    ends: u64,
    ends_row: u64,
    bond_table: u64,
    angle_table: u64,
}

// SAFETY: numbers only, and no padding between them.
unsafe impl Word for Bound {}

/// The kernels, and what is bound to what.
pub struct Bonded {
    bound: Bound,
    places: Kernel,
    find: Kernel,
    forces: Kernel,
    energies: Kernel,
    sums: Kernel,
    shares: u32,
    n_pairs: usize,
    /// What the addresses in `bound` belong to.
    words: [Buffer<u32>; 9],
    _tables: [Reals; 2],
}

/// What each atom is bound in, by id: layers of `WIDTH` others, and what it is.
struct Layers<const WIDTH: usize> {
    n: usize,
    others: Vec<[u32; WIDTH]>,
    rows: Vec<u32>,
    /// How many layers of an atom are taken.
    used: Vec<usize>,
}

impl<const WIDTH: usize> Layers<WIDTH> {
    fn new(n: usize) -> Self {
        Layers { n, others: Vec::new(), rows: Vec::new(), used: vec![0; n] }
    }

    fn add(&mut self, atom: u32, others: [u32; WIDTH], row: u32) {
        let atom = atom as usize;
        let at = self.used[atom] * self.n + atom;
        if at >= self.others.len() {
            self.others.resize((self.used[atom] + 1) * self.n, [ALONE; WIDTH]);
            self.rows.resize((self.used[atom] + 1) * self.n, 0);
        }
        self.others[at] = others;
        self.rows[at] = row;
        self.used[atom] += 1;
    }

    fn count(&self) -> usize {
        self.rows.len() / self.n.max(1)
    }
}

/// The most coefficients of any of the terms.
fn most_coefficients<K: BondedKind>(terms: &[BondedTerm<K>]) -> usize {
    let one = |term: &BondedTerm<K>| {
        (0..term.n_types()).filter_map(|k| term.coefficients(k)).map(|c| c.len()).max().unwrap_or(0)
    };
    terms.iter().map(one).max().unwrap_or(0).max(1)
}

/// A table with a row for every type of every term: the term, what `front` says of it, and the
/// coefficients.
fn table<K: BondedKind>(
    terms: &[BondedTerm<K>],
    front: impl Fn(&BondedTerm<K>, usize) -> Option<f64>,
) -> Vec<f64> {
    let most = most_coefficients(terms);
    let mut table = Vec::new();
    for (number, term) in terms.iter().enumerate() {
        for k in 0..term.n_types() {
            table.push(number as f64);
            table.extend(front(term, k));
            let mut coefficients = term.coefficients(k).unwrap_or_default();
            coefficients.resize(most, 0.0);
            table.extend(coefficients);
        }
    }
    table
}

/// The kernels' source.
pub fn build(forces: &Forces, precision: Precision, sums: Summation) -> Build {
    let source = codegen::bonded_source(
        &forces.bonds,
        &forces.angles,
        [most_coefficients(&forces.bonds), most_coefficients(&forces.angles)],
        precision,
    );
    kernels::beside(&source, include_str!("../kernels/bonded.cu"), precision, sums)
}

impl Bonded {
    /// What a system's bonds and angles need on a device; `None` where it has none.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        forces: &Forces,
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        if forces.bonds.is_empty() && forces.angles.is_empty() {
            return Ok(None);
        }
        let n = system.state.len();
        let (mut bonds, mut angles) = (Layers::<1>::new(n), Layers::<2>::new(n));
        for (number, term) in forces.bonds.iter().enumerate() {
            for bond in system.topology.bonds.iter().filter(|b| term.parameters(b.kind as usize).is_some()) {
                let row = (number * term.n_types()) as u32 + bond.kind;
                let [a, b] = bond.atoms;
                bonds.add(a, [b], row);
                bonds.add(b, [a], row);
            }
        }
        for (number, term) in forces.angles.iter().enumerate() {
            for angle in system.topology.angles.iter().filter(|a| term.parameters(a.kind as usize).is_some())
            {
                let row = 4 * ((number * term.n_types()) as u32 + angle.kind);
                let [a, middle, b] = angle.atoms;
                angles.add(a, [middle, b], row);
                angles.add(middle, [a, b], row + 1);
                angles.add(b, [a, middle], row + 2);
            }
        }
        let build = build(forces, precision, sums);
        let module = device.compile("bonded.cu", &build.source, &build.options)?;
        let longest2 = |term: &BondedTerm<_>, k: usize| Some(term.longest(k).powi(2));
        let tables = [table(&forces.bonds, longest2), table(&forces.angles, |_, _| None)];
        let [bond_table, angle_table] = tables.map(|t| Reals::upload(device, precision, &t));
        let tables = [bond_table?, angle_table?];
        let words = [
            device.upload(bonds.others.as_flattened())?,
            device.upload(&bonds.rows)?,
            device.upload(angles.others.as_flattened())?,
            device.upload(&angles.rows)?,
            device.alloc(n)?,
            device.alloc(bonds.rows.len())?,
            device.alloc(bonds.rows.len())?,
            device.alloc(2 * angles.rows.len())?,
            device.alloc(angles.rows.len())?,
        ];
        let [bond_of, bond_row, angle_of, angle_row, place, partner, partner_row, ends, ends_row] =
            std::array::from_fn(|k| words[k].address());
        Ok(Some(Bonded {
            bound: Bound {
                bonds: bonds.count() as i32,
                angles: angles.count() as i32,
                bond_of,
                bond_row,
                angle_of,
                angle_row,
                place,
                partner,
                partner_row,
                ends,
                ends_row,
                bond_table: tables[0].address(),
                angle_table: tables[1].address(),
            },
            places: module.kernel("bonded_places")?,
            find: module.kernel("bonded_find")?,
            forces: module.kernel("bonded_forces")?,
            energies: module.kernel("bonded_forces_energies")?,
            sums: module.kernel("bonded_sums")?,
            shares: sums.shares(n, ATOM_THREADS),
            n_pairs: forces.n_searched(),
            words,
            _tables: tables,
        }))
    }

    fn launch(&self, kernel: &Kernel, world: &World, slot: i32) -> Launch {
        let blocks = (world.n as u32).div_ceil(ATOM_THREADS).max(1);
        Launch::new(kernel, blocks, ATOM_THREADS).with_value(*world).with_value(self.bound).with_value(slot)
    }

    /// Where everybody is, after a sort: part of what builds lists.
    pub fn build(&self, world: &World, slot: i32) -> Vec<Launch> {
        vec![self.launch(&self.places, world, slot), self.launch(&self.find, world, slot)]
    }

    /// Adds the forces. With energies, sums are to follow.
    pub fn forces(&self, world: &World, slot: i32, when: When, evaluate: Evaluate) -> Launch {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        self.launch(kernel, world, slot).with_value(when as i32)
    }

    /// Adds energies and virial up, after those of pairs.
    pub fn sums(&self, world: &World, row_length: usize, when: When) -> Launch {
        Launch::new(&self.sums, 1, ATOM_THREADS)
            .with_value(*world)
            .with_value(self.shares as i32)
            .with_value(row_length as i32)
            .with_value(self.n_pairs as i32)
            .with_value(when as i32)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        4 * self.words.iter().map(Buffer::len).sum::<usize>()
    }
}
