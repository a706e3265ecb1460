"""Replays recorded episodes on web pages without a browser: UI-S1's semi-online replay.

The expected actions are the recorded ones. An action that matches the recorded call leads to the next recorded
observation. Any other call is a divergence. While `patches` are left, the recorded call replaces it, and the
observation says so; otherwise the episode ends. An invalid action returns an error, as in a browser, and changes
nothing.

::

    step reward = 0.1 format + 0.9 action
    format: 1 for a call, else 0
    action: 1 for a match, 0.5 for the right function alone, 0.1 for another call, 0 for an invalid action

The reward of a turn is the step reward. With `rewards = "recorded"` it is the recorded environment's reward before the
first patch, and 0 afterwards. The parts of the reward are `format_reward` and `action_reward`, the two terms of the
sum, or `recorded_reward`. Other channels: format, function, element and text (1 if equal to the recorded call's, 0 for
a call of another function), match, patched, and step, the number of the recorded call. The score is the share of
matched recorded calls: the progress of UI-S1's offline metric with `patches = 0`. Success: all calls matched.

The anchor is the recorded one before the first patch, so that replays and the recorded environment share states. After
a patch, and if a recording returns to an anchor, it is a key of the episode, the step and the number of patches.

Source: 2509.11543 and X-PLUG/MobileAgent, `UI-S1`; the weights are those of its code. Departures: the history keeps the
model's own action, with a text that names its replacement, and no thought is invented for it; an invalid action is not
patched and takes a turn; a number, or a point in the element's box, identifies an element. The recorded way is one of
many: other ways to the goal count as divergences.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from cairn.core.errors import CairnError, MissingDataError
from cairn.core.keys import signed
from cairn.core.records import Observation, Schema
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.gui.actions import GuiActionError, parse, schemas, written
from cairn.envs.gui.commands import RephrasableFunctions
from cairn.envs.gui.matching import Likeness, Match, likeness
from cairn.envs.gui.recording import RecordedEpisode
from cairn.envs.gui.recording_file import read
from cairn.envs.paraphrase import framed

SHIPPED = Path(__file__).parents[1] / "recordings" / "mail.jsonl.gz"  # made by cairn envs record; see docs/envs/gui.md

_GOAL, _AFTER_GOAL = "Goal: ", "\n\nActions, one a turn, "  # around the instruction in a recorded episode's first text


class ReplayConfig(EnvConfig):
    """Configuration of a replay: the recording, and the strictness of the comparison."""

    path: str | None = Field(None, description="Of a recording; None: a small one of the mail that comes along.")
    patches: int = Field(
        2, ge=-1, description="Divergences of an episode in whose place the recorded call is taken; -1: all of them."
    )
    match: Match = Field("exact", description="tolerant: texts are equal up to case and spaces, scrolls by direction.")
    rewards: Literal["steps", "recorded"] = Field(
        "steps", description="The reward of a turn: UI-S1's step reward, or the recorded reward."
    )


class ReplayEnv(RephrasableFunctions, TextEnv):
    """Follow a recording."""

    meta = EnvMeta(
        name="gui/replay",
        version=2,
        turn_limit=100,
        reward_range=(0.0, 1.0),
        summary="Recorded episodes on web pages, replayed without a browser; divergences are patched (UI-S1).",
        is_deterministic=True,
        oracles=("recorded",),
        can_snapshot=True,
        can_reword=True,
        parts=("format_reward", "action_reward"),
        channels=("format", "function", "element", "text", "match", "patched", "step"),
    )
    Config: ClassVar[type[EnvConfig]] = ReplayConfig
    config: ReplayConfig

    @classmethod
    def declare(cls, config: ReplayConfig) -> EnvMeta:
        """Return the declarations; the reward's parts depend on `rewards`."""
        return cls.meta if config.rewards == "steps" else replace(cls.meta, parts=("recorded_reward",))

    def setup(self) -> None:
        """Read the recording.

        Raises:
            MissingDataError: the file does not exist.
            CairnError: the file is not a recording, or an episode is longer than the turn limit.
        """
        file = Path(self.config.path).expanduser() if self.config.path else SHIPPED
        self._tracks, self._functions = _load(file)
        longest = max(len(track.episode.moves) for track in self._tracks.values())
        if longest > self.meta.turn_limit and self.config.turn_limit is None:
            raise CairnError(f"{file}: an episode has {longest} turns; set turn_limit to as many or more")

    def tasks(self) -> Sequence[str]:
        """Return the recorded tasks in order; further episodes of a task are TASK#2, TASK#3."""
        return tuple(self._tracks)

    def task_type(self, task_id: str) -> str:
        """Return the recorded task type."""
        return self._tracks[task_id].episode.task_type

    def start(self, task_id: str, rng: random.Random) -> str:
        """Show the first recorded observation."""
        self._track = self._tracks[task_id]
        self._at, self._num_patched, self._is_lost = 0, 0, False
        head, end, rest = self._shown().text.partition(_AFTER_GOAL)
        own = head.removeprefix(_GOAL)
        instruction = self.phrase_instruction(task_id, own, lambda: framed(own) if end and head != own else ())
        return self._shown().text if instruction == own else f"{_GOAL}{instruction}{end}{rest}"

    def act(self, action: str) -> Outcome:
        """Compare an action with the recorded one, and continue if it matches or is patched."""
        if len(action) > self.meta.max_action_chars:
            return self._mistaken(f"An action may have {self.meta.max_action_chars} characters.")
        call = parse(action, self._functions)
        if isinstance(call, GuiActionError):
            return self._mistaken(call.text)
        move = self._track.episode.moves[self._at]
        like = likeness(call, move.taken, self.config.match)
        if like.matches:
            return self._go_on(like, "", 0.0 if self._num_patched else move.reward)
        if 0 <= self.config.patches <= self._num_patched:
            self._is_lost = True
            return self._outcome("The episode is over: the recording goes on otherwise.", like, self._at, 0.0)
        self._num_patched += 1
        return self._go_on(like, f"In place of this, the recorded action was taken: {written(move.taken.call)}\n", 0.0)

    def state(self) -> bytes:
        """Return the episode, the step in it, and the number of patches."""
        return json.dumps([self.task_id, self._at, self._num_patched, self._is_lost]).encode()

    def anchor(self) -> int:
        """Return the recorded anchor if it identifies the state; see the module's docstring."""
        recorded = self._track.anchors[self._at]
        return super().anchor() if recorded is None or self._num_patched or self._is_lost else signed(recorded)

    def admissible(self) -> tuple[str, ...] | None:
        """Return the recorded admissible actions."""
        return () if self._has_ended else self._shown().admissible

    def tools(self) -> tuple[Schema, ...]:
        """Return the recorded functions' schemas."""
        return schemas(self._functions)

    def oracle_action(self, name: str) -> str:
        """Return the recorded call."""
        moves = self._track.episode.moves
        return written(moves[min(self._at, len(moves) - 1)].taken.call)

    def save_state(self) -> tuple[int, int, bool]:
        """Return the current position."""
        return self._at, self._num_patched, self._is_lost

    def load_state(self, saved: tuple[int, int, bool]) -> None:
        """Restore a position."""
        self._at, self._num_patched, self._is_lost = saved

    # -- helpers -----------------------------------------------------------------------------------------------------

    @property
    def _has_ended(self) -> bool:
        return self._is_lost or self._at == len(self._track.episode.moves)

    def _shown(self) -> Observation:
        episode = self._track.episode
        return episode.moves[self._at].shown if self._at < len(episode.moves) else episode.final

    def _mistaken(self, problem: str) -> Outcome:
        channels = dict.fromkeys((*self.meta.parts, *self.meta.channels), 0.0)
        return Outcome(
            f"Error: {problem}\n{_page(self._shown().text)}",
            score=self._score(),
            channels={**channels, "step": float(self._at)},
        )

    def _go_on(self, like: Likeness, remark: str, recorded: float) -> Outcome:
        self._at += 1
        return self._outcome(f"{remark}{self._shown().text}", like, self._at - 1, recorded)

    def _outcome(self, text: str, like: Likeness, step: int, recorded: float) -> Outcome:
        same = {"function": like.function, "element": like.element, "text": like.text, "match": like.matches}
        channels = {"format": 1.0, **{name: float(is_same) for name, is_same in same.items()}}
        parts = self._parts(like, recorded)
        return Outcome(
            text,
            sum(parts.values()),
            terminated=self._has_ended,
            success=self._has_ended and not self._is_lost and not self._num_patched,
            score=self._score(),
            channels={**parts, **channels, "patched": float(self._at > step and not like.matches), "step": float(step)},
        )

    def _parts(self, like: Likeness, recorded: float) -> dict[str, float]:
        """Return the parts of a call's reward."""
        if self.config.rewards == "recorded":
            return {"recorded_reward": recorded}
        action = 1.0 if like.matches else 0.5 if like.function else 0.1
        return {"format_reward": 0.1, "action_reward": 0.9 * action}

    def _score(self) -> float:
        return (self._at - self._num_patched) / len(self._track.episode.moves)

    def _info(self) -> dict[str, Any]:
        info, image = super()._info(), self._shown().image
        return info if image is None else {**info, "image": image}


