//! Lines of LAMMPS input scripts that say which forces there are: styles, coefficients, mixing, special pairs
//! (<https://docs.lammps.org/Commands_all.html>). Other commands are about what is done with the forces, which is
//! said by the input ([`harmless`]); those that would change atoms or forces, or are not known, are refused.

mod harmless;

use crate::structure::Lines;
use crate::structure::lammps::BondedList;
use jostle_core::{Error, Result, UnitSystem};
use jostle_potentials::Mixing;
use std::path::{Path, PathBuf};

/// Commands that change atoms or forces and are not carried out.
const REFUSED: &[(&str, &str)] = &[
    ("change_box", "write the data file after it"),
    ("clear", "give files without it, in their order"),
    ("create_atoms", "write the data file after it"),
    ("create_bonds", "write the data file after it"),
    ("delete_atoms", "write the data file after it"),
    ("delete_bonds", "write the data file after it"),
    ("displace_atoms", "write the data file after it"),
    ("mass", "masses are those of the data file"),
    ("read_dump", "name a file with the positions by coordinates = \"...\" in [system]"),
    ("read_restart", "write a data file, and name it by topology = \"...\" in [system]"),
    ("set", "write the data file after it"),
    ("labelmap", "labels are those of the data file"),
    ("replicate", "write replicate = [...] in [system]"),
    ("include", "name the file in parameters, too"),
    ("jump", "give a file without it"),
    ("if", "give a file without it"),
    ("kim", "write the styles and coefficients out"),
];

/// Commands about forces, which are read.
const READ: &[&str] = &[
    "units",
    "pair_style",
    "pair_coeff",
    "pair_modify",
    "special_bonds",
    "bond_style",
    "bond_coeff",
    "angle_style",
    "angle_coeff",
    "dihedral_style",
    "dihedral_coeff",
    "improper_style",
    "improper_coeff",
    "fix",
];

/// Place of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub path: PathBuf,
    pub line: usize,
}

impl Place {
    /// An error at the line.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::file_line(&self.path, self.line, message)
    }
}

/// Subject of a coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Pair,
    Bonded(BondedList),
}

/// A line with coefficients: types, then numbers, with the name of a style between them in hybrid styles.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CoefficientLine {
    pub subject: Subject,
    pub words: Vec<String>,
    pub place: Place,
}

/// Factors of special pairs, one, two and three bonds apart: of the Lennard-Jones force and of Coulomb's.
pub(super) type SpecialPairs = [[f64; 2]; 3];

/// Statements of scripts about forces.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub units: Option<UnitSystem>,
    /// Words of the pair style.
    pub pair_style: Option<(Vec<String>, Place)>,
    /// Styles of bonds, angles, dihedrals and impropers.
    pub styles: [Option<String>; 4],
    pub mixing: Option<Mixing>,
    pub special: Option<SpecialPairs>,
    pub coefficients: Vec<CoefficientLine>,
}

impl Script {
    /// Reads a file behind those read before.
    ///
    /// # Errors
    /// If a line makes no sense, or has a command that would change atoms or forces; the error has the line.
    pub fn read(&mut self, path: &Path, text: &str) -> Result<()> {
        let mut lines = Lines::new(path, text);
        while let Some(first) = lines.next() {
            let place = Place { path: path.to_path_buf(), line: lines.at() };
            let mut command = without_comment(first).to_string();
            while let Some(front) = command.strip_suffix('&') {
                command = format!("{front} {}", without_comment(lines.next().unwrap_or("")));
            }
            let words: Vec<&str> = command.split_whitespace().collect();
            if let [name, rest @ ..] = &words[..] {
                self.command(name, rest, place)?;
            }
        }
        Ok(())
    }

