"""The program `jostle`: `python -m jostle run argon.toml`."""

import signal
import sys

from ._jostle import program


def main():
    """Does what the command line asks for."""
    # Python's own handler waits for the end of the program, which ends on Ctrl-C, or after its last checkpoint.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(program(["jostle", *sys.argv[1:]], [sys.executable, "-m", "jostle"]))


if __name__ == "__main__":
    main()
