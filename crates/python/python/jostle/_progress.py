"""A bar that shows how far a run is, in terminals and notebooks."""

import sys
import threading
import time

_WIDTH = 24
_PATIENCE = 0.5  # seconds without a bar at the beginning of a run


def _in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def wanted(progress):
    """The function that is told of progress: the one given, a bar, or None.

    progress: a function of (stage, steps, done); True or False; None for a bar in terminals and notebooks, of the main
        thread: bars of several threads would be drawn over each other.
    """
    if callable(progress):
        return progress
    if progress is None:
        stream = sys.stderr
        progress = stream is not None and (stream.isatty() or _in_notebook())
        progress = progress and threading.current_thread() is threading.main_thread()
    return Bar() if progress else None


class Bar:
    """Draws `sample [#####.....]  48%  1,204 steps/s  0:12 left` over itself."""

    def __init__(self, stream=None):
        self._stream = stream or sys.stderr
        self._begun = time.monotonic()
        self._stage = None
        self._width = 0

    def __call__(self, stage, steps, done):
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._first, self._since = stage, done, now
        if now - self._begun < _PATIENCE:
            return
        part = min(done / steps, 1.0) if steps else 1.0
        filled = round(_WIDTH * part)
        line = f"{stage} [{'#' * filled}{'.' * (_WIDTH - filled)}] {100 * part:3.0f}%"
        speed = (done - self._first) / (now - self._since) if now > self._since else 0.0
        if speed > 0:
            left = int((steps - done) / speed)
            line += f"  {speed:,.0f} steps/s  {left // 60}:{left % 60:02} left"
        self._draw(line)

    def _draw(self, line):
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def end(self):
        """Takes the bar away."""
        if self._width:
            self._draw("")
            self._stream.write("\r")
            self._stream.flush()
            self._width = 0
