//! Checkpoints: everything a run needs to go on as if it had never stopped.
//!
//! The file is `magic | version | length | body | crc32`; the body is zstd-compressed and holds a
//! postcard header and the raw arrays. A damaged file is recognised by its checksum, never read.

use crate::clock::Clock;
use crate::force_context::SavedForce;
use crate::input_text::{InputText, absolute};
use crate::measure::SavedMeasure;
use crate::report::StageReport;
use crate::stage::StageRun;
use jostle_core::{
    Components, Driven, Error, Group, Names, RememberedContact, Result, SimBox, Species, State, System,
    Topology, UnitSystem, Vec3, Vector,
};
use jostle_io::Input;
use jostle_io::trajectory::WrittenSoFar;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"JOSTLECP";
const VERSION: u32 = 24;
/// Magic, version, length of the body.
const FRONT: usize = 8 + 4 + 8;
/// Level of zstd: positions hardly compress, so that slower levels gain next to nothing.
const COMPRESSION: i32 = 1;

/// Everything a run needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    pub(crate) header: Header,
    /// The atoms in storage order; forces are not stored, since they follow from the positions.
    pub(crate) state: State,
    /// Bonds, constraints and exclusions.
    pub(crate) topology: Topology,
    /// Charges, see [`System::charges`].
    pub(crate) charges: Vec<f64>,
    /// Names, see [`System::names`].
    pub(crate) names: Names,
    /// Groups, see [`System::groups`].
    pub(crate) groups: Vec<Group>,
    /// Reference positions of restraints, see [`System::reference_positions`].
    pub(crate) reference_positions: Vec<Vec3>,
    /// Box of the reference positions, see [`System::reference_box`].
    pub(crate) reference_box: Option<SimBox>,
    /// Positions at the last build of the neighbour lists, see [`jostle_core::AtomStorage::list_positions`].
    pub(crate) list_positions: Vec<Vec3>,
}

/// All of a checkpoint but the arrays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of the program that wrote the checkpoint.
    pub program: String,
    pub units: String,
    pub origin: Vec3,
    pub lengths: [f64; 3],
    pub tilts: [f64; 3],
    pub periodic: [bool; 3],
    /// Volume of the box at the beginning of the run: parameters of forces that depend on densities keep
    /// their values from then.
    pub first_volume: f64,
    /// Degrees of freedom of the groups whose temperatures are columns: those at the beginning of the run, as they depend on
    /// the form of molecules.
    pub group_degrees: Vec<f64>,
    /// Name, mass and charge, the mass as [`Species::mass`].
    pub species: Vec<(String, f64, f64)>,
    pub atoms: u64,
    pub skin: f64,
    pub clock: Clock,
    /// The stage under way; `None` between stages.
    pub run: Option<StageRun>,
    /// The measures of the stage under way.
    pub measures: Vec<SavedMeasure>,
    /// Custom forces.
    pub forces: Vec<SavedForce>,
    /// The stages that are over.
    pub reports: Vec<StageReport>,
    /// The input; `None` for a simulation that a program has put together.
    pub input: Option<InputText>,
    /// The length of `thermo.csv`.
    pub thermo_bytes: u64,
    /// Length of the trajectory of the stage under way.
    #[serde(with = "position")]
    pub trajectory: Option<WrittenSoFar>,
}

/// [`WrittenSoFar`] as numbers.
mod position {
    use super::{Deserialize, Serialize, WrittenSoFar};
    use serde::{Deserializer, Serializer};

    type Numbers = ([u64; 3], Option<[f64; 2]>);

