"""The viewer of the program, in a cell of a notebook or a browser."""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from pathlib import Path

from ._atoms import write_xyz
from ._jostle import viewer

__all__ = ["View"]

# Endings of trajectories that stages write.
_TRAJECTORIES = ("xtc", "dcd", "trr", "xyz", "extxyz", "lammpstrj", "gsd", "h5md", "pdb", "cif", "gro")


class View:
    """A page that shows a run, at an address of this machine, until Python ends.

    At the end of a cell of a notebook it is shown there. The notebook's server must run on the machine of the browser,
    or its port be forwarded.

    Attributes:
        url: address of the page; whoever has it sees the run.
    """

    def __init__(self, url: str, width: str = "100%", height: int = 600):
        self.url = url
        self._size = width, height

    def open(self) -> bool:
        """Opens the page in a browser.

        Returns:
            bool: False where there is no browser.
        """
        return webbrowser.open(self.url)

    def _repr_html_(self):
        width, height = self._size
        return f'<iframe src="{html.escape(self.url)}" width="{html.escape(width)}" height="{height}" style="border:0"></iframe>'

    def __repr__(self):
        return f"<View {self.url}>"


def view(sim, width, height) -> View:
    """A view of a simulation: of the trajectory that it writes, or of its atoms as they are now."""
    import numpy

    folder = sim.folder
    if folder is not None and any(p.suffix[1:] in _TRAJECTORIES for p in Path(os.fspath(folder)).glob("*.*")):
        return View(viewer(folder, sim.units), str(width), int(height))
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "atoms.xyz")
        species = [str(name).replace(" ", "_") for name in sim.species]
        write_xyz(path, species, [("pos", sim.positions - sim.origin)], sim.box, numpy.array(sim.periodic))
        return View(viewer(path, sim.units), str(width), int(height))
