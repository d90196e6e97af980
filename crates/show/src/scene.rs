//! Atoms as a page shows them: their identity once, their positions frame by frame.

use jostle_analysis::kinds::{averaged_q6, neighbor_distance};
use jostle_core::{AtomName, Components, Error, Result, SimBox, System, Vec3, Vector};
use jostle_engine::Checkpoint;
use jostle_io::chemical_bonds;
use jostle_io::select::keywords::is_water;
use std::collections::HashSet;

/// Identity of the atoms.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Names of the species.
    pub names: Vec<String>,
    /// The species of each atom, by id.
    pub species: Vec<u16>,
    /// Atoms that are bound.
    pub bonds: Vec<[u32; 2]>,
    /// True for atoms of water among others; empty where that is not known.
    pub water: Vec<bool>,
}

/// Positions of the atoms in one frame.
#[derive(Debug, Clone, Copy)]
pub struct ScenePositions<'a> {
    /// The step.
    pub step: u64,
    /// The time; NaN where it is not known.
    pub time: f64,
    /// The box.
    pub simbox: &'a SimBox,
    /// Positions by id, in the box or not.
    pub positions: &'a [Vec3],
    /// Velocities by id.
    pub velocities: Option<&'a [Vec3]>,
}

/// Colours of species (Okabe and Ito), in turn.
const PALETTE: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#737373", "#f0e342"];
/// Colours that chemists give to elements (after Corey, Pauling and Koltun), dark enough on white.
const ELEMENTS: [(&str, &str); 12] = [
    ("H", "#d8d8d8"),
    ("C", "#5a5a5a"),
    ("N", "#2f4fe0"),
    ("O", "#d92b1a"),
    ("S", "#d8b51c"),
    ("P", "#e67a00"),
    ("F", "#7cc35a"),
    ("Cl", "#1f9e2f"),
    ("Na", "#9a5ad8"),
    ("K", "#7d3fbf"),
    ("Mg", "#3d9a00"),
    ("Ca", "#4f8f4f"),
];

/// Speeds above so many times their root mean square look alike.
const FASTEST: f64 = 2.5;
/// Numbers before the positions of the atoms.
const HEADER: usize = 17;
/// The averaged q6 at which colours end: that of a perfect fcc crystal is 0.575.
const MOST_ORDERED: f64 = 0.6;

impl Scene {
    /// The species as bytes; colours repeat long before they run out.
    pub(crate) fn kinds(&self) -> Vec<u8> {
        self.species.iter().map(|s| *s as u8).collect()
    }

    /// The bonds as bytes, little endian.
    pub(crate) fn bond_bytes(&self) -> Vec<u8> {
        self.bonds.as_flattened().iter().flat_map(|atom| atom.to_le_bytes()).collect()
    }

    /// Flags of atoms of water, as bytes.
    pub(crate) fn water_bytes(&self) -> Vec<u8> {
        self.water.iter().map(|water| u8::from(*water)).collect()
    }

