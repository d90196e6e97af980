"""Writes trajectories with MDAnalysis, ASE, gsd, pyh5md and h5py, lets `jostle convert` read them, and compares
every number; then opens what `jostle convert` writes.

    cargo build -p jostle
    pip install MDAnalysis ase gsd h5py pyh5md
    python tests/external/check_reading.py target/debug/jostle
"""

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import ase
import ase.io
import gsd.hoomd
import h5py
import MDAnalysis as mda
import numpy as np
import pyh5md
from MDAnalysis.lib.mdamath import triclinic_box, triclinic_vectors

warnings.filterwarnings("ignore")
jostle = Path(sys.argv[1]).resolve()
rng = np.random.default_rng(1)
N, FRAMES = 250, 4
# Angstrom, lower triangular; ps.
EDGES = [np.array([[20 + k, 0, 0], [2.0, 22, 0], [-3.0, 1.0, 18 + k]]) for k in range(FRAMES)]
POSITIONS = [rng.uniform(0, 18, (N, 3)).astype(np.float32) for _ in range(FRAMES)]
VELOCITIES = [rng.normal(0, 3, (N, 3)).astype(np.float32) for _ in range(FRAMES)]
TIMES = [2.0 * k for k in range(FRAMES)]
failures = 0


def convert(*arguments):
    subprocess.run([jostle, "convert", *map(str, arguments), "--overwrite"], check=True, capture_output=True)


def close(what, got, expected, tolerance):
    worst = np.abs(np.asarray(got, float) - np.asarray(expected, float)).max()
    assert worst <= tolerance, f"{what}: off by {worst}, allowed {tolerance}"


def universe():
    u = mda.Universe.empty(N, trajectory=True, velocities=True)
    u.add_TopologyAttr("type", ["1"] * N)
    u.add_TopologyAttr("mass", [1.0] * N)
    return u


def by_mdanalysis(path):
    u = universe()
    options = {
        ".dcd": {"dt": 2.0},
        ".h5md": {"lengthunit": "nm", "timeunit": "fs", "velocityunit": "nm/ps", "positions": True, "velocities": True},
    }.get(path.suffix, {})
    with mda.Writer(str(path), N, **options) as writer:
        for k in range(FRAMES):
            ts = u.trajectory.ts
            ts.positions, ts.velocities = POSITIONS[k], VELOCITIES[k]
            ts.dimensions = triclinic_box(*EDGES[k])
            ts.time, ts.frame, ts.data["step"] = TIMES[k], k, k
            writer.write(u.atoms)


def by_ase(path):
    images = []
    for k in range(FRAMES):
        atoms = ase.Atoms("Ar" * N, positions=POSITIONS[k], cell=EDGES[k], pbc=True, info={"Time": TIMES[k]})
        atoms.arrays["velo"] = VELOCITIES[k].astype(float)
        images.append(atoms)
    ase.io.write(path, images, format="extxyz")


def by_gsd(path):
    with gsd.hoomd.open(str(path), "w") as file:
        for k in range(FRAMES):
            (lx, _, _), (xy, ly, _), (xz, yz, lz) = EDGES[k]
            frame = gsd.hoomd.Frame()
            frame.configuration.step = 1000 * k
            frame.configuration.box = [lx, ly, lz, xy / ly, xz / lz, yz / lz]
            frame.particles.N = N
            frame.particles.types = ["Ar"]
            frame.particles.typeid = [0] * N
            frame.particles.position = POSITIONS[k]
            frame.particles.velocity = VELOCITIES[k]
            file.append(frame)


def by_pyh5md(path):
    """Velocities at every other step only; no species, no units."""
    with pyh5md.File(str(path), "w", author="A", creator="B", creator_version="1") as file:
        group = file.particles_group("atoms")
        group.create_box(dimension=3, boundary=["periodic"] * 3, store="time", data=EDGES[0])
        position = pyh5md.element(group, "position", store="time", data=POSITIONS[0], time=True)
        velocity = pyh5md.element(group, "velocity", store="time", data=VELOCITIES[0], time=True)
        for k in range(FRAMES):
            position.append(POSITIONS[k], 10 * k, TIMES[k])
            group.box.edges.append(EDGES[k], 10 * k, TIMES[k])
            if k % 2 == 0:
                velocity.append(VELOCITIES[k], 10 * k, TIMES[k])


def by_h5py(path):
    """Packed in chunks across frames and atoms; ids in another order from frame to frame; one cuboid
    box for all; steps and times at equal distances."""
    orders = [rng.permutation(N) for _ in range(FRAMES)]
    with h5py.File(path, "w") as file:
        group = file.create_group("particles/all")
        positions, velocities = [100.0 * r for r in POSITIONS], [0.1 * v for v in VELOCITIES]
        for name, data in [("position", positions), ("velocity", velocities), ("id", [np.arange(N)] * FRAMES)]:
            rows = np.array([frame[order] for frame, order in zip(data, orders)])
            chunks = (3, 100, 2)[: rows.ndim]
            packed = group.create_group(name).create_dataset(
                "value", data=rows, chunks=chunks, maxshape=(None, *rows.shape[1:]), compression="gzip", shuffle=True)
            if name != "id":
                packed.attrs["unit"] = {"position": "pm", "velocity": "pm fs-1"}[name]
            group[name]["step"] = 5
            group[name]["time"] = 2000.0
            group[name]["time"].attrs["unit"] = "fs"
        kinds = h5py.enum_dtype({"Ar": 3, "Kr": 7}, basetype="u1")
        group.create_dataset("species", data=np.full(N, 3), dtype=kinds)
        group.create_group("box").attrs["boundary"] = np.array([b"periodic"] * 3)
        group["box"].create_dataset("edges", data=EDGES[0].diagonal()).attrs["unit"] = "Angstrom"


