//! Labels and units beside numbers, as they are printed.

/// `A^2/fs` as `Å²/fs`.
pub(crate) fn unit(name: &str) -> String {
    let raised = [("^2", "²"), ("^3", "³"), ("^4", "⁴"), ("^6", "⁶"), ("cm3", "cm³")];
    let name = raised.iter().fold(name.to_string(), |name, (plain, pretty)| name.replace(plain, pretty));
    let mut pretty = String::new();
    let mut characters = name.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        // Alone it is the angstrom; no other unit begins or ends with the letter.
        let alone =
            !before.is_alphanumeric() && !characters.peek().is_some_and(|c| c.is_ascii_alphanumeric());
        pretty.push(if c == 'A' && alone { 'Å' } else { c });
        before = c;
    }
    pretty
}

/// A quantity with its unit.
pub(crate) fn label(name: &str, unit_name: &str) -> String {
    let name = name.replace('_', " ");
    if unit_name.is_empty() { name } else { format!("{name} ({})", unit(unit_name)) }
}

/// A number to six digits.
pub(crate) fn number(x: f64) -> String {
    let short: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    let plain = match short.abs() {
        0.0 | 1e-3..1e6 => short.to_string(),
        _ => format!("{short:e}"),
    };
    plain.replace('-', "−")
}

/// A unit of time in which times up to `longest` are short numbers, and what they are divided by.
pub(crate) fn time_unit(unit: &str, longest: f64) -> (&str, f64) {
    match unit {
        "fs" if longest > 1e7 => ("ns", 1e6),
        "fs" if longest > 1e4 => ("ps", 1e3),
        "ps" if longest > 1e4 => ("ns", 1e3),
        _ => (unit, 1.0),
    }
}

/// Symbol of a column of a table, as formulas write it; `x` is the variable it depends on.
pub(crate) fn function(name: &str, x: &str) -> String {
    match name {
        "alpha2" => "α₂".into(),
        "msd" => "mean-square displacement".into(),
        "vacf" => "velocity autocorrelation".into(),
        name if name.chars().count() == 1 => format!("{name}({x})"),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_look_as_printed() {
        for (name, pretty) in [
            ("A^2/fs", "Å²/fs"),
            ("1/A", "1/Å"),
            ("g/mol A/fs", "g/mol Å/fs"),
            ("g/cm3", "g/cm³"),
            ("atm", "atm"),
            ("", ""),
        ] {
            assert_eq!(unit(name), pretty);
        }
        assert_eq!(label("momentum_x", "A"), "momentum x (Å)");
        assert_eq!(label("g", ""), "g");
    }
}
