//! `jostle extract`: a part that runs, from the input and from a run, and wrong wishes, after which nothing is written.

use crate::jostle::Desk;
use crate::solvate::{SOLUTE, desk};

fn wet() -> Desk {
    let desk = desk();
    desk.succeed(&[&SOLUTE[..], &["--box", "2.4", "--output", "wet"]].concat());
    desk
}

const PART: [&str; 4] = ["extract", "wet.toml", "resname CH4", "--output"];

#[test]
fn a_part_runs_alone() {
    let desk = wet();
    let facts = desk.succeed(&[&PART[..], &["part", "--shell", "5 A", "--json"]].concat()).json();
    let atoms = |key: &str| facts[key].as_array().unwrap().len() as u64;
    assert_eq!(atoms("molten"), 5);
    assert!((30..300).contains(&atoms("shell")) && atoms("shell") % 3 == 0, "{facts}");
    let all = facts["left_out"].as_u64().unwrap() + atoms("molten") + atoms("shell");
    desk.succeed(&["run", "part.toml", "--steps", "20", "--threads", "1"]);
    let summary: serde_json::Value = serde_json::from_str(&desk.read("part/summary.json")).unwrap();
    assert_eq!(summary["status"].as_str(), Some("finished"));
    // Positions of a run, where the atoms are by then.
    desk.succeed(&["run", "wet.toml", "--steps", "30", "--threads", "1"]);
    desk.succeed(&["extract", "wet.toml", "resname CH4", "--run", "wet", "--output", "later"]);
    let counted = |name: &str| desk.read(name).lines().nth(1).unwrap().trim().parse::<u64>().unwrap();
    assert!(counted("later.gro") < all && desk.read("later.gro") != desk.read("part.gro"));
    desk.succeed(&["check", "later.toml"]);
}

#[test]
fn wrong_wishes_write_nothing() {
    let desk = wet();
    for (more, reason) in [
        (&["extract", "wet.toml", "resname XXX", "--output", "part"][..], "no atom is selected"),
        (&["extract", "wet.toml", "resname (", "--output", "part"], "selection"),
        (&[&PART[..], &["part", "--shell=-1"]].concat(), "no length"),
        (&[&PART[..], &["part", "--shell", "5 K"]].concat(), "--shell"),
        (&[&PART[..], &["part", "--run", "nowhere"]].concat(), "nowhere"),
        (&[&PART[..], &["wet"]].concat(), "exists"),
        (&[&PART[..], &["/"]].concat(), "no name"),
    ] {
        let refused = desk.jostle(more);
        assert!(refused.stderr.contains(reason) && refused.code != Some(0), "{more:?}: {}", refused.stderr);
        assert!(!desk.path("part.top").exists() && !desk.path("part.toml").exists(), "{more:?}");
    }
    desk.succeed(&["new", "argon"]);
    let refused = desk.jostle(&["extract", "argon.toml", "index 3", "--output", "part"]);
    assert!(
        refused.stderr.contains("no topology") && refused.stderr.contains("argon.toml"),
        "{}",
        refused.stderr
    );
}
