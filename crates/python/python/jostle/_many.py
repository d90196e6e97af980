"""Many simulations side by side."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from . import _progress
from ._errors import JostleError
from ._jostle import cores
from ._simulation import Simulation

__all__ = ["ManyError", "run_many"]


class ManyError(JostleError, RuntimeError):
    """Some of many simulations failed.

    Attributes:
        errors: the exceptions, by the number of the simulation, from 0.
        results: results of all simulations in their order; None for those that failed.
    """

    def __init__(self, errors: dict[int, BaseException], results: list[Any]):
        first = "; ".join(f"number {k}: {_words(error)}" for k, error in sorted(errors.items())[:3])
        more = f"; and {len(errors) - 3} more" if len(errors) > 3 else ""
        super().__init__(
            f"{len(errors)} of {len(results)} simulations failed: {first}{more}",
            "`errors` has all exceptions, `results` what the others returned",
        )
        self.errors = errors
        self.results = results

    def __reduce__(self):
        return type(self), (self.errors, self.results)


def _words(error):
    """Class and cause of an exception, in a line."""
    cause = error.message if isinstance(error, JostleError) else str(error)
    return f"{type(error).__name__}: {cause}".replace("\n", " ")


class _Running:
    """Jobs under way and their simulations, which an end of all interrupts.

    The jobs are counted here, because a pool forgets the thread in whose start Ctrl-C was pressed: it would not wait
    for its job.
    """

    def __init__(self):
        self._changed = threading.Condition()
        self._jobs = 0
        self._cores = []
        self._ended = False

    @contextmanager
    def job(self):
        with self._changed:
            if self._ended:
                raise KeyboardInterrupt
            self._jobs += 1
        try:
            yield
        finally:
            with self._changed:
                self._jobs -= 1
                self._changed.notify_all()

    @contextmanager
    def simulation(self, core):
        with self._changed:
            self._cores.append(core)
            core.interrupt(self._ended)
        try:
            yield
        finally:
            with self._changed:
                self._cores.remove(core)
                core.interrupt(False)

    def end(self):
        """Interrupts all, and returns when the last one has ended."""
        with self._changed:
            self._ended = True
            for core in self._cores:
                core.interrupt(True)
            self._changed.wait_for(lambda: self._jobs == 0)


def run_many(
    systems: Iterable[Mapping[str, Any] | str | os.PathLike[str] | Simulation],
    function: Callable[[Simulation], Any] | None = None,
    *,
    threads: int = 1,
    workers: int | None = None,
    progress: bool | Callable[[str, int, int], object] | None = None,
) -> list[Any]:
    """Runs many simulations side by side, each on threads of its own, as many at a time as there are cores for.

        def argon(temperature):
            return {"units": "lj", "system": {"temperature": temperature, ...}, ...}

        def heat(sim):
            sim.run()
            return sim.thermo["potential"].mean()

        energies = jostle.run_many([argon(t) for t in temperatures], heat)

    A simulation follows the path that it has alone. The interpreter is free while simulations compute; what a function
    does in Python itself takes turns. Ctrl-C ends all of them: in each, `run` raises KeyboardInterrupt, and those that
    have not begun do not begin.

    Args:
        systems: dictionaries of the keys of `Simulation`, paths of input files, or simulations.
        function: function of a simulation, called for each, whose results are returned; None: `run()`, which returns
            the simulation.
        threads: number of CPU threads of each; those of simulations that are made already remain theirs.
        workers: number of simulations at a time; None: cores divided by threads.
        progress: bar, or function of ("simulations", number, finished); see `Simulation.run`.

    Returns:
        list: results in the order of the systems.

    Raises:
        ManyError: if some failed, after all others have ended; it has the exceptions and the results of the others.
        KeyboardInterrupt: on Ctrl-C, after all have ended.
    """
    if isinstance(systems, (str, os.PathLike, Mapping, Simulation)):
        raise TypeError("run_many takes a list of systems, but this is one")
    systems = list(systems)
    if function is not None and not callable(function):
        raise TypeError("run_many takes a function of a simulation")
    threads = _at_least_one("threads", threads)
    workers = max(1, cores() // threads) if workers is None else _at_least_one("workers", workers)
    _check(systems)
    running = _Running()

    def job(system):
        with running.job():
            sim = _made(system, threads)
            with running.simulation(sim._core):
                if function is not None:
                    return function(sim)
                sim.run()
                return sim

    bar = _progress.wanted(progress, "simulations")
    with ThreadPoolExecutor(workers, thread_name_prefix="jostle") as pool:
        try:
            # The first ones run while others are handed out: Ctrl-C must end them there, too.
            futures = [pool.submit(job, system) for system in systems]
            _wait_for(futures, bar)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            running.end()
            raise
        finally:
            if isinstance(bar, _progress.Bar):
                bar.end()
    errors = {k: error for k, future in enumerate(futures) if (error := future.exception()) is not None}
    results = [None if k in errors else future.result() for k, future in enumerate(futures)]
    if errors:
        raise ManyError(errors, results)
    return results


def _at_least_one(name, number):
    import operator

    number = operator.index(number)
    if not 1 <= number <= 4096:
        raise ValueError(f"{name} = {number}, but it must be from 1 to 4096")
    return number


def _check(systems):
    """Refuses what is no system, and a simulation that is there twice, before anything runs."""
    seen = set()
    for k, system in enumerate(systems):
        if not isinstance(system, (Mapping, str, os.PathLike, Simulation)):
            raise TypeError(
                f"number {k} is a {type(system).__name__}, but must be a dictionary, a path or a simulation"
            )
        if isinstance(system, Simulation):
            if id(system) in seen:
                raise ValueError(f"number {k} is a simulation that the list has twice")
            seen.add(id(system))


def _made(system, threads):
    """The simulation of a system."""
    if isinstance(system, Simulation):
        return system
    if isinstance(system, Mapping):
        return Simulation(**system, threads=threads)
    return Simulation.from_file(system, threads=threads)


def _wait_for(futures: list[Future], bar):
    """Returns when all are finished, and tells a bar on the way."""
    left = set(futures)
    while left:
        if bar is not None:
            bar("simulations", len(futures), len(futures) - len(left))
        # Short waits let Ctrl-C be heard on every system.
        _, left = wait(left, timeout=0.1)
    if bar is not None:
        bar("simulations", len(futures), len(futures))
