//! Embedded-atom files of DYNAMO, as LAMMPS reads them: `funcfl` (one metal), `setfl` (alloys) and
//! its Finnis-Sinclair variant. The kind of a file follows from its contents.
//!
//! Energies are in eV and distances in angstrom.

use crate::file_units::tagged;
use crate::text::read_recorded;
use jostle_core::{Error, Result};
use jostle_potentials::embedded::Spline;
use jostle_potentials::{Embedded, EmbeddedKind};
use std::path::Path;

/// Hartree in eV and Bohr radius in angstrom as DYNAMO has them, and LAMMPS.
const HARTREE_BOHR: f64 = 27.2 * 0.529;

/// The functions of one or several metals, by element.
#[derive(Debug, Clone, PartialEq)]
pub struct Dynamo {
    /// Chemical symbols.
    pub elements: Vec<String>,
    /// Distance beyond which atoms do not interact.
    pub cutoff: f64,
    /// F(rho) of each element.
    embedding: Vec<UniformTable>,
    /// f(r), by the element at which the density is, then by the element it comes from.
    density: Vec<Vec<UniformTable>>,
    /// r phi(r).
    pair: Vec<Vec<UniformTable>>,
}

/// Numbers at 0, `spacing`, ...
#[derive(Debug, Clone, PartialEq)]
struct UniformTable {
    spacing: f64,
    values: Vec<f64>,
}

/// Numbers of knots and their spacing, for densities and for distances; the cut-off.
#[derive(Debug, Clone, Copy)]
struct Grids {
    n_density: usize,
    density: f64,
    n_distance: usize,
    distance: f64,
    cutoff: f64,
}

impl Dynamo {
    /// Reads a `setfl` file, or one or several `funcfl` files, which make an alloy.
    ///
    /// # Errors
    /// If a file cannot be read, is of another format, or lacks numbers: file, line and cause.
    pub fn read(paths: &[impl AsRef<Path>]) -> Result<Self> {
        let mut metals = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            let bytes = read_recorded(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let mut lines = DynamoLines::new(path, &text);
            let title = lines.next("a comment")?;
            if let Some((_, units)) = tagged([(1, title)])
                && units != "metal"
            {
                let message = format!("the file says that its units are \"{units}\"");
                return Err(lines.error(message).hint("only files in eV and angstrom (\"metal\") are read"));
            }
            if lines.text.get(2).is_some_and(|line| numbers(line).is_some_and(|n| n.len() >= 5)) {
                metals.push(Funcfl::read(&mut lines)?);
            } else if paths.len() > 1 {
                return Err(Error::file(path, "several files make an alloy only if all are funcfl files")
                    .hint("a setfl file has all elements by itself; name it alone"));
            } else {
                return setfl(&mut lines);
            }
        }
        alloy(metals)
    }

    /// The force between species that are these elements, in units in which an electronvolt and an
    /// angstrom are so much.
    ///
    /// # Errors
    /// If an element is not in the file, or a function is too short.
    pub fn embedded(&self, elements: &[&str], electronvolt: f64, angstrom: f64) -> Result<Embedded> {
        let places: Vec<usize> = elements
            .iter()
            .map(|element| {
                self.elements.iter().position(|e| e == element).ok_or_else(|| {
                    Error::input(format!("there is no element \"{element}\" in the file")).hint(format!(
                        "it has {}; name species so, or say which is which: elements = [\"{}\"]",
                        self.elements.join(", "),
                        self.elements[0]
                    ))
                })
            })
            .collect::<Result<_>>()?;
        let spline = |table: &UniformTable, length: f64, scale: f64| {
            let values: Vec<f64> = table.values.iter().map(|v| v * scale).collect();
            Spline::through(0.0, table.spacing * length, &values)
                .ok_or_else(|| Error::input("a function has fewer than five numbers, or an infinite one"))
        };
        let of_pairs = |tables: &[Vec<UniformTable>], scale: f64| {
            let pairs = places.iter().flat_map(|a| places.iter().map(move |b| (*a, *b)));
            pairs.map(|(a, b)| spline(&tables[a][b], angstrom, scale)).collect::<Result<Vec<_>>>()
        };
        let embedding = places.iter().map(|a| spline(&self.embedding[*a], 1.0, electronvolt));
        Embedded::new(
            EmbeddedKind::EmbeddedAtom,
            self.cutoff * angstrom,
            embedding.collect::<Result<_>>()?,
            of_pairs(&self.density, 1.0)?,
            of_pairs(&self.pair, electronvolt * angstrom)?,
        )
    }
}

/// A `funcfl` file.
struct Funcfl {
    symbol: String,
    grids: Grids,
    embedding: UniformTable,
    charge: UniformTable,
    density: UniformTable,
}