    fn command(&mut self, name: &str, words: &[&str], place: Place) -> Result<()> {
        if let Some((_, hint)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(place.error(format!("the command {name} is not carried out here")).hint(*hint));
        }
        let first = || words.first().copied().ok_or_else(|| place.error(format!("{name} says nothing")));
        let list = |ending: &str| {
            let what = name.strip_suffix(ending)?;
            BondedList::ALL.into_iter().find(|list| list.what() == what)
        };
        if let Some(list) = list("_style") {
            self.styles[list as usize] = Some(first()?.to_string());
            return Ok(());
        }
        let subject = match name {
            "pair_coeff" => Some(Subject::Pair),
            _ => list("_coeff").map(Subject::Bonded),
        };
        if let Some(subject) = subject {
            let words = words.iter().map(|word| word.to_string()).collect();
            self.coefficients.push(CoefficientLine { subject, words, place });
            return Ok(());
        }
        match name {
            "units" => self.units = Some(units(first()?, &place)?),
            "pair_style" => {
                first()?;
                self.pair_style = Some((words.iter().map(|word| word.to_string()).collect(), place));
            }
            "special_bonds" => self.special = Some(special_bonds(words, &place)?),
            "pair_modify" => self.pair_modify(words, &place)?,
            "dielectric" if first()?.parse() != Ok(1.0) => {
                return Err(place.error("a dielectric constant other than 1 is not computed"));
            }
            "boundary" if words != ["p", "p", "p"] => {
                return Err(place
                    .error(format!("boundary {} is not taken from a script", words.join(" ")))
                    .hint("write periodic = [...] in [system], and leave this line out"));
            }
            "neigh_modify" if words.windows(2).any(|pair| pair[0] == "exclude" && pair[1] != "none") => {
                return Err(place
                    .error("neigh_modify exclude: pairs without a force are not taken from a script")
                    .hint(
                        "leave this line out; atoms of a body ([[rigid]]) and frozen atoms have none either",
                    ));
            }
            "kspace_modify" if words.iter().any(|word| ["slab", "wire"].contains(word)) => {
                return Err(place.error("kspace_modify slab and wire are not computed"));
            }
            "read_data" if words.iter().any(|word| ["add", "shift", "offset"].contains(word)) => {
                let hint = "write the data file after it";
                return Err(place.error("data files are not joined or moved here").hint(hint));
            }
            "dimension" if first()? != "3" => {
                return Err(place.error(format!("{} dimensions are not computed", first()?)));
            }
            "fix" => harmless::check_fix(words.get(2).copied().unwrap_or_default(), &place)?,
            _ => harmless::check_command(name, &place)?,
        }
        Ok(())
    }

    fn pair_modify(&mut self, words: &[&str], place: &Place) -> Result<()> {
        if let Some(word) = words.iter().find(|word| ["pair", "special"].contains(word)) {
            return Err(place.error(format!("pair_modify {word} is not computed")));
        }
        for (word, hint) in [
            ("shift", "write truncation = \"shifted\" in [[force]], and leave it out"),
            ("tail", "write tail_correction = true in [[force]], and leave it out"),
            ("compute", "leave it out: all forces act"),
        ] {
            let unlike_here = if word == "compute" { "no" } else { "yes" };
            if words.windows(2).any(|pair| pair == [word, unlike_here]) {
                let message = format!("pair_modify {word} {unlike_here} is not taken from a script");
                return Err(place.error(message).hint(hint));
            }
        }
        // The other keywords are about tables and sums, which the input says.
        let Some(at) = words.iter().position(|word| *word == "mix") else { return Ok(()) };
        self.mixing = Some(match words.get(at + 1) {
            Some(&"geometric") => Mixing::Geometric,
            Some(&"arithmetic") => Mixing::LorentzBerthelot,
            Some(&"sixthpower") => Mixing::SixthPower,
            other => {
                let other = other.unwrap_or(&"nothing");
                return Err(place
                    .error(format!("pair_modify mix {other} is no rule"))
                    .hint("there are geometric, arithmetic and sixthpower"));
            }
        });
        Ok(())
    }
}

/// Returns true for a word that may be the name of a style: it begins with a letter, as no number, variable or text in
/// quotes does.
pub(super) fn names_style(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or("").trim()
}

/// Units of LAMMPS that are ours, too.
fn units(word: &str, place: &Place) -> Result<UnitSystem> {
    match word {
        "real" => Ok(UnitSystem::Real),
        "metal" => Ok(UnitSystem::Metal),
        _ => {
            Err(place.error(format!("molecules in LAMMPS' units {word} are not read from a topology")).hint(
                "units real and metal are; in reduced units write file = \"...\" and the forces in the input",
            ))
        }
    }
}

