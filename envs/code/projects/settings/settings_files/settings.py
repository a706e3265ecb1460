"""Settings: values by section and key, with references looked up."""

import re

from settings_files.errors import ReferenceFault
from settings_files.values import written

_REFERENCE = re.compile(r"\$\$\{|\$\{(?:([\w.]*):)?([\w-]+)\}")


class Settings:
    """Entries (section, key) -> (value, file, line)."""

    def __init__(self, entries):
        self._entries = entries

    def get(self, section, key, default=None):
        """Return a value of a section, or of one that it inherits from."""
        found = self._home(section, key)
        return default if found is None else self._resolved(found, ())

    def sections(self):
        """List the sections that have keys."""
        return sorted({section for section, _ in self._entries})

    def keys(self, section):
        """List the keys of a section itself."""
        return sorted(key for name, key in self._entries if name == section)

    def origin(self, section, key):
        """Return (file, line) of a value."""
        _, file, line = self._entries[section, key]
        return (file, line)

    def flat(self):
        """Map "section.key" to values."""
        values = {}
        for section, key in sorted(self._entries):
            name = f"{section}.{key}" if section else key
            values[name] = self._resolved((section, key), ())
        return values

    def _home(self, section, key):
        """Return where a key is found from a section on, None if nowhere."""
        while section and (section, key) not in self._entries:
            section = section.rpartition(".")[0]
        return (section, key) if (section, key) in self._entries else None

    def _resolved(self, place, above):
        """Return a value with its references looked up; `above` is what is being looked up."""
        item = self._entries[place][0]
        above = (*above, place)
        if isinstance(item, list):
            return [self._replaced(each, place[0], above) for each in item]
        return self._replaced(item, place[0], above)

    def _replaced(self, item, section, above):
        if not isinstance(item, str):
            return item
        whole = _REFERENCE.fullmatch(item)
        if whole and whole.group(2):
            return self._referred(whole, section, above)
        return _REFERENCE.sub(lambda match: self._text(match, section, above), item)

    def _text(self, match, section, above):
        if match.group(2) is None:
            return "${"
        return written(self._referred(match, section, above))

    def _referred(self, match, section, above):
        target = section if match.group(1) is None else match.group(1)
        place = self._home(target, match.group(2))
        if place is None or place in above:
            raise ReferenceFault(*self._entries[above[0]][1:])
        return self._resolved(place, above)
