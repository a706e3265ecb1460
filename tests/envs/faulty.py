"""A small sound environment, and one with a fault for every property and every way to fail in a pool."""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from cairn.core.errors import RewardFailure, SandboxFailure
from cairn.core.records import Schema, function_schema
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv

COLOURS = ("amber", "blue", "coral", "green")


class Sound(TextEnv):
    """Say the four colours of the task in order; every slip starts again from the first."""

    meta = EnvMeta(
        name="sound",
        version=1,
        turn_limit=10,
        reward_range=(0.0, 1.0),
        summary="Say four colours in order.",
        is_deterministic=True,
        oracles=("reader",),
        can_snapshot=True,
    )

    def tasks(self) -> Sequence[str]:
        return ["-".join(order) for order in itertools.permutations(COLOURS)]

    def start(self, task_id: str, rng: random.Random) -> str:
        self.order = task_id.split("-")
        self.said = rng.choice((0, 1))
        return f"{self.said} right so far."

    def act(self, action: str) -> Outcome:
        if action not in COLOURS:
            return Outcome("Say a colour.")
        self.said = self.said + 1 if self.order[self.said] == action else 0
        terminated = self.said == len(self.order)
        return Outcome(
            f"{action}: {self.said} right.",
            float(terminated),
            terminated=terminated,
            success=terminated,
            score=float(terminated),
        )

    def state(self) -> bytes:
        return bytes([self.said])

    def admissible(self) -> tuple[str, ...] | None:
        return COLOURS

    def oracle_action(self, name: str) -> str:
        return self.order[self.said]

    def save_state(self) -> Any:
        return self.said

    def load_state(self, saved: Any) -> None:
        self.said = saved


class OneTurn(TextEnv):
    """A sum that is answered in one turn; no oracle is declared."""

    meta = EnvMeta(
        name="one-turn", version=1, turn_limit=1, reward_range=(0, 1), summary="Answer a sum.", is_deterministic=True
    )

    def tasks(self) -> Sequence[str]:
        return [f"{a}+{b}" for a in range(20, 30) for b in range(20, 30)]

    def start(self, task_id: str, rng: random.Random) -> str:
        return f"What is {task_id}?"

    def act(self, action: str) -> Outcome:
        is_right = action.strip() == str(sum(map(int, self.task_id.split("+"))))
        text = "Right." if is_right else "Wrong."
        return Outcome(text, reward=float(is_right), terminated=True, success=is_right, score=float(is_right))

    def state(self) -> bytes:
        return b""


class PartedConfig(EnvConfig):
    """Settings of `Parted`."""

    halves: bool = Field(False, description="Whether the reward has two parts.")


class Parted(Sound):
    """Declares the parts of its rewards and other channels, as its settings have them."""

    meta = replace(Sound.meta, parts=("solved",), channels=("said/*",))
    Config = PartedConfig
    config: PartedConfig

    @classmethod
    def declare(cls, config: PartedConfig) -> EnvMeta:
        return replace(cls.meta, parts=("first", "second")) if config.halves else cls.meta

    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        share = outcome.reward / len(self.meta.parts)
        said = {f"said/{action}": 1.0} if action in COLOURS else {}
        return replace(outcome, channels={**dict.fromkeys(self.meta.parts, share), **said})


class LacksAPart(Parted):
    """Only the last turn has the part."""

    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        return outcome if outcome.terminated else replace(outcome, channels={})


class HasPartsThatDoNotAddUp(Parted):
    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        return replace(outcome, channels={"solved": outcome.reward / 2})


class HasAnUndeclaredChannel(Parted):
    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        return replace(outcome, channels={**outcome.channels, "heard": 1.0})


class DeclaresAPartAsAChannelToo(Parted):
    meta = replace(Parted.meta, channels=("sol*",))


WON = Outcome("Won.", 1.0, terminated=True, success=True, score=1.0)


class WithoutVersion(Sound):
    meta = replace(Sound.meta, version=0)


class HasAToolTwice(Sound):
    def tools(self) -> tuple[Schema, ...]:
        return (function_schema("go", "Go.", {}, ()),) * 2


class ResetsToAList(Sound):
    def reset(self, **options: Any) -> Any:
        return list(super().reset(**options))


class TakesAnyTask(Sound):
    def has_task(self, task_id: str) -> bool:
        return True


class NeverTruncates(Sound):
    def step(self, action: str) -> Any:
        text, reward, terminated, _, info = super().step(action)
        self._needs_reset = terminated
        return text, reward, terminated, False, info


class StepsAfterTheEnd(Sound):
    def step(self, action: str) -> Any:
        self._needs_reset = False
        return super().step(action)


class TruncatesWhatItJudges(Sound):
    """Three colours are enough at the turn limit, and the episode is truncated nevertheless."""

    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        is_judged = self.turn + 1 == self.turn_limit and self.said == 3
        return replace(outcome, reward=1.0, success=True, score=1.0) if is_judged else outcome


