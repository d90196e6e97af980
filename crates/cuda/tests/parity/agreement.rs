//! Energies, virials and forces, and then the paths of the atoms, for every potential, truncation, box,
//! thermostat, algorithm and precision. The line that registers a new potential adds it to these tests.

use super::device::{Size, size};
use super::fluid::{SHAPES, SKIN, Shape, advance, by_id, distance, largest, norm, run, system, term};
use super::gpus::on_gpu;
use super::{ALGORITHMS, PRECISIONS};
use jostle_core::thermostat::{
    Conditions, MOST_PARAMETERS, Quantity, SubStep, Target, ThermostatInput, ThermostatKind,
};
use jostle_core::{
    Algorithm, Backend, Dimension, Energies, Evaluate, Precision, RespaSchedule, Sample, Settings, State,
    StepBatch, SymTensor, System, Thermostat, Vec3, Vector,
};
use jostle_potentials::{PairKind, PairTerm, Truncation};

const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Plain,
    Truncation::Shifted,
    Truncation::ForceShifted,
    Truncation::Switched { from: 0.8 },
    Truncation::CharmmSwitched { from: 0.8 },
];

/// No thermostat, and every one that leaves pairs alone: noise of pairs has tests of its own.
fn thermostats() -> Vec<Option<ThermostatKind>> {
    let kinds = ThermostatKind::ALL.iter().copied();
    let alone = kinds.filter(|kind| !kind.step().contains(&SubStep::PairNoise));
    std::iter::once(None).chain(alone.map(Some)).collect()
}

/// Forces, box, settings and thermostat of a case.
struct Case {
    shape: Shape,
    n_species: usize,
    terms: Vec<PairTerm>,
    algorithm: Algorithm,
    precision: Precision,
    thermostat: Option<ThermostatKind>,
}

/// Reference and device.
type Both = [Box<dyn Backend>; 2];

const TIMESTEP: f64 = 0.001;

/// Factor of a force in the change of velocities in a descent, and longest displacement of its steps.
const ALONG: f64 = 0.01;
const DRIFT: f64 = 0.01;

/// Tolerances of the device. The steps are so few that rounding errors of forces do not grow by chaos.
struct Tolerance {
    /// Tolerance of energies, relative to energy and virial.
    energy: f64,
    /// Tolerance of the median of forces, each relative to itself.
    force: f64,
    /// Tolerance of energies along a run, relative to their parts.
    run: f64,
    /// Tolerance of positions after a run.
    position: f64,
    /// Tolerance of velocities after a run.
    velocity: f64,
}

impl Case {
    fn name(&self) -> String {
        let terms: Vec<String> =
            self.terms.iter().map(|t| format!("{} {}", t.potential.name(), t.truncation.name())).collect();
        let Case { shape, n_species, algorithm, precision, thermostat, .. } = self;
        format!(
            "{}, {n_species} species, {shape:?}, {algorithm:?}, {precision:?}, {thermostat:?}",
            terms.join(" + ")
        )
    }

    fn tolerance(&self) -> Tolerance {
        match self.precision {
            Precision::Mixed => {
                Tolerance { energy: 1e-6, force: 3e-6, run: 5e-6, position: 1e-5, velocity: 2e-4 }
            }
            Precision::Double => {
                Tolerance { energy: 1e-12, force: 1e-12, run: 1e-10, position: 1e-11, velocity: 1e-9 }
            }
        }
    }

    /// Jump of forces where a pair crosses the cut-offs: rounding decides on which side of them it is.
    fn jump(&self) -> f64 {
        let jumps = self.terms.iter().map(|term| {
            let entry = term.get(0, 0).unwrap();
            let coefficients = term.coefficients(0, 0).unwrap();
            let r = entry.cutoff * (1.0 - 1e-12);
            r * term.evaluate(r * r, &coefficients).1.abs()
        });
        match self.precision {
            Precision::Mixed => jumps.sum(),
            Precision::Double => 0.0,
        }
    }

    fn system(&self) -> System {
        system(self.shape, self.algorithm, self.n_species)
    }

    fn settings(&self) -> Settings {
        let Case { algorithm, precision, .. } = *self;
        Settings { algorithm, precision, skin: Some(SKIN), ..Settings::default() }
    }

    fn open(&self) -> Box<dyn Backend> {
        on_gpu(self.system(), self.terms.clone(), self.settings())
    }

    fn reference(&self) -> Box<dyn Backend> {
        let settings = Settings { precision: Precision::Double, skin: Some(SKIN), ..Settings::default() };
        jostle_cpu::open(self.system(), self.terms.clone(), settings).unwrap()
    }

