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


def box_of_water(method=app.PME, tolerance=1e-5):
    """A topology, a system and positions of rigid water, with charges on a mesh if nothing else is said."""
    field = app.ForceField("tip3p.xml")
    modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
    modeller.addSolvent(field, boxSize=openmm.Vec3(2.2, 2.2, 2.2) * unit.nanometer)
    system = field.createSystem(
        modeller.topology, nonbondedMethod=method, nonbondedCutoff=0.9 * unit.nanometer, ewaldErrorTolerance=tolerance
    )
    return modeller.topology, system, modeller.positions


def nonbonded(system):
    """The NonbondedForce of a system."""
    return next(force for force in system.getForces() if isinstance(force, openmm.NonbondedForce))


def differ_by(forces, others):
    """Difference of forces, root mean square, in parts of the force on a common atom."""
    return numpy.sqrt(((forces - others) ** 2).sum(axis=1).mean()) / numpy.median(numpy.linalg.norm(others, axis=1))


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


@pytest.mark.parametrize(
    ("method", "tolerance"), [(app.PME, 1e-4), (app.PME, 1e-6), (app.Ewald, 1e-6), (app.LJPME, 1e-6)]
)
def test_charges_are_as_exact_as_openmm_has_them(method, tolerance):
    topology, system, positions = box_of_water(method, tolerance)
    _, forces = state(system, positions)
    sim = jostle.from_openmm(topology, system, positions, run=RUN)
    assert differ_by(sim.forces, forces) < 5 * tolerance


@pytest.mark.parametrize("method", [app.PME, app.LJPME])
def test_lennard_jones_forces_are_switched_off(method):
    topology, system, positions = box_of_water(method, 1e-6)
    force = nonbonded(system)
    force.setUseDispersionCorrection(False)
    plain = jostle.from_openmm(topology, system, positions, run=RUN)
    force.setUseSwitchingFunction(True)
    force.setSwitchingDistance(0.6)
    energy, forces = state(system, positions)
    sim = jostle.from_openmm(topology, system, positions, run=RUN)
    assert sim.potential_energy == pytest.approx(energy, rel=1e-4)
    assert differ_by(sim.forces, forces) < 5e-6
    # OpenMM switches nothing off whose r^-6 is a sum over all images.
    assert (differ_by(plain.forces, sim.forces) > 1e-4) == (method == app.PME)


def test_lennard_jones_forces_of_pairs_of_types_have_settings_of_their_own():
    topology, system, positions = box_of_water(app.PME, 1e-6)
    force, pairs = nonbonded(system), openmm.CustomNonbondedForce("acoef(type1,type2)/r^12-bcoef(type1,type2)/r^6")
    _, sigma, epsilon = (x.value_in_unit_system(unit.md_unit_system) for x in force.getParticleParameters(0))
    for name, power in [("acoef", 12), ("bcoef", 6)]:
        values = [4 * epsilon * sigma**power, 0.0, 0.0, 0.0]
        pairs.addTabulatedFunction(name, openmm.Discrete2DFunction(2, 2, values))
    pairs.addPerParticleParameter("type")
    for k in range(force.getNumParticles()):
        charge, _, well = force.getParticleParameters(k)
        pairs.addParticle([0 if well._value > 0 else 1])
        force.setParticleParameters(k, charge, 1.0, 0.0)
    for k in range(force.getNumExceptions()):
        pairs.addExclusion(*force.getExceptionParameters(k)[:2])
    pairs.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    pairs.setCutoffDistance(0.8)
    pairs.setUseSwitchingFunction(True)
    pairs.setSwitchingDistance(0.6)
    system.addForce(pairs)
    energy, forces = state(system, positions)
    sim = jostle.from_openmm(topology, system, positions, run=RUN)
    assert sim.potential_energy == pytest.approx(energy, rel=1e-4)
    assert differ_by(sim.forces, forces) < 5e-6


@pytest.mark.parametrize("method", [app.CutoffPeriodic, app.CutoffNonPeriodic])
def test_reaction_fields_differ_by_their_excluded_pairs(method):
    topology, system, positions = box_of_water(method)
    force = nonbonded(system)
    force.setUseDispersionCorrection(False)
    energy, forces = state(system, positions)
    with pytest.warns(jostle.JostleWarning, match="excluded"):
        sim = jostle.from_openmm(topology, system, positions, run=RUN)
    assert sim.periodic == 3 * (method == app.CutoffPeriodic,)
    # 1/r + k r^2 - c by Tironi (1995): Jostle has k r^2 - c of excluded pairs and half of -c of each atom with itself.
    outside, cutoff, coulomb = force.getReactionFieldDielectric(), 0.9, 138.935456
    k = (outside - 1) / (2 * outside + 1) / cutoff**3
    c = 1 / cutoff + k * cutoff**2
    charges = sim.charges
    places = numpy.array(positions.value_in_unit(unit.nanometer))
    energy -= 0.5 * coulomb * c * (charges**2).sum()
    for pair in range(force.getNumExceptions()):
        i, j, *_ = force.getExceptionParameters(pair)
        product, r = coulomb * charges[i] * charges[j], places[j] - places[i]
        energy += product * (k * r @ r - c)
        forces[i] += 2 * k * product * r
        forces[j] -= 2 * k * product * r
    assert sim.potential_energy == pytest.approx(energy, rel=1e-7)
    assert differ_by(sim.forces, forces) < 1e-6
    with pytest.raises(jostle.InputError, match="excluded"):
        jostle.from_openmm(topology, system, positions, run=RUN, strict=True)


