"""Atoms of MDAnalysis."""

import warnings

import jostle
import numpy
import pytest

mda = pytest.importorskip("MDAnalysis", reason="MDAnalysis is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

ARGON = [{"kind": "lennard-jones", "cutoff": 8.5, "pairs": {"Ar-Ar": {"epsilon": "119.8 K", "sigma": 3.405}}}]
RUN = {"device": "cpu", "threads": 1, "precision": "double"}


@pytest.fixture
def argon(tmp_path):
    """A run of argon, with a trajectory."""
    with jostle.Simulation(
        units="real",
        run=RUN,
        system={"lattice": "fcc", "atoms": 256, "density": "1.374 g/cm3", "temperature": 94.4},
        species={"Ar": {"mass": 39.948}},
        force=ARGON,
        stage=[{"steps": 20, "timestep": 5, "trajectory": {"every": 20, "format": "trr"}}],
    ) as sim:
        sim.write_to(tmp_path / "argon")
        sim.run()
    return sim


def test_the_last_frame_of_a_run_goes_on(argon, tmp_path):
    (trajectory,) = tmp_path.rglob("*.trr")
    universe = mda.Universe.empty(256, trajectory=True)
    universe.add_TopologyAttr("names", ["Ar"] * 256)
    universe.add_TopologyAttr("masses", [39.948] * 256)
    universe.load_new(str(trajectory))
    universe.trajectory[-1]
    sim = jostle.from_mdanalysis(universe, run=RUN, force=ARGON, stage=[{"steps": 10, "timestep": 5}])
    # MDAnalysis has single precision.
    difference = sim.positions - argon.positions
    difference -= sim.box[0, 0] * numpy.round(difference / sim.box[0, 0])
    assert numpy.abs(difference).max() < 1e-4
    assert numpy.allclose(sim.velocities, argon.velocities, rtol=1e-4, atol=1e-7)
    assert numpy.allclose(sim.masses, 39.948) and set(sim.species) == {"Ar"}
    assert sim.potential_energy == pytest.approx(argon.potential_energy, rel=1e-4)
    assert jostle.from_mdanalysis(universe.atoms[:2], run=RUN).n_atoms == 2
    sim.run()


@pytest.mark.filterwarnings("default")
def test_a_frame_without_box_is_open_and_said_to_be():
    universe = mda.Universe.empty(2, trajectory=True)
    universe.add_TopologyAttr("names", ["Ar"] * 2)
    universe.add_TopologyAttr("masses", [39.948] * 2)
    universe.atoms.positions = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    with pytest.warns(jostle.JostleWarning, match="MDAnalysis gives no box"):
        jostle.from_mdanalysis(universe, run=RUN)
    with pytest.raises(jostle.InputError, match="MDAnalysis gives no box"):
        jostle.from_mdanalysis(universe, run=RUN, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", jostle.JostleWarning)
        assert jostle.from_mdanalysis(universe, run=RUN, system={"periodic": False}).n_atoms == 2
        universe.dimensions = [20.0, 20.0, 20.0, 90.0, 90.0, 90.0]
        assert jostle.from_mdanalysis(universe, run=RUN).box[0, 0] == pytest.approx(20.0)


def test_a_topology_has_the_force_field(tmp_path):
    openmm = pytest.importorskip("openmm", reason="OpenMM is not installed")
    from test_openmm import state, water

    topology, system, positions = water()
    (tmp_path / "water.xml").write_text(openmm.XmlSerializer.serialize(system))
    universe = mda.Universe.empty(15, n_residues=5, atom_resindex=numpy.arange(15) // 3, trajectory=True)
    universe.add_TopologyAttr("names", ["O", "H1", "H2"] * 5)
    universe.add_TopologyAttr("resnames", ["HOH"] * 5)
    universe.add_TopologyAttr("resids", range(1, 6))
    universe.atoms.positions = 10 * positions
    sim = jostle.from_mdanalysis(universe, topology=tmp_path / "water.xml", units="nano", run=RUN)
    energy, _ = state(system, universe.atoms.positions.astype(float) / 10)
    assert sim.potential_energy == pytest.approx(energy, rel=1e-9)
    assert sim.names[:2] == ["O", "H1"] and sim.residues[3][:2] == ("HOH", 2)
    with pytest.raises(jostle.JostleError):
        jostle.from_mdanalysis(universe.atoms[:3], topology=tmp_path / "water.xml", units="nano")
    with pytest.raises(ValueError, match="no atoms"):
        jostle.from_mdanalysis(universe.atoms[:0])
