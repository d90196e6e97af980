"""Runs: the same paths as the program's, whole or in parts."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import jostle
import numpy
import pytest

THREE_STAGES = {
    "stage": [
        {"name": "relax", "minimize": {"steps": 5, "force_tolerance": 1e-9}, "thermo": {"every": 1}},
        {"name": "warm", "steps": 30, "timestep": 0.004, "thermostat": {"kind": "langevin", "temperature": 1.0, "friction": 0.5}},
        {"name": "sample", "steps": 40, "timestep": 0.004, "thermo": {"every": 10}},
    ]
}


def same(a, b):
    """True if two simulations have the same atoms to the last bit."""
    return (
        a.step == b.step
        and numpy.array_equal(a.positions, b.positions)
        and numpy.array_equal(a.velocities, b.velocities)
        and numpy.array_equal(a.unwrapped_positions, b.unwrapped_positions)
    )


def test_the_program_and_python_follow_one_path(fluid, tmp_path):
    by_python = jostle.Simulation(**fluid)
    (tmp_path / "fluid.toml").write_text(by_python.input)
    by_python.run()
    run = [sys.executable, "-m", "jostle", "run", "fluid.toml", "--output", "out"]
    if subprocess.run([*run[:3], "--version"], capture_output=True).returncode:
        pytest.skip("the program is not part of this build")
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    by_program = jostle.Simulation.resume(tmp_path / "out")
    assert same(by_python, by_program)


def test_calls_of_a_few_steps_make_one_path(fluid):
    whole, parts = (jostle.Simulation(**{**fluid, **THREE_STAGES}) for _ in range(2))
    whole.run(70)
    for steps in [1, 2, 0, 10, 17, 1, 39]:
        parts.run(steps)
    assert same(whole, parts)
    assert len(whole.reports) == 2, "the last stage is open"
    assert numpy.array_equal(whole.thermo["potential"], parts.thermo["potential"])
    ended = jostle.Simulation(**{**fluid, **THREE_STAGES})
    ended.run()
    whole.run()
    assert same(whole, ended)
    assert whole.finished and len(whole.reports) == 3


def test_the_last_stage_is_lengthened(fluid):
    parts = jostle.Simulation(**fluid)
    parts.run(60)
    parts.run(40)
    fluid["stage"][0]["steps"] = 100
    whole = jostle.Simulation(**fluid)
    whole.run()
    assert same(whole, parts)


def test_looking_changes_nothing(fluid):
    blind, seeing = (jostle.Simulation(**fluid) for _ in range(2))
    blind.run(50)
    for _ in range(25):
        seeing.run(2)
        assert seeing.energies["total"] == seeing.quantities["total"]
        assert seeing.forces.shape == seeing.positions.shape == (256, 3)
    assert same(blind, seeing)


def test_a_new_stage_after_the_others(sim):
    sim.run()
    sim.run(10, timestep=0.002)
    assert sim.step == 70 and sim.time == pytest.approx(60 * 0.004 + 10 * 0.002)
    assert sim.stages == ["sample", "run-1"] and sim.finished
    with pytest.raises(jostle.InputError, match="timestep") as refused:
        sim.run(10, timestep=0)
    assert refused.value.text == "timestep = 0"


def test_a_finished_run_goes_on_as_it_ended(fluid):
    fluid["stage"][0]["thermostat"]["temperature"] = [1.2, 0.8]
    sim = jostle.Simulation(**fluid)
    sim.run()
    for steps in [10, 1, 9]:
        sim.run(steps)
    assert sim.stages == ["sample", "sample-2"] and sim.stage == "sample-2" and sim.step == 80
    assert sim.time == pytest.approx(80 * 0.004) and "temperature = 0.8" in sim.input
    del fluid["stage"]
    with pytest.raises(jostle.InputError, match="timestep"):
        jostle.Simulation(**fluid).run(10)


def test_minimisation_before_and_between(sim):
    before = sim.potential_energy
    sim.positions = sim.positions + numpy.random.default_rng(1).normal(0, 0.02, (256, 3))
    disturbed = sim.potential_energy
    sim.minimize(force_tolerance=1e-3, steps=2000)
    assert sim.stages == ["minimize-1", "sample"]
    assert sim.potential_energy < disturbed and sim.potential_energy == pytest.approx(before, rel=1e-6)
    assert abs(sim.forces).max() < 1e-3
    sim.run(20)
    sim.minimize(steps=3)
    assert sim.stages == ["minimize-1", "sample", "minimize-2"] and sim.finished


def test_folders(fluid, tmp_path):
    whole = jostle.Simulation(**fluid)
    whole.run(100)
    with jostle.Simulation(**fluid) as sim:
        sim.write_to(tmp_path / "out")
        sim.run(37)
    assert (tmp_path / "out" / "thermo.csv").read_text().count("\n") > 4
    resumed = jostle.Simulation.resume(tmp_path / "out")
    assert resumed.step == 37
    resumed.run(63)
    assert same(whole, resumed)
    with pytest.raises(jostle.FileError, match="run"):
        jostle.Simulation(**fluid).write_to(tmp_path / "out")
    with pytest.raises(jostle.InputError, match="write_to"):
        whole.save()


def test_a_simulation_goes_back_to_what_was_saved(fluid, tmp_path):
    def trap(positions):
        return 0.5 * (positions**2).sum(), -positions

    def make():
        made = jostle.Simulation(**fluid)
        made.force(trap, atoms=[3, 4])
        steps = []
        made.observe(every=5)(lambda sim: steps.append(sim.step))
        return made, steps

    whole, expected = make()
    whole.run(60)
    sim, seen = make()
    with pytest.raises(jostle.InputError, match="nothing was saved"):
        sim.restore()
    with pytest.raises(jostle.InputError, match="no folder"):
        sim.save()
    sim.write_to(tmp_path / "out")
    sim.run(12)
    sim.save()
    there, rows = sim.positions, sim.thermo["step"].tolist()
    for _ in range(2):
        # Other ways are gone: a new stage, colder atoms, a run to the end.
        sim.run(20, timestep=0.002, thermo={"every": 10})
        sim.velocities = 0.5 * sim.velocities
        sim.run()
        assert sim.finished and len(sim.stages) == 2 and sim.thermo["step"][-1] == 32
        sim.restore()
        assert sim.step == 12 and sim.stages == ["sample"] and not sim.finished
        assert numpy.array_equal(sim.positions, there) and sim.thermo["step"].tolist() == rows == [0, 10]
    del seen[:]
    sim.run(48)
    assert same(sim, whole) and numpy.array_equal(sim.thermo["trap"], whole.thermo["trap"])
    assert seen == [step for step in expected if step > 12]
    sim.close()
    with pytest.raises(jostle.InputError, match="any more"):
        sim.restore()
    assert (tmp_path / "out" / "thermo.csv").read_text().count("\n") == 1 + len(whole.thermo["step"])


def test_a_failed_run_is_tried_again(fluid, tmp_path):
    sim, broken = jostle.Simulation(**fluid), [True]

    calls = []

    @sim.force(conserves_momentum=True)
    def fragile(positions):
        calls.append(1)
        if len(calls) > 20 and broken:
            broken.pop()
            raise ArithmeticError
        return 0.0, None

    sim.write_to(tmp_path / "out")
    sim.run(10)
    sim.save()
    with pytest.raises(ArithmeticError):
        sim.run()
    with pytest.raises(jostle.SimulationError, match="middle of step"):
        sim.run()
    sim.restore()
    sim.run()
    whole = jostle.Simulation(**fluid)
    whole.run()
    assert same(sim, whole)

    @sim.observe(every=10)
    def rash(sim):
        with pytest.raises(RuntimeError, match="observer"):
            sim.restore()

    sim.run(10)


def test_stages_of_python_are_resumed(fluid, tmp_path):
    with jostle.Simulation(**fluid) as sim:
        sim.write_to(tmp_path / "out")
        sim.minimize(steps=3)
        sim.run(10)
    resumed = jostle.Simulation.resume(tmp_path / "out")
    assert resumed.stages == ["minimize-1", "sample"] and resumed.stage == "sample"
    assert same(resumed, sim)


@pytest.mark.parametrize("style", ["heading", "inline"])
def test_stages_are_added_in_the_style_of_the_input(fluid, style):
    del fluid["stage"]
    text = jostle._jostle.input_text(fluid)
    if style == "inline":
        text = f"stage = [{{ name = 'a', steps = 5, timestep = 0.004 }}, {{ name = 'b', steps = 5, timestep = 0.004 }}]\n{text}"
    else:
        text += "\n# a comment\n[[stage]]\nname = 'a'\nsteps = 5\ntimestep = 0.004\n[[stage]]\nname = 'b'\nsteps = 5\ntimestep = 0.004"
    sim = jostle.Simulation.from_string(text)
    sim.run(3)
    sim.minimize(steps=2)
    assert sim.stages == ["a", "minimize-1", "b"]
    sim.run()
    sim.run(5, name="c", timestep=0.004)
    assert sim.stages == ["a", "minimize-1", "b", "c"] and sim.finished


def test_progress_is_told(fluid):
    fluid["stage"][0]["steps"] = 2000
    told = []
    jostle.Simulation(**fluid).run(progress=lambda *news: told.append(news))
    assert told[0] == ("sample", 2000, 0) and told[-1] == ("sample", 2000, 2000)
    with pytest.raises(ZeroDivisionError):
        jostle.Simulation(**fluid).run(progress=lambda *news: 1 / 0)


def test_ctrl_c_ends_a_run_that_can_go_on():
    """In a process of its own, whose main thread gets the signal."""
    code = """
        import signal, threading, _thread, jostle
        from conftest import FLUID
        sim = jostle.Simulation(**FLUID)
        threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
        try:
            sim.run(10**9)
        except KeyboardInterrupt:
            before = sim.step
            sim.run(10)
            assert sim.step == before + 10 > 10
            print("interrupted")
    """
    from pathlib import Path

    run = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parent)
    assert done.stdout == "interrupted\n", done.stderr


def test_other_threads_go_on_and_wait_their_turn(sim):
    thread = threading.Thread(target=sim.run, args=(3000,))
    thread.start()
    counted = 0
    while thread.is_alive() and counted < 20:
        time.sleep(0.001)
        counted += 1
    assert sim.positions.shape == (256, 3), "waits for the run"
    thread.join()
    assert sim.step == 3000 and counted > 1


def test_measures_have_results(fluid):
    fluid["stage"][0]["measure"] = [{"kind": "rdf", "every": 10}, {"kind": "msd", "every": 5}]
    sim = jostle.Simulation(**fluid)
    sim.run()
    rdf = sim.results["sample.rdf"]
    assert rdf.frames == 6 and rdf.table["r"][0] >= 0 and rdf.table["g all"].max() > 1.5
    assert "sample.msd" in sim.results


def test_samples_of_rows_that_are_means(fluid, tmp_path):
    """`thermo` has each sample, and thermo.csv their means."""
    fluid["stage"][0] |= {"steps": 40, "thermo": {"every": 20, "sample_every": 5}}
    sim = jostle.Simulation(**fluid)
    sim.write_to(tmp_path / "run")
    sim.run()
    sim.close()
    assert sim.thermo["step"].tolist() == list(range(0, 41, 5))
    head, *rows = [line.split(",") for line in (tmp_path / "run" / "thermo.csv").read_text().splitlines()]
    column = head.index("potential")
    means = sim.thermo["potential"][1:].reshape(2, 4).mean(axis=1)
    assert [float(row[column]) for row in rows[1:]] == pytest.approx(means.tolist(), rel=1e-12)


def test_further_stages_begin_anew(fluid):
    """Calls of one open stage have its bits; after a stage of a call, a further one begins, with averages of its own."""
    stage = fluid.pop("stage")[0]
    del stage["name"], stage["steps"]
    whole, parts = jostle.Simulation(**fluid), jostle.Simulation(**fluid)
    whole.run(40, **stage)
    parts.run(20, **stage)
    parts.run(20)
    assert (len(whole.stages), len(parts.stages)) == (1, 2)
    assert numpy.allclose(whole.positions, parts.positions, atol=1e-3)
    assert len(parts.thermo) == len(whole.thermo)
