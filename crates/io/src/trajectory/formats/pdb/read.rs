//! PDB, a frame for each model; atoms outside of models are one frame, too.

use crate::forcefield::coordinates::cell;
use crate::pdb::{Collector, PdbLine, is_comment};
use crate::structure::around;
use crate::trajectory::frame::Snapshot;
use crate::trajectory::source::{AtomLabels, ByteStream, FileUnits, FrameSource, TextStream, damaged};
use crate::trajectory::title::FrameTitle;
use jostle_core::{Result, SimBox};
use std::collections::HashMap;
use std::path::Path;

/// The largest number of an atom for which CONECT has columns.
const WIDEST: u32 = 99_999;
const NO_BONDS: &str =
    "atoms have numbers of more than five digits, for which CONECT has no columns: its bonds are not read";

pub(super) struct Source {
    text: TextStream,
    labels: AtomLabels,
    /// Ids by the numbers of atoms in CONECT, of the first model.
    serials: HashMap<u32, u32>,
    frames: u64,
    /// True where the line at hand is still to be read.
    ahead: bool,
    units: FileUnits,
    /// The latest there was: it holds for the models that follow.
    simbox: Option<SimBox>,
    /// True where an atom has a number for which CONECT has no columns.
    wide: bool,
    notes: Vec<String>,
}

impl Source {
    pub fn new(stream: ByteStream, path: &Path) -> Self {
        Source {
            text: TextStream::new(stream, path).with_comments(is_comment),
            labels: AtomLabels::default(),
            serials: HashMap::new(),
            frames: 0,
            ahead: false,
            units: FileUnits::Fixed("A"),
            simbox: None,
            wide: false,
            notes: Vec::new(),
        }
    }

    /// Takes the labels of an atom in the first frame, and compares them in later ones.
    fn label_atom(&mut self, line: PdbLine, id: usize, collector: &mut Collector) -> Result<()> {
        if self.frames == 0 {
            collector.add_line(line);
            if let Some(serial) = line.serial() {
                self.wide |= serial > WIDEST;
                // Numbers that begin anew mean the first atom that has them.
                self.serials.entry(serial).or_insert(id as u32);
            }
            let species = self.labels.species_number(AtomLabels::species_of(line.name(), line.element()))?;
            self.labels.species.push(species);
            return Ok(());
        }
        self.labels.check_name(&self.text.here(), id, line.name())
    }

    /// Advances to the next line; returns false at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.ahead) { Ok(true) } else { self.text.advance() }
    }

    /// Reads to the end of the bonds behind the first model.
    fn pass_bonds(&mut self) -> Result<()> {
        while self.advance()? {
            let text = self.text.line().to_string();
            match PdbLine(&text).record() {
                "CONECT" => self.bind(PdbLine(&text)),
                "MASTER" | "END" | "" => {}
                _ => {
                    self.ahead = true;
                    break;
                }
            }
        }
        self.labels.bonds.sort_unstable();
        self.labels.bonds.dedup();
        Ok(())
    }

    fn bind(&mut self, line: PdbLine) {
        if self.wide {
            if !self.notes.iter().any(|note| note == NO_BONDS) {
                self.notes.push(NO_BONDS.to_string());
            }
            return;
        }
        let id = |serial| self.serials.get(&serial).copied();
        let pairs = line.bound().filter_map(|[a, b]| Some([id(a)?.min(id(b)?), id(a)?.max(id(b)?)]));
        self.labels.bonds.extend(pairs.filter(|[a, b]| a != b));
    }
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        let (mut positions, mut collector, mut in_model) = (Vec::new(), Collector::default(), false);
        let (mut time, mut step) = (None, None);
        loop {
            if !self.advance()? {
                if in_model {
                    return Err(damaged("the file ends before ENDMDL").hint(
                        "the file is truncated: still being written, or a run or a copy was cut short",
                    ));
                }
                break;
            }
            let text = self.text.line().to_string();
            let line = PdbLine(&text);
            match line.record() {
                "MODEL" => in_model = true,
                "TITLE" => {
                    let title = FrameTitle::read(&text);
                    (time, step) = (title.time.or(time), title.step.or(step));
                    self.units = title.reduced.map_or(self.units, FileUnits::Of);
                }
                "CRYST1" => {
                    let here = self.text.here();
                    let found = line.cell(&here)?.map(|(lengths, angles)| cell(lengths, angles));
                    self.simbox = found.transpose().map_err(|e| here.error(e.message()))?;
                }
                "CONECT" if self.frames == 0 => self.bind(line),
                "ENDMDL" | "END" if in_model || !positions.is_empty() => break,
                _ if line.is_atom() => {
                    self.label_atom(line, positions.len(), &mut collector)?;
                    positions.push(line.position(&self.text.here())?);
                }
                _ => {}
            }
        }
        if positions.is_empty() {
            return match in_model {
                true => Err(damaged("a model has no ATOM")),
                false => Ok(None),
            };
        }
        if self.frames == 0 {
            self.notes.extend(collector.not_kept());
            self.labels.alternatives = collector.alternatives();
            self.labels.atoms = collector.into_names();
            self.pass_bonds()?;
        }
        let simbox = self.simbox.map_or_else(|| around(&positions), Ok)?;
        let step = step.unwrap_or(self.frames);
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
