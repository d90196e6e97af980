//! The input file: what is read, and what is refused.

use jostle_core::{Dimension, Precision, Topology, UnitSystem};
use jostle_io::Input;
use jostle_io::input::model::*;
use jostle_io::input::{INPUT, schema_json, schema_text};
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::{PairChoice, PairKind, Screening, Truncation};
use std::path::Path;

const ARGON: &str = r#"title = "Liquid argon at 94.4 K, after Rahman (1964)"
units = "real"                                # angstrom, fs, kcal/mol, g/mol, kelvin

[system]
lattice = "fcc"
atoms = 864
density = "1.374 g/cm3"
temperature = 94.4
seed = 1964

[species.Ar]
mass = 39.948

[[force]]
kind = "lennard-jones"
cutoff = 8.5
pairs."Ar-Ar" = { epsilon = "119.8 K", sigma = 3.405 }

[[stage]]                                     # stages run one after another
name = "equilibrate"
steps = 20_000
timestep = 5
thermostat = { kind = "bussi", temperature = 94.4, period = "0.5 ps" }

[[stage]]                                     # no thermostat: constant energy
name = "sample"
steps = 100_000
timestep = "5 fs"
thermo = { every = 50 }
trajectory = { every = 500, format = "xtc" }

[run]                                         # never changes the physics, only how it is computed
device = "auto"
precision = "mixed"
"#;

fn parse(text: &str) -> jostle_core::Result<Input> {
    Input::parse(Path::new("argon.toml"), text)
}

#[test]
fn argon() {
    let input = parse(ARGON).unwrap();
    assert_eq!(input.units, UnitSystem::Real);
    let AtomsInput::Lattice { lattice, extent, density } = &input.system.atoms.value else {
        panic!("{:?}", input.system.atoms)
    };
    assert_eq!((*lattice, *extent), (Lattice::Fcc, LatticeExtent::Atoms(864)));
    let DensityInput::Mass(density) = density else { panic!("{density:?}") };
    assert!((density / 0.827442140424 - 1.0).abs() < 1e-12, "{density}");
    let velocities = VelocityInput { temperature: 94.4, distribution: Distribution::Maxwell };
    assert_eq!(input.system.velocities, Some(velocities));
    assert_eq!(input.system.seed, 1964);
    let constants = Vec::new();
    let argon = SpeciesInput {
        name: "Ar".into(),
        mass: Some(39.948),
        charge: None,
        driven: None,
        radius: None,
        constants,
        amount: None,
    };
    assert_eq!(input.species[0].value, argon);
    let force = &input.forces[0].value;
    assert_eq!(
        (&force.potential, force.cutoff, force.truncation),
        (&PotentialInput::BuiltIn(PairKind::LennardJones), Some(Cutoff::At(8.5)), Truncation::Plain)
    );
    let kelvin =
        jostle_core::quantity::parse_quantity("119.8 K", &[Dimension::ENERGY], input.units).unwrap().0;
    let choice = PairChoice::Given { parameters: vec![Some(kelvin), Some(3.405)], cutoff: None };
    assert_eq!(force.pairs[0].value, PairInput { species: ["Ar".into(), "Ar".into()], choice, table: None });
    let thermostat = Some(ThermostatInput::bussi(94.4, 500.0));
    let [equilibrate, sample] = &input.stages[..] else { panic!("{:?}", input.stages) };
    assert_eq!(equilibrate.value.action, Action::Dynamics { steps: 20_000, timestep: 5.0, thermostat });
    assert_eq!((equilibrate.value.thermo_every, equilibrate.value.checkpoint_every), (100, 0));
    assert_eq!(equilibrate.value.trajectory, None);
    assert_eq!(sample.value.action, Action::Dynamics { steps: 100_000, timestep: 5.0, thermostat: None });
    assert_eq!(sample.value.thermo_every, 50);
    assert_eq!(sample.value.trajectory, Some(TrajectoryInput { every: 500, format: TrajectoryFormat::Xtc }));
    assert_eq!(input.run.settings.precision, Precision::Mixed);
    assert_eq!(input.run.output, None);
}

