//! Atoms chosen by words, much as in VMD: `protein and name CA`, `water within 5 of resid 1 to 10`.
//!
//! The words are those of [`keywords`]; the parser, its messages and `jostle help select` follow
//! from it. A [`Selection`] is read once and may be asked of any [`System`].

mod evaluate;
pub mod keywords;
mod parse;
mod scan;

use jostle_core::quantity::nearest;
use jostle_core::{Error, System, UnitSystem};
use parse::Expression;
use std::ops::Range;
use std::path::Path;

/// Choice of atoms by their names and positions.
///
/// ```
/// use jostle_core::{SimBox, Species, System, UnitSystem};
/// use jostle_io::Selection;
/// let species = |name: &str| Species { name: name.into(), mass: 1.0, charge: 0.0 };
/// let mut system = System::new(SimBox::orthorhombic([10.0; 3])?, vec![species("A"), species("B")]);
/// (0..6).for_each(|k| system.state.push(k % 2, [f64::from(k); 3]));
/// let near = Selection::parse("species B and not within 1.5 of x > 4").unwrap();
/// let ids = near.ids(&system, UnitSystem::Lj).unwrap();
/// assert_eq!(ids, [1, 3]);
/// # Ok::<(), jostle_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    text: String,
    expression: Expression,
}

/// Fault of a selection, and its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Description of the fault.
    pub message: String,
    /// Advice that would mend the fault.
    pub hint: String,
    /// The bytes at fault.
    pub span: Range<usize>,
}

impl Fault {
    fn new(span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault { message: message.into(), hint: hint.into(), span }
    }

    /// Error that points into the text of the selection by itself.
    pub fn alone(self, text: &str) -> Error {
        Error::input(self.message).hint(self.hint).at_span(Path::new("selection"), &text.into(), self.span)
    }
}

/// Message with the name that may have been meant, if one is similar.
fn meant<'a>(word: &str, candidates: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    nearest(word, candidates).map_or(otherwise.to_string(), |near| format!("did you mean \"{near}\"?"))
}

impl Selection {
    /// Reads the text of a selection.
    ///
    /// # Errors
    /// If a word is unknown, or the text is not made as [`keywords`] says.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Ok(Selection { text: text.to_string(), expression: parse::parse(text)? })
    }

    /// Text of the selection.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Choice of atoms by id in a system as it is now; lengths and masses are in these units.
    ///
    /// # Errors
    /// If the selection names a species that is not there, or residues where the system has none.
    pub fn mask(&self, system: &System, units: UnitSystem) -> Result<Vec<bool>, Fault> {
        evaluate::evaluate(&self.expression, system, units)
    }

    /// The ids of the chosen atoms, in ascending order.
    ///
    /// # Errors
    /// Errors of [`Selection::mask`].
    pub fn ids(&self, system: &System, units: UnitSystem) -> Result<Vec<u32>, Fault> {
        let mask = self.mask(system, units)?;
        Ok((0..).zip(mask).filter_map(|(id, chosen)| chosen.then_some(id)).collect())
    }

    /// Ids of the chosen atoms, of which there must be at least one.
    ///
    /// # Errors
    /// Errors of [`Selection::mask`], and if there is none: with the name that no atom has, if that is the
    /// reason.
    pub fn some_ids(&self, system: &System, units: UnitSystem) -> Result<Vec<u32>, Fault> {
        let ids = self.ids(system, units)?;
        if ids.is_empty() {
            let hint = evaluate::unknown_value(&self.expression, system, units)
                .unwrap_or("jostle select FILE.toml \"...\" shows what a selection has".into());
            return Err(Fault::new(0..self.text.len(), "no atom is selected", hint));
        }
        Ok(ids)
    }
}
