"""Forces written in Python."""

import gc
import weakref

import jostle
import numpy
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*gives no virial")


def lennard_jones(positions, box, cutoff=2.5):
    """Lennard-Jones forces with a cut-off, energy and virial, by all pairs."""
    lengths = numpy.diag(box)
    d = positions[:, None] - positions[None, :]
    d -= lengths * numpy.round(d / lengths)
    r2 = (d**2).sum(-1)
    numpy.fill_diagonal(r2, numpy.inf)
    s6 = numpy.where(r2 < cutoff**2, r2, numpy.inf) ** -3
    energy = 0.5 * (4 * (s6**2 - s6)).sum()
    f = (24 * (2 * s6**2 - s6) / r2)[..., None] * d
    return energy, f.sum(1), 0.5 * numpy.einsum("ija,ijb->ab", d, f)


def test_a_force_of_python_agrees_with_the_built_in_one(fluid):
    fluid["force"][0]["truncation"] = "plain"
    fluid["run"]["precision"] = "double"
    built_in = jostle.Simulation(**fluid)
    fluid["force"] = []
    written = jostle.Simulation(**fluid)
    written.force(lennard_jones, box=True, conserves_momentum=True)
    assert written.potential_energy == pytest.approx(built_in.potential_energy, rel=1e-10)
    for sim in [built_in, written]:
        sim.run(30)
    assert numpy.allclose(written.positions, built_in.positions, rtol=0, atol=1e-8)
    assert written.quantities["pressure"] == pytest.approx(built_in.quantities["pressure"], rel=1e-8)
    assert written.energies["lennard_jones"] == written.potential_energy
    assert numpy.array_equal(written.thermo["lennard_jones"], written.thermo["potential"])


def test_energy_is_conserved(fluid):
    del fluid["stage"][0]["thermostat"]
    fluid["stage"][0]["steps"] = 400
    sim = jostle.Simulation(**fluid)

    @sim.force(atoms=range(4))
    def springs(positions):
        assert positions.shape == (4, 3)
        return 10.0 * (positions**2).sum(), -20.0 * positions

    sim.run()
    conserved = sim.thermo["conserved"]
    assert numpy.ptp(conserved) < 5e-3 * abs(conserved[0]) and numpy.ptp(sim.thermo["springs"]) > 1


def test_exceptions_come_out(sim):
    class Broken(Exception):
        pass

    calls = []

    @sim.force
    def broken(positions):
        calls.append(1)
        if len(calls) > 5:
            raise Broken("at the sixth")
        return 0.0, 0.0 * positions

    with pytest.raises(Broken, match="sixth"):
        sim.run()
    with pytest.raises(Broken):
        sim.energies
    assert sim.positions.shape == (256, 3)


def test_a_run_that_failed_in_a_step_does_not_go_on(fluid, tmp_path):
    def nothing(positions):
        return 0.0, 0.0 * positions

    whole = jostle.Simulation(**fluid)
    whole.force(nothing)
    whole.run()
    fluid["stage"][0]["checkpoint"] = {"every": 20}
    sim = jostle.Simulation(**fluid)
    calls = []

    @sim.force(name="fragile")
    def fragile(positions):
        calls.append(1)
        if len(calls) == 44:  # The first is before the first step.
            raise ArithmeticError("in step 43")
        return 0.0, 0.0 * positions

    sim.write_to(tmp_path / "out")
    with pytest.raises(ArithmeticError, match="in step 43"):
        sim.run()
    assert sim.step == 42
    before = sim.positions
    for go_on in [sim.run, lambda: sim.run(1), sim.minimize, sim.save, lambda: sim.run(1, timestep=0.001)]:
        with pytest.raises(jostle.SimulationError, match="middle of step 43") as refused:
            go_on()
        assert "checkpoint" in refused.value.hint
    assert numpy.array_equal(sim.positions, before) and sim.step == 42
    sim.close()
    assert sim.folder is None
    resumed = jostle.Simulation.resume(tmp_path / "out")
    resumed.force(nothing, name="fragile")
    assert resumed.step == 40
    resumed.run()
    assert numpy.array_equal(resumed.positions, whole.positions)


def test_a_force_that_fails_before_the_first_step_may_be_mended(fluid):
    whole = jostle.Simulation(**fluid)
    whole.force(lambda positions: (0.0, 0.0 * positions), name="nothing")
    whole.run()
    sim, broken = jostle.Simulation(**fluid), [True]

    @sim.force
    def mended(positions):
        if broken:
            broken.pop()
            raise ArithmeticError
        return 0.0, 0.0 * positions

    with pytest.raises(ArithmeticError):
        sim.run()
    assert sim.step == 0
    sim.run()
    assert numpy.array_equal(sim.positions, whole.positions)


@pytest.mark.parametrize(
    "returned",
    [None, 3.0, (), (1.0,), ("much", numpy.zeros((256, 3))), (0.0, numpy.zeros((255, 3))),
     (0.0, numpy.full((256, 3), numpy.nan)), (numpy.inf, numpy.zeros((256, 3))),
     (0.0, numpy.zeros((256, 3)), numpy.zeros(3)), (0.0, numpy.zeros((256, 3)), None, None)],
    ids=lambda returned: repr(returned)[:24],
)
def test_wrong_values_are_refused(sim, returned):
    sim.force(lambda positions: returned, name="wrong")
    with pytest.raises((TypeError, ValueError, jostle.SimulationError)):
        sim.run(1)
    assert sim.step == 0


