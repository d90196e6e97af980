//! Warnings of a run: unphysical runs do not end with "finished", and sound runs have no warnings.

use crate::fixtures;
use jostle_core::{Error, ErrorKind, Settings, UnitSystem};
use jostle_engine::model::{Barostat, Coupling, DeviceInput, StageInput, Strictness, ThermostatInput};
use jostle_engine::{
    Existing, Outcome, Overrides, Progress, Simulation, SimulationBuilder, Warning, WarningKind,
};
use jostle_io::Input;
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::path::Path;

/// Listener that collects warnings.
#[derive(Default)]
struct Warnings(Vec<Warning>);

impl Progress for Warnings {
    fn warned(&mut self, warning: &Warning) {
        self.0.push(warning.clone());
    }
}

impl Warnings {
    fn kinds(&self) -> Vec<WarningKind> {
        self.0.iter().map(|warning| warning.kind).collect()
    }
}

/// The warnings about an input, and the outcome of its run.
fn run(text: &str, strictness: Strictness) -> (Warnings, Result<Outcome, Error>) {
    let input = Input::parse(Path::new("doubtful.toml"), text).unwrap();
    let overrides =
        Overrides { strictness, threads: Some(1), device: Some(DeviceInput::Cpu), ..Overrides::default() };
    let mut simulation = Simulation::from_input(&input, &overrides).unwrap();
    let mut warnings = Warnings::default();
    let outcome = simulation.run_with(&mut warnings, &|| false);
    (warnings, outcome)
}

fn kinds(text: &str) -> Vec<WarningKind> {
    let (warnings, outcome) = run(text, Strictness::Lenient);
    outcome.unwrap();
    warnings.kinds()
}

/// An input of argon at a density, with time steps in fs.
fn argon(density: &str, timestep: f64) -> String {
    format!(
        r#"
units = "real"
[system]
lattice = "fcc"
atoms = 864
density = "{density}"
temperature = 94.4
[species.Ar]
mass = 39.948
[[force]]
kind = "lennard-jones"
cutoff = 8.5
pairs."Ar-Ar" = {{ epsilon = "120 K", sigma = 3.4 }}
[[stage]]
steps = 2
timestep = {timestep}
"#
    )
}

/// An input of flexible or rigid water, with time steps in fs.
fn water(flexible: bool, timestep: f64) -> String {
    let molecules = if flexible {
        r#"file = "water.data"
types = ["O", "H"]"#
    } else {
        r#"place = "water"
molecules = 64
bond_length = 1.0
bond_angle = 109.47
density = "0.998 g/cm3"
temperature = 300"#
    };
    let bonds = if flexible {
        r#"[[bond]]
kind = "harmonic"
types.1 = { stiffness = 1059.162, length = 1.012 }
[[angle]]
kind = "harmonic"
types.1 = { stiffness = 75.9, angle = 113.24 }"#
    } else {
        ""
    };
    format!(
        r#"
units = "real"
[system]
{molecules}
[species.O]
mass = 15.9994
charge = -0.8476
[species.H]
mass = 1.008
charge = 0.4238
[[force]]
kind = "lennard-jones"
cutoff = 5
truncation = "force-shifted"
pairs."O-O" = {{ epsilon = 0.1553, sigma = 3.166 }}
pairs."O-H" = "none"
pairs."H-H" = "none"
{bonds}
[[stage]]
steps = 1
timestep = {timestep}
thermostat = {{ kind = "langevin", temperature = 300, friction = 0.05 }}
"#
    )
}

/// Charges without a repulsive core collapse, and errors of the integration heat 4 atoms by thousands of
/// kcal/mol.
#[test]
fn growth_of_the_conserved_quantity_ends_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let atoms = "4\nLattice=\"20 0 0 0 20 0 0 0 20\" Properties=species:S:1:pos:R:3 pbc=\"T T T\"\n\
        O 5 5 5\nH 5.8 5 5\nO 5 5 8\nH 5.1 5 7.2\n";
    std::fs::write(folder.path().join("bare.xyz"), atoms).unwrap();
    let text = r#"
