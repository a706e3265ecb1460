"""Scorers of answers to questions: answer and row -> a score from 0 to 1; answer extraction.

A reply is read in this order: thoughts in `<think> </think>` are removed, `extract` takes the answer from the rest, and
the scorer compares it with the row's answer. A reply in which `extract` finds nothing scores 0 and counts as not
answered: the whole text never replaces an answer.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import regex

from cairn.core.errors import CairnError, ConfigError
from cairn.envs.judge_server import JudgeServer
from cairn.envs.table_rows import Row, Table, read_rows

Found = str | None  # an answer; None: the reply has no answer
Extract = (
    Literal["all", "boxed", "answer", "hash", "last_number", "last_line"] | re.Pattern[str] | Callable[[str], Found]
)
Score = float | bool | tuple[float, Mapping[str, float]]  # from 0 to 1, optionally with further measurements by name
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?%?")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PATTERN_S = 1.0  # time limit of a pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """Compares answers with the rows' answers."""

    score: Callable[[str, Row, Any], Score]  # of an answer, by the row and the row's own answer
    check: Callable[[Any], None] = lambda gold: None  # raises ValueError for an invalid row's answer
    write: Callable[[Any], str] | None = None  # a correct reply from the row's answer; None: not known
    channels: tuple[str, ...] = ()  # names of further measurements
    columns: tuple[str, ...] = ()  # required columns
    needs_answer: bool = True  # each row must have an answer
    longest_s: float = 0.0  # maximum wait for a server; above 0, equal answers may differ in score


def scored_rows(table: Table, columns: Sequence[str], scorer: Scorer, answer: str) -> list[Row]:
    """Return the rows of a table after a check of their column `answer`.

    Raises:
        ConfigError: the table cannot be read or has no rows, a row lacks a column, or an answer is invalid; the message
            has the row's number.
    """
    rows = read_rows(table, [*columns, *scorer.columns, *([answer] if scorer.needs_answer else [])])
    for number, row in enumerate(rows if scorer.needs_answer else ()):
        try:
            scorer.check(row[answer])
        except ValueError as error:
            raise ConfigError(
                f"Row {number} of the table: the answer {row[answer]!r:.100} cannot be compared with: {error}"
            ) from error
    return rows


def checked_score(result: Score, task_id: str) -> tuple[float, Mapping[str, float]]:
    """Return a score and further measurements.

    Raises:
        CairnError: the score is not from 0 to 1.
    """
    value, channels = result if isinstance(result, tuple) else (result, {})
    if not 0 <= float(value) <= 1:  # also rejects NaN
        raise CairnError(f"a score must be from 0 to 1, got {value!r} for task {task_id!r}")
    return float(value), channels


def exact(*, normalise: bool = True) -> Scorer:
    """Score 1 for an answer that equals the row's, or one of several.

    Args:
        normalise: whether to ignore case, blanks, articles and a final point.
    """
    same = _normalised if normalise else str.strip

    def check(gold: Any) -> None:
        if not (texts := _golds(gold)) or not all(same(text) for text in texts):
            raise ValueError("it is empty")

    return Scorer(
        score=lambda answer, row, gold: same(answer) in {same(text) for text in _golds(gold)},
        check=check,
        write=lambda gold: _golds(gold)[0],
    )


def number(*, tol_abs: float = 0.0, tol_rel: float = 1e-6) -> Scorer:
    """Score 1 for a number close to the row's number.

    The condition is |x - gold| <= max(tol_abs, tol_rel * |gold|).

    Thousands are separated by commas, as in 1,234.5; "$", units and white space around a number are ignored; 3/4 is a
    fraction; a per cent sign only matters if the row's answer has one.
    """

    def score(answer: str, row: Row, gold: Any) -> bool:
        found, wanted = read_number(answer), read_number(str(gold))
        if found is None or wanted is None:
            return False
        if wanted[1] != found[1] and wanted[1]:
            return False
        return abs(found[0] - wanted[0]) <= max(tol_abs, tol_rel * abs(wanted[0]))

    def check(gold: Any) -> None:
        if read_number(str(gold)) is None:
            raise ValueError("it is not a number")

    return Scorer(score=score, check=check, write=str)


