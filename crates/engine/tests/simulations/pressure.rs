//! Constant pressure: all barostats give the isothermal-isobaric distribution of volumes.

use crate::fixtures::{Rows, argon};
use jostle_core::{
    Driven, Precision, Result, Settings, SimBox, Species, System, Topology, UnitSystem, Vec3, WaterShape,
};
use jostle_engine::averages::BlockAverage;
use jostle_engine::model::{
    Barostat, Coupling, DensityInput, DeviceInput, Distribution, RegionInput, StageInput, ThermostatInput,
};
use jostle_engine::{Context, Mixture, Observer, Simulation, Thermo, assign_velocities};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, PairEntry, PairKind, PairTerm, Truncation};
use std::sync::mpsc::{Sender, channel};

/// A fluid on a lattice.
fn fluid(atoms: usize, density: f64, temperature: f64) -> System {
    argon(atoms, density, temperature, 2)
}

/// All rows of the second of two stages, of which the first brings the system to equilibrium.
fn sample(system: &System, term: Option<&PairTerm>, stages: [StageInput; 2]) -> Vec<Thermo> {
    let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
    let [settle, sample] = stages;
    let first = match settle.action {
        jostle_engine::model::Action::Dynamics { steps, .. } => steps,
        jostle_engine::model::Action::Minimize { .. } => 0,
    };
    let mut builder = Simulation::builder(UnitSystem::Lj, system.clone())
        .seed(11)
        .settings(settings)
        .device(DeviceInput::Cpu)
        .stage(settle)
        .stage(sample);
    if let Some(term) = term {
        builder = builder.force(term.clone());
    }
    let mut rows = Rows::default();
    builder.build().unwrap().run_with(&mut rows, &|| false).unwrap();
    rows.0.retain(|row| row.step > first);
    rows.0
}

fn volumes(rows: &[Thermo]) -> Vec<f64> {
    rows.iter().map(|row| row.volume.unwrap()).collect()
}

/// Mean and its standard error.
fn mean(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let mut average = BlockAverage::default();
    values.into_iter().for_each(|v| average.add(v));
    let estimate = average.estimate().unwrap();
    (estimate.mean, estimate.error)
}

#[track_caller]
fn assert_within(value: (f64, f64), expected: f64, what: &str) {
    let (mean, error) = value;
    println!("{what}: {mean} +- {error}, expected {expected}");
    assert!((mean - expected).abs() < 4.0 * error, "{what}: {mean} +- {error} is not {expected}");
    assert!(error < 0.1 * expected.abs(), "{what}: {error} says nothing");
}

const LANGEVIN: ThermostatInput = ThermostatInput::langevin(1.2, 1.0);
const BUSSI: ThermostatInput = ThermostatInput::bussi(1.2, 0.5);
const CHAIN: ThermostatInput = ThermostatInput::nose_hoover(1.2, 0.5, 3);

fn monte_carlo(pressure: f64, every: u64) -> Barostat {
    Barostat::MonteCarlo { pressure, coupling: Coupling::Isotropic, every }
}

fn cell_rescaling(pressure: f64, time: f64, compressibility: f64, every: u64) -> Barostat {
    Barostat::CellRescaling { pressure, time, compressibility, every }
}

fn mtk(pressure: f64, time: f64, every: u64) -> Barostat {
    Barostat::MartynaTobiasKlein { pressure, time, every }
}

