//! Groups of atoms by selections: driven, in fields, measured, restrained, reported.

use crate::fixtures::run_in_parts;
use jostle_core::{UnitSystem, Vec3, Vector};
use jostle_engine::{Existing, Overrides, Simulation, WarningKind, system_from_input};
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// An input with a cold liquid, other sections and settings of its stage.
fn text(more: &str, stage: &str) -> String {
    format!(
        r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 256
density = 0.8
temperature = 0.8
seed = 5
[species.A]
mass = 1
fraction = 0.5
[species.B]
mass = 2
fraction = 0.5
[[force]]
kind = "lennard-jones"
cutoff = 2.2
mixing = "lorentz-berthelot"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
pairs."B-B" = {{ epsilon = 1, sigma = 1 }}
{more}
[[stage]]
name = "go"
steps = 60
timestep = 0.004
thermo = {{ every = 10 }}
{stage}
[run]
threads = 1
device = "cpu"
precision = "double"
reproducible = true
"#
    )
}

fn input(more: &str, stage: &str) -> Input {
    Input::parse(Path::new("groups.toml"), &text(more, stage)).unwrap()
}

fn simulation(more: &str, stage: &str) -> Simulation {
    Simulation::from_input(&input(more, stage), &Overrides::default()).unwrap()
}

const SLABS: &str = r#"
[[group]]
name = "floor"
atoms = "z < 1.7"
frozen = true
report = true
[[group]]
name = "lid"
atoms = "z > 5 and not group floor"
velocity = [0.3, 0, 0]
[[group]]
name = "rest"
atoms = "not group floor lid"
report = true
"#;

/// The conserved quantity of atoms that all stand still is no part of their kinetic energy: there is no drift.
#[test]
fn frozen_atoms_have_no_drift() {
    let of = |more: &str| {
        let mut simulation = simulation(more, "");
        simulation.run().unwrap();
        simulation.reports()[0].drift
    };
    assert!(of("").unwrap().of_kinetic.is_finite());
    assert_eq!(of("[[group]]\nname = \"all\"\natoms = \"all\"\nfrozen = true\n"), None);
}

#[test]
fn groups_are_frozen_and_driven() {
    let mut simulation = simulation(SLABS, "");
    let before = simulation.unwrapped_positions().unwrap();
    simulation.run().unwrap();
    let (after, time) = (simulation.unwrapped_positions().unwrap(), simulation.time());
    let (mut frozen, mut driven, mut free) = (0, 0, 0);
    for (a, b) in before.iter().zip(&after) {
        let moved = *b - *a;
        if a[2] < 1.7 {
            assert_eq!(moved, [0.0; 3]);
            frozen += 1;
        } else if a[2] > 5.0 {
            assert!((moved[0] - 0.3 * time).abs() < 1e-9 && moved[1] == 0.0 && moved[2] == 0.0, "{moved:?}");
            driven += 1;
        } else {
            assert!(moved.iter().all(|x| *x != 0.0));
            free += 1;
        }
    }
    assert_eq!([frozen, driven, free], [64, 64, 128]);
    let thermo = simulation.thermo().unwrap();
    assert_eq!((thermo.groups[0].temperature, thermo.groups[0].kinetic), (None, 0.0));
    // The group "rest" has all free atoms, and its momentum is not conserved.
    assert!((thermo.groups[1].kinetic / thermo.kinetic - 1.0).abs() < 1e-12);
    assert!((thermo.groups[1].temperature.unwrap() / thermo.temperature - 1.0).abs() < 1e-12);
}

