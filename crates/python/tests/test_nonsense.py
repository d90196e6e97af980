"""Whatever is passed to whatever is public: exceptions of Python, and a simulation that is as before or has ended.

A crash ends the process of the tests, a panic of Rust raises `PanicException`, which is no `Exception`."""

import copy
import inspect
import random

import jostle
import numpy
import pytest
from conftest import FLUID
from test_docstrings import PUBLIC

pytestmark = pytest.mark.filterwarnings("ignore")


class Strange:
    """An object whose conversions fail."""

    def __len__(self):
        raise OverflowError("no length")

    def __iter__(self):
        raise KeyError("no items")

    def __float__(self):
        raise ZeroDivisionError("no number")

    def __index__(self):
        return 10**30

    def __fspath__(self):
        return b"\xff\xfe"

    def __array__(self, dtype=None, copy=None):
        raise ValueError("no array")

    def __dlpack__(self, **arguments):
        return "no capsule"


class Capsule:
    """An array that another kind of device is said to have."""

    def __dlpack__(self, **arguments):
        return numpy.zeros((3, 3), numpy.float16).__dlpack__()


def nonsense():
    """Values that few functions expect; made anew, since some are used up."""
    endless = []
    endless.append(endless)
    return [
        None,
        True,
        0,
        -1,
        3,
        10**30,
        -(10**30),
        2**63 - 1,
        1.5,
        float("nan"),
        float("inf"),
        -1e308,
        5e-324,
        1j,
        "",
        "nonsense",
        "\ud800",
        "a\0b",
        "../../" * 50,
        "x" * 100_000,
        b"bytes",
        (),
        [],
        [[]],
        endless,
        [None] * 256,
        [[1, 2, 3]] * 255,
        {},
        {"kind": "nonsense"},
        {1: 2},
        {"steps": {"steps": {}}},
        range(5),
        {1, 2},
        iter([1, 2, 3]),
        object(),
        Strange(),
        Capsule(),
        len,
        int,
        numpy.float32(3),
        numpy.array(None),
        numpy.zeros(()),
        numpy.zeros(0),
        numpy.zeros((0, 3)),
        numpy.zeros((256, 3, 1)),
        numpy.zeros((3, 256)),
        numpy.full((256, 3), numpy.nan),
        numpy.full((256, 3), -1e300),
        numpy.zeros((256, 3), dtype=complex),
        numpy.array([["a"] * 3] * 256),
        numpy.zeros((256, 3), dtype=object),
        numpy.ma.masked_all((256, 3)),
        numpy.broadcast_to(numpy.float64(0.5), (256, 3)),
        numpy.arange(768.0).reshape(3, 256).T,
        numpy.zeros((256, 3), dtype=">f8"),
        numpy.zeros(2, dtype=[("x", "f8")]),
    ]


def attempt(function, /, *arguments, **keys):
    """Calls a function; anything but an exception of Python fails the test."""
    try:
        return function(*arguments, **keys)
    except Exception:
        return None


def small():
    keys = copy.deepcopy(FLUID)
    keys["stage"][0]["steps"] = 10
    return jostle.Simulation(**keys)


# Left out: a page is opened in a browser, a server is begun, or files of others are written.
LEFT_OUT = {"view", "from_file", "resume"}
METHODS = sorted(
    name.rsplit(".", 1)[1]
    for name, thing in PUBLIC.items()
    if name.startswith("jostle.Simulation.") and inspect.isfunction(thing)
)
PROPERTIES = sorted(
    name.rsplit(".", 1)[1]
    for name, thing in PUBLIC.items()
    if name.startswith("jostle.Simulation.") and isinstance(thing, property)
)


def works(sim):
    """The simulation is intact: it has its atoms, and goes on or says why not."""
    assert sim.n_atoms == 256 and sim.positions.shape == (256, 3)
    attempt(sim.run, 1)
    assert repr(sim)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in LEFT_OUT])
