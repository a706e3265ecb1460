"""Comparison: buy the cheapest of 2 to `MAX_FITTING` products that meet some conditions.

A product fits if it has the goal's query and attributes, and the options are chosen exactly::

    score = kind * (attributes met + options met) / (attributes + options asked for) * least price / price paid

kind is 1 for products of the query; for others it is the base reward's type, at most 0.5. Prices are the shop's prices.
A purchase that does not fit is scored with the price of the most expensive fitting product, so every fitting purchase
is worth more than any other. Success is a fitting product at the least price. The parts of the score::

    attributes = attributes met / (attributes + options asked for)
    options    = options met / (attributes + options asked for)
    type       = -(1 - kind) * (attributes + options)
    price      = -kind * (attributes + options) * (1 - least price / price paid)

The answer is unambiguous. The cheapest products have a single price, not a range, and no fitting range begins as low.
No product of another query that is in the same category and in the results for the conditions fits as cheaply. Answers
are in the task's own split.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from cairn.envs.base import EnvMeta
from cairn.envs.webshop.goals import ShoppingGoal
from cairn.envs.webshop.nouns import Tagger
from cairn.envs.webshop.oracle import ShoppingPlan, choosable
from cairn.envs.webshop.reward import PARTS, Score
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.splits import Protocol
from cairn.envs.webshop.variants._conditions import can_find, described, meets, options_of, some_conditions
from cairn.envs.webshop.variants._family import Family
from cairn.envs.webshop.variants._tasks import GoalPool, ShopTask, Tasks

MAX_FITTING = 20
_WORDINGS = (
    "Find the cheapest {things}.",
    "I want {things}, at the lowest price in the shop.",
    "Which {things} cost the least? Buy those.",
    "Buy {things}. Several will do: take the cheapest of them.",
    "Compare the prices of {things}, and get me the least expensive.",
)


@dataclass(frozen=True, kw_only=True)
class CheapestTask(ShopTask):
    """A comparison; the goal's price limit is the least price."""

    fitting: tuple[int, ...]  # products, by price
    dearest: float  # price of the last of them


class CheapestEnv(Family[CheapestTask]):
    """Buy the cheapest product that fits."""

    meta = EnvMeta(
        name="webshop/cheapest",
        version=1,
        turn_limit=45,
        reward_range=(0.0, 1.0),
        summary="WebShop, comparison: of the 2 to 20 products that meet the conditions, buy the cheapest.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("buyer",),
        can_snapshot=True,
        can_reword=True,
        max_action_chars=1 << 17,
        parts=PARTS,
    )

    def make_tasks(self) -> Tasks[CheapestTask]:
        """Return the family's tasks in this shop."""
        return _tasks(self.shop, self.config.splits, self._nouns)

    def purchase_score(self, number: int, options: Mapping[str, str]) -> Score:
        """Return the score of buying a product with these options."""
        task, goal = self._task, self._task.goal
        base = super().purchase_score(number, options)
        kind = 1.0 if self.shop.catalogue[number].query == goal.query else min(base.type, 0.5)
        met = sum(options.get(name) == value for name, value in options_of(goal).items())
        conditions = len(goal.attributes) + len(goal.options)
        share = kind * (base.attributes + met) / conditions
        paid = float(self.shop.goals.prices[number]) if share == 1.0 else task.dearest
        reward = share * goal.price_limit / paid
        parts = {
            "attributes": base.attributes / conditions,
            "options": met / conditions,
            "price": reward - share,
            "type": (kind - 1) * (base.attributes + met) / conditions,
        }
        return replace(base, reward=reward, type=kind, options=met, parts=parts)


@lru_cache(maxsize=8)
def _tasks(shop: Shop, splits: Protocol, nouns: Tagger) -> Tasks[CheapestTask]:
    return Tasks(CheapestEnv.meta.name, _make, shop, splits, nouns)


def _make(pool: GoalPool, goal: ShoppingGoal, rng: random.Random) -> CheapestTask | None:
    return next(_possible(pool, goal, rng), None)


def _possible(pool: GoalPool, goal: ShoppingGoal, rng: random.Random) -> Iterator[CheapestTask]:
    """Yield the possible tasks of a goal."""
    catalogue = pool.shop.catalogue
    kin = catalogue.of_group("query", goal.query)
    having = {each: {number for number in kin if meets(catalogue[number], each, goal)} for each in goal.attributes}
    offering = {
        (name, value): {number for number in kin if choosable(catalogue[number], {name: value})}
        for name, value in options_of(goal).items()
    }
    found = []
    for attributes, options in some_conditions(goal, 1, rng):
        conditions = [having[each] for each in attributes] + [offering[each] for each in options.items()]
        fitting = set.intersection(*conditions)
        if 2 <= len(fitting) <= MAX_FITTING:
            found.append((attributes, options, fitting))
    for attributes, options, fitting in sorted(found, key=lambda each: len(each[2]) == 2):  # pairs last
        things = described(catalogue[goal.product], attributes, options)
        text = rng.choice(_WORDINGS).format(things=things)
        asked = replace(goal, instruction=text, attributes=attributes, options=options)
        task = _compare(pool, asked, fitting)
        if task is not None and not any(_rivals(pool, each, task.goal) for each in catalogue.search(things)):
            yield task


def _compare(pool: GoalPool, asked: ShoppingGoal, fitting: Collection[int]) -> CheapestTask | None:
    """Return the task to find the cheapest fitting product, or None if the answer is ambiguous."""
    catalogue, prices = pool.shop.catalogue, pool.shop.goals.prices
    order = tuple(sorted(fitting, key=lambda number: (prices[number], number)))
    least, dearest = float(prices[order[0]]), float(prices[order[-1]])
    answers = [number for number in order if prices[number] == least]
    if least == dearest or not all(map(pool.has_product, answers)) or not can_find(catalogue, order[0]):
        return None
    if any(len(catalogue[number].prices) > 1 and min(catalogue[number].prices) <= least for number in order):
        return None
    answer = catalogue[order[0]]
    goal = replace(
        asked, product=order[0], asin=answer.asin, name=answer.name, product_category=answer.product_category,
        price_limit=least,
    )  # fmt: skip
    plan = ShoppingPlan(product=order[0], options=options_of(asked), reward=1.0)
    return CheapestTask(goal=goal, plan=plan, fitting=order, dearest=dearest)


def _rivals(pool: GoalPool, number: int, goal: ShoppingGoal) -> bool:
    """Return whether a product of another query could be mistaken for an answer."""
    product = pool.shop.catalogue[number]
    return (
        product.query != goal.query
        and product.product_category == goal.product_category
        and min(*product.prices[:2], float(pool.shop.goals.prices[number])) <= goal.price_limit
        and all(meets(product, attribute, goal) for attribute in goal.attributes)
        and choosable(product, options_of(goal)) == goal.options
    )


ENV = CheapestEnv
