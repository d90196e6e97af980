"""Copies, pickles and forks of a process: a simulation belongs to the process that has made it."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import jostle
import numpy
import pytest
from conftest import FLUID
from test_nonsense import PROPERTIES

pytestmark = pytest.mark.filterwarnings("ignore:.*fork")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_a_fork(function):
    """Calls a function in a process forked from this one; returns its exit code: 0 if it raised nothing."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException as error:
            print(f"in the fork: {error!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the fork hangs")


def refuses(function):
    with pytest.raises(RuntimeError, match="forked"):
        function()


def path(steps, threads):
    """Positions of a simulation of its own after so many steps."""
    sim = jostle.Simulation(**{**copy.deepcopy(FLUID), "run": {"device": "cpu", "threads": threads}})
    sim.run(steps)
    return sim.positions


@forks
@pytest.mark.parametrize("threads", [1, 2])
def test_a_fork_can_use_none_but_its_own(threads, tmp_path):
    sim = jostle.Simulation(**{**copy.deepcopy(FLUID), "run": {"device": "cpu", "threads": threads}})
    sim.observe(every=5)(lambda sim: None)
    sim.write_to(tmp_path / "out")
    sim.run(10)
    expected = path(20, threads)

    def child():
        nonlocal sim
        for name in PROPERTIES:
            refuses(lambda: getattr(sim, name))
        for call in [sim.run, sim.minimize, sim.save, sim.close, lambda: sim.run(1), sim.on_device().__enter__]:
            refuses(call)
        refuses(lambda: sim.force(lambda r: (0.0, None), name="late"))
        refuses(lambda: setattr(sim, "velocities", numpy.zeros((256, 3))))
        # What is dropped here has no threads that could end.
        del sim
        assert numpy.array_equal(path(20, threads), expected)

    assert in_a_fork(child) == 0
    sim.run(10)
    assert sim.step == 20
    sim.close()
    assert jostle.Simulation.resume(tmp_path / "out").step == 20


@forks
def test_a_fork_while_a_thread_runs_the_simulation(fluid):
    sim = jostle.Simulation(**fluid)
    began, end = threading.Event(), threading.Event()

    @sim.observe(every=10)
    def wait(_):
        began.set()
        if end.is_set():
            raise KeyError("enough")

    def run():
        with pytest.raises(KeyError):
            sim.run(10**8)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(30)
    try:
        for _ in range(5):
            assert in_a_fork(lambda: [refuses(lambda: sim.run(1)), refuses(lambda: sim.positions)]) == 0
    finally:
        end.set()
        thread.join(60)
    assert not thread.is_alive()


@forks
def test_analyses_in_a_fork(fluid, tmp_path):
    """Threads that analyses of the first process have had are absent in its forks."""
    fluid["stage"][0]["trajectory"] = {"every": 5, "format": "xyz"}
    with jostle.Simulation(**fluid) as sim:
        sim.write_to(tmp_path / "out")
        sim.run(20)
    expected = jostle.rdf(tmp_path / "out", cutoff=2.0).table["g all"]

    def child():
        assert numpy.array_equal(jostle.rdf(tmp_path / "out", cutoff=2.0).table["g all"], expected)

    assert in_a_fork(child) == 0


@forks
def test_a_fork_that_ends_as_python_does(tmp_path):
    """The end of the interpreter drops simulations: in a fork, too."""
    (tmp_path / "fork.py").write_text(
        f"import os, jostle\nsim = jostle.Simulation(**{ {**FLUID, 'run': {'device': 'cpu', 'threads': 2}}!r})\n"
        "sim.run(10)\nchild = os.fork()\n"
        "if child:\n    assert os.waitpid(child, 0)[1] == 0\n    sim.run(10)\n    print(sim.step)\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "fork.py"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "20\n"), done.stderr


def final_step(seed):
    """Step and energy of a simulation that a process makes."""
    fluid = copy.deepcopy(FLUID)
    fluid["system"]["seed"] = seed
    sim = jostle.Simulation(**fluid)
    sim.run(20)
    return sim.step, sim.energies["total"]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_of_processes(method, sim):
    sim.run(10)
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map_async(final_step, [1, 2, 3]).get(timeout=120)
    assert results == [final_step(seed) for seed in [1, 2, 3]]
    assert sim.step == 10


def test_simulations_are_not_copied(sim):
    sim.run(5)
    for attempt in [copy.copy, copy.deepcopy, pickle.dumps, lambda sim: pickle.dumps(sim._core)]:
        with pytest.raises(TypeError, match="copied nor pickled|cannot pickle"):
            attempt(sim)
    sim.run(5)
    assert sim.step == 10
    again = jostle.Simulation.from_string(sim.input)
    again.run(10)
    assert numpy.array_equal(again.positions, sim.positions)


def test_results_are_pickled(fluid):
    fluid["stage"][0]["measure"] = [{"kind": "rdf", "every": 5}]
    sim = jostle.Simulation(**fluid)
    sim.run(10)
    results = (sim.thermo, sim.results, sim.reports, sim.positions)
    thermo, record, reports, positions = pickle.loads(pickle.dumps(results))
    assert list(thermo) == list(sim.thermo) and thermo.units == sim.thermo.units
    (name, rdf), = record.items()
    assert numpy.array_equal(rdf.table["r"], sim.results[name].table["r"]) and rdf.frames == 2
    assert reports == sim.reports and numpy.array_equal(positions, sim.positions)
    assert repr(copy.deepcopy(rdf)) == repr(rdf)


def test_the_compiler_of_kernels_is_found_in_an_environment(tmp_path):
    """NVRTC from PyPI, beside a Python whose environment was not activated: no variable says where."""
    library = os.environ.get("JOSTLE_NVRTC")
    if not library:
        pytest.skip("JOSTLE_NVRTC names no NVRTC for the test")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=60)
    (packages,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    (packages / "nvidia" / "cu13").mkdir(parents=True)
    (packages / "nvidia" / "cu13" / "lib").symlink_to(os.path.abspath(library))
    paths = [os.path.dirname(os.path.dirname(module.__file__)) for module in (jostle, numpy)]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, paths))
    command = [tmp_path / "venv" / "bin" / "python", "-m", "jostle", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("NVRTC")]
    assert os.path.realpath(library) in line, line


def test_ranks_are_started_by_the_program_of_the_package():
    mpich = os.environ.get("JOSTLE_TEST_MPICH")
    if not mpich or not os.path.exists(f"{mpich}/bin/mpiexec"):
        pytest.skip("JOSTLE_TEST_MPICH names no MPI for the test")
    paths = [f"{os.path.abspath(mpich)}/bin", os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "jostle", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("messages")]
    assert "passed between" in line, done.stdout + done.stderr


def test_processes_that_compile_kernels_need_the_library_alone(tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit('not this one')")
    command = [sys.executable, "-I", "-S", "-c", jostle._PROGRAM, jostle._jostle.__file__, "compile-kernels"]
    ended = subprocess.run(command, cwd=tmp_path, input=b"", capture_output=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    ended = subprocess.run(command, cwd=tmp_path, input=b"no request" * 10, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")
