"""Free energies by pymbar for the data of crates/sampling/tests/free_energy.rs.

By hand: it needs pymbar (pip install pymbar). The test has the numbers that this prints.
"""

import math
from importlib.metadata import version

import numpy as np
import pymbar
from pymbar.other_estimators import bar


class Generator:
    """The linear congruential generator of Knuth's MMIX, and normal deviates by Box and Muller."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (6364136223846793005 * self.state + 1442695040888963407) % 2**64
        return ((self.state >> 11) + 0.5) / 2**53

    def normal(self):
        u, v = self.uniform(), self.uniform()
        return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


# Oscillators: centre, stiffness, number of samples; the last one is not sampled.
STATES = [(0.0, 1.0, 200), (0.7, 1.5, 150), (1.6, 2.5, 300), (2.2, 4.0, 100), (1.0, 1.0, 0)]


def main():
    generator = Generator(7)
    counts = [n for _, _, n in STATES]
    samples = [c + generator.normal() / math.sqrt(k) for c, k, n in STATES for _ in range(n)]
    x = np.array(samples)
    energies = np.array([0.5 * k * (x - c) ** 2 for c, k, _ in STATES])
    mbar = pymbar.MBAR(energies, np.array(counts), solver_protocol="robust")
    found = mbar.compute_free_energy_differences()
    print("pymbar", version("pymbar"))
    print("MBAR", [float(f) for f in found["Delta_f"][0]])
    print("errors", [float(f) for f in found["dDelta_f"][0]])
    print("error 2-4", float(found["dDelta_f"][2][4]))
    print("overlap", [float(o) for o in mbar.compute_overlap()["matrix"][1]])
    first, second = energies[:, :200], energies[:, 200:350]
    forward, backward = first[1] - first[0], second[0] - second[1]
    print("BAR", {k: float(v) for k, v in bar(forward, backward).items()})
    exp = pymbar.exp(forward)
    print("EXP", {k: float(v) for k, v in exp.items()})
    fes = pymbar.FES(energies, np.array(counts))
    edges = np.linspace(-1.0, 3.0, 9)
    inside = (x >= edges[0]) & (x < edges[-1])
    fes.generate_fes(energies[4], x, histogram_parameters={"bin_edges": edges}, fes_type="histogram")
    middles = 0.5 * (edges[1:] + edges[:-1])
    values = fes.get_fes(middles, reference_point="from-lowest", uncertainty_method="analytical")
    print("profile", [float(f) for f in values["f_i"]])
    print("profile errors", [float(f) for f in values["df_i"]])


main()
