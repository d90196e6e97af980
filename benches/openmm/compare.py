#!/usr/bin/env python3
"""OpenMM and Jostle side by side on one GPU: whole steps of proteins in water.

    python3 -m venv openmm && openmm/bin/pip install openmm openmm-cuda-13
    cargo build --release
    openmm/bin/python benches/openmm/compare.py dhfr.system.xml dhfr.pdb

Any pair of a System that OpenMM has serialised and a PDB file with its atoms will do. Both engines run
that System: Langevin dynamics at 300 K, 1/ps, 4 fs, constraints and masses as the file has them, mixed
precision, the same cut-off. OpenMM's mesh follows from the System's tolerance, Jostle's from `--accuracy`;
how far the forces of either really are from those of Ewald's sum (root mean square, relative) is printed
first, for the accuracy to be chosen so that Jostle's are at least as exact.

The two take turns, so that a GPU that slows down slows both. OpenMM keeps its context and is warm; each
turn of Jostle is a fresh process that reads, warms up and then times its steps by its own clock. The last
line has the median of the ratios.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import openmm
from openmm import app, unit

INPUT = """\
units = "nano"
[run]
precision = "{precision}"
[system]
topology = {topology}
coordinates = {coordinates}
temperature = 300
[[force]]
kind = "lennard-jones"
cutoff = {cutoff}
tail_correction = {tail}
[electrostatics]
kind = "{method}"
accuracy = {accuracy}
net_charge = "background"
[[stage]]
name = "sample"
steps = 1_000_000
timestep = 0.004
thermostat = {{ kind = "langevin", temperature = 300, friction = 1 }}
"""


def nonbonded(system):
    forces = [f for f in system.getForces() if isinstance(f, openmm.NonbondedForce)]
    if len(forces) != 1 or forces[0].getNonbondedMethod() != openmm.NonbondedForce.PME:
        raise SystemExit("the System needs one NonbondedForce, with PME")
    return forces[0]


def start_openmm(system, positions):
    integrator = openmm.LangevinMiddleIntegrator(
        300 * unit.kelvin, 1 / unit.picosecond, 0.004 * unit.picoseconds
    )
    platform = openmm.Platform.getPlatformByName("CUDA")
    context = openmm.Context(system, integrator, platform, {"Precision": "mixed"})
    context.setPositions(positions)
    return context, integrator


def warm_up(context, integrator):
    context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    integrator.step(2000)
    context.getState(getEnergy=True)


def time_openmm(context, integrator, seconds):
    steps = 1000
    while True:
        start = time.perf_counter()
        integrator.step(steps)
        # Waits for the device.
        context.getState(getEnergy=True)
        taken = time.perf_counter() - start
        if taken > 0.8 * seconds:
            return steps / taken
        steps = int(steps * min(10.0, 1.1 * seconds / taken))


def time_jostle(program, path, seconds):
    command = [program, "bench", path, "--device", "cuda", "--seconds", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)["cases"][0]["steps_per_second"]


def jostle_forces(program, text, folder):
    (folder / "input.toml").write_text(text)
    command = [program, "energy", "input.toml", "--device", "cpu", "--forces", "forces.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise SystemExit(done.stderr)
    rows = list(csv.reader((folder / "forces.csv").open()))[1:]
    return [float(x) for row in rows for x in row[-3:]]


def print_errors(context, program, inputs, folder):
    """Of forces on the atoms where they are in the PDB file, of which `inputs` are about."""
    exact = jostle_forces(program, inputs(method="ewald", accuracy=1e-8, precision="double"), folder)
    per_nm = unit.kilojoule_per_mole / unit.nanometer
    theirs = context.getState(getForces=True).getForces(asNumpy=True).value_in_unit(per_nm).ravel()
    ours = jostle_forces(program, inputs(), folder)
    scale = sum(f * f for f in exact)
    for name, forces in (("OpenMM", theirs), ("Jostle", ours)):
        error = (sum((a - b) ** 2 for a, b in zip(forces, exact)) / scale) ** 0.5
        print(f"relative error of forces, {name}: {error:.2e}", flush=True)


def main():
    here = pathlib.Path(__file__).resolve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", type=pathlib.Path, help="a serialised System")
    parser.add_argument("pdb", type=pathlib.Path, help="its atoms")
    parser.add_argument("--jostle", type=pathlib.Path, default=here.parents[2] / "target" / "release" / "jostle")
    parser.add_argument("--accuracy", type=float, help="Jostle's (default: the System's tolerance)")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    given = parser.parse_args()

    system = openmm.XmlSerializer.deserialize(given.system.read_text())
    force = nonbonded(system)
    settings = {
        "topology": json.dumps(str(given.system.resolve())),
        "coordinates": json.dumps(str(given.pdb.resolve())),
        "cutoff": force.getCutoffDistance().value_in_unit(unit.nanometer),
        "tail": "true" if force.getUseDispersionCorrection() else "false",
        "accuracy": given.accuracy or force.getEwaldErrorTolerance(),
        "method": "pme",
        "precision": "mixed",
    }

    def inputs(**other):
        return INPUT.format(**{**settings, **other})

    positions = app.PDBFile(str(given.pdb)).positions
    context, integrator = start_openmm(system, positions)
    ns_per_day = 4e-6 * 86400
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print_errors(context, given.jostle.resolve(), inputs, folder)
        warm_up(context, integrator)
        path = folder / "input.toml"
        path.write_text(inputs())
        # Compiles the kernels, once.
        time_jostle(given.jostle, path, 1)
        for turn in range(given.turns):
            theirs = time_openmm(context, integrator, given.seconds)
            ours = time_jostle(given.jostle, path, given.seconds)
            ratios.append(ours / theirs)
            print(
                f"turn {turn + 1}: OpenMM {openmm.version.version} {theirs:.0f} steps/s "
                f"({theirs * ns_per_day:.0f} ns/day), Jostle {ours:.0f} ({ours * ns_per_day:.0f}), "
                f"ratio {ratios[-1]:.3f}",
                flush=True,
            )
    print(f"{system.getNumParticles()} atoms: Jostle is {statistics.median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
