"""Messages: warnings by `warnings`, notes by `logging`."""

import logging
import warnings

from ._errors import InputError, JostleWarning

_log = logging.getLogger("jostle")


def warn(message):
    """Passes on a warning about a stage."""
    # The frames of this package are not where the warning belongs.
    warnings.warn(message, JostleWarning, stacklevel=5)


def note(message):
    """Passes on a note."""
    _log.info(message)


def doubt(message, strict, frames=5):
    """Warns of what another package does otherwise, so many frames from the user; an error where warnings are errors."""
    if strict:
        raise InputError(message)
    # As above; the functions that read a System are five frames away.
    warnings.warn(message, JostleWarning, stacklevel=frames)
