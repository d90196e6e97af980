//! Bonds, angles, dihedrals, and maps (`kernels/bonded.cu`): forces that are added to those of pairs.

use crate::arrays::Reals;
use crate::codegen::{self, bonded_arithmetic};
use crate::device_data::{DeviceData, ForcesBeside};
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build, Gpus};
use crate::neighbor_engine::Trigger;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::{Summation, VIRIAL};
use jostle_core::{Evaluate, Precision, Result, System};
use jostle_potentials::Forces;
use jostle_potentials::bonded::{BondedKind, BondedTerm};
use std::cmp::Reverse;
use std::ops::Range;

/// Number of roles of an atom in a term: as in `bonded.cu`.
const ROLES: u32 = 8;

/// Number of entries that occupy a thread for about as long as it takes to begin.
const ENTRIES_PER_THREAD: usize = 2;

/// Largest number of threads that run at once on any device: beyond, fewer share an atom, and have more of
/// its entries each. The more share one, the more of them have no entry of one kind or another.
const MOST_THREADS: usize = 1 << 19;

/// Number of atoms with consecutive ids, which are mostly near each other, among which those with as much
/// work follow each other: a warp takes as long as the longest of its lists.
const STRETCH: usize = 1024;

shared_structure! {
    /// Terms in which atoms are bound. Lists are by number of the atom among those that are bound, each in an order
    /// of its own: entries (row of the term in its table, times ROLES, plus the role of this atom) and indices of the
    /// other atoms.
    struct BondedData {
        /// Ids by number.
        atoms: u64 = "const u32*",
        /// Beginnings of the lists of bonds, angles, dihedrals and maps, by number.
        first: u64 = "const uint4*",
        /// Entries of each of the four kinds.
        row: [u64; 4] = "const u32*",
        /// Indices of the other atoms, for each of the four kinds.
        index: [u64; 4] = "const u32*",
        /// Ids of all these other atoms.
        ids: u64 = "const u32*",
        /// Indices of all these other atoms, set by the sort.
        indices: u64 = "u32*",
        index_by_id: u64 = "u32*",
        /// Number of each atom by id, -1 for those without bonds, and of each atom, set by the sort; null where all have some.
        number_by_id: u64 = "const int*",
        number_of_atom: u64 = "int*",
        /// Rows: term, square of the length at which it breaks, coefficients.
        bond_table: u64 = "const bond_real*",
        /// Rows: term, coefficients.
        angle_table: u64 = "const angle_real*",
        /// Rows: term, coefficients.
        dihedral_table: u64 = "const dihedral_real*",
        /// Rows: points per radian, points along an angle, first point.
        map_table: u64 = "const real*",
        /// Nodes of the maps.
        points: u64 = "const real4*",
        /// Number of entries of `ids`.
        n_others: i64,
        /// Number of bound atoms.
        n_atoms: i64,
    }
}

/// Kernels, and lists of bonded atoms.
pub struct BondedKernels {
    bound: BondedData,
    indices: Kernel,
    find: Kernel,
    /// Kernel that marks the atoms that other GPUs need to know, where there are others.
    mark: Option<Kernel>,
    /// True where forces need positions that are more exact than those for pairs.
    exact: bool,
    forces: Kernel,
    energies: Kernel,
    sums: Kernel,
    shares: u32,
    /// Number of threads that share an atom.
    team: u32,
    /// Index in a sample of the virial of pairs, and of the first of these energies.
    virial: usize,
    first_term: usize,
    n_terms: usize,
    /// Memory to which the addresses in `bound` point.
    words: [Buffer<u32>; 5],
    first: Buffer<[u32; 4]>,
    tables: [Reals; 5],
    beside: Option<Beside>,
}

/// Memory for forces beside those of pairs, where some atoms have bonds and others none.
struct Beside {
    number_by_id: Buffer<i32>,
    number_of_atom: Buffer<i32>,
    force: Reals,
}

