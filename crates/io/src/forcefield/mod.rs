//! Molecules with their force fields, from the files of other programs: every parameter of every
//! term as the file has it, in the units of the input.

mod amber;
mod assembly;
mod charmm;
pub mod coordinates;
mod cutoffs;
pub(crate) mod elements;
pub mod enhanced;
mod far_pairs;
mod gromacs;
mod hydrogens;
mod join;
mod lammps;
mod missing;
mod mixture;
mod nonbonded;
mod openmm;
mod rigid;
pub mod solvent;
mod subset;

use crate::input::Input;
use crate::input::model::{AtomsInput, MoleculesInput, WallForce};
use crate::structure::{around, wrap};
use crate::text;
use coordinates::Coordinates;
pub use cutoffs::{CutoffOf, GivenCutoff};
pub use far_pairs::{BoundAtoms, PairSeparation};
use jostle_core::{
    Error, Names, Residue, Result, SimBox, Species, State, System, Topology, UnitSystem, Vec3,
};
use jostle_potentials::{DihedralKind, Forces, Mixing};
pub use mixture::{Mixture, MoleculeForm};
use nonbonded::{NonbondedParameters, UnlikePairs};
use solvent::IonSet;
use std::collections::HashMap;
use std::ops::Range;

/// The name of the energy of springs between the ends of angles.
const UREY_BRADLEY: &str = "urey-bradley";

/// Molecules as a force-field file has them, in the units of the input; atoms in the order of the
/// file.
#[derive(Debug, Clone)]
pub struct Molecules {
    /// The units.
    pub units: UnitSystem,
    /// The kinds of atoms: types of Lennard-Jones forces with their masses.
    pub species: Vec<Species>,
    /// Origin of the names of species.
    pub type_names: TypeNames,
    /// Index of each atom into `species`.
    pub atoms: Vec<u16>,
    /// Charge of each atom.
    pub charges: Vec<f64>,
    /// Names of the atoms; empty where the file has none.
    pub names: Names,
    /// Bonded terms between the atoms.
    pub topology: Topology,
    /// Forces of the bonded terms.
    pub forces: Forces,
    /// Epsilon and sigma of every two species, a square by rows.
    pub lennard_jones: Vec<[f64; 2]>,
    /// Cut-offs that the files give beside these parameters.
    pub cutoffs: Vec<GivenCutoff>,
    /// Boundary of the system.
    pub boundary: Boundary,
    /// Separation of pairs that are excluded or have forces of their own.
    pub separation: PairSeparation,
    /// Atoms of bonded terms whose forces are those of the atoms themselves, where a file says so.
    pub bound: Vec<BoundAtoms>,
    /// Positions, where the file of the topology has them.
    pub coordinates: Option<Coordinates>,
}

/// Origin of the names of types of atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeNames {
    /// The files of the force field.
    Files,
    /// Numbers or elements: the files have none.
    Invented,
}

/// Boundary of a system of molecules, as far as their topology tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Boundary {
    /// Not told by the topology.
    Unsaid,
    /// Images of a periodic box, and its size when the topology was made, where that is known.
    Periodic(Option<SimBox>),
    /// Open space.
    Open,
    /// Images of a periodic box.
    Box(SimBox),
}

/// Returns true for a line of comment of any format: one that begins as a title, a remark of a PSF or a comment does, or has
/// letters of another encoding behind GROMACS' semicolon.
fn is_comment(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let begins = |mark: &&str| text.starts_with(mark.as_bytes());
    ["REMARKS", "*", "%COMMENT"].iter().any(begins)
        || (!text.starts_with(b"<") && text::is_behind(b';', line))
}

