"""Where the time of a step goes on each GPU: kernels, by the profiler of PyTorch (CUPTI), around a run from Python.

    python gpu_profile.py INPUT [DEVICE [STEPS]]        DEVICE: cuda (default), cuda:0,1, cuda:all

Needs PyTorch with CUDA beside the package `jostle`. Columns are calls and microseconds a step, on each GPU; kernels of a
step that found nothing to do count as calls. Times of kernels beside each other overlap: `span` is that of the step. The
profiler itself slows steps of some 100 us by a tenth.
"""

import collections
import json
import sys
import tempfile

import jostle
import torch
from torch.profiler import ProfilerActivity, profile


def kernels(path, device, steps):
    """Kernels of so many steps, by the number of the GPU."""
    torch.zeros(1, device="cuda")
    simulation = jostle.Simulation.from_file(path, device=device)
    # Lists, their skins and the shares of GPUs are found in these.
    simulation.run(20 * 60)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        simulation.run(steps)
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        profiler.export_chrome_trace(trace.name)
        events = json.load(open(trace.name))["traceEvents"]
    by_gpu = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "kernel":
            by_gpu[event["args"]["device"]].append(event)
    return by_gpu


def main(path, device="cuda", steps="200"):
    steps = int(steps)
    by_gpu = kernels(path, device, steps)
    totals = collections.defaultdict(lambda: [(0, 0.0)] * len(by_gpu))
    for column, gpu in enumerate(sorted(by_gpu)):
        times = collections.defaultdict(list)
        for event in by_gpu[gpu]:
            times[event["name"]].append(event["dur"])
        for name, own in times.items():
            totals[name] = [*totals[name]]
            totals[name][column] = (len(own) / steps, sum(own) / steps)
    for name, row in sorted(totals.items(), key=lambda item: -max(time for _, time in item[1])):
        print(f"{name[:34]:34}", "  ".join(f"{calls:6.2f} {time:8.1f}" for calls, time in row))
    for gpu in sorted(by_gpu):
        begin = min(event["ts"] for event in by_gpu[gpu])
        end = max(event["ts"] + event["dur"] for event in by_gpu[gpu])
        print(f"GPU {gpu}: span of {(end - begin) / steps:.1f} us a step")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
