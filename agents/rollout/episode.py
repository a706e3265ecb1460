"""Runs one episode: builds each request for the back end and records each environment step.

A runner never blocks and has no clock. `agents.rollout.engine` sends its requests to the back end and its actions to
the environment, and passes the results back to the runner.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cairn.agents.backend import Reply, Request, TurnContext
from cairn.agents.context.base import Context, Prompt, TakesNotes
from cairn.agents.forms.base import Parsed
from cairn.agents.rollout.play import observe
from cairn.core.errors import EnvironmentFailure, EpisodeFailure
from cairn.core.records import Ending, Episode, IntArray, Note, Observation, Task, Turn

Answer = tuple[str, float, bool, bool, dict[str, Any]]  # result of `Environment.step`


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One episode to play."""

    task: Task
    group_id: int
    sample_seed: int  # seed for sampling its tokens
    member: int = 0  # its index in the group


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInterface:
    """How a policy is prompted and how its replies are decoded."""

    new_context: Callable[[], Context]
    decode: Callable[[Sequence[int]], str]
    constrain: bool = True  # restrict replies to the admissible actions if the environment lists them
    invalid_limit: int | None = None  # number of consecutive invalid replies that ends an episode


@dataclass(frozen=True, slots=True)
class _PendingAction:
    """A reply whose action the environment has not answered yet."""

    reply: Reply
    text: str
    parsed: Parsed


