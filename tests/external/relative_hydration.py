"""Free energy of turning ethane into methanol in water (GAFF, TIP3P), beside the published one.

    python tests/external/relative_hydration.py ../shared/free-energy --prepare prepared    # needs ParmEd
    cargo build --release
    python tests/external/relative_hydration.py prepared --device cuda --output relative

A dual topology of two whole molecules in one box of water: ethane disappears while methanol appears, and they have no
forces on each other. Either end has one molecule in water and the other one as an ideal gas, which keeps its own energy
in all windows. In vacuum the two ends are therefore the same system, so that no leg in vacuum is needed: the change in
water is the difference of both free energies of hydration.

A spring ties the centres of mass of both molecules, in all windows, so that methanol grows into the cavity that ethane
leaves, and neighbouring windows overlap well. It costs nothing: the gas molecule contributes the integral of
exp(-stiffness r^2 / 2kT) over all vectors r from the other one's centre times that over its own shape and turns, whatever
the other molecule and the water do, and both ends have these two factors of both molecules. (A second spring, between
other atoms, would couple the turns, and end this.) All windows are at 1 atm. A gas molecule that was free would have the
whole box, and would add kT/V, more than 1 atm, to the pressure; one that is tied moves with the other molecule and adds
nothing, so that the box at either end is that of one molecule in water. A box of one volume for all windows would be
wrong at one end, since methanol takes some 0.02 nm^3 less than ethane. Barostats move molecules as wholes, and their
trials include the energy of the spring. The box is neutral in all windows.

Ethane's charges, which are small, go in one window, then the Lennard-Jones forces of both molecules change together, and
methanol's charges come last, since atoms with a soft core have none. Published: H. H. Loeffler et al., J. Chem. Theory
Comput. 14 (2018) 5567, by AMBER, CHARMM, GROMACS and SOMD.

Measured on an H200 with 200 ps a window, the last one on a CPU: -6.06 +- 0.07 kcal/mol by MBAR (published -6.09 to -6.28),
-6.10 +- 0.10 by thermodynamic integration.
"""

import time
from pathlib import Path

from hydration import arguments, free_energy, run_windows

FROM, TO = "ethane", "methanol"
NAME = f"{FROM}-{TO}"
RESIDUES = {FROM: "ETH", TO: "MOH"}
PUBLISHED = [-6.28, -6.09]
# Couplings of the molecule that appears, while the other one has what is left to 1.
EXCHANGE = [0, 0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1]
# Steps get shorter, since the energy of charges is quadratic; most of the error is theirs.
CHARGING = [0.2, 0.4, 0.55, 0.7, 0.8, 0.9, 1]
# kJ/mol/nm^2: the centres are 0.06 nm apart along each axis (root mean square), less than half a bond.
STIFFNESS = 700


def windows():
    """Factors of all windows: charges and Lennard-Jones forces of what disappears, then of what appears."""
    discharged = [[1, 1, 0, 0]]
    exchanged = [[0, round(1 - x, 2), 0, x] for x in EXCHANGE]
    charged = [[0, 0, x, 1] for x in CHARGING]
    return discharged + exchanged + charged


def alchemy_text():
    charges, lennard_jones, appearing_charges, appearing_lennard_jones = map(list, zip(*windows()))
    return f"""
[[restraint]]
kind = "distance"
between = ["resname {RESIDUES[FROM]}", "resname {RESIDUES[TO]}"]
stiffness = {STIFFNESS}
length = 0
[alchemy]
atoms = "resname {RESIDUES[FROM]}"
lambda_charges = {charges}
lambda_lennard_jones = {lennard_jones}
appearing = "resname {RESIDUES[TO]}"
appearing_charges = {appearing_charges}
appearing_lennard_jones = {appearing_lennard_jones}
"""


def prepare(files, output):
    """Writes the box of the molecule that disappears with the other one at its centre of mass."""
    import numpy
    import parmed

    boxed = parmed.load_file(*(str(files / FROM / f"solvated.{kind}") for kind in ["parm7", "rst7"]))
    added = parmed.load_file(*(str(files / TO / f"vacuum.{kind}") for kind in ["parm7", "rst7"]))

    def center(atoms, positions):
        masses = numpy.array([atom.mass for atom in atoms])
        return masses @ positions[: len(atoms)] / masses.sum()

    there = center(boxed.residues[0].atoms, boxed.coordinates)
    placed = added.coordinates + there - center(added.atoms, added.coordinates)
    box, positions = boxed.box.copy(), numpy.vstack([boxed.coordinates, placed])
    both = boxed + added
    both.residues[0].name, both.residues[-1].name = RESIDUES[FROM], RESIDUES[TO]
    both.remake_parm()
    both.coordinates, both.box = positions, box
    folder = output / NAME
    folder.mkdir(parents=True, exist_ok=True)
    both.save(str(folder / "solvated.parm7"), overwrite=True)
    both.save(str(folder / "solvated.rst7"), overwrite=True)
    print(f"{folder}: {len(both.atoms)} atoms, {len(both.residues)} residues, box {box[:3]} angstrom")


def main():
    parser = arguments()
    parser.add_argument("--prepare", type=Path, help="write the files of both molecules to this folder, no more")
    options = parser.parse_args()
    if options.prepare:
        return prepare(options.files, options.prepare)
    begun = time.time()
    folders = run_windows(NAME, alchemy_text(), len(windows()), options)
    change, error = free_energy(folders, options)
    low, high = PUBLISHED
    print(f"{FROM} to {TO}, {options.soft_core}: {change:.2f} +- {error:.2f} kcal/mol; published {low} to {high}, "
          f"difference from their middle {change - (low + high) / 2:+.2f}; {time.time() - begun:.0f} s", flush=True)


main()
