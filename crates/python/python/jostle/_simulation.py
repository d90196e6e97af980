"""Simulations."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from . import _progress
from ._device import OnDevice, lent
from ._interrupts import held_in_forces
from ._jostle import Core, input_text
from ._state import SimulationState
from ._view import View, view

if TYPE_CHECKING:
    Progress = bool | Callable[[str, int, int], object] | None

__all__ = ["Simulation"]


def _ids(atoms: Iterable[int]) -> list[int]:
    """Ids of atoms, each once."""
    import operator

    given = list(atoms)
    if any(isinstance(atom, bool) or getattr(atom, "dtype", None) == bool for atom in given):
        raise TypeError("atoms are ids, and not true or false: numpy.flatnonzero(mask) has those of a mask")
    ids = [operator.index(atom) for atom in given]
    for atom in ids:
        if atom < 0:
            raise ValueError(f"there is no atom {atom}; ids count from 0")
    if len(set(ids)) < len(ids):
        twice = next(atom for atom in ids if ids.count(atom) > 1)
        raise ValueError(f"atom {twice} is there twice")
    return ids


class Simulation(SimulationState):
    """A simulation: atoms, forces, a device, and stages that run one after another.

    From keyword arguments with the names of an input file: `system`, `species`, `electrostatics`, ... are
    dictionaries, `force`, `stage`, ... lists of dictionaries. They go through the reader of input files, and are
    refused with the same words.

        sim = jostle.Simulation(
            units="lj",
            system={"lattice": "fcc", "atoms": 864, "density": 0.8, "temperature": 1.0},
            species={"A": {"mass": 1.0}},
            force=[{"kind": "lennard-jones", "cutoff": 2.5, "pairs": {"A-A": {"epsilon": 1.0, "sigma": 1.0}}}],
            stage=[{"steps": 1000, "timestep": 0.005}],
        )

    Args:
        device: "cpu", "cuda" or "cuda:1"; None: as the input says.
        threads: number of CPU threads; None: as the input says, else all cores.
        strict: warnings are errors.
        keys: the keys of an input file, see `jostle schema`; numbers in the units that `units` names, or text with a
            unit ("1.374 g/cm3").

    Raises:
        InputError: if the input asks for something impossible; it names the line and the remedy.
        FileError: if a file cannot be read.
        DeviceError: if the device is missing or fails.
    """

    def __init__(
        self, *, device: str | None = None, threads: int | None = None, strict: bool = False, **keys: Any
    ):
        self._adopt(Core.parse(input_text(keys), device, threads, None, strict))

    @classmethod
    def _of(cls, core):
        made = cls.__new__(cls)
        made._adopt(core)
        return made

    def _adopt(self, core):
        self._core = core
        # When the simulation goes, or Python ends, the folder is left with a checkpoint.
        weakref.finalize(self, core.leave_folder_at_end)
        # Functions with what the engine was told about them, in the order in which they were added.
        self._observers = []
        self._forces = []
        # Held while a function is added, so that its number in the engine is that in the list.
        self._adding = threading.Lock()
        # Held while a call runs the simulation, by the thread `_runner`.
        self._turn = threading.Lock()
        self._runner = None

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        device: str | None = None,
        threads: int | None = None,
        steps: int | None = None,
        strict: bool = False,
    ) -> Simulation:
        """The simulation of an input file.

        Args:
            path: the file.
            device, threads, strict: see `Simulation`.
            steps: no stage takes more steps; None: as the file says.

        Raises:
            InputError, FileError, DeviceError: as for `Simulation`.
        """
        return cls._of(Core.read(os.fspath(path), device, threads, steps, strict))

    @classmethod
    def from_string(
        cls,
        text: str,
        *,
        device: str | None = None,
        threads: int | None = None,
        steps: int | None = None,
        strict: bool = False,
    ) -> Simulation:
        """The simulation of the text of an input file; relative paths start in the working folder.

        Args:
            text: the text, TOML.
            device, threads, strict: see `Simulation`.
            steps: no stage takes more steps; None: as the text says.

        Raises:
            InputError, FileError, DeviceError: as for `Simulation`.
        """
        return cls._of(Core.parse(text, device, threads, steps, strict))

    @classmethod
    def resume(
        cls,
        folder: str | os.PathLike[str],
        *,
        device: str | None = None,
        threads: int | None = None,
        strict: bool = False,
    ) -> Simulation:
        """The run of a folder, from its last checkpoint; it goes on writing to that folder.

        Args:
            folder: the folder, of `write_to` or of the program.
            device, threads, strict: see `Simulation`.

        Raises:
            FileError: if there is no checkpoint, or it is damaged.
            InputError: if another process writes to the folder, or a file of the input has changed.
            DeviceError: if the device is missing or fails.
        """
        return cls._of(Core.resume(os.fspath(folder), device, threads, strict))

    # Running

    def run(self, steps: int | None = None, *, progress: Progress = None, **stage: Any) -> None:
        """Runs all stages that are left, or so many steps.

        `run(1000)` makes 1000 more steps of the stage under way, and of those that follow it; a minimisation on the
        way runs to its end. The last stage is open: it is lengthened as far as calls ask for, so that ten calls of
        `run(100)` are one of `run(1000)`, bit for bit in a run that is reproducible (`run={"reproducible": True}`); where a
        temperature or a stiffness changes in the course of it, more steps than are left are refused. With
        further keys of a stage, such as `run(1000, timestep=2, thermostat={...})`, a new stage is made and run to its
        end; the one under way ends for it. Where all stages have ended, after such a call or `run()`, `run(100)` opens a
        further stage like the last one, with averages of its own, whose start takes away motion that all atoms have in
        common: `run(100, timestep=2)` and `run(900)` do not have the bits of `run(1000, timestep=2)`.

        Args:
            steps: number of steps; None: to the end of all stages.
            progress: True or False for a bar, or a function of (stage, steps, done) that is called a few times a
                second; None: a bar in terminals and notebooks.
            stage: keys of a new stage; numbers in the units of the input, or text with a unit ("2 fs").

        Raises:
            InputError: if a key of the stage is wrong, or fewer steps are left of a stage in whose course something
                changes; it names the remedy.
            SimulationError: if a force or a position is not finite any more, or an error had ended an earlier call in
                the middle of a step.
            KeyboardInterrupt: on Ctrl-C, which waits for a force of Python and the end of the step; `run` goes on from
                there. A second one, a second later, is an exception of the force.
            RuntimeError: if an observer, or another thread, calls it while the simulation runs.
            Exception: whatever a force or an observer raises. After that of a force the atoms are in the middle of a
                step (on a GPU, perhaps of a later step than `step` + 1): they can be looked at, but `run`, `minimize`
                and `save` refuse to go on, and `restore` goes back to the last `save`. After that of an observer,
                which comes between steps, `run` goes on.
        """
        if stage:
            if steps is None:
                raise TypeError("a new stage needs a number of steps")
            self._run_stage("run", {"steps": steps, **stage}, progress)
            return
        if steps is not None:
            steps = _count(steps)
        with self._alone():
            if steps is None:
                self._advance("all", 0, progress)
                return
            if steps and self.finished:
                self._core.continue_stage(steps)
            self._advance("steps", steps, progress)

    def minimize(self, *, progress: Progress = None, **settings: Any) -> None:
        """Minimises the energy now; the stage under way ends for it.

        Args:
            progress: see `run`.
            settings: keys of `minimize` in an input: `force_tolerance`, `steps`, `minimizer`, ...; numbers in the units
                of the input, or text with a unit.

        Raises:
            InputError: if a setting is wrong.
            SimulationError: as for `run`.
        """
        self._run_stage("minimize", {"minimize": settings}, progress)

    def _run_stage(self, kind, stage, progress):
        with self._alone():
            if "name" not in stage:
                names, number = self.stages, 1
                while f"{kind}-{number}" in names:
                    number += 1
                stage = {"name": f"{kind}-{number}", **stage}
            self._advance("through", self._core.insert_stage(stage), progress)

    @contextmanager
    def _alone(self):
        """A block in which this call runs the simulation, and no other."""
        if not self._turn.acquire(blocking=False):
            self._core.check_process()
            inside = self._runner == threading.get_ident()
            who = "an observer cannot run it" if inside else "another thread runs it"
            raise RuntimeError(f"the simulation is running: {who}")
        self._runner = threading.get_ident()
        try:
            yield
        finally:
            self._runner = None
            self._turn.release()

    def _advance(self, extent, amount, progress):
        bar = _progress.wanted(progress)
        try:
            with held_in_forces(self._core) if self._forces else nullcontext():
                self._advance_to_the_end(extent, amount, bar)
        finally:
            if isinstance(bar, _progress.Bar):
                bar.end()

    def _advance_to_the_end(self, extent, amount, bar):
        while True:
            outcome, amount_left, due = self._core.advance(extent, amount, bar)
            if extent == "steps":
                amount = amount_left
            for number in due:
                self._observers[number][0](self)
            if outcome != "paused":
                return

    def observe(
        self, every: int, *, energies: bool = True
    ) -> Callable[[Callable[[Simulation], object]], Callable[[Simulation], object]]:
        """Decorator: calls a function of the simulation at the start and every so many steps of each stage.

            @sim.observe(every=100)
            def watch(sim):
                print(sim.step, sim.temperature)

        It may look at the simulation and change positions and velocities. An exception ends the run and comes out
        of `run`.

        Args:
            every: interval in steps.
            energies: evaluate energies and pressure together with the step; without, steps are as fast as others.

        Raises:
            ValueError: if `every` is no interval.
            TypeError: if it is no whole number, or what is decorated is no function.
        """
        every = _count(every)
        if every == 0:
            raise ValueError("every = 0, but an observer needs an interval")

        def add(function):
            if not callable(function):
                raise TypeError("an observer is a function of the simulation")
            told = every, bool(energies)
            with self._adding:
                self._observers.append((function, told))
                try:
                    self._core.add_observer(*told)
                except BaseException:
                    self._observers.pop()
                    raise
            return function

        return add

    def force(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        atoms: Iterable[int] | None = None,
        box: bool = False,
        conserves_momentum: bool = False,
        on_device: bool = False,
    ) -> Callable[..., Any]:
        """Decorator: adds a force that a function computes.

            @sim.force
            def trap(positions):
                return 0.5 * (positions**2).sum(), -positions

        The function gets unwrapped positions, an array of shape (n, 3), and returns the energy, the forces, an array
        of the same shape, and, if it likes, the virial, an array of shape (3, 3): the sum of r f over pairs, for
        pressures (Allen and Tildesley 2017, chapter 2.4). All are in the units of the input. Forces of `None` are none:
        they cost least. The function may keep the positions and change them, which moves no atom. It must depend on
        nothing but the positions and the box. Where it has a method `use_units`, as `jostle.ase.AseForce` has, that is
        called with the name of the unit system. Forces are added before the first step, and again to a run that is
        resumed.

        Args:
            name: name of the energy in `thermo`; None: that of the function.
            atoms: ids of the atoms, from 0; None: all.
            box: the function gets the edges of the box, too, an array of shape (3, 3).
            conserves_momentum: the forces of all atoms add up to zero.
            on_device: on a GPU, positions are a `DeviceArray` in its memory, for `torch.from_dlpack` and the like, valid
                during the call, and forces an array there (PyTorch, CuPy, JAX), of single or double precision; nothing
                goes to the host, and the streams of both order the work. Energy and virial may be arrays of one
                number, which are read only where they are needed. The function is called a little more often than
                steps are made. On CPUs, and where several GPUs share a run, it gets NumPy arrays as ever.

        Raises:
            TypeError: if what is decorated is no function.
            ValueError: if there is no atom of an id, or one is there twice.
            InputError: if the name is that of another quantity, or the first step has been made.
        """

        def add(function):
            if not callable(function):
                raise TypeError("a force is a function of positions")
            # Forces of other packages have units of their own.
            if hasattr(function, "use_units"):
                function.use_units(self.units)
            called = name if name is not None else getattr(function, "__name__", "python").strip("<>")
            ids = None if atoms is None else _ids(atoms)
            options = {
                "with_box": bool(box),
                "conserves_momentum": bool(conserves_momentum),
                "on_device": bool(on_device),
            }
            # The engine has no hold on the function, which may have one on the simulation.
            owner = weakref.ref(self)
            with self._adding:
                number = len(self._forces)
                told = called, lambda *arguments: owner()._forces[number][0](*arguments), ids, options
                self._core.add_force(*told)
                self._forces.append((function, told))
            return function

        return add if function is None else add(function)

    def on_device(self, *, write: bool = False) -> AbstractContextManager[OnDevice]:
        """Lends the arrays of the atoms in the memory of the GPU, without a copy.

            with sim.on_device() as d:
                positions = torch.from_dlpack(d.positions)
                ids = torch.from_dlpack(d.ids)

        Atoms are in the order of the device, which changes as they move: `ids` has the id of each. Inside the block the
        simulation cannot run or change; what is made of the arrays is valid there only.

        Args:
            write: velocities may be written, and positions where there are no constraints and virtual sites; forces
                are computed anew at the end of the block. Without, arrays say that they must not be written, which
                some libraries do not heed.

        Raises:
            InputError: if the simulation is not on one GPU.
        """
        return lent(self._core, bool(write))

    # Files

    def write_to(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes thermo.csv, trajectories, checkpoints, summary.json and a log to a folder from now on.

        A folder that it has written to so far is left with a checkpoint, as by `close`.

        Args:
            folder: the folder; it is made.
            overwrite: replace the run that is there.

        Raises:
            FileError: if the folder has a run already, or cannot be written.
        """
        folder = os.fspath(folder)
        if not folder:
            raise ValueError('the name of the folder is empty; the working folder is "."')
        self._core.write_to(folder, overwrite)

    def save(self) -> None:
        """Writes a checkpoint to the folder, from which `Simulation.resume` and `jostle resume` go on, and `restore`.

        Raises:
            InputError: if there is no folder.
            FileError: if it cannot be written.
            SimulationError: if an error had ended a run in the middle of a step.
        """
        self._core.save()

    def restore(self) -> None:
        """Goes back to where `save` was called last.

        Atoms, stages, rows of `thermo` and files are those of then, and forces and observers of Python are added again:
        a run that has failed or gone astray can be tried again in another way.

        Raises:
            InputError: if nothing was saved, or the simulation does not write to that folder any more.
            FileError: if a file cannot be read or written; nothing is written to the folder any more then.
            DeviceError: if the device fails, likewise.
            RuntimeError: if an observer, or another thread, calls it while the simulation runs.
        """
        with self._alone(), self._adding:
            self._core.restore()
            for _, told in self._forces:
                self._core.add_force(*told)
            for _, told in self._observers:
                self._core.add_observer(*told)

    def close(self) -> None:
        """Writes a checkpoint to the folder, if there is one, and lets go of it, so that it can be resumed.

        `with jostle.Simulation(...) as sim:` does so at the end, and so do the end of Python and that of the last
        reference to the simulation, but not that of a process that is killed. Where an error has ended a run in the middle of
        a step, or a resumed run lacks forces that it had, no checkpoint is written: the last one remains.

        Raises:
            FileError: if the checkpoint cannot be written.
        """
        self._core.leave_folder()

    @property
    def folder(self) -> str | os.PathLike[str] | None:
        """Folder that results are written to; None if there is none."""
        return self._core.folder()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def view(self, *, width: str = "100%", height: int = 600) -> View:
        """Shows the simulation in a cell of a notebook, by the viewer of the program (`jostle view`).

        Where it writes a trajectory to a folder, that is shown, and goes on while the run does; else the atoms as they
        are now. The page is served on this machine only, to those who have its address.

        Args:
            width, height: size of the frame in the notebook, as HTML has it.

        Raises:
            DeviceError, FileError: if no port is free, or there is no place for the atoms.
        """
        return view(self, width, height)

    def __reduce__(self):
        raise TypeError(
            "a Simulation can be neither copied nor pickled: make another one from `sim.input`, or let it write to a "
            "folder and use `Simulation.resume`"
        )

    def __repr__(self):
        title = f"{self.title!r}: " if self.title else ""
        return f"<Simulation {title}{self.n_atoms} atoms on {self.device}, step {self.step}>"


def _count(number):
    """A number of steps, from 0."""
    import operator

    number = operator.index(number)
    if not 0 <= number < 2**63:
        raise ValueError(f"{number} steps make no sense")
    return number