@dataclass(frozen=True, slots=True)
class _Track:
    """An episode, and the states that are identified by their recorded anchors."""

    episode: RecordedEpisode
    anchors: tuple[int | None, ...]  # of each move and the end; None: the anchor occurred before


def _load(file: Path) -> tuple[dict[str, _Track], tuple[str, ...]]:
    try:
        found = file.stat()
    except OSError:
        raise MissingDataError(
            f"There is no recording {str(file)!r}; make one: cairn envs record ENV --out FILE"
        ) from None
    return _tracks(file, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4)
def _tracks(file: Path, changed_ns: int, num_bytes: int) -> tuple[dict[str, _Track], tuple[str, ...]]:
    """Return the episodes by task id, and the functions; cached per process."""
    recording = read(file)
    tracks: dict[str, _Track] = {}
    seen: set[int] = set()
    for episode in recording.episodes:
        anchors: list[int | None] = []
        for shown in (*(move.shown for move in episode.moves), episode.final):
            anchors.append(None if shown.anchor in seen else shown.anchor)
            seen.add(shown.anchor)
        tracks[_free_name(episode.task_id, tracks)] = _Track(episode, tuple(anchors))
    return tracks, recording.functions


def _free_name(task_id: str, taken: dict[str, _Track]) -> str:
    count, name = 1, task_id
    while name in taken:
        count += 1
        name = f"{task_id}#{count}"
    return name


def _page(text: str) -> str:
    """Return the part of a text that describes the page: without goal, errors and notices."""
    lines = text.split("\n")
    at = max((at for at, line in enumerate(lines) if line.startswith('Page "')), default=0)
    while at and lines[at - 1].startswith("Tab "):
        at -= 1
    return "\n".join(lines[at:])


ENV = ReplayEnv