impl Beside {
    /// Memory for the atoms of these ids, of `n`.
    fn new(device: &Device, ids: &[u32], n: usize, precision: Precision) -> Result<Self> {
        let mut number_by_id = vec![-1; n];
        ids.iter().zip(0..).for_each(|(id, number)| number_by_id[*id as usize] = number);
        Ok(Beside {
            number_by_id: device.upload(&number_by_id)?,
            number_of_atom: device.upload(&vec![-1; n])?,
            force: Reals::alloc(device, precision, 3 * ids.len())?,
        })
    }

    fn bytes(&self) -> usize {
        4 * (self.number_by_id.len() + self.number_of_atom.len()) + self.force.bytes()
    }
}

/// Terms of one kind by atom: for one atom after the other its entries, and the other atoms of each.
struct Family {
    /// Beginning of the list of each atom, and end of the last one.
    first: Vec<u32>,
    rows: Vec<u32>,
    others: Vec<u32>,
}

impl Family {
    /// Lists of all atoms by id, from rows of the table and ids of the groups.
    fn new<const M: usize>(n: usize, groups: &[(u32, [u32; M])]) -> Self {
        let mut first = vec![0; n + 1];
        for atom in groups.iter().flat_map(|(_, atoms)| atoms) {
            first[*atom as usize + 1] += 1;
        }
        for k in 0..n {
            first[k + 1] += first[k];
        }
        let (mut next, entries) = (first.clone(), M * groups.len());
        let (mut rows, mut others) = (vec![0; entries], vec![0; entries * (M - 1)]);
        for (row, atoms) in groups {
            for (role, atom) in atoms.iter().enumerate() {
                let entry = next[*atom as usize] as usize;
                next[*atom as usize] += 1;
                rows[entry] = ROLES * row + role as u32;
                let rest = atoms.iter().enumerate().filter(|(k, _)| *k != role).map(|(_, other)| *other);
                others[entry * (M - 1)..][..M - 1].iter_mut().zip(rest).for_each(|(to, other)| *to = other);
            }
        }
        Family { first, rows, others }
    }

    fn entries_of(&self, atom: u32) -> Range<usize> {
        self.first[atom as usize] as usize..self.first[atom as usize + 1] as usize
    }

    /// Lists of these atoms, in their order.
    fn of(&self, atoms: &[u32]) -> Self {
        let each = self.others.len() / self.rows.len().max(1);
        let (mut first, mut rows, mut others) = (vec![0], Vec::new(), Vec::new());
        for entries in atoms.iter().map(|atom| self.entries_of(*atom)) {
            rows.extend_from_slice(&self.rows[entries.clone()]);
            others.extend_from_slice(&self.others[each * entries.start..each * entries.end]);
            first.push(rows.len() as u32);
        }
        Family { first, rows, others }
    }
}

/// Lists of the terms of all bound atoms of a system.
struct BondedLists {
    /// Ids of the bound atoms, in the order in which they are taken.
    atoms: Vec<u32>,
    which: Which,
    /// Bonds, angles, dihedrals and maps.
    families: [Family; 4],
}

impl BondedLists {
    fn new(system: &System, forces: &Forces) -> Self {
        let (n, topology) = (system.state.len(), &system.topology);
        let bonds = groups(&forces.bonds, topology.bonds.iter().map(|b| (b.kind, b.atoms)));
        let angles = groups(&forces.angles, topology.angles.iter().map(|a| (a.kind, a.atoms)));
        let dihedrals = groups(&forces.dihedrals, topology.dihedrals.iter().map(|d| (d.kind, d.atoms)));
        let maps: Vec<_> = topology.cross_terms.iter().map(|c| (c.kind, c.atoms)).collect();
        let mut families = [
            Family::new(n, &bonds),
            Family::new(n, &angles),
            Family::new(n, &dihedrals),
            Family::new(n, &maps),
        ];
        let is_bound = |id: &u32| families.iter().any(|family| !family.entries_of(*id).is_empty());
        let mut atoms: Vec<u32> = (0..n as u32).filter(is_bound).collect();
        let which = if atoms.len() == n { Which::All } else { Which::Some };
        if which == Which::Some {
            // Dihedrals are the most expensive.
            put_in_order(&mut atoms, |atom| {
                [2, 3, 1, 0].map(|kind: usize| families[kind].entries_of(atom).len())
            });
            families = families.map(|family| family.of(&atoms));
        }
        BondedLists { atoms, which, families }
    }

