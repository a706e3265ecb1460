"""A table: names of columns, and rows of values."""

from tables.condition import columns, is_met, parse
from tables.errors import TableError, UnknownColumnError
from tables.grouping import grouped, summed
from tables.reading import numbered, value


def read(text, separator=","):
    """Return the table that a text describes."""
    lines = numbered(text, separator)
    if not lines:
        raise TableError("a table has a row of names")
    begin, first = lines[0]
    names = [name for name, _ in first]
    if len(set(names)) < len(names):
        raise TableError("a name occurs twice", begin)
    rows = []
    for line, row in lines[1:]:
        if len(row) != len(names):
            raise TableError(f"{len(names)} fields expected, got {len(row)}", line)
        rows.append(tuple(field if is_quoted else value(field) for field, is_quoted in row))
    return Table(names, rows)


class Table:
    """Never changes: every question returns another table."""

    def __init__(self, names, rows):
        self._names = list(names)
        self._rows = [tuple(row) for row in rows]

    def columns(self):
        """List the names of the columns."""
        return list(self._names)

    def rows(self):
        """List the rows."""
        return list(self._rows)

    def __len__(self):
        return len(self._rows)

    def where(self, condition):
        """Return the rows that fulfil a condition."""
        tree = parse(condition)
        for name in columns(tree):
            self._place(name)
        met = [row for row in self._rows if is_met(tree, dict(zip(self._names, row, strict=True)))]
        return Table(self._names, met)

    def select(self, *names):
        """Return some columns."""
        places = [self._place(name) for name in names]
        return Table(names, [[row[place] for place in places] for row in self._rows])

    def sort(self, name, down=False):
        """Return the rows in the order of a column."""
        place = self._place(name)
        known = [row for row in self._rows if row[place] is not None]
        unknown = [row for row in self._rows if row[place] is None]
        known.sort(key=lambda row: (isinstance(row[place], str), row[place]), reverse=down)
        return Table(self._names, known + unknown)

    def group(self, by, **sums):
        """Return one row for each value of a column."""
        groups = grouped(self._column(by), self._rows)
        places = [(kind, self._place(name)) for kind, name in sums.values()]
        rows = []
        for key, members in groups.items():
            rows.append([key, *(summed(kind, [row[place] for row in members]) for kind, place in places)])
        return Table([by, *sums], rows)

    def _place(self, name):
        if name not in self._names:
            raise UnknownColumnError(name)
        return self._names.index(name)

    def _column(self, name):
        place = self._place(name)
        return [row[place] for row in self._rows]
