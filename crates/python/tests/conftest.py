"""Systems of the tests."""

import copy

import jostle
import pytest

FLUID = {
    "units": "lj",
    "run": {"device": "cpu", "threads": 1, "reproducible": True},
    "system": {"lattice": "fcc", "atoms": 256, "density": 0.8, "temperature": 1.2, "seed": 7},
    "species": {"A": {"mass": 2.0}},
    "force": [{"kind": "lennard-jones", "cutoff": 2.5, "pairs": {"A-A": {"epsilon": 1.0, "sigma": 1.0}}}],
    "stage": [
        {
            "name": "sample",
            "steps": 60,
            "timestep": 0.004,
            "thermostat": {"kind": "bussi", "temperature": 1.2, "period": 0.1},
            "thermo": {"every": 10},
        }
    ],
}


@pytest.fixture
def fluid():
    """Keys of a Lennard-Jones fluid, for changes."""
    return copy.deepcopy(FLUID)


@pytest.fixture
def sim(fluid):
    """A Lennard-Jones fluid before its first step."""
    return jostle.Simulation(**fluid)
