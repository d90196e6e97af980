"""Arrays and forces in the memory of a GPU, here of an emulated one, whose memory is that of the host."""

import copy
import gc
import os
import shutil
from pathlib import Path

import jostle
import numpy
import pytest
from test_forces import lennard_jones

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="the emulated GPU needs g++"),
    pytest.mark.filterwarnings("ignore:.*gives no virial"),
]

FOLDER = Path(os.environ.get("JOSTLE_EMULATED_GPU") or Path(__file__).parents[3] / "target" / "emulated")


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    FOLDER.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("JOSTLE_EMULATED_GPU", str(FOLDER))


@pytest.fixture
def fluid(fluid):
    """A small fluid on the emulated GPU."""
    fluid["run"] = {"device": "cuda:0", "precision": "double"}
    fluid["force"][0]["truncation"] = "plain"
    fluid["system"]["atoms"] = 108
    fluid["force"][0]["cutoff"] = 2.2
    return fluid


@pytest.fixture
def gpu(fluid):
    return jostle.Simulation(**fluid)


def reach(positions, box):
    """Lennard-Jones forces of the fixture by NumPy, in the memory of the device."""
    array = numpy.from_dlpack(positions)
    assert array.dtype == numpy.float64
    energy, forces, virial = lennard_jones(array, box, 2.2)
    array[:] = 0  # the rows belong to the function
    return energy, forces, virial


def test_frozen_and_driven_atoms_keep_their_velocities(fluid):
    walls = [{"name": "floor", "atoms": "index 0 to 19", "frozen": True}, {"name": "lid", "atoms": "index 20 to 39", "velocity": [0.5, 0, 0]}]
    sim = jostle.Simulation(**fluid, group=walls)
    start = sim.unwrapped_positions
    with sim.on_device(write=True) as d:
        numpy.asarray(d.velocities)[:] = [1.0, -2.0, 0.5]
    assert numpy.array_equal(sim.velocities[40:], numpy.tile([1.0, -2.0, 0.5], (68, 1)))
    sim.run(25)
    moved = sim.unwrapped_positions - start
    assert numpy.allclose(moved[:20], 0, atol=1e-12)
    assert numpy.allclose(moved[20:40], [0.05, 0, 0], atol=1e-9)


def test_arrays_are_those_of_the_atoms(gpu):
    gpu.run(30)
    forces = gpu.forces
    with gpu.on_device() as d:
        order = numpy.asarray(d.ids)
        assert sorted(order) == list(range(108)) and d.ids.shape == (108,) and d.ids.dtype == "uint32"
        edges = gpu.box.diagonal()
        for array, of_host in [(d.velocities, gpu.velocities), (d.forces, forces)]:
            assert numpy.array_equal(numpy.from_dlpack(array), of_host[order])
        unwrapped = numpy.asarray(d.positions) + numpy.asarray(d.images) * edges
        assert numpy.allclose(unwrapped, gpu.unwrapped_positions[order], rtol=0, atol=1e-12)
        assert d.positions.device == "cpu" and d.positions.stream is None and d.positions.readonly
        assert d.positions.__dlpack_device__() == (1, 0) and len(d.forces) == 108
        assert "(108, 3) float64" in repr(d.positions)
        assert not hasattr(d.positions, "__cuda_array_interface__")
        with pytest.raises(BufferError):
            d.positions.__dlpack__(copy=True)
        with pytest.raises(BufferError):
            d.positions.__dlpack__(dl_device=(2, 0))


def test_reading_changes_nothing(fluid):
    one, other = jostle.Simulation(**fluid), jostle.Simulation(**fluid)
    for _ in range(4):
        one.run(10)
        other.run(10)
        with other.on_device() as d:
            numpy.asarray(d.positions).sum()
    assert numpy.array_equal(one.positions, other.positions)


