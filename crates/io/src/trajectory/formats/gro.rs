//! GROMACS gro with frames one after the other, as `gmx trjconv` writes them: names and residues, positions to
//! 0.001 nm and velocities to 0.0001 nm/ps in columns, the box behind the atoms; time and step are in the title.

use super::pdb::called;
use crate::gro::{GroAtom, GroCount};
use crate::pdb::{Collector, element_of};
use crate::structure::Lines;
use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision, unwritable};
use crate::trajectory::frame::{Frame, Snapshot, TrajectoryHeader, WrittenSoFar};
use crate::trajectory::source::{
    AtomLabels, ByteStream, Evidence, FileStart, FileUnits, FrameSource, TextStream, simbox_of,
};
use crate::trajectory::title::FrameTitle;
use crate::trajectory::units::{length_factor, picoseconds};
use jostle_core::{Error, Residue, Result, Vec3};
use std::io::Write;
use std::path::Path;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "gro",
    title: "GROMACS gro",
    about: "GROMACS gro: text, positions to 0.001 nm, velocities to 0.0001 nm/ps, names and residues",
    contents: &[Content::Velocities, Content::Names, Content::Residues, Content::Times],
    precision: Precision { position: 0.0005, velocity: 0.00005, unit: Some("nm"), ..Precision::EXACT },
    access: Access::Stream,
    writer: || Box::new(Writer::default()),
    recognize,
    open: |stream, path| Ok(Box::new(Source::new(stream, path))),
};

/// A number of atoms in the second line and an atom in columns in the third are a signature: the first line is free
/// text.
fn recognize(start: &FileStart) -> Option<Evidence> {
    let is_number = |text: &str| text.trim().parse::<u64>().is_ok();
    let is_atom = |line: &str| {
        let numbered = [0..5, 15..20].into_iter().all(|columns| line.get(columns).is_some_and(is_number));
        numbered && GroAtom::read(&Lines::at_number(Path::new(""), 3), line).is_ok()
    };
    let typical = matches!(start.lines[..], [_, count, atom, ..] if is_number(count) && is_atom(atom));
    typical.then_some(Evidence::Signature).or_else(|| start.named(&[".gro"]))
}

#[derive(Default)]
struct Writer {
    /// True where residues have insertion codes, until that has been said.
    insertions: bool,
}

impl FormatWriter for Writer {
    fn check(&self, header: &TrajectoryHeader) -> Result<()> {
        let (of_atoms, residues) = (header.atoms.atoms.iter(), header.atoms.residues.iter());
        let of_species = header.names.iter().filter(|_| header.atoms.atoms.is_empty());
        let mut names = of_species.chain(of_atoms.map(|a| &a.name)).chain(residues.map(|r| &r.name));
        match names.find(|name| name.len() > 5) {
            Some(name) => Err(Error::simulation(format!("the name \"{name}\" has more than five letters"))
                .hint("the columns of gro have no room for it; take another format, as xyz or xtc")),
            None => Ok(()),
        }
    }

    fn frame(
        &mut self,
        header: &TrajectoryHeader,
        frame: &Frame,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.insertions |= number == 0 && header.atoms.residues.iter().any(|r| !r.insertion.is_empty());
        let (nm, ps) = (length_factor(header.units, "nm"), picoseconds(header.units));
        let too_large = |vectors: &[Vec3], factor: f64, [low, high]: [f64; 2]| {
            vectors.iter().position(|v| !v.iter().all(|x| (low..high).contains(&(x * factor))))
        };
        let hint = "take another format, as xyz or trr";
        // Limits are those of eight columns with three and four decimals.
        if let Some(id) = too_large(frame.positions, nm, [-999.9995, 9999.9995]) {
            let message = "is too far away for a gro file: beyond -999.999 to 9999.999 nm";
            return Err(Error::simulation(format!("atom {id} {message}")).hint(hint));
        }
        let velocities = frame.velocities.unwrap_or_default();
        if let Some(id) = too_large(velocities, nm / ps, [-99.99995, 999.99995]) {
            let message = "is too fast for a gro file: beyond -99.9999 to 999.9999 nm/ps";
            return Err(Error::simulation(format!("atom {id} {message}")).hint(hint));
        }
        write(header, frame, [nm, nm / ps], out).map_err(unwritable)
    }

