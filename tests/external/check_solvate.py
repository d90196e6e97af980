"""Puts solutes into water with `jostle solvate`, and compares the energies of what it has written, by term, in OpenMM
(GromacsTopFile) and in Jostle. Where `gmx` is found, GROMACS' energies as well.

    cargo build -p jostle
    pip install openmm
    python tests/external/check_solvate.py target/debug/jostle ../shared
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import openmm as mm
from openmm import app, unit

jostle, shared = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
REFERENCE = shared / "reference"
CHARMM = REFERENCE / "07g_ala3_vac_psf_charmm22"
SALT = ["--neutralise", "--concentration", "0.3"]
CASES = {
    "water alone, SPC/E": ["--box", "2.5", "--water", "spce"],
    "water alone, TIP4P-Ew, octahedron": ["--box", "3", "--shape", "octahedron", "--water", "tip4p-ew"],
    "water alone, TIP4P/2005": ["--box", "2.5", "--water", "tip4p-2005"],
    "salt water of CHARMM": ["--box", "2.7", "--water", "tip3p-charmm", "--concentration", "1"],
    "methanol, prmtop": [
        shared / "free-energy/methanol/vacuum.parm7", "-c", shared / "free-energy/methanol/vacuum.rst7",
        "--padding", "1.3", "--shape", "dodecahedron", *SALT,
    ],
    "alanine dipeptide, System of OpenMM": [
        REFERENCE / "07a_aladip_vac_amber14/system.xml", "-c", REFERENCE / "07a_aladip_vac_amber14/topology.pdb",
        "--padding", "1", "--water", "tip4p-ew", "--ions", "K+,Cl-", *SALT,
    ],
    "three alanines, CHARMM22": [
        CHARMM / "ala_ala_ala.psf", "-c", CHARMM / "topology.pdb",
        "--parameters", CHARMM / "charmm22.rtf", CHARMM / "charmm22.par", "--padding", "0.8", *SALT,
    ],
    "three alanines, CHARMM36 with maps": [
        REFERENCE / "07b_ala3_vac_charmm36/system.xml", "-c", REFERENCE / "07b_ala3_vac_charmm36/topology.pdb",
        "--padding", "0.9", "--shape", "octahedron", *SALT,
    ],
    "dihydrofolate reductase": [
        REFERENCE / "07h_dhfr_vac_amber14/system.xml", "-c", REFERENCE / "07h_dhfr_vac_amber14/topology.pdb",
        "--padding", "0.6", "--shape", "dodecahedron", "--water", "spce", *SALT,
    ],
}
# Energies by kinds of terms, as Jostle and OpenMM name them.
TERMS = {
    "bonds": (("bond_harmonic", "urey"), ("HarmonicBondForce",)),
    "angles": (("angle_harmonic",), ("HarmonicAngleForce",)),
    "dihedrals": (("dihedral",), ("PeriodicTorsionForce", "RBTorsionForce", "CustomTorsionForce", "HarmonicTorsionForce")),
    "maps": (("cmap",), ("CMAPTorsionForce",)),
    "pairs": (
        ("lennard_jones", "coulomb", "scaled_pair"),
        ("NonbondedForce", "CustomNonbondedForce", "LennardJonesForce", "LennardJonesExceptions"),
    ),
}
CUTOFF = 0.9


def of_jostle(name):
    # Plain cut-offs, which all programs have.
    text = Path(f"{name}.toml").read_text().replace("tail_correction = true\n", "")
    text = text.replace('cutoff = 1.2\ntruncation = "charmm-switched"\nswitch_from = 0.8333333333\n', "cutoff = 0.9\n")
    Path(f"{name}.toml").write_text(text)
    settings = ["system.rigid=none", "electrostatics.accuracy=1e-7", "run.precision=double"]
    arguments = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run([jostle, "energy", f"{name}.toml", "--json", *arguments], check=True, capture_output=True)
    return {term["name"]: term["energy"] for term in json.loads(done.stdout)["terms"]}


def of_openmm(name):
    gro = app.GromacsGroFile(f"{name}.gro")
    top = app.GromacsTopFile(f"{name}.top", periodicBoxVectors=gro.getPeriodicBoxVectors())
    # Tail corrections of programs differ by 1/N: pairs of an atom with itself.
    system = top.createSystem(
        nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF * unit.nanometer, useDispersionCorrection=False
    )
    edges = [edge[k].value_in_unit(unit.nanometer) for k, edge in enumerate(gro.getPeriodicBoxVectors())]
    for group, force in enumerate(system.getForces()):
        force.setForceGroup(group)
        if isinstance(force, mm.NonbondedForce):
            # The mesh that follows from OpenMM's tolerance is too coarse for six digits.
            force.setPMEParameters(4.4, *(int(edge / 0.025) for edge in edges))
    # The reference platform of OpenMM 8.6 misses pairs in boxes that are not rectangular; the other has single precision.
    vectors = [list(edge.value_in_unit(unit.nanometer)) for edge in gro.getPeriodicBoxVectors()]
    rectangular = all(vectors[i][j] == 0 for i in range(3) for j in range(3) if i != j)
    platform = mm.Platform.getPlatformByName("Reference" if rectangular else "CPU")
    context = mm.Context(system, mm.VerletIntegrator(0.001), platform)
    context.setPositions(gro.positions)
    context.computeVirtualSites()
    energies = {}
    for group, force in enumerate(system.getForces()):
        energy = context.getState(getEnergy=True, groups={group}).getPotentialEnergy()
        energies[force.getName()] = energies.get(force.getName(), 0) + energy.value_in_unit(unit.kilojoule_per_mole)
    return energies


def of_gromacs(gmx, name, folder):
    (folder / "point.mdp").write_text(
        "integrator = md\nnsteps = 0\ncutoff-scheme = Verlet\ncoulombtype = PME\nrcoulomb = 0.9\nrvdw = 0.9\n"
        "vdw-modifier = None\ncoulomb-modifier = None\nDispCorr = No\nfourierspacing = 0.04\npme-order = 8\newald-rtol = 1e-7\n"
        "verlet-buffer-tolerance = -1\nrlist = 0.95\ncontinuation = yes\n"
    )
    def run(*arguments, **more):
        return subprocess.run([gmx, *arguments], check=True, capture_output=True, cwd=folder, **more)

    run("grompp", "-f", "point.mdp", "-c", f"{name}.gro", "-p", f"{name}.top", "-o", "point.tpr", "-maxwarn", "2")
    run("mdrun", "-deffnm", "point", "-nt", "1")
    run("energy", "-f", "point.edr", "-o", "point.xvg", "-dp", input=b"Potential\n0\n")
    values = [line for line in (folder / "point.xvg").read_text().splitlines() if line[0] not in "#@"]
    return float(values[0].split()[1])


def main():
    failures = 0
    gmx = shutil.which("gmx_d") or shutil.which("gmx")
    for case, arguments in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            name = str(Path(folder) / "wet")
            subprocess.run(
                [jostle, "solvate", *map(str, arguments), "--output", name], check=True, capture_output=True
            )
            ours, theirs = of_jostle(name), of_openmm(name)
            print(case)
            sizes = 0
            for term, (here, there) in TERMS.items():
                a = sum(energy for key, energy in ours.items() if key.startswith(here))
                b = sum(energy for key, energy in theirs.items() if key in there)
                parts = sum(abs(energy) for key, energy in ours.items() if key.startswith(here))
                if parts == 0 and b == 0:
                    continue
                sizes += parts
                off = abs(a - b) / max(parts, 1)
                failures += off > 1e-6
                print(f"  {term:<10} {a:16.6f} {b:16.6f} kJ/mol  off by {off:.1e}")
            known = {key for _, there in TERMS.values() for key in there} | {"CMMotionRemover"}
            failures += bool(set(theirs) - known)
            print("  ", *sorted(set(theirs) - known))
            if gmx:
                energy, total = of_gromacs(gmx, name, Path(folder)), sum(ours.values())
                print(f"  GROMACS    {total:16.6f} {energy:16.6f} kJ/mol  off by {abs(total - energy) / sizes:.1e}")
    print("failed" if failures else "all agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
