//! Profiles of runs with several biases, stages or energies.

use crate::jostle::{Desk, Finished};
use crate::sampling::{desk, deviation, particle, table, wells};

const CENTERS: [f64; 8] = [-1.4, -1.0, -0.6, -0.2, 0.2, 0.6, 1.0, 1.4];

/// A constant force along x, and a wall that nothing reaches.
const PUSH_AND_WALL: &str = "[[bias]]\nname = \"push\"\nkind = \"linear\"\nvariable = \"x\"\nforce = 2\n\
                             [[bias]]\nname = \"far\"\nkind = \"wall\"\nvariable = \"x\"\nat = 5\nstiffness = 9\n\
                             side = \"upper\"\n";

fn window(center: f64) -> String {
    format!(
        "[[bias]]\nname = \"window\"\nkind = \"harmonic\"\nvariable = \"x\"\ncenter = {center}\nstiffness = 15\n"
    )
}

/// The wells along x as the energy of a bias.
fn wells_as_bias(text: &str) -> String {
    let bias = "[[bias]]\nname = \"wells\"\nkind = \"formula\"\nenergy = \"3 (x^2 - 1)^2 + 0.5 x\"\n[[bias]]";
    text.replace("3 (x^2 - 1)^2 + 0.5 x + ", "").replacen("[[bias]]", bias, 1)
}

/// Runs inputs, whose folders are named after them.
fn run(desk: &Desk, name: &str, text: &str) -> String {
    desk.write(&format!("{name}.toml"), text);
    desk.succeed(&["run", &format!("{name}.toml")]);
    name.to_string()
}

fn pmf(desk: &Desk, names: &[String], options: &[&str]) -> Finished {
    let names = names.iter().map(String::as_str);
    desk.jostle(
        &["analyze", "pmf"].into_iter().chain(names).chain(options.iter().copied()).collect::<Vec<_>>(),
    )
}

/// The profile less the wells and plus these, to be compared with the wells alone.
fn with_wells(rows: Vec<Vec<f64>>, energy: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    rows.into_iter().map(|row| vec![row[0], row[1] - energy(row[0]) + wells(row[0]), row[2]]).collect()
}

