//! Extended XYZ (<https://github.com/libAtoms/extxyz>): the last frame of a file. Columns read are
//! species (or element, symbol, or the numbers of elements as Z, numbers or atomic_numbers), pos, velo (or
//! velocities, velocity, vel, or vx, vy and vz), ASE's momenta, mass (or masses) and charge (or charges,
//! initial_charges); others are passed over, unless they look like velocities.

use super::lines::Lines;
use super::{FileSpecies, Reading, Structure, same_charge, wrap};
use crate::forcefield::elements;
use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, Error, Names, Result, SimBox, State, Topology, UnitSystem, Vec3, Vector};
use std::collections::HashMap;

pub(super) fn read(mut lines: Lines, reading: Reading) -> Result<Structure> {
    loop {
        let first = lines.next_filled().unwrap_or("").trim();
        let count = number_of_atoms(&lines, first)?;
        // Frames before the last are only counted through.
        let mut ahead = lines.clone();
        let mut left = count + 1;
        while left > 0 && ahead.next().is_some() {
            left -= 1;
        }
        let mut rest = ahead.clone();
        if left == 0 && rest.next_filled().is_some() {
            lines = ahead;
            continue;
        }
        return frame(lines, reading, count);
    }
}

/// The number of atoms, which a frame begins with.
pub(crate) fn number_of_atoms(lines: &Lines, first: &str) -> Result<u64> {
    let count: u64 = first.parse().map_err(|_| {
        lines
            .error(format!("the first line of a frame must be the number of atoms, not \"{first}\""))
            .hint("extended XYZ: number of atoms, a line with Lattice=\"...\", then a line for each atom")
    })?;
    if count == 0 || count > u64::from(u32::MAX) {
        return Err(lines
            .error(format!("the frame has {count} atoms"))
            .hint("there must be 1 to 4294967295"));
    }
    Ok(count)
}

/// Contents of the second line of a frame.
pub(crate) struct FrameHeader {
    pub units: Option<String>,
    pub columns: XyzColumns,
    /// Edges and tilts; edges along open axes may be zero.
    lattice: Option<(Vec3, Vec3)>,
    origin: Vec3,
    periodic: Option<[bool; 3]>,
    pub time: Option<f64>,
    pub step: Option<u64>,
}

impl FrameHeader {
    /// Reads the line that `lines` stands at.
    ///
    /// # Errors
    /// If a value makes no sense.
    pub(crate) fn read(lines: &Lines, comment: &str) -> Result<FrameHeader> {
        let keys = keys(comment).map_err(|e| lines.error(e))?;
        let key =
            |name: &str| keys.iter().find(|(k, _)| k.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
        let axes = |text: &str| {
            axes(text).ok_or_else(|| {
                lines.error(format!("pbc cannot be read from \"{text}\"")).hint("write pbc=\"T T F\"")
            })
        };
        let periodic = key("pbc").map(axes).transpose()?;
        Ok(FrameHeader {
            units: key("units").map(str::to_string),
            columns: XyzColumns::new(key("Properties").unwrap_or("species:S:1:pos:R:3"))
                .map_err(|e| lines.error(e))?,
            lattice: key("Lattice").map(|text| lattice(lines, text, periodic)).transpose()?.flatten(),
            origin: match key("Origin") {
                Some(text) => lines.vector(&mut text.split_whitespace(), ["the origin"; 3])?,
                None => Vec3::ZERO,
            },
            periodic,
            time: key("Time").and_then(|text| text.parse().ok()).filter(|t: &f64| t.is_finite()),
            step: key("Step").and_then(|text| text.parse().ok()),
        })
    }
}

impl FrameHeader {
    /// Axes along which the box repeats: those asked for, else those of the file, else all
    /// where there is a box.
    pub(crate) fn periodic(&self, asked: Option<[bool; 3]>) -> [bool; 3] {
        asked.or(self.periodic).unwrap_or([self.lattice.is_some(); 3])
    }

