"""What is wrong with settings, and where."""


class ConfigError(Exception):
    """Settings that cannot be read; `file` and `line` tell where."""

    def __init__(self, file, line):
        super().__init__(f"{file}:{line}")
        self.file = file
        self.line = line


class SyntaxFault(ConfigError):
    """A line that means nothing."""


class DuplicateFault(ConfigError):
    """A key that stands twice in one section."""


class CircleFault(ConfigError):
    """A file that includes itself."""


class ReferenceFault(ConfigError):
    """A reference to nothing, or to itself."""