units = "real"
[system]
file = "bare.xyz"
[species.O]
mass = 16
charge = -0.8
[species.H]
mass = 1
charge = 0.8
[[force]]
kind = "lennard-jones"
cutoff = 9
pairs."O-O" = { epsilon = 0.15, sigma = 3.1 }
pairs."O-H" = "none"
pairs."H-H" = "none"
[electrostatics]
kind = "pme"
[[stage]]
steps = 20000
timestep = 1
checkpoint = { every = 10 }
[run]
device = "cpu"
threads = 1
"#;
    let input = Input::parse(&folder.path().join("bare.toml"), text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    let run = folder.path().join("run");
    simulation.write_to(&run, Existing::Refuse).unwrap();
    let error = simulation.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Simulation);
    assert!(error.message().contains("step 100") && error.message().contains("heating up"), "{error}");
    assert!(error.help().is_some_and(|hint| hint.contains("time step")));
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
    assert!(summary["status"].as_str().unwrap().contains("heating up"), "{summary:#}");
    drop(simulation);
    let last = Simulation::resume(&run, &Overrides::default()).unwrap();
    assert!(last.step() < 100, "the checkpoint is an earlier one: {}", last.step());
}

/// Springs of sliding, 3.5 times as stiff for what slides, have the shortest period: pi sqrt(m / 2 / 3.5e4), 0.0119.
#[test]
fn steps_too_long_for_grains_give_a_warning() {
    let grains = |timestep: f64| {
        format!(
            "units = \"lj\"\n[system]\nlattice = \"sc\"\natoms = 216\ndensity = 0.5\n[species.A]\nradius = 0.5\n\
             [grains]\nstiffness = 1e4\ntangential_stiffness = 1e4\nfriction = 0.5\n\
             [[stage]]\nname = \"fall\"\nsteps = 10\ntimestep = {timestep}\n"
        )
    };
    for (timestep, doubtful) in [(0.001, false), (0.0012, true)] {
        let (warnings, _) = run(&grains(timestep), Strictness::Lenient);
        let found = warnings.0.iter().find(|w| w.kind == WarningKind::Timestep);
        assert_eq!(found.is_some(), doubtful, "{timestep}: {:?}", warnings.0);
        assert!(found.is_none_or(|w| w.message.contains("1.187e-2 in a collision")), "{found:?}");
    }
}

/// Times that an input leaves to their defaults are named in steps.
#[test]
fn barostats_with_too_few_changes_are_refused() {
    let barostat = "barostat = { kind = \"mtk\", pressure = 1, time = \"1 ps\" }\nthermostat = { kind = \"bussi\", \
        temperature = 94.4, period = \"1 ps\" }\ntimestep";
    let text = argon("1.374 g/cm3", 5.0).replacen("timestep", barostat, 1);
    let input = Input::parse(Path::new("doubtful.toml"), &text).unwrap();
    let overrides = Overrides { device: Some(DeviceInput::Cpu), ..Overrides::default() };
    let error = Simulation::from_input(&input, &overrides).map(drop).unwrap_err();
    assert!(error.message().contains("200.0 steps, too short for changes every 10 steps"), "{error}");
    // 500 steps but for rounding.
    let exact = "barostat = { kind = \"mtk\", pressure = 1, time = 350 }\nthermostat = { kind = \"bussi\", \
        temperature = 94.4, period = 350 }\ntimestep = 0.7";
    let text = argon("1.374 g/cm3", 5.0).replacen("timestep = 5", exact, 1);
    let input = Input::parse(Path::new("exact.toml"), &text).unwrap();
    Simulation::from_input(&input, &overrides).map(drop).unwrap();
}

#[test]
fn steps_too_long_for_collisions_give_a_warning() {
    assert_eq!(kinds(&argon("1.374 g/cm3", 5.0)), [WarningKind::FewSamples; 0]);
    let (warnings, outcome) = run(&argon("1.374 g/cm3", 100.0), Strictness::Strict);
    assert_eq!(warnings.kinds(), [WarningKind::Timestep]);
    // Sigma over the thermal speed is 2425 fs.
    assert!(warnings.0[0].message.contains("0.041 of its diameter"), "{}", warnings.0[0].message);
    let error = outcome.unwrap_err();
    assert!(error.message().contains("collision"), "{error}");
}

