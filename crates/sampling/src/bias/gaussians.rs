//! Files of Gaussians in PLUMED's layout: hills of metadynamics, and kernels of densities.

use super::BiasVariable;
use std::fmt::Write as _;

/// Text of a file: names of its columns, settings, and rows of numbers. The columns of `variables` and their widths
/// stand between those `before` and `after` them.
pub(super) fn text(
    variables: &[BiasVariable],
    [before, after]: [&[&str]; 2],
    settings: &[(&str, String)],
    rows: impl Iterator<Item = Vec<f64>>,
) -> String {
    let names = variables.iter().map(|variable| variable.name.clone());
    let widths = variables.iter().map(|variable| format!("sigma_{}", variable.name));
    let [before, after] = [before, after].map(|columns| columns.iter().map(|name| name.to_string()));
    let columns: Vec<String> = before.chain(names).chain(widths).chain(after).collect();
    let mut text = format!("#! FIELDS {}\n", columns.join(" "));
    for (name, value) in settings {
        let _ = writeln!(text, "#! SET {name} {value}");
    }
    for BiasVariable { name, .. } in variables.iter().filter(|variable| variable.period.is_some()) {
        let _ = writeln!(text, "#! SET min_{name} -pi\n#! SET max_{name} pi");
    }
    rows.for_each(|row| add_row(&mut text, &row));
    text
}

/// Adds a row of numbers to the text of a file.
pub fn add_row(text: &mut String, row: &[f64]) {
    let row: Vec<String> = row.iter().map(f64::to_string).collect();
    let _ = writeln!(text, "{}", row.join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_settings_and_rows_have_plumeds_layout() {
        let variable = |name: &str, period| BiasVariable { number: 0, name: name.into(), period };
        let variables = [variable("d", None), variable("phi", Some(2.0 * std::f64::consts::PI))];
        let rows = [vec![0.5, 1.0, -2.0, 0.1, 0.2, 1e-3]];
        let settings = [("multivariate", "false".to_string())];
        let found = text(&variables, [&["time"], &["height"]], &settings, rows.into_iter());
        let expected = "#! FIELDS time d phi sigma_d sigma_phi height\n#! SET multivariate false\n\
                        #! SET min_phi -pi\n#! SET max_phi pi\n0.5 1 -2 0.1 0.2 0.001\n";
        assert_eq!(found, expected);
    }
}
