"""Profiles of alanine dipeptide's phi and psi by umbrella windows, metadynamics, ABF and OPES, beside a long unbiased run.

    cargo build --release
    python tests/external/alanine_profiles.py ../shared/reference/07a_aladip_vac_amber14 --output alanine

The molecule is alone in space (AMBER ff14SB, hydrogens rigid, Langevin, 2 fs), at 600 K, where it crosses its barriers by
itself often enough for the distribution of an unbiased run to be known. Each method has runs of its own for phi and for
psi; each profile comes from `jostle analyze pmf`. Printed is, for each, the root mean square of the difference from the
unbiased profile where that is below 6 kT, in kT and in units of both errors together; a method agrees where the latter is
about 1. Needs numpy.

Measured with the steps by default (10 ns; windows 0.5 ns), in units of errors, phi and psi: metadynamics 1.16 and 0.41,
OPES 0.53 and 0.34, umbrella windows 1.07 and 6.7, ABF 1.28 and 0.90 (9.0 and 5.9 when its bias was not the slope of an
energy). Windows along psi are too short for phi to cross its barriers in them.
"""

import argparse
import csv
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy

TEMPERATURE = 600
KT = 0.0083144626 * TEMPERATURE
ANGLES = {"phi": [4, 6, 8, 14], "psi": [6, 8, 14, 16]}
BINS = 36
WINDOWS = 24
SAMPLES = 25
HIGHEST = 6
BIASES = {
    "metadynamics": 'kind = "metadynamics"\nwidth = 0.25\nheight = 1\nevery = 500\nbias_factor = 6\n'
                    f"temperature = {TEMPERATURE}",
    "abf": f'kind = "abf"\nspacing = {2 * numpy.pi / BINS}\ntemperature = {TEMPERATURE}',
    "opes": f'kind = "opes"\nbarrier = 40\nwidth = 0.25\nevery = 500\ntemperature = {TEMPERATURE}',
}


def input_text(files, steps, seed, bias):
    variables = "".join(
        f'[[variable]]\nname = "{name}"\nkind = "dihedral"\ncenters = {[f"index {i}" for i in atoms]}\n'
        for name, atoms in ANGLES.items()
    )
    return f"""
units = "nano"
[system]
topology = "{files / 'system.xml'}"
coordinates = "{files / 'topology.pdb'}"
rigid = "hydrogens"
periodic = false
temperature = {TEMPERATURE}
seed = {seed}
[[force]]
kind = "lennard-jones"
cutoff = 3
[electrostatics]
kind = "cutoff"
cutoff = 3
{variables}
{bias}
[run]
threads = 1
[[stage]]
name = "settle"
steps = {steps // 20}
timestep = 0.002
thermostat = {{ kind = "langevin", temperature = {TEMPERATURE}, friction = 1 }}
[[stage]]
name = "sample"
steps = {steps}
timestep = 0.002
thermostat = {{ kind = "langevin", temperature = {TEMPERATURE}, friction = 1 }}
thermo = {{ every = {SAMPLES} }}
"""


def run(job):
    """Folder of a run, which is made unless it is there."""
    options, name, steps, seed, bias = job
    file, folder = options.output / f"{name}.toml", options.output / name
    if not (folder / "summary.json").exists():
        file.write_text(input_text(options.files.resolve(), steps, seed, bias))
        command = [options.jostle, "run", file, "--device", "cpu", "--output", folder, "--overwrite"]
        subprocess.run(command, check=True, capture_output=True)
    return folder


def jobs(options):
    """Runs of all methods, by method and angle."""
    steps = options.steps
    found = {("unbiased", "both"): [(options, f"unbiased-{k}", steps, 10 + k, "") for k in range(2 * options.long)]}
    for number, angle in enumerate(ANGLES):
        for kind, text in BIASES.items():
            bias = f'[[bias]]\nname = "bias"\nvariables = ["{angle}"]\n{text}'
            found[kind, angle] = [(options, f"{kind}-{angle}", steps, 100 + number, bias)]
        centers = -numpy.pi + 2 * numpy.pi / WINDOWS * numpy.arange(WINDOWS)
        windows = [
            f'[[bias]]\nname = "bias"\nkind = "harmonic"\nvariable = "{angle}"\ncenter = {center}\nstiffness = 250'
            for center in centers
        ]
        found["umbrella", angle] = [
            (options, f"umbrella-{angle}-{k}", steps // 20, 200 + 50 * number + k, bias) for k, bias in enumerate(windows)
        ]
    return found


def by_pmf(options, kind, angle, folders):
    """Places, profile and errors in kT, by `jostle analyze pmf`."""
    settings = [f"bins={BINS}"] if kind == "umbrella" else []
    command = [options.jostle, "analyze", "pmf", *folders, *settings, "--json"]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    tables = json.loads(made.stdout)["results"]["tables"]
    table = next(table for table in tables if table["name"].endswith("pmf"))
    columns = {column["name"]: numpy.array(column["values"], float) for column in table["columns"]}
    place = next(iter(columns.values()))
    return place, columns["free energy"] / KT, columns["free energy error"] / KT


def unbiased(folders, angle):
    """Profile of the distribution, with errors from as many blocks as there are runs times five."""
    edges = numpy.linspace(-numpy.pi, numpy.pi, BINS + 1)
    counts = []
    for folder in folders:
        with open(folder / "thermo.csv") as file:
            rows = list(csv.DictReader(file))
        values = numpy.array([float(row[f"{angle} (rad)"]) for row in rows if row["stage"] == "sample"])
        counts += [numpy.histogram(block, edges)[0] for block in numpy.array_split(values, 5)]
    counts = numpy.array(counts, float)
    mean = counts.mean(axis=0)
    error = counts.std(axis=0, ddof=1) / numpy.sqrt(len(counts))
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return 0.5 * (edges[1:] + edges[:-1]), -numpy.log(mean / mean.max()), error / mean


def compare(name, profile, reference):
    (place, energy, error), (at, known, known_error) = profile, reference
    # Periodic, between the places of the profile.
    order = numpy.argsort(place)
    there = [numpy.interp(at, place[order], column[order], period=2 * numpy.pi) for column in (energy, error)]
    low = known < HIGHEST
    both = numpy.hypot(there[1], known_error)[low]
    weights = both ** -2
    difference = (there[0] - known)[low]
    difference -= numpy.average(difference, weights=weights)
    print(f"{name}: differs by {numpy.sqrt(numpy.mean(difference ** 2)):.3f} kT, "
          f"{numpy.sqrt(numpy.mean((difference / both) ** 2)):.2f} errors; barriers up to {known[low].max():.1f} kT",
          flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path)
    parser.add_argument("--jostle", default="target/release/jostle")
    parser.add_argument("--steps", type=int, default=5_000_000, help="of each run; a twentieth for windows")
    parser.add_argument("--long", type=int, default=1, help="pairs of unbiased runs")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("alanine"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    by_method = jobs(options)
    with ThreadPoolExecutor(options.at_once) as threads:
        futures = {key: [threads.submit(run, job) for job in group] for key, group in by_method.items()}
        folders = {key: [future.result() for future in group] for key, group in futures.items()}
    for angle in ANGLES:
        reference = unbiased(folders["unbiased", "both"], angle)
        for kind in [*BIASES, "umbrella"]:
            compare(f"{angle} by {kind}", by_pmf(options, kind, angle, folders[kind, angle]), reference)


main()
