"""What can be wrong with a table or a question."""


class TableError(Exception):
    """A text that is no table; `line` tells where, 0 where no line is to blame."""

    def __init__(self, message, line=0):
        super().__init__(message)
        self.line = line


class QueryError(TableError):
    """A condition that cannot be read."""


class UnknownColumnError(TableError):
    """A column that the table does not have."""
