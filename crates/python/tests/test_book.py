"""The pages of the book and the notebooks: what they show runs."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jostle
import pytest

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ["install", "first-run", "tutorials", "units", "input", "reference", "how-it-works", "coming-from"]
NOTEBOOKS = sorted(path.stem for path in (DOCS / "notebooks").glob("*.ipynb"))


def blocks(page, language):
    """Blocks of a page in a language, with the lines where they begin."""
    text = (DOCS / f"{page}.md").read_text()
    found = re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
    return [(text.count("\n", 0, block.start(1)), block.group(1)) for block in found]


# Heavy atoms of the dipeptide of alanine: residue, atom, element, position in nm.
DIPEPTIDE = """
ACE CH3 C 0.2000 0.2090 0.0000
ACE C   C 0.3427 0.2641 0.0000
ACE O   O 0.4391 0.1877 0.0000
ALA N   N 0.3555 0.3970 0.0000
ALA CA  C 0.4853 0.4614 0.0000
ALA CB  C 0.5661 0.4221 -0.1232
ALA C   C 0.4713 0.6129 0.0000
ALA O   O 0.3601 0.6653 0.0000
NME N   N 0.5846 0.6835 0.0000
NME C   C 0.5846 0.8284 0.0000
"""


def write_protein(folder, *, in_water):
    """Writes `protein.prmtop` and `protein.rst7`: the smallest protein, alone or in a box of water."""
    app = pytest.importorskip("openmm.app", reason="OpenMM is not installed")
    parmed = pytest.importorskip("parmed", reason="ParmEd is not installed")
    from openmm import Vec3, unit

    topology, residues, positions = app.Topology(), {}, []
    chain = topology.addChain()
    for residue, atom, element, *position in map(str.split, DIPEPTIDE.strip().splitlines()):
        if residue not in residues:
            residues[residue] = topology.addResidue(residue, chain)
        topology.addAtom(atom, app.Element.getBySymbol(element), residues[residue])
        positions.append(Vec3(*map(float, position)))
    topology.createStandardBonds()
    field = app.ForceField("amber14-all.xml", "amber14/tip3p.xml")
    modeller = app.Modeller(topology, positions * unit.nanometer)
    modeller.addHydrogens(field)
    if in_water:
        modeller.addSolvent(field, boxSize=Vec3(2.4, 2.4, 2.4) * unit.nanometer)
    method = app.PME if in_water else app.NoCutoff
    system = field.createSystem(modeller.topology, nonbondedMethod=method, rigidWater=False)
    structure = parmed.openmm.load_topology(modeller.topology, system, modeller.positions)
    for ending in ["prmtop", "rst7"]:
        structure.save(str(folder / f"protein.{ending}"), overwrite=True)


def commands(block):
    """Words of the commands of a block, whose lines may go on after a backslash."""
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def shortened(arguments):
    """Arguments on one thread, of runs that take a moment: of argon, where the page says nothing else."""
    if arguments[0] not in ("run", "sweep"):
        return arguments
    if "--steps" not in arguments:
        more = ["stage.sample.trajectory.every=10", "stage.sample.thermo.every=10"]
        arguments = [*arguments, "--steps", "200", *(word for value in more for word in ("--set", value))]
    return [*arguments, "--threads", "1", "--device", "cpu"]


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _, block in blocks(page, "sh"):
        if "protein." in block:
            write_protein(tmp_path, in_water=False)
        for words in commands(block):
            assert words[0] == "jostle", words
            command = [sys.executable, "-m", "jostle", *shortened(words[1:])]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, f"{words}\n{done.stderr}"
    names = {}
    for line, block in blocks(page, "python"):
        exec(compile("\n" * line + block, f"{page}.md", "exec"), names)
    for _, block in blocks(page, "toml"):
        if "protein." in block:
            write_protein(tmp_path, in_water=True)
        jostle.Simulation.from_string(block, device="cpu", threads=1, steps=5).run(2)


def test_blocks_that_are_not_run_have_a_reason():
    """Those in `text` install something, those in `py` need a GPU and PyTorch."""
    run = {"sh", "python", "toml"}
    for page in DOCS.glob("*.md"):
        languages = set(re.findall(r"^```(\w+)$", page.read_text(), re.M))
        assert languages <= run | {"text", "py"}, page.name
        assert page.stem in [*PAGES, "python"] or not languages & run, f"{page.name} is not run"
        for _, block in blocks(page.stem, "text"):
            assert all(w[0] in ("cargo", "pip") and w[1] == "install" for w in commands(block)), block
        assert all("torch" in block for _, block in blocks(page.stem, "py"))


def test_links_lead_somewhere():
    for path in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / link).exists(), f"{path.name}: {link}"
    assert all(f"({page}.md)" in (DOCS / "index.md").read_text() for page in PAGES)
    assert all(f"(notebooks/{name}.ipynb)" in (DOCS / "index.md").read_text() for name in NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_notebooks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    names = {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            exec(compile("".join(cell["source"]), f"{name}.ipynb, cell {number}", "exec"), names)


def test_the_site_is_built(tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    build = [sys.executable, "-m", "mkdocs", "build", "--config-file", DOCS.parent / "mkdocs.yml", "--site-dir", tmp_path]
    done = subprocess.run(build, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # Pages of the repository outside of the book are no part of the site.
    wrong = [line for line in done.stderr.splitlines() if "WARNING" in line and "link '../" not in line]
    assert wrong == []
    for page in [*PAGES, "python", "features", "performance"]:
        assert (tmp_path / page / "index.html").exists(), f"{page} is missing in mkdocs.yml"
    text = (tmp_path / "reference" / "index.html").read_text()
    assert text.count("<ul>") > 50, "keys within keys are lists within lists"
