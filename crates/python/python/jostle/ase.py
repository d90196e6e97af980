"""Jostle and ASE, the Atomic Simulation Environment: a calculator for ASE, and calculators of ASE as forces.

Simulations in units with SI equivalents ("real", "metal", ...) are converted to ASE's eV and angstroms and back;
numbers in reduced units are taken as they are.
"""

from __future__ import annotations

import os
import tempfile

import numpy
from ase.calculators.calculator import Calculator, all_changes
from ase.constraints import FixAtoms
from ase.stress import full_3x3_to_voigt_6_stress

from ._atoms import write_xyz
from ._errors import InputError
from ._jostle import si as si_units
from ._simulation import Simulation

__all__ = ["AseForce", "Jostle", "from_ase"]

_EV = 1.602176634e-19  # J
_ANGSTROM = 1e-10  # m
_DALTON = 1e-3 / 6.02214076e23  # kg: a gram per mole, as in the tables of masses


class _Units:
    """Factors from the units of a simulation to those of ASE."""

    def __init__(self, name):
        self.name = name
        si = si_units(name)
        self.length = 1.0 if si is None else si[0] / _ANGSTROM
        self.energy = 1.0 if si is None else si[1] / _EV
        # A velocity in angstroms per time of ASE, which is angstrom sqrt(dalton / eV).
        time = 1.0 if si is None else si[2] / (_ANGSTROM * (_DALTON / _EV) ** 0.5)
        self.velocity = self.length / time
        self.force = self.energy / self.length
        self.mass = 1.0 if si is None else si[3] / _DALTON


class Jostle(Calculator):
    """Energies, forces and stresses by Jostle, for ASE.

        atoms.calc = jostle.ase.Jostle(simulation)

    Args:
        simulation: a `Simulation` of the same atoms in the same order; it may have no stages.

    Elements and initial charges of the atoms are those of `from_ase`, of another simulation those of the first
    calculation. They do not change: other atoms need another calculator.

    Energies are in eV, forces in eV per angstrom, stresses in eV per cubic angstrom; those of reduced units are as they
    are.
    """

    implemented_properties = ["energy", "free_energy", "forces", "stress"]

    def __init__(self, simulation: Simulation, **arguments):
        super().__init__(**arguments)
        self.simulation = simulation
        self._units = _Units(simulation.units)
        self._kinds = getattr(simulation, "_kinds", None)

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        """Computes energy, forces and, in a periodic box, the stress.

        Raises:
            ValueError: if the number of atoms, their elements or initial charges, or the periodic axes are not those of
                the simulation.
            SimulationError: if a force is not finite.
        """
        super().calculate(atoms, properties, system_changes)
        sim, units = self.simulation, self._units
        if len(self.atoms) != sim.n_atoms:
            raise ValueError(f"{len(self.atoms)} atoms, but the simulation has {sim.n_atoms}")
        if tuple(bool(p) for p in self.atoms.pbc) != tuple(sim.periodic):
            raise ValueError(f"pbc = {self.atoms.pbc}, but the simulation has {sim.periodic}")
        self._check_kinds()
        edges, rotation = _box(self.atoms)
        positions = self.atoms.positions @ rotation.T / units.length
        edges /= units.length
        # Along axes that the cell does not have, the box stays as long as it is.
        missing = ~edges.any(axis=1)
        edges[missing] = numpy.diag(sim.box.diagonal())[missing]
        if numpy.array_equal(edges, sim.box):
            sim.positions = positions
        else:
            sim.set_configuration(edges, positions)
        energy = units.energy * sim.potential_energy
        self.results = {
            "energy": energy,
            "free_energy": energy,
            "forces": units.force * sim.forces @ rotation,
        }
        if all(sim.periodic):
            volume = abs(numpy.linalg.det(sim.box)) * units.length**3
            stress = -units.energy * sim.virial / volume
            self.results["stress"] = full_3x3_to_voigt_6_stress(rotation.T @ stress @ rotation)

    def _check_kinds(self):
        """Refuses atoms of other elements or charges, whose forces the simulation does not have."""
        kinds = _kinds(self.atoms)
        if self._kinds is None:
            self._kinds = kinds
        for what, now, before in zip(("element", "initial charge"), kinds, self._kinds):
            changed = numpy.flatnonzero(now != before)
            if len(changed) > 0:
                k = changed[0]
                raise ValueError(
                    f"the {what} of atom {k} is {now[k]}, but {before[k]} in the simulation: make a new calculator for "
                    "these atoms, jostle.ase.Jostle(jostle.ase.from_ase(atoms, ...))"
                )


