"""Streams a run to imdclient (MDAnalysis' client of IMD versions 2 and 3) and compares every frame with the
trajectory and the rows of thermo.csv.

    cargo build -p jostle
    pip install imdclient
    python tests/external/check_imd.py target/debug/jostle
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from imdclient.IMDClient import IMDClient

jostle = Path(sys.argv[1]).resolve()
EVERY, STEPS, ATOMS = 5, 2000, 256
INPUT = f"""
units = "real"
[system]
lattice = "fcc"
atoms = {ATOMS}
density = "1.374 g/cm3"
temperature = 94.4
seed = 1
[species.Ar]
mass = 39.948
[[force]]
kind = "lennard-jones"
cutoff = 8.5
pairs."Ar-Ar" = {{ epsilon = "119.8 K", sigma = 3.405 }}
[[stage]]
name = "sample"
steps = {STEPS}
timestep = 5
thermostat = {{ kind = "bussi", temperature = 94.4, period = "0.5 ps" }}
thermo = {{ every = {EVERY} }}
trajectory = {{ every = {EVERY}, format = "xyz" }}
[run]
threads = 1
"""
# kJ/mol in version 3, kcal/mol in version 2.
ENERGY = {2: 1.0, 3: 4.184}


def frames(jostle, folder, version):
    """Frames of a run: step, time, energies, box, positions, velocities, forces."""
    option = {2: "--imd", 3: "--imd-v3"}[version]
    run = subprocess.Popen(
        [jostle, "run", "argon.toml", "--output", f"v{version}", option, "0", "--imd-wait", "--imd-every", str(EVERY)],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in run.stderr:
        if "can connect to" in line:
            host, port = line.split()[-1].rsplit(":", 1)
            break
    # A buffer of few frames, so that the client has to pause the run again and again.
    client = IMDClient(host, int(port), ATOMS, buffer_size=20 * (12 * 3 * ATOMS + 200))
    found = []
    while True:
        try:
            frame = client.get_imdframe()
        except EOFError:
            break
        arrays = [frame.box, frame.positions, frame.velocities, frame.forces]
        copies = [None if a is None else np.array(a) for a in arrays]
        found.append((frame.step, frame.time, dict(frame.energies), *copies))
    client.stop()
    run.stderr.read()
    assert run.wait() == 0
    return found


def check(folder, version):
    found = frames(jostle, folder, version)
    rows = list(csv.DictReader(open(folder / f"v{version}" / "thermo.csv")))
    lines = (folder / f"v{version}" / "sample.xyz").read_text().splitlines()
    size = ATOMS + 2
    frames_written = len(lines) // size
    assert len(found) == len(rows) == frames_written == STEPS // EVERY + 1, (len(found), len(rows), frames_written)
    worst = 0.0
    for k, (frame, row) in enumerate(zip(found, rows)):
        step, time, energies, box, positions, velocities, _ = frame
        assert energies["step"] == int(row["step"])
        for name, column in [("total_energy", "total (kcal/mol)"), ("potential_energy", "potential (kcal/mol)")]:
            expected = float(row[column]) * ENERGY[version]
            assert abs(energies[name] - expected) < 1e-6 * abs(expected), (name, energies[name], expected)
        assert abs(energies["temperature"] - float(row["temperature (K)"])) < 1e-4
        if version == 3:
            assert step == int(row["step"]) and abs(time - 1e-3 * float(row["time (fs)"])) < 1e-9
            volume = np.linalg.det(box.astype(float))
            assert abs(volume / float(row["volume (A^3)"]) - 1) < 1e-6, volume
        block = [line.split() for line in lines[k * size + 2 : (k + 1) * size]]
        written = np.array([[float(x) for x in atom[1:4]] for atom in block])
        edge = float(rows[0]["volume (A^3)"]) ** (1 / 3)
        difference = written - positions
        # An atom at the very edge may lie on the other side of the box after rounding.
        difference -= edge * np.round(difference / edge)
        worst = max(worst, np.abs(difference).max())
    assert worst < 2e-5, worst
    print(f"version {version}: {len(found)} frames equal thermo.csv and the trajectory (positions to {worst:.1e} A)")


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "argon.toml").write_text(INPUT)
    for version in (2, 3):
        check(folder, version)
