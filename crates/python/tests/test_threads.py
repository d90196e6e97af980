"""Threads of Python and other interpreters: each simulation is used by one thread at a time."""

import importlib
import subprocess
import sys
import sysconfig
import threading
import time

import jostle
import numpy
import pytest
from conftest import FLUID

pytestmark = pytest.mark.filterwarnings("ignore:.*gives no virial")


def together(*functions):
    """Calls functions in threads; returns what they raised, None for those that did not."""
    raised = [None] * len(functions)

    def call(k):
        try:
            functions[k]()
        except BaseException as error:
            raised[k] = error

    threads = [threading.Thread(target=call, args=(k,)) for k in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    return raised


def test_two_simulations_in_two_threads(fluid):
    alone = jostle.Simulation(**fluid)
    alone.run(600)
    sims = [jostle.Simulation(**fluid) for _ in range(2)]

    def work(sim):
        for _ in range(30):
            sim.run(20)
            assert numpy.isfinite(sim.positions).all() and sim.energies["kinetic"] > 0

    assert together(*(lambda sim=sim: work(sim) for sim in sims)) == [None, None]
    for sim in sims:
        assert numpy.array_equal(sim.positions, alone.positions)


def test_a_simulation_runs_in_one_thread_only(sim):
    began = threading.Event()
    sim.observe(every=10)(lambda _: began.set())

    def run():
        sim.run(20_000)

    def intrude():
        assert began.wait(30)
        for more in [lambda: sim.run(1), sim.run, sim.minimize, lambda: sim.run(1, timestep=0.001)]:
            with pytest.raises(RuntimeError, match="another thread"):
                more()

    assert together(run, intrude) == [None, None]
    assert sim.step == 20_000 and sim.stages == ["sample"]


def test_reading_and_writing_from_many_threads(fluid):
    """Whatever they do, each call sees a whole step, and nothing crashes."""
    fluid["stage"][0]["thermostat"] = {"kind": "langevin", "temperature": 1.2, "friction": 1.0}
    sim = jostle.Simulation(**fluid)
    end = time.monotonic() + 3

    def run():
        while time.monotonic() < end:
            sim.run(5)

    def read():
        while time.monotonic() < end:
            assert sim.positions.shape == sim.forces.shape == (256, 3)
            thermo = sim.thermo
            assert thermo["step"].shape == thermo["time"].shape == thermo["potential"].shape
            sim.energies, sim.results, sim.reports, repr(sim), sim.step

    def write():
        while time.monotonic() < end:
            sim.velocities = 0.99 * sim.velocities

    assert together(run, read, read, write) == [None] * 4
    assert sim.step > 0 and numpy.isfinite(sim.positions).all()


def test_readers_wait_for_a_step_not_for_the_run(sim):
    """The run ends after they have read, and has taken the path of one that nothing reads."""
    steps, seen, have_read = 10**8, [], threading.Event()

    def progress(*_):
        if have_read.is_set():
            raise InterruptedError

    def run():
        with pytest.raises(InterruptedError):
            sim.run(steps, progress=progress)

    def read():
        while len(seen) < 10 or seen[-1] == 0:
            seen.append(sim.step)
            assert sim.temperature > 0 and sim.positions.shape == (256, 3)
        have_read.set()

    assert together(run, read) == [None, None]
    assert 0 < seen[-1] < sim.step < steps and seen == sorted(seen)
    alone = jostle.Simulation(**FLUID)
    alone.run(sim.step)
    assert numpy.array_equal(sim.positions, alone.positions)
    rows = len(alone.thermo["step"])
    for name in ["step", "temperature", "potential"]:
        assert numpy.array_equal(sim.thermo[name][:rows], alone.thermo[name])


@pytest.mark.parametrize("minimizer", ["fire", "lbfgs"])
def test_minimisations_that_others_read_take_the_same_path(fluid, minimizer):
    began = threading.Event()

    def minimize(sim):
        sim.positions = sim.positions + numpy.random.default_rng(2).normal(scale=0.02, size=(256, 3))
        began.set()
        sim.minimize(force_tolerance=1e-12, steps=200, minimizer=minimizer)

    alone, sim = jostle.Simulation(**fluid), jostle.Simulation(**fluid)
    minimize(alone)
    began.clear()

    def read():
        assert began.wait(30)
        for _ in range(20):
            assert sim.positions.shape == (256, 3) and sim.step >= 0

    assert together(lambda: minimize(sim), read) == [None, None]
    assert sim.step == alone.step and numpy.array_equal(sim.positions, alone.positions)


def test_forces_and_observers_in_threads(fluid):
    def make():
        sim = jostle.Simulation(**fluid)
        sim.force(lambda r: (0.0, 0.0 * r, numpy.zeros((3, 3))), name="nothing", conserves_momentum=True)
        seen = []
        sim.observe(every=7)(lambda sim: seen.append(sim.temperature))
        return sim, seen

    alone, expected = make()
    alone.run(300)
    both = [make() for _ in range(2)]
    assert together(*(lambda sim=sim: sim.run(300) for sim, _ in both)) == [None, None]
    for sim, seen in both:
        assert numpy.array_equal(sim.positions, alone.positions) and seen == expected


def test_other_interpreters_refuse_the_module():
    """A module that shares nothing with another interpreter is not claimed: it says so, and nothing crashes."""
    for name in ["_interpreters", "_xxsubinterpreters"]:
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        break
    else:
        pytest.skip("this Python has no module for other interpreters")
    code = f"""
import sys
sys.path[:] = {sys.path!r}
try:
    import jostle._jostle
except ImportError as error:
    assert "interpreter" in str(error), error
else:
    raise AssertionError("it has been imported")
"""
    import jostle._jostle  # noqa: F401: the first interpreter has it.

    other = interpreters.create()
    try:
        failed = interpreters.run_string(other, code)
    except Exception as error:  # Before 3.13, what is raised there comes out here.
        failed = error
    finally:
        interpreters.destroy(other)
    assert failed is None, failed


def test_the_global_lock_is_not_taken():
    """By a Python that can do without it."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a global lock")
    code = "import sys, jostle; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-W", "error", "-c", code], timeout=60).returncode == 0


def test_forces_are_added_by_many_threads(fluid):
    sim, n = jostle.Simulation(**fluid), 24

    def add(k):
        sim.force(lambda positions: (float(k), None), name=f"constant{k}", atoms=[k])
        sim.observe(every=5)(lambda _: seen[k].append(sim.step))

    seen = [[] for _ in range(n)]
    assert together(*(lambda k=k: add(k) for k in range(n))) == [None] * n
    sim.run(10)
    assert all(sim.energies[f"constant{k}"] == k for k in range(n))
    assert seen == [[0, 5, 10]] * n


def test_many_simulations_that_share_a_force(fluid):
    """Functions, arrays and exceptions go between threads; every path is that of a simulation alone."""
    fluid["stage"][0]["steps"] = 10**6
    zeros, calls = numpy.zeros((256, 3)), []

    def shared(positions):
        calls.append(positions[0, 0])
        if len(calls) % 2:
            return 0.0, zeros
        return 0.0, 0.0 * positions, numpy.zeros((3, 3))

    alone = jostle.Simulation(**fluid)
    alone.run(200)

    def work():
        sim = jostle.Simulation(**fluid)
        sim.force(shared, conserves_momentum=True)
        for _ in range(10):
            sim.run(20)
            sim.positions.sum(), sim.thermo["potential"].sum(), sim.reports
        with pytest.raises(jostle.InputError):
            sim.force(shared, name="temperature")
        assert numpy.array_equal(sim.positions, alone.positions)

    assert together(*[work] * 4) == [None] * 4
