//! Frames from files of one format, in the file's own numbers.

mod binary;
mod recognize;
mod stream;
mod text;

pub(super) use binary::{Binary, ByteOrder, Width};
pub(super) use recognize::{Evidence, FileStart, PACKINGS};
pub(super) use stream::{ByteStream, FROM_DEFLATE, check_claim};
pub(super) use text::TextStream;

use super::frame::Snapshot;
use crate::structure::{Lines, around};
use jostle_core::{Components, Error, Names, Result, SimBox, UnitSystem, Vec3, Vector};

/// Units of a file's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FileUnits {
    /// Units that the file does not tell.
    Unknown,
    /// Units of a system.
    Of(UnitSystem),
    /// The format's own: this length and picoseconds.
    Fixed(&'static str),
    /// This length of the format's own, and the time of a LAMMPS run, whose unit the file does not tell.
    FixedLength(&'static str),
}

/// Species, names and bonds of the atoms of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AtomLabels {
    /// Names of the species.
    pub names: Vec<String>,
    /// Species of each atom.
    pub species: Vec<u16>,
    /// Names of atoms in their molecules, where the file has them.
    pub atoms: Names,
    /// Pairs of bound atoms, where the file has them.
    pub bonds: Vec<[u32; 2]>,
    /// Atoms with alternative places, in words.
    pub alternatives: Option<String>,
}

impl AtomLabels {
    /// Number of a species, which is added if it is new.
    pub fn species_number(&mut self, name: &str) -> Result<u16> {
        let known = self.names.iter().position(|n| n == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        });
        u16::try_from(number).map_err(|_| damaged("there are more than 65536 species"))
    }

    /// Name of the species of an atom with a name in a molecule: its element, if that is known.
    pub fn species_of<'a>(name: &'a str, element: &'a str) -> &'a str {
        let same = element.is_empty() || element.eq_ignore_ascii_case(name);
        if same { name } else { element }
    }

    /// Compares the name of an atom with that in frames before.
    ///
    /// # Errors
    /// If they differ.
    pub fn check_name(&self, here: &Lines, id: usize, name: &str) -> Result<()> {
        match self.atoms.atoms.get(id) {
            Some(before) if before.name != name => Err(here
                .error(format!("atom {} is {name} here, but {} in models before", id + 1, before.name))
                .hint("atoms must be in the same order in all models")),
            _ => Ok(()),
        }
    }
}

/// File in one format, as frames in the file's own numbers.
pub(super) trait FrameSource: Send {
    /// Next frame; `None` where the file ends after the last.
    fn next(&mut self) -> Result<Option<Snapshot>>;

    /// Units of the file's numbers; known at the latest after the first frame.
    fn units(&self) -> FileUnits;

    /// Labels of the atoms, where the file has them; known at the latest after the first frame.
    fn labels(&self) -> Option<&AtomLabels> {
        None
    }

    /// Notes for the user about contents of the file that are not read, or are taken for something that the
    /// file does not say; known after the first frame.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Looks for frames that were written since the file was opened; a stream just goes on.
    fn refresh(&mut self) -> Result<()> {
        Ok(())
    }

    /// Part of the frames that has been read, where that does not follow from bytes.
    fn part(&self) -> Option<f64> {
        None
    }
}

/// Failure in the contents of the file being read, whose name the caller adds.
pub(super) fn damaged(message: impl Into<String>) -> Error {
    Error::simulation(message)
}

/// Array with a capacity for `count` values.
///
/// # Errors
/// If there is not so much memory.
pub(super) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    match values.try_reserve_exact(count) {
        Ok(()) => Ok(values),
        Err(_) => {
            let bytes = count.saturating_mul(size_of::<T>());
            Err(damaged(format!("there is no memory for {count} values of it, which take {bytes} bytes")))
        }
    }
}

/// Failure of reading as such.
pub(super) fn unreadable(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("the file ends in the middle of it")
            .hint("the file is truncated: still being written, or a run or a copy was cut short"),
        _ => damaged(format!("it cannot be read: {error}")),
    }
}

/// Box with edges a, b, c, whose a must lie along x and whose b in the xy plane; an open one around the atoms
/// where all are zero.
pub(super) fn simbox_of(edges: [Vec3; 3], positions: &[Vec3]) -> Result<SimBox> {
    let [Vector([ax, ay, az]), Vector([bx, by, bz]), Vector([cx, cy, cz])] = edges;
    let largest = edges.as_flattened().iter().fold(0.0f64, |max, x| max.max(x.abs()));
    if largest == 0.0 {
        return around(positions);
    }
    if [ay, az, bz].iter().any(|x| x.abs() > 1e-6 * largest) {
        return Err(damaged("the edge a of its box is not along x, or b not in the xy plane"));
    }
    SimBox::new([0.0; 3], [ax, by, cz], [bx, cx, cy], [true; 3])
}