impl Funcfl {
    fn read(lines: &mut DynamoLines) -> Result<Self> {
        let header = lines.next("atomic number, mass, lattice")?;
        let number = header.split_whitespace().next().and_then(|word| word.parse::<usize>().ok());
        let symbol = number.and_then(|z| SYMBOLS.get(z.wrapping_sub(1))).ok_or_else(|| {
            lines
                .error("the line does not begin with an atomic number")
                .hint("a funcfl file has a comment, then: atomic number, mass, lattice constant, lattice")
        })?;
        let grids = lines.grids()?;
        Ok(Funcfl {
            symbol: symbol.to_string(),
            grids,
            embedding: UniformTable {
                spacing: grids.density,
                values: lines.numbers(grids.n_density, "F(rho)")?,
            },
            charge: UniformTable {
                spacing: grids.distance,
                values: lines.numbers(grids.n_distance, "Z(r)")?,
            },
            density: UniformTable {
                spacing: grids.distance,
                values: lines.numbers(grids.n_distance, "rho(r)")?,
            },
        })
    }
}

/// An alloy of metals with a file each: all on one grid, r phi = Z Z, as LAMMPS does it.
fn alloy(metals: Vec<Funcfl>) -> Result<Dynamo> {
    if metals.is_empty() {
        return Err(Error::input("no file is named"));
    }
    let largest = |of: &dyn Fn(&Grids) -> f64| metals.iter().map(|m| of(&m.grids)).fold(0.0, f64::max);
    let spacing = largest(&|g| g.distance);
    let n = (largest(&|g| (g.n_distance - 1) as f64 * g.distance) / spacing + 0.5) as usize + 1;
    let on_grid = |table: &UniformTable| match metals.len() {
        1 => table.clone(),
        _ => UniformTable { spacing, values: (0..n).map(|k| table.between(k as f64 * spacing)).collect() },
    };
    let charges: Vec<UniformTable> = metals.iter().map(|m| on_grid(&m.charge)).collect();
    let densities: Vec<UniformTable> = metals.iter().map(|m| on_grid(&m.density)).collect();
    let product = |a: &UniformTable, b: &UniformTable| UniformTable {
        spacing: a.spacing,
        values: a.values.iter().zip(&b.values).map(|(p, q)| HARTREE_BOHR * p * q).collect(),
    };
    Ok(Dynamo {
        elements: metals.iter().map(|m| m.symbol.clone()).collect(),
        cutoff: largest(&|g| g.cutoff),
        embedding: metals.iter().map(|m| m.embedding.clone()).collect(),
        density: vec![densities; metals.len()],
        pair: charges.iter().map(|a| charges.iter().map(|b| product(a, b)).collect()).collect(),
    })
}

impl UniformTable {
    /// Between its numbers, by the cubic through four of them.
    fn between(&self, x: f64) -> f64 {
        let (v, n) = (&self.values, self.values.len());
        let at = x / self.spacing;
        let k = (at as usize).clamp(1, n - 3);
        let p = (at - k as f64).min(2.0);
        -p * (p - 1.0) * (p - 2.0) / 6.0 * v[k - 1] + 0.5 * (p * p - 1.0) * (p - 2.0) * v[k]
            - 0.5 * p * (p + 1.0) * (p - 2.0) * v[k + 1]
            + p * (p * p - 1.0) / 6.0 * v[k + 2]
    }
}

/// A `setfl` file, or its Finnis-Sinclair variant: that has as many densities of each element as
/// there are elements.
fn setfl(lines: &mut DynamoLines) -> Result<Dynamo> {
    lines.next("a comment")?;
    lines.next("a comment")?;
    let header = lines.next("the number of elements and their names")?;
    let mut words = header.split_whitespace();
    let count = words.next().and_then(|word| word.parse::<usize>().ok());
    let elements: Vec<String> = words.map(str::to_string).collect();
    if elements.is_empty() || count != Some(elements.len()) {
        return Err(lines.error("the line is not the number of elements and their names").hint(
            "three comments come first in a setfl file; a funcfl file has its grids in the third line",
        ));
    }
    let n = elements.len();
    let grids = lines.grids()?;
    let left = lines.words_left();
    let words = |densities: usize| {
        n * (4 + grids.n_density + densities * grids.n_distance) + n * (n + 1) / 2 * grids.n_distance
    };
    let finnis_sinclair = n > 1 && left.abs_diff(words(n)) < left.abs_diff(words(1));
    let distances = |lines: &mut DynamoLines, what: &str| {
        Ok(UniformTable { spacing: grids.distance, values: lines.numbers(grids.n_distance, what)? })
    };
    let (mut embedding, mut made) = (Vec::new(), Vec::new());
    for element in &elements {
        lines.next("atomic number, mass, lattice")?;
        let values = lines.numbers(grids.n_density, &format!("F(rho) of {element}"))?;
        embedding.push(UniformTable { spacing: grids.density, values });
        let kinds = if finnis_sinclair { n } else { 1 };
        let densities = (0..kinds).map(|_| distances(lines, &format!("rho(r) of {element}")));
        made.push(densities.collect::<Result<Vec<UniformTable>>>()?);
    }
    // Density of an element at another; without Finnis and Sinclair it is the same at all.
    let density_at = |a: usize, b: usize| made[b][if finnis_sinclair { a } else { 0 }].clone();
    let density = (0..n).map(|a| (0..n).map(|b| density_at(a, b)).collect()).collect();
    let mut lower: Vec<Vec<UniformTable>> = Vec::new();
    for (a, one) in elements.iter().enumerate() {
        let row = elements[..=a].iter().map(|other| distances(lines, &format!("r phi(r) of {one}-{other}")));
        lower.push(row.collect::<Result<_>>()?);
    }
    lines.end()?;
    let pair = (0..n).map(|a| (0..n).map(|b| lower[a.max(b)][a.min(b)].clone()).collect()).collect();
    Ok(Dynamo { elements, cutoff: grids.cutoff, embedding, density, pair })
}

