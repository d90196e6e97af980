//! Trajectories as other programs write them: what they mean is read, and what is not read is said.

use jostle_core::{Components, Error, Names, SimBox, UnitSystem, Vec3, Vector};
use jostle_io::forcefield::coordinates::Coordinates;
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::structure::{Reading, Structure};
use jostle_io::{Frame, Input, Open, Snapshot, TrajectoryHeader, TrajectoryReader, TrajectoryWriter};
use std::io::Write;
use std::path::{Path, PathBuf};

fn read_file(path: &Path, names: Option<PathBuf>) -> Result<(TrajectoryReader, Vec<Snapshot>), Error> {
    let mut reader = TrajectoryReader::open(path, &Open { names, ..Open::default() })?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push(frame);
    }
    Ok((reader, frames))
}

/// Reader and frames of a file with these contents.
fn read(name: &str, bytes: &[u8]) -> Result<(TrajectoryReader, Vec<Snapshot>), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read_file(&path, None)
}

fn close(got: &[Vec3], want: &[Vec3], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.as_flattened().iter().zip(want.as_flattened()) {
        assert!((g - w).abs() <= tolerance, "{got:?} is not {want:?}");
    }
}

/// A DCD file, little-endian.
struct Dcd {
    version: i32,
    cell: [f64; 6],
    /// Bytes of the mark of a record.
    marks: usize,
    /// Numbers of the atoms that move, where others are fixed.
    free: Vec<i32>,
    frames: Vec<Vec<Vec3>>,
}

impl Dcd {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut record = |contents: &[u8]| {
            let length = (contents.len() as u64).to_le_bytes();
            out.extend(&length[..self.marks]);
            out.extend(contents);
            out.extend(&length[..self.marks]);
        };
        let atoms = self.frames[0].len();
        let mut control = [0i32; 20];
        (control[0], control[1], control[2]) = (self.frames.len() as i32, 1, 1);
        (control[9], control[10], control[19]) = (0.02f32.to_bits() as i32, 1, self.version);
        if !self.free.is_empty() {
            control[8] = (atoms - self.free.len()) as i32;
        }
        let words: Vec<u8> = control.iter().flat_map(|c| c.to_le_bytes()).collect();
        record(&[b"CORD", &words[..]].concat());
        record(&[&1i32.to_le_bytes()[..], &[b' '; 80]].concat());
        record(&(atoms as i32).to_le_bytes());
        if !self.free.is_empty() {
            record(&self.free.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>());
        }
        for frame in &self.frames {
            record(&self.cell.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
            for axis in 0..3 {
                record(&frame.iter().flat_map(|r| (r[axis] as f32).to_le_bytes()).collect::<Vec<u8>>());
            }
        }
        out
    }
}

fn lengths_and_volume(simbox: &SimBox) -> (Vec3, f64) {
    (Vector(simbox.edges().map(|e| e.iter().map(|x| x * x).sum::<f64>().sqrt())), simbox.volume())
}

