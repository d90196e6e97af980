//! Smooth particle-mesh Ewald (`kernels/mesh.cu`).

use crate::arrays::Reals;
use crate::codegen;
use crate::driver::{Buffer, Device, Kernel, Launch, Word};
use crate::kernels::{self, Build};
use crate::search::When;
use crate::sums::Summation;
use crate::world::World;
use jostle_core::{Error, Evaluate, Precision, Result, SimBox, System};
use jostle_potentials::Electrostatics;
use jostle_potentials::electrostatics::spline::moduli;
use jostle_potentials::electrostatics::waves::reciprocal;
use jostle_potentials::electrostatics::{Method, mesh};
use std::f64::consts::PI;

/// Threads of a block, and atoms that it spreads, as in `mesh.cu`.
const THREADS: u32 = 128;
const ATOMS: u32 = THREADS / 32;
/// Shared memory that a block can have without asking, less what sums of energies take.
const SHARED: usize = 47 * 1024;
/// Lines that a block transforms at a time, if it has room for them.
const MOST_LINES: usize = 8;

/// What kernels are told: as in `mesh.cu`, field by field.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Points {
    volume: f64,
    reciprocal: [f64; 6],
    unit: f64,
    charge: u64,
    potential: u64,
    waves: u64,
    moduli: u64,
    turns: u64,
}

// SAFETY: numbers only, and no padding between them.
unsafe impl Word for Points {}

/// The splitting and the mesh, as asked for.
#[derive(Debug, Clone, Copy)]
struct Splitting {
    alpha: f64,
    order: usize,
    spacing: f64,
}

/// The mesh of a box, and the kernels for it.
pub struct Mesh {
    splitting: Splitting,
    precision: Precision,
    sums: Summation,
    n: [usize; 3],
    points: Points,
    kernels: Kernels,
    /// What the addresses in `points` belong to.
    charge: Buffer<i64>,
    reals: [Reals; 4],
}

struct Kernels {
    spread: Kernel,
    forward: [Kernel; 2],
    convolve: Kernel,
    energies: Kernel,
    backward: [Kernel; 2],
    gather: Kernel,
}

/// The kernels' source for a mesh of `n` points.
///
/// # Errors
/// If there are too many of them along an edge.
fn build(splitting: Splitting, n: [usize; 3], precision: Precision, sums: Summation) -> Result<Build> {
    let source = codegen::mesh_source(splitting.alpha, splitting.order, precision)
        + include_str!("../../kernels/fourier.cuh");
    let mut build = kernels::beside(&source, include_str!("../../kernels/mesh.cu"), precision, sums);
    for (axis, n) in ["X", "Y", "Z"].into_iter().zip(n) {
        build.options.push(format!("-DMESH_{axis}={n}"));
        build.options.push(format!("-DLINES_{axis}={}", lines(n, precision)?));
    }
    Ok(build)
}

/// The kernels' source for a method; `None` if it has no mesh.
///
/// # Errors
/// If there are too many points along an edge.
pub fn source(
    term: &Electrostatics,
    simbox: &SimBox,
    precision: Precision,
    sums: Summation,
) -> Result<Option<Build>> {
    let Method::Pme { alpha, order, spacing } = term.method else { return Ok(None) };
    build(Splitting { alpha, order, spacing }, mesh(simbox, order, spacing), precision, sums).map(Some)
}

/// How many lines of so many points a block has room for, twice.
fn lines(n: usize, precision: Precision) -> Result<usize> {
    let complex = match precision {
        Precision::Mixed => 8,
        Precision::Double => 16,
    };
    let lines = (SHARED / (2 * complex * (n + 1))).min(MOST_LINES);
    if lines == 0 {
        return Err(Error::input(format!("a mesh of {n} points along an edge is more than a GPU can have"))
            .hint("ask for less accuracy or a longer cut-off, or set device = \"cpu\""));
    }
    Ok(lines)
}