    /// The box, which reaches around the atoms along open axes without an edge.
    ///
    /// # Errors
    /// If a periodic axis has no edge, or the edges make no box.
    pub(crate) fn simbox(&self, periodic: [bool; 3], positions: &[Vec3]) -> Result<SimBox> {
        let (mut lengths, tilts) = self.lattice.unwrap_or_default();
        let mut origin = self.origin;
        for k in 0..3 {
            if lengths[k] > 0.0 {
                continue;
            }
            if periodic[k] {
                return Err(Error::simulation("the frame has no Lattice, but is periodic").hint(
                    "add Lattice=\"ax ay az bx by bz cx cy cz\" to the line, or pbc=\"F F F\" if it is not; \
                     in an input, periodic = false in [system] does that",
                ));
            }
            let atoms = around(positions)?;
            (origin[k], lengths[k]) = (atoms.origin()[k], atoms.lengths()[k]);
        }
        SimBox::new(origin, *lengths, *tilts, periodic)
    }
}

fn frame(mut lines: Lines, reading: Reading, count: u64) -> Result<Structure> {
    let Some(comment) = lines.next() else {
        return Err(lines.error("the file ends after the number of atoms"));
    };
    let head = FrameHeader::read(&lines, comment)?;
    let columns = &head.columns;
    if let Some(units) = &head.units
        && UnitSystem::ALL.iter().any(|u| u.name() == units)
        && units != reading.units.name()
    {
        return Err(lines
            .error(format!(
                "the file is in units \"{units}\", but the input in units = \"{}\"",
                reading.units
            ))
            .hint("choose the same units in the input; if the file is wrong, change it"));
    }
    if let (None, Some(name)) = (columns.velocity.or(columns.momentum), columns.unread.first()) {
        return Err(lines
            .error(format!("the column {name} looks like velocities, and is none that is read"))
            .hint("call it velo to start with these velocities; else leave it out"));
    }
    let header = lines.at();
    let mut atoms = XyzAtoms::new(lines.at_most_left().min(count as usize));
    for k in 0..count {
        let Some(line) = lines.next() else {
            return Err(lines
                .error(format!("the file ends after {k} of {count} atoms"))
                .hint("the file seems to be truncated; make or copy it again"));
        };
        atoms.read(&lines, line, columns)?;
    }
    let simbox = head
        .simbox(head.periodic(reading.periodic), &atoms.positions)
        .map_err(|e| lines.error_at(header, e.message()).hint(e.help().unwrap_or("check Lattice and pbc")))?;
    let mut state = State::default();
    for (k, (kind, position)) in atoms.kinds.iter().zip(&atoms.positions).enumerate() {
        let (mut position, mut image) = (*position, [0; 3]);
        wrap(&simbox, &mut position, &mut image).map_err(|e| lines.error_at(header + 1 + k, e))?;
        state.push(*kind, position);
        if let Some(last) = state.image.last_mut() {
            *last = image;
        }
    }
    let has_velocities = columns.velocity.is_some();
    if has_velocities {
        state.velocity = atoms.velocities;
    }
    let momentum = momentum(reading.units);
    let momenta = atoms.momenta.into_iter().map(|p| p.map(|x| x * momentum)).collect();
    Ok(Structure {
        simbox,
        species: atoms.species,
        state,
        topology: Topology::default(),
        charges: if atoms.uniform { Vec::new() } else { atoms.charges },
        names: Names::default(),
        has_velocities,
        coefficients: Vec::new(),
        momenta,
    })
}

/// `key=value` pairs; values with spaces stand in quotes, brackets or braces.
fn keys(comment: &str) -> std::result::Result<Vec<(String, String)>, String> {
    let mut keys = Vec::new();
    let mut rest = comment.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let key = rest[..end].trim_matches('"').to_string();
        rest = &rest[end..];
        let Some(value) = rest.strip_prefix('=') else {
            // A word of its own is a flag, or an ordinary comment.
            rest = rest.trim_start();
            continue;
        };
        let close = match value.chars().next() {
            Some('"') => Some('"'),
            Some('\'') => Some('\''),
            Some('{') => Some('}'),
            Some('[') => Some(']'),
            _ => None,
        };
        let (text, after) = match close {
            Some(close) => {
                let inner = &value[1..];
                let end =
                    inner.find(close).ok_or_else(|| format!("the value of {key} has no closing {close}"))?;
                (&inner[..end], &inner[end + 1..])
            }
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        keys.push((key, text.to_string()));
        rest = after.trim_start();
    }
    Ok(keys)
}

fn axes(text: &str) -> Option<[bool; 3]> {
    let one = |word: &str| match word {
        "T" | "True" | "true" | "1" => Some(true),
        "F" | "False" | "false" | "0" => Some(false),
        _ => None,
    };
    let words: Vec<&str> = text.split([' ', ',']).filter(|w| !w.is_empty()).collect();
    match words[..] {
        [all] => Some([one(all)?; 3]),
        [x, y, z] => Some([one(x)?, one(y)?, one(z)?]),
        _ => None,
    }
}

/// ASE's unit of momentum, the square root of 1 u eV, in mass (as [`UnitSystem::mass_from_user`] has it)
/// times velocity; 1 in reduced units.
fn momentum(units: UnitSystem) -> f64 {
    if units.is_reduced() {
        return 1.0;
    }
    // An electronvolt is known in every system that is not reduced.
    let energy = parse_quantity("1 eV", &[Dimension::ENERGY], units).map_or(f64::NAN, |(x, _)| x);
    (energy * units.mass_from_user(1.0)).sqrt()
}

/// Edges and tilts of a cell whose a lies along x and whose b lies in the xy plane; `None` where all edges
/// are zero, as ASE writes where there is no cell.
fn lattice(lines: &Lines, text: &str, periodic: Option<[bool; 3]>) -> Result<Option<(Vec3, Vec3)>> {
    let words = text.split([' ', ',']).filter(|w| !w.is_empty());
    let numbers: Vec<f64> = words.map(|w| lines.number(Some(w), "Lattice")).collect::<Result<_>>()?;
    let m: [f64; 9] = numbers.try_into().map_err(|n: Vec<f64>| {
        lines
            .error(format!("Lattice has {} numbers instead of 9", n.len()))
            .hint("write the three edges one after the other: Lattice=\"ax ay az bx by bz cx cy cz\"")
    })?;
    let [ax, ay, az, bx, by, bz, cx, cy, cz] = m;
    let negligible = 1e-10 * m.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    if [ay, az, bz].iter().any(|x| x.abs() > negligible) {
        return Err(lines
            .error("the edge a of Lattice is not along x, or b not in the xy plane")
            .hint("rotate the system, in ASE: cell, q = atoms.cell.standard_form(); atoms.set_cell(cell, scale_atoms=True); where it has velocities, atoms.set_momenta(atoms.get_momenta() @ q.T), too, for set_cell does not turn them"));
    }
    if m == [0.0; 9] {
        return Ok(None);
    }
    // An edge along an open axis may be missing.
    let missing = |k: usize| m[3 * k..3 * k + 3] == [0.0; 3] && periodic.is_some_and(|p| !p[k]);
    if [ax, by, cz].iter().enumerate().any(|(k, x)| *x <= 0.0 && !missing(k)) {
        return Err(lines.error(format!("Lattice has edges that are not positive: {ax}, {by}, {cz}")).hint(
            "rotate the system; where edges are left-handed, turn one of an axis that is periodic round before, which leads \
             to the same images",
        ));
    }
    Ok(Some((Vector([ax, by, cz]), Vector([bx, cx, cy]))))
}

/// An open box around the atoms.
///
/// # Errors
/// If there are no atoms, or they are so far apart that they have no box.
pub(crate) fn around(positions: &[Vec3]) -> Result<SimBox> {
    if positions.is_empty() {
        return Err(Error::simulation("there are no atoms"));
    }
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for r in positions {
        for k in 0..3 {
            low[k] = low[k].min(r[k]);
            high[k] = high[k].max(r[k]);
        }
    }
    // Atoms in a plane still need a box with a volume.
    let lengths = std::array::from_fn(|k| (high[k] - low[k]).max(1.0));
    SimBox::new(low, lengths, [0.0; 3], [false; 3])
}

/// Columns of a line of an atom.
pub(crate) struct XyzColumns {
    pub total: usize,
    species: usize,
    /// True where the column of names has atomic numbers.
    numbered: bool,
    pub position: usize,
    pub velocity: Option<usize>,
    momentum: Option<usize>,
    /// Names of those that look like velocities and are not read.
    pub unread: Vec<String>,
    mass: Option<usize>,
    charge: Option<usize>,
}

impl XyzColumns {
    /// Columns from `species:S:1:pos:R:3`.
    fn new(properties: &str) -> std::result::Result<XyzColumns, String> {
        let words: Vec<&str> = properties.split(':').collect();
        let (mut total, mut found) = (0usize, HashMap::new());
        for property in words.chunks(3) {
            let &[name, kind, width] = property else {
                return Err(format!("Properties cannot be read from \"{properties}\""));
            };
            let width = width.parse().ok().filter(|w| (1..=1000).contains(w));
            let width: usize = width.ok_or_else(|| format!("Properties has no width for {name}"))?;
            found.insert(name.to_lowercase(), (total, kind, width));
            total += width;
        }
        let column = |names: &[&str], kind: &str, width: usize| match names.iter().find_map(|n| found.get(*n))
        {
            Some((at, k, w)) if *k == kind && *w == width => Ok(Some(*at)),
            Some((_, k, w)) => {
                Err(format!("Properties has {}:{k}:{w} instead of {}:{kind}:{width}", names[0], names[0]))
            }
            None => Ok(None),
        };
        let species = column(&["species", "element", "symbol"], "S", 1)?;
        let number = match species {
            None => column(&["z", "numbers", "atomic_numbers"], "I", 1)?,
            Some(_) => None,
        };
        let parts = [column(&["vx"], "R", 1)?, column(&["vy"], "R", 1)?, column(&["vz"], "R", 1)?];
        let apart = match parts {
            [Some(x), Some(y), Some(z)] if [y, z] == [x + 1, x + 2] => Some(x),
            _ => None,
        };
        let velocity = column(&["velo", "velocities", "velocity", "vel"], "R", 3)?.or(apart);
        let momentum = column(&["momenta"], "R", 3)?;
        let looks = |name: &str| ["vel", "momenta", "momentum"].iter().any(|part| name.contains(part));
        let mut unread: Vec<(usize, String)> = found
            .iter()
            .filter(|(name, (at, kind, width))| {
                looks(name) && *kind == "R" && *width == 3 && Some(*at) != velocity
            })
            .map(|(name, (at, ..))| (*at, name.clone()))
            .collect();
        unread.sort_unstable();
        let position = column(&["pos", "position", "positions"], "R", 3)?;
        Ok(XyzColumns {
            total,
            species: species.or(number).ok_or("Properties has no species:S:1, nor Z:I:1")?,
            numbered: species.is_none(),
            position: position.ok_or("Properties has no pos:R:3")?,
            velocity,
            momentum,
            unread: unread.into_iter().map(|(_, name)| name).collect(),
            mass: column(&["mass", "masses"], "R", 1)?,
            charge: column(&["charge", "charges", "initial_charges"], "R", 1)?,
        })
    }

