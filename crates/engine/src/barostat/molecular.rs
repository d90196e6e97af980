//! Operations that barostats share: the molecular pressure, and scaling of the box.

use jostle_core::random::Stream;
use jostle_core::{
    Backend, Error, Evaluate, MolecularVirial, Molecules, Result, SavedVolume, SymTensor, Vec3, Vector,
};

/// Largest relative change of the volume at once.
pub(super) const LARGEST_STEP: f64 = 0.2;

/// The surroundings of the box at a change of its volume.
pub(super) struct Surroundings<'a> {
    pub molecules: &'a Molecules,
    /// k_B T of the thermostat.
    pub thermal_energy: f64,
    /// The weight of long-range forces.
    pub long_range_weight: f64,
    pub random: Stream,
}

/// The pressure of molecules as points, which drives the volume; neither bonds nor constraints contribute to
/// it.
pub(super) struct MolecularPressure {
    /// Twice the kinetic energy of the centres of mass of molecules.
    pub twice_kinetic: f64,
    /// The trace of the virial of molecules.
    pub virial: f64,
    pub volume: f64,
}

impl MolecularPressure {
    /// The pressure of molecules with this virial, for which energies were evaluated.
    pub fn new(backend: &dyn Backend, molecular: &MolecularVirial) -> Self {
        let virial = centers_virial(&backend.energies().virial, molecular);
        MolecularPressure {
            twice_kinetic: molecular.twice_kinetic,
            virial,
            volume: backend.simbox().volume(),
        }
    }
}

/// The trace of the virial of molecules as points, the sum of R . F over their centres: the virial of atoms
/// without constraints, less the contribution of forces on atoms relative to the centres of their molecules.
pub(super) fn centers_virial(virial: &SymTensor, molecular: &MolecularVirial) -> f64 {
    virial[..3].iter().sum::<f64>() - molecular.within
}

/// Evaluates energies and forces without the contribution that constraints added to the virial in the course
/// of a step, with long-range forces at weight 1.
pub(super) fn without_constraints(backend: &mut dyn Backend, around: &Surroundings) -> Result<()> {
    if around.molecules.are_constrained() || around.long_range_weight != 1.0 {
        backend.set_long_range_weight(1.0)?;
        backend.compute_forces(Evaluate::ForcesAndEnergies)?;
        backend.set_long_range_weight(around.long_range_weight)?;
    }
    Ok(())
}

/// Refuses a volume that would grow by this factor at once.
pub(super) fn small_enough(growth: f64) -> Result<()> {
    if (growth - 1.0).abs() < LARGEST_STEP {
        return Ok(());
    }
    let percent = 100.0 * (growth - 1.0);
    Err(Error::simulation(format!("the barostat would change the volume by {percent:.0}% at once"))
        .hint("the pressure is far from what it should be: choose a longer \"time\", or bring the system nearer to it at first"))
}

/// Scales the box by these factors along the axes and moves molecules as rigid bodies, multiplying the
/// velocities of their centres by 1 + `faster`; evaluates forces and energies there. Returns the previous
/// configuration and the new potential energy.
pub(super) fn resize(
    backend: &mut dyn Backend,
    molecular: MolecularVirial,
    factors: Vec3,
    faster: f64,
) -> Result<(SavedVolume, f64)> {
    let Vector([a, b, c]) = factors;
    let after =
        backend.simbox().mapped([Vector([a, 0.0, 0.0]), Vector([0.0, b, 0.0]), Vector([0.0, 0.0, c])])?;
    let before = backend.scale_volume(molecular, after, faster).map_err(|e| {
        e.context("the barostat").hint(
            "begin with a larger system or density, or shorten the cut-off: under constant pressure the box needs room to shrink",
        )
    })?;
    backend.update_neighbors()?;
    backend.compute_forces(Evaluate::ForcesAndEnergies)?;
    Ok((before, backend.energies().potential()))
}