impl Mesh {
    /// The mesh of a system; `None` if its charges need none.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        term: &Electrostatics,
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        let Method::Pme { alpha, order, spacing } = term.method else { return Ok(None) };
        let splitting = Splitting { alpha, order, spacing };
        // Weights are not more than 1: whatever a point gets is less than all charges together, and
        // their rounding.
        let all: f64 = term.charges(system).iter().map(|q| q.abs()).sum();
        let unit = all.max(f64::MIN_POSITIVE).log2().ceil().max(-60.0).exp2() * (-61f64).exp2();
        Self::with_unit(device, &system.simbox, splitting, unit, precision, sums).map(Some)
    }

    fn with_unit(
        device: &Device,
        simbox: &SimBox,
        splitting: Splitting,
        unit: f64,
        precision: Precision,
        sums: Summation,
    ) -> Result<Self> {
        let n = mesh(simbox, splitting.order, splitting.spacing);
        let build = build(splitting, n, precision, sums)?;
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
        let [potential, waves, moduli, turns] = std::array::from_fn(|k| reals[k].address());
        let mut found = Mesh {
            splitting,
            precision,
            sums,
            n,
            points: Points {
                volume: 0.0,
                reciprocal: [0.0; 6],
                unit,
                charge: charge.address(),
                potential,
                waves,
                moduli,
                turns,
            },
            kernels: Kernels {
                spread: kernel("mesh_spread")?,
                forward: [kernel("mesh_forward_z")?, kernel("mesh_forward_y")?],
                convolve: kernel("mesh_convolve")?,
                energies: kernel("mesh_convolve_energies")?,
                backward: [kernel("mesh_backward_y")?, kernel("mesh_backward_z")?],
                gather: kernel("mesh_gather")?,
            },
            charge,
            reals,
        };
        found.measure(simbox);
        Ok(found)
    }

    /// Takes note of the box.
    fn measure(&mut self, simbox: &SimBox) {
        let [a, b, c] = reciprocal(simbox);
        self.points.volume = simbox.volume();
        self.points.reciprocal = [a[0], a[1], a[2], b[1], b[2], c[2]];
    }

    /// Follows a box that has changed; the mesh gets other points where it has to.
    ///
    /// # Errors
    /// If there is not enough memory for more points, or the kernels cannot be compiled.
    pub fn follow(&mut self, device: &Device, simbox: &SimBox) -> Result<()> {
        if mesh(simbox, self.splitting.order, self.splitting.spacing) == self.n {
            self.measure(simbox);
            return Ok(());
        }
        let unit = self.points.unit;
        *self = Self::with_unit(device, simbox, self.splitting, unit, self.precision, self.sums)?;
        Ok(())
    }

    fn launch(&self, kernel: &Kernel, blocks: u32, world: &World, slot: i32, when: When) -> Launch {
        let launch = Launch::new(kernel, blocks.max(1), THREADS).with_value(*world).with_value(self.points);
        launch.with_value(slot).with_value(when as i32)
    }

    /// How many blocks transform so many lines of `n` points.
    fn blocks(&self, count: usize, n: usize) -> u32 {
        // There is room for one at least, or there would be no kernels.
        count.div_ceil(lines(n, self.precision).unwrap_or(1)) as u32
    }

    /// From charges to waves and what they weigh; with energies, leaves shares of energy and virial.
    pub fn to_waves(&self, world: &World, slot: i32, when: When, evaluate: Evaluate) -> Vec<Launch> {
        let [x, y, z] = self.n;
        let convolve = match evaluate {
            Evaluate::Forces => &self.kernels.convolve,
            Evaluate::ForcesAndEnergies => &self.kernels.energies,
        };
        let [along_z, along_y] = &self.kernels.forward;
        vec![
            self.launch(&self.kernels.spread, (world.n as u32).div_ceil(ATOMS), world, slot, when),
            self.launch(along_z, self.blocks(x * y / 2, z), world, slot, when),
            self.launch(along_y, self.blocks(x * (z / 2 + 1), y), world, slot, when),
            self.launch(convolve, self.shares(), world, slot, when),
        ]
    }

    /// From waves to forces, which are added.
    pub fn to_forces(&self, world: &World, slot: i32, when: When) -> Vec<Launch> {
        let [x, y, z] = self.n;
        let [along_y, along_z] = &self.kernels.backward;
        vec![
            self.launch(along_y, self.blocks(x * (z / 2 + 1), y), world, slot, when),
            self.launch(along_z, self.blocks(x * y / 2, z), world, slot, when),
            self.launch(&self.kernels.gather, (world.n as u32).div_ceil(ATOMS), world, slot, when),
        ]
    }

    /// How many shares there are.
    pub fn shares(&self) -> u32 {
        let [x, y, z] = self.n;
        self.blocks(y * (z / 2 + 1), x)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        8 * self.charge.len() + self.reals.iter().map(Reals::bytes).sum::<usize>()
    }
}
