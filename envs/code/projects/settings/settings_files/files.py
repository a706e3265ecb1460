"""Joins files that include one another."""

from settings_files.errors import CircleFault, ConfigError
from settings_files.lines import parse
from settings_files.settings import Settings


class Files:
    """Texts by name."""

    def __init__(self, texts):
        self._texts = dict(texts)

    def load(self, name):
        """Return the settings of a file and all that it includes."""
        if name not in self._texts:
            raise ConfigError(name, 0)
        return Settings(self._joined(name, ()))

    def _joined(self, name, above):
        """Return the entries of a file over those of what it includes, the later include over the earlier."""
        own, includes = parse(name, self._texts[name])
        above = (*above, name)
        entries = {}
        for included, line in includes:
            if included not in self._texts:
                raise ConfigError(name, line)
            if included in above:
                raise CircleFault(name, line)
            entries.update(self._joined(included, above))
        entries.update(own)
        return entries