#[test]
fn devices() {
    let device = |name: &str| {
        parse(&ARGON.replace("\"auto\"", &format!("\"{name}\""))).map(|input| input.run.device).ok()
    };
    assert_eq!(device("auto"), Some(DeviceInput::Auto));
    assert_eq!(device("cpu"), Some(DeviceInput::Cpu));
    assert_eq!(device("cuda"), Some(DeviceInput::gpu(0)));
    assert_eq!(device("cuda:3"), Some(DeviceInput::gpu(3)));
    assert_eq!(device("cuda:all"), Some(DeviceInput::Cuda(Gpus::All)));
    let both = DeviceInput::Cuda(Gpus::Chosen(GpuSet::one(0).and(GpuSet::one(2))));
    assert_eq!(device("cuda:2,0"), Some(both));
    for wrong in ["gpu", "cuda:", "cuda:-1", "cuda:1.5", "cuda 1", "cpu:0", "cuda:0,", "cuda:64"] {
        assert_eq!(device(wrong), None, "{wrong}");
    }
    let listed = |names: &str| parse(&ARGON.replace("\"auto\"", names)).map(|input| input.run.device);
    assert_eq!(listed("[\"cuda:0\", \"cuda:2\"]").unwrap(), both);
    for wrong in ["[]", "[\"cpu\"]", "[\"cuda:0\", \"cuda:all\"]", "[0, 1]"] {
        let error = listed(wrong).unwrap_err();
        assert!(error.place().is_some_and(|place| place.line.is_some()), "{wrong}: {error}");
    }
}

#[test]
fn the_completed_input_means_the_same() {
    for (text, also) in [
        (ARGON, "period = \"0.5 ps\""),
        (MIXTURE, "pairs.\"B-A\" = \"none\""),
        (FROM_FILE, "types = [\"Na+\", \"Cl-\"]"),
    ] {
        let input = parse(text).unwrap();
        let completed = input.completed().unwrap();
        assert!(completed.contains(also), "{completed}");
        let again = parse(&completed).unwrap_or_else(|e| panic!("{e}\n{completed}"));
        assert_eq!(meaning(&again), meaning(&input), "{completed}");
        assert_eq!(
            again.completed().unwrap().replace("  # default", ""),
            completed.replace("  # default", "")
        );
    }
}

/// The input without the places in the text.
pub fn meaning(input: &Input) -> String {
    let text = format!("{input:?}");
    let text = &text[text.find("title:").unwrap()..];
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("span: ") {
        out.push_str(&rest[..at]);
        rest = &rest[at + 6..];
        rest = &rest[rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap()..];
    }
    out + rest
}

const MIXTURE: &str = r#"
units = "lj"
[system]
place = "random"
atoms = 1e3
density = 1.2
[species.A]
fraction = 0.8
[species.B]
fraction = 0.2
mass = 2
[[force]]
kind = "lennard-jones"
truncation = "switched"
switch_from = 0.8
[force.pairs]
"A-A" = { epsilon = 1.0, sigma = 1.00, cutoff = 2.50 }
"B-A" = "none"
"B-B" = { epsilon = 0.5, sigma = 0.88, cutoff = 2.20 }
[[stage]]
minimize = { }
[[stage]]
steps = 0x10
timestep = 0.003
thermostat.kind = "nose-hoover"
thermostat.temperature = 2
checkpoint.every = 5
[run]
threads = 2
skin = 0.3
precision = "double"
output = "out/mix"
"#;

const FROM_FILE: &str = r#"
title = "salt"
units = "nano"
species."Na+".charge = 1
species."Cl-" = { charge = "-1 e", mass = "35.453 u" }
[system]
file = "salt.data"
types = ["Na+", "Cl-"]
periodic = [true, true, false]
temperature = "300 K"
velocities = "constant"
[[force]]
kind = "lennard-jones"
cutoff = "9 Å"
mixing = "lorentz-berthelot"
pairs."Na+-Na+" = { epsilon = "0.1 kcal/mol", sigma = "2.35 Å" }
pairs."Cl--Cl-" = { epsilon = "0.1 kcal/mol", sigma = "4.4 Å" }
"#;

