"""The oracle: makes the purchase with the highest reward, using public actions.

It knows the goal and the reward. It buys the goal's product with the best options, unless another product has a higher
reward, which happens if the original's reward cannot be satisfied. In shops of up to `EXHAUSTIVE` products it considers
all other products, in larger shops the results of searches for the instruction and for the goal's query.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.goals import ShoppingGoal
from cairn.envs.webshop.nouns import Tagger
from cairn.envs.webshop.pages import BUY, NEXT, PER_PAGE, PREV, State
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.reward import normalize_color, score
from cairn.envs.webshop.rules import can_choose
from cairn.envs.webshop.shop import Shop

EXHAUSTIVE = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoppingPlan:
    """The product and options to buy, and the reward."""

    product: int
    options: Mapping[str, str]
    reward: float


def best_purchase(shop: Shop, goal: ShoppingGoal, nouns: Tagger) -> ShoppingPlan:
    """Return the purchase with the highest reward.

    Ties go to the goal's own product, then to the first in the data.
    """
    best = best_choice(shop, goal.product, goal, nouns)
    if best.reward == 1.0:
        return best
    for number in _others(shop, goal):
        bare = score(shop.catalogue[number], float(shop.goals.prices[number]), {}, goal, nouns)
        most = bare.type * (bare.attributes + len(goal.options) + bare.price)
        if most / (len(goal.attributes) + len(goal.options) + 1) > best.reward:
            best = max(best, best_choice(shop, number, goal, nouns), key=lambda plan: plan.reward)
    return best


def next_action(plan: ShoppingPlan, state: State, catalogue: Catalogue, buy: str = BUY) -> str:
    """Return the next action towards the planned purchase; the last one is a click on `buy`."""
    if state.item == plan.product:
        if state.page != "item":
            return f"click[{PREV.lower()}]"
        for name, value in state.options.items():
            if name not in plan.options and value:
                return f"click[{PREV.lower()}]"  # a choice can be undone only by leaving the page
        for name, value in plan.options.items():
            if state.options.get(name) != value:
                return f"click[{value}]"
        return f"click[{buy.lower()}]"
    if plan.product not in state.results:
        by_name, by_all = searches(catalogue[plan.product])
        return f"search[{by_all if ' '.join(state.keywords) == by_name.lower() else by_name}]"
    if state.item is not None:
        return f"click[{PREV.lower()}]"
    page = state.results.index(plan.product) // PER_PAGE + 1
    if page == state.number:
        return f"click[{catalogue.asin(plan.product).lower()}]"
    return f"click[{(NEXT if page > state.number else PREV).lower()}]"


def searches(product: Product) -> tuple[str, str]:
    """Return two queries for a product: its name and, as a fallback, its indexed text."""
    name, document = (
        " ".join(text.replace("[", " ").replace("]", " ").split()) for text in (product.name, product.document)
    )
    return name, document[:2000]


def _others(shop: Shop, goal: ShoppingGoal) -> Iterable[int]:
    if len(shop.catalogue) <= EXHAUSTIVE:
        return range(len(shop.catalogue))
    return (*shop.catalogue.search(goal.instruction), *shop.catalogue.search(goal.query))


def best_choice(
    shop: Shop, number: int, goal: ShoppingGoal, nouns: Tagger, product: Product | None = None
) -> ShoppingPlan:
    """Return the best choice of a product's options.

    Ties go to the goal's own options, then to the fewest options. `product`: replaces the catalogue's product if not
    all of its options can be chosen.
    """
    product = shop.catalogue[number] if product is None else product
    price = float(shop.goals.prices[number])

    def reward_of(options: Mapping[str, str]) -> float:
        return score(product, price, options, goal, nouns).reward

    asked = choosable(product, dict(goal.options) if isinstance(goal.options, Mapping) else {})
    best = ShoppingPlan(product=number, options=asked, reward=reward_of(asked))
    for options in _choices(product):
        if best.reward == 1.0:
            break
        if (reward := reward_of(options)) > best.reward:
            best = ShoppingPlan(product=number, options=options, reward=reward)
    return best


def choosable(product: Product, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that a click can choose; a shared value chooses the later option."""
    owner = _owners(product)
    return {name: value for name, value in options.items() if owner.get(value) == name}


def _owners(product: Product) -> dict[str, str]:
    """Return the option that a click on each value chooses, for the values that can be chosen."""
    return {value: name for name, values in product.options.items() for value in values if can_choose(value)}


def _choices(product: Product) -> Iterable[dict[str, str]]:
    """Yield choices of one value or none of each option.

    Of values that the reward treats as equal, only one is tried.
    """
    names, owner = list(product.options), _owners(product)
    values = [
        [None, *{normalize_color(value): value for value in reversed(product.options[n])}.values()] for n in names
    ]
    for chosen in itertools.product(*values):
        options = {name: value for name, value in zip(names, chosen, strict=True) if value is not None}
        if all(owner.get(value) == name for name, value in options.items()):
            yield options