/// Factors of special pairs.
fn special_bonds(words: &[&str], place: &Place) -> Result<SpecialPairs> {
    const AMBER: f64 = 1.0 / 1.2;
    let mut factors: SpecialPairs = [[0.0; 2]; 3];
    let mut rest = words;
    while let [keyword, after @ ..] = rest {
        let mut three = |columns: &[usize]| -> Result<usize> {
            for (row, factors) in factors.iter_mut().enumerate() {
                let word = after.get(row).copied();
                let factor =
                    word.and_then(|word| word.parse::<f64>().ok()).filter(|f| (0.0..=1.0).contains(f));
                let factor = factor.ok_or_else(|| {
                    place.error(format!("special_bonds {keyword} takes three factors from 0 to 1"))
                })?;
                columns.iter().for_each(|column| factors[*column] = factor);
            }
            Ok(3)
        };
        let taken = match *keyword {
            "amber" => {
                factors = [[0.0; 2], [0.0; 2], [0.5, AMBER]];
                0
            }
            "charmm" => {
                factors = [[0.0; 2]; 3];
                0
            }
            "dreiding" => {
                factors = [[0.0; 2], [0.0; 2], [1.0; 2]];
                0
            }
            "lj/coul" => three(&[0, 1])?,
            "lj" => three(&[0])?,
            "coul" => three(&[1])?,
            "extra" | "one/five" => 1,
            "angle" | "dihedral" if after.first() == Some(&"no") => 1,
            _ => {
                let said = words.join(" ");
                return Err(place
                    .error(format!("special_bonds {said}: \"{keyword}\" is not computed"))
                    .hint("special_bonds lj/coul 0 0 0.5, or lj ... coul ..., charmm, amber, dreiding"));
            }
        };
        rest = after.get(taken..).unwrap_or_default();
    }
    Ok(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Script> {
        let mut script = Script::default();
        script.read("in.file".as_ref(), text)?;
        Ok(script)
    }

    #[test]
    fn lines_about_forces_are_read() {
        let text = "units real # kcal\nrun 100\nneigh_modify every 1 exclude none\nfix 1 all nvt/gpu temp 300 300 100\n\
                    fix 2 all ave/time 1 1 10 c_1\ntimestep 2\nbond_style harmonic\nspecial_bonds lj 0 0 0.5 &\n coul 0 0 0.75\n\
                    pair_modify shift no mix arithmetic\nimproper_coeff 1*2 20 0\n";
        let script = read(text).unwrap();
        assert_eq!(script.units, Some(UnitSystem::Real));
        assert_eq!(script.styles[0].as_deref(), Some("harmonic"));
        assert_eq!(script.special, Some([[0.0; 2], [0.0; 2], [0.5, 0.75]]));
        assert_eq!(script.mixing, Some(Mixing::LorentzBerthelot));
        let [line] = &script.coefficients[..] else { panic!("{:?}", script.coefficients) };
        assert_eq!((line.subject, line.place.line), (Subject::Bonded(BondedList::Impropers), 11));
        assert_eq!(line.words, ["1*2", "20", "0"]);
        let amber = read("special_bonds amber").unwrap().special.unwrap();
        assert!((amber[2][1] - 0.833_333_333_3).abs() < 1e-9 && amber[2][0] == 0.5);
    }

    #[test]
    fn commands_that_change_atoms_or_forces_are_refused_at_their_line() {
        for (text, why) in [
            ("\nset type 1 charge 0.5", "command set"),
            ("\ninclude more.in", "command include"),
            ("\ndielectric 2", "dielectric"),
            ("\nboundary p p f", "boundary p p f"),
            ("\nunits si", "units si"),
            ("\nfix 1 all cmap c.cmap", "fix cmap"),
            ("\nspecial_bonds lj 0 0", "three factors"),
            ("\nspecial_bonds angle yes", "\"angle\" is not computed"),
            ("\npair_modify mix odd", "mix odd"),
            ("\nbond_style", "says nothing"),
            ("\nneigh_modify exclude molecule/intra all", "neigh_modify exclude"),
            ("\nchange_box all x scale 1.1", "command change_box"),
            ("\nread_dump d.lammpstrj 0 x y z", "command read_dump"),
            ("\npair_modify shift yes", "pair_modify shift yes"),
            ("\npair_modify mix arithmetic tail yes", "pair_modify tail yes"),
            ("\nkspace_modify slab 3.0", "slab"),
            ("\nread_data b.data add append", "not joined"),
            ("\ndimension 2", "2 dimensions"),
            ("\nfix 1 all efield 0 0 0.1", "fix efield"),
            ("\nfix 1 all wall/lj93/kk zlo 0 1 1 2.5", "fix wall/lj93"),
            ("\nfix 1 all shake 1e-4 20 0 b 1", "fix shake"),
            ("\nfix 1 all rigid/nvt molecule", "fix rigid/nvt"),
            ("\nfix 1 all qeq/point 1 10 1e-6 100 p.qeq", "fix qeq/point"),
            ("\npair_coef 1 1 0.1 3", "no command pair_coef"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message().contains(why), "{text}: {error}");
            assert_eq!(error.place().unwrap().line, Some(2), "{text}");
        }
    }
}
