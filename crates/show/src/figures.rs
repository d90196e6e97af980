//! Figures of a run and of an analysis.

use crate::figure::{AxisScale, Curve, Figure, PlotAxis, Point};
use crate::labels::{function, label, number, time_unit};
use crate::run::{Finding, RunFiles, StageRows, ThermoTable};
use jostle_analysis::{Column, Table};

/// Figures of a run and of its analyses.
pub fn of_run(run: &RunFiles) -> Vec<Figure> {
    let thermo = run.thermo.iter().flat_map(of_thermo);
    thermo.chain(run.findings.iter().flat_map(of_finding)).collect()
}

/// Temperature, pressure, density in a box that changes its volume, energies, the drift of what should be
/// conserved and, in a box that is deformed, stress over strain.
pub fn of_thermo(thermo: &ThermoTable) -> Vec<Figure> {
    let plots = ThermoPlots::new(thermo);
    let figures = [
        plots.of_quantity("temperature", "Temperature"),
        plots.of_quantity("pressure", "Pressure"),
        plots.temperatures_of_groups(),
        plots.density(),
        plots.of_quantity("potential", "Potential energy"),
        plots.energies(),
        plots.drift(),
        plots.stress(),
    ];
    figures.into_iter().flatten().filter_map(finished).collect()
}

/// Rows of `thermo.csv` with the axis of time that all figures over time share.
struct ThermoPlots<'a> {
    thermo: &'a ThermoTable,
    time: PlotAxis,
    /// Number by which times are divided on that axis.
    divisor: f64,
}

impl<'a> ThermoPlots<'a> {
    fn new(thermo: &'a ThermoTable) -> Self {
        let times = thermo.stages.iter().flat_map(|s| &s.time);
        let (unit, divisor) = time_unit(&thermo.time_unit, times.fold(0.0, |a, b| a.max(*b)));
        ThermoPlots { thermo, time: linear(label("time", unit)), divisor }
    }

    fn times(&self, stage: &StageRows) -> Vec<f64> {
        stage.time.iter().map(|t| t / self.divisor).collect()
    }

    fn figure(&self, name: &str, title: &str, y: PlotAxis, curves: Vec<Curve>) -> Figure {
        Figure { name: name.into(), title: title.into(), x: self.time.clone(), y, curves }
    }

    /// Axis of a quantity with its unit, under this name.
    fn axis(&self, name: &str, quantity: usize) -> PlotAxis {
        linear(label(name, &self.thermo.quantities[quantity].1))
    }

    /// A curve for each stage, of a function of the quantity's values.
    fn of_stages(&self, quantity: usize, value: &dyn Fn(&StageRows, f64) -> f64) -> Vec<Curve> {
        let of_stage = |s: &StageRows| {
            let values: Vec<f64> = s.values[quantity].iter().map(|v| value(s, *v)).collect();
            curve(&s.name, &self.times(s), &values, None)
        };
        self.thermo.stages.iter().map(of_stage).collect()
    }

    fn of_quantity(&self, name: &str, title: &str) -> Option<Figure> {
        let k = self.thermo.quantity(name)?;
        Some(self.figure(name, title, self.axis(name, k), self.of_stages(k, &|_, value| value)))
    }

    /// Temperatures of groups, over all stages.
    fn temperatures_of_groups(&self) -> Option<Figure> {
        let thermo = self.thermo;
        let of_group = |(k, (name, _)): (usize, &(String, String))| {
            let group = name.strip_prefix("temperature_")?;
            let times: Vec<f64> = thermo.stages.iter().flat_map(|s| self.times(s)).collect();
            let values: Vec<f64> = thermo.stages.iter().flat_map(|s| s.values[k].iter().copied()).collect();
            Some(curve(group, &times, &values, None))
        };
        let groups: Vec<Curve> = thermo.quantities.iter().enumerate().filter_map(of_group).collect();
        let title = match &groups[..] {
            [] => return None,
            [one] => format!("Temperature of group {}", one.label),
            _ => "Temperature of groups".to_string(),
        };
        let y = self.axis("temperature", thermo.quantity("temperature")?);
        Some(self.figure("temperature-groups", &title, y, groups))
    }