/// A minimum is a result where it ends a run; a stage that only pushes atoms apart need not reach one.
#[test]
fn minimisations_that_end_a_run_too_early_give_a_warning() {
    let minimized = |after: &str| {
        let stages = "[[stage]]\nname = \"relax\"\nminimize = { steps = 3 }\n";
        let text = argon("1.374 g/cm3", 5.0).replace("lattice = \"fcc\"", "place = \"random\"");
        let start = text.find("[[stage]]").unwrap();
        format!("{}{stages}{after}", &text[..start])
    };
    let (warnings, outcome) = run(&minimized(""), Strictness::Strict);
    assert_eq!(warnings.kinds(), [WarningKind::Unconverged]);
    let message = &warnings.0[0].message;
    assert!(message.contains("after 3 iterations") && message.contains("kcal/mol"), "{message}");
    assert!(outcome.is_err());
    assert_eq!(kinds(&minimized("[[stage]]\nsteps = 10\ntimestep = 5\n")), []);
}

#[test]
fn densities_in_another_unit_give_a_warning() {
    assert_eq!(kinds(&argon("1.374 kg/m3", 5.0)), [WarningKind::Spacing]);
    // Forces cancel in a perfect lattice that is too dense, too.
    let crowded = argon("1.374 g/cm3", 5.0).replace("sigma = 3.4", "sigma = 10");
    let (warnings, _) = run(&crowded, Strictness::Lenient);
    assert!(warnings.kinds().contains(&WarningKind::Spacing), "{:?}", warnings.0);
    let alone = argon("1.374 kg/m3", 5.0)
        .replace("lennard-jones", "morse")
        .replace("epsilon = \"120 K\", sigma = 3.4", "depth = 0.2, steepness = 1.5, r0 = 3.8");
    assert_eq!(kinds(&alone), [WarningKind::Spacing]);
}

/// Densities of 12 neighbours with f(r) = 1 in a crystal, and a table of F(rho) that ends at 11 or at 13.
#[test]
fn densities_beyond_the_table_of_a_metal_give_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    for (end, doubtful) in [(11.0, true), (13.0, false)] {
        let column =
            |value: &dyn Fn(usize) -> f64| (0..12).map(|k| format!("{:e}\n", value(k))).collect::<String>();
        // All pairs within the cut-off count as one; the nearest are 2.5562 apart, others 3.615 and more.
        let near = |k: usize| if k < 9 { 1.0 } else { 0.0 };
        let text = format!(
            "a\nb\nc\n1 Cu\n12 {} 12 0.5 3\n29 63.55 3.615 fcc\n{}{}{}",
            end / 11.0,
            column(&|k| -0.1 * k as f64),
            column(&near),
            column(&|_| 0.0)
        );
        let path = folder.path().join("Cu.eam.alloy");
        std::fs::write(&path, text).unwrap();
        let text = format!(
            "units = \"metal\"\n[system]\nlattice = \"fcc\"\ncells = [3, 3, 3]\nlattice_constant = 3.615\n\
             [species.Cu]\nmass = 63.55\n[metal]\nkind = \"embedded-atom\"\nfile = {path:?}\n\
             [[stage]]\nname = \"a\"\nsteps = 5\ntimestep = 0.001\n[[stage]]\nname = \"b\"\nsteps = 5\ntimestep = 0.001\n"
        );
        let (warnings, outcome) = run(&text, Strictness::Lenient);
        outcome.unwrap();
        let found: Vec<_> = warnings.0.iter().filter(|w| w.kind == WarningKind::Density).collect();
        assert_eq!(found.len(), usize::from(doubtful), "{found:?}");
        if let [warning] = found[..] {
            let message = &warning.message;
            assert!(message.contains("at 108 of 108 atoms") && message.contains("11.000000"), "{message}");
            assert!(message.contains("the highest is 12.000000"), "{message}");
        }
        if doubtful {
            let error = run(&text, Strictness::Strict).1.unwrap_err();
            assert!(error.message().contains("beyond the end of the table"), "{error}");
        }
    }
}

#[test]
fn steps_too_long_for_rigid_water_give_a_warning() {
    for (timestep, doubtful) in [(2.0, false), (5.0, false), (10.0, true)] {
        let (warnings, _) = run(&water(false, timestep), Strictness::Lenient);
        let found = warnings.0.iter().find(|w| w.kind == WarningKind::Timestep);
        assert_eq!(found.is_some(), doubtful, "{timestep} fs");
        // The time for 1 A at the thermal speed of hydrogen at 300 K is 63.6 fs.
        assert!(found.is_none_or(|w| w.message.contains("0.16 radians")), "{found:?}");
    }
}

