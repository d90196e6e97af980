"""Observers written in Python."""

import jostle
import numpy
import pytest


def test_observers_come_when_they_are_due(sim):
    seen = []

    @sim.observe(every=20)
    def watch(observed):
        assert observed is sim
        seen.append((sim.step, sim.positions.copy(), sim.energies["potential"]))

    sim.run(50)
    sim.run()
    assert [step for step, *_ in seen] == [0, 20, 40, 60]
    rows = dict(zip(sim.thermo["step"], sim.thermo["potential"]))
    assert [energy for *_, energy in seen] == [rows[step] for step, *_ in seen]
    assert not numpy.array_equal(seen[0][1], seen[1][1])


def test_observers_change_no_bit(fluid):
    alone, observed = (jostle.Simulation(**fluid) for _ in range(2))
    observed.observe(every=7)(lambda sim: sim.forces)
    observed.observe(every=3, energies=False)(lambda sim: sim.velocities)
    alone.run()
    observed.run()
    assert numpy.array_equal(alone.positions, observed.positions)
    assert numpy.array_equal(alone.velocities, observed.velocities)


def test_exceptions_end_the_run_and_come_out(sim):
    class Enough(Exception):
        pass

    @sim.observe(every=10)
    def stop(sim):
        if sim.step == 30:
            raise Enough("at thirty")

    with pytest.raises(Enough, match="at thirty"):
        sim.run()
    assert sim.step == 30
    sim.run()
    assert sim.finished and sim.step == 60


def test_observers_change_the_atoms(sim):
    @sim.observe(every=10, energies=False)
    def cool(sim):
        sim.velocities = 0.5 * sim.velocities

    sim.run(40, timestep=0.004)
    assert sim.temperature < 0.3


def test_observers_cannot_run(sim):
    sim.observe(every=10)(lambda sim: sim.run(1))
    with pytest.raises(RuntimeError, match="observer"):
        sim.run()


@pytest.mark.parametrize("every", [0, -1, 1.5, None, "ten", 2**70])
def test_wrong_intervals_are_refused(sim, every):
    with pytest.raises((ValueError, TypeError)):
        sim.observe(every=every)(print)
    with pytest.raises(TypeError):
        sim.observe(every=10)(3)
