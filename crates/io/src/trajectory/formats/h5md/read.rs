//! H5MD (<https://h5md.nongnu.org/h5md.html>), as of MDAnalysis, LAMMPS, pyh5md and others: the first group of
//! particles that has positions. Datasets may be of one piece or in chunks, packed by deflate or LZF.

use crate::structure::around;
use crate::trajectory::frame::Snapshot;
use crate::trajectory::source::{
    AtomLabels, FROM_DEFLATE, FileUnits, FrameSource, damaged, reserved, simbox_of,
};
use hdf5_pure::{AttrValue, Dataset, Datatype, File, FormatError, Group};
use jostle_core::quantity::parse_quantity;
use jostle_core::vector::vectors_of;
use jostle_core::{Dimension, Error, Result, SimBox, UnitSystem, Vec3, Vector};
use std::path::{Path, PathBuf};

/// Numbers that are read ahead at once, at most.
const AHEAD: usize = 1 << 22;

fn failed(error: hdf5_pure::Error) -> Error {
    match error {
        hdf5_pure::Error::Format(FormatError::UnexpectedEof { .. }) => {
            damaged("the file ends in the middle of it")
                .hint("the file is truncated: still being written, or a run or a copy was cut short")
        }
        error => damaged(format!("it cannot be read as HDF5: {error}")),
    }
}

/// Rows of a dataset, some of which are read at once.
struct DatasetRows {
    data: Dataset,
    rows: u64,
    width: usize,
    /// Number of rows that are read at once.
    band: u64,
    first: u64,
    ahead: Vec<f64>,
}

/// Number of values with these edges.
///
/// # Errors
/// If a file of `size` bytes cannot hold them even when it is packed by deflate.
fn count(edges: &[u64], size: u64) -> Result<u64> {
    let all = edges.iter().fold(1u64, |all, n| all.saturating_mul(*n));
    if all / FROM_DEFLATE <= size {
        return Ok(all);
    }
    Err(damaged(format!("a dataset has {edges:?} numbers, which have no room in a file of {size} bytes"))
        .hint("the file is damaged, or was cut short"))
}

impl DatasetRows {
    fn open(data: Dataset, size: u64) -> Result<Self> {
        let shape = data.shape().map_err(failed)?;
        let width = count(shape.get(1..).unwrap_or_default(), size)?;
        // The library takes this memory without asking for it.
        reserved::<f64>(usize::try_from(width).unwrap_or(usize::MAX))?;
        let chunk = data.chunk_shape().map_err(failed)?.and_then(|c| c.first().copied()).unwrap_or(1).max(1);
        let room = (AHEAD as u64 / width.max(1)).max(1);
        // Chunks are unpacked once, if they are not too large for that.
        let band = if room > chunk { (room / 16).max(chunk) / chunk * chunk } else { room };
        let rows = shape.first().copied().unwrap_or(1);
        Ok(DatasetRows { data, rows, width: width as usize, band, first: 0, ahead: Vec::new() })
    }

    fn row(&mut self, row: u64) -> Result<&[f64]> {
        let held = (self.ahead.len() / self.width.max(1)) as u64;
        if !(self.first..self.first + held).contains(&row) {
            self.first = row / self.band * self.band;
            // Rows that are there are read from a file that was cut short.
            let band = self.data.read_f64_rows(self.first, self.band).or_else(|_| {
                self.first = row;
                self.data.read_f64_rows(row, 1)
            });
            self.ahead = band.map_err(failed)?;
        }
        let at = (row - self.first) as usize * self.width;
        self.ahead.get(at..at + self.width).ok_or_else(|| damaged("a dataset has fewer rows than it says"))
    }
}

/// Steps or times of the rows of an element.
enum RowMarks {
    Each(DatasetRows),
    /// The first, and from one to the next.
    Even(f64, f64),
}

impl RowMarks {
    fn open(data: Dataset, size: u64) -> Result<Self> {
        if data.shape().map_err(failed)?.is_empty() {
            let apart = data.read_f64().map_err(failed)?.first().copied().unwrap_or(1.0);
            let offset = data.attrs().map_err(failed)?.get("offset").and_then(number).unwrap_or(0.0);
            return Ok(RowMarks::Even(offset, apart));
        }
        DatasetRows::open(data, size).map(RowMarks::Each)
    }

    fn at(&mut self, row: u64) -> Result<f64> {
        match self {
            RowMarks::Each(rows) if row < rows.rows => {
                Ok(rows.row(row)?.first().copied().unwrap_or_default())
            }
            RowMarks::Each(_) => Err(damaged("a frame has no step or time")),
            RowMarks::Even(first, apart) => Ok(*first + *apart * row as f64),
        }
    }
}