def test_charges_in_reaction_fields_have_an_energy_with_themselves():
    topology, system, positions = box_of_water(app.CutoffPeriodic)
    force = nonbonded(system)
    for pair in range(force.getNumExceptions()):
        i, j, *_ = force.getExceptionParameters(pair)
        force.setExceptionParameters(pair, i, j, 0.0, 1.0, 0.0)
    for atom in range(force.getNumParticles()):
        _, sigma, epsilon = force.getParticleParameters(atom)
        force.setParticleParameters(atom, 0.1 if atom % 3 == 0 else 0.0, sigma, epsilon)
    with pytest.warns(jostle.JostleWarning, match="each charge with itself"):
        jostle.from_openmm(topology, system, positions, run=RUN)


def test_what_jostle_does_not_have_is_refused_or_said():
    topology, system, positions = box_of_water()
    force = nonbonded(system)
    force.setPMEParameters(2.0, 20, 20, 20)
    with pytest.warns(jostle.JostleWarning, match="mesh"):
        jostle.from_openmm(topology, system, positions, run=RUN)
    force.setIncludeDirectSpace(False)
    with pytest.raises(jostle.InputError, match="direct space"):
        jostle.from_openmm(topology, system, positions, run=RUN)


def test_bonded_forces_without_images_are_refused_where_an_image_is_nearer():
    """Of a bond of 1.4 nm in a box of 2.2 nm an image is 0.8 nm long: OpenMM has the force of the atoms themselves."""
    topology, system, positions = water()
    system.setDefaultPeriodicBoxVectors(*(2.2 * numpy.eye(3)))
    nonbonded = system.getForces()[2]
    nonbonded.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    nonbonded.setCutoffDistance(0.9)
    nonbonded.setUseDispersionCorrection(False)
    for k in range(5):
        nonbonded.setParticleParameters(3 * k, 0.0, 0.316, 0.65)
        for atom in (3 * k + 1, 3 * k + 2):
            nonbonded.setParticleParameters(atom, 0.0, 0.1, 0.0)
    spring = openmm.HarmonicBondForce()
    spring.addBond(0, 12, 0.3, 100.0)
    positions[12:] += [0.12, 0.0, 0.0]
    system.addForce(spring)
    with pytest.raises(jostle.InputError, match="which a bond joins, are so far apart") as refused:
        jostle.openmm.from_openmm(topology, system, positions, run=RUN)
    assert "setUsesPeriodicBoundaryConditions(True)" in refused.value.hint
    system.getForce(3).setUsesPeriodicBoundaryConditions(True)
    energy, forces = state(system, positions)
    sim = jostle.openmm.from_openmm(topology, system, positions, run=RUN)
    assert sim.potential_energy == pytest.approx(energy, rel=1e-6)
    assert numpy.allclose(sim.forces, forces, rtol=1e-6, atol=1e-4)


def test_velocities_along_constraints_are_gone_whatever_is_read_first():
    topology, system, positions = water()
    for k in range(5):
        for a, b, length in [(0, 1, 0.1), (0, 2, 0.1), (1, 2, 0.1628)]:
            system.addConstraint(3 * k + a, 3 * k + b, length)
            d = positions[3 * k + b] - positions[3 * k + a]
            if (a, b) != (1, 2):
                positions[3 * k + b] = positions[3 * k + a] + 0.1 * d / numpy.linalg.norm(d)
    velocities = numpy.random.default_rng(6).normal(size=(15, 3))

    def begun():
        return jostle.openmm.from_openmm(topology, system, positions, velocities=velocities, run=RUN)

    first, second = begun(), begun()
    read, kinetic = first.velocities, second.kinetic_energy
    assert 0.5 * (first.masses[:, None] * read**2).sum() == pytest.approx(kinetic, rel=1e-9)
    assert read == pytest.approx(second.velocities, abs=1e-9)
    assert first.quantities["kinetic"] == pytest.approx(kinetic, rel=1e-9)
    places = first.positions
    for k in range(5):
        for a, b in [(0, 1), (0, 2), (1, 2)]:
            d = places[3 * k + b] - places[3 * k + a]
            assert d @ (read[3 * k + b] - read[3 * k + a]) == pytest.approx(0.0, abs=1e-9)
