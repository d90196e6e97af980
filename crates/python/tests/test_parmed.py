"""Structures of ParmEd."""

import jostle
import numpy
import pytest

openmm = pytest.importorskip("openmm", reason="OpenMM is not installed")
parmed = pytest.importorskip("parmed", reason="ParmEd is not installed")

from openmm import unit  # noqa: E402
from test_openmm import RUN, state, water  # noqa: E402


def structure():
    topology, system, positions = water()
    return parmed.openmm.load_topology(topology, system, xyz=positions * unit.nanometer)


def test_energies_and_forces_are_those_of_openmm():
    made = structure()
    made.velocities = numpy.full((15, 3), 2.0)  # angstroms per ps
    energy, forces = state(made.createSystem(), made.positions)
    sim = jostle.from_parmed(made, run=RUN)
    assert sim.potential_energy == pytest.approx(energy, rel=1e-9)
    assert numpy.allclose(sim.forces, forces, rtol=1e-7, atol=1e-6)
    assert sim.names[:3] == ["O", "H1", "H2"] and sim.residues[3][0] == "HOH"
    assert numpy.allclose(sim.velocities, 0.2)
    assert jostle.from_parmed(made, run=RUN, units="real").potential_energy == pytest.approx(energy / 4.184)


def test_impropers_of_charmm():
    """ParmEd writes springs of impropers in words of its own; one is at rest at the seam of the circle."""
    made = structure()
    for at_rest, first in [(180.0, 0), (35.0, 3)]:
        spring = parmed.ImproperType(20.0, at_rest)
        made.improper_types.append(spring)
        made.impropers.append(parmed.Improper(*(made.atoms[first + k] for k in (0, 1, 2, 4)), type=spring))
    system = made.createSystem()
    assert any(isinstance(force, openmm.CustomTorsionForce) for force in system.getForces())
    energy, forces = state(system, made.positions)
    sim = jostle.from_parmed(made, run=RUN)
    # Of pi ParmEd writes seven digits.
    assert sim.potential_energy == pytest.approx(energy, rel=1e-6)
    assert numpy.allclose(sim.forces, forces, rtol=1e-5, atol=1e-2)
    assert sim.energies["dihedral_harmonic"] > 0.1


def test_constraints():
    sim = jostle.from_parmed(structure(), run=RUN, constraints="hydrogens", system={"temperature": 300})
    assert sim.topology["constraints"].shape == (15, 2)
    sim.run(5, timestep=0.001)


def test_wrong_settings_are_refused():
    made = structure()
    for wrong in [{"method": "magic"}, {"constraints": "some"}, {"method": "pme"}]:
        with pytest.raises(ValueError):
            jostle.from_parmed(made, **wrong)
    made.coordinates = None
    with pytest.raises(ValueError, match="positions"):
        jostle.from_parmed(made)
