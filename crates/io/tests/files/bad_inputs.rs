//! Bad input files: each is refused with the line, the cause and what would do.

use jostle_io::Input;
use std::path::Path;

const GOOD: &str = r#"title = "argon"
units = "real"

[system]
lattice = "fcc"
atoms = 864
density = "1.374 g/cm3"
temperature = 94.4

[species.Ar]
mass = 39.948

[[force]]
kind = "lennard-jones"
cutoff = 8.5
pairs."Ar-Ar" = { epsilon = "119.8 K", sigma = 3.405 }

[[stage]]
name = "equilibrate"
steps = 20_000
timestep = 5
thermostat = { kind = "bussi", temperature = 94.4, period = "0.5 ps" }

[[stage]]
name = "sample"
steps = 100_000
timestep = 5
thermo = { every = 100 }
trajectory = { every = 500, format = "xtc" }

[run]
device = "auto"
precision = "mixed"
"#;

struct Bad {
    /// Text to be replaced in the good input (all occurrences), and its replacement.
    change: (&'static str, &'static str),
    /// The line that the error must name.
    line: usize,
    cause: &'static str,
    hint: &'static str,
}

const fn bad(
    change: (&'static str, &'static str),
    line: usize,
    cause: &'static str,
    hint: &'static str,
) -> Bad {
    Bad { change, line, cause, hint }
}