/// CHARMM's truncated octahedron of edge 60: the symmetric matrix whose square has 3600 on its diagonal and
/// -1200 beside it (angles of 109.47 degrees), so that p^2 + 2 q^2 = 3600 and q^2 + 2 p q = -1200.
#[test]
fn cells_of_charmm_are_symmetric_matrices() {
    let (p, q) = (57.735_026_918_962_58, -11.547_005_383_792_516);
    let cell = [p, q, p, q, q, p];
    // Fractions of the edges.
    let fractions = [Vector([0.0, 0.0, 0.0]), Vector([0.25, 0.5, 0.125]), Vector([0.5, 0.25, 0.75])];
    let place = |s: Vec3| -> Vec3 {
        let h = [[p, q, q], [q, p, q], [q, q, p]];
        Vector::from_fn(|k| (0..3).map(|edge| s[edge] * h[edge][k]).sum())
    };
    let frames = vec![fractions.map(place).to_vec()];
    for version in [25, 36, 24] {
        // A matrix makes no sense as angles, whatever the version.
        let dcd = Dcd { version, cell, marks: 4, free: vec![], frames: frames.clone() };
        let frame = read("a.dcd", &dcd.bytes()).unwrap().1.remove(0);
        let (lengths, volume) = lengths_and_volume(&frame.simbox);
        close(&[lengths], &[Vector([60.0; 3])], 1e-9);
        // 4 sqrt(3)/9 of the cube of the edge.
        assert!((volume / (60f64.powi(3) * 4.0 * 3f64.sqrt() / 9.0) - 1.0).abs() < 1e-9, "{volume}");
        let got: Vec<Vec3> = frame.positions.iter().map(|r| frame.simbox.to_fractional(*r)).collect();
        close(&got, &fractions, 1e-6);
    }
    // Cells under lower numbers, and angles in degrees under any number, keep their meaning.
    for (version, cell, volume) in [
        (24, [20.0, 0.5, 20.0, 0.0, 0.0, 20.0], 8000.0 * 0.75f64.sqrt()),
        (24, [20.0, 60.0, 20.0, 90.0, 90.0, 20.0], 8000.0 * 0.75f64.sqrt()),
        (36, [200.0, 90.0, 200.0, 90.0, 90.0, 200.0], 8e6),
        (36, [20.0, 0.0, 30.0, 0.0, 0.0, 40.0], 24_000.0),
    ] {
        let dcd = Dcd { version, cell, marks: 4, free: vec![], frames: vec![vec![Vector([1.0, 2.0, 3.0])]] };
        let frame = read("a.dcd", &dcd.bytes()).unwrap().1.remove(0);
        assert!((frame.simbox.volume() / volume - 1.0).abs() < 1e-12, "{version} {cell:?}");
        assert_eq!(frame.positions, [[1.0, 2.0, 3.0]]);
    }
}

#[test]
fn fixed_atoms_of_dcd_stay_and_records_may_have_long_marks() {
    let first = vec![Vector([1.0, 2.0, 3.0]), Vector([4.0, 5.0, 6.0]), Vector([7.0, 8.0, 9.0])];
    let moved = vec![Vector([1.5, 2.5, 3.5]), Vector([7.5, 8.5, 9.5])];
    let whole = vec![moved[0], first[1], moved[1]];
    for marks in [4, 8] {
        let cell = [20.0, 0.0, 20.0, 0.0, 0.0, 20.0];
        let frames = vec![first.clone(), moved.clone(), moved.clone()];
        let dcd = Dcd { version: 24, cell, marks, free: vec![1, 3], frames };
        let got = read("a.dcd", &dcd.bytes()).unwrap().1;
        let got: Vec<_> = got.into_iter().map(|frame| frame.positions).collect();
        assert_eq!(got, [first.clone(), whole.clone(), whole.clone()]);
        let bad = Dcd { free: vec![1, 4], ..dcd };
        let error = read("a.dcd", &bad.bytes()).map(drop).unwrap_err();
        assert!(error.message().contains("atom 4 of 3"), "{error}");
    }
}

const HEAD: &str = "ITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 10\n0 10\nITEM: ATOMS";

