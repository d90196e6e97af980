"""How far the energy of rigid water goes at constant energy.

    python benches/physics/energy_drift.py target/release/jostle [--device cuda] [--molecules 8000] [--ns 1]
        [--runs 3] [--accuracy 1e-5] [--truncation switched] [--folder drift]

SPC/E water at 300 K, 2 fs, particle-mesh Ewald, cut-off 9 A. A line for each run, which differ by their seeds:
the slope of a straight line through the energy every 200 fs, in kT per ns and degree of freedom, and the means
of its eight parts. A run has 24 ps with heat baths first. That is for a GPU: --molecules 1000 --ns 0.2 is for
two cores.
"""

import argparse
import csv
import pathlib
import statistics
import subprocess

INPUT = """units = "real"
[system]
place = "water"
molecules = {molecules}
bond_length = 1.0
bond_angle = 109.47
density = "0.998 g/cm3"
temperature = 300
seed = {seed}
[species.O]
mass = 15.9994
charge = -0.8476
[species.H]
mass = 1.008
charge = 0.4238
[[force]]
kind = "lennard-jones"
cutoff = 9
truncation = "{truncation}"
pairs."O-O" = {{ epsilon = 0.1553, sigma = 3.166 }}
pairs."O-H" = "none"
pairs."H-H" = "none"
[electrostatics]
kind = "pme"
accuracy = {accuracy}
[[stage]]
name = "settle"
steps = 2_000
timestep = 0.5
thermostat = {{ kind = "langevin", temperature = 300, friction = 0.05 }}
[[stage]]
name = "equilibrate"
steps = 10_000
timestep = 2
thermostat = {{ kind = "bussi", temperature = 300, period = "0.5 ps" }}
[[stage]]
name = "sample"
steps = {steps}
timestep = 2
thermo = {{ every = 100 }}
"""
BOLTZMANN = 0.0019872042586  # kcal/mol/K


def drift_of(folder, freedom):
    with (folder / "thermo.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] == "sample"]
    times = [1e-6 * float(row["time (fs)"]) for row in rows]
    energies = [float(row["total (kcal/mol)"]) for row in rows]
    thermal = BOLTZMANN * statistics.fmean(float(row["temperature (K)"]) for row in rows)
    slope = statistics.linear_regression(times, energies).slope / thermal / freedom
    mean, n = statistics.fmean(energies), len(energies)
    parts = [statistics.fmean(energies[k * n // 8 : (k + 1) * n // 8]) - mean for k in range(8)]
    return slope, parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jostle", type=pathlib.Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--molecules", type=int, default=8000)
    parser.add_argument("--ns", type=float, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--accuracy", type=float, default=1e-5)
    parser.add_argument("--truncation", default="switched")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("drift"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for seed in range(1, given.runs + 1):
        name = f"{given.truncation}-{given.accuracy:g}-{seed}"
        settings = {"molecules": given.molecules, "truncation": given.truncation, "accuracy": given.accuracy}
        text = INPUT.format(seed=seed, steps=round(500_000 * given.ns), **settings)
        (given.folder / f"{name}.toml").write_text(text)
        command = [given.jostle.resolve(), "run", f"{name}.toml", "--device", given.device]
        done = subprocess.run(command, capture_output=True, text=True, cwd=given.folder)
        if done.returncode:
            raise SystemExit(done.stderr)
        slope, parts = drift_of(given.folder / name, 6 * given.molecules - 3)
        shown = " ".join(f"{part:+.2f}" for part in parts)
        print(f"{name}: {slope:+.1e} kT/ns per degree of freedom; parts {shown} kcal/mol", flush=True)


if __name__ == "__main__":
    main()