    /// Density, where it varies.
    fn density(&self) -> Option<Figure> {
        let k = self.thermo.quantity("density")?;
        let values = || self.thermo.stages.iter().flat_map(|s| s.values[k].iter().copied());
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        if least < (1.0 - 1e-9) * most { self.of_quantity("density", "Density") } else { None }
    }

    /// Energies of the last stage less their means.
    fn energies(&self) -> Option<Figure> {
        let k = self.thermo.quantity("total")?;
        let last = self.thermo.stages.last();
        let title =
            last.map_or_else(String::new, |s| format!("Energies in stage {} less their means", s.name));
        let names = ["kinetic", "potential", "total"];
        let of_stage = |s: &'a StageRows| {
            let times = self.times(s);
            names.iter().filter_map(move |name| departures(self.thermo, s, name, &times))
        };
        let curves = last.into_iter().flat_map(of_stage).collect();
        Some(self.figure("energy", &title, self.axis("energy − mean", k), curves))
    }

    /// Conserved quantity of each stage less its first value.
    fn drift(&self) -> Option<Figure> {
        let k = self.thermo.quantity("conserved")?;
        let since = |stage: &StageRows, value: f64| {
            value - stage.values[k].iter().find(|v| v.is_finite()).copied().unwrap_or(0.0)
        };
        let title = "Conserved quantity since the stage began";
        Some(self.figure("drift", title, self.axis("drift", k), self.of_stages(k, &since)))
    }

    fn stress(&self) -> Option<Figure> {
        let (strain, stress) = (self.thermo.quantity("strain")?, self.thermo.quantity("stress")?);
        let of_stage = |s: &StageRows| curve(&s.name, &s.values[strain], &s.values[stress], None);
        let curves = self.thermo.stages.iter().map(of_stage).collect();
        let figure = self.figure("stress", "Stress over strain", self.axis("stress", stress), curves);
        Some(Figure { x: linear(label("strain", "")), ..figure })
    }
}

/// A quantity in a stage less its mean, which the label names: energies are large and change little, so
/// that beside each other as they are they look constant.
fn departures(thermo: &ThermoTable, stage: &StageRows, name: &str, times: &[f64]) -> Option<Curve> {
    let values = &stage.values[thermo.quantity(name)?];
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let mean = finite.iter().sum::<f64>() / finite.len() as f64;
    let departures: Vec<f64> = values.iter().map(|v| v - mean).collect();
    Some(curve(&format!("{name}, mean {}", number(mean)), times, &departures, None))
}

/// Figures of the tables of an analysis.
pub fn of_finding(finding: &Finding) -> Vec<Figure> {
    let Finding { base, record } = finding;
    record.results.tables.iter().flat_map(|t| of_table(&record.stem(base, t), t)).collect()
}

/// One figure for each group of columns that are of one kind; columns of errors are bands around
/// the others. `stem` is the name of the first.
fn of_table(stem: &str, table: &Table) -> Vec<Figure> {
    let Some((first, others)) = table.columns.split_first() else { return Vec::new() };
    let longest = first.values.iter().fold(0.0f64, |a, b| a.max(*b));
    let (x_unit, divisor) = time_unit(&first.unit, longest);
    let xs: Vec<f64> = first.values.iter().map(|x| x / divisor).collect();
    let errors = |name: &str| others.iter().find(|c| c.name.strip_suffix(" error") == Some(name));
    let mut groups: Vec<(&str, Vec<&Column>)> = Vec::new();
    for column in others.iter().filter(|c| !c.name.ends_with(" error")) {
        let kind = kind_of(&column.name);
        match groups.iter_mut().find(|(k, of)| *k == kind && of[0].unit == column.unit) {
            Some((_, columns)) => columns.push(column),
            None => groups.push((kind, vec![column])),
        }
    }
    let named = |k: usize, kind: &str| {
        let name = if k == 0 { stem.to_string() } else { format!("{stem}-{kind}") };
        name.replace(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)), "-")
    };
    let figure = |(k, (kind, columns)): (usize, (&str, Vec<&Column>))| {
        let alone = columns.len() == 1;
        let part = |c: &Column| match alone {
            true => String::new(),
            // A number alone is a time.
            false => match c.name.strip_prefix(kind).unwrap_or(&c.name).trim() {
                time if time.parse::<f64>().is_ok() => format!("t = {time}"),
                part => part.to_string(),
            },
        };
        let one = |c: &&Column| curve(&part(c), &xs, &c.values, errors(&c.name).map(|e| e.values.as_slice()));
        let along = if first.name == "t" { "time" } else { first.name.as_str() };
        let shown =
            if alone { columns[0].name.strip_suffix(" all").unwrap_or(&columns[0].name) } else { kind };
        let shown = function(shown, &first.name);
        let words = stem.replace('-', " ").replace('.', ": ");
        finished(Figure {
            name: named(k, kind),
            title: match k {
                0 => words,
                _ => format!("{words}, {shown}"),
            },
            x: linear(label(along, x_unit)),
            y: linear(label(&shown, &columns[0].unit)),
            curves: columns.iter().map(one).collect(),
        })
    };
    groups.into_iter().enumerate().filter_map(figure).collect()
}

