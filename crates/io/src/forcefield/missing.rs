//! Errors for terms without parameters in a force field.

use jostle_core::Error;

/// Names types and atoms; `near` is the hint.
pub(super) fn missing(what: &str, types: &[&str], atoms: &[String], near: String) -> Error {
    let (types, atoms) = (types.join("-"), atoms.join(", "));
    Error::input(format!("there are no parameters of the {what} {types}: {atoms}")).hint(near)
}

/// A hint of the known rows that are nearest: those that share most types in their places.
pub(super) fn nearest<'a>(known: impl Iterator<Item = &'a [String]>, types: &[&str]) -> String {
    let n = types.len();
    let shared = |key: &[String]| {
        let ahead = key.iter().zip(types).filter(|(a, b)| a == *b).count();
        let back = key.iter().rev().zip(types).filter(|(a, b)| a == *b).count();
        ahead.max(back)
    };
    let mut near: Vec<(usize, String)> =
        known.map(|key| (shared(key), key.join("-"))).filter(|(found, _)| *found + 1 >= n.max(2)).collect();
    near.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    match &near[..] {
        [] => "a file of parameters is missing, or is of another force field".to_string(),
        some => {
            let names: Vec<&str> = some.iter().take(3).map(|(_, name)| name.as_str()).collect();
            format!("there are {}; is a file of parameters missing?", names.join(", "))
        }
    }
}