    /// The colour of each species: usual ones for the elements of molecules.
    pub(crate) fn colours(&self) -> Vec<&'static str> {
        let known = |name: &String| ELEMENTS.iter().find(|(symbol, _)| symbol == name);
        let usual = |(k, name): (usize, &String)| known(name).map_or(PALETTE[k % PALETTE.len()], |e| e.1);
        let cycle = |(k, _)| PALETTE[k % PALETTE.len()];
        let all = self.names.iter().enumerate();
        if self.bonds.is_empty() { all.map(cycle).collect() } else { all.map(usual).collect() }
    }

    /// The radius of each species beside that of others: hydrogens of molecules are smaller.
    pub(crate) fn radii(&self) -> Vec<f64> {
        let small = |name: &String| self.has_elements() && name == "H";
        self.names.iter().map(|name| if small(name) { 0.7 } else { 1.0 }).collect()
    }

    /// The radius of atoms, in mean distances of neighbours: bonds show between those of molecules, beads
    /// of chains touch.
    pub(crate) fn size(&self) -> f64 {
        if self.has_elements() { 0.25 } else { 0.42 }
    }

    /// True for molecules made of elements.
    fn has_elements(&self) -> bool {
        let known = |name: &String| ELEMENTS.iter().any(|(symbol, _)| symbol == name);
        !self.bonds.is_empty() && self.names.iter().any(known)
    }

    /// The atoms of a system: by their elements, where these are known of all.
    pub(crate) fn of_system(system: &System) -> Scene {
        let (named, residues) = (&system.names.atoms, &system.names.residues);
        let sites: HashSet<u32> = system.topology.virtual_sites.iter().map(|v| v.site).collect();
        let known = |id: usize| !named[id].element.is_empty() || sites.contains(&(id as u32));
        let (mut names, mut species) = (Vec::new(), Vec::new());
        if !named.is_empty() && (0..named.len()).all(known) {
            for atom in named {
                let name = if atom.element.is_empty() { "M".to_string() } else { title_case(&atom.element) };
                let number = names.iter().position(|n| *n == name).unwrap_or(names.len());
                if number == names.len() {
                    names.push(name);
                }
                species.push(number as u16);
            }
        } else {
            names = system.species.iter().map(|s| s.name.clone()).collect();
            species =
                system.state.index_by_id().into_iter().map(|index| system.state.species[index]).collect();
        }
        let of_water =
            |atom: &AtomName| residues.get(atom.residue as usize).is_some_and(|r| is_water(&r.name));
        let mut water: Vec<bool> = named.iter().map(of_water).collect();
        if water.iter().all(|w| *w) || !water.contains(&true) {
            water.clear();
        }
        Scene { names, species, bonds: chemical_bonds(&system.topology), water }
    }

    /// Scene of a checkpoint: its atoms and their positions.
    pub(crate) fn of_checkpoint(checkpoint: Checkpoint) -> Result<(Scene, Vec<u8>)> {
        let step = checkpoint.step();
        let system = checkpoint.into_system()?;
        let scene = Scene::of_system(&system);
        let (simbox, state) = (&system.simbox, &system.state);
        let velocities = Some(&state.velocity[..]);
        let atoms = ScenePositions { step, time: f64::NAN, simbox, positions: &state.position, velocities };
        Ok((scene, atoms.bytes()))
    }
}

impl ScenePositions<'_> {
    /// A frame as a page reads it, little endian: 17 doubles (atoms, time, step, the speed at which
    /// colours end, origin and edges of the box, 1, 2 and 4 for periodic axes), places in the box as three
    /// 16-bit numbers, speeds as bytes where there are any.
    pub fn bytes(&self) -> Vec<u8> {
        let places: Vec<Vec3> = self.positions.iter().map(|r| self.simbox.to_fractional(*r)).collect();
        let periodic = self.simbox.periodic();
        let (mut low, mut high) = (Vec3::ZERO, [1.0; 3]);
        for k in (0..3).filter(|k| !periodic[*k]) {
            let along = || places.iter().map(|s| s[k]);
            (low[k], high[k]) = (along().fold(0.0, f64::min), along().fold(1.0, f64::max));
        }
        let fastest = self.velocities.map_or(0.0, |v| {
            let squares: f64 = v.as_flattened().iter().map(|x| x * x).sum();
            FASTEST * (squares / v.len().max(1) as f64).sqrt()
        });
        let mut bytes = Vec::with_capacity(8 * HEADER + 7 * places.len());
        let edges = self.simbox.edges();
        let edges = [0, 1, 2].map(|k| edges[k] * (high[k] - low[k]));
        let numbers = [places.len() as f64, self.time, self.step as f64, fastest];
        let shape = [self.simbox.to_cartesian(low), edges[0], edges[1], edges[2]];
        for x in numbers.iter().chain(shape.as_flattened()) {
            bytes.extend(x.to_le_bytes());
        }
        let axes = (0..3).map(|k| f64::from(u8::from(periodic[k]) << k)).sum::<f64>();
        bytes.extend(axes.to_le_bytes());
        for s in &places {
            for k in 0..3 {
                let part =
                    if periodic[k] { s[k] - s[k].floor() } else { (s[k] - low[k]) / (high[k] - low[k]) };
                bytes.extend(((part * 65535.0).round() as u16).to_le_bytes());
            }
        }
        if fastest > 0.0 {
            let speed = |v: &Vec3| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let byte = |v: &Vec3| (255.0 * (speed(v) / fastest).min(1.0)) as u8;
            bytes.extend(self.velocities.into_iter().flatten().map(byte));
        }
        bytes
    }
}

