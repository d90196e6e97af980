"""Writes the reference of crates/engine/tests/data/sites by OpenMM (pip install openmm): water of four and
of five sites, and molecules with the lone pairs of a PSF of CHARMM; its System and what it computes on its
Reference platform. And molecules with the extra points of AMBER, which OpenMM does not place (or, those of
TIP5P, on the side of the hydrogens): here they are placed as sander and pmemd do, and forces are differences
of OpenMM's energies.

    python tests/external/make_sites_reference.py crates/engine/tests/data/sites
"""
import json
import math
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


# Types: mass, half the distance of the well (angstrom), its depth (kcal/mol).
TYPES = {"CT": (12.01, 1.908, 0.1094), "OS": (16.0, 1.6837, 0.17), "SH": (32.06, 2.0, 0.25), "NB": (14.01, 1.824, 0.17),
         "H1": (1.008, 1.387, 0.0157), "HS": (1.008, 0.6, 0.0157), "OW": (16.0, 1.7682, 0.1521),
         "HW": (1.008, 0.0, 0.0), "EP": (0.0, 0.0, 0.0)}
# By the types of two atoms: stiffness (kcal/mol/angstrom^2) and length; that of an extra point is its distance.
BONDS = {"CT-CT": (310, 1.526), "CT-OS": (320, 1.41), "CT-SH": (237, 1.81), "HS-SH": (274, 1.336), "CT-NB": (400, 1.34),
         "CT-H1": (340, 1.09), "HW-OW": (553, 0.9572), "HW-HW": (553, 1.5136), "EP-OS": (600, 0.35), "EP-SH": (600, 0.7),
         "EP-NB": (600, 0.4), "EP-OW": (600, 0.7)}

# Names, types, charges, places (angstrom; of extra points none); bonds. Dihedrals are all there are.
ETHER = ([("O", "OS", 0.1, (0.02, 0.0, 0.01)), ("C1", "CT", 0.1, (1.15, 0.83, 0.0)), ("C2", "CT", 0.05, (-1.1, 0.9, 0.1)),
          ("C3", "CT", 0.02, (2.5, 0.1, 0.2)), ("C4", "CT", 0.03, (-2.45, 0.2, -0.3)), ("EP1", "EP", -0.14, None),
          ("EP2", "EP", -0.16, None)], [(1, 2), (1, 3), (2, 4), (3, 5), (1, 6), (1, 7)])
THIOL = ([("C1", "CT", 0.05, (0.2, 0.1, 4.0)), ("S", "SH", 0.1, (1.9, 0.15, 4.3)), ("HS", "HS", 0.15, (2.15, 1.45, 4.1)),
          ("C2", "CT", 0.0, (-0.4, -0.4, 5.3)), ("EP1", "EP", -0.16, None), ("EP2", "EP", -0.14, None)],
         [(1, 2), (2, 3), (1, 4), (2, 5), (2, 6)])
AMINE = ([("N", "NB", 0.1, (0.0, 5.0, 0.5)), ("C1", "CT", 0.15, (1.1, 5.8, 0.4)), ("C2", "CT", 0.1, (-1.2, 5.75, 0.7)),
          ("EP", "EP", -0.35, None)], [(1, 2), (1, 3), (1, 4)])
TIP5P = ([("O", "OW", 0.0, (-4.5, 1.0, 2.0)), ("H1", "HW", 0.241, (-3.6, 1.35, 2.1)), ("H2", "HW", 0.241, (-5.0, 1.75, 2.4)),
          ("EP1", "EP", -0.241, None), ("EP2", "EP", -0.241, None)], [(1, 2), (1, 3), (2, 3), (1, 4), (1, 5)])
FREE = ([("O", "OW", 0.0, (4.5, 3.0, 2.0)), ("H1", "HW", 0.5, (5.4, 3.35, 2.1)), ("H2", "HW", 0.5, (4.0, 3.75, 2.4)),
         ("EP", "EP", -1.0, None)], [(1, 2), (1, 3), (1, 4)])
# Points on the first atom, which no bond but VIRTUAL_SITE_FRAMES joins to it: other atoms, kind and numbers.
STATED = ([("C1", "CT", 0.3, (-3.0, -4.0, 0.5)), ("C2", "CT", 0.1, (-1.5, -3.8, 0.3)), ("C3", "CT", 0.1, (-3.8, -2.8, -0.3)),
           *((f"EP{kind}", "EP", -0.1, None) for kind in (4, 5, 6, 7, 8, 9))], [(1, 2), (1, 3)],
          [((2,), 4, (-0.2, 0, 0)), ((2, 3), 5, (-0.3, 0.2, 0)), ((2, 3), 6, (-0.5, 0.3, 0)), ((2, 3), 7, (0.6, 1.9, 0)),
           ((2, 3), 8, (-0.2, -0.1, 0.3)), ((2,), 9, (-0.4, 0, 0))])


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit_vector(a):
    return [x / math.sqrt(sum(y * y for y in a)) for x in a]


