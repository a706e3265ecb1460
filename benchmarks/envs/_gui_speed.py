"""Speed of a browser environment: one page, several pages, and resets against `page.goto`.

Run it in a fresh process on an idle machine, because other load affects the results.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cairn.benchmarks.envs._processor import descendants_seconds
from cairn.core.errors import CairnError, SandboxFailure
from cairn.envs.gui.browsing import GuiEnv
from cairn.envs.registry import make

TURNS = 6  # of an episode: alternately no action and a click
_TIMES, _WARM = 7, 2  # of a reset; the first ones are not counted


@dataclass(frozen=True, kw_only=True)
class TimedPlay:
    """The measurements of playing for a while."""

    pages: int  # concurrent
    seconds: float
    steps: int
    episodes: int
    step_s: float  # in steps, of all pages together
    failed: int  # episodes with a browser failure; their steps until then count
    cores: Mapping[str, float]  # processor seconds per second, by program

    @property
    def step_rate(self) -> float:
        """Steps per second, including resets."""
        return self.steps / self.seconds

    @property
    def episode_rate(self) -> float:
        """Episodes per second."""
        return self.episodes / self.seconds

    @property
    def step_ms(self) -> float:
        """The mean time of a step."""
        return self.step_s / self.steps * 1000


@dataclass(frozen=True, kw_only=True)
class Start:
    """The reset of a task: median times."""

    task: str
    reset_ms: float
    goto_ms: float  # a plain goto to the same address
    look_ms: float
    tell_ms: float
    characters: int  # of the observation, with the goal and the actions

    @property
    def over_goto(self) -> float:
        """The time of a reset, relative to that of a plain goto."""
        return self.reset_ms / self.goto_ms


@dataclass(frozen=True, kw_only=True)
class Speed:
    """The measurements of an environment."""

    one: TimedPlay
    many: TimedPlay
    starts: tuple[Start, ...]
    first_mb: float  # the browser with one page
    page_mb: float  # each page more

    @property
    def reset_ms(self) -> float:
        """The median over tasks."""
        return statistics.median(each.reset_ms for each in self.starts)

    @property
    def goto_ms(self) -> float:
        """The median over tasks."""
        return statistics.median(each.goto_ms for each in self.starts)

    @property
    def over_goto(self) -> float:
        """The median over tasks."""
        return statistics.median(each.over_goto for each in self.starts)

    @property
    def look_ms(self) -> float:
        """The median over tasks."""
        return statistics.median(each.look_ms for each in self.starts)

    @property
    def tell_ms(self) -> float:
        """The median over tasks."""
        return statistics.median(each.tell_ms for each in self.starts)

    @property
    def characters(self) -> float:
        """The mean over tasks."""
        return statistics.fmean(each.characters for each in self.starts)


def measure(env_id: str, tasks: Sequence[str], pages: int, seconds: float, keeps: bool = True) -> Speed:
    """Play on one page and on `pages` pages, for `seconds` each, then reset every task.

    `keeps`: whether the browser caches immutable files, which is the default.
    """
    from cairn.sandboxes.browser.browser import Browser

    envs = [made(env_id) for _ in range(pages)]
    browser = Browser(envs[0]._browser.config.model_copy(update={"caches": keeps}))
    try:
        for env in envs:
            env._browser = browser
            env.reset(options={"task": tasks[0]})
        one = play(envs[:1], tasks, seconds)
        first = envs[0]._browser.memory_bytes()
        starts = tuple(_starts(envs[0], tasks))
        many = play(envs, tasks, seconds)
        more = envs[0]._browser.memory_bytes() - first
        page_mb = more / (pages - 1) / 2**20
        return Speed(one=one, many=many, starts=starts, first_mb=first / 2**20, page_mb=page_mb)
    finally:
        end(envs)


def end(envs: Sequence[GuiEnv]) -> None:
    """Close the environments, and their shared browser."""
    for env in envs:
        env.close()
    envs[0]._browser.close()


def play(envs: Sequence[GuiEnv], tasks: Sequence[str], seconds: float) -> TimedPlay:
    """Play in all environments at once, each in a thread, after an uncounted reset."""
    found = [_Player(env, random.Random(place)) for place, env in enumerate(envs)]
    with ThreadPoolExecutor(len(envs)) as threads:
        list(threads.map(lambda env: env.reset(options={"task": tasks[0]}), envs))
        before, began = _spent(), time.perf_counter()
        wait = [
            threads.submit(each.play, itertools.islice(itertools.cycle(tasks), place, None), began + seconds)
            for place, each in enumerate(found)
        ]
        for each in wait:
            each.result()
        taken = time.perf_counter() - began
        cores = {what: (spent - before.get(what, 0.0)) / taken for what, spent in _spent().items()}
    return TimedPlay(
        pages=len(envs),
        seconds=taken,
        steps=sum(each.steps for each in found),
        episodes=sum(each.episodes for each in found),
        step_s=sum(each.step_s for each in found),
        failed=sum(each.failed for each in found),
        cores=cores,
    )


@dataclass
class _Player:
    """Plays on one page, and counts."""

    env: GuiEnv
    rng: random.Random
    steps: int = 0
    episodes: int = 0
    step_s: float = 0.0
    failed: int = 0

    def play(self, tasks: Iterator[str], until: float) -> None:
        while time.perf_counter() < until:
            self.episodes += 1
            try:
                self._episode(next(tasks))
            except SandboxFailure:  # the environment continues with a new page
                self.failed += 1

    def _episode(self, task: str) -> None:
        _, info = self.env.reset(options={"task": task})
        for turn in range(TURNS):
            clicks = [call for call in info["admissible_actions"] if call.startswith("click(")]
            action = self.rng.choice(clicks) if clicks and turn % 2 else "noop()"
            began = time.perf_counter()
            _, _, terminated, truncated, info = self.env.step(action)
            self.step_s += time.perf_counter() - began
            self.steps += 1
            if terminated or truncated:
                break


def _starts(env: GuiEnv, tasks: Sequence[str]) -> list[Start]:
    """Measure repeated resets of each task, then as many gotos to its page in a plain context."""
    assert env._page is not None
    browser, env._page.leases = env._browser, 0  # the page, and its server, stay until the end of the measurements
    context = browser.run(browser.new_context(env._page.gate))
    try:
        driven = browser.run(context.new_page())
        return [_start(env, task, lambda url: browser.run(_gone(driven.goto, url))) for task in tasks]
    finally:
        browser.run(context.close())


async def _gone(goto: Callable[[str], Awaitable[object]], url: str) -> float:
    """Go to an address and return the time in milliseconds."""
    began = time.perf_counter()
    await goto(url)
    return (time.perf_counter() - began) * 1000


def _start(env: GuiEnv, task: str, goto: Callable[[str], float]) -> Start:
    from cairn.envs.gui.accessibility import look
    from cairn.envs.gui.render_text import tell

    resets, looks, renders, text = [], [], [], ""
    for _ in range(_WARM + _TIMES):
        began = time.perf_counter()
        text, _ = env.reset(options={"task": task})
        resets.append((time.perf_counter() - began) * 1000)
        assert env._page is not None
        began = time.perf_counter()
        view = env._browser.run(look(env._page.tab, everything=env.everything))
        looked = time.perf_counter()
        tell(view, env.config.token_budget)
        looks.append((looked - began) * 1000)
        renders.append((time.perf_counter() - looked) * 1000)
    assert env.view is not None
    gotos = [goto(env.view.url) for _ in range(_WARM + _TIMES)]
    reset_ms, goto_ms, look_ms, tell_ms = (statistics.median(x[_WARM:]) for x in (resets, gotos, looks, renders))
    return Start(
        task=task, reset_ms=reset_ms, goto_ms=goto_ms, look_ms=look_ms, tell_ms=tell_ms, characters=len(text)
    )  # fmt: skip


def made(env_id: str) -> GuiEnv:
    """Return an environment in a browser."""
    env = make(env_id)
    if not isinstance(env, GuiEnv):
        raise CairnError(f"{env_id} is not an environment in a browser")
    return env


def _spent() -> dict[str, float]:
    return {"this process": time.process_time(), **descendants_seconds()}
