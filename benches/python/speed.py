"""What Python costs, on the CPU: import, `run(1)` in a loop, positions of a million atoms, forces that do nothing for
DHFR, and many small systems side by side. Medians of turns that alternate with what they are compared with.

    pip install .
    python benches/python/speed.py [import run positions force many]
"""

import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jostle

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "systems"


def median(function, turns):
    """Median time of calls, in seconds."""
    times = []
    for _ in range(turns):
        begun = time.perf_counter()
        function()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def fluid(atoms, *, threads=1, steps=10**9, temperature=1.2):
    """Keys of a Lennard-Jones fluid of so many `atoms` or `cells`."""
    return {
        "units": "lj",
        "run": {"device": "cpu", "threads": threads},
        "system": {"lattice": "fcc", **atoms, "density": 0.8, "temperature": temperature, "seed": 7},
        "species": {"A": {"mass": 1.0}},
        "force": [{"kind": "lennard-jones", "cutoff": 2.5, "pairs": {"A-A": {"epsilon": 1.0, "sigma": 1.0}}}],
        "stage": [{"steps": steps, "timestep": 0.002}],
    }


def measure_import():
    """Import in a process of its own, less the start of Python."""

    def start(code):
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    codes = ["pass", "import numpy", "import jostle", "import numpy, jostle"]
    turns = [[median(start(code), 1) for code in codes] for _ in range(9)]
    bare, numpy, whole, both = (statistics.median(times) for times in zip(*turns))
    print(f"import jostle: {whole - bare:.3f} s; after NumPy: {both - numpy:.3f} s")


def measure_run():
    """Steps in calls of one, and in one call."""
    sim = jostle.Simulation(**fluid({"atoms": 256}))
    n = 2000

    def one_by_one():
        for _ in range(n):
            sim.run(1)

    one_by_one()
    single, whole = [], []
    for _ in range(7):
        single.append(median(one_by_one, 1))
        whole.append(median(lambda: sim.run(n), 1))
    single, whole = statistics.median(single) / n, statistics.median(whole) / n
    print(f"run(1), {sim.n_atoms} atoms: {1e6 * single:.1f} us, a step of run({n}): {1e6 * whole:.1f} us")


def measure_positions():
    """Arrays of a million atoms after steps, which have changed their order."""
    sim = jostle.Simulation(**fluid({"cells": [50, 50, 100]}, threads=len(os.sched_getaffinity(0))))
    sim.run(10)
    for name in ["positions", "unwrapped_positions", "velocities", "forces"]:
        print(f"{name} of {sim.n_atoms} atoms: {1e3 * median(lambda: getattr(sim, name), 15):.1f} ms")


def dhfr():
    """DHFR in water as OpenMM has prepared it: 23,558 atoms. Its skin is given, so that all build as many lists."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ["dhfr.system.xml", "dhfr.pdb"]:
            Path(folder, name).write_bytes(lzma.decompress((SHARED / f"{name}.xz").read_bytes()))
        return jostle.Simulation(
            units="nano",
            run={"device": "cpu", "skin": 0.1},
            system={"topology": f"{folder}/dhfr.system.xml", "coordinates": f"{folder}/dhfr.pdb", "temperature": 300},
            force=[{"kind": "lennard-jones", "cutoff": 0.9}],
            electrostatics={"kind": "pme", "net_charge": "background"},
            stage=[{"steps": 10**9, "timestep": 0.002}],
        )


def measure_force():
    """Forces that return none, the same zeros again and again, and a pull at every atom; and none, twice, which shows how
    well all this is known. By blocks of ten steps in turn, in an order that moves on."""
    import numpy

    if not SHARED.exists():
        print("the force is left out: there is no ../shared/systems")
        return
    sims = {name: dhfr() for name in ["bare", "bare again", "None", "zeros", "forces"]}
    zeros, virial = numpy.zeros((sims["bare"].n_atoms, 3)), numpy.zeros((3, 3))
    returned = {"None": (0.0, None), "zeros": (0.0, zeros, virial), "forces": (0.0, zeros + 1e-9, virial)}
    for name, values in returned.items():
        sims[name].force(lambda positions, values=values: values, name="nothing")
    for sim in sims.values():
        sim.run(200)
    steps, names = 10, list(sims)
    turns = []
    for turn in range(100):
        times = {}
        for k in range(len(names)):
            name = names[(turn + k) % len(names)]
            times[name] = median(lambda: sims[name].run(steps), 1) / steps
        turns.append(times)
    print(f"a step of DHFR: {1e3 * statistics.median(times['bare'] for times in turns):.2f} ms")
    for name in names[1:]:
        more = [1e3 * (times[name] - times["bare"]) for times in turns]
        low, middle, high = statistics.quantiles(more, n=4)
        print(f"{name}: {middle:+.3f} ms a step (quartiles {low:+.3f} and {high:+.3f})")


def measure_many():
    """Eight small systems one after another, and side by side."""
    systems = [fluid({"atoms": 500}, steps=4000, temperature=0.8 + 0.1 * k) for k in range(8)]
    one, many = [], []
    for _ in range(3):
        one.append(median(lambda: jostle.run_many(systems, workers=1), 1))
        many.append(median(lambda: jostle.run_many(systems), 1))
    one, many = statistics.median(one), statistics.median(many)
    print(f"8 systems of 500 atoms: {one:.2f} s one after another, {many:.2f} s side by side: {one / many:.2f} times")


MEASURES = {
    "import": measure_import,
    "run": measure_run,
    "positions": measure_positions,
    "force": measure_force,
    "many": measure_many,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or MEASURES:
        MEASURES[name]()
