//! Smooth particle-mesh Ewald (`kernels/mesh.cu`).

use super::box_change::BoxChange;
use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::exclusions::Exclusions;
use crate::kernels::{self, Build};
use crate::neighbor_engine::Trigger;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::{Error, Evaluate, Precision, Result, SimBox, System};
use jostle_potentials::electrostatics::reciprocal_space::reciprocal;
use jostle_potentials::electrostatics::spline::moduli;
use jostle_potentials::electrostatics::{Method, mesh};
use jostle_potentials::{LatticeSum, Spectrum};
use std::f64::consts::PI;

/// Number of threads of a block that transforms lines: as in `mesh.cu`, like all of these.
const THREADS: u32 = 128;
/// Number of threads of a block that spreads charges or gathers forces.
const SPREAD_THREADS: u32 = 256;
/// Number of atoms of such a block.
const SPREAD_ATOMS: u32 = 64;
/// Upper limit of the sum of the weights of a point, at every order.
const LARGEST_WEIGHT: f64 = 0.3;
/// Shared memory that a block can have without `allow_shared`, less that of sums of energies.
const SHARED: usize = 47 * 1024;
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
        /// Charges by x, y, z; always 0 before charges are spread.
        charge: u64 = "i64*",
        /// Potential by x, y, z.
        potential: u64 = "real*",
        /// Amplitudes of modes.
        modes: u64 = "Complex*",
        /// Moduli of the splines along x, then y, then z.
        moduli: u64 = "const real*",
        /// Roots of unity along x, then y, then z.
        turns: u64 = "const Complex*",
    }
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
}

/// Mesh of a box, and its kernels.
pub struct Mesh {
    form: MeshShape,
    n: [usize; 3],
    points: MeshArrays,
    kernels: MeshKernels,
    /// Memory to which the addresses in `points` point.
    charge: Buffer<i64>,
    reals: [Reals; 4],
}

struct MeshKernels {
    spread: Kernel,
    forward: [Kernel; 2],
    convolve: Kernel,
    energies: Kernel,
    backward: [Kernel; 2],
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
    let mut build =
        kernels::module_source(&source.concat(), include_str!("../../kernels/mesh.cu"), precision, sums);
    for (axis, n) in ["X", "Y", "Z"].into_iter().zip(n) {
        build.options.push(format!("-DMESH_{axis}={n}"));
        build.options.push(format!("-DLINES_{axis}={}", lines(n, precision)?));
    }
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
    let complex = match precision {
        Precision::Mixed => 8,
        Precision::Double => 16,
    };
    match (SHARED / (2 * complex * (n + 1))).min(MOST_LINES) {
        0 => Err(too_many(&format!("{n} points along an edge"))),
        lines => Ok(lines),
    }
}

fn too_many(points: &str) -> Error {
    Error::input(format!("a mesh of {points} is more than a GPU can have"))
        .hint("ask for less accuracy or a longer cut-off, or set device = \"cpu\"")
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
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        let Some(splitting) = Splitting::of(sum) else { return Ok(None) };
        let excluded_shares = match exclusions.is_empty() {
            true => 0,
            false => sums.shares(system.state.len(), SPREAD_ATOMS),
        };
        let unit = unit(&sum.strengths(system), precision);
        let form = MeshShape { sum: sum.clone(), splitting, unit, excluded_shares, precision, sums };
        Self::of_box(device, &system.simbox, form).map(Some)
    }

    fn of_box(device: &Device, simbox: &SimBox, form: MeshShape) -> Result<Self> {
        let MeshShape { splitting, unit, precision, sums, .. } = form;
        let n = splitting.mesh(simbox);
        let build = build(&form.sum, splitting, n, precision, sums)?;
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
        let mut found = Mesh {
            form,
            n,
            points: MeshArrays {
                volume: 0.0,
                reciprocal: [0.0; 6],
                unit,
                charge: charge.address(),
                potential,
                modes,
                moduli,
                turns,
            },
            kernels: MeshKernels {
                spread: kernel("mesh_spread")?,
                forward: [kernel("mesh_forward_z")?, kernel("mesh_forward_y")?],
                convolve: kernel("mesh_convolve")?,
                energies: kernel("mesh_convolve_energies")?,
                backward: [kernel("mesh_backward_y")?, kernel("mesh_backward_z")?],
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
        self.points.volume = simbox.volume();
        self.points.reciprocal = [a[0], a[1], a[2], b[1], b[2], c[2]];
    }

    /// Adapts the unit of strengths on the mesh to other strengths.
    pub fn fit_strengths(&mut self, strengths: &[f64]) {
        self.form.unit = unit(strengths, self.form.precision);
        self.points.unit = self.form.unit;
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

    fn launch(&self, kernel: &Kernel, blocks: u32, data: &DeviceData, slot: i32, trigger: Trigger) -> Launch {
        let launch = Launch::new(kernel, blocks.max(1), THREADS).with_value(*data).with_value(self.points);
        launch.with_value(slot).with_value(trigger as i32)
    }

    fn over_atoms(&self, kernel: &Kernel, data: &DeviceData, slot: i32, trigger: Trigger) -> Launch {
        let blocks = (data.n as u32).div_ceil(SPREAD_ATOMS).max(1);
        let launch = Launch::new(kernel, blocks, SPREAD_THREADS).with_value(*data).with_value(self.points);
        launch.with_value(slot).with_value(trigger as i32)
    }

    /// Number of blocks that transform so many lines of `n` points.
    fn blocks(&self, count: usize, n: usize) -> u32 {
        // Kernels exist only if there is memory for one line at least.
        count.div_ceil(lines(n, self.form.precision).unwrap_or(1)) as u32
    }

    /// Launches from charges to the reciprocal-space potential; with energies, shares of energy and virial
    /// are left, which `add_up` sums.
    pub fn reciprocal(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        add_up: impl Fn(u32) -> Launch,
    ) -> Vec<Launch> {
        let [x, y, z] = self.n;
        let MeshKernels { spread, forward, convolve, energies, backward, .. } = &self.kernels;
        let lines = |kernel, count, n| self.launch(kernel, self.blocks(count, n), data, slot, trigger);
        let (along_z, along_y, along_x) = (x * y / 2, x * (z / 2 + 1), y * (z / 2 + 1));
        let mut launches = vec![
            self.over_atoms(spread, data, slot, trigger),
            lines(&forward[0], along_z, z),
            lines(&forward[1], along_y, y),
        ];
        match evaluate {
            Evaluate::Forces => launches.push(lines(convolve, along_x, x)),
            Evaluate::ForcesAndEnergies => {
                launches.extend([lines(energies, along_x, x), add_up(self.blocks(along_x, x))]);
            }
        }
        launches.extend([lines(&backward[0], along_y, y), lines(&backward[1], along_z, z)]);
        launches
    }

    /// Launches from the potential to forces, including those of excluded charges, with `add_up` as in
    /// [`Mesh::reciprocal`]. `asked`: weight of long-range forces outside steps; `apart`: address at which forces
    /// are stored by themselves, 0 where they are added.
    pub fn forces(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        (asked, apart): (f64, u64),
        add_up: impl Fn(u32) -> Launch,
    ) -> Vec<Launch> {
        let over_atoms =
            |kernel| self.over_atoms(kernel, data, slot, trigger).with_value(asked).with_value(apart);
        if evaluate == Evaluate::Forces || self.form.excluded_shares == 0 {
            return vec![over_atoms(&self.kernels.gather)];
        }
        vec![over_atoms(&self.kernels.gather_energies), add_up(self.form.excluded_shares)]
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
