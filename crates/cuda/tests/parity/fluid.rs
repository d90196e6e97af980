//! Fluids of the tests, and how they are moved and compared.

use super::device::{self, Size};
use jostle_core::backend::StageTime;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Algorithm, Backend, Evaluate, Sample, SimBox, Species, State, StepBatch, System, Thermostat, Vec3, Vector,
};
use jostle_engine::step::{StepContext, step};
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};

/// Box of a fluid, and its open axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Orthorhombic,
    Triclinic,
    /// Open along z.
    Slab,
    /// Open along all axes.
    Droplet,
    /// Periodic, hardly wider than two cut-offs, and narrower than two reaches of a list.
    Narrow,
}

pub const SHAPES: [Shape; 5] =
    [Shape::Orthorhombic, Shape::Triclinic, Shape::Slab, Shape::Droplet, Shape::Narrow];

/// Longest cut-off of any pair of species in [`terms`].
pub const LONGEST_CUTOFF: f64 = 2.64;

/// Skin that is so short that lists are rebuilt within some steps.
pub const SKIN: f64 = 0.08;

/// Distorted lattice of moving atoms, with their centre of mass at rest; as small as the algorithm allows
/// where computing is slow.
pub fn system(shape: Shape, algorithm: Algorithm, n_species: usize) -> System {
    let spacing = 1.08;
    let cells: [u32; 3] = match (shape, device::size(), algorithm) {
        (Shape::Narrow, ..) => [5; 3],
        (_, Size::Small, Algorithm::Auto | Algorithm::Tiles) => [14, 13, 13],
        (_, Size::Small, _) => [8, 7, 6],
        (_, Size::Large, _) => [24, 22, 30],
    };
    let lengths = cells.map(|n| f64::from(n) * spacing);
    let tilts = if let Shape::Triclinic = shape { [0.8, -0.5, 1.1] } else { [0.0; 3] };
    let periodic = match shape {
        Shape::Orthorhombic | Shape::Triclinic | Shape::Narrow => [true; 3],
        Shape::Slab => [true, true, false],
        Shape::Droplet => [false; 3],
    };
    let simbox = SimBox::new([-1.0, 2.0, 0.5], lengths, tilts, periodic).unwrap();
    assert!(simbox.largest_cutoff() > LONGEST_CUTOFF);
    let species =
        [("A", 1.0), ("B", 2.5)].map(|(name, mass)| Species { name: name.into(), mass, charge: 0.0 });
    let mut system = System::new(simbox, species[..n_species].to_vec());
    let mut random = Stream::new(5, Purpose::Placement, 0, 0);
    for i in 0..cells[0] {
        for j in 0..cells[1] {
            for k in 0..cells[2] {
                let site = [(i, cells[0]), (j, cells[1]), (k, cells[2])]
                    .map(|(i, n)| (f64::from(i) + 0.5 + 0.24 * (random.uniform() - 0.5)) / f64::from(n));
                let position = system.simbox.to_cartesian(Vector(site));
                system.state.push(random.below(n_species) as u16, position);
            }
        }
    }
    for v in &mut system.state.velocity {
        *v = random.normal3();
    }
    let (mut mass, mut momentum) = (0.0, Vec3::ZERO);
    for (index, v) in system.state.velocity.iter().enumerate() {
        mass += system.mass(index);
        momentum += system.mass(index) * *v;
    }
    for v in &mut system.state.velocity {
        *v -= momentum / mass;
    }
    system
}

/// Example parameters, a little different for each pair of species.
pub fn term(kind: PairKind, truncation: Truncation, n_species: usize) -> PairTerm {
    let mut term = PairTerm::new(kind, truncation, n_species);
    for (a, b, factor) in [(0, 0, 1.0), (0, 1, 1.05), (1, 1, 1.1)] {
        if b < n_species {
            let parameters: Vec<f64> = kind.parameters().iter().map(|p| p.example * factor).collect();
            let cutoff = kind.natural_cutoff(&parameters).unwrap_or(LONGEST_CUTOFF / 1.1 * factor);
            term.set(a, b, PairEntry { parameters, cutoff });
        }
    }
    term
}

/// Makes the steps of a batch by single methods of the backend, which it tells the time from the beginning of the batch.
pub fn advance(backend: &mut dyn Backend, batch: &StepBatch, thermostat: &mut Thermostat) -> Vec<Sample> {
    let mut samples = Vec::new();
    for k in 1..=batch.steps {
        let sampled = batch.sample_every > 0 && k % batch.sample_every == 0;
        let last = if k == batch.steps { batch.evaluate } else { Evaluate::Forces };
        let evaluate = if sampled { Evaluate::ForcesAndEnergies } else { last };
        let context = StepContext {
            seed: batch.seed,
            step: batch.first_step + k - 1,
            timestep: batch.timestep,
            long_range_weight: batch.long_range.after(k),
        };
        backend.set_time(StageTime { start: 0.0, timestep: batch.timestep, steps: k }).unwrap();
        step(backend, thermostat, &context, evaluate).unwrap();
        if sampled {
            let (energies, kinetic) = (backend.energies().clone(), backend.kinetic().unwrap());
            samples.push(Sample { energies, kinetic, thermostat: thermostat.clone(), biases: None });
        }
    }
    samples
}

/// Makes the steps of a batch by the device's own loop, from time 0 on.
pub fn run(backend: &mut dyn Backend, batch: &StepBatch, thermostat: &mut Thermostat) -> Vec<Sample> {
    backend.set_time(StageTime { start: 0.0, timestep: batch.timestep, steps: 0 }).unwrap();
    let samples = backend.run_steps(batch, thermostat).unwrap();
    samples.unwrap_or_else(|| advance(backend, batch, thermostat))
}

/// Atoms in the order of ids, with unwrapped positions.
pub fn by_id(backend: &mut dyn Backend) -> State {
    let mut state = backend.state().unwrap().clone();
    state.sort_by_id();
    let simbox = *backend.simbox();
    for (position, image) in state.position.iter_mut().zip(&state.image) {
        let shift = simbox.shift(*image);
        *position += shift;
    }
    state
}

pub fn norm(v: Vec3) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub fn distance(a: Vec3, b: Vec3) -> f64 {
    norm(a - b)
}

pub fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}