def test_methods(method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim = small()
    for value in nonsense():
        if method == "run" and isinstance(value, int) and value > 100:
            continue  # So many steps are what is asked for.
        attempt(getattr(sim, method), value)
    names = [p.name for p in inspect.signature(getattr(jostle.Simulation, method)).parameters.values()][1:]
    for name in [*names, "nonsense"]:
        for value in nonsense():
            if isinstance(value, int) and value > 100 and method in ("run", "minimize"):
                continue
            given = {name: value, **({"steps": 1} if method == "run" and name != "steps" else {})}
            made = attempt(getattr(sim, method), **given)
            if callable(made) and method in ("observe", "force"):
                attempt(made, value)
    works(sim)


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties(name):
    sim = small()
    for value in nonsense():
        attempt(setattr, sim, name, value)
        attempt(getattr, sim, name)
    works(sim)


@pytest.mark.parametrize("constructor", ["Simulation", "from_string", "from_file", "resume"])
def test_constructors(constructor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make = jostle.Simulation if constructor == "Simulation" else getattr(jostle.Simulation, constructor)
    for value in nonsense():
        attempt(make, value)
        if constructor == "Simulation":
            for key in [*FLUID, "title", "electrostatics", "device", "threads", "strict", "nonsense"]:
                attempt(make, **{**FLUID, key: value})
        else:
            for key in ["device", "threads", "steps", "strict"]:
                attempt(make, "units = 'lj'", **{key: value})


def test_values_within_an_input():
    """A value of the input at a time is replaced, at any depth."""
    chooser = random.Random(5)

    def replaced(value, to):
        """The value with one of its parts replaced."""
        if isinstance(value, dict) and value and chooser.random() < 0.9:
            key = chooser.choice(sorted(value))
            return {**value, key: replaced(value[key], to)}
        if isinstance(value, list) and value and chooser.random() < 0.9:
            return [replaced(value[0], to), *value[1:]]
        return to

    values = [v for v in nonsense() if not (isinstance(v, int) and v > 2**40)]
    for _ in range(300):
        changed = replaced(FLUID, chooser.choice(values))
        sim = attempt(lambda: jostle.Simulation(**changed))
        if sim is not None and sim.n_atoms < 1000:
            attempt(sim.run, 2)


def test_functions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, thing in PUBLIC.items():
        if not inspect.isfunction(thing) or name.count(".") != 1:
            continue
        for value in nonsense():
            if callable(value) or (name == "jostle.run_many" and isinstance(value, int)):
                attempt(thing, [], value)
            attempt(thing, value)
            attempt(thing, [value])
            attempt(thing, value, value)


def test_forces_that_return_anything():
    for value in nonsense():
        for returned in [value, (value,), (0.0, value), (value, numpy.zeros((256, 3))), (0.0, numpy.zeros((256, 3)), value)]:
            sim = small()
            sim.force(lambda positions: returned, name="odd")
            attempt(sim.run, 1)
            assert sim.positions.shape == (256, 3)


def test_forces_that_keep_and_change_what_they_get():
    """Arrays belong to the function: a late change of one changes no path."""
    kept = []

    def keep(positions):
        for old in kept:
            old[:] = numpy.nan
        kept.append(positions)
        positions[:] = 1e300
        return 0.0, numpy.zeros((256, 3)), numpy.zeros((3, 3))

    plain, sim = small(), small()
    plain.force(lambda r: (0.0, numpy.zeros((256, 3)), numpy.zeros((3, 3))), name="keep")
    sim.force(keep)
    plain.run()
    sim.run()
    assert numpy.array_equal(plain.positions, sim.positions)
    sim.positions[:] = numpy.nan
    assert numpy.isfinite(sim.positions).all()


def test_use_after_the_end(tmp_path):
    sim = small()
    sim.write_to(tmp_path / "out")
    sim.run()
    sim.close()
    sim.close()
    for name in PROPERTIES:
        attempt(getattr, sim, name)
    with pytest.raises(jostle.InputError):
        sim.save()
    sim.run(5)
    assert sim.step == 15
    thermo, positions, record = sim.thermo, sim.positions, sim.results
    del sim
    assert len(thermo["step"]) and positions.shape == (256, 3) and record == {}


@pytest.mark.parametrize("core", ["Core", "DeviceArray"])
def test_compiled_classes_cannot_be_made(core):
    with pytest.raises(TypeError):
        getattr(jostle._jostle, core)()


def test_compiled_functions():
    """The compiled part itself, which is not public, refuses nonsense as well."""
    core = small()._core
    for name in dir(jostle._jostle):
        thing = getattr(jostle._jostle, name)
        if callable(thing) and not inspect.isclass(thing) and name not in ("program", "viewer"):
            for value in nonsense():
                attempt(thing, value)
                attempt(thing, value, value)
    for name in dir(core):
        if name.startswith("__") or name == "interrupt":
            continue
        for value in nonsense():
            if name == "advance":
                attempt(core.advance, value, 1, None)
                attempt(core.advance, "steps", 1, value)
                continue
            attempt(getattr(core, name), value)
            attempt(getattr(core, name), value, value)
            attempt(getattr(core, name), value, value, value)
    assert core.n_atoms() == 256
