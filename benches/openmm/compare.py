#!/usr/bin/env python3
"""OpenMM and Jostle side by side on one GPU: whole steps of proteins in water.

    python3 -m venv openmm && openmm/bin/pip install openmm openmm-cuda-13
    cargo build --release
    openmm/bin/python benches/openmm/compare.py dhfr.system.xml dhfr.pdb

Any pair of a System that OpenMM has serialised and a PDB file with its atoms will do. Both engines run
that System: Langevin dynamics at 300 K, 1/ps, 4 fs, constraints and masses as the file has them, mixed
precision, the same cut-off and tolerance of the mesh (its error in forces, 5e-4).

The two take turns, so that a GPU that slows down slows both. OpenMM keeps its context and is warm; each
turn of Jostle is a fresh process that reads, warms up and then times its steps by its own clock. The last
line has the median of the ratios.
"""

import argparse
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
[system]
topology = {topology}
coordinates = {coordinates}
temperature = 300
[[force]]
kind = "lennard-jones"
cutoff = {cutoff}
tail_correction = {tail}
[electrostatics]
kind = "pme"
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
    context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    integrator.step(2000)
    context.getState(getEnergy=True)
    return context, integrator


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


def main():
    here = pathlib.Path(__file__).resolve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", type=pathlib.Path, help="a serialised System")
    parser.add_argument("pdb", type=pathlib.Path, help="its atoms")
    parser.add_argument("--jostle", default=here.parents[2] / "target" / "release" / "jostle")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    given = parser.parse_args()

    system = openmm.XmlSerializer.deserialize(given.system.read_text())
    force = nonbonded(system)
    text = INPUT.format(
        topology=json.dumps(str(given.system.resolve())),
        coordinates=json.dumps(str(given.pdb.resolve())),
        cutoff=force.getCutoffDistance().value_in_unit(unit.nanometer),
        tail="true" if force.getUseDispersionCorrection() else "false",
        accuracy=force.getEwaldErrorTolerance(),
    )
    context, integrator = start_openmm(system, app.PDBFile(str(given.pdb)).positions)
    ns_per_day = 4e-6 * 86400
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "input.toml"
        path.write_text(text)
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
