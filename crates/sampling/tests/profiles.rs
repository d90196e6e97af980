//! Biases on a particle in known potentials: every method gives the exact profile within its errors. A Langevin
//! integrator of a few lines moves the particle, so that nothing else takes part.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_sampling::bias::{
    Abf, AbfSettings, Bias, FormulaBias, Harmonic, Linear, Metadynamics, MetadynamicsSettings, Opes,
    OpesSettings, Side, Wall,
};
use jostle_sampling::definition::{Arguments, Value};
use jostle_sampling::free_energy::{Mbar, crooks, gradient_profile, independent, inefficiency, jarzynski};
use jostle_sampling::group::{Surroundings, Weights};
use jostle_sampling::variable::find;
use jostle_sampling::{Biases, NamedBias, StageCourse, VariableDefinition, VariableFormula, Variables};
use std::collections::HashMap;

const TIMESTEP: f64 = 0.05;

/// Coordinates x and y of a particle, and an angle that it has about the origin.
fn variables() -> Variables {
    let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
    let mut system = System::new(SimBox::orthorhombic([100.0; 3]).unwrap(), species);
    system.state.push(0, [1.0, 0.1, 0.0]);
    let position = |name: &str, axis: &str| VariableDefinition {
        name: name.into(),
        kind: find("position").unwrap(),
        groups: vec![vec![0]],
        weights: Weights::Mass,
        arguments: Arguments { values: vec![("axis", Value::Word(axis.into()))], ..Arguments::default() },
    };
    Variables::new(&[position("x", "x"), position("y", "y")], &Surroundings::new(&system)).unwrap()
}

