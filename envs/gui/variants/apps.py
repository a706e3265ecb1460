"""Web applications of an office.

They are mail, calendar, files, issues, sheets, settings, contacts and payments. A task ends when the agent sends its
message to the user. It is judged by the applications' own data: exactly the wanted
changes must have been made. The score is the share of wanted changes, or 0 with any other change; 1 is success.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from cairn.envs.base import EnvConfig, EnvMeta
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.apps import deeds, sites
from cairn.envs.gui.browsing import GuiConfig, GuiEnv, GuiVerdict, Opening
from cairn.envs.gui.site import site
from cairn.envs.gui.tasks import make_task, templates
from cairn.envs.gui.ui_actions import Deed
from cairn.envs.office.validator import PARTS, judge
from cairn.envs.paraphrase import framed

if TYPE_CHECKING:
    from cairn.sandboxes.browser.page import BrowserPage

Split = Literal["train", "valid", "test"]
_SEEDS: dict[Split, range] = {"train": range(100), "valid": range(100, 120), "test": range(120, 140)}


class AppsConfig(GuiConfig):
    """Configuration of the office applications: the tasks to play."""

    split: Split = Field("train", description="Which seeds of each template tasks() lists.")
    tier: Literal["all", "simple", "workflow"] = Field(
        "all", description="Tasks in one application, tasks across several, or both."
    )
    apps: tuple[str, ...] = Field((), description="Only tasks that need no other applications; none: all tasks.")


class AppsEnv(GuiEnv):
    """Work in web applications."""

    meta = EnvMeta(
        name="gui/apps",
        version=3,
        turn_limit=80,
        reward_range=(0.0, 1.0),
        summary="Eight web applications of an office in a real browser, judged by their own data.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("clerk",),
        is_blocking=True,
        can_reword=True,
        parts=PARTS,
    )
    Config: ClassVar[type[EnvConfig]] = AppsConfig
    config: AppsConfig

    def setup(self) -> None:
        """Create the applications, over the world of the current episode."""
        super().setup()
        served = site(sites(), lambda request: self._world)
        self._sites = dict.fromkeys(sites(), served)
        self._known: tuple[int, Mapping[str, Any], bytes] | None = None  # number of ids, tables -> the data as bytes

    def tasks(self) -> Sequence[str]:
        """Return the split's tasks, ``template/seed``."""
        return _ids(self.config.split, self.config.tier, self.config.apps)

    def has_task(self, task_id: str) -> bool:
        """Return whether the template exists and the seed is a number."""
        template, _, seed = task_id.rpartition("/")
        return template in templates() and seed.isascii() and seed.isdigit() and str(int(seed[:9])) == seed

    def task_type(self, task_id: str) -> str:
        """Return the template's tier."""
        return templates()[task_id.rpartition("/")[0]].tier

    def difficulty(self, task_id: str) -> str:
        """Return the template's level, from 1 to 3."""
        return str(templates()[task_id.rpartition("/")[0]].level)

    def open(self, task_id: str, rng: random.Random) -> Opening:
        """Create the task's world."""
        template, _, seed = task_id.rpartition("/")
        self._task = make_task(template, int(seed))
        self._world = self._task.world.copy()
        self._oracle = _Clerk(self)
        own = self._task.instruction
        goal = self.phrase_instruction(task_id, own, lambda: framed(own))
        return Opening(goal=goal, url=f"http://{self._task.template.apps[0]}/", sites=self._sites)

    async def judge(self, page: BrowserPage, message: str | None) -> GuiVerdict | None:
        """Compare the world with the task's reference after the message to the user."""
        if message is None:
            return None
        found = judge(self._task.world, self._world, self._task, message)
        text = "\n".join(("The task is over.", *found.problems))
        return GuiVerdict(score=found.score, success=found.success, text=text, parts=found.parts)

    def hidden(self) -> bytes:
        """Return the applications' data; cached until some of it changes."""
        holds = {name: dict(table) for name, table in self._world.tables.items()}  # records are never mutated
        if self._known is None or self._known[:2] != (self._world.num_ids, holds):
            self._known = (self._world.num_ids, holds, self._world.state())
        return self._known[2]

    def next_call(self, name: str) -> GuiCall:
        """Return the clerk's next call."""
        return self._oracle.next_call()


class _Clerk:
    """Oracle that looks, carries out the reference's steps as UI actions, and messages the user.

    It restarts a step if the page is not as it left it, and skips a step that cannot be carried out.
    """

    def __init__(self, env: AppsEnv) -> None:
        self._env = env
        self._steps = [*env._task.looks, *env._task.steps]
        self._num_done = 0
        self._deeds: Iterator[Deed] | None = None
        self._has_failed = False  # once, in the current step
        self._planned: tuple[int, GuiCall] | None = None  # with its turn
        self._expected: int | None = None  # the turn after the oracle's last call

    def next_call(self) -> GuiCall:
        turn = self._env.turn
        if self._planned is None or self._planned[0] != turn:
            if turn != self._expected:
                self._deeds = None
            self._planned, self._expected = (turn, self._choose()), turn + 1
        return self._planned[1]

    def _choose(self) -> GuiCall:
        while self._num_done < len(self._steps):
            if self._deeds is None:
                self._deeds = deeds(self._env._world, self._steps[self._num_done])
            try:
                return self._as_call(next(self._deeds))
            except StopIteration:
                self._go_on()
            except LookupError:
                self._deeds = None
                self._has_failed = not self._has_failed
                if not self._has_failed:  # failed from the step's beginning too
                    self._go_on()
        answer = self._env._task.answer
        return GuiCall(name="send_msg_to_user", arguments={"text": "Done." if answer is None else str(answer)})

    def _go_on(self) -> None:
        self._deeds, self._has_failed = None, False
        self._num_done += 1

    def _as_call(self, deed: Deed) -> GuiCall:
        if deed.verb == "goto":
            return GuiCall(name="goto", arguments={"url": deed.text})
        assert self._env.view is not None
        fits = [each for each in self._env.view.nodes if each.bid and (each.role, each.name) == (deed.role, deed.name)]
        if len(fits) != 1:
            raise LookupError(f"{len(fits)} elements are {deed.role} {deed.name!r}")
        bid = {"bid": fits[0].bid}
        if deed.verb == "fill":
            return GuiCall(name="fill", arguments={**bid, "value": deed.text})
        if deed.verb == "select":
            return GuiCall(name="select_option", arguments={**bid, "options": deed.text})
        if deed.verb == "press":
            return GuiCall(name="press", arguments={**bid, "key_comb": deed.text})
        return GuiCall(name=deed.verb, arguments=bid)


@cache
def _ids(split: Split, tier: str, apps: tuple[str, ...]) -> tuple[str, ...]:
    chosen = [
        name
        for name, each in templates().items()
        if tier in ("all", each.tier) and (not apps or set(each.apps) <= set(apps))
    ]
    return tuple(f"{name}/{seed}" for name in chosen for seed in _SEEDS[split])


ENV = AppsEnv
