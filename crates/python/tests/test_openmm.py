"""Systems of OpenMM."""

import jostle
import numpy
import pytest

openmm = pytest.importorskip("openmm", reason="OpenMM is not installed")

import jostle.openmm  # noqa: E402
from openmm import app, unit  # noqa: E402

RUN = {"device": "cpu", "threads": 1, "precision": "double"}


def water():
    """Flexible molecules of water with all terms of a small force field, in open space."""
    system, topology, positions = openmm.System(), app.Topology(), []
    bonds, angles, charges = openmm.HarmonicBondForce(), openmm.HarmonicAngleForce(), openmm.NonbondedForce()
    chain = topology.addChain()
    random = numpy.random.default_rng(3)
    for k in range(5):
        residue = topology.addResidue("HOH", chain)
        for name, element in [("O", app.element.oxygen), ("H1", app.element.hydrogen), ("H2", app.element.hydrogen)]:
            topology.addAtom(name, element, residue)
            system.addParticle(element.mass)
            heavy = name == "O"
            charges.addParticle(-0.8 if heavy else 0.4, 0.316 if heavy else 0.1, 0.65 if heavy else 0.0)
        o, h, i = 3 * k, 3 * k + 1, 3 * k + 2
        for a, b in [(o, h), (o, i)]:
            bonds.addBond(a, b, 0.1, 4.5e5)
        angles.addAngle(h, o, i, 1.9, 380.0)
        charges.createExceptionsFromBonds([(o, h), (o, i), (h, i)], 1.0, 1.0)
        place = numpy.array([0.32 * k, 0.05 * k, 0.0])
        positions += [place, place + [0.1, 0.0, 0.0], place + [-0.03, 0.095, 0.0]]
    for force in [bonds, angles, charges]:
        system.addForce(force)
    return topology, system, numpy.array(positions) + random.normal(0, 0.003, (15, 3))


def state(system, positions):
    """Energy in kJ/mol and forces in kJ/mol/nm by OpenMM's reference."""
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    state = context.getState(getEnergy=True, getForces=True)
    return (
        state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
        state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer),
    )


def test_energies_and_forces_are_those_of_openmm():
    topology, system, positions = water()
    energy, forces = state(system, positions)
    sim = jostle.openmm.from_openmm(topology, system, positions * unit.nanometer, run=RUN)
    assert sim.potential_energy == pytest.approx(energy, rel=1e-9)
    assert numpy.allclose(sim.forces, forces, rtol=1e-7, atol=1e-6)
    assert sim.names[:3] == ["O", "H1", "H2"] and sim.residues[3][:2] == ("HOH", 2)
    assert numpy.allclose(sim.masses[:2], [15.99943, 1.007947])
    sim.run(100, timestep=0.0002)
    assert numpy.ptp(sim.thermo["total"]) < 1e-2 * abs(sim.thermo["kinetic"]).max()


def test_units_of_the_simulation():
    topology, system, positions = water()
    energy, _ = state(system, positions)
    sim = jostle.openmm.from_openmm(topology, system, positions, run=RUN, units="real")
    assert sim.potential_energy == pytest.approx(energy / 4.184, rel=1e-9)
    assert numpy.allclose(sim.positions, 10 * positions)


def box_of_water():
    """A topology, a system and positions of rigid water with charges on a mesh."""
    field = app.ForceField("tip3p.xml")
    modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
    modeller.addSolvent(field, boxSize=openmm.Vec3(2.2, 2.2, 2.2) * unit.nanometer)
    system = field.createSystem(
        modeller.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer, ewaldErrorTolerance=1e-5
    )
    return modeller.topology, system, modeller.positions


def test_a_box_of_water():
    topology, system, positions = box_of_water()
    energy, forces = state(system, positions)
    sim = jostle.openmm.from_openmm(
        topology,
        system,
        positions,
        run=RUN,
        electrostatics={"kind": "pme", "accuracy": 1e-5},
        system={"temperature": 300},
    )
    assert sim.potential_energy == pytest.approx(energy, rel=1e-4)
    assert numpy.abs(sim.forces - forces).max() < 1e-3 * numpy.abs(forces).max()
    assert sim.topology["constraints"].shape == (sim.n_atoms, 2)
    with pytest.raises(jostle.InputError, match="constraints"):
        sim.positions = sim.positions
    sim.run(5, timestep=0.002)


def test_objects_have_the_energies_of_their_files(tmp_path):
    topology, system, positions = box_of_water()
    files = {"topology": tmp_path / "water.xml", "coordinates": tmp_path / "water.pdb"}
    files["topology"].write_text(openmm.XmlSerializer.serialize(system))
    with open(files["coordinates"], "w") as file:
        app.PDBFile.writeFile(topology, positions, file)
    read = app.PDBFile(str(files["coordinates"]))
    charges = {"kind": "pme", "accuracy": 1e-5}
    objects = jostle.from_openmm(read.topology, system, read.positions, run=RUN, electrostatics=charges)
    pairs = {"kind": "lennard-jones", "cutoff": 0.9, "tail_correction": True}
    named = jostle.Simulation(units="nano", run=RUN, system=files, force=[pairs], electrostatics=charges)
    assert objects.energies == pytest.approx(named.energies, rel=1e-9)
    assert numpy.allclose(objects.forces, named.forces, rtol=1e-9, atol=1e-9 * abs(named.forces).max())


def test_other_numbers_of_atoms_are_refused():
    topology, system, positions = water()
    with pytest.raises(ValueError, match="14 positions"):
        jostle.openmm.from_openmm(topology, system, positions[1:])