/// Unwrapped columns give the paths of wrapped ones with images.
#[test]
fn unwrapped_dumps_say_so() {
    let unwrapped = format!("ITEM: TIMESTEP\n0\n{HEAD} id type xu yu zu\n1 1 23 4 -5\n2 1 1 2 3\n");
    let scaled = format!(
        "ITEM: TIMESTEP\n0\n{HEAD} id type x y z xsu ysu zsu\n1 1 3 4 5 2.3 0.4 -0.5\n2 1 1 2 3 .1 .2 .3\n"
    );
    let images =
        format!("ITEM: TIMESTEP\n0\n{HEAD} id type x y z ix iy iz\n1 1 3 4 5 2 0 -1\n2 1 1 2 3 0 0 0\n");
    let counted = Some(vec![[2, 0, -1], [0; 3]]);
    for (text, before) in
        [(unwrapped, Some(vec![[0; 3]; 2])), (scaled, Some(vec![[0; 3]; 2])), (images, counted.clone())]
    {
        let mut frame = read("a.dump", text.as_bytes()).unwrap().1.remove(0);
        assert_eq!(frame.images, before);
        frame.wrap_counted().unwrap();
        close(&frame.positions, &[Vector([3.0, 4.0, 5.0]), Vector([1.0, 2.0, 3.0])], 1e-12);
        assert_eq!(frame.images, counted);
    }
    let far = format!("ITEM: TIMESTEP\n0\n{HEAD} id type xu yu zu\n1 1 1e300 4 -5\n2 1 1 2 3\n");
    let mut frame = read("a.dump", far.as_bytes()).unwrap().1.remove(0);
    assert!(frame.wrap_counted().is_err());
}

#[test]
fn dumps_without_ids_are_read_in_order_and_that_is_said() {
    let text = format!("ITEM: TIMESTEP\n0\n{HEAD} type x y z\n2 3 4 5\n1 1 2 3\n");
    let (reader, frames) = read("a.dump", text.as_bytes()).unwrap();
    assert_eq!(frames[0].positions, [[3.0, 4.0, 5.0], [1.0, 2.0, 3.0]]);
    assert_eq!(reader.names(), ["2", "1"]);
    assert!(reader.notes().iter().any(|note| note.contains("no column id")), "{:?}", reader.notes());
    let text = format!("ITEM: TIMESTEP\n0\n{HEAD} id type x y z c_vel[1]\n2 1 3 4 5 6\n1 1 1 2 3 4\n");
    let reader = read("a.dump", text.as_bytes()).unwrap().0;
    assert!(reader.notes().iter().any(|note| note.contains("c_vel[1]")), "{:?}", reader.notes());
}

fn header(atoms: usize, images: bool) -> TrajectoryHeader {
    TrajectoryHeader {
        units: UnitSystem::Real,
        names: vec!["Ar".into()],
        species: vec![0; atoms],
        masses: Vec::new(),
        charges: Vec::new(),
        atoms: Names::default(),
        bonds: Vec::new(),
        periodic: [true; 3],
        timestep: 1.0,
        every: 1,
        images,
    }
}

fn write(
    path: &Path,
    format: TrajectoryFormat,
    positions: &[Vec3],
    images: Option<&[[i32; 3]]>,
) -> Result<(), Error> {
    let mut writer = TrajectoryWriter::create(path, format, header(positions.len(), images.is_some()))?;
    let simbox = SimBox::orthorhombic([10.0; 3])?;
    for step in 0..3 {
        let velocities = format.has_velocities().then_some(positions);
        writer.write(&Frame {
            step,
            time: Some(step as f64),
            simbox: &simbox,
            positions,
            velocities,
            images,
        })?;
    }
    Ok(())
}

/// Odd numbers of atoms are padded in HDF5.
#[test]
fn images_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let positions = [Vector([1.0, 2.0, 3.0]), Vector([4.0, 5.0, 6.0]), Vector([7.0, 8.0, 9.0])];
    let images = [[1, -2, 3], [0, 0, 0], [-4, 5, 2_000_000]];
    for format in TrajectoryFormat::ALL.iter().filter(|format| format.has_images()) {
        let path = folder.path().join(format!("a.{}", format.extension()));
        write(&path, *format, &positions, Some(&images)).unwrap();
        let frames = read_file(&path, None).unwrap().1;
        assert_eq!(frames.len(), 3);
        for frame in frames {
            assert_eq!(frame.images.as_deref(), Some(&images[..]), "{}", format.name());
            let velocities = frame.velocities.unwrap();
            close(&velocities, &positions, 1e-6);
        }
        write(&path, *format, &positions, None).unwrap();
        assert_eq!(read_file(&path, None).unwrap().1[0].images, None);
    }
}

