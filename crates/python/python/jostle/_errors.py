"""Exceptions with their cause, place and remedy."""

from __future__ import annotations

__all__ = ["JostleError", "InputError", "FileError", "SimulationError", "DeviceError", "JostleWarning"]


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
    """A warning about a stage of a run."""
