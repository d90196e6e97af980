"""Atoms as arrays, and their changes."""

import jostle
import numpy
import pytest


def test_positions_and_velocities_can_be_written_back(sim):
    positions = sim.positions
    assert positions.dtype == float and positions.flags.writeable
    positions[0] += [0.01, 0.0, 0.0]
    sim.positions = positions
    assert numpy.array_equal(sim.positions, positions)
    velocities = sim.velocities * 0.5
    kinetic = sim.kinetic_energy
    sim.velocities = velocities
    assert numpy.array_equal(sim.velocities, velocities)
    assert sim.kinetic_energy == pytest.approx(kinetic / 4)
    sim.run(10)
    sim.positions = sim.positions.tolist()
    sim.run(10)


def test_energies_are_those_of_the_arrays(sim):
    kinetic = 0.5 * (sim.masses[:, None] * sim.velocities**2).sum()
    assert sim.energies["kinetic"] == pytest.approx(kinetic, rel=1e-12)
    assert sim.energies["total"] == sim.energies["kinetic"] + sim.energies["potential"]
    assert sim.energies["lennard_jones"] == sim.potential_energy
    assert sim.quantities["pressure"] == pytest.approx(
        (2 * kinetic + sim.virial.trace()) / (3 * numpy.linalg.det(sim.box)), rel=1e-12
    )


def test_forces_are_derivatives_of_the_energy(fluid):
    fluid["run"]["precision"] = "double"
    fluid["force"][0]["truncation"] = "force-shifted"
    sim = jostle.Simulation(**fluid)
    sim.run(200)
    start, force = sim.positions, sim.forces
    direction = numpy.random.default_rng(3).normal(size=(256, 3))
    step = 2e-5

    def energy(along):
        sim.positions = start + along * direction
        return sim.potential_energy

    slope = (energy(step) - energy(-step)) / (2 * step)
    assert slope == pytest.approx(-(force * direction).sum(), rel=2e-6)


def test_boxes(sim):
    box = sim.box
    assert box.shape == (3, 3) and numpy.linalg.det(box) == pytest.approx(256 / 0.8)
    assert sim.periodic == (True, True, True) and sim.origin.shape == (3,)
    volume = sim.quantities["volume"]
    sim.set_configuration(1.1 * box, 1.1 * sim.positions)
    assert sim.quantities["volume"] == pytest.approx(1.331 * volume)
    sim.run(5)
    for wrong in [numpy.eye(2), box[::-1], numpy.zeros((3, 3)), 1e-3 * box, numpy.nan * box]:
        with pytest.raises(ValueError):
            sim.set_configuration(wrong, sim.positions)
    sim.run(5)


def test_facts_about_atoms(sim):
    assert len(sim) == sim.n_atoms == 256
    assert set(sim.species) == {"A"} and numpy.array_equal(sim.masses, numpy.full(256, 2.0))
    assert not sim.charges.any() and sim.names[:2] == ["A", "A"] and sim.residues == []
    assert sim.topology["bonds"].shape == (0, 2) and sim.units == "lj" and "CPU" in sim.device
    assert "256 atoms" in repr(sim)


def test_rows(sim):
    sim.run()
    thermo = sim.thermo
    assert thermo["step"].tolist() == [0, 10, 20, 30, 40, 50, 60]
    assert thermo["temperature"].shape == thermo["time"].shape == (7,) and "kinetic" in thermo
    assert thermo.units["temperature"] == ""