/// Values of the particles at some steps, or, without steps, for all steps.
struct Element {
    values: DatasetRows,
    steps: Option<RowMarks>,
    times: Option<RowMarks>,
    /// Unit of the values in angstrom and picoseconds, and unit of the times in picoseconds.
    scale: [Option<f64>; 2],
    /// The row that comes next.
    next: u64,
}

impl Element {
    fn open(group: &Group, name: &str, dimension: Dimension, size: u64) -> Result<Option<Self>> {
        let element =
            |data: Dataset, steps: Option<RowMarks>, times: Option<Dataset>| -> Result<Option<Self>> {
                let scale =
                    [unit(&data, dimension)?, times.as_ref().map_or(Ok(None), |t| unit(t, Dimension::TIME))?];
                let times = times.map(|times| RowMarks::open(times, size)).transpose()?;
                let mut values = DatasetRows::open(data, size)?;
                if steps.is_none() {
                    let width = count(&[values.rows, values.width as u64], size)? as usize;
                    values = DatasetRows { band: values.rows.max(1), rows: 1, width, ..values };
                }
                Ok(Some(Element { values, steps, times, scale, next: 0 }))
            };
        if group.datasets().map_err(failed)?.iter().any(|n| n == name) {
            return element(group.dataset(name).map_err(failed)?, None, None);
        }
        if !group.groups().map_err(failed)?.iter().any(|n| n == name) {
            return Ok(None);
        }
        let group = group.group(name).map_err(failed)?;
        let names = group.datasets().map_err(failed)?;
        let member = |name: &str| {
            let there = names.iter().any(|n| n == name);
            there.then(|| group.dataset(name).map_err(failed)).transpose()
        };
        let Some(value) = member("value")? else { return Ok(None) };
        let steps = member("step")?.ok_or_else(|| damaged(format!("its element {name} has no steps")))?;
        element(value, Some(RowMarks::open(steps, size)?), member("time")?)
    }

    /// Values at a step, if there are any.
    fn at(&mut self, step: f64) -> Result<Option<&[f64]>> {
        let Some(steps) = &mut self.steps else { return self.values.row(0).map(Some) };
        while self.next < self.values.rows {
            let mark = steps.at(self.next)?;
            if mark >= step {
                return if mark == step { self.values.row(self.next).map(Some) } else { Ok(None) };
            }
            self.next += 1;
        }
        Ok(None)
    }

    fn vectors(&mut self, step: f64) -> Result<Option<Vec<Vec3>>> {
        let scale = self.scale[0].unwrap_or(1.0);
        let numbers = self.at(step)?;
        Ok(numbers.map(|all| vectors_of(all).iter().map(|v| *v * scale).collect()))
    }
}

pub(super) struct Source {
    path: PathBuf,
    /// Bytes of the file.
    size: u64,
    position: Element,
    velocity: Option<Element>,
    image: Option<Element>,
    id: Option<Element>,
    edges: Option<Element>,
    periodic: [bool; 3],
    /// Labels of the atoms in the order of the file.
    labels: Option<AtomLabels>,
    /// The ids of the atoms in the order of the latest frame.
    order: Vec<usize>,
    units: FileUnits,
    frame: u64,
}

impl Source {
    pub fn open(path: &Path) -> Result<Self> {
        let size = std::fs::metadata(path).map_or(0, |m| m.len());
        let file = File::open_streaming(path).map_err(failed)?;
        let root = file.root();
        let none = || damaged("it is HDF5, but not H5MD: no group of particles in it has positions");
        let has = |group: &Group, name: &str| group.groups().is_ok_and(|all| all.iter().any(|n| n == name));
        if !has(&root, "particles") {
            return Err(none());
        }
        let particles = root.group("particles").map_err(failed)?;
        let mut found = None;
        for name in particles.groups().map_err(failed)? {
            let group = particles.group(&name).map_err(failed)?;
            if let Some(position) = Element::open(&group, "position", Dimension::LENGTH, size)? {
                found = Some((group, position));
                break;
            }
        }
        let (group, position) = found.ok_or_else(none)?;
        let shape = position.values.data.shape().map_err(failed)?;
        if shape.len() != 3 || shape[2] != 3 || position.steps.is_none() {
            return Err(damaged("its positions are not frames of atoms in three dimensions"));
        }
        let element = |name, dimension| Element::open(&group, name, dimension, size);
        let velocity = element("velocity", Dimension::VELOCITY)?;
        let image = element("image", Dimension::NUMBER)?;
        let id = element("id", Dimension::NUMBER)?;
        let (mut edges, mut periodic) = (None, [true; 3]);
        if has(&group, "box") {
            let simbox = group.group("box").map_err(failed)?;
            edges = Element::open(&simbox, "edges", Dimension::LENGTH, size)?;
            let boundary = simbox.attrs().map_err(failed)?.get("boundary").map(texts).unwrap_or_default();
            if let [x, y, z] = &boundary[..] {
                periodic = [x, y, z].map(|word| word != "none");
            }
        }
        let units = match (ours(&root)?, position.scale[0]) {
            (Some(units), _) => FileUnits::Of(units),
            (None, Some(_)) => FileUnits::Fixed("A"),
            (None, None) => FileUnits::Unknown,
        };
        let mut h5md = Source {
            path: path.to_path_buf(),
            size,
            position,
            velocity,
            image,
            id,
            edges,
            periodic,
            labels: labels(&group, size)?,
            order: Vec::new(),
            units,
            frame: 0,
        };
        if let FileUnits::Of(_) = units {
            // Numbers without units are taken as they are.
            let elements = [&mut h5md.velocity, &mut h5md.edges].into_iter().flatten();
            elements.chain([&mut h5md.position]).for_each(|element| element.scale = [None; 2]);
        }
        Ok(h5md)
    }