class AseForce:
    """A calculator of ASE as a force of a simulation.

        simulation.force(jostle.ase.AseForce(EMT(), atoms), box=True, conserves_momentum=True)

    Args:
        calculator: the calculator.
        atoms: atoms of ASE in the order of the simulation, for their elements and periodic axes.
        simulation: the simulation, for its units; None: the one that the force is added to.

    Raises:
        ValueError: if it is added to simulations of different units.
    """

    __name__ = "ase"

    def __init__(self, calculator, atoms, simulation=None):
        self._atoms = atoms.copy()
        self._atoms.calc = calculator
        self._units = None if simulation is None else _Units(simulation.units)

    def use_units(self, name):
        """Takes the units of a simulation that the force is added to; `Simulation.force` calls it.

        Args:
            name: name of the unit system.

        Raises:
            ValueError: if the force has other units already.
        """
        if self._units is None:
            self._units = _Units(name)
        if self._units.name != name:
            raise ValueError(
                f'the force is one of a simulation in units "{self._units.name}", and this one has "{name}": make '
                "another AseForce"
            )

    def __call__(self, positions, box):
        """Energy, forces and, where the calculator has stresses and all axes are periodic, the virial.

        Args:
            positions: array of shape (n_atoms, 3), in the units of the simulation; those of ASE without one.
            box: edges of the box, array of shape (3, 3), in the same units.

        Returns:
            tuple: an energy, an array of shape (n_atoms, 3), an array of shape (3, 3), in the same units.
        """
        atoms = self._atoms
        length, unit = (1.0, 1.0) if self._units is None else (self._units.length, self._units.energy)
        atoms.set_cell(box * length)
        atoms.set_positions(positions * length)
        energy = atoms.get_potential_energy() / unit
        forces = atoms.get_forces() * (length / unit)
        if "stress" not in atoms.calc.implemented_properties or not atoms.pbc.all():
            return energy, forces
        virial = -atoms.get_stress(voigt=False) * atoms.get_volume() / unit
        return energy, forces, virial


def from_ase(atoms, *, units="metal", device=None, threads=None, strict=False, **keys) -> Simulation:
    """A simulation of atoms of ASE, with their velocities, masses and initial charges.

        sim = jostle.ase.from_ase(bulk("Cu") * 10, metal={"kind": "sutton-chen"}, stage=[...])

    Charges act where `keys` have `electrostatics`. Atoms of the constraint `FixAtoms` are frozen: they are a group of
    the name "frozen". Other constraints are refused.

    Args:
        atoms: the atoms; species are their chemical symbols.
        units: unit system of `keys` and of the simulation.
        device, threads, strict: see `Simulation`.
        keys: the other keys of an input: `force`, `metal`, `stage`, ...

    Raises:
        InputError: if the atoms have another constraint than `FixAtoms`; and as for `Simulation`.
        FileError, DeviceError: as for `Simulation`.
    """
    frozen = _frozen(atoms)
    if frozen:
        keys["group"] = [*keys.get("group", []), {"name": "frozen", "atoms": frozen, "frozen": True}]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "atoms.xyz")
        _write(atoms, _Units(units), path)
        system = {"file": path, **keys.pop("system", {})}
        sim = Simulation(units=units, system=system, device=device, threads=threads, strict=strict, **keys)
    if sim.n_atoms == len(atoms):
        sim._kinds = _kinds(atoms)
    elif frozen:
        raise InputError("atoms are frozen by FixAtoms, and the system has others, too: copies have no constraints")
    return sim


def _box(atoms):
    """Edges of a box of Jostle with the same images, 0 where the cell has none of use, and the rotation that leads there.

    The first edge of Jostle is along x, the second in the plane of x and y, and the three are right-handed.
    """
    cell = _cell(atoms)
    edges = cell.complete().array
    if numpy.linalg.det(edges) < 0:
        # An edge in the other direction leads to the same images. Where none is periodic, there are none.
        edges[numpy.flatnonzero(atoms.pbc)[-1] if atoms.pbc.any() else 2] *= -1
    axes, upper = numpy.linalg.qr(edges.T)
    signs = numpy.sign(numpy.diag(upper))
    box = numpy.tril((signs[:, None] * upper).T)
    # Tilts along axes that the cell does not have, or that stand at right angles, are rounding.
    box[abs(box) < 1e-13 * abs(box).max()] = 0
    missing = ~cell.any(axis=1)
    box[missing] = 0
    box[:, missing] = 0
    return box, (axes * signs).T


def _cell(atoms):
    """The cell without edges along open axes that lean on others: they lead nowhere, and a box could not have them."""
    cell, lengths = atoms.cell.copy(), atoms.cell.lengths()
    leans = abs(cell @ cell.T) > 1e-10 * numpy.outer(lengths, lengths)
    numpy.fill_diagonal(leans, False)
    cell[~atoms.pbc & leans.any(axis=1)] = 0
    return cell


def _kinds(atoms):
    """Elements and charges of atoms: forces depend on them, and no simulation changes them."""
    return numpy.array(atoms.symbols), atoms.get_initial_charges()


def _frozen(atoms):
    """Atoms that constraints keep where they are, in words; None without any."""
    for constraint in atoms.constraints:
        if not isinstance(constraint, FixAtoms):
            raise InputError(
                f"the atoms have the constraint {type(constraint).__name__}, which Jostle does not take from ASE",
                "give a copy of the atoms without it; FixAtoms is taken, and keys have restraint, rigid and group",
            )
    held = numpy.zeros(len(atoms), bool)
    for constraint in atoms.constraints:
        held[constraint.index] = True
    # Ranges begin where `held` rises, and end before it falls.
    ends = numpy.flatnonzero(numpy.diff(held, prepend=False, append=False)).reshape(-1, 2) - [0, 1]
    return "index " + " ".join(f"{first} to {last}" for first, last in ends) if held.any() else None


def _write(atoms, units, path):
    """Writes atoms as extended XYZ in these units, all digits of them."""
    edges, rotation = _box(atoms)
    columns = [
        ("pos", atoms.positions @ rotation.T / units.length),
        ("mass", atoms.get_masses()[:, None] / units.mass),
    ]
    if atoms.has("initial_charges"):
        columns.append(("charge", atoms.get_initial_charges()[:, None]))
    if atoms.has("momenta"):
        columns.append(("velo", atoms.get_velocities() @ rotation.T / units.velocity))
    write_xyz(path, list(atoms.symbols), columns, edges / units.length, atoms.pbc)