def combine(r, *terms):
    return [r[k] + sum(weight * v[k] for weight, v in terms) for k in range(3)]


def stated_point(kind, numbers, a, *others):
    """local_to_global of pmemd."""
    x, y, z = numbers
    ab = sub(others[0], a)
    ac = sub(others[1], a) if len(others) > 1 else None
    if kind == 4:
        return combine(a, (x, ab))
    if kind == 5:
        return combine(a, (x, ab), (y, ac))
    if kind == 6:
        return combine(a, (x, unit_vector(combine(ab, (y, sub(ac, ab))))))
    if kind == 7:
        e = unit_vector(ab)
        bc = sub(ac, ab)
        across = unit_vector(combine(bc, (-sum(p * q for p, q in zip(bc, e)), e)))
        return combine(a, (x * math.cos(y), e), (x * math.sin(y), across))
    if kind == 8:
        return combine(a, (x, ab), (y, ac), (z, cross(ab, ac)))
    return combine(a, (x, unit_vector(ab)))


def on_atom(places, types, bonds, atom, points):
    """define_frames and local_to_global of sander; water whose hydrogens are joined is as rigid."""
    near = [b if a == atom else a for a, b in bonds if atom in (a, b)]
    near = [n for n in near if types[n] != "EP"]
    near.sort(key=lambda n: types[n][0] == "H")
    u, v = (sub(places[n], places[atom]) for n in near)
    length = BONDS["-".join(sorted(["EP", types[atom]]))][1] * 0.1
    half = math.radians(54.735)
    water = all(types[n][0] == "H" for n in near)
    if water and tuple(sorted(near)) in bonds:
        bond, base = BONDS["HW-OW"][1] * 0.1, BONDS["HW-HW"][1] * 0.1
        height = math.sqrt(bond**2 - base**2 / 4)
        along, across = length * math.cos(half) / height / 2, length * math.sin(half) / (base * height)
        signs = (-across, across)
        return [combine(places[atom], (-along, u), (-along, v), (s, cross(u, v))) for s in signs[:len(points)]]
    u, v = unit_vector(u), unit_vector(v)
    z = unit_vector([-p - q for p, q in zip(u, v)])
    y = cross(z, unit_vector(sub(v, u)))
    if len(points) == 1:
        return [combine(places[atom], (-length if water else length, z))]
    along, across = (0, 1) if types[atom] in ("S", "SH") else (math.cos(half), math.sin(half))
    return [combine(places[atom], (length * along, z), (s * length * across, y)) for s in (1, -1)]


def rounded(x):
    """As a file has it."""
    return float(f"{x:16.8E}")


