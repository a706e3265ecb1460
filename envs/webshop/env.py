"""Web shop environment: find a product that fits an instruction, choose its options, buy it.

Each turn is one text action. Sources, splits and rewards are the original WebShop's (see `shop`, `splits`, `reward`);
``generated`` needs no data. The reward of the last step, a purchase, is between 0 and 1, and 1 is success; every other
step's reward is 0. The channels are the reward's parts.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from cairn.core.caching import cached_method
from cairn.core.seeding import python_generator
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.rephrasable import Rephrasable
from cairn.envs.webshop import paraphrase, rules
from cairn.envs.webshop.goals import PRICE_SEED, SHUFFLE_SEED, ShoppingGoal
from cairn.envs.webshop.html import html
from cairn.envs.webshop.nouns import Name, tagger
from cairn.envs.webshop.oracle import ShoppingPlan, best_purchase, next_action
from cairn.envs.webshop.pages import SEARCH, Piece, State, clickables, pieces, text, text_rich
from cairn.envs.webshop.reward import PARTS, Score, score
from cairn.envs.webshop.shop import GoalKind, Shop, Source, open_shop
from cairn.envs.webshop.splits import Protocol, Split, TaskIds, indices

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
_LEVELS = (4, 6)  # upper bounds on the number of conditions for each level but the last
_NOT_SEARCHED = str.maketrans("[]\n", "   ")  # characters that would end the action


class ShopConfig(EnvConfig):
    """Settings of the shop, its goals and splits, shared by the text and browser environments."""

    source: Source = Field("generated", description="A generated shop, or the original's files (they must be there).")
    split: Split = Field("train", description="Which goals tasks() lists.")
    splits: Protocol = Field("by-product", description="How goals are divided: see docs/envs/webshop.md.")
    goals: GoalKind = Field("synthetic", description="Goals made of options, or the original's human instructions.")
    noun_tagger: Name = Field("stub", description="Which words of names are nouns: every word, or as spaCy says.")
    show_attributes: bool = Field(False, description="Whether item pages have a page of attributes.")
    num_products: int = Field(1000, ge=1, le=10_000_000, description="Generated shops: how many products.")
    shop_seed: int = Field(0, ge=0, description="Generated shops: which one.")
    price_seed: int = Field(PRICE_SEED, ge=0, description="Of prices of products with a price range, and price limits.")
    shuffle_seed: int = Field(
        SHUFFLE_SEED, ge=0, description="Of the order of goals; others than the original's: gigpo."
    )


class WebShopConfig(ShopConfig):
    """Configuration of the web shop."""

    observation: Literal["text", "text_rich", "html"] = Field("text", description="How a page is shown.")


class WebShopEnv(Rephrasable, TextEnv):
    """Buy the product that the instruction describes.

    Environments derived from it (see `variants`) override `prefix`, `goal`, `make_plan`, `first`, `search`, `click`,
    `purchase_score` and `look`.
    """

    meta = EnvMeta(
        name="webshop",
        version=1,
        turn_limit=15,
        reward_range=(0.0, 1.0),
        summary="WebShop: search and buy, with the original's pages, goals, reward and ranking; or a generated shop.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("buyer",),
        can_snapshot=True,
        can_reword=True,
        max_action_chars=1 << 17,
        parts=PARTS,
    )
    Config = WebShopConfig
    config: WebShopConfig

    def setup(self) -> None:
        """Open the shop."""
        config = self.config
        self.shop: Shop = open_shop(
            config.source, config.goals, config.price_seed, config.shuffle_seed, config.num_products, config.shop_seed
        )
        places = indices(self.shop, config.splits, config.split, config.shuffle_seed)
        self._tasks = TaskIds(self.prefix, places)
        self._nouns = tagger(config.noun_tagger)
        self.session = self.first()
        self._page: list[Piece] = []
        self._links: dict[str, Piece] = {}
        self._plan = cached_method(self.make_plan, 1024)
        self._no_reward = dict.fromkeys(self.meta.parts, 0.0)  # the parts of every turn's reward but the last one's

    @property
    def prefix(self) -> str:
        """The prefix of task ids, before the goal's index in the shop's order."""
        return "goal/" if self.config.goals == "synthetic" else "human/"

    def tasks(self) -> Sequence[str]:
        """Return the ids of the configured split's goals."""
        return self._tasks

    def has_task(self, task_id: str) -> bool:
        """Return whether the goal exists, in any split."""
        number = task_id.removeprefix(self.prefix)
        return number != task_id and _NUMBER.fullmatch(number) is not None and int(number) < len(self.shop.goals)

    def task_type(self, task_id: str) -> str:
        """Return the department of the goal's product."""
        return self.shop.catalogue[self.goal(task_id).product].category

    def difficulty(self, task_id: str) -> str:
        """Return the level: 1 for up to four attributes and options, 2 up to six, 3 beyond."""
        goal = self.goal(task_id)
        return str(1 + bisect_left(_LEVELS, len(goal.attributes) + len(goal.options)))

    def goal(self, task_id: str) -> ShoppingGoal:
        """Return a task's goal."""
        return self.shop.goals[self.place(task_id)]

    def instruction(self, task_id: str) -> str:
        """Return a task's instruction, possibly paraphrased."""
        goal = self.goal(task_id)
        return self.phrase_instruction(task_id, goal.instruction, lambda: paraphrase.reworded(goal))

    def place(self, task_id: str) -> int:
        """Return the index of a task's goal in the shop's order."""
        return int(task_id.removeprefix(self.prefix))

    def make_plan(self, task_id: str) -> ShoppingPlan:
        """Return the best purchase for a task; the environment caches it per task."""
        return best_purchase(self.shop, self.goal(task_id), self._nouns)

    def best_score(self, task_id: str) -> float:
        """Return the best purchase's reward; below 1 if the original's reward cannot be satisfied."""
        return self._plan(task_id).reward

    def start(self, task_id: str, rng: random.Random) -> str:
        """Show the search page; nothing is random."""
        self._goal = replace(self.goal(task_id), instruction=self.instruction(task_id))
        return self._show(self.first())

    def first(self) -> State:
        """Return the initial state of every episode."""
        return State()

    def act(self, action: str) -> Outcome:
        """Search, click or buy; any other action leaves the page unchanged."""
        name, argument = rules.parse(action)
        label = (argument or "").lower()
        if name == "search" and label:
            return self.search(label)
        if name != "click" or label not in self._links or label == "search":
            return Outcome(self._last.text, channels=self._no_reward)
        return self.click(label)

    def search(self, query: str) -> Outcome:
        """Show the results of a search."""
        chance = python_generator(self.meta.name, "random products", self.task_id)
        return self._go(rules.search(self.session, self.shop.catalogue, query, chance))

    def click(self, label: str) -> Outcome:
        """Follow one of the page's `links`."""
        if rules.is_purchase(label):
            at = self.session
            assert at.item is not None  # only an item page has the button
            result = self.purchase_score(at.item, at.options)
            return self._end(replace(at, page="done", score=result), result.reward, result.parts)
        return self._go(rules.click(self.session, self.shop.catalogue, label, self._links))

    def purchase_score(self, number: int, options: Mapping[str, str]) -> Score:
        """Return the score of buying a product with these options in the current task."""
        product, price = self.shop.catalogue[number], float(self.shop.goals.prices[number])
        return score(product, price, options, self._goal, self._nouns)

    def look(self, state: State) -> list[Piece]:
        """Return the page of a state in the current task, as pieces."""
        return pieces(state, self.shop.catalogue, self._goal.instruction, self.config.show_attributes)

    def state(self) -> bytes:
        """Return the page, the results, the item and the options.

        Keywords and opened products are included only if the observation shows them.
        """
        at = self.session
        shown: tuple[object, ...] = (at.page, at.results, at.number, at.item, sorted(at.options.items()))
        if self.config.observation == "text_rich":
            shown = (*shown, at.keywords, sorted(at.visited))
        return repr(shown).encode("utf-8", "surrogatepass")

    def admissible(self) -> tuple[str, ...]:
        """Return all clicks that change the state, sorted.

        With a search bar, also a search for the instruction.
        """
        if self.session.page == "done":
            return ()
        chosen = self.session.options
        clicks = [
            f"click[{label}]"
            for label, piece in self._links.items()
            if label != "search"
            and not (piece.kind == "option" and chosen.get(piece.name) == piece.text)
            and rules.parse(f"click[{label}]")[1] == label  # a label with brackets cannot be clicked by an action
        ]
        if SEARCH in (piece.text for piece in self._page if piece.kind == "button"):
            clicks.append(f"search[{self._goal.instruction.translate(_NOT_SEARCHED)}]")
        return tuple(sorted(clicks))

    def oracle_action(self, name: str) -> str:
        """Return the next step towards the best purchase."""
        return next_action(self._plan(self.task_id), self.session, self.shop.catalogue)

    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the two commands; only the admissible actions mention them, no text does."""
        return paraphrase.COMMANDS

    def shuffle_lists(self, text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
        """Return the page with each option's values shuffled; the ranked results keep their order."""
        return self._as_text(paraphrase.shuffled(self._page, shuffle))

    def save_state(self) -> State:
        """Return the session's state."""
        return self.session

    def load_state(self, saved: Any) -> None:  # Any: see save_state
        """Restore the session's state."""
        self._show(saved)

    @property
    def page(self) -> Sequence[Piece]:
        """The pieces of the current page; for viewers and the shop's web pages."""
        return self._page

    @property
    def links(self) -> Mapping[str, Piece]:
        """The clickable pieces by their labels."""
        return self._links

    def _go(self, state: State) -> Outcome:
        """Go to a page without a reward."""
        return Outcome(self._show(state), channels=self._no_reward)

    def _end(self, state: State, reward: float, parts: Mapping[str, float]) -> Outcome:
        """Go to the last page."""
        return Outcome(self._show(state), reward, terminated=True, success=reward == 1.0, score=reward, channels=parts)

    def _show(self, state: State) -> str:
        """Go to a state and return its page as text."""
        self.session = state
        self._page = self.look(state)
        self._links = clickables(self._page)
        return self._as_text(self._page)

    def _as_text(self, page: list[Piece]) -> str:
        if self.config.observation == "text":
            return text(page)
        if self.config.observation == "text_rich":
            return text_rich(page, self.session, self.shop.catalogue)
        return html(page)


ENV = WebShopEnv
