//! Total momentum: where it is conserved it is zero and takes degrees of freedom, where forces from outside act it is
//! thermal.

use crate::fixtures::column;
use jostle_core::{Result, Vec3};
use jostle_engine::report::WarningKind;
use jostle_engine::{Context, Existing, Observer, Overrides, Simulation};
use jostle_io::Input;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

/// A few soft spheres between two walls across z, under these stages.
fn slit(stages: &str) -> Simulation {
    let wall = |at: f64, side: &str| {
        format!(
            "[[wall]]\naxis = \"z\"\nat = {at}\natoms = \"{side}\"\n\
             force = {{ kind = \"soft-sphere\", pairs.\"A-wall\" = {{ epsilon = 1, sigma = 1 }} }}\n"
        )
    };
    let text = format!(
        "units = \"lj\"\n[run]\nthreads = 1\nreproducible = true\n[system]\nplace = \"random\"\nbox = {{ lengths = [2.4, 2.4, 3] }}\n\
         periodic = [true, true, false]\ntemperature = 1\nseed = 7\n[species.A]\nmass = 1\ncount = 8\n\
         [[force]]\nkind = \"soft-sphere\"\npairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\n{}{}{stages}",
        wall(-1.0, "above"),
        wall(4.0, "below"),
    );
    let input = Input::parse(Path::new("slit.toml"), &text).unwrap();
    Simulation::from_input(&input, &Overrides::default()).unwrap()
}

/// Observer of the squares of the components of velocities, and of the momentum.
struct Velocities(Sender<(Vec3, Vec3)>);

impl Observer for Velocities {
    fn every(&self) -> u64 {
        20
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        let (mut squares, mut momentum) = (Vec3::ZERO, Vec3::ZERO);
        for v in &context.state()?.velocity {
            squares += v.map(|v| v * v);
            momentum += *v;
        }
        // The receiver lives as long as the simulation.
        let _ = self.0.send((squares, momentum));
        Ok(())
    }
}

#[test]
fn between_walls_momentum_rests_along_them_and_is_thermal_across() {
    let stages = "[[stage]]\nname = \"noise\"\nsteps = 500\ntimestep = 0.004\n\
        thermostat = { kind = \"langevin\", temperature = 1, friction = 1 }\n\
        [[stage]]\nname = \"sample\"\nsteps = 300000\ntimestep = 0.004\n\
        thermostat = { kind = \"bussi\", temperature = 1, period = 0.3 }\n";
    let mut simulation = slit(stages);
    let (send, receive) = channel();
    simulation.observe(Velocities(send));
    simulation.run().unwrap();
    let degrees = |stage: usize| simulation.reports()[stage].degrees_of_freedom;
    assert_eq!([degrees(0), degrees(1)], [24, 22]);
    let samples: Vec<_> = receive.iter().skip(30).take(14900).collect();
    let mean = |of: &dyn Fn(&(Vec3, Vec3)) -> f64| samples.iter().map(of).sum::<f64>() / samples.len() as f64;
    for axis in 0..2 {
        let most = samples.iter().map(|(_, momentum)| momentum[axis].abs()).fold(0.0, f64::max);
        assert!(most < 1e-5, "it rests along {axis}: {most}");
        let thermal = mean(&|(squares, _)| squares[axis]) / 7.0;
        assert!((thermal - 1.0).abs() < 0.05, "along {axis}: {thermal}");
    }
    // With 24 degrees of freedom it is 1.09.
    let thermal = mean(&|(squares, _)| squares[2]) / 8.0;
    assert!((thermal - 1.0).abs() < 0.05, "across: {thermal}");
}

#[test]
fn initial_velocities_have_the_temperature_of_their_degrees_of_freedom() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulation =
        slit("[[stage]]\nname = \"free\"\nsteps = 1\ntimestep = 0.001\nthermo = { every = 1 }\n");
    simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let first = column(&folder.path().join("run"), "temperature")[0];
    assert!((first - 1.0).abs() < 1e-6, "{first}");
}

