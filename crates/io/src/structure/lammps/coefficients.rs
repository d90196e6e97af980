//! Coefficients of forces in a LAMMPS data file. Forces are those of the input; where the file says
//! something else about the same force, one of the two is wrong.

use super::bound::BondedList;
use super::{DataFile, bonded_styles, is_section, split_comment};
use crate::Input;
use crate::input::model::AtomsInput;
use jostle_core::{Error, Result, System};
use jostle_potentials::{
    AngleKind, BondKind, BondedKind, Forces, PairKind, PairTerm, Parameter, Potential, bonded::BondedTerm,
};

/// Numbers that differ by more than this are different: `write_data` writes six digits.
const ROUNDING: f64 = 1e-5;

/// Term that coefficients belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acting {
    Pair([usize; 2]),
    /// A type of a list, by its index in the topology.
    Bonded(BondedList, usize),
}

/// A row of coefficients in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct CoefficientRow {
    pub(crate) acting: Acting,
    /// The style of LAMMPS, where the file says it.
    pub(crate) style: Option<String>,
    pub(crate) numbers: Vec<f64>,
    section: String,
    pub(crate) line: usize,
}

impl<'a> DataFile<'a> {
    /// Reads a section as far as its rows are types with numbers, and goes to the next one.
    pub(super) fn coefficients(&mut self, section: &str, comment: Option<&str>) -> Option<&'a str> {
        loop {
            let line = self.lines.next_filled()?;
            if is_section(line) {
                return Some(line);
            }
            let row = self.coefficient_row(section, comment, line);
            self.coefficients.extend(row);
        }
    }

    fn coefficient_row(&self, section: &str, comment: Option<&str>, line: &str) -> Option<CoefficientRow> {
        let (body, _) = split_comment(line);
        let mut words = body.split_whitespace().peekable();
        let bound = |word: Option<&str>, list: BondedList| {
            let labels = &self.bound[list as usize].labels;
            let number = word?.parse().ok().filter(|n| (1..=labels.len()).contains(n)).map(|n: usize| n - 1);
            number.or_else(|| labels.iter().position(|label| label.as_deref() == word))
        };
        let acting = match section {
            "Pair Coeffs" => Acting::Pair([self.kind(words.next()).ok()?; 2]),
            "PairIJ Coeffs" => Acting::Pair([self.kind(words.next()).ok()?, self.kind(words.next()).ok()?]),
            _ => {
                let list = BondedList::ALL.into_iter().find(|list| list.coefficients() == section)?;
                let before = match list {
                    BondedList::Impropers => self.bound[BondedList::Dihedrals as usize].labels.len(),
                    BondedList::Bonds | BondedList::Angles | BondedList::Dihedrals => 0,
                };
                Acting::Bonded(list, before + bound(words.next(), list)?)
            }
        };
        let named = comment.and_then(|comment| comment.split_whitespace().next());
        // Rows of a hybrid style name their own.
        let own = words.next_if(|word| word.parse::<f64>().is_err());
        let style = own.or(named.filter(|style| !style.starts_with("hybrid"))).map(String::from);
        let numbers = words.map_while(|word| word.parse().ok()).collect();
        Some(CoefficientRow { acting, style, numbers, section: section.to_string(), line: self.lines.at() })
    }
}

/// Refuses coefficients of a file that contradict an input.
///
/// # Errors
/// If a force of the input is of the same form, with other parameters; the error has the line of the
/// file.
pub(in crate::structure) fn check(rows: &[CoefficientRow], input: &Input, system: &System) -> Result<()> {
    let AtomsInput::File { path, .. } = &input.system.atoms.value else { return Ok(()) };
    if rows.is_empty() {
        return Ok(());
    }
    let charge_density = system.total_charge() / system.simbox.volume();
    // An input whose forces lack something is refused elsewhere.
    let known = input.with_known_cutoffs(system.simbox.largest_cutoff());
    let Ok(forces) = known.resolve_forces(&system.species, &system.topology, charge_density) else {
        return Ok(());
    };
    for row in rows {
        if let Some((of_file, of_input, known)) = row.contradiction(&forces) {
            let listed = |values: &[f64]| {
                let one = |(p, x): (&Parameter, &f64)| format!("{} = {x}", p.name);
                known.iter().zip(values).map(one).collect::<Vec<_>>().join(", ")
            };
            let message = format!(
                "{} of {}: the file has {}, the input {}",
                row.section,
                row.subject(system),
                listed(&of_file),
                of_input.map_or("none".to_string(), |values| listed(&values))
            );
            return Err(Error::file_line(path, row.line, message).hint(
                "forces are those of the input: correct it, or take the section out of the file (LAMMPS' K of \
                 harmonic bonds and angles is half a stiffness)",
            ));
        }
    }
    Ok(())
}

