"""Writes the reference of crates/engine/tests/data/sites: water of four and of five sites by OpenMM
(pip install openmm), its System and what it computes on its Reference platform.

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


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    water(folder, "four", "TIP4P-Ew", "tip4pew.xml")
    water(folder, "five", "TIP5P", "tip5p.xml")