/// The part of the input that an error points at.
fn pointed_at(text: &str) -> String {
    let error = parse(text).expect_err("must be refused");
    let place = error.place().expect("a place");
    text[place.span.clone().expect("a span")].to_string()
}

#[test]
fn errors_point_at_the_very_words() {
    for (from, to, at) in [
        ("cutoff", "cutof", "cutof"),
        ("8.5", "-8.5", "-8.5"),
        ("\"119.8 K\"", "\"119.8 s\"", "\"119.8 s\""),
        ("\"Ar-Ar\"", "\"Ar-Kr\"", "\"Ar-Kr\""),
        ("[species.Ar]", "[species.\"\"]", "\"\""),
        ("\"sample\"", "\"equilibrate\"", "\"equilibrate\""),
        ("\"xtc\"", "\"xtd\"", "\"xtd\""),
        ("timestep = 5\n", "", "[[stage]]"),
        ("density", "lattice_constant = 5\ndensity", "density"),
        ("sigma = 3.405", "sigma = 3.405, cutoff = 0", "0"),
    ] {
        assert_eq!(pointed_at(&ARGON.replacen(from, to, 1)), at, "{to}");
    }
}

/// Every default is a value that the schema itself accepts, in every system of units.
#[test]
fn defaults_are_good_in_all_units() {
    for units in UnitSystem::ALL {
        let mut text = format!(
            "units = \"{units}\"\n[system]\nlattice = \"sc\"\natoms = 1000\ndensity = 0.5\n[species.A]\nmass = 1\n\
             [[stage]]\nminimize = {{}}\n"
        );
        for kind in ["bussi", "nose-hoover", "langevin", "rescale"] {
            text += &format!(
                "[[stage]]\nsteps = 1\ntimestep = 0.001\nthermostat = {{ kind = \"{kind}\", temperature = 1 }}\n\
                 trajectory = {{ every = 1 }}\n"
            );
        }
        let input = parse(&text).unwrap_or_else(|e| panic!("{units}: {e}"));
        assert_eq!(input.stages.len(), 5);
        let names: Vec<&str> = input.stages.iter().map(|s| s.value.name.as_str()).collect();
        assert_eq!(names, ["stage-1", "stage-2", "stage-3", "stage-4", "stage-5"]);
        let periods = input.stages.iter().map(|s| match s.value.action {
            Action::Dynamics { thermostat: Some(thermostat), .. } => {
                let parameters = thermostat.parameters();
                parameters.iter().copied().fold(f64::INFINITY, f64::min)
            }
            Action::Minimize { timestep, force_tolerance, steps: 10_000, .. } => timestep / force_tolerance,
            _ => 0.0,
        });
        assert!(periods.into_iter().all(|p| p > 0.0));
    }
}

/// Text and JSON of the schema contain all sections and keys.
#[test]
fn the_schema_names_every_key() {
    let text = schema_text();
    let json = schema_json();
    let json_text = json.to_string();
    for key in INPUT.keys {
        assert!(text.contains(key.name) && json["properties"][key.name].is_object(), "{}", key.name);
    }
    for kind in PairKind::ALL {
        assert!(text.contains(kind.formula()) && json_text.contains(kind.name()), "{}", kind.name());
        for parameter in kind.parameters() {
            assert!(text.contains(&format!("{} = ", parameter.name)), "{}", parameter.name);
        }
    }
    for word in ["nose-hoover", "force-shifted", "sixth-power", "kcal", "min_distance"] {
        assert!(text.contains(word), "{word}");
    }
    assert_eq!(json["properties"]["system"]["properties"]["atoms"]["minimum"], 1);
    assert_eq!(json["properties"]["stage"]["items"]["dependentRequired"]["steps"][0], "timestep");
}

