"""Exceptions with their cause, place and remedy."""

from __future__ import annotations

import re

__all__ = ["JostleError", "InputError", "FileError", "SimulationError", "DeviceError", "JostleWarning"]


# What a remedy names of the program, and what there is in its place here.
_HERE = [
    (re.compile(pattern), here)
    for pattern, here in [
        (r"jostle resume (\S+);", r'Simulation.resume("\1");'),
        (r"jostle resume\b", "Simulation.resume"),
        (r"jostle run with --overwrite|--overwrite", "write_to(folder, overwrite=True)"),
        (r"--output DIR|--output", "write_to(folder)"),
        (r"--device (\w+(?::\d+)?)", r'device="\1"'),
        (r"--strict", "strict=True"),
        (r"--(atoms|first|last|every|input|names|timestep|units|threads)\b", r"\1="),
    ]
]


def _here(hint):
    """A remedy with the arguments of Python in place of the options of the program."""
    for pattern, here in _HERE:
        hint = pattern.sub(here, hint)
    return hint


class JostleError(Exception):
    """An error of Jostle.

    Attributes:
        message: the cause, in one sentence.
        hint: the remedy, or None.
        file: the file at fault, or None.
        line: the line at fault, counted from 1, or None.
        text: the text of that line, or None.
    """

    def __init__(self, message, hint=None, file=None, line=None, text=None):
        hint = None if hint is None else _here(hint)
        super().__init__(message, hint, file, line, text)
        self.message = message
        self.hint = hint
        self.file = None if file is None else str(file)
        self.line = line
        self.text = text

    def __str__(self):
        place = "" if self.file is None else f"{self.file}:" if self.line is None else f"{self.file}:{self.line}:"
        lines = [f"{place} {self.message}".strip()]
        if self.text is not None:
            lines.append(f"    {self.text.strip()}")
        if self.hint is not None:
            lines.append(f"    help: {self.hint}")
        return "\n".join(lines)


class InputError(JostleError, ValueError):
    """The input or an argument asks for something impossible."""


class FileError(JostleError):
    """A file cannot be read or written, or is damaged."""


class SimulationError(JostleError, RuntimeError):
    """The simulation failed: a force that is not finite, an atom lost."""


class DeviceError(JostleError, RuntimeError):
    """A device, its driver or a library it needs is missing or failed."""


class JostleWarning(UserWarning):
    """A warning about a stage of a run, or about what another package does otherwise."""