impl Molecules {
    /// Reads a topology, whose format follows from its contents, with the files that it needs.
    ///
    /// # Errors
    /// If a file cannot be read, is of no known format, is damaged, has a force that Jostle has not, or
    /// lacks a parameter.
    pub fn read(files: &MoleculesInput, units: UnitSystem) -> Result<Molecules> {
        let MoleculesInput { topology: path, parameters, define, include, .. } = files;
        let text = text::read(path, is_comment)?;
        let unwanted = |keys: &str, whose: &str| {
            let error = Error::file(path, format!("this topology needs no {keys}"));
            Err(error.hint(format!("leave them out, they belong to {whose}")))
        };
        if charmm::is_one(&text) {
            return match define.is_empty() && include.is_empty() {
                true => charmm::read(path, &text, parameters, units),
                false => unwanted("define or include", "GROMACS' topologies"),
            };
        }
        if lammps::is_one(&text) {
            return match define.is_empty() && include.is_empty() {
                true => lammps::read(path, &text, parameters, units),
                false => unwanted("define or include", "GROMACS' topologies"),
            };
        }
        if !parameters.is_empty() {
            return unwanted("parameters", "a PSF or a LAMMPS data file");
        }
        if gromacs::is_one(&text) {
            return gromacs::read(path, &text, define, include, units);
        }
        if !(define.is_empty() && include.is_empty()) {
            return unwanted("define or include", "GROMACS' topologies");
        }
        if text.trim_start().starts_with('<') {
            return openmm::read(path, &text, units);
        }
        if amber::is_one(&text) {
            return amber::read(path, &text, units);
        }
        Err(Error::file(path, "it is not clear what kind of topology this is").hint(
            "AMBER's prmtop, CHARMM's PSF, GROMACS' top, OpenMM's serialised System (.xml) and LAMMPS data are read",
        ))
    }

    /// Molecules side by side, so many copies of each, one after the other. Unlike pairs of different ones follow from
    /// like pairs by the rule.
    ///
    /// # Errors
    /// If there are none or too many atoms.
    pub fn join(parts: &[(Molecules, usize)], rule: Mixing) -> Result<Molecules> {
        join::join(parts, Some(rule))
    }

    /// Gives pairs of the last species, which are `n_ions` ions of a set, with each other and with all others the
    /// parameters of their own that the set has for their types. Returns the names of both, the ion's first; nm and kJ/mol.
    pub fn set_pairs_of_ions(&mut self, set: &IonSet, n_ions: usize) -> Vec<[String; 2]> {
        let n = self.species.len();
        // Kinds of one type have numbers behind its name.
        let plain = |name: &str| match name.rsplit_once('_') {
            Some((own, number)) if number.parse::<u32>().is_ok() => own.to_string(),
            _ => name.to_string(),
        };
        let names: Vec<String> = self.species.iter().map(|species| plain(&species.name)).collect();
        let types: Vec<_> = (0..n).map(|k| set.type_of(&names[k], self.lennard_jones[k * (n + 1)])).collect();
        let mut found = Vec::new();
        for ion in n.saturating_sub(n_ions)..n {
            for other in 0..ion {
                if let (Some(a), Some(b)) = (types[ion], types[other])
                    && let Some(well) = set.unlike(a, b)
                {
                    self.lennard_jones[ion * n + other] = well;
                    self.lennard_jones[other * n + ion] = well;
                    let pair = [names[ion].clone(), names[other].clone()];
                    if !found.contains(&pair) {
                        found.push(pair);
                    }
                }
            }
        }
        found
    }

    /// The rule that most unlike pairs follow; Lorentz and Berthelot's where several do.
    pub fn usual_mixing(&self) -> Mixing {
        let n = self.species.len();
        let well = |a: usize, b: usize| self.lennard_jones[a * n + b];
        let follows = |rule: Mixing, a: usize, b: usize| {
            let ([e, s], [f, t], [own, length]) = (well(a, a), well(b, b), well(a, b));
            let near = |x: f64, y: f64| (x - y).abs() <= 1e-6 * x.max(y);
            e * f == 0.0 || (near(rule.size([s, t]), length) && near(rule.energy([e, f], [s, t]), own))
        };
        let count =
            |rule: Mixing| -> usize { (0..n).map(|a| (0..a).filter(|b| follows(rule, a, *b)).count()).sum() };
        // Of equals the last is taken.
        Mixing::ALL.into_iter().rev().max_by_key(|rule| count(*rule)).unwrap_or(Mixing::LorentzBerthelot)
    }

