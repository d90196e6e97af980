"""Lets `jostle analyze` and freud (and MDAnalysis) look at the same trajectory and compares.

    cargo build --release -p jostle
    pip install freud-analysis MDAnalysis
    python tests/external/check_analysis.py target/release/jostle [ATOMS]

With a number of atoms, g(r) of that many is timed side by side.
"""

import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import freud
import MDAnalysis as mda
import MDAnalysis.analysis.msd
import numpy as np

warnings.filterwarnings("ignore")
jostle = Path(sys.argv[1]).resolve()
rng = np.random.default_rng(7)
FRAMES = 8


def crystal(cells, noise):
    """A hot fcc crystal with vacancies: order and disorder. Frames diffuse a little."""
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    atoms = (corners + basis).reshape(-1, 3) * 1.6
    atoms = atoms[rng.random(len(atoms)) > 0.05]
    frames = [atoms + rng.normal(0, noise, atoms.shape)]
    for _ in range(FRAMES - 1):
        frames.append(frames[-1] + rng.normal(0, 0.3 * noise, atoms.shape))
    return frames, 1.6 * cells


def write(path, frames, edge):
    with open(path, "w") as file:
        for k, frame in enumerate(frames):
            file.write(f'{len(frame)}\nLattice="{edge} 0 0 0 {edge} 0 0 0 {edge}" Properties=species:S:1:pos:R:3')
            file.write(f' pbc="T T T" Time={0.5 * k} Step={k} units=lj\n')
            np.savetxt(file, frame % edge, fmt="A %.12g %.12g %.12g")


def analyze(kind, path, *settings):
    command = [jostle, "analyze", kind, path, *settings, "--json"]
    results = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout)["results"]
    tables = {t["name"]: {c["name"]: np.array(c["values"], float) for c in t["columns"]} for t in results["tables"]}
    return tables, {v["name"]: v["value"] for v in results["values"]}


def close(what, got, expected, tolerance):
    worst = np.abs(np.asarray(got, float) - np.asarray(expected, float)).max()
    print(f"{'ok    ' if worst <= tolerance else 'FAILED'} {what}: off by {worst:.2g}, allowed {tolerance:.2g}")
    return worst <= tolerance


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "a.xyz"
    frames, edge = crystal(6, 0.12)
    write(path, frames, edge)
    box, n = freud.box.Box.cube(edge), len(frames[0])
    wrapped = [box.wrap(f % edge) for f in frames]
    good = True

    rdf = freud.density.RDF(bins=150, r_max=4.0, normalization_mode="finite_size")
    for k, frame in enumerate(wrapped):
        rdf.compute((box, frame), reset=k == 0)
    tables, _ = analyze("rdf", path, "cutoff=4", "bins=150")
    good &= close("g(r), freud", tables["rdf"]["g all"], rdf.rdf, 2e-3)  # freud bins in single precision
    good &= close("coordination, freud", tables["coordination"]["n all"], rdf.n_r, 2e-3)

    _, values = analyze("bond-order", path, "cutoff=1.4")
    near = {"r_max": 1.4, "exclude_ii": True}
    for name, order in [
        ("q4", freud.order.Steinhardt(l=4)),
        ("q6", freud.order.Steinhardt(l=6)),
        ("w6", freud.order.Steinhardt(l=6, wl=True, wl_normalize=True)),
        ("averaged q4", freud.order.Steinhardt(l=4, average=True)),
        ("averaged q6", freud.order.Steinhardt(l=6, average=True)),
    ]:
        mean = np.mean([order.compute((box, f), neighbors=near).particle_order.mean() for f in wrapped])
        good &= close(f"{name}, freud", values[name], mean, 2e-5)

    unwrapped = np.array(frames)
    table = analyze("msd", path, "from=0.5", "to=1.5")[0]["msd"]
    expected = []
    for t in table["t"]:
        lag = round(t / 0.5)
        moved = unwrapped[lag:] - unwrapped[: len(unwrapped) - lag]
        expected.append((moved**2).sum(-1).mean())
    good &= close("msd, numpy on the paths before wrapping", table["msd all"], expected, 1e-9)
    universe = mda.Universe.empty(n, trajectory=True)
    universe.load_new(unwrapped)
    einstein = MDAnalysis.analysis.msd.EinsteinMSD(universe, fft=False).run()
    lags = [round(t / 0.5) for t in table["t"]]
    good &= close("msd, MDAnalysis", table["msd all"], einstein.results.timeseries[lags], 1e-5)

    if len(sys.argv) > 2:
        cells = round((int(sys.argv[2]) / 3.8) ** (1 / 3))
        frames, edge = crystal(cells, 0.12)
        box, n = freud.box.Box.cube(edge), len(frames[0])
        wrapped = [box.wrap(f % edge).astype(np.float32) for f in frames]
        write(path, frames, edge)
        subprocess.run([jostle, "convert", path, path.with_suffix(".xtc")], check=True, capture_output=True)
        for _ in range(3):
            rdf = freud.density.RDF(bins=200, r_max=2.5)
            start = time.perf_counter()
            for frame in wrapped:
                rdf.compute((box, frame), reset=False)
            freud_time = (time.perf_counter() - start) / FRAMES
            start = time.perf_counter()
            command = [jostle, "analyze", "rdf", path.with_suffix(".xtc"), "cutoff=2.5", "--units", "lj"]
            subprocess.run(list(map(str, command)), check=True, capture_output=True)
            jostle_time = (time.perf_counter() - start) / FRAMES
            print(f"g(r) of {n} atoms, a frame: freud {1e3 * freud_time:.1f} ms, jostle {1e3 * jostle_time:.1f} ms (reading XTC included)")
sys.exit(0 if good else 1)