/// The files hold 20 atoms and claim a thousand million.
#[test]
fn atoms_that_are_not_there_are_refused_with_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let positions: Vec<Vec3> = (0..20).map(|k| Vector([0.3 * k as f64, 1.0, 2.0])).collect();
    const MANY: u32 = 1_000_000_000;
    let patched = |mut bytes: Vec<u8>, from: &[u8], to: &[u8]| {
        let mut found = 0;
        for at in 0..bytes.len() - from.len() {
            if bytes[at..].starts_with(from) {
                bytes[at..at + from.len()].copy_from_slice(to);
                found += 1;
            }
        }
        assert!(found > 0);
        bytes
    };
    for format in [TrajectoryFormat::Xtc, TrajectoryFormat::Dcd, TrajectoryFormat::Gsd] {
        let path = folder.path().join(format!("a.{}", format.extension()));
        write(&path, format, &positions, None).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let bytes = match format {
            TrajectoryFormat::Xtc => patched(bytes, &20u32.to_be_bytes(), &MANY.to_be_bytes()),
            _ => patched(bytes, &20u32.to_le_bytes(), &MANY.to_le_bytes()),
        };
        std::fs::write(&path, &bytes).unwrap();
        let error = read_file(&path, None).map(drop).unwrap_err();
        assert!(error.message().contains(&MANY.to_string()), "{}: {error}", format.name());
    }
    // A frame of TRR tells its sizes before its atoms.
    let many = MANY / 10;
    let mut trr = Vec::new();
    for word in [1993, 13, 12] {
        trr.extend(i32::to_be_bytes(word));
    }
    trr.extend(b"GMX_trn_file");
    for size in [0, 0, 36, 0, 0, 0, 0, 12 * many, 0, 0, many, 0, 0] {
        trr.extend(size.to_be_bytes());
    }
    trr.extend([0; 100]);
    let dump = format!("ITEM: TIMESTEP\n0\n{HEAD} id type x y z\n1 1 3 4 5\n")
        .replace("ATOMS\n2\n", &format!("ATOMS\n{MANY}\n"));
    for (name, bytes, atoms) in [
        ("a.trr", trr, many),
        ("a.xyz", format!("{MANY}\n\nAr 1 2 3\n").into_bytes(), MANY),
        ("a.lammpstrj", dump.into_bytes(), MANY),
    ] {
        let error = read(name, &bytes).map(drop).unwrap_err();
        assert!(error.message().contains(&format!("{atoms} atoms")), "{name}: {error}");
        // Packed, as well.
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).unwrap();
        let error = read(name, &gzip.finish().unwrap()).map(drop).unwrap_err();
        assert!(error.message().contains(&format!("{atoms} atoms")), "{name}: {error}");
    }
}

