"""Hydration free energies of small molecules (GAFF, TIP3P), beside published ones.

    cargo build --release
    python tests/external/hydration.py ../shared/free-energy --device cuda --output hydration
    python tests/external/hydration.py ../shared/free-energy --molecules methane --steps 20000   # a first look

A molecule is decoupled from water in 16 windows of a run each: its charges, then its Lennard-Jones force. It keeps its own
energy, so that no leg in vacuum is needed; the free energy of hydration is minus that of decoupling. First the two end
windows run at 1 atm; all windows then have the box half-way between their mean volumes, which makes the free energy at
constant volume that at constant pressure to second order. Published numbers:
H. H. Loeffler et al., J. Chem. Theory Comput. 14 (2018) 5567, by AMBER, CHARMM, GROMACS and SOMD, kcal/mol. With --check
alchemlyb (pip install alchemlyb) reads the same files and must give the same free energy.
"""

import argparse
import json
import re
import subprocess
import time
from pathlib import Path

CHARGES = [1, 0.75, 0.5, 0.25] + [0] * 12
LENNARD_JONES = [1] * 5 + [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0]
LAST = len(CHARGES) - 1
PUBLISHED = {
    "methane": [2.47, 2.48, 2.44, 2.52],
    "ethane": [2.50, 2.50, 2.48, 2.56],
    "methanol": [-3.73, -3.72, -3.51, -3.70],
    "toluene": [-0.72, -0.64, -0.72, -0.55],
}
KILOCALORIE = 4.184
THERMOSTAT = '{ kind = "bussi", temperature = 298.15, period = 0.5 }'


def system_text(topology, coordinates, options):
    return f"""
units = "nano"
[system]
topology = "{topology}"
coordinates = "{coordinates}"
rigid = "hydrogens"
temperature = 298.15
seed = {options.seed}
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
window = 0
soft_core = "{options.soft_core}"
sample_every = {options.every}
[run]
device = "{options.device}"
[[stage]]
name = "minimize"
minimize = {{ steps = 500 }}
"""


def stage_text(name, steps, more=""):
    return f"""
[[stage]]
name = "{name}"
steps = {steps}
timestep = 0.002
thermostat = {THERMOSTAT}
{more}
"""


def sweep(file, windows, output, options):
    """Folders of the runs of some windows, which are made unless they are there."""
    over = "alchemy.window=" + ",".join(str(window) for window in windows)
    command = [options.jostle, "sweep", file, "--over", over, "--output", output, "--json"]
    with open(output.with_suffix(".log"), "w") as log:
        made = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=log, text=True)
    return [output / row["folder"] for row in json.loads(made.stdout)]


def frames(file):
    """Boxes and positions of an extended XYZ file, in its order of atoms."""
    lines = iter(file.read_text().splitlines())
    for count in lines:
        box = [float(x) for x in re.search(r'Lattice="([^"]*)"', next(lines)).group(1).split()]
        yield [box[0], box[4], box[8]], [next(lines).split()[1:4] for _ in range(int(count))]


def equilibrate(molecule, options):
    """Coordinates in a box half-way between the mean volumes of the two end windows."""
    source, folder = (options.files / molecule).resolve(), options.output / molecule
    coordinates = folder / "start.rst7"
    if coordinates.exists():
        return coordinates
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "volume.toml"
    barostat = 'barostat = { kind = "monte-carlo", pressure = "1 atm" }'
    frame = f'trajectory = {{ every = {max(options.volume_steps // 200, 1)}, format = "xyz" }}'
    text = system_text(source / "solvated.parm7", source / "solvated.rst7", options)
    text += stage_text("compress", options.volume_steps // 2, barostat)
    text += stage_text("volume", options.volume_steps, f"{barostat}\n{frame}")
    file.write_text(text)
    seen = [list(frames(f / "volume.xyz")) for f in sweep(file, [0, LAST], folder / "volume", options)]
    volume = [[box[0] * box[1] * box[2] for box, _ in frames_] for frames_ in seen]
    means = [sum(volumes) / len(volumes) for volumes in volume]
    wanted = sum(means) / 2
    print(f"{molecule}: volumes {means[0]:.3f} and {means[1]:.3f} nm^3", flush=True)
    box, positions = min(seen[0], key=lambda frame: abs(frame[0][0] * frame[0][1] * frame[0][2] - wanted))
    write_restart(coordinates, box, positions)
    return coordinates


def write_restart(file, box, positions):
    """Positions in nm as an AMBER restart file."""
    numbers = [f"{10 * float(x):12.7f}" for position in positions for x in position]
    lines = ["".join(numbers[k : k + 6]) for k in range(0, len(numbers), 6)]
    edges = "".join(f"{10 * x:12.7f}" for x in box) + 3 * f"{90:12.7f}"
    file.write_text("\n".join(["default_name", f"{len(positions):5d}", *lines, edges]) + "\n")


def run_windows(molecule, options):
    """Folders of the runs of all windows."""
    coordinates = equilibrate(molecule, options)
    source, folder = (options.files / molecule).resolve(), options.output / molecule
    file = folder / f"{options.soft_core}.toml"
    text = system_text(source / "solvated.parm7", coordinates.resolve(), options)
    text += stage_text("equilibrate", options.steps // 5)
    text += stage_text("sample", options.steps, "thermo = { every = 1000 }")
    file.write_text(text)
    return sweep(file, range(LAST + 1), folder / options.soft_core, options)


def compare(molecule, folders, seconds, options):
    command = [options.jostle, "analyze", "free-energy", *folders, "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    values = {value["name"]: value for value in answer["results"]["values"]}
    energy = values["free energy by MBAR, as an energy"]
    hydration, error = -energy["value"] / KILOCALORIE, energy["error"] / KILOCALORIE
    published = PUBLISHED[molecule]
    mean = sum(published) / len(published)
    print(f"{molecule}, {options.soft_core}: {hydration:.2f} +- {error:.2f} kcal/mol; published {published}, "
          f"mean {mean:.2f}, difference {hydration - mean:+.2f}; {seconds:.0f} s", flush=True)
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
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=500_000, help="of each window")
    parser.add_argument("--volume-steps", type=int, default=100_000, help="at constant pressure")
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--soft-core", default="beutler")
    parser.add_argument("--output", type=Path, default=Path("hydration"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    for molecule in options.molecules:
        begun = time.time()
        folders = run_windows(molecule, options)
        compare(molecule, folders, time.time() - begun, options)


main()
