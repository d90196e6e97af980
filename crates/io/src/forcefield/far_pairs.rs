//! Atoms whose force is that of their own separation in OpenMM, and that are so far apart that an image of one is nearer:
//! pairs that are excluded or have forces of their own, and atoms of bonded terms.

use jostle_core::{Bond, Error, Molecules, Result, SimBox, System, Topology, Vec3};
use jostle_potentials::{BondKind, BondedKind, Forces};

/// Separation of pairs that are excluded or have forces of their own, where a file has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PairSeparation {
    /// That of nearest images.
    #[default]
    NearestImages,
    /// That of the atoms themselves, in molecules that are whole.
    Atoms,
}

/// Two atoms of a bonded term whose force is that of the atoms themselves, not of their nearest images.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundAtoms {
    /// Ids of the atoms.
    pub atoms: [u32; 2],
    /// Length of their bond at rest; `None`: other atoms are between them, or the term is no bond.
    pub length: Option<f64>,
}

/// Longest bond, over its length at rest, that joins an atom to an image of another one because the file has wrapped them
/// into the box one by one.
const LONGEST_WRAPPED: f64 = 1.5;

/// Separations of atoms in a box.
struct Separations<'a> {
    system: &'a System,
    molecules: Molecules,
    /// Places of the atoms of a molecule along bonds to nearest images.
    paths: Vec<Vec3>,
    tolerance: f64,
}

impl<'a> Separations<'a> {
    /// Separations in a system whose molecules are joined by these bonds.
    fn new(system: &'a System, bonds: Vec<Bond>) -> Self {
        let System { state, topology, simbox, .. } = system;
        let molecules = Molecules::new(&Topology { bonds, ..topology.clone() }, &system.species, state);
        let paths = molecules.paths(simbox, |id| state.position[id as usize]);
        let tolerance = 1e-6 * simbox.widths().into_iter().fold(f64::INFINITY, f64::min);
        Separations { system, molecules, paths, tolerance }
    }

    /// Separation of two atoms where the file has them.
    fn in_file(&self, [a, b]: [u32; 2]) -> Vec3 {
        let System { state, simbox, .. } = self.system;
        let place = |atom: u32| state.position[atom as usize] + simbox.shift(state.image[atom as usize]);
        place(b) - place(a)
    }

    /// Separation of two atoms, along bonds where they join them: molecules may have been wrapped.
    fn along_bonds(&self, [a, b]: [u32; 2]) -> Vec3 {
        let molecule = self.molecules.of_atoms();
        match molecule[a as usize] == molecule[b as usize] {
            true => self.paths[b as usize] - self.paths[a as usize],
            false => self.in_file([a, b]),
        }
    }

    /// Returns true where an image of one atom is nearer than this separation.
    fn is_far(&self, d: Vec3) -> bool {
        (d - self.simbox().nearest_image(d)).iter().any(|x| x.abs() > self.tolerance)
    }

    fn simbox(&self) -> &SimBox {
        &self.system.simbox
    }
}

/// Refuses a system in which the atoms of such a pair or of a bonded term are no nearest images of each other, so that
/// their force here would be another one than by their own separation. Molecules may have been wrapped: bonds tell where
/// their atoms are, if they are about as long as at rest.
pub(super) fn refuse(
    system: &System,
    forces: &Forces,
    separation: PairSeparation,
    bound: &[BoundAtoms],
) -> Result<()> {
    if separation == PairSeparation::NearestImages && bound.is_empty() {
        return Ok(());
    }
    let System { topology, charges, .. } = system;
    let own = BondKind::ScaledPair.term();
    let has_own_force = |bond: &Bond| {
        forces.bonds.iter().any(|term| term.term() == own && term.parameters(bond.kind as usize).is_some())
    };
    let (pairs, bonds): (Vec<Bond>, Vec<Bond>) = topology.bonds.iter().partition(|bond| has_own_force(bond));
    let separations = Separations::new(system, bonds);
    refuse_bound(&separations, bound)?;
    if separation == PairSeparation::NearestImages {
        return Ok(());
    }
    let charged = |pair: &&[u32; 2]| pair.iter().all(|atom| charges[*atom as usize] != 0.0);
    let excluded = topology.excluded.iter().filter(charged).copied();
    let is_far = |pair: &[u32; 2]| separations.is_far(separations.along_bonds(*pair));
    match pairs.iter().map(|pair| pair.atoms).chain(excluded).find(is_far) {
        None => Ok(()),
        Some(pair) => {
            let [a, b] = pair.map(|atom| system.names.describe(atom));
            Err(Error::input(format!(
                "{a} and {b}, which are an exception, are so far apart that an image of one is nearer: by \
                 exceptionsUsePeriodic = 0 the force is that of the atoms, which is not computed"
            ))
            .hint("take a larger box, or write the System with exceptions between nearest images: setExceptionsUsePeriodicBoundaryConditions(True)"))
        }
    }
}

/// Refuses atoms of bonded terms that are no nearest images of each other.
fn refuse_bound(separations: &Separations, bound: &[BoundAtoms]) -> Result<()> {
    let is_far = |bound: &&BoundAtoms| {
        let d = separations.in_file(bound.atoms);
        let is_stretched = |length: f64| {
            separations.is_far(d) && separations.simbox().nearest_image(d).norm() > LONGEST_WRAPPED * length
        };
        bound.length.is_some_and(is_stretched) || separations.is_far(separations.along_bonds(bound.atoms))
    };
    let Some(far) = bound.iter().find(is_far) else { return Ok(()) };
    let [a, b] = far.atoms.map(|atom| separations.system.names.describe(atom));
    let of = if far.length.is_some() { "which a bond joins" } else { "of an angle or a torsion" };
    Err(Error::input(format!(
        "{a} and {b}, {of}, are so far apart that an image of one is nearer: by usesPeriodic = 0 the force is that of the \
         atoms, which is not computed"
    ))
    .hint(
        "take a larger box, or write the System with forces between nearest images: \
         setUsesPeriodicBoundaryConditions(True)",
    ))
}
