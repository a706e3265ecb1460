"""Baskets: buy two to four products, each described like a goal, within a budget.

Item pages have `Add to Cart` in place of `Buy Now`; it opens the cart's page. `View Cart` is on every page except the
cart's page and the last. A cart that is not empty can be checked out::

    score = (sum of the best one-to-one assignment of items to things + [total <= budget]) / (max(things, items) + 1)

Things are the requested products, items the products in the cart. An item's value for a thing is the base reward
without its price clause: type * (attributes met + options met) / (attributes + options asked for). The budget clause
counts only if the assignment's sum is positive. The two terms of the sum, each divided by the same number, are the
parts of the reward: `items` and `budget`.

Things have different queries, and their products are in the task's split. The budget exceeds their total price by up to
the fraction `SLACK`, rounded up to whole dollars.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cairn.envs.base import EnvMeta, Outcome
from cairn.envs.webshop.goals import NO_LIMIT, ShoppingGoal
from cairn.envs.webshop.nouns import Tagger
from cairn.envs.webshop.oracle import ShoppingPlan, best_choice, next_action
from cairn.envs.webshop.pages import BUY, PREV, Piece, State
from cairn.envs.webshop.reward import score
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.splits import Protocol
from cairn.envs.webshop.variants._cart import (
    ADD,
    CHECKOUT,
    VIEW,
    CartLine,
    CartState,
    cart_page,
    cents,
    next_number,
    receipt,
    remove_label,
    total,
)
from cairn.envs.webshop.variants._conditions import can_find, described, options_of
from cairn.envs.webshop.variants._family import Family
from cairn.envs.webshop.variants._tasks import GoalPool, ShopTask, Tasks

MIN_THINGS, MAX_THINGS = 2, 4
SLACK = 0.08
_DRAWS = 60  # goals to draw for the other things
_WORDINGS = (
    "Buy these {count} things: {things}. Together they may cost at most {budget} dollars.",
    "I need {things}. Put all {count} in the cart and check out; I can spend {budget} dollars in total.",
    "My list: {things}. Get me one of each, for {budget} dollars or less altogether.",
    "With {budget} dollars, buy all of the following: {things}.",
)


@dataclass(frozen=True, kw_only=True)
class BasketTask(ShopTask):
    """Several products to buy within a budget."""

    things: tuple[ShoppingGoal, ...]  # without price limits
    plans: tuple[ShoppingPlan, ...]  # a purchase of each
    budget: int  # cents


class BasketEnv(Family[BasketTask]):
    """Buy all requested products within the budget."""

    meta = EnvMeta(
        name="webshop/basket",
        version=1,
        turn_limit=45,
        reward_range=(0.0, 1.0),
        summary="WebShop, baskets: put two to four things into a cart and check out within a budget.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("buyer",),
        can_snapshot=True,
        can_reword=True,
        max_action_chars=1 << 17,
        parts=("items", "budget"),
    )
    session: CartState

    def make_tasks(self) -> Tasks[BasketTask]:
        """Return the family's tasks in this shop."""
        return _tasks(self.shop, self.config.splits, self._nouns)

    def task_type(self, task_id: str) -> str:
        """Return the number of things, e.g. "3 things"."""
        return f"{len(self.task(task_id).things)} things"

    def difficulty(self, task_id: str) -> str:
        """Return the number of things, from 2 to 4."""
        return str(len(self.task(task_id).things))

    def first(self) -> CartState:
        """Return the initial state of every episode, with an empty cart."""
        return CartState()

    def search(self, query: str) -> Outcome:
        """Show the results of a search; the cart's page closes."""
        self.session = replace(self.session, is_open=False)
        return super().search(query)

    def click(self, label: str) -> Outcome:
        """Follow one of the page's links."""
        at = self.session
        if at.is_open:
            return self._click_in_cart(label)
        if label == VIEW.lower():
            return self._go(replace(at, is_open=True))
        if label == ADD.lower():
            assert at.item is not None  # only an item page has the button
            price = cents(float(self.shop.goals.prices[at.item]))
            line = CartLine(number=next_number(at.cart), product=at.item, options=at.options, cents=price)
            return self._go(replace(at, cart=(*at.cart, line), is_open=True))
        return super().click(label)

    def look(self, state: State) -> list[Piece]:
        """Return the page of a state, with the buttons of the cart."""
        assert isinstance(state, CartState)
        if state.reward is not None:
            return receipt(state.cart, self.shop.catalogue, state.reward)
        if state.is_open:
            return cart_page(state.cart, self.shop.catalogue, self._goal.instruction)
        buy, add = Piece("button", BUY), Piece("button", ADD)
        return [*(add if piece == buy else piece for piece in super().look(state)), Piece("button", VIEW)]

    def state(self) -> bytes:
        """Return the base shop's state and the cart."""
        at = self.session
        lines = [(line.number, line.product, sorted(line.options.items())) for line in at.cart]
        return super().state() + repr((lines, at.is_open)).encode("utf-8", "surrogatepass")

    def oracle_action(self, name: str) -> str:
        """Return the next step: remove wrong items, add missing ones, check out."""
        at, missing, wrong = self.session, list(self._task.plans), None
        for line in at.cart:
            plan = next(
                (each for each in missing if (each.product, each.options) == (line.product, line.options)), None
            )
            if plan is None:
                wrong = line
            else:
                missing.remove(plan)
        if wrong is not None or not missing:
            if not at.is_open:
                return f"click[{VIEW.lower()}]"
            return f"click[{CHECKOUT.lower() if wrong is None else remove_label(wrong)}]"
        plan = next((each for each in missing if each.product == at.item), missing[0])
        if at.is_open and plan.product in at.results:
            return f"click[{PREV.lower()}]"
        return next_action(plan, at, self.shop.catalogue, ADD)

    def _click_in_cart(self, label: str) -> Outcome:
        at = self.session
        if label == CHECKOUT.lower():
            reward, parts = basket_score(self.shop, at.cart, self._task, self._nouns)
            return self._end(replace(at, page="done", reward=reward), reward, parts)
        if label == PREV.lower():
            return self._go(replace(at, is_open=False))
        left = tuple(line for line in at.cart if remove_label(line) != label)
        if len(left) < len(at.cart):
            return self._go(replace(at, cart=left))
        self.session = replace(at, is_open=False)
        return super().click(label)


