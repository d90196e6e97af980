"""Writes the reference of crates/engine/tests/data/sites by OpenMM (pip install openmm): water of four and
of five sites, and molecules with the lone pairs of a PSF of CHARMM; its System and what it computes on its
Reference platform.

    python tests/external/make_sites_reference.py crates/engine/tests/data/sites
"""
import json
import random
import sys
from pathlib import Path

import openmm
from openmm import app, unit

EDGE = 1.9  # nm
MOLECULES = 27


def water(folder, name, model, field):
    """A grid of molecules, turned and moved a little."""
    random.seed(7)
    forcefield = app.ForceField(field)
    cells = round(MOLECULES ** (1 / 3))
    size = EDGE / cells
    topology, positions = app.Topology(), []
    topology.setUnitCellDimensions(openmm.Vec3(EDGE, EDGE, EDGE) * unit.nanometer)
    chain = topology.addChain()
    for number in range(MOLECULES):
        cell = [number // cells // cells, number // cells % cells, number % cells]
        center = [size * (c + 0.5) + random.uniform(-0.02, 0.02) for c in cell]
        turn = [random.gauss(0, 1) for _ in range(4)]
        norm = sum(q * q for q in turn) ** 0.5
        w, x, y, z = (q / norm for q in turn)
        rotation = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        residue = topology.addResidue("HOH", chain)
        atoms = [topology.addAtom(n, e, residue) for n, e in
                 [("O", app.element.oxygen), ("H1", app.element.hydrogen), ("H2", app.element.hydrogen)]]
        topology.addBond(atoms[0], atoms[1])
        topology.addBond(atoms[0], atoms[2])
        for place in [[0, 0, 0], [0.075695, 0.0585882, 0], [-0.075695, 0.0585882, 0]]:
            positions.append(openmm.Vec3(*[center[k] + sum(rotation[k][j] * place[j] for j in range(3))
                                           for k in range(3)]))
    modeller = app.Modeller(topology, positions * unit.nanometer)
    modeller.addExtraParticles(forcefield)
    system = forcefield.createSystem(modeller.topology, nonbondedMethod=app.Ewald,
                                     nonbondedCutoff=0.9 * unit.nanometer, rigidWater=True,
                                     removeCMMotion=False, ewaldErrorTolerance=1e-13)
    for force in system.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setUseDispersionCorrection(False)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(modeller.positions)
    context.computeVirtualSites()
    state = context.getState(getEnergy=True, getForces=True, getPositions=True)
    r = state.getPositions().value_in_unit(unit.nanometer)
    f = state.getForces().value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    (folder / f"{name}.xml").write_text(openmm.XmlSerializer.serialize(system))
    rows = [f"{len(r)}", f'Lattice="{EDGE} 0 0 0 {EDGE} 0 0 0 {EDGE}" Properties=species:S:1:pos:R:3:forces:R:3']
    names = [a.name for a in modeller.topology.atoms()]
    rows += [" ".join([n] + [repr(x) for x in [*a, *b]]) for n, a, b in zip(names, r, f)]
    (folder / f"{name}.xyz").write_text("\n".join(rows) + "\n")
    energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    values = {"openmm": openmm.Platform.getOpenMMVersion(), "model": model, "energy": energy}
    (folder / f"{name}.json").write_text(json.dumps(values) + "\n")


PARAMETERS = """* Made up, but of the usual size
*

ATOMS
MASS -1 CT  12.01100
MASS -1 CD  12.01100
MASS -1 HA   1.00800
MASS -1 HW   1.00800
MASS -1 CL  35.45300
MASS -1 OD  15.99900
MASS -1 OW  15.99900
MASS -1 LP   0.00000

BONDS
CT CT 222.5  1.53
CT HA 309.0  1.11
CT CL 220.0  1.788
CD OD 700.0  1.21
CD HA 330.0  1.10
OW HW 450.0  0.9572

ANGLES
CT CT HA  34.6  110.1
CT CT CL  66.0  110.5
HA CT HA  35.5  108.4
HA CT CL  42.0  107.2
HA CD HA  45.0  115.0
HA CD OD  65.0  122.0
HW OW HW  55.0  104.52

DIHEDRALS
X CT CT X  0.16  3  0.0

NONBONDED nbxmod 5 atom cdiel fshift vatom vdistance vfswitch -
cutnb 14.0 ctofnb 12.0 ctonnb 10.0 eps 1.0 e14fac 1.0 wmin 1.5
CT 0.0 -0.0780 2.050 0.0 -0.01 1.9
CD 0.0 -0.1100 2.000
HA 0.0 -0.0240 1.340
HW 0.0 -0.0460 0.2245
CL 0.0 -0.3420 1.910
OD 0.0 -0.1200 1.700
OW 0.0 -0.1550 1.7699
LP 0.0  0.0000 0.000

END
"""

# Names, types, charges and places (angstrom) of chloroethane, water and formaldehyde, none of them at rest.
# Then bonds, angles and dihedrals; then lone pairs: hosts, and the three numbers of CHARMM.
CHLOROETHANE = (
    [("C1", "CT", 0.06, (0.0, 0.02, 0.0)), ("C2", "CT", -0.25, (1.52, -0.03, 0.05)),
     ("CL1", "CL", -0.23, (-0.65, 1.66, 0.1)), ("H1", "HA", 0.08, (-0.37, -0.50, 0.88)),
     ("H2", "HA", 0.09, (-0.36, -0.51, -0.90)), ("H3", "HA", 0.07, (1.92, 0.52, -0.85)),
     ("H4", "HA", 0.06, (1.86, -1.08, 0.0)), ("H5", "HA", 0.07, (1.90, 0.44, 0.95)), ("LP1", "LP", 0.05, None)],
    [(1, 2), (1, 3), (1, 4), (1, 5), (2, 6), (2, 7), (2, 8)],
    [(2, 1, 3), (2, 1, 4), (2, 1, 5), (3, 1, 4), (3, 1, 5), (4, 1, 5), (1, 2, 6), (1, 2, 7), (1, 2, 8), (6, 2, 7),
     (6, 2, 8), (7, 2, 8)],
    [(a, 1, 2, b) for a in (3, 4, 5) for b in (6, 7, 8)],
    [((9, 3, 1), (1.64, 0.0, 0.0))],
)
WATER = (
    [("OH2", "OW", 0.0, (-0.3, 0.2, 3.4)), ("H1", "HW", 0.52, (0.44, 0.75, 3.62)),
     ("H2", "HW", 0.52, (-0.93, 0.37, 4.13)), ("OM", "LP", -1.04, None)],
    [(1, 2), (1, 3)], [(2, 1, 3)], [], [((4, 1, 2, 3), (-0.15, 0.0, 0.0))],
)
FORMALDEHYDE = (
    [("C", "CD", 0.3, (0.2, 3.6, -2.1)), ("O", "OD", 0.0, (1.38, 3.5, -1.8)), ("HA", "HA", 0.05, (-0.25, 4.6, -2.3)),
     ("HB", "HA", 0.05, (-0.5, 2.75, -2.2)), ("LPA", "LP", -0.19, None), ("LPB", "LP", -0.21, None)],
    [(1, 2), (1, 3), (1, 4)], [(3, 1, 4), (3, 1, 2), (4, 1, 2)], [],
    [((5, 2, 1, 3), (0.35, 110.0, 0.0)), ((6, 2, 1, 4), (0.40, 91.0, 130.0))],
)


def section(numbers, per_line):
    numbers = [n for entry in numbers for n in entry]
    rows = [numbers[k:k + per_line] for k in range(0, len(numbers), per_line)] or [[]]
    return ["".join(f"{n:8d}" for n in row) for row in rows] + [""]


def lone_pairs(folder, molecules):
    """Molecules in a PSF, without a box."""
    atoms, bonds, angles, dihedrals, pairs, places, names = [], [], [], [], [], [], []
    masses = {"C": 12.011, "H": 1.008, "O": 15.999, "L": 0.0}
    for number, (own, *lists) in enumerate(molecules, 1):
        first = len(places)
        for name, of_type, charge, place in own:
            mass = 35.453 if of_type == "CL" else masses[of_type[0]]
            atoms.append(f"{len(places) + 1:8d} MOL  {number:<4d} M{number:<3d} {name:<4s} {of_type:<4s} "
                         f"{charge:10.6f} {mass:13.4f} {0:11d}")
            places.append(place or (0.0, 0.0, 0.0))
            names.append(name)
        for of_all, of_one in zip((bonds, angles, dihedrals), lists):
            of_all += [tuple(first + a for a in entry) for entry in of_one]
        pairs += [(tuple(first + a for a in hosts), values) for hosts, values in lists[3]]
    lines = ["PSF", "", f"{1:8d} !NTITLE", " REMARKS lone pairs", "", f"{len(atoms):8d} !NATOM", *atoms, ""]
    for title, entries, per_line in [("NBOND: bonds", bonds, 8), ("NTHETA: angles", angles, 9),
                                     ("NPHI: dihedrals", dihedrals, 8), ("NIMPHI: impropers", [], 8),
                                     ("NDON: donors", [], 8), ("NACC: acceptors", [], 8)]:
        lines += [f"{len(entries):8d} !{title}", *section(entries, per_line)]
    lines += [f"{0:8d} !NNB", "", *section([(0,)] * len(places), 8), f"{1:8d}{0:8d} !NGRP NST2", *section([(0, 0, 0)], 9)]
    lines += [f"{len(pairs):8d}{sum(len(hosts) for hosts, _ in pairs):8d} !NUMLP NUMLPH"]
    place = 1
    for hosts, values in pairs:
        lines.append(f"{len(hosts) - 1:8d}{place:8d}   F" + "".join(f"{v:14.6g}" for v in values))
        place += len(hosts)
    lines += [*section([hosts for hosts, _ in pairs], 8)]
    (folder / "lone_pairs.psf").write_text("\n".join(lines) + "\n")
    (folder / "lone_pairs.prm").write_text(PARAMETERS)
    psf = app.CharmmPsfFile(str(folder / "lone_pairs.psf"))
    parameters = app.CharmmParameterSet(str(folder / "lone_pairs.prm"))
    system = psf.createSystem(parameters, nonbondedMethod=app.NoCutoff, constraints=None, rigidWater=False,
                              removeCMMotion=False)
    positions = [openmm.Vec3(*place) * 0.1 for place in places]
    write(folder, "lone_pairs", "lone pairs", system, positions, names)


def write(folder, name, model, system, positions, names):
    """What OpenMM makes of a System without a box."""
    for group, force in enumerate(system.getForces()):
        force.setForceGroup(group)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    context.computeVirtualSites()
    state = context.getState(getEnergy=True, getForces=True, getPositions=True)
    r = state.getPositions().value_in_unit(unit.nanometer)
    f = state.getForces().value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    energies = {}
    for group, force in enumerate(system.getForces()):
        energy = context.getState(getEnergy=True, groups={group}).getPotentialEnergy()
        energy = energy.value_in_unit(unit.kilojoule_per_mole)
        energies[force.__class__.__name__] = energies.get(force.__class__.__name__, 0.0) + energy
    (folder / f"{name}.xml").write_text(openmm.XmlSerializer.serialize(system))
    rows = [f"{len(r)}", "Properties=species:S:1:pos:R:3:forces:R:3"]
    rows += [" ".join([n] + [repr(x) for x in [*a, *b]]) for n, a, b in zip(names, r, f)]
    (folder / f"{name}.xyz").write_text("\n".join(rows) + "\n")
    energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    values = {"openmm": openmm.Platform.getOpenMMVersion(), "model": model, "energy": energy, "terms": energies}
    (folder / f"{name}.json").write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    water(folder, "four", "TIP4P-Ew", "tip4pew.xml")
    water(folder, "five", "TIP5P", "tip5p.xml")
    lone_pairs(folder, [CHLOROETHANE, WATER, FORMALDEHYDE])