    pub fn serialize<S: Serializer>(position: &Option<WrittenSoFar>, to: S) -> Result<S::Ok, S::Error> {
        position.map(|p| ([p.frames, p.bytes, p.first_step], p.times)).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<WrittenSoFar>, D::Error> {
        let numbers = Option::<Numbers>::deserialize(from)?;
        let position =
            |([frames, bytes, first_step], times): Numbers| WrittenSoFar { frames, bytes, first_step, times };
        Ok(numbers.map(position))
    }
}

impl Checkpoint {
    /// True if a file begins as a checkpoint does.
    pub fn is_one(path: &Path) -> bool {
        let mut magic = [0; 8];
        File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && magic == *MAGIC
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or was written by another version of the format.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, &e))?;
        let mut checkpoint = Self::decode(&bytes).map_err(|e| e.blame_file(path))?;
        let folder = absolute(path).parent().map(Path::to_path_buf);
        let input = checkpoint.header.input.take();
        checkpoint.header.input = match folder {
            Some(folder) => input.map(|input| input.found_in(&folder)),
            None => input,
        };
        Ok(checkpoint)
    }

    /// The unit system of the checkpoint.
    ///
    /// # Errors
    /// If this version of the program has no such unit system.
    pub fn units(&self) -> Result<UnitSystem> {
        let units = UnitSystem::ALL.into_iter().find(|u| u.name() == self.header.units);
        units.ok_or_else(|| damaged(&format!("there is no unit system '{}'", self.header.units)))
    }

    /// The input that the run began with, whose paths are those of that file, not of the copy in the folder of the run;
    /// `None` if a program put the run together.
    ///
    /// # Errors
    /// Errors of [`Input::parse`].
    pub fn input(&self) -> Result<Option<Input>> {
        self.header.input.as_ref().map(|source| Input::parse(&source.path, &source.text)).transpose()
    }

    /// Refuses an input whose files have changed since the run began: tables, potentials and topologies, but not
    /// coordinates, which only the beginning needs.
    ///
    /// # Errors
    /// If one of them has another content now, or cannot be read.
    pub fn refuse_changed_files(&self) -> Result<()> {
        self.header.input.as_ref().map_or(Ok(()), InputText::refuse_changed_files)
    }

    /// Returns true where a run begun now would begin as this one did: all files that its input names are as they were,
    /// those with coordinates, too.
    pub fn would_begin_alike(&self) -> bool {
        self.header.input.as_ref().is_none_or(InputText::would_begin_alike)
    }

    /// Steps made so far, over all stages.
    pub fn step(&self) -> u64 {
        self.header.clock.step
    }

    /// The box, the species and the atoms, sorted by id: a system to start from.
    ///
    /// # Errors
    /// If the box makes no sense.
    pub fn into_system(self) -> Result<System> {
        let (simbox, species) = (self.simbox()?, self.species());
        let mut state = self.state;
        state.sort_by_id();
        Ok(System {
            simbox,
            species,
            state,
            topology: self.topology,
            charges: self.charges,
            driven: Driven::default(),
            groups: self.groups,
            reference_positions: self.reference_positions,
            reference_box: self.reference_box,
            names: self.names,
        })
    }

    /// The box.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn simbox(&self) -> Result<SimBox> {
        let h = &self.header;
        SimBox::new(h.origin, h.lengths, h.tilts, h.periodic)
    }

    pub(crate) fn species(&self) -> Vec<Species> {
        let species = |(name, mass, charge): &(String, f64, f64)| Species {
            name: name.clone(),
            mass: *mass,
            charge: *charge,
        };
        self.header.species.iter().map(species).collect()
    }

    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let failed =
            |e: &dyn std::fmt::Display| Error::simulation(format!("a checkpoint cannot be made: {e}"));
        let header = postcard::to_stdvec(&self.header).map_err(|e| failed(&e))?;
        let mut body = zstd::Encoder::new(Vec::new(), COMPRESSION).map_err(|e| failed(&e))?;
        let mut put = |bytes: &[u8]| body.write_all(bytes).map_err(|e| failed(&e));
        put(&(header.len() as u64).to_le_bytes())?;
        put(&header)?;
        let State { id, species, position, image, velocity, angular_velocity, contacts, force: _ } =
            &self.state;
        put(&bytes_of(id, |x| x.to_le_bytes()))?;
        put(&bytes_of(species, |x| x.to_le_bytes()))?;
        put(&bytes_of(image.as_flattened(), |x| x.to_le_bytes()))?;
        for vectors in [position, velocity, &self.list_positions] {
            put(&bytes_of(vectors.as_flattened(), |x| x.to_le_bytes()))?;
        }
        let edges = |b: &SimBox| (b.origin(), b.lengths(), b.tilts());
        let chosen = (&self.groups, &self.reference_positions, self.reference_box.as_ref().map(edges));
        let turning = (angular_velocity, contacts);
        let rest = (&self.topology, &self.charges, &self.names, turning, chosen);
        put(&postcard::to_stdvec(&rest).map_err(|e| failed(&e))?)?;
        let body = body.finish().map_err(|e| failed(&e))?;
        let mut file = Vec::with_capacity(FRONT + body.len() + 4);
        file.extend(MAGIC);
        file.extend(VERSION.to_le_bytes());
        file.extend((body.len() as u64).to_le_bytes());
        file.extend(body);
        file.extend(crc32fast::hash(&file).to_le_bytes());
        Ok(file)
    }

    fn decode(file: &[u8]) -> Result<Self> {
        let Some((front, rest)) = file.split_first_chunk::<FRONT>() else {
            return Err(damaged("it is too short"));
        };
        if &front[..8] != MAGIC {
            return Err(Error::input("this is not a Jostle checkpoint"));
        }
        let version = Bytes(&front[8..]).word()?;
        if version != VERSION {
            return Err(Error::input(format!(
                "the checkpoint has format version {version}; this program reads {VERSION}"
            ))
            .hint("read it with the version of Jostle that wrote it"));
        }
        let length = Bytes(&front[12..]).long()?;
        let Some((body, sum)) = rest.split_last_chunk::<4>().filter(|(b, _)| b.len() as u64 == length) else {
            return Err(damaged("it is cut short"));
        };
        if crc32fast::hash(&file[..file.len() - 4]) != u32::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong"));
        }
        let content = zstd::decode_all(body).map_err(|e| damaged(&e.to_string()))?;
        Self::from_content(Bytes(&content))
    }

    fn from_content(mut bytes: Bytes) -> Result<Self> {
        let length = bytes.long()?;
        let header = bytes.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        let header: Header = postcard::from_bytes(header).map_err(|e| damaged(&e.to_string()))?;
        let n = usize::try_from(header.atoms).map_err(|_| damaged("it has too many atoms"))?;
        let id = bytes.array(n, u32::from_le_bytes)?;
        let species = bytes.array(n, u16::from_le_bytes)?;
        let image = bytes.vectors(n, i32::from_le_bytes)?;
        let position = bytes.vectors(n, f64::from_le_bytes)?.into_iter().map(Vector).collect();
        let velocity = bytes.vectors(n, f64::from_le_bytes)?.into_iter().map(Vector).collect();
        let list_positions = bytes.vectors(n, f64::from_le_bytes)?.into_iter().map(Vector).collect();
        type Chosen = (Vec<Group>, Vec<Vec3>, Option<(Vec3, [f64; 3], [f64; 3])>);
        type Rest = (Topology, Vec<f64>, Names, (Vec<Vec3>, Vec<RememberedContact>), Chosen);
        let (topology, charges, names, turning, (groups, reference_positions, edges)): Rest =
            postcard::from_bytes(bytes.0).map_err(|e| damaged(&e.to_string()))?;
        let reference_box = edges.map(|(origin, lengths, tilts)| {
            SimBox::new(origin, lengths, tilts, header.periodic).map_err(|e| damaged(&e.to_string()))
        });
        let reference_box = reference_box.transpose()?;
        if groups.iter().flat_map(|group| &group.atoms).any(|id| *id as usize >= n) {
            return Err(damaged("a group has an unknown atom"));
        }
        if !reference_positions.is_empty() && reference_positions.len() != n {
            return Err(damaged("a reference position is one of unknown atoms"));
        }
        if !topology.fits(n) || (!charges.is_empty() && charges.len() != n) {
            return Err(damaged("a bond or a charge is one of unknown atoms"));
        }
        let (angular_velocity, contacts) = turning;
        if !contacts.is_sorted_by_key(RememberedContact::key)
            || contacts.iter().any(|c| c.atoms[0] as usize >= n)
        {
            return Err(damaged("a contact is one of unknown grains"));
        }
        if !angular_velocity.is_empty() && angular_velocity.len() != n {
            return Err(damaged("an angular velocity is one of unknown atoms"));
        }
        let mut seen = vec![false; n];
        for &id in &id {
            match seen.get_mut(id as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(damaged(&format!("atom {id} is missing or there twice"))),
            }
        }
        if species.iter().any(|s| usize::from(*s) >= header.species.len()) {
            return Err(damaged("an atom has an unknown species"));
        }
        let force = vec![Vec3::ZERO; n];
        let state = State { id, species, position, image, velocity, force, angular_velocity, contacts };
        Ok(Checkpoint {
            header,
            state,
            topology,
            charges,
            names,
            groups,
            reference_positions,
            reference_box,
            list_positions,
        })
    }
}