/// The distribution of the volumes of an ideal gas is proportional to V^N exp(-P V / kT): its mean is (N + 1)
/// kT / P, its variance (N + 1) (kT / P)^2. With so few atoms an error of one in N is significant; the
/// distribution is the same where the total momentum is conserved.
#[test]
fn volumes_of_an_ideal_gas() {
    let (n, pressure) = (20, 0.3);
    let gas = fluid(32, 0.3, 1.2);
    let mut few = System::new(gas.simbox, gas.species.clone());
    (0..n).for_each(|k| few.state.push(0, gas.state.position[k]));
    assign_velocities(&mut few, 1.2, Distribution::Maxwell, 4);
    let unit = 1.2 / pressure;
    let check = |barostat: Barostat, thermostat, steps, rows, what: &str| {
        let stage = |name: &str, steps| {
            StageInput::dynamics(name, steps, 0.004).thermostat(thermostat).barostat(barostat).thermo(rows)
        };
        let rows = sample(&few, None, [stage("settle", steps / 10), stage("sample", steps)]);
        let volumes = volumes(&rows);
        let expected = (n as f64 + 1.0) * unit;
        assert_within(mean(volumes.iter().copied()), expected, &format!("{what}, mean"));
        let squares = volumes.iter().map(|v| (v - expected).powi(2));
        assert_within(mean(squares), expected * unit, &format!("{what}, variance"));
    };
    check(monte_carlo(pressure, 1), LANGEVIN, 40_000, 5, "Monte Carlo");
    check(monte_carlo(pressure, 1), BUSSI, 40_000, 5, "Monte Carlo, momentum conserved");
    check(cell_rescaling(pressure, 1.0, 1.0 / pressure, 1), LANGEVIN, 150_000, 20, "cell rescaling");
    check(
        cell_rescaling(pressure, 1.0, 1.0 / pressure, 1),
        BUSSI,
        150_000,
        20,
        "cell rescaling, momentum conserved",
    );
    check(mtk(pressure, 1.0, 1), LANGEVIN, 150_000, 20, "MTK");
    check(mtk(pressure, 1.0, 1), BUSSI, 150_000, 20, "MTK, momentum conserved");
}

/// Of three atoms volumes fluctuate by half of their mean, and trials that fit large ones would go below zero.
#[test]
fn volumes_of_a_few_atoms_stay_above_zero() {
    let gas = fluid(32, 0.3, 1.2);
    let mut few = System::new(gas.simbox, gas.species.clone());
    (0..3).for_each(|k| few.state.push(0, gas.state.position[k]));
    assign_velocities(&mut few, 1.2, Distribution::Maxwell, 4);
    let stage = |name: &str, steps| {
        StageInput::dynamics(name, steps, 0.004).thermostat(LANGEVIN).barostat(monte_carlo(0.3, 1)).thermo(5)
    };
    let volumes = volumes(&sample(&few, None, [stage("settle", 1_000), stage("sample", 100_000)]));
    assert_within(mean(volumes), 4.0 * 1.2 / 0.3, "three atoms");
}

fn lennard_jones() -> PairTerm {
    PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.2)
        .with_tail_correction()
        .unwrap()
}

/// At the mean pressure of a fluid at constant volume its mean volume is that volume, and all barostats give
/// the same fluctuations.
#[test]
fn a_liquid_has_the_density_of_its_pressure() {
    let liquid = fluid(256, 0.8, 1.2);
    let stage = |name: &str, steps| StageInput::dynamics(name, steps, 0.005).thermo(10);
    let nvt = |name: &str, steps| stage(name, steps).thermostat(LANGEVIN);
    let rows = sample(&liquid, Some(&lennard_jones()), [nvt("settle", 2000), nvt("sample", 20_000)]);
    let (pressure, error) = mean(rows.iter().map(|row| row.pressure.unwrap()));
    println!("pressure {pressure} +- {error}");
    let volume = liquid.simbox.volume();
    let barostats = [
        (monte_carlo(pressure, 10), LANGEVIN),
        (cell_rescaling(pressure, 1.25, 0.1, 5), BUSSI),
        (mtk(pressure, 1.25, 5), CHAIN),
    ];
    let found = barostats.map(|(barostat, thermostat)| {
        let npt = |name: &str, steps| stage(name, steps).thermostat(thermostat).barostat(barostat);
        let rows = sample(&liquid, Some(&lennard_jones()), [npt("settle", 2000), npt("sample", 20_000)]);
        let volumes = volumes(&rows);
        let (average, of_average) = mean(volumes.iter().copied());
        let squares = mean(volumes.iter().map(|v| (v - average).powi(2)));
        let compressibility = squares.0 / (average * 1.2);
        println!("{barostat:?}: {average} +- {of_average}, variance {squares:?}, {compressibility}");
        // The tolerance covers the error of the measured pressure and terms of order 1 / N.
        let tolerance = 4.0 * of_average.hypot(compressibility * volume * error) + volume / 256.0;
        assert!((average - volume).abs() < tolerance, "{average} is not {volume}");
        if thermostat != LANGEVIN {
            // The energy of thermostat and barostat is accounted for.
            let conserved = mean(rows.iter().map(|row| row.conserved.unwrap())).0;
            let off = rows.iter().map(|row| (row.conserved.unwrap() - conserved).abs()).fold(0.0, f64::max);
            assert!(off < 0.05 * 1.5 * 256.0 * 1.2, "{off}");
        }
        ((average, of_average), squares)
    });
    let [(a, aa), others @ ..] = found;
    for (b, bb) in others {
        assert!((a.0 - b.0).abs() < 4.0 * a.1.hypot(b.1), "{a:?} {b:?}");
        assert!((aa.0 - bb.0).abs() < 4.0 * aa.1.hypot(bb.1), "{aa:?} {bb:?}");
    }
}