    fn n_entries(&self) -> usize {
        self.families.iter().map(|family| family.rows.len()).sum()
    }

    /// Beginnings of the four lists of each atom, and ends of the last.
    fn first(&self) -> Vec<[u32; 4]> {
        let of_atom = |k: usize| std::array::from_fn(|family| self.families[family].first[k]);
        (0..=self.atoms.len()).map(of_atom).collect()
    }

    /// A part of all families, one after the other.
    fn all(&self, part: fn(&Family) -> &Vec<u32>) -> Vec<u32> {
        self.families.iter().flat_map(part).copied().collect()
    }

    /// Addresses of a part of each family, where [`BondedLists::all`] of them begins at `start`.
    fn begins(&self, start: u64, part: fn(&Family) -> &Vec<u32>) -> [u64; 4] {
        let before = |k: usize| self.families[..k].iter().map(|family| part(family).len()).sum::<usize>();
        std::array::from_fn(|k| start + 4 * before(k) as u64)
    }
}

/// Copies the tables of bonds, angles, dihedrals and maps, and the nodes of the maps, to a device.
fn upload_tables(device: &Device, forces: &Forces, precision: Precision) -> Result<[Reals; 5]> {
    let (mut map_table, mut points) = (Vec::new(), Vec::new());
    for map in &forces.cmaps {
        map_table.extend([map.per_radian(), map.size() as f64, (points.len() / 4) as f64]);
        points.extend(map.nodes().iter().flatten());
    }
    let numbers = [
        (
            bonded_arithmetic(&forces.bonds, precision),
            table(&forces.bonds, |t, k| Some(t.longest(k).powi(2))),
        ),
        (bonded_arithmetic(&forces.angles, precision), table(&forces.angles, |_, _| None)),
        (bonded_arithmetic(&forces.dihedrals, precision), table(&forces.dihedrals, |_, _| None)),
        (precision, map_table),
        (precision, points),
    ];
    let [bonds, angles, dihedrals, maps, points] =
        numbers.map(|(precision, numbers)| Reals::upload(device, precision, &numbers));
    Ok([bonds?, angles?, dihedrals?, maps?, points?])
}

/// Sorts bound atoms by their work: the longest first, within sections of [`STRETCH`].
fn put_in_order<K: Ord>(atoms: &mut [u32], work: impl Fn(u32) -> K) {
    atoms.chunks_mut(STRETCH).for_each(|stretch| stretch.sort_by_key(|atom| Reverse(work(*atom))));
}

/// Groups of bound atoms with the rows of their terms: those of one term after each other.
fn groups<'a, K: BondedKind, const M: usize>(
    terms: &[BondedTerm<K>],
    members: impl Iterator<Item = (u32, [u32; M])> + Clone + 'a,
) -> Vec<(u32, [u32; M])> {
    let of = |(number, term): (usize, &BondedTerm<K>)| {
        let known = members.clone().filter(|(kind, _)| term.parameters(*kind as usize).is_some());
        let first = (number * term.n_types()) as u32;
        known.map(|(kind, atoms)| (first + kind, atoms)).collect::<Vec<_>>()
    };
    terms.iter().enumerate().flat_map(of).collect()
}

/// Largest number of coefficients of any of the terms.
fn most_coefficients<K: BondedKind>(terms: &[BondedTerm<K>]) -> usize {
    let one = |term: &BondedTerm<K>| {
        (0..term.n_types()).filter_map(|k| term.coefficients(k)).map(|c| c.len()).max().unwrap_or(0)
    };
    terms.iter().map(one).max().unwrap_or(0).max(1)
}

/// Table with a row for every type of every term: the term, the number that `front` gives, and the
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

