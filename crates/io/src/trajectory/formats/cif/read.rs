//! mmCIF: a frame for each data block, and for each model of one. Only what is said of the cell and in
//! the loop over `_atom_site` is looked at.

use crate::forcefield::coordinates::cell;
use crate::lines::LONGEST_LINE;
use crate::pdb::Collector;
use crate::structure::around;
use crate::trajectory::frame::Snapshot;
use crate::trajectory::source::{AtomLabels, ByteStream, FileUnits, FrameSource, TextStream, damaged};
use crate::trajectory::units::are_written_as_they_are;
use jostle_core::{Error, Names, Residue, Result, SimBox, UnitSystem, Vec3, Vector};
use std::collections::VecDeque;
use std::path::Path;

/// Advice where a file ends too soon.
const TRUNCATED: &str = "the file is truncated: still being written, or a run or a copy was cut short";
/// Items of a loop, at most; that over atoms has some twenty.
const MOST_ITEMS: usize = 10_000;

/// A word of the file.
#[derive(Debug, Clone, PartialEq)]
enum CifToken {
    /// `data_...`
    Block,
    /// `loop_`
    Loop,
    /// `_category.item`, in small letters.
    Item(String),
    /// Value; empty where the file has a point or a question mark.
    Value(String),
}

impl CifToken {
    fn bare(text: &str) -> CifToken {
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "loop_" => CifToken::Loop,
            "." | "?" => CifToken::Value(String::new()),
            _ if lower.starts_with("data_") => CifToken::Block,
            _ if lower.starts_with('_') => CifToken::Item(lower),
            _ => CifToken::Value(text.to_string()),
        }
    }
}

/// The words of a line. A quote ends where blank space follows it.
fn words(line: &str) -> VecDeque<CifToken> {
    let mut found = VecDeque::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next().filter(|c| *c != '#') {
        let blank = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
        let closing = |quote: char| {
            let behind = |at: &usize| rest[at + 1..].chars().next().is_none_or(char::is_whitespace);
            rest[1..].match_indices(quote).map(|(at, _)| at + 1).find(behind)
        };
        let quoted = Some(first).filter(|c| matches!(c, '\'' | '"')).and_then(closing);
        let end = match quoted {
            Some(end) => {
                found.push_back(CifToken::Value(rest[1..end].to_string()));
                end + 1
            }
            None => {
                let end = blank(rest);
                found.push_back(CifToken::bare(&rest[..end]));
                end
            }
        };
        rest = rest[end..].trim_start();
    }
    found
}

/// Columns of `_atom_site`.
#[derive(Debug, Clone, Default)]
struct AtomSiteColumns {
    count: usize,
    position: [usize; 3],
    name: Option<usize>,
    element: Option<usize>,
    residue: Option<usize>,
    chain: Option<usize>,
    number: Option<usize>,
    insertion: Option<usize>,
    model: Option<usize>,
    alternative: Option<usize>,
    occupancy: Option<usize>,
    b_factor: Option<usize>,
}

impl AtomSiteColumns {
    /// # Errors
    /// If there are no positions.
    fn of(items: &[String]) -> std::result::Result<AtomSiteColumns, String> {
        let at = |name: &str| items.iter().position(|item| item.strip_prefix("_atom_site.") == Some(name));
        let either = |first: &str, second: &str| at(first).or_else(|| at(second));
        let place =
            |name: &str| at(name).ok_or_else(|| format!("the loop over atoms has no _atom_site.{name}"));
        Ok(AtomSiteColumns {
            count: items.len(),
            position: [place("cartn_x")?, place("cartn_y")?, place("cartn_z")?],
            name: either("auth_atom_id", "label_atom_id"),
            element: at("type_symbol"),
            residue: either("auth_comp_id", "label_comp_id"),
            chain: either("auth_asym_id", "label_asym_id"),
            number: either("auth_seq_id", "label_seq_id"),
            insertion: at("pdbx_pdb_ins_code"),
            model: at("pdbx_pdb_model_num"),
            alternative: at("label_alt_id"),
            occupancy: at("occupancy"),
            b_factor: at("b_iso_or_equiv"),
        })
    }
}

/// A row of `_atom_site`.
#[derive(Debug, Clone)]
struct AtomSiteRow(Vec<String>);

impl AtomSiteRow {
    /// Value in a column; empty where the file has none.
    fn at(&self, column: Option<usize>) -> &str {
        column.map_or("", |k| self.0[k].as_str())
    }
}

/// Times and the box of the block under way.
#[derive(Debug, Clone, Default)]
struct Said {
    lengths: [Option<f64>; 3],
    angles: [Option<f64>; 3],
    step: Option<u64>,
    time: Option<f64>,
}

impl Said {
    fn cell(&self) -> Result<Option<SimBox>> {
        let all = |of: [Option<f64>; 3]| match of {
            [Some(a), Some(b), Some(c)] => Some([a, b, c]),
            _ => None,
        };
        // A cube of one angstrom stands for no crystal.
        let lengths = all(self.lengths).filter(|lengths| *lengths != [1.0; 3]);
        lengths
            .map(|lengths| cell(*Vector(lengths), *Vector(all(self.angles).unwrap_or([90.0; 3]))))
            .transpose()
    }
}