    fn thermostat(&self) -> Thermostat {
        let degrees_of_freedom = 3 * self.system().state.len() - 3;
        let target = Target { thermal_energy: 0.9, degrees_of_freedom };
        let Some(kind) = self.thermostat else { return Thermostat::Isolated };
        let stage = Conditions { target, timestep: TIMESTEP, start: 100 };
        // Atoms start far from equilibrium, hard ones reach ten times the temperature: periods are long.
        let mut parameters = [0.0; MOST_PARAMETERS];
        for (value, parameter) in parameters.iter_mut().zip(kind.parameters()) {
            let is_period = parameter.quantity == Quantity::Measured(Dimension::TIME);
            *value = if is_period { 2.0 * parameter.example } else { parameter.example };
        }
        ThermostatInput::new(kind, target.thermal_energy, parameters).begin(&stage)
    }

    /// Returns true for cases that are computed: tiles need some space around them, and where they have it
    /// `auto` means tiles.
    fn is_worthwhile(&self) -> bool {
        match self.algorithm {
            Algorithm::Auto => matches!(self.shape, Shape::Narrow),
            Algorithm::Tiles => !matches!(self.shape, Shape::Narrow),
            _ => true,
        }
    }

    fn check(&self) {
        if !self.is_worthwhile() {
            return;
        }
        let mut both: Both = [self.reference(), self.open()];
        let mut thermostats = [self.thermostat(), self.thermostat()];
        for backend in &mut both {
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        }
        let with_energies = self.check_forces("at first", &mut both);
        // Relative precision of sums over pairs of either sign is that of their parts.
        let parts: f64 = with_energies.iter().map(|f| norm(*f)).sum();
        self.check_energies(parts, both[0].energies(), both[1].energies());
        both[1].compute_forces(Evaluate::Forces).unwrap();
        let without = self.check_forces("without energies", &mut both);
        assert!(with_energies == without, "{}: without energies a force differs", self.name());

        let batch = StepBatch {
            first_step: 101,
            steps: 36,
            timestep: TIMESTEP,
            seed: 7,
            sample_every: 12,
            evaluate: Evaluate::ForcesAndEnergies,
            long_range: RespaSchedule::ALWAYS,
        };
        let exact_samples = advance(&mut *both[0], &batch, &mut thermostats[0]);
        let samples = run(&mut *both[1], &batch, &mut thermostats[1]);
        assert_eq!(samples.len(), 3);
        assert!(both[1].neighbor_facts().builds > 1, "{}: there is nothing but the first list", self.name());
        for (k, (a, b)) in exact_samples.iter().zip(&samples).enumerate() {
            self.check_sample(&format!("sample {k}"), a, b);
        }
        self.check_paths("after a batch", &mut both, &thermostats);

        // Single methods of the backend, and a batch without samples after them.
        let next = StepBatch { first_step: 137, steps: 4, sample_every: 0, ..batch };
        for (backend, thermostat) in both.iter_mut().zip(&mut thermostats) {
            advance(&mut **backend, &next, thermostat);
        }
        self.check_paths("after single steps", &mut both, &thermostats);
        let last = StepBatch { first_step: 141, steps: 5, ..next };
        advance(&mut *both[0], &last, &mut thermostats[0]);
        run(&mut *both[1], &last, &mut thermostats[1]);
        self.check_paths("after a second batch", &mut both, &thermostats);
        self.check_descent(&mut both);
    }

    /// Compares the energies of one evaluation; `parts` is the sum of the sizes of all forces, at
    /// distances near one.
    fn check_energies(&self, parts: f64, exact: &Energies, found: &Energies) {
        let scale: f64 = exact.terms.iter().map(|e| e.abs()).sum::<f64>() + parts;
        let tolerance = self.tolerance().energy * scale;
        assert_eq!(exact.terms.len(), found.terms.len(), "{}", self.name());
        for (a, b) in exact.terms.iter().zip(&found.terms) {
            assert!((a - b).abs() < tolerance, "{}: energy {b} is not {a}", self.name());
        }
        for (a, b) in exact.virial.iter().zip(&found.virial) {
            assert!((a - b).abs() < tolerance, "{}: virial {b} is not {a}", self.name());
        }
    }

    /// Compares forces; those of the device, in the order of ids.
    fn check_forces(&self, when: &str, both: &mut Both) -> Vec<Vec3> {
        let [exact, found] = both.each_mut().map(|backend| by_id(&mut **backend).force);
        let mut relative: Vec<f64> = exact
            .iter()
            .zip(&found)
            .map(|(a, b)| distance(*a, *b) / norm(*a).max(f64::MIN_POSITIVE))
            .collect();
        relative.sort_by(f64::total_cmp);
        let median = relative[relative.len() / 2];
        assert!(median < self.tolerance().force, "{}, {when}: median force error {median:e}", self.name());
        let rms = (exact.iter().map(|f| norm(*f).powi(2)).sum::<f64>() / exact.len() as f64).sqrt();
        let worst = largest(exact.iter().zip(&found).map(|(a, b)| distance(*a, *b))) / rms;
        let bound = 100.0 * self.tolerance().force;
        assert!(worst < bound, "{}, {when}: a force is wrong by {worst:e} of the rms", self.name());
        found
    }

