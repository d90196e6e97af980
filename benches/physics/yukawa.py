"""Energies of weakly screened ions, extrapolated to no screening, beside those of the one-component plasma.

    python benches/physics/yukawa.py target/release/jostle [--device cpu] [--threads 1]

needs numpy, and ten minutes of one core. 686 ions are in sums over all images of exp(-kappa r)/r: lengths in
ion-sphere radii, energies of an ion in its temperature. Jostle's sum has no background. A uniform one takes
3 Gamma / 2 kappa^2 from it (half of 4 pi / kappa^2 times the density). Further kappa Gamma / 2 is subtracted,
the only odd power of kappa: the sum leaves out what an ion does to itself, exp(-kappa r)/r at its own place,
which is 1/r - kappa. So at given places of all ions what remains goes by powers of kappa^2 to the energy of
the one-component plasma. Most of it is that of the bcc lattice at the same kappa, which Jostle knows without
noise: what ions have above the lattice is fitted by a parabola in kappa^2, or a line with three kappa or two.

The first table is the lattice. Published is -0.895929255682 Gamma without screening (P. Haensel, A. Y. Potekhin
and D. G. Yakovlev, Neutron Stars 1 (2007), table 2.4, as public codes quote it). The second is the fluid.
Molecular dynamics are of particle-mesh Ewald, --sum ewald of Ewald's own; the last frame of each run has its
energy from both, and the last column is how far they are apart. "none" is a run without screening, which the
fit does not have. Published are two fits to simulations, read in public codes that quote them:

- u = a Gamma + b Gamma^s + c: H. DeWitt and W. Slattery, Contrib. Plasma Phys. 43 (2003) 279, as in XNet's
  data of screening.
- A. Y. Potekhin and G. Chabrier, Phys. Rev. E 62 (2000) 8554, with parameters adjusted to J. M. Caillol,
  J. Chem. Phys. 111 (1999) 6538, as in Potekhin's own program for the equation of state (FITION9).

Nothing is done about the number of ions: with --cells 5 --gamma 40 --steps 80000, 250 of them, energies at the
same kappa are lower by 0.0023 +- 0.0012 on the average of five, and their limit is the same within its error.
"""

import argparse
import json
import math
import pathlib
import subprocess

import numpy as np

LATTICE = -0.895929255682
SYSTEM = """units = "plasma"
[system]
{system}
[species.ion]
charge = 1
[electrostatics]
kind = "{kind}"
cutoff = {cutoff}
accuracy = {accuracy}
{screening}
[run]
precision = "{precision}"
"""
CRYSTAL = 'lattice = "bcc"\ncells = [{0}, {0}, {0}]\ndensity = 0.238732414637843'  # 3 / (4 pi)
# The step suits Langevin noise: with it positions have the right temperature.
STAGE = """
[[stage]]
name = "{name}"
steps = {steps}
timestep = 0.1
thermostat = {{ kind = "langevin", temperature = {temperature}, friction = 0.2 }}
thermo = {{ every = 10 }}
"""
MELT = 30  # Gamma at which the lattice melts, where runs are colder


def dewitt_slattery(gamma):
    a, b, c, s = -0.899172, 0.602249, -0.274823, 0.3230064
    return a * gamma + b * gamma**s + c


def potekhin_chabrier(gamma):
    a1, a2, b1, b2, b3, b4 = -0.907347, 0.62849, 0.004500, 170.0, -8.4e-5, 0.0037
    a3 = -math.sqrt(3) / 2 - a1 / math.sqrt(a2)
    return (gamma**1.5 * (a1 / math.sqrt(a2 + gamma) + a3 / (1 + gamma))
            + b1 * gamma**2 / (b2 + gamma) + b3 * gamma**2 / (b4 + gamma**2))


def text_of(system, kappa, kind, exact):
    """An input; exact is double precision, and errors beyond what is printed."""
    screening = f"screening_length = {1 / kappa!r}" if kappa else 'net_charge = "background"'
    cutoff, accuracy, precision = (5, 1e-12, "double") if exact else (5, 3e-5, "mixed")
    return SYSTEM.format(system=system, kind=kind, cutoff=cutoff, accuracy=accuracy, screening=screening,
                         precision=precision)


def background(kappa):
    """What is subtracted from the energy of an ion with its images and all others, over Gamma."""
    return 1.5 / kappa**2 + kappa / 2 if kappa else 0.0


def jostle(arguments, *command):
    command = [arguments.jostle, *command, "--device", arguments.device]
    command += ["--threads", str(arguments.threads)] if arguments.threads else []
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def energy(arguments, system, kappa, kind="ewald", exact=True):
    """Of an ion, over Gamma."""
    path = arguments.folder / "energy.toml"
    path.write_text(text_of(system, kappa, kind, exact))
    found = json.loads(jostle(arguments, "energy", path, "--json"))
    return found["potential"] / found["atoms"] - background(kappa)