    fn take_note(&mut self, _: &WrittenSoFar) -> Option<String> {
        std::mem::take(&mut self.insertions)
            .then(|| "insertion codes of residues are left out: gro files have no place for them".into())
    }
}

fn write(
    header: &TrajectoryHeader,
    frame: &Frame,
    [of_length, of_velocity]: [f64; 2],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(out, "{}\n{:5}", FrameTitle::of(header, frame), frame.positions.len())?;
    for (id, r) in frame.positions.iter().enumerate() {
        let (atom, residue) = called(header, id);
        // Numbers that are too large for their columns begin anew; atoms are known by their order.
        let (serial, place) = ((id + 1) % 100_000, residue.number.rem_euclid(100_000));
        write!(out, "{place:5}{:<5}{:>5}{serial:5}", residue.name, atom.name)?;
        r.iter().try_for_each(|x| write!(out, "{:8.3}", x * of_length))?;
        if let Some(velocities) = frame.velocities {
            velocities[id].iter().try_for_each(|v| write!(out, "{:8.4}", v * of_velocity))?;
        }
        writeln!(out)?;
    }
    let [a, b, c] = match frame.simbox.periodic() {
        [false, false, false] => [Vec3::ZERO; 3],
        _ => frame.simbox.edges(),
    };
    // Readers take numbers of any width here.
    let mut edges = vec![a[0], b[1], c[2]];
    if !frame.simbox.is_orthorhombic() {
        edges.extend([a[1], a[2], b[0], b[2], c[0], c[1]]);
    }
    edges.iter().try_for_each(|x| write!(out, " {:.9}", x * of_length))?;
    writeln!(out)
}

struct Source {
    text: TextStream,
    labels: AtomLabels,
    frames: u64,
    units: FileUnits,
}

impl Source {
    fn new(stream: ByteStream, path: &Path) -> Self {
        let (text, labels) = (TextStream::new(stream, path), AtomLabels::default());
        Source { text, labels, frames: 0, units: FileUnits::Fixed("nm") }
    }

    /// Position and velocity of an atom; its labels are taken in the first frame and compared in later ones.
    fn read_atom(
        &mut self,
        (id, count): (usize, GroCount),
        collector: &mut Collector,
    ) -> Result<(Vec3, Option<Vec3>)> {
        let here = self.text.here();
        let atom = count.read_atom(id, &here, self.text.raw())?;
        if self.frames > 0 {
            self.labels.check_name(&here, id, atom.name)?;
            return Ok((atom.position, atom.velocity));
        }
        let [number, residue] = atom.residue;
        let element = element_of(atom.name, residue);
        collector.add([number, residue, "", ""], (atom.name, element), || Residue {
            name: residue.to_string(),
            number: number.parse().unwrap_or(0),
            ..Residue::default()
        });
        let species = self.labels.species_number(AtomLabels::species_of(atom.name, element))?;
        self.labels.species.push(species);
        Ok((atom.position, atom.velocity))
    }
}

