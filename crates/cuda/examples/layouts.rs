//! Times of steps of typical workloads under different layouts, for the choice of the defaults: `layouts CASE
//! ATOMS:TEAM:SLOTS[:SKIN] ...`, CASE being `melt-N`, `rapaport-N` or `soft-N`.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Backend, DeviceReport, Evaluate, ForceEvaluation, Precision, RespaSchedule, Result, Settings, SimBox,
    Species, StepBatch, SubSteps, System, Thermostat,
};
use jostle_cuda::driver::Device;
use jostle_cuda::kernels::TileShape;
use jostle_cuda::{Cuda, Layout};
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::time::Instant;

/// Fcc crystal of at most `n` atoms with displaced, moving atoms.
fn crystal(n: usize, density: f64, temperature: f64) -> Result<System> {
    let cells = (n as f64 / 4.0).cbrt().round() as usize;
    let a = (4.0 / density).cbrt();
    let simbox = SimBox::orthorhombic([a * cells as f64; 3])?;
    let mut system = System::new(simbox, vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }]);
    for k in 0..cells.pow(3) {
        for shift in [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]] {
            let cell = [k % cells, k / cells % cells, k / cells / cells];
            let mut noise = Stream::new(1, Purpose::Placement, system.state.len() as u32, 0);
            let jitter = noise.normal3();
            let velocity = noise.normal3().map(|v| v * temperature.sqrt());
            let position = [0, 1, 2].map(|d| a * (cell[d] as f64 + shift[d] + 0.25) + 0.02 * jitter[d]);
            system.state.push(0, position);
            if let Some(last) = system.state.velocity.last_mut() {
                *last = velocity;
            }
        }
    }
    Ok(system)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or("melt-32000".into());
    let (kind, n) = case.split_once('-').unwrap_or(("melt", "32000"));
    let n: usize = n.parse().unwrap_or(32000);
    let uniform = |kind, cutoff| PairTerm::uniform(kind, Truncation::Plain, &[1.0, 1.0], cutoff);
    let (density, temperature, term) = match kind {
        "melt" => (0.8442, 2.0, uniform(PairKind::LennardJones, 2.5)),
        "rapaport" => (0.38, 1.5, uniform(PairKind::LennardJones, 3.0)),
        _ => (0.8, 1.6, uniform(PairKind::SoftSphere, 2f64.powf(1.0 / 6.0))),
    };
    let device = Device::open(0)?;
    for argument in arguments {
        let numbers: Vec<&str> = argument.split(':').collect();
        let number = |k: usize| numbers.get(k).and_then(|x: &&str| x.parse::<u32>().ok());
        let (Some(atoms), Some(team), Some(slots_per_look)) = (number(0), number(1), number(2)) else {
            continue;
        };
        let skin = numbers.get(3).and_then(|x| x.parse().ok());
        let precision = if numbers.get(4) == Some(&"double") { Precision::Double } else { Precision::Mixed };
        let layout = Layout { shape: TileShape::new(atoms, team), slots_per_look };
        let settings = Settings { skin, precision, ..Settings::default() };
        let system = crystal(n, density, temperature)?;
        let n = system.state.len();
        let mut gpu = Cuda::with_layout(device.clone(), system, vec![term.clone()], settings, layout)?;
        gpu.update_neighbors()?;
        gpu.compute_forces(Evaluate::ForcesAndEnergies)?;
        let start = gpu.energies().potential() + gpu.kinetic().unwrap().energy();
        let mut first_step = 1;
        let mut batch = |gpu: &mut Cuda, steps| {
            let batch = StepBatch {
                first_step,
                steps,
                timestep: 0.005,
                seed: 1,
                sample_every: 0,
                evaluate: Evaluate::Forces,
                long_range: RespaSchedule::ALWAYS,
            };
            first_step += steps;
            gpu.run_steps(&batch, &mut Thermostat::Isolated).map(|_| ())
        };
        let warm = Instant::now();
        while warm.elapsed().as_secs_f64() < 1.0 {
            batch(&mut gpu, 200)?;
        }
        let mut times = Vec::new();
        let before = gpu.neighbor_facts().builds;
        let (rounds, steps) = (7, (4e8 / n as f64) as u64 / 100 * 100 + 300);
        for _ in 0..rounds {
            let start = Instant::now();
            batch(&mut gpu, steps)?;
            times.push(start.elapsed().as_secs_f64() / steps as f64);
        }
        times.sort_by(f64::total_cmp);
        let facts = gpu.neighbor_facts();
        let per_build = (rounds * steps) as f64 / (facts.builds - before).max(1) as f64;
        gpu.compute_forces(Evaluate::ForcesAndEnergies)?;
        let kinetic = gpu.kinetic().unwrap().energy();
        let drift = (gpu.energies().potential() + kinetic - start) / n as f64;
        println!(
            "{case} {argument:16} {:9.0} steps/s  {:.4} ns/atom-step (best {:.4})  skin {:.3} steps/build {:.1} T {:.3} dE/N {:.1e} {:.0} B/atom",
            1.0 / times[rounds as usize / 2],
            1e9 * times[rounds as usize / 2] / n as f64,
            1e9 * times[0] / n as f64,
            facts.skin,
            per_build,
            kinetic / n as f64 / 1.5,
            drift,
            facts.bytes as f64 / n as f64,
        );
    }
    Ok(())
}
