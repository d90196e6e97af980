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
    """Bars from the first moment on, drawn at each call."""
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(_progress, "_INTERVAL", 0.0)


def test_bars_are_drawn_over_themselves_and_taken_away(impatient):
    stream = io.StringIO()
    bar = _progress.Bar(_progress._Line(stream))
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


def test_bars_are_not_drawn_all_the_time(monkeypatch):
    stream = io.StringIO()
    bar = _progress.Bar(_progress._Line(stream))
    bar("sample", 10, 1)
    assert stream.getvalue() == ""
    bar._begun -= 1.0
    for _ in range(100):
        bar("sample", 10, 2)
    assert stream.getvalue().count("sample") <= 2


class Handle:
    """What a notebook gives for an output that it shows."""

    def __init__(self, lines):
        self.lines = lines

    def update(self, content, raw):
        self.lines.append(content["text/plain"])


@pytest.mark.parametrize("place", ["terminal", "notebook", "file"])
def test_runs_show_a_bar_where_it_is_read(sim, place, impatient, monkeypatch):
    stream = Terminal() if place == "terminal" else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    lines = []
    if place == "notebook":
        shell = type("ZMQInteractiveShell", (), {})
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=shell))

        def display(content, raw, display_id):
            lines.append(content["text/plain"])
            return Handle(lines)

        monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))

    def drawn():
        """Number of lines so far, after the last of which nothing is left."""
        assert not lines or lines[-1] == ""
        assert shown(stream.getvalue()) == ""
        return len(lines) if place == "notebook" else stream.getvalue().count("sample [")

    sim.run(30)
    told = drawn()
    assert (told > 0) == (place != "file")
    sim.run(10, progress=False)
    # Bars of several threads would be drawn over each other.
    thread = threading.Thread(target=sim.run, args=(10,))
    thread.start()
    thread.join(30)
    assert drawn() == told and sim.step == 50
    sim.run(10, progress=True)
    assert drawn() > told


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


def test_many_simulations_are_counted(fluid, impatient, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    jostle.run_many([fluid] * 3)
    assert "simulations [########################] 100%" in stream.getvalue()
    assert "simulations/s" in stream.getvalue() and "steps/s" not in stream.getvalue()
    assert shown(stream.getvalue()) == ""
