"""Energies of a solute in water at states of an alchemical path, by OpenMM.

    python tests/external/make_alchemy_reference.py ../shared/free-energy/toluene

OpenMM has no [alchemy]: here charges of the solute are scaled, its pairs among each other become exceptions of full
strength, and Beutler's soft core with other atoms is a CustomNonbondedForce. Prints for each state the energy in
kJ/mol, and the force on the first atom in kJ/mol/nm; the numbers in crates/engine/tests/simulations/alchemy.rs are
these. Needs openmm (pip install openmm).
"""

import sys
from pathlib import Path

import openmm
from openmm import app, unit

CUTOFF = 0.9
ALPHA = 0.5
STATES = [(1.0, 1.0), (0.4, 1.0), (0.0, 1.0), (0.0, 0.7), (0.0, 0.25), (0.0, 0.0)]


def system_of(prmtop, charges, lennard_jones):
    system = prmtop.createSystem(
        nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF * unit.nanometer, constraints=None, rigidWater=False,
        removeCMMotion=False,
    )
    [force] = [f for f in system.getForces() if isinstance(f, openmm.NonbondedForce)]
    force.setUseDispersionCorrection(False)
    force.setEwaldErrorTolerance(1e-6)
    solute = [a.index for a in prmtop.topology.atoms() if a.residue.name == "LIG"]
    rest = [a.index for a in prmtop.topology.atoms() if a.residue.name != "LIG"]
    soft = openmm.CustomNonbondedForce(
        "4*lambda*epsilon*(1/d^2 - 1/d); d = alpha*(1 - lambda) + (r/sigma)^6;"
        "sigma = 0.5*(sigma1 + sigma2); epsilon = sqrt(epsilon1*epsilon2)"
    )
    soft.addGlobalParameter("lambda", lennard_jones)
    soft.addGlobalParameter("alpha", ALPHA)
    soft.addPerParticleParameter("sigma")
    soft.addPerParticleParameter("epsilon")
    soft.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    soft.setCutoffDistance(CUTOFF * unit.nanometer)
    soft.addInteractionGroup(solute, rest)
    of = [force.getParticleParameters(k) for k in range(system.getNumParticles())]
    for charge, sigma, epsilon in of:
        # A pair without epsilon has no energy; sigma must not be 0.
        soft.addParticle([max(sigma / unit.nanometer, 0.1), epsilon])
    excepted = {}
    for k in range(force.getNumExceptions()):
        a, b, *_ = force.getExceptionParameters(k)
        excepted[frozenset((a, b))] = k
        soft.addExclusion(a, b)
    for n, a in enumerate(solute):
        for b in solute[n + 1:]:
            if frozenset((a, b)) in excepted:
                continue
            (qa, sa, ea), (qb, sb, eb) = of[a], of[b]
            force.addException(a, b, qa * qb, 0.5 * (sa + sb), (ea * eb) ** 0.5)
            soft.addExclusion(a, b)
    for a in solute:
        charge, sigma, _ = of[a]
        force.setParticleParameters(a, charges * charge, sigma, 0.0)
    system.addForce(soft)
    return system


def main():
    folder = Path(sys.argv[1])
    prmtop = app.AmberPrmtopFile(str(folder / "solvated.parm7"))
    inpcrd = app.AmberInpcrdFile(str(folder / "solvated.rst7"))
    platform = openmm.Platform.getPlatformByName("Reference")
    for charges, lennard_jones in STATES:
        system = system_of(prmtop, charges, lennard_jones)
        system.setDefaultPeriodicBoxVectors(*inpcrd.boxVectors)
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
        context.setPositions(inpcrd.positions)
        state = context.getState(energy=True, forces=True)
        energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        force = state.getForces()[0].value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
        print(f"([{charges}, {lennard_jones}], {energy:.6f}, [{force[0]:.5f}, {force[1]:.5f}, {force[2]:.5f}]),", flush=True)


main()
