"""Jostle for ASE, and ASE for Jostle."""

import jostle
import numpy
import pytest

ase = pytest.importorskip("ase", reason="ASE is not installed")

import jostle.ase  # noqa: E402
from ase.build import bulk  # noqa: E402
from ase.calculators.emt import EMT  # noqa: E402
from ase.filters import StrainFilter  # noqa: E402
from ase.optimize import LBFGS  # noqa: E402

RUN = {"device": "cpu", "threads": 1, "precision": "double"}
METAL = {"run": RUN, "metal": {"kind": "sutton-chen"}}


def copper(cells=5):
    return bulk("Cu", "fcc", a=3.61, cubic=True) * cells


def test_forces_and_stress_are_derivatives():
    atoms = copper()
    atoms.rattle(0.1, seed=2)
    atoms.calc = jostle.ase.Jostle(jostle.ase.from_ase(atoms, **METAL))
    start, forces = atoms.positions.copy(), atoms.get_forces()
    direction = numpy.random.default_rng(5).normal(size=start.shape)

    def energy(along):
        atoms.positions = start + along * direction
        return atoms.get_potential_energy()

    step = 1e-4
    slope = (energy(step) - energy(-step)) / (2 * step)
    assert slope == pytest.approx(-(forces * direction).sum(), rel=1e-6)
    atoms.positions = start
    # Central differences of the energy in the strain.
    from ase.calculators.fd import calculate_numerical_stress

    assert atoms.get_stress() == pytest.approx(calculate_numerical_stress(atoms, eps=1e-5), rel=1e-4, abs=1e-7)


def test_geometry_optimisations_agree():
    atoms = copper()
    atoms.rattle(0.2, seed=1)
    sim = jostle.ase.from_ase(atoms, **METAL)
    atoms.calc = jostle.ase.Jostle(jostle.ase.from_ase(atoms, **METAL))
    LBFGS(atoms, logfile=None).run(fmax=1e-4, steps=100)
    sim.minimize(force_tolerance=1e-4, steps=5000)
    assert atoms.get_potential_energy() == pytest.approx(sim.potential_energy, abs=1e-5)


def test_cells_relax():
    atoms = copper()
    atoms.set_cell(1.02 * atoms.cell, scale_atoms=True)
    atoms.calc = jostle.ase.Jostle(jostle.ase.from_ase(atoms, **METAL))
    LBFGS(StrainFilter(atoms), logfile=None).run(fmax=1e-4, steps=60)
    # The lattice constant that Sutton and Chen fitted.
    assert atoms.cell.lengths()[0] / 5 == pytest.approx(3.61, rel=0.01)
    assert abs(atoms.get_stress()).max() < 1e-5


def test_emt_copper_conserves_energy():
    atoms = copper(3)
    stage = {"name": "sample", "steps": 150, "timestep": 0.001, "thermo": {"every": 5}}
    sim = jostle.ase.from_ase(atoms, run=RUN, system={"temperature": 600}, stage=[stage])
    sim.force(jostle.ase.AseForce(EMT(), atoms), name="emt", box=True, conserves_momentum=True)
    atoms.calc = EMT()
    assert sim.potential_energy == pytest.approx(atoms.get_potential_energy(), rel=1e-9)
    sim.run()
    total, kinetic = sim.thermo["total"], sim.thermo["kinetic"]
    assert numpy.ptp(total) < 1e-3 * kinetic.max() and numpy.ptp(kinetic) > 0.1 * kinetic.max()


def test_velocities_and_masses_come_over():
    atoms = copper()
    atoms.set_velocities(numpy.random.default_rng(4).normal(0, 0.01, atoms.positions.shape))
    sim = jostle.ase.from_ase(atoms, **METAL)
    assert numpy.allclose(sim.masses, atoms.get_masses(), rtol=1e-12)
    assert sim.kinetic_energy == pytest.approx(atoms.get_kinetic_energy(), rel=1e-6)


def test_other_atoms_are_refused():
    calculator = jostle.ase.Jostle(jostle.ase.from_ase(copper(), **METAL))
    other = copper(4)
    other.calc = calculator
    with pytest.raises(ValueError, match="atoms"):
        other.get_potential_energy()
    open_box = copper()
    open_box.pbc = False
    open_box.calc = calculator
    with pytest.raises(ValueError, match="pbc"):
        open_box.get_potential_energy()