/// The ratio of the distributions of volumes at two pressures is exp(-(P2 - P1) V / kT + c), whatever
/// the forces (M. R. Shirts, J. Chem. Theory Comput. 9 (2013) 909; P. T. Merz and M. R. Shirts, PLoS ONE
/// 13 (2018) e0202764). The slope is estimated by maximum likelihood, its error by the jackknife over blocks.
#[test]
fn distributions_at_two_pressures_are_consistent() {
    let liquid = fluid(108, 0.75, 1.2);
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 1.6);
    let pressures = [2.0, 2.8];
    for (what, thermostat) in [("Monte Carlo", LANGEVIN), ("cell rescaling", BUSSI), ("MTK", CHAIN)] {
        let volumes = pressures.map(|pressure| {
            let barostat = match thermostat {
                LANGEVIN => monte_carlo(pressure, 5),
                CHAIN => mtk(pressure, 1.0, 2),
                _ => cell_rescaling(pressure, 1.0, 0.1, 2),
            };
            let stage = |name: &str, steps| {
                StageInput::dynamics(name, steps, 0.005).thermostat(thermostat).barostat(barostat).thermo(10)
            };
            volumes(&sample(&liquid, Some(&lj), [stage("settle", 2000), stage("sample", 60_000)]))
        });
        let all = slope(&volumes.each_ref().map(|v| &v[..]));
        let blocks = 10;
        let parts: Vec<f64> = (0..blocks)
            .map(|k| {
                // All samples but one block.
                let rest = volumes.each_ref().map(|v| {
                    let n = v.len() / blocks;
                    [&v[..k * n], &v[(k + 1) * n..]].concat()
                });
                slope(&rest.each_ref().map(|v| &v[..]))
            })
            .collect();
        let average = parts.iter().sum::<f64>() / blocks as f64;
        let spread = parts.iter().map(|s| (s - average).powi(2)).sum::<f64>();
        let error = (spread * (blocks - 1) as f64 / blocks as f64).sqrt();
        assert_within((all, error), -(pressures[1] - pressures[0]) / 1.2, what);
    }
}

