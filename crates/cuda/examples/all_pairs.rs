//! Times of steps of screened ions, all pairs, in tiles of different shapes, for the choice of the shapes:
//! `all_pairs IONS WARPS:ROWS:PARTS ...`. The ions are those of a dense plasma of carbon and oxygen with
//! `mixed` before the shapes, of one kind otherwise.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Algorithm, Backend, DeviceReport, Evaluate, ForceEvaluation, RespaSchedule, Result, Settings, SimBox,
    Species, StepBatch, SubSteps, System, Thermostat,
};
use jostle_cuda::driver::Device;
use jostle_cuda::{Cuda, PairShape};
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};

const CHARGES: [f64; 2] = [6.0, 8.0];

/// Ions on a distorted lattice, at one in a sphere of radius 1.
fn plasma(n: usize, kinds: usize) -> Result<System> {
    let edge = (n as f64 * 4.0 * std::f64::consts::PI / 3.0).cbrt();
    let species = (0..kinds).map(|k| Species { name: format!("ion{k}"), mass: 1.0, charge: CHARGES[k] });
    let mut system = System::new(SimBox::orthorhombic([edge; 3])?, species.collect());
    let cells = (n as f64).cbrt().ceil() as usize;
    for k in 0..n {
        let mut noise = Stream::new(1, Purpose::Placement, k as u32, 0);
        let jitter = noise.normal3();
        let cell = [k % cells, k / cells % cells, k / cells / cells];
        let position = [0, 1, 2].map(|d| edge / cells as f64 * (cell[d] as f64 + 0.5 + 0.05 * jitter[d]));
        system.state.push((k % kinds) as u16, position);
        if let Some(last) = system.state.velocity.last_mut() {
            *last = noise.normal3().map(|v| 0.1 * v);
        }
    }
    Ok(system)
}

fn repulsion(kinds: usize, cutoff: f64) -> Option<PairTerm> {
    let mut term = PairTerm::new(PairKind::from_name("yukawa")?, Truncation::ForceShifted, kinds);
    for (a, b) in (0..kinds).flat_map(|a| (a..kinds).map(move |b| (a, b))) {
        let amplitude = if kinds == 1 { 1.0 } else { CHARGES[a] * CHARGES[b] / 49.0 };
        term.set(a, b, PairEntry { parameters: vec![amplitude, 1.0], cutoff });
    }
    Some(term)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let n: usize = arguments.first().and_then(|n| n.parse().ok()).unwrap_or(27_648);
    let mut kinds = 1;
    let device = Device::open(0)?;
    let mut energy = None;
    for argument in arguments.iter().skip(1) {
        if argument == "mixed" {
            (kinds, energy) = (2, None);
            continue;
        }
        let shape: PairShape = argument.parse()?;
        let system = plasma(n, kinds)?;
        let Some(term) = repulsion(kinds, 0.4999 * system.simbox.lengths()[0]) else { break };
        let settings = Settings { algorithm: Algorithm::AllPairs, ..Settings::default() };
        let mut gpu = Cuda::new(device.clone(), system, vec![term], settings)?;
        gpu.set_pair_shape(shape)?;
        gpu.update_neighbors()?;
        gpu.compute_forces(Evaluate::ForcesAndEnergies)?;
        let start = gpu.energies().potential();
        let exact = *energy.get_or_insert(start);
        let mut first_step = 1;
        let mut batch = |gpu: &mut Cuda, steps| {
            let (timestep, evaluate) = (0.02, Evaluate::Forces);
            let batch = StepBatch {
                first_step,
                steps,
                timestep,
                seed: 1,
                sample_every: 0,
                evaluate,
                long_range: RespaSchedule::ALWAYS,
            };
            first_step += steps;
            gpu.run_steps(&batch, &mut Thermostat::Isolated).map(|_| ())
        };
        let total = start + gpu.kinetic().unwrap().energy();
        let steps = (3e10 / (n * n) as f64).clamp(100.0, 4000.0) as u64;
        for _ in 0..3 {
            batch(&mut gpu, steps)?;
        }
        let mut times = Vec::new();
        for _ in 0..5 {
            let before = device.now()?;
            batch(&mut gpu, steps)?;
            times.push(device.milliseconds(&before, &device.now()?)? / steps as f64);
        }
        times.sort_by(f64::total_cmp);
        gpu.compute_forces(Evaluate::ForcesAndEnergies)?;
        let drift = gpu.energies().potential() + gpu.kinetic().unwrap().energy() - total;
        println!(
            "{n:6} {kinds} {argument:8} {:.5} ms/step (best {:.5})  {:.3e} pairs/s  steps/build {:.0}  dU {:.1e} dE/N {:.1e}",
            times[2],
            times[0],
            0.5 * (n * n) as f64 / times[2] * 1e3,
            first_step as f64 / gpu.neighbor_facts().builds as f64,
            start / exact - 1.0,
            drift / n as f64,
        );
    }
    Ok(())
}