@dataclass(slots=True, kw_only=True)
class EpisodeRunner:
    """The state of one episode in progress."""

    job: Job
    interface: PolicyInterface
    context: Context
    rng: random.Random
    attempt: int = 0  # number of earlier failed attempts
    env: Any = None  # Any: an environment leased from a pool; None: not leased yet
    observation: Observation = field(default_factory=lambda: Observation(text="", anchor=0))
    prompt: Prompt = field(default_factory=lambda: Prompt((), extends=False))
    choices: list[tuple[int, ...]] | None = None  # ids of the allowed replies; None: unconstrained
    pending: _PendingAction | None = None
    notes: list[Note] = field(default_factory=list)  # of the current turn
    turns: list[Turn] = field(default_factory=list)
    score: float = 0.0
    success: bool = False
    length: int = 0  # tokens of the current sequence
    began: float = 0.0  # by the engine's clock
    turn_began: float = 0.0
    is_late: bool = False  # a time limit passed during an environment call
    partial: Reply | None = None  # part of the next reply, sampled before an interruption
    is_cold: bool = False  # the back end has no cache of the sequence

    @classmethod
    def of(cls, job: Job, interface: PolicyInterface, attempt: int = 0) -> EpisodeRunner:
        """Return the runner of an episode that has not begun."""
        rng = random.Random(job.sample_seed)
        return cls(job=job, interface=interface, context=interface.new_context(), rng=rng, attempt=attempt)

    def build_prompt(self, observation: Observation) -> None:
        """Build the prompt for an observation, and the choices if replies are constrained.

        Raises:
            EpisodeFailure: no prompt can be built from it.
        """
        self.observation = observation
        self.prompt = self.context.prompt(observation)
        self.choices = None
        if self.interface.constrain and observation.admissible and self.prompt.asks == "action":
            self.choices = [self.context.render(action) for action in observation.admissible]

    def request(self) -> Request:
        """Return the request for the back end."""
        prompt, extends = self.prompt.ids, self.prompt.extends
        self.length = len(prompt) + (self.length if extends else 0)
        if extends and self.is_cold:
            prompt, extends = (*self._sequence(), *prompt), False
        self.is_cold = False
        return Request(
            prompt_ids=prompt,
            extends=extends,
            choices=self.choices,
            rng=self.rng,
            partial=self.partial,
            messages=self.prompt.messages,
            tools=self.prompt.tools,
            turn_context=TurnContext(
                task_id=self.job.task.task_id,
                turn=len(self.turns),
                observation=self.observation,
                oracle=lambda name: str(self.env.oracle(name)),
            ),
        )

    def takes_note(self, reply: Reply) -> bool:
        """Process a reply to a prompt that did not ask for an action, and build the next prompt.

        Returns False, and does nothing, if the prompt asked for an action or the context is full.

        Raises:
            EpisodeFailure: no prompt can be built.
        """
        if self.prompt.asks == "action" or reply.finish == "context":
            return False
        self.length += len(reply.ids)
        self._note(Note(kind=self.prompt.asks, text=self._text(reply)))
        return True

    def on_reply(self, reply: Reply) -> str | Ending:
        """Process a reply; return its action or the episode's ending.

        The episode ends if the context is full or the agent failed.
        """
        self.partial = None
        self.length += len(reply.ids)
        if reply.finish == "context":
            return Ending.truncated("tokens")
        if reply.finish == "error":
            return Ending.agent_error(reply.text or "")
        text = self._text(reply)
        parsed = self._chosen(reply) or self.context.parse(text, truncated=reply.finish == "length")
        self.pending = _PendingAction(reply, text, parsed)
        return self.pending.parsed.action

    def on_step(self, answer: Answer, seconds: float) -> Ending | None:
        """Process the result of an environment step; return the ending if the episode ended.

        Raises:
            EpisodeFailure: no prompt can be built from the new observation.
        """
        text, reward, terminated, truncated, info = answer
        turn = self._turn(float(reward), info, seconds)
        observation = self._add(turn, text, info)
        self.pending = None
        if terminated or truncated or self.is_late:
            self.observation = observation
            return Ending.terminated() if terminated else Ending.truncated("turns" if truncated else "time")
        if self._has_too_many_invalid:
            self.observation = observation
            return Ending.truncated("invalid")
        self.build_prompt(observation)
        return None

    def replay_turn(self, turn: Turn, answer: Answer) -> None:
        """Process a turn from before an interruption and the environment's new answer to its action.

        Such a turn did not end the episode.

        Raises:
            EpisodeFailure: the observation or the prompt differs from the recorded one, or no prompt can be built.
        """
        if (self.observation, list(self.prompt.ids)) != (turn.observation, _list(turn.prompt_ids)):
            raise EnvironmentFailure(f"task {self.job.task.task_id!r} did not show the same again")
        for note in turn.notes:
            self._note(note)
        self.build_prompt(self._add(turn, answer[0], answer[-1]))
        self.length = len(self._sequence())

    def ended(self, ending: Ending) -> Episode:
        """Return the ended episode with its current score."""
        return self._episode(ending, score=self.score, success=self.success, final=self.observation)

    def failed(self, failure: EpisodeFailure) -> Episode:
        """Return the episode as failed because of our infrastructure; it gets no score."""
        cause: Any = failure.cause  # Any: causes are declared as str
        return self._episode(Ending.failed(cause, str(failure)), score=None, success=None)

    def _add(self, turn: Turn, text: str, info: dict[str, Any]) -> Observation:
        """Append a turn and return the observation after it."""
        self.turns.append(turn)
        self.notes = []
        self.context.record(self.observation, turn.action, _list(turn.reply_ids), turn.reply_text)
        self.score, self.success = float(info["score"]), bool(info["success"])
        return observe(text, info)

    @property
    def _has_too_many_invalid(self) -> bool:
        limit = self.interface.invalid_limit
        return limit is not None and len(self.turns) >= limit and not any(t.is_valid for t in self.turns[-limit:])

    def _note(self, note: Note) -> None:
        """Pass the requested note to the context and build the next prompt."""
        assert isinstance(self.context, TakesNotes)  # a context that asks for notes accepts them
        self.context.note(note.text)
        self.notes.append(note)
        self.build_prompt(self.observation)

    def _chosen(self, reply: Reply) -> Parsed | None:
        """Return the admissible action of a constrained reply; None: unconstrained or cut off.

        The match is by ids, because some tokenizers change letters or blanks, so that the text can differ from the
        action.
        """
        ids = tuple(reply.ids.tolist())
        if self.choices is None or ids not in self.choices:
            return None
        return Parsed((self.observation.admissible or ())[self.choices.index(ids)], is_valid=True)

    def _text(self, reply: Reply) -> str:
        if reply.text is not None:
            return reply.text
        return self.interface.decode((reply.ids[:-1] if reply.finish == "end" else reply.ids).tolist())

    def _sequence(self) -> tuple[int, ...]:
        """Return the ids of the turns that the next prompt extends."""
        first = max(i for i, turn in enumerate(self.turns) if not turn.extends_previous)
        parts = [ids for turn in self.turns[first:] for ids in (turn.prompt_ids, turn.reply_ids) if ids is not None]
        return tuple(np.concatenate(parts).tolist())

    def _turn(self, reward: float, info: Mapping[str, Any], seconds: float) -> Turn:
        assert self.pending is not None  # set by `on_reply` before each environment step
        reply = self.pending.reply
        turn = Turn(
            observation=self.observation,
            reply_text=self.pending.text,
            action=self.pending.parsed.action,
            reward=reward,
            is_valid=self.pending.parsed.is_valid,
            channels=info.get("channels", {}),
            seconds=seconds,
            acted=info.get("acted"),
            tokens=reply.tokens,
            notes=tuple(self.notes),
        )
        if reply.text is not None:
            return turn
        return replace(
            turn,
            prompt_ids=np.array(self.prompt.ids, np.int32),
            extends_previous=self.prompt.extends,
            reply_ids=reply.ids,
            reply_logprobs=reply.logprobs,
            constraint=reply.constraint,
            policy_version=reply.version,
        )

    def _episode(self, ending: Ending, **outcome: Any) -> Episode:  # Any: Episode's fields
        turns = tuple(self.turns)
        return Episode(task=self.job.task, group_id=self.job.group_id, turns=turns, ending=ending, **outcome)


def _list(ids: IntArray | None) -> list[int]:
    return [] if ids is None else ids.tolist()