/// Order of the surroundings of each atom of a frame, see [`ScenePositions::bytes`]: the averaged q6
/// as bytes.
///
/// # Errors
/// If these are not the bytes of a frame.
pub(crate) fn order(frame: &[u8]) -> Result<Vec<u8>> {
    let damaged = || Error::simulation("a frame of the temporary file is damaged");
    let (numbers, rest) = frame.split_at_checked(8 * HEADER).ok_or_else(damaged)?;
    let numbers = numbers.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
    let numbers: Vec<f64> = numbers.collect();
    let [count, a, b, c, axes] = [0, 7, 10, 13, 16].map(|k| &numbers[k..]);
    let atoms = count[0] as usize;
    let periodic = [1, 2, 4].map(|axis| axes[0] as u8 & axis != 0);
    let simbox = SimBox::new([0.0; 3], [a[0], b[1], c[2]], [b[0], c[0], c[1]], periodic)?;
    let parts = rest.as_chunks::<6>().0.get(..atoms).ok_or_else(damaged)?;
    let place = |part: &[u8; 6]| {
        let along = |k: usize| f64::from(u16::from_le_bytes([part[2 * k], part[2 * k + 1]])) / 65535.0;
        simbox.to_cartesian(Vector([along(0), along(1), along(2)]))
    };
    let positions: Vec<Vec3> = parts.iter().map(place).collect();
    let cutoff = neighbor_distance(atoms as f64 / simbox.volume());
    let byte = |q: f64| (255.0 * (q / MOST_ORDERED).min(1.0)) as u8;
    Ok(averaged_q6(&simbox, &positions, cutoff)?.into_iter().map(byte).collect())
}

