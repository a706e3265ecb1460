"""Tables of questions as environments: a row is a task, a reply is an answer, and a scorer says how good it is.

An episode has one turn, or several: after an answer that does not have the full score, the agent may try again, and
the last one counts. The row's own answer is never shown.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from cairn.core.errors import CairnError, ConfigError, MissingExtraError
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.scorers import Extract, Row, Score, Scorer, extractor, function, without_thoughts, written

_TRY_AGAIN = "That is not right. Try again."
_NO_ANSWER = "There is no answer in the form that is asked for. Try again."
_TEST_SHARE = 0.2
_WHOLE = 1 << 32


class DataConfig(EnvConfig):
    """Which rows."""

    split: Literal["all", "train", "test"] = Field(
        "all", description="Rows: all, or those that a hash of their ids puts into a test split of a fifth, or not."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The rows and how they are asked and scored."""

    rows: Mapping[str, Row]  # by task id
    scorer: Scorer
    extract: Extract
    question: str
    answer: str
    instruction: str


class QuestionEnv(TextEnv):
    """A table of questions; `DataEnv` makes subclasses of it."""

    Config = DataConfig
    questions: ClassVar[Questions]

    def setup(self) -> None:
        """Choose the rows of the split."""
        split = self.config.split  # type: ignore[attr-defined]  # a DataConfig
        self._ids = [id_ for id_ in self.questions.rows if split == "all" or _is_test(id_) == (split == "test")]
        self._read = extractor(self.questions.extract)

    def tasks(self) -> Sequence[str]:
        """Return the ids of the rows, in the table's order."""
        return self._ids

    def has_task(self, task_id: str) -> bool:
        """Return whether there is such a row in the split."""
        return task_id in self.questions.rows and task_id in set(self._ids)

    def start(self, task_id: str, rng: random.Random) -> str:
        """Return the question, below the instruction."""
        self._row = self.questions.rows[task_id]
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
        result: Score = self.questions.scorer.score(found, self._row, gold)
        value, channels = result if isinstance(result, tuple) else (result, {})
        if not 0 <= float(value) <= 1:  # NaN too
            raise CairnError(f"{self.meta.name}: a score must be from 0 to 1, got {value!r} for task {self.task_id!r}")
        return float(value), channels


def DataEnv(  # noqa: N802  (it makes classes)
    table: str | Path | Iterable[Row],
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
    rows = _rows(table)
    for number, row in enumerate(rows):
        _check(number, row, chosen, question, answer)
    extractor(extract)
    questions = Questions(
        rows=_by_id(rows, id), scorer=chosen, extract=extract, question=question, answer=answer, instruction=instruction
    )
    meta = EnvMeta(
        name=name,
        version=1,
        turn_limit=turns,
        reward_range=(0, 1),
        summary=f"{len(rows)} questions.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("reference",) if chosen.write is not None and isinstance(extract, str) else (),
        channels=("answered", *chosen.channels),
        max_action_chars=32_768,
    )
    module = sys._getframe(1).f_globals.get("__name__", __name__)
    return type(
        name, (QuestionEnv,), {"meta": meta, "questions": questions, "__module__": module, "__qualname__": name}
    )


def _rows(table: str | Path | Iterable[Row]) -> list[Row]:
    if isinstance(table, (str, Path)):
        rows = _read_file(Path(table).expanduser())
    else:
        rows = list(table)
    if wrong := [number for number, row in enumerate(rows) if not isinstance(row, Mapping)]:
        raise ConfigError(f"Row {wrong[0]} of the table is not an object with columns: {rows[wrong[0]]!r:.100}")
    if not rows:
        raise ConfigError("The table has no rows")
    return rows


def _read_file(file: Path) -> list[Any]:  # Any: checked by the caller
    if file.suffix not in (".jsonl", ".json", ".parquet"):
        raise ConfigError(f"The table {str(file)!r} must be a .jsonl, .json or .parquet file")
    try:
        if file.suffix == ".parquet":
            return _read_parquet(file)
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"The table {str(file)!r} cannot be read: {error!s:.200}") from error


def _read_parquet(file: Path) -> list[Any]:  # Any: checked by the caller
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("A table in Parquet", "export") from None
    return list(parquet.read_table(file).to_pylist())


def _check(number: int, row: Row, scorer: Scorer, question: str, answer: str) -> None:
    for column in (question, *((answer,) if scorer.needs_answer else ())):
        if column not in row:
            raise ConfigError(f"Row {number} of the table has no column {column!r}; it has {sorted(map(str, row))}")
    if scorer.needs_answer:
        try:
            scorer.check(row[answer])
        except ValueError as error:
            raise ConfigError(
                f"Row {number} of the table: the answer {row[answer]!r:.100} cannot be compared with: {error}"
            ) from error


def _by_id(rows: Sequence[Row], column: str | None) -> dict[str, Row]:
    named = [str(row["id"]) if column is None and "id" in row else None for row in rows]
    if column is not None:
        if missing := [number for number, row in enumerate(rows) if column not in row]:
            raise ConfigError(f"Row {missing[0]} of the table has no column {column!r}")
        ids = [str(row[column]) for row in rows]
    elif None not in named and len(set(named)) == len(rows):
        ids = [str(each) for each in named]
    else:
        ids = [sha256(json.dumps(dict(row), sort_keys=True, default=str).encode()).hexdigest()[:16] for row in rows]
    found: dict[str, int] = {}
    for number, each in enumerate(ids):
        if each in found:
            raise ConfigError(f"Rows {found[each]} and {number} of the table have the same id {each!r}")
        found[each] = number
    return {each: rows[number] for each, number in found.items()}


def _is_test(task_id: str) -> bool:
    return int.from_bytes(sha256(task_id.encode("utf-8", "surrogatepass")).digest()[:4]) < _TEST_SHARE * _WHOLE
