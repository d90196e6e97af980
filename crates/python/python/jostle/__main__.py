"""The program `jostle`: `python -m jostle run argon.toml`."""

import sys

from ._jostle import program


def main():
    """Does what the command line asks for."""
    sys.exit(program(["jostle", *sys.argv[1:]], [sys.executable, "-m", "jostle"]))


if __name__ == "__main__":
    main()
