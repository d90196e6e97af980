"""A bar that shows how far a run is, in terminals and notebooks."""

import sys
import threading
import time

_WIDTH = 24
_PATIENCE = 0.5  # seconds without a bar at the beginning of a run
_INTERVAL = 0.1  # seconds from one drawing to the next


def _in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def wanted(progress, counted="steps"):
    """The function that is told of progress: the one given, a bar, or None.

    progress: a function of (stage, steps, done); True or False; None for a bar in terminals and notebooks, of the main
        thread: bars of several threads would be drawn over each other.
    counted: what there are so many of in a second.
    """
    if callable(progress):
        return progress
    stream = sys.stderr
    if progress is None:
        progress = stream is not None and (stream.isatty() or _in_notebook())
        progress = progress and threading.current_thread() is threading.main_thread()
    if not progress:
        return None
    return Bar(_Cell() if _in_notebook() else _Line(stream), counted)


class _Line:
    """Last line of a terminal."""

    def __init__(self, stream):
        self._stream = stream
        self._width = 0

    def show(self, line):
        """Writes a line over the one before."""
        self._stream.write("\r" + line.ljust(self._width) + ("" if line else "\r"))
        self._stream.flush()
        self._width = len(line)


class _Cell:
    """Line in the output of a notebook's cell, which is replaced, so that a saved notebook keeps none of it."""

    def __init__(self):
        self._handle = None

    def show(self, line):
        """Shows a line in place of the one before."""
        from IPython.display import display

        content = {"text/plain": line}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


class Bar:
    """Shows `sample [#####.....]  48%  1,204 steps/s  0:12 left` at a place."""

    def __init__(self, place, counted="steps"):
        self._place = place
        self._counted = counted
        self._begun = time.monotonic()
        self._shown = None
        self._stage = None

    def __call__(self, stage, steps, done):
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._first, self._since = stage, done, now
        if now - self._begun < _PATIENCE or (self._shown is not None and now - self._shown < _INTERVAL):
            return
        part = min(done / steps, 1.0) if steps else 1.0
        filled = round(_WIDTH * part)
        line = f"{stage} [{'#' * filled}{'.' * (_WIDTH - filled)}] {100 * part:3.0f}%"
        speed = (done - self._first) / (now - self._since) if now > self._since else 0.0
        if speed > 0:
            left = int((steps - done) / speed)
            line += f"  {speed:,.{0 if speed >= 10 else 1}f} {self._counted}/s  {left // 60}:{left % 60:02} left"
        self._place.show(line)
        self._shown = now

    def end(self):
        """Takes the bar away."""
        if self._shown is not None:
            self._place.show("")
            self._shown = None
