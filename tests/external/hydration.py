"""Hydration free energies of small molecules (GAFF, TIP3P), beside published ones.

    cargo build --release
    python tests/external/hydration.py ../shared/free-energy --device cuda --output hydration
    python tests/external/hydration.py ../shared/free-energy --molecules methane --steps 20000   # a first look

The same command again goes on where it was interrupted.

A molecule is decoupled from water in 16 windows of a run each: its charges, then its Lennard-Jones force. It keeps its own
energy, so that no leg in vacuum is needed; the free energy of hydration is minus that of decoupling. All windows are at
1 atm, and the mean volume of each is printed: water that is 1% too thin takes 0.2 kcal/mol off the free energy of a
molecule like methane (its volume over the compressibility of water), so that a box that is fixed must be known to a
tenth of that. The files' boxes are a third too large; the first fifth of each run lets them shrink. Published numbers:
H. H. Loeffler et al., J. Chem. Theory Comput. 14 (2018) 5567, by AMBER, CHARMM, GROMACS and SOMD, kcal/mol.

With --fixed runs of the first and the last window find their mean volumes at 1 atm, and all windows have the box half-way
between these. A GPU makes them at once then. A box that is off by v adds v^2 / 2 V k to the free energy of a window (k is
the compressibility of water), as much to both ends where it is half-way; the box of the coupled molecule alone would take
0.02 kcal/mol off the hydration of methane, whose volume is 0.06 nm^3, and 0.12 off that of toluene.

With --check alchemlyb (pip install alchemlyb) reads the same files and must give the same free energy.

Measured on H200s with --fixed and --every 250, Beutler's soft core, Gapsys' and the mean of the published four:
  methane     2.51 +- 0.06   2.40 +- 0.06   2.48   300 ps a window, a minute for all windows on one H200
  ethane      2.57 +- 0.06   2.58 +- 0.06   2.51   360 ps
  methanol   -3.63 +- 0.08  -3.54 +- 0.08  -3.67   400 ps
  toluene    -0.68 +- 0.08  -0.61 +- 0.08  -0.66   600 ps, 2 min 20 s
With a barostat in each window, on H100s, 244 ps, Beutler's: 2.52 +- 0.07, 2.60 +- 0.09, -3.53 +- 0.10, -0.63 +- 0.11; pymbar
finds -0.63 from the same samples.
"""

import argparse
import csv
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHARGES = [1, 0.7, 0.35] + [0] * 13
# Where free energies between neighbouring windows had like errors, for methane, ethane and methanol.
LENNARD_JONES = {
    "beutler": [1] * 4 + [0.86, 0.74, 0.64, 0.54, 0.46, 0.39, 0.35, 0.31, 0.265, 0.22, 0.15, 0],
    "gapsys": [1] * 4 + [0.64, 0.48, 0.37, 0.29, 0.235, 0.19, 0.16, 0.13, 0.1, 0.075, 0.05, 0],
}
PUBLISHED = {
    "methane": [2.47, 2.48, 2.44, 2.52],
    "ethane": [2.50, 2.50, 2.48, 2.56],
    "methanol": [-3.73, -3.72, -3.51, -3.70],
    "toluene": [-0.72, -0.64, -0.72, -0.55],
}
KILOCALORIE = 4.184
# The first is fast where the pressure is far off, the second is exact and costs little.
SHRINKING = 'kind = "cell-rescaling", time = 1, compressibility = "4.5e-5 1/bar"'
SAMPLING = 'kind = "monte-carlo"'
THERMOSTAT = '{ kind = "bussi", temperature = 298.15, period = 0.5 }'


def decoupling_text(options):
    return f"""
[alchemy]
atoms = "resname LIG"
lambda_charges = {CHARGES}
lambda_lennard_jones = {LENNARD_JONES[options.soft_core]}
"""


