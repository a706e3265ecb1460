"""The code environment: a task, a work folder in a sandbox, tools, and hidden tests at the end.

The agent writes, runs, tests, reads and edits files over many turns, and submits; running out of turns submits what is
there. The score is the share of hidden tests passed (`score = "share"`) or whether all were; success is all of them.
Sandbox failures end an episode as failed, never as scored.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import Field

from cairn.core.errors import SandboxFailure
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.code import tasks
from cairn.envs.code.actions import USAGE, Call, Mistake, parse, schemas
from cairn.envs.code.horizon import Horizon, HorizonConfig
from cairn.envs.code.judge import Judge
from cairn.envs.code.scoring import Scored, scored
from cairn.envs.code.workshop import Workshop
from cairn.envs.tools import Schema
from cairn.sandboxes.base import FileRefused, Limits, Session
from cairn.sandboxes.pool import Pool
from cairn.sandboxes.registry import new_sandbox

_JUDGE_LIMITS = Limits(wall_s=120.0, cpu_s=120.0)
_FIRST = threading.Lock()  # environments in several threads make what they share once


class CodeConfig(EnvConfig):
    """Which tasks, in which sandbox, and what is shown and scored."""

    kind: str = Field("tools", description="Kind of task: see docs/envs/code.md.")
    split: str | None = Field(None, description="Which tasks tasks() lists; None: the kind's first split.")
    sandbox: str = Field("auto", description="Kind of sandbox; auto: the best that works here.")
    sandbox_settings: dict[str, Any] = Field(  # Any: each kind has its own
        default_factory=dict,
        description="Of that kind, as docs/plugins.md has them: an image, a network by allow-list.",
    )
    limits: Limits = Field(Limits(), description="Of the agent's programs.")
    score: Literal["share", "all"] = Field("share", description="Share of hidden tests passed, or 1 for all of them.")
    tests: Literal["end", "turns"] = Field(
        "end",
        description="When hidden tests run: at the end, or also after every turn, for credit that weighs tests. What "
        "they say before the end is in the turns' channels and is not shown.",
    )
    most_chars: int = Field(4000, ge=200, description="Characters shown of an output; its middle is left out beyond.")
    horizon: HorizonConfig = Field(HorizonConfig(), description="How turns are counted out.")


class CodeEnv(TextEnv):
    """Solve coding tasks with tools."""

    meta = EnvMeta(
        name="code",
        version=1,
        turn_limit=20,
        reward_range=(0.0, 1.0),
        summary="Write, repair and run code in a sandbox, judged by hidden tests that the code never sees.",
        oracles=("reference",),
        waits=True,
        is_deterministic=False,  # programs may read a clock or draw numbers
        max_action_chars=1 << 17,
    )
    Config: ClassVar[type[EnvConfig]] = CodeConfig
    config: CodeConfig

    def setup(self) -> None:
        """Open nothing yet: a session is taken when an episode starts."""
        self._kind = tasks.kind(self.config.kind)
        self._first_limit = self.turn_limit
        self._session: Session | None = None
        self._has_ended = True

    def tasks(self) -> Sequence[str]:
        """Return the split's tasks."""
        return _ids(self.config.kind, self.config.split or self._kind.splits[0])

    def has_task(self, task_id: str) -> bool:
        """Return whether there is a task of this id in any split of the kind."""
        return any(task_id in _ids(self.config.kind, split) for split in self._kind.splits)

    def task_type(self, task_id: str) -> str:
        """Return the kind."""
        return self.config.kind

    def start(self, task_id: str, rng: random.Random) -> str:
        """Empty the session and put the task's files in place."""
        self._problem = tasks.problem(task_id)
        self.turn_limit = self._first_limit
        self._horizon = Horizon(self.config.horizon, self._first_limit)
        self._shop = Workshop(self._empty_session(), self._problem.files, self._problem.visible, self.config.most_chars)
        self._work = None if self._problem.work is None else self._problem.work()
        if self._work is not None:
            self._shop.connect(self._work.prelude, self._work.call)
        self._cells: list[str] = []
        self._has_ended = False
        self._channels: Mapping[str, float] | None = None
        self._text = self._introduction()
        return self._text

    def act(self, action: str) -> Outcome:
        """Use a tool, or be judged."""
        if len(action) > self.meta.max_action_chars:
            return self._counted(f"An action may have {self.meta.max_action_chars} characters.", changed=False)
        call = parse(action)
        if isinstance(call, Mistake):
            return self._counted(call.text, changed=False)
        if call.tool == "submit":
            return self._judged(call.arguments.get("answer"), is_over=True)
        before = self._folder()
        if call.tool == "run_python":
            self._cells += [before, call.arguments["code"]]  # what it may have read, and did
        elif self._cells and call.tool in ("shell", "run_tests"):
            self._cells.append(call.tool)  # ends what a cell has left running
        text = self._shop.use(call)
        if self._work is not None and self._work.has_submitted:
            return self._judged(None, is_over=True)
        return self._counted(text, changed=self._folder() != before)

    def state(self) -> bytes:
        """Return a hash of the folder, of what the interpreter has run, and of what is shown."""
        parts = (self._folder(), *self._cells, "shown", self._text, str(self._has_ended))
        whole = hashlib.blake2b(b"" if self._work is None else self._work.state(), digest_size=16)
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            whole.update(len(data).to_bytes(8, "big") + data)
        return whole.digest()

    def oracle_action(self, name: str) -> str:
        """Return what the reference does next: write what differs from its files, then submit."""
        problem = self._problem
        if problem.program is not None:
            return f"run_python\n{problem.program}"
        for path, text in problem.solution.items():
            if self._read(path) != text.encode():
                return f"write_file {path}\n{text}" if text.endswith("\n") else _as_json("write_file", path, text)
        return "submit" if problem.answer is None else f"submit {problem.answer}"

    def tools(self) -> tuple[Schema, ...]:
        """Return the tools' schemas."""
        return schemas()

    def close(self) -> None:
        """Give the session back."""
        if self._session is not None:
            self._release()
            self._session = None

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _empty_session(self) -> Session:
        if self._session is not None:
            try:
                self._session.reset()
                return self._session
            except SandboxFailure:
                self.close()
        with _FIRST:
            pool = _pool(*self._place(), self.config.limits)
        self._session = pool.take()
        self._release = weakref.finalize(self, pool.give_back, self._session)
        return self._session

    def _place(self) -> tuple[str, str]:
        """Return the sandbox's kind and its settings, as what is shared is found by."""
        return self.config.sandbox, json.dumps(self.config.sandbox_settings, sort_keys=True)

    def _introduction(self) -> str:
        files = self._shop.use(Call(tool="list_files"))
        return "\n".join((self._problem.instruction, "", USAGE, "", "Files:", files))

    def _counted(self, text: str, changed: bool) -> Outcome:
        """Count the turn; the last one is judged as if it had submitted."""
        notice = self._horizon.took(changed=changed)
        self.turn_limit = self._horizon.limit
        self._text = f"{text}\n{notice}" if notice else text
        if self._horizon.is_over:
            judged = self._judged(None, is_over=False)
            judged.text = f"{self._text}\n[No turn is left: what is there was submitted.]"
            return judged
        return Outcome(self._text, channels=self._passed_so_far(changed))

    def _judged(self, answer: str | None, is_over: bool) -> Outcome:
        self._has_ended = True
        found = self._scored(answer)
        score = found.score if self.config.score == "share" else float(found.score >= 1.0)
        self._text = found.text
        outcome = Outcome(found.text, reward=score, is_over=is_over, success=score >= 1.0, score=score)
        outcome.channels = found.channels
        return outcome

    def _scored(self, answer: str | None) -> Scored:
        assert self._session is not None
        with _FIRST:
            judge = _judge(*self._place())
        return scored(self._problem, self._work, answer, self._session, judge)

    def _passed_so_far(self, changed: bool) -> Mapping[str, float]:
        """Return which hidden tests the folder passes as it is, where that is asked after every turn."""
        if self.config.tests == "end" or self._problem.job is None:
            return {}
        if changed or self._channels is None:
            self._channels = self._scored(None).channels
        return self._channels

    def _folder(self) -> str:
        assert self._session is not None
        try:
            return self._session.digest()
        except FileRefused as refused:
            return str(refused)

    def _read(self, path: str) -> bytes | None:
        assert self._session is not None
        try:
            return self._session.read_file(path)
        except FileRefused:
            return None


@cache
def _ids(kind: str, split: str) -> tuple[str, ...]:
    return tuple(f"{kind}/{own}" for own in tasks.kind(kind).ids(split))


@cache
def _pool(sandbox: str, settings: str, limits: Limits) -> Pool:
    """Return the sessions that all environments of this process share."""
    return Pool(new_sandbox(sandbox, **json.loads(settings)), limits)


@cache
def _judge(sandbox: str, settings: str) -> Judge:
    """Return who judges for them: never with a network, which tests have no use for."""
    apart = {name: value for name, value in json.loads(settings).items() if name != "network"}
    return Judge(_pool(sandbox, json.dumps(apart, sort_keys=True), _JUDGE_LIMITS))


def _as_json(name: str, path: str, content: str) -> str:
    return json.dumps({"name": name, "arguments": {"path": path, "content": content}})


ENV = CodeEnv
