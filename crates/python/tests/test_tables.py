"""Tables as data frames and as drawings."""

import jostle
import numpy
import pytest


@pytest.fixture
def ran(fluid):
    """A fluid after its stage, with g(r) and errors."""
    fluid["stage"][0]["measure"] = [{"kind": "rdf", "every": 5, "cutoff": 2.0}]
    sim = jostle.Simulation(**fluid)
    sim.run()
    return sim


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_tables_are_data_frames(ran, package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    for table in [ran.thermo, ran.results["sample.rdf"].table]:
        frame = getattr(table, f"to_{package}")()
        assert list(frame.columns) == list(table)
        assert all(numpy.array_equal(frame[name].to_numpy(), table[name], equal_nan=True) for name in table)


def test_records_are_drawn_with_their_errors(ran, pyplot):
    rdf = ran.results["sample.rdf"]
    axes = rdf.plot()
    (bars,) = axes.containers
    x, y = bars[0].get_data()
    assert numpy.array_equal(x, rdf.table["r"]) and numpy.array_equal(y, rdf.table["g all"])
    (lines,) = bars[2]
    lengths = [numpy.ptp(line[:, 1]) for line in lines.get_segments() if len(line)]
    known = rdf.table["g all error"]
    assert numpy.allclose(lengths, 2 * known[numpy.isfinite(known)])
    assert axes.get_xlabel() == "r" and axes.get_ylabel() == "g all"


def test_rows_are_drawn_over_time(ran, pyplot):
    own = pyplot.figure().add_subplot()
    assert ran.thermo.plot("kinetic", "potential", axes=own) is own
    for bars, name in zip(own.containers, ["kinetic", "potential"]):
        assert numpy.array_equal(bars[0].get_ydata(), ran.thermo[name]) and bars.get_label() == name
        assert numpy.array_equal(bars[0].get_xdata(), ran.thermo["time"])
    assert [text.get_text() for text in own.get_legend().get_texts()] == ["kinetic", "potential"]
    drawn = {bars.get_label() for bars in ran.thermo.plot().containers}
    assert {"temperature", "pressure"} < drawn and not drawn & {"stage", "step", "time"}
    with pytest.raises(KeyError, match="temprature"):
        ran.thermo.plot("temprature")


def test_axes_have_units(pyplot):
    units = {"time": "fs", "temperature": "K"}
    table = jostle.Table({"time": numpy.arange(3.0), "temperature": numpy.ones(3)}, units)
    axes = table.plot("temperature")
    assert axes.get_xlabel() == "time (fs)" and axes.get_ylabel() == "temperature (K)"
