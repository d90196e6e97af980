//! Smooth particle-mesh Ewald (`kernels/mesh.cu`).

use super::box_change::BoxChange;
use super::planes::{self, PLANE_THREADS, PlaneKernels, SHARED, complex_bytes};
use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::{DeviceData, MOST_GPUS};
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::exchange::MeshWork;
use crate::exclusions::Exclusions;
use crate::kernels::{self, Build, Gpus};
use crate::neighbor_engine::Trigger;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::{Error, Evaluate, Precision, Result, SimBox, System};
use jostle_potentials::electrostatics::reciprocal_space::reciprocal;
use jostle_potentials::electrostatics::spline::moduli;
use jostle_potentials::electrostatics::{Method, mesh};
use jostle_potentials::{LatticeSum, Spectrum};
use std::f64::consts::PI;

/// Kernels of a mesh.
const KERNELS: &str =
    concat!(include_str!("../../kernels/mesh.cu"), include_str!("../../kernels/mesh_modes.cu"));
/// Number of threads of a block that transforms lines: as in `mesh.cu`, like all of these.
const THREADS: u32 = 128;
/// Number of threads of a block that spreads charges or gathers forces.
const SPREAD_THREADS: u32 = 256;
/// Number of atoms of such a block, which has a copy of the mesh around them if they are near each other.
pub const SPREAD_ATOMS: u32 = 64;
/// Upper limit of the sum of the weights of a point, at every order.
const LARGEST_WEIGHT: f64 = 0.3;
/// Most lines that a block transforms at a time.
const MOST_LINES: usize = 8;

shared_structure! {
    /// Mesh of charges and the modes of their potential.
    struct MeshArrays {
        volume: f64,
        /// Gradients of the fractional coordinates: xx, xy, xz, yy, yz, zz.
        reciprocal: [f64; 6],
        /// Unit of the charges on the mesh: a power of two, so large that sums of whole numbers do not overflow.
        unit: f64,
        /// Number of GPUs that divide the mesh, and of this one among them.
        gpus: i32,
        rank: i32,
        /// Charges by x, y, z, in the memory of each of these; always 0 before charges are spread.
        charge: [u64; MOST_GPUS] = "i64*",
        /// Potential by x, y, z.
        potential: [u64; MOST_GPUS] = "real*",
        /// Amplitudes of modes.
        modes: [u64; MOST_GPUS] = "Complex*",
        /// Moduli of the splines along x, then y, then z.
        moduli: u64 = "const real*",
        /// Roots of unity along x, then y, then z.
        turns: u64 = "const Complex*",
    }
}

/// Place of the forces of a mesh: as in `mesh.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForcesTo {
    /// Added to the forces of pairs.
    Forces = 0,
    /// The array for forces of meshes, while those of pairs are computed.
    MeshForces = 1,
}

/// How a mesh computes forces.
#[derive(Clone, Copy)]
pub struct MeshForces<'a> {
    pub work: &'a MeshWork,
    /// Weight of long-range forces in evaluations outside steps.
    pub weight: f64,
    pub to: ForcesTo,
    /// Number of the mesh: those with a lower one have left their forces in the array for them.
    pub number: usize,
}

/// Splitting and mesh of a method.
#[derive(Debug, Clone, Copy)]
struct Splitting {
    spectrum: Spectrum,
    order: usize,
    spacing: f64,
}

impl Splitting {
    /// Splitting of a method; `None` without a mesh.
    fn of(sum: &LatticeSum) -> Option<Self> {
        match sum.method() {
            Method::Pme { order, spacing, .. } => {
                Some(Splitting { spectrum: sum.spectrum()?, order, spacing })
            }
            _ => None,
        }
    }

    fn mesh(&self, simbox: &SimBox) -> [usize; 3] {
        mesh(simbox, self.order, self.spacing)
    }
}

/// Properties of a mesh that do not depend on the box.
#[derive(Debug, Clone)]
struct MeshShape {
    sum: LatticeSum,
    splitting: Splitting,
    unit: f64,
    /// Number of shares of the energies of excluded atoms; 0 without excluded atoms.
    excluded_shares: u32,
    precision: Precision,
    sums: Summation,
    gpus: Gpus,
}

/// Addresses of the arrays of a mesh that other GPUs use: charges, potential, modes.
pub type MeshAddresses = [u64; 3];

