"""Tables of numbers with their units."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Table", "Record"]


class Table(Mapping):
    """Columns of the same length by name, each a NumPy array of shape (rows,).

    Attributes:
        name: name of the table.
        units: unit of each column; empty for bare numbers and in reduced units.
        abscissa: column that `plot` draws the others over.
    """

    def __init__(self, columns, units, name="", abscissa=None):
        self.name = name
        self.units = dict(units)
        self._columns = dict(columns)
        self.abscissa = next(iter(self._columns), None) if abscissa is None else abscissa

    def __getitem__(self, column):
        return self._columns[column]

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._columns)

    def __repr__(self):
        rows = len(next(iter(self._columns.values()), ()))
        return f"<Table {self.name!r}: {rows} rows of {', '.join(self._columns)}>"

    def to_pandas(self):
        """The table as a `pandas.DataFrame`, where pandas is installed; `units` are not part of it."""
        import pandas

        return pandas.DataFrame(self._columns)

    def to_polars(self):
        """The table as a `polars.DataFrame`, where polars is installed; `units` are not part of it."""
        import polars

        return polars.DataFrame(self._columns)

    def plot(self, *columns, axes=None):
        """Draws columns with matplotlib, where it is installed; returns the axes.

            sim.thermo.plot("temperature")

        Args:
            columns: names of columns; none: all that are not whole numbers. Errors ("g all error") are bars.
            axes: axes of matplotlib to draw on; None: new ones.

        Raises:
            KeyError: if there is no such column.
        """
        x = self[self.abscissa]
        names = columns or [n for n in self if self._is_drawn(n)]
        values = [self[name] for name in names]
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.figure().add_subplot()
        for name, y in zip(names, values):
            axes.errorbar(x, y, yerr=self.get(f"{name} error"), label=name)
        axes.set_xlabel(self._label(self.abscissa))
        if len(names) == 1:
            axes.set_ylabel(self._label(names[0]))
        elif names:
            axes.legend()
        return axes

    def _is_drawn(self, column):
        """True for a column that is drawn where none is named."""
        return column != self.abscissa and not column.endswith(" error") and self[column].dtype.kind == "f"

    def _label(self, column):
        """Name of a column with its unit."""
        unit = self.units.get(column)
        return f"{column} ({unit})" if unit else column


class Record:
    """Results of an analysis.

    Attributes:
        kind: kind of analysis, such as "rdf".
        frames: number of frames that were analysed.
        tables: the tables by name; the first is the one that the kind is named after.
        values: single numbers by name, each a tuple (value, standard error or None, unit).
        warnings: reasons why a result is doubtful or missing.
    """

    def __init__(self, data):
        import numpy

        def column(values):
            return numpy.array([numpy.nan if value is None else value for value in values], dtype=float)

        self.kind = data["kind"]
        self.frames = data["frames"]
        self.tables = {}
        for table in data["tables"]:
            columns = {c["name"]: column(c["values"]) for c in table["columns"]}
            units = {c["name"]: c["unit"] for c in table["columns"]}
            self.tables[table["name"]] = Table(columns, units, table["name"])
        self.values = {v["name"]: (v["value"], v["error"], v["unit"]) for v in data["values"]}
        self.warnings = [f"{w['about']}: {w['reason']}" for w in data["warnings"]]

    @property
    def table(self):
        """The table that the kind is named after; None if there is none."""
        return next(iter(self.tables.values()), None)

    def __repr__(self):
        return f"<Record {self.kind!r}: {self.frames} frames, tables {list(self.tables)}, values {list(self.values)}>"

    def plot(self, axes=None):
        """Draws the first table with matplotlib, where it is installed; returns the axes.

        Args:
            axes: axes of matplotlib to draw on; None: new ones.

        Raises:
            ValueError: if there is no table.
        """
        if self.table is None:
            raise ValueError(f"{self.kind} has no table to draw")
        return self.table.plot(axes=axes)
