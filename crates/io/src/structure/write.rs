//! Systems to files.

use crate::trajectory::{Frame, TrajectoryHeader, write_xyz_frame};
use jostle_core::{System, UnitSystem, Vec3, Vector};
use std::io::Write;

/// Writes a LAMMPS data file (atom style charge) with image flags and velocities, atoms by id.
///
/// # Errors
/// If `out` does not take it.
pub fn write_lammps(system: &System, units: UnitSystem, out: &mut dyn Write) -> std::io::Result<()> {
    let (simbox, state) = (&system.simbox, &system.state);
    let (origin, lengths, tilts) = (simbox.origin(), simbox.lengths(), simbox.tilts());
    // LAMMPS' nano units are not ours, so that name would mislead.
    let note =
        if units == UnitSystem::Nano { "in nm, ps, g/mol".to_string() } else { format!("units = {units}") };
    writeln!(out, "LAMMPS data file via Jostle, {note}\n")?;
    writeln!(out, "{} atoms\n{} atom types\n", state.len(), system.species.len())?;
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        writeln!(out, "{} {} {name}lo {name}hi", origin[axis], origin[axis] + lengths[axis])?;
    }
    if !simbox.is_orthorhombic() {
        writeln!(out, "{} {} {} xy xz yz", tilts[0], tilts[1], tilts[2])?;
    }
    writeln!(out, "\nMasses\n")?;
    for (k, species) in system.species.iter().enumerate() {
        writeln!(out, "{} {} # {}", k + 1, units.mass_to_user(species.mass), species.name)?;
    }
    let index_by_id = state.index_by_id();
    writeln!(out, "\nAtoms # charge\n")?;
    for (id, index) in index_by_id.iter().enumerate() {
        let species = usize::from(state.species[index]);
        let charge = system.charge(index);
        let (Vector([x, y, z]), [i, j, k]) = (state.position[index], state.image[index]);
        writeln!(out, "{} {} {charge} {x} {y} {z} {i} {j} {k}", id + 1, species + 1)?;
    }
    writeln!(out, "\nVelocities\n")?;
    for (id, index) in index_by_id.iter().enumerate() {
        let Vector([x, y, z]) = state.velocity[index];
        writeln!(out, "{} {x} {y} {z}", id + 1)?;
    }
    Ok(())
}

/// Writes one frame of extended XYZ with velocities, atoms by id, positions inside the box.
///
/// # Errors
/// If `out` does not take it.
pub fn write_xyz(
    system: &System,
    units: UnitSystem,
    step: u64,
    time: f64,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let index_by_id = system.state.index_by_id();
    let by_id = |values: &[Vec3]| -> Vec<Vec3> { index_by_id.iter().map(|index| values[index]).collect() };
    let (positions, velocities) = (by_id(&system.state.position), by_id(&system.state.velocity));
    let header = TrajectoryHeader {
        units,
        names: system.species.iter().map(|s| s.name.clone()).collect(),
        species: index_by_id.iter().map(|index| system.state.species[index]).collect(),
        masses: Vec::new(),
        charges: Vec::new(),
        atoms: system.names.clone(),
        bonds: Vec::new(),
        periodic: system.simbox.periodic(),
        timestep: 0.0,
        every: 1,
        images: false,
    };
    let velocities = Some(&velocities[..]);
    let frame = Frame {
        step,
        time: Some(time),
        simbox: &system.simbox,
        positions: &positions,
        velocities,
        images: None,
    };
    write_xyz_frame(&header, &frame, out)
}