impl Source {
    /// The next frame.
    fn frame(&mut self) -> Result<Option<Snapshot>> {
        if !self.text.advance()? {
            return Ok(None);
        }
        let title = FrameTitle::read(self.text.line());
        let is_blank = self.text.line().is_empty();
        if is_blank && self.frames > 0 {
            // Blank lines behind the last frame are no title.
            loop {
                match self.text.advance()? {
                    false => return Ok(None),
                    true if !self.text.line().is_empty() => break,
                    true => {}
                }
            }
        } else {
            self.text.must_advance("the number of atoms")?;
        }
        self.units = title.reduced.map_or(self.units, FileUnits::Of);
        let here = self.text.here();
        let count =
            GroCount { atoms: here.parse(Some(self.text.line()), "the number of atoms")?, line: here.at() };
        // An atom has twenty columns and three numbers of two characters at least.
        self.text.check_claim(count.atoms, 13)?;
        let (mut positions, mut velocities, mut collector) = (Vec::new(), Vec::new(), Collector::default());
        for id in 0..count.atoms as usize {
            self.text.must_advance(&format!("atom {} of {}", id + 1, count.atoms))?;
            let (position, velocity) = self.read_atom((id, count), &mut collector)?;
            positions.push(position);
            velocities.extend(velocity);
        }
        self.text.must_advance("the box")?;
        let edges = count.read_box(&self.text.here(), self.text.raw())?;
        let simbox = simbox_of(edges, &positions)?;
        if self.frames == 0 {
            self.labels.atoms = collector.into_names();
        }
        let velocities = count.all_velocities(&self.text.here(), velocities)?;
        let step = title.step.unwrap_or(self.frames);
        self.frames += 1;
        Ok(Some(Snapshot { step, time: title.time, simbox, positions, images: None, velocities }))
    }
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        self.frame().map_err(|e| self.text.explained(e))
    }

    fn units(&self) -> FileUnits {
        self.units
    }

    fn labels(&self) -> Option<&AtomLabels> {
        Some(&self.labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::{Open, TrajectoryFormat, TrajectoryReader, TrajectoryWriter};
    use jostle_core::{AtomName, Names, SimBox, UnitSystem, Vector};

    /// Two frames as `gmx trjconv` writes them (manual, chapter on file formats).
    const WATER: &str = "Water, t=   0.00000 step= 0
    3
    1SOL     OW    1   0.126   1.624   1.679  0.1227 -0.0580  0.0434
    1SOL    HW1    2   0.190   1.661   1.747  0.8085  0.3191 -0.7791
    1SOL    HW2    3   0.177   1.568   1.613 -0.9045 -2.6469  1.3180
   1.82060   1.82060   1.82060
Water, t=   0.50000 step= 250
    3
    1SOL     OW    1   0.136   1.624   1.679  0.1227 -0.0580  0.0434
    1SOL    HW1    2   0.190   1.661   1.747  0.8085  0.3191 -0.7791
    1SOL    HW2    3   0.177   1.568   1.613 -0.9045 -2.6469  1.3180
   1.82060   1.82060   1.82060   0.00000   0.00000   0.10000   0.00000   0.20000   0.30000
";

    fn read(name: &str, text: &str) -> Result<(TrajectoryReader, Vec<Snapshot>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut reader = TrajectoryReader::open(&path, &Open::default())?;
        let frames = std::iter::from_fn(|| reader.next_frame().transpose()).collect::<Result<_>>()?;
        Ok((reader, frames))
    }

    #[test]
    fn files_of_gromacs_are_read() {
        for (name, text) in
            [("a.gro", WATER.to_string()), ("a", WATER.replace("Water,", "7")), ("a", format!("{WATER}\n\n"))]
        {
            let (reader, frames) = read(name, &text).unwrap();
            assert_eq!((reader.units(), frames.len()), (UnitSystem::Nano, 2));
            assert_eq!((frames[1].step, frames[1].time), (250, Some(0.5)));
            assert_eq!(frames[1].positions[0], [0.136, 1.624, 1.679]);
            assert_eq!(frames[0].velocities.as_ref().unwrap()[2], [-0.9045, -2.6469, 1.3180]);
            assert_eq!(frames[0].simbox, SimBox::orthorhombic([1.8206; 3]).unwrap());
            assert_eq!(frames[1].simbox.tilts(), [0.1, 0.2, 0.3]);
            // Elements follow from the names of atoms in water.
            assert_eq!(
                (reader.names(), reader.species()),
                (&["O".to_string(), "H".into()][..], &[0, 1, 1][..])
            );
            let names = reader.header(&frames[0], None).atoms;
            assert_eq!(names.describe(2), "atom 3 (HW2 of SOL 1)");
        }
        // A file without steps, velocities and a box, and with more digits.
        let plain = "protein\n1\n    1GLY     CA    1     1.00001    -2.50000     0.25000\n 0 0 0\n";
        let (_, frames) = read("a.gro", plain).unwrap();
        assert_eq!((frames[0].step, frames[0].time, &frames[0].velocities), (0, None, &None));
        assert_eq!(frames[0].positions, [[1.00001, -2.5, 0.25]]);
        assert_eq!(frames[0].simbox.periodic(), [false; 3]);
    }

    #[test]
    fn damaged_files_are_refused_at_their_line() {
        for (from, to, line) in [
            ("\n    3\n", "\n    2\n", 5),
            ("  0.1227 -0.0580  0.0434", "", 6),
            ("\n    3\n", "\n    4\n", 6),
            ("\n    3\n", "\n    x\n", 2),
            ("1.679", "1.6x9", 3),
            ("   1.82060   1.82060   1.82060\n", "1 2\n", 6),
            ("    1SOL     OW    1   0.136", "    1SOL     XX    1   0.136", 9),
            ("    3\n    1SOL", "    9999999999\n    1SOL", 2),
        ] {
            let error = read("a.gro", &WATER.replacen(from, to, 1)).map(drop).unwrap_err();
            assert_eq!(error.place().unwrap().line, Some(line), "{to}: {error}");
        }
        for (count, message) in [("2", "by line 2 there are 2 and"), ("4", "by line 2 atom 4 of 4 should")] {
            let text = WATER.replacen("    3", &format!("    {count}"), 1);
            let error = read("a.gro", &text).map(drop).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        // A line that ends within the velocity of its atom.
        let end = WATER.rfind("  1.3180").unwrap();
        let error = read("a.gro", &WATER[..end]).map(drop).unwrap_err();
        assert!(
            error.message().contains("vz cannot be read from \"\": the file ends within this"),
            "{error}"
        );
        assert!(error.help().unwrap().contains("truncated"), "{error}");
        let whole = read("a.gro", WATER).unwrap().1;
        for end in 0..WATER.len() {
            // Frames that are read from a file that was cut short have all their atoms.
            let frames = read("a.gro", &WATER[..end]).map_or(Vec::new(), |(_, frames)| frames);
            assert!(frames.iter().zip(&whole).all(|(cut, frame)| cut.positions == frame.positions), "{end}");
        }
    }

    #[test]
    fn names_come_back_and_large_numbers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gro");
        let residues = vec![
            Residue { name: "LIG".into(), number: 123_456, ..Residue::default() },
            Residue { name: "POPC5".into(), number: 7, ..Residue::default() },
        ];
        let atom = |name: &str, residue| AtomName { name: name.into(), element: String::new(), residue };
        let atoms = Names { atoms: vec![atom("C1", 0), atom("HG111", 1)], residues, ..Names::default() };
        let header = TrajectoryHeader {
            units: UnitSystem::Real,
            names: vec!["X".into()],
            species: vec![0; 2],
            masses: Vec::new(),
            charges: Vec::new(),
            atoms,
            bonds: Vec::new(),
            periodic: [true; 3],
            timestep: 1.0,
            every: 1,
            images: false,
        };
        let create = |header: &TrajectoryHeader| {
            TrajectoryWriter::create(&path, TrajectoryFormat::Gro, header.clone())
        };
        let simbox = SimBox::new([0.0; 3], [30.0, 40.0, 50.0], [1.0, -2.0, 3.0], [true; 3]).unwrap();
        let (positions, velocities) =
            ([Vector([-9999.0, 0.0, 99_999.99]), Vector([1.0; 3])], [Vector([-0.9, 0.0, 9.9]), Vec3::ZERO]);
        let frame = Frame {
            step: 9,
            time: Some(18.0),
            simbox: &simbox,
            positions: &positions,
            velocities: Some(&velocities),
            images: None,
        };
        let mut writer = create(&header).unwrap();
        writer.write(&frame).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("\n23456LIG     C1    1-999.900   0.0009999.999-90.0000  0.0000990.0000\n"),
            "{text}"
        );
        let (reader, frames) = read("b.gro", &text).unwrap();
        assert_eq!((frames[0].step, frames[0].time.map(|t| (1e6 * t).round())), (9, Some(18_000.0)));
        assert_eq!(frames[0].positions, [[-999.9, 0.0, 9999.999], [0.1; 3]]);
        let names = reader.header(&frames[0], None).atoms;
        assert_eq!((names.atoms[1].name.as_str(), names.residues[1].name.as_str()), ("HG111", "POPC5"));
        for (position, speed, wanted) in
            [(1e5, 0.0, "too far away"), (0.0, 10.0, "too fast"), (0.0, f64::NAN, "too fast")]
        {
            let (positions, velocities) =
                ([Vec3::ZERO, Vector([0.0, position, 0.0])], [Vec3::ZERO, Vector([speed; 3])]);
            let frame = Frame { positions: &positions, velocities: Some(&velocities), ..frame };
            let error = writer.write(&frame).unwrap_err();
            assert!(error.message().contains(wanted) && error.message().contains("atom 1"), "{error}");
        }
        let mut long = header.clone();
        long.atoms.residues[0].name = "LIGAND".into();
        assert!(create(&long).map(drop).unwrap_err().message().contains("\"LIGAND\""));
    }
}