/// Values of a file, values of an input for the same, and the parameters that these are.
type Contradiction = (Vec<f64>, Option<Vec<f64>>, &'static [Parameter]);

impl CoefficientRow {
    /// Parameters of the file and of the input, if they are those of the same force and differ.
    fn contradiction(&self, forces: &Forces) -> Option<Contradiction> {
        let style = self.style.as_deref();
        match self.acting {
            Acting::Pair([a, b]) => {
                let lennard_jones = ["lj/cut", "lj/charmm", "lj/long", "lj/smooth", "lj/gromacs"];
                let of_file = match (style, &self.numbers[..]) {
                    (Some(style), [e, s, ..]) if lennard_jones.iter().any(|lj| style.starts_with(lj)) => {
                        (PairKind::LennardJones, vec![*e, *s])
                    }
                    (None, [e, s] | [e, s, _]) => (PairKind::LennardJones, vec![*e, *s]),
                    (Some(style), [d, a, r, ..]) if style.starts_with("morse") => {
                        (PairKind::Morse, vec![*d, *a, *r])
                    }
                    _ => return None,
                };
                let of_kind = |term: &&PairTerm| term.potential == Potential::BuiltIn(of_file.0);
                let mut terms = forces.pairs.iter().filter(of_kind);
                let (Some(term), None) = (terms.next(), terms.next()) else { return None };
                let of_input = term.get(a, b).map(|entry| entry.parameters.clone());
                differing(of_file.1, of_input, of_file.0.parameters())
            }
            Acting::Bonded(list, k) => self.bonded_contradiction(list, k, forces),
        }
    }

    /// The same for a type of bonds, angles, dihedrals or impropers; coefficients of styles that are not known are
    /// not compared.
    fn bonded_contradiction(&self, list: BondedList, k: usize, forces: &Forces) -> Option<Contradiction> {
        let (style, numbers) = (self.style.as_deref(), &self.numbers[..]);
        match list {
            BondedList::Bonds => {
                let (kind, of_file) = match (style, numbers) {
                    (Some("harmonic"), [half, length, ..]) | (None, [half, length]) => {
                        (BondKind::HarmonicBond, vec![2.0 * half, *length])
                    }
                    (Some("fene"), [stiffness, longest, ..]) => (BondKind::Fene, vec![*stiffness, *longest]),
                    _ => return None,
                };
                bound(&forces.bonds, kind, k, of_file)
            }
            BondedList::Angles => {
                let of_file = match (style, numbers) {
                    (Some("harmonic"), [half, angle, ..]) | (None, [half, angle]) => vec![2.0 * half, *angle],
                    _ => return None,
                };
                bound(&forces.angles, AngleKind::HarmonicAngle, k, of_file)
            }
            BondedList::Dihedrals => match &bonded_styles::dihedral(style?, numbers).ok()?.terms[..] {
                [(kind, of_file)] => bound(&forces.dihedrals, *kind, k, of_file.clone()),
                _ => None,
            },
            BondedList::Impropers => {
                let (kind, of_file) = bonded_styles::improper(style?, numbers).ok()??;
                bound(&forces.dihedrals, kind, k, of_file)
            }
        }
    }

    fn subject(&self, system: &System) -> String {
        let name = |k: usize| system.species.get(k).map_or("?", |species| species.name.as_str());
        match self.acting {
            Acting::Pair([a, b]) => format!("{}-{}", name(a), name(b)),
            Acting::Bonded(list, k) => {
                let types = match list {
                    BondedList::Bonds => &system.topology.bond_types,
                    BondedList::Angles => &system.topology.angle_types,
                    BondedList::Dihedrals | BondedList::Impropers => &system.topology.dihedral_types,
                };
                format!("{} type {}", list.what(), types.get(k).map_or("?", String::as_str))
            }
        }
    }
}

/// Parameters of a type of bonds or angles, if the input has the same kind of them.
fn bound<K: BondedKind>(
    terms: &[BondedTerm<K>],
    kind: K,
    number: usize,
    of_file: Vec<f64>,
) -> Option<Contradiction> {
    let of_input = terms.iter().filter(|term| term.kind == kind).find_map(|term| term.parameters(number))?;
    differing(of_file, Some(of_input.to_vec()), kind.parameters())
}

fn differing(
    of_file: Vec<f64>,
    of_input: Option<Vec<f64>>,
    known: &'static [Parameter],
) -> Option<Contradiction> {
    let differs = match &of_input {
        // A force without strength is none.
        None => of_file[0] != 0.0,
        Some(of_input) => {
            let one = |(x, y): (&f64, &f64)| (x - y).abs() > ROUNDING * x.abs().max(y.abs());
            let without = of_file[0] == 0.0 && of_input[0] == 0.0;
            !without && of_file.iter().zip(of_input).any(one)
        }
    };
    differs.then_some((of_file, of_input, known))
}
