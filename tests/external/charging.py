"""Free energy of charging a sodium ion in water, in boxes of several sizes.

    cargo build --release
    python tests/external/charging.py --device cuda --output charging

Each box has one ion (Joung and Cheatham's parameters) among so many SPC/E molecules at their density. The charge is taken
off in 11 windows at a constant volume; printed is the free energy of putting it on, by MBAR and by thermodynamic
integration, as the lattice sum has it: with the energy of the ion's own images in their background, which is the leading
correction for the size of the box (Hummer, Pratt and Garcia, J. Phys. Chem. 100 (1996) 1206), and, beside it, what would
have been found without that energy. With it boxes of all sizes must agree but for terms of the order of the inverse volume,
and the energy must be that of Born's ion: quadratic in the charge, with a radius that no box changes.

Measured, kJ/mol by MBAR, 64 molecules (one H200, 100,000 steps a window), 128 and 256 (a CPU, 40,000 and 30,000): -375.8 +-
0.5, -375.3 +- 1.0, -374.0 +- 0.9, a radius of 0.182 to 0.183 nm in all; without the images -217, -249 and -274.
"""

import argparse
import json
import subprocess
from pathlib import Path

WINDOWS = [round(1 - 0.1 * k, 1) for k in range(11)]
COULOMB = 138.935458  # kJ/mol nm
THERMAL_ENERGY = 8.314462618e-3 * 300  # kJ/mol
WIGNER = 2.837297
PERMITTIVITY = 71  # SPC/E
PER_VOLUME = 33.4  # molecules of water in a nm^3
TOPOLOGIES = {
    "water": """[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
OW 15.9994 0.0 A 0.3166 0.650194
HW 1.008 0.0 A 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.8476 15.9994
2 HW 1 SOL HW1 1 0.4238 1.008
3 HW 1 SOL HW2 1 0.4238 1.008
[ settles ]
1 1 0.1 0.16330
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
SOL 1
""",
    "ion": """[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
NA 22.99 0.0 A 0.2159538 1.475453
[ moleculetype ]
ION 1
[ atoms ]
1 NA 1 NA NA 1 1.0 22.99
[ system ]
ion
[ molecules ]
ION 1
""",
}
COORDINATES = {
    "water": """water
3
    1SOL     OW    1   0.000   0.000   0.000
    1SOL    HW1    2   0.100   0.000   0.000
    1SOL    HW2    3  -0.033   0.094   0.000
1 1 1
""",
    "ion": """ion
1
    1NA      NA    1   0.000   0.000   0.000
1 1 1
""",
}


def input_text(n, steps):
    edge = (n / PER_VOLUME) ** (1 / 3)
    thermostat = '{ kind = "bussi", temperature = 300, period = 0.2 }'
    return f"""
units = "nano"
[system]
place = "molecules"
box = {{ lengths = [{edge}, {edge}, {edge}] }}
temperature = 300
seed = 1
[[molecule]]
topology = "ion.top"
coordinates = "ion.gro"
count = 1
[[molecule]]
topology = "water.top"
coordinates = "water.gro"
count = {n}
[[force]]
kind = "lennard-jones"
cutoff = 0.6
mixing = "lorentz-berthelot"
[electrostatics]
kind = "pme"
cutoff = 0.6
accuracy = 1e-5
[alchemy]
atoms = "name NA"
lambda_charges = {WINDOWS}
lambda_lennard_jones = {[1] * len(WINDOWS)}
window = 0
sample_every = 100
[[stage]]
name = "minimize"
minimize = {{ steps = 500 }}
[[stage]]
name = "settle"
steps = {steps // 5}
timestep = 0.002
thermostat = {thermostat}
[[stage]]
name = "sample"
steps = {steps}
timestep = 0.002
thermostat = {thermostat}
"""


def charge(n, options):
    """Free energies of charging in kJ/mol by their name, with errors."""
    file, folder = options.output / f"{n}.toml", options.output / f"{n}"
    file.write_text(input_text(n, options.steps))
    windows = ",".join(str(k) for k in range(len(WINDOWS)))
    command = [options.jostle, "sweep", file, "--over", f"alchemy.window={windows}", "--output", folder,
               "--device", options.device, "--at-once", str(len(WINDOWS)), "--json"]
    rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    folders = [folder / row["folder"] for row in rows]
    command = [options.jostle, "analyze", "free-energy", *folders, "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {value["name"]: value for value in answer["results"]["values"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jostle", default="target/release/jostle")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--molecules", nargs="+", type=int, default=[64, 128, 256, 512])
    parser.add_argument("--steps", type=int, default=200_000, help="of each window")
    parser.add_argument("--output", type=Path, default=Path("charging"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in TOPOLOGIES:
        (options.output / f"{name}.top").write_text(TOPOLOGIES[name])
        (options.output / f"{name}.gro").write_text(COORDINATES[name])
    for n in options.molecules:
        values = charge(n, options)
        images = 0.5 * COULOMB * WIGNER / (n / PER_VOLUME) ** (1 / 3)
        found = []
        for name in ("MBAR", "thermodynamic integration"):
            value, error = (THERMAL_ENERGY * values[f"free energy by {name}"][key] for key in ("value", "error"))
            radius = 0.5 * COULOMB * (1 - 1 / PERMITTIVITY) / value
            found.append(f"{-value:.2f} +- {error:.2f} by {name} (Born's radius {radius:.4f} nm)")
        without = -THERMAL_ENERGY * values["free energy by MBAR"]["value"] + images
        print(f"{n} molecules: {', '.join(found)}; without its images {without:.2f} kJ/mol", flush=True)


main()