/// Flexible water as a rigid body: its bonds do not vibrate, and its smallest moment of inertia is that about its axis.
#[test]
fn steps_too_long_for_rigid_bodies_give_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let data = "water\n\n3 atoms\n2 bonds\n1 angles\n2 atom types\n1 bond types\n1 angle types\n\
        0 20 xlo xhi\n0 20 ylo yhi\n0 20 zlo zhi\n\nMasses\n\n1 15.9994\n2 1.008\n\nAtoms # full\n\n\
        1 1 1 -0.8476 5 5 5\n2 1 2 0.4238 6.012 5 5\n3 1 2 0.4238 4.6 5.93 5\n\n\
        Bonds\n\n1 1 1 2\n2 1 1 3\n\nAngles\n\n1 1 2 1 3\n";
    std::fs::write(folder.path().join("water.data"), data).unwrap();
    for (timestep, doubtful) in [(2.0, false), (10.0, true)] {
        let text = water(true, timestep).replace("types = [", "temperature = 300\ntypes = [");
        let text = text + "\n[[rigid]]\natoms = \"all\"\n";
        let input = Input::parse(&folder.path().join("water.toml"), &text).unwrap();
        let overrides = Overrides { device: Some(DeviceInput::Cpu), ..Overrides::default() };
        let mut warnings = Warnings::default();
        let mut simulation = Simulation::from_input(&input, &overrides).unwrap();
        simulation.run_with(&mut warnings, &|| false).unwrap();
        let found = warnings.0.iter().find(|w| w.kind == WarningKind::Timestep);
        assert_eq!(found.is_some(), doubtful, "{timestep} fs: {found:?}");
        assert!(
            found.is_none_or(|w| w.message.contains("the rigid body of an atom of O turns")),
            "{found:?}"
        );
    }
}

/// Flexible SPC water (Wu, Tepper and Voth 2006), whose bonds have a period of 9.2 fs.
#[test]
fn steps_too_long_for_bonds_give_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let data = "water\n\n3 atoms\n2 bonds\n1 angles\n2 atom types\n1 bond types\n1 angle types\n\
        0 20 xlo xhi\n0 20 ylo yhi\n0 20 zlo zhi\n\nMasses\n\n1 15.9994\n2 1.008\n\nAtoms # full\n\n\
        1 1 1 -0.8476 5 5 5\n2 1 2 0.4238 6.012 5 5\n3 1 2 0.4238 4.6 5.93 5\n\n\
        Bonds\n\n1 1 1 2\n2 1 1 3\n\nAngles\n\n1 1 2 1 3\n";
    std::fs::write(folder.path().join("water.data"), data).unwrap();
    for (timestep, doubtful) in [(1.0, false), (2.0, true)] {
        let path = folder.path().join("water.toml");
        let input = Input::parse(&path, &water(true, timestep)).unwrap();
        let overrides = Overrides { device: Some(DeviceInput::Cpu), ..Overrides::default() };
        let mut warnings = Warnings::default();
        let mut simulation = Simulation::from_input(&input, &overrides).unwrap();
        simulation.run_with(&mut warnings, &|| false).unwrap();
        let found = warnings.0.iter().find(|w| w.kind == WarningKind::Timestep);
        assert_eq!(found.is_some(), doubtful, "{timestep} fs: {:?}", warnings.0);
        assert!(found.is_none_or(|w| w.message.contains("O-H vibrates once in 9.1")), "{found:?}");
    }
}

/// A Lennard-Jones term with a cut-off of 2.5.
fn core(truncation: Truncation) -> PairTerm {
    PairTerm::uniform(PairKind::LennardJones, truncation, &[1.0, 1.0], 2.5)
}

fn fluid(term: PairTerm, stages: &[StageInput]) -> SimulationBuilder {
    let system = fixtures::argon(256, 0.7, 1.2, 2);
    let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
    let builder = Simulation::builder(UnitSystem::Lj, system).seed(4).settings(settings).force(term);
    stages.iter().fold(builder.device(DeviceInput::Cpu), |builder, stage| builder.stage(stage.clone()))
}

