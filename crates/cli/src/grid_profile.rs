//! Profiles from files with hills, with kernels of a density, or with mean forces on a grid.

use crate::moments::are_means;
use crate::other_biases::{Author, energy_column};
use jostle_analysis::{ResultWarning, Results, Table, Verdict};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result};
use jostle_io::input::model::{BiasAction, BiasInput};
use jostle_sampling::free_energy::{BLOCKS, Estimate, gradient_profile, jackknife_error, jackknife_errors};
use jostle_show::StageRows;
use std::path::{Path, PathBuf};

/// Profile from a file, whose first lines tell its kind: units, number of rows, and results.
///
/// # Errors
/// If it is none of these files, or has no rows yet.
pub fn of_file(path: &Path) -> Result<(String, u64, Results)> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
    let author = Author::of(path);
    let unit = author.as_ref().map(|author| unit_name(author.input.units, Dimension::ENERGY));
    let mut results = if text.starts_with("#! FIELDS") && !text.starts_with("#! FIELDS time") {
        kernels(path, &text, author.as_ref())?
    } else {
        let mut results = match text.starts_with("#! FIELDS time") {
            true => hills(path, &text)?,
            false => mean_forces(path, &text, author.as_ref())?,
        };
        // Hills and mean forces are those of the system with all other biases.
        let warnings = author.map(|author| [author.warning_of_walkers(), author.warning(|_| true)]);
        results.warnings.extend(warnings.into_iter().flatten().flatten());
        results
    };
    let free_energies = results.tables.iter().flat_map(|table| &table.columns);
    let mut free_energies = free_energies.filter(|column| column.name == "free energy");
    if free_energies.all(|column| column.values.iter().all(|x| !x.is_finite())) {
        return Err(Error::file(path, "there is no free energy in this file yet: no bin has samples enough")
            .hint("sample longer, or look at jostle.log: the run may have failed"));
    }
    // Energies in files are in the unit of the run beside them.
    let columns = results.tables.iter_mut().flat_map(|table| &mut table.columns);
    for column in columns.filter(|column| column.name.starts_with("free energy")) {
        column.unit = unit.clone().unwrap_or_default();
    }
    let rows = text.lines().filter(|line| !line.starts_with('#')).count();
    Ok((String::new(), rows as u64, results))
}

/// Files with hills in the folder that walkers share, in the order of their names.
///
/// # Errors
/// If the folder cannot be opened.
pub fn hills_of_walkers(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io("open the folder", folder, &e))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "hills")).collect();
    files.sort();
    Ok(files)
}

/// Profile from the hills of several walkers together, in the order of their times.
///
/// # Errors
/// If a file has other variables than the first, or a line is no hill.
pub fn of_walkers(files: &[PathBuf]) -> Result<(String, u64, Results)> {
    let (mut head, mut rows): (Option<String>, Vec<(f64, String)>) = (None, Vec::new());
    for path in files {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        let fields = text.lines().filter(|line| line.starts_with("#!"));
        let own: String = fields.map(|line| format!("{line}\n")).collect();
        if *head.get_or_insert_with(|| own.clone()) != own {
            return Err(Error::file(path, "these hills are of other variables than those of the first file"));
        }
        // A walker under way may be about to write the last line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        for line in whole.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let time = line.split_whitespace().next().and_then(|time| time.parse().ok());
            rows.push((time.unwrap_or(f64::NAN), format!("{line}\n")));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count = rows.len() as u64;
    let text = head.unwrap_or_default() + &rows.into_iter().map(|(_, line)| line).collect::<String>();
    let folder = files.first().and_then(|path| path.parent()).unwrap_or(Path::new("."));
    Ok((String::new(), count, hills(folder, &text)?))
}

/// Numbers of the rows of a file.
fn numbers(path: &Path, text: &str, columns: usize) -> Result<Vec<Vec<f64>>> {
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let row: Option<Vec<f64>> = line.split_whitespace().map(|x| x.parse().ok()).collect();
        match row.filter(|row| row.len() == columns) {
            Some(row) => rows.push(row),
            None => {
                return Err(Error::file_line(
                    path,
                    number + 1,
                    format!("this is no row of {columns} numbers"),
                ));
            }
        }
    }
    if rows.is_empty() {
        return Err(Error::file(path, "there are no rows in this file yet"));
    }
    Ok(rows)
}

/// Cuts of the second half of a run, after each of which the hills so far give a profile.
const CUTS: usize = 8;

/// Gaussians of one or two variables with a grid over all of them.
struct Gaussians {
    names: Vec<String>,
    periodic: Vec<bool>,
    /// Centres, widths, heights and what else a file has, in the order of its columns.
    rows: Vec<Vec<f64>>,
    axes: Vec<Vec<f64>>,
}