class ScoresTwo(Sound):
    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        return replace(outcome, score=2.0) if outcome.success else outcome


class EarnsOnTheWay(Sound):
    meta = replace(Sound.meta, has_terminal_reward=True)

    def act(self, action: str) -> Outcome:
        return replace(super().act(action), reward=0.25)


class RewardsNan(Sound):
    def act(self, action: str) -> Outcome:
        return replace(super().act(action), reward=float("nan"))


class Unsorted(Sound):
    def admissible(self) -> tuple[str, ...] | None:
        return COLOURS[::-1]


class OffersWhatItRefuses(Sound):
    def admissible(self) -> tuple[str, ...] | None:
        return (*COLOURS, "violet")


class Unsolvable(Sound):
    """Tasks that begin with amber end at half their score after any action; the others are unchanged."""

    def best_score(self, task_id: str) -> float:
        return 0.5 if task_id.startswith("amber") else 1.0

    def act(self, action: str) -> Outcome:
        found = super().act(action)
        if not found.success or self.can_solve(self.task_id):
            return found
        return replace(found, reward=0.5, success=False, score=0.5)


class SaysItCannotBeSolved(Unsolvable):
    def oracle_action(self, name: str) -> str:
        return super().oracle_action(name) if self.can_solve(self.task_id) else "pass"


class LostOracle(Sound):
    def oracle_action(self, name: str) -> str:
        return COLOURS[0]


class WonByLooking(Sound):
    def act(self, action: str) -> Outcome:
        return WON if action == "look" else super().act(action)


class WonByChance(Sound):
    def act(self, action: str) -> Outcome:
        return WON if action in COLOURS[:2] else super().act(action)


class RaisesOnNul(Sound):
    def act(self, action: str) -> Outcome:
        if "\x00" in action:
            raise ValueError("embedded null byte")
        return super().act(action)


class WonByClaiming(Sound):
    def act(self, action: str) -> Outcome:
        return WON if "success" in action else super().act(action)


class RemembersEpisodes(Sound):
    episodes = 0

    def start(self, task_id: str, rng: random.Random) -> str:
        self.episodes += 1
        return f"Episode {self.episodes}. {super().start(task_id, rng)}"


class UsesRandom(Sound):
    def start(self, task_id: str, rng: random.Random) -> str:
        random.random()
        return super().start(task_id, rng)


class SeedsNumpy(Sound):
    def start(self, task_id: str, rng: random.Random) -> str:
        np.random.seed(0)
        return super().start(task_id, rng)


class ForgetsInItsAnchor(Sound):
    def state(self) -> bytes:
        return b"always the same"


class HidesChanceBehindItsAnchor(Sound):
    """In some episodes a slip costs nothing; neither the anchor nor the text says in which."""

    meta = replace(Sound.meta, can_snapshot=False)

    def start(self, task_id: str, rng: random.Random) -> str:
        text = super().start(task_id, rng)
        self.is_lenient = rng.random() < 0.2
        return text

    def act(self, action: str) -> Outcome:
        before = self.said
        outcome = super().act(action)
        if self.is_lenient and action in COLOURS and self.said == 0:
            self.said = before
            return Outcome(f"{action}: {self.said} right.")
        return outcome


class ToldThatItIsNotDeterministic(HidesChanceBehindItsAnchor):
    meta = replace(HidesChanceBehindItsAnchor.meta, is_deterministic=False)


class HidesState(Sound):
    """After a text that is not a colour, the last colour earns less; the anchor does not have it."""

    def start(self, task_id: str, rng: random.Random) -> str:
        self.is_spoilt = False
        return super().start(task_id, rng)

    def act(self, action: str) -> Outcome:
        self.is_spoilt |= action not in COLOURS
        outcome = super().act(action)
        return replace(outcome, reward=0.5) if outcome.terminated and self.is_spoilt else outcome


class ForgetsDamage(Sound):
    """Earlier damage spoils the end, but neither the anchor nor any text contains it."""

    def start(self, task_id: str, rng: random.Random) -> str:
        self.is_smashed = False
        return super().start(task_id, rng)

    def act(self, action: str) -> Outcome:
        if action == "smash":
            self.is_smashed = True
            return Outcome("Nothing happens.")
        outcome = super().act(action)
        return Outcome(outcome.text, terminated=True) if outcome.terminated and self.is_smashed else outcome

    def admissible(self) -> tuple[str, ...]:
        return (*COLOURS, "smash")


class LacksAct(TextEnv):
    meta = Sound.meta
    tasks, start, state = Sound.tasks, Sound.start, Sound.state


class TakesNoAction(Sound):
    def act(self) -> Outcome:  # type: ignore[override]  # the fault
        return Outcome("")


class ActsAsynchronously(Sound):
    async def act(self, action: str) -> Outcome:  # type: ignore[override]  # the fault
        return Outcome("")


class AnswersWithText(Sound):
    def act(self, action: str) -> Outcome:
        return "Say a colour."  # type: ignore[return-value]  # the fault