    /// Positions of the atoms: those of the topology itself, or of the file of coordinates.
    ///
    /// # Errors
    /// If there are none, or the file cannot be read.
    pub fn take_coordinates(&mut self, files: &MoleculesInput) -> Result<Coordinates> {
        match (self.coordinates.take(), files.coordinates == files.topology) {
            (Some(own), true) => Ok(own),
            (None, true) => Err(Error::input("this topology does not say where the atoms are")
                .hint("add coordinates = \"...\": PDB, mmCIF, inpcrd or rst7, gro, extended XYZ")),
            (_, false) => Coordinates::read(&files.coordinates, self.units),
        }
    }

    /// System with these coordinates, and the forces of its bonded terms; `periodic` as the
    /// input says.
    ///
    /// # Errors
    /// If numbers of atoms differ, an atom is another one in the coordinates, or there is no box.
    pub fn into_system(
        self,
        coordinates: Coordinates,
        periodic: Option<[bool; 3]>,
    ) -> Result<(System, Forces)> {
        let Coordinates { positions, velocities, momenta, simbox, names, alternatives } = coordinates;
        let (n, given) = (self.atoms.len(), positions.len());
        if n != given {
            return Err(Error::input(format!("the topology has {n} atoms, the coordinates have {given}"))
                .hint(alternatives.unwrap_or_else(|| "give both files of the same system".into())));
        }
        let names = same_atoms(self.names, names)?;
        let wanted = match (periodic, self.boundary, simbox) {
            (Some(wanted), ..) => wanted,
            (None, Boundary::Box(_), _) | (None, Boundary::Periodic(_), Some(_)) => [true; 3],
            (None, Boundary::Open, _) | (None, Boundary::Unsaid, None) => [false; 3],
            (None, Boundary::Periodic(None), None) => {
                return Err(Error::input("the topology is that of a periodic system, but no file has a box")
                    .hint("give coordinates with a box, or write periodic = false in [system]: open space"));
            }
            // The box of the topology is as old as the topology; coordinates may be those of another box.
            (None, Boundary::Periodic(Some(own)), None) => {
                let [a, b, c] = own.lengths();
                let message =
                    format!("the topology has a box ({a:.4} x {b:.4} x {c:.4}), the coordinates have none");
                return Err(Error::input(message).hint(
                    "write periodic = true in [system] to take the topology's, or periodic = false: open space",
                ));
            }
            (None, Boundary::Unsaid, Some(_)) => {
                return Err(Error::input(
                    "the coordinates have a box, and the topology does not say if it is meant",
                )
                .hint("write periodic = true or periodic = false in [system]"));
            }
        };
        // The present size of a box is that of the coordinates.
        let own = match self.boundary {
            Boundary::Box(own) => Some(own),
            Boundary::Periodic(own) => own,
            Boundary::Unsaid | Boundary::Open => None,
        };
        let open = wanted == [false; 3];
        let simbox = match simbox.or(own) {
            _ if open => around(&positions)?,
            Some(simbox) => SimBox::new(simbox.origin(), simbox.lengths(), simbox.tilts(), wanted)?,
            None => {
                return Err(Error::input(format!("periodic = {wanted:?}, but no file has a box"))
                    .hint("coordinates with a box are needed"));
            }
        };
        let mut state = State::default();
        for (k, (species, mut position)) in self.atoms.iter().zip(positions).enumerate() {
            let mut image = [0; 3];
            wrap(&simbox, &mut position, &mut image).map_err(|e| {
                Error::input(e)
                    .context(names.describe(k as u32))
                    .hint("is the unit of the coordinates right?")
            })?;
            state.push(*species, position);
            state.image[k] = image;
        }
        if let Some(velocities) = velocities {
            state.velocity = velocities;
        }
        for (k, momentum) in momenta.into_iter().enumerate() {
            let mass = self.species[usize::from(self.atoms[k])].mass;
            state.velocity[k] = momentum.map(|p| p / mass);
        }
        let Molecules { species, topology, charges, forces, separation, bound, .. } = self;
        let system = System { state, topology, charges, names, ..System::new(simbox, species) };
        if !open {
            far_pairs::refuse(&system, &forces, separation, &bound)?;
        }
        Ok((system, forces))
    }
}

