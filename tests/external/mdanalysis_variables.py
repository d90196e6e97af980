"""Collective variables by MDAnalysis for the atoms of crates/sampling/tests/peers.rs.

By hand: it needs MDAnalysis (pip install MDAnalysis). The test has the numbers that this prints.
"""

import warnings
from importlib.metadata import version

import MDAnalysis as mda
import numpy as np
from MDAnalysis.analysis import contacts, rms
from MDAnalysis.lib.distances import calc_angles, calc_bonds, calc_dihedrals, distance_array

warnings.filterwarnings("ignore")

BOX = [9.0, 10.0, 11.0, 90.0, 90.0, 90.0]
CHAIN, CHAINS = 10, 2


class Generator:
    """The linear congruential generator of Knuth's MMIX."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (6364136223846793005 * self.state + 1442695040888963407) % 2**64
        return ((self.state >> 11) + 0.5) / 2**53


def main():
    generator = Generator(12)
    whole = []
    for _ in range(CHAINS):
        r = np.array([BOX[k] * generator.uniform() for k in range(3)])
        for _ in range(CHAIN):
            r = r + np.array([1.6 * (generator.uniform() - 0.5) for _ in range(3)])
            whole.append(r)
    whole = np.array(whole)
    reference = np.array([[3.0 * generator.uniform() for _ in range(3)] for _ in range(CHAIN)])
    n = CHAIN * CHAINS
    universe = mda.Universe.empty(n, n_residues=CHAINS, atom_resindex=np.repeat([0, 1], CHAIN), trajectory=True)
    universe.add_TopologyAttr("masses", [1.0 if k % 2 == 0 else 3.0 for k in range(n)])
    universe.add_TopologyAttr("charges", [0.4 if k % 2 == 0 else -0.7 for k in range(n)])
    universe.add_TopologyAttr("bonds", [(k, k + 1) for k in range(n - 1) if (k + 1) % CHAIN])
    universe.dimensions = BOX
    universe.atoms.positions = whole
    # Positions of a frame are single precision; the functions of the library take double.
    chain = universe.atoms[:CHAIN]
    masses, charges = chain.masses, chain.charges

    def center(members):
        return np.average(whole[members], axis=0, weights=universe.atoms.masses[members])[None]

    groups = [[0, 1, 2], [12, 13], [4, 5], [17]]
    a, b, c, d = (center(group) for group in groups)
    box = np.array(BOX)
    print("MDAnalysis", version("MDAnalysis"))
    print("distance", float(calc_bonds(a, b, box=box)[0]))
    print("angle", float(calc_angles(a, b, c, box=box)[0]))
    print("dihedral", float(calc_dihedrals(a, b, c, d, box=box)[0]))
    print("gyration", float(chain.radius_of_gyration()))
    print("rmsd", float(rms.rmsd(whole[:CHAIN], reference, weights=masses, center=True, superposition=True)))
    print("dipole", float(chain.dipole_moment(center="mass")))
    distances = distance_array(whole[:CHAIN], whole[CHAIN:], box=box)
    x = distances / 3.0
    print("coordination", float(np.sum((1 - x**6) / (1 - x**12))))
    native = distances[distances < 4.0]
    fraction = contacts.soft_cut_q(native, native, beta=2.0, lambda_constant=1.2)
    print("contacts", float(fraction * len(native)))



main()
