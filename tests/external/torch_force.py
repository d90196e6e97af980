"""Forces of PyTorch on a GPU: a Lennard-Jones force written in PyTorch beside the built-in one, arrays of the atoms as
tensors, and the cost of a force that does nothing, beside none, for DHFR (or SPC/E water).

    pip install . torch
    python tests/external/torch_force.py [dhfr.system.xml[.xz] dhfr.pdb[.xz]]
"""

import lzma
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy
import torch

import jostle

CUTOFF, DEVICE = 2.5, "cuda:0"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "systems"


def say(text):
    print(f"[{time.monotonic() - BEGUN:5.1f} s] {text}", flush=True)


def lennard_jones(positions, box):
    """Energy, forces and virial of all pairs within the cut-off, on the device."""
    r = torch.from_dlpack(positions)
    lengths = torch.tensor(numpy.diag(box), device=r.device)
    d = r[:, None] - r[None, :]
    d -= lengths * torch.round(d / lengths)
    r2 = (d * d).sum(-1)
    r2.fill_diagonal_(torch.inf)
    s6 = torch.where(r2 < CUTOFF**2, r2, torch.inf) ** -3
    energy = 2 * (s6 * s6 - s6).sum()
    f = (24 * (2 * s6 * s6 - s6) / r2)[..., None] * d
    return energy, f.sum(1), 0.5 * torch.einsum("ija,ijb->ab", d, f)


def fluid(force):
    return jostle.Simulation(
        units="lj",
        run={"device": DEVICE, "precision": "double"},
        system={"lattice": "fcc", "atoms": 500, "density": 0.8, "temperature": 1.2, "seed": 7},
        species={"A": {"mass": 1.0}},
        force=force,
        stage=[{"steps": 1_000_000, "timestep": 0.004, "thermo": {"every": 10}}],
    )


def compare():
    """The force of PyTorch and the built-in one: at the start, along a path, and the energy over time."""
    pairs = {"A-A": {"epsilon": 1.0, "sigma": 1.0}}
    built_in = fluid([{"kind": "lennard-jones", "cutoff": CUTOFF, "truncation": "plain", "pairs": pairs}])
    written = fluid([])
    written.force(lennard_jones, box=True, conserves_momentum=True, on_device=True)
    difference = numpy.abs(written.forces - built_in.forces).max()
    say(f"largest difference of forces at the start: {difference:.2e}")
    good = difference < 1e-9
    for sim in (built_in, written):
        sim.run(100)
    difference = numpy.abs(written.positions - built_in.positions).max()
    say(f"largest difference of positions after 100 steps: {difference:.2e}")
    good &= difference < 1e-6
    for name in ("potential", "pressure"):
        one, other = written.thermo[name], built_in.thermo[name]
        difference = numpy.abs(one - other).max() / numpy.abs(other).max()
        say(f"largest relative difference of '{name}' in 100 steps: {difference:.2e}")
        good &= difference < 1e-7
    written.run(500)
    total = written.thermo["total"]
    # A truncated potential jumps at the cut-off; the drift is that of the built-in force, too.
    say(f"drift of the total energy in 600 steps: {(total[-1] - total[0]) / abs(total[0]):.2e}")
    return good


def views():
    """Arrays of the atoms as tensors: order, reading and writing."""
    sim = fluid([{"kind": "lennard-jones", "cutoff": CUTOFF, "pairs": {"A-A": {"epsilon": 1.0, "sigma": 1.0}}}])
    sim.run(50)
    positions, velocities, forces = sim.positions, sim.velocities, sim.forces
    with sim.on_device(write=True) as d:
        ids = torch.from_dlpack(d.ids).cpu().numpy()
        tensors = [torch.from_dlpack(a) for a in (d.positions, d.velocities, d.forces)]
        assert all(t.is_cuda for t in tensors), "tensors are not on the GPU"
        found = [t.cpu().numpy() for t in tensors]
        interface = d.positions.__cuda_array_interface__
        assert interface["shape"] == (500, 3) and interface["data"][0] == tensors[0].data_ptr()
        tensors[1].mul_(0.5)
    edge = sim.box[0, 0]
    off = found[0] - positions[ids]
    good = numpy.abs(off - edge * numpy.round(off / edge)).max() < 1e-9
    good &= numpy.array_equal(found[1], velocities[ids]) and numpy.array_equal(found[2], forces[ids])
    good &= numpy.array_equal(sim.velocities, 0.5 * velocities)
    sim.run(10)
    say(f"arrays on the device: {'as on the host' if good else 'DIFFERENT from those of the host'}")
    return good