def choice(letters: str = "ABCD") -> Scorer:
    """Score 1 for the letter of the correct choice.

    The last letter after a phrase such as "answer: B", "the answer is (B)" or "\\boxed{B}" counts, or else the whole
    answer. Other letters, such as the article "a", do not count.
    """
    upper, lower = re.escape(letters.upper()), re.escape(letters.lower())
    each = rf"[{upper}]|[{lower}](?=[*_]*[ ]*(?:[).\]}},;:$]|\Z|\n))"  # "the answer is a dog" has no choice
    mark = rf"[\s*_$({{\[]*(?:\\boxed\{{|\\text\{{|\\mathrm\{{)*[\s*_$({{\[]*({each})(?![A-Za-z])"
    stated = re.compile(rf"(?:(?i:\banswer|\bantwort|\bchoice|\boption)(?:\s+is|\s+ist)?\s*[:=]?|\\boxed\{{){mark}")
    whole = re.compile(rf"{mark}[\s*_.)}}\]$:]*\Z")

    def read(answer: str) -> str | None:
        found = stated.findall(answer)
        if found:
            return str(found[-1]).upper()
        alone = whole.match(answer.strip())
        return None if alone is None else alone.group(1).upper()

    def check(gold: Any) -> None:
        if str(gold).strip().upper() not in set(letters.upper()):
            raise ValueError(f"it is not one of {letters}")

    return Scorer(
        score=lambda answer, row, gold: read(answer) == str(gold).strip().upper(),
        check=check,
        write=lambda gold: str(gold).strip().upper(),
    )


def pattern(text: str, *, group: int = 0) -> Scorer:
    """Score 1 if the last match of a pattern equals the row's answer.

    A pattern that runs for more than a second matches nothing.
    """
    compiled = regex.compile(text)

    def score(answer: str, row: Row, gold: Any) -> bool:
        try:
            found = [match.group(group) for match in compiled.finditer(answer, timeout=_PATTERN_S)]
        except TimeoutError:
            return False
        return bool(found) and found[-1] == str(gold)

    return Scorer(score=score)


def function(score: Callable[[str, Row], Score], *, channels: Sequence[str] = ()) -> Scorer:
    """Score by a function of the answer and the row.

    The function returns a score from 0 to 1, or a pair with the measurements named in `channels`.
    """
    return Scorer(score=lambda answer, row, gold: score(answer, row), channels=tuple(channels), needs_answer=False)


def judge(
    model: str,
    *,
    base_url: str,
    prompt: str = "Grade the answer. With a reference, an answer is right if it states the same as the reference.",
    scale: float = 10,
    columns: Sequence[str] = ("question",),
    key_env: str = "OPENAI_API_KEY",
    attempts: int = 4,
    reply_s: float = 60.0,
    extra: Mapping[str, Any] | None = None,  # Any: JSON
) -> Scorer:
    """Score by the grade of a model behind an OpenAI-compatible server, divided by the scale.

    The judge reads the prompt, the columns, the row's own answer, if any, as `reference`, and the answer, each quoted;
    see `cairn.envs.judge_server`. If the judge returns no grade, the episode fails; it is retried and never scored 0.

    Args:
        model: the server's name for the judge.
        base_url: the server's address, including ``/v1``.
        prompt: how to grade.
        scale: the best grade; 0 is the worst.
        columns: columns of the row for the judge.
        key_env: the environment variable that holds the API key, if the server requires one.
        attempts: maximum number of requests for a grade.
        reply_s: time limit in seconds for a complete reply, and for the wait between two attempts.
        extra: further fields of the request, such as ``{"max_tokens": 500}``; the default temperature is 0.

    Raises:
        ConfigError: the address, the scale or a limit is invalid.
    """
    server = JudgeServer(
        url=base_url,
        model=model,
        scale=scale,
        key_env=key_env,
        attempts=attempts,
        reply_s=reply_s,
        extra=extra or {},
    )

    def score(answer: str, row: Row, gold: Any) -> float:
        reference = {} if gold is None else {"reference": "\n".join(_golds(gold))}
        return server.grade(prompt, {**{each: str(row[each]) for each in columns}, **reference, "answer": answer})

    return Scorer(score=score, columns=tuple(columns), needs_answer=False, longest_s=server.longest_s)


