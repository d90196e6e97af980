#!/usr/bin/env python3
"""GROMACS and Jostle side by side on one CPU: whole steps of rigid SPC/E water with particle-mesh Ewald.

    apt-get install gromacs          # or any other build: --gmx PATH
    cargo build --release
    python3 benches/gromacs/compare.py --threads 1

Both run 8,000 molecules at constant energy, 2 fs, cut-off 0.9 nm, from the same liquid. GROMACS has its own
defaults (mesh of 0.12 nm, order 4; how often lists are made and with what margin by its own tuning) and is
timed from the second half of its run on. Jostle's mesh follows from `--accuracy` and `--order`; how far the
forces of either really are from those of Ewald's sum (root mean square, relative) is printed first, for
these to be chosen so that Jostle's forces are at least as exact. The two take turns; the last line has the
median of the ratios. GROMACS chooses its instructions when it is compiled: the first line says which.
"""

import argparse
import csv
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

TOPOLOGY = """\
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
OW 8 15.9994 0.0 A 0.3166 0.650
HW 1 1.008 0.0 A 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW  1 -0.8476
2 HW 1 SOL HW1 1  0.4238
3 HW 1 SOL HW2 1  0.4238
[ settles ]
1 1 0.1 0.16330
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
SOL {molecules}
"""

RUN = """\
integrator = md
dt = {dt}
nsteps = {steps}
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
fourierspacing = 0.12
pme-order = 4
DispCorr = EnerPres
gen-vel = {velocities}
gen-temp = 300
tcoupl = {bath}
tc-grps = System
tau-t = 0.5
ref-t = 300
nstcalcenergy = 100
nstenergy = {steps}
nstlog = 0
nstxout = {frames}
nstfout = {frames}
"""

JOSTLE = """\
units = "real"
[run]
precision = "{precision}"
[system]
periodic = true
topology = "water.top"
coordinates = "water.xyz"
temperature = 300
seed = 1
[[force]]
kind = "lennard-jones"
cutoff = 9
tail_correction = true
[electrostatics]
kind = "{method}"
accuracy = {accuracy}
{order}
[[stage]]
name = "sample"
steps = 1_000_000
timestep = 2
"""

MINIMISE = """\
integrator = steep
nsteps = 200
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
"""


class Gromacs:
    def __init__(self, program, folder, threads):
        self.program, self.folder, self.threads = program, folder, threads

    def call(self, *words):
        command = [self.program, "-quiet", *words]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"gmx {words[0]} failed:\n{done.stderr}")
        return done.stdout + done.stderr

    def prepare(self, name, settings, coordinates):
        (self.folder / f"{name}.mdp").write_text(settings)
        arguments = ["-f", f"{name}.mdp", "-c", coordinates, "-p", "water.top", "-o", f"{name}.tpr"]
        self.call("grompp", *arguments, "-maxwarn", "2")

    def run(self, name, *words):
        threads = ["-ntmpi", "1", "-ntomp", str(self.threads), "-pin", "off"]
        return self.call("mdrun", "-deffnm", name, *threads, *words)

    def settle(self, molecules, steps):
        """A liquid at the density of Jostle's case, and its run."""
        # 0.998 g/cm3
        edge = (molecules * 18.0154 / 0.602214076 / 998.0) ** (1 / 3)
        box = [f"{edge:.5f}"] * 3
        wide = [f"{edge + 0.1:.5f}"] * 3
        self.call("solvate", "-cs", "spc216.gro", "-box", *wide, "-maxsol", str(molecules), "-o", "wide.gro")
        factor = str(edge / (edge + 0.1))
        self.call("editconf", "-f", "wide.gro", "-scale", factor, factor, factor, "-o", "start.gro")
        self.call("editconf", "-f", "start.gro", "-box", *box, "-noc", "-o", "start.gro")
        (self.folder / "water.top").write_text(TOPOLOGY.format(molecules=molecules))
        self.prepare("minimise", MINIMISE, "start.gro")
        self.run("minimise")
        run = {"dt": 0.002, "steps": steps, "velocities": "no", "bath": "no", "frames": 0}
        warm = {**run, "steps": 5000, "velocities": "yes", "bath": "v-rescale"}
        self.prepare("warm", RUN.format(**warm), "minimise.gro")
        self.run("warm")
        self.prepare("sample", RUN.format(**run), "warm.gro")
        self.prepare("forces", RUN.format(**{**run, "steps": 0, "frames": 1}), "warm.gro")
        self.run("forces")

    def forces(self):
        """On all atoms, in kcal/mol/A; writes where these are for Jostle."""
        text = self.call("dump", "-f", "forces.trr")
        numbers = {"x": [], "f": [], "box": []}
        for name, triple in re.findall(r"^ +(x|f|box)\[ *\d+\]=\{(.*)\}", text, re.MULTILINE):
            numbers[name].append([float(x) for x in triple.split(",")])
        edges = [10 * numbers["box"][k][k] for k in range(3)]
        lattice = f"{edges[0]} 0 0 0 {edges[1]} 0 0 0 {edges[2]}"
        head = f'Lattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"'
        places = [" ".join(f"{10 * x:.8f}" for x in r) for r in numbers["x"]]
        atoms = [f"{'OHH'[k % 3]} {place}" for k, place in enumerate(places)]
        lines = [str(len(atoms)), head, *atoms, ""]
        (self.folder / "water.xyz").write_text("\n".join(lines))
        return [x / 41.84 for f in numbers["f"] for x in f]

    def nanoseconds_a_day(self):
        log = self.run("sample", "-resethway", "-noconfout")
        found = re.findall(r"Performance:\s+([\d.]+)", log)
        if not found:
            raise SystemExit(f"GROMACS does not say how fast it was:\n{log}")
        return float(found[-1])


