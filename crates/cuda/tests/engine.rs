//! The GPU engine on the emulated device.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Backend, Bath, Evaluate, Leg, Precision, Settings, SimBox, Species, System};
use jostle_cuda::Cuda;
use jostle_cuda::driver::Device;
use jostle_potentials::{PairKind, PairTerm, Truncation};

/// A Lennard-Jones crystal at density 0.8442 with displaced, moving atoms.
fn melt(cells: usize) -> System {
    let a = (4.0f64 / 0.8442).cbrt();
    let simbox = SimBox::orthorhombic([a * cells as f64; 3]).unwrap();
    let mut system = System::new(simbox, vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }]);
    for k in 0..cells.pow(3) {
        for shift in [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]] {
            let cell = [k % cells, k / cells % cells, k / cells / cells];
            let mut noise = Stream::new(1, Purpose::Placement, system.state.len() as u32, 0);
            let jitter = noise.normal3();
            let velocity = noise.normal3();
            let position = [0, 1, 2].map(|d| a * (cell[d] as f64 + shift[d] + 0.25) + 0.05 * jitter[d]);
            system.state.push(0, position);
            *system.state.velocity.last_mut().unwrap() = velocity;
        }
    }
    system
}

fn lennard_jones() -> Vec<PairTerm> {
    vec![PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.5)]
}

#[test]
fn smoke() {
    let system = melt(8);
    let settings = Settings { skin: Some(0.3), ..Settings::default() };
    let mut gpu = Cuda::new(Device::emulated().unwrap(), system.clone(), lennard_jones(), settings).unwrap();
    let double = Settings { precision: Precision::Double, ..settings };
    let mut cpu = jostle_cpu::open(system, lennard_jones(), double).unwrap();
    for backend in [&mut gpu as &mut dyn Backend, &mut *cpu] {
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    }
    println!("{:?}\n{:?}", gpu.energies(), cpu.energies());
    println!("{:?}\n{:?}", gpu.kinetic(), cpu.kinetic());
    println!("{:?}", gpu.neighbor_facts());
    let leg = Leg {
        first_step: 1,
        steps: 20,
        timestep: 0.005,
        seed: 1,
        sample_every: 5,
        evaluate: Evaluate::Forces,
    };
    let samples = gpu.run_leg(&leg, &mut Bath::Isolated).unwrap().unwrap();
    for sample in &samples {
        println!("{} {}", sample.energies.potential(), sample.kinetic.energy());
    }
    println!("{:?}", gpu.neighbor_facts());
    for step in 1..=20 {
        cpu.kick_drift(0.005);
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        cpu.kick(0.0025);
        if step % 5 == 0 {
            println!("cpu {} {}", cpu.energies().potential(), cpu.kinetic().energy());
        }
    }
}
