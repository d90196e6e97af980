//! Mistakes in variables and biases of an input: errors that point into it.

use crate::biases::{BUSSI, DISTANCE, input, input_text};
use crate::fixtures::{Open, emulated};
use jostle_engine::{Overrides, Simulation};
use jostle_io::Input;
use std::path::Path;

/// Mistakes are errors at the line of the variable or the bias, with a remedy.
#[test]
fn mistakes_point_into_the_input() {
    let failure = |more: &str| {
        let parsed = Input::parse(Path::new("biases.toml"), &input_text(more, ""));
        let error = match parsed.and_then(|input| Simulation::from_input(&input, &Overrides::default())) {
            Ok(_) => panic!("{more} is accepted"),
            Err(error) => error,
        };
        assert!(error.place().is_some_and(|place| place.line.is_some()), "{error:?}");
        assert_eq!(error.kind(), jostle_core::ErrorKind::Input, "{error:?}");
        format!("{} | {}", error.message(), error.help().unwrap_or_default())
    };
    let variable = |rest: &str| format!("[[variable]]\nname = \"v\"\n{rest}\n");
    let bias = |rest: &str| format!("{DISTANCE}[[bias]]\nname = \"b\"\n{rest}\n");
    let cases = [
        (variable("kind = \"distance\"\nbetween = [\"index 3\"]"), "\"distance\" takes 2 selections, not 1"),
        (variable("kind = \"distance\"\nbetween = [\"index 3\", \"index 3\"]"), "at the same place"),
        (variable("kind = \"gyration\"\natoms = \"species C\""), "C"),
        (variable("kind = \"gyration\"\natoms = \"index 3\""), "choose two atoms or more"),
        (variable("kind = \"formula\"\nvalue = \"2 d\""), "there is no variable \"d\" before this one"),
        (
            variable("kind = \"dihedral\"\ncenters = [\"index 1\", \"index 2\", \"index 1\", \"index 3\"]"),
            "on a line",
        ),
        (
            variable("kind = \"contacts\"\nbetween = [\"index 1\", \"index 2\"]\nreach = 0.1\nsteepness = 1"),
            "make reach longer",
        ),
        (
            variable(
                "kind = \"coordination\"\nbetween = [\"index 1\", \"index 2\"]\nreach = 1\nm = 2147483648",
            ),
            "m = 2147483648",
        ),
        (
            bias(
                "kind = \"abf\"\nvariables = [\"d\"]\ntemperature = 1\nlower = 0\nupper = 9\nspacing = 1\nrelaxation = 0.01",
            ),
            "oscillates in",
        ),
        (
            bias("kind = \"harmonic\"\nvariable = \"e\"\ncenter = 1\nstiffness = 1"),
            "there is no variable \"e\"",
        ),
        (
            bias("kind = \"harmonic\"\nvariable = \"d\"\ncenter = 1\nstiffness = 1\nstages = [\"no\"]"),
            "the stages are go",
        ),
        (
            bias("kind = \"metadynamics\"\nvariables = [\"d\"]\nwidth = 0.1\nheight = 1\nevery = 5"),
            "give lower and upper",
        ),
        (
            bias(
                "kind = \"metadynamics\"\nvariables = [\"d\"]\nwidth = 0.1\nheight = 1\nevery = 5\nlower = 0\nupper = 9\nbias_factor = 1\ntemperature = 1",
            ),
            "is not greater than 1",
        ),
        (
            bias(
                "kind = \"abf\"\nvariables = [\"d\", \"d\"]\ntemperature = 1\nlower = 0\nupper = 9\nspacing = 1",
            ),
            "variable \"d\" is there twice",
        ),
        (
            bias(
                "kind = \"metadynamics\"\nvariables = [\"d\"]\nwidth = 0.1\nheight = 1\nevery = 5\nlower = 0\nupper = 9\nspacing = 0.2",
            ),
            "hills only 0.1 wide",
        ),
        (
            bias(
                "kind = \"opes\"\nvariables = [\"d\"]\nwidth = [0.1, 0.2]\nbarrier = 3\nevery = 5\ntemperature = 1",
            ),
            "width has two numbers, and the bias one variable",
        ),
        (
            bias("kind = \"abf\"\nvariables = [\"d\"]\ntemperature = 1\nlower = 0\nupper = 9\nspacing = 5"),
            "fewer than two bins",
        ),
        (variable("kind = \"volume\"").replace("\"v\"", "\"r\""), "it is that of the distance in formulas"),
        (
            turn("")
                + "kind = \"abf\"\nvariables = [\"phi\"]\ntemperature = 1\nlower = -1\nupper = 1\nspacing = 0.1\n",
            "which has a period",
        ),
        (
            turn("")
                + "kind = \"abf\"\nvariables = [\"d\", \"phi\"]\ntemperature = 1\nlower = [0, -1]\nupper = [9, 3.14]\nspacing = 0.1\n",
            "write -3.1416 for it",
        ),
        (
            turn("[[variable]]\nname = \"f\"\nkind = \"formula\"\nvalue = \"phi + 0.5\"\n")
                + "kind = \"abf\"\nvariables = [\"f\"]\ntemperature = 1\nlower = -3\nupper = 4\nspacing = 0.1\n",
            "which jumps by 6.2832 where 'phi' goes once round",
        ),
        (
            bias(
                "kind = \"metadynamics\"\nvariables = [\"d\"]\nwidth = 0.1\nheight = 1\nevery = 5\nlower = 0\nupper = 9\nwalkers = \"shared\"",
            ),
            "is not reproducible",
        ),
    ];
    for (more, expected) in cases.into_iter().chain(jumps()) {
        let found = failure(&more);
        assert!(found.contains(expected), "{more}: {found}");
    }
    // Formulas that do not jump take an adaptive force, also where one on the way does.
    for even in
        ["cos(phi)\"\n", "phi + 0.5\"\n[[variable]]\nname = \"f\"\nkind = \"formula\"\nvalue = \"cos(g)\"\n"]
    {
        let name = if even.contains("cos(g)") { "g" } else { "f" };
        let formulas = format!("[[variable]]\nname = \"{name}\"\nkind = \"formula\"\nvalue = \"{even}");
        let more = turn(&formulas)
            + "kind = \"abf\"\nvariables = [\"f\"]\ntemperature = 1\nlower = -1\nupper = 1\nspacing = 0.1\n";
        Simulation::from_input(&input(&more, ""), &Overrides::default()).unwrap();
    }
}