    fn check_sample(&self, when: &str, exact: &Sample, found: &Sample) {
        let tolerance = self.tolerance().run;
        let energies = |sample: &Sample| {
            let Sample { energies, kinetic, thermostat, .. } = sample;
            let virial = energies.virial.iter().map(|w| w.abs()).sum::<f64>();
            (energies.potential(), kinetic.energy(), thermostat.heat().unwrap_or(0.0), virial)
        };
        let (a, b) = (energies(exact), energies(found));
        let scale = a.0.abs() + a.1 + a.3;
        for (what, x, y) in [("potential", a.0, b.0), ("kinetic", a.1, b.1), ("heat", a.2, b.2)] {
            let name = self.name();
            assert!((x - y).abs() < tolerance * scale, "{name}, {when}: {what} energy {y} is not {x}");
        }
        let apart = |a: &SymTensor, b: &SymTensor| largest(a.iter().zip(b).map(|(x, y)| x - y));
        let virial = apart(&exact.energies.virial, &found.energies.virial);
        let kinetic = apart(&exact.kinetic.tensor, &found.kinetic.tensor);
        assert!(virial < tolerance * scale, "{}, {when}: virial is wrong by {virial}", self.name());
        assert!(kinetic < tolerance * scale, "{}, {when}: kinetic tensor is wrong by {kinetic}", self.name());
        // Langevin's thermostat alone moves the centre of mass.
        let momentum = distance(exact.kinetic.momentum, found.kinetic.momentum);
        let total = (self.n_atoms() as f64).sqrt();
        assert!(momentum < tolerance * total, "{}, {when}: momentum is wrong by {momentum:e}", self.name());
    }

    fn check_paths(&self, when: &str, both: &mut Both, thermostats: &[Thermostat; 2]) {
        let [a, b] = both.each_mut().map(|backend| by_id(&mut **backend));
        assert_eq!((&a.id, &a.species), (&b.id, &b.species), "{}, {when}", self.name());
        self.check_states(when, &a, &b, 0.0);
        let [a, b] = both.each_mut().map(|backend| (backend.energies().clone(), backend.kinetic().unwrap()));
        let sample = |(energies, kinetic), thermostat: &Thermostat| Sample {
            energies,
            kinetic,
            thermostat: thermostat.clone(),
            biases: None,
        };
        self.check_sample(when, &sample(a, &thermostats[0]), &sample(b, &thermostats[1]));
    }

    /// Compares the results of a run; `fresh` is the change of velocities by the last forces, with the drifts
    /// since then.
    fn check_states(&self, when: &str, a: &State, b: &State, fresh: f64) {
        let Tolerance { position, velocity, .. } = self.tolerance();
        for (what, a, b, tolerance) in [
            ("position", &a.position, &b.position, position + DRIFT * fresh),
            ("velocity", &a.velocity, &b.velocity, velocity + fresh),
        ] {
            let worst = largest(a.iter().zip(b).map(|(a, b)| distance(*a, *b)));
            assert!(worst < tolerance, "{}, {when}: a {what} is off by {worst:e}", self.name());
        }
    }

    /// Methods of the backend that minimisers and the beginnings of stages use.
    fn check_descent(&self, both: &mut Both) {
        let [a, b] = both.each_mut().map(|backend| {
            backend.mix_velocities(0.7, ALONG).unwrap();
            backend.scale_velocities(0.9).unwrap();
            backend.shift_velocities(Vector([0.1, -0.2, 0.3])).unwrap();
            let descent = backend.descent().unwrap();
            backend.drift(DRIFT).unwrap();
            let [p, ff, vv] = [descent.power, descent.force_square, descent.velocity_square];
            ([p, ff, vv, descent.largest_force, descent.largest_speed], by_id(&mut **backend))
        });
        for (x, y) in a.0.iter().zip(b.0) {
            let tolerance = self.tolerance().velocity * x.abs();
            assert!((x - y).abs() < tolerance, "{}: {y} of a descent is not {x}", self.name());
        }
        self.check_states("after a descent", &a.1, &b.1, ALONG * self.jump());
    }

    fn n_atoms(&self) -> usize {
        self.system().state.len()
    }
}

/// Cyclic sequence of the elements of a list.
fn cycle<T: Copy>(list: &[T], k: usize) -> T {
    list[k % list.len()]
}