#[test]
fn a_field_that_moves_a_whole_fluid_is_named() {
    let warnings = |thermostat: &str, force: &str| {
        let text = format!(
            "units = \"lj\"\n[run]\nthreads = 1\nreproducible = true\n[system]\nlattice = \"fcc\"\ncells = [4, 4, 4]\ndensity = 0.7\n\
             temperature = 1\n[species.A]\nmass = 1\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 2\n\
             pairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\n[[field]]\nforce = {force}\n\
             [[stage]]\nname = \"flow\"\nsteps = 3000\ntimestep = 0.004\nthermo = {{ every = 10 }}\n\
             thermostat = {{ temperature = 1, {thermostat} }}\n"
        );
        let input = Input::parse(Path::new("flow.toml"), &text).unwrap();
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        simulation.run().unwrap();
        simulation.reports()[0].warnings.clone()
    };
    let bussi = "kind = \"bussi\", period = 0.5";
    let named = |thermostat: &str, force: &str| {
        let found = warnings(thermostat, force);
        assert!(found.iter().all(|w| w.kind != WarningKind::Temperature), "{found:?}");
        found.into_iter().find(|w| w.kind == WarningKind::CommonMotion).map(|w| w.message)
    };
    let message = named(bussi, "[0.1, 0, 0]").unwrap();
    assert!(message.contains("together") && message.contains("colder"), "{message}");
    let message = named("kind = \"langevin\", friction = 0.2", "[0.1, 0, 0]").unwrap();
    assert!(!message.contains("colder"), "{message}");
    assert_eq!(named(bussi, "[1e-4, 0, 0]"), None);
}

/// A group of all atoms has the temperature of the system; a part of them lacks its part, by mass, of what that lacks.
#[test]
fn groups_have_their_part_of_the_resting_momentum() {
    let text = "units = \"lj\"\n[run]\nthreads = 1\nreproducible = true\n[system]\nlattice = \"fcc\"\ncells = [2, 2, 2]\ndensity = 0.3\n\
        temperature = 1\n[species.A]\nmass = 1\nfraction = 0.5\n[species.B]\nmass = 5\nfraction = 0.5\n\
        [[force]]\nkind = \"lennard-jones\"\ncutoff = \"half-box\"\nmixing = \"lorentz-berthelot\"\n\
        pairs.\"A-A\" = { epsilon = 1, sigma = 1 }\npairs.\"B-B\" = { epsilon = 1, sigma = 1 }\n\
        [[group]]\nname = \"all\"\natoms = \"all\"\nreport = true\n\
        [[group]]\nname = \"heavy\"\natoms = \"name B\"\nreport = true\n\
        [[stage]]\nname = \"go\"\nsteps = 100\ntimestep = 0.004\nthermo = { every = 20 }\n\
        thermostat = { kind = \"bussi\", temperature = 1.5, period = 0.2 }\n";
    let input = Input::parse(Path::new("groups.toml"), text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let of = |name: &str| column(&folder.path().join("run"), name);
    for (all, whole) in of("temperature_all").iter().zip(of("temperature")) {
        assert!((all / whole - 1.0).abs() < 1e-6, "{all} {whole}");
    }
    // 16 atoms of 5 among 16 of 1 have 5/6 of the three degrees of freedom that the centre of mass lacks.
    for (kinetic, temperature) in of("kinetic_heavy").iter().zip(of("temperature_heavy")) {
        assert!((2.0 * kinetic / temperature - 45.5).abs() < 1e-6, "{kinetic} {temperature}");
    }
}

/// A field on charges that add up to zero leaves the total momentum as it is; one on one kind alone does not.
#[test]
fn a_field_on_neutral_atoms_conserves_momentum() {
    let degrees = |more: &str| {
        let text = format!(
            "units = \"lj\"\n[system]\nlattice = \"sc\"\ncells = [4, 4, 4]\ndensity = 0.3\ntemperature = 1\n\
             [species.A]\nmass = 1\ncharge = 1\nfraction = 0.5\n[species.B]\nmass = 5\ncharge = -1\nfraction = 0.5\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 2\nmixing = \"lorentz-berthelot\"\n\
             pairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\npairs.\"B-B\" = {{ epsilon = 1, sigma = 1 }}\n\
             [[field]]\nelectric = [0.1, 0, 0.2]\n{more}\
             [[stage]]\nname = \"go\"\nsteps = 1\ntimestep = 0.001\n"
        );
        let input = Input::parse(Path::new("field.toml"), &text).unwrap();
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        simulation.run().unwrap();
        simulation.reports()[0].degrees_of_freedom
    };
    assert_eq!([degrees(""), degrees("species = [\"A\"]\n")], [3 * 64 - 3, 3 * 64 - 1]);
}
