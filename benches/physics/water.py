"""Properties of water models beside published ones.

    python benches/physics/water.py target/release/jostle [--device cuda] [--only liquid|dielectric|transport|energy]
        [--model SPC/E|TIP3P|TIP4P/2005] [--threads 1]

512 molecules, 2 ns for each line of the first table, 10 ns for each of the second; 216 molecules and 20 ns
for the third; three runs of 1 ns of 8,000 molecules for the fourth, which is how far energies go where they
should stay. That is for a GPU: --scale 0.04 --only liquid takes 80 ps a line, which is for two cores.
What is published:

- Densities of the liquid at coexistence, and vapours from which its energy follows: V. K. Shen,
  D. W. Siderius, W. P. Krekelberg and H. W. Hatch (eds.), NIST Standard Reference Simulation Website,
  "SAT-TMMC: Liquid-Vapor coexistence properties" of SPC/E, TIP3P and TIP4P/2005 water, Lennard-Jones forces
  to 10 A with long-range corrections, Ewald's sum. In an activity z, the potential energy per molecule is
  d ln z / d beta along the line of coexistence, and z of a thin vapour is rho exp(2 (p / rho kT - 1)).
- Relative permittivities: P. Hoechtl, S. Boresch, W. Bitomsky and O. Steinhauser, J. Chem. Phys. 109 (1998)
  4927 (the abstract, which names no temperature).
- Self-diffusion of 216 molecules of TIP4P/2005 at 298 K, 0.21 A^2/ps, and viscosities at 298 K and 1 bar, as
  SklogWiki quotes them ("TIP4P/2005 model of water", "SPC/E model of water").
"""

import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess

# Bond length, angle, site distance, charge of hydrogen, epsilon, sigma.
MODELS = {
    "SPC/E": (1.0, 109.47, 0.0, 0.4238, "0.650 kJ/mol", 3.166),
    "TIP3P": (0.9572, 104.52, 0.0, 0.417, "0.1521 kcal/mol", 3.15061),
    "TIP4P/2005": (0.9572, 104.52, 0.1546, 0.5564, "93.2 K", 3.1589),
}
# Temperature: density of the vapour and its error (kg/m^3), of the liquid, pressure (bar).
COEXISTENCE = {
    "SPC/E": {
        300: ((7.373e-3, 3.3e-5), (998.1, 2.928), (1.017e-2, 4.5e-5)),
        325: ((3.061e-2, 8.9e-5), (983.0, 1.082), (4.551e-2, 1.3e-4)),
        350: ((1.007e-1, 1.5e-4), (964.8, 1.281), (1.599e-1, 2.2e-4)),
    },
    "TIP3P": {
        300: ((3.741e-2, 8.9e-5), (983.9, 0.233), (5.123e-2, 1.2e-4)),
        325: ((1.281e-1, 2.6e-4), (960.6, 0.483), (1.880e-1, 3.9e-4)),
        350: ((3.607e-1, 1.7e-3), (933.8, 1.196), (5.600e-1, 2.7e-3)),
    },
    "TIP4P/2005": {
        300: ((5.806e-3, 1.5e-5), (996.5, 1.456), (8.018e-3, 2.1e-5)),
        325: ((2.479e-2, 4.0e-5), (986.6, 0.522), (3.697e-2, 5.7e-5)),
        350: ((8.305e-2, 1.4e-4), (972.2, 1.703), (1.326e-1, 2.2e-4)),
    },
}
PERMITTIVITY = {"SPC/E": (68, 6), "TIP3P": (97, 7)}
DIFFUSION = {"TIP4P/2005": 0.21}
VISCOSITY = {"SPC/E": 0.729, "TIP4P/2005": 0.855}
GAS_CONSTANT, KILOCALORIE, MASS = 8.314462618e-3, 4.184, 18.0154

INPUT = """units = "real"
[system]
place = "water"
molecules = {molecules}
bond_length = {bond}
bond_angle = {angle}
{site}
density = "{density} g/cm3"
temperature = {temperature}
seed = {seed}
[species.O]
mass = 15.9994
{oxygen}
[species.H]
mass = 1.008
charge = {hydrogen}
{fourth}
[[force]]
kind = "lennard-jones"
cutoff = {cutoff}
truncation = "{truncation}"
tail_correction = {tail}
pairs."O-O" = {{ epsilon = "{epsilon}", sigma = {sigma} }}
{others}
[electrostatics]
kind = "pme"
accuracy = {accuracy}
[[stage]]
name = "settle"
steps = 2_000
timestep = 0.5
thermostat = {{ kind = "langevin", temperature = {temperature}, friction = 0.05 }}
"""
# Langevin noise: with it positions have the right temperature at these time steps.
STAGE = """
[[stage]]
name = "{name}"
steps = {steps}
timestep = 2
{thermostat}
{more}
"""
LANGEVIN = ("langevin", "friction = 0.001")
BUSSI = ("bussi", 'period = "1 ps"')
BAROSTAT = 'barostat = { kind = "monte-carlo", pressure = "1 bar" }\n'


