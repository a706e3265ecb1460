"""Distractors: the instruction mentions more than the goal, which misleads searches for it.

A goal's own instruction is surrounded by earlier orders, the wishes of other people, and a forbidden attribute. These
are attributes of other products, preferably of the same query, that the goal's own product lacks. Earlier orders and
other people's wishes do not affect the score. The score is the goal's base reward, halved for a product with the
forbidden attribute. The loss is the part `forbidden` of the reward, in addition to the base reward's parts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cairn.envs.base import EnvMeta
from cairn.envs.webshop.goals import ShoppingGoal
from cairn.envs.webshop.nouns import Tagger
from cairn.envs.webshop.oracle import best_choice
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.reward import PARTS, Score
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.splits import Protocol
from cairn.envs.webshop.variants._conditions import can_find, described, meets
from cairn.envs.webshop.variants._family import Family
from cairn.envs.webshop.variants._tasks import GoalPool, ShopTask, Tasks

_BEFORE = (
    "Last time I bought {decoy}.",
    "My last order here was {decoy}, which I am happy with.",
    "I still have {decoy} from last year.",
)
_OTHERS = (
    "My sister is after {decoy}, but she orders for herself.",
    "A friend of mine swears by {decoy}; I do not need that.",
    "Those {decoy} that my brother asked for have arrived already.",
)
_FORBIDDEN = (
    'It must not be described with "{attribute}".',
    'Please nothing that is advertised with "{attribute}".',
    'Leave out whatever is listed with "{attribute}".',
)
_LOOKED_AT = 20  # maximum number of products of the query, and of goals drawn from all


@dataclass(frozen=True, kw_only=True)
class DistractorTask(ShopTask):
    """A goal with distractors."""

    forbidden: str  # attribute


@dataclass(frozen=True)
class _Decoy:
    """A product other than the goal's, with attributes that distinguish it."""

    product: Product
    lacking: tuple[str, ...]  # attributes that the goal's product lacks


class DistractorEnv(Family[DistractorTask]):
    """Buy the product of the goal, not the other mentioned ones."""

    meta = EnvMeta(
        name="webshop/distractor",
        version=1,
        turn_limit=15,
        reward_range=(0.0, 1.0),
        summary="WebShop, distractors: the instruction also mentions other orders, people and unwanted products.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("buyer",),
        can_snapshot=True,
        can_reword=True,
        max_action_chars=1 << 17,
        parts=(*PARTS, "forbidden"),
    )

    def make_tasks(self) -> Tasks[DistractorTask]:
        """Return the family's tasks in this shop."""
        return _tasks(self.shop, self.config.splits, self._nouns)

    def purchase_score(self, number: int, options: Mapping[str, str]) -> Score:
        """Return the score of buying a product with these options."""
        base = super().purchase_score(number, options)
        is_forbidden = meets(self.shop.catalogue[number], self._task.forbidden, self._task.goal)
        reward = base.reward / 2 if is_forbidden else base.reward
        return replace(base, reward=reward, parts={**base.parts, "forbidden": reward - base.reward})


@lru_cache(maxsize=8)
def _tasks(shop: Shop, splits: Protocol, nouns: Tagger) -> Tasks[DistractorTask]:
    return Tasks(DistractorEnv.meta.name, _make, shop, splits, nouns)


def _make(pool: GoalPool, goal: ShoppingGoal, rng: random.Random) -> DistractorTask | None:
    plan = best_choice(pool.shop, goal.product, goal, pool.nouns)
    if plan.reward < 1.0 or not can_find(pool.shop.catalogue, goal.product):
        return None
    decoys = list(_decoys(pool, goal, rng))
    if not decoys:
        return None
    forbidden = rng.choice(max(decoys[:2], key=lambda decoy: len(decoy.lacking)).lacking)
    text = _instruction(goal, decoys, forbidden, rng)
    return DistractorTask(goal=replace(goal, instruction=text), plan=plan, forbidden=forbidden)


def _decoys(pool: GoalPool, goal: ShoppingGoal, rng: random.Random) -> Iterator[_Decoy]:
    """Yield products with attributes that the goal's product lacks: of its query, then of any."""
    shop = pool.shop
    catalogue, product = shop.catalogue, shop.catalogue[goal.product]
    kin = catalogue.of_group("query", goal.query)
    drawn = (int(shop.goals.products[pool.draw(rng)]) for _ in range(_LOOKED_AT))
    for number in (*rng.sample(kin, min(_LOOKED_AT, len(kin))), *drawn):
        other = catalogue[number]
        lacking = tuple(each for each in other.instruction_attributes if not meets(product, each, goal))
        if number != goal.product and lacking:
            yield _Decoy(other, lacking)


def _instruction(goal: ShoppingGoal, decoys: Sequence[_Decoy], forbidden: str, rng: random.Random) -> str:
    """Return the goal's own instruction with sentences about other products and what to avoid."""
    one, two = decoys[0], decoys[min(1, len(decoys) - 1)]
    before = rng.choice(_BEFORE).format(decoy=_description(one, rng))
    others = rng.choice(_OTHERS).format(decoy=_description(two, rng))
    never = rng.choice(_FORBIDDEN).format(attribute=forbidden)
    own = f"{goal.instruction}."
    orders = ((before, own, never), (own, never, others), (before, own, others, never), (others, before, own, never))
    return " ".join(rng.choice(orders))


def _description(decoy: _Decoy, rng: random.Random) -> str:
    options = [(name, rng.choice(values)) for name, values in decoy.product.options.items() if values]
    return described(decoy.product, decoy.lacking, dict(options[:1]))


ENV = DistractorEnv
