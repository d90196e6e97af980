//! Molecules as points, for a change of the box that moves them without deforming them
//! (`kernels/molecules.cu`).

use crate::device_data::{BoxGeometry, DeviceData};
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build, blocks_of};
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::{Molecules, Precision, Result, SimBox, State, Vec3, Vector};

/// Number of sums of a molecular virial.
pub const MOLECULAR_SUMS: usize = 2;
/// Least number of atoms of a long molecule, which a block shares.
const LONG_MOLECULE: usize = 65;

shared_structure! {
    /// Molecules: entries are their atoms, one molecule after the other.
    struct MoleculeData {
        /// First entry of each molecule, and the number of entries at the end.
        first: u64 = "const u32*",
        /// Ids of the entries.
        atom: u64 = "const u32*",
        /// Images by which the atom of an entry is away from the others of its molecule: [3][n].
        shift: u64 = "const int*",
        /// Part of the atom in the mass of its molecule, by entry.
        share: u64 = "const double*",
        /// Masses of molecules.
        mass: u64 = "const double*",
        index_by_id: u64 = "u32*",
        /// Positions before the last change of the box, by id: [n][3].
        x: u64 = "double*",
        /// Velocities before the last change of the box, by id.
        v: u64 = "double*",
        /// Images before the last change of the box, by id.
        image: u64 = "int*",
        /// Number of molecules, and of long ones, which come first.
        n: i64,
        n_long: i64,
    }
}

/// Kernels, and lists of the atoms of molecules.
pub struct Bodies {
    table: MoleculeData,
    indices: Kernel,
    molecular_virial: Kernel,
    scale_volume: Kernel,
    undo_scale: Kernel,
    /// Memory to which the addresses in `table` point.
    _words: [Buffer<u32>; 3],
    _images: [Buffer<i32>; 2],
    _numbers: [Buffer<f64>; 4],
}

/// Source of the kernels.
pub fn build(precision: Precision, sums: Summation) -> Build {
    kernels::module_source(&MoleculeData::source(), include_str!("../kernels/molecules.cu"), precision, sums)
}

impl Bodies {
    /// Molecules of atoms in this state: the images by which these atoms are apart never change.
    ///
    /// # Errors
    /// If a molecule is joined to its own image, there is no compiler for the device, or not enough
    /// memory.
    pub fn new(
        device: &Device,
        molecules: &Molecules,
        simbox: &SimBox,
        state: &State,
        precision: Precision,
        sums: Summation,
    ) -> Result<Self> {
        let n = state.len();
        let shifts = shifts(molecules, simbox, state)?;
        let (order, n_long) = long_ones_first(molecules);
        let mut place = vec![0u32; order.len()];
        (0..).zip(&order).for_each(|(k, molecule)| place[*molecule] = k);
        let place_of = |id: &u32| place[molecules.of_atoms()[*id as usize] as usize];
        let mut atoms: Vec<u32> = (0..n as u32).collect();
        atoms.sort_by_key(place_of);
        let mut first = vec![0u32; molecules.count() + 1];
        atoms.iter().for_each(|id| first[place_of(id) as usize + 1] += 1);
        (1..first.len()).for_each(|k| first[k] += first[k - 1]);
        let masses: Vec<f64> = order.iter().map(|molecule| molecules.masses()[*molecule]).collect();
        let share: Vec<f64> = atoms.iter().map(|id| molecules.shares()[*id as usize]).collect();
        let by_axis = |axis: usize| atoms.iter().map(move |id| (axis, *id as usize));
        let shift: Vec<i32> = (0..3).flat_map(by_axis).map(|(axis, id)| shifts[id][axis]).collect();
        let words = [device.upload(&first)?, device.upload(&atoms)?, device.alloc(n)?];
        let images = [device.upload(&shift)?, device.alloc(3 * n)?];
        let numbers =
            [device.upload(&share)?, device.upload(&masses)?, device.alloc(3 * n)?, device.alloc(3 * n)?];
        let table = MoleculeData {
            first: words[0].address(),
            atom: words[1].address(),
            shift: images[0].address(),
            share: numbers[0].address(),
            mass: numbers[1].address(),
            index_by_id: words[2].address(),
            x: numbers[2].address(),
            v: numbers[3].address(),
            image: images[1].address(),
            n: molecules.count() as i64,
            n_long: n_long as i64,
        };
        let build = build(precision, sums);
        let module = device.compile("molecules.cu", &build.source, &build.options)?;
        Ok(Bodies {
            table,
            indices: module.kernel("molecule_indices")?,
            molecular_virial: module.kernel("molecular_virial")?,
            scale_volume: module.kernel("scale_molecules")?,
            undo_scale: module.kernel("undo_scale")?,
            _words: words,
            _images: images,
            _numbers: numbers,
        })
    }

    fn launch(&self, kernel: &Kernel, data: &DeviceData) -> Launch {
        Launch::new(kernel, blocks_of(data.n), ATOM_THREADS).with_value(*data).with_value(self.table)
    }

    /// Launches of the molecular virial, of which blocks leave shares.
    pub fn molecular_virial(&self, data: &DeviceData) -> Vec<Launch> {
        vec![self.launch(&self.indices, data), self.launch(&self.molecular_virial, data)]
    }

    /// Launch that moves molecules into another box without deforming them; velocities are multiplied by 1 +
    /// `faster`.
    pub fn scale_volume(&self, data: &DeviceData, after: BoxGeometry, faster: f64) -> Launch {
        self.launch(&self.scale_volume, data).with_value(after).with_value(faster)
    }

    /// Launch that undoes the last change of the box.
    pub fn undo_scale(&self, data: &DeviceData) -> Launch {
        self.launch(&self.undo_scale, data)
    }
}

/// Molecules, of which the long ones come first; and the number of these.
fn long_ones_first(molecules: &Molecules) -> (Vec<usize>, usize) {
    let mut lengths = vec![0usize; molecules.count()];
    molecules.of_atoms().iter().for_each(|molecule| lengths[*molecule as usize] += 1);
    let (long, others): (Vec<usize>, Vec<usize>) =
        (0..lengths.len()).partition(|molecule| lengths[*molecule] >= LONG_MOLECULE);
    let n_long = long.len();
    ([long, others].concat(), n_long)
}

/// Images, by id, by which atoms are away from the others of their molecules.
fn shifts(molecules: &Molecules, simbox: &SimBox, state: &State) -> Result<Vec<[i32; 3]>> {
    let arms = molecules.arms(simbox, state)?;
    let index_by_id = state.index_by_id();
    // Centre of each molecule from its first atom, and the image of that atom.
    let mut seen: Vec<Option<(Vec3, [i32; 3])>> = vec![None; molecules.count()];
    let mut shifts = vec![[0; 3]; state.len()];
    for ((id, index), molecule) in index_by_id.iter().enumerate().zip(molecules.of_atoms()) {
        let (r, image) = (state.position[index], state.image[index]);
        let center = Vec3::from_fn(|k| r[k] - arms[index][k]);
        let (first, base) = *seen[*molecule as usize].get_or_insert((center, image));
        // Centres of a molecule from different atoms are images of each other.
        let apart = simbox.to_fractional(Vector::from_fn(|k| simbox.origin()[k] + first[k] - center[k]));
        shifts[id] = std::array::from_fn(|k| base[k] - image[k] + apart[k].round() as i32);
    }
    Ok(shifts)
}