/// Number of bound atoms: decides the order in which atoms are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All atoms are bound.
    All,
    /// Some atoms are bound.
    Some,
}

/// Source of the kernels, for so many threads an atom.
pub fn build(forces: &Forces, which: Which, team: u32, precision: Precision, sums: Summation) -> Build {
    let most = [
        most_coefficients(&forces.bonds),
        most_coefficients(&forces.angles),
        most_coefficients(&forces.dihedrals),
    ];
    let source = codegen::bonded_source(forces, most, precision) + &BondedData::source();
    let mut build = kernels::module_source(&source, include_str!("../kernels/bonded.cu"), precision, sums);
    build.options.push(format!("-DTEAM={team}"));
    build.options.push(format!("-DALL_BOUND={}", i32::from(which == Which::All)));
    build
}

/// True where forces need positions that are more exact than those for pairs.
fn needs_exact_positions(forces: &Forces, precision: Precision) -> bool {
    let arithmetic = [
        bonded_arithmetic(&forces.bonds, precision),
        bonded_arithmetic(&forces.angles, precision),
        bonded_arithmetic(&forces.dihedrals, precision),
    ];
    arithmetic.iter().any(|of_family| *of_family != precision)
}

/// Number of threads that share an atom, for so many bound atoms with so many entries in all.
fn team(atoms: usize, entries: usize) -> u32 {
    let mut team = (entries / atoms.max(1) / ENTRIES_PER_THREAD).next_power_of_two().min(32);
    while team > 1 && team * atoms > MOST_THREADS {
        team /= 2;
    }
    team as u32
}