def test_arrays_end_with_the_block(gpu):
    with gpu.on_device() as d:
        kept = numpy.from_dlpack(d.positions)
        before = kept.copy()
        with pytest.raises(RuntimeError, match="lent"):
            gpu.run(1)
        with pytest.raises(RuntimeError, match="lent"):
            gpu.velocities = 0 * gpu.velocities
        with pytest.raises(RuntimeError, match="lent"), gpu.on_device():
            pass
        assert numpy.array_equal(kept, before)
    for use in [lambda: numpy.from_dlpack(d.positions), lambda: d.positions.__array_interface__]:
        with pytest.raises(RuntimeError, match="over"):
            use()
    gpu.run(20)
    del gpu, d
    gc.collect()
    assert kept.sum() == kept.sum()
    with pytest.raises(ValueError):
        kept[0] = 0


def test_blocks_end_with_exceptions(gpu):
    with pytest.raises(KeyError), gpu.on_device():
        raise KeyError
    gpu.run(2)


def test_atoms_are_written(gpu):
    gpu.run(10)
    with gpu.on_device(write=True) as d:
        positions = numpy.asarray(d.positions)
        order = numpy.asarray(d.ids).copy()
        positions += [0.1, 0.0, -3.0]
        numpy.asarray(d.velocities)[:] *= -1
        moved, reversed_ = positions.copy(), numpy.asarray(d.velocities).copy()
        with pytest.raises(ValueError):
            numpy.asarray(d.forces)[0] = 1
    distance = gpu.positions[order] - moved
    assert numpy.allclose(distance, gpu.box[0, 0] * numpy.round(distance / gpu.box[0, 0]), rtol=0, atol=1e-9)
    assert numpy.array_equal(gpu.velocities[order], reversed_)
    energy, forces, _ = lennard_jones(gpu.positions, gpu.box, 2.2)
    assert gpu.potential_energy == pytest.approx(energy, rel=1e-10)
    assert numpy.allclose(gpu.forces, forces, rtol=0, atol=1e-8)
    gpu.run(10)


@pytest.mark.parametrize("bad", [numpy.nan, 1e200])
def test_nonsense_is_not_taken_back(gpu, bad):
    gpu.run(5)
    before = gpu.positions
    with pytest.raises(jostle.SimulationError, match="finite"), gpu.on_device(write=True) as d:
        numpy.asarray(d.positions)[3] = bad
    assert numpy.array_equal(gpu.positions, before)
    gpu.run(5)


@pytest.fixture
def processor(fluid):
    fluid["run"]["device"] = "cpu"
    return jostle.Simulation(**fluid)


def test_a_processor_has_no_such_memory(processor):
    sim = processor
    with pytest.raises(jostle.InputError, match="shared"), sim.on_device():
        pass
    sim.run(1)


@pytest.mark.parametrize("thermostat", [None, {"kind": "bussi", "temperature": 1.2, "period": 0.1},
                                        {"kind": "langevin", "temperature": 1.2, "friction": 1.0}])
def test_a_force_on_the_device_agrees_with_the_built_in_one(fluid, thermostat):
    fluid["stage"][0]["thermostat"] = thermostat
    built_in = jostle.Simulation(**fluid)
    fluid["force"] = []
    written = jostle.Simulation(**fluid)
    written.force(reach, name="pairs", box=True, conserves_momentum=True, on_device=True)
    for sim in [built_in, written]:
        sim.run(37)
    assert numpy.allclose(written.positions, built_in.positions, rtol=0, atol=1e-7)
    assert numpy.allclose(written.forces, built_in.forces, rtol=0, atol=1e-5)
    assert written.quantities["pressure"] == pytest.approx(built_in.quantities["pressure"], rel=1e-7)
    for name in ["potential", "pressure", "conserved"]:
        assert numpy.allclose(written.thermo[name], built_in.thermo[name], rtol=1e-7, equal_nan=True)
    assert numpy.array_equal(written.thermo["pairs"], written.thermo["potential"])


