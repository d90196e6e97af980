"""Systems that were prepared with ParmEd, which reads the files of AMBER, CHARMM, GROMACS and OpenMM."""

from __future__ import annotations

from typing import Any

from openmm import app, unit

from ._simulation import Simulation
from .openmm import from_openmm

__all__ = ["from_parmed"]

_METHODS = {"pme": app.PME, "ewald": app.Ewald, "reaction-field": app.CutoffPeriodic, "none": app.NoCutoff}
_CONSTRAINTS = {None: None, "hydrogens": app.HBonds, "all": app.AllBonds, "angles": app.HAngles}


def from_parmed(
    structure,
    /,
    *,
    method: str | None = None,
    cutoff: float = 1.0,
    constraints: str | None = None,
    rigid_water: bool = True,
    hydrogen_mass: float | None = None,
    units: str = "nano",
    **keys: Any,
) -> Simulation:
    """A simulation of a Structure of ParmEd, by way of a System of OpenMM, which must be installed, too.

        structure = parmed.load_file("system.prmtop", "system.inpcrd")
        sim = jostle.from_parmed(structure, stage=[{"steps": 1000, "timestep": 0.002, ...}])

    Args:
        structure: the Structure, with positions; its velocities are taken if it has some.
        method: "pme", "ewald", "reaction-field" or "none"; None: PME in a periodic box, none without a box.
        cutoff: cut-off in nm.
        constraints: rigid bonds: None, "hydrogens", "all", or "angles" with those of hydrogen.
        rigid_water: water is rigid.
        hydrogen_mass: mass of hydrogens in daltons, taken from their neighbours; None: as it is.
        units: unit system of `keys` and of the simulation.
        keys: `device`, `threads`, `strict` and the keys of an input, see `jostle.openmm.from_openmm`.

    Raises:
        ValueError: if the structure has no positions, or there is no such method or choice of constraints.
        InputError, FileError, DeviceError: as for `Simulation`.
    """
    if structure.positions is None:
        raise ValueError("the structure has no positions: load coordinates, too, or assign some")
    if method is None:
        method = "none" if structure.box is None else "pme"
    if method not in _METHODS:
        raise ValueError(f"there is no method {method!r}, only {', '.join(map(repr, _METHODS))}")
    if constraints not in _CONSTRAINTS:
        raise ValueError(f"there are no constraints {constraints!r}, only {', '.join(map(repr, _CONSTRAINTS))}")
    if method != "none" and structure.box is None:
        raise ValueError(f"method = {method!r} needs a periodic box, and the structure has none")
    system = structure.createSystem(
        nonbondedMethod=_METHODS[method],
        nonbondedCutoff=cutoff * unit.nanometer,
        constraints=_CONSTRAINTS[constraints],
        rigidWater=rigid_water,
        hydrogenMass=None if hydrogen_mass is None else hydrogen_mass * unit.dalton,
        removeCMMotion=False,
    )
    velocities = structure.velocities
    if velocities is not None:
        velocities = 0.1 * velocities  # angstroms to nm per ps
    return from_openmm(
        structure.topology, system, structure.positions, velocities=velocities, units=units, **keys
    )