/// `CL` as `Cl`.
fn title_case(symbol: &str) -> String {
    let (first, rest) = symbol.split_at_checked(1).unwrap_or((symbol, ""));
    first.to_uppercase() + &rest.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{Names, Residue, Species, Topology, WaterShape};

    /// Molecules have the colours of their elements and water can be told from the rest; what is
    /// nothing but water has none beside it, and what has no names its species.
    #[test]
    fn molecules_look_as_chemists_draw_them() {
        let species = |name: &str| Species { name: name.into(), mass: 1.0, charge: 0.0 };
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        let mut system = System::new(simbox, ["OW", "HW", "M", "ion"].map(species).to_vec());
        [0, 1, 1, 2, 3].iter().for_each(|kind| system.state.push(*kind, [1.0; 3]));
        let mut shape = WaterShape::new(1.0, 109.5);
        shape.site_distance = Some(0.15);
        system.topology = Topology::rigid_water(1, &shape);
        let scene = Scene::of_system(&system);
        assert_eq!((scene.names.len(), &scene.species[..]), (4, &[0, 1, 1, 2, 3][..]));
        assert!(scene.water.is_empty() && scene.bonds == [[0, 1], [0, 2]]);

        let atom = |element: &str, residue| AtomName { name: "X".into(), element: element.into(), residue };
        let residue = |name: &str| Residue { name: name.into(), ..Residue::default() };
        let atoms = vec![atom("O", 0), atom("H", 0), atom("H", 0), atom("", 0), atom("CL", 1)];
        system.names = Names { atoms, residues: vec![residue("HOH"), residue("CLA")], ..Names::default() };
        let scene = Scene::of_system(&system);
        assert_eq!(
            (&scene.names[..], &scene.species[..]),
            (&["O", "H", "M", "Cl"].map(String::from)[..], &[0, 1, 1, 2, 3][..])
        );
        assert_eq!(scene.water, [true, true, true, true, false]);
        assert_eq!([scene.colours()[1], scene.colours()[3]], ["#d8d8d8", "#1f9e2f"]);
        system.names.residues[1] = residue("WAT");
        assert!(Scene::of_system(&system).water.is_empty());
    }

    #[test]
    fn places_are_in_the_box_and_where_they_should_be() {
        let simbox =
            SimBox::new([1.0, 0.0, 0.0], [4.0, 5.0, 6.0], [1.0, 0.0, 0.0], [true, true, false]).unwrap();
        let positions =
            [simbox.to_cartesian(Vector([0.25, -0.5, 0.5])), simbox.to_cartesian(Vector([0.0, 0.0, 2.0]))];
        let velocities = [Vec3::ZERO, Vector([3.0, 0.0, 4.0])];
        let atoms = ScenePositions {
            step: 7,
            time: 0.5,
            simbox: &simbox,
            positions: &positions,
            velocities: Some(&velocities),
        };
        let bytes = atoms.bytes();
        assert_eq!(bytes.len(), 136 + 2 * 7);
        let number = |k: usize| f64::from_le_bytes(bytes[8 * k..8 * k + 8].try_into().unwrap());
        assert_eq!([number(0), number(1), number(2)], [2.0, 0.5, 7.0]);
        assert_eq!([number(4), number(7), number(10), number(15)], [1.0, 4.0, 1.0, 12.0]);
        assert_eq!(number(16), 3.0);
        let place = |k: usize| u16::from_le_bytes(bytes[136 + 2 * k..138 + 2 * k].try_into().unwrap());
        assert_eq!([place(0), place(1), place(2), place(5)], [16384, 32768, 16384, 65535]);
        assert_eq!(bytes[148], 0);
        assert!(bytes[149] > 100);
    }

    /// A crystal whose half is shaken at random: q6 of fcc is 0.575, and near 0.2 where there is no
    /// order.
    #[test]
    fn a_crystal_is_told_from_what_is_not() {
        let cells = 8;
        let edge = f64::from(cells) * 1.6;
        let simbox = SimBox::new([5.0, 0.0, 0.0], [edge; 3], [0.0; 3], [true; 3]).unwrap();
        let basis = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]];
        let mut positions = Vec::new();
        for k in 0..cells * cells * cells {
            let cell = [k / (cells * cells), k / cells % cells, k % cells].map(f64::from);
            positions.extend(basis.map(|b| {
                simbox.to_cartesian(Vector::from_fn(|d| (cell[d] + b[d] + 0.25) / f64::from(cells)))
            }));
        }
        let random = |k: usize| (k as f64 * 0.618_033_988_749_895).fract() - 0.5;
        let half = positions.len() / 2;
        for (k, r) in positions[half..].iter_mut().enumerate() {
            *r = Vector::from_fn(|d| r[d] + 1.2 * random(3 * k + d));
        }
        let atoms =
            ScenePositions { step: 0, time: 0.0, simbox: &simbox, positions: &positions, velocities: None };
        let order = order(&atoms.bytes()).unwrap();
        assert_eq!(order.len(), positions.len());
        // Atoms away from the interface.
        let mean = |part: &[u8]| {
            part.iter().map(|b| f64::from(*b)).sum::<f64>() / part.len() as f64 / 255.0 * MOST_ORDERED
        };
        let (crystal, other) =
            (mean(&order[half / 4..half * 3 / 4]), mean(&order[half * 5 / 4..half * 7 / 4]));
        assert!((crystal - 0.575).abs() < 0.005, "{crystal}");
        assert!(other < 0.35, "{other}");
        assert!(super::order(&atoms.bytes()[..1000]).is_err());
    }
}