@pytest.mark.parametrize(
    "wrong",
    [
        numpy.zeros((255, 3)),
        numpy.zeros((256, 2)),
        numpy.zeros(768),
        3.0,
        None,
        "positions",
        [[1.0, 2.0]] * 256,
        numpy.full((256, 3), numpy.nan),
        numpy.full((256, 3), numpy.inf),
        numpy.full((256, 3), 1e300),
        numpy.zeros((256, 3), dtype=complex),
        object(),
    ],
    ids=lambda wrong: type(wrong).__name__,
)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_wrong_arrays_are_refused(sim, wrong):
    before = sim.positions
    for name in ["positions", "velocities"]:
        if name == "velocities" and numpy.shape(wrong) == (256, 3) and numpy.isfinite(wrong).all():
            continue
        if isinstance(wrong, numpy.ndarray) and wrong.dtype == complex:
            continue
        with pytest.raises((ValueError, TypeError)):
            setattr(sim, name, wrong)
    assert numpy.array_equal(sim.positions, before)
    sim.run(5)


def test_atoms_at_one_place_end_the_run(sim):
    sim.positions = numpy.zeros((256, 3))
    with pytest.raises(jostle.JostleError):
        sim.run(5)
    with pytest.raises(jostle.JostleError):
        sim.energies
    assert sim.positions.shape == (256, 3)


def test_misspelt_attributes_are_refused(sim):
    with pytest.raises(AttributeError, match="no attribute 'velocty'; did you mean 'velocities'"):
        sim.velocty = sim.velocities
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        sim.foo = 1

    class Mine(jostle.Simulation):
        pass

    mine = Mine.from_string(sim.input)
    mine.note = "of a subclass"
    assert mine.note == "of a subclass"


def test_masked_numbers_are_refused(sim):
    hidden = numpy.ma.masked_less(sim.positions, 0.5)
    with pytest.raises(ValueError, match="masked"):
        sim.positions = hidden
    sim.positions = numpy.ma.masked_invalid(sim.positions)
    sim.force(lambda r: (0.0, numpy.ma.masked_less(r, 0.5)), name="masked")
    with pytest.raises(ValueError, match="masked"):
        sim.run(1)


def test_tables_of_pandas_are_arrays(sim):
    pandas = pytest.importorskip("pandas")
    positions = sim.positions
    sim.positions = pandas.DataFrame(positions)
    sim.velocities = pandas.DataFrame(sim.velocities)
    assert numpy.array_equal(sim.positions, positions)


def test_positions_that_are_set_go_on_with_their_paths(fluid):
    fluid["field"] = [{"energy": "0.1 x", "positions": "unwrapped"}]
    sim = jostle.Simulation(**fluid)
    sim.run(500)
    path, energy = sim.unwrapped_positions, sim.potential_energy
    assert abs(path - sim.positions).max() > 1
    sim.positions = sim.positions
    assert numpy.allclose(sim.unwrapped_positions, path, atol=1e-9)
    assert sim.potential_energy == pytest.approx(energy, rel=1e-5)


def test_frozen_atoms_keep_their_velocities(fluid):
    fluid["group"] = [{"name": "wall", "atoms": "index 0 to 9", "frozen": True}]
    sim = jostle.Simulation(**fluid)
    sim.run(5)
    path = sim.unwrapped_positions
    sim.velocities = numpy.ones((256, 3))
    assert not sim.velocities[:10].any() and (sim.velocities[10:] == 1).all()
    sim.run(20)
    assert numpy.array_equal(sim.unwrapped_positions[:10], path[:10])


def test_atoms_that_overlapped_may_be_moved_apart(sim):
    positions, velocities, energy = sim.positions, sim.velocities, sim.potential_energy
    overlapping = positions.copy()
    overlapping[1] = overlapping[0]
    sim.positions = overlapping
    with pytest.raises(jostle.SimulationError, match="not finite"):
        sim.potential_energy
    sim.positions, sim.velocities = positions, velocities
    assert sim.potential_energy == pytest.approx(energy, rel=1e-7)
    sim.run(10)


def test_velocities_have_a_finite_energy(sim):
    before = sim.velocities
    with pytest.raises(jostle.InputError, match="kinetic energy"):
        sim.velocities = numpy.full((256, 3), 1e300)
    assert numpy.array_equal(sim.velocities, before)
