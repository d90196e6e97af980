"""Opens Jostle's trajectories with MDAnalysis, ASE, gsd, h5py and gemmi and compares every number.

    cargo run -p jostle-io --example trajectory_samples -- samples
    pip install MDAnalysis ase gsd gemmi h5py
    python tests/external/check_trajectories.py samples
"""

import json
import sys
import warnings
from pathlib import Path

import ase.io
import gemmi
import gsd.hoomd
import h5py
import MDAnalysis as mda
import numpy as np
from MDAnalysis.lib.mdamath import triclinic_box

warnings.filterwarnings("ignore")

# One unit of length in angstrom and of time in ps; reduced numbers are written as they are.
ANGSTROM = {"real": 1.0, "metal": 1.0, "nano": 10.0}
PICOSECONDS = {"real": 1e-3, "metal": 1.0, "nano": 1.0, "lj": 1.0}


def compare(what, got, expected, tolerance):
    worst = np.abs(np.asarray(got, float) - np.asarray(expected, float)).max()
    assert worst <= tolerance, f"{what}: off by {worst}, allowed {tolerance}"


def with_mdanalysis(path, sample):
    n = len(sample["frames"][0]["positions"])
    universe = mda.Universe.empty(n, trajectory=False)
    universe.load_new(str(path), format="LAMMPSDUMP" if path.suffix == ".lammpstrj" else None)
    assert len(universe.trajectory) == len(sample["frames"])
    # MDAnalysis gives angstrom; "as they are" means nm in an XTC file.
    length = ANGSTROM.get(sample["units"], 10.0 if sample["format"] in ("xtc", "trr") else 1.0)
    if sample["format"] == "lammpstrj":  # numbers as they are
        length = 1.0
    for ts, frame in zip(universe.trajectory, sample["frames"]):
        positions = length * np.array(frame["positions"])
        largest = np.abs(positions).max()
        # XTC keeps 0.001 nm; 0.01 nm where the atoms span micrometres.
        rounding = (0.0051 if largest < 20_000 else 0.051) if sample["format"] == "xtc" else 0.0
        compare("positions", ts.positions, positions, rounding + 2e-7 * largest)
        edges = length * np.array(frame["edges"])
        expected = triclinic_box(*edges)
        compare("box", ts.dimensions, expected, 1e-4 + 1e-6 * expected[:3].max())
        time = PICOSECONDS[sample["units"]] * frame["time"]
        if sample["format"] in ("xtc", "trr"):
            compare("time", ts.time, time, 1e-6 * time)
            assert ts.data["step"] == frame["step"]
    if sample["format"] == "dcd":
        step = PICOSECONDS[sample["units"]] * (sample["frames"][1]["time"] - sample["frames"][0]["time"])
        compare("frame spacing", universe.trajectory.dt, step, 1e-4 * step)


def with_gro(path, sample):
    """Frame by frame, as MDAnalysis reads one frame of a gro file."""
    length, time = ANGSTROM.get(sample["units"], 10.0), PICOSECONDS[sample["units"]]
    n = len(sample["frames"][0]["positions"])
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == (n + 3) * len(sample["frames"])
    for k, frame in enumerate(sample["frames"]):
        one = path.with_suffix(".frame.gro")
        one.write_text("".join(lines[(n + 3) * k : (n + 3) * (k + 1)]))
        universe = mda.Universe(str(one))
        assert list(universe.atoms.names[:2]) == ["Ar", "Kr"][:n] and set(universe.atoms.resnames) == {"UNK"}
        positions = length * np.array(frame["positions"])
        compare("positions", universe.atoms.positions, positions, 0.00501 + 2e-7 * np.abs(positions).max())
        velocities = length / time * np.array(frame["velocities"])
        compare("velocities", universe.atoms.velocities, velocities, 0.000501 + 2e-7 * np.abs(velocities).max())
        expected = triclinic_box(*(length * np.array(frame["edges"])))
        compare("box", universe.dimensions, expected, 1e-4 + 1e-6 * expected[:3].max())
        one.unlink()


def with_pdb(path, sample):
    """Names, residues and the box of each model by MDAnalysis, elements and positions by ASE."""
    length = ANGSTROM.get(sample["units"], 1.0)
    universe = mda.Universe(str(path))
    images = ase.io.read(path, index=":", format="proteindatabank")
    assert len(universe.trajectory) == len(images) == len(sample["frames"])
    n = len(sample["frames"][0]["positions"])
    assert list(universe.atoms.names[:2]) == ["Ar", "Kr"][:n] and set(universe.atoms.resnames) == {"UNK"}
    assert list(universe.atoms.elements[:2]) == ["Ar", "Kr"][:n]
    for ts, atoms, frame in zip(universe.trajectory, images, sample["frames"]):
        positions, edges = length * np.array(frame["positions"]), length * np.array(frame["edges"])
        compare("positions", ts.positions, positions, 0.000501 + 2e-7 * np.abs(positions).max())
        compare("positions by ASE", atoms.positions, positions, 0.000501)
        assert atoms.get_chemical_symbols()[:2] == ["Ar", "Kr"][:n]
        expected = triclinic_box(*edges)
        compare("lengths", ts.dimensions[:3], expected[:3], 0.000501 + 1e-6 * expected[:3].max())
        compare("angles", ts.dimensions[3:], expected[3:], 0.00501)


