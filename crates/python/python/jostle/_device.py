"""Arrays in the memory of a GPU, lent for a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ._jostle import Core, DeviceArray, lend, take_back

__all__ = ["DeviceArray", "OnDevice"]


@dataclass(frozen=True)
class OnDevice:
    """Arrays of the atoms in the memory of the device, in its order.

    Attributes:
        positions: positions, within a few skins of the box: shape (n, 3), float64.
        velocities: velocities: shape (n, 3), float64.
        forces: forces at these positions: shape (n, 3), float32 or, in double precision, float64.
        ids: id of each atom, its index in `Simulation.positions`: shape (n,), uint32.
        images: numbers of boxes that each atom has crossed along the edges: shape (n, 3), int32.
    """

    positions: DeviceArray
    velocities: DeviceArray
    forces: DeviceArray
    ids: DeviceArray
    images: DeviceArray


@contextmanager
def lent(core: Core, write: bool) -> Iterator[OnDevice]:
    """Lends the arrays of a simulation for a block."""
    arrays = OnDevice(**lend(core, write))
    try:
        yield arrays
    finally:
        take_back(core)