/// Steps that are too long heat a fluid at constant energy, and a thermostat that never acts holds no
/// temperature: both give warnings, in the log, too, and errors under `strict`.
#[test]
fn heating_gives_a_warning() {
    let idle = ThermostatInput::rescale(2.4, 1_000_000);
    let drifting = StageInput::dynamics("drifting", 2000, 0.025).thermo(10);
    let cold = StageInput::dynamics("cold", 2000, 0.004).thermo(10).thermostat(idle);
    let sound = StageInput::dynamics("sound", 20_000, 0.004).thermo(10);
    let mut warnings = Warnings::default();
    let mut simulation = fluid(core(Truncation::Plain), &[drifting, cold.clone()]).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    simulation.run_with(&mut warnings, &|| false).unwrap();
    let of = |stage: usize, kind| simulation.reports()[stage].warnings.iter().any(|w| w.kind == kind);
    assert!(of(0, WarningKind::Drift) && of(1, WarningKind::Temperature), "{:?}", warnings.0);
    let read = |name: &str| std::fs::read_to_string(folder.path().join("run").join(name)).unwrap();
    let log = read("jostle.log");
    assert!(log.contains("warning: stage \"drifting\": the conserved quantity"), "{log}");
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    let kinds = summary["stages"][0]["warnings"].as_array().unwrap();
    assert!(kinds.iter().any(|w| w["kind"] == "drift"), "{summary:#}");
    let all: usize = simulation.reports().iter().map(|r| r.warnings.len()).sum();
    assert_eq!(warnings.0.len(), all, "each warning is given once: {:?}", warnings.0);

    let strict = |stage: StageInput| {
        let builder = fluid(core(Truncation::Shifted), &[stage]).strictness(Strictness::Strict);
        builder.build().unwrap().run()
    };
    assert!(strict(cold).unwrap_err().message().contains("thermostat"));
    assert_eq!(strict(sound).unwrap(), Outcome::Finished);
}

/// A Monte Carlo barostat holds the pressure that includes jumps of the energy at the cut-off, which the
/// printed pressure, from the virial, does not contain: they differ by 2 pi/3 rho^2 r^3 u(r), where u(2.5) =
/// -0.016316891 (the usual shift of the truncated fluid). They agree where the energy does not jump, with a
/// tail correction, and under barostats that go by the virial.
#[test]
fn barostats_and_energies_that_jump_at_the_cutoff() {
    let thermostat = ThermostatInput::langevin(1.2, 1.0);
    let trials = Barostat::MonteCarlo { pressure: 1.0, coupling: Coupling::Isotropic, every: 5 };
    let moving = Barostat::MartynaTobiasKlein { pressure: 1.0, time: 2.0, every: 2 };
    let plain = || core(Truncation::Plain);
    for (name, term, barostat, jumps) in [
        ("plain, trials", plain(), trials, true),
        ("shifted, trials", core(Truncation::Shifted), trials, false),
        ("corrected, trials", plain().with_tail_correction().unwrap(), trials, false),
        ("plain, moving", plain(), moving, false),
    ] {
        let stage = |name, steps| {
            StageInput::dynamics(name, steps, 0.005).thermostat(thermostat).barostat(barostat).thermo(10)
        };
        let mut simulation = fluid(term, &[stage("settle", 4000), stage("sample", 30_000)]).build().unwrap();
        let mut warnings = Warnings::default();
        simulation.run_with(&mut warnings, &|| false).unwrap();
        let found = warnings.0.iter().filter(|w| w.kind == WarningKind::Barostat).count();
        assert_eq!(found, if jumps { 2 } else { 0 }, "{name}: {:?}", warnings.0);
        let averages = &simulation.reports()[1].averages;
        let mean =
            |quantity: &str| averages.iter().find(|a| a.quantity == quantity).unwrap().estimate.unwrap();
        let (pressure, density) = (mean("pressure"), mean("density").mean);
        let jump = 2.0 * std::f64::consts::PI / 3.0 * density.powi(2) * 2.5f64.powi(3) * -0.016316891;
        let expected = if jumps { 1.0 - jump } else { 1.0 };
        println!("{name}: {} +- {}, expected {expected}, density {density}", pressure.mean, pressure.error);
        assert!(pressure.error < 0.02, "{name}: {} says nothing", pressure.error);
        // The fluid is not quite uniform at the cut-off: g(2.5) is 0.94 there.
        let allowed = 4.0 * pressure.error + 0.1 * jump.abs();
        assert!((pressure.mean - expected).abs() < allowed, "{name}: {} for {expected}", pressure.mean);
    }
}

