"""Generates a shop's catalogue from a seed: any number of made-up products, without data.

Product `number` depends only on the seed and its number, in any process: a larger shop contains the products of a
smaller one. Asins begin with G, unlike all of the original's. Asins and the model codes in names are unique up to
`_NUM_CODES` products, so a search for a name finds its product. Many products are of one kind and differ in attributes,
options and price. One or two of a product's attributes are in its name. Each attribute is in a bullet, named or
paraphrased, or paraphrased in the description. Buying exactly the goal's product and options is worth 1, and any other
value of an option is worth less.

Not generated: products without an instruction, duplicates, misplaced or unlabelled products, languages other than
English, and the original's few products with hundreds of goals; a product has at most `MAX_GOALS`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from cairn.core.seeding import derive_seed
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.vocabulary import (
    ADJECTIVES,
    BRANDS,
    CLOSERS,
    EXTRAS,
    NAMES,
    OPENERS,
    TAILS,
    Attribute,
    OptionGroup,
    ProductKind,
    kinds,
)

VERSION = 1  # increases with every change of the generated products
MAX_GOALS = 60
_T = TypeVar("_T")

# Counts or choices; each is drawn as often as it is listed.
_ATTRIBUTES = (2, 3, 3, 4, 4, 4, 5, 5, 6)
_ASKED = (1, 2, 2, 2, 2, 3, 3, 4)
_BULLETS = (3, 4, 4, 5)
_SENTENCES = ((0,), (0, 1), *[(2, 0, 1)] * 3, *[(2, 0, 1, 3)] * 10)  # of a description's four, in order
_GROUPS = (*[()] * 3, *[(0,), (1,), (2,)] * 2, *[(0, 1), (0, 2), (1, 2)] * 6, *[(0, 1, 2)] * 3)  # of a kind's three
_CENTS = (0.0, 0.49, 0.5, 0.95, 0.98, 0.99, 0.99, 0.99)
_NUMBERS = ("12", "14", "20", "21", "25", "30", "40", "45", "60", "90")  # in phrases
_SHARE_WITH_RANGE = 0.1  # share of products with two prices

# Steps coprime to the number of labels: they visit every label once before repeating any.
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NUM_ASINS, _ASIN_STEP, _ASIN_SEED_STEP = 36**9, 62_767_505_118_379, 17_294_483_105_621
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_NUM_CODES, _CODE_STEP, _CODE_SEED_STEP = 20**3 * 10**4, 49_442_719, 23_606_797


def products(num_products: int, seed: int) -> Iterator[Product]:
    """Yield the products of a shop, one in memory at a time."""
    for number in range(num_products):
        yield product(number, seed)


def product(number: int, seed: int) -> Product:
    """Return one product of the shops with this seed."""
    dice = _Dice(seed, number)
    kind = dice.pick(kinds())
    attributes = [dice.pick(slot) for slot in dice.sample(kind.attributes, dice.pick(_ATTRIBUTES))]
    (noun, noun2), (use, use2) = dice.run(kind.nouns, 2), dice.run(kind.uses, 2)
    words = {
        "brand": dice.pick(BRANDS[0]) + dice.pick(BRANDS[1]),
        "code": _code(number, seed),
        "adjective": dice.pick(ADJECTIVES),
        "noun": noun,
        "noun2": noun2,
        "use": use,
        "use2": use2,
        "people": use.lower(),
        "query": kind.query,
        "number": dice.pick(_NUMBERS),
        "a": attributes[0].title,
        "b": attributes[1].title,
    }
    description, bullets = _texts(dice, kind, attributes, words)
    asked = _by_role(dice.run(attributes, min(len(attributes), dice.pick(_ASKED))))
    return Product(
        asin=_asin(number, seed),
        name=dice.pick(NAMES).format_map(words),
        description=description,
        bullets=bullets,
        prices=_prices(dice, kind),
        options=_options(dice, kind),
        attributes=tuple([attribute.text for attribute in attributes]),
        category=kind.department,
        query=kind.query,
        product_category=kind.path,
        image="",
        instruction=_instruction(kind, asked),
        instruction_attributes=tuple([attribute.text for attribute in asked]),
    )


class _Dice:
    """Random draws for one product.

    Of the generator's methods it uses only `random`, whose values Python keeps the same in all versions.
    """

    __slots__ = ("random",)

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(_first_seed(seed) + number).random

    def below(self, count: int) -> int:
        return int(self.random() * count)

    def pick(self, pool: Sequence[_T]) -> _T:
        return pool[int(self.random() * len(pool))]

    def run(self, pool: Sequence[_T], count: int) -> Sequence[_T]:
        """Return `count` adjacent elements; the first element follows the last."""
        first = int(self.random() * len(pool))
        return (*pool, *pool)[first : first + count]

    def sample(self, pool: Sequence[_T], count: int) -> list[_T]:
        """Return `count` different elements, in random order."""
        rest, left, draw = list(pool), len(pool), self.random
        for at in range(count):
            other = at + int(draw() * left)
            rest[at], rest[other] = rest[other], rest[at]
            left -= 1
        return rest[:count]


@lru_cache(maxsize=8)
def _first_seed(seed: int) -> int:
    return derive_seed("webshop products", seed)


def _asin(number: int, seed: int) -> str:
    triples = _triples()
    rest, last = divmod((number * _ASIN_STEP + (seed + 1) * _ASIN_SEED_STEP) % _NUM_ASINS, 36**3)
    first, second = divmod(rest, 36**3)
    return f"G{triples[last]}{triples[second]}{triples[first]}"


@lru_cache(maxsize=1)
def _triples() -> list[str]:
    return ["".join(three) for three in itertools.product(_DIGITS, repeat=3)]


def _code(number: int, seed: int) -> str:
    """Return three letters and four digits: a single token, which stemming does not change."""
    letters, digits = divmod((number * _CODE_STEP + (seed + 1) * _CODE_SEED_STEP) % _NUM_CODES, 10**4)
    rest, last = divmod(letters, 20)
    first, second = divmod(rest, 20)
    return f"{_LETTERS[first]}{_LETTERS[second]}{_LETTERS[last]}{digits:04d}"


def _texts(
    dice: _Dice, kind: ProductKind, attributes: list[Attribute], words: Mapping[str, str]
) -> tuple[str, tuple[str, ...]]:
    """Return description and bullets.

    The description has the last half of the attributes, the bullets have the others.
    """
    half = len(attributes) // 2
    sentences = (
        "; ".join([attribute.saying for attribute in attributes[half:]]),
        "; ".join(dice.run(kind.details, 2)),
        dice.pick(OPENERS).format_map(words),
        dice.pick(CLOSERS).format_map(words),
    )
    description = " ".join([f"{_capital(sentences[at])}." for at in dice.pick(_SENTENCES)])
    bullets = [_bullet(dice, attribute, words) for attribute in attributes[half - 1 :: -1]]
    extras = EXTRAS[kind.department]
    num_more = min(max(dice.pick(_BULLETS) - half, 0), len(extras))
    return description, (*bullets, *dice.run(extras, num_more))


def _bullet(dice: _Dice, attribute: Attribute, words: Mapping[str, str]) -> str:
    text = f"{attribute.saying}, {dice.pick(TAILS).format_map(words)}"
    return _capital(text) if dice.random() < 0.5 else f"{_capital(attribute.text)}: {text}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _prices(dice: _Dice, kind: ProductKind) -> tuple[float, ...]:
    low, high = kind.prices
    price = int(low * (high / low) ** dice.random()) + dice.pick(_CENTS)
    if dice.random() >= _SHARE_WITH_RANGE:
        return (price,)
    return price, int(price * (1.2 + 0.6 * dice.random())) + 1 + dice.pick(_CENTS)


def _options(dice: _Dice, kind: ProductKind) -> dict[str, tuple[str, ...]]:
    """Return some of the kind's option groups, in its order, within the limit on goals."""
    room = MAX_GOALS
    out = {}
    for group in [kind.options[at] for at in dice.pick(_GROUPS)]:
        low, high = group.count
        if low <= room:
            out[group.name] = _values(dice, group, low + dice.below(min(high, room) - low + 1))
            room //= len(out[group.name])
    return out


def _values(dice: _Dice, group: OptionGroup, count: int) -> tuple[str, ...]:
    if group.is_scale:
        first = dice.below(len(group.values) - count + 1)
        return tuple([value for (value,) in group.values[first : first + count]])
    return tuple([dice.pick(alternatives) for alternatives in dice.sample(group.values, count)])


def _by_role(attributes: Sequence[Attribute]) -> list[Attribute]:
    return [attribute for role in ("before", "with", "for") for attribute in attributes if attribute.role == role]


def _instruction(kind: ProductKind, asked: list[Attribute]) -> str:
    """Return e.g. "Find me low carb, non gmo granola bars with real fruit for school lunches"."""
    texts = {"before": "", "with": "", "for": ""}
    for attribute in asked:
        texts[attribute.role] += f", {attribute.text}" if texts[attribute.role] else attribute.text
    before = f"{texts['before']} " if texts["before"] else ""
    after = "".join([f" {role} {texts[role]}" for role in ("with", "for") if texts[role]])
    return f"Find me {before}{kind.query}{after}"
