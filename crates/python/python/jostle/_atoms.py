"""Atoms of other packages, written as files that an input names."""

from __future__ import annotations


def write_gro(path, names, rows, edges):
    """Writes atoms as gro in nm and ps, with all digits: numbers are as wide as their points are apart.

    Args:
        names: name of each atom, and name and number of its residue.
        rows: positions of each atom and, perhaps, its velocities.
        edges: the three edges of the box; None without a box.
    """
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"from Python\n{len(rows)}\n")
        for k, ((name, residue, number), row) in enumerate(zip(names, rows)):
            numbers = "".join(f"{x:26.16f}" for x in row)
            file.write(f"{number % 100_000:5}{residue[:5]:<5}{name[:5]:>5}{(k + 1) % 100_000:5}{numbers}\n")
        a, b, c = ([0.0] * 3,) * 3 if edges is None else edges
        box = [a[0], b[1], c[2], a[1], a[2], b[0], b[2], c[0], c[1]]
        file.write(" ".join(f"{x:.16f}" for x in box) + "\n")


def write_xyz(path, species, columns, edges, periodic):
    """Writes atoms as extended XYZ, all digits of them; arguments are those of `write_xyz_frame`."""
    with open(path, "w", encoding="utf-8") as file:
        write_xyz_frame(file, species, columns, edges, periodic)


def write_xyz_frame(file, species, columns, edges, periodic, time=None):
    """Writes a frame of extended XYZ.

    Args:
        species: species of each atom.
        columns: pairs of a property and its array of shape (n, k): "pos", "mass", "charge", "velo".
        edges: the edges of the box, an array of shape (3, 3).
        periodic: three booleans.
        time: its time; None: none.
    """
    import numpy

    lattice = " ".join(repr(float(x)) for x in numpy.ravel(edges))
    flags = " ".join("T" if p else "F" for p in periodic)
    properties = "".join(f":{name}:R:{array.shape[1]}" for name, array in columns)
    when = "" if time is None else f" Time={float(time)!r}"
    file.write(f'{len(species)}\nLattice="{lattice}" pbc="{flags}" Properties=species:S:1{properties}{when}\n')
    for symbol, numbers in zip(species, numpy.hstack([array for _, array in columns]).tolist()):
        file.write(f"{symbol} {' '.join(map(repr, numbers))}\n")