class Jostle:
    def __init__(self, program, folder, threads, accuracy, order):
        self.program, self.folder, self.threads = program, folder, str(threads)
        self.settings = {"precision": "mixed", "method": "pme", "accuracy": accuracy}
        self.settings["order"] = f"order = {order}"

    def call(self, *words, **other):
        (self.folder / "water.toml").write_text(JOSTLE.format(**{**self.settings, **other}))
        options = ["--device", "cpu", "--threads", self.threads, *words[1:]]
        command = [self.program, words[0], "water.toml", *options]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"jostle {words[0]} failed:\n{done.stderr}")
        return done.stdout

    def forces(self, **other):
        self.call("energy", "--forces", "forces.csv", **other)
        rows = list(csv.reader((self.folder / "forces.csv").open()))[1:]
        return [float(x) for row in rows for x in row[-3:]]

    def nanoseconds_a_day(self, seconds):
        report = json.loads(self.call("bench", "--seconds", str(seconds), "--json"))
        return report["cases"][0]["steps_per_second"] * 2e-6 * 86400


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--gmx", default="gmx")
    words.add_argument("--jostle", default="target/release/jostle")
    words.add_argument("--threads", type=int, default=1)
    words.add_argument("--accuracy", type=float, default=1e-3)
    words.add_argument("--order", type=int, default=5)
    words.add_argument("--turns", type=int, default=5)
    words.add_argument("--steps", type=int, default=1500)
    words.add_argument("--seconds", type=float, default=2.0)
    words = words.parse_args()
    version = subprocess.run([words.gmx, "--version"], capture_output=True, text=True, check=True).stdout
    facts = dict(re.findall(r"^(GROMACS version|SIMD instructions):\s+(.*)$", version, re.MULTILINE))
    print(f"GROMACS {facts.get('GROMACS version')}, {facts.get('SIMD instructions')}; threads: {words.threads}")
    with tempfile.TemporaryDirectory() as folder:
        folder, program = pathlib.Path(folder), pathlib.Path(words.jostle).resolve()
        gromacs = Gromacs(words.gmx, folder, words.threads)
        gromacs.settle(8000, words.steps)
        theirs = gromacs.forces()
        jostle = Jostle(program, folder, words.threads, words.accuracy, words.order)
        exact = jostle.forces(precision="double", method="ewald", accuracy=1e-8, order="")
        scale = sum(f * f for f in exact)
        for name, forces in (("GROMACS", theirs), ("Jostle", jostle.forces())):
            error = (sum((a - b) ** 2 for a, b in zip(forces, exact)) / scale) ** 0.5
            print(f"relative error of forces, {name}: {error:.2e}")
        print("ns/day: GROMACS   Jostle    ratio")
        ratios = []
        for _ in range(words.turns):
            theirs = gromacs.nanoseconds_a_day()
            ours = jostle.nanoseconds_a_day(words.seconds)
            ratios.append(ours / theirs)
            print(f"       {theirs:8.2f} {ours:8.2f} {ratios[-1]:8.3f}", flush=True)
    print(f"median of ratios {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
