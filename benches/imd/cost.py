"""What watching costs a run: steps/s without a client, with one of version 2 and with one of version 3 that read all
frames, by turns. Prints the median of ratios.

    python benches/imd/cost.py PROGRAM INPUT [--device cuda] [--every 100] [--turns 5]
"""

import argparse
import json
import re
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("input", type=Path)
parser.add_argument("--every", type=int, default=100, help="interval of frames in steps")
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--device", default="auto", help="where to compute")
arguments = parser.parse_args()


def receive(connection, size):
    """Bytes of a connection; None at its end."""
    data, done = bytearray(size), 0
    while done < size:
        count = connection.recv_into(memoryview(data)[done:])
        if count == 0:
            return None
        done += count
    return data


def read_all(address, counted):
    """Reads frames until the run ends; `counted` gets their bytes."""
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        # The handshake tells the version in the byte order of the server.
        version = struct.unpack("=i", receive(connection, 8)[4:])[0]
        if version == 3:
            receive(connection, 8 + 7)
        connection.sendall(struct.pack(">ii", 3, 0))
        buffer = bytearray(8 << 20)
        while count := connection.recv_into(buffer):
            counted[0] += count


def speed(folder, name, options):
    """Steps per second of the last stage, and the bytes that a client has read."""
    output, read = folder / name, [0]
    command = [arguments.program, "run", arguments.input, "--output", output, "--overwrite", *options]
    command += ["--device", arguments.device]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    reader, log = None, []
    for line in run.stderr:
        log.append(line)
        found = re.search(r"can connect to .*?([\d.]+):(\d+)\s*$", line)
        if found and reader is None:
            reader = threading.Thread(target=read_all, args=((found[1], int(found[2])), read))
            reader.start()
    if run.wait() != 0:
        raise SystemExit("".join(log))
    if reader:
        reader.join()
    summary = json.loads((output / "summary.json").read_text())
    return summary["stages"][-1]["speed"]["steps_per_second"], read[0]


watched = ["--imd-wait", "--imd-every", str(arguments.every)]
ways = {
    "alone": [],
    "version 2": ["--imd", "0", *watched],
    "version 3": ["--imd-v3", "0", *watched],
}
with tempfile.TemporaryDirectory() as folder:
    speeds = {way: [] for way in ways}
    for turn in range(arguments.turns + 1):
        for way, options in ways.items():
            steps_per_second, size = speed(Path(folder), "run", options)
            # The first turn compiles kernels.
            if turn > 0:
                speeds[way].append(steps_per_second)
                print(f"{way}: {steps_per_second:.0f} steps/s, {size / 1e6:.0f} MB read", flush=True)
    for way in list(ways)[1:]:
        ratios = [watched / alone for watched, alone in zip(speeds[way], speeds["alone"])]
        print(f"{way} every {arguments.every} steps: {statistics.median(ratios):.3f} of the speed alone")
