"""Bars of progress, in terminals and notebooks."""

import io
import sys
import threading
import types

import jostle
import pytest
from jostle import _progress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def shown(text):
    """The line that a terminal shows after the text."""
    line = ""
    for part in text.split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


@pytest.fixture
def impatient(monkeypatch):
    """Bars from the first moment on."""
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)


def test_bars_are_drawn_over_themselves_and_taken_away(impatient):
    stream = io.StringIO()
    bar = _progress.Bar(stream)
    bar("sample", 2_000_000, 0)
    assert shown(stream.getvalue()).startswith("sample [........................]   0%")
    bar._since -= 2.0
    bar("sample", 2_000_000, 1_000_000)
    line = shown(stream.getvalue())
    assert line.startswith("sample [############............]  50%") and line.endswith("0:02 left")
    assert "steps/s" in line and "\n" not in stream.getvalue()
    bar("next", 0, 0)
    assert shown(stream.getvalue()).startswith("next [########################] 100%")
    bar.end()
    assert shown(stream.getvalue()) == ""


@pytest.mark.parametrize("place", ["terminal", "notebook", "file"])
def test_runs_show_a_bar_where_it_is_read(sim, place, impatient, monkeypatch):
    stream = Terminal() if place == "terminal" else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    if place == "notebook":
        shell = type("ZMQInteractiveShell", (), {})
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=shell))
    sim.run(30)
    assert ("sample [" in stream.getvalue()) == (place != "file")
    assert shown(stream.getvalue()) == ""
    told = len(stream.getvalue())
    sim.run(10, progress=False)
    assert len(stream.getvalue()) == told
    # Bars of several threads would be drawn over each other.
    thread = threading.Thread(target=sim.run, args=(10,))
    thread.start()
    thread.join(30)
    assert len(stream.getvalue()) == told and sim.step == 50
    sim.run(10, progress=True)
    assert len(stream.getvalue()) > told


def test_bars_are_taken_away_after_exceptions(sim, impatient, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)

    @sim.observe(every=20)
    def fail(sim):
        if sim.step == 40:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        sim.run()
    assert "sample [" in stream.getvalue() and shown(stream.getvalue()) == ""