def system_text(source, alchemy, options, coordinates=None):
    """An input up to its minimisation, with files of the folder `source`; `alchemy` ends with keys of [alchemy]."""
    return f"""
units = "nano"
[system]
topology = "{source / "solvated.parm7"}"
coordinates = "{coordinates or source / "solvated.rst7"}"
rigid = "hydrogens"
temperature = 298.15
seed = 1
[[force]]
kind = "lennard-jones"
cutoff = 1.0
tail_correction = true
[electrostatics]
kind = "pme"
cutoff = 1.0
{alchemy}
window = 0
soft_core = "{options.soft_core}"
sample_every = {options.every}
[[stage]]
name = "minimize"
minimize = {{ steps = 500 }}
"""


def stage_text(name, steps, barostat="", more=""):
    """A stage of time steps; without a barostat its box is fixed."""
    barostat = f'barostat = {{ {barostat}, pressure = "1 atm" }}' if barostat else ""
    return f"""
[[stage]]
name = "{name}"
steps = {steps}
timestep = 0.002
thermostat = {THERMOSTAT}
{barostat}
{more}
"""


def sweep(file, windows, output, device, number, options):
    """Folders of the runs of some windows on a device, by window; what is finished is not run again."""
    over = "alchemy.window=" + ",".join(str(window) for window in windows)
    # Seeds follow from the place in the list of windows.
    seed = f"system.seed={options.seed + 1000 * number}"
    command = [options.jostle, "sweep", file, "--over", over, "--output", output, "--device", device, "--set", seed, "--json"]
    with open(output.with_suffix(f".{number}.log"), "w") as log:
        made = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=log, text=True)
    return {window: output / row["folder"] for window, row in zip(windows, json.loads(made.stdout))}


def sweep_all(file, n_windows, output, options):
    """Folders of the runs of all windows, of which each device has its share."""
    shares = [range(number, n_windows, len(options.device)) for number in range(len(options.device))]
    with ThreadPoolExecutor(len(shares)) as pool:
        runs = [pool.submit(sweep, file, windows, output, device, number, options)
                for number, (device, windows) in enumerate(zip(options.device, shares))]
    folders = {window: folder for run in runs for window, folder in run.result().items()}
    return [folders[window] for window in range(n_windows)]