impl Gaussians {
    /// Reads a file whose rows have the centre, the widths and the height of a Gaussian after so many other columns,
    /// and so many behind.
    fn read(path: &Path, text: &str, [before, behind]: [usize; 2]) -> Result<Self> {
        let fields: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().skip(2).collect();
        let dimensions = fields.len().saturating_sub(before + behind + 1) / 2;
        if !(1..=2).contains(&dimensions) || fields.len() != 2 * dimensions + before + behind + 1 {
            return Err(Error::file_line(path, 1, "these are not Gaussians of one or two variables"));
        }
        let mut rows = numbers(path, text, fields.len())?;
        rows.iter_mut().for_each(|row| row.rotate_left(before));
        let names: Vec<String> =
            fields[before..before + dimensions].iter().map(ToString::to_string).collect();
        let is_periodic = |name: &String| text.contains(&format!("#! SET min_{name} -pi"));
        let periodic: Vec<bool> = names.iter().map(is_periodic).collect();
        let axis = |d: usize| -> Vec<f64> {
            let [low, high] = if periodic[d] {
                [-std::f64::consts::PI, std::f64::consts::PI]
            } else {
                let ends = |sign: f64| rows.iter().map(move |row| row[d] + sign * row[dimensions + d]);
                [ends(-1.0).fold(f64::INFINITY, f64::min), ends(1.0).fold(f64::NEG_INFINITY, f64::max)]
            };
            let n = if dimensions == 1 { 200 } else { 60 };
            (0..n).map(|k| low + (high - low) * (k as f64 + 0.5) / n as f64).collect()
        };
        let axes = (0..dimensions).map(axis).collect();
        Ok(Gaussians { names, periodic, rows, axes })
    }

    fn points(&self) -> usize {
        self.axes.iter().map(Vec::len).product()
    }

    fn place(&self, point: usize, d: usize) -> f64 {
        let first = self.axes[0].len();
        if d == 0 { self.axes[0][point % first] } else { self.axes[1][point / first] }
    }

    /// Value of the Gaussian of a row at a point of the grid, and its squared distance in widths.
    fn value(&self, row: &[f64], point: usize) -> (f64, f64) {
        let (n, pi) = (self.names.len(), std::f64::consts::PI);
        let square = |d: usize| {
            let period = self.periodic[d].then_some(2.0 * pi);
            (difference(period, self.place(point, d), row[d]) / row[n + d]).powi(2)
        };
        let square: f64 = (0..n).map(square).sum();
        (row[2 * n] * (-0.5 * square).exp(), square)
    }

    /// Columns with the places of the points.
    fn columns(&self) -> Vec<(String, Vec<f64>)> {
        let places = |d: usize| (0..self.points()).map(|point| self.place(point, d)).collect();
        (0..self.names.len()).map(|d| (self.names[d].clone(), places(d))).collect()
    }
}

/// Minus the sum of hills: of hills of constant height the mean over the second half of the run, of well-tempered
/// ones that of all. The error is the standard deviation of the profile over the second half.
fn hills(path: &Path, text: &str) -> Result<Results> {
    let hills = Gaussians::read(path, text, [1, 1])?;
    let (points, count) = (hills.points(), hills.rows.len());
    let tempered = hills.rows.iter().any(|row| row[2 * hills.names.len() + 1] > 1.0);
    let mut sum = vec![0.0; points];
    let mut profiles: Vec<Vec<f64>> = Vec::new();
    for (number, row) in hills.rows.iter().enumerate() {
        sum.iter_mut().enumerate().for_each(|(point, sum)| *sum -= hills.value(row, point).0);
        let done = (number + 1) * 2 * CUTS / count;
        if done >= CUTS && done > number * 2 * CUTS / count {
            let mean = sum.iter().sum::<f64>() / points as f64;
            profiles.push(sum.iter().map(|x| x - mean).collect());
        }
    }
    let n = profiles.len().max(1) as f64;
    let mean: Vec<f64> = (0..points).map(|p| profiles.iter().map(|f| f[p]).sum::<f64>() / n).collect();
    let spread = |p: usize| (profiles.iter().map(|f| (f[p] - mean[p]).powi(2)).sum::<f64>() / n).sqrt();
    let errors: Vec<f64> = (0..points).map(spread).collect();
    let values = if tempered { profiles.last().cloned().unwrap_or(mean) } else { mean };
    Ok(table(hills.columns(), "", values, Some(errors)))
}