type Make<'a> = &'a dyn Fn(&Variables) -> Vec<(&'static str, Box<dyn Bias>)>;

fn formula(variables: &Variables, text: &str) -> Box<dyn Bias> {
    let formula = VariableFormula::new(text, &HashMap::new(), &["x", "y"]).unwrap();
    let (numbers, formula) = formula.numbered();
    let of = numbers.iter().map(|k| Biases::variable_of_bias(variables, *k)).collect();
    Box::new(FormulaBias::new(of, formula))
}

/// A particle of unit mass at k_B T = 1.
struct Particle {
    biases: Biases,
    r: Vec3,
    v: Vec3,
    force: Vec3,
    energy: f64,
    step: u64,
    seed: u64,
    friction: f64,
    timestep: f64,
    simbox: SimBox,
}

impl Particle {
    fn new(make: Make, steps: u64, seed: u64, friction: f64) -> Self {
        Particle::with_timestep(make, steps, seed, friction, TIMESTEP)
    }

    fn with_timestep(make: Make, steps: u64, seed: u64, friction: f64, timestep: f64) -> Self {
        let variables = variables();
        let named = |(name, bias): (&'static str, Box<dyn Bias>)| NamedBias {
            name: name.into(),
            stages: Vec::new(),
            bias,
        };
        let all = make(&variables).into_iter().map(named).collect();
        let mut biases = Biases::new(variables, all, UnitSystem::Lj, seed, vec![("run".into(), steps)]);
        let course =
            StageCourse { name: "run".into(), first_step: 0, start_time: 0.0, timestep: Some(timestep) };
        biases.begin_stage(course, true);
        let simbox = SimBox::orthorhombic([100.0; 3]).unwrap();
        let mut stream = Stream::new(seed, Purpose::Velocity, 0, 0);
        let v = [0; 3].map(|_| stream.normal());
        let (r, force) = ([1.0, 0.1, 0.0], [0.0; 3]);
        let mut particle = Particle {
            biases,
            r: Vector(r),
            v: Vector(v),
            force: Vector(force),
            energy: 0.0,
            step: 0,
            seed,
            friction,
            timestep,
            simbox,
        };
        particle.evaluate();
        particle
    }

    fn evaluate(&mut self) {
        let time = self.step as f64 * self.timestep;
        let (energy, forces) =
            self.biases.evaluate(&self.simbox, (&[self.r], None), (self.step, time)).unwrap();
        (self.energy, self.force) = (energy, forces.forces[0]);
    }

    fn conserved(&self) -> f64 {
        0.5 * self.v.iter().map(|v| v * v).sum::<f64>() + self.energy - self.biases.work()
    }

    fn step(&mut self) {
        let dt = self.timestep;
        let decay = (-self.friction * dt).exp();
        self.step += 1;
        let mut stream = Stream::new(self.seed, Purpose::Langevin, 0, self.step);
        for k in 0..3 {
            self.v[k] += 0.5 * dt * self.force[k];
            self.r[k] += 0.5 * dt * self.v[k];
            if self.friction > 0.0 {
                self.v[k] = decay * self.v[k] + (1.0 - decay * decay).sqrt() * stream.normal();
            }
            self.r[k] += 0.5 * dt * self.v[k];
        }
        self.evaluate();
        self.v += 0.5 * dt * self.force;
        self.biases
            .end_step(&self.simbox, (&[self.r], None), (self.step, self.step as f64 * self.timestep))
            .unwrap();
    }
}

/// A double well with a barrier of 6 and a slope.
const WELLS: &str = "6 (x^2 - 1)^2 + 0.5 x + 2 y^2";

fn wells(x: f64) -> f64 {
    6.0 * (x * x - 1.0).powi(2) + 0.5 * x
}

/// Largest deviation from the exact profile, both with their means over these places taken off.
fn deviation(places: &[f64], found: &[f64], exact: impl Fn(f64) -> f64) -> f64 {
    let off: Vec<f64> = places.iter().zip(found).map(|(x, f)| f - exact(*x)).collect();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    off.iter().fold(0.0, |most, x| most.max((x - mean).abs()))
}

#[test]
fn umbrella_windows_and_mbar_give_the_profile() {
    let centers: Vec<f64> = (0..11).map(|k| -1.5 + 0.3 * f64::from(k)).collect();
    let (stiffness, steps) = (30.0, 20_000);
    let mut samples = Vec::new();
    let mut counts = Vec::new();
    for (k, center) in centers.iter().enumerate() {
        let make = |v: &Variables| -> Vec<(&'static str, Box<dyn Bias>)> {
            let x = Biases::variable_of_bias(v, 0);
            let window = Box::new(Harmonic::new(x, [*center; 2], [stiffness; 2])) as Box<dyn Bias>;
            vec![("wells", formula(v, WELLS)), ("window", window)]
        };
        let mut particle = Particle::new(&make, steps, k as u64, 1.0);
        let mut own = Vec::new();
        for step in 0..steps {
            particle.step();
            if step >= 1000 {
                own.push(particle.r[0]);
            }
        }
        let chosen = independent(own.len(), inefficiency(&own));
        counts.push(chosen.len());
        samples.extend(chosen.into_iter().map(|n| own[n]));
    }
    let energies =
        centers.iter().map(|c| samples.iter().map(|x| 0.5 * stiffness * (x - c).powi(2)).collect()).collect();
    let mbar = Mbar::new(energies, counts).unwrap();
    let bins = 30;
    let place = |bin: usize| -1.5 + (bin as f64 + 0.5) * 0.1;
    let bin =
        |x: &f64| Some(((x + 1.5) / 0.1).floor()).filter(|b| (0.0..30.0).contains(b)).map(|b| b as usize);
    let of: Vec<Option<usize>> = samples.iter().map(bin).collect();
    let profile = mbar.profile(&vec![0.0; samples.len()], &of, (0..bins).map(place).collect());
    // The exact value is the mean over the bin.
    let exact = |bin: usize| -> f64 {
        let mean =
            (0..20).map(|j| (-wells(place(bin) + 0.1 * ((f64::from(j) + 0.5) / 20.0 - 0.5))).exp() / 20.0);
        -mean.sum::<f64>().ln()
    };
    let lowest = (0..bins).min_by(|a, b| profile.values[*a].total_cmp(&profile.values[*b])).unwrap();
    let mut beyond = 0;
    for k in 0..bins {
        let off = (profile.values[k] - (exact(k) - exact(lowest))).abs();
        let error = profile.errors[k].hypot(1e-3);
        assert!(error < 0.3 && off < 4.5 * error, "{k}: {off} {error}");
        beyond += usize::from(off > 2.0 * error);
    }
    assert!(beyond <= 8, "{beyond} of {bins} beyond two errors");
}

fn metadynamics(v: &Variables, tempering: Option<[f64; 2]>, height: f64) -> Box<dyn Bias> {
    let x = Biases::variable_of_bias(v, 0);
    let settings = MetadynamicsSettings {
        width: vec![0.15],
        height,
        every: 50,
        tempering,
        range: vec![[-6.0, 6.0]],
        spacing: vec![0.03],
    };
    Box::new(Metadynamics::new(vec![x], settings).unwrap())
}

/// Minus the sum of the hills in PLUMED's layout.
fn minus_hills(text: &str, x: f64) -> f64 {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let hill = |line: &str| {
        let n: Vec<f64> = line.split_whitespace().map(|n| n.parse().unwrap()).collect();
        n[3] * (-0.5 * ((x - n[1]) / n[2]).powi(2)).exp()
    };
    -rows.map(hill).sum::<f64>()
}

#[test]
fn hills_fill_the_wells() {
    for (tempering, height, tolerance) in [(None, 0.02, 1.0), (Some([10.0, 1.0]), 0.3, 0.9)] {
        let make = |v: &Variables| -> Vec<(&'static str, Box<dyn Bias>)> {
            vec![("wells", formula(v, WELLS)), ("meta", metadynamics(v, tempering, height))]
        };
        let steps = 200_000;
        let mut particle = Particle::new(&make, steps, 5, 1.0);
        let places: Vec<f64> = (0..27).map(|k| -1.3 + 0.1 * f64::from(k)).collect();
        let mut mean = vec![0.0; places.len()];
        let mut taken = 0.0;
        for step in 0..steps {
            particle.step();
            if step > steps / 2 && step % 5000 == 0 {
                let text = &particle.biases.files()[0].1;
                let now: Vec<f64> = places.iter().map(|x| minus_hills(text, *x)).collect();
                let level = now.iter().sum::<f64>() / now.len() as f64;
                mean.iter_mut().zip(now).for_each(|(mean, x)| *mean += x - level);
                taken += 1.0;
            }
        }
        let found: Vec<f64> = mean.iter().map(|x| x / taken).collect();
        let off = deviation(&places, &found, wells);
        assert!(off < tolerance, "{tempering:?}: {off} {found:?}");
        assert!(particle.biases.files()[0].1.starts_with("#! FIELDS time x sigma_x height biasf\n"));
    }
}

fn opes(v: &Variables, number: usize, barrier: f64, width: f64) -> Box<dyn Bias> {
    let settings = OpesSettings { barrier, thermal_energy: 1.0, width: vec![width], every: 100 };
    Box::new(Opes::new(vec![Biases::variable_of_bias(v, number)], settings).unwrap())
}

#[test]
fn kernels_give_the_profile() {
    let make = |v: &Variables| -> Vec<(&'static str, Box<dyn Bias>)> {
        vec![("wells", formula(v, WELLS)), ("opes", opes(v, 0, 9.0, 0.25))]
    };
    let steps = 400_000;
    let mut particle = Particle::new(&make, steps, 2, 1.0);
    let mut crossings = 0;
    let mut side = 1.0f64;
    for _ in 0..steps {
        particle.step();
        if particle.r[0] * side < -0.8 {
            side = -side;
            crossings += 1;
        }
    }
    assert!(crossings > 20, "{crossings}");
    let text = &particle.biases.files()[0].1;
    let rows: Vec<Vec<f64>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|x| x.parse().unwrap()).collect())
        .collect();
    assert!(rows.len() < 60, "kernels are merged: {}", rows.len());
    let places: Vec<f64> = (0..25).map(|k| -1.2 + 0.1 * f64::from(k)).collect();
    let density =
        |x: &f64| -> f64 { rows.iter().map(|r| r[2] * (-0.5 * ((x - r[0]) / r[1]).powi(2)).exp()).sum() };
    let found: Vec<f64> = places.iter().map(|x| -density(x).ln()).collect();
    // Kernels widen the wells.
    let off = deviation(&places, &found, wells);
    assert!(off < 1.5, "{off} {found:?}");
}

