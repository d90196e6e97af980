"""Errors with their cause, place and remedy, and nothing that crashes."""

import gc
import pickle

import jostle
import pytest


def test_errors_say_where_and_what_to_do(fluid, tmp_path):
    fluid["force"][0]["cutof"] = fluid["force"][0].pop("cutoff")
    with pytest.raises(jostle.InputError, match='unknown key "cutof"') as refused:
        jostle.Simulation(**fluid)
    error = refused.value
    assert "cutoff" in error.hint and error.text == "cutof = 2.5" and error.file is None and error.line > 1
    assert isinstance(error, ValueError) and isinstance(error, jostle.JostleError)
    assert "help: " in str(error) and "cutof = 2.5" in str(error)
    path = tmp_path / "fluid.toml"
    path.write_text(jostle._jostle.input_text(fluid))
    with pytest.raises(jostle.InputError) as refused:
        jostle.Simulation.from_file(path)
    assert refused.value.file == str(path) and refused.value.line == error.line
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)


def test_remedies_are_those_of_python(fluid, tmp_path):
    folder = tmp_path / "out"
    sim = jostle.Simulation(**fluid)
    sim.write_to(folder)
    with pytest.raises(jostle.FileError) as taken:
        jostle.Simulation(**fluid).write_to(folder, overwrite=True)
    assert taken.value.hint == "wait for it to end, or choose another folder with write_to(folder)"
    sim.run(1)
    sim.close()
    with pytest.raises(jostle.FileError) as taken:
        jostle.Simulation(**fluid).write_to(folder)
    assert f'Simulation.resume("{folder}")' in taken.value.hint
    assert "write_to(folder, overwrite=True)" in taken.value.hint and "--" not in taken.value.hint
    assert jostle.DeviceError("none", "use --device cpu, or --device cuda:1").hint == 'use device="cpu", or device="cuda:1"'
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(jostle.FileError) as missing:
        jostle.Simulation.resume(empty)
    assert missing.value.hint.startswith("Simulation.resume wants")


def test_missing_files(tmp_path):
    with pytest.raises(jostle.JostleError) as missing:
        jostle.Simulation.from_file(tmp_path / "nothing.toml")
    assert "nothing.toml" in str(missing.value)
    with pytest.raises(jostle.JostleError):
        jostle.Simulation.resume(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"units": "furlongs"},
        {"units": 3},
        {"system": None},
        {"system": {}},
        {"force": 3},
        {"force": [3]},
        {"stage": {"steps": 10}},
        {"stage": [{"steps": -1, "timestep": 0.1}]},
        {"stage": [{"steps": 10, "timestep": float("nan")}]},
        {"stage": [{"steps": 2**80, "timestep": 0.1}]},
        {"species": {"A": {"mass": ...}}},
        {"species": {"A": {"mass": b"1"}}},
        {"species": {3: {"mass": 1}}},
        {"species": {'"': {"mass": 1}}},
        {"species": {"\n": {"mass": 1}}},
        {"title": "\ud800"},
        {"nonsense": 1},
    ],
    ids=str,
)
def test_wrong_inputs_are_refused(fluid, wrong):
    with pytest.raises((ValueError, TypeError)):
        jostle.Simulation(**{**fluid, **wrong})


def test_values_without_end_are_refused(fluid):
    endless = []
    endless.append(endless)
    fluid["species"]["A"]["mass"] = endless
    with pytest.raises((ValueError, RecursionError)):
        jostle.Simulation(**fluid)


@pytest.mark.parametrize("arguments", [{"device": "abacus"}, {"device": 3}, {"threads": -1}, {"threads": 10**6}])
def test_wrong_settings_are_refused(fluid, arguments):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        jostle.Simulation(**fluid, **arguments)


@pytest.mark.parametrize("steps", [-1, 1.5, "ten", 2**64])
def test_wrong_steps_are_refused(sim, steps):
    with pytest.raises((ValueError, TypeError)):
        sim.run(steps)
    assert sim.step == 0


def test_a_device_that_is_not_there(fluid):
    del fluid["run"]["device"]
    with pytest.raises((jostle.DeviceError, jostle.InputError)):
        jostle.Simulation(**fluid, device="cuda:63")


def test_titles_and_paths_are_quoted(fluid):
    fluid["title"] = 'argon "94.4 K"\n\\ \t end'
    assert jostle.Simulation(**fluid).title == fluid["title"]


def test_arrays_outlive_their_simulation(fluid):
    sim = jostle.Simulation(**fluid)
    positions = sim.positions
    observe = sim.observe
    del sim
    gc.collect()
    assert positions.sum() > 0
    observe(every=1)(print)


def test_warnings_are_warnings(fluid):
    fluid["stage"][0]["timestep"] = 0.05
    with pytest.warns(jostle.JostleWarning):
        try:
            jostle.Simulation(**fluid).run()
        except jostle.SimulationError:
            pass