/// The slope of ln(p2 / p1) over x by maximum likelihood from two samples: logistic regression.
fn slope(samples: &[&[f64]; 2]) -> f64 {
    let counts = samples.map(|s| s.len() as f64);
    let center = samples.iter().flat_map(|s| s.iter()).sum::<f64>() / (counts[0] + counts[1]);
    let [mut offset, mut slope] = [(counts[1] / counts[0]).ln(), 0.0];
    for _ in 0..50 {
        let (mut gradient, mut hessian) = ([0.0; 2], [0.0; 3]);
        for (label, sample) in samples.iter().enumerate() {
            for x in sample.iter().map(|x| x - center) {
                let p = 1.0 / (1.0 + (-offset - slope * x).exp());
                let (wrong, weight) = (label as f64 - p, p * (1.0 - p));
                gradient = [gradient[0] + wrong, gradient[1] + wrong * x];
                hessian = [hessian[0] + weight, hessian[1] + weight * x, hessian[2] + weight * x * x];
            }
        }
        let determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
        offset += (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant;
        slope += (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant;
    }
    slope
}

/// Observer of the edges of a box.
struct Edges(Sender<[f64; 3]>);

impl Observer for Edges {
    fn every(&self) -> u64 {
        100
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        // The receiver lives as long as the simulation.
        let _ = self.0.send(context.simbox().lengths());
        Ok(())
    }
}

/// Edges that change independently give the density of the isotropic box, and other shapes: at one moment two of
/// them may be as long as each other, which is chance, but not at each of 75.
#[test]
fn edges_that_change_independently() {
    let liquid = fluid(256, 0.7, 1.2);
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 1.6);
    let run = |coupling| {
        let barostat = Barostat::MonteCarlo { pressure: 2.0, coupling, every: 5 };
        let stage = |name: &str, steps| {
            StageInput::dynamics(name, steps, 0.005).thermostat(LANGEVIN).barostat(barostat).thermo(10)
        };
        let settings = Settings { threads: Some(1), ..Settings::default() };
        let mut simulation = Simulation::builder(UnitSystem::Lj, liquid.clone())
            .force(lj.clone())
            .settings(settings)
            .device(DeviceInput::Cpu)
            .stage(stage("settle", 1500))
            .stage(stage("sample", 6000))
            .build()
            .unwrap();
        let (sender, edges) = channel();
        simulation.observe(Edges(sender));
        simulation.run().unwrap();
        let volume = simulation.reports()[1].averages.iter().find(|a| a.quantity == "volume").unwrap();
        let estimate = volume.estimate.unwrap();
        let apart = edges.try_iter().map(|[x, y, z]| [x - y, x - z, y - z].map(f64::abs));
        let most = apart.fold([0.0; 3], |most, apart| std::array::from_fn(|k| apart[k].max(most[k])));
        ((estimate.mean, estimate.error), most)
    };
    let (whole, apart) = run(Coupling::Isotropic);
    assert!(apart.iter().all(|apart| *apart < 1e-12), "{apart:?}");
    let (semi, [xy, xz, yz]) = run(Coupling::SemiIsotropic);
    assert!(xy < 1e-12 && xz > 0.05 && yz > 0.05, "{xy} {xz} {yz}");
    let (free, apart) = run(Coupling::Anisotropic);
    assert!(apart.iter().all(|apart| *apart > 0.05), "{apart:?}");
    for other in [semi, free] {
        assert!((whole.0 - other.0).abs() < 4.0 * whole.1.hypot(other.1), "{whole:?} {other:?}");
    }
}

const NANO: UnitSystem = UnitSystem::Nano;

fn oxygens(truncation: Truncation) -> PairTerm {
    let mut term = PairTerm::new(PairKind::LennardJones, truncation, 2);
    term.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.7 });
    term
}

/// A simulation of rigid SPC/E water that starts on a grid.
fn water(molecules: usize, precision: Precision, core: PairTerm, stages: [StageInput; 2]) -> Simulation {
    let species = |name: &str, mass: f64, charge: f64| Species { name: name.into(), mass, charge };
    let mut system = Mixture::new(NANO)
        .with(species("O", 15.9994, -0.8476), None)
        .with(species("H", 1.008, 0.4238), None)
        .water(molecules, RegionInput::Density(DensityInput::Number(95.0)), &WaterShape::new(0.1, 109.47), 7)
        .unwrap();
    system.topology = Topology::rigid_water(molecules, &WaterShape::new(0.1, 109.47));
    assign_velocities(&mut system, NANO.boltzmann() * 300.0, Distribution::Maxwell, 7);
    let [settle, sample] = stages;
    Simulation::builder(NANO, system)
        .force(core)
        .electrostatics(Electrostatics::new(Method::pme(0.7, 1e-4, 5), NANO.coulomb(), 0.7))
        .stage(settle)
        .stage(sample)
        .settings(Settings { threads: Some(1), precision, ..Settings::default() })
        .device(DeviceInput::Cpu)
        .build()
        .unwrap()
}