fn abf(v: &Variables, numbers: &[usize], spacing: f64) -> Box<dyn Bias> {
    let n = numbers.len();
    let settings = AbfSettings {
        thermal_energy: 1.0,
        range: vec![[-1.5, 1.5]; n],
        spacing: vec![spacing; n],
        coupling: vec![spacing; n],
        relaxation: 1.0,
        full_samples: 100,
    };
    let of = numbers.iter().map(|k| Biases::variable_of_bias(v, *k)).collect();
    Box::new(Abf::new(of, settings).unwrap())
}

/// Gradients in a file of the adaptive force, bin after bin.
fn gradients(text: &str, dimensions: usize) -> Vec<Vec<f64>> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| -> Vec<f64> {
        line.split_whitespace().skip(dimensions).map(|x| x.parse().unwrap()).collect()
    };
    rows.map(row).collect()
}

#[test]
fn the_adaptive_force_gives_the_gradient() {
    let make = |v: &Variables| -> Vec<(&'static str, Box<dyn Bias>)> {
        vec![("wells", formula(v, WELLS)), ("abf", abf(v, &[0], 0.1))]
    };
    let steps = 400_000;
    let mut particle = Particle::new(&make, steps, 3, 1.0);
    (0..steps).for_each(|_| particle.step());
    let files = particle.biases.files();
    let found = gradients(&files[1].1, 1);
    assert_eq!(found.len(), 30);
    let profile = gradient_profile(&[30], &[0.1], &[false], &found).unwrap();
    let places: Vec<f64> = (0..30).map(|k| -1.45 + 0.1 * f64::from(k)).collect();
    let off = deviation(&places[2..28], &profile[2..28], wells);
    assert!(off < 0.5, "{off} {profile:?}");
}

