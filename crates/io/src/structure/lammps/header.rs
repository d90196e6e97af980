//! Header of a LAMMPS data file: numbers of atoms and types, and the box.

use super::bound::{BondedList, Count};
use super::{DataFile, split_comment};
use jostle_core::Result;

/// Header: the lines before the first section.
#[derive(Default)]
pub(super) struct DataHeader {
    pub atoms: Option<u64>,
    pub types: Option<u64>,
    /// Bonds, angles, dihedrals and impropers.
    pub bound: [Count; 4],
    pub bounds: [Option<[f64; 2]>; 3],
    pub tilts: [f64; 3],
}

impl<'a> DataFile<'a> {
    /// Reads up to the first section; gives its line.
    pub(super) fn header(&mut self) -> Result<&'a str> {
        let title = self.lines.next().unwrap_or("");
        self.check_units(title)?;
        loop {
            let Some(line) = self.lines.next() else {
                return Err(self
                    .lines
                    .error("the file ends before any section")
                    .hint("there is no Atoms section"));
            };
            let (body, _) = split_comment(line);
            if body.starts_with(char::is_uppercase) {
                self.check_header()?;
                return Ok(line);
            }
            if !body.is_empty() {
                self.header_line(body)?;
            }
        }
    }

    /// `write_data` names the units in the title.
    fn check_units(&self, title: &str) -> Result<()> {
        let Some((_, units)) = title.split_once("units = ") else { return Ok(()) };
        let units = units.split([',', ' ']).next().unwrap_or("").trim();
        let ours = self.reading.units.name();
        // LAMMPS' nano units (attogram, ns) are not ours.
        if units == ours && units != "nano" {
            return Ok(());
        }
        Err(self
            .lines
            .error(format!("the file is in LAMMPS units \"{units}\", but the input in units = \"{ours}\""))
            .hint("choose the same units in the input; if the title is wrong, change it"))
    }

    fn header_line(&mut self, body: &str) -> Result<()> {
        let words: Vec<&str> = body.split_whitespace().collect();
        let numbers = words.iter().take_while(|w| w.parse::<f64>().is_ok()).count();
        let (numbers, keyword) = (&words[..numbers], words[numbers..].join(" "));
        let lines = &self.lines;
        let count = || lines.parse::<u64>(numbers.first().copied(), &format!("the number of {keyword}"));
        let list = |ending: &str| {
            let what = keyword.strip_suffix(ending)?;
            BondedList::ALL.into_iter().find(|list| list.what() == what)
        };
        if let Some(list) = list("s") {
            self.header.bound[list as usize].members = count()?;
            return Ok(());
        }
        if let Some(list) = list(" types") {
            self.header.bound[list as usize].types = count()?;
            return Ok(());
        }
        match keyword.as_str() {
            "atoms" => self.header.atoms = Some(count()?),
            "atom types" => self.header.types = Some(count()?),
            "xlo xhi" | "ylo yhi" | "zlo zhi" => {
                let axis = usize::from(keyword.as_bytes()[0] - b'x');
                let low = lines.number(numbers.first().copied(), &keyword[..3])?;
                let high = lines.number(numbers.get(1).copied(), &keyword[4..])?;
                if high <= low {
                    return Err(lines.error(format!(
                        "the box has {} = {high}, not above {} = {low}",
                        &keyword[4..],
                        &keyword[..3]
                    )));
                }
                self.header.bounds[axis] = Some([low, high]);
            }
            "xy xz yz" => {
                self.header.tilts = lines.vector(&mut numbers.iter().copied(), ["xy", "xz", "yz"])?.into();
            }
            "avec" | "bvec" | "cvec" | "abc origin" => {
                return Err(lines
                    .error("the box is a general triclinic one")
                    .hint("write the file with edges along x and in the xy plane: xlo xhi, ylo yhi, zlo zhi, xy xz yz"));
            }
            "ellipsoids" | "lines" | "triangles" | "bodies" => {
                if count()? > 0 {
                    return Err(lines
                        .error(format!("the file has {keyword}, which are not computed"))
                        .hint("take them out of the file if the atoms are meant to move without them"));
                }
            }
            _ if keyword.ends_with(" types") || keyword.starts_with("extra ") => {}
            _ => {
                let error = lines.error(format!("\"{body}\" is not a line of a LAMMPS data header"));
                return Err(error.hint("a header has lines such as \"864 atoms\" and \"0.0 35.0 xlo xhi\""));
            }
        }
        Ok(())
    }

    fn check_header(&mut self) -> Result<()> {
        let missing = |what: &str, example: &str| {
            self.lines
                .error(format!("the header does not say {what}"))
                .hint(format!("add a line such as \"{example}\""))
        };
        if self.header.atoms.is_none() {
            return Err(missing("how many atoms there are", "864 atoms"));
        }
        let Some(types) = self.header.types else {
            return Err(missing("how many atom types there are", "1 atom types"));
        };
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            if self.header.bounds[axis].is_none() {
                return Err(missing(
                    &format!("how large the box is along {name}"),
                    &format!("0.0 35.0 {name}lo {name}hi"),
                ));
            }
        }
        if types == 0 || types > u64::from(u16::MAX) {
            return Err(self
                .lines
                .error(format!("the file has {types} atom types"))
                .hint("there must be 1 to 65535"));
        }
        let names = self.reading.types.len() as u64;
        if names != 0 && names != types {
            return Err(self
                .lines
                .error(format!("the file has {types} atom types, but the input names {names} of them"))
                .hint("types in [system] must have a name for each type"));
        }
        self.masses = vec![None; types as usize];
        self.labels = vec![None; types as usize];
        for bound in BondedList::ALL {
            let Count { members, types } = self.header.bound[bound as usize];
            if (types == 0 && members > 0) || types > u64::from(u16::MAX) || members > u64::from(u32::MAX) {
                let what = bound.what();
                return Err(self
                    .lines
                    .error(format!("the header has {members} {what}s and {types} {what} types"))
                    .hint("there must be 1 to 65535 types"));
            }
            self.bound[bound as usize].labels = vec![None; types as usize];
        }
        Ok(())
    }
}