/// Mesh of a box, and its kernels.
pub struct Mesh {
    form: MeshShape,
    n: [usize; 3],
    /// Arrays of this GPU, which has all of the mesh.
    whole: MeshArrays,
    /// Arrays of all GPUs, each of which has a part of it; those of this one until the others are known.
    parts: MeshArrays,
    kernels: MeshKernels,
    /// Memory to which the addresses in `whole` point.
    charge: Buffer<i64>,
    reals: [Reals; 4],
}

struct MeshKernels {
    spread: Kernel,
    planes: PlaneKernels,
    convolve: Kernel,
    energies: Kernel,
    gather: Kernel,
    gather_energies: Kernel,
}

/// Source of the kernels for a mesh of `n` points.
///
/// # Errors
/// If there are too many points along an edge.
fn build(
    sum: &LatticeSum,
    splitting: Splitting,
    n: [usize; 3],
    precision: Precision,
    sums: Summation,
) -> Result<Build> {
    let source = [
        &codegen::mesh_source(splitting.spectrum, splitting.order, precision),
        &codegen::excluded_source(sum, precision),
        include_str!("../../kernels/excluded.cuh"),
        include_str!("../../kernels/fourier.cuh"),
        &MeshArrays::source(),
    ];
    let mut build = kernels::module_source(&source.concat(), KERNELS, precision, sums);
    for (axis, n) in ["X", "Y", "Z"].into_iter().zip(n) {
        build.options.push(format!("-DMESH_{axis}={n}"));
        build.options.push(format!("-DLINES_{axis}={}", lines(n, precision)?));
    }
    build.options.extend(planes::options(n, precision));
    let points: usize = n.iter().product();
    if points > i32::MAX as usize {
        return Err(too_many(&format!("{points} points")));
    }
    Ok(build)
}

/// Source of the kernels for a method; `None` without a mesh.
///
/// # Errors
/// If there are too many points along an edge.
pub fn source(
    sum: &LatticeSum,
    simbox: &SimBox,
    precision: Precision,
    sums: Summation,
) -> Result<Option<Build>> {
    let Some(splitting) = Splitting::of(sum) else { return Ok(None) };
    build(sum, splitting, splitting.mesh(simbox), precision, sums).map(Some)
}

/// Unit of strengths on the mesh. In single precision the atoms of a block are added up in 32 bits at each
/// point; in double precision all atoms are, in 64.
fn unit(strengths: &[f64], precision: Precision) -> f64 {
    let sizes = strengths.iter().map(|q| q.abs());
    let (most, bits) = match precision {
        Precision::Mixed => (f64::from(SPREAD_ATOMS) * sizes.fold(0.0, f64::max), 31.0),
        Precision::Double => (sizes.sum::<f64>(), 63.0),
    };
    (LARGEST_WEIGHT * most).log2().ceil().max(-60.0).exp2() * f64::exp2(-bits)
}

/// Number of lines of so many points for which a block has memory, twice.
fn lines(n: usize, precision: Precision) -> Result<usize> {
    match (SHARED / (2 * complex_bytes(precision) * (n + 1))).min(MOST_LINES) {
        0 => Err(too_many(&format!("{n} points along an edge"))),
        lines => Ok(lines),
    }
}

fn too_many(points: &str) -> Error {
    Error::input(format!("a mesh of {points} is more than a GPU can have"))
        .hint("ask for less accuracy or a longer cut-off, or set device = \"cpu\"")
}

/// Work of a GPU on a mesh in one evaluation.
struct Turn<'a> {
    data: &'a DeviceData,
    arrays: MeshArrays,
    /// Numbers of planes, columns and atoms.
    planes: usize,
    columns: usize,
    atoms: i32,
    slot: i32,
    trigger: Trigger,
}

impl Turn<'_> {
    fn launch(&self, kernel: &Kernel, blocks: u32, threads: u32) -> Launch {
        let launch = Launch::new(kernel, blocks, threads).with_value(*self.data).with_value(self.arrays);
        launch.with_value(self.slot).with_value(self.trigger as i32)
    }

    fn atom_blocks(&self) -> u32 {
        (self.atoms as u32).div_ceil(SPREAD_ATOMS).max(1)
    }

    fn over_atoms(&self, kernel: &Kernel) -> Launch {
        self.launch(kernel, self.atom_blocks(), SPREAD_THREADS)
    }
}

/// Address in the array of a mesh that one GPU has.
fn first(address: u64) -> [u64; MOST_GPUS] {
    let mut all = [0; MOST_GPUS];
    all[0] = address;
    all
}