def text_of(model, temperature, stages, molecules=512, cutoff=10, density=0.99, seed=3, truncation="plain",
            accuracy=5e-4):
    """Stages are name, steps, thermostat or None, and what else there is."""
    bond, angle, site, charge, epsilon, sigma = MODELS[model]
    names = "OHM" if site else "OH"
    pairs = [f"{a}-{b}" for i, a in enumerate(names) for b in names[i:]][1:]
    text = INPUT.format(
        seed=seed, truncation=truncation, tail=str(truncation == "plain").lower(), accuracy=accuracy,
        molecules=molecules, bond=bond, angle=angle, site=f"site_distance = {site}" if site else "",
        density=density, temperature=temperature, oxygen="" if site else f"charge = {-2 * charge}",
        hydrogen=charge, fourth=f"[species.M]\ncharge = {-2 * charge}" if site else "", cutoff=cutoff,
        epsilon=epsilon, sigma=sigma, others="\n".join(f'pairs."{pair}" = "none"' for pair in pairs))
    for name, steps, bath, more in stages:
        kept = f'thermostat = {{ kind = "{bath[0]}", temperature = {temperature}, {bath[1]} }}' if bath else ""
        text += STAGE.format(name=name, steps=steps, thermostat=kept, more=more)
    return text


class Run:
    """A finished run and what can be asked of it."""

    def __init__(self, arguments, name, text):
        self.out = arguments.folder / name
        path = arguments.folder / f"{name}.toml"
        path.write_text(text)
        command = [arguments.jostle, "run", path, "--device", arguments.device, "--overwrite", "-o", self.out]
        command += ["--threads", str(arguments.threads)] if arguments.threads else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def average(self, quantity):
        stage = json.loads((self.out / "summary.json").read_text())["stages"][-1]
        estimate = next(a["estimate"] for a in stage["averages"] if a["quantity"] == quantity)
        return estimate["mean"], estimate["error"]

    def measured(self, kind, name):
        values = json.loads((self.out / f"sample.{kind}.json").read_text())["values"]
        value = next(v for v in values if v["name"].startswith(name))
        return value["value"], value["error"] or 0.0

    def energies(self):
        """Times (ns), energies and temperatures of the last stage."""
        with (self.out / "thermo.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if row["stage"] == "sample"]
        columns = [[float(row[name]) for row in rows] for name in
                   ("time (fs)", "total (kcal/mol)", "temperature (K)")]
        return [1e-6 * time for time in columns[0]], *columns[1:]


def published_energy(model):
    """Potential energy per molecule between the first and the last temperature, and its error (kcal/mol)."""
    ends = []
    for kelvin in (300, 350):
        (vapour, vapour_error), _, (pressure, pressure_error) = COEXISTENCE[model][kelvin]
        beta = 1 / (GAS_CONSTANT * kelvin)
        ratio = 0.1 * pressure * beta * MASS / vapour  # p / rho kT; 1 bar is 0.1 J/cm^3
        # Density and pressure come from the same distribution and err together.
        error = max(vapour_error / vapour, pressure_error / pressure)
        ends.append((beta, math.log(vapour) + 2 * (ratio - 1), error))
    (beta, one, a), (other_beta, other, b) = ends
    span = (beta - other_beta) * KILOCALORIE
    return (one - other) / span, math.hypot(a, b) / span


def liquid(arguments):
    print("                   density (kg/m^3)               potential energy per molecule (kcal/mol)")
    print("model         T    Jostle         published      Jostle             published")
    for model, published in COEXISTENCE.items():
        if arguments.model not in (None, model):
            continue
        energies = {}
        for kelvin, (_, (density, error), _) in published.items():
            steps = int(1_000_000 * arguments.scale)
            stages = [("equilibrate", 50_000, LANGEVIN, BAROSTAT),
                      ("sample", steps, LANGEVIN, BAROSTAT + "thermo = { every = 100 }")]
            name = f"liquid-{model.replace('/', '-')}-{kelvin}"
            run = Run(arguments, name, text_of(model, kelvin, stages, density=density / 1000))
            found, found_error = run.average("density")
            energy, energy_error = (x / 512 for x in run.average("potential"))
            energies[kelvin] = energy
            print(f"{model:10s} {kelvin:4d}   {1000 * found:6.1f} +- {1000 * found_error:3.1f}   "
                  f"{density:6.1f} +- {error:3.1f}   {energy:8.3f} +- {energy_error:.3f}", flush=True)
        # Energies are even between the ends: what was published is their mean in beta.
        (value, error), mean = published_energy(model), 0.0
        betas = {kelvin: 1 / kelvin for kelvin in energies}
        for low, high in ((300, 325), (325, 350)):
            share = (betas[low] - betas[high]) / (betas[300] - betas[350])
            mean += share * (energies[low] + energies[high]) / 2
        heat = GAS_CONSTANT * 325 / KILOCALORIE
        print(f"{model:10s} mean of 300 to 350                        {mean:8.3f}            {value:8.3f} +- {error:.3f}"
              f"   (heat of vaporisation {heat - mean:.2f}, {heat - value:.2f})", flush=True)


def dielectric(arguments):
    print("relative permittivity at 298 K   Jostle         published")
    for model, (value, error) in PERMITTIVITY.items():
        if arguments.model not in (None, model):
            continue
        steps = int(5_000_000 * arguments.scale)
        stages = [("equilibrate", 50_000, LANGEVIN, BAROSTAT),
                  ("sample", steps, LANGEVIN, BAROSTAT + 'measure = [{ kind = "dielectric", every = 100 }]')]
        run = Run(arguments, f"dielectric-{model.replace('/', '-')}", text_of(model, 298, stages))
        found, found_error = run.measured("dielectric", "relative permittivity")
        print(f"{model:10s}                        {found:6.1f} +- {found_error:3.1f}    {value} +- {error}", flush=True)


def transport(arguments):
    print("at 298 K   self-diffusion (A^2/ps)        viscosity (mPa s)")
    print("model      Jostle           published     Jostle           published")
    for model in VISCOSITY:
        if arguments.model not in (None, model):
            continue
        steps = int(10_000_000 * arguments.scale)
        measures = '{ kind = "viscosity", every = 5 }, { kind = "msd", every = 250, atoms = "name O" }'
        density = COEXISTENCE[model][300][1][0] / 1000
        stages = [("equilibrate", 100_000, LANGEVIN, ""),
                  ("sample", steps, BUSSI, f"thermo = {{ every = 5 }}\nmeasure = [{measures}]")]
        run = Run(arguments, f"transport-{model.replace('/', '-')}",
                  text_of(model, 298, stages, molecules=216, cutoff=9, density=density))
        # Per fs, and in energies of the input.
        diffusion, diffusion_error = (1000 * x for x in run.measured("msd", "diffusion coefficient all"))
        viscosity, viscosity_error = (x * KILOCALORIE / 0.602214076 * 1e-3 for x in run.measured("viscosity", "viscosity"))
        print(f"{model:10s} {diffusion:.3f} +- {diffusion_error:.3f}   {DIFFUSION.get(model, '')!s:9s}     "
              f"{viscosity:.3f} +- {viscosity_error:.3f}   {VISCOSITY[model]}", flush=True)


def energy(arguments):
    print("SPC/E, 300 K   slope of the energy (kT/ns per degree of freedom)   eight parts (kcal/mol)")
    molecules = 8000
    for seed in (1, 2, 3):
        stages = [("equilibrate", 10_000, ("bussi", 'period = "0.5 ps"'), ""),
                  ("sample", int(500_000 * arguments.scale), None, "thermo = { every = 100 }")]
        text = text_of("SPC/E", 300, stages, molecules=molecules, cutoff=9, density=0.998, seed=seed,
                       truncation=arguments.truncation, accuracy=arguments.accuracy)
        times, energies, temperatures = Run(arguments, f"energy-{seed}", text).energies()
        thermal = GAS_CONSTANT / KILOCALORIE * statistics.fmean(temperatures)
        slope = statistics.linear_regression(times, energies).slope / thermal / (6 * molecules - 3)
        mean, n = statistics.fmean(energies), len(energies)
        parts = [statistics.fmean(energies[k * n // 8:(k + 1) * n // 8]) - mean for k in range(8)]
        print(f"seed {seed}         {slope:+.1e}" + 47 * " " + " ".join(f"{part:+.2f}" for part in parts), flush=True)


TABLES = {"liquid": liquid, "dielectric": dielectric, "transport": transport, "energy": energy}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("jostle")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--accuracy", type=float, default=1e-5, help="of --only energy")
    parser.add_argument("--truncation", default="switched", help="of --only energy")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("water-models"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    for name, table in TABLES.items():
        if arguments.only in (None, name):
            table(arguments)


if __name__ == "__main__":
    main()