/// Common part of names of columns such as `g Ar-Ar`.
fn kind_of(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

fn linear(label: String) -> PlotAxis {
    PlotAxis { label, scale: AxisScale::Linear }
}

fn curve(label: &str, x: &[f64], y: &[f64], errors: Option<&[f64]>) -> Curve {
    let error = |k: usize| errors.and_then(|e| e.get(k)).copied().filter(|e| e.is_finite());
    let points = x.iter().zip(y).enumerate();
    let points = points.map(|(k, (x, y))| Point { x: *x, y: *y, error: error(k) });
    let points = points.filter(|p| p.x.is_finite() && p.y.is_finite()).collect();
    Curve { label: label.to_string(), points }
}

/// Figure with its scales chosen; `None` where no curve has two points.
fn finished(mut figure: Figure) -> Option<Figure> {
    figure.curves.retain(|c| c.points.len() > 1);
    if figure.curves.is_empty() {
        return None;
    }
    let points = || figure.curves.iter().flat_map(|c| &c.points);
    let mut along: Vec<f64> = points().map(|p| p.x).filter(|x| *x > 0.0).collect();
    along.sort_by(f64::total_cmp);
    // Lags that grow by powers of two.
    let (middle, last) = (along.get(along.len() / 2), along.last());
    if middle.zip(last).is_some_and(|(middle, last)| last / middle > 8.0) && points().all(|p| p.x >= 0.0) {
        figure.x.scale = AxisScale::Logarithmic;
        let up: Vec<f64> = points().filter(|p| p.x > 0.0).map(|p| p.y).collect();
        let (low, high) =
            up.iter().fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), y| (l.min(*y), h.max(*y)));
        if low > 0.0 && high / low > 100.0 {
            figure.y.scale = AxisScale::Logarithmic;
        }
    }
    if figure.curves.len() == 1 {
        figure.curves[0].label = String::new();
    }
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energies_are_drawn_as_departures_from_their_means() {
        let rows = |name: &str, offset: f64| StageRows {
            name: name.into(),
            time: (0..4).map(f64::from).collect(),
            values: [10.0, -5000.0, -4990.0]
                .iter()
                .map(|mean| (0..4).map(|k| mean + offset + f64::from(k % 2) - 0.5).collect())
                .collect(),
        };
        let quantities = ["kinetic", "potential", "total"].map(|name| (name.to_string(), "eV".to_string()));
        let stages = vec![rows("first", 7.0), rows("last", 0.0)];
        let thermo = ThermoTable { time_unit: "ps".into(), quantities: quantities.into(), stages };
        let figures = of_thermo(&thermo);
        let energy = figures.iter().find(|f| f.name == "energy").unwrap();
        assert_eq!(energy.title, "Energies in stage last less their means");
        assert_eq!((energy.y.label.as_str(), energy.curves.len()), ("energy − mean (eV)", 3));
        assert_eq!(energy.curves[1].label, "potential, mean −5000");
        for curve in &energy.curves {
            let y: Vec<f64> = curve.points.iter().map(|p| p.y).collect();
            assert_eq!(y, [-0.5, 0.5, -0.5, 0.5]);
        }
    }
}