/// Velocities that are set are those of free atoms: frozen and driven ones keep theirs, also where a program brought
/// others along, and after a checkpoint.
#[test]
fn frozen_and_driven_atoms_keep_their_velocities() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulation = simulation(SLABS, "");
    simulation.write_to(folder.path(), Existing::Refuse).unwrap();
    simulation.advance(10).unwrap();
    let others: Vec<Vec3> = simulation.velocities().unwrap().iter().map(|v| *v * -0.9).collect();
    simulation.set_velocities(&others).unwrap();
    let (before, kept) = (simulation.unwrapped_positions().unwrap(), simulation.velocities().unwrap());
    simulation.advance(20).unwrap();
    simulation.leave_folder().unwrap();
    let mut resumed = Simulation::resume(folder.path(), &Overrides::default()).unwrap();
    resumed.advance(20).unwrap();
    let after = resumed.unwrapped_positions().unwrap();
    let (mut frozen, mut driven) = (0, 0);
    for id in 0..256 {
        let moved = after[id] - before[id];
        if kept[id] == [0.0; 3] {
            assert_eq!(moved, [0.0; 3]);
            frozen += 1;
        } else if kept[id] == [0.3, 0.0, 0.0] {
            assert!((moved - Vector([0.3 * 40.0 * 0.004, 0.0, 0.0])).norm() < 1e-9, "{moved:?}");
            driven += 1;
        } else {
            assert_eq!(kept[id], others[id]);
        }
    }
    assert_eq!([frozen, driven], [64, 64]);
    let (mut system, forces) = system_from_input(&input(SLABS, "")).unwrap();
    let expected = system.state.velocity.clone();
    system.state.velocity.iter_mut().for_each(|v| *v = Vector([1.0, 2.0, 3.0]));
    let builder = Simulation::builder(UnitSystem::Lj, system);
    let mut built = forces.pairs.into_iter().fold(builder, |b, term| b.force(term)).build().unwrap();
    let given = built.velocities().unwrap();
    let ids: Vec<usize> = built.driven().iter().map(|id| *id as usize).collect();
    assert!(ids.len() == 128 && ids.iter().all(|id| given[*id] == expected[*id]));
}

/// Atoms selected by their positions stay in their groups, wherever they move.
#[test]
fn a_resumed_run_keeps_its_groups() {
    let fields = "[[field]]\nforce = [0, 0.5, 0]\natoms = \"x < 3\"\n[[field]]\nforce = [0, 0, 0.2]\ngroup = \"rest\"\n\
                  [[field]]\nenergy = \"0.3 x sin(9 time)\"\npositions = \"unwrapped\"\natoms = \"x < 3\"\n";
    let measures = "measure = [{ kind = \"msd\", every = 4, atoms = \"y < 3 and group rest\" }, \
                    { kind = \"rdf\", every = 10, group = \"rest\", bins = 20 }]";
    let restraints = "[[restraint]]\nkind = \"position\"\ngroup = \"rest\"\nstiffness = 20\n\
                      [[restraint]]\nkind = \"distance\"\nbetween = [\"x < 2\", \"x > 5\"]\nfrom = 1\nto = 2\n\
                      stiffness = 50\n";
    let input = input(&format!("{SLABS}{fields}{restraints}"), measures);
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    let mut a = run_in_parts(&input, &whole, u64::MAX);
    let mut b = run_in_parts(&input, &parts, 13);
    assert_eq!(a.unwrapped_positions().unwrap(), b.unwrapped_positions().unwrap());
    assert_eq!(a.velocities().unwrap(), b.velocities().unwrap());
    for file in ["thermo.csv", "go.msd.csv", "go.rdf.csv"] {
        let [a, b] = [&whole, &parts].map(|folder| fs::read_to_string(folder.join(file)).unwrap());
        assert!(a.lines().count() > 5, "{file}: {a}");
        assert_eq!(a, b, "{file}");
    }
    let rows = fs::read_to_string(whole.join("thermo.csv")).unwrap();
    assert!(rows.contains("temperature_rest") && rows.contains("z_floor"), "{rows}");
}

/// Atoms that are driven and forces that change with time do work, which is no error of the integration; where work is
/// recorded, the conserved quantity takes it off, and its drift is one again.
#[test]
fn work_from_outside_is_no_drift() {
    let field =
        "[[field]]\nenergy = \"8 z cos(12 time)\"\npositions = \"unwrapped\"\natoms = \"index < 60\"\n";
    let driven = "[[group]]\nname = \"plate\"\natoms = \"z < 1.7\"\nvelocity = [2, 0, 0]\n";
    let recorded = format!("{field}work = \"recorded\"\n");
    // The plain cut-off, at which the energy jumps, makes a drift of its own.
    for (more, is_work) in [(driven, true), (field, true), (&recorded, false)] {
        let mut simulation = simulation(more, "");
        simulation.run().unwrap();
        let report = &simulation.reports()[0];
        let drift = report.drift.unwrap().of_kinetic;
        assert_eq!(drift.abs() > 0.5, is_work, "{more}: {drift}");
        let warned = report.warnings.iter().any(|w| w.kind == WarningKind::Drift);
        assert_eq!(warned, !is_work && drift.abs() > 0.1, "{more}: {drift} {:?}", report.warnings);
    }
}

