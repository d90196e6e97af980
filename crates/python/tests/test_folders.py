"""Folders of simulations that nothing has closed."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jostle
import pytest


def test_a_simulation_that_goes_leaves_a_checkpoint(fluid, tmp_path):
    sim = jostle.Simulation(**fluid)
    sim.write_to(tmp_path / "out")
    sim.run(23)
    expected = sim.positions
    del sim
    again = jostle.Simulation.resume(tmp_path / "out")
    assert again.step == 23 and (again.positions == expected).all()
    again.run()
    del again
    assert jostle.Simulation.resume(tmp_path / "out").step == 60


def test_a_second_folder_leaves_a_checkpoint_in_the_first(fluid, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    with jostle.Simulation(**fluid) as sim:
        sim.write_to(first)
        sim.run(23)
        sim.write_to(second)
        assert jostle.Simulation.resume(first).step == 23
        sim.run(10)
        # A folder that cannot be had leaves the present one as it is.
        with pytest.raises(jostle.FileError):
            sim.write_to(first)
        assert str(sim.folder) == str(second)
        sim.run(1)
    assert jostle.Simulation.resume(second).step == 34


def test_a_script_that_ends_leaves_a_checkpoint(tmp_path):
    """Also one that an exception ends; where a force has failed, the last checkpoint remains. Folders may be removed."""
    code = """
        import os, shutil, sys, jostle
        from conftest import FLUID
        sim = jostle.Simulation(**FLUID)
        if sys.argv[2] == "force":
            calls = []
            sim.force(lambda r: (calls.append(1), 1 / (len(calls) < 9), 0.0 * r)[1:], name="force")
        sim.write_to(sys.argv[1])
        if sys.argv[2] == "fork" and os.fork() == 0:
            sys.exit(0)
        if sys.argv[2] == "force":
            sim.run(3)
            sim.save()
        sim.run(23)
        if sys.argv[2] == "removed":
            shutil.rmtree(sys.argv[1])
        if sys.argv[2] == "raised":
            raise ArithmeticError
    """

    def end(how):
        run = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / how), how]
        return subprocess.run(run, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parent)

    for how, step, said in [("plain", 23, ""), ("raised", 23, "ArithmeticError"), ("force", 3, "ZeroDivisionError")]:
        assert said in end(how).stderr
        again = jostle.Simulation.resume(tmp_path / how)
        assert again.step == step
    assert end("removed").stderr == ""
    if hasattr(os, "fork"):
        assert "Error" not in end("fork").stderr
        assert jostle.Simulation.resume(tmp_path / "fork").step == 23
