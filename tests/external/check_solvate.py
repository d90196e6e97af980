"""Puts solutes into water with `jostle solvate`, and compares the energies of what it has written, by term, in OpenMM
(GromacsTopFile) and in Jostle. Where `gmx` is found, GROMACS' energies as well. Ions of CHARMM around a peptide of its
atom types are compared with the force field as OpenMM has it, exceptions from the rule for unlike pairs (NBFIX) included.

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
    "three alanines, CHARMM22 in its own water": [
        CHARMM / "ala_ala_ala.psf", "-c", CHARMM / "topology.pdb",
        "--parameters", CHARMM / "charmm22.rtf", CHARMM / "charmm22.par", "--padding", "0.9",
        "--water", "tip3p-charmm", "--ions", "K+,Cl-", *SALT,
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
        ("NonbondedForce", "CustomNonbondedForce", "LennardJonesForce", "LennardJonesExceptions", "LennardJones", "LennardJones14"),
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
    return energies_of(system, gro)


def energies_of(system, gro):
    """Energies by forces of OpenMM, without tail corrections."""
    edges = [edge[k].value_in_unit(unit.nanometer) for k, edge in enumerate(gro.getPeriodicBoxVectors())]
    for group, force in enumerate(system.getForces()):
        force.setForceGroup(group)
        if isinstance(force, mm.CustomNonbondedForce):
            force.setUseLongRangeCorrection(False)
        if isinstance(force, mm.NonbondedForce):
            force.setUseDispersionCorrection(False)
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


def typed_topology(system, topology, classes):
    """A topology of GROMACS with CHARMM's atom types and the forces between atoms that are not bound."""
    forces = {force.getName(): force for force in system.getForces()}
    nonbonded, table = forces["NonbondedForce"], forces["LennardJones"]
    charges = [nonbonded.getParticleParameters(k)[0].value_in_unit(unit.elementary_charge) for k in range(len(classes))]
    n, _, a = table.getTabulatedFunction(0).getFunctionParameters()
    _, _, b = table.getTabulatedFunction(1).getFunctionParameters()
    wells = {}
    for k, name in enumerate(classes):
        of_type = int(table.getParticleParameters(k)[0]) * (n + 1)
        # u = a/r^12 - b/r^6
        sigma = (a[of_type] / b[of_type]) ** (1 / 6)
        wells[name] = (sigma, b[of_type] / (4 * sigma**6))
    pairs = {}
    for k in range(forces["LennardJones14"].getNumBonds()):
        i, j, (sigma, epsilon) = forces["LennardJones14"].getBondParameters(k)
        pairs[min(i, j), max(i, j)] = sigma, epsilon
    lines = ["[ defaults ]", "1 2 no 1.0 1.0", "[ atomtypes ]"]
    lines += [f"{name} 0 1.0 0.0 A {sigma!r} {epsilon!r}" for name, (sigma, epsilon) in wells.items()]
    lines += ["[ moleculetype ]", "peptide 0", "[ atoms ]"]
    for k, (atom, name) in enumerate(zip(topology.atoms(), classes)):
        mass = atom.element.mass.value_in_unit(unit.dalton)
        lines.append(f"{k + 1} {name} {atom.residue.index + 1} {atom.residue.name} {atom.name} 1 {charges[k]!r} {mass}")
    excluded = [nonbonded.getExceptionParameters(k)[:2] for k in range(nonbonded.getNumExceptions())]
    lines += ["[ exclusions ]"] + [f"{i + 1} {j + 1}" for i, j in excluded]
    lines += ["[ pairs ]"] + [f"{i + 1} {j + 1} 1 {sigma!r} {epsilon!r}" for (i, j), (sigma, epsilon) in pairs.items()]
    return "\n".join([*lines, "[ system ]", "peptide", "[ molecules ]", "peptide 1", ""])


def check_ion_pairs(folder):
    """Returns the number of failures."""
    field = app.ForceField("charmm36_2024.xml", "charmm36_2024/water.xml")
    pdb = app.PDBFile(str(REFERENCE / "07b_ala3_vac_charmm36/topology.pdb"))
    alone = field.createSystem(pdb.topology, nonbondedMethod=app.NoCutoff)
    # OpenMM does not tell the types of atoms of residues that patches have changed.
    matched = app.ForceField._SystemData(pdb.topology)
    field._matchAllResiduesToTemplates(matched, pdb.topology, {}, False)
    classes = [field._atomTypes[matched.atomType[atom]].atomClass for atom in pdb.topology.atoms()]
    (folder / "peptide.top").write_text(typed_topology(alone, pdb.topology, classes))
    failures = 0
    for cation in ("Na+", "K+", "Ca2+"):
        name = str(folder / f"wet-{cation}")
        subprocess.run(
            [
                jostle, "solvate", folder / "peptide.top", "-c", REFERENCE / "07b_ala3_vac_charmm36/topology.pdb",
                "--padding", "0.9", "--water", "tip3p-charmm", "--ions", f"{cation},Cl-", "--concentration", "0.5",
                "--output", name,
            ],
            check=True, capture_output=True,
        )
        ours = of_jostle(name)
        gro = app.GromacsGroFile(f"{name}.gro")
        wet = app.PDBFile(str(REFERENCE / "07b_ala3_vac_charmm36/topology.pdb")).topology
        wet.setPeriodicBoxVectors(gro.getPeriodicBoxVectors())
        chain, before = wet.addChain(), None
        for residue, atom in list(zip(gro.residueNames, gro.atomNames))[len(classes):]:
            element = app.element.Element.getBySymbol(atom.title() if residue != "SOL" else atom[0])
            if residue != "SOL" or atom == "OW":
                group = wet.addResidue("HOH" if residue == "SOL" else residue, chain)
            atom = wet.addAtom(atom, element, group)
            if atom.name.startswith("HW"):
                wet.addBond(before, atom)
            else:
                before = atom
        system = field.createSystem(wet, nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF * unit.nanometer, rigidWater=True)
        theirs = energies_of(system, gro)
        kinds, there = TERMS["pairs"]
        a = sum(energy for key, energy in ours.items() if key.startswith(kinds))
        b = sum(energy for key, energy in theirs.items() if key in there)
        off = abs(a - b) / sum(abs(energy) for key, energy in ours.items() if key.startswith(kinds))
        failures += off > 1e-6
        print(f"CHARMM36 of OpenMM, peptide with {cation} and Cl-\n  pairs      {a:16.6f} {b:16.6f} kJ/mol  off by {off:.1e}")
    return failures


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
    with tempfile.TemporaryDirectory() as folder:
        failures += check_ion_pairs(Path(folder))
    print("failed" if failures else "all agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
