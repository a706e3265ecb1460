"""Typed access to the fields of a JSON object; errors give the location of invalid fields."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any

from cairn.core.errors import CairnError


class Fields:
    """One object of a file; methods raise `CairnError` for missing fields or wrong types."""

    def __init__(self, found: object, where: str) -> None:
        if not isinstance(found, dict):
            raise CairnError(f"{where}: expected a JSON object, got {found!r:.80}")
        self._found: dict[str, Any] = found  # Any: JSON
        self._where = where

    @property
    def names(self) -> set[str]:
        """The names of the object's fields."""
        return set(self._found)

    def only(self, *names: str) -> None:
        """Raise an error if there are other fields than these."""
        if other := sorted(self.names - set(names)):
            raise CairnError(f"{self._where}: unknown field {other[0]!r:.80}; known: {', '.join(names)}")

    def error(self, name: str, expected: str) -> CairnError:
        """Return the error that a field has an invalid value."""
        return CairnError(f"{self._where}: {name!r} must be {expected}; got {self._found.get(name)!r:.80}")

    def value(self, name: str) -> Any:  # Any: JSON
        """Return a field of any type."""
        if name not in self._found:
            raise CairnError(f"{self._where}: the field {name!r} is missing")
        return self._found[name]

    def text(self, name: str) -> str:
        """Return a text."""
        value = self.value(name)
        if not isinstance(value, str):
            raise self.error(name, "a text")
        return value

    def whole(self, name: str) -> int:
        """Return a whole number."""
        value = self.value(name)
        if type(value) is not int:
            raise self.error(name, "a whole number")
        return value

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self.value(name)
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.error(name, "a finite number")
        return float(value)

    def truth(self, name: str) -> bool:
        """Return true or false."""
        value = self.value(name)
        if not isinstance(value, bool):
            raise self.error(name, "true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.value(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(name, "a list of texts")
        return tuple(value)

    def wholes(self, name: str, count: int) -> tuple[int, ...]:
        """Return a list of `count` whole numbers."""
        value = self.value(name)
        if not isinstance(value, list) or len(value) != count or not all(type(each) is int for each in value):
            raise self.error(name, f"a list of {count} whole numbers")
        return tuple(value)

    def data(self, name: str) -> bytes:
        """Return the bytes of a base64 text."""
        try:
            return base64.b64decode(self.text(name), validate=True)
        except (binascii.Error, ValueError):
            raise self.error(name, "base64") from None

    def table(self, name: str) -> Mapping[str, Any]:  # Any: JSON
        """Return an object as a mapping."""
        value = self.value(name)
        if not isinstance(value, dict):
            raise self.error(name, "an object")
        return value

    def object(self, name: str) -> Fields:
        """Return an object's fields."""
        return Fields(self.value(name), f"{self._where}, {name}")

    def objects(self, name: str) -> list[Fields]:
        """Return the fields of each object of a list."""
        value = self.value(name)
        if not isinstance(value, list):
            raise self.error(name, "a list")
        return [Fields(each, f"{self._where}, {name}[{count}]") for count, each in enumerate(value)]
