"""Where a weakly screened Coulomb crystal melts, from both sides.

Half a box of bcc crystal and half a box of liquid are put together and held at 1 / Gamma. Where the
crystal is stable it grows, else it melts: the potential energy tells how much of it there is.

    python benches/physics/coulomb_crystal.py target/release/jostle --device cuda

needs numpy, and half a minute on a GPU. It melts at 180 and grows at 195. With weaker screening,
--kappa 0.3 --cutoff 19.5 --cells 20 20 40 --steps 30000 --gamma 165 175 185 195, it melts at 165,
shrinks a little at 175, and grows at 185 and 195. Without screening freezing is at Gamma = 175 or so
(D. K. Berry, J. Schuchart and R. Henschel 2013 have 175; W. L. Slattery, G. D. Doolen and
H. E. DeWitt, Phys. Rev. A 21, 2087 (1980), 168 +- 4); screening raises it. The melting line of screened
ions of M. S. Murillo, High Energy Density Phys. 4, 49 (2008), as public codes quote it, Gamma = 171.8 +
82.8 (exp(0.565 kappa^1.38) - 1), lies at 192 for the first and at 181 for the second.
"""

import argparse
import csv
import pathlib
import subprocess

import numpy as np

CELLS = (14, 14, 28)
EDGE = (8 * np.pi / 3) ** (1 / 3)  # two ions in a cell, 3 / (4 pi) per volume
HEAD = """title = "{name}"
units = "plasma"
[system]
{system}
seed = {seed}
[species.ion]
charge = 1
[[force]]
kind = "yukawa"
cutoff = {cutoff}
truncation = "force-shifted"
screening_length = {screening_length}
"""
STAGE = """
[[stage]]
name = "{name}"
steps = {steps}
timestep = {timestep}
thermostat = {{ kind = "langevin", temperature = {temperature}, friction = {friction} }}
thermo = {{ every = 100 }}
"""


def run(arguments, folder, name, system, stages, last_frame=True):
    """Runs stages (name, steps, timestep, temperature, friction); rows of thermo.csv, last frame."""
    text = HEAD.format(name=name, system=system, seed=1, cutoff=arguments.cutoff,
                       screening_length=1 / arguments.kappa)
    for stage in stages:
        text += STAGE.format(**dict(zip(("name", "steps", "timestep", "temperature", "friction"), stage)))
    if last_frame:
        text += f'trajectory = {{ every = {stages[-1][1]}, format = "xyz" }}\n'
    path = folder / f"{name}.toml"
    path.write_text(text)
    out = folder / name
    subprocess.run([arguments.jostle, "run", path, "--device", arguments.device, "--overwrite", "-o", out],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines = [line for line in (out / "thermo.csv").read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    potential = np.array([float(row[next(k for k in row if k.startswith("potential"))]) for row in rows])
    frame = None
    if last_frame:
        atoms = (out / f"{stages[-1][0]}.xyz").read_text().splitlines()
        n = int(atoms[0])
        frame = np.array([line.split()[1:4] for line in atoms[-n:]], dtype=float)
    return potential, frame


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("jostle")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--kappa", type=float, default=0.5)
    parser.add_argument("--cutoff", type=float, default=13.0)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--cells", type=int, nargs=3, default=CELLS)
    parser.add_argument("--gamma", type=float, nargs="+", default=[150, 165, 180, 195, 210])
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("coulomb-crystal"))
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(exist_ok=True)
    box = np.array(arguments.cells) * EDGE
    n = 2 * int(np.prod(arguments.cells))
    sites = np.array([(i, j, k) for i in range(arguments.cells[0]) for j in range(arguments.cells[1])
                      for k in range(arguments.cells[2])], dtype=float)
    sites = np.concatenate([sites + 0.25, sites + 0.75]) * EDGE

    def write(name, atoms):
        lattice = f"{box[0]} 0 0 0 {box[1]} 0 0 0 {box[2]}"
        lines = [str(len(atoms)), f'Lattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"']
        lines += ["ion %.9f %.9f %.9f" % tuple(x) for x in atoms]
        path = folder / f"{name}.xyz"
        path.write_text("\n".join(lines) + "\n")
        return path

    def structure(path, temperature):
        return f'file = "{path.resolve()}"\ntemperature = {temperature}'

    crystal = write("sites", sites)
    print(f"kappa = {arguments.kappa}, {n} ions")
    print("Gamma   u crystal   u liquid   crystal in the first and the last tenth of the run")
    for gamma in arguments.gamma:
        t = 1 / gamma
        settle = [("settle", 2000, 0.1, t, 0.2), ("sample", 2000, 0.1, t, 0.05)]
        solid, solid_end = run(arguments, folder, "crystal", structure(crystal, t), settle)
        melt = [("melt", 3000, 0.1, 1 / 40, 0.2)] + settle
        liquid, liquid_end = run(arguments, folder, "liquid", structure(crystal, 1 / 20), melt)
        u_solid, u_liquid = solid[-20:].mean() / n, liquid[-20:].mean() / n
        solid_end, liquid_end = solid_end % box, liquid_end % box
        # As many ions as before: the energy depends on the density more than on anything else.
        lower = solid_end[solid_end[:, 2] < box[2] / 2]
        upper = liquid_end[np.argsort(liquid_end[:, 2])[len(lower):]]
        both = np.concatenate([lower, upper])
        path = write("both", both)
        stages = [("join", 1000, 0.05, t, 1.0), ("watch", arguments.steps, 0.1, t, 0.05)]
        u = run(arguments, folder, "two-phase", structure(path, t), stages, last_frame=False)[0][10:] / n
        share = (u_liquid - u) / (u_liquid - u_solid)
        tenth = len(share) // 10
        first, last = share[:tenth].mean(), share[-tenth:].mean()
        verdict = "grows" if last > first else "melts"
        print(f"{gamma:5.0f}   {u_solid:.6f}   {u_liquid:.6f}   {first:.2f} {last:.2f}   {verdict}", flush=True)


if __name__ == "__main__":
    main()
