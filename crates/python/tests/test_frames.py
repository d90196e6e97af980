"""Analyses of arrays."""

import jostle
import numpy
import pytest


@pytest.fixture
def run(fluid, tmp_path):
    """A run with a trajectory of all digits, and its frames as arrays."""
    every = {"every": 5, "format": "xyz"}
    fluid["stage"][0]["trajectory"] = every
    sim = jostle.Simulation(**fluid)
    sim.write_to(tmp_path / "out")
    positions, velocities, times = [], [], []

    @sim.observe(every=5)
    def keep(sim):
        positions.append(sim.unwrapped_positions)
        velocities.append(sim.velocities)
        times.append(sim.time)

    sim.run()
    return tmp_path / "out", jostle.Frames(positions, sim.box, velocities=velocities, times=times)


@pytest.mark.parametrize("kind, settings", [("rdf", {"cutoff": 2.0}), ("msd", {}), ("vacf", {})])
def test_arrays_have_the_results_of_files(run, kind, settings):
    folder, frames = run
    assert len(frames) == 13
    of_file, of_arrays = (jostle.analyze(kind, source, **settings) for source in (folder, frames))
    assert of_file.frames == of_arrays.frames == 13
    for name, column in of_file.table.items():
        assert numpy.allclose(of_arrays.table[name.replace("A-A", "all")], column, rtol=1e-5, atol=1e-5, equal_nan=True), name


def test_mixtures_and_units():
    """The first neighbours of a crystal of two species, in units with names."""
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(6)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    species = numpy.where(grid.sum(axis=1) % 2, "Na", "Cl")
    frames = jostle.Frames(2.8 * grid, numpy.eye(3) * 16.8, species=species, units="real")
    rdf = jostle.rdf(frames, cutoff="6 angstrom")
    assert rdf.frames == 1 and rdf.table.units["r"] == "A"
    assert abs(rdf.table["r"][numpy.argmax(rdf.table["g Cl-Na"])] - 2.8) < 0.1


def test_wrong_arrays_are_refused():
    r, box = numpy.zeros((2, 5, 3)), numpy.eye(3)
    for wrong in [
        lambda: jostle.Frames(r[..., :2], box),
        lambda: jostle.Frames(r[0, 0], box),
        lambda: jostle.Frames(r, box[0]),
        lambda: jostle.Frames(r + numpy.nan, box),
        lambda: jostle.Frames(r, box + numpy.inf),
        lambda: jostle.Frames(r, box, velocities=r[:, :4]),
        lambda: jostle.Frames(r, box, times=[0.0]),
        lambda: jostle.Frames(r, box, species=["A"] * 4),
        lambda: jostle.Frames(r, box, species=["A B"] * 5),
        lambda: jostle.Frames(r, box, periodic=(True, True)),
        lambda: jostle.Frames(r, box, periodic="FFF"),
        lambda: jostle.Frames(r, box, periodic=("F", "F", "F")),
        lambda: jostle.Frames(numpy.ma.masked_equal(r, 0), box),
        lambda: jostle.Frames(r, numpy.ma.masked_equal(box, 0)),
        lambda: jostle.rdf(jostle.Frames(r, box, units="imperial")),
        lambda: jostle.vacf(jostle.Frames(r, box)),
    ]:
        with pytest.raises(ValueError):
            wrong()