/// The lines of a file, one after the other.
struct DynamoLines<'a> {
    path: &'a Path,
    text: Vec<&'a str>,
    /// Number of values that have been read.
    read: usize,
}

impl<'a> DynamoLines<'a> {
    fn new(path: &'a Path, text: &'a str) -> Self {
        DynamoLines { path, text: text.lines().collect(), read: 0 }
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::file_line(self.path, self.read.max(1), message)
    }

    fn next(&mut self, what: &str) -> Result<&'a str> {
        let Some(line) = self.text.get(self.read) else {
            return Err(self
                .error(format!("the file ends where {what} should come"))
                .hint("it is cut off, or no DYNAMO file (funcfl, setfl)"));
        };
        self.read += 1;
        Ok(line)
    }

    /// `Nrho drho Nr dr cutoff`. A sixth number is that of a variant whose functions are on other grids.
    fn grids(&mut self) -> Result<Grids> {
        let line = self.next("Nrho, drho, Nr, dr, cutoff")?;
        if let Some(given) = numbers(line).map(|numbers| numbers.len()).filter(|given| *given > 5) {
            return Err(self
                .error(format!("the line has {given} numbers, not the five Nrho drho Nr dr cutoff"))
                .hint("files of pair_style eam/he, whose sixth number is the end of densities that begin below 0, are not read"));
        }
        let whole = |x: f64| (x.fract() == 0.0 && (5.0..1e7).contains(&x)).then_some(x as usize);
        let size = |x: f64| (x > 0.0 && x.is_finite()).then_some(x);
        let read = || {
            let numbers = numbers(line)?;
            let [n_density, density, n_distance, distance, cutoff] = *numbers.first_chunk::<5>()?;
            Some(Grids {
                n_density: whole(n_density)?,
                density: size(density)?,
                n_distance: whole(n_distance)?,
                distance: size(distance)?,
                cutoff: size(cutoff)?,
            })
        };
        read().ok_or_else(|| {
            self.error("the line is not: Nrho drho Nr dr cutoff")
                .hint("two whole numbers of at least 5, and three positive numbers")
        })
    }

    /// The next `count` numbers, from the beginning of a line to the end of one.
    fn numbers(&mut self, count: usize, what: &str) -> Result<Vec<f64>> {
        let mut values = Vec::with_capacity(count.min(1 << 20));
        while values.len() < count {
            let line = self.next(what)?;
            let Some(more) = numbers(line) else {
                let (have, line) = (values.len(), line.trim());
                let line: String = line.chars().take(40).collect();
                return Err(self
                    .error(format!("{what} has {have} of its {count} numbers, then comes \"{line}\""))
                    .hint("the line of grids promises more numbers than there are, or one is damaged"));
            };
            values.extend(more);
        }
        if values.len() > count {
            return Err(self
                .error(format!("{what} has more than its {count} numbers"))
                .hint("every function begins on a line of its own; compare with the line of grids"));
        }
        Ok(values)
    }

    fn words_left(&self) -> usize {
        self.text[self.read..].iter().map(|line| line.split_whitespace().count()).sum()
    }

    fn end(&mut self) -> Result<()> {
        if let Some(more) = self.text[self.read..].iter().position(|line| !line.trim().is_empty()) {
            self.read += more + 1;
            return Err(self
                .error("there is more in the file than a setfl file has")
                .hint("variants with further functions (adp, cdeam) are not read"));
        }
        Ok(())
    }
}

/// The numbers of a line, with exponents by E or D; `None` if there is something else.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let number = |word: &str| match word.parse::<f64>() {
        Ok(x) => x.is_finite().then_some(x),
        Err(_) => word.replace(['D', 'd'], "E").parse::<f64>().ok().filter(|x| x.is_finite()),
    };
    line.split_whitespace().map(number).collect()
}

/// Chemical symbols by atomic number, from 1.
#[rustfmt::skip]
const SYMBOLS: [&str; 96] = [
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar",
    "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br",
    "Kr", "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te",
    "I", "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm",
    "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn",
    "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm",
];