def by_pyh5md_read():
    read("a.h5", by_pyh5md, 4e-6, False, "lj")
    frames = ase.io.read(folder / "out.xyz", index=":", format="extxyz")
    assert ["velo" in atoms.arrays for atoms in frames] == [True, False, True, False]
    close("velocities", frames[2].arrays["velo"], VELOCITIES[2], 2e-6)


def by_mdanalysis_pdb(path):
    u = mda.Universe.empty(N, n_residues=N, atom_resindex=range(N), trajectory=True)
    for attribute, value in {"name": "AR", "element": "Ar", "resname": "ARG", "chainID": "A"}.items():
        u.add_TopologyAttr(attribute, [value] * N)
    with mda.Writer(str(path), N, multiframe=True) as writer:
        for k in range(FRAMES):
            ts = u.trajectory.ts
            ts.positions, ts.dimensions = POSITIONS[k], triclinic_box(*EDGES[0])
            writer.write(u.atoms)


def read(name, write, tolerance, velocities, units, *options, edges=EDGES, box=2e-5):
    """A file of another program, through Jostle into extended XYZ, read by ASE."""
    path = folder / name
    write(path)
    convert(path, folder / "out.xyz", "--units", units, *options)
    frames = ase.io.read(folder / "out.xyz", index=":", format="extxyz")
    assert len(frames) == FRAMES
    for k, atoms in enumerate(frames):
        close("positions", atoms.positions, POSITIONS[k], tolerance)
        close("box", atoms.cell[:], edges[k], box)
        close("time", atoms.info["Time"], TIMES[k], 1e-5)
        if velocities:
            close("velocities", atoms.arrays["velo"], VELOCITIES[k], 2e-6)


def written(extension):
    """Extended XYZ through Jostle into a format, opened by MDAnalysis."""
    path = folder / f"written.{extension}"
    by_ase(folder / "in.xyz")
    convert(folder / "in.xyz", path, "--units", "metal")
    u = mda.Universe.empty(N, trajectory=False)
    u.load_new(str(path), format="LAMMPSDUMP" if extension == "lammpstrj" else None)
    assert len(u.trajectory) == FRAMES
    for k, ts in enumerate(u.trajectory):
        close("positions", ts.positions, POSITIONS[k], 0.00501 if extension == "xtc" else 4e-6)
        close("box", triclinic_vectors(ts.dimensions), EDGES[k], 1e-4)
        if extension != "lammpstrj":
            close("time", ts.time, TIMES[k], 1e-4)
        if extension in ("trr", "lammpstrj"):
            close("velocities", ts.velocities, VELOCITIES[k], 2e-6)


def check(name, run):
    global failures
    try:
        run()
        print("ok    ", name)
    except Exception as error:  # every file is reported
        failures += 1
        detail = getattr(error, "stderr", b"") or b""
        print("FAILED", name, error, detail.decode())


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    check("xtc by MDAnalysis", lambda: read("a.xtc", by_mdanalysis, 0.00501, False, "metal"))
    check("trr by MDAnalysis", lambda: read("a.trr", by_mdanalysis, 4e-6, True, "metal"))
    check("dcd by MDAnalysis", lambda: read("a.dcd", by_mdanalysis, 4e-6, False, "metal"))
    check("extended XYZ by ASE", lambda: read("a.xyz", by_ase, 1e-6, True, "metal"))
    check("GSD by gsd", lambda: read("a.gsd", by_gsd, 4e-6, True, "lj", "--timestep", "0.002"))
    check("H5MD by MDAnalysis", lambda: read("a.h5md", by_mdanalysis, 4e-6, True, "metal"))
    check("H5MD by pyh5md", by_pyh5md_read)
    cuboid = [np.diag(EDGES[0].diagonal())] * FRAMES
    check("H5MD by h5py", lambda: read("b.h5md", by_h5py, 4e-6, True, "metal", edges=cuboid))
    # PDB has its angles to 0.01 degrees; MDAnalysis writes one box for all models, and no times.
    constant = dict(edges=EDGES[:1] * FRAMES, box=5e-3)
    check("PDB by MDAnalysis", lambda: read("a.pdb", by_mdanalysis_pdb, 5.1e-4, False, "metal", "--timestep", "2", **constant))
    for extension in ("xtc", "trr", "dcd", "lammpstrj"):
        check(f"{extension} opened by MDAnalysis", lambda: written(extension))
sys.exit(1 if failures else 0)
