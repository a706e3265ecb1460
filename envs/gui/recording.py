"""Episodes on web pages, recorded to be played again without a browser; `recording_file` keeps them.

Turns whose action was no call changed nothing and are left out: an episode is what was shown and done otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cairn.core.records import Ending, Episode, Observation
from cairn.envs.gui.actions import GuiCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """What an action was about."""

    bid: str
    role: str
    name: str
    box: tuple[int, int, int, int]  # x, y, width, height in pixels of the window, before the action

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies in its box."""
        left, top, width, height = self.box
        return left <= x < left + width and top <= y < top + height


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenAction:
    """What an action was."""

    call: GuiCall
    element: Element | None  # by number, or the innermost one at the point; None: about none


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What was shown, and what was done then."""

    shown: Observation  # without tools, which follow from the recording's functions
    taken: TakenAction
    reward: float  # the environment's


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEpisode:
    """One attempt at a task, from its beginning to its end."""

    task_id: str
    task_type: str
    seed: int  # what `reset(seed=)` got
    goal: str
    moves: tuple[Move, ...]  # at least one
    final: Observation  # what the last one led to
    ending: Ending  # no failure
    score: float  # as the environment had it
    success: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Episodes of one environment."""

    env_id: str
    env_version: int
    settings: Mapping[str, Any]  # Any: of the environment's Config, JSON
    functions: tuple[str, ...]  # that could be called
    episodes: tuple[RecordedEpisode, ...]


def recorded(
    episode: Episode, taken: Sequence[TakenAction | None], goal: str, task_type: str
) -> RecordedEpisode | None:
    """Return the record of an episode; `taken`: what each turn's action was, None: no call. None: nothing was done.

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
