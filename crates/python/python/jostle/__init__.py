"""Jostle: molecular dynamics that is fast, easy to install and never silently wrong.

    >>> import jostle
    >>> sim = jostle.Simulation.from_file("argon.toml")
    >>> sim.run(1000)
    >>> sim.positions.shape
    (864, 3)

Numbers are plain floats and NumPy arrays in the units of the input: with `units = "real"`, lengths are angstroms,
times femtoseconds and energies kcal/mol.
"""

from . import _analysis
from ._analysis import *  # noqa: F403
from ._errors import DeviceError, FileError, InputError, JostleError, JostleWarning, SimulationError
from ._jostle import __version__
from ._simulation import Simulation
from ._tables import Record, Table

__all__ = [
    "DeviceError",
    "FileError",
    "InputError",
    "JostleError",
    "JostleWarning",
    "Record",
    "Simulation",
    "SimulationError",
    "Table",
    "__version__",
    *_analysis.__all__,
]
