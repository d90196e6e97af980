//! Pair energies as numbers in a file: the tables of LAMMPS (`pair_style table`), or three columns
//! r, energy and force (-du/dr). Lines that begin with `#` are comments; where one says `UNITS: metal`, `real` or `lj`, those
//! are the units of the numbers.
//!
//! A file of LAMMPS has sections: a keyword; `N n`, maybe with `R lo hi` or `RSQ lo hi`, which say
//! where the distances are; n lines of number, r, energy and force. `FPRIME` is not needed here.

use crate::file_units;
use crate::text::read_recorded;
use jostle_core::{Error, Result, UnitSystem};
use std::path::Path;

/// Fewer rows make no function.
const FEWEST: usize = 5;

/// Energies and forces at some distances, and cubics in the squared distance in between.
#[derive(Debug, Clone, PartialEq)]
pub struct PairTable {
    points: Vec<TablePoint>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct TablePoint {
    /// Number of the line, from 1.
    line: usize,
    r: f64,
    energy: f64,
    force: f64,
}

impl PairTable {
    /// Reads a file for an input in these units; of a file with several sections the one that is named.
    ///
    /// # Errors
    /// If it cannot be read, names units that cannot become those of the input, has no such section, is cut off, its distances do not increase, or the
    /// force is not -du/dr: file, line and cause.
    pub fn read(path: &Path, section: Option<&str>, units: UnitSystem) -> Result<Self> {
        let bytes = read_recorded(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim()));
        let lines: Vec<(usize, &str)> =
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
        let Some((_, first)) = lines.first() else {
            return Err(Error::file(path, "there are no numbers in the file")
                .hint("each line has a distance, an energy and a force"));
        };
        let points = match numbers(first) {
            Some(_) => columns(path, &lines, section)?,
            None => sections(path, &lines, section)?,
        };
        check(path, &points)?;
        let [energy, length] = file_units::scale(path, &text, units)?;
        let scaled = |p: TablePoint| TablePoint {
            r: p.r * length,
            energy: p.energy * energy,
            force: p.force * energy / length,
            ..p
        };
        Ok(PairTable { points: points.into_iter().map(scaled).collect() })
    }

    /// The first and the last distance.
    pub fn range(&self) -> [f64; 2] {
        [self.points[0].r, self.points[self.points.len() - 1].r]
    }

    /// The distances of all lines.
    pub fn distances(&self) -> impl Iterator<Item = f64> {
        self.points.iter().map(|p| p.r)
    }

    /// Energy and force at a distance within the range.
    pub fn at(&self, r: f64) -> (f64, f64) {
        let k = self.points.partition_point(|p| p.r <= r).clamp(1, self.points.len() - 1);
        let [a, b] = [self.points[k - 1], self.points[k]];
        let width = b.r * b.r - a.r * a.r;
        let slope = |p: TablePoint| -0.5 * width * p.force / p.r;
        let (du, dv, rise) = (slope(a), slope(b), b.energy - a.energy);
        let (c2, c3) = (3.0 * rise - 2.0 * du - dv, du + dv - 2.0 * rise);
        let t = (r * r - a.r * a.r) / width;
        let energy = a.energy + t * (du + t * (c2 + t * c3));
        let force = -(du + t * (2.0 * c2 + 3.0 * t * c3)) * 2.0 * r / width;
        (energy, force)
    }
}

/// The numbers of a line; `None` if there is something else.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let words = line.split('#').next().unwrap_or_default().split_whitespace();
    words.map(|word| word.parse::<f64>().ok().filter(|x| x.is_finite())).collect()
}

/// Three columns.
fn columns(path: &Path, lines: &[(usize, &str)], section: Option<&str>) -> Result<Vec<TablePoint>> {
    if let Some(section) = section {
        return Err(Error::file(path, format!("there is no section \"{section}\": the file has none"))
            .hint("leave out section, it belongs to files of LAMMPS"));
    }
    let point = |&(line, text): &(usize, &str)| match numbers(text).as_deref() {
        Some([r, energy, force]) => Ok(TablePoint { line, r: *r, energy: *energy, force: *force }),
        _ => Err(Error::file_line(path, line, "the line is not: r energy force")
            .hint("three finite numbers, in the units of the input or of a comment \"UNITS: metal\"")),
    };
    lines.iter().map(point).collect()
}

/// Spacing of distances in a table of LAMMPS.
#[derive(Debug, Clone, Copy)]
enum DistanceGrid {
    AsWritten,
    Even([f64; 2]),
    EvenSquares([f64; 2]),
}

impl DistanceGrid {
    fn distance(self, k: usize, n: usize, written: f64) -> f64 {
        let part = k as f64 / (n - 1) as f64;
        match self {
            DistanceGrid::AsWritten => written,
            DistanceGrid::Even([low, high]) => low + (high - low) * part,
            DistanceGrid::EvenSquares([low, high]) => (low * low + (high * high - low * low) * part).sqrt(),
        }
    }
}

