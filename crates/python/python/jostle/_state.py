"""Atoms, box, energies and results of a simulation."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ._tables import Record, Table

if TYPE_CHECKING:
    from numpy import float64, str_, uint32
    from numpy.typing import ArrayLike, NDArray

    from ._jostle import Core

_ENERGIES = ("kinetic", "potential", "total")


class SimulationState:
    """Atoms, box, energies and results of a simulation between two calls: the part of `Simulation` that runs nothing."""

    _core: Core

    def __setattr__(self, name: str, value: object) -> None:
        """Refuses names that a simulation does not have: a misspelt one would change nothing. Subclasses have their own."""
        kind = type(self)
        if not (name.startswith("_") or hasattr(kind, name)) and kind.__module__.startswith("jostle."):
            known = [known for known in dir(kind) if not known.startswith("_")]
            near = get_close_matches(name, known, 1)
            meant = f"; did you mean '{near[0]}'?" if near else ""
            raise AttributeError(f"a simulation has no attribute '{name}'{meant}")
        super().__setattr__(name, value)

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return self._core.n_atoms()

    def __len__(self) -> int:
        return self.n_atoms

    @property
    def step(self) -> int:
        """Steps made so far, over all stages."""
        return self._core.clock()[0]

    @property
    def time(self) -> float:
        """Simulated time so far, over all stages, in the units of the input."""
        return self._core.clock()[1]

    @property
    def stages(self) -> list[str]:
        """Names of all stages, finished and to come."""
        return self._core.stages()

    @property
    def stage(self) -> str | None:
        """Name of the stage under way or next; None if all are finished."""
        stages = self._core.stages()
        index = self._core.stage()[0]
        return stages[index] if index < len(stages) else None

    @property
    def finished(self) -> bool:
        """True if all stages are finished."""
        return self.stage is None

    @property
    def title(self) -> str:
        """Title of the input."""
        return self._core.describe()[0]

    @property
    def units(self) -> str:
        """Unit system: "lj", "real", "metal", ..."""
        return self._core.describe()[1]

    @property
    def device(self) -> str:
        """Description of the device."""
        return self._core.describe()[2]

    @property
    def input(self) -> str:
        """Text of the input."""
        return self._core.input()

    @property
    def positions(self) -> NDArray[float64]:
        """Positions in the box: array of shape (n_atoms, 3), a copy, lengths in the units of the input.

        Assign another to move the atoms: of the images of each position the one nearest to where the atom was goes on with
        its unbroken path (`unwrapped_positions`). It is refused with a ValueError (InputError) where there are
        constraints, virtual sites or rigid bodies, or a number is not finite or very far away.
        """
        return self._core.positions()

    @positions.setter
    def positions(self, positions: ArrayLike) -> None:
        self._core.set_positions(positions)

    @property
    def unwrapped_positions(self) -> NDArray[float64]:
        """Positions of atoms that were never wrapped into the box: array of shape (n_atoms, 3), in the units of the input."""
        return self._core.unwrapped_positions()

    @property
    def velocities(self) -> NDArray[float64]:
        """Velocities: array of shape (n_atoms, 3), a copy, lengths per time in the units of the input.

        Assign another to change them; components along constraints are removed, and frozen and driven atoms keep theirs.
        Numbers that are not finite, or have no finite kinetic energy, are refused with a ValueError (InputError).
        """
        return self._core.velocities()

    @velocities.setter
    def velocities(self, velocities: ArrayLike) -> None:
        self._core.set_velocities(velocities)

    @property
    def forces(self) -> NDArray[float64]:
        """Forces at the present positions: array of shape (n_atoms, 3), energies per length in the units of the input.

        They are evaluated where they are not known: SimulationError if one is not finite.
        """
        return self._core.forces()

    @property
    def box(self) -> NDArray[float64]:
        """Edges of the box: array of shape (3, 3), a row an edge, lengths in the units of the input.

        See `periodic` and `origin`.
        """
        import numpy

        _, (a, b, c), (xy, xz, yz), _ = self._core.simbox()
        return numpy.array([[a, 0.0, 0.0], [xy, b, 0.0], [xz, yz, c]])

    @property
    def origin(self) -> NDArray[float64]:
        """Corner of the box: array of shape (3,), lengths in the units of the input."""
        import numpy

        return numpy.array(self._core.simbox()[0])

    @property
    def periodic(self) -> tuple[bool, bool, bool]:
        """Axes along which the box is periodic: three booleans."""
        return tuple(self._core.simbox()[3])

    def set_configuration(self, box: ArrayLike, positions: ArrayLike) -> None:
        """Another box, of these edges, with atoms at these positions.

        Args:
            box: array of shape (3, 3): the first edge along x, the second in the plane of x and y; lengths in the units
                of the input.
            positions: array of shape (n_atoms, 3), in the same units.

        Raises:
            ValueError: if a shape is another one, or the box is none.
            InputError: if a cut-off is more than half the smallest width of the box, a number is not finite, or there
                are constraints, virtual sites or rigid bodies.
        """
        import numpy

        edges = numpy.asarray(box, dtype=float)
        if edges.shape != (3, 3):
            raise ValueError(f"box has the shape {edges.shape}, but it must be (3, 3)")
        if edges[0, 1] or edges[0, 2] or edges[1, 2]:
            raise ValueError("the first edge of the box must be along x, the second in the plane of x and y")
        tilts = [float(edges[1, 0]), float(edges[2, 0]), float(edges[2, 1])]
        self._core.set_configuration(edges.diagonal().tolist(), tilts, positions)

    @property
    def species(self) -> NDArray[str_]:
        """Name of the species of each atom: array of strings of shape (n_atoms,)."""
        import numpy

        names, _, index = self._core.species()
        return numpy.array(names)[index]

    @property
    def masses(self) -> NDArray[float64]:
        """Mass of each atom: array of shape (n_atoms,), in the units of the input."""
        import numpy

        _, masses, index = self._core.species()
        return numpy.array(masses)[index]

    @property
    def charges(self) -> NDArray[float64]:
        """Charge of each atom: array of shape (n_atoms,), in the units of the input."""
        return self._core.charges()

    @property
    def names(self) -> list[str]:
        """Names of the atoms as files give them, else those of their species."""
        return [name for name, *_ in self._core.names()] or list(self.species)

    @property
    def residues(self) -> list[tuple[str, int, str]]:
        """Residue of each atom: tuples (name, number, chain); empty where files give none."""
        return [tuple(residue) for _, _, *residue in self._core.names()]

    @property
    def topology(self) -> dict[str, NDArray[uint32]]:
        """Indices of bonded atoms: arrays "bonds" (n, 2), "angles" (n, 3), "dihedrals" (n, 4), "constraints" (n, 2)."""
        return self._core.topology()

    @property
    def quantities(self) -> dict[str, float]:
        """Temperature, energies, pressure, ... of the present configuration, by the names of thermo.csv.

        They are in the units of the input; `thermo.units` has the unit of each. Quantities without a meaning, such as the pressure in an open box, are left out.
        """
        return {name: value for name, _, value in self._core.evaluate()[0] if value is not None}

    @property
    def energies(self) -> dict[str, float]:
        """Energies of the present configuration: kinetic, potential, total, and one for each force; in the units of the input.

        Biases and restraints act as in the stage under way or next (`stage`).
        """
        values = list(self._core.evaluate()[0])
        terms = [(name, value) for name, _, value in values if name in _ENERGIES]
        after = next((k for k, (name, *_) in enumerate(values) if name == "momentum_z"), len(values)) + 1
        terms += [(name, value) for name, _, value in values[after:] if value is not None]
        return dict(terms)

    @property
    def temperature(self) -> float:
        """Temperature of the present velocities, twice the kinetic energy per degree of freedom, in the units of the input."""
        return self.quantities["temperature"]

    @property
    def potential_energy(self) -> float:
        """Potential energy of the present configuration, in the units of the input."""
        return self.quantities["potential"]

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy of the present velocities, in the units of the input."""
        return self.quantities["kinetic"]

    @property
    def virial(self) -> NDArray[float64]:
        """Virial tensor of the present configuration: array of shape (3, 3), energies in the units of the input.

        The sum of r f over pairs: the pressure is (2 kinetic + trace) / (3 volume).
        """
        import numpy

        xx, yy, zz, xy, xz, yz = self._core.evaluate()[1]
        return numpy.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    # Results

    @property
    def thermo(self) -> Table:
        """Quantities at steps of `thermo` since the simulation was made: "stage", "step", "time", "temperature", ...

        They are the rows of thermo.csv, as a `Table`; where `sample_every` makes those means of samples, each sample has
        a row here. Each column is an array of shape (rows,); `thermo.units` has its unit.
        """
        columns = self._core.thermo()
        values, units = ({name: value[k] for name, *value in columns} for k in (1, 0))
        return Table(values, units, "thermo", "time")

    @property
    def results(self) -> dict[str, Record]:
        """Results of the analyses that stages make (`measure`): `Record` by name, such as "sample.rdf", with units."""
        return {name: Record(record) for name, record in json.loads(self._core.results())}

    @property
    def reports(self) -> list[dict[str, Any]]:
        """Reports of the stages that are finished, as dictionaries: averages with errors, drift, speed, warnings.

        The "estimate" of an average is None where there are fewer than two rows.
        Numbers are in the units of the input; `summary.json` has the same with the unit of each.
        """
        return json.loads(self._core.reports())