/// -k_B T ln of a density: that of the rows of `thermo.csv` beside the file, or else of its kernels, where there are
/// any. Kernels that were merged leave waves in a profile that no error of theirs tells of.
fn kernels(path: &Path, text: &str, author: Option<&Author>) -> Result<Results> {
    let kernels = Gaussians::read(path, text, [0, 0])?;
    let setting = |name: &str| -> Result<f64> {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("#! SET {name} ")));
        found
            .and_then(|x| x.parse().ok())
            .ok_or_else(|| Error::file(path, format!("this file has no {name}")))
    };
    let (thermal_energy, end) = (setting("thermal_energy")?, setting("square_cutoff")?);
    let density = |point: usize| -> f64 {
        let one = |row: &Vec<f64>| {
            let (value, square) = kernels.value(row, point);
            if square < end { value } else { 0.0 }
        };
        kernels.rows.iter().map(one).sum()
    };
    let value = |point: usize| match density(point) {
        density if density > 0.0 => -thermal_energy * density.ln(),
        _ => f64::NAN,
    };
    let of_rows = author.and_then(|author| of_rows(author, &kernels, thermal_energy));
    let is_inside = |bias: &BiasInput| of_rows.is_none() || !is_taken_off(bias);
    let warning = author.and_then(|author| author.warning(is_inside));
    let (values, errors) = match of_rows {
        Some([values, errors]) => (values, Some(errors)),
        None => ((0..kernels.points()).map(value).collect(), None),
    };
    let mut results = table(kernels.columns(), "", values, errors);
    results.warnings.extend(warning);
    Ok(results)
}

/// Returns true for biases whose energy weights rows: it depends on the configuration alone or, of kernels, soon hardly
/// changes.
fn is_taken_off(bias: &BiasInput) -> bool {
    bias.stays() || matches!(bias.action, BiasAction::Opes(_))
}

/// A profile and its errors by the rows of `thermo.csv` beside a file of kernels: rows of the stages in which the bias acts
/// are weighted by exp(U / k_B T) with the energy U of this and of all other biases, and give densities. `None` where the
/// rows have no such columns, or are means of samples.
///
/// Gaussians of half the width of the narrowest kernels smooth them, less half their second derivative times the square of
/// the width: what smoothing adds is of the fourth order then, where Gaussians alone would take tenths of k_B T off barriers
/// (kernels of order four).
fn of_rows(author: &Author, kernels: &Gaussians, thermal_energy: f64) -> Option<[Vec<f64>; 2]> {
    let Author { input, thermo, name } = author;
    let stages = author.stages();
    let is_moment = |rows: &&StageRows| {
        stages.iter().any(|stage| stage.name == rows.name) && !are_means(input, &rows.name)
    };
    let biases = input.biases.iter().map(|bias| &bias.value);
    let taken_off = biases.filter(|bias| bias.name == *name || is_taken_off(bias));
    let energies: Vec<usize> =
        taken_off.map(|bias| thermo.quantity(&energy_column(bias))).collect::<Option<_>>()?;
    let variables: Vec<usize> =
        kernels.names.iter().map(|name| thermo.quantity(name)).collect::<Option<_>>()?;
    let n = variables.len();
    let width = |d: usize| 0.5 * kernels.rows.iter().map(|row| row[n + d]).fold(f64::INFINITY, f64::min);
    let widths: Vec<f64> = (0..n).map(width).collect();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for stage in thermo.stages.iter().filter(is_moment) {
        for k in 0..stage.time.len() {
            let energy: f64 = energies.iter().map(|quantity| stage.values[*quantity][k]).sum();
            let places = variables.iter().map(|quantity| stage.values[*quantity][k]);
            let row: Vec<f64> =
                places.chain(widths.iter().copied()).chain([energy / thermal_energy]).collect();
            if row.iter().all(|x| x.is_finite()) {
                rows.push(row);
            }
        }
    }
    let most = rows.iter().map(|row| row[2 * n]).fold(f64::NEG_INFINITY, f64::max);
    rows.iter_mut().for_each(|row| row[2 * n] = (row[2 * n] - most).exp());
    if rows.len() < 2 * BLOCKS {
        return None;
    }
    let block_of = |k: usize| k * BLOCKS / rows.len();
    let densities: Vec<[f64; BLOCKS]> = (0..kernels.points())
        .map(|point| {
            let mut sums = [0.0; BLOCKS];
            for (k, row) in rows.iter().enumerate() {
                let (gaussian, square) = kernels.value(row, point);
                sums[block_of(k)] += gaussian * (1.0 + 0.5 * (n as f64 - square));
            }
            sums
        })
        .collect();
    let without = |block: Option<usize>| {
        let sum = |sums: &[f64; BLOCKS]| -> f64 {
            sums.iter().enumerate().filter(|(k, _)| Some(*k) != block).map(|(_, sum)| sum).sum()
        };
        let free_energy = |sums| match sum(sums) {
            density if density > 0.0 => -thermal_energy * density.ln(),
            _ => f64::NAN,
        };
        densities.iter().map(free_energy).collect::<Vec<f64>>()
    };
    let values = without(None);
    let filled = (0..values.len()).filter(|point| values[*point].is_finite());
    let lowest = filled.min_by(|a, b| values[*a].total_cmp(&values[*b]))?;
    // Errors are those of differences to the lowest value, which is zero in the profile.
    let counted = |block| {
        let values: Vec<f64> = without(Some(block));
        values.iter().map(|value| value - values[lowest]).collect::<Vec<f64>>()
    };
    let errors = jackknife_errors(&(0..BLOCKS).map(counted).collect::<Vec<_>>());
    Some([values, errors])
}

