"""Recorded episodes on web pages, to be replayed without a browser.

`recording_file` stores them. Turns with an invalid action changed nothing and are left out: an episode consists of the
other observations and actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cairn.core.records import Ending, Episode, Observation
from cairn.envs.gui.actions import GuiCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """The element of an action."""

    bid: str
    role: str
    name: str
    box: tuple[int, int, int, int]  # x, y, width, height in pixels of the window, before the action

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point is in the element's box."""
        left, top, width, height = self.box
        return left <= x < left + width and top <= y < top + height


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenAction:
    """A recorded action: its call and its element."""

    call: GuiCall
    element: Element | None  # by number, or the innermost one at the point; None: no element


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An observation, and the action that followed."""

    shown: Observation  # without tools, which are determined by the recording's functions
    taken: TakenAction
    reward: float  # the environment's


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEpisode:
    """One attempt at a task, from its beginning to its end."""

    task_id: str
    task_type: str
    seed: int  # argument of `reset(seed=)`
    goal: str
    moves: tuple[Move, ...]  # at least one
    final: Observation  # observation after the last action
    ending: Ending  # never a failure
    score: float  # the environment's score
    success: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Episodes of one environment."""

    env_id: str
    env_version: int
    settings: Mapping[str, Any]  # Any: JSON of the environment's Config
    functions: tuple[str, ...]  # callable functions
    episodes: tuple[RecordedEpisode, ...]


def recorded(
    episode: Episode, taken: Sequence[TakenAction | None], goal: str, task_type: str
) -> RecordedEpisode | None:
    """Return the record of an episode; None if it has no valid action.

    `taken`: each turn's action; None for an invalid one.

    Raises:
        ValueError: the episode failed.
    """
    if episode.final is None or episode.score is None or episode.success is None:
        raise ValueError(f"Expected an episode that did not fail, got {episode.ending}")
    moves: list[Move] = []
    shown: Observation | None = None
    for turn, each in zip(episode.turns, taken, strict=True):
        shown = shown or turn.observation
        if each is not None:
            moves.append(Move(shown=_bare(shown), taken=each, reward=turn.reward))
            shown = None
    if not moves:
        return None
    return RecordedEpisode(
        task_id=episode.task.task_id,
        task_type=task_type,
        seed=episode.task.seed,
        goal=goal,
        moves=tuple(moves),
        final=_bare(episode.final),
        ending=episode.ending,
        score=episode.score,
        success=episode.success,
    )


def _bare(observation: Observation) -> Observation:
    return replace(observation, tools=())