/// Crystals at rest move by rounding alone, which is neither a blow-up nor a drift; energies are rounded to single precision or
/// to double.
#[test]
fn crystals_at_rest_stay_there() {
    let atoms = "units = \"lj\"\n[system]\nlattice = \"fcc\"\natoms = 256\ndensity = 1.0\n[species.A]\nmass = 1\n\
        [[force]]\nkind = \"lennard-jones\"\ncutoff = 2.2\npairs.\"A-A\" = { epsilon = 1, sigma = 1 }\n";
    let copper = "units = \"metal\"\n[system]\nlattice = \"fcc\"\ncells = [5, 5, 5]\nlattice_constant = 3.615\n\
        [species.Cu]\nmass = 63.55\n[metal]\nkind = \"sutton-chen\"\n";
    for (crystal, timestep) in [(atoms, 0.004), (copper, 0.001)] {
        for precision in ["mixed", "double"] {
            let text = format!(
                "{crystal}[[stage]]\nname = \"rest\"\nsteps = 400\ntimestep = {timestep}\nthermo = {{ every = 20 }}\n\
                 [run]\nprecision = \"{precision}\"\n"
            );
            assert!(!kinds(&text).contains(&WarningKind::Drift), "{precision}: {crystal}");
        }
    }
}

/// Work that is recorded is no error of the time step; where a part of it is not, the conserved quantity says nothing
/// about the time step.
#[test]
fn work_that_is_not_recorded_is_no_drift() {
    let text = |timestep: f64, motion: &str, work: &str| {
        format!(
            r#"
units = "lj"
[system]
lattice = "sc"
atoms = 216
density = 0.7
periodic = [true, true, false]
temperature = 1
[species.A]
mass = 1
[[force]]
kind = "soft-sphere"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
[[wall]]
axis = "z"
at = -0.1
atoms = "above"
reflection = "elastic"
{motion}
[[wall]]
axis = "z"
at = 6.9
atoms = "below"
reflection = "elastic"
[[field]]
energy = "0.2*z*sin(3*time)"
{work}
[[stage]]
steps = 1000
timestep = {timestep}
thermo = {{ every = 10 }}
[run]
reproducible = true
"#
        )
    };
    let (still, recorded) = ("", "work = \"recorded\"");
    let moving = "motion = { velocity = 0.6, to = 1 }";
    let drifts = |text: String| kinds(&text).contains(&WarningKind::Drift);
    assert!(!drifts(text(0.004, moving, recorded)), "the work of the wall is not recorded");
    assert!(!drifts(text(0.004, still, recorded)));
    assert!(!drifts(text(0.004, still, "")), "the work of the field is not recorded");
    assert!(drifts(text(0.02, still, recorded)), "a long time step still gives a warning");
}

/// Charges of species on which nothing acts are told, unless a field, a formula or a potential may take them.
#[test]
fn charges_without_a_force_give_a_warning() {
    let text = |more: &str| {
        format!(
            "units = \"lj\"\n[system]\nlattice = \"sc\"\ncells = [6, 6, 6]\ndensity = 0.5\ntemperature = 1\n\
             [species.A]\nmass = 1\ncharge = 1\nfraction = 0.5\n[species.B]\nmass = 1\ncharge = -1\nfraction = 0.5\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 2\nmixing = \"lorentz-berthelot\"\n\
             pairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\npairs.\"B-B\" = {{ epsilon = 1, sigma = 1 }}\n{more}\
             [[stage]]\nname = \"s\"\nsteps = 1\ntimestep = 0.001\n"
        )
    };
    for (more, told) in [
        ("", true),
        ("[electrostatics]\nkind = \"pme\"\naccuracy = 1e-3\ncutoff = 2\n", false),
        ("[[force]]\nkind = \"yukawa\"\nscreening_length = 0.5\ncutoff = 2\n", false),
        ("[[field]]\nelectric = [0, 0, 0.1]\n", false),
    ] {
        let input = Input::parse(Path::new("charges.toml"), &text(more)).unwrap();
        let overrides = Overrides { device: Some(DeviceInput::Cpu), ..Overrides::default() };
        let mut warnings = Warnings::default();
        let mut simulation = Simulation::from_input(&input, &overrides).unwrap();
        simulation.run_with(&mut warnings, &|| false).unwrap();
        let found: Vec<_> = warnings.0.iter().filter(|w| w.kind == WarningKind::IdleCharges).collect();
        assert_eq!(found.len(), usize::from(told), "{more}: {:?}", warnings.0);
        assert!(found.iter().all(|w| w.message.contains("[electrostatics]")), "{found:?}");
    }
}
