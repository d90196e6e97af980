"""Analyses of runs and trajectories."""

import gzip
import json
import subprocess
import sys

import jostle
import numpy
import pytest


@pytest.fixture
def folder(fluid, tmp_path):
    fluid["stage"][0] |= {
        "trajectory": {"every": 5, "format": "xyz"},
        "measure": [{"kind": "rdf", "every": 5, "cutoff": 2.0}],
    }
    sim = jostle.Simulation(**fluid)
    sim.write_to(tmp_path / "out")
    sim.run()
    return tmp_path / "out"


def test_analyses_are_those_of_the_program(folder):
    record = jostle.analyze("rdf", folder, cutoff=2.0, first=1)
    run = [sys.executable, "-m", "jostle", "analyze", "rdf", str(folder), "cutoff=2.0", "--first", "1", "--json"]
    told = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
    columns = told["results"]["tables"][0]["columns"]
    assert [c["name"] for c in columns] == list(record.table)
    for column in columns:
        given = [numpy.nan if x is None else x for x in column["values"]]
        assert numpy.array_equal(record.table[column["name"]], given, equal_nan=True)
    assert record.kind == "rdf" and record.frames == told["frames"]


def test_every_kind_is_a_function(folder):
    for kind, about, _ in jostle._jostle.analysis_kinds():
        function = getattr(jostle, kind.replace("-", "_"))
        assert function.__doc__.startswith(about)
    rdf = jostle.rdf(folder, cutoff=2.0)
    assert rdf.table["g all"].max() > 1.5 and rdf.table.units["r"] == ""
    value, error, unit = rdf.values["first peak all"]
    assert 1.0 < value < 1.3 and error > 0 and unit == ""


def test_analyses_of_a_simulation(fluid, tmp_path):
    fluid["stage"][0]["trajectory"] = {"every": 5, "format": "xyz"}
    sim = jostle.Simulation(**fluid)
    with pytest.raises(jostle.InputError, match="no folder"):
        jostle.rdf(sim)
    sim.write_to(tmp_path / "out")
    sim.run(30)
    assert jostle.rdf(sim, cutoff=2.0).frames == 7


def test_trajectories_that_only_count_steps(tmp_path):
    """An atom that goes straight on, in a LAMMPS dump."""
    frames = [
        f"ITEM: TIMESTEP\n{100 * k}\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 10\n0 10\n"
        f"ITEM: ATOMS id type xu yu zu\n1 1 {k} 5 5\n"
        for k in range(20)
    ]
    dump = tmp_path / "atom.dump"
    dump.write_text("".join(frames))
    with pytest.raises(jostle.InputError) as refused:
        jostle.msd(dump, units="lj")
    assert refused.value.hint == "give the time of a step with timestep="
    times, msd, *_ = jostle.msd(dump, units="lj", timestep=0.01).table.values()
    assert times[1] == 1 and numpy.allclose(msd, times**2, rtol=1e-6)
    for wrong in [0.0, -1.0, float("nan")]:
        with pytest.raises(jostle.InputError, match="time of a step"):
            jostle.msd(dump, units="lj", timestep=wrong)


