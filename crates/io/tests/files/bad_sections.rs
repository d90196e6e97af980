//! Names of pairs that are not clear, mistakes about sections themselves, and files that are not text.

use super::bad_inputs::refuse;
use jostle_io::Input;
use std::path::Path;

/// Names with dashes of their own.
#[test]
fn pairs_of_ions() {
    let ions = |pair: &str| {
        format!(
            "units = \"nano\"\n[system]\nfile = \"a.data\"\n[species.\"Na+\"]\n[species.\"Cl-\"]\n[species.\"Cl--\"]\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 1\npairs.\"{pair}\" = \"none\"\n"
        )
    };
    let pair = |name: &str| {
        Input::parse(Path::new("a.toml"), &ions(name))
            .map(|i| i.forces[0].value.pairs[0].value.species.clone())
    };
    assert_eq!(pair("Na+-Cl-").unwrap(), ["Na+", "Cl-"]);
    assert_eq!(pair("Cl--Na+").unwrap(), ["Cl-", "Na+"]);
    assert_eq!(pair("Cl---Na+").unwrap(), ["Cl--", "Na+"]);
    assert_eq!(pair("Cl---Cl--").unwrap(), ["Cl--", "Cl--"]);
    assert!(refuse(&ions("X-Y-Z")).message().contains("not clear"));
    let both =
        ions("Na--Cl").replace("Na+", "Na-").replace("Cl--\"]", "-Cl\"]") + "[species.Na]\n[species.Cl]\n";
    assert!(refuse(&both).message().contains("more than one pair"), "{both}");
}

/// Mistakes about the sections themselves.
#[test]
fn sections() {
    for (text, line, cause, hint) in [
        ("units = \"lj\"\n", 1, "needs \"system\"", "a section [system]"),
        ("units = \"lj\"\nsystem = 3\n", 2, "\"system\" must be a table", "a section [system]"),
        (
            "units = \"lj\"\n[species]\nmass = 3\n[system]\nfile = \"a\"\n",
            3,
            "[species.mass] must be a table",
            "[species.NAME]",
        ),
        ("units = \"lj\"\n[system]\nfile = \"\"\n", 3, "\"file\" is empty", ""),
        (
            "units = \"lj\"\n[system]\nfile = \"a\"\ntemperature = 94.4 K\n",
            4,
            "not valid TOML",
            "quantities with a unit",
        ),
        (
            "units = \"lj\"\n[system]\nfile = \"a\"\nperiodic = [true, 1, true]\n",
            4,
            "list of three",
            "[true, true, false]",
        ),
        (
            "units = \"lj\"\n[system]\nfile = \"a\"\ntypes = [\"A\", 2]\n",
            4,
            "a list of names in quotes",
            "[\"A\", \"B\"]",
        ),
    ] {
        let error = refuse(text);
        assert_eq!(error.place().and_then(|p| p.line), Some(line), "{error}");
        assert!(error.message().contains(cause), "{error}");
        assert!(error.help().unwrap_or("").contains(hint), "{error}");
    }
}

/// Files that are not even text.
#[test]
fn unreadable_files() {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: &Path| Input::read(path).map(drop).expect_err("must be refused").to_string();
    let missing = read(&folder.path().join("missing.toml"));
    assert!(missing.contains("cannot read") && missing.contains("check the path"), "{missing}");
    let binary = folder.path().join("binary.toml");
    std::fs::write(&binary, b"title = \"a\"\n\xff\xfe").unwrap();
    let binary = read(&binary);
    assert!(binary.contains("binary.toml:2") && binary.contains("not text"), "{binary}");
    let empty = folder.path().join("empty.toml");
    std::fs::write(&empty, "").unwrap();
    assert!(read(&empty).contains("needs \"units\""), "{}", read(&empty));
    assert!(read(folder.path()).contains("cannot read"));
}
