"""Jostle for ASE, and ASE for Jostle."""

import jostle
import numpy
import pytest

ase = pytest.importorskip("ase", reason="ASE is not installed")

import jostle.ase  # noqa: E402
from ase import units  # noqa: E402
from ase.build import bulk  # noqa: E402
from ase.calculators.emt import EMT  # noqa: E402
from ase.filters import StrainFilter  # noqa: E402
from ase.optimize import LBFGS  # noqa: E402
from ase.phonons import Phonons  # noqa: E402

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
    # Both found the crystal, which may have moved as a whole.
    moved = atoms.positions - sim.positions
    assert abs(moved - numpy.round(moved / 18.05) * 18.05).std(axis=0).max() < 1e-3


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


def test_phonons_agree_with_finite_differences(tmp_path):
    """ASE's phonons through Jostle, and the dynamical matrix from the forces of Jostle alone."""
    cells, step = 8, 0.005
    cell = bulk("Cu", "fcc", a=3.61)
    supercell = cell * (cells, cells, cells)
    # Between two shells of neighbours: at the cut-off the third derivative of the energy jumps.
    keys = {"run": RUN, "metal": {"kind": "sutton-chen", "cutoff": 7.0}}
    calculator = jostle.ase.Jostle(jostle.ase.from_ase(supercell, **keys))
    phonons = Phonons(cell, calculator, supercell=(cells, cells, cells), delta=step, name=str(tmp_path / "phonon"))
    phonons.run()
    phonons.read(acoustic=True)
    # A wave that fits into the supercell, in units of the reciprocal cell: both methods have all of it.
    wave = numpy.array([2 / cells, 0.0, 0.0])
    energies = numpy.sort(phonons.band_structure([wave], verbose=False)[0])

    sim = jostle.ase.from_ase(supercell, **keys)
    start = sim.positions
    sites = cells * (start - start[0]) @ numpy.linalg.inv(sim.box)
    phases = numpy.exp(2j * numpy.pi * sites @ wave)
    matrix = numpy.zeros((3, 3), complex)
    for axis in range(3):
        forces = []
        for sign in [1, -1]:
            moved = start.copy()
            moved[0, axis] += sign * step
            sim.positions = moved
            forces.append(sim.forces)
        matrix[axis] = (forces[1] - forces[0]).T @ phases / (2 * step)
    squares = numpy.linalg.eigvalsh(matrix) / sim.masses[0]
    own = units._hbar * 1e10 / numpy.sqrt(units._e * units._amu) * numpy.sqrt(squares)  # eV
    assert energies == pytest.approx(own, rel=2e-4)
    # Of the size of those of copper: 3 to 7 THz at the edge of the zone.
    assert (1e-3 < energies).all() and (energies < 40e-3).all()
