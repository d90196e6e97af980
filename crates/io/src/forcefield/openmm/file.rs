//! Elements and attributes of OpenMM's files, with lines in errors.

use jostle_core::{Error, Result};
use roxmltree::{Document, Node};
use std::path::Path;
use std::str::FromStr;

/// The file, for places in errors.
#[derive(Clone, Copy)]
pub(super) struct ForceFieldFile<'a, 'i> {
    pub path: &'a Path,
    pub document: &'a Document<'i>,
}

impl ForceFieldFile<'_, '_> {
    pub(super) fn line(&self, node: Node) -> usize {
        self.document.text_pos_at(node.range().start).row as usize
    }

    pub(super) fn error(&self, node: Node, message: impl Into<String>) -> Error {
        Error::file_line(self.path, self.line(node), message)
    }

    /// An attribute.
    pub(super) fn get<T: FromStr>(&self, node: Node, name: &str) -> Result<T> {
        let tag = node.tag_name().name();
        let text =
            node.attribute(name).ok_or_else(|| self.error(node, format!("this {tag} has no \"{name}\"")))?;
        text.parse().map_err(|_| self.error(node, format!("\"{name}\" of this {tag} is \"{text}\"")))
    }

    pub(super) fn atoms<const N: usize>(&self, node: Node, names: [&str; N]) -> Result<[u32; N]> {
        let mut atoms = [0; N];
        for (atom, name) in atoms.iter_mut().zip(names) {
            *atom = self.get(node, name)?;
        }
        Ok(atoms)
    }

    /// A number without a unit, or in the file's units.
    pub(super) fn number(&self, node: Node, name: &str) -> Result<f64> {
        self.get(node, name)
    }

    pub(super) fn degrees(&self, node: Node, name: &str) -> Result<f64> {
        Ok(self.number(node, name)?.to_degrees())
    }
}

/// The elements of a list: `<Bonds><Bond/><Bond/></Bonds>`.
pub(super) fn items<'a, 'i>(node: Node<'a, 'i>, list: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    let lists = node.children().filter(move |child| child.has_tag_name(list));
    lists.flat_map(|list| list.children()).filter(|child| child.is_element())
}
