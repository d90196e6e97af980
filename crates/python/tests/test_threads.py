"""Threads of Python and other interpreters: each simulation is used by one thread at a time."""

import importlib
import sys
import threading
import time

import jostle
import numpy
import pytest


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


def test_the_global_lock_is_taken():
    """By a Python that can do without it: the module has not been tested so."""
    is_taken = getattr(sys, "_is_gil_enabled", lambda: True)
    assert is_taken()