fn damaged(why: &str) -> Error {
    Error::input(format!("the checkpoint is damaged: {why}"))
}

fn bytes_of<T: Copy, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|x| to_bytes(*x)).collect()
}

/// The bytes that are left to read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or_else(|| damaged("an array is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<T, const N: usize>(&mut self, n: usize, from_bytes: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let (chunks, _) = self.take(n.saturating_mul(N))?.as_chunks::<N>();
        Ok(chunks.iter().map(|c| from_bytes(*c)).collect())
    }

    fn vectors<T: Copy, const N: usize>(
        &mut self,
        n: usize,
        from_bytes: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<[T; 3]>> {
        let flat = self.array(n.saturating_mul(3), from_bytes)?;
        Ok(flat.as_chunks::<3>().0.to_vec())
    }

    fn word(&mut self) -> Result<u32> {
        Ok(self.array(1, u32::from_le_bytes)?[0])
    }

    fn long(&mut self) -> Result<u64> {
        Ok(self.array(1, u64::from_le_bytes)?[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input_text::RunSettings;
    use jostle_core::Settings;
    use jostle_core::{Angle, AtomName, Bond};
    use jostle_io::input::model::{DeviceInput, Strictness};

    fn example() -> Checkpoint {
        let mut state = State::default();
        for k in 0..5 {
            state.push(k % 2, [0.1 * f64::from(k), 2.0, 3.0]);
            state.velocity[k as usize] = Vector([f64::from(k), -1.0, 1e-300]);
            state.image[k as usize] = [i32::from(k), -7, 0];
        }
        state.angular_velocity = (0..5).map(|k| Vector([0.0, f64::from(k), 1e-9])).collect();
        state.permute(&[3, 1, 4, 0, 2]);
        let (slide, roll) = (Vector([1e-3, 0.0, -2.0]), Vector([0.5, 1e-300, 0.0]));
        state.contacts = vec![RememberedContact { atoms: [1, 3], slide, roll }];
        let header = Header {
            program: "0".into(),
            units: "metal".into(),
            origin: Vec3::ZERO,
            lengths: *Vector([4.0; 3]),
            tilts: *Vec3::ZERO,
            periodic: [true; 3],
            first_volume: 60.0,
            group_degrees: vec![7.5],
            species: vec![("A".into(), 1.5, 0.0), ("B".into(), 2.5, -1.0)],
            atoms: 5,
            skin: 0.3,
            clock: Clock { stage: 1, step: 7, time: 0.7 },
            run: None,
            measures: Vec::new(),
            forces: Vec::new(),
            reports: Vec::new(),
            input: Some(InputText {
                path: "/a/a.toml".into(),
                run_folder: Some("/a/run".into()),
                files: vec![("e.alloy".into(), 17)],
                began_with: vec![("e.data".into(), 18)],
                text: "units".into(),
                most_steps: None,
                run: RunSettings {
                    device: DeviceInput::Cpu,
                    settings: Settings::default(),
                    strictness: Strictness::Strict,
                },
            }),
            thermo_bytes: 120,
            trajectory: Some(WrittenSoFar { frames: 1, bytes: 2, first_step: 3, times: Some([0.5, 0.5]) }),
        };
        let list_positions = state.position.clone();
        let topology = Topology {
            bond_types: vec!["x".into()],
            bonds: vec![Bond { kind: 0, atoms: [4, 2] }],
            angle_types: vec!["y".into()],
            angles: vec![Angle { kind: 0, atoms: [4, 2, 0] }],
            excluded: vec![[0, 3]],
            ..Topology::default()
        };
        let names =
            Names { atoms: vec![AtomName::default(); 5], b_factor: vec![-1.0; 5], ..Names::default() };
        let groups = vec![Group { name: "g".into(), selection: "index 1 4".into(), atoms: vec![1, 4] }];
        let (charges, reference_positions) = (vec![0.5; 5], vec![Vector([0.25; 3]); 5]);
        let reference_box = Some(SimBox::new([1.0; 3], [4.0, 5.0, 6.0], [0.5, 0.0, 0.0], [true; 3]).unwrap());
        Checkpoint {
            header,
            state,
            topology,
            charges,
            names,
            groups,
            reference_positions,
            reference_box,
            list_positions,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let written = example();
        let read = Checkpoint::decode(&written.encode().unwrap()).unwrap();
        assert_eq!(read, written);
        let system = read.into_system().unwrap();
        assert_eq!(system.state.id, [0, 1, 2, 3, 4]);
        assert_eq!(system.state.velocity[3][0], 3.0);
        assert_eq!(system.species[1].mass, 2.5);
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        let good = example().encode().unwrap();
        for k in 0..good.len() {
            let mut bad = good.clone();
            bad[k] ^= 0x10;
            assert!(Checkpoint::decode(&bad).is_err(), "byte {k}");
        }
    }

    #[test]
    fn every_truncation_is_noticed() {
        let good = example().encode().unwrap();
        for k in 0..good.len() {
            assert!(Checkpoint::decode(&good[..k]).is_err(), "{k} bytes");
        }
        assert!(Checkpoint::decode(&[&good[..], &[0]].concat()).is_err());
    }

    /// Files whose checksum is right but whose content is inconsistent.
    #[test]
    fn inconsistent_contents_are_refused() {
        let refused = |spoil: fn(&mut Checkpoint)| {
            let mut checkpoint = example();
            spoil(&mut checkpoint);
            Checkpoint::decode(&checkpoint.encode().unwrap()).is_err()
        };
        assert!(refused(|c| c.state.id[0] = 99));
        assert!(refused(|c| c.state.id[0] = c.state.id[1]));
        assert!(refused(|c| c.state.species[0] = 2));
        assert!(refused(|c| c.topology.bonds[0].atoms[1] = 5));
        assert!(refused(|c| c.topology.excluded[0][1] = 5));
        assert!(refused(|c| c.groups[0].atoms[1] = 5));
        assert!(refused(|c| c.charges.push(1.0)));
        assert!(refused(|c| c.reference_positions.push(Vector([1.0; 3]))));
        assert!(refused(|c| c.header.atoms = 6));
        assert!(refused(|c| c.header.atoms = u64::MAX));
    }
}
