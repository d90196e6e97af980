"""Analyses of trajectories and runs, the same as those of `jostle analyze`."""

from __future__ import annotations

import json
import logging
import operator
import os
from contextlib import ExitStack

from ._errors import InputError
from ._frames import Frames
from ._jostle import analysis_kinds, analyze as _analyze
from ._simulation import Simulation
from ._tables import Record

__all__ = ["analyze"]


def analyze(
    kind,
    source,
    *,
    atoms=None,
    stage=None,
    input=None,
    units=None,
    names=None,
    timestep=None,
    first=0,
    last=None,
    every=1,
    **settings,
) -> Record:
    """Analyses a trajectory or a run.

        rdf = jostle.analyze("rdf", "argon", cutoff="12 angstrom")
        rdf.table["r"], rdf.table["g all"]

    Args:
        kind: kind of analysis, such as "rdf", "msd" or "viscosity"; `jostle help analyze` lists them.
        source: a trajectory file, the folder of a run, a `Simulation` that writes to a folder, or `Frames` of arrays; for
            `pmf` and `free_energy` a list of them, too: the windows of a path, or steered runs.
        atoms: words that choose atoms, such as "element O"; None: all.
        stage: name of the stage; None: the last one.
        input: input file that describes the atoms, for trajectories without a run.
        units: unit system of the trajectory, where the file does not say.
        names: file with the names of the atoms, for a trajectory without; None: start.xyz beside it, if there is one.
        timestep: time of a step in `units`, which counts more than times of the file.
        first, last, every: frames that are taken, counted from 0.
        settings: settings of the kind, as numbers in the units of the trajectory or as text with a unit.

    Returns:
        Record: tables and single numbers, with units, and errors from blocks of frames.

    Raises:
        InputError: if there is no such kind or setting, or the trajectory lacks what the kind needs.
        FileError: if a file cannot be read.
        ValueError: if frames are counted from another end, or there are several sources for a kind of one.
        KeyboardInterrupt: on Ctrl-C.
    """
    if isinstance(source, (list, tuple)) and not source:
        raise ValueError("there is nothing to analyse: the list of sources is empty")
    if isinstance(source, Frames) and units is None:
        units = source.units
    sources = source if isinstance(source, (list, tuple)) else [source]
    if len(sources) > 1 and kind in _OF_ONE:
        raise ValueError(f"{kind} takes one source, and these are {len(sources)}: pmf and free_energy alone take several")
    reading = {
        "atoms": atoms,
        "stage": stage,
        "input": input,
        "units": units,
        "names": names,
        "timestep": timestep,
        "first": _number("first", first),
        "last": None if last is None else _number("last", last),
        "every": _number("every", every),
    }
    given = [f"{name}={_text(value)}" for name, value in settings.items() if value is not None]
    with ExitStack() as files:
        first_place, *others = [_place(one, files) for one in sources]
        record, notes = _analyze(kind, first_place, others + given, reading)
    for note in notes:
        logging.getLogger("jostle").info(note)
    return Record(json.loads(record))


def _number(name, value):
    """Number of a frame, or of frames."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}, but frames are counted by whole numbers") from None
    if not 0 <= number < 2**63:
        raise ValueError(f"{name} = {number}, but frames are counted from 0, from the beginning")
    return number


def _place(source, files):
    """The path of a source, whose state is written there before; `files` remove what was written for it alone."""
    if isinstance(source, Frames):
        return files.enter_context(source.file())
    if not isinstance(source, Simulation):
        return os.fspath(source)
    if source.folder is None:
        raise InputError(
            "the simulation writes to no folder, so there is no trajectory",
            "name a folder by write_to(folder), or let a stage measure: measure=[{'kind': 'rdf', 'every': 100}]",
        )
    source.save()
    return os.fspath(source.folder)


def _text(value):
    """A setting as the command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(float(value)) if isinstance(value, float) else str(value)


def _function(kind, about, settings):
    """The function for one kind."""

    def run(source, **arguments):
        return analyze(kind, source, **arguments)

    name = kind.replace("-", "_")
    run.__name__ = run.__qualname__ = name
    lines = "\n".join(
        f"    {setting}: {words}" + (f" (default: {default})" if default else "") for setting, words, default in settings
    )
    run.__doc__ = f"{about}; see `analyze`.\n" + (f"\nSettings:\n{lines}\n" if lines else "")
    return name, run


# Kinds that go through one trajectory or run.
_OF_ONE = {kind for kind, *_ in analysis_kinds()} - {"pmf", "free-energy"}

# A function for each kind of the registry: `jostle.rdf(...)`, `jostle.msd(...)`, ...
functions = dict(_function(*kind) for kind in analysis_kinds())
globals().update(functions)
__all__ += list(functions)