def test_packed_dumps_have_the_times_of_the_run_beside_them(fluid, tmp_path):
    fluid["stage"][0] |= {"trajectory": {"every": 5, "format": "lammpstrj"}}
    sim = jostle.Simulation(**fluid)
    sim.write_to(tmp_path / "out")
    sim.run()
    plain = tmp_path / "out" / "sample.lammpstrj"
    packed = plain.with_name("sample.lammpstrj.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert jostle.msd(packed).values == jostle.msd(plain).values


def test_sheared_boxes_whose_tilts_flip(tmp_path):
    """Atoms that walk at random, beside following a box: a file in which its tilt grows, and those in which it flips."""
    random, edge = numpy.random.default_rng(9), 10.0
    s, dump, lines = random.random((100, 3)), tmp_path / "walk.lammpstrj", []
    arrays = {False: ([], []), True: ([], [])}
    for k in range(100):
        growing = numpy.array([[edge, 0, 0], [0.1 * k, edge, 0], [0, 0, edge]])
        s += 0.1 * random.normal(size=s.shape) @ numpy.linalg.inv(growing)
        for flips, (positions, boxes) in arrays.items():
            tilt = 0.1 * k - edge * round(0.01 * k) if flips else 0.1 * k
            box = numpy.array([[edge, 0, 0], [tilt, edge, 0], [0, 0, edge]])
            fractions = s @ growing @ numpy.linalg.inv(box)
            image = numpy.floor(fractions).astype(int)
            positions.append((fractions - image) @ box)
            boxes.append(box)
        low, high = min(0, tilt), edge + max(0, tilt)
        lines += [f"ITEM: TIMESTEP\n{k}\nITEM: NUMBER OF ATOMS\n100\nITEM: BOX BOUNDS xy xz yz pp pp pp\n"]
        lines += [f"{low} {high} {tilt}\n0 {edge} 0\n0 {edge} 0\nITEM: ATOMS id type x y z ix iy iz\n"]
        rows = zip(positions[-1].tolist(), image.tolist())
        lines += [" ".join(map(str, [n + 1, 1, *r, *i])) + "\n" for n, (r, i) in enumerate(rows)]
    dump.write_text("".join(lines))
    times = numpy.arange(100.0)
    growing, flipped = (jostle.Frames(*arrays[flips], times=times) for flips in (False, True))
    expected = jostle.msd(growing).table["msd all"]
    assert expected[1] == pytest.approx(0.03, rel=0.05)
    assert jostle.msd(flipped).table["msd all"] == pytest.approx(expected, rel=1e-6)
    assert jostle.msd(dump, units="lj", timestep=1.0).table["msd all"] == pytest.approx(expected, rel=1e-6)


def test_names_come_from_another_file(fluid, tmp_path):
    fluid["stage"][0]["trajectory"] = {"every": 5, "format": "dcd"}
    sim = jostle.Simulation(**fluid)
    sim.write_to(tmp_path / "out")
    sim.run()
    (written,) = (tmp_path / "out").glob("*.dcd")
    nameless = tmp_path / "nameless.dcd"
    nameless.write_bytes(written.read_bytes())
    chosen = {"atoms": "species A", "cutoff": 2.0, "units": "lj"}
    with pytest.raises(jostle.InputError):
        jostle.rdf(nameless, **chosen)
    assert jostle.rdf(nameless, names=tmp_path / "out" / "start.xyz", **chosen).frames > 0


def test_wrong_requests_are_refused(folder, tmp_path):
    for wrong in [{"cutof": 2.0}, {"cutoff": "two"}, {"cutoff": -1.0}, {"cutoff": float("nan")}, {"every": 0}]:
        with pytest.raises(ValueError):
            jostle.rdf(folder, **wrong)
    with pytest.raises(jostle.InputError, match="rfd"):
        jostle.analyze("rfd", folder)
    with pytest.raises(jostle.JostleError):
        jostle.rdf(tmp_path / "nothing.xyz")
    with pytest.raises(TypeError):
        jostle.rdf(3)
    for name in ["first", "last", "every"]:
        with pytest.raises(ValueError, match=f"{name} = -1, but frames are counted from 0"):
            jostle.rdf(folder, **{name: -1})
        with pytest.raises(TypeError, match=f"{name} = 1.5, but frames are counted by whole numbers"):
            jostle.rdf(folder, **{name: 1.5})
    with pytest.raises(ValueError, match="rdf takes one source, and these are 2"):
        jostle.rdf([folder, folder])
    assert jostle.rdf([folder], cutoff=2.0, last=numpy.int64(3)).frames == 4


def test_the_program_comes_along():
    done = subprocess.run([sys.executable, "-m", "jostle", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split()[1] == jostle.__version__
    assert subprocess.run([sys.executable, "-m", "jostle", "nonsense"], capture_output=True).returncode == 2