impl Mesh {
    /// Mesh of a sum; `None` where the method has none.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        sum: &LatticeSum,
        exclusions: &Exclusions,
        (precision, sums): (Precision, Summation),
        gpus: Gpus,
    ) -> Result<Option<Self>> {
        let Some(splitting) = Splitting::of(sum) else { return Ok(None) };
        let excluded_shares = match exclusions.is_empty() {
            true => 0,
            false => sums.shares(system.state.len(), SPREAD_ATOMS),
        };
        let unit = unit(&sum.strengths(system), precision);
        let form = MeshShape { sum: sum.clone(), splitting, unit, excluded_shares, precision, sums, gpus };
        Self::of_box(device, &system.simbox, form).map(Some)
    }

    fn of_box(device: &Device, simbox: &SimBox, form: MeshShape) -> Result<Self> {
        let MeshShape { splitting, unit, precision, sums, gpus, .. } = form;
        let n = splitting.mesh(simbox);
        let build = build(&form.sum, splitting, n, precision, sums)?.for_gpus(gpus);
        let module = device.compile("mesh.cu", &build.source, &build.options)?;
        let kernel = |name: &str| module.kernel(name);
        let turn = |k: usize, n: usize| {
            let (sin, cos) = (2.0 * PI * k as f64 / n as f64).sin_cos();
            [cos, -sin]
        };
        let turns: Vec<f64> = n.into_iter().flat_map(|n| (0..n).flat_map(move |k| turn(k, n))).collect();
        let moduli: Vec<f64> = n.into_iter().flat_map(|n| moduli(splitting.order, n)).collect();
        let [x, y, z] = n;
        let charge = device.alloc(x * y * z)?;
        charge.clear()?;
        let reals = [
            Reals::alloc(device, precision, x * y * z)?,
            Reals::alloc(device, precision, 2 * x * y * (z / 2 + 1))?,
            Reals::upload(device, precision, &moduli)?,
            Reals::upload(device, precision, &turns)?,
        ];
        let [potential, modes, moduli, turns] = std::array::from_fn(|k| reals[k].address());
        let whole = MeshArrays {
            volume: 0.0,
            reciprocal: [0.0; 6],
            unit,
            gpus: 1,
            rank: 0,
            charge: first(charge.address()),
            potential: first(potential),
            modes: first(modes),
            moduli,
            turns,
        };
        let mut found = Mesh {
            form,
            n,
            whole,
            parts: whole,
            kernels: MeshKernels {
                spread: kernel("mesh_spread")?,
                planes: PlaneKernels::new(&module, planes::fit(n, precision))?,
                convolve: kernel("mesh_convolve")?,
                energies: kernel("mesh_convolve_energies")?,
                gather: kernel("mesh_gather")?,
                gather_energies: kernel("mesh_gather_energies")?,
            },
            charge,
            reals,
        };
        found.measure(simbox);
        Ok(found)
    }

    /// Stores the volume and the reciprocal vectors of the box.
    fn measure(&mut self, simbox: &SimBox) {
        let [a, b, c] = reciprocal(simbox);
        for arrays in [&mut self.whole, &mut self.parts] {
            arrays.volume = simbox.volume();
            arrays.reciprocal = [a[0], a[1], a[2], b[1], b[2], c[2]];
        }
    }

    /// Addresses of the arrays of this GPU.
    pub fn addresses(&self) -> MeshAddresses {
        [self.whole.charge[0], self.whole.potential[0], self.whole.modes[0]]
    }

    /// Takes the addresses of the arrays of all GPUs, of which this one has the number `rank`.
    pub fn set_peers(&mut self, rank: usize, all: &[MeshAddresses]) {
        (self.parts.rank, self.parts.gpus) = (rank as i32, all.len() as i32);
        for (gpu, [charge, potential, modes]) in all.iter().enumerate() {
            self.parts.charge[gpu] = *charge;
            self.parts.potential[gpu] = *potential;
            self.parts.modes[gpu] = *modes;
        }
    }

    /// Bytes of amplitudes that this GPU sends each time.
    pub fn bytes_sent(&self) -> f64 {
        let [x, y, z] = self.n;
        let (gpus, modes) = (f64::from(self.parts.gpus), (x * y * (z / 2 + 1)) as f64);
        2.0 * complex_bytes(self.form.precision) as f64 * modes / gpus * (1.0 - 1.0 / gpus)
    }

    /// Adapts the unit of strengths on the mesh to other strengths.
    pub fn fit_strengths(&mut self, strengths: &[f64]) {
        self.form.unit = unit(strengths, self.form.precision);
        (self.whole.unit, self.parts.unit) = (self.form.unit, self.form.unit);
    }

    /// Adapts to a box that has changed; the mesh gets other points where necessary.
    ///
    /// # Errors
    /// If there is not enough memory for more points, or the kernels cannot be compiled.
    pub fn follow(&mut self, device: &Device, simbox: &SimBox) -> Result<BoxChange> {
        if self.form.splitting.mesh(simbox) == self.n {
            self.measure(simbox);
            return Ok(BoxChange::AsItWas);
        }
        *self = Self::of_box(device, simbox, self.form.clone())?;
        Ok(BoxChange::Anew)
    }

    /// Work of this GPU, all of it or its part.
    fn turn<'a>(&self, data: &'a DeviceData, slot: i32, trigger: Trigger, work: &MeshWork) -> Turn<'a> {
        let [x, y, z] = self.n;
        let columns = y * (z / 2 + 1);
        match work {
            MeshWork::Whole => {
                Turn { data, arrays: self.whole, planes: x, columns, atoms: data.n, slot, trigger }
            }
            MeshWork::Part(_) => {
                let [gpus, rank] = [self.parts.gpus as usize, self.parts.rank as usize];
                let part = |n: usize| n * (rank + 1) / gpus - n * rank / gpus;
                let atoms = data.owned.end - data.owned.first;
                let (planes, columns) = (part(x), part(columns));
                Turn { data, arrays: self.parts, planes, columns, atoms, slot, trigger }
            }
        }
    }

    /// Number of blocks that transform so many lines of `n` points.
    fn blocks(&self, count: usize, n: usize) -> u32 {
        // Kernels exist only if there is memory for one line at least.
        count.div_ceil(lines(n, self.form.precision).unwrap_or(1)).max(1) as u32
    }

    /// Launches from charges to the reciprocal-space potential; with energies, shares of energy and virial
    /// are left, which `add_up` sums.
    pub fn reciprocal(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        work: &MeshWork,
        add_up: impl Fn(u32) -> Launch,
    ) -> Vec<Launch> {
        let [x, y, z] = self.n;
        let MeshKernels { spread, planes, convolve, energies, .. } = &self.kernels;
        let turn = self.turn(data, slot, trigger, work);
        let lines = |kernel, count, n| turn.launch(kernel, self.blocks(count, n), THREADS);
        let (along_z, along_y, along_x) = (turn.planes * y / 2, turn.planes * (z / 2 + 1), turn.columns);
        let mut launches = vec![turn.over_atoms(spread)];
        launches.extend(work.all_have());
        let whole = |kernel| turn.launch(kernel, turn.planes.max(1) as u32, PLANE_THREADS);
        let [there, back] = match planes {
            PlaneKernels::Whole([forward, backward]) => [vec![whole(forward)], vec![whole(backward)]],
            PlaneKernels::Lines([forward, backward]) => [
                vec![lines(&forward[0], along_z, z), lines(&forward[1], along_y, y)],
                vec![lines(&backward[0], along_y, y), lines(&backward[1], along_z, z)],
            ],
        };
        launches.extend(there);
        launches.extend(work.all_have());
        match evaluate {
            Evaluate::Forces => launches.push(lines(convolve, along_x, x)),
            Evaluate::ForcesAndEnergies => {
                launches.extend([lines(energies, along_x, x), add_up(self.blocks(along_x, x))]);
            }
        }
        launches.extend(work.all_have());
        launches.extend(back);
        launches.extend(work.all_have());
        launches
    }

    /// Launches from the potential to forces, including those of excluded charges, with `add_up` as in
    /// [`Mesh::reciprocal`].
    pub fn forces(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        how: MeshForces,
        add_up: impl Fn(u32) -> Launch,
    ) -> Vec<Launch> {
        let turn = self.turn(data, slot, trigger, how.work);
        let gather = |kernel| {
            let launch = turn.over_atoms(kernel).with_value(how.weight);
            launch.with_value(how.to as i32).with_value(how.number as i32)
        };
        if evaluate == Evaluate::Forces || self.form.excluded_shares == 0 {
            return vec![gather(&self.kernels.gather)];
        }
        let shares = match how.work {
            MeshWork::Whole => self.form.excluded_shares,
            MeshWork::Part(_) => turn.atom_blocks(),
        };
        vec![gather(&self.kernels.gather_energies), add_up(shares)]
    }

    /// Largest number of shares that are left at a time.
    pub fn shares(&self) -> u32 {
        let [x, y, z] = self.n;
        self.blocks(y * (z / 2 + 1), x).max(self.form.excluded_shares)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        8 * self.charge.len() + self.reals.iter().map(Reals::bytes).sum::<usize>()
    }
}