/// A distance, a dihedral angle, more variables, and the beginning of a bias.
fn turn(more: &str) -> String {
    format!(
        "{DISTANCE}[[variable]]\nname = \"phi\"\nkind = \"dihedral\"\n\
         centers = [\"index 0\", \"index 1\", \"index 2\", \"index 3\"]\n{more}[[bias]]\nname = \"b\"\n"
    )
}

/// A variable with the name of another column would be read in its place, by `analyze pmf`, too.
#[test]
fn a_variable_cannot_have_the_name_of_another_column() {
    let bias =
        "[[bias]]\nname = \"b\"\nkind = \"harmonic\"\nvariable = \"taken\"\ncenter = 1\nstiffness = 1\n";
    for name in ["bias", "bias_b", "potential", "step"] {
        let text = format!("{DISTANCE}{bias}").replace("\"d\"", "\"taken\"").replace("taken", name);
        let built = Simulation::from_input(&input(&text, ""), &Overrides::default());
        let error = built.map(drop).expect_err(name);
        let said = format!("thermo.csv has a column '{name}' already");
        assert!(error.message().contains(&said), "{name}: {error}");
        assert!(error.place().is_some_and(|place| place.line.is_some()), "{name}: {error:?}");
    }
}

/// A bias has the temperature of the thermostats of the stages in which it acts.
#[test]
fn biases_of_another_temperature_are_refused() {
    let opes = |temperature: f64, stage: &str| {
        let more = format!(
            "{DISTANCE}[[bias]]\nname = \"b\"\nkind = \"opes\"\nvariables = [\"d\"]\nwidth = 0.1\nbarrier = 3\nevery = 5\n\
             temperature = {temperature}\n"
        );
        Input::parse(Path::new("biases.toml"), &input_text(&more, stage))
    };
    assert!(opes(1.1, BUSSI).is_ok());
    let ramp = BUSSI.replace("temperature = 1.1", "temperature = [1.1, 2]");
    for (temperature, stage, does) in [(3.0, BUSSI, "holds 1.1"), (1.1, &ramp, "goes from 1.1 to 2")] {
        let error = opes(temperature, stage).unwrap_err();
        let said = [format!("temperature = {temperature}"), does.to_string()];
        assert!(said.iter().all(|said| error.message().contains(said)), "{error}");
        assert!(error.place().is_some_and(|place| place.line.is_some()));
    }
}