const TABLE: &[Bad] = &[
    // Barostats.
    bad(
        ("thermo = { every = 100 }", "barostat = { kind = \"monte-carlo\", pressure = \"1 atm\" }"),
        28,
        "a barostat needs the temperature of a thermostat",
        "add thermostat = { ... } to the stage",
    ),
    // Heat fluxes.
    bad(
        ("temperature = 94.4, period = \"0.5 ps\" }", "temperature = 94.4 }\nheat_flux = { every = 50 }"),
        23,
        "a heat flux is driven at constant energy and volume, without thermostat",
        "leave out thermostat here",
    ),
    bad(
        ("thermo = { every = 100 }", "heat_flux = { slabs = 11 }"),
        28,
        "11 slabs cannot carry a flux both ways",
        "choose an even number of slabs",
    ),
    bad(
        (
            "temperature = 94.4, period = \"0.5 ps\" }",
            "temperature = 94.4 }\nbarostat = { kind = \"monte-carlo\", pressure = 1 }\ndeform = { kind = \"shear\", plane = \"xy\", rate = 1e-6 }",
        ),
        23,
        "a box that is deformed cannot follow a pressure",
        "leave out deform or the barostat",
    ),
    bad(
        (
            "temperature = 94.4, period = \"0.5 ps\" }",
            "temperature = 94.4 }\nbarostat = { kind = \"cell-rescaling\", pressure = \"1 K\", compressibility = 1 }",
        ),
        23,
        "\"K\" measures a temperature, but a pressure is wanted",
        "1.5 atm",
    ),
    bad(
        (
            "temperature = 94.4, period = \"0.5 ps\" }",
            "temperature = 94.4 }\nbarostat = { kind = \"cell-rescaling\", pressure = 1 }",
        ),
        23,
        "compressibility",
        "1.5 1/atm",
    ),
    bad(
        (
            "temperature = 94.4, period = \"0.5 ps\" }",
            "temperature = 94.4 }\nbarostat = { kind = \"cell-rescaling\", pressure = 1, compressibility = -2 }",
        ),
        23,
        "\"compressibility\" is -2, but must be greater than zero",
        "",
    ),
    bad(
        (
            "temperature = 94.4, period = \"0.5 ps\" }",
            "temperature = 94.4 }\nbarostat = { kind = \"mtk\", pressure = 1, time = 0 }",
        ),
        23,
        "\"time\" is 0, but must be greater than zero",
        "",
    ),
    bad(
        (
            "temperature = 94.4, period = \"0.5 ps\" }",
            "temperature = 94.4 }\nbarostat = { kind = \"mtk\", pressure = 1, compressibility = 1 }",
        ),
        23,
        "compressibility",
        "",
    ),
    // A text that is not TOML.
    bad(("title = \"argon\"", "title = argon"), 1, "not valid TOML", "quotes"),
    bad(("[species.Ar]", "[species.Ar"), 10, "not valid TOML", "quotes"),
    bad(("atoms = 864", "atoms = 864\natoms = 900"), 7, "duplicate key", "quotes"),
    // Typos.
    bad(("cutoff = 8.5", "cutof = 8.5"), 15, "unknown key \"cutof\" in [[force]]", "\"cutoff\""),
    bad(("[species.Ar]", "[specis.Ar]"), 10, "unknown key \"specis\"", "\"species\""),
    bad(
        ("temperature = 94.4,", "temprature = 94.4,"),
        22,
        "unknown key \"temprature\" in thermostat",
        "\"temperature\"",
    ),
    bad(("every = 500", "evry = 500"), 29, "unknown key \"evry\" in trajectory", "\"every\""),
    bad(("sigma = 3.405", "sigm = 3.405"), 16, "unknown key \"sigm\" in pairs.\"Ar-Ar\"", "\"sigma\""),
    bad(("title", "measure = []\ntitle"), 1, "unknown key \"measure\"", "\"stage\""),
    bad(("device", "gpu = true\ndevice"), 32, "unknown key \"gpu\" in [run]", "\"device\""),
    // Words.
    bad(
        ("\"lennard-jones\"", "\"lenard-jones\""),
        14,
        "\"kind\" cannot be \"lenard-jones\"",
        "did you mean \"lennard-jones\"?",
    ),
    bad(("\"fcc\"", "\"hcp\""), 5, "\"lattice\" cannot be \"hcp\"", "\"fcc\""),
    bad(("\"real\"", "\"reel\""), 2, "\"units\" cannot be \"reel\"", "did you mean \"real\"?"),
    bad(("\"xtc\"", "\"netcdf\""), 29, "\"format\" cannot be \"netcdf\"", "\"dcd\""),
    bad(("\"bussi\"", "\"evans\""), 22, "\"kind\" cannot be \"evans\"", "\"nose-hoover\""),
    bad(
        (
            "\"bussi\", temperature = 94.4, period = \"0.5 ps\"",
            "\"nose-hoover\", temperature = 94.4, period = \"0.04 ps\"",
        ),
        22,
        "period is 8 time steps: too few for a Nosé-Hoover chain",
        "at least 50 time steps, 250 here",
    ),
    bad(("kind = \"bussi\", ", ""), 22, "\"thermostat\" needs a kind", "\"bussi\""),
    bad(("\"mixed\"", "\"single\""), 33, "\"precision\" cannot be \"single\"", "\"double\""),
    bad(("\"auto\"", "\"gpu\""), 32, "\"device\" cannot be \"gpu\"", "\"cuda\""),
    bad(("\"auto\"", "\"cuda:first\""), 32, "\"device\" cannot be \"cuda:first\"", "\"cuda\""),
    bad(
        ("\"mixed\"", "\"mixed\"\nalgorithm = \"cell\""),
        34,
        "\"algorithm\" cannot be \"cell\"",
        "\"cells\"",
    ),
    // Types.
    bad(("20_000", "\"20000\""), 20, "\"steps\" must be a whole number, not a string", "steps = 1000"),
    bad(("20_000", "2.5"), 20, "\"steps\" must be a whole number, not 2.5", ""),
    bad(("20_000", "true"), 20, "\"steps\" must be a whole number, not a boolean", "steps = 1000"),
    bad(
        ("lattice = \"fcc\"", "lattice = 4"),
        5,
        "\"lattice\" must be a string in quotes, not an integer",
        "\"bcc\"",
    ),
    bad(
        ("{ every = 100 }", "100"),
        28,
        "\"thermo\" must be a table, not an integer",
        "{ every = ..., sample_every = ... }",
    ),
    bad(
        ("title = \"argon\"", "title = 1"),
        1,
        "\"title\" must be a string in quotes, not an integer",
        "\"text\"",
    ),
    bad(
        ("{ epsilon = \"119.8 K\", sigma = 3.405 }", "3.4"),
        16,
        "must be a table of parameters, or \"none\"",
        "epsilon = ...",
    ),
    bad(("[[force]]", "[force]"), 13, "\"force\" must be a list of tables", "[[force]]"),
    bad(
        ("cutoff = 8.5", "cutoff = [8.5]"),
        15,
        "\"cutoff\" must be a number, or a string with a unit, not an array",
        "1.5 A",
    ),
    // Formulas.
    bad(
        ("[[force]]", "[[field]]\nenergy = \"x +\"\n[[force]]"),
        14,
        "the formula ends too early",
        "a number, a name, a function or a bracket is missing",
    ),
    bad(
        ("[[force]]", "[[field]]\nenergy = \"k x\"\nparameters = { K = 2 }\n[[force]]"),
        15,
        "there is no \"K\" in the formula",
        "did you mean \"k\"?",
    ),
    bad(
        ("[[force]]", "[[field]]\nforce = [0, 0, 1]\npositions = \"wrapped\"\n[[force]]"),
        15,
        "\"positions\" in [[field]] means nothing without \"energy\"",
        "give \"energy\"",
    ),
    // Units.
    bad(("\"0.5 ps\"", "\"0.5 pS\""), 22, "\"pS\" is not a unit", "did you mean ps?"),
    bad(("\"0.5 ps\"", "\"0.5 nm\""), 22, "\"nm\" measures a length, but a time is wanted", "fs"),
    bad(
        ("\"1.374 g/cm3\"", "\"1.374 g/cm2\""),
        7,
        "a number density or a mass density is wanted",
        "g/mol/A^3",
    ),
    bad(("temperature = 94.4\n", "temperature = \"25 C\"\n"), 8, "measures a charge", "298.15 K"),
    bad(("temperature = 94.4\n", "temperature = \"94.4\"\n"), 8, "no unit", "K"),
    bad(("\"119.8 K\"", "\"K\""), 16, "does not start with a number", "kcal/mol"),
    bad(("39.948", "\"39.948 g\""), 11, "for a single atom", "g/mol"),
    bad(("\"real\"", "\"lj\""), 7, "reduced", "bare number"),
    // Numbers that make no sense.
    bad(
        ("timestep = 5\nthermostat", "timestep = 0\nthermostat"),
        21,
        "\"timestep\" is 0, but must be greater than zero",
        "",
    ),
    bad(("timestep = 5\nthermostat", "timestep = -5\nthermostat"), 21, "\"timestep\" is -5", ""),
    bad(("timestep = 5\nthermostat", "timestep = nan\nthermostat"), 21, "\"timestep\" is NaN", ""),
    bad(("cutoff = 8.5", "cutoff = inf"), 15, "\"cutoff\" is inf", ""),
    bad(("20_000", "0"), 20, "\"steps\" is 0, but must be at least 1", ""),
    bad(("20_000", "-3"), 20, "\"steps\" is -3, but must not be negative", ""),
    bad(("20_000", "1e300"), 20, "\"steps\" must be a whole number", ""),
    bad(("20_000", "99999999999999999999"), 20, "\"steps\" is too large", ""),
    bad(("every = 500", "every = 0"), 29, "\"every\" is 0, but must be at least 1", ""),
    bad(("atoms = 864", "atoms = 10_000_000_000"), 6, "more than 4294967295 atoms", ""),
    bad(
        (
            "kind = \"bussi\", temperature = 94.4, period = \"0.5 ps\"",
            "kind = \"nose-hoover\", temperature = 94.4, chain = 1e9",
        ),
        22,
        "a Nosé-Hoover chain of 1000000000 links, but at most 1000 make sense",
        "3 are usual",
    ),
    bad(
        ("temperature = 94.4, period", "temperature = [10, 94.4, 100], period"),
        22,
        "\"temperature\" must be a number or a string with a unit, or a list of two of them",
        "write temperature = \"1.5 K\", or [\"1.5 K\", \"3 K\"]",
    ),
    bad(
        ("temperature = 94.4, period", "temperature = [\"10 K\", \"1 nm\"], period"),
        22,
        "\"nm\" measures a length, but a temperature is wanted",
        "",
    ),
    bad(("sigma = 3.405", "sigma = 0"), 16, "\"sigma\" is 0, but must be greater than zero", ""),
    bad(("epsilon = \"119.8 K\"", "epsilon = -1"), 16, "\"epsilon\" is -1, but must be zero or greater", ""),
    // Things missing.
    bad(("units = \"real\"\n", ""), 1, "needs \"units\"", "\"metal\""),
    bad(
        ("density = \"1.374 g/cm3\"\n", ""),
        4,
        "[system] needs \"density\" or \"lattice_constant\"",
        "density = 1.5",
    ),
    bad(
        ("lattice = \"fcc\"\n", ""),
        4,
        "[system] needs \"lattice\", \"place\", \"file\" or \"topology\"",
        "lattice =",
    ),
    bad(("mass = 39.948", "charge = 0"), 10, "[species.Ar] needs a mass", "g/mol"),
    bad(("[species.Ar]\nmass = 39.948", ""), 4, "needs to know its species", "[species.Ar]"),
    bad(("timestep = 5\nthermostat", "thermostat"), 18, "[[stage]] needs \"timestep\"", "1.5 fs"),
    bad(("cutoff = 8.5\n", ""), 13, "there is no cut-off", "cutoff"),
    bad((", sigma = 3.405", ""), 13, "sigma", "sigma"),
    bad(
        ("steps = 20_000\ntimestep = 5\nthermostat", "#"),
        18,
        "[[stage]] needs \"steps\" or \"minimize\"",
        "steps = ",
    ),
    bad(
        ("pairs.\"Ar-Ar\" = { epsilon = \"119.8 K\", sigma = 3.405 }", ""),
        13,
        "pair Ar-Ar: nothing is said about it",
        "pairs",
    ),
    bad(
        ("cutoff = 8.5", "cutoff = 8.5\npreset = \"horowitz-2004\""),
        16,
        "there is no preset \"horowitz-2004\" for kind = \"lennard-jones\"",
        "leave it out",
    ),
    bad(
        ("cutoff = 8.5", "cutoff = 8.5\nscreening = { kind = \"relativistic\" }"),
        16,
        "kind = \"lennard-jones\" has no screening length",
        "yukawa",
    ),
    bad(
        ("cutoff = 8.5", "cutoff = 8.5\nscreening_length = 3\nscreening = { kind = \"relativistic\" }"),
        17,
        "\"screening\" contradicts \"screening_length\"",
        "only one",
    ),
    // Contradictions.
    bad(
        ("lattice = \"fcc\"", "lattice = \"fcc\"\nfile = \"a.data\""),
        6,
        "\"file\" contradicts \"lattice\"",
        "only one",
    ),
    bad(
        ("density", "lattice_constant = 5.3\ndensity"),
        8,
        "\"density\" contradicts \"lattice_constant\"",
        "only one",
    ),
    bad(("atoms = 864", "atoms = 864\ncells = [6, 6, 6]"), 7, "\"cells\" contradicts \"atoms\"", "only one"),
    bad(
        ("steps = 20_000", "steps = 20_000\nminimize = {}"),
        21,
        "\"minimize\" contradicts \"steps\"",
        "only one",
    ),
    bad(
        ("steps = 20_000", "minimize = {}"),
        21,
        "\"timestep\" in [[stage]] means nothing without \"steps\"",
        "leave it out",
    ),
    bad(
        ("temperature = 94.4\n", "velocities = \"maxwell\"\n"),
        8,
        "\"velocities\" in [system] means nothing without \"temperature\"",
        "temperature",
    ),
    bad(("\"sample\"", "\"equilibrate\""), 25, "two stages are called \"equilibrate\"", "a name of its own"),
    bad(("\"sample\"", "\"../sample\""), 25, "cannot be the name of a stage", "letters"),
    bad(
        (
            "\"sample\"",
            "\"0123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-\"",
        ),
        25,
        "has 101 bytes",
        "at most 100",
    ),
    bad(
        ("cutoff = 8.5", "cutoff = 8.5\nswitch_from = 0.9\ntruncation = \"shifted\""),
        16,
        "\"switch_from\" means nothing",
        "switched",
    ),
    bad(
        ("cutoff = 8.5", "cutoff = 8.5\nswitch_from = 1.2\ntruncation = \"switched\""),
        16,
        "\"switch_from\" is 1.2",
        "",
    ),
    bad(
        ("cutoff = 8.5", "cutoff = 8.5\ntail_correction = true\ntruncation = \"force-shifted\""),
        13,
        "tail_correction",
        "\"switched\"",
    ),
    bad(
        ("[species.Ar]", "[species.Kr]\nmass = 83.8\n[species.Ar]"),
        10,
        "[species.Kr] needs a count or a fraction",
        "fraction = 0.5",
    ),
    bad(
        ("[species.Ar]", "[species.Kr]\nmass = 83.8\nfraction = 0.5\n[species.Ar]\nfraction = 0.4"),
        13,
        "add up to 0.9",
        "add up to 1",
    ),
    bad(
        ("[species.Ar]", "[species.Kr]\nmass = 83.8\ncount = 4\n[species.Ar]\ncount = 800"),
        6,
        "864 atoms, but the counts of the species add up to 804",
        "counts",
    ),
    bad(
        ("[species.Ar]", "[species.Kr]\nmass = 83.8\ncount = 4\n[species.Ar]\nfraction = 0.4"),
        13,
        "some species give a count",
        "all of them",
    ),
    bad(
        ("mass = 39.948", "mass = 39.948\ncount = 4\nfraction = 1"),
        13,
        "\"fraction\" contradicts \"count\"",
        "only one",
    ),
    bad(
        ("[species.Ar]", "[species.\"A r\"]"),
        10,
        "\"A r\" cannot be the name of a species",
        "without spaces",
    ),
    bad(("\"Ar-Ar\"", "\"Ar-Kr\""), 16, "\"Kr\", which does not exist", "Ar"),
    bad(("\"Ar-Ar\"", "\"Ar\""), 16, "\"Ar\" is not a pair of species", "Ar-Ar"),
    bad(
        ("lattice = \"fcc\"\natoms = 864\ndensity", "file = \"a.data\"\ndensity"),
        6,
        "\"density\" in [system] means nothing without \"lattice\" or \"place\"",
        "leave it out",
    ),
    bad(
        ("lattice = \"fcc\"\natoms = 864\ndensity = \"1.374 g/cm3\"", "place = \"random\"\ndensity = 0.02"),
        4,
        "needs \"atoms\"",
        "count",
    ),
    bad(
        (
            "lattice = \"fcc\"\natoms = 864\ndensity = \"1.374 g/cm3\"",
            "place = \"random\"\natoms = 9\nbox = { lengths = [10, 10] }",
        ),
        7,
        "\"lengths\" must be a list of three numbers",
        "[10.0, 10.0, 10.0]",
    ),
];

/// The error of an input that must be refused.
pub fn refuse(text: &str) -> jostle_core::Error {
    match Input::parse(Path::new("bad.toml"), text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

#[test]
fn bad_inputs_are_refused_at_their_line_with_cause_and_hint() {
    Input::parse(Path::new("good.toml"), GOOD).unwrap();
    let mut wrong = Vec::new();
    for Bad { change, line, cause, hint } in TABLE {
        let text = GOOD.replace(change.0, change.1);
        assert!(text != GOOD, "nothing replaced by {change:?}");
        let error = refuse(&text);
        let at = error.place().and_then(|p| p.line);
        let good = at == Some(*line)
            && error.place().is_some_and(|p| p.span.is_some())
            && error.message().contains(cause)
            && error.help().unwrap_or("").contains(hint);
        if !good {
            wrong.push(format!("{change:?} (line {line}): {error}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
