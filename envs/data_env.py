"""Tables of questions as environments: a row is a task, a reply is an answer, and a scorer says how good it is.

An episode has one turn, or several: after an answer that does not have the full score, the agent may try again, and
the last one counts. The row's own answer is never shown.
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
    """How rows are asked and scored."""

    scorer: Scorer
    extract: Extract
    question: str
    answer: str
    instruction: str


class QuestionEnv(RowsEnv):
    """A table of questions; `DataEnv` makes subclasses of it."""

    questions: ClassVar[Questions]

    def setup(self) -> None:
        """Choose the rows of the split, and what of a reply is the answer."""
        super().setup()
        self._read = extractor(self.questions.extract)

    def start(self, task_id: str, rng: random.Random) -> str:
        """Return the question, below the instruction."""
        self._row = self.rows[task_id]
        self._said: list[str] = []
        asked = str(self._row[self.questions.question])
        return f"{self.questions.instruction}\n\n{asked}" if self.questions.instruction else asked

    def act(self, action: str) -> Outcome:
        """Score an answer; the last turn's score counts."""
        self._said.append(action)
        found = self._read(without_thoughts(action))
        score, channels = (0.0, {}) if found is None else self._scored(found)
        absent = dict.fromkeys(self.questions.scorer.channels, 0.0)
        is_over = score >= 1 or self.turn + 1 >= self.turn_limit
        text = ("Right." if score >= 1 else "The end.") if is_over else _NO_ANSWER if found is None else _TRY_AGAIN
        return Outcome(
            text,
            reward=score if is_over else 0.0,
            terminated=is_over,
            success=is_over and score >= 1,
            score=score if is_over else 0.0,
            channels={**absent, **channels, "answered": float(found is not None)},
        )

    def state(self) -> bytes:
        """Return the answers so far."""
        return json.dumps(self._said).encode()

    def oracle_action(self, name: str) -> str:
        """Return the row's own answer in the form that is asked for."""
        assert self.questions.scorer.write is not None  # else no oracle is declared
        return written(self.questions.extract, self.questions.scorer.write(self._row[self.questions.answer]))

    def _scored(self, found: str) -> tuple[float, Mapping[str, float]]:
        gold = self._row.get(self.questions.answer)
        return checked_score(self.questions.scorer.score(found, self._row, gold), self.task_id)


def DataEnv(  # noqa: N802  (it makes classes)
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
    """Return a class of environments over a table of questions, for `cairn.make`, training and evaluation.

    Args:
        table: path of a JSONL, JSON or Parquet file; or rows, such as a list of dictionaries or a `datasets.Dataset`.
        scorer: of `cairn.envs.scorers`, or a function (answer, row) -> a score from 0 to 1, or that and a dictionary of
            further measurements.
        name: of the class; that of the module's variable, if processes are to find it as ``module:name``.
        question: the column with the text that is shown.
        answer: the column with the right answer; a function may do without.
        id: the column with the tasks' ids; None: the column "id" if its values are unique, else a hash of the row.
        turns: answers that an episode allows.
        extract: what of a reply is the answer; see `cairn.envs.scorers`.
        instruction: stands above each question; say there what form the answer must have.

    Raises:
        ConfigError: the table cannot be read or has no rows, a row lacks a column, an id occurs twice, or an answer
            cannot be compared with, by the number of the row.
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