def test_a_simulation_goes_back_with_its_force(fluid, tmp_path):
    fluid["force"] = []
    sim = jostle.Simulation(**fluid)
    sim.force(reach, name="pairs", box=True, conserves_momentum=True, on_device=True)
    sim.write_to(tmp_path / "out")
    sim.run(10)
    sim.save()
    paths = []
    for _ in range(2):
        sim.run(15)
        paths.append(sim.positions)
        sim.restore()
        assert sim.step == 10 and "CUDA" in sim.device
    assert numpy.allclose(*paths, rtol=0, atol=1e-9)


def test_lists_that_go_stale_within_a_batch(fluid):
    """Steps between lists are made in batches, whose slots behind a stale list are idle."""
    fluid["run"] = {"device": "cuda:0", "precision": "mixed", "algorithm": "list"}
    fluid["system"] |= {"atoms": 256, "temperature": 3.0}
    fluid["stage"] = [{"steps": 90, "timestep": 0.004, "thermo": {"every": 45}}]
    calls, paths = [], []

    def trap(positions):
        calls.append(1)
        r = numpy.asarray(positions)
        return 0.5 * (r**2).sum(), -r, -r.T @ r

    for on_device in [False, True]:
        sim = jostle.Simulation(**fluid)
        sim.force(trap, on_device=on_device)
        calls.clear()
        sim.run(90)
        paths.append(sim)
    assert 90 <= len(calls) < 150
    assert numpy.allclose(paths[0].positions, paths[1].positions, rtol=0, atol=1e-3)
    for name in ["trap", "potential", "pressure", "conserved"]:
        assert numpy.allclose(paths[0].thermo[name], paths[1].thermo[name], rtol=1e-4), name


def test_forces_on_some_atoms_and_of_all_kinds(fluid):
    def springs(positions):
        array = numpy.asarray(positions)
        assert array.shape == (3, 3)
        return (array**2).sum(), -2 * array, -2 * array.T @ array

    def single(positions):
        energy, forces, virial = springs(positions)
        return numpy.float32(energy), numpy.asfortranarray(forces, dtype=numpy.float32), virial

    def listed(positions):
        energy, forces, virial = springs(positions)
        return [energy][0], forces.tolist(), None

    paths = []
    for function, on_device in [(springs, False), (springs, True), (single, True), (listed, True)]:
        sim = jostle.Simulation(**copy.deepcopy(fluid))
        sim.force(function, name="springs", atoms=[40, 7, 99], on_device=on_device)
        sim.run(25)
        paths.append(sim)
    for sim, exact in zip(paths[1:], [1e-9, 1e-5, 1e-9], strict=True):
        assert numpy.allclose(sim.positions, paths[0].positions, rtol=0, atol=exact)
        assert numpy.allclose(sim.thermo["springs"], paths[0].thermo["springs"], rtol=1e-5)
    assert paths[0].quantities["pressure"] == pytest.approx(paths[1].quantities["pressure"], rel=1e-9)


def test_forces_in_the_middle_of_pair_friction(fluid):
    fluid["stage"][0]["thermostat"] = {"kind": "dpd", "temperature": 1.2, "friction": 1.0, "cutoff": 2.0}
    paths = []
    for on_device in [False, True]:
        sim = jostle.Simulation(**copy.deepcopy(fluid))
        sim.force(lambda r: (0.0, -0.1 * numpy.asarray(r)), name="trap", on_device=on_device)
        sim.run(10)
        paths.append(sim.positions)
    assert numpy.allclose(*paths, rtol=0, atol=1e-9)


def test_minimisation(fluid):
    sim = jostle.Simulation(**fluid)
    sim.force(lambda r: (0.5 * (numpy.asarray(r) ** 2).sum(), -numpy.asarray(r)), name="trap", on_device=True)
    before = sim.potential_energy
    sim.minimize(force_tolerance=0.1, steps=30)
    assert sim.potential_energy < before


