"""Ctrl-C in runs with forces of Python, in processes of their own, whose main thread gets the signal."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PREPARE = """
    import signal, jostle, numpy, sys
    from conftest import FLUID

    def interrupted_in(calls, seconds=0.0):
        counted = []
        def force(positions):
            counted.append(1)
            if len(counted) in calls:
                signal.raise_signal(signal.SIGINT)
                import time
                time.sleep(seconds)
            return 0.0, 0.0 * positions, numpy.zeros((3, 3))
        return force

    def alone(steps):
        sim = jostle.Simulation(**FLUID)
        sim.force(interrupted_in([]), name="force")
        sim.run(steps)
        return sim.positions
"""


def printed(code):
    run = [sys.executable, "-c", textwrap.dedent(PREPARE) + textwrap.dedent(code)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_ctrl_c_waits_for_the_end_of_the_step(tmp_path):
    """The first call of the force is before the first step."""
    code = f"""
        sim = jostle.Simulation(**FLUID)
        sim.force(interrupted_in([1, 8, 21]), name="force")
        sim.write_to({str(tmp_path / "out")!r})
        for _ in range(3):
            try:
                sim.run(50)
            except KeyboardInterrupt:
                print(sim.step)
        sim.run(50 - sim.step)
        assert numpy.array_equal(sim.positions, alone(50))
        sim.close()
        print(jostle.Simulation.resume({str(tmp_path / "out")!r}).step)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    """
    assert printed(code) == ["1", "7", "20", "50"]


def test_ctrl_c_waits_in_minimisations_and_for_forces_of_ase():
    pytest.importorskip("ase", reason="ASE is not installed")
    code = """
        import jostle.ase
        from ase.build import bulk
        from ase.calculators.emt import EMT

        calls = []
        class Interrupted(EMT):
            def calculate(self, *arguments):
                calls.append(1)
                if len(calls) == 4:
                    signal.raise_signal(signal.SIGINT)
                super().calculate(*arguments)

        atoms = bulk("Cu", cubic=True) * 2
        atoms.rattle(0.05)
        sim = jostle.ase.from_ase(atoms, run={"threads": 1})
        sim.force(jostle.ase.AseForce(Interrupted(), atoms), box=True, conserves_momentum=True)
        for go_on in [lambda: sim.run(9, timestep=0.002), lambda: sim.run(5)]:
            try:
                go_on()
            except KeyboardInterrupt:
                print("interrupted", sim.step)
        print(sim.step)

        sim = jostle.Simulation(**FLUID)
        sim.force(interrupted_in([1]), name="force")
        try:
            sim.minimize(force_tolerance=1e-3, steps=20)
        except KeyboardInterrupt:
            print("minimising")
        sim.run()
        print(sim.finished)
    """
    assert printed(code) == ["interrupted", "3", "8", "minimising", "True"]


def test_a_handler_that_raises_nothing_does_not_end_the_run():
    code = """
        heard = []
        def note(number, frame):
            heard.append(number)
        signal.signal(signal.SIGINT, note)
        sim = jostle.Simulation(**FLUID)
        sim.force(interrupted_in([8, 9]), name="force")
        sim.run(50)
        print(*heard, sim.step)
        assert signal.getsignal(signal.SIGINT) is note
    """
    assert printed(code) == ["2", "2", "50"]


def test_a_second_ctrl_c_reaches_a_force_that_does_not_end():
    code = """
        import threading, time
        def endless(positions):
            while sim_began and not ended:
                time.sleep(0.01)
            return 0.0, None
        sim_began, ended = [], []
        sim = jostle.Simulation(**FLUID)
        sim.force(endless, name="force")
        sim.run(3)
        sim_began.append(1)
        for delay in [0.3, 1.8]:
            threading.Timer(delay, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)).start()
        try:
            sim.run(10)
        except KeyboardInterrupt:
            print(sim.step)
        ended.append(1)
        try:
            sim.run(10)
        except jostle.SimulationError as error:
            print("middle of step" in error.message)
    """
    assert printed(code) == ["3", "True"]


@pytest.fixture
def endless(tmp_path):
    """A trajectory whose next frame never comes."""
    path = tmp_path / "pipe.xyz"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR)
    yield path
    os.close(end)


def test_ctrl_c_ends_an_analysis(endless):
    code = f"""
    import threading
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    try:
        jostle.rdf(r"{endless}", units="lj")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    assert printed(code) == ["interrupted"]


def test_ctrl_c_ends_an_analysis_of_the_program(endless):
    words = [sys.executable, "-m", "jostle", "analyze", "rdf", str(endless), "--units", "lj"]
    program = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(2)
    program.send_signal(signal.SIGINT)
    assert program.wait(20) == -signal.SIGINT
