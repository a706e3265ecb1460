"""Episodes of one web shop side by side, each behind a token that cannot be guessed.

One environment plays them all: it is put into an episode's snapshot before each action, so an episode costs a few
kilobytes and none sees another. Only so many are kept; the one that was left alone longest makes room for a new one,
and whoever comes back to it is told. Not for several threads at once.
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
    """There is no such task."""


class NoEpisodeError(CairnError):
    """No episode has this token; `was_dropped` if one had it."""

    def __init__(self, was_dropped: bool, capacity: int) -> None:
        self.was_dropped = was_dropped
        what = "This episode was dropped" if was_dropped else "There is no such episode"
        super().__init__(f"{what}: the {capacity} episodes used last are kept. Start a new one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebEpisode:
    """An episode after its last action: what the environment said of it, and how to go on."""

    observation: str
    info: Mapping[str, Any]  # Any: the environment's own, see `envs.base`
    turn: int
    state: State
    page: tuple[Piece, ...]  # what the environment shows
    snapshot: tuple[Any, ...]  # Any: the environment's own form
    reward: float = 0.0  # of the last action
    terminated: bool = False
    truncated: bool = False
    action: str | None = None  # the last that the environment was given; None: none yet
    notice: str = ""  # why the last request changed nothing

    @property
    def has_ended(self) -> bool:
        """Whether no action is taken any more."""
        return self.terminated or self.truncated

    @property
    def mark(self) -> str:
        """What a page of this state carries, so that a click on an older page is told apart."""
        return f"{self.info['anchor']:016x}"


class Episodes:
    """The episodes of a server."""

    def __init__(self, env: WebShopEnv, capacity: int = 256, make_token: Callable[[], str] | None = None) -> None:
        """Keep none yet.

        Args:
            env: plays every episode; nothing else may use it meanwhile.
            capacity: how many are kept.
            make_token: makes a new episode's token; one that comes again replaces its episode. Default: random ones.

        Raises:
            CairnError: there is no task, or no room for an episode.
        """
        if capacity < 1 or not env.tasks():
            raise CairnError(
                f"webshop: expected tasks and room for an episode, got {len(env.tasks())} and {capacity!r}"
            )
        self._env = env
        self._capacity = capacity
        self._make_token = make_token or _random_token
        self._episodes: OrderedDict[str, WebEpisode] = OrderedDict()  # the one left alone longest first
        self._dropped: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._episodes)

    def open(self, task_id: str | None, seed: int | None = None) -> str:
        """Start an episode and return its token; without a task, of one that the seed picks.

        Raises:
            NoTaskError: there is no such task.
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
        """Return an episode, which counts as using it.

        Raises:
            NoEpisodeError: there is none, or none any more.
        """
        if token not in self._episodes:
            raise NoEpisodeError(token in self._dropped, self._capacity)
        self._episodes.move_to_end(token)
        return self._episodes[token]

    def reset(self, token: str, task_id: str | None, seed: int | None = None) -> WebEpisode:
        """Start anew under the same token.

        Raises:
            NoEpisodeError: there is no such episode.
            NoTaskError: there is no such task; the episode goes on as it was.
        """
        self.find(token)
        self._episodes[token] = self._start(task_id, seed)
        return self._episodes[token]

    def act(self, token: str, action: str, mark: str | None = None) -> WebEpisode:
        """Give the environment an action, unless the episode is over or not where whoever chose it believes it to be.

        Args:
            token: of the episode.
            action: such as ``click[buy now]``.
            mark: of the page on which it was chosen; None: any.

        Raises:
            NoEpisodeError: there is no such episode.
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
        if env.session is episode.state:  # the environment makes a new state for whatever it understands
            notice = NO_SEARCH if action.startswith("search") else NO_CLICK
        return WebEpisode(
            observation=observation, info=info, turn=env.turn, state=env.session, page=tuple(env.page),
            snapshot=env.snapshot(), reward=reward, terminated=terminated, truncated=truncated, action=action,
            notice=notice,
        )  # fmt: skip


def _random_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)