impl Input {
    /// The system of `topology = "..."` and its forces; `None` if the input has another one.
    ///
    /// # Errors
    /// Errors of [`Molecules::read`], [`Coordinates::read`] and [`Molecules::into_system`], or if the
    /// input does not say how far forces reach.
    pub fn read_molecules(&self) -> Result<Option<(System, Forces)>> {
        let AtomsInput::Molecules(files) = &self.system.atoms.value else { return Ok(None) };
        let span = &self.system.atoms.span;
        let (mut molecules, mut coordinates) = self.read_part(files, span)?;
        let at = |e: Error| self.at_files(span, e);
        self.enhance(&mut molecules, &mut coordinates).map_err(at)?;
        let wells = NonbondedParameters::of(&molecules, UnlikePairs::OfFiles);
        let (system, bound) = molecules.into_system(coordinates, self.system.periodic).map_err(at)?;
        let system = self.replicated(system)?;
        let forces = self.forces_of_molecules(&system, &wells, bound)?;
        self.check_enhanced(&system, &forces)?;
        Ok(Some((system, forces)))
    }
}

impl Input {
    /// An error of files that are named at this place, unless it has a place of its own.
    fn at_files(&self, span: &Range<usize>, e: Error) -> Error {
        e.at_span(&self.source.path, &self.source.text, span.clone())
    }

    /// Molecules of files that are named at this place, with rigid bonds and heavy hydrogens as wanted, and where
    /// their atoms are.
    fn read_part(&self, files: &MoleculesInput, span: &Range<usize>) -> Result<(Molecules, Coordinates)> {
        let at = |e: Error| self.at_files(span, e);
        let mut molecules = Molecules::read(files, self.units).map_err(at)?;
        molecules.make_rigid(files.rigid).map_err(at)?;
        if let Some(mass) = files.hydrogen_mass {
            let divided = molecules.make_hydrogens_heavy(self.units.mass_from_user(mass)).map_err(at)?;
            self.refuse_to_name(&divided, "hydrogen_mass has divided by mass the species")?;
        }
        let coordinates = molecules.take_coordinates(files).map_err(at)?;
        Ok((molecules, coordinates))
    }

    /// Refuses an input that names species of which something, in words, has made several: only some of the atoms that
    /// are meant would still have the name.
    pub(crate) fn refuse_to_name(&self, divided: &[String], what: &str) -> Result<()> {
        let species = self.species.iter().map(|s| (&s.value.name, &s.span));
        let pairs = self.forces.iter().flat_map(|f| &f.value.pairs);
        let pairs = pairs.flat_map(|p| p.value.species.iter().map(move |name| (name, &p.span)));
        let fields = self.fields.iter().flat_map(|f| f.value.species.iter());
        let fields = fields.flat_map(|names| names.value.iter().map(move |name| (name, &names.span)));
        let walls = self.walls.iter().flat_map(|w| match &w.value.force {
            WallForce::Pairs(force) => &force.value.pairs[..],
            WallForce::Grains | WallForce::ElasticReflection => &[],
        });
        let walls = walls.flat_map(|p| p.value.species.iter().map(move |name| (name, &p.span)));
        let mut named = species.chain(pairs).chain(fields).chain(walls);
        named.find(|(name, _)| divided.contains(name)).map_or(Ok(()), |(name, span)| {
            let hint = "leave out one of them: that, or what is said about this species";
            Err(self.source.error(span, format!("{what} {name}")).hint(hint))
        })
    }
}