/// Biases whose energy would jump at the end of a period, or where another image becomes the nearest, and what is said.
fn jumps() -> Vec<(String, &'static str)> {
    let of = |rest: &str| turn("") + rest + "\n";
    let of_formula = |formula: &str, rest: &str| {
        turn(&format!("[[variable]]\nname = \"f\"\nkind = \"formula\"\nvalue = \"{formula}\"\n"))
            + rest
            + "\n"
    };
    let along = |rest: &str| {
        let variable = "[[variable]]\nname = \"c\"\nkind = \"distance\"\nbetween = [\"index 0\", \"index 1\"]\n\
                        along = \"z\"\n[[bias]]\nname = \"b\"\nvariable = \"c\"\nstiffness = 5\n";
        format!("{variable}{rest}\n")
    };
    let wall = "kind = \"wall\"\nvariable = \"phi\"\nat = 1\nstiffness = 50\nside";
    vec![
        (of("kind = \"linear\"\nvariable = \"phi\"\nforce = 1"), "kind = \"torque\" is a constant force"),
        (of(&format!("{wall} = \"upper\"")), "a wall on variable 'phi', which has a period"),
        (of(&format!("{wall} = \"lower\"")), "50 (1 - cos(phi - 1))"),
        (of("kind = \"formula\"\nenergy = \"2 phi\""), "has an energy, which jumps by 12.5664"),
        (
            of_formula("phi + 0.5", "kind = \"harmonic\"\nvariable = \"f\"\ncenter = 1\nstiffness = 1"),
            "which jumps by 6.2832 where 'phi' goes once round",
        ),
        // The edge of the box is 6.84.
        (along("kind = \"harmonic\"\ncenter = 3.4"), "bias 'b' has center where it cannot hold the variable"),
        (along("kind = \"harmonic\"\ncenter = [0, -3.4]"), "variable 'c' is -3.40000"),
        (along("kind = \"wall\"\nat = 3.4\nside = \"upper\""), "bias 'b' has at where"),
        (
            format!("{DISTANCE}[[bias]]\nname = \"b\"\nkind = \"linear\"\nvariable = \"d\"\nforce = 1\nstages = []\n"),
            "leaves bias",
        ),
        (
            "[[variable]]\nname = \"v\"\nkind = \"coordination\"\nbetween = [\"index 1\", \"index 2\"]\nreach = 1\n\
             weights = \"mass\"\n"
                .into(),
            "weights",
        ),
    ]
}

/// Energies that are those of a circle are taken, and centres within reach.
#[test]
fn biases_that_do_not_jump_are_taken() {
    let text = turn("") + "kind = \"formula\"\nenergy = \"50 (1 - cos(phi - 1))\"\n";
    let within = "[[variable]]\nname = \"c\"\nkind = \"distance\"\nbetween = [\"index 0\", \"index 1\"]\n\
                  along = \"z\"\n[[bias]]\nname = \"near\"\nkind = \"harmonic\"\nvariable = \"c\"\ncenter = 3.3\n\
                  stiffness = 5\n";
    Simulation::from_input(&input(&(text + within), ""), &Overrides::default()).unwrap();
}

/// A component of a distance goes up to half the edge, where it would jump to the other side: the run stops before, and
/// names the variable; without a bias on it the run goes on.
#[test]
fn a_component_that_would_jump_stops_the_run() {
    let text = |bias: &str| {
        format!(
            "units = \"lj\"\n[system]\nfile = \"two.xyz\"\ntemperature = 0\nseed = 1\n[species.A]\n\
             mass = 1\n[[variable]]\nname = \"part\"\nkind = \"distance\"\nbetween = [\"index 0\", \"index 1\"]\n\
             along = \"x\"\n[[variable]]\nname = \"twice\"\nkind = \"formula\"\nvalue = \"2 part\"\n[[variable]]\n\
             name = \"place\"\nkind = \"position\"\natoms = \"index 1\"\naxis = \"x\"\n{bias}[[stage]]\n\
             name = \"go\"\nsteps = 150\ntimestep = 0.01\nthermo = {{ every = 10 }}\n[run]\nthreads = 1\n\
             precision = \"double\"\n"
        )
    };
    let bias = |variable: &str, force: f64| {
        format!("[[bias]]\nname = \"push\"\nkind = \"linear\"\nvariable = \"{variable}\"\nforce = {force}\n")
    };
    let desk = tempfile::tempdir().unwrap();
    let xyz = "2\nLattice=\"10 0 0 0 10 0 0 0 10\" Properties=species:S:1:pos:R:3 pbc=\"T T T\"\n\
               A 1 5 5\nA 5.5 5 5\n";
    std::fs::write(desk.path().join("two.xyz"), xyz).unwrap();
    let run = |bias: &str, open: Open| {
        let input = Input::parse(&desk.path().join("two.toml"), &text(bias)).unwrap();
        let mut simulation = Simulation::from_input_on(&input, &Overrides::default(), open).unwrap();
        simulation.run().map(|_| ())
    };
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    run(&bias("place", 1.0), cpu).unwrap();
    for (variable, force, open) in [
        ("part", 1.0, cpu),
        ("twice", 0.5, cpu),
        ("part", 1.0, emulated as Open),
        ("twice", 0.5, emulated as Open),
    ] {
        let error = run(&bias(variable, force), open).unwrap_err();
        assert!(error.message().contains("variable 'part' is 4.9"), "{error}");
        assert!(error.help().is_some_and(|hint| hint.contains("box longer")), "{error:?}");
    }
}
