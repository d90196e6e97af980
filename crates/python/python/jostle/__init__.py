"""Jostle: molecular dynamics that is fast, easy to install and never silently wrong.

    >>> import jostle
    >>> sim = jostle.Simulation.from_file("argon.toml")
    >>> sim.run(1000)
    >>> sim.positions.shape
    (864, 3)

Numbers are plain floats and NumPy arrays in the units of the input: with `units = "real"`, lengths are angstroms,
times femtoseconds and energies kcal/mol.
"""

import os
import sys
from typing import TYPE_CHECKING

from . import _analysis, _jostle
from ._analysis import *  # noqa: F403
from ._device import DeviceArray, OnDevice
from ._errors import DeviceError, FileError, InputError, JostleError, JostleWarning, SimulationError
from ._frames import Frames
from ._jostle import __version__
from ._many import ManyError, run_many
from ._simulation import Simulation
from ._tables import Record, Table
from ._view import View

if TYPE_CHECKING:
    from .ase import from_ase
    from .mdanalysis import from_mdanalysis
    from .openmm import from_openmm
    from .parmed import from_parmed

__all__ = [
    "DeviceArray",
    "DeviceError",
    "FileError",
    "Frames",
    "InputError",
    "JostleError",
    "JostleWarning",
    "ManyError",
    "OnDevice",
    "Record",
    "Simulation",
    "SimulationError",
    "Table",
    "View",
    "__version__",
    "run_many",
    *_analysis.__all__,
]


# A virtual environment that was not activated, as those of notebooks mostly are: NVRTC is looked for there, too.
if sys.prefix != sys.base_prefix:
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)

# Processes that compile kernels for a GPU need nothing but the library, and nothing of where a script runs.
_PROGRAM = """\
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_jostle", sys.argv[1])
library = importlib.util.module_from_spec(spec)
spec.loader.exec_module(library)
sys.exit(library.program(["jostle", *sys.argv[2:]], ["jostle"]))
"""
# A program that has Python inside is no interpreter to start: threads compile there.
if os.path.basename(sys.executable or "").startswith("python"):
    _jostle.compile_kernels_by([sys.executable, "-I", "-S", "-c", _PROGRAM, _jostle.__file__])

_FROM = ("from_ase", "from_mdanalysis", "from_openmm", "from_parmed")


def __dir__():
    return [*globals(), *_FROM]


def __getattr__(name):
    """Functions that need other packages, which are imported when they are asked for."""
    if name in _FROM:
        from importlib import import_module

        return getattr(import_module(f".{name.removeprefix('from_')}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