#[test]
fn frames_without_atoms_and_files_packed_twice_are_refused() {
    let mut xtc = Vec::new();
    for word in [1995, 0, 1, 0] {
        xtc.extend(i32::to_be_bytes(word));
    }
    xtc.extend([0; 36]);
    xtc.extend(0i32.to_be_bytes());
    let error = read("a.xtc", &xtc).map(drop).unwrap_err();
    assert!(error.message().contains("no atoms"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = write(&folder.path().join("b.xtc"), TrajectoryFormat::Xtc, &[], None).unwrap_err();
    assert!(error.message().contains("no atoms"), "{error}");
    write(&folder.path().join("c.gsd"), TrajectoryFormat::Gsd, &[Vector([1.0; 3])], None).unwrap();
    let gsd = std::fs::read(folder.path().join("c.gsd")).unwrap();
    let error = read("c.gsd.zst", &zstd::encode_all(&gsd[..], 1).unwrap()).map(drop).unwrap_err();
    assert!(error.help().unwrap().contains("unpack it first"), "{error}");
    let once = zstd::encode_all(&b"1\n\nAr 1 2 3\n"[..], 1).unwrap();
    assert!(read("a.xyz.zst", &once).is_ok());
    let error = read("a.xyz.zst.zst", &zstd::encode_all(&once[..], 1).unwrap()).map(drop).unwrap_err();
    assert!(error.message().contains("packed twice"), "{error}");
}

#[test]
fn extended_xyz_without_a_cell_or_with_numbers_of_elements_is_read() {
    let zero = "2\nLattice=\"0 0 0 0 0 0 0 0 0\" Properties=Z:I:1:pos:R:3 pbc=\"F F F\"\n8 0 0 0\n1 1 2 3\n";
    let (reader, frames) = read("a.xyz", zero.as_bytes()).unwrap();
    assert_eq!(reader.names(), ["O", "H"]);
    assert_eq!(frames[0].simbox.periodic(), [false; 3]);
    // ASE's slabs: no edge along the open axis.
    let slab = "2\nLattice=\"4 0 0 1 5 0 0 0 0\" Properties=species:S:1:pos:R:3 pbc=\"T T F\"\nAr 0 0 -2\nAr 1 1 3\n";
    let slab_frame = read("a.xyz", slab.as_bytes()).unwrap().1.remove(0);
    let expected =
        SimBox::new([0.0, 0.0, -2.0], [4.0, 5.0, 5.0], [1.0, 0.0, 0.0], [true, true, false]).unwrap();
    assert_eq!(slab_frame.simbox, expected);
    let reading = Reading { units: UnitSystem::Metal, types: &[], periodic: None };
    let structure = |text: &str| Structure::parse(Path::new("a.xyz"), text.as_bytes(), reading);
    assert_eq!(structure(slab).unwrap().simbox, expected);
    assert_eq!(structure(zero).unwrap().species[0].name, "O");
    for text in [slab.replace("T T F", "T T T"), zero.replace("F F F", "T F F"), zero.replace("8 0", "119 0")]
    {
        assert!(read("a.xyz", text.as_bytes()).is_err() && structure(&text).is_err(), "{text}");
    }
}

/// Momenta in the square root of u eV: p^2 / 2m is 0.39948^2 / (2 x 39.948) eV for each of two atoms.
#[test]
fn momenta_of_ase_become_velocities() {
    let text = "2\nLattice=\"20 0 0 0 20 0 0 0 20\" Properties=species:S:1:pos:R:3:momenta:R:3 pbc=\"T T T\"\n\
        Ar 0 0 0 0.39948 0 0\nAr 4 0 0 -0.39948 0 0\n";
    let kinetic = |units: &str| {
        let input = format!(
            "units = \"{units}\"\n[system]\nfile = \"a.xyz\"\n[species.Ar]\nmass = 39.948\n[[stage]]\nsteps = 1\ntimestep = 0.001\n"
        );
        let input = Input::parse(Path::new("a.toml"), &input).unwrap();
        let reading = Reading { units: input.units, types: &[], periodic: None };
        let structure = Structure::parse(Path::new("a.xyz"), text.as_bytes(), reading).unwrap();
        let system = structure.into_system(&input).unwrap();
        let mass = system.species[0].mass;
        system.state.velocity.as_flattened().iter().map(|v| 0.5 * mass * v * v).sum::<f64>()
    };
    let expected = 0.39948f64.powi(2) / 39.948;
    assert!((kinetic("metal") / expected - 1.0).abs() < 1e-12);
    assert!((kinetic("lj") / expected - 1.0).abs() < 1e-12);
    // 1 eV = 96.48533212331 kJ/mol (CODATA 2018), 1 kcal = 4.184 kJ.
    let kcal = expected * 96.485_332_123_31 / 4.184;
    assert!((kinetic("real") / kcal - 1.0).abs() < 1e-9, "{} {kcal}", kinetic("real"));
    // Masses are unknown in a trajectory, so momenta are not read.
    let (reader, frames) = read("a.xyz", text.as_bytes()).unwrap();
    assert!(frames[0].velocities.is_none() && reader.notes()[0].contains("momenta"), "{:?}", reader.notes());
    let reading = Reading { units: UnitSystem::Metal, types: &[], periodic: None };
    let other = text.replace("momenta", "velo_com");
    let error = Structure::parse(Path::new("a.xyz"), other.as_bytes(), reading).unwrap_err();
    assert!(error.message().contains("velo_com"), "{error}");
    let apart = text.replace("momenta:R:3", "vx:R:1:vy:R:1:vz:R:1");
    let frame = read("a.xyz", apart.as_bytes()).unwrap().1.remove(0);
    assert_eq!(frame.velocities.unwrap()[1], [-0.39948, 0.0, 0.0]);
}

const ATOMS: &str = "\
ATOM  99998  O   HOH A   1       1.000   1.000   1.000  1.00  0.00           O
ATOM  99999  O   HOH A   2       2.000   1.000   1.000  1.00  0.00           O
ATOM 100000  O   HOH A   3       3.000   1.000   1.000  1.00  0.00           O
ATOM 100001  O   HOH A10000      4.000   1.000   1.000  1.00  0.00           O
HETATM100002 O   HOH A10001      5.000   1.000   1.000  1.00  0.00           O
";

#[test]
fn numbers_of_pdb_may_run_into_the_column_before() {
    let (reader, frames) = read("a.pdb", format!("{ATOMS}CONECT9999899999\nEND\n").as_bytes()).unwrap();
    let x: Vec<f64> = frames[0].positions.iter().map(|r| r[0]).collect();
    assert_eq!(x, [1.0, 2.0, 3.0, 4.0, 5.0]);
    let residues = reader.header(&frames[0], None).atoms.residues;
    assert_eq!(residues.iter().map(|r| r.number).collect::<Vec<_>>(), [1, 2, 3, 10_000, 10_001]);
    // Columns of five digits tell no bonds between numbers of six.
    assert!(reader.bonds().is_empty() && reader.notes()[0].contains("CONECT"));
}

#[test]
fn cells_of_pdb_may_have_lengths_only() {
    let text = format!("\u{feff}CRYST1   30.000   40.000   50.000\n{ATOMS}END\n");
    let frame = read("a.pdb", text.as_bytes()).unwrap().1.remove(0);
    assert_eq!(frame.simbox, SimBox::orthorhombic([30.0, 40.0, 50.0]).unwrap());
    let text = format!("CRYST1   30.000   40.000   50.000  90.00\n{ATOMS}END\n");
    assert!(read("a.pdb", text.as_bytes()).is_err());
}

#[test]
fn what_comes_first_in_pdb_and_mmcif_does_not_matter() {
    for first in
        ["\n", "SSBOND   1 CYS A    6    CYS A   11\n", "# drawn by hand\n", "USER  MOD\n", "\u{feff}\n\n"]
    {
        let (_, frames) = read("a.ent", format!("{first}{ATOMS}END\n").as_bytes()).unwrap();
        assert_eq!(frames[0].positions.len(), 5, "{first}");
    }
    let cif = "\u{feff}data_X\nloop_\n_atom_site.id\n_atom_site.type_symbol\n_atom_site.label_atom_id\n\
        _atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n1 C CA 1.0 2.0 3.0\n";
    for text in [cif.to_string(), format!("# a comment\n\n{}", cif.trim_start_matches('\u{feff}'))] {
        assert_eq!(read("a.txt", text.as_bytes()).unwrap().1[0].positions, [[1.0, 2.0, 3.0]]);
    }
}

/// Atoms in two places count twice: an error about their number names them.
#[test]
fn alternative_places_are_named_where_counts_differ() {
    let folder = tempfile::tempdir().unwrap();
    let names = folder.path().join("names.pdb");
    let text = "\
ATOM      1  CA AALA A   1       1.000   1.000   1.000  1.00  0.00
ATOM      2  CA BALA A   1       1.200   1.000   1.000  1.00  0.00
ATOM      3  CB  ALA A   1       2.000   1.000   1.000  1.00  0.00
";
    std::fs::write(&names, text).unwrap();
    let path = folder.path().join("a.xtc");
    write(&path, TrajectoryFormat::Xtc, &[Vector([1.0; 3]), Vector([2.0; 3])], None).unwrap();
    let error = read_file(&path, Some(names)).map(drop).unwrap_err();
    let hint = error.help().unwrap();
    assert!(hint.contains("1 in place A, 1 in place B"), "{hint}");
}

/// Times are made up for formats alone that cannot do without.
#[test]
fn numbers_of_frames_are_no_times() {
    let folder = tempfile::tempdir().unwrap();
    let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
    for format in TrajectoryFormat::ALL {
        let path = folder.path().join(format!("a.{}", format.extension()));
        let header = TrajectoryHeader { timestep: 0.0, every: 10, ..header(1, false) };
        let mut writer = TrajectoryWriter::create(&path, *format, header).unwrap();
        for step in [10, 20] {
            let positions = &[Vector([1.0; 3])][..];
            let frame =
                Frame { step, time: None, simbox: &simbox, positions, velocities: None, images: None };
            writer.write(&frame).unwrap();
        }
        let frames = read_file(&path, None).unwrap().1;
        assert_eq!([frames[0].step, frames[1].step], [10, 20], "{}", format.name());
        assert_eq!(frames[1].time.is_some(), format.needs_times(), "{}", format.name());
    }
}

/// Comments of a PDB in another encoding are no reason to refuse its atoms; the same letters among these are.
#[test]
fn comments_of_pdb_may_be_of_any_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin.pdb");
    let text = "REMARK   1 \u{c5}NGSTR\u{d6}M\nAUTHOR    J. B\u{e9}zier\n\
        ATOM      1  CA  GLY A   1       1.000   2.000   3.000  1.00  0.00           C\nEND\n";
    let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    std::fs::write(&path, latin(text)).unwrap();
    let found = Coordinates::read(&path, UnitSystem::Real).unwrap();
    assert_eq!((found.positions.len(), found.positions[0][2]), (1, 3.0));
    let mut reader = TrajectoryReader::open(&path, &Open::default()).unwrap();
    assert_eq!(reader.next_frame().unwrap().unwrap().positions[0][0], 1.0);
    std::fs::write(&path, latin(&text.replace("CA ", "C\u{e4} "))).unwrap();
    let error = Coordinates::read(&path, UnitSystem::Real).unwrap_err();
    assert_eq!(error.place().unwrap().line, Some(3), "{error}");
    let read = TrajectoryReader::open(&path, &Open::default());
    let error = read.and_then(|mut reader| reader.next_frame().map(drop)).unwrap_err();
    assert_eq!(error.place().unwrap().line, Some(3), "{error}");
}

/// A file that ends between two atoms of a frame is truncated, not one of other atoms.
#[test]
fn a_part_of_a_frame_at_the_end_of_an_mmcif_is_named() {
    let block = |model: u32| {
        format!(
            "data_{model}\nloop_\n_atom_site.id\n_atom_site.type_symbol\n_atom_site.label_atom_id\n\
             _atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n1 C CA 1.0 2.0 3.0\n2 C CB 2.0 2.0 3.0\n"
        )
    };
    let whole = block(1) + &block(2);
    assert_eq!(read("a.cif", whole.as_bytes()).unwrap().1.len(), 2);
    let part = whole.strip_suffix("2 C CB 2.0 2.0 3.0\n").unwrap();
    let error = read("a.cif", part.as_bytes()).map(|_| ()).unwrap_err();
    assert!(error.message().contains("ends after 1 of the 2 atoms"), "{error}");
    assert!(error.help().unwrap().contains("truncated"), "{error}");
}