/// Windows give the profile without any bias: that of a free particle where the wells are one, too.
#[test]
fn windows_take_off_all_biases() {
    let desk = desk();
    let names: Vec<String> = (0..8)
        .map(|k| {
            let text = particle(&(window(CENTERS[k]) + PUSH_AND_WALL), 20_000, 10, k as u64);
            run(&desk, &format!("w{k}"), &wells_as_bias(&text))
        })
        .collect();
    let found = pmf(&desk, &names, &["bins=30"]);
    assert!(!found.stderr.contains("warning"), "{}", found.stderr);
    let rows = with_wells(table(&found.stdout), |_| 0.0);
    assert!(deviation(&rows) < 0.7, "{} {}", deviation(&rows), found.stdout);
    let refused = pmf(&desk, &names, &["bins=30", "bins=40"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("bins is given twice"), "{}", refused.stderr);
    let refused = pmf(&desk, &names, &["method=wham"]);
    assert!(refused.stderr.contains("method=mbar takes them off"), "{}", refused.stderr);
}

/// Two harmonic biases, of which one holds the same value everywhere, are windows along the other.
#[test]
fn a_second_harmonic_bias_is_taken_off() {
    let desk = desk();
    let hold =
        "[[bias]]\nname = \"hold\"\nkind = \"harmonic\"\nvariable = \"y\"\ncenter = 1\nstiffness = 3\n";
    let names: Vec<String> = (0..8)
        .map(|k| run(&desk, &format!("w{k}"), &particle(&(window(CENTERS[k]) + hold), 20_000, 10, k as u64)))
        .collect();
    let rows = table(&pmf(&desk, &names, &["bins=30"]).stdout);
    assert!(deviation(&rows) < 0.5, "{} {rows:?}", deviation(&rows));
    let rows = table(&pmf(&desk, &names, &["variable=y", "bins=12"]).stdout);
    let off = rows.iter().filter(|row| (0.0..1.5).contains(&row[0])).map(|row| row[1] - row[0] * row[0]);
    let [low, high] = [f64::min, f64::max].map(|f| off.clone().reduce(f).unwrap());
    assert!(high - low < 0.7, "{rows:?}");
    let one = pmf(&desk, &names[..1], &[]);
    assert!(one.stderr.contains("variable=x or variable=y"), "{}", one.stderr);
}

/// Rows of OPES are weighted with all biases; of hills and of works others stay inside, and are named.
#[test]
fn other_biases_of_one_run_are_taken_off_or_named() {
    let desk = desk();
    let opes = "[[bias]]\nname = \"opes\"\nkind = \"opes\"\nvariables = [\"x\"]\nbarrier = 5\ntemperature = 1\n\
                width = 0.2\nevery = 100\n";
    let name = run(&desk, "kernels", &particle(&(opes.to_string() + PUSH_AND_WALL), 150_000, 100, 3));
    let found = pmf(&desk, &[name], &[]);
    assert!(!found.stderr.contains("warning"), "{}", found.stderr);
    let rows = table(&found.stdout);
    assert!(deviation(&rows) < 1.0, "{} {}", deviation(&rows), found.stdout);
    let hills = "[[bias]]\nname = \"meta\"\nkind = \"metadynamics\"\nvariables = [\"x\"]\nwidth = 0.15\nheight = 0.2\n\
                 every = 50\nlower = -3\nupper = 3\n";
    let abf = "[[bias]]\nname = \"abf\"\nkind = \"abf\"\nvariables = [\"x\"]\ntemperature = 1\nlower = -1.6\n\
               upper = 1.6\nspacing = 0.1\nrelaxation = 1\n";
    for (name, bias) in [("hills", hills), ("force", abf)] {
        let name = run(&desk, name, &particle(&(bias.to_string() + PUSH_AND_WALL), 5_000, 100, 3));
        let found = pmf(&desk, &[name], &[]);
        assert!(found.stderr.contains("the system with bias 'push'"), "{}", found.stderr);
        assert!(!found.stderr.contains("'far'"), "{}", found.stderr);
    }
    let pull = "[[bias]]\nname = \"pull\"\nkind = \"harmonic\"\nvariable = \"x\"\ncenter = [-1, 1]\nstiffness = 30\n";
    let pulled =
        |name: &str, seed| run(&desk, name, &particle(&(pull.to_string() + PUSH_AND_WALL), 1000, 10, seed));
    let found = pmf(&desk, &[pulled("p1", 1), pulled("p2", 2)], &[]);
    assert!(found.stderr.contains("the system with bias 'push'"), "{}", found.stderr);
    let refused = pmf(&desk, &["hills".into()], &["temperature=1"]);
    assert!(refused.stderr.contains("\"temperature=1\" means nothing"), "{}", refused.stderr);
}

/// A harmonic well keeps its walls: kernels that are wide smooth nothing off them.
#[test]
fn kernels_smooth_nothing_off_a_well() {
    let desk = desk();
    let opes = "[[bias]]\nname = \"opes\"\nkind = \"opes\"\nvariables = [\"x\"]\nbarrier = 8\ntemperature = 1\n\
                width = 0.4\nevery = 100\n";
    let text = particle(opes, 100_000, 10, 3).replace("3 (x^2 - 1)^2 + 0.5 x", "12.5 x^2");
    let found = pmf(&desk, &[run(&desk, "well", &text)], &[]);
    let walls = table(&found.stdout).into_iter().filter(|row| (0.4..0.7).contains(&row[0].abs()));
    let off: Vec<f64> = walls.map(|row| row[1] - 12.5 * row[0] * row[0]).collect();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    assert!(off.len() > 20 && mean.abs() < 0.12, "{mean} {off:?}");
}

/// Adaptive forces write no names; those of the run beside their file are the variables', with rows in `thermo.csv` or not.
#[test]
fn mean_forces_have_the_names_of_variables() {
    let desk = desk();
    for (variables, rows, head) in [
        ("\"x\"", true, "x,free energy,free energy error"),
        ("\"y\", \"x\"", true, "y,x,free energy,free energy error"),
        ("\"y\", \"x\"", false, "y,x,free energy,free energy error"),
    ] {
        let abf = format!(
            "[[bias]]\nname = \"abf\"\nkind = \"abf\"\nvariables = [{variables}]\ntemperature = 1\n\
             lower = -2\nupper = 2\nspacing = 0.5\nrelaxation = 1\n"
        );
        let text = particle(&abf, 500, 100, 3);
        let text = if rows { text } else { text.replace("thermo = { every = 100 }", "") };
        desk.write("force.toml", text);
        desk.succeed(&["run", "force.toml", "--overwrite"]);
        let found = pmf(&desk, &["force".into()], &[]);
        assert_eq!(found.stdout.lines().next(), Some(head), "{}", found.stderr);
        // Elsewhere nothing tells them.
        std::fs::copy(desk.path("force/abf.grad"), desk.path("abf.grad")).unwrap();
        let found = pmf(&desk, &["abf.grad".into()], &[]);
        assert!(found.stdout.starts_with("variable 1,"), "{}", found.stdout);
    }
}

/// Files of mean forces on a torus of 6 by 4 bins, the first axis open by 3 times the mean of 0.1 to 0.4 and the second by
/// 0.1, and of four blocks, whose offsets have one size and both signs: standard errors are sqrt(3) times theirs. `None` is
/// a bin without samples.
fn torus(desk: &Desk, offset: f64, change: impl Fn(Option<usize>, [usize; 2]) -> Option<f64>) {
    let force = |block: Option<usize>, [x, y]: [usize; 2]| {
        let own = block.map_or(0.0, |k| if k % 2 == 0 { offset } else { -offset });
        let wave = (std::f64::consts::TAU * x as f64 / 6.0).sin();
        change(block, [x, y]).map_or(" nan nan".to_string(), |more| {
            format!(" {} {}", wave + 0.1 * (y as f64 + 1.0) + own + more, 0.1 + own)
        })
    };
    let table = |blocks: &[Option<usize>]| -> String {
        let row = |bin: usize| {
            let place = [bin % 6, bin / 6];
            let numbers: String = blocks.iter().map(|block| force(*block, place)).collect();
            format!("{} {}{numbers}\n", 0.5 * place[0] as f64, 0.25 * place[1] as f64)
        };
        (0..24).map(row).collect()
    };
    let head = "# 2\n# -0.25 0.5 6 1\n# -0.125 0.25 4 1\n";
    desk.write("torus.grad", head.to_string() + &table(&[None]));
    desk.write("torus.jackknife", head.to_string() + &table(&[0, 1, 2, 3].map(Some)));
}

/// Mean forces along each of two periodic variables close around its period, within the errors of that by the blocks.
#[test]
fn mean_forces_close_around_the_periods_of_two_variables() {
    let desk = desk();
    let said = || {
        let found = pmf(&desk, &["torus.grad".into()], &[]);
        assert_eq!(found.code, Some(0), "{}", found.stderr);
        found.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let open = |text: &str| text.matches("around its period").count();
    torus(&desk, 0.02, |_, _| Some(0.0));
    let text = said();
    assert!(text.contains("along variable 1 add up to 0.750 ± 0.104 around its period"), "{text}");
    // The second is open by 0.1, which is less than three of its errors of 0.035.
    assert_eq!(open(&text), 1, "{text}");
    torus(&desk, 0.1, |_, _| Some(0.0));
    assert_eq!(open(&said()), 0);
    // Lines with a bin that was not sampled, or not in all blocks, do not count; 0.1 and 0.3 are left.
    torus(&desk, 0.02, |block, bin| match (block, bin) {
        (_, [2, 3]) | (Some(1), [0, 1]) => None,
        _ => Some(0.0),
    });
    let text = said();
    assert!(text.contains("along variable 1 add up to 0.600 ± 0.104 around its period"), "{text}");
    // Where no line is in all blocks, no error is known.
    torus(&desk, 0.02, |block, [x, _]| if block == Some(1) && x == 0 { None } else { Some(5.0) });
    let text = said();
    assert!(text.contains("along variable 1 add up to 15.750 around its period"), "{text}");
    // An axis without a period has none to close around.
    let torus = desk.read("torus.grad");
    desk.write("torus.grad", torus.replace("# -0.25 0.5 6 1", "# -0.25 0.5 6 0"));
    assert_eq!(open(&said()), 0);
}

/// Runs of other temperatures, energies or files are not put together, and the first difference is named.
#[test]
fn windows_of_other_systems_are_refused() {
    let desk = desk();
    let text = |k: usize| {
        let text = particle(&window(CENTERS[k]), 500, 10, k as u64);
        let force = "[[force]]\nkind = \"table\"\npairs.\"A-A\" = { file = \"pair.table\" }\n[[variable]]";
        text.replacen("[[variable]]", force, 1)
    };
    let pair = |energy: f64| {
        let rows: String = (1..=20).map(|k| format!("{} {energy} 0\n", 0.1 * f64::from(k))).collect();
        desk.write("pair.table", rows);
    };
    pair(0.0);
    let first = run(&desk, "first", &text(0));
    let refused = |name: &str, change: &dyn Fn(String) -> String, words: &[&str]| {
        let second = run(&desk, name, &change(text(1)));
        let found = pmf(&desk, &[first.clone(), second], &[]);
        for word in words {
            assert!(found.code == Some(1) && found.stderr.contains(word), "{name}: {}", found.stderr);
        }
    };
    let warmer =
        |text: String| text.replace("\"langevin\", temperature = 1", "\"langevin\", temperature = 2");
    refused("warm", &warmer, &["warm", "stage 'go' is at 2, and that of first at 1"]);
    let ramp =
        |text: String| text.replace("\"langevin\", temperature = 1", "\"langevin\", temperature = [1, 2]");
    refused("ramp", &ramp, &["ramp", "goes from 1 to 2"]);
    let steeper = |text: String| text.replace("3 (x^2", "4 (x^2");
    refused("steep", &steeper, &["field.1.energy is \"4 (x^2", "in first"]);
    let pushed = |text: String| text.replacen("[[bias]]", &format!("{PUSH_AND_WALL}[[bias]]"), 1);
    refused("pushed", &pushed, &["bias.push is { ... } here, and not given in first"]);
    pair(1.0);
    refused("table", &|text| text, &["pair.table is not the same file in both"]);
    pair(0.0);
    // Seeds, steps, timesteps, rows and stages before may differ.
    let longer = text(1).replace("steps = 500", "steps = 600").replace("timestep = 0.05", "timestep = 0.04");
    let settle = "[[stage]]\nname = \"settle\"\nsteps = 10\ntimestep = 0.01\n[[stage]]";
    let second = run(&desk, "other", &longer.replacen("[[stage]]", settle, 1));
    let both = [first, second];
    assert_eq!(pmf(&desk, &both, &[]).code, Some(0), "{}", pmf(&desk, &both, &[]).stderr);
    assert_eq!(pmf(&desk, &both, &["temperature=1"]).code, Some(0));
    let found = pmf(&desk, &both, &["temperature=2"]);
    assert!(found.stderr.contains("temperature = 2, but stage 'go' is at 1"), "{}", found.stderr);
}

/// The method is that of the stage: a bias that moves before the windows makes no steered run of them.
#[test]
fn windows_that_were_prepared_by_pulling_are_windows() {
    let desk = desk();
    let names: Vec<String> = (0..8)
        .map(|k| {
            let pull = format!(
                "stages = [\"go\"]\n[[bias]]\nname = \"pull\"\nkind = \"harmonic\"\nvariable = \"x\"\n\
                 center = [-0.9, {}]\nstiffness = 15\nstages = [\"pull\"]\n",
                CENTERS[k]
            );
            let text = particle(&(window(CENTERS[k]) + &pull), 20_000, 10, k as u64);
            let [stage, end] = ["[[stage]]", "[run]"].map(|head| text.find(head).unwrap());
            let pulled = text[stage..end].replace("\"go\"", "\"pull\"").replace("20000", "500");
            run(&desk, &format!("w{k}"), &text.replacen("[[stage]]", &(pulled + "[[stage]]"), 1))
        })
        .collect();
    for options in [&["bins=30"][..], &["bins=30", "--stage", "go"]] {
        let found = pmf(&desk, &names, options);
        let rows = table(&found.stdout);
        assert!(deviation(&rows) < 0.5, "{} {}", found.stderr, found.stdout);
    }
    let refused = pmf(&desk, &names, &["--stage", "pull"]);
    assert!(refused.stderr.contains("goes between other places"), "{}", refused.stderr);
}

/// A run that has failed is no sample of anything: it is refused with its folder, the reason and what to do.
#[test]
fn failed_runs_are_refused() {
    let desk = desk();
    let names: Vec<String> = (0..2)
        .map(|k| run(&desk, &format!("w{k}"), &particle(&window(0.2 * k as f64), 4_000, 10, k)))
        .collect();
    let found = pmf(&desk, &names, &[]);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    let summary = desk.read("w1/summary.json").replace("\"finished\"", "\"failed: an atom has left\"");
    assert!(summary.contains("failed"), "{summary}");
    desk.write("w1/summary.json", summary);
    let refused = pmf(&desk, &names, &[]);
    for said in ["w1", "this run has failed: an atom has left", "jostle resume"] {
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{}", refused.stderr);
    }
    let refused = desk.jostle(&["analyze", "free-energy", "w0", "w1"]);
    assert!(refused.stderr.contains("this run has failed"), "{}", refused.stderr);
}

/// Mean forces of no bin give no profile, and a run that has failed where it began has none of its own.
#[test]
fn a_profile_without_a_number_is_refused() {
    let desk = desk();
    desk.write("lone.grad", "# 1\n# 0 0.1 3 0\n0.05 NaN\n0.15 NaN\n0.25 NaN\n");
    let abf = "[[bias]]\nname = \"abf\"\nkind = \"abf\"\nvariables = [\"x\"]\ntemperature = 1\nlower = 1\n\
               upper = 3\nspacing = 0.1\nrelaxation = 1\n";
    desk.write("left.toml", particle(abf, 10, 10, 1));
    assert_ne!(desk.jostle(&["run", "left.toml"]).code, Some(0), "the particle is outside of the grid");
    for (path, said) in
        [("lone.grad", "there is no free energy in this file yet"), ("left", "this run has failed")]
    {
        let refused = pmf(&desk, &[path.to_string()], &[]);
        assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{}", refused.stdout);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
}

/// A copy of a run under another name has no samples of its own, and windows need more than one.
#[test]
fn copies_and_single_samples_are_refused() {
    let desk = desk();
    let mut names: Vec<String> = (0..2)
        .map(|k| run(&desk, &format!("w{k}"), &particle(&window(0.2 * k as f64), 4_000, 10, k)))
        .collect();
    let few = pmf(&desk, &names, &["--first", "380"]);
    assert!(few.stderr.contains("is doubtful: window w"), "{}", few.stderr);
    let single = pmf(&desk, &names, &["--first", "399"]);
    assert!(single.stderr.contains("has a single independent sample"), "{}", single.stderr);
    let empty = pmf(&desk, &names, &["--first", "300", "--last", "200"]);
    assert!(empty.stderr.contains("the range from --first 300 to --last 200 is empty"), "{}", empty.stderr);
    std::fs::create_dir(desk.path("copy")).unwrap();
    for file in desk.files().iter().filter_map(|file| file.strip_prefix("w0/")) {
        std::fs::copy(desk.path("w0").join(file), desk.path("copy").join(file)).unwrap();
    }
    names.push("copy".into());
    let refused = pmf(&desk, &names, &[]);
    for said in ["copy", "its samples are those of w0 to the last digit"] {
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{}", refused.stderr);
    }
}
