"""Ctrl-C during runs with forces of Python."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager


@contextmanager
def held_in_forces(core):
    """A block in which Ctrl-C that comes while a force computes waits for the end of the step.

    Its exception would leave the atoms in the middle of the step, and the force, which may be a model with a memory, in
    the middle of its work. A second Ctrl-C a second later reaches the force: it may never end.
    """
    # Only the main thread hears Ctrl-C, and only its handlers written in Python raise exceptions.
    is_main = threading.current_thread() is threading.main_thread()
    usual = signal.getsignal(signal.SIGINT) if is_main else None
    if not callable(usual):
        yield
        return

    def handle(number, frame):
        if not core.hold_interrupt():
            usual(number, frame)

    try:
        signal.signal(signal.SIGINT, handle)
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handle:
            signal.signal(signal.SIGINT, usual)
        if core.take_interrupt():
            signal.raise_signal(signal.SIGINT)
