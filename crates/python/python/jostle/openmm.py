"""Systems that were prepared with OpenMM, whatever by: PDBFixer, OpenFF, ParmEd, CHARMM-GUI, ..."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import openmm
from openmm import unit

from ._atoms import write_gro
from ._errors import InputError
from ._messages import doubt
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

    The System is written as XML and read as `topology` of an input, with the same checks. Cut-off, switching function,
    electrostatics and the long-range correction are those of its NonbondedForce (those of Lennard-Jones forces of its
    CustomNonbondedForce, if there is one), unless `keys` have `force` or `electrostatics`. `ewaldErrorTolerance` is
    `accuracy`. Meshes of PME given by hand are not taken, and the reaction field acts on excluded pairs, too, as in
    GROMACS and not in OpenMM: warnings say so. Thermostats and barostats of OpenMM are no part of it: stages have their
    own.

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
        InputError: if the NonbondedForce leaves out direct space; and as for `Simulation`.
        FileError, DeviceError: as for `Simulation`.
    """
    given = _nonbonded(system, keys, strict)
    with tempfile.TemporaryDirectory() as folder:
        xml, gro = (os.path.join(folder, name) for name in ("system.xml", "positions.gro"))
        with open(xml, "w", encoding="utf-8") as file:
            file.write(openmm.XmlSerializer.serialize(system))
        _write(topology, system, positions, velocities, gro)
        atoms = {"topology": xml, "coordinates": gro, **given.pop("system"), **keys.pop("system", {})}
        return Simulation(
            units=units, system=atoms, device=device, threads=threads, strict=strict, **{**given, **keys}
        )


def _nonbonded(system, given, strict):
    """Keys of an input for forces between pairs, as far as they are not given."""
    keys: dict[str, Any] = {"system": {"periodic": bool(system.usesPeriodicBoundaryConditions())}}
    force, custom = (
        next((f for f in system.getForces() if isinstance(f, kind)), None)
        for kind in (openmm.NonbondedForce, openmm.CustomNonbondedForce)
    )
    if force is None:
        return keys
    if not force.getIncludeDirectSpace():
        raise InputError(
            "the NonbondedForce leaves out direct space: setIncludeDirectSpace(False)",
            "call setIncludeDirectSpace(True): forces of Jostle have both parts",
        )
    if force.getNonbondedMethod() == openmm.NonbondedForce.NoCutoff:
        return keys
    if "force" not in given:
        keys["force"] = [_lennard_jones(force, custom)]
    if "electrostatics" not in given:
        keys["electrostatics"] = _electrostatics(force, strict)
    return keys


def _lennard_jones(force, custom):
    """Keys of the Lennard-Jones forces of a NonbondedForce or, where there is one, of a CustomNonbondedForce."""
    mesh = force.getNonbondedMethod() == openmm.NonbondedForce.LJPME
    far = force.getUseDispersionCorrection() if custom is None else custom.getUseLongRangeCorrection()
    wells = force if custom is None else custom
    keys = {"kind": "lennard-jones", "cutoff": _cutoff(wells), "tail_correction": far}
    if mesh:
        # OpenMM switches no force off whose r^-6 goes on over all images.
        return keys | {"tail_correction": False, "truncation": "shifted", "dispersion": _mesh(force)}
    if not wells.usesPeriodicBoundaryConditions():
        keys["tail_correction"] = False
    if wells.getUseSwitchingFunction():
        keys |= {"truncation": "switched", "switch_from": wells.getSwitchingDistance() / wells.getCutoffDistance()}
    return keys


def _electrostatics(force, strict):
    """Keys of the charges of a NonbondedForce."""
    method, keys = force.getNonbondedMethod(), {"cutoff": _cutoff(force)}
    if method in (openmm.NonbondedForce.CutoffNonPeriodic, openmm.NonbondedForce.CutoffPeriodic):
        if any(_is_charged(force, k) for k in range(force.getNumExceptions())):
            doubt(
                "the reaction field acts on pairs that are excluded, too, as in GROMACS, and not in OpenMM: energies "
                "of molecules differ, and forces between their own atoms",
                strict,
            )
        elif any(_number(force.getParticleParameters(k)[0]) != 0 for k in range(force.getNumParticles())):
            doubt(
                "the reaction field has an energy of each charge with itself, as in GROMACS, and not in OpenMM: energies "
                "differ by a constant",
                strict,
            )
        return keys | {"kind": "reaction-field", "dielectric": force.getReactionFieldDielectric()}
    if method == openmm.NonbondedForce.Ewald:
        return keys | {"kind": "ewald", "accuracy": force.getEwaldErrorTolerance()}
    # An alpha of 0 stands for a mesh by tolerance.
    if any(_number(alpha) != 0 for alpha, *_ in [force.getPMEParameters(), force.getLJPMEParameters()]):
        doubt(
            "the mesh of the NonbondedForce is not taken (setPMEParameters, setLJPMEParameters): accuracy = "
            f"{force.getEwaldErrorTolerance()}, its ewaldErrorTolerance, chooses one",
            strict,
        )
    return keys | _mesh(force)


def _mesh(force):
    """Keys of a sum on a mesh as exact as the force has it."""
    accuracy = force.getEwaldErrorTolerance()
    # Splines of order 5 are made for accuracies of 1e-5 and more.
    return {"kind": "pme", "accuracy": accuracy, **({"order": 6} if accuracy < 1e-5 else {})}


def _cutoff(force):
    """Cut-off as text."""
    return f"{force.getCutoffDistance().value_in_unit(unit.nanometer)!r} nm"


def _is_charged(force, exception):
    """Returns true where an exception is one of two charges."""
    return all(_number(force.getParticleParameters(k)[0]) != 0 for k in force.getExceptionParameters(exception)[:2])


def _number(quantity):
    """A number, in nm, elementary charges, ..."""
    return quantity.value_in_unit_system(unit.md_unit_system) if unit.is_quantity(quantity) else quantity


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
