"""Records that cross folders: frozen tasks, tools, turns and episodes.

They store each fact once; derived values are properties. They hold no tensors (see `trainer.learner.batch`) and no
objects that could run a model's or an environment's code.

Worked example, an episode of two turns whose second prompt extends the first::

    turn 0   prompt_ids = [intro ... ]           reply_ids = [go, to, desk, 1, end]     extends_previous = False
    turn 1   prompt_ids = [On, the, desk, ...]   reply_ids = [take, pen, 1, ..., end]   extends_previous = True

The token sequence that the policy saw is the concatenation of all four arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float32]

TESTS = "test/"  # prefix of channels with one hidden test each: 1 if it passed, else 0
TAMPERING = "tampering/"  # prefix of channels that count signs of tampering with the scorer
Box = tuple[int, int, int, int]  # x, y, width, height in pixels
Origin = Literal["policy", "expert", "replay", "spliced", "forced"]
Cause = Literal["turns", "tokens", "time", "invalid", "environment", "sandbox", "model", "reward", "agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task in one environment."""

    env_id: str  # registered id, e.g. "household"
    task_id: str  # unique within the environment
    split: str = ""  # the benchmark's split that it belongs to
    seed: int = 0  # argument of `reset(seed=)`


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The agent's input at one turn."""

    text: str
    anchor: int  # 64-bit key of the true state, scoped to the task
    admissible: tuple[str, ...] | None = None  # every action that has an effect; None: not declared by the environment
    image: bytes | None = None  # PNG
    tools: tuple[Mapping[str, Any], ...] = ()  # JSON schemas
    max_calls: int = 1  # tool calls that one reply may make
    takes_text: bool = False  # with tools: a text without a call is also an action, such as a final answer
    results: tuple[str, ...] = ()  # of the last step's tool calls, if it was a list of calls; `text` includes them


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """The token ids that each of P tokens was chosen from, ragged.

    The choices at position i are ``ids[offsets[i]:offsets[i + 1]]``, and include the token itself. A position with one
    choice was forced: its logprob is 0 and it has no gradient. A position without choices was free: any id was allowed.
    """

    ids: IntArray  # [sum of choices]
    offsets: IntArray  # [P + 1], starts at 0

    def __post_init__(self) -> None:
        if self.offsets.ndim != 1 or len(self.offsets) < 1 or self.offsets[0] != 0 or self.offsets[-1] != len(self.ids):
            raise ValueError(f"Constraint offsets must run from 0 to {len(self.ids)}, got {self.offsets!r}")

    @classmethod
    def free(cls, length: int) -> Constraint:
        """Return the constraint of `length` free positions."""
        return cls(ids=np.empty(0, np.int32), offsets=np.zeros(length + 1, np.int32))

    @classmethod
    def concatenate(cls, parts: Sequence[Constraint]) -> Constraint:
        """Return the constraint of all positions of `parts`, in this order."""
        sizes = np.concatenate([np.zeros(1, np.int32), *(part.sizes for part in parts)])
        ids = np.concatenate([np.empty(0, np.int32), *(part.ids for part in parts)])
        return cls(ids=ids, offsets=np.cumsum(sizes, dtype=np.int32))

    @property
    def sizes(self) -> IntArray:
        """[P] The number of choices at each position; 0 if it was free."""
        return np.diff(self.offsets)

    def split(self) -> list[IntArray]:
        """Return the choices at each position."""
        return [self.ids[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def where(self, chosen: npt.NDArray[np.bool_]) -> Constraint:
        """Return the constraint of the chosen positions; `chosen`: [P]."""
        offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(self.sizes[chosen], dtype=np.int32)])
        return Constraint(ids=self.ids[np.repeat(chosen, self.sizes)], offsets=offsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Token counts and cost of one reply."""

    prompt: int  # prompt tokens, including cached ones
    cached: int = 0  # prompt tokens that were read from the cache
    reply: int = 0
    cost: float | None = None  # None: no prices are known


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A text that the policy wrote for itself before its reply.

    It is not an action and never trained on.
    """

    kind: Literal["summary"]  # a summary of turns that left the context
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One exchange: the observation, the policy's reply, and the environment's response to it."""

    observation: Observation
    reply_text: str
    action: str  # as sent to the environment
    reward: float  # reward of this turn
    is_valid: bool = True  # the reply had the format that the agent requires
    channels: Mapping[str, float] = field(default_factory=dict)  # named numbers: parts of the reward, tests passed, ...
    prompt_ids: IntArray | None = None  # [P] ids before the reply that are not in an earlier turn of the sequence
    extends_previous: bool = False  # this turn's sequence begins with the previous turn's prompt and reply
    reply_ids: IntArray | None = None  # [R] sampled ids, never re-tokenised
    reply_logprobs: FloatArray | None = None  # [R] under the sampling distribution
    constraint: Constraint | None = None  # None: the whole vocabulary was allowed
    tokens: Tokens | None = None  # as counted and priced by a server; None: count the ids, or unknown
    policy_version: int | None = None  # number of optimiser updates of the sampling weights
    seconds: float | None = None  # wall time of the environment's step
    acted: Box | None = None  # box in the observation's image that the action acted on; None: none, or not known
    notes: tuple[Note, ...] = ()  # written between the observation and the reply, oldest first

    def __post_init__(self) -> None:
        if self.reply_ids is None:
            return
        n = len(self.reply_ids)
        if self.reply_logprobs is not None and len(self.reply_logprobs) != n:
            raise ValueError(f"Turn has {n} reply ids but {len(self.reply_logprobs)} logprobs")
        if self.constraint is not None and len(self.constraint.offsets) != n + 1:
            raise ValueError(
                f"Turn has {n} reply ids but a constraint over {len(self.constraint.offsets) - 1} positions"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an episode ended: the task was over, a budget ran out, or the infrastructure failed."""

    kind: Literal["terminated", "truncated", "failed"]
    cause: Cause | None = None  # None exactly when terminated
    detail: str = ""  # for people; empty unless a failure or an agent error

    @classmethod
    def terminated(cls) -> Ending:
        """Return the ending of an episode that the environment declared over."""
        return cls(kind="terminated")

    @classmethod
    def truncated(cls, cause: Literal["turns", "tokens", "time", "invalid"]) -> Ending:
        """Return the ending of an episode whose budget ran out.

        Args:
            cause: the budget: turns, tokens, time, or invalid replies in a row.
        """
        return cls(kind="truncated", cause=cause)

    @classmethod
    def agent_error(cls, detail: str) -> Ending:
        """Return the ending of an episode whose agent code raised or timed out.

        The episode is scored as is.
        """
        return cls(kind="truncated", cause="agent", detail=detail[:2000])

    @classmethod
    def failed(cls, cause: Literal["environment", "sandbox", "model", "reward"], detail: str) -> Ending:
        """Return the ending of an infrastructure failure.

        The episode is neither trained on nor scored.
        """
        return cls(kind="failed", cause=cause, detail=detail[:2000])


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One attempt at one task."""

    task: Task
    group_id: int  # episodes with the same group id are compared with each other
    turns: tuple[Turn, ...]
    ending: Ending
    score: float | None  # in the environment's reward range; None: unscorable (failed)
    success: bool | None  # None: unscorable (failed)
    final: Observation | None = None  # observation after the last step; None if the episode failed
    origin: Origin = "policy"
    parent: str | None = None  # id of the episode that this one was forked from
    fork_turn: int | None = None

    def __post_init__(self) -> None:
        if (self.ending.kind == "failed") != (self.score is None or self.success is None):
            raise ValueError(
                f"A failed episode has no score and no success, others have both; got {self.ending}, "
                f"score={self.score!r}, success={self.success!r} for task {self.task.task_id!r}"
            )

    @property
    def total_reward(self) -> float:
        """Undiscounted sum of the turns' rewards."""
        return sum(turn.reward for turn in self.turns)

    @property
    def is_failed(self) -> bool:
        """Whether an infrastructure failure ended it."""
        return self.ending.kind == "failed"


Schema = Mapping[str, Any]  # Any: JSON


def function_schema(name: str, description: str, properties: Schema, required: Sequence[str]) -> Schema:
    """Return an OpenAI function schema that accepts exactly these arguments."""
    parameters = {
        "type": "object",
        "properties": deepcopy(dict(properties)),
        "required": list(required),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