def extra_points(folder, molecules):
    """Molecules in a prmtop, without a box."""
    names, types, charges, places, bonds, frames, residues = [], [], [], [], [], [], []
    for own, own_bonds, *stated in molecules:
        first = len(names)
        residues.append(first)
        for name, of_type, charge, place in own:
            names.append(name)
            types.append(of_type)
            charges.append(rounded(charge * 18.2223))
            places.append([0.1 * x for x in place or (0.0, 0.0, 0.0)])
        bonds += [tuple(first + a - 1 for a in bond) for bond in own_bonds]
        first_point = first + len(own) - (len(stated[0]) if stated else 0)
        for k, (others, kind, numbers) in enumerate(stated[0] if stated else []):
            frames.append((first_point + k, [first, *(first + a - 1 for a in others)], kind, [rounded(x) for x in numbers]))
    n = len(names)
    point = [t == "EP" for t in types]
    owner = {}
    for a, b in bonds:
        if point[a] or point[b]:
            owner[a if point[a] else b] = b if point[a] else a
    by_bond = dict(owner)
    owner |= {site: atoms[0] for site, atoms, _, _ in frames}
    with_points = [[a] + sorted(s for s in owner if owner[s] == a) for a in range(n)]

    def follow(places):
        places = [list(r) for r in places]
        for atom in sorted(set(by_bond.values())):
            points = sorted(s for s in by_bond if by_bond[s] == atom)
            for site, r in zip(points, on_atom(places, types, bonds, atom, points)):
                places[site] = r
        for site, atoms, kind, numbers in frames:
            # Numbers are lengths in angstrom, but for shares, angles, and the inverse length of a product.
            x, y, z = numbers
            numbers = {6: (0.1 * x, y, z), 7: (0.1 * x, y, z), 8: (x, y, 10 * z), 9: (0.1 * x, y, z)}.get(kind, numbers)
            places[site] = stated_point(kind, numbers, *(places[a] for a in atoms))
        return places

    def chains(length, among):
        """Bound atoms in a row, each row once."""
        rows = [[a] for a in among]
        partners = {a: [b if a == c else c for c, b in bonds if a in (b, c)] for a in range(n)}
        for _ in range(length - 1):
            rows = [row + [b] for row in rows for b in partners[row[-1]] if b in among and b not in row]
        return [row for row in rows if row[0] < row[-1]]

    everyone, real = set(range(n)), {a for a in range(n) if not point[a]}
    key = lambda *atoms: "-".join(sorted(types[a] for a in atoms))
    bond_types = sorted(BONDS)
    # An angle for all; one dihedral for all. Those with points are in the file, and are to have no effect.
    stiffness, rest, torsion, shift = 50.0, 1.92, 0.2, 0.0
    angles = [row for row in chains(3, everyone) if not any(types[a] == "HW" for a in row)]
    dihedrals = chains(4, everyone)
    angles += [row for row in chains(3, real) if types[row[1]] == "OW" and (row[0], row[2]) not in bonds]
    # Exclusions of the file: points are atoms there.
    apart = {tuple(sorted((row[0], row[-1]))) for k in (2, 3, 4) for row in chains(k, everyone)}
    lists = [sorted(b for a, b in apart if a == k) or [-1] for k in range(n)]
    kinds = sorted(TYPES)
    tri = [(a, b) for b in range(len(kinds)) for a in range(b + 1)]
    table, a_coefficients, b_coefficients = {}, [], []
    for place, (a, b) in enumerate(tri, 1):
        table[a, b] = table[b, a] = place
        (_, ra, ea), (_, rb, eb) = TYPES[kinds[a]], TYPES[kinds[b]]
        e, r = math.sqrt(ea * eb), ra + rb
        a_coefficients.append(rounded(e * r**12))
        b_coefficients.append(rounded(2 * e * r**6))
    pointers = [0] * 31
    pointers[0], pointers[1], pointers[11], pointers[30] = n, len(kinds), len(residues), sum(point)
    split = lambda rows: [[row for row in rows if any(types[a][0] == "H" for a in row) == h] for h in (True, False)]
    parts = list(map(split, (bonds, angles, dihedrals)))
    for k, (with_hydrogen, without) in enumerate(parts):
        pointers[2 + 2 * k], pointers[3 + 2 * k], pointers[12 + k] = len(with_hydrogen), len(without), len(without)
    pointers[15:18] = len(bond_types), 1, 1
    by_three = lambda rows, kind: [x for row in rows for x in (*(3 * a for a in row), kind(row))]
    (bonds_h, bonds_0), (angles_h, angles_0), (dihedrals_h, dihedrals_0) = parts
    bond_kind = lambda row: bond_types.index(key(*row)) + 1
    one = lambda row: 1
    sections = [
        ("POINTERS", pointers), ("ATOM_NAME", names), ("CHARGE", charges), ("MASS", [TYPES[t][0] for t in types]),
        ("ATOM_TYPE_INDEX", [kinds.index(t) + 1 for t in types]), ("NUMBER_EXCLUDED_ATOMS", [len(x) for x in lists]),
        ("NONBONDED_PARM_INDEX", [table[a, b] for a in range(len(kinds)) for b in range(len(kinds))]),
        ("RESIDUE_LABEL", [f"R{k}" for k in range(len(residues))]), ("RESIDUE_POINTER", [k + 1 for k in residues]),
        ("BOND_FORCE_CONSTANT", [float(BONDS[b][0]) for b in bond_types]),
        ("BOND_EQUIL_VALUE", [float(BONDS[b][1]) for b in bond_types]),
        ("ANGLE_FORCE_CONSTANT", [stiffness]), ("ANGLE_EQUIL_VALUE", [rest]),
        ("DIHEDRAL_FORCE_CONSTANT", [torsion]), ("DIHEDRAL_PERIODICITY", [3.0]), ("DIHEDRAL_PHASE", [shift]),
        ("SCEE_SCALE_FACTOR", [1.2]), ("SCNB_SCALE_FACTOR", [2.0]),
        ("LENNARD_JONES_ACOEF", a_coefficients), ("LENNARD_JONES_BCOEF", b_coefficients),
        ("BONDS_INC_HYDROGEN", by_three(bonds_h, bond_kind)), ("BONDS_WITHOUT_HYDROGEN", by_three(bonds_0, bond_kind)),
        ("ANGLES_INC_HYDROGEN", by_three(angles_h, one)), ("ANGLES_WITHOUT_HYDROGEN", by_three(angles_0, one)),
        ("DIHEDRALS_INC_HYDROGEN", by_three(dihedrals_h, one)), ("DIHEDRALS_WITHOUT_HYDROGEN", by_three(dihedrals_0, one)),
        ("EXCLUDED_ATOMS_LIST", [b + 1 for row in lists for b in row]), ("AMBER_ATOM_TYPE", types),
        ("VIRTUAL_SITE_FRAMES", [x for site, atoms, kind, _ in frames
                                 for x in (site + 1, *([a + 1 for a in atoms] + [-1] * 4)[:4], kind)]),
        ("VIRTUAL_SITE_FRAME_DETAILS", [x for *_, numbers in frames for x in numbers]),
    ]
    text = "%VERSION  VERSION_STAMP = V0001.000\n"
    for name, values in sections:
        form, per_line, show = ("20a4", 20, "{:<4s}".format)
        if name in ("POINTERS",) or any(isinstance(x, int) for x in values):
            form, per_line, show = "10I8", 10, "{:8d}".format
        elif not any(isinstance(x, str) for x in values):
            form, per_line, show = "5E16.8", 5, "{:16.8E}".format
        rows = ["".join(show(x) for x in values[k:k + per_line]) for k in range(0, len(values), per_line)] or [""]
        text += f"%FLAG {name}\n%FORMAT({form})\n" + "\n".join(rows) + "\n"
    (folder / "extra_points.prmtop").write_text(text)

    system = openmm.System()
    for t in types:
        system.addParticle(TYPES[t][0])
    kcal = 4.184
    springs, bends, turns, pairs = (openmm.HarmonicBondForce(), openmm.HarmonicAngleForce(),
                                    openmm.PeriodicTorsionForce(), openmm.NonbondedForce())
    for a, b in bonds:
        if not (point[a] or point[b]):
            k, length = BONDS[key(a, b)]
            springs.addBond(a, b, 0.1 * length, 200 * k * kcal)
    for row in angles:
        if not any(point[a] for a in row):
            bends.addAngle(*row, rest, 2 * stiffness * kcal)
    for row in chains(4, real):
        turns.addTorsion(*row, 3, shift, torsion * kcal)
    for charge, t in zip(charges, types):
        _, r, e = TYPES[t]
        pairs.addParticle(charge / 18.2223, 2 * r * 0.1 / 2 ** (1 / 6), e * kcal)
    near = {tuple(sorted((row[0], row[-1]))) for k in (2, 3) for row in chains(k, real)}
    far = {tuple(sorted((row[0], row[-1]))) for row in chains(4, real)} - near
    groups = [(a, b, 0) for own in with_points if len(own) > 1 for a in own for b in own if a < b]
    groups += [(a, b, 0) for p, q in near for a in with_points[p] for b in with_points[q]]
    groups += [(a, b, 1) for p, q in far for a in with_points[p] for b in with_points[q]]
    for a, b, counts in groups:
        (qa, sa, ea), (qb, sb, eb) = pairs.getParticleParameters(a), pairs.getParticleParameters(b)
        depth = (ea._value * eb._value) ** 0.5 / 2
        pairs.addException(a, b, counts * qa * qb / 1.2, (sa + sb) / 2, counts * depth)
    for force in (springs, bends, turns, pairs):
        system.addForce(force)
    for group, force in enumerate(system.getForces()):
        force.setForceGroup(group)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))

    def energy(places, groups=-1):
        context.setPositions([openmm.Vec3(*r) for r in follow(places)])
        found = context.getState(getEnergy=True, groups=groups).getPotentialEnergy()
        return found.value_in_unit(unit.kilojoule_per_mole)

    def slope(atom, axis, h=2e-4):
        def moved(d):
            shifted = [list(r) for r in places]
            shifted[atom][axis] += d
            return energy(shifted)
        return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)

    rows = [f"{n}", "Properties=species:S:1:pos:R:3:forces:R:3"]
    for atom, r in enumerate(follow(places)):
        force = [0.0 if point[atom] else -slope(atom, axis) for axis in range(3)]
        rows.append(" ".join([names[atom]] + [repr(x) for x in [*r, *force]]))
    (folder / "extra_points.xyz").write_text("\n".join(rows) + "\n")
    terms = {f.__class__.__name__: energy(places, {k}) for k, f in enumerate(system.getForces())}
    values = {"openmm": openmm.Platform.getOpenMMVersion(), "model": "extra points", "energy": energy(places), "terms": terms}
    (folder / "extra_points.json").write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    water(folder, "four", "TIP4P-Ew", "tip4pew.xml")
    water(folder, "five", "TIP5P", "tip5p.xml")
    lone_pairs(folder, [CHLOROETHANE, WATER, FORMALDEHYDE])
    extra_points(folder, [ETHER, THIOL, AMINE, TIP5P, FREE, STATED])
