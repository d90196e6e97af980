"""Trajectories in the memory of Python, for analyses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ._atoms import write_xyz_frame

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Frames"]


class Frames:
    """Frames of atoms in arrays, which every analysis takes in place of a trajectory file.

        frames = jostle.Frames(positions, box, times=times, units="real")
        jostle.msd(frames).values["diffusion coefficient all"]

    Args:
        positions: array of shape (frames, atoms, 3), or (atoms, 3) of a single frame; lengths in `units`. They may be in
            the box or unwrapped.
        box: edges of the box, a row an edge: array of shape (3, 3), or (frames, 3, 3) where they change, in the same
            units; the first edge along x, the second in the plane of x and y.
        velocities: array of the shape of `positions`, lengths per time; None: none.
        times: time of each frame: array of shape (frames,); None: the frames have none.
        species: name of the species of each atom; None: all are "A".
        periodic: axes along which the box is periodic.
        units: unit system of all numbers, as in an input.

    Raises:
        ValueError: if shapes do not belong together, or a number is not finite.
    """

    def __init__(
        self,
        positions: ArrayLike,
        box: ArrayLike,
        *,
        velocities: ArrayLike | None = None,
        times: ArrayLike | None = None,
        species: Sequence[str] | None = None,
        periodic: tuple[bool, bool, bool] = (True, True, True),
        units: str = "lj",
    ):
        import numpy

        positions = self._numbers(positions)
        self.positions = positions[None] if positions.ndim == 2 else positions
        if self.positions.ndim != 3 or self.positions.shape[2] != 3 or 0 in self.positions.shape:
            raise ValueError(f"positions have the shape {positions.shape}, but it must be (frames, atoms, 3)")
        n_frames, n_atoms, _ = shape = self.positions.shape
        self.box = self._shaped("box", box, (n_frames, 3, 3), (3, 3))
        self.velocities = None if velocities is None else self._shaped("velocities", velocities, shape, shape[1:])
        self.times = None if times is None else self._shaped("times", times, (n_frames,))
        self.species = ["A"] * n_atoms if species is None else [str(name) for name in species]
        if len(self.species) != n_atoms or any(not name or name.split() != [name] for name in self.species):
            raise ValueError(f"species must be {n_atoms} names without spaces, one of each atom")
        if len(periodic) != 3 or any(axis not in (True, False) for axis in periodic):
            raise ValueError(f"periodic is {periodic!r}, but it must be three booleans")
        self.periodic = tuple(bool(axis) for axis in periodic)
        self.units = units
        if not numpy.isfinite(self.positions).all():
            raise ValueError("positions must be finite")

    @staticmethod
    def _numbers(values):
        """An array of numbers, none of which is masked."""
        import numpy

        if numpy.ma.is_masked(values):
            raise ValueError("some numbers are masked: fill them first")
        return numpy.asarray(values, dtype=float)

    @classmethod
    def _shaped(cls, name, values, shape, repeated=None):
        """An array of a shape, or of one that is repeated in each frame."""
        import numpy

        array = cls._numbers(values)
        if array.shape == repeated:
            array = numpy.broadcast_to(array, shape)
        if array.shape != shape:
            raise ValueError(f"{name} have the shape {array.shape}, but it must be {shape}")
        if not numpy.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
        return array

    @contextmanager
    def file(self) -> Iterator[str]:
        """A trajectory file with all digits of the frames, for a block."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "frames.xyz")
            with open(path, "w", encoding="utf-8") as file:
                for k, positions in enumerate(self.positions):
                    columns = [("pos", positions)]
                    if self.velocities is not None:
                        columns.append(("velo", self.velocities[k]))
                    time = None if self.times is None else self.times[k]
                    write_xyz_frame(file, self.species, columns, self.box[k], self.periodic, time)
            yield path

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self):
        n_frames, n_atoms, _ = self.positions.shape
        return f"<Frames: {n_frames} of {n_atoms} atoms, units {self.units!r}>"