def unpacked(path, folder):
    """A file, without its compression."""
    path = Path(path)
    if path.suffix != ".xz":
        return str(path)
    plain = Path(folder) / path.stem
    plain.write_bytes(lzma.decompress(path.read_bytes()))
    return str(plain)


def large(folder):
    """Name and keys of the largest system at hand."""
    run = {"device": DEVICE}
    stage = {"steps": 100_000_000, "thermo": {"every": 5000}}
    given = sys.argv[1:3] or [SHARED / "dhfr.system.xml.xz", SHARED / "dhfr.pdb.xz"]
    if all(Path(path).exists() for path in given):
        topology, coordinates = (unpacked(path, folder) for path in given)
        return Path(given[0]).name.split(".")[0], {
            "units": "nano",
            "run": run,
            "system": {"topology": topology, "coordinates": coordinates, "temperature": 300},
            "force": [{"kind": "lennard-jones", "cutoff": 0.9, "tail_correction": True}],
            "electrostatics": {"kind": "pme", "net_charge": "background"},
            "stage": [
                stage | {"timestep": 0.004, "thermostat": {"kind": "langevin", "temperature": 300, "friction": 1}}
            ],
        }
    return "SPC/E water", {
        "units": "real",
        "run": run,
        "system": {"place": "water", "molecules": 8000, "bond_length": 1.0, "bond_angle": 109.47,
                   "density": "0.998 g/cm3", "temperature": 300},
        "species": {"O": {"mass": 15.9994, "charge": -0.8476}, "H": {"mass": 1.008, "charge": 0.4238}},
        "force": [{"kind": "lennard-jones", "cutoff": 9, "pairs": {
            "O-O": {"epsilon": 0.1553, "sigma": 3.166}, "O-H": "none", "H-H": "none"}}],
        "electrostatics": {"kind": "pme"},
        "stage": [
            stage | {"timestep": 1.0, "thermostat": {"kind": "langevin", "temperature": 300, "friction": 0.01}}
        ],
    }


def cost():
    """Time of a step with a force that does nothing and without one, by turns."""
    with tempfile.TemporaryDirectory() as folder:
        name, keys = large(folder)
        without = jostle.Simulation(**keys)
        idle = jostle.Simulation(**keys)
    zeros = torch.zeros((idle.n_atoms, 3), device=DEVICE)
    energy, virial = torch.zeros((), device=DEVICE), torch.zeros((3, 3), device=DEVICE)
    calls = [0]

    def looking(positions):
        calls[0] += 1
        torch.from_dlpack(positions)
        return energy, zeros, virial

    idle.force(looking, name="idle", on_device=True)
    say(f"{name}: {idle.n_atoms} atoms on {idle.device}")
    sims = {"without": without, "with": idle}
    for label, sim in sims.items():
        sim.run(3000)
        say(f"{label} the force: warm after 3000 steps")
    calls[0] = 0
    steps, turns = 2000, 7
    times = {label: [] for label in sims}
    for _ in range(turns):
        for label, sim in sims.items():
            begun = time.perf_counter()
            sim.run(steps)
            times[label].append(1e6 * (time.perf_counter() - begun) / steps)
    medians = {label: statistics.median(values) for label, values in times.items()}
    for label, values in times.items():
        say(f"{label} the force: {medians[label]:.1f} us a step, from {min(values):.1f} to {max(values):.1f}")
    say(f"calls of the force a step: {calls[0] / (steps * turns):.2f}")
    more = medians["with"] - medians["without"]
    say(f"a force that does nothing costs {more:.1f} us a step (at most 50 are allowed)")
    return more <= 50


if __name__ == "__main__":
    BEGUN = time.monotonic()
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU")
    say(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}, jostle {jostle.__version__}")
    results = {}
    for part in (compare, views, cost):
        try:
            results[part.__name__] = part()
        except Exception as error:  # the other parts say something nevertheless
            say(f"{part.__name__} has failed: {type(error).__name__}: {error}")
            results[part.__name__] = False
    say(", ".join(f"{name}: {'ok' if good else 'NOT OK'}" for name, good in results.items()))
    sys.exit(not all(results.values()))