/// Columns of fields have the numbers of the input, whatever the fields are made of.
#[test]
fn fields_have_the_numbers_of_the_input() {
    let fields =
        "[[field]]\nenergy = \"2 + 0 x\"\n[[field]]\nforce = [0, 0, 0.1]\n[[field]]\nenergy = \"5 + 0 x\"\n";
    let folder = tempfile::tempdir().unwrap();
    run_in_parts(&input(fields, ""), folder.path(), u64::MAX);
    let text = fs::read_to_string(folder.path().join("thermo.csv")).unwrap();
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let row: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
    let value = |name: &str| -> f64 {
        let place = names.iter().position(|column| column.split(' ').next() == Some(name));
        row[place.unwrap_or_else(|| panic!("no {name} in {names:?}"))].parse().unwrap()
    };
    assert!((value("field_1") - 2.0 * 256.0).abs() < 1e-6, "{text}");
    assert!((value("field_3") - 5.0 * 256.0).abs() < 1e-6, "{text}");
    assert!(value("field_2") < 0.0, "{text}");
}

/// Fields by formulas: their names, their atoms, and energies that jump at a face of the box.
#[test]
fn fields_by_formulas_are_resolved_with_the_atoms() {
    let field = |lines: &str| format!("[[field]]\n{lines}\n");
    let mut simulation = simulation(
        &field("energy = \"a mass\"\nparameters = { a = 3 }\nspecies = [\"B\"]\natoms = \"index 0 to 99\""),
        "",
    );
    let of_b = simulation.state().unwrap();
    let n = (0..of_b.len()).filter(|k| of_b.id[*k] < 100 && of_b.species[*k] == 1).count();
    let energy = *simulation.evaluate().unwrap().thermo.terms.last().unwrap();
    assert!((energy - 6.0 * n as f64).abs() < 1e-9 && n > 20, "{energy} {n}");
    let refused = |lines: &str| {
        let input = input(&field(lines), "");
        match Simulation::from_input(&input, &Overrides::default()) {
            Ok(_) => panic!("{lines} is not refused"),
            Err(error) => format!("{:?} {error}", error.place().map(|place| place.line)),
        }
    };
    let error = refused("energy = \"x^2\"");
    assert!(error.contains("Some(22)") && error.contains("jumps where an atom crosses"), "{error}");
    // On the faces this energy is zero but for rounding.
    let edge = Simulation::from_input(&input("", ""), &Overrides::default()).unwrap().simbox().lengths()[0];
    let wave = field(&format!("energy = \"sin(2 pi x / {edge:?}) cos(time)\""));
    Simulation::from_input(&input(&wave, ""), &Overrides::default()).unwrap();
    // A pole inside does not hide a jump.
    let error = refused("energy = \"0.001 x + (x - 1.3)^(-12)\"");
    assert!(error.contains("jumps where an atom crosses"), "{error}");
    let error = refused(&format!("energy = \"sin(2.01 pi x / {edge:?}) cos(time)\""));
    assert!(error.contains("jumps where an atom crosses"), "{error}");
    let error = refused("energy = \"depth sin(time)\"");
    assert!(error.contains("Some(22)") && error.contains("\"depth\" stands for nothing"), "{error}");
}

