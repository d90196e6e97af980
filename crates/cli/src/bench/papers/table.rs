//! A table of a paper, then and now: as text, as JSON, and as a page with pictures.

use crate::numbers::significant;
use crate::output;
use jostle_core::Result;
use jostle_show::{AxisScale, Curve, Figure, PlotAxis, Point, png, svg};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// A table, then and now.
pub struct PaperTable {
    /// Title, with the number of the table or figure in the paper.
    pub title: String,
    /// Unit of the numbers.
    pub unit: &'static str,
    /// Device that measured the numbers of today.
    pub device: String,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Rows, with a number for each column.
    pub rows: Vec<PaperRow>,
    /// Significant digits of the numbers.
    pub digits: usize,
    /// Conclusion of the paper, and its outcome today.
    pub finding: Finding,
    /// The table as a picture.
    pub figure: Option<Figure>,
}

/// A row: its name and a number for each column.
pub struct PaperRow {
    /// Name of the row.
    pub name: String,
    /// Numbers; `None` where there is none.
    pub numbers: Vec<Option<f64>>,
}

/// Conclusion of a paper, and its outcome today.
pub struct Finding {
    /// Conclusion of the paper.
    pub then: &'static str,
    /// Verdict on it.
    pub verdict: Verdict,
    /// Sentence on the numbers of today.
    pub now: String,
}

/// Outcome for a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Conclusion that holds.
    Reproduced,
    /// Conclusion that does not.
    Differs,
    /// Conclusion about what is missing here, as a GPU.
    NotMeasured,
}

impl Verdict {
    /// The verdict on a conclusion that holds where a condition does.
    pub fn of(holds: bool) -> Self {
        if holds { Verdict::Reproduced } else { Verdict::Differs }
    }

    /// The verdict on one about gains of a GPU, none of which are known without one.
    pub fn of_gains(gains: &[f64], holds: impl Fn(&[f64]) -> bool) -> Self {
        if gains.is_empty() { Verdict::NotMeasured } else { Verdict::of(holds(gains)) }
    }

    fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs => "differs",
            Verdict::NotMeasured => "not measured",
        }
    }
}

impl PaperTable {
    fn numbers(&self, row: &PaperRow) -> Vec<String> {
        let number = |n: &Option<f64>| n.map_or("-".to_string(), |n| significant(n, self.digits));
        row.numbers.iter().map(number).collect()
    }

    /// The table for a terminal.
    pub fn text(&self) -> String {
        let line = |name: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>15}")).collect();
            format!("  {name:<36}{cells}\n")
        };
        let mut text = format!("{} ({})\n  now:  {}\n", self.title, self.unit, self.device);
        text.push_str(&line("", self.columns.iter().map(|c| c.to_string()).collect()));
        for row in &self.rows {
            text.push_str(&line(&row.name, self.numbers(row)));
        }
        let Finding { then, verdict, now } = &self.finding;
        let _ = writeln!(text, "  then it was found: {then}\n  {}: {now}\n", verdict.name());
        text
    }

    /// The table for programs.
    pub fn to_json(&self) -> Value {
        let row = |row: &PaperRow| {
            let numbers: serde_json::Map<_, _> =
                self.columns.iter().zip(&row.numbers).map(|(c, n)| (c.to_string(), json!(n))).collect();
            json!({ "name": row.name, "numbers": numbers })
        };
        json!({
            "title": self.title,
            "device": self.device,
            "unit": self.unit,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "then": self.finding.then,
            "verdict": self.finding.verdict.name(),
            "now": self.finding.now,
        })
    }

    /// The table for a page; its picture lies beside the page.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("### {}\n\nNow: {}. Numbers: {}.\n\n", self.title, self.device, self.unit);
        let names = self.columns.iter().map(|c| c.to_string());
        text.push_str(&line([String::new()].into_iter().chain(names).collect()));
        text.push_str(&line(
            ["---"].into_iter().chain(self.columns.iter().map(|_| "---:")).map(String::from).collect(),
        ));
        for row in &self.rows {
            text.push_str(&line([row.name.clone()].into_iter().chain(self.numbers(row)).collect()));
        }
        let Finding { then, verdict, now } = &self.finding;
        let _ = writeln!(text, "\nThen: {then}. **{}**: {now}.\n", capital(verdict.name()));
        if let Some(figure) = &self.figure {
            let _ = writeln!(text, "![{}]({}.svg)\n", figure.title, figure.name);
        }
        text
    }

    /// Writes the picture into a folder.
    ///
    /// # Errors
    /// If it cannot be drawn or written.
    pub fn draw(&self, folder: &Path) -> Result<()> {
        let Some(figure) = &self.figure else { return Ok(()) };
        let file = |ending: &str| folder.join(format!("{}.{ending}", figure.name));
        output::write_file(&file("svg"), svg(figure)?.as_bytes())?;
        output::write_file(&file("png"), &png(figure)?)
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A curve of a picture: its label, and the points.
pub type LabelledPoints<'a> = (&'a str, Vec<(f64, f64)>);