/// Points of one section of a file of LAMMPS.
fn sections(path: &Path, lines: &[(usize, &str)], wanted: Option<&str>) -> Result<Vec<TablePoint>> {
    let (mut names, mut found, mut k) = (Vec::new(), None, 0);
    while let Some(&(line, text)) = lines.get(k) {
        let name = text.split_whitespace().next().unwrap_or_default();
        if numbers(name).is_some() {
            return Err(Error::file_line(
                path,
                line,
                "a number stands where the keyword of a section should",
            )
            .hint("the section above has more lines than its N says"));
        }
        let (line, parameters) = *lines.get(k + 1).ok_or_else(|| {
            Error::file_line(path, line, format!("the file ends after the keyword \"{name}\""))
                .hint("a line like \"N 500 R 0.5 2.5\" should follow")
        })?;
        let (n, grid) = parameters_of(parameters).map_err(|message| {
            Error::file_line(path, line, message).hint("it should be like \"N 500\" or \"N 500 R 0.5 2.5\"")
        })?;
        names.push(name);
        let rows = lines.get(k + 2..k + 2 + n).ok_or_else(|| {
            Error::file_line(
                path,
                line,
                format!("{n} lines are promised, but only {} follow", lines.len() - k - 2),
            )
            .hint("the file is cut off, or N is wrong")
        })?;
        if found.is_none() && wanted.is_none_or(|wanted| wanted == name) {
            found = Some(points(path, rows, grid)?);
        }
        k += 2 + n;
    }
    let known = names.join(", ");
    match (found, wanted) {
        (Some(_), None) if names.len() > 1 => Err(Error::file(path, "the file has several sections")
            .hint(format!("choose one by section = \"...\": {known}"))),
        (Some(points), _) => Ok(points),
        (None, wanted) => {
            let wanted = wanted.unwrap_or_default();
            Err(Error::file(path, format!("there is no section \"{wanted}\""))
                .hint(format!("the file has {known}")))
        }
    }
}

/// `N n R lo hi FPRIME a b`
fn parameters_of(line: &str) -> std::result::Result<(usize, DistanceGrid), String> {
    let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    let number = |k: usize| words.get(k).and_then(|w| w.parse::<f64>().ok()).filter(|x| x.is_finite());
    let range = |k: usize| match (number(k + 1), number(k + 2)) {
        (Some(low), Some(high)) if 0.0 < low && low < high => Ok([low, high]),
        _ => Err(format!("{} needs two distances, the first one less than the other", words[k])),
    };
    let (mut n, mut grid, mut k) = (None, DistanceGrid::AsWritten, 0);
    while let Some(word) = words.get(k) {
        k += match *word {
            "N" => {
                n = words.get(k + 1).and_then(|w| w.parse().ok()).filter(|n| *n >= FEWEST);
                2
            }
            "R" => {
                grid = DistanceGrid::Even(range(k)?);
                3
            }
            "RSQ" => {
                grid = DistanceGrid::EvenSquares(range(k)?);
                3
            }
            "FPRIME" => 3,
            "BITMAP" => return Err("a BITMAP of distances is not read".into()),
            other => return Err(format!("\"{other}\" is not understood")),
        };
    }
    Ok((n.ok_or_else(|| format!("there is no N of at least {FEWEST}"))?, grid))
}

fn points(path: &Path, rows: &[(usize, &str)], grid: DistanceGrid) -> Result<Vec<TablePoint>> {
    let n = rows.len();
    let spacing = |k: usize| grid.distance(k.max(1), n, 0.0) - grid.distance(k.max(1) - 1, n, 0.0);
    let point = |(k, &(line, text)): (usize, &(usize, &str))| {
        let numbers = numbers(text);
        let Some([_, written, energy, force]) = numbers.as_deref() else {
            return Err(Error::file_line(path, line, "the line is not: number r energy force")
                .hint("four finite numbers; the section may have fewer lines than its N says"));
        };
        let r = grid.distance(k, n, *written);
        // Distances are often written with few digits.
        if !matches!(grid, DistanceGrid::AsWritten) && (r - written).abs() > 0.5 * spacing(k) {
            return Err(Error::file_line(
                path,
                line,
                format!("r = {written}, but line N ... puts it at {r:.6}"),
            )
            .hint("correct the distances after R or RSQ, or leave them out"));
        }
        Ok(TablePoint { line, r, energy: *energy, force: *force })
    };
    rows.iter().enumerate().map(point).collect()
}

/// Refuses what is no energy with its force.
fn check(path: &Path, points: &[TablePoint]) -> Result<()> {
    if points.len() < FEWEST {
        return Err(Error::file(path, format!("there are only {} distances", points.len()))
            .hint(format!("at least {FEWEST}, and some hundred for a smooth force")));
    }
    if points[0].r <= 0.0 {
        return Err(Error::file_line(path, points[0].line, format!("r = {}", points[0].r))
            .hint("begin at a distance greater than zero"));
    }
    for pair in points.windows(2) {
        if pair[1].r <= pair[0].r {
            let message = format!("r = {} after r = {}", pair[1].r, pair[0].r);
            return Err(Error::file_line(path, pair[1].line, message).hint("distances must increase"));
        }
    }
    for (k, pair) in points.windows(2).enumerate() {
        let [a, b] = [pair[0], pair[1]];
        let width = b.r - a.r;
        let (fall, expected) = (a.energy - b.energy, 0.5 * width * (a.force + b.force));
        // The curvature of the force is known from its neighbours alone.
        let near = &points[k.saturating_sub(1)..(k + 3).min(points.len())];
        let bend: f64 = near.windows(2).map(|p| (p[1].force - p[0].force).abs()).sum();
        let digits = 1e-4 * (a.energy.abs() + b.energy.abs() + width * (a.force.abs() + b.force.abs()));
        if (fall - expected).abs() > 0.5 * width * bend + digits {
            let (found, wanted) = (expected / width, fall / width);
            return Err(Error::file_line(
                path,
                b.line,
                format!("from r = {} to {} the energy falls by {wanted:.6} per distance, but the force is {found:.6}", a.r, b.r),
            )
            .hint("the third column must be -du/dr: look at its sign, its units, and for damaged lines"));
        }
    }
    Ok(())
}
