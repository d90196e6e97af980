//! Pairs that are excluded or have forces of their own, and that are so far apart that an image of one is nearer.

use jostle_core::{Bond, Error, Molecules, Result, System, Topology, Vec3};
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

/// Refuses a system in which the atoms of such a pair are no nearest images of each other, so that their force here
/// would be another one than by their own separation. Molecules may have been wrapped: bonds tell where their atoms are.
pub(super) fn refuse(system: &System, forces: &Forces) -> Result<()> {
    let System { state, topology, simbox, charges, names, .. } = system;
    let own = BondKind::ScaledPair.term();
    let has_own_force = |bond: &Bond| {
        forces.bonds.iter().any(|term| term.term() == own && term.parameters(bond.kind as usize).is_some())
    };
    let (pairs, bonds): (Vec<Bond>, Vec<Bond>) = topology.bonds.iter().partition(|bond| has_own_force(bond));
    let molecules = Molecules::new(&Topology { bonds, ..topology.clone() }, &system.species, state);
    let paths = molecules.paths(simbox, |id| state.position[id as usize]);
    let place = |atom: u32| -> Vec3 {
        let shift = simbox.shift(state.image[atom as usize]);
        state.position[atom as usize] + shift
    };
    let apart = |[a, b]: [u32; 2]| match molecules.of_atoms()[a as usize] == molecules.of_atoms()[b as usize]
    {
        true => paths[b as usize] - paths[a as usize],
        false => place(b) - place(a),
    };
    let charged = |pair: &&[u32; 2]| pair.iter().all(|atom| charges[*atom as usize] != 0.0);
    let excluded = topology.excluded.iter().filter(charged).copied();
    let tolerance = 1e-6 * simbox.widths().into_iter().fold(f64::INFINITY, f64::min);
    let is_far = |pair: &[u32; 2]| {
        let d = apart(*pair);
        (d - simbox.nearest_image(d)).iter().any(|x| x.abs() > tolerance)
    };
    match pairs.iter().map(|pair| pair.atoms).chain(excluded).find(is_far) {
        None => Ok(()),
        Some(pair) => {
            let [a, b] = pair.map(|atom| names.describe(atom));
            Err(Error::input(format!(
                "{a} and {b}, which are an exception, are so far apart that an image of one is nearer: by \
                 exceptionsUsePeriodic = 0 the force is that of the atoms, which is not computed"
            ))
            .hint("take a larger box, or write the System with exceptions between nearest images: setExceptionsUsePeriodicBoundaryConditions(True)"))
        }
    }
}