/// Molecules keep their shape, and at 1 bar the density becomes that of water, 1 g/cm3, to the accuracy of
/// the model, the small box and the short cut-off.
fn rigid_water(barostat: impl FnOnce(f64) -> Barostat) {
    let barostat = barostat(NANO.bare(jostle_core::Dimension::PRESSURE));
    let langevin = ThermostatInput::langevin(300.0, 5.0);
    let stage = |name: &str, steps, dt| StageInput::dynamics(name, steps, dt).thermostat(langevin);
    let mut simulation = water(
        160,
        Precision::Mixed,
        oxygens(Truncation::Plain).with_tail_correction().unwrap(),
        [stage("settle", 1000, 0.0005), stage("sample", 3000, 0.002).barostat(barostat).thermo(10)],
    );
    let mut rows = Rows::default();
    simulation.run_with(&mut rows, &|| false).unwrap();
    let late = rows.0.iter().filter(|row| row.step > 2200);
    let (density, error) = mean(late.map(|row| row.density.unwrap()));
    println!("{barostat:?}: {density} +- {error} g/cm3");
    assert!((density - 1.0).abs() < 0.03 + 4.0 * error, "{density} +- {error}");
    assert!(rows.0.windows(2).any(|pair| pair[0].volume != pair[1].volume));
    let (r, simbox) = (simulation.unwrapped_positions().unwrap(), *simulation.simbox());
    for c in simulation.topology().constraints.clone() {
        let [a, b] = c.atoms.map(|id| r[id as usize]);
        let d = simbox.nearest_image(b - a);
        let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!((length / c.length - 1.0).abs() < 1e-6, "{length} is not {}", c.length);
    }
}

#[test]
fn rigid_water_under_monte_carlo() {
    // Volumes move at random: with an attempt in ten steps, they are not yet around their mean where it is taken.
    rigid_water(|bar| monte_carlo(bar, 4));
}

#[test]
fn rigid_water_under_cell_rescaling() {
    rigid_water(|bar| cell_rescaling(bar, 0.5, 4.5e-5 / bar, 5));
}

#[test]
fn rigid_water_under_mtk() {
    rigid_water(|bar| mtk(bar, 0.5, 5));
}

/// Standard deviations of the conserved quantity and of the energy of the atoms in the last stage.
fn deviations(simulation: &mut Simulation) -> [f64; 2] {
    let mut rows = Rows::default();
    simulation.run_with(&mut rows, &|| false).unwrap();
    let steps = simulation.reports().last().unwrap().steps;
    let first = simulation.step() - steps;
    let late: Vec<_> = rows.0.iter().filter(|row| row.step > first).collect();
    let of = |value: fn(&Thermo) -> f64| {
        let values: Vec<f64> = late.iter().map(|row| value(row)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    [of(|row| row.conserved.unwrap()), of(|row| row.total)]
}

/// The energy of atoms, thermostat and box together is conserved to the accuracy of velocity Verlet: half the
/// step gives a quarter of the error. The box has its own, longer step.
#[test]
fn energy_of_atoms_and_box_is_conserved() {
    let liquid = fluid(256, 0.8, 1.2);
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Switched { from: 0.8 }, &[1.0, 1.0], 2.4);
    let run = |timestep: f64, every: u64| {
        // The run ends before trajectories diverge.
        let steps = |time: f64| (time / timestep).round() as u64;
        let sample = StageInput::dynamics("sample", steps(2.0), timestep).thermostat(CHAIN);
        let settle = StageInput::dynamics("settle", 1000, 0.005).thermostat(LANGEVIN);
        let mut simulation = Simulation::builder(UnitSystem::Lj, liquid.clone())
            .force(lj.clone())
            .settings(Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() })
            .device(DeviceInput::Cpu)
            .stage(settle)
            .stage(sample.barostat(mtk(2.0, 1.0, every)).thermo(steps(0.02)))
            .build()
            .unwrap();
        let [conserved, total] = deviations(&mut simulation);
        println!("{timestep} {every}: {conserved:e} of {total}");
        assert!(conserved < 0.01 * total, "{conserved} {total}");
        conserved
    };
    let [coarse, fine] = [run(0.004, 5), run(0.002, 5)];
    assert!((3.5..4.5).contains(&(coarse / fine)), "{coarse} {fine}");
    // With short steps of the atoms the error is that of the box.
    let [coarse, fine] = [run(0.0005, 40), run(0.0005, 20)];
    assert!((3.5..4.5).contains(&(coarse / fine)), "{coarse} {fine}");
}