    /// Puts atoms in the order of their ids.
    fn sort<T: Copy>(&self, all: Vec<T>) -> Vec<T> {
        if self.order.is_empty() {
            all
        } else {
            self.order.iter().filter_map(|k| all.get(*k)).copied().collect()
        }
    }

    fn simbox(&mut self, step: f64, positions: &[Vec3]) -> Result<SimBox> {
        let scale = self.edges.as_ref().and_then(|e| e.scale[0]).unwrap_or(1.0);
        let Some(numbers) = self.edges.as_mut().map(|edges| edges.at(step)).transpose()?.flatten() else {
            return around(positions);
        };
        let numbers: Vec<f64> = numbers.iter().map(|x| x * scale).collect();
        let edges = match numbers[..] {
            [x, y, z] => [Vector([x, 0.0, 0.0]), Vector([0.0, y, 0.0]), Vector([0.0, 0.0, z])],
            [ax, ay, az, bx, by, bz, cx, cy, cz] => {
                [Vector([ax, ay, az]), Vector([bx, by, bz]), Vector([cx, cy, cz])]
            }
            _ => return Err(damaged("its box is not one of three dimensions")),
        };
        let simbox = simbox_of(edges, positions)?;
        if numbers.iter().all(|x| *x == 0.0) {
            return Ok(simbox);
        }
        SimBox::new(simbox.origin(), simbox.lengths(), simbox.tilts(), self.periodic)
    }
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        if self.frame >= self.position.values.rows {
            return Ok(None);
        }
        let frame = self.frame;
        let step = match &mut self.position.steps {
            Some(steps) => steps.at(frame)?,
            None => frame as f64,
        };
        let to_ps = self.position.scale[1].unwrap_or(1.0);
        let time = self.position.times.as_mut().map(|times| times.at(frame)).transpose()?;
        let time = time.map(|t| t * to_ps).filter(|t| t.is_finite());
        self.position.next = frame;
        let Some(positions) = self.position.vectors(step)? else {
            return Err(damaged("its positions have no frame of their step"));
        };
        let n = positions.len();
        let ids = self.id.as_mut().map(|id| id.at(step)).transpose()?.flatten().map(<[f64]>::to_vec);
        if let Some(ids) = ids {
            // Places without an atom have a negative id.
            let mut order: Vec<usize> = (0..ids.len().min(n)).filter(|k| ids[*k] >= 0.0).collect();
            order.sort_by(|a, b| ids[*a].total_cmp(&ids[*b]));
            self.order = order;
        }
        if let Some(labels) = self.labels.as_mut().filter(|_| frame == 0 && !self.order.is_empty()) {
            labels.species = self.order.iter().filter_map(|k| labels.species.get(*k)).copied().collect();
        }
        let positions = self.sort(positions);
        let vectors = |element: &mut Option<Element>| -> Result<Option<Vec<Vec3>>> {
            let all = element.as_mut().map(|e| e.vectors(step)).transpose()?.flatten();
            match all {
                Some(all) if all.len() != n => Err(damaged("not all atoms have velocities or images")),
                all => Ok(all),
            }
        };
        let (mut velocity, mut image) = (self.velocity.take(), self.image.take());
        let (velocities, images) = (vectors(&mut velocity)?, vectors(&mut image)?);
        (self.velocity, self.image) = (velocity, image);
        let images = images.map(|all| self.sort(all).into_iter().map(|n| n.map(|x| x as i32).0).collect());
        let velocities = velocities.map(|all| self.sort(all));
        let simbox = self.simbox(step, &positions)?;
        self.frame += 1;
        Ok(Some(Snapshot { step: step as u64, time, simbox, positions, images, velocities }))
    }

    fn units(&self) -> FileUnits {
        self.units
    }

    fn labels(&self) -> Option<&AtomLabels> {
        self.labels.as_ref()
    }

    fn refresh(&mut self) -> Result<()> {
        if std::fs::metadata(&self.path).is_ok_and(|now| now.len() == self.size) {
            return Ok(());
        }
        let now = Source::open(&self.path)?;
        let (labels, order) = (std::mem::take(&mut self.labels), std::mem::take(&mut self.order));
        *self = Source { labels, order, frame: self.frame, ..now };
        Ok(())
    }

    fn part(&self) -> Option<f64> {
        Some(self.frame as f64 / self.position.values.rows.max(1) as f64)
    }
}