def basket_score(
    shop: Shop, cart: Sequence[CartLine], task: BasketTask, nouns: Tagger
) -> tuple[float, Mapping[str, float]]:
    """Return the score of a cart at checkout and its parts; see the module's docstring."""
    rewards = [[_reward(shop, line.product, line.options, thing, nouns) for thing in task.things] for line in cart]
    best = _assigned(rewards, len(task.things))
    within = best > 0.0 and total(cart) <= task.budget
    clauses = max(len(task.things), len(cart)) + 1
    return (best + within) / clauses, {"items": best / clauses, "budget": within / clauses}


def _reward(shop: Shop, number: int, options: Mapping[str, str], thing: ShoppingGoal, nouns: Tagger) -> float:
    """Return an item's value for a thing: the base reward without its price clause."""
    of = score(shop.catalogue[number], 0.0, options, thing, nouns)
    count = len(thing.attributes) + len(thing.options)
    return of.type * (of.attributes + of.options) / count if count else of.type


def _assigned(rewards: Sequence[Sequence[float]], num_things: int) -> float:
    """Return the value of the best one-to-one assignment of items to things.

    `best[s]` is the best value of the items so far for the set of things `s`, a bit mask.
    """
    best = [0.0] * (1 << num_things)
    for of_item in rewards:
        for taken in reversed(range(len(best))):  # larger sets first: the smaller ones do not yet include this item
            for thing in range(num_things):
                if taken >> thing & 1:
                    best[taken] = max(best[taken], best[taken ^ 1 << thing] + of_item[thing])
    return best[-1]


@lru_cache(maxsize=8)
def _tasks(shop: Shop, splits: Protocol, nouns: Tagger) -> Tasks[BasketTask]:
    return Tasks(BasketEnv.meta.name, _make, shop, splits, nouns)


def _make(pool: GoalPool, goal: ShoppingGoal, rng: random.Random) -> BasketTask | None:
    count = rng.randint(MIN_THINGS, MAX_THINGS)
    bought: list[tuple[ShoppingGoal, ShoppingPlan]] = []
    queries: set[str] = set()
    for candidate in (goal, *(pool.shop.goals[pool.draw(rng)] for _ in range(_DRAWS))):
        if candidate.query not in queries and (found := _purchase(pool, candidate)) is not None:
            bought.append(found)
            queries.add(candidate.query)
        if not bought:
            return None  # the task must include its own goal
        if len(bought) == count:
            break
    if len(bought) < MIN_THINGS:
        return None
    things, plans = (tuple(each) for each in zip(*bought, strict=True))
    spent = sum(cents(float(pool.shop.goals.prices[plan.product])) for plan in plans)
    budget = math.ceil(spent * (1 + SLACK * rng.random()) / 100) * 100
    text = _instruction(pool, things, budget, rng)
    return BasketTask(
        goal=replace(things[0], instruction=text), plan=plans[0], things=things, plans=plans, budget=budget
    )


def _purchase(pool: GoalPool, goal: ShoppingGoal) -> tuple[ShoppingGoal, ShoppingPlan] | None:
    """Return a goal without price limit and its purchase, or None.

    None if its best reward is below 1 or no search finds its product.
    """
    thing = replace(goal, price_limit=NO_LIMIT)
    plan = best_choice(pool.shop, goal.product, thing, pool.nouns)
    is_sound = plan.reward == 1.0 and can_find(pool.shop.catalogue, goal.product)
    return (thing, plan) if is_sound else None


def _instruction(pool: GoalPool, things: Sequence[ShoppingGoal], budget: int, rng: random.Random) -> str:
    descriptions = [described(pool.shop.catalogue[each.product], each.attributes, options_of(each)) for each in things]
    numbered = "; ".join(f"({place}) {each}" for place, each in enumerate(descriptions, 1))
    return rng.choice(_WORDINGS).format(count=len(things), things=numbered, budget=budget // 100)


ENV = BasketEnv
