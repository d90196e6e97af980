//! Trajectories of runs: converted and analyzed.

use crate::jostle::{Desk, LIQUID};

/// A run with a trajectory in extended XYZ, five frames.
fn liquid(desk: &Desk) {
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml"]);
}

#[test]
fn a_trajectory_is_converted_there_and_back() {
    let desk = Desk::new();
    liquid(&desk);
    for format in ["trr", "lammpstrj", "dcd", "xtc"] {
        let there = format!("there.{format}");
        desk.succeed(&["convert", "liquid/sample.xyz", &there]);
        desk.succeed(&[
            "convert",
            &there,
            "back.xyz",
            "--names",
            "liquid/sample.xyz",
            "--overwrite",
            "--timestep",
            "0.005",
        ]);
        let (before, after) = (desk.read("liquid/sample.xyz"), desk.read("back.xyz"));
        assert_eq!(before.lines().count(), after.lines().count(), "{format}");
        if format == "lammpstrj" {
            let atoms = |text: &str| {
                text.lines().filter(|l| l.starts_with("A ")).map(String::from).collect::<Vec<_>>()
            };
            assert_eq!(atoms(&before), atoms(&after), "text keeps every digit");
        }
    }
    let refused = desk.jostle(&["convert", "liquid/sample.xyz", "there.xtc"]);
    assert!(refused.stderr.contains("--overwrite"), "{}", refused.stderr);
    let refused = desk.jostle(&["convert", "liquid/sample.xyz", "there.pdb"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains(".xtc"), "{}", refused.stderr);
}

#[test]
fn a_run_is_analyzed() {
    let desk = Desk::new();
    liquid(&desk);
    let finished = desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "bins=50"]);
    let mut lines = finished.stdout.lines();
    assert_eq!(lines.next(), Some("r,g all,g all error"));
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), 50);
    let peak = rows.iter().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap();
    assert!((1.0..1.2).contains(&peak[0]), "the first peak of a liquid is at {}", peak[0]);
    assert!(finished.stderr.contains("first peak all = 1."), "{}", finished.stderr);
    let json = desk.succeed(&["analyze", "bond-order", "liquid/sample.xyz", "--json"]).json();
    assert_eq!(json["kind"], "bond-order");
    assert!(json["results"]["values"].as_array().unwrap().iter().all(|v| v["error"].is_number()));
    desk.succeed(&["analyze", "msd", "liquid/sample.xyz", "from=0.1", "to=1", "--output", "out"]);
    assert!(desk.read("out/msd.csv").starts_with("t,msd all,msd all error"));
    let wrong = desk.jostle(&["analyze", "rdf", "liquid/sample.xyz", "bin=50"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("did you mean bins=...?"), "{}", wrong.stderr);
}
