"""Atoms of MDAnalysis, from any of the files that it reads."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy
from MDAnalysis.lib.mdamath import triclinic_vectors

from ._atoms import write_gro, write_xyz
from ._jostle import si as si_units
from ._messages import doubt
from ._simulation import Simulation

__all__ = ["from_mdanalysis"]

_ANGSTROM = 1e-10  # m
_PICOSECOND = 1e-12  # s
_DALTON = 1e-3 / 6.02214076e23  # kg


def from_mdanalysis(
    atoms,
    /,
    *,
    topology: str | os.PathLike[str] | None = None,
    units: str = "real",
    device: str | None = None,
    threads: int | None = None,
    strict: bool = False,
    **keys: Any,
) -> Simulation:
    """A simulation of atoms of MDAnalysis as they are in the present frame, with their velocities.

        u = MDAnalysis.Universe("system.prmtop", "trajectory.nc")
        u.trajectory[-1]
        sim = jostle.from_mdanalysis(u.atoms, topology="system.prmtop", stage=[...])

    With a topology, which has the force field, atoms must be all of its atoms in its order. Without, species are the
    elements of the atoms, or their types or names where there are none, with the masses and charges that MDAnalysis
    has; forces come from `keys`. Without a box of MDAnalysis boundaries are open, with a warning unless `system` has
    `periodic`.

    Args:
        atoms: an AtomGroup, or a Universe.
        topology: file with the force field, as `topology` of an input takes it; None: none.
        units: unit system of `keys` and of the simulation.
        device, threads, strict: see `Simulation`.
        keys: the other keys of an input: `force`, `stage`, `run`, `system` (`temperature`, `rigid`, ...), ...

    Raises:
        ValueError: if there are no atoms, or they have no masses.
        InputError, FileError, DeviceError: as for `Simulation`.
    """
    atoms = atoms.atoms
    if len(atoms) == 0:
        raise ValueError("there are no atoms")
    if atoms.dimensions is None and "periodic" not in keys.get("system", {}):
        doubt(
            "MDAnalysis gives no box for this frame, so that the simulation has open boundaries; where that is meant, "
            'system={"periodic": False} says so, else universe.dimensions = [a, b, c, alpha, beta, gamma] sets the box',
            strict,
            frames=3,
        )
    with tempfile.TemporaryDirectory() as folder:
        if topology is None:
            path = os.path.join(folder, "atoms.xyz")
            _write_species(atoms, units, path)
            system = {"file": path}
        else:
            path = os.path.join(folder, "atoms.gro")
            _write_names(atoms, path)
            system = {"topology": os.path.abspath(topology), "coordinates": path}
            system["periodic"] = atoms.dimensions is not None
        system |= keys.pop("system", {})
        return Simulation(units=units, system=system, device=device, threads=threads, strict=strict, **keys)


def _edges(atoms):
    """Edges of the box in angstroms; None without a box."""
    return None if atoms.dimensions is None else triclinic_vectors(atoms.dimensions).astype(float)


def _velocities(atoms):
    """Velocities in angstroms per ps; None without any."""
    return atoms.velocities.astype(float) if atoms.universe.trajectory.ts.has_velocities else None


def _attribute(atoms, name):
    """Values of an attribute; None where the atoms have not got it, or have it empty."""
    values = getattr(atoms, name, None)
    return values if values is not None and all(str(value).strip() for value in values) else None


def _write_names(atoms, path):
    """Writes atoms as gro, in nm and ps."""
    count = len(atoms)
    names, residues, numbers = (_attribute(atoms, name) for name in ("names", "resnames", "resids"))
    names = ["X"] * count if names is None else names
    residues = ["MOL"] * count if residues is None else residues
    numbers = [1] * count if numbers is None else numbers
    columns = [atoms.positions.astype(float), *([] if (v := _velocities(atoms)) is None else [v])]
    edges = _edges(atoms)
    labels = [(str(n), str(r), int(k)) for n, r, k in zip(names, residues, numbers)]
    write_gro(path, labels, 0.1 * numpy.hstack(columns), None if edges is None else 0.1 * edges)


def _write_species(atoms, units, path):
    """Writes atoms as extended XYZ, in the units of a simulation."""
    si = si_units(units)
    length, time, mass = (1.0, 1.0, 1.0) if si is None else (
        _ANGSTROM / si[0], _PICOSECOND / si[2], _DALTON / si[3]
    )
    species = next(s for name in ("elements", "types", "names", "indices") if (s := _attribute(atoms, name)) is not None)
    columns = [("pos", length * atoms.positions.astype(float))]
    if (masses := getattr(atoms, "masses", None)) is not None and (masses > 0).all():
        columns.append(("mass", mass * masses[:, None]))
    if (charges := getattr(atoms, "charges", None)) is not None:
        columns.append(("charge", charges[:, None].astype(float)))
    if (velocities := _velocities(atoms)) is not None:
        columns.append(("velo", length / time * velocities))
    edges = _edges(atoms)
    if edges is None:
        span = numpy.ptp(atoms.positions, axis=0).max() + 1.0
        edges, periodic = span * numpy.eye(3), [False] * 3
    else:
        periodic = [True] * 3
    write_xyz(path, [str(s).replace(" ", "_") for s in species], columns, length * edges, periodic)
