"""Conditions of goals: subsets to ask for, their wording, and the products that meet them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.goals import NO_LIMIT, ShoppingGoal
from cairn.envs.webshop.nouns import stub
from cairn.envs.webshop.oracle import searches
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.reward import score

_MAX_ATTRIBUTES = 4  # maximum number of a goal's attributes whose subsets are tried


def options_of(goal: ShoppingGoal) -> Mapping[str, str]:
    """Return a synthetic goal's options; families use only synthetic goals."""
    assert isinstance(goal.options, Mapping)
    return goal.options


def meets(product: Product, attribute: str, goal: ShoppingGoal) -> bool:
    """Return whether a product has an attribute by the base reward; `goal` can be any goal."""
    return score(product, 0.0, {}, replace(goal, attributes=(attribute,), options={}), stub).attributes == 1


def can_find(catalogue: Catalogue, number: int) -> bool:
    """Return whether one of the oracle's two searches finds a product."""
    return any(number in catalogue.search(query.lower()) for query in searches(catalogue[number]))


def some_conditions(
    goal: ShoppingGoal, max_options: int, rng: random.Random
) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield subsets of a goal's attributes and options, in random order.

    Each has at least one attribute.
    """
    attributes = rng.sample(goal.attributes, min(_MAX_ATTRIBUTES, len(goal.attributes)))
    asked = [part for size in range(1, len(attributes) + 1) for part in itertools.combinations(attributes, size)]
    options, sizes = options_of(goal), range(min(max_options, len(goal.options)) + 1)
    chosen = [dict(part) for size in sizes for part in itertools.combinations(options.items(), size)]
    both = list(itertools.product(asked, chosen))
    rng.shuffle(both)
    yield from both


def described(product: Product, attributes: Sequence[str], options: Mapping[str, str]) -> str:
    """Return a description of a product with the given attributes and options.

    Example: "low sugar granola bars with real fruit for school lunches (size: 6 count, flavor name: fig)". Attributes
    are in the same position as in the product's own instruction: before the query, after "with" or after "for".
    """
    before, _, after = (product.instruction or "").partition(product.query)
    first = [attribute for attribute in attributes if attribute in before]
    last = [each for each in attributes if each not in first and each in after.partition(" for ")[2]]
    rest = [attribute for attribute in attributes if attribute not in first and attribute not in last]
    text = f"{', '.join(first)} {product.query}".strip()
    text += f" with {', '.join(rest)}" if rest else ""
    text += f" for {', '.join(last)}" if last else ""
    chosen = ", ".join(f"{name}: {value}" for name, value in options.items())
    return f"{text} ({chosen})" if chosen else text


def limited(limit: float) -> str:
    """Return the instruction's clause for a price limit."""
    return "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"
