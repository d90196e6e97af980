"""Phase diagram of carbon and oxygen in a white dwarf: crystal and liquid side by side.

Half a box of bcc crystal and half a box of liquid, each of a composition that an analytic model has in equilibrium,
are put together and left to themselves at constant energy. Crystal freezes or melts until the temperature is the one
at which both last; the composition of each is then counted, away from the two interfaces. Temperatures are relative
to that at which pure carbon melts in the same electrons, found in the same way.

    python benches/physics/carbon_oxygen.py target/release/jostle --device cuda

needs numpy; it writes a table, and a picture beside the runs (`phases.svg`). Electrons are relativistic and screen
(screening length 5.41 times their ion-sphere radius), as in C. J. Horowitz, A. S. Schneider and D. K. Berry, Phys. Rev.
Lett. 104, 231101 (2010) and A. S. Schneider et al., Phys. Rev. E 85, 066405 (2012), who found the model to hold.

The model: Z. Medin and A. Cumming, Phys. Rev. E 81, 036107 (2010). Liquids mix linearly; crystals deviate as in S. Ogata
et al., Phys. Rev. E 48, 1344 (1993); free energies of one component are those of H. DeWitt and W. Slattery, Contrib.
Plasma Phys. 39, 97 (1999), and D. H. E. Dubin, Phys. Rev. A 42, 4972 (1990).
"""

import argparse
import csv
import pathlib
import subprocess

import numpy as np

CARBON, OXYGEN = 6, 8
EDGE = (8 * np.pi / 3) ** (1 / 3)  # of a cell with two ions, 3 / (4 pi) per volume
# Screening length over the electrons' ion-sphere radius: 1 / (2 k_F) sqrt(pi / alpha), k_F a_e = (9 pi / 4)^(1/3).
SCREENING = np.sqrt(np.pi * 137.036) / (2 * (9 * np.pi / 4) ** (1 / 3))
NEIGHBOURS = 14  # two shells of bcc


# Model ---------------------------------------------------------------------------------------------------------------

def liquid_energy(gamma):
    return -0.899172 * gamma + 1.8645 * gamma ** 0.32301 - 0.2748 * np.log(gamma) - 1.4019


def solid_energy(gamma):
    return -0.895929 * gamma + 1.5 * np.log(gamma) - 1.1703 - 10.84 / gamma - 176.4 / gamma ** 2 - 5.98e4 / gamma ** 3


def model_energies(x, gamma_e):
    """Free energies of liquid and crystal in kT an ion, where a share x is oxygen."""
    shares, charges = np.array([1 - x, x]), np.array([CARBON, OXYGEN])
    mixing = sum(s * np.log(s * z / (shares * charges).sum()) if s > 0 else 0 for s, z in zip(shares, charges))
    gammas = gamma_e * charges ** (5 / 3)
    ratio, root = OXYGEN / CARBON - 1, np.sqrt(x)
    strength = 0.05 * ratio ** 2 / ((1 + 0.64 * ratio) * (1 + 0.5 * ratio ** 2))
    shape = 1 + 27 * ratio / (1 + 0.1 * ratio) * root * (root - 0.3) * (root - 0.7) * (root - 1)
    deviation = gammas[0] * x * (1 - x) * strength / shape
    return (shares * liquid_energy(gammas)).sum() + mixing, (shares * solid_energy(gammas)).sum() + mixing + deviation


def melting_gamma():
    """Gamma at which one component melts."""
    low, high = 100.0, 300.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if solid_energy(middle) > liquid_energy(middle) else (low, middle)
    return low


def model_phases(temperature):
    """Pairs of compositions (crystal, liquid) that share a tangent, at a temperature relative to carbon's melting."""
    gamma_e = melting_gamma() / CARBON ** (5 / 3) / temperature
    x = np.linspace(0, 1, 2001)
    energies = np.array([model_energies(value, gamma_e) for value in x])
    lower = energies.min(axis=1)
    # The lower convex envelope: where it leaves the curve, two compositions are in equilibrium.
    hull = []
    for point in zip(x, lower):
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (point[0] - hull[-2][0]) >= \
                (point[1] - hull[-2][1]) * (hull[-1][0] - hull[-2][0]):
            hull.pop()
        hull.append(point)
    phases = []
    for (a, _), (b, _) in zip(hull, hull[1:]):
        if b - a > 2 * (x[1] - x[0]):
            is_liquid = [energies[round(end * 2000)].argmin() == 0 for end in (a, b)]
            if is_liquid[0] != is_liquid[1]:
                phases.append((b, a) if is_liquid[0] else (a, b))
    return phases


