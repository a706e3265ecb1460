"""The code environment: a work folder in a sandbox, tools, and hidden tests at the end.

The agent writes, runs, tests, reads and edits files over many turns, and submits. When no turn is left, the current
folder is submitted. The score is the share of hidden tests passed (`score = "share"`), or 1 if all pass and else 0.
Success means that all hidden tests pass. The only reward part is `submission`. The other channels are the hidden tests,
if the kind has any. A sandbox failure ends an episode as failed; such an episode is never scored.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import Field

from cairn.core.records import TAMPERING, TESTS, Schema
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.code import paraphrase, tasks
from cairn.envs.code.actions import USAGE, CodeCall, ToolCallError, parse, schemas, write_action
from cairn.envs.code.horizon import Horizon, HorizonConfig
from cairn.envs.code.judge import Judge
from cairn.envs.code.problem import level
from cairn.envs.code.scoring import Scored, scored
from cairn.envs.code.workshop import Workshop
from cairn.envs.rephrasable import Rephrasable
from cairn.envs.sandbox_lease import LeasedSession, shared_pool
from cairn.sandboxes.base import FileRefused, Limits

_TEST_CHANNELS = (f"{TESTS}*", f"{TAMPERING}*")  # results of hidden tests, and signs of tampering
_JUDGE_LIMITS = Limits(wall_s=120.0, cpu_s=120.0)


class CodeConfig(EnvConfig):
    """Settings of the code environment: tasks, sandbox, observations and scoring."""

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
        description="When hidden tests run: at the end, or also after every turn, for credit that weighs tests. Their "
        "results before the end are in the turns' channels and are not shown.",
    )
    most_chars: int = Field(4000, ge=200, description="Characters shown of an output; its middle is left out beyond.")
    horizon: HorizonConfig = Field(HorizonConfig(), description="How turns are counted out.")


class CodeEnv(Rephrasable, TextEnv):
    """Solve coding tasks with tools."""

    meta = EnvMeta(
        name="code",
        version=3,
        turn_limit=20,
        reward_range=(0.0, 1.0),
        summary="Write, repair and run code in a sandbox, judged by hidden tests that the code never sees.",
        is_deterministic=False,  # programs may read a clock or draw random numbers
        has_terminal_reward=True,
        oracles=("reference",),
        is_blocking=True,
        can_reword=True,
        call_timeout_s=1500.0,  # for programs, which have their own limits
        max_action_chars=1 << 17,
        parts=("submission",),
    )
    Config: ClassVar[type[EnvConfig]] = CodeConfig
    config: CodeConfig

    @classmethod
    def declare(cls, config: CodeConfig) -> EnvMeta:
        """Return the declarations; only kinds with hidden tests have test channels."""
        return replace(cls.meta, channels=_TEST_CHANNELS) if tasks.kind(config.kind).has_tests else cls.meta

    def setup(self) -> None:
        """Load the kind of tasks; the first episode opens a session."""
        self._kind = tasks.kind(self.config.kind)
        self._first_limit = self.turn_limit
        self._sessions = LeasedSession(self.config.sandbox, self.config.sandbox_settings, self.config.limits)
        self._has_ended = True

    def tasks(self) -> Sequence[str]:
        """Return the split's tasks."""
        return _ids(self.config.kind, self.config.split or self._kind.splits[0])

    def has_task(self, task_id: str) -> bool:
        """Return whether any split of the kind has a task with this id."""
        return any(task_id in _ids(self.config.kind, split) for split in self._kind.splits)

    def task_type(self, task_id: str) -> str:
        """Return the kind."""
        return self.config.kind

    def difficulty(self, task_id: str) -> str:
        """Return a level from 1 to 4 by the lines that the reference adds; see `level`."""
        return level(tasks.problem(task_id))

    def start(self, task_id: str, rng: random.Random) -> str:
        """Empty the session and write the task's files."""
        self._problem = tasks.problem(task_id)
        self.turn_limit = self._first_limit
        self._horizon = Horizon(self.config.horizon, self._first_limit)
        session = self._sessions.emptied()
        self._shop = Workshop(session, self._problem.files, self._problem.visible, self.config.most_chars)
        self._work = None if self._problem.work is None else self._problem.work()
        if self._work is not None:
            self._shop.connect(self._work.prelude, self._work.call)
        self._cells: list[str] = []
        self._has_ended = False
        self._channels: Mapping[str, float] | None = None
        self._text_kind, self._notice = "introduction", ""
        own, files = self._problem.instruction, self._shop.use(CodeCall(tool="list_files"))
        self._text = _introduction(own, files)  # part of the state, so without rewording
        return _introduction(self.phrase_instruction(task_id, own, lambda: paraphrase.reworded(own)), files)

    def act(self, action: str) -> Outcome:
        """Run a tool, or judge the submission."""
        self._text_kind, self._notice = "", ""
        if len(action) > self.meta.max_action_chars:
            return self._counted(f"An action may have {self.meta.max_action_chars} characters.", changed=False)
        call = parse(action)
        if isinstance(call, ToolCallError):
            self._text_kind = "mistake"
            return self._counted(call.text, changed=False)
        if call.tool == "submit":
            return self._judged(call.arguments.get("answer"))
        before = self._folder()
        if call.tool == "run_python":
            self._cells += [before, call.arguments["code"]]  # the folder that the cell could read, and the cell
        elif self._cells and call.tool in ("shell", "run_tests"):
            self._cells.append(call.tool)  # it ends processes that a cell left running
        text = self._shop.use(call)
        self._text_kind = "files" if call.tool == "list_files" else ""
        if self._work is not None and self._work.has_submitted:
            return self._judged(None)
        return self._counted(text, changed=self._folder() != before)

    def state(self) -> bytes:
        """Return a hash of the folder, the cells that the interpreter has run, and the observation."""
        parts = (self._folder(), *self._cells, "shown", self._text, str(self._has_ended))
        whole = hashlib.blake2b(b"" if self._work is None else self._work.state(), digest_size=16)
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            whole.update(len(data).to_bytes(8, "big") + data)
        return whole.digest()

    def oracle_action(self, name: str) -> str:
        """Return the next action of the reference: write each file that differs, then submit."""
        problem = self._problem
        if problem.program is not None:
            return f"run_python\n{problem.program}"
        for path, text in problem.solution.items():
            if self._read(path) != text.encode():
                return write_action(path, text)
        return "submit" if problem.answer is None else f"submit {problem.answer}"

    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the tools, with other names for each."""
        return paraphrase.COMMANDS

    def rename_commands(self, text: str, rename: Callable[[str], str]) -> str:
        """Rename the tools in the introduction, in error messages and in notices, but not in output."""
        if self._text_kind == "introduction":
            return paraphrase.rename_usage(text, rename)
        body, notice = text.removesuffix(self._notice), self._notice if text.endswith(self._notice) else ""
        return f"{rename(body) if self._text_kind == 'mistake' else body}{rename(notice)}"

    def shuffle_lists(self, text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
        """Shuffle the tools and files of the introduction, or the output of `list_files`."""
        if self._text_kind == "introduction":
            return paraphrase.shuffle_introduction(text, shuffle)
        if self._text_kind != "files" or self._notice or self._has_ended:
            return text
        return "\n".join(paraphrase.shuffle_lines(text.split("\n"), shuffle))

    def tools(self) -> tuple[Schema, ...]:
        """Return the tools' schemas."""
        return schemas()

    def close(self) -> None:
        """Return the session to its pool."""
        self._sessions.close()

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _counted(self, text: str, changed: bool) -> Outcome:
        """Count the turn; after the last one, judge the folder as if the agent had submitted it."""
        self._notice = notice = self._horizon.took(changed=changed)
        self.turn_limit = self._horizon.limit
        self._text = f"{text}\n{notice}" if notice else text
        if self._horizon.has_ended:
            judged = self._judged(None)
            judged.text = f"{self._text}\n[No turn is left: the folder was submitted as it is.]"
            return judged
        return Outcome(self._text, channels={"submission": 0.0, **self._passed_so_far(changed)})

    def _judged(self, answer: str | None) -> Outcome:
        """End the episode with a submission.

        It also terminates, not truncates, at the turn limit: a judged state has no future return.
        """
        self._has_ended = True
        found = self._scored(answer)
        score = found.score if self.config.score == "share" else float(found.score >= 1.0)
        self._text = found.text
        outcome = Outcome(found.text, reward=score, terminated=True, success=score >= 1.0, score=score)
        outcome.channels = {"submission": score, **found.channels}
        return outcome

    def _scored(self, answer: str | None) -> Scored:
        judge = _judge(self.config.sandbox, json.dumps(self.config.sandbox_settings, sort_keys=True))
        return scored(self._problem, self._work, answer, self._shop.session, judge)

    def _passed_so_far(self, changed: bool) -> Mapping[str, float]:
        """Return the hidden tests' channels for the current folder; empty with `tests = "end"`."""
        if self.config.tests == "end" or self._problem.job is None:
            return {}
        if changed or self._channels is None:
            self._channels = self._scored(None).channels
        return self._channels

    def _folder(self) -> str:
        try:
            return self._shop.session.digest()
        except FileRefused as refused:
            return str(refused)

    def _read(self, path: str) -> bytes | None:
        try:
            return self._shop.session.read_file(path)
        except FileRefused:
            return None


@cache
def _ids(kind: str, split: str) -> tuple[str, ...]:
    return tuple(f"{kind}/{own}" for own in tasks.kind(kind).ids(split))


@cache
def _judge(sandbox: str, settings: str) -> Judge:
    """Return the judge for a sandbox; it has no network, since hidden tests need none."""
    apart = {name: value for name, value in json.loads(settings).items() if name != "network"}
    return Judge(shared_pool(sandbox, apart, _JUDGE_LIMITS))


def _introduction(instruction: str, files: str) -> str:
    return "\n".join((instruction, "", USAGE, "", "Files:", files))


ENV = CodeEnv