/// The energy of a spring at every atom of an ideal gas is given by equipartition.
#[test]
fn restraints_hold_atoms_like_springs() {
    let text = r#"
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
[[restraint]]
kind = "distance"
between = ["index 0", "index 500"]
length = 3.5
stiffness = 1000
[[stage]]
steps = 400
timestep = 0.02
thermostat = { kind = "langevin", temperature = 0.5, friction = 2 }
thermo = { every = 0 }
[[stage]]
steps = 2000
timestep = 0.02
thermostat = { kind = "langevin", temperature = 0.5, friction = 2 }
thermo = { every = 20 }
[run]
device = "cpu"
threads = 1
"#;
    let input = Input::parse(Path::new("springs.toml"), text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let report = &simulation.reports()[1];
    let average = report.averages.iter().find(|a| a.quantity == "restraint").unwrap();
    let found = average.estimate.unwrap();
    // Half a kT for each coordinate, and the energy of three springs in a row, those of two atoms and the one
    // between them, that are strained by 1.5 together.
    let strained = 0.5 * 1.5f64.powi(2) / (2.0 / 40.0 + 1.0 / 1000.0);
    let expected = 0.5 * 0.5 * 3000.0 + strained;
    assert!((found.mean - expected).abs() < 5.0 * found.error, "{found:?} is not {expected}");
    let positions = simulation.positions().unwrap();
    let apart = simulation.simbox().nearest_image(positions[500] - positions[0]);
    let apart = apart.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((apart - 3.5).abs() < 0.2, "{apart}");
}

/// A field changes the momentum by Newton's second law.
#[test]
fn a_field_acts_on_its_group_only() {
    let force = "[[field]]\nforce = [0.25, 0, 0]\natoms = \"index 10 to 19\"\n";
    let momentum = |more: &str| {
        let mut simulation = simulation(more, "");
        simulation.run().unwrap();
        simulation.thermo().unwrap().momentum[0]
    };
    let time = 60.0 * 0.004;
    let (with, without) = (momentum(force), momentum(""));
    assert!((with - without - 10.0 * 0.25 * time).abs() < 1e-10, "{with} {without}");
}

/// Measures of a selection of a species equal those of the species.
#[test]
fn measures_of_chosen_atoms_are_those_of_their_species() {
    let measures =
        "measure = [{ kind = \"msd\", every = 2 }, { kind = \"msd\", every = 2, atoms = \"species B\" }]";
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    run_in_parts(&input("", measures), &run, u64::MAX);
    let table = |name: &str, what: &str| {
        let text = fs::read_to_string(run.join(name)).unwrap();
        let column = text.lines().next().unwrap().split(',').position(|c| c == what).unwrap();
        let rows = text.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().to_string());
        rows.collect::<Vec<_>>()
    };
    let (all, some) = (table("go.msd.csv", "msd B"), table("go.msd-2.csv", "msd all"));
    assert!(all.len() > 5);
    assert_eq!(all, some);
}

#[test]
fn mistakes_are_pointed_at() {
    let refused = |more: &str| {
        let error = match Input::parse(Path::new("groups.toml"), &text(more, "")) {
            Ok(input) => Simulation::from_input(&input, &Overrides::default()).err().unwrap(),
            Err(error) => error,
        };
        let place = error.place().unwrap().clone();
        let at = place.text.unwrap()[place.span.unwrap()].to_string();
        (error.message().to_string(), at)
    };
    let group = |name: &str, atoms: &str| format!("[[group]]\nname = \"{name}\"\natoms = \"{atoms}\"\n");
    for (more, message, at) in [
        (group("a", "species C"), "there is no species \"C\"", "C"),
        (group("a", "x > 1000"), "no atom is selected", "x > 1000"),
        (group("a", "group b"), "there is no group \"b\"", "b"),
        (group("a b", "all"), "\"a b\" cannot be the name of a group", "\"a b\""),
        (group("a", "all") + &group("a", "all"), "there are two groups \"a\"", "\"a\""),
    ] {
        assert_eq!(refused(&more), (message.to_string(), at.to_string()), "{more}");
    }
    let restraint = |more: &str| format!("[[restraint]]\nkind = \"distance\"\nstiffness = 1\n{more}\n");
    for (more, message) in [
        ("between = [\"index 1\"]\nlength = 2", "a distance is between two selections, not 1"),
        ("between = [\"index 1\", \"index 2\"]", "the restraint does not say at what distance"),
        ("between = [\"index 1\", \"index 2\"]\nfrom = 3\nto = 2", "from = 3 is beyond to = 2"),
        ("between = [\"index 1\", \"indx 2\"]\nlength = 2", "there is no word \"indx\" in selections"),
    ] {
        assert_eq!(refused(&restraint(more)).0, message, "{more}");
    }
    let twice = group("a", "index < 9") + "frozen = true\n" + &group("b", "index < 3") + "frozen = true\n";
    assert!(refused(&twice).0.contains("is in two groups that are driven"));
}