# Simulation ----------------------------------------------------------------------------------------------------------

HEAD = """title = "{name}"
units = "plasma"
[system]
file = "{file}"
temperature = {temperature}
seed = {seed}
{species}[electrostatics]
kind = "pme"
cutoff = {cutoff}
accuracy = 1e-4
screening_length = {screening_length}
"""
SPECIES = ("[species.C]\ncharge = 1\nmass = 1\n",
           f"[species.O]\ncharge = {OXYGEN / CARBON}\nmass = {15.9949 / 12}\n")
STAGE = """
[[stage]]
name = "{name}"
steps = {steps}
timestep = {timestep}
thermo = {{ every = {every} }}
trajectory = {{ every = {frames}, format = "xyz" }}
"""
THERMOSTAT = 'thermostat = {{ kind = "langevin", temperature = {temperature}, friction = 0.2 }}\n'


class Box:
    """Box of one electron density: lengths in ion-sphere radii of its ions, carbon's charge is 1."""

    def __init__(self, arguments, oxygen):
        self.arguments = arguments
        self.mean_charge = CARBON + (OXYGEN - CARBON) * oxygen
        self.edges = np.array(arguments.cells) * EDGE

    def temperature(self, gamma_e):
        """Temperature where e^2 / (a_e T) is `gamma_e`, and `gamma_e` of a temperature."""
        return self.mean_charge ** (1 / 3) / CARBON ** 2 / gamma_e

    def run(self, name, atoms, stages):
        """Stages (name, steps, timestep, temperature or None): rows of the last one, frames of its trajectory."""
        folder = self.arguments.folder
        path = folder / f"{name}.xyz"
        write(path, self.edges, *atoms)
        text = HEAD.format(
            name=name, file=path.resolve(), seed=self.arguments.seed,
            species="".join(SPECIES[kind] for kind in np.unique(atoms[0])), temperature=stages[0][3],
            cutoff=self.arguments.cutoff, screening_length=SCREENING * self.mean_charge ** (-1 / 3))
        for stage, steps, timestep, temperature in stages:
            text += STAGE.format(name=stage, steps=steps, timestep=timestep, every=max(steps // 1000, 1),
                                 frames=max(steps // 40, 1))
            text += THERMOSTAT.format(temperature=temperature) if temperature else ""
        (folder / f"{name}.toml").write_text(text)
        out = folder / name
        subprocess.run([self.arguments.jostle, "run", folder / f"{name}.toml", "--device", self.arguments.device,
                        "--overwrite", "-o", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lines = [line for line in (out / "thermo.csv").read_text().splitlines() if not line.startswith("#")]
        rows = [row for row in csv.DictReader(lines) if row["stage"] == stages[-1][0]]
        return rows, read(out / f"{stages[-1][0]}.xyz")


def write(path, edges, species, positions):
    lattice = f"{edges[0]} 0 0 0 {edges[1]} 0 0 0 {edges[2]}"
    lines = [str(len(species)), f'Lattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"']
    lines += [f"{'CO'[kind]} {x[0]:.9f} {x[1]:.9f} {x[2]:.9f}" for kind, x in zip(species, positions)]
    path.write_text("\n".join(lines) + "\n")


def read(path):
    lines = path.read_text().splitlines()
    size = int(lines[0]) + 2
    frames = []
    for start in range(0, len(lines), size):
        words = [line.split()[:4] for line in lines[start + 2:start + size]]
        frames.append((np.array([word[0] == "O" for word in words], int), np.array([w[1:] for w in words], float)))
    return frames


def crystalline(positions, edges):
    """True for ions whose surroundings have the orientation of those of their neighbours: q6 of their 14 neighbours,
    whose scalar products are sums of Legendre's P6 over pairs of directions."""
    n = len(positions)
    near, directions = np.empty((n, NEIGHBOURS), int), np.empty((n, NEIGHBOURS, 3))
    order = np.argsort(positions[:, 2])
    for some in np.array_split(order, max(n // 300, 1)):
        low, high = positions[some, 2].min() - 3.2, positions[some, 2].max() + 3.2
        offset = (positions[:, 2] - (low + high) / 2 + edges[2] / 2) % edges[2] - edges[2] / 2
        others = np.flatnonzero(np.abs(offset) < (high - low) / 2)
        between = positions[others] - positions[some, None]
        between -= edges * np.round(between / edges)
        distance = (between ** 2).sum(axis=2)
        distance[distance == 0] = np.inf
        nearest = np.argpartition(distance, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        near[some] = others[nearest]
        chosen = np.take_along_axis(between, nearest[:, :, None], axis=1)
        directions[some] = chosen / np.sqrt((chosen ** 2).sum(axis=2))[:, :, None]

    def product(a, b):
        c2 = np.einsum("nik,njk->nij", a, b) ** 2
        return (((231 * c2 - 315) * c2 + 105) * c2 - 5).sum(axis=(1, 2))

    own = np.sqrt(product(directions, directions))
    similar = np.zeros(n)
    for k in range(NEIGHBOURS):
        other = near[:, k]
        similar += product(directions, directions[other]) / (own * own[other]) / NEIGHBOURS
    return similar > 0.5


def compositions(frames, edges):
    """Shares of oxygen in crystal and liquid away from interfaces, and of the crystal in the box."""
    counts, share = np.zeros((2, 2)), []
    slabs = int(edges[2] / 2.5)
    for species, positions in frames:
        positions = positions % edges
        solid = crystalline(positions, edges)
        share.append(solid.mean())
        slab = (positions[:, 2] / edges[2] * slabs).astype(int) % slabs
        inside = np.bincount(slab, solid, slabs) / np.bincount(slab, minlength=slabs)
        # Means over three slabs: an interface is thicker than one.
        smooth = (inside + np.roll(inside, 1) + np.roll(inside, -1)) / 3
        for phase, chosen in enumerate([smooth > 0.85, smooth < 0.15]):
            members = species[chosen[slab]]
            counts[phase] += [len(members), members.sum()]
    # Where a phase is gone it has no composition.
    return *(counts[:, 1] / np.where(counts[:, 0] > 0, counts[:, 0], np.nan)), np.mean(share)


def coexistence(arguments, name, crystal_oxygen, liquid_oxygen, gamma_e):
    """Temperature as gamma_e, its relative error, compositions of crystal and liquid, and the crystal's share at the end."""
    box = Box(arguments, (crystal_oxygen + liquid_oxygen) / 2)
    cells = np.array(arguments.cells)
    sites = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, 3)
    sites = np.concatenate([sites + 0.25, sites + 0.75]) * EDGE
    lower = sites[:, 2] < box.edges[2] / 2
    random = np.random.default_rng(arguments.seed)
    species = np.zeros(len(sites), int)
    for half, oxygen in ((lower, crystal_oxygen), (~lower, liquid_oxygen)):
        members = random.permutation(np.flatnonzero(half))
        species[members[:round(oxygen * len(members))]] = 1
    t = box.temperature(gamma_e)
    settle = ("settle", 1000, 0.1, t)
    _, solid = box.run(f"{name}-crystal", (species, sites), [settle])
    _, liquid = box.run(f"{name}-liquid", (species, sites), [("melt", 3000, 0.1, 4 * t), settle])
    # As many ions above the plane as before, though others may have come: the electrons' density stays. Species of
    # the liquid are dealt anew, in the composition that it should have.
    crystal = solid[-1][1] % box.edges
    molten = liquid[-1][1] % box.edges
    crystal = crystal[lower]
    upper = molten[np.argsort(-molten[:, 2])[:(~lower).sum()]]
    both = np.concatenate([species[lower], species[~lower]]), np.concatenate([crystal, upper])
    stages = [("join", 1000, 0.02, t), ("meet", 2000, 0.1, t), ("coexist", arguments.steps, 0.1, None)]
    rows, frames = box.run(name, both, stages)
    temperature = np.array([float(row[next(k for k in row if k.startswith("temperature"))]) for row in rows])
    last = temperature[-len(temperature) // 3:]
    blocks = last[:len(last) // 10 * 10].reshape(10, -1).mean(axis=1)
    solid_oxygen, liquid_oxygen, share = compositions(frames[-len(frames) // 4::3], box.edges)
    return box.temperature(last.mean()), blocks.std() / blocks.mean() / 3, solid_oxygen, liquid_oxygen, share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("jostle")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--cutoff", type=float, default=6.0)
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--cells", type=int, nargs=3, default=(16, 16, 40))
    parser.add_argument("--temperatures", type=float, nargs="*", default=[1.02, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5],
                        help="of the model's equilibria that runs begin from, relative to carbon's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", action="store_true", help="print the model's phases and run nothing")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("carbon-oxygen"))
    arguments = parser.parse_args()
    if arguments.model:
        for temperature in arguments.temperatures:
            print(temperature, *(f"crystal {a:.3f} liquid {b:.3f}" for a, b in model_phases(temperature)))
        return
    arguments.folder.mkdir(exist_ok=True)
    melting = melting_gamma()
    carbon, error, _, _, share = coexistence(arguments, "carbon", 0.0, 0.0, 1.04 * melting / CARBON ** (5 / 3))
    print(f"{2 * np.prod(arguments.cells)} ions, {arguments.steps} steps")
    print(f"carbon melts at Gamma = {carbon * CARBON ** (5 / 3):.1f} +- {error * carbon * CARBON ** (5 / 3):.1f}, "
          f"without screening {melting:.1f}; crystal {share:.2f} of the box", flush=True)
    print("T/T_C    begun with x_O of            ended with x_O of     T/T_C of the model       crystal")
    print("         crystal liquid  T/T_C        crystal liquid        for that liquid          at the end")
    points = []
    for temperature in arguments.temperatures:
        for k, (crystal, liquid) in enumerate(model_phases(temperature)):
            gamma_e = carbon / temperature
            gamma, _, solid_end, liquid_end, share = coexistence(
                arguments, f"mixture-{temperature}-{k}", crystal, liquid, gamma_e)
            print(f"{carbon / gamma:.3f}    {crystal:.3f}   {liquid:.3f}   {temperature:.3f}        "
                  f"{solid_end:.3f}   {liquid_end:.3f}         {model_liquidus(liquid_end):.3f}"
                  f"                    {share:.2f}", flush=True)
            points.append((carbon / gamma, solid_end, liquid_end))
            draw(arguments.folder / "phases.svg", points)


def draw(path, points):
    """Picture of temperature against composition: the model's lines, and what was found."""
    left, right, top, bottom, lowest, highest = 60, 480, 15, 300, 0.95, 1.65

    def place(x, temperature):
        return (f"{left + x * (right - left):.1f},"
                f"{bottom - (temperature - lowest) / (highest - lowest) * (bottom - top):.1f}")

    def text(at, words, anchor="middle"):
        x, y = at.split(",")
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'

    model = [(t, *phases) for t in np.arange(1.0, 1.611, 0.01) for phases in model_phases(t)[-1:]]
    parts = [f'<path d="M{place(0, highest)} L{place(0, lowest)} L{place(1, lowest)}" stroke="black" fill="none"/>']
    for k, color in ((1, "#0072b2"), (2, "#d55e00")):
        line = " ".join(place(row[k], row[0]) for row in model)
        parts.append(f'<polyline points="{line}" stroke="{color}" fill="none"/>')
        for row in points:
            x, y = place(row[k], row[0]).split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="4" fill="{color}"/>')
    parts += [text(place(x, lowest - 0.05), f"{x:.1f}") for x in np.arange(0, 1.01, 0.2)]
    parts += [text(place(-0.02, t - 0.01), f"{t:.1f}", "end") for t in np.arange(1.0, 1.61, 0.1)]
    parts += [text(place(0.5, lowest - 0.1), "oxygen among the ions"),
              text(place(0.02, highest - 0.02), "temperature over that at which carbon melts", "start"),
              text(place(0.35, 1.3), "liquid"), text(place(0.85, 1.05), "crystal")]
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 500 350" font-family="sans-serif" '
                    'font-size="13"><rect width="500" height="350" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def model_liquidus(oxygen):
    """Temperature relative to carbon's melting at which the model's liquid of this composition begins to freeze."""
    low, high = 0.9, 1.8
    for _ in range(20):
        middle = (low + high) / 2
        gamma_e = melting_gamma() / CARBON ** (5 / 3) / middle
        x = np.linspace(0.001, 0.999, 999)
        liquid, solid = np.array([model_energies(value, gamma_e) for value in x]).T
        at, slope = np.interp(oxygen, x, liquid), np.interp(oxygen, x, np.gradient(liquid, x))
        # A crystal below the liquid's tangent: it freezes.
        low, high = (middle, high) if (solid < at + slope * (x - oxygen)).any() else (low, middle)
    return low


if __name__ == "__main__":
    main()