pub(super) struct Source {
    text: TextStream,
    /// Rest of the line.
    words: VecDeque<CifToken>,
    said: Said,
    /// Columns of the loop under way, if it is that over atoms.
    columns: Option<AtomSiteColumns>,
    /// An atom of the next model.
    waiting: Option<AtomSiteRow>,
    labels: AtomLabels,
    frames: u64,
    units: FileUnits,
    notes: Vec<String>,
}

impl Source {
    pub fn new(stream: ByteStream, path: &Path) -> Self {
        Source {
            text: TextStream::new(stream, path),
            words: VecDeque::new(),
            said: Said::default(),
            columns: None,
            waiting: None,
            labels: AtomLabels::default(),
            frames: 0,
            units: FileUnits::Fixed("A"),
            notes: Vec::new(),
        }
    }

    /// The next word, left where it is.
    fn peek(&mut self) -> Result<Option<&CifToken>> {
        while self.words.is_empty() {
            if !self.text.advance()? {
                return Ok(None);
            }
            if self.text.raw().starts_with(';') {
                let text = self.field()?;
                self.words.push_back(CifToken::Value(text));
            } else {
                self.words = words(self.text.line());
            }
        }
        Ok(self.words.front())
    }

    fn next_word(&mut self) -> Result<Option<CifToken>> {
        self.peek()?;
        Ok(self.words.pop_front())
    }

    /// A text of several lines, from a semicolon to the next that begins a line.
    fn field(&mut self) -> Result<String> {
        let mut text = self.text.raw()[1..].to_string();
        loop {
            self.text.must_advance("the semicolon that ends a text")?;
            if let Some(rest) = self.text.raw().strip_prefix(';') {
                self.words = words(rest);
                return Ok(text.trim().to_string());
            }
            text += self.text.raw();
            if text.len() as u64 > LONGEST_LINE {
                let message = format!("a text in semicolons has more than {} MiB", LONGEST_LINE >> 20);
                return Err(self.text.here().error(message).hint("does it have an end?"));
            }
        }
    }

    /// Reads the value of a single item.
    fn item(&mut self, name: &str) -> Result<()> {
        let Some(CifToken::Value(value)) = self.peek()?.cloned() else {
            return Err(self.text.here().error(format!("{name} has no value")));
        };
        self.words.pop_front();
        let here = self.text.here();
        if let Some(what) = name.strip_prefix("_cell.") {
            let axes = ["length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma"];
            if let Some(axis) = axes.iter().position(|a| *a == what)
                && !value.is_empty()
            {
                // Digits in brackets are the error.
                let number = here.number(value.split('(').next(), name)?;
                let of = if axis < 3 { &mut self.said.lengths } else { &mut self.said.angles };
                of[axis % 3] = Some(number);
            }
        }
        match name {
            "_jostle.step" => self.said.step = Some(here.parse(Some(&value), "the step")?),
            "_jostle.time" => self.said.time = Some(here.number(Some(&value), "the time")?),
            // Reduced numbers are written as they are.
            "_jostle.units" => {
                let known =
                    UnitSystem::ALL.into_iter().find(|u| u.name() == value && are_written_as_they_are(*u));
                self.units = known.map_or(self.units, FileUnits::Of);
            }
            _ => {}
        }
        Ok(())
    }

    /// The items of a loop; whether it is that over atoms.
    fn begin_loop(&mut self) -> Result<()> {
        let mut items = Vec::new();
        while let Some(CifToken::Item(item)) = self.peek()? {
            items.push(item.clone());
            self.words.pop_front();
            if items.len() > MOST_ITEMS {
                return Err(self.text.here().error(format!("a loop has more than {MOST_ITEMS} items")));
            }
        }
        let of_atoms = items.first().is_some_and(|item| item.starts_with("_atom_site."));
        let small = items.iter().any(|item| item.starts_with("_atom_site_fract"));
        let here = self.text.here();
        if small {
            return Err(here.error("this is a CIF of a small molecule or a crystal, no mmCIF"));
        }
        self.columns =
            of_atoms.then(|| AtomSiteColumns::of(&items).map_err(|e| here.error(e))).transpose()?;
        Ok(())
    }

    /// The next row of the loop over atoms; `None` where it is over.
    fn row(&mut self, columns: &AtomSiteColumns) -> Result<Option<AtomSiteRow>> {
        if self.waiting.is_some() {
            return Ok(self.waiting.take());
        }
        let mut row = Vec::with_capacity(columns.count);
        while row.len() < columns.count {
            match self.peek()? {
                Some(CifToken::Value(_)) => {}
                _ if row.is_empty() => return Ok(None),
                _ => return Err(self.cut(row.len(), columns.count)),
            }
            if let Some(CifToken::Value(value)) = self.next_word()? {
                row.push(value);
            }
        }
        Ok(Some(AtomSiteRow(row)))
    }

