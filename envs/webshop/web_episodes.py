"""Concurrent episodes of one web shop, each behind an unguessable token.

One environment plays them all. It restores an episode's snapshot before each action, so an episode costs only a few
kilobytes and episodes are isolated from each other. The number of stored episodes is limited: the least recently used
one is dropped, and requests with its token get an error that says so. Not thread-safe.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cairn.core.errors import CairnError
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.pages import Piece, State

OVER = "Nothing was done: this episode is over."
STALE = "Nothing was done: the page that this came from was out of date. This is the shop as it is now."
NO_CLICK = "Nothing changed: there is nothing of that name to click on this page."
NO_SEARCH = "Nothing changed: a search needs words, without square brackets around any of them."
_REMEMBERED = 16  # dropped tokens, in units of the capacity
_TOKEN_BYTES = 16


class NoTaskError(CairnError):
    """The task does not exist."""


class NoEpisodeError(CairnError):
    """No episode has this token; `was_dropped` if one had it."""

    def __init__(self, was_dropped: bool, capacity: int) -> None:
        self.was_dropped = was_dropped
        what = "This episode was dropped" if was_dropped else "There is no such episode"
        super().__init__(f"{what}: the {capacity} episodes used last are kept. Start a new one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebEpisode:
    """An episode after its last action: the environment's results and its snapshot."""

    observation: str
    info: Mapping[str, Any]  # Any: the environment's own, see `envs.base`
    turn: int
    state: State
    page: tuple[Piece, ...]  # pieces of the current page
    snapshot: tuple[Any, ...]  # Any: the environment's own form
    reward: float = 0.0  # of the last action
    terminated: bool = False
    truncated: bool = False
    action: str | None = None  # the last action passed to the environment; None: none yet
    notice: str = ""  # reason why the last request changed nothing

    @property
    def has_ended(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated

    @property
    def mark(self) -> str:
        """A page's key in this state, by which clicks on outdated pages are detected."""
        return f"{self.info['anchor']:016x}"


class Episodes:
    """The episodes of a server."""

    def __init__(self, env: WebShopEnv, capacity: int = 256, make_token: Callable[[], str] | None = None) -> None:
        """Start without episodes.

        Args:
            env: plays every episode; must not be used elsewhere meanwhile.
            capacity: maximum number of stored episodes.
            make_token: makes a new episode's token; a repeated token replaces its episode. Default: random tokens.

        Raises:
            CairnError: no task, or no room for an episode.
        """
        if capacity < 1 or not env.tasks():
            raise CairnError(
                f"webshop: expected tasks and room for an episode, got {len(env.tasks())} and {capacity!r}"
            )
        self._env = env
        self._capacity = capacity
        self._make_token = make_token or _random_token
        self._episodes: OrderedDict[str, WebEpisode] = OrderedDict()  # least recently used first
        self._dropped: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._episodes)

    def open(self, task_id: str | None, seed: int | None = None) -> str:
        """Start an episode and return its token; without a task, the seed selects one.

        Raises:
            NoTaskError: unknown task.
        """
        episode = self._start(task_id, seed)
        token = self._make_token()
        self._episodes[token] = episode
        if len(self._episodes) > self._capacity:
            self._dropped[self._episodes.popitem(last=False)[0]] = None
        if len(self._dropped) > _REMEMBERED * self._capacity:
            self._dropped.popitem(last=False)
        return token

    def find(self, token: str) -> WebEpisode:
        """Return an episode and mark it as used.

        Raises:
            NoEpisodeError: unknown or dropped token.
        """
        if token not in self._episodes:
            raise NoEpisodeError(token in self._dropped, self._capacity)
        self._episodes.move_to_end(token)
        return self._episodes[token]

    def reset(self, token: str, task_id: str | None, seed: int | None = None) -> WebEpisode:
        """Start a new episode under the same token.

        Raises:
            NoEpisodeError: unknown or dropped token.
            NoTaskError: unknown task; the episode continues unchanged.
        """
        self.find(token)
        self._episodes[token] = self._start(task_id, seed)
        return self._episodes[token]

    def act(self, token: str, action: str, mark: str | None = None) -> WebEpisode:
        """Execute an action, unless the episode is over or the action comes from an outdated page.

        Args:
            token: of the episode.
            action: such as ``click[buy now]``.
            mark: of the page on which it was chosen; None: any.

        Raises:
            NoEpisodeError: unknown or dropped token.
        """
        episode = self.find(token)
        if episode.has_ended:
            episode = replace(episode, notice=OVER)
        elif mark not in (None, episode.mark):
            episode = replace(episode, notice=STALE)
        else:
            episode = self._step(episode, action)
        self._episodes[token] = episode
        return episode

    def _start(self, task_id: str | None, seed: int | None) -> WebEpisode:
        env = self._env
        if task_id is not None and not env.has_task(task_id):
            raise NoTaskError(f"There is no task {task_id[:200]!r}. Tasks are named like {env.tasks()[0]!r}.")
        observation, info = env.reset(seed=seed, options={} if task_id is None else {"task": task_id})
        return WebEpisode(
            observation=observation, info=info, turn=env.turn, state=env.session, page=tuple(env.page),
            snapshot=env.snapshot(),
        )  # fmt: skip

    def _step(self, episode: WebEpisode, action: str) -> WebEpisode:
        env = self._env
        env.restore(episode.snapshot)
        observation, reward, terminated, truncated, info = env.step(action)
        notice = ""
        if env.session is episode.state:  # the environment creates a new state for every action with an effect
            notice = NO_SEARCH if action.startswith("search") else NO_CLICK
        return WebEpisode(
            observation=observation, info=info, turn=env.turn, state=env.session, page=tuple(env.page),
            snapshot=env.snapshot(), reward=reward, terminated=terminated, truncated=truncated, action=action,
            notice=notice,
        )  # fmt: skip


def _random_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)