/// The names of one of two files, after a look at whether they can be the same atoms: the elements,
/// as far as the first letters of names tell.
fn same_atoms(topology: Names, coordinates: Option<Names>) -> Result<Names> {
    let Some(coordinates) = coordinates else { return Ok(topology) };
    if topology.atoms.is_empty() {
        return Ok(coordinates);
    }
    let letter = |name: &str| name.chars().find(|c| c.is_alphabetic()).map(|c| c.to_ascii_uppercase());
    for (k, (one, other)) in topology.atoms.iter().zip(&coordinates.atoms).enumerate() {
        if letter(&one.name) != letter(&other.name) {
            let (one, other) = (topology.describe(k as u32), coordinates.describe(k as u32));
            return Err(Error::input(format!("the topology has {one}, but the coordinates have {other}"))
                .hint("both files must have the same atoms in the same order"));
        }
    }
    let topology = with_chains(topology, &coordinates);
    let Names { occupancy, b_factor, .. } = coordinates;
    Ok(Names { occupancy, b_factor, ..topology })
}

/// Names of a topology, with the chains of the coordinates where it has none at all. A residue of the topology with atoms
/// of several chains becomes one of each, in the order of their first atoms.
fn with_chains(topology: Names, coordinates: &Names) -> Names {
    let without = |names: &Names| names.residues.iter().all(|residue| residue.chain.is_empty());
    if topology.residues.is_empty() || !without(&topology) || without(coordinates) {
        return topology;
    }
    let mut names = Names { residues: Vec::new(), ..topology };
    let mut places: HashMap<(u32, &str), u32> = HashMap::new();
    for (atom, other) in names.atoms.iter_mut().zip(&coordinates.atoms) {
        let chain = coordinates.residues.get(other.residue as usize).map_or("", |r| &r.chain);
        let residues = &mut names.residues;
        atom.residue = *places.entry((atom.residue, chain)).or_insert_with(|| {
            let own = topology.residues.get(atom.residue as usize).cloned().unwrap_or_default();
            residues.push(Residue { chain: chain.to_string(), ..own });
            residues.len() as u32 - 1
        });
    }
    names
}

/// A box from its edges.
fn edges_to_box([a, b, c]: [Vec3; 3]) -> Result<SimBox> {
    if [a[1], a[2], b[2]].iter().any(|x| *x != 0.0) {
        return Err(Error::input(
            "the first edge of the box is not along x, or the second not in the xy plane",
        ));
    }
    SimBox::new([0.0; 3], [a[0], b[1], c[2]], [b[0], c[0], c[1]], [true; 3])
}

/// Sigma where there is no attraction, in nm or angstrom: so far away that the attraction of a well with
/// this sigma is lost in the rounding of the repulsion at any distance of interest, while coefficients
/// remain within the range of single precision.
const FAR: f64 = 1e4;

/// Epsilon and sigma of u = a/r^12 - b/r^6; not finite where a force attracts without end.
fn well(a: f64, b: f64) -> [f64; 2] {
    match (a, b) {
        (0.0, 0.0) => [0.0; 2],
        (a, 0.0) => [a / (4.0 * FAR.powi(12)), FAR],
        _ => [b * b / (4.0 * a), (a / b).powf(1.0 / 6.0)],
    }
}

/// The dihedral k (1 + cos(n phi - phase)), phase in degrees. Without turns, as some programs write it, it
/// is an energy that never changes.
fn periodic(k: f64, n: f64, phase: f64) -> (DihedralKind, Vec<f64>) {
    if n == 0.0 {
        let energy = k * (1.0 + phase.to_radians().cos());
        return (DihedralKind::RyckaertBellemans, vec![energy, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
    (DihedralKind::PeriodicDihedral, vec![k, n, phase])
}

/// A map whose second angle runs faster as one whose first does.
fn second_faster(size: usize, energies: &[f64]) -> Vec<f64> {
    (0..size * size).map(|k| energies[k % size * size + k / size]).collect()
}

/// Unlike pairs after Lorentz and Berthelot, of epsilon and sigma.
fn lorentz_berthelot(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    let epsilon = (a[0] * b[0]).sqrt();
    [epsilon, if epsilon == 0.0 { 0.0 } else { 0.5 * (a[1] + b[1]) }]
}
