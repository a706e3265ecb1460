"""Question sets as environments: a row is a task, a reply an answer, a scorer grades it.

An episode has one or more turns: after an answer without the full score, the agent may try again, and the last answer
counts. The row's own answer is never shown.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from cairn.envs.base import EnvMeta, Outcome
from cairn.envs.scorers import (
    Extract,
    Scorer,
    checked_score,
    extractor,
    function,
    scored_rows,
    without_thoughts,
    written,
)
from cairn.envs.table_rows import RowsEnv, Table, rows_by_id

_TRY_AGAIN = "That is not right. Try again."
_NO_ANSWER = "There is no answer in the form that is asked for. Try again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The format of questions and the scoring of answers."""

    scorer: Scorer
    extract: Extract
    question: str
    answer: str
    instruction: str


class QuestionEnv(RowsEnv):
    """A table of questions; `DataEnv` makes subclasses of it."""

    questions: ClassVar[Questions]

    def setup(self) -> None:
        """Select the rows of the split and the extraction of answers."""
        super().setup()
        self._read = extractor(self.questions.extract)

    def start(self, task_id: str, rng: random.Random) -> str:
        """Return the instruction, if any, and the question."""
        self._row = self.rows[task_id]
        self._answers: list[str] = []
        asked = str(self._row[self.questions.question])
        return f"{self.questions.instruction}\n\n{asked}" if self.questions.instruction else asked

    def act(self, action: str) -> Outcome:
        """Score an answer; the last turn's score counts."""
        self._answers.append(action)
        found = self._read(without_thoughts(action))
        score, channels = (0.0, {}) if found is None else self._scored(found)
        absent = dict.fromkeys(self.questions.scorer.channels, 0.0)
        ended = score >= 1 or self.turn + 1 >= self.turn_limit
        text = ("Right." if score >= 1 else "The end.") if ended else _NO_ANSWER if found is None else _TRY_AGAIN
        return Outcome(
            text,
            reward=score if ended else 0.0,
            terminated=ended,
            success=ended and score >= 1,
            score=score if ended else 0.0,
            channels={**absent, **channels, "answered": float(found is not None)},
        )

    def state(self) -> bytes:
        """Return the answers so far."""
        return json.dumps(self._answers).encode()

    def oracle_action(self, name: str) -> str:
        """Return the row's own answer in the expected format."""
        assert self.questions.scorer.write is not None  # else no oracle is declared
        return written(self.questions.extract, self.questions.scorer.write(self._row[self.questions.answer]))

    def _scored(self, found: str) -> tuple[float, Mapping[str, float]]:
        gold = self._row.get(self.questions.answer)
        return checked_score(self.questions.scorer.score(found, self._row, gold), self.task_id)


def DataEnv(  # noqa: N802  (it creates classes)
    table: Table,
    scorer: Scorer | Any,  # Any: or a function of an answer and a row
    *,
    name: str,
    question: str = "question",
    answer: str = "answer",
    id: str | None = None,
    turns: int = 1,
    extract: Extract = "all",
    instruction: str = "",
) -> type[QuestionEnv]:
    """Return a class of environments over a table of questions.

    It works with `cairn.make`, training and evaluation.

    Args:
        table: path of a JSONL, JSON or Parquet file; or rows, such as a list of dictionaries or a `datasets.Dataset`.
        scorer: of `cairn.envs.scorers`, or a function (answer, row) -> a score from 0 to 1, or that and a dictionary of
            further measurements.
        name: name of the class; it must equal the module's variable, so that other processes can import it as
            ``module:name``.
        question: the column with the question's text.
        answer: the column with the right answer; optional for a function.
        id: the column with the tasks' ids; None: the column "id" if its values are unique, else a hash of the row.
        turns: maximum number of answers in an episode.
        extract: the extraction of the answer from a reply; see `cairn.envs.scorers`.
        instruction: text above each question; it should describe the expected format of the answer.

    Raises:
        ConfigError: the table cannot be read or has no rows, a row lacks a column, an id occurs twice, or a reference
            answer is invalid; the message has the row's number.
    """
    chosen = scorer if isinstance(scorer, Scorer) else function(scorer)
    rows = scored_rows(table, [question], chosen, answer)
    extractor(extract)
    questions = Questions(scorer=chosen, extract=extract, question=question, answer=answer, instruction=instruction)
    meta = EnvMeta(
        name=name,
        version=1,
        turn_limit=turns,
        reward_range=(0, 1),
        summary=f"{len(rows)} questions.",
        is_deterministic=chosen.longest_s == 0,
        is_blocking=chosen.longest_s > 0,
        call_timeout_s=EnvMeta.call_timeout_s + chosen.longest_s,
        has_terminal_reward=True,
        oracles=("reference",) if chosen.write is not None and isinstance(extract, str) else (),
        channels=("answered", *chosen.channels),
        max_action_chars=32_768,
    )
    module = sys._getframe(1).f_globals.get("__name__", __name__)
    found = {"meta": meta, "questions": questions, "rows": rows_by_id(rows, id)}
    return type(name, (QuestionEnv,), {**found, "__module__": module, "__qualname__": name})
