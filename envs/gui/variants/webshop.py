"""The web shop as pages in a browser: find the product, choose its options, buy it.

Shops, tasks and rewards are those of `webshop`; posted forms use the same state machine. The purchase ends the task.
Only the pages of the current episode are reachable: none returns the state as data, or starts or repeats an episode.
Turns are the browser's: filling the search field and pressing Enter are two turns.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from cairn.envs.base import EnvConfig, EnvMeta
from cairn.envs.gui.accessibility import AccessibilityNode
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.browsing import GuiConfig, GuiEnv, GuiVerdict, Opening
from cairn.envs.webshop.env import ShopConfig, WebShopEnv
from cairn.envs.webshop.pages import BACK, PER_PAGE
from cairn.envs.webshop.reward import PARTS
from cairn.envs.webshop.web import make_pages
from cairn.envs.webshop.web_episodes import Episodes

if TYPE_CHECKING:
    from cairn.sandboxes.browser.page import BrowserPage

_HOST, _TOKEN = "shop", "1"
_URL = f"http://{_HOST}/s/{_TOKEN}/"
_NO_LIMIT = 1 << 30  # for the shop's own turns, since the browser environment's limit applies


class ShopPagesConfig(GuiConfig, ShopConfig):
    """Configuration of the shop and of its display."""


class ShopPagesEnv(GuiEnv):
    """Buy the product that the instruction describes, in a browser."""

    meta = EnvMeta(
        name="gui/webshop",
        version=2,
        turn_limit=30,
        reward_range=(0.0, 1.0),
        summary="The web shop in a real browser: search, compare, choose options and buy on its pages.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("buyer",),
        is_blocking=True,
        can_reword=True,
        parts=PARTS,
    )
    Config: ClassVar[type[EnvConfig]] = ShopPagesConfig
    config: ShopPagesConfig
    without = ("send_msg_to_user", "new_tab", "tab_close", "tab_focus")

    def setup(self) -> None:
        """Open the shop; its episode has the same address each time."""
        super().setup()
        settings = {name: value for name, value in self.config if name in ShopConfig.model_fields}
        self._shop = WebShopEnv(**{**settings, "turn_limit": _NO_LIMIT, "perturb": {}})
        self._episodes = Episodes(self._shop, capacity=1, make_token=lambda: _TOKEN)
        self._sites = {_HOST: make_pages(self._shop, self._episodes, hosts={_HOST})}

    def tasks(self) -> Sequence[str]:
        """Return the ids of the configured split's goals."""
        return self._shop.tasks()

    def has_task(self, task_id: str) -> bool:
        """Return whether the goal exists, in any split."""
        return self._shop.has_task(task_id)

    def task_type(self, task_id: str) -> str:
        """Return the department of the goal's product."""
        return self._shop.task_type(task_id)

    def difficulty(self, task_id: str) -> str:
        """Return the goal's level in the shop."""
        return self._shop.difficulty(task_id)

    def best_score(self, task_id: str) -> float:
        """Return the reward of the best purchase."""
        return self._shop.best_score(task_id)

    def open(self, task_id: str, rng: random.Random) -> Opening:
        """Start the shop's episode."""
        self._shop.choose_instruction = self.choose_instruction  # its pages show the instruction too
        self._episodes.open(task_id, rng.getrandbits(31))
        self._instruction, self._own = self._shop.instruction(task_id), self._shop.goal(task_id).instruction
        return Opening(goal=self._instruction, url=_URL, sites=self._sites)

    async def judge(self, page: BrowserPage, message: str | None) -> GuiVerdict | None:
        """Return the purchase's score after the purchase."""
        episode = self._episodes.find(_TOKEN)
        if not episode.has_ended:
            return None
        info, score = episode.info, float(episode.info["score"])
        text = f"The purchase is made. Score: {score}"
        return GuiVerdict(score=score, success=info["success"], text=text, parts=info["channels"])

    def hidden(self) -> bytes:
        """Return the shop's own state, and the next page's notice on the last request."""
        return b"%b\n%b" % (self._episodes.find(_TOKEN).notice.encode(), self._shop.state())

    def in_own_words(self, content: str) -> str:
        """Return the pages' content with the instruction in its original wording."""
        shown, own = (json.dumps(["text", " ".join(words.split())])[1:-1] for words in (self._instruction, self._own))
        return content.replace(shown, own)

    def next_call(self, name: str) -> GuiCall:
        """Return the call that leads to the next action of the shop's own oracle."""
        assert self.view is not None
        kind, _, rest = self._oracle_action(name).partition("[")
        wanted = rest.removesuffix("]")
        if self.view.url != _URL:
            return _BACK_TO_THE_SHOP
        return self._to_search(wanted) if kind == "search" else self._to_click(wanted)

    # -- the oracle's navigation on the pages ------------------------------------------------------------------------

    def _oracle_action(self, name: str) -> str:
        """Return the next action of the shop's oracle.

        On the pages, it can search only on the search page. There the shop has forgotten that an earlier search did not
        find the product, so the search is tried first and undone.
        """
        shop = self._shop
        action = shop.oracle(name)
        if action.startswith("search[") and shop.session.page == "search":
            before = shop.snapshot()
            shop.step(action)
            then = shop.oracle(name)
            shop.restore(before)
            return then if then.startswith("search[") else action
        return action

    def _to_search(self, words: str) -> GuiCall:
        field = self._found("searchbox")
        if not field:
            return self._to_click(BACK.lower())
        bid, value, query = field[0].bid, field[0].value or "", " ".join(words.split())
        if value == query or (value.endswith("…") and query.startswith(value[:-1])):  # long values are shown truncated
            return GuiCall(name="press", arguments={"bid": bid, "key_comb": "Enter"})
        return GuiCall(name="fill", arguments={"bid": bid, "value": words})

    def _to_click(self, label: str) -> GuiCall:
        """Return a click on a product, an option or a button, or the way back to the shop's page."""
        at = self._shop.session
        catalogue = self._shop.shop.catalogue
        shown = at.results[(at.number - 1) * PER_PAGE : at.number * PER_PAGE] if at.page == "results" else ()
        places = [place for place, number in enumerate(shown) if catalogue.asin(number).lower() == label]
        if places:
            fits = self._found("link")[places[0] :]
        else:
            name = " ".join(label.split())
            fits = [node for node in self._found("radio") if node.name == name][::-1]
            fits += [node for node in self._found("button") if node.name.lower() == name]
        return GuiCall(name="click", arguments={"bid": fits[0].bid}) if fits else _BACK_TO_THE_SHOP

    def _found(self, role: str) -> list[AccessibilityNode]:
        assert self.view is not None
        return [node for node in self.view.nodes if node.bid and node.role == role]


_BACK_TO_THE_SHOP = GuiCall(name="goto", arguments={"url": _URL})
ENV = ShopPagesEnv