impl BondedKernels {
    /// Kernels for the bonded terms of a system; `None` without any.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        forces: &Forces,
        gpus: Gpus,
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        if forces.n_bonded() == 0 {
            return Ok(None);
        }
        let lists = BondedLists::new(system, forces);
        let team = team(lists.atoms.len(), lists.n_entries());
        let build = build(forces, lists.which, team, precision, sums).for_gpus(gpus);
        let module = device.compile("bonded.cu", &build.source, &build.options)?;
        let tables = upload_tables(device, forces, precision)?;
        let (rows, ids) = (lists.all(|family| &family.rows), lists.all(|family| &family.others));
        let words = [
            device.upload(&rows)?,
            device.upload(&ids)?,
            device.alloc(ids.len())?,
            device.alloc(system.state.len())?,
            device.upload(&lists.atoms)?,
        ];
        let first = device.upload(&lists.first())?;
        let some = lists.which == Which::Some && gpus == Gpus::One;
        let n = system.state.len();
        let beside = some.then(|| Beside::new(device, &lists.atoms, n, precision)).transpose()?;
        Ok(Some(BondedKernels {
            bound: BondedData {
                atoms: words[4].address(),
                first: first.address(),
                row: lists.begins(words[0].address(), |family| &family.rows),
                index: lists.begins(words[2].address(), |family| &family.others),
                ids: words[1].address(),
                indices: words[2].address(),
                index_by_id: words[3].address(),
                number_by_id: beside.as_ref().map_or(0, |beside| beside.number_by_id.address()),
                number_of_atom: beside.as_ref().map_or(0, |beside| beside.number_of_atom.address()),
                bond_table: tables[0].address(),
                angle_table: tables[1].address(),
                dihedral_table: tables[2].address(),
                map_table: tables[3].address(),
                points: tables[4].address(),
                n_others: ids.len() as i64,
                n_atoms: lists.atoms.len() as i64,
            },
            indices: module.kernel("bonded_indices")?,
            find: module.kernel("bonded_find")?,
            mark: match gpus {
                Gpus::One => None,
                Gpus::Several => Some(module.kernel("bonded_mark")?),
            },
            exact: needs_exact_positions(forces, precision),
            forces: module.kernel("bonded_forces")?,
            energies: module.kernel("bonded_forces_energies")?,
            sums: module.kernel("bonded_sums")?,
            shares: sums.shares(lists.atoms.len(), ATOM_THREADS / team),
            team,
            virial: forces.n_searched(),
            first_term: forces.n_searched() + VIRIAL + forces.n_unbounded(),
            n_terms: forces.n_bonded(),
            words,
            first,
            tables,
            beside,
        }))
    }

    /// Launch with at least so many threads.
    fn launch(&self, kernel: &Kernel, data: &DeviceData, threads: usize, slot: i32) -> Launch {
        let blocks = threads.div_ceil(ATOM_THREADS as usize).max(1) as u32;
        Launch::new(kernel, blocks, ATOM_THREADS).with_value(*data).with_value(self.bound).with_value(slot)
    }

    /// Launches that find the atoms after a sort: part of building lists.
    pub fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        let n_others = self.bound.n_others as usize;
        vec![
            self.launch(&self.indices, data, data.n as usize, slot),
            self.launch(&self.find, data, n_others, slot),
        ]
    }

    /// Arrays for forces that kernels that move atoms add, where some atoms have bonds and others none.
    pub fn forces_beside(&self) -> Option<ForcesBeside> {
        let beside = self.beside.as_ref()?;
        Some(ForcesBeside { force: beside.force.address(), place: beside.number_of_atom.address() })
    }

    /// True where forces need positions that are more exact than those for pairs.
    pub fn needs_exact_positions(&self) -> bool {
        self.exact
    }

    /// Launch that marks the atoms that other GPUs need to know, likewise.
    pub fn mark(&self, data: &DeviceData, slot: i32) -> Option<Launch> {
        self.mark.as_ref().map(|kernel| self.launch(kernel, data, self.bound.n_atoms as usize, slot))
    }

    /// Launch that adds the forces, or leaves them for the kernels that move atoms, if `data` has an array for them. With
    /// energies, [`BondedKernels::sums`] follows.
    pub fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Launch {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        let threads = self.bound.n_atoms as usize * self.team as usize;
        self.launch(kernel, data, threads, slot).with_value(trigger as i32)
    }

    /// Launch that adds up energies and virial, after those of pairs.
    pub fn sums(&self, data: &DeviceData, row_length: usize, trigger: Trigger) -> Launch {
        Launch::new(&self.sums, 1, ATOM_THREADS)
            .with_value(*data)
            .with_value(self.shares as i32)
            .with_value(row_length as i32)
            .with_value(self.virial as i32)
            .with_value(self.first_term as i32)
            .with_value(trigger as i32)
    }

    /// Number of numbers that blocks leave as their shares.
    pub fn partial_length(&self) -> usize {
        self.shares as usize * (self.n_terms + VIRIAL)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let words = self.words.iter().map(Buffer::len).sum::<usize>() + 4 * self.first.len();
        let tables = self.tables.iter().map(Reals::bytes).sum::<usize>();
        4 * words + tables + self.beside.as_ref().map_or(0, Beside::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_with_as_much_to_do_are_side_by_side_in_stretches() {
        let mut atoms: Vec<u32> = (0..STRETCH as u32 + 4).collect();
        put_in_order(&mut atoms, |atom| atom % 2);
        assert_eq!(atoms[..3], [1, 3, 5]);
        assert_eq!(atoms[STRETCH - 2..], [1020, 1022, 1025, 1027, 1024, 1026]);
        // Lists of atoms 1 and 0, of two bonds between atoms 0, 1 and 2.
        let family = Family::new(3, &[(7, [0, 1]), (9, [1, 2])]).of(&[1, 0]);
        assert_eq!((family.first, family.others), (vec![0, 2, 3], vec![0, 2, 1]));
        assert_eq!(family.rows, [ROLES * 7 + 1, ROLES * 9, ROLES * 7]);
    }

    #[test]
    fn fewer_threads_share_an_atom_where_there_are_many() {
        assert_eq!([1, 10, 1000].map(|atoms| team(atoms, 28 * atoms)), [16, 16, 16]);
        assert_eq!([30_000, 60_000, 1_000_000].map(|atoms| team(atoms, 28 * atoms)), [16, 8, 1]);
        assert_eq!([team(0, 0), team(10, 10)], [1, 1]);
    }
}
