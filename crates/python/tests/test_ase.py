"""Jostle for ASE, and ASE for Jostle."""

import jostle
import numpy
import pytest

ase = pytest.importorskip("ase", reason="ASE is not installed")

import jostle.ase  # noqa: E402
from ase import Atoms, units  # noqa: E402
from ase.build import bulk, fcc100  # noqa: E402
from ase.calculators.emt import EMT  # noqa: E402
from ase.calculators.lj import LennardJones  # noqa: E402
from ase.constraints import FixAtoms, FixBondLength  # noqa: E402
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


def test_other_elements_and_charges_are_refused():
    alloy = copper()
    alloy.symbols[::2] = "Au"
    alloy.calc = jostle.ase.Jostle(jostle.ase.from_ase(alloy, **METAL))
    before = alloy.get_potential_energy()
    swapped = alloy.copy()
    swapped.numbers[[0, 1]] = swapped.numbers[[1, 0]]
    swapped.calc = alloy.calc
    with pytest.raises(ValueError, match="element of atom 0 is Cu, but Au .* new calculator"):
        swapped.get_potential_energy()
    # A calculator that has calculated nothing yet.
    swapped.calc = jostle.ase.Jostle(jostle.ase.from_ase(alloy, **METAL))
    with pytest.raises(ValueError, match="new calculator"):
        swapped.get_potential_energy()
    charged = alloy.copy()
    charged.set_initial_charges(numpy.eye(1, len(alloy))[0])
    charged.calc = alloy.calc
    with pytest.raises(ValueError, match="initial charge of atom 0 is 1.0, but 0.0"):
        charged.get_potential_energy()
    swapped.calc = jostle.ase.Jostle(jostle.ase.from_ase(swapped, **METAL))
    assert abs(swapped.get_potential_energy() - before) > 0.1


def test_initial_charges_come_over():
    pair = Atoms("NaCl", positions=[[0, 0, 0], [0, 0, 3.0]])
    pair.set_initial_charges([1, -1])
    wells = {name: {"epsilon": 0.0, "sigma": 1.0} for name in ("Na-Na", "Cl-Cl", "Na-Cl")}
    keys = {
        "run": RUN,
        "force": [{"kind": "lennard-jones", "cutoff": 6, "pairs": wells}],
        "electrostatics": {"kind": "cutoff", "cutoff": 20},
    }
    sim = jostle.ase.from_ase(pair, **keys)
    assert numpy.allclose(sim.charges, [1, -1])
    # Coulomb's constant is 14.3996 eV angstrom.
    assert sim.potential_energy == pytest.approx(-14.3996 / 3, rel=1e-5)


def test_fixed_atoms_are_frozen():
    atoms = copper()
    atoms.rattle(0.1, seed=3)
    atoms.set_constraint([FixAtoms([0, 1, 7]), FixAtoms([-100])])
    keys = {**METAL, "group": [{"name": "others", "atoms": "index 2 3"}], "system": {"temperature": 300}}
    sim = jostle.ase.from_ase(atoms, **keys)
    start = sim.positions
    sim.run(20, timestep=0.002)
    moved = abs(sim.positions - start).max(axis=1) > 0
    assert numpy.flatnonzero(~moved).tolist() == [0, 1, 7, 400]
    # Energies and forces of a calculator are those of all atoms, which ASE holds itself.
    free = atoms.copy()
    free.set_constraint()
    atoms.calc = jostle.ase.Jostle(jostle.ase.from_ase(atoms, **METAL))
    free.calc = jostle.ase.Jostle(jostle.ase.from_ase(free, **METAL))
    for change in [0.0, 0.3]:
        for each in (atoms, free):
            each.positions[[1, 20]] += change
        assert atoms.get_potential_energy() == pytest.approx(free.get_potential_energy(), rel=1e-12)
        assert numpy.allclose(atoms.get_forces(apply_constraint=False), free.get_forces(), atol=1e-9)


def test_other_constraints_are_refused():
    atoms = copper()
    atoms.set_constraint([FixAtoms([0]), FixBondLength(0, 1)])
    with pytest.raises(jostle.InputError, match="FixBondLength"):
        jostle.ase.from_ase(atoms, **METAL)
    atoms.set_constraint(FixAtoms([0]))
    with pytest.raises(jostle.InputError, match="copies"):
        jostle.ase.from_ase(atoms, system={"replicate": [2, 1, 1]}, **METAL)


def test_forces_of_ase_take_the_units_of_the_simulation():
    atoms = copper(3)
    atoms.rattle(0.1, seed=4)
    atoms.calc = EMT()
    kilocalorie = units.kcal / units.mol
    force = jostle.ase.AseForce(EMT(), atoms)
    sim = jostle.ase.from_ase(atoms, units="real", run=RUN)
    sim.force(force, box=True, conserves_momentum=True)
    assert sim.potential_energy == pytest.approx(atoms.get_potential_energy() / kilocalorie, rel=1e-6)
    assert numpy.allclose(sim.forces, atoms.get_forces() / kilocalorie, rtol=1e-6, atol=1e-6)
    other = jostle.ase.from_ase(atoms, run=RUN)
    with pytest.raises(ValueError, match='"real", and this one has "metal"'):
        other.force(force, box=True)


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


