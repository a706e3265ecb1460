"""The reward of a purchase, as computed by the original.

::

    reward = type * (attributes met + options met + [price <= limit]) / (attributes + options asked for + 1)

An attribute is met if one of the product's attributes is alike, or if the product's name, bullets or description
contain it. An option is met if a chosen option is alike. Two texts are alike if their rounded ``token_set_ratio`` is
above 85; each option is first replaced by the first colour of `COLORS` that it contains. A synthetic goal's option is
the pair (name, value). Only a whole part of the pair can be replaced, and the pair is compared in its printed form: so
"coal grey" meets any other grey, and "228blue" does not meet itself. The exact purchase that the goal asks for is
therefore not always worth 1; see `docs/envs/webshop.md`.

The parts sum to the reward. Each clause has its own part, and `type` is the loss for a product of another type::

    attributes = attributes met / (attributes + options asked for + 1)
    options    = options met / (attributes + options asked for + 1)
    price      = [price <= limit] / (attributes + options asked for + 1)
    type       = -(1 - type) * (attributes + options + price)

The type depends on the nouns of the names (see `nouns`). It is 1; 0.5 if the products share neither the query nor two
parts of the category path nor more than a fifth of the goal's nouns; 0.1 if they share under a tenth of the nouns; 0 if
they share no noun. A goal without nouns counts as if a fifth were shared. Later rules take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz, utils

from cairn.envs.webshop.goals import ShoppingGoal
from cairn.envs.webshop.nouns import Tagger
from cairn.envs.webshop.products import Product

_COLOR_WORDS = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo
caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream crystal
dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo ivory
ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor
mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand
sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut
wheat white wine yellow
"""
COLORS = tuple(_COLOR_WORDS.split())  # the original's colours, in its order
_PATH_MARK = "\u203a"  # between the parts of a category path
_ALIKE = 85
_SAME_CATEGORY_PARTS = 2
PARTS = ("attributes", "options", "price", "type")  # of a reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A reward and its composition."""

    reward: float  # 0..1
    type: float  # 1, 0.5, 0.1 or 0
    title: float  # share of the goal's nouns in the product's name
    attributes: int  # met
    options: int  # met
    price: bool  # within the limit
    parts: Mapping[str, float]  # by name; their sum is the reward


def score(product: Product, price: float, options: Mapping[str, str], goal: ShoppingGoal, nouns: Tagger) -> Score:
    """Return the score of buying `product` with the chosen `options`."""
    kind, title = _type(product, goal, nouns)
    attributes = sum(_has_attribute(product, attribute) for attribute in goal.attributes)
    wanted = goal.options.items() if isinstance(goal.options, Mapping) else goal.options
    met = _options_met(tuple(options.values()), tuple(wanted))
    is_cheap = price <= goal.price_limit
    clauses = len(goal.attributes) + len(goal.options) + 1
    total = (attributes + met + is_cheap) / clauses
    parts = {
        "attributes": attributes / clauses,
        "options": met / clauses,
        "price": is_cheap / clauses,
        "type": (kind - 1) * total,
    }
    return Score(
        reward=total * kind, type=kind, title=title, attributes=attributes, options=met, price=is_cheap, parts=parts
    )


@lru_cache(maxsize=1 << 16)
def normalize_color(option: str | tuple[str, str]) -> str | tuple[str, str]:
    """Return the first colour that `option` contains, or `option`.

    A pair contains a colour only as a whole part.
    """
    return next((color for color in COLORS if color in option), option)


def _type(product: Product, goal: ShoppingGoal, nouns: Tagger) -> tuple[float, float]:
    found, wanted = nouns(product.name), nouns(goal.name)
    title = len(set(found) & set(wanted)) / len(wanted) if wanted else 0.2
    if title == 0.0:
        return 0.0, title
    if title < 0.1:
        return 0.1, title
    shared = _parts(product.product_category) & _parts(goal.product_category)
    is_match = product.query == goal.query or len(shared) >= _SAME_CATEGORY_PARTS or title > 0.2
    return (1.0 if is_match else 0.5), title


def _parts(path: str) -> set[str]:
    return {part.strip() for part in path.split(_PATH_MARK)}


def _has_attribute(product: Product, attribute: str) -> bool:
    return (
        any(_is_alike(own, attribute) for own in product.attributes)
        or attribute in product.name.lower()
        or attribute in " ".join(product.bullets).lower()
        or attribute in product.description.lower()
    )


def _options_met(chosen: Iterable[str], wanted: Iterable[str | tuple[str, str]]) -> int:
    bought = [normalize_color(option) for option in chosen]
    return sum(any(_is_alike(str(own), str(normalize_color(option))) for own in bought) for option in wanted)


@lru_cache(maxsize=1 << 16)
def _is_alike(a: str, b: str) -> bool:
    """Return whether two texts are alike, computed like thefuzz.

    Only ASCII characters count, punctuation becomes spaces, all is lower case, and the ratio is rounded.
    """
    ratio = fuzz.token_set_ratio(_plain(a), _plain(b))
    return round(ratio) > _ALIKE


def _plain(text: str) -> str:
    return utils.default_process("".join(c for c in text if c.isascii()))