def test_exceptions_come_out(gpu):
    class Broken(Exception):
        pass

    calls = []

    @gpu.force(on_device=True)
    def broken(positions):
        calls.append(positions)
        if len(calls) == 20:
            raise Broken("at the twentieth")
        return 0.0, numpy.zeros((108, 3))

    with pytest.raises(Broken, match="twentieth"):
        gpu.run()
    with pytest.raises(RuntimeError, match="over"):
        numpy.asarray(calls[0])
    energy, forces, _ = lennard_jones(gpu.positions, gpu.box, 2.2)
    assert numpy.allclose(gpu.forces, forces, rtol=0, atol=1e-8)
    # Somewhere within a batch of steps: the run does not go on from there.
    step, before = gpu.step, gpu.positions
    for go_on in [gpu.run, lambda: gpu.run(10), gpu.minimize]:
        with pytest.raises(jostle.SimulationError, match=f"middle of step {step + 1}"):
            go_on()
    assert gpu.step == step and numpy.array_equal(gpu.positions, before)


ZEROS = numpy.zeros((108, 3))


@pytest.mark.parametrize(
    "returned",
    [None, 3.0, (), (1.0,), (0.0, None), (0.0, "forces"), (0.0, 5), ("much", ZEROS), (0.0, numpy.zeros((107, 3))),
     (0.0, numpy.zeros(324)), (0.0, numpy.zeros((108, 3), int)), (0.0, numpy.zeros((108, 3), complex)),
     (0.0, numpy.full((108, 3), numpy.nan)), (numpy.inf, ZEROS), (0.0, ZEROS, numpy.zeros(3)),
     (0.0, ZEROS, None, None)],
    ids=lambda returned: repr(returned)[:24],
)
def test_wrong_values_are_refused(gpu, returned):
    gpu.force(lambda positions: returned, name="wrong", on_device=True)
    with pytest.raises((TypeError, ValueError, BufferError, jostle.SimulationError, jostle.InputError)):
        gpu.run(10)
    assert gpu.step < 10 and gpu.positions.shape == (108, 3)


def test_forces_that_are_not_finite_are_named(gpu):
    forces = numpy.zeros((108, 3))
    forces[17] = numpy.nan
    gpu.force(lambda positions: (0.0, forces), name="odd", on_device=True)
    with pytest.raises(jostle.SimulationError, match="'odd' on atom 17"):
        gpu.run(5)


def test_wrong_forces_are_refused(gpu):
    with pytest.raises(ValueError):
        gpu.force(lambda r: (0.0, r), name="far", atoms=[108], on_device=True)
    with pytest.raises(ValueError, match="twice"):
        gpu.force(lambda r: (0.0, numpy.zeros((2, 3))), name="twice", atoms=[3, 3], on_device=True)


def test_forces_on_a_processor_get_arrays_of_numpy(processor):
    sim = processor

    @sim.force(on_device=True)
    def trap(positions):
        assert isinstance(positions, numpy.ndarray)
        return 0.5 * (positions**2).sum(), -positions

    sim.run(2)


WATER = {
    "units": "real",
    "run": {"device": "cuda:0", "precision": "double"},
    "system": {"place": "water", "molecules": 64, "bond_length": 1.0, "bond_angle": 109.47, "density": "0.998 g/cm3",
               "temperature": 300},
    "species": {"O": {"mass": 15.9994}, "H": {"mass": 1.008}},
    "force": [{"kind": "lennard-jones", "cutoff": 5.5,
               "pairs": {"O-O": {"epsilon": 0.1553, "sigma": 3.166}, "O-H": "none", "H-H": "none"}}],
    "stage": [{"steps": 20, "timestep": 1.0, "thermo": {"every": 10}}],
}


def test_rigid_molecules():
    """Velocities of rigid molecules may be written, positions not; forces of Python act within constraints."""
    water = jostle.Simulation(**WATER)
    with water.on_device(write=True) as d:
        assert d.positions.readonly and not d.velocities.readonly
        numpy.asarray(d.velocities)[:] *= 0.5
    paths = []
    for on_device in [False, True]:
        sim = jostle.Simulation(**WATER)
        sim.force(lambda r: (0.0, -0.01 * numpy.asarray(r)), name="pull", on_device=on_device)
        sim.run(10)
        paths.append(sim)
    assert numpy.allclose(paths[0].positions, paths[1].positions, rtol=0, atol=1e-6)