/// The units of a file of Jostle's.
fn ours(root: &Group) -> Result<Option<UnitSystem>> {
    let Ok(creator) = root.group("h5md").and_then(|h5md| h5md.group("creator")) else { return Ok(None) };
    let attributes = creator.attrs().map_err(failed)?;
    let says = |name: &str| attributes.get(name).map(texts).and_then(|all| all.into_iter().next());
    let named = |name: String| UnitSystem::ALL.into_iter().find(|u| u.name() == name);
    Ok(says("units").filter(|_| says("name").as_deref() == Some("Jostle")).and_then(named))
}

/// Labels of the atoms, where the file has them: numbers with or without names, or names.
fn labels(group: &Group, size: u64) -> Result<Option<AtomLabels>> {
    let is = |all: std::result::Result<Vec<String>, hdf5_pure::Error>| {
        all.is_ok_and(|all| all.iter().any(|n| n == "species"))
    };
    let data = match (is(group.datasets()), is(group.groups())) {
        (true, _) => group.dataset("species"),
        (_, true) => group.group("species").and_then(|species| species.dataset("value")),
        _ => return Ok(None),
    };
    let data = data.map_err(failed)?;
    // Labels that change from frame to frame are taken from the first.
    let rows = if data.shape().map_err(failed)?.len() > 1 { 1 } else { u64::MAX };
    count(&data.shape().map_err(failed)?[usize::from(rows == 1)..], size)?;
    let named: Vec<String> = match data.datatype().map_err(failed)? {
        Datatype::Enumeration { base_type, members, .. } => {
            let width = base_type.type_size() as usize;
            let raw = data.read_raw_rows(0, rows).map_err(failed)?;
            let name = |value: &[u8]| {
                let member = members.iter().find(|m| m.value == value);
                member.map(|m| m.name.clone()).ok_or_else(|| damaged("an atom has a species without a name"))
            };
            raw.chunks(width.max(1)).map(name).collect::<Result<_>>()?
        }
        Datatype::String { .. } | Datatype::VariableLength { is_string: true, .. } => {
            data.read_string_rows(0, rows).map_err(failed)?
        }
        _ => {
            let numbers = data.read_f64_rows(0, rows).map_err(failed)?;
            numbers.iter().map(ToString::to_string).collect()
        }
    };
    let mut labels = AtomLabels::default();
    for name in named {
        let species = labels.species_number(&name)?;
        labels.species.push(species);
    }
    Ok(Some(labels))
}

/// Unit of a dataset's values in angstrom and picoseconds, where the dataset has one.
fn unit(data: &Dataset, dimension: Dimension) -> Result<Option<f64>> {
    if dimension == Dimension::NUMBER {
        return Ok(None);
    }
    let attributes = data.attrs().map_err(failed)?;
    let Some(unit) = attributes.get("unit").map(texts).and_then(|all| all.into_iter().next()) else {
        return Ok(None);
    };
    let (factor, _) = parse_quantity(&format!("1 {unit}"), &[dimension], UnitSystem::Metal)?;
    Ok(Some(factor))
}

fn texts(value: &AttrValue) -> Vec<String> {
    let one = value.as_str().map(|text| vec![text.to_string()]);
    one.or_else(|| value.as_strings().map(<[String]>::to_vec)).unwrap_or_default()
}

fn number(value: &AttrValue) -> Option<f64> {
    Some(match *value {
        AttrValue::F32(x) => f64::from(x),
        AttrValue::F64(x) => x,
        AttrValue::I32(x) => f64::from(x),
        AttrValue::I64(x) => x as f64,
        AttrValue::U32(x) => f64::from(x),
        AttrValue::U64(x) => x as f64,
        _ => return None,
    })
}
