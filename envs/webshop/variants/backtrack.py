"""Dead ends: some products that fit are sold out, the ones that the shop ranks first.

A product fits if it is worth 1 by the base reward, and the score is that reward. Either the whole product is sold out,
and its page has no button to buy it, or a requested value of an option, which then cannot be chosen and without which
the product is worth less. Pages of results do not show it: an agent at a dead end has to go back, sometimes to a later
page of results.

The sold-out products, 1 to `MAX_DEAD_ENDS`, depend only on the instruction. The first fitting product in stock is in
the task's own split; products ranked after it may fit as well. A search for the instruction finds them. The oracle
searches for the instruction, opens the fitting products in the order of the results, and buys the first available one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from cairn.core.seeding import python_generator
from cairn.envs.base import EnvMeta
from cairn.envs.webshop.goals import ShoppingGoal
from cairn.envs.webshop.nouns import Tagger
from cairn.envs.webshop.oracle import ShoppingPlan, best_choice, next_action
from cairn.envs.webshop.pages import BUY, Piece, State
from cairn.envs.webshop.reward import PARTS, score
from cairn.envs.webshop.rules import parse
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.splits import Protocol
from cairn.envs.webshop.variants._conditions import described, limited, some_conditions
from cairn.envs.webshop.variants._family import Family
from cairn.envs.webshop.variants._tasks import GoalPool, ShopTask, Tasks

MAX_DEAD_ENDS = 3
SOLD_OUT = "Sold Out"
_MAX_OPTIONS = 2  # maximum number of requested options
_MAX_TRIES = 12  # number of a goal's conditions to try; each needs a search
_SHARE_OF_OPTIONS = 0.5  # share of dead ends that are option values, if possible
# Only words that the shops know: making tasks needs searches, and a new word loads the stemmer, which takes a second.
_WORDINGS = (
    "Find me {things}{limit}. Not everything is in stock.",
    "Get me {things}{limit}. If one is out of stock, take one that fits as well.",
    "Find {things}{limit}. Any of them will do, if it is in stock.",
    "Please order {things}{limit}, and look on if the first ones are out of stock.",
)
Option = tuple[str, str]  # name, value


@dataclass(frozen=True, kw_only=True)
class BacktrackTask(ShopTask):
    """A search with dead ends."""

    sold_out: Mapping[int, Option | None]  # products, in the order of the results; None: the whole product


class BacktrackEnv(Family[BacktrackTask]):
    """Buy a product that fits and is in stock."""

    meta = EnvMeta(
        name="webshop/backtrack",
        version=1,
        turn_limit=30,
        reward_range=(0.0, 1.0),
        summary="WebShop, dead ends: the first products that fit are sold out; go back and buy another that fits.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("buyer",),
        can_snapshot=True,
        can_reword=True,
        max_action_chars=1 << 17,
        parts=PARTS,
    )

    def make_tasks(self) -> Tasks[BacktrackTask]:
        """Return the family's tasks in this shop."""
        return _tasks(self.shop, self.config.splits, self._nouns)

    def task_type(self, task_id: str) -> str:
        """Return the number of sold-out products, e.g. "2 sold out"."""
        return f"{len(self.task(task_id).sold_out)} sold out"

    def look(self, state: State) -> list[Piece]:
        """Return the page of a state, with sold-out elements as plain text."""
        shown, sold_out = super().look(state), self._task.sold_out
        if state.item is not None and state.item in sold_out:
            return [_mark(piece, sold_out[state.item]) for piece in shown]
        return shown

    def oracle_action(self, name: str) -> str:
        """Return the next step to the first unvisited result that fits, or to its purchase."""
        at, plan, catalogue = self.session, self._task.plan, self.shop.catalogue
        dead_ends = (number for number in self._task.sold_out if number not in at.visited)
        if (number := next(dead_ends, plan.product)) != plan.product:
            plan = ShoppingPlan(product=number, options={}, reward=0.0)
        if plan.product not in at.results:
            return f"search[{self._task.goal.instruction}]"
        return next_action(plan, at, catalogue)


@lru_cache(maxsize=8)
def _tasks(shop: Shop, splits: Protocol, nouns: Tagger) -> Tasks[BacktrackTask]:
    return Tasks(BacktrackEnv.meta.name, _make, shop, splits, nouns)


def _mark(piece: Piece, gone: Option | None) -> Piece:
    if gone is None:
        return Piece("text", SOLD_OUT) if piece == Piece("button", BUY) else piece
    is_gone = piece.kind == "option" and (piece.name, piece.text) == gone
    return Piece("text", f"{piece.text} ({SOLD_OUT.lower()})") if is_gone else piece


def _make(pool: GoalPool, goal: ShoppingGoal, rng: random.Random) -> BacktrackTask | None:
    product = pool.shop.catalogue[goal.product]
    for attributes, options in itertools.islice(some_conditions(goal, _MAX_OPTIONS, rng), _MAX_TRIES):
        things, limit = described(product, attributes, options), limited(goal.price_limit)
        text = rng.choice(_WORDINGS).format(things=things, limit=limit)
        asked = replace(goal, instruction=text, attributes=attributes, options=options)
        is_searchable = parse(f"search[{text}]") == ("search", text)
        if is_searchable and (task := _sell_out(pool, asked)) is not None:
            return task
    return None


def _sell_out(pool: GoalPool, asked: ShoppingGoal) -> BacktrackTask | None:
    """Return the task of an instruction, or None.

    None if fewer than two products fit, or if the product to buy is in another split.
    """
    fitting = list(_fitting(pool, asked))
    if len(fitting) < 2:
        return None
    rng = python_generator("webshop sold out", asked.instruction)
    count = rng.randint(1, min(MAX_DEAD_ENDS, len(fitting) - 1))
    plan = fitting[count]
    if not pool.has_product(plan.product):
        return None
    sold_out = {each.product: _dead_end(pool, each, asked, rng) for each in fitting[:count]}
    goal = replace(asked, product=plan.product, asin=pool.shop.catalogue.asin(plan.product))
    return BacktrackTask(goal=goal, plan=plan, sold_out=sold_out)


def _fitting(pool: GoalPool, asked: ShoppingGoal) -> Iterator[ShoppingPlan]:
    """Yield the purchase of each product that fits, in the order of the results."""
    shop, nouns = pool.shop, pool.nouns
    for number in shop.catalogue.search(asked.instruction.lower()):
        price = float(shop.goals.prices[number])
        bare = score(shop.catalogue[number], price, {}, replace(asked, options={}), nouns)
        if bare.reward == 1.0 and (plan := best_choice(shop, number, asked, nouns)).reward == 1.0:
            yield plan


def _dead_end(pool: GoalPool, plan: ShoppingPlan, asked: ShoppingGoal, rng: random.Random) -> Option | None:
    """Return the sold-out option value, or None if the whole product is sold out.

    A value is sold out only if no other value gives the full reward.
    """
    if not plan.options or rng.random() >= _SHARE_OF_OPTIONS:
        return None
    name, value = rng.choice(list(plan.options.items()))
    product = pool.shop.catalogue[plan.product]
    left = tuple(each for each in product.options[name] if each != value)
    rest = replace(product, options={**product.options, name: left})
    best = best_choice(pool.shop, plan.product, asked, pool.nouns, rest)
    return (name, value) if best.reward < 1.0 else None


ENV = BacktrackEnv