@pytest.mark.parametrize("forces", [None, numpy.zeros((256, 3)), numpy.full((256, 3), -0.0), numpy.zeros((256, 3), int)])
def test_no_forces_change_no_path(fluid, forces):
    plain, forced = jostle.Simulation(**fluid), jostle.Simulation(**fluid)
    forced.force(lambda positions: (2.5, forces), name="nothing", conserves_momentum=True)
    for sim in [plain, forced]:
        sim.run(20)
    assert numpy.array_equal(plain.positions, forced.positions)
    assert numpy.all(forced.thermo["nothing"] == 2.5)
    assert forced.potential_energy == pytest.approx(plain.potential_energy + 2.5, rel=1e-12)


def test_positions_are_those_of_their_step_whatever_is_done_with_them(fluid):
    plain, watched = jostle.Simulation(**fluid), jostle.Simulation(**fluid)
    kept, expected, weak = [], [], []

    @watched.force(conserves_momentum=True)
    def watch(positions):
        assert positions.shape == (256, 3) and positions.dtype == float and positions.flags.writeable
        call = len(expected)
        expected.append(positions.copy())
        if call % 8 == 0:
            kept.append((call, positions))
        elif call % 8 == 1:
            kept.append((call, positions[10:20]))
        elif call % 8 == 2:
            kept.append((call, memoryview(positions)))
        elif call % 8 == 3:
            weak.append(weakref.ref(positions))
        elif call % 8 == 4:
            positions[:] = numpy.nan
        elif call % 8 == 5:
            positions.shape = (-1,)
        elif call % 8 == 6:
            positions.resize((3, 1), refcheck=False)
        elif call % 8 == 7:
            positions.flags.writeable = False
        return 0.0, None

    for sim in [plain, watched]:
        sim.run(40)
    assert len(expected) == 41 and len(kept) > 10
    for call, array in kept:
        whole = expected[call]
        assert numpy.array_equal(array, whole[10:20] if len(array) == 10 else whole)
    assert numpy.array_equal(expected[-1], watched.unwrapped_positions)
    assert numpy.array_equal(plain.positions, watched.positions)
    assert not any(reference() is not None for reference in weak)


def test_a_force_cannot_use_its_simulation(sim):
    sim.force(lambda positions: sim.positions, name="curious")
    with pytest.raises(RuntimeError, match="evaluating"):
        sim.run(1)


def test_wrong_forces_are_refused(sim):
    with pytest.raises(TypeError):
        sim.force(3)
    with pytest.raises((ValueError, OverflowError)):
        sim.force(lambda r: (0.0, r), name="far", atoms=[-1])
    with pytest.raises(ValueError):
        sim.force(lambda r: (0.0, r), name="far", atoms=[256])
    for wrong in ([1.5], [True], numpy.array([True, False])):
        with pytest.raises(TypeError):
            sim.force(lambda r: (0.0, r), name="far", atoms=wrong)
    with pytest.raises(jostle.InputError):
        sim.force(lambda r: (0.0, r), name="temperature")
    sim.run(1)
    with pytest.raises(jostle.InputError, match="late"):
        sim.force(lambda r: (0.0, r), name="late")


def test_a_missing_virial_is_told(sim):
    sim.force(lambda positions: (0.0, 0.0 * positions), name="nothing")
    with pytest.warns(jostle.JostleWarning, match="virial"):
        sim.run(2)


def test_forces_are_resumed(fluid, tmp_path):
    def trap(positions):
        return 0.5 * (positions**2).sum(), -positions

    whole = jostle.Simulation(**fluid)
    whole.force(trap)
    whole.run(50)
    with jostle.Simulation(**fluid) as sim:
        sim.force(trap)
        sim.write_to(tmp_path / "out")
        sim.run(20)
    for _ in range(2):
        # Looking at the run leaves its checkpoint as it is.
        with jostle.Simulation.resume(tmp_path / "out") as resumed:
            for go_on in [lambda: resumed.run(30), resumed.save]:
                with pytest.raises(jostle.InputError, match="trap"):
                    go_on()
    resumed = jostle.Simulation.resume(tmp_path / "out")
    resumed.force(trap)
    resumed.run(30)
    assert numpy.array_equal(resumed.positions, whole.positions)


def test_simulations_are_freed(fluid):
    def make():
        sim = jostle.Simulation(**fluid)
        sim.observe(every=10)(lambda observed: sim.step)
        sim.force(lambda positions: (0.0 * len(sim.stages), 0.0 * positions), name="nothing", atoms=[])
        sim.run(5)
        return weakref.ref(sim)

    freed = make()
    gc.collect()
    assert freed() is None


@pytest.mark.parametrize("atoms, message", [([-1], "no atom -1"), ([3, 5, 3], "atom 3 is there twice")])
def test_ids_of_atoms_that_make_no_sense(sim, atoms, message):
    with pytest.raises(ValueError, match=message):

        @sim.force(atoms=atoms)
        def push(positions):
            return 0.0, 0 * positions
