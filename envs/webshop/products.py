"""A product, cleaned from a raw entry like the original's loader.

The loader drops entries with the asin 'nan' or one of more than ten characters, and repeated entries of an asin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cairn.core.errors import CairnError

_NOT_A_NUMBER = re.compile(r"[^\d.]")
NO_PRICE = 100.0  # price of a product whose entry has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The data of a product that pages show and that scores depend on."""

    asin: str
    name: str
    description: str
    bullets: tuple[str, ...]
    prices: tuple[float, ...]  # one, or the ends of a range
    options: Mapping[str, tuple[str, ...]]  # name -> values, in the page's order
    attributes: tuple[str, ...]
    category: str
    query: str  # search query of the product, lower case
    product_category: str  # path, its parts joined by " › "
    image: str
    instruction: str | None  # instruction of synthetic goals; None: the product has no goals
    instruction_attributes: tuple[str, ...]

    @property
    def price_text(self) -> str:
        """The price in the pages' format."""
        return " to ".join(f"${price}" for price in self.prices[:2])

    @property
    def document(self) -> str:
        """The text that the search engine indexes."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
        first = self.bullets[0] if self.bullets else ""
        return f"{self.name} {self.description} {first} {options}".lower()

    @property
    def num_combinations(self) -> int:
        """The number of ways to choose one value of every option."""
        count = 1
        for values in self.options.values():
            count *= len(values)
        return count

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the product as JSON types."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Product:  # Any: JSON
        """Return a product from the result of `to_json`."""
        values: dict[str, Any] = {  # Any: fields of several types
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
        }
        return cls(**{**values, "options": {name: tuple(of) for name, of in row["options"].items()}})


def clean(
    raw: Mapping[str, Any], about: Mapping[str, Any] | None
) -> Product | None:  # Any: JSON of the original's files
    """Return the product of a raw entry, or None if the original drops it.

    `about`: its entry in the attributes file.

    Raises:
        CairnError: a field is missing or of the wrong type.
    """
    asin = _text(raw, "asin")
    if asin == "nan" or len(asin) > 10:
        return None
    if not asin.isascii():
        raise CairnError(f"expected an asin of ASCII characters, got {asin!r}")
    about = {} if about is None else about
    bullets, images, instruction = raw.get("small_description"), raw.get("images"), about.get("instruction")
    return Product(
        asin=asin,
        name=_text(raw, "name"),
        description=_text(raw, "full_description"),
        bullets=tuple(map(str, bullets)) if isinstance(bullets, list) else (_text(raw, "small_description"),),
        prices=_prices(raw.get("pricing")),
        options=_options(raw.get("customization_options") or {}),
        attributes=_texts(about, "attributes") if "attributes" in about else ("DUMMY_ATTR",),
        category=_text(raw, "category"),
        query=_text(raw, "query").lower().strip(),
        product_category=_text(raw, "product_category"),
        image=str(images[0]) if isinstance(images, list) and images else "",
        instruction=None if instruction is None else _text(about, "instruction"),
        instruction_attributes=_texts(about, "instruction_attributes"),
    )


def _text(raw: Mapping[str, Any], name: str) -> str:  # Any: JSON
    value = raw.get(name)
    if not isinstance(value, str):
        raise CairnError(f"expected the text {name!r}, got {value!r:.80}")
    return value


def _texts(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:  # Any: JSON
    value = raw.get(name) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise CairnError(f"expected a list of texts {name!r}, got {value!r:.80}")
    return tuple(value)


def _prices(text: Any) -> tuple[float, ...]:  # Any: JSON
    if not text:
        return (NO_PRICE,)
    numbers = [_NOT_A_NUMBER.sub("", part) for part in str(text).split("$")[1:]]
    try:
        return tuple(float(number) for number in numbers[:2]) or (NO_PRICE,)
    except ValueError:
        raise CairnError(f"expected prices such as '$9.99' or '$9.99$12.98', got {text!r:.80}") from None


def _options(raw: Any) -> dict[str, tuple[str, ...]]:  # Any: JSON
    if not isinstance(raw, Mapping):
        raise CairnError(f"expected an object 'customization_options', got {raw!r:.80}")
    out = {}
    for name, values in raw.items():
        if values is None:
            continue
        try:
            out[name.lower()] = tuple(value["value"].strip().replace("/", " | ").lower() for value in values)
        except (TypeError, KeyError, AttributeError):
            raise CairnError(
                f"expected a list of {{'value': text}} for the option {name!r}, got {values!r:.80}"
            ) from None
    return out
