"""Many simulations side by side."""

import copy
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import jostle
import numpy
import pytest
from conftest import FLUID

TEMPERATURES = [0.8, 1.0, 1.2, 1.4, 1.6]


def keys(temperature):
    given = copy.deepcopy(FLUID)
    given["run"].pop("threads")
    given["system"]["temperature"] = given["stage"][0]["thermostat"]["temperature"] = temperature
    return given


def test_each_follows_the_path_that_it_has_alone(tmp_path):
    path = tmp_path / "fluid.toml"
    path.write_text(jostle._jostle.input_text(keys(1.0)))
    made = jostle.Simulation(**keys(1.2), threads=1)
    systems = [keys(0.8), path, made, str(path), *map(keys, TEMPERATURES[3:])]
    alone = []
    for temperature in [0.8, 1.0, 1.2, 1.0, 1.4, 1.6]:
        alone.append(jostle.Simulation(**keys(temperature), threads=1))
        alone[-1].run()
    for workers in [1, 3]:
        if workers == 3:
            systems[2] = jostle.Simulation(**keys(1.2), threads=1)
        together = jostle.run_many(systems, workers=workers)
        assert together[2] is systems[2]
        for one, other in zip(alone, together, strict=True):
            assert other.finished and "1 thread" in other.device
            assert numpy.array_equal(one.positions, other.positions)
            assert numpy.array_equal(one.thermo["potential"], other.thermo["potential"])


def test_results_are_in_order_whoever_is_first():
    began = threading.Barrier(2, timeout=30)

    def job(sim):
        began.wait()  # Two at a time, not one after another.
        sim.run(10 if sim.title == "b" else 200)
        return sim.title, sim.step

    systems = [{**keys(1.0), "title": title} for title in "abab"]
    assert jostle.run_many(systems, job, workers=2) == [("a", 200), ("b", 10)] * 2


def test_errors_are_named_and_the_others_kept():
    class Enough(Exception):
        pass

    def job(sim):
        sim.run(20)
        if sim.title == "broken":
            raise Enough("at twenty")
        return sim.step

    wrong = keys(1.0)
    wrong["force"][0]["cutof"] = 2.5
    systems = [keys(0.8), wrong, {**keys(1.0), "title": "broken"}, "nothing.toml", keys(1.2)]
    with pytest.raises(jostle.ManyError, match="3 of 5.*number 1: InputError.*number 2: Enough: at twenty") as failed:
        jostle.run_many(systems, job, workers=2)
    errors = failed.value.errors
    assert list(errors) == [1, 2, 3] and failed.value.results == [20, None, None, None, 20]
    assert isinstance(errors[1], jostle.InputError) and "cutoff" in errors[1].hint
    assert isinstance(errors[2], Enough) and errors[2].__traceback__ is not None
    assert isinstance(failed.value, jostle.JostleError) and "nothing.toml" in str(errors[3])
    with pytest.raises(jostle.ManyError) as failed:
        jostle.run_many([wrong])
    again = pickle.loads(pickle.dumps(failed.value))
    assert str(again) == str(failed.value) and again.results == [None]


@pytest.mark.parametrize(
    "arguments, settings",
    [
        ((3,), {}),
        (({"units": "lj"},), {}),
        (("fluid.toml",), {}),
        (([3],), {}),
        (([None],), {}),
        (([], 3), {}),
        (([],), {"threads": 0}),
        (([],), {"threads": 1.5}),
        (([],), {"workers": 0}),
        (([],), {"workers": -1}),
        (([],), {"workers": 10**9}),
    ],
)
def test_wrong_arguments_are_refused(arguments, settings):
    with pytest.raises((TypeError, ValueError)):
        jostle.run_many(*arguments, **settings)


def test_a_simulation_cannot_be_there_twice(sim):
    with pytest.raises(ValueError, match="twice"):
        jostle.run_many([sim, sim])
    assert sim.step == 0


def test_threads_of_the_keys_are_refused():
    with pytest.raises(jostle.ManyError, match="threads"):
        jostle.run_many([{**keys(1.0), "threads": 2}])


def test_none_are_run_to_an_empty_list_and_progress_is_told():
    assert jostle.run_many([]) == []
    told = []
    jostle.run_many([keys(1.0)] * 3, workers=1, progress=lambda *news: told.append(news))
    assert told[0] == ("simulations", 3, 0) and told[-1] == ("simulations", 3, 3)


@pytest.mark.parametrize("moment", ["while it waits", "while it hands out", "while a thread starts"])
def test_ctrl_c_ends_all_of_them(moment):
    """In a process of its own, whose main thread gets the signal."""
    code = """
        import os, signal, sys, threading, time, jostle
        from concurrent.futures import ThreadPoolExecutor
        from conftest import FLUID
        begun = threading.Semaphore(0)
        made, ended = [], []
        def job(sim):
            made.append(sim)
            begun.release()
            try:
                sim.run(10**9)
            except KeyboardInterrupt:
                time.sleep(0.2)
                ended.append(sim)
                raise
        def press():
            begun.acquire()
            begun.acquire()
            os.kill(os.getpid(), signal.SIGINT)
        class Pool(ThreadPoolExecutor):
            handed = 0
            def submit(self, *job):
                self.handed += 1
                if self.handed == 3:
                    press()
                return super().submit(*job)
        class Thread(threading.Thread):
            started = 0
            def start(self):
                super().start()
                Thread.started += 1
                if Thread.started == 2:
                    press()
        if sys.argv[1] == "while it waits":
            threading.Thread(target=press).start()
        elif sys.argv[1] == "while it hands out":
            jostle._many.ThreadPoolExecutor = Pool
        else:
            threading.Thread = Thread
        try:
            jostle.run_many([FLUID] * 5, job, workers=2)
        except KeyboardInterrupt:
            assert len(made) == len(ended) == 2, (made, ended)
            sim, before = made[0], made[0].step
            sim.run(10)
            assert sim.step == before + 10
            print("interrupted")
    """
    run = [sys.executable, "-c", textwrap.dedent(code), moment]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parent)
    assert done.stdout == "interrupted\n", done.stderr


def test_exceptions_of_progress_end_all_of_them():
    def stop(stage, steps, done):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        jostle.run_many([keys(1.0)] * 3, lambda sim: sim.run(10**9), workers=2, progress=stop)