def sample(arguments, gamma, kappa):
    """The mean energy of an ion over its temperature, its error, and what the two sums differ by at the end."""
    name = f"gamma-{gamma:g}-kappa-{kappa:g}"
    path, out = arguments.folder / f"{name}.toml", arguments.folder / name
    text = text_of(CRYSTAL.format(arguments.cells) + f"\ntemperature = {1 / gamma}\nseed = 1", kappa, arguments.sum,
                   exact=False)
    for stage, steps, at in (("melt", 2000, min(MELT, gamma)), ("settle", 4000, gamma),
                             ("sample", arguments.steps, gamma)):
        text += STAGE.format(name=stage, steps=steps, temperature=1 / at)
    path.write_text(text)
    jostle(arguments, "run", path, "--overwrite", "-o", out)
    summary = json.loads((out / "summary.json").read_text())
    averages = summary["stages"][-1]["averages"]
    estimate = next(a["estimate"] for a in averages if a["quantity"] == "potential")
    last = f'file = "{(out / "latest.checkpoint").resolve()}"'
    apart = energy(arguments, last, kappa, arguments.sum, exact=False) - energy(arguments, last, kappa)
    mean, error = (gamma * estimate[key] / summary["atoms"] for key in ("mean", "error"))
    return mean - gamma * background(kappa), error, gamma * apart


def limit(kappa, values, errors, degree):
    """Of a polynomial in kappa^2, at none; its error, and chi^2 for each degree of freedom."""
    rows = np.vander(np.square(kappa), degree + 1, increasing=True) / np.array(errors)[:, None]
    scaled = np.array(values) / errors
    found = np.linalg.lstsq(rows, scaled, rcond=None)[0]
    free = len(kappa) - degree - 1
    chi = np.sum((rows @ found - scaled) ** 2) / free if free else math.nan
    return found[0], math.sqrt(np.linalg.inv(rows.T @ rows)[0, 0]), chi


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("jostle")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--sum", choices=["pme", "ewald"], default="pme")
    parser.add_argument("--cells", type=int, default=7)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--gamma", type=float, nargs="+", default=[10, 40, 80])
    parser.add_argument("--kappa", type=float, nargs="+", default=[0.6, 0.4, 0.2, 0.1])
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("yukawa-plasma"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    kappas, degree = arguments.kappa, max(1, min(2, len(arguments.kappa) - 2))
    if len(kappas) < 2:
        parser.error("it takes two kappa at least to go on to none")

    print("kappa    energy of the bcc lattice over Gamma, with its background")
    lattice = {kappa: energy(arguments, CRYSTAL.format(6), kappa) for kappa in [*kappas, 0.05, 0.0]}
    for kappa, value in lattice.items():
        print(f"{kappa or 'none':<8} {value:.12f}")
    weak = list(lattice)[:-1]
    found, _, _ = limit(weak, [lattice[kappa] for kappa in weak], np.ones(len(weak)), len(weak) - 1)
    print(f"to none  {found:.12f}   published {LATTICE}")

    print(f"\n{2 * arguments.cells**3} ions, sums by {arguments.sum}")
    print("Gamma   kappa     u over kT             above the lattice     sums apart", flush=True)
    for gamma in arguments.gamma:
        above, errors = [], []
        for kappa in [*kappas, 0.0]:
            value, error, apart = sample(arguments, gamma, kappa)
            thermal = value - gamma * lattice[kappa]
            if kappa:
                above.append(thermal)
                errors.append(error)
            print(f"{gamma:5g}   {kappa or 'none':<7}   {value:9.4f} +- {error:.4f}   {thermal:9.4f} +- {error:.4f}"
                  f"   {apart:9.5f}", flush=True)
        found, error, chi = limit(kappas, above, errors, degree)
        print(f"{gamma:5g}   to none   {found + gamma * LATTICE:9.4f} +- {error:.4f}   {found:9.4f} +- {error:.4f}"
              + ("" if math.isnan(chi) else f"   chi^2 by degrees of freedom {chi:.2f}"))
        for name, fit in (("DeWitt and Slattery", dewitt_slattery), ("Potekhin and Chabrier", potekhin_chabrier)):
            u = fit(gamma)
            print(f"{gamma:5g}             {u:9.4f}             {u - gamma * LATTICE:9.4f}             {name},"
                  f" {(found - u + gamma * LATTICE) / error:+.1f} errors", flush=True)


if __name__ == "__main__":
    main()