#[test]
fn the_adaptive_force_works_in_two_dimensions() {
    let surface = |x: f64, y: f64| 3.0 * (x * x - 1.0).powi(2) + 2.0 * (y - 0.5 * x).powi(2);
    let make = |v: &Variables| -> Vec<(&'static str, Box<dyn Bias>)> {
        let energy = formula(v, "3 (x^2 - 1)^2 + 2 (y - 0.5 x)^2");
        vec![("surface", energy), ("abf", abf(v, &[0, 1], 0.2))]
    };
    let steps = 600_000;
    let mut particle = Particle::new(&make, steps, 4, 1.0);
    (0..steps).for_each(|_| particle.step());
    let found = gradients(&particle.biases.files()[1].1, 2);
    let profile = gradient_profile(&[15, 15], &[0.2; 2], &[false; 2], &found).unwrap();
    let at = |bin: usize| [-1.4 + 0.2 * (bin % 15) as f64, -1.4 + 0.2 * (bin / 15) as f64];
    let inner: Vec<usize> = (0..225).filter(|bin| at(*bin).iter().all(|x| x.abs() < 1.1)).collect();
    let off: Vec<f64> = inner.iter().map(|bin| profile[*bin] - surface(at(*bin)[0], at(*bin)[1])).collect();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    let most = off.iter().fold(0.0f64, |most, x| most.max((x - mean).abs()));
    assert!(most < 0.8, "{most}");
}

/// Pulling between two places in a harmonic well: the work gives the difference of free energies of the window at
/// both, by Jarzynski's mean and with the way back by Crooks' theorem.
#[test]
fn work_gives_the_free_energy() {
    // The window of stiffness k at c in a well of stiffness K has the free energy K k / (K + k) c^2 / 2.
    let (well, stiffness, steps) = (2.0, 10.0, 400);
    let exact = well * stiffness / (well + stiffness) / 2.0 * (1.2f64.powi(2) - 0.0);
    let pull = |ends: [f64; 2], seed: u64| {
        let make = |v: &Variables| -> Vec<(&'static str, Box<dyn Bias>)> {
            let x = Biases::variable_of_bias(v, 0);
            let window = Box::new(Harmonic::new(x, ends, [stiffness; 2])) as Box<dyn Bias>;
            vec![("well", formula(v, "x^2 + 2 y^2")), ("pull", window)]
        };
        let mut particle = Particle::new(&make, steps, seed, 1.0);
        // Equilibrium at the first end is a Gaussian.
        let mut stream = Stream::new(seed, Purpose::Placement, 0, 0);
        particle.r[0] =
            stiffness * ends[0] / (well + stiffness) + stream.normal() / f64::sqrt(well + stiffness);
        let course =
            StageCourse { name: "run".into(), first_step: 0, start_time: 0.0, timestep: Some(TIMESTEP) };
        particle.biases.begin_stage(course, true);
        particle.evaluate();
        (0..steps).for_each(|_| particle.step());
        particle.biases.work()
    };
    let forward: Vec<f64> = (0..150).map(|seed| pull([0.0, 1.2], seed)).collect();
    let backward: Vec<f64> = (1000..1150).map(|seed| pull([1.2, 0.0], seed)).collect();
    let one = jarzynski(&forward).unwrap();
    let both = crooks(&forward, &backward).unwrap();
    for found in [one, both] {
        assert!(found.error < 0.1 && (found.value - exact).abs() < 4.0 * found.error, "{found:?} {exact}");
    }
    let mean = forward.iter().sum::<f64>() / 150.0;
    assert!(mean > one.value, "dissipation is positive: {mean} {one:?}");
}

