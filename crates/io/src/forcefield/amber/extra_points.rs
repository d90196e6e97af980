//! Extra points of AMBER: points without mass that follow atoms. What the file does not say of them
//! (`VIRTUAL_SITE_FRAMES`) follows from the bonds of the atom that they are bound to, by the rules of
//! sander and pmemd (`define_frames` of both, with the axes of Stone and Alderton, Mol. Phys. 56 (1985) 1047).

use super::super::assembly::TOWARDS;
use super::{PrmtopReader, from_one};
use jostle_core::{Arms, Error, LocalFrame, Result, SiteRule, Vec3, Vector};
use std::collections::{BTreeMap, BTreeSet};

/// The sections that say how points follow atoms.
const FRAMES: &str = "VIRTUAL_SITE_FRAMES";
const DETAILS: &str = "VIRTUAL_SITE_FRAME_DETAILS";

/// Between the bisector and each of two points on an atom, in degrees: half of a tetrahedron's.
const HALF_ANGLE: f64 = 54.735;

/// Axes with x away from both neighbours, and z across their plane.
const AWAY: LocalFrame =
    LocalFrame { arms: Arms::Directions, origin: [0.0; 2], x: [-1.0, -1.0], y: [-1.0, 1.0], place: [0.0; 3] };

/// Arrangement of two points on an atom: with its neighbours at the corners of a tetrahedron, or, on what AMBER takes
/// for sulfur by its type, opposite to each other.
#[derive(Clone, Copy)]
enum Lie {
    Tetrahedral,
    Opposite,
}

/// Atoms bound to an atom, with the lengths of the bonds.
#[derive(Default)]
struct BondedAtoms {
    hydrogens: Vec<(u32, f64)>,
    others: Vec<(u32, f64)>,
    points: Vec<(u32, f64)>,
}

/// Partners of all atoms.
#[derive(Default)]
pub(super) struct BondGraph(BTreeMap<u32, BondedAtoms>);

impl BondGraph {
    /// Adds a bond of a list of those with hydrogens, or of the others.
    pub fn add(&mut self, atoms: [u32; 2], length: f64, to_hydrogens: bool) {
        for [a, b] in [atoms, [atoms[1], atoms[0]]] {
            let BondedAtoms { hydrogens, others, .. } = self.0.entry(a).or_default();
            if to_hydrogens { hydrogens.push((b, length)) } else { others.push((b, length)) }
        }
    }

    /// Adds an extra point to an atom.
    pub fn add_point(&mut self, point: u32, atom: u32, length: f64) {
        self.0.entry(atom).or_default().points.push((point, length));
    }

    fn length(&self, a: u32, b: u32) -> Option<f64> {
        let BondedAtoms { hydrogens, others, .. } = self.0.get(&a)?;
        hydrogens.iter().chain(others).find(|(atom, _)| *atom == b).map(|(_, length)| *length)
    }
}

/// The extra points of atoms.
#[derive(Default)]
pub(super) struct ExtraPoints {
    by_atom: BTreeMap<u32, Vec<u32>>,
}

impl ExtraPoints {
    /// An atom with its points, which are excluded wherever it is.
    pub fn with_points(&self, atom: u32) -> impl Iterator<Item = u32> {
        [atom].into_iter().chain(self.by_atom.get(&atom).into_iter().flatten().copied())
    }

    /// Every atom that has points, with these.
    pub fn groups(&self) -> impl Iterator<Item = Vec<u32>> {
        self.by_atom.keys().map(|atom| self.with_points(*atom).collect())
    }
}

