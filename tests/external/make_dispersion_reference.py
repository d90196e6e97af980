"""Writes the reference of crates/engine/tests/data/dispersion: molecules of unlike atoms by OpenMM's LJPME
(pip install openmm), their System and what it computes on its Reference platform.

    python tests/external/make_dispersion_reference.py crates/engine/tests/data/dispersion
"""
import json
import random
import sys
from pathlib import Path

import openmm
from openmm import unit

EDGE = 2.0  # nm
MOLECULES = 27
# Charge, sigma in nm, epsilon in kJ/mol, mass.
KINDS = {
    "A": (0.3, 0.25, 0.30, 14.0),
    "B": (-0.5, 0.40, 0.15, 15.0),
    "C": (0.2, 0.33, 1.20, 16.0),
    "H": (0.0, 0.10, 0.0, 1.0),
    "X": (0.0, 0.40, 1.80, 40.0),
}


def main(folder):
    random.seed(11)
    cells = round(MOLECULES ** (1 / 3))
    size = EDGE / cells
    system, force = openmm.System(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors((EDGE, 0, 0), (0, EDGE, 0), (0, 0, EDGE))
    names, positions = [], []

    def add(kind, place):
        charge, sigma, epsilon, mass = KINDS[kind]
        names.append(kind)
        positions.append(openmm.Vec3(*place))
        system.addParticle(mass)
        return force.addParticle(charge, sigma, epsilon)

    for number in range(MOLECULES):
        cell = [number // cells // cells, number // cells % cells, number % cells]
        center = [size * (c + 0.5) + random.uniform(-0.03, 0.03) for c in cell]
        if number % 4 == 3:
            add("X", center)
            continue
        # A bent chain of four; the ends see half of each other.
        chain = [add(kind, [center[k] + at[k] for k in range(3)]) for kind, at in [
            ("A", (-0.15, 0.05, 0.0)), ("B", (0.0, 0.0, 0.0)), ("C", (0.12, 0.1, 0.02)), ("H", (0.2, 0.15, 0.1))]]
        for a in range(4):
            for b in range(a + 1, 4):
                ends = (a, b) == (0, 2)
                force.addException(chain[a], chain[b], 0.03 if ends else 0.0, 0.29, 0.3 if ends else 0.0)
    force.setNonbondedMethod(openmm.NonbondedForce.LJPME)
    force.setCutoffDistance(0.9)
    force.setUseDispersionCorrection(False)
    force.setPMEParameters(5.5, 320, 320, 320)
    force.setLJPMEParameters(5.5, 320, 320, 320)
    system.addForce(force)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    state = context.getState(getEnergy=True, getForces=True)
    f = state.getForces().value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
    (folder / "mixture.xml").write_text(openmm.XmlSerializer.serialize(system))
    rows = [f"{len(names)}", f'Lattice="{EDGE} 0 0 0 {EDGE} 0 0 0 {EDGE}" Properties=species:S:1:pos:R:3:forces:R:3']
    rows += [" ".join([n] + [repr(x) for x in [*a, *b]]) for n, a, b in zip(names, positions, f)]
    (folder / "mixture.xyz").write_text("\n".join(rows) + "\n")
    energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    values = {"openmm": openmm.Platform.getOpenMMVersion(), "energy": energy}
    (folder / "mixture.json").write_text(json.dumps(values) + "\n")
    print(values)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
