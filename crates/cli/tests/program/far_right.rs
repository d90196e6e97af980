//! Mistakes far to the right in long lines.

use crate::jostle::{Desk, LIQUID};

#[test]
fn a_mistake_in_a_very_long_line_is_shown() {
    let desk = Desk::new();
    let far = " ".repeat(70_000);
    let wrong = |from: &str, to: &str| LIQUID.replace(from, to);
    let line = "pairs.\"A-A\" = { epsilon = 1, sigma = 1 }";
    let cases = [
        (wrong(line, &format!("pairs.\"A-A\" = {{ epsilon = 1,{far}sigma = \"x\" }}")), "sigma", ":18:70037"),
        (
            wrong(line, &format!("pairs.\"A-A\" = {{ epsilon = 1,{far}sigma = 1, sogma = 1 }}")),
            "sogma",
            ":18:700",
        ),
        // Not TOML any more.
        (wrong(line, &format!("pairs.\"A-A\" = {{ epsilon = 1,{far}sigma == 1 }}")), "sigma", ":18:700"),
        (wrong("seed = 7", &format!("seed = {}", "7".repeat(70_000))), "seed", ":10:8"),
        (wrong("seed = 7", &format!("{} = 7", "s".repeat(70_000))), "ssss", ":10:1"),
    ];
    for (text, shown, column) in cases {
        desk.write("long.toml", text);
        let refused = desk.jostle(&["check", "long.toml"]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(
            refused.stderr.contains(shown) && refused.stderr.contains(column),
            "{column}: {}",
            refused.stderr
        );
        assert!(refused.stderr.contains('…') && refused.stderr.len() < 3000, "{}", refused.stderr);
    }
}

#[test]
fn a_long_selection_is_shown_where_it_is_wrong() {
    let desk = Desk::new();
    desk.write("frame.xyz", "1\nLattice=\"5 0 0 0 5 0 0 0 5\" Properties=species:S:1:pos:R:3\nA 1 1 1\n");
    let selection = format!("{}nothing", "all and ".repeat(9_000));
    let refused = desk.jostle(&["select", "frame.xyz", &selection]);
    assert!(refused.code == Some(2) && refused.stderr.contains(":1:72001"), "{}", refused.stderr);
}