/// Energy is conserved with rigid molecules, constraints and charges.
#[test]
fn energy_of_rigid_water_and_box_is_conserved() {
    let bar = NANO.bare(jostle_core::Dimension::PRESSURE);
    let langevin = ThermostatInput::langevin(300.0, 5.0);
    let chain = ThermostatInput::nose_hoover(300.0, 0.5, 3);
    let run = |timestep: f64| {
        let steps = (0.5 / timestep).round() as u64;
        let settle = StageInput::dynamics("settle", 1000, 0.0005).thermostat(langevin);
        let sample = StageInput::dynamics("sample", steps, timestep).thermostat(chain);
        let sample = sample.barostat(mtk(1000.0 * bar, 0.5, 5)).thermo(steps / 50);
        let switched = oxygens(Truncation::Switched { from: 0.8 });
        let [conserved, total] = deviations(&mut water(160, Precision::Double, switched, [settle, sample]));
        println!("{timestep}: {conserved:e} of {total}");
        assert!(conserved < 0.02 * total, "{conserved} {total}");
        conserved
    };
    let [coarse, fine] = [run(0.002), run(0.001)];
    assert!((3.5..4.5).contains(&(coarse / fine)), "{coarse} {fine}");
}

/// The error of a fluid under a barostat, when it is built or run.
fn refused(system: System, stage: StageInput) -> String {
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.2);
    let simulation =
        Simulation::builder(UnitSystem::Lj, system).force(lj).device(DeviceInput::Cpu).stage(stage).build();
    simulation.and_then(|mut s| s.run()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn impossible_barostats_are_refused() {
    let liquid = || fluid(108, 0.7, 1.2);
    let stage = || StageInput::dynamics("npt", 2000, 0.005);
    let barostat = monte_carlo(1.0, 5);
    let error = refused(liquid(), stage().barostat(barostat));
    assert!(error.contains("needs the temperature of a thermostat"), "{error}");
    let mut open = liquid();
    open.simbox = SimBox::new([0.0; 3], open.simbox.lengths(), [0.0; 3], [true, true, false]).unwrap();
    let error = refused(open, stage().thermostat(BUSSI).barostat(barostat));
    assert!(error.contains("open along an axis"), "{error}");
    let error = refused(liquid(), stage().thermostat(BUSSI).barostat(cell_rescaling(1.0, 0.1, 0.1, 10)));
    assert!(error.contains("too short"), "{error}");
    let error = refused(liquid(), stage().thermostat(BUSSI).barostat(cell_rescaling(1.0, 10.0, -0.1, 10)));
    assert!(error.contains("compressibility"), "{error}");
    let error = refused(liquid(), stage().thermostat(BUSSI).barostat(mtk(1.0, 2.0, 10)));
    assert!(error.contains("too short"), "{error}");
    let error = refused(liquid(), stage().barostat(mtk(1.0, 5.0, 10)));
    assert!(error.contains("needs the temperature of a thermostat"), "{error}");
    let cold = ThermostatInput::langevin(0.0, 1.0);
    let error = refused(liquid(), stage().thermostat(cold).barostat(mtk(1.0, 5.0, 10)));
    assert!(error.contains("temperature of zero"), "{error}");
    let mut alone = System::new(liquid().simbox, liquid().species);
    alone.state.push(0, [0.0; 3]);
    let error = refused(alone, stage().thermostat(LANGEVIN).barostat(mtk(1.0, 5.0, 10)));
    assert!(error.contains("a single molecule"), "{error}");
    // The box of 5.36 may shrink to 4.4, of density 1.27.
    let error = refused(liquid(), stage().thermostat(BUSSI).barostat(monte_carlo(200.0, 5)));
    assert!(error.contains("more than half the smallest width"), "{error}");
    let error = refused(liquid(), stage().thermostat(BUSSI).barostat(cell_rescaling(500.0, 2.5, 0.1, 10)));
    assert!(error.contains("at once"), "{error}");
    let error = refused(liquid(), stage().thermostat(BUSSI).barostat(mtk(1e5, 2.5, 10)));
    assert!(error.contains("at once"), "{error}");
    let mut frozen = liquid();
    frozen.driven = Driven::BySpecies(vec![Some(Vec3::ZERO)]);
    let error = refused(frozen, stage().thermostat(BUSSI).barostat(barostat));
    assert!(error.contains("frozen and driven atoms stay where they are"), "{error}");
}
