"""Reads and validates the facts of an evaluation in its run store, which is untrusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cairn.agents.backends.http.usage import TokenUsage
from cairn.agents.evaluation.metrics import TaskFacts
from cairn.agents.evaluation.panel import Panel
from cairn.core.errors import CairnError
from cairn.core.store import RunStore


class StoredFacts(BaseModel):
    """Settings and versions of the evaluation; older evaluations lack some fields."""

    model_config = ConfigDict(extra="allow")

    key: str = ""
    agent_hash: str = ""
    agent_settings: dict[str, Any] = {}  # Any: JSON; on top of the agent's own
    temperature: float | None = None
    cairn: str = ""


class StoredEvaluation(BaseModel):
    """The facts that `agents.evaluation.runner` stores; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True)

    agent: str
    panel: Panel
    facts: StoredFacts
    tasks: list[dict[str, TaskFacts]] = Field(description="By task id, one table a part.")
    ranges: list[tuple[float, float]] = Field(description="Of scores, one a part.")
    usage: TokenUsage | None = None
    seconds: float | None = None
    gates: list[dict[str, Any]] | None = None  # Any: JSON; see `agents.evaluation.sanity_checks.Verdicts`

    @model_validator(mode="after")
    def _one_a_part(self) -> StoredEvaluation:
        listed: dict[str, Sequence[object] | None] = {"tasks": self.tasks, "ranges": self.ranges, "gates": self.gates}
        if wrong := [name for name, of in listed.items() if of is not None and len(of) != len(self.panel.parts)]:
            raise ValueError(f"expected {len(self.panel.parts)} entries of {wrong[0]!r}, one a part of the panel")
        for verdict in self.gates or ():
            if not isinstance(verdict.get("holds"), bool) or not isinstance(verdict.get("reasons"), list):
                raise ValueError("expected 'holds' and 'reasons' in each entry of 'gates'")
        return self


def stored_evaluation(store: RunStore) -> StoredEvaluation:
    """Return the facts of a store's evaluation.

    Raises:
        CairnError: the store has no evaluation, or its facts are malformed.
    """
    meta = store.meta()
    if "panel" not in meta:
        folder = str(store.path.parent)
        raise CairnError(f"{folder!r} holds no evaluation: cairn eval makes one; a training run is none")
    try:
        return StoredEvaluation.model_validate(meta)
    except (ValidationError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": "nested too deeply"}
        place = ".".join(map(str, first["loc"]))
        raise store.damaged(f"its facts about the evaluation: {place}: {first['msg']}") from error