/// A table of a profile, whose smallest value is zero.
pub fn table(
    columns: Vec<(String, Vec<f64>)>,
    unit: &str,
    values: Vec<f64>,
    errors: Option<Vec<f64>>,
) -> Results {
    let lowest = values.iter().copied().filter(|x| x.is_finite()).fold(f64::INFINITY, f64::min);
    let mut columns = columns.into_iter();
    let (name, places) = columns.next().unwrap_or_default();
    let mut table = Table::new("pmf", &name, String::new(), places);
    columns.for_each(|(name, places)| table.plain(&name, "", places));
    table.plain("free energy", unit, values.iter().map(|x| x - lowest).collect());
    if let Some(errors) = errors {
        table.plain("free energy error", unit, errors);
    }
    Results { tables: vec![table], ..Results::default() }
}

/// Grid of mean forces in Colvars' layout, whose first axis counts fastest.
struct ForceGrid<'a> {
    path: &'a Path,
    bins: Vec<usize>,
    spacing: Vec<f64>,
    periodic: Vec<bool>,
}

/// Mean forces along each axis, bin by bin.
type MeanForces = Vec<Vec<f64>>;

impl<'a> ForceGrid<'a> {
    /// Reads the head of a file.
    fn read(path: &'a Path, text: &str) -> Result<Self> {
        let head: Vec<Vec<f64>> = text
            .lines()
            .map_while(|line| line.strip_prefix('#'))
            .map(|line| line.split_whitespace().filter_map(|x| x.parse().ok()).collect())
            .collect();
        let dimensions = head.first().and_then(|line| line.first()).copied().unwrap_or_default();
        let axes = head.get(1..).unwrap_or_default();
        if !(dimensions == 1.0 || dimensions == 2.0)
            || axes.len() != dimensions as usize
            || axes.iter().any(|axis| axis.len() != 4)
        {
            return Err(Error::file_line(path, 1, "this is no grid of mean forces")
                .hint("its head is \"# 1\" and \"# lower spacing bins periodic\""));
        }
        Ok(ForceGrid {
            path,
            bins: axes.iter().map(|axis| axis[2] as usize).collect(),
            spacing: axes.iter().map(|axis| axis[1]).collect(),
            periodic: axes.iter().map(|axis| axis[3] != 0.0).collect(),
        })
    }

    /// Mean forces of all samples but those of one block after the other, block by block in the columns of a file.
    fn left_out(&self, path: &Path) -> Result<Vec<MeanForces>> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        let (n, first) = (self.bins.len(), text.lines().find(|line| !line.starts_with('#')));
        let columns = first.map_or(0, |line| line.split_whitespace().count());
        let rows = numbers(path, &text, columns)?;
        if columns < n || rows.len() != self.bins.iter().product::<usize>() {
            return Err(Error::file(path, "this file and that of the mean forces do not fit together"));
        }
        let block = |k: usize| rows.iter().map(|row| row[n * k..n * (k + 1)].to_vec()).collect();
        Ok((1..columns / n).map(block).collect())
    }

    fn profile(&self, forces: &MeanForces) -> Result<Vec<f64>> {
        gradient_profile(&self.bins, &self.spacing, &self.periodic, forces)
            .map_err(|e| e.blame_file(self.path))
    }

    /// Integrals of mean forces around the period of an axis, one for each line along it; NaN where a bin has none.
    fn around(&self, axis: usize, forces: &MeanForces) -> Vec<f64> {
        let (count, stride) = (self.bins[axis], self.bins[..axis].iter().product::<usize>());
        let starts = (0..forces.len()).filter(|bin| bin / stride % count == 0);
        let integral = |start: usize| {
            let line = (0..count).map(|k| forces[start + k * stride][axis]);
            self.spacing[axis] * line.sum::<f64>()
        };
        starts.map(integral).collect()
    }

    /// Mean of the integrals around the period of an axis over all lines whose bins have been sampled, in every block if
    /// there are such; `None` without a line.
    fn closure(&self, axis: usize, forces: &MeanForces, left_out: &[MeanForces]) -> Option<Estimate> {
        let all = self.around(axis, forces);
        let without: Vec<Vec<f64>> = left_out.iter().map(|forces| self.around(axis, forces)).collect();
        let is_known = |line: &usize| all[*line].is_finite();
        let in_blocks = |line: &usize| without.iter().all(|lines| lines[*line].is_finite());
        let known: Vec<usize> = (0..all.len()).filter(is_known).collect();
        let in_all: Vec<usize> = known.iter().copied().filter(in_blocks).collect();
        let lines = if in_all.is_empty() { known } else { in_all };
        let mean = |of: &Vec<f64>| lines.iter().map(|line| of[*line]).sum::<f64>() / lines.len() as f64;
        let error = jackknife_error(&without.iter().map(mean).collect::<Vec<f64>>());
        (!lines.is_empty()).then(|| Estimate { value: mean(&all), error })
    }
}

