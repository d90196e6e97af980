"""Hydration free energies of small molecules (GAFF, TIP3P), beside published ones.

    cargo build --release
    python tests/external/hydration.py ../shared/free-energy --devices cuda --output hydration
    python tests/external/hydration.py ../shared/free-energy --molecules methane --steps 20000   # a first look
    python tests/external/hydration.py ../shared/free-energy --devices cuda:0 cuda:1 --jobs 2   # a window on each GPU

A molecule is decoupled from water in 16 windows of a run each: its charges, then its Lennard-Jones force. It keeps its own
energy, so that no leg in vacuum is needed; the free energy of hydration is minus that of decoupling. Published numbers:
H. H. Loeffler et al., J. Chem. Theory Comput. 14 (2018) 5567, by AMBER, CHARMM, GROMACS and SOMD, kcal/mol. With --check
alchemlyb (pip install alchemlyb) reads the same files and must give the same free energy.
"""

import argparse
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHARGES = [1, 0.75, 0.5, 0.25] + [0] * 12
LENNARD_JONES = [1] * 5 + [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0]
PUBLISHED = {
    "methane": [2.47, 2.48, 2.44, 2.52],
    "ethane": [2.50, 2.50, 2.48, 2.56],
    "methanol": [-3.73, -3.72, -3.51, -3.70],
    "toluene": [-0.72, -0.64, -0.72, -0.55],
}
KILOCALORIE = 4.184


def input_text(folder, window, device, options):
    return f"""
units = "nano"
[system]
topology = "{folder}/solvated.parm7"
coordinates = "{folder}/solvated.rst7"
rigid = "hydrogens"
temperature = 298.15
seed = {options.seed + window}
[[force]]
kind = "lennard-jones"
cutoff = 1.0
tail_correction = true
[electrostatics]
kind = "pme"
cutoff = 1.0
[alchemy]
atoms = "resname LIG"
lambda_charges = {CHARGES}
lambda_lennard_jones = {LENNARD_JONES}
window = {window}
soft_core = "{options.soft_core}"
sample_every = {options.every}
[[stage]]
name = "minimize"
minimize = {{ steps = 500 }}
[[stage]]
name = "equilibrate"
steps = {options.steps // 5}
timestep = 0.002
thermostat = {{ kind = "bussi", temperature = 298.15, period = 0.5 }}
barostat = {{ kind = "monte-carlo", pressure = "1 atm" }}
[[stage]]
name = "sample"
steps = {options.steps}
timestep = 0.002
thermostat = {{ kind = "bussi", temperature = 298.15, period = 0.5 }}
barostat = {{ kind = "monte-carlo", pressure = "1 atm" }}
thermo = {{ every = 1000 }}
[run]
device = "{device}"
"""


def finished(folder):
    summary = folder / "summary.json"
    return summary.exists() and json.loads(summary.read_text())["status"] == "finished"


def run_window(molecule, window, options):
    """Folder of the run of a window, which is made unless it is there."""
    folder = options.output / f"{molecule}-{options.soft_core}-{window:02}"
    if not finished(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = folder.with_suffix(".toml")
        device = options.devices[window % len(options.devices)]
        file.write_text(input_text((options.files / molecule).resolve(), window, device, options))
        with open(folder.with_suffix(".log"), "w") as log:
            command = [options.jostle, "run", file, "--output", folder, "--overwrite"]
            subprocess.run(command, check=True, stdout=log, stderr=log)
    return folder


def compare(molecule, folders, options):
    command = [options.jostle, "analyze", "free-energy", *folders, "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    values = {value["name"]: value for value in answer["results"]["values"]}
    energy = values["free energy by MBAR, as an energy"]
    hydration, error = -energy["value"] / KILOCALORIE, energy["error"] / KILOCALORIE
    published = PUBLISHED[molecule]
    mean = sum(published) / len(published)
    print(f"{molecule}: {hydration:.2f} +- {error:.2f} kcal/mol; published {published}, mean {mean:.2f}, "
          f"difference {hydration - mean:+.2f}", flush=True)
    if options.check:
        check([folder / "sample.dhdl.xvg" for folder in folders], values["free energy by MBAR"]["value"])


def check(files, found):
    from alchemlyb.estimators import MBAR
    from alchemlyb.parsing.gmx import extract_u_nk
    import pandas

    energies = pandas.concat([extract_u_nk(str(file), T=298.15) for file in files])
    by_alchemlyb = MBAR().fit(energies).delta_f_
    value = by_alchemlyb.iloc[0, -1]
    print(f"  alchemlyb, all samples: {value:.3f} kT; jostle, independent samples: {found:.3f} kT")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path)
    parser.add_argument("--molecules", nargs="+", default=list(PUBLISHED))
    parser.add_argument("--jostle", default="target/release/jostle")
    parser.add_argument("--devices", nargs="+", default=["auto"], help="windows take turns")
    parser.add_argument("--jobs", type=int, default=1, help="windows at a time")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--every", type=int, default=200)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--soft-core", default="beutler")
    parser.add_argument("--output", type=Path, default=Path("hydration"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    windows = range(len(CHARGES))
    with ThreadPoolExecutor(options.jobs) as jobs:
        runs = {m: [jobs.submit(run_window, m, w, options) for w in windows] for m in options.molecules}
        for molecule, folders in runs.items():
            compare(molecule, [folder.result() for folder in folders], options)


main()