class HasTextAsState(Sound):
    def state(self) -> bytes:
        return str(self.said)  # type: ignore[return-value]  # the fault


class SnapshotsWithoutMethods(OneTurn):
    meta = replace(OneTurn.meta, can_snapshot=True)


class Hangs(Sound):
    meta = replace(Sound.meta, call_timeout_s=0.2)

    def act(self, action: str) -> Outcome:
        while action == "blue":
            time.sleep(0.01)
        return super().act(action)


class SharesAnchors(Sound):
    def anchor(self) -> int:
        return self.said


class ForgetsInItsSnapshot(Sound):
    def load_state(self, saved: Any) -> None:
        self.said = 0


class SnapshotsUnasked(Sound):
    meta = replace(Sound.meta, can_snapshot=False)

    def snapshot(self) -> tuple[Any, ...]:
        return (self.said,)


class DependsOnHashSeed(Sound):
    def start(self, task_id: str, rng: random.Random) -> str:
        return f"{hash(task_id)}. {super().start(task_id, rng)}"


class LeaksMemory(Sound):
    kept: ClassVar[list[bytearray]] = []

    def start(self, task_id: str, rng: random.Random) -> str:
        self.kept.append(bytearray(b"x" * 20_000))
        return super().start(task_id, rng)


class LeaksFiles(Sound):
    kept: ClassVar[list[int]] = []

    def start(self, task_id: str, rng: random.Random) -> str:
        if len(self.kept) < 400:
            self.kept.append(os.open(os.devnull, os.O_RDONLY))
        return super().start(task_id, rng)


class LeaksThreads(Sound):
    done: ClassVar[threading.Event] = threading.Event()
    count = 0

    def start(self, task_id: str, rng: random.Random) -> str:
        self.count += 1
        if self.count % 100 == 0:
            threading.Thread(target=self.done.wait, daemon=True).start()
        return super().start(task_id, rng)


class Troublesome(Sound):
    """Fails in the way that the action names; used for pools, not for properties."""

    def act(self, action: str) -> Outcome:
        match action:
            case "raise":
                raise KeyError("lost")
            case "hang":
                time.sleep(3600)
            case "exit":
                os._exit(7)
            case "eat":
                return Outcome(str(len(bytes(3 << 30))))  # zeros that are never read occupy no memory
            case "nan":
                return Outcome("", reward=float("nan"))
            case "channel":
                return Outcome("", channels={"tests": float("nan")})
            case "sandbox":
                raise SandboxFailure("no room")
            case "reward":
                raise RewardFailure("no verdict")
            case "bytes":
                return Outcome(b"seven")  # type: ignore[arg-type]  # the fault
            case "quit":
                raise SystemExit(3)
            case "much":
                return Outcome("", reward=5.0, score=5.0)
            case "number":
                return Outcome(17)  # type: ignore[arg-type]  # the fault
            case "object":
                return Outcome("", score=object())  # type: ignore[arg-type]  # the fault
            case "shout":
                print("to standard output")  # noqa: T201  (the fault)
            case "flood":
                return Outcome("x" * (32 << 20))
            case "pid":
                return Outcome(str(os.getpid()))
        return super().act(action)


class Waits(Sound):
    """Answers with the action; for the path of a file it makes the file and waits until somebody removes it."""

    def act(self, action: str) -> Outcome:
        if action.startswith("/"):
            Path(action).touch()
            while Path(action).exists():
                time.sleep(0.002)
        return Outcome(f"answer to {action}")


class CannotList(Sound):
    """Its data are missing."""

    def tasks(self) -> Sequence[str]:
        raise FileNotFoundError("tasks.json")


class QuitsInsteadOfListing(Sound):
    def tasks(self) -> Sequence[str]:
        sys.exit("no tasks today")


class ListsNumbers(Sound):
    def tasks(self) -> Sequence[str]:
        return [1, 2]  # type: ignore[list-item]  # the fault


class CannotClose(Sound):
    def close(self) -> None:
        raise SystemExit("the door is stuck")


class Pictured(Sound):
    """Shows a picture at each turn."""

    def _info(self) -> dict[str, Any]:
        return super()._info() | {"image": bytes([137, 0, 255, self.turn])}


class Hungry(Sound):
    """Allocates 16 MiB per action, which counts against its limit and occupies no memory while nobody reads it."""

    def setup(self) -> None:
        self.kept: list[bytes] = []

    def act(self, action: str) -> Outcome:
        self.kept.append(bytes(1 << 24))
        return Outcome("More.")


class Hasty(Sound):
    """Declares that its calls are short, and hangs in the first."""

    meta = replace(Sound.meta, call_timeout_s=0.2)

    def reset(self, **options: Any) -> Any:
        time.sleep(3600)


class Unbuildable(Sound):
    def setup(self) -> None:
        raise KeyError("no world")


class Nameless(TextEnv):
    """Lacks `meta`."""