/// Integral of the mean forces on a grid in Colvars' layout. Errors are those of the jackknife, where a file with mean
/// forces of all samples but those of one block after the other is beside it. Variables have their numbers for names where
/// no run beside the file names them.
fn mean_forces(path: &Path, text: &str, author: Option<&Author>) -> Result<Results> {
    let grid = ForceGrid::read(path, text)?;
    let n = grid.bins.len();
    let rows = numbers(path, text, 2 * n)?;
    let forces: MeanForces = rows.iter().map(|row| row[n..].to_vec()).collect();
    let values = grid.profile(&forces)?;
    let blocks = path.with_extension("jackknife");
    let (left_out, errors) = match path.extension().is_some_and(|e| e == "grad") && blocks.is_file() {
        true => {
            let left_out = grid.left_out(&blocks)?;
            let profiles = left_out.iter().map(|forces| grid.profile(forces)).collect::<Result<Vec<_>>>()?;
            let errors = jackknife_errors(&profiles);
            (left_out, Some(if errors.is_empty() { vec![f64::NAN; rows.len()] } else { errors }))
        }
        false => (Vec::new(), None),
    };
    let known = author.map(Author::variables).filter(|names| names.len() == n);
    let name = |d: usize| known.as_ref().map_or(format!("variable {}", d + 1), |names| names[d].to_string());
    let range = values.iter().copied().filter(|x| x.is_finite()).fold(0.0, f64::max);
    let closure = |d: usize| Some((d, grid.closure(d, &forces, &left_out)?));
    let closures = (0..n).filter(|d| grid.periodic[*d]).filter_map(closure);
    let warnings = closures.filter_map(|(d, closure)| open_period(&name(d), closure, range)).collect();
    let columns = (0..n).map(|d| (name(d), rows.iter().map(|row| row[d]).collect()));
    Ok(Results { warnings, ..table(columns.collect(), "", values, errors) })
}

/// Errors of the integral of mean forces around a period, or part of the range of the profile where it has none, beyond
/// which they do not close.
const OPEN_BY_ERRORS: f64 = 3.0;
const OPEN_BY_RANGE: f64 = 0.1;

/// Warning where the mean forces along a variable with a period do not add up to nothing around it. Adaptive forces that do
/// not close drive the variable round, and its friction is part of them then: most where it is seldom, on the barriers.
fn open_period(name: &str, closure: Estimate, range: f64) -> Option<ResultWarning> {
    let Estimate { value, error } = closure;
    let (allowed, error) = match error.is_finite() {
        true => (OPEN_BY_ERRORS * error, format!(" ± {error:.3}")),
        false => (OPEN_BY_RANGE * range, String::new()),
    };
    (value.abs() > allowed).then(|| ResultWarning {
        verdict: Verdict::Doubtful,
        about: "free energy".into(),
        reason: format!(
            "mean forces along {name} add up to {value:.3}{error} around its period, where they should to nothing: it was \
             driven round, or its barriers hardly sampled, and they may be wrong by as much"
        ),
        remedy: "sample longer, or take metadynamics or umbrella windows along variables with a period".into(),
    })
}

/// Difference of two values, the shortest way round.
pub fn difference(period: Option<f64>, a: f64, b: f64) -> f64 {
    match period {
        Some(period) => (a - b) - period * ((a - b) / period).round(),
        None => a - b,
    }
}