/// Measures that the first configuration has a fault for, or whose settings make no sense, are refused before a step.
#[test]
fn measures_without_a_meaning_are_refused_at_the_start() {
    for (measure, reason) in [
        ("{ kind = \"viscosity\", every = 2, to = -4 }", "not greater than zero"),
        ("{ kind = \"msd\", every = 2, from = 5, to = 2 }", "no length"),
        ("{ kind = \"rdf\", every = 2, cutoff = 1e9 }", "cells are within"),
    ] {
        let text = format!(
            "units = \"lj\"\n[system]\nlattice = \"fcc\"\natoms = 256\ndensity = 0.8\ntemperature = 1\n\
             [species.A]\nmass = 1\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 2.2\npairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\n\
             [[stage]]\nname = \"late\"\nsteps = 10\ntimestep = 0.002\nmeasure = [{measure}]\n"
        );
        let input = Input::parse(Path::new("late.toml"), &text).unwrap();
        let error = Simulation::from_input(&input, &Overrides::default()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(reason) || error.message().contains(reason), "{measure}: {error}");
        assert_eq!(error.place().and_then(|place| place.line), Some(17), "{measure}: {error}");
    }
}

/// Numbers by fluctuations are refused where the temperature changes, or something else than forces between atoms moves
/// momentum or charge; restraints count in the stages in which they act.
#[test]
fn fluctuations_are_those_of_equilibrium() {
    let bussi = "thermostat = { kind = \"bussi\", temperature = 1 }";
    let langevin = "thermostat = { kind = \"langevin\", temperature = 1, friction = 1 }";
    let ramp = "thermostat = { kind = \"bussi\", temperature = [1, 2] }";
    let shear = "deform = { kind = \"shear\", plane = \"xy\", rate = 0.1 }";
    let field = "[[field]]\nelectric = [1, 0, 0]\n";
    let held = "[[restraint]]\nname = \"r\"\nkind = \"position\"\natoms = \"index 0\"\nstiffness = 5\n";
    for (kind, stage, more, reason) in [
        ("viscosity", bussi, "", None),
        ("conductivity", langevin, "", None),
        ("viscosity", langevin, "", Some("on single atoms ends flows")),
        ("viscosity", ramp, "", Some("the temperature of this stage changes")),
        ("heat-capacity", ramp, "", Some("the temperature of this stage changes")),
        ("viscosity", bussi, held, Some("take momentum from atoms")),
        ("viscosity", &format!("{bussi}\nrestraints = []"), held, None),
        ("viscosity", &format!("{bussi}\nrestraints = {{ r = 2 }}"), held, Some("take momentum from atoms")),
        ("conductivity", shear, "", Some("deforms the box")),
        ("viscosity", bussi, field, Some("take momentum from atoms")),
        ("conductivity", bussi, field, Some("fields drive the charges")),
        (
            "viscosity",
            bussi,
            "[[group]]\nname = \"g\"\natoms = \"index 3\"\nfrozen = true\n",
            Some("frozen or driven"),
        ),
    ] {
        let text = format!(
            "units = \"lj\"\n[system]\nlattice = \"fcc\"\natoms = 256\ndensity = 0.8\ntemperature = 1\n\
             [species.A]\nmass = 1\ncharge = 0.5\nfraction = 0.5\n[species.B]\nmass = 1\ncharge = -0.5\nfraction = 0.5\n\
             [electrostatics]\nkind = \"cutoff\"\ncutoff = 2\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 2.2\n\
             mixing = \"lorentz-berthelot\"\npairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\npairs.\"B-B\" = {{ epsilon = 1, sigma = 1 }}\n\
             {more}[[stage]]\nname = \"go\"\nsteps = 10\ntimestep = 0.002\n{stage}\nmeasure = [{{ kind = \"{kind}\", every = 2 }}]\n"
        );
        let input = Input::parse(Path::new("go.toml"), &text).unwrap();
        let found = Simulation::from_input(&input, &Overrides::default()).map(|_| ());
        match (found, reason) {
            (Ok(()), None) => {}
            (Err(error), Some(reason)) => assert!(error.message().contains(reason), "{kind}: {error}"),
            (found, reason) => panic!("{kind}, {stage}{more}: {found:?}, not {reason:?}"),
        }
    }
}