/// Every potential; its truncations act together, because each set of forces compiles kernels of its own.
#[test]
fn every_potential_and_truncation() {
    let mut k = 0;
    for &kind in PairKind::ALL {
        for precision in PRECISIONS {
            let n_species = 1 + (k / 2 + k) % 2;
            let terms = TRUNCATIONS.map(|truncation| term(kind, truncation, n_species)).to_vec();
            let shape = cycle(&SHAPES, k / 2);
            let algorithm = match shape {
                Shape::Narrow => Algorithm::Auto,
                _ => cycle(&ALGORITHMS[1..], k),
            };
            let thermostat = cycle(&thermostats(), k);
            Case { shape, n_species, terms, algorithm, precision, thermostat }.check();
            k += 1;
        }
    }
}

/// Precisions of a case: both on a GPU, and one in turn on the emulation, which takes far longer. Any two properties
/// are still tested together, not any three.
fn precisions(turn: usize) -> Vec<Precision> {
    match size() {
        Size::Large => PRECISIONS.to_vec(),
        Size::Small => vec![cycle(&PRECISIONS, turn)],
    }
}

#[test]
fn every_algorithm_in_every_box() {
    let mut k = 0;
    for (row, algorithm) in ALGORITHMS.into_iter().enumerate() {
        for (column, shape) in SHAPES.into_iter().enumerate() {
            for precision in precisions(row + column) {
                let terms = vec![term(PairKind::LennardJones, Truncation::ForceShifted, 1)];
                let thermostat = cycle(&thermostats(), k);
                Case { shape, n_species: 1, terms, algorithm, precision, thermostat }.check();
                k += 1;
            }
        }
    }
}

/// Box that changes its shape in the middle of a run.
#[test]
fn every_algorithm_in_a_box_that_changes() {
    for (k, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let shape = if algorithm == Algorithm::Auto { Shape::Narrow } else { Shape::Orthorhombic };
        let terms = vec![term(PairKind::LennardJones, Truncation::ForceShifted, 1)];
        let (precision, thermostat) = (cycle(&PRECISIONS, k), None);
        let case = Case { shape, n_species: 1, terms, algorithm, precision, thermostat };
        let mut both: Both = [case.reference(), case.open()];
        let mut thermostats = [case.thermostat(), case.thermostat()];
        let batch = StepBatch {
            first_step: 1,
            steps: 10,
            timestep: TIMESTEP,
            seed: 7,
            sample_every: 0,
            evaluate: Evaluate::ForcesAndEnergies,
            long_range: RespaSchedule::ALWAYS,
        };
        for (sheared, longer) in [(0.0, 1.0), (0.01, 1.03), (0.02, 0.99)] {
            for (backend, thermostat) in both.iter_mut().zip(&mut thermostats) {
                let columns =
                    [Vector([longer, 0.0, 0.0]), Vector([sheared, longer, 0.0]), Vector([0.0, 0.0, longer])];
                let simbox = backend.simbox().mapped(columns).unwrap();
                backend.deform(simbox).unwrap();
                backend.update_neighbors().unwrap();
                backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
                run(&mut **backend, &batch, thermostat);
            }
            assert_eq!(both[0].simbox(), both[1].simbox());
            case.check_paths("after a change of the box", &mut both, &thermostats);
        }
    }
}

/// Formulas and tables beside a built-in potential.
#[test]
fn every_algorithm_with_formulas_and_tables() {
    for (k, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let shape = if algorithm == Algorithm::Auto { Shape::Narrow } else { Shape::Orthorhombic };
        let yukawa = term(PairKind::Yukawa, Truncation::Shifted, 2);
        for (j, other) in [yukawa.as_formula().unwrap(), yukawa.tabulated().unwrap()].into_iter().enumerate()
        {
            let terms = vec![term(PairKind::SoftSphere, Truncation::Plain, 2), other];
            let (precision, thermostat) = (cycle(&PRECISIONS, k + j), cycle(&thermostats(), k));
            Case { shape, n_species: 2, terms, algorithm, precision, thermostat }.check();
        }
    }
}

/// Thermostats in a mixture with two forces of different range.
#[test]
fn every_algorithm_with_every_thermostat() {
    for (row, algorithm) in ALGORITHMS.into_iter().enumerate() {
        for (column, thermostat) in thermostats().into_iter().enumerate() {
            let shape = match algorithm {
                Algorithm::Auto => Shape::Narrow,
                // Wide ones, each in both precisions.
                Algorithm::Tiles => cycle(&SHAPES[..4], column / 2),
                _ => cycle(&SHAPES, row + column),
            };
            for precision in precisions(row + column) {
                let yukawa = term(PairKind::Yukawa, Truncation::Shifted, 2);
                let terms = vec![term(PairKind::SoftSphere, Truncation::Plain, 2), yukawa];
                Case { shape, n_species: 2, terms, algorithm, precision, thermostat }.check();
            }
        }
    }
}
