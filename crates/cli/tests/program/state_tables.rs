//! Free energies of states from tables, and of windows whose runs do not fit together.

use crate::jostle::{Desk, LIQUID};

/// Quantiles of the normal distribution in an order without correlation.
fn normal(n: usize, count: usize) -> f64 {
    let u = (((n * 211) % count) as f64 + 0.5) / count as f64;
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // The distribution by Simpson's rule, inverted by bisection.
    let below = |x: f64| {
        let (steps, first) = (200, -8.0);
        let width = (x - first) / f64::from(steps);
        let weight = |k: i32| if k == 0 || k == steps { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
        (0..=steps).map(|k| weight(k) * density(first + width * f64::from(k))).sum::<f64>() * width / 3.0
    };
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if below(middle) < u { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Stiffness of a spring of two parameters.
fn stiffness(state: [f64; 2]) -> f64 {
    (2f64.ln() * (state[0] + 2.0 * state[1])).exp()
}

/// Free energies by MBAR and BAR, by the names of the columns of the first table.
fn column(found: &serde_json::Value, name: &str) -> Vec<f64> {
    let columns = found["results"]["tables"][0]["columns"].as_array().unwrap();
    let column = columns.iter().find(|column| column["name"] == name).unwrap_or_else(|| panic!("{found}"));
    column["values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Tables of alchemlyb with two parameters, with columns in any order.
#[test]
fn tables_of_two_parameters_become_free_energies() {
    let desk = Desk::new();
    let states = [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 1.0]];
    let order = [3, 0, 4, 2, 1];
    let heads: Vec<String> =
        order.iter().map(|k| format!("\"({:?}, {:?})\"", states[*k][0], states[*k][1])).collect();
    let mut energies = format!("time,coul-lambda,vdw-lambda,{}\n", heads.join(","));
    let mut slopes = "time,coul-lambda,vdw-lambda,coul,vdw\n".to_string();
    for state in states {
        for n in 0..300 {
            let x = normal(n, 300) / stiffness(state).sqrt();
            let energy = |state| 0.5 * stiffness(state) * x * x;
            let all: Vec<String> = order.iter().map(|k| energy(states[*k]).to_string()).collect();
            energies += &format!("{n},{},{},{}\n", state[0], state[1], all.join(","));
            let slope = 2f64.ln() * energy(state);
            slopes += &format!("{n},{},{},{slope},{}\n", state[0], state[1], 2.0 * slope);
        }
    }
    desk.write("u_nk.csv", &energies);
    desk.write("dHdl.csv", slopes);
    let found = desk.succeed(&["analyze", "free-energy", "u_nk.csv", "--json"]).json();
    let parameters = [column(&found, "coul-lambda"), column(&found, "vdw-lambda")];
    assert_eq!(parameters, [vec![0.0, 0.5, 1.0, 1.0, 1.0], vec![0.0, 0.0, 0.0, 0.5, 1.0]], "{found}");
    for method in ["free energy by MBAR", "free energy by BAR"] {
        for (free_energy, state) in column(&found, method).iter().zip(states) {
            let exact = 0.5 * stiffness(state).ln();
            assert!((free_energy - exact).abs() < 0.03, "{method} {state:?}: {free_energy} {exact}");
        }
    }
    assert_eq!(found["results"]["warnings"].as_array().map_or(0, Vec::len), 0, "{found}");
    let found = desk.succeed(&["analyze", "free-energy", "dHdl.csv", "--json"]).json();
    let value = found["results"]["values"][0]["value"].as_f64().unwrap();
    assert!((value - 1.5 * 2f64.ln()).abs() < 0.03, "{found}");
    desk.write("odd.csv", energies.replacen("\"(0.0, 0.0)\"", "0.0", 1));
    let refused = desk.jostle(&["analyze", "free-energy", "odd.csv"]);
    assert!(
        refused.stderr.contains("column \"0.0\" is not of a state of 2 parameters"),
        "{}",
        refused.stderr
    );
}

/// States without samples leave the overlap of the others as it is, and columns in any order are one path.
#[test]
fn states_without_samples_are_no_gap_of_the_overlap() {
    let desk = Desk::new();
    let lambdas = [0.5, 1.0, 0.0, 0.25, 0.75];
    let table = |sampled: &[f64]| {
        let mut text = "time,fep-lambda,0.5,1.0,0.0,0.25,0.75\n".to_string();
        for lambda in sampled {
            for n in 0..300 {
                let x = normal(n, 300) / stiffness([*lambda, 0.0]).sqrt();
                let energies = lambdas.map(|other| (0.5 * stiffness([other, 0.0]) * x * x).to_string());
                text += &format!("{n},{lambda},{}\n", energies.join(","));
            }
        }
        text
    };
    desk.write("u_nk.csv", table(&[0.0, 0.5, 1.0]));
    let found = desk.succeed(&["analyze", "free-energy", "u_nk.csv", "--json"]);
    assert!(!found.stderr.contains("overlap"), "{}", found.stderr);
    let found = found.json();
    assert_eq!(column(&found, "state"), [0.0, 0.25, 0.5, 0.75, 1.0]);
    let exact: Vec<f64> = [0.0, 0.25, 0.5, 0.75, 1.0].map(|x| 0.5 * stiffness([x, 0.0]).ln()).to_vec();
    for (free_energy, exact) in column(&found, "free energy by MBAR").iter().zip(&exact) {
        assert!((free_energy - exact).abs() < 0.03, "{found}");
    }
    let by_bar = column(&found, "free energy by BAR");
    assert!(by_bar[1].is_nan() && by_bar[3].is_nan(), "{found}");
    assert!((by_bar[2] - exact[2]).abs() < 0.03 && (by_bar[4] - exact[4]).abs() < 0.03, "{found}");
}

/// Windows of other densities or soft cores are no windows of one path.
#[test]
fn windows_of_other_energies_are_refused() {
    let desk = Desk::new();
    let alchemy = "[alchemy]\natoms = \"index 0\"\nlambda_charges = [0, 0]\nlambda_lennard_jones = [1, 0.5]\nwindow = 0\n\
                   sample_every = 2\nstages = [\"equilibrate\"]\n\n[[stage]]\nname = \"equilibrate\"";
    let text = LIQUID.replacen("[[stage]]\nname = \"equilibrate\"", alchemy, 1);
    desk.write("mu.toml", text);
    let run = |name: &str, set: &[&str]| {
        let set = set.iter().flat_map(|value| ["--set", value]);
        let arguments = ["run", "mu.toml", "--output", name].into_iter().chain(set);
        desk.succeed(&arguments.collect::<Vec<_>>());
    };
    run("w0", &[]);
    run("w1", &["alchemy.window=1", "system.seed=5"]);
    run("soft", &["alchemy.window=1", "alchemy.alpha=0.2"]);
    run("dense", &["alchemy.window=1", "system.density=0.5"]);
    desk.succeed(&["analyze", "free-energy", "w0", "w1"]);
    for (name, words) in
        [("soft", "alchemy.alpha is 0.2 here, and not given in w0"), ("dense", "system.density is 0.5")]
    {
        let refused = desk.jostle(&["analyze", "free-energy", "w0", name]);
        assert!(refused.code == Some(1) && refused.stderr.contains(words), "{}", refused.stderr);
    }
}

/// A single sample of a state has no error, and errors of few are too small.
#[test]
fn few_samples_are_refused_or_doubtful() {
    let desk = Desk::new();
    let mut text = "time,lambda,0.0,1.0\n".to_string();
    for n in 0..300 {
        for (state, stiffness) in [(0.0, 1.0f64), (1.0, 2.0)] {
            let x = normal(n, 300) / stiffness.sqrt();
            text += &format!("{n},{state:?},{},{}\n", 0.5 * x * x, x * x);
        }
    }
    desk.write("u_nk.csv", text);
    let analyze =
        |options: &[&str]| desk.jostle(&[&["analyze", "free-energy", "u_nk.csv"], options].concat());
    let all = analyze(&[]);
    assert!(all.code == Some(0) && !all.stderr.contains("warning"), "{}", all.stderr);
    let few = analyze(&["--last", "39"]);
    assert_eq!(few.code, Some(0), "{}", few.stderr);
    assert!(few.stderr.contains("free energy by MBAR is doubtful: state"), "{}", few.stderr);
    assert!(few.stderr.contains("independent samples only"), "{}", few.stderr);
    for (options, said) in [
        (&["--first", "598"][..], "has a single independent sample"),
        (&["--first", "9999"], "there is no sample in this file that is to be read"),
        (&["--first", "400", "--last", "300"], "the range from --first 400 to --last 300 is empty"),
    ] {
        let refused = analyze(options);
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{options:?}: {}", refused.stderr);
    }
}