    /// The name of an atom's species, after [`XyzColumns::check`].
    ///
    /// # Errors
    /// If elements are numbered and there is none with this number.
    pub(crate) fn name<'w>(&self, lines: &Lines, words: &[&'w str]) -> Result<&'w str> {
        let word = words[self.species];
        if !self.numbered {
            return Ok(word);
        }
        let number = lines.parse(Some(word), "the number of the element")?;
        elements::symbol(number)
            .ok_or_else(|| lines.error(format!("there is no element with the number {number}")))
    }

    /// Checks that the line of an atom has as many words as there are columns.
    ///
    /// # Errors
    /// If it has not.
    pub(crate) fn check(&self, lines: &Lines, words: &[&str]) -> Result<()> {
        if words.len() == self.total {
            return Ok(());
        }
        let message = format!("the atom has {} columns instead of {}", words.len(), self.total);
        let error = if words.len() < self.total { lines.lacking(message) } else { lines.error(message) };
        Err(error.hint("Properties in the second line says which columns there are"))
    }
}

/// The atoms read so far.
struct XyzAtoms {
    species: Vec<FileSpecies>,
    kinds: Vec<u16>,
    positions: Vec<Vec3>,
    velocities: Vec<Vec3>,
    charges: Vec<f64>,
    /// Atoms of one species have the same charge.
    uniform: bool,
    /// Momenta in ASE's unit.
    momenta: Vec<Vec3>,
}

