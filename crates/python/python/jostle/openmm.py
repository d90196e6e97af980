"""Systems that were prepared with OpenMM, whatever by: PDBFixer, OpenFF, ParmEd, CHARMM-GUI, ..."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import openmm
from openmm import unit

from ._atoms import write_gro
from ._simulation import Simulation

__all__ = ["from_openmm"]


def from_openmm(
    topology,
    system,
    positions,
    /,
    *,
    velocities=None,
    units: str = "nano",
    device: str | None = None,
    threads: int | None = None,
    strict: bool = False,
    **keys: Any,
) -> Simulation:
    """A simulation of a System of OpenMM.

        sim = jostle.openmm.from_openmm(topology, system, positions, stage=[{"steps": 1000, "timestep": 0.002, ...}])

    The System is written as XML and read as `topology` of an input, with the same checks. Cut-off, electrostatics and
    the long-range correction are those of its NonbondedForce, unless `keys` have `force` or `electrostatics`.
    Thermostats and barostats of OpenMM are no part of it: stages have their own.

    Args:
        topology: the Topology, for names of atoms and residues.
        system: the System.
        positions: positions, with units or in nm.
        velocities: velocities, with units or in nm/ps; None: none, see `system={"temperature": ...}`.
        units: unit system of `keys` and of the simulation.
        device, threads, strict: see `Simulation`.
        keys: the other keys of an input: `stage`, `run`, `system` (`temperature`, `rigid`, ...), ...

    Raises:
        ValueError: if numbers of positions, atoms and particles differ.
        InputError, FileError, DeviceError: as for `Simulation`.
    """
    nonbonded = next((f for f in system.getForces() if isinstance(f, openmm.NonbondedForce)), None)
    given = _nonbonded(nonbonded, system.usesPeriodicBoundaryConditions())
    with tempfile.TemporaryDirectory() as folder:
        xml, gro = (os.path.join(folder, name) for name in ("system.xml", "positions.gro"))
        with open(xml, "w", encoding="utf-8") as file:
            file.write(openmm.XmlSerializer.serialize(system))
        _write(topology, system, positions, velocities, gro)
        atoms = {"topology": xml, "coordinates": gro, **given.pop("system"), **keys.pop("system", {})}
        return Simulation(
            units=units, system=atoms, device=device, threads=threads, strict=strict, **{**given, **keys}
        )


def _nonbonded(force, periodic):
    """Keys of an input for a NonbondedForce."""
    keys: dict[str, Any] = {"system": {"periodic": bool(periodic)}}
    if force is None or not periodic:
        return keys
    method = force.getNonbondedMethod()
    cutoff = f"{force.getCutoffDistance().value_in_unit(unit.nanometer)!r} nm"
    pairs = {"kind": "lennard-jones", "cutoff": cutoff, "tail_correction": force.getUseDispersionCorrection()}
    kinds = {
        openmm.NonbondedForce.CutoffPeriodic: "reaction-field",
        openmm.NonbondedForce.Ewald: "ewald",
        openmm.NonbondedForce.PME: "pme",
        openmm.NonbondedForce.LJPME: "pme",
    }
    if method == openmm.NonbondedForce.LJPME:
        pairs |= {"tail_correction": False, "truncation": "shifted", "dispersion": {"kind": "pme"}}
    charges: dict[str, Any] = {"kind": kinds[method]}
    if method == openmm.NonbondedForce.CutoffPeriodic:
        charges["dielectric"] = force.getReactionFieldDielectric()
    return {**keys, "force": [pairs], "electrostatics": charges}


def _numbers(vectors, of):
    """Vectors as lists of numbers."""
    if unit.is_quantity(vectors):
        vectors = vectors.value_in_unit(of)
    return [[float(x) for x in (v.value_in_unit(of) if unit.is_quantity(v) else v)] for v in vectors]


def _write(topology, system, positions, velocities, path):
    """Writes atoms as gro in nm and ps."""
    rows = _numbers(positions, unit.nanometer)
    atoms = list(topology.atoms())
    if not len(rows) == len(atoms) == system.getNumParticles():
        raise ValueError(
            f"{len(rows)} positions, {len(atoms)} atoms of the topology, {system.getNumParticles()} of the system"
        )
    if velocities is not None:
        rows = [r + v for r, v in zip(rows, _numbers(velocities, unit.nanometer / unit.picosecond))]
    names = [(atom.name, atom.residue.name, atom.residue.index + 1) for atom in atoms]
    write_gro(path, names, rows, _numbers(system.getDefaultPeriodicBoxVectors(), unit.nanometer))
