"""The tutorial: its blocks run, one after the other."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def test_the_tutorial_runs(tmp_path, monkeypatch):
    for package in ["ase", "openmm", "parmed", "MDAnalysis"]:
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    names = {}
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S))
    assert len(blocks) > 8
    for block in blocks:
        # Errors name the line of the page.
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block.group(1), str(PAGE), "exec"), names)