def argon(missing=(), hand=1):
    """A rattled crystal with bent edges in any orientation, without some of its edges, and the keys of its force."""
    atoms = bulk("Ar", a=5.3, cubic=True) * 3
    atoms.rattle(0.1, seed=2)
    bent = atoms.cell.array + 0.2 * numpy.tril(atoms.cell.array[:, [2, 0, 1]], -1)
    atoms.set_cell(bent[[0, 1, 2] if hand > 0 else [1, 0, 2]], scale_atoms=True)
    axes = numpy.linalg.qr(numpy.random.default_rng(4).normal(size=(3, 3)))[0]
    axes *= numpy.sign(numpy.linalg.det(axes))
    atoms.set_cell(atoms.cell.array @ axes, scale_atoms=True)
    edges = atoms.cell.array
    edges[list(missing)] = 0
    atoms.set_cell(edges)
    atoms.pbc = [k not in missing for k in range(3)]
    well = {"Ar-Ar": {"epsilon": 0.0104, "sigma": 3.4}}
    force = {"kind": "lennard-jones", "cutoff": 6.5, "truncation": "shifted", "pairs": well}
    return atoms, {"run": RUN, "force": [force]}


def assert_is_that_of_ase(atoms):
    """Energy and forces of these atoms are those of the calculator of ASE."""
    other = atoms.copy()
    other.calc = LennardJones(epsilon=0.0104, sigma=3.4, rc=6.5)
    assert atoms.get_potential_energy() == pytest.approx(other.get_potential_energy(), rel=1e-12)
    assert atoms.get_forces() == pytest.approx(other.get_forces(), abs=1e-12)
    if atoms.pbc.all():
        assert atoms.get_stress() == pytest.approx(other.get_stress(), abs=1e-13)


@pytest.mark.parametrize("missing", [(2,), (1,), (0,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_cells_that_lack_edges_change(missing):
    atoms, keys = argon(missing)
    atoms.calc = jostle.ase.Jostle(jostle.ase.from_ase(atoms, **keys))
    assert_is_that_of_ase(atoms)
    before = atoms.get_potential_energy()
    strain = numpy.eye(3) + 0.03 * numpy.random.default_rng(7).normal(size=(3, 3))
    for change in [1.05 * numpy.eye(3), strain]:
        atoms.set_cell(atoms.cell.array @ change, scale_atoms=True)
        assert_is_that_of_ase(atoms)
    assert len(missing) == 3 or abs(atoms.get_potential_energy() - before) > 1e-3


@pytest.mark.parametrize("periodic", [(0, 0, 0), (1, 1, 0), (0, 1, 1), (0, 0, 1)])
def test_edges_that_lean_along_open_axes_mean_nothing(periodic):
    atoms, keys = argon((0, 1, 2))
    atoms.set_cell(bulk("Ar", "fcc", a=5.3).cell * 8)
    atoms.pbc = periodic
    atoms.calc = jostle.ase.Jostle(jostle.ase.from_ase(atoms, **keys))
    other = atoms.copy()
    other.calc = LennardJones(epsilon=0.0104, sigma=3.4, rc=6.5)
    for _ in range(2):
        assert atoms.get_potential_energy() == pytest.approx(other.get_potential_energy(), rel=1e-12)
        assert atoms.get_forces() == pytest.approx(other.get_forces(), abs=1e-12)
        for one in (atoms, other):
            one.rattle(0.05, seed=4)


def test_left_handed_cells():
    atoms, keys = argon(hand=-1)
    assert numpy.linalg.det(atoms.cell) < 0
    atoms.set_velocities(numpy.random.default_rng(3).normal(size=(len(atoms), 3)))
    sim = jostle.ase.from_ase(atoms, **keys)
    assert sim.kinetic_energy == pytest.approx(atoms.get_kinetic_energy())
    atoms.calc = jostle.ase.Jostle(sim)
    assert_is_that_of_ase(atoms)
    # A cell may turn over on the way.
    for change in [1.03 * numpy.eye(3), numpy.diag([1.0, -1.0, 1.0])]:
        atoms.set_cell(atoms.cell.array @ change, scale_atoms=True)
        assert_is_that_of_ase(atoms)


def test_left_handed_slabs():
    slab = fcc100("Ar", (4, 4, 3), a=5.3)
    slab.rattle(0.1, seed=2)
    keys = argon()[1]
    for axes in [[1, 0], [0, 1]]:
        edges = slab.cell.array
        edges[[0, 1]] = edges[axes]
        edges[2] = [0, 0, 40]
        slab.set_cell(edges)
        slab.pbc = (True, True, False)
        slab.calc = jostle.ase.Jostle(jostle.ase.from_ase(slab, **keys))
        assert_is_that_of_ase(slab)