#[test]
fn placement_keeps_a_distance_by_default() {
    let random = |more: &str| {
        let text = format!(
            "units = \"lj\"\n[system]\nplace = \"random\"\n{more}\n[species.A]\nmass = 2\ncount = 100\n[species.B]\ncount = 300\n"
        );
        match parse(&text).unwrap().system.atoms.value {
            AtomsInput::Random { atoms, min_distance, .. } => (atoms, min_distance),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(random("density = 0.125"), (400, 1.4));
    assert_eq!(random("density = 0.125\nmin_distance = 0.9"), (400, 0.9));
    assert_eq!(random("box = { lengths = [10, 20, 16] }"), (400, 1.4));
    // In a narrow box no more than half of its width; along open axes there are no images.
    assert_eq!(random("box = { lengths = [1600, 2, 1] }"), (400, 0.5));
    assert_eq!(random("box = { lengths = [1600, 4, 0.5] }\nperiodic = [true, true, false]"), (400, 1.4));
}

const PASTA: &str = r#"
units = "nuclear"
[system]
place = "random"
atoms = 1000
density = 0.05
[species.n]
mass = 939
fraction = 0.6
[species.p]
mass = 939
charge = 1
fraction = 0.4
[[force]]
kind = "nuclear"
preset = "horowitz-2004"
cutoff = 11.5
[[force]]
kind = "yukawa"
cutoff = 13
screening = { kind = "relativistic" }
pairs."n-n" = "none"
pairs."n-p" = "none"
"#;

/// A preset gives the parameters of all pairs, and isospins follow from the charges: the energies
/// of V_N (Horowitz, Perez-Garcia and Piekarewicz 2004) at 2 fm, worked out by hand.
#[test]
fn nuclear_matter() {
    let input = parse(PASTA).unwrap();
    let species = input.species_with_mass().unwrap();
    let forces = input.resolve_forces(&species, &input.built_topology(), 0.02).unwrap();
    let nuclear = &forces.pairs[0];
    for ([a, b], energy) in [([0, 0], 4.080049), ([0, 1], -5.610984), ([1, 1], 4.080049)] {
        assert_eq!(nuclear.get(a, b).unwrap().parameters[..4], [110.0, -26.0, 24.0, 1.25]);
        let c = nuclear.coefficients(a, b).unwrap();
        let u = (4.0 * c[2]).exp() * (c[0] * (4.0 * c[2]).exp() + c[1]);
        assert!((u - energy).abs() < 1e-6, "{a}-{b}: {u}");
    }
    // Forces in metal units are those in nuclear ones, in eV and angstrom.
    let metal = PASTA.replace("\"nuclear\"\n[system]", "\"metal\"\n[system]");
    let metal = parse(&metal).unwrap();
    let nuclear = metal
        .resolve_forces(&metal.species_with_mass().unwrap(), &metal.built_topology(), 0.02)
        .unwrap()
        .pairs
        .remove(0);
    let p = &nuclear.get(0, 0).unwrap().parameters;
    assert!((p[0] / 110e6 - 1.0).abs() < 1e-12 && (p[3] / 1.25e-10 - 1.0).abs() < 1e-12, "{p:?}");
}

/// The screening length is that of electrons as dense as the charges, unless the input says
/// another density or the length itself.
#[test]
fn screening_by_electrons() {
    let length = |text: &str, charge_density: f64| {
        let input = parse(text).unwrap();
        let forces = input
            .resolve_forces(&input.species_with_mass().unwrap(), &input.built_topology(), charge_density)
            .unwrap();
        forces.pairs[1].get(1, 1).unwrap().parameters[1]
    };
    let expected = |density: f64| Screening::Relativistic.length(density, UnitSystem::Nuclear).unwrap();
    assert_eq!(length(PASTA, 0.02), expected(0.02));
    let with = |screening: &str| PASTA.replace("screening = { kind = \"relativistic\" }", screening);
    let dense = with("screening = { kind = \"relativistic\", electron_density = \"1e-3 fm^-3\" }");
    assert!((length(&dense, 0.02) / expected(1e-3) - 1.0).abs() < 1e-12);
    assert_eq!(length(&with("screening_length = 12"), 0.02), 12.0);
    assert_eq!(length(&with("preset = \"horowitz-2004\""), 0.02), 10.0);
    // The completed input has the meaning of the original.
    let completed = parse(PASTA).unwrap().completed().unwrap();
    assert_eq!(length(&completed, 0.02), expected(0.02));
    // A pair's own wins.
    let own = with("screening_length = 12\npairs.\"p-p\" = { screening_length = 13 }");
    assert_eq!(length(&own, 0.02), 13.0);
    let error = parse(PASTA).unwrap().resolve_forces(&[], &Topology::default(), 0.0).map(|_| ()).unwrap_err();
    assert!(error.message().contains("density 0 screen nothing"), "{error}");
}

const FORMULA: &str = r#"units = "lj"

[system]
lattice = "fcc"
atoms = 864
density = 0.8

[species.A]
charge = 2
fraction = 0.5
constants = { radius = 0.5 }

[species.B]
mass = 4
fraction = 0.5
constants = { radius = 0.4 }

[[force]]
kind = "formula"
energy = "epsilon ((radius_a + radius_b)/r)^12 + coulomb charge_a charge_b/r - c sqrt(mass_a mass_b)/r^6"
parameters = { c = 0.1, epsilon = 2 }
cutoff = 2.5
pairs."A-B" = { epsilon = 3, cutoff = 2 }
"#;

fn formula_terms(text: &str) -> jostle_core::Result<jostle_potentials::PairTerm> {
    let input = parse(text)?;
    let species = input.species_with_mass()?;
    Ok(input.resolve_forces(&species, &Topology::default(), 0.0)?.pairs.remove(0))
}

#[test]
fn names_of_formulas_are_parameters_and_constants() {
    let term = formula_terms(FORMULA).unwrap();
    let r: f64 = 1.3;
    let expected =
        |a: f64, q: f64, epsilon: f64, mass: f64| epsilon * (a / r).powi(12) + q / r - 0.1 * mass / r.powi(6);
    for ((a, b), expected) in [
        ((0, 0), expected(1.0, 4.0, 2.0, 1.0)),
        ((1, 0), expected(0.9, 0.0, 3.0, 2.0)),
        ((1, 1), expected(0.8, 0.0, 2.0, 4.0)),
    ] {
        let c = term.coefficients(a, b).unwrap();
        let (energy, _) = term.evaluate(r * r, &c);
        assert!((energy - expected).abs() < 1e-14 * expected.abs(), "{a}-{b}: {energy} is not {expected}");
    }
    assert_eq!([term.get(0, 0), term.get(0, 1)].map(|e| e.unwrap().cutoff), [2.5, 2.0]);
    let silent = FORMULA.replace("{ epsilon = 3, cutoff = 2 }", "\"none\"");
    assert!(formula_terms(&silent).unwrap().get(0, 1).is_none());
    let real = FORMULA.replace("\"lj\"", "\"real\"").replace("c = 0.1", "c = \"1 eV\"");
    let real = real.replace("charge = 2", "mass = 1\ncharge = 2");
    let PotentialInput::Formula { parameters, .. } = &parse(&real).unwrap().forces[0].value.potential else {
        panic!("no formula")
    };
    assert!((parameters[0].1 - 23.060_547_8).abs() < 1e-6, "{parameters:?}");
}

#[test]
fn a_formula_with_an_end_needs_no_cutoff() {
    let ended = FORMULA
        .replace("mass_b)/r^6\"", "mass_b)/r^6, r < 2 (radius_a + radius_b)\"")
        .replace("cutoff = 2.5\n", "")
        .replace(", cutoff = 2 ", "");
    let term = formula_terms(&ended).unwrap();
    assert_eq!(term.get(0, 1).unwrap().cutoff, 1.8);
}

#[test]
fn mistakes_in_formulas_are_pointed_at() {
    let wrong = |from: &str, to: &str| formula_terms(&FORMULA.replace(from, to)).unwrap_err();
    for (from, to, at) in [
        ("sqrt(mass_a", "sqr(mass_a", "sqr"),
        (" + coulomb", " + * coulomb", "*"),
        ("r)^12", "r^12", "("),
        ("{ epsilon = 3,", "{ epsilo = 3,", "epsilo"),
        ("parameters = {", "parameters = { d = 1,", "{ d = 1, c = 0.1, epsilon = 2 }"),
    ] {
        let error = wrong(from, to);
        let place = error.place().unwrap();
        let text = FORMULA.replace(from, to);
        assert_eq!(&text[place.span.clone().unwrap()], at, "{error}");
    }
    for (from, to, message, hint) in [
        ("c = 0.1, ", "", "pair A-A: c is missing", "parameters = { c = ... }"),
        ("constants = { radius = 0.4 }", "", "species B has no constant radius", "[species.B]"),
        ("(radius_a + radius_b)", "(radius_a)", "exchanged", "both alike"),
        ("cutoff = 2.5", "", "pair A-A: there is no cut-off", "cutoff"),
        ("- c sqrt", "+ 1/(r - 1.75) - c sqrt", "not finite at r = 1.75", "if(r < 1"),
        ("cutoff = 2.5", "cutoff = 2.5\nmixing = \"geometric\"", "mixing", "pair"),
        ("cutoff = 2.5", "cutoff = 2.5\ntail_correction = true", "no tail correction", "tail_correction"),
    ] {
        let error = wrong(from, to);
        assert!(error.message().contains(message), "{error}");
        assert!(error.help().unwrap().contains(hint), "{error}");
    }
}

#[test]
fn only_formulas_have_an_energy() {
    let text = ARGON.replacen("cutoff = 8.5", "cutoff = 8.5\nenergy = \"1/r\"", 1);
    let error = parse(&text).unwrap_err();
    assert!(error.message().contains("\"energy\" means nothing with kind = \"lennard-jones\""), "{error}");
    let error = parse(&FORMULA.replacen("energy =", "#", 1)).unwrap_err();
    assert!(error.message().contains("needs \"energy\""), "{error}");
}

#[test]
fn the_completed_input_of_a_formula_means_the_same() {
    let input = parse(FORMULA).unwrap();
    let completed = input.completed().unwrap();
    assert_eq!(meaning(&parse(&completed).unwrap()), meaning(&input), "{completed}");
}

const SALT: &str = r#"units = "lj"
[system]
lattice = "sc"
atoms = 216
density = 0.5
[species.A]
charge = 1
fraction = 0.5
[species.B]
charge = -1
fraction = 0.5
[[force]]
kind = "lennard-jones"
cutoff = 2.5
mixing = "geometric"
pairs."A-A" = { epsilon = 1, sigma = 1 }
pairs."B-B" = { epsilon = 1, sigma = 1 }
[electrostatics]
kind = "pme"
"#;

/// Accuracy and cut-off give splitting and mesh; what is not given has a default, here the cut-off of
/// the pair forces.
#[test]
fn electrostatics() {
    let term = |text: &str| {
        let input = parse(text).unwrap();
        let species = input.species_with_mass().unwrap();
        input.resolve_forces(&species, &input.built_topology(), 0.0).unwrap().electrostatics.unwrap()
    };
    let pme = term(SALT);
    assert_eq!((pme.cutoff, pme.coulomb, pme.net_charge), (2.5, 1.0, NetCharge::Refuse));
    assert_eq!(pme.method, Method::pme(2.5, 5e-4, 5));
    let with = |keys: &str| term(&SALT.replace("kind = \"pme\"", keys));
    let fine = with("kind = \"pme\"\ncutoff = 2\naccuracy = 1e-5\norder = 6\nnet_charge = \"background\"");
    assert_eq!((fine.cutoff, fine.net_charge), (2.0, NetCharge::Background));
    assert_eq!(fine.method, Method::pme(2.0, 1e-5, 6));
    assert_eq!(with("kind = \"ewald\"").method, Method::ewald(2.5, 5e-4));
    assert_eq!(with("kind = \"cutoff\"").method, Method::Cutoff);
    let field = with("kind = \"reaction-field\"\ndielectric = 78.5");
    assert_eq!(field.method, Method::ReactionField { dielectric: 78.5 });
    let conductor = with("kind = \"reaction-field\"");
    assert_eq!(conductor.method, Method::ReactionField { dielectric: f64::INFINITY });
    assert_eq!(pme.kappa(), None);
    assert_eq!(with("kind = \"pme\"\nscreening_length = 4").kappa(), Some(0.25));
    // The completed input has the meaning of the original.
    assert_eq!(term(&parse(SALT).unwrap().completed().unwrap()), pme);
    for (keys, cause) in [
        ("kind = \"pme\"\norder = 7", "order = 7"),
        ("kind = \"pme\"\naccuracy = 2", "between 0 and 1"),
        ("kind = \"cutoff\"\naccuracy = 1e-3", "unknown key \"accuracy\""),
        ("kind = \"cutoff\"\nscreening_length = 4", "unknown key \"screening_length\""),
        ("kind = \"ewald\"\nscreening_length = 4\nscreening = { kind = \"relativistic\" }", "screening"),
    ] {
        let error = parse(&SALT.replace("kind = \"pme\"", keys)).map(|_| ()).unwrap_err();
        assert!(error.message().contains(cause), "{error}");
    }
    let alone = SALT.split("[[force]]").next().unwrap().to_string() + "[electrostatics]\nkind = \"pme\"\n";
    let error = parse(&alone).map(|_| ()).unwrap_err();
    assert!(error.message().contains("needs \"cutoff\""), "{error}");
}

/// Pressures without a unit are in the unit they are reported in, not energy per volume.
#[test]
fn barostats() {
    let stage = |units: &str, keys: &str| {
        let text = format!(
            "units = \"{units}\"\n[system]\nlattice = \"fcc\"\natoms = 108\ndensity = 0.02\n\
             [species.A]\nmass = 1\n[[stage]]\nsteps = 10\ntimestep = 1e-3\n\
             thermostat = {{ kind = \"bussi\", temperature = 1 }}\nbarostat = {{ {keys} }}\n"
        );
        Input::parse(Path::new("a.toml"), &text).unwrap().stages[0].value.barostat.unwrap()
    };
    let trials = "kind = \"monte-carlo\", pressure";
    let (bare, atm) =
        (stage("real", &format!("{trials} = 1")), stage("real", &format!("{trials} = \"1 atm\"")));
    let (Barostat::MonteCarlo { pressure: a, .. }, Barostat::MonteCarlo { pressure: b, coupling, every }) =
        (bare, atm)
    else {
        panic!("{bare:?}, {atm:?}")
    };
    assert!((a / b - 1.0).abs() < 1e-14 && (b / 1.4583972574e-5 - 1.0).abs() < 1e-9, "{a} {b}");
    assert_eq!((coupling, every), (Coupling::Isotropic, 25));
    let walk = "kind = \"cell-rescaling\", pressure = 0, compressibility";
    for (units, value) in [("nano", "4.5e-5"), ("nano", "\"4.5e-5 1/bar\""), ("nano", "\"4.5e-4 1/MPa\"")] {
        let Barostat::CellRescaling { time, compressibility, .. } =
            stage(units, &format!("{walk} = {value}"))
        else {
            panic!("{value}")
        };
        // 1 bar is 0.0602214076 kJ/mol/nm^3.
        assert!((compressibility * 0.0602214076 / 4.5e-5 - 1.0).abs() < 1e-12, "{compressibility}");
        assert_eq!(time, 5.0);
    }
    assert_eq!(
        stage("lj", &format!("{walk} = 0.1, time = 2")),
        Barostat::CellRescaling { pressure: 0.0, time: 2.0, compressibility: 0.1, every: 10 }
    );
    assert_eq!(
        stage("nano", "kind = \"mtk\", pressure = 0, every = 5"),
        Barostat::MartynaTobiasKlein { pressure: 0.0, time: 2.0, every: 5 }
    );
}

/// A thermostat without a temperature holds that of the system, which is one value to change.
#[test]
fn thermostats_hold_the_temperature_of_the_system() {
    let first = |text: &str| {
        let input = Input::parse(Path::new("argon.toml"), text)?;
        Ok::<_, jostle_core::Error>(input.stages[0].value.temperatures().unwrap())
    };
    let without = ARGON.replace("temperature = 94.4, period", "period");
    assert_ne!(without, ARGON);
    assert_eq!(first(&without).unwrap(), first(ARGON).unwrap());
    let other = without.replacen("temperature = 94.4", "temperature = 120", 1);
    assert!((first(&other).unwrap()[1] / first(ARGON).unwrap()[1] - 120.0 / 94.4).abs() < 1e-12);
    for (given, what) in [("temperature = 0", "which is 0"), ("", "[system] has none")] {
        let error = first(&without.replacen("temperature = 94.4", given, 1)).unwrap_err();
        assert!(error.message().contains(what), "{error}");
    }
}