impl XyzAtoms {
    fn new(capacity: usize) -> Self {
        XyzAtoms {
            species: Vec::new(),
            kinds: Vec::with_capacity(capacity),
            positions: Vec::with_capacity(capacity),
            velocities: Vec::new(),
            charges: Vec::new(),
            uniform: true,
            momenta: Vec::new(),
        }
    }

    fn read(&mut self, lines: &Lines, line: &str, columns: &XyzColumns) -> Result<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        columns.check(lines, &words)?;
        let number = |at: usize, what: &str| lines.number(words.get(at).copied(), what);
        let vector = |at: usize, what: [&str; 3]| lines.vector(&mut words.iter().copied().skip(at), what);
        let name = columns.name(lines, &words)?;
        let mass = columns.mass.map(|at| number(at, "the mass")).transpose()?;
        let charge = columns.charge.map(|at| number(at, "the charge")).transpose()?;
        if let Some(mass) = mass.filter(|m| *m <= 0.0) {
            return Err(lines.error(format!("the mass {mass} is not greater than zero")));
        }
        self.positions.push(vector(columns.position, ["x", "y", "z"])?);
        if let Some(at) = columns.velocity {
            self.velocities.push(vector(at, ["vx", "vy", "vz"])?);
        } else if let Some(at) = columns.momentum {
            self.momenta.push(vector(at, ["px", "py", "pz"])?);
        }
        let kind = match self.species.iter().position(|s| s.name == name) {
            Some(kind) => {
                let known = &mut self.species[kind];
                if let (Some(now), Some(before)) = (mass, known.mass)
                    && (now - before).abs() > 1e-9 * before.abs().max(1.0)
                {
                    return Err(lines
                        .error(format!(
                            "atoms of the species {name} have different masses, {before} and {now}"
                        ))
                        .hint("give them different species names"));
                }
                if let (Some(now), Some(before)) = (charge, known.charge)
                    && !same_charge(now, before)
                {
                    known.charge = None;
                    self.uniform = false;
                }
                kind
            }
            None => {
                self.species.push(FileSpecies { name: name.to_string(), mass, charge });
                self.species.len() - 1
            }
        };
        self.charges.extend(charge);
        let kind = u16::try_from(kind).map_err(|_| {
            lines.error("the file has more than 65536 species").hint("is the right column the species?")
        })?;
        self.kinds.push(kind);
        Ok(())
    }
}