def with_cif(path, sample):
    """Names, elements, positions and the box of each block by gemmi."""
    length = ANGSTROM.get(sample["units"], 1.0)
    blocks = gemmi.cif.read(str(path))
    assert len(blocks) == len(sample["frames"])
    for block, frame in zip(blocks, sample["frames"]):
        structure = gemmi.make_structure_from_block(block)
        atoms = [found.atom for found in structure[0].all()]
        assert [(a.name, a.element.name) for a in atoms[:2]] == [("Ar", "Ar"), ("Kr", "Kr")][: len(atoms)]
        positions, edges = length * np.array(frame["positions"]), length * np.array(frame["edges"])
        compare("positions", [a.pos.tolist() for a in atoms], positions, 5.01e-6)
        cell = structure.cell
        got = [cell.a, cell.b, cell.c, cell.alpha, cell.beta, cell.gamma]
        expected = triclinic_box(*edges)
        compare("box", got, expected, 1e-5 + 1e-6 * expected[:3].max())
        assert int(block.find_value("_jostle.step")) == frame["step"]


def with_ase(path, sample):
    frames = ase.io.read(path, index=":", format="extxyz")
    assert len(frames) == len(sample["frames"])
    for atoms, frame in zip(frames, sample["frames"]):
        compare("positions", atoms.positions, frame["positions"], 0.0)
        compare("velocities", atoms.arrays["velo"], frame["velocities"], 0.0)
        compare("box", atoms.cell[:], frame["edges"], 0.0)
        assert atoms.pbc.all() and atoms.info["Time"] == frame["time"] and atoms.info["Step"] == frame["step"]
        assert atoms.get_chemical_symbols()[0] == "Ar"


folder = Path(sys.argv[1])
samples = json.loads((folder / "samples.json").read_text())
def with_gsd(path, sample):
    with gsd.hoomd.open(str(path)) as trajectory:
        assert len(trajectory) == len(sample["frames"])
        for got, frame in zip(trajectory, sample["frames"]):
            assert got.configuration.step == frame["step"]
            assert list(got.log["time"]) == [frame["time"]]
            assert got.particles.types == ["Ar", "Kr"]
            assert list(got.particles.typeid) == [k % 2 for k in range(len(frame["positions"]))]
            compare("masses", got.particles.mass, sample["masses"], 1e-5)
            compare("charges", got.particles.charge, sample["charges"], 1e-5)
            edges = np.array(frame["edges"])
            (lx, ly, lz), (xy, xz, yz) = edges.diagonal(), (edges[1, 0], edges[2, 0], edges[2, 1])
            compare("box", got.configuration.box, [lx, ly, lz, xy / ly, xz / lz, yz / lz], 1e-7 * edges.max())
            positions = np.array(frame["positions"]) - edges.sum(axis=0) / 2
            compare("positions", got.particles.position, positions, 1e-7 * np.abs(positions).max())
            compare("velocities", got.particles.velocity, frame["velocities"], 1e-7)


def with_h5py(path, sample):
    """All numbers by h5py; positions, box and times by MDAnalysis; a copy by HDF5 is the same."""
    n = len(sample["frames"][0]["positions"])
    with h5py.File(path) as file, h5py.File("copy", "w", driver="core", backing_store=False) as copy:
        file.copy("particles", copy)
        for group in (file["particles/trajectory"], copy["particles/trajectory"]):
            assert h5py.check_enum_dtype(group["species"].dtype) == {"Ar": 0, "Kr": 1}
            assert list(group["species"]) == [k % 2 for k in range(n)]
            assert list(group["box"].attrs["boundary"]) == ["periodic"] * 3
            for name, key, tolerance in [("position", "positions", 1e-7), ("velocity", "velocities", 1e-7), ("box/edges", "edges", 0.0)]:
                expected = np.array([frame[key] for frame in sample["frames"]])
                compare(name, group[name]["value"], expected, tolerance * np.abs(expected).max())
                compare("time", group[name]["time"], [frame["time"] for frame in sample["frames"]], 0.0)
                assert list(group[name]["step"]) == [frame["step"] for frame in sample["frames"]]
    reduced = sample["units"] == "lj"
    universe = mda.Universe.empty(n, trajectory=False)
    universe.load_new(str(path), convert_units=not reduced)
    assert len(universe.trajectory) == len(sample["frames"])
    length, time = ANGSTROM.get(sample["units"], 1.0), PICOSECONDS[sample["units"]]
    for ts, frame in zip(universe.trajectory, sample["frames"]):
        positions, velocities = length * np.array(frame["positions"]), length / time * np.array(frame["velocities"])
        compare("positions", ts.positions, positions, 2e-7 * np.abs(positions).max())
        compare("velocities", ts.velocities, velocities, 2e-7 * np.abs(velocities).max())
        expected = triclinic_box(*(length * np.array(frame["edges"])))
        compare("box", ts.dimensions, expected, 1e-4 + 1e-6 * expected[:3].max())
        compare("time", ts.time, time * frame["time"], 1e-6 * time * frame["time"])
        assert ts.data["step"] == frame["step"]


failures = 0
for sample in samples:
    check = {"xyz": with_ase, "gsd": with_gsd, "pdb": with_pdb, "cif": with_cif, "h5md": with_h5py, "gro": with_gro}.get(sample["format"], with_mdanalysis)
    try:
        check(folder / sample["file"], sample)
        print("ok    ", sample["file"])
    except Exception as error:  # every file is reported
        failures += 1
        print("FAILED", sample["file"], error)
sys.exit(1 if failures else 0)