impl PrmtopReader<'_> {
    /// Finds out how points follow atoms.
    ///
    /// # Errors
    /// If that does not follow from the file, or an atom has no mass and no place either.
    pub(super) fn extra_points(&mut self, section: &str, bound: &BondGraph) -> Result<()> {
        let mut found = self.stated_frames()?;
        let types = self.file.names("AMBER_ATOM_TYPE", self.assembly.n_atoms())?;
        let stated: BTreeSet<u32> = found.by_atom.values().flatten().copied().collect();
        for (atom, neighbors) in &bound.0 {
            let mut points = neighbors.points.clone();
            points.retain(|(point, _)| !stated.contains(point));
            if points.is_empty() {
                continue;
            }
            let lie = match types.get(*atom as usize).map(String::as_str) {
                Some("S" | "SH") => Lie::Opposite,
                _ => Lie::Tetrahedral,
            };
            let rules = self.frames((*atom, lie), neighbors, &points, bound);
            for ((point, _), (atoms, rule)) in points.iter().zip(rules.map_err(|e| self.blame(section, e))?) {
                let added = self.assembly.virtual_site(*point, atoms, rule);
                added.map_err(|e| self.blame(section, e))?;
                found.by_atom.entry(*atom).or_default().push(*point);
            }
        }
        let followed: Vec<u32> = found.by_atom.values().flatten().copied().collect();
        let mut known = vec![0; self.assembly.n_atoms()];
        followed.iter().for_each(|point| known[*point as usize] += 1);
        for (point, frames) in (0..).zip(known) {
            if self.assembly.is_massless(point) && frames != 1 {
                let name = self.assembly.names.describe(point);
                let message = format!("{name} has no mass, and {frames} frames that it follows");
                let error = Error::input(message);
                return Err(self.blame(
                    section,
                    error.hint(format!("an extra point is bound to one atom, or in {FRAMES}")),
                ));
            }
        }
        self.extra_points = found;
        Ok(())
    }

    fn blame(&self, section: &str, error: Error) -> Error {
        let told = self.file.error(section, error.message());
        match error.help() {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }

    /// Atoms and axes of points on an atom, by the atoms that are bound to it.
    fn frames(
        &self,
        (atom, lie): (u32, Lie),
        neighbors: &BondedAtoms,
        points: &[(u32, f64)],
        bound: &BondGraph,
    ) -> Result<Vec<([u32; 3], SiteRule)>> {
        let BondedAtoms { hydrogens, others, .. } = neighbors;
        let refused = |why: &str| {
            let [point, atom] = [points[0].0, atom].map(|atom| self.assembly.names.describe(atom));
            let message = format!("{point} is an extra point on {atom}, {why}");
            Error::input(message)
                .hint(format!("AMBER places points on atoms with two neighbours; {FRAMES} can say more"))
        };
        let is_hydrogen =
            |atom: u32| self.assembly.names.atoms.get(atom as usize).is_some_and(|a| a.element == "H");
        if is_hydrogen(atom) {
            return Err(refused("a hydrogen"));
        }
        let pair = match (&others[..], &hydrogens[..]) {
            ([(a, _), (b, _)], []) | ([(a, _)], [(b, _)]) | ([], [(a, _), (b, _)]) => [*a, *b],
            ([_], []) => {
                return Err(refused("which has one neighbour, so that AMBER's frame has four atoms"));
            }
            _ => {
                let n = others.len() + hydrogens.len();
                return Err(refused(&format!("which has {n} neighbours")));
            }
        };
        let atoms = [atom, pair[0], pair[1]];
        let (sin, cos) = HALF_ANGLE.to_radians().sin_cos();
        let at = |place| SiteRule::Frame(LocalFrame { place, ..AWAY });
        // The two bonds and, in rigid water, the distance of its hydrogens: an average costs less.
        let water = (others.is_empty()).then(|| RigidAngle::new(atoms, bound)).flatten();
        let rules = match (points, water) {
            ([(_, d)], Some(water)) => vec![SiteRule::towards_base(*d, water.height)],
            ([(_, d)], None) if others.is_empty() => vec![at([-*d, 0.0, 0.0])],
            ([(_, d)], None) => vec![at([*d, 0.0, 0.0])],
            ([one, other], Some(water)) => [(cos * one.1, sin * one.1), (cos * other.1, -sin * other.1)]
                .map(|(away, across)| water.out_of_plane(away, across))
                .to_vec(),
            ([one, other], None) => match lie {
                Lie::Opposite => vec![at([0.0, 0.0, one.1]), at([0.0, 0.0, -other.1])],
                Lie::Tetrahedral => {
                    let place = |length: f64, side: f64| at([cos * length, 0.0, side * sin * length]);
                    vec![place(one.1, 1.0), place(other.1, -1.0)]
                }
            },
            _ => return Err(refused(&format!("which has {} of them", points.len()))),
        };
        Ok(rules.into_iter().map(|rule| (atoms, rule)).collect())
    }

    /// Frames of points that the file gives: each point has up to four atoms and the kind of frame that these
    /// make (of mdgx; pmemd's `local_to_global` has the formulas).
    fn stated_frames(&mut self) -> Result<ExtraPoints> {
        let mut found = ExtraPoints::default();
        let (frames, details) = (self.rows::<6>(FRAMES)?, self.file.optional::<f64>(DETAILS)?);
        let (details, rest) = details.as_chunks::<3>();
        if frames.len() != details.len() || !rest.is_empty() {
            let (n, numbers) = (frames.len(), 3 * details.len() + rest.len());
            return Err(self.file.error(DETAILS, format!("{DETAILS} has {numbers} numbers for {n} frames")));
        }
        for ([site, a, b, c, _, kind], [x, y, z]) in frames.into_iter().zip(details.iter().copied()) {
            let [site, a, b, c] = [site, a, b, c].map(from_one);
            let frame = |place: Vec3, x| SiteRule::Frame(LocalFrame { x, place: *place, ..TOWARDS });
            let (atoms, rule) = match kind {
                4 => ([a, b, b], SiteRule::Average([1.0 - x, x, 0.0])),
                5 => ([a, b, c], SiteRule::Average([1.0 - x - y, x, y])),
                6 => ([a, b, c], frame(Vector([x, 0.0, 0.0]), [1.0 - y, y])),
                7 => ([a, b, c], frame(Vector([x * y.cos(), x * y.sin(), 0.0]), TOWARDS.x)),
                8 => ([a, b, c], SiteRule::OutOfPlane([x, y, z])),
                9 => ([a, b, b], frame(Vector([x, 0.0, 0.0]), TOWARDS.x)),
                _ => {
                    let name = self.assembly.names.describe(site);
                    let message = format!("{name} has a frame of the kind {kind}, which is not read");
                    let hint = "those of two and of three atoms are read: 4 to 9";
                    return Err(self.file.error(FRAMES, message).hint(hint));
                }
            };
            let added = self.assembly.virtual_site(site, atoms, rule);
            added.map_err(|e| self.blame(FRAMES, e))?;
            found.by_atom.entry(a).or_default().push(site);
        }
        Ok(found)
    }
}

/// Two equal bonds whose ends are at a distance that is known.
struct RigidAngle {
    base: f64,
    height: f64,
}

impl RigidAngle {
    fn new([apex, a, b]: [u32; 3], bound: &BondGraph) -> Option<Self> {
        let [one, other, base] = [bound.length(apex, a)?, bound.length(apex, b)?, bound.length(a, b)?];
        let height = (one * one - 0.25 * base * base).sqrt();
        (one == other && base > 0.0 && height > 0.0).then_some(RigidAngle { base, height })
    }

    /// Rule of a point at the distance `away` from the apex, away from the base, and `across` along minus the
    /// product of the bonds.
    fn out_of_plane(&self, away: f64, across: f64) -> SiteRule {
        let weight = -0.5 * away / self.height;
        SiteRule::OutOfPlane([weight, weight, -across / (self.base * self.height)])
    }
}
