//! Thermostats give the canonical distribution of the kinetic energy, not only its mean, and positions have
//! the temperature of the thermostat at long time steps, too.

use jostle_core::thermostat::SubStep;
use jostle_core::{Result, Settings, Species, UnitSystem};
use jostle_engine::model::{
    DensityInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput, ThermostatKind,
};
use jostle_engine::{Context, Mixture, Observer, Overrides, Simulation, assign_velocities};
use jostle_io::Input;
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

const ATOMS: usize = 32;
const TEMPERATURE: f64 = 1.3;
const SAMPLES: u64 = 2000;
/// Steps between samples, longer than the correlation time of the kinetic energy.
const APART: u64 = 150;
/// Value that sqrt(n) D exceeds once in ten thousand times, by Kolmogorov's distribution.
const UNLIKELY: f64 = 2.23;

/// Observer of the kinetic energy.
struct Kinetic(Sender<f64>);

impl Observer for Kinetic {
    fn every(&self) -> u64 {
        APART
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        if context.stage() == "sample" {
            // The receiver lives as long as the simulation.
            context.thermo().map(|thermo| self.0.send(thermo.kinetic));
        }
        Ok(())
    }
}

/// Kinetic energies of soft spheres with a thermostat, in units of k_B T.
fn sample(thermostat: ThermostatInput) -> Vec<f64> {
    let atom = Species { name: "A".into(), mass: 1.0, charge: 0.0 };
    let (extent, density) = (LatticeExtent::Atoms(ATOMS), DensityInput::Number(0.8));
    let mut system =
        Mixture::new(UnitSystem::Lj).with(atom, None).lattice(Lattice::Fcc, extent, density, 1).unwrap();
    assign_velocities(&mut system, 1.0, Distribution::Maxwell, 1);
    let parameters = [1.0, 1.0];
    let cutoff = PairKind::SoftSphere.natural_cutoff(&parameters).unwrap();
    let (sender, seen) = channel();
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(PairTerm::uniform(PairKind::SoftSphere, Truncation::Plain, &parameters, cutoff))
        .stage(StageInput::dynamics("equilibrate", 5000, 0.005).thermostat(thermostat))
        .stage(StageInput::dynamics("sample", SAMPLES * APART, 0.005).thermostat(thermostat))
        .observer(Kinetic(sender))
        .settings(Settings { threads: Some(1), reproducible: true, ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
    seen.try_iter().map(|kinetic| kinetic / TEMPERATURE).collect()
}

/// The gamma distribution function of a shape that is a multiple of 1/2, by the series of the
/// incomplete gamma function (Abramowitz and Stegun, 6.5.29).
fn gamma_distribution(shape: f64, x: f64) -> f64 {
    let mut ln_gamma = 0.0;
    let mut k = shape;
    while k > 1.0 {
        k -= 1.0;
        ln_gamma += k.ln();
    }
    if k < 1.0 {
        ln_gamma += 0.5 * std::f64::consts::PI.ln();
    }
    let (mut term, mut sum, mut n) = (1.0 / shape, 0.0, shape);
    while term > 1e-17 * sum {
        sum += term;
        n += 1.0;
        term *= x / n;
    }
    (shape * x.ln() - x - ln_gamma).exp() * sum
}

/// sqrt(n) times the largest distance between the distribution of the samples and the exact one
/// for so many degrees of freedom (Kolmogorov and Smirnov).
fn distance(samples: &[f64], degrees_of_freedom: usize) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let shape = 0.5 * degrees_of_freedom as f64;
    let largest = sorted.iter().enumerate().map(|(k, &x)| {
        let exact = gamma_distribution(shape, x);
        (exact - k as f64 / n).max((k as f64 + 1.0) / n - exact)
    });
    n.sqrt() * largest.fold(0.0, f64::max)
}

/// Checks that samples have the distribution of the right number of degrees of freedom and not that of a
/// wrong one.
fn check(thermostat: ThermostatInput, degrees_of_freedom: usize, wrong: usize) {
    let samples = sample(thermostat);
    let (right, wrong) = (distance(&samples, degrees_of_freedom), distance(&samples, wrong));
    println!("{thermostat:?}: {} samples, distances {right} and {wrong}", samples.len());
    assert!(right < UNLIKELY, "{thermostat:?}: the distance is {right}");
    assert!(wrong > UNLIKELY, "{thermostat:?}: the test would not notice a wrong distribution: {wrong}");
}

#[test]
fn langevin_gives_the_canonical_distribution() {
    // Noise moves the centre of mass, too.
    let thermostat = ThermostatInput::langevin(TEMPERATURE, 2.0);
    check(thermostat, 3 * ATOMS, 3 * ATOMS - 3);
}

#[test]
fn bussi_gives_the_canonical_distribution() {
    let thermostat = ThermostatInput::bussi(TEMPERATURE, 0.1);
    check(thermostat, 3 * ATOMS - 3, 3 * ATOMS);
}

#[test]
fn nose_hoover_gives_the_canonical_distribution() {
    let thermostat = ThermostatInput::nose_hoover(TEMPERATURE, 0.3, 3);
    check(thermostat, 3 * ATOMS - 3, 3 * ATOMS);
}

/// The mean of the kinetic energy, within four of its standard errors in the canonical ensemble. Noise of pairs
/// needs forces that reach as far; its test is in `dissipative.rs`.
#[test]
fn every_thermostat_holds_the_mean_temperature() {
    for kind in ThermostatKind::ALL.iter().filter(|kind| !kind.step().contains(&SubStep::PairNoise)) {
        let samples = sample(ThermostatInput::example(*kind, TEMPERATURE));
        let freedom = if kind.moves_center_of_mass() { 3 * ATOMS } else { 3 * ATOMS - 3 } as f64;
        let ratio = samples.iter().sum::<f64>() / samples.len() as f64 / (0.5 * freedom);
        let error = (2.0 / freedom / SAMPLES as f64).sqrt();
        assert!((ratio - 1.0).abs() < 4.0 * error, "{kind:?}: {ratio}");
    }
}

/// Rescaling has the right mean and no canonical distribution: the test must reject it.
#[test]
fn rescaling_is_not_canonical() {
    let samples = sample(ThermostatInput::rescale(TEMPERATURE, 10));
    assert!(distance(&samples, 3 * ATOMS - 3) > 4.0 * UNLIKELY);
}

/// Weak coupling has the right mean, and much too small a variance: the random deviates make the difference
/// between it and Bussi's thermostat.
#[test]
fn weak_coupling_is_not_canonical() {
    let samples = sample(ThermostatInput::berendsen(TEMPERATURE, 0.02));
    let (n, freedom) = (samples.len() as f64, (3 * ATOMS - 3) as f64);
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    assert!(variance < 0.5 * (0.5 * freedom), "{variance} of {}", 0.5 * freedom);
    assert!(distance(&samples, 3 * ATOMS - 3) > UNLIKELY);
}

#[test]
fn the_exact_distribution_is_the_gamma_distribution() {
    // Shape 1 is the exponential distribution, shape 1/2 that of the square of a normal deviate.
    assert!((gamma_distribution(1.0, 0.7) - (1.0 - (-0.7f64).exp())).abs() < 1e-14);
    assert!((gamma_distribution(0.5, 0.5) - 0.682_689_492_137_086).abs() < 1e-12);
    let erlang = 1.0 - (-3.0f64).exp() * (1.0 + 3.0 + 4.5);
    assert!((gamma_distribution(3.0, 3.0) - erlang).abs() < 1e-14);
}

/// Springs of angular frequency w have half a kT for each coordinate, whatever the time step dt; if the
/// velocities at the ends of steps had the temperature of the thermostat, the energy of springs would be 1 /
/// (1 - (w dt)^2 / 4) times as large, 1.17 times here.
#[test]
fn positions_have_the_temperature_of_the_thermostat_at_long_time_steps() {
    // A chain needs more steps in a period than the other thermostats: see `NoseHoover::FEWEST_STEPS`.
    let thermostats = ["langevin\", friction = 1", "bussi\", period = 2", "nose-hoover\", period = 12"];
    for thermostat in thermostats {
        let line = |thermostat: &str| format!("thermostat = {{ kind = \"{thermostat}, temperature = 0.5 }}");
        let (first, second) = (line(thermostats[0]), line(thermostat));
        let text = format!(
            r#"
units = "lj"
[system]
lattice = "sc"
atoms = 1000
density = 1
[species.A]
mass = 1
[[restraint]]
kind = "position"
atoms = "all"
stiffness = 40
[[stage]]
steps = 400
timestep = 0.02
{first}
thermo = {{ every = 0 }}
[[stage]]
steps = 8000
timestep = 0.12
{second}
thermo = {{ every = 7 }}
[run]
device = "cpu"
threads = 1
"#
        );
        let input = Input::parse(Path::new("springs.toml"), &text).unwrap();
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        simulation.run().unwrap();
        let average = simulation.reports()[1].averages.iter().find(|a| a.quantity == "restraint").unwrap();
        let (found, exact) = (average.estimate.unwrap(), 0.5 * 0.5 * 3.0 * 1000.0);
        println!("{thermostat}: {found:?}, exactly {exact}");
        assert!(found.error < 0.01 * exact, "{thermostat}: {found:?}");
        assert!(
            (found.mean - exact).abs() < 4.0 * found.error + 0.01 * exact,
            "{thermostat}: {found:?} is not {exact}"
        );
    }
}