/// Without friction the energy less the work of the bias stays, whatever the bias does.
#[test]
fn work_is_what_changes_put_in() {
    let cases: [(&str, Make); 5] = [
        ("moving", &|v| {
            let x = Biases::variable_of_bias(v, 0);
            vec![
                ("well", formula(v, "x^2 + 2 y^2")),
                ("pull", Box::new(Harmonic::new(x, [0.0, 4.0], [1.0, 8.0]))),
            ]
        }),
        ("hills", &|v| vec![("well", formula(v, "x^2 + 2 y^2")), ("meta", metadynamics(v, None, 0.05))]),
        ("tempered", &|v| {
            vec![("well", formula(v, "x^2 + 2 y^2")), ("meta", metadynamics(v, Some([8.0, 1.0]), 0.2))]
        }),
        ("kernels", &|v| vec![("well", formula(v, "x^2 + 2 y^2")), ("opes", opes(v, 0, 3.0, 0.6))]),
        ("adaptive", &|v| vec![("well", formula(v, "x^2 + 2 y^2")), ("abf", abf(v, &[0], 0.3))]),
    ];
    for (name, make) in cases {
        // The energy error of Verlet's algorithm is of second order in the step; hills come four times as often with
        // the finer one.
        let [coarse, fine] = [0.05, 0.0125].map(|timestep| {
            let steps = (100.0 / timestep) as u64;
            let mut particle = Particle::with_timestep(make, steps, 6, 0.0, timestep);
            let before = particle.conserved();
            let (mut worst, mut most) = (0.0f64, 0.0f64);
            for _ in 0..steps {
                particle.step();
                worst = worst.max((particle.conserved() - before).abs());
                most = most.max(particle.biases.work().abs());
            }
            assert!(most > 0.4, "{name}: the bias does work, {most}");
            worst / most
        });
        assert!(fine < 0.02 && fine < coarse / 3.0, "{name}: {coarse} {fine}");
    }
}

/// A run that goes on from a saved state has the same bits.
#[test]
fn states_are_restored_to_the_bit() {
    let make: Make = &|v| {
        let of = |k| Biases::variable_of_bias(v, k);
        vec![
            ("wells", formula(v, WELLS)),
            ("pull", Box::new(Harmonic::new(of(0), [-1.0, 1.0], [1.0, 3.0]))),
            ("push", Box::new(Linear::new(of(1), 0.3, 0.0).unwrap())),
            ("wall", Box::new(Wall::new(of(0), 1.2, 20.0, Side::Below).unwrap())),
            ("meta", metadynamics(v, Some([5.0, 1.0]), 0.1)),
            ("abf", abf(v, &[1], 0.2)),
            ("opes", opes(v, 1, 5.0, 0.25)),
        ]
    };
    // Among others the steps before, at and after a hill.
    for end in [1, 49, 50, 51, 133] {
        let mut whole = Particle::new(make, 300, 8, 1.0);
        (0..end).for_each(|_| whole.step());
        let saved = whole.biases.save().unwrap();
        let mut resumed = Particle::new(make, 300, 8, 1.0);
        resumed.biases.restore(&saved).unwrap();
        (resumed.r, resumed.v, resumed.step) = (whole.r, whole.v, whole.step);
        let course =
            StageCourse { name: "run".into(), first_step: 0, start_time: 0.0, timestep: Some(TIMESTEP) };
        resumed.biases.begin_stage(course, false);
        resumed.evaluate();
        assert_eq!(resumed.energy.to_bits(), whole.energy.to_bits(), "after {end}");
        for _ in end..300 {
            whole.step();
            resumed.step();
            assert_eq!(resumed.r.map(f64::to_bits), whole.r.map(f64::to_bits), "after {end}");
            assert_eq!(resumed.conserved().to_bits(), whole.conserved().to_bits(), "after {end}");
        }
        assert_eq!(whole.biases.files(), resumed.biases.files());
        assert_eq!(whole.biases.column_values(), resumed.biases.column_values());
    }
    let other: Make = &|v| vec![("wells", formula(v, WELLS))];
    assert!(
        Particle::new(other, 1, 0, 1.0)
            .biases
            .restore(&Particle::new(make, 1, 0, 1.0).biases.save().unwrap())
            .is_err()
    );
}

#[test]
fn a_grid_that_is_left_is_an_error() {
    let make: Make = &|v| {
        vec![
            ("push", Box::new(Linear::new(Biases::variable_of_bias(v, 0), 5.0, 0.0).unwrap())),
            ("meta", metadynamics(v, None, 0.1)),
        ]
    };
    let mut particle = Particle::new(make, 1000, 1, 1.0);
    particle.r[0] = 6.1;
    let error = particle.biases.evaluate(&particle.simbox, (&[particle.r], None), (1, 0.1)).unwrap_err();
    assert_eq!(
        error.message(),
        "bias 'meta': variable 'x' is 6.1, outside of the grid of metadynamics from -6 to 6"
    );
    assert!(error.help().unwrap().contains("lower and upper"));
}