def run_windows(molecule, alchemy, n_windows, options):
    """Folders of the runs of all windows, from files in the folder of the molecule."""
    source, folder = (options.files / molecule).resolve(), options.output / molecule
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{options.soft_core}.toml"
    every = max(options.steps // 1000, 1)
    sampling = f"thermo = {{ every = {every} }}"
    if options.fixed:
        start = start_of_mean_volume(folder, source, alchemy, [0, n_windows - 1], options)
        text = system_text(source, alchemy, options, start)
        text += stage_text("settle", options.steps // 5) + stage_text("sample", options.steps, more=sampling)
    else:
        text = system_text(source, alchemy, options)
        text += stage_text("shrink", options.steps // 5, SHRINKING)
        text += stage_text("sample", options.steps, SAMPLING, sampling)
    file.write_text(text)
    folders = sweep_all(file, n_windows, folder / options.soft_core, options)
    if not options.fixed:
        print(f"{molecule}: volumes " + ", ".join(map(volume, folders)) + " nm^3", flush=True)
    return folders


def start_of_mean_volume(folder, source, alchemy, windows, options):
    """File with a frame of the first of these windows whose volume is nearest to the mean of the volumes of all at 1 atm."""
    start = folder / "start.gro"
    if not start.exists():
        with ThreadPoolExecutor(len(windows)) as pool:
            runs = [pool.submit(run_of_volume, folder, source, alchemy, window, options) for window in windows]
        volumes = [run.result() for run in runs]
        mean = sum(sum(of_run) / len(of_run) for of_run in volumes) / len(volumes)
        nearest = min(range(len(volumes[0])), key=lambda frame: abs(volumes[0][frame] - mean))
        choice = ["--first", str(nearest), "--last", str(nearest)]
        frames = folder / f"box-{windows[0]}" / "sample.xtc"
        subprocess.run([options.jostle, "convert", frames, start, *choice], check=True, capture_output=True)
        found = ", ".join(volume(folder / f"box-{window}") for window in windows)
        print(f"{folder.name}: volumes {found} nm^3, box of {volumes[0][nearest]:.3f} nm^3", flush=True)
    return start.resolve()


def run_of_volume(folder, source, alchemy, window, options):
    """Volumes of the frames of a run of a window at 1 atm."""
    file, run = folder / f"box-{window}.toml", folder / f"box-{window}"
    text = system_text(source, alchemy, options).replace("window = 0", f"window = {window}")
    text += stage_text("shrink", 20_000, SHRINKING)
    frames = 'thermo = { every = 200 }\ntrajectory = { every = 200 }'
    file.write_text(text + stage_text("sample", options.box_steps, SAMPLING, frames))
    command = [options.jostle, "run", file, "--output", run, "--device", options.device[0], "--overwrite"]
    subprocess.run(command, check=True, capture_output=True)
    with open(run / "thermo.csv") as rows:
        return [float(row["volume (nm^3)"]) for row in csv.DictReader(rows) if row["stage"] == "sample"]


def volume(folder):
    """Mean volume of the last stage of a run, with its error."""
    averages = json.loads((folder / "summary.json").read_text())["stages"][-1]["averages"]
    estimate = next(average["estimate"] for average in averages if average["quantity"] == "volume")
    return f"{estimate['mean']:.3f} +- {estimate['error']:.3f}"


def free_energy(folders, options):
    """Free energy of the last window less that of the first, with its error, in kcal/mol, by MBAR."""
    command = [options.jostle, "analyze", "free-energy", *folders, "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    values = {value["name"]: value for value in answer["results"]["values"]}
    energy = values["free energy by MBAR, as an energy"]
    if options.check:
        check([folder / "sample.dhdl.xvg" for folder in folders], values["free energy by MBAR"]["value"])
    return energy["value"] / KILOCALORIE, energy["error"] / KILOCALORIE


def compare(molecule, decoupling, seconds, options):
    hydration, error = -decoupling[0], decoupling[1]
    published = PUBLISHED[molecule]
    mean = sum(published) / len(published)
    print(f"{molecule}, {options.soft_core}: {hydration:.2f} +- {error:.2f} kcal/mol; published {published}, "
          f"mean {mean:.2f}, difference {hydration - mean:+.2f}; {seconds:.0f} s", flush=True)


def check(files, found):
    from alchemlyb.estimators import MBAR
    from alchemlyb.parsing.gmx import extract_u_nk
    import pandas

    energies = pandas.concat([extract_u_nk(str(file), T=298.15) for file in files])
    by_alchemlyb = MBAR().fit(energies).delta_f_
    value = by_alchemlyb.iloc[0, -1]
    print(f"  alchemlyb, all samples: {value:.3f} kT; jostle: {found:.3f} kT")


def arguments():
    """Arguments of this script and of those that share its windows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path)
    parser.add_argument("--jostle", default="target/release/jostle")
    parser.add_argument("--device", nargs="+", default=["auto"], help="several share the windows: cuda:0 cuda:1")
    parser.add_argument("--steps", type=int, default=500_000, help="of each window")
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--soft-core", default="beutler")
    parser.add_argument("--fixed", action="store_true", help="one box for all windows")
    parser.add_argument("--box-steps", type=int, default=250_000, help="of the run that finds it")
    parser.add_argument("--output", type=Path, default=Path("hydration"), help="folder of the runs")
    parser.add_argument("--check", action="store_true")
    return parser


def main():
    parser = arguments()
    parser.add_argument("--molecules", nargs="+", default=list(PUBLISHED))
    options = parser.parse_args()
    for molecule in options.molecules:
        begun = time.time()
        folders = run_windows(molecule, decoupling_text(options), len(CHARGES), options)
        compare(molecule, free_energy(folders, options), time.time() - begun, options)


if __name__ == "__main__":
    main()