/// A picture with logarithmic axes.
pub fn log_log(name: &str, title: &str, axes: [&str; 2], curves: Vec<LabelledPoints>) -> Option<Figure> {
    figure(name, title, axes, AxisScale::Logarithmic, curves)
}

/// A picture with linear axes.
pub fn linear(name: &str, title: &str, axes: [&str; 2], curves: Vec<LabelledPoints>) -> Option<Figure> {
    figure(name, title, axes, AxisScale::Linear, curves)
}

fn figure(
    name: &str,
    title: &str,
    axes: [&str; 2],
    scale: AxisScale,
    curves: Vec<LabelledPoints>,
) -> Option<Figure> {
    let point = |(x, y): (f64, f64)| Point { x, y, error: None };
    let curve = |(label, points): LabelledPoints| Curve {
        label: label.to_string(),
        points: points.into_iter().map(point).collect(),
    };
    let [x, y] = axes.map(|label| PlotAxis { label: label.to_string(), scale });
    let curves: Vec<Curve> = curves.into_iter().filter(|(_, points)| points.len() > 1).map(curve).collect();
    (!curves.is_empty()).then(|| Figure { name: name.to_string(), title: title.to_string(), x, y, curves })
}

/// Writes the page of tables so far.
///
/// # Errors
/// If the folder or a file cannot be written.
pub fn write_page(folder: &Path, page: &str) -> Result<()> {
    output::write_file(&folder.join("papers.md"), page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, page and JSON have the numbers, and what has become of a conclusion.
    #[test]
    fn a_table_says_what_was_found_then_and_now() {
        let points = vec![("then", vec![(1.0, 2.0), (10.0, 3.0)]), ("now", vec![(1.0, 0.5)])];
        let figure = log_log("sizes", "Sizes", ["atoms", "ms"], points);
        assert_eq!(
            figure.as_ref().map(|figure| figure.curves.len()),
            Some(1),
            "a curve has two points or more"
        );
        let table = PaperTable {
            title: "Table 1: sizes".into(),
            unit: "ms",
            device: "CPU".into(),
            columns: vec!["then", "now"],
            rows: vec![PaperRow { name: "10 atoms".into(), numbers: vec![Some(12.345), None] }],
            digits: 3,
            finding: Finding { then: "it is slow", verdict: Verdict::of(false), now: "it is quick".into() },
            figure,
        };
        let text = table.text();
        assert!(
            text.contains("10 atoms") && text.contains("12.3") && text.contains("differs: it is quick"),
            "{text}"
        );
        let page = table.markdown();
        assert!(page.contains("| 10 atoms | 12.3 | - |") && page.contains("![Sizes](sizes.svg)"), "{page}");
        assert!(page.contains("Then: it is slow. **Differs**: it is quick."), "{page}");
        assert_eq!(table.to_json()["rows"][0]["numbers"]["then"], 12.345);
        let folder = tempfile::tempdir().unwrap();
        table.draw(folder.path()).unwrap();
        assert!(folder.path().join("sizes.svg").is_file() && folder.path().join("sizes.png").is_file());
    }

    #[test]
    fn gains_of_no_gpu_are_not_judged() {
        assert_eq!(Verdict::of_gains(&[], |_| true), Verdict::NotMeasured);
        assert_eq!(Verdict::of_gains(&[2.0], |gains| gains[0] > 1.0), Verdict::Reproduced);
    }
}
