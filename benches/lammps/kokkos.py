#!/usr/bin/env python3
"""LAMMPS with its KOKKOS package and Jostle side by side on one GPU: a metal, chains of beads, and
dissipative particles, some million atoms each.

    cargo build --release
    python3 benches/lammps/kokkos.py --lmp path/to/lmp --bench path/to/lammps/bench

LAMMPS must have been built with KOKKOS for CUDA and the packages MANYBODY, MOLECULE and DPD-BASIC;
`--bench` is its folder with `Cu_u3.eam` and `data.chain`. The systems are those of its benchmarks
(`in.eam`, `in.chain` of 4 x 4 x 2 copies, `in.dpd`): the same functions, starts, time steps and baths
on both sides. LAMMPS runs with each of the lists and skins named below, and the fastest counts. The two
programs take turns; each turn of either is a fresh process that warms up and then times its steps by its
own clock. LAMMPS computes in double precision unless it was built otherwise; Jostle's rows say in which.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HALF, FULL = "neigh half newton on", "neigh full newton off"

METAL = """\
units metal
atom_style atomic
lattice fcc 3.615
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
pair_style eam
pair_coeff 1 1 {bench}/Cu_u3.eam
velocity all create 1600.0 376847 loop geom
neighbor {skin} bin
neigh_modify every 1 delay 5 check yes
fix 1 all nve
timestep 0.005
"""

CHAINS = """\
units lj
atom_style bond
atom_modify map hash
special_bonds fene
read_data {bench}/data.chain
replicate {copies}
neighbor {skin} bin
neigh_modify every 1 delay 1
bond_style fene
bond_coeff 1 30.0 1.5 1.0 1.0
pair_style lj/cut 1.12
pair_modify shift yes
pair_coeff 1 1 1.0 1.0 1.12
fix 1 all nve
fix 2 all langevin 1.0 1.0 10.0 904297
timestep 0.012
"""

DISSIPATIVE = """\
units lj
atom_style atomic
comm_modify mode single vel yes
atom_modify sort 100 0.0
lattice fcc 3.0
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.0 87287 loop geom
pair_style dpd 1.0 1.0 928948
pair_coeff 1 1 25.0 4.5
neighbor {skin} bin
neigh_modify delay 0 every 1 check yes
fix 1 all nve
timestep 0.04
"""

JOSTLE_METAL = """\
units = "metal"
[system]
lattice = "fcc"
cells = [{cells}, {cells}, {cells}]
lattice_constant = 3.615
temperature = 1600
[species.Cu]
mass = 63.55
[metal]
kind = "embedded-atom"
file = "{bench}/Cu_u3.eam"
[[stage]]
name = "sample"
steps = 1_000_000
timestep = 0.005
"""

JOSTLE_CHAINS = """\
units = "lj"
[system]
file = "chain.data"
replicate = [{copies}]
[[force]]
kind = "lennard-jones"
cutoff = 1.12
truncation = "shifted"
pairs."1-1" = {{ epsilon = 1, sigma = 1 }}
[[bond]]
kind = "fene"
types.1 = {{ stiffness = 30, longest = 1.5 }}
[[stage]]
name = "sample"
steps = 1_000_000
timestep = 0.012
thermostat = {{ kind = "langevin", temperature = 1.0, friction = 0.1 }}
"""

JOSTLE_DISSIPATIVE = """\
units = "lj"
[system]
lattice = "fcc"
cells = [{cells}, {cells}, {cells}]
density = 3
temperature = 1
[species.W]
mass = 1
[[force]]
kind = "soft-repulsion"
pairs."W-W" = {{ strength = 25, size = 1 }}
[[stage]]
name = "sample"
steps = 1_000_000
timestep = 0.04
thermostat = {{ kind = "dpd", temperature = 1, friction = 4.5, cutoff = 1 }}
"""

# LAMMPS' input, lists and skins, steps before and while the clock runs; Jostle's input.
CASES = {
    "metal": (METAL, [(HALF, 1.0), (FULL, 1.0)], 100, 300, JOSTLE_METAL),
    "chains": (CHAINS, [(HALF, 0.4), (FULL, 0.4)], 200, 1000, JOSTLE_CHAINS),
    "dissipative": (DISSIPATIVE, [(HALF, 0.5), (HALF, 0.8)], 200, 200, JOSTLE_DISSIPATIVE),
}


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def lammps(words, deck, lists, warm, timed, folder):
    (folder / "in.lammps").write_text(f"{deck}thermo {warm}\nrun {warm}\nthermo {timed}\nrun {timed}\n")
    options = ["-k", "on", "g", "1", "-sf", "kk", "-pk", "kokkos", "gpu/aware", "on", *lists.split()]
    run([words.lmp, *options, "-in", "in.lammps", "-log", "log", "-screen", "none"], folder)
    log = (folder / "log").read_text()
    found = re.findall(r"^Loop time of (\S+) on .* for (\d+) steps with (\d+) atoms", log, re.MULTILINE)
    if not found:
        raise SystemExit(f"LAMMPS does not say how long it took:\n{log[-2000:]}")
    seconds, steps, atoms = found[-1]
    return int(steps) / float(seconds), int(atoms)


def jostle(words, text, precision, folder):
    (folder / "in.toml").write_text(text)
    bench = ["bench", "in.toml", "--device", words.device, "--precision", precision]
    report = json.loads(run([words.jostle, *bench, "--seconds", str(words.seconds), "--json"], folder))
    case = report["cases"][0]
    return case["steps_per_second"], case["atoms"]


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--lmp", required=True)
    words.add_argument("--bench", required=True)
    words.add_argument("--jostle", default="target/release/jostle")
    words.add_argument("--device", default="cuda")
    words.add_argument("--cells", type=int, default=63)
    words.add_argument("--copies", type=int, nargs=3, default=[4, 4, 2])
    words.add_argument("--turns", type=int, default=3)
    words.add_argument("--seconds", type=float, default=1.5)
    words.add_argument("case", nargs="*", choices=[*CASES, []], help="all of them unless some are named")
    words = words.parse_args()
    for name in ("lmp", "bench", "jostle"):
        setattr(words, name, pathlib.Path(getattr(words, name)).resolve())
    print(f"{'case':12} {'atoms':>9}  LAMMPS  Jostle mixed  ratio  double  ratio   (steps/s)")
    for name in words.case or CASES:
        deck, ways, warm, timed, text = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)

            # Jostle asks what the columns are.
            data = (words.bench / "data.chain").read_text()
            (folder / "chain.data").write_text(data.replace("\nAtoms\n", "\nAtoms # molecular\n"))

            def filled(text, skin=0.0):
                copies = (", " if text.startswith("units =") else " ").join(map(str, words.copies))
                return text.format(bench=words.bench, cells=words.cells, copies=copies, skin=skin)

            trials = []
            for lists, skin in ways:
                speed, _ = lammps(words, filled(deck, skin), lists, warm, timed, folder)
                trials.append((speed, lists, skin))
                print(f"{name}: LAMMPS {speed:.1f} steps/s with {lists}, skin {skin}", file=sys.stderr)
            _, lists, skin = max(trials)
            turns = []
            for _ in range(words.turns):
                theirs, atoms = lammps(words, filled(deck, skin), lists, warm, timed, folder)
                mixed, ours = jostle(words, filled(text), "mixed", folder)
                double, _ = jostle(words, filled(text), "double", folder)
                if atoms != ours:
                    raise SystemExit(f"LAMMPS has {atoms} atoms, Jostle {ours}")
                turns.append((theirs, mixed, mixed / theirs, double, double / theirs))
            t, m, r, d, q = (statistics.median(column) for column in zip(*turns))
            print(f"{name:12} {atoms:9} {t:7.1f} {m:13.1f} {r:6.2f} {d:7.1f} {q:6.2f}   {lists}, skin {skin}",
                  flush=True)


if __name__ == "__main__":
    main()