def extractor(extract: Extract) -> Callable[[str], Found]:
    """Return a function from a reply to its answer.

    Raises:
        ConfigError: `extract` is unknown.
    """
    if isinstance(extract, re.Pattern):
        return lambda text: (
            found[-1] if (found := [match.group(match.lastindex or 0) for match in extract.finditer(text)]) else None
        )
    if callable(extract):
        return extract
    if extract not in _EXTRACTORS:
        raise ConfigError(
            f"extract: expected one of {', '.join(_EXTRACTORS)}, a pattern or a function, got {extract!r}"
        )
    return _EXTRACTORS[extract]


def written(extract: Extract, answer: str) -> str:
    """Return a reply from which `extract` takes the answer."""
    return _WRITERS.get(extract, "%s") % (answer,) if isinstance(extract, str) else answer


def without_thoughts(reply: str) -> str:
    """Return a reply without `<think> </think>`; an unclosed thought extends to the end."""
    return _THOUGHT.sub("", reply).strip()


def read_number(text: str) -> tuple[float, bool] | None:
    """Return the only number in a text, and whether it has a per cent sign.

    None: the text has no number, or several.
    """
    clean = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    fraction = re.fullmatch(r"\D*?(-?\d+)\s*/\s*(\d+)\D*", clean) or re.fullmatch(
        r"\D*?(-?)\\d?frac\{(\d+)\}\{(\d+)\}\D*", clean
    )
    if fraction is not None:
        *signs, above, below = fraction.groups()
        value = float(above) / float(below) if float(below) else math.nan
        value = -value if "-" in signs else value
        return (value, False) if math.isfinite(value) else None
    found = _NUMBER.findall(clean)
    if len(found) != 1:
        return None
    whole = found[0].rstrip("%")
    if "," in whole and not re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", whole):
        return None
    value = float(whole.replace(",", ""))
    return (value, found[0].endswith("%")) if math.isfinite(value) else None


def _last_match(pattern_: re.Pattern[str], text: str) -> Found:
    found = [match.group(match.lastindex or 0) for match in pattern_.finditer(text)]
    return found[-1] if found else None


def _boxed(text: str) -> Found:
    """Return the content of the last \\boxed{}, with balanced braces."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for at in range(start + len("\\boxed"), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + len("\\boxed{") : at].strip()
    return None


def _tagged(text: str) -> Found:
    found = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    return found[-1].strip() if found else None


def _hashed(text: str) -> Found:
    _, mark, rest = text.rpartition("####")
    return (rest.strip().splitlines() or [""])[0].strip() or None if mark else None


def _last_number(text: str) -> Found:
    found = _NUMBER.findall(text)
    return found[-1].rstrip(",") if found else None


def _last_line(text: str) -> Found:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else None


_EXTRACTORS: dict[str, Callable[[str], Found]] = {
    "all": lambda text: text.strip() or None,
    "boxed": _boxed,
    "answer": _tagged,
    "hash": _hashed,
    "last_number": _last_number,
    "last_line": _last_line,
}
_WRITERS = {"boxed": "\\boxed{%s}", "answer": "<answer>%s</answer>", "hash": "#### %s"}  # otherwise unchanged


def _golds(gold: Any) -> list[str]:
    return [str(each) for each in gold] if isinstance(gold, Sequence) and not isinstance(gold, str) else [str(gold)]


def _normalised(text: str) -> str:
    folded = _ARTICLES.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split()).rstrip(".").strip()