    fn cut(&self, found: usize, count: usize) -> Error {
        self.text.here().error(format!("a row of atoms ends after {found} of {count} values")).hint(TRUNCATED)
    }

    /// Refuses a frame at the end of the file that has a part of the atoms of those before it.
    fn refuse_part(&self, found: usize) -> Result<()> {
        let count = self.labels.species.len();
        if self.frames == 0 || found == 0 || found >= count {
            return Ok(());
        }
        let message = format!("the file ends after {found} of the {count} atoms of a frame");
        Err(self.text.here().error(message).hint(TRUNCATED))
    }

    /// Position of an atom; its labels are taken in the first frame and compared in later ones.
    fn read_atom(
        &mut self,
        row: &AtomSiteRow,
        columns: &AtomSiteColumns,
        id: usize,
        collector: &mut Collector,
    ) -> Result<Vec3> {
        let [name, residue, chain, number, insertion, element] = [
            columns.name,
            columns.residue,
            columns.chain,
            columns.number,
            columns.insertion,
            columns.element,
        ]
        .map(|column| row.at(column));
        if self.frames == 0 {
            let species = AtomLabels::species_of(name, element);
            collector.add_place(row.at(columns.alternative));
            collector.add_scattering(row.at(columns.occupancy), row.at(columns.b_factor));
            collector.add([residue, chain, number, insertion], (name, element), || Residue {
                name: residue.to_string(),
                number: number.parse().unwrap_or(0),
                insertion: insertion.to_string(),
                chain: chain.to_string(),
            });
            let species = self.labels.species_number(species)?;
            self.labels.species.push(species);
        } else {
            self.labels.check_name(&self.text.here(), id, name)?;
        }
        let [x, y, z] = columns.position.map(|column| row.at(Some(column)));
        self.text.here().vector(&mut [x, y, z].into_iter(), ["x", "y", "z"])
    }
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        let (mut positions, mut collector, mut model) = (Vec::new(), Collector::default(), None);
        // Items of a block may come after its atoms.
        loop {
            if let Some(columns) = self.columns.take() {
                let Some(row) = self.row(&columns)? else { continue };
                let of = row.at(columns.model).to_string();
                if model.as_ref().is_some_and(|model| *model != of) {
                    (self.waiting, self.columns) = (Some(row), Some(columns));
                    break;
                }
                model = Some(of);
                positions.push(self.read_atom(&row, &columns, positions.len(), &mut collector)?);
                self.columns = Some(columns);
                continue;
            }
            match self.peek()?.cloned() {
                None => {
                    self.refuse_part(positions.len())?;
                    break;
                }
                Some(CifToken::Block) if !positions.is_empty() => break,
                Some(word) => {
                    self.words.pop_front();
                    match word {
                        CifToken::Block => self.said = Said::default(),
                        CifToken::Loop => self.begin_loop()?,
                        CifToken::Item(name) => self.item(&name)?,
                        CifToken::Value(_) => {}
                    }
                }
            }
        }
        if positions.is_empty() {
            return match self.frames {
                0 => Err(damaged("there is no loop over _atom_site").hint("is it an mmCIF file?")),
                _ => Ok(None),
            };
        }
        if self.frames == 0 {
            self.notes = collector.not_kept();
            self.labels.alternatives = collector.alternatives();
            self.labels.atoms = collector.into_names();
        }
        let simbox = self.said.cell()?.map_or_else(|| around(&positions), Ok)?;
        let (step, time) = (self.said.step.unwrap_or(self.frames), self.said.time);
        self.frames += 1;
        Ok(Some(Snapshot { step, time, simbox, positions, images: None, velocities: None }))
    }

    fn units(&self) -> FileUnits {
        self.units
    }

    fn labels(&self) -> Option<&AtomLabels> {
        Some(&self.labels)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// First frame of an mmCIF file, in its angstrom, names of the atoms, and which of them have alternative
/// places.
///
/// # Errors
/// If it has none, or is damaged.
pub(crate) fn first_of_mmcif(path: &Path, text: &str) -> Result<(Snapshot, Names, Option<String>)> {
    let mut source = Source::new(ByteStream::of_text(text), path);
    let frame = source.next().map_err(|e| e.blame_file(path))?;
    let frame = frame.ok_or_else(|| Error::file(path, "there are no atoms"))?;
    let labels = source.labels().cloned().unwrap_or_default();
    Ok((frame, labels.atoms, labels.alternatives))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        let value = |text: &str| CifToken::Value(text.to_string());
        let found = words("loop_ _Cell.A 'it's' \"O5'\" O5' data_x . # rest");
        let item = CifToken::Item("_cell.a".into());
        let expected =
            [CifToken::Loop, item, value("it's"), value("O5'"), value("O5'"), CifToken::Block, value("")];
        assert_eq!(found, expected);
        assert_eq!(words("'open end"), [value("'open"), value("end")]);
        assert_eq!(words("'?'"), [value("?")]);
        assert!(words("  # nothing").is_empty());
    }
}
