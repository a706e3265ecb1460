"""An agent on a panel, kept: one run store an evaluation, in a folder that is named after what the result depends on.

The name has a hash of the panel's tasks, the agent's weights and settings, and the code: Cairn's version, and the files
of environments outside it. The same evaluation is read from its folder and not played again; one that was interrupted
goes on where it stopped; failed episodes (faults of ours) are tried again then. Two processes cannot play one
evaluation at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from cairn.agents.agent import Agent, load_agent
from cairn.agents.backends.http.usage import TokenUsage
from cairn.agents.code_agent import AgentCode
from cairn.agents.evaluation.arguments import sampling_temperature
from cairn.agents.evaluation.fingerprint import VERSION, fingerprint, panel_key
from cairn.agents.evaluation.jobs import Pace
from cairn.agents.evaluation.metrics import Measures, measure
from cairn.agents.evaluation.panel import Panel, PanelSection, load_panel, tasks_panel
from cairn.agents.evaluation.runner import EvaluationRunner, latest
from cairn.agents.evaluation.sanity_checks import Mark, RewardHackingSigns, Verdicts, count_signs, mark_of
from cairn.agents.evaluation.stored import StoredEvaluation, stored_evaluation
from cairn.core.config import as_table
from cairn.core.errors import CairnError, ConfigError
from cairn.core.folders import writing_to
from cairn.core.records import Episode
from cairn.core.store import RunStore, read
from cairn.core.store.digest import digest_all
from cairn.core.store.read import EpisodeRow

ROOT = Path("evals")


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """What was found on one part of a panel."""

    family: str
    env: str
    measures: Measures
    signs: RewardHackingSigns  # of reward hacking
    digest: str  # equal where the same happened: see core.store.digest

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return it JSON-ready."""
        told = {"family": self.family, "env": self.env, "digest": self.digest, "signs": self.signs.to_dict()}
        return told | self.measures.to_dict()


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What was found, and where it is kept."""

    agent: str
    panel: Panel
    facts: Mapping[str, Any]  # Any: JSON; settings, hashes and versions
    parts: tuple[PartResult, ...]
    folder: Path
    usage: TokenUsage | None  # of a server, all times together; None: none was asked
    played: int  # episodes that were played now; 0: all of them had been before
    seconds: float  # of playing, all times together
    gates: Verdicts | None = None  # of the panel's parts, in their order; None: the gates were not run

    def training_tasks(self, number: int) -> int:
        """Return how many tasks of the part of this number the agent was trained on; 0 where that is not known."""
        return training_tasks(self.facts, number)

    def mark(self, number: int) -> Mark:
        """Return what the gates say of the part of this number."""
        return mark_of(self.gates, number)

    @property
    def is_final(self) -> bool:
        """Whether no part excludes more episodes than a final result may; see `agents.evaluation.metrics`."""
        return all(part.measures.is_final for part in self.parts)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return it JSON-ready."""
        return {
            "agent": self.agent,
            "panel": self.panel.name,
            "version": self.panel.version,
            "hash": self.panel.content_hash(),
            **self.facts,
            "folder": str(self.folder),
            "played": self.played,
            "seconds": self.seconds,
            "usage": None if self.usage is None else asdict(self.usage),
            "gates": None if self.gates is None else list(self.gates),
            "is_final": self.is_final,
            "parts": [part.to_dict() for part in self.parts],
        }


def evaluate(
    agent: str | AgentCode,
    env: str | None = None,
    *,
    panel: str | Path | Panel | None = None,
    config: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    tasks: int | Sequence[str] = 100,
    seed: int = 0,
    attempts: int = 1,
    temperature: float = 0.4,
    pace: Pace | None = None,
    root: Path = ROOT,
    on_episode: Callable[[PanelSection, Episode], None] = lambda _, __: None,
    on_left: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Play an agent on a panel, or on tasks of one environment, unless that was done before.

    Args:
        agent: name, function or class; see `agents.agent.load_agent` and `agents.code_agent`.
        env: registered id; in place of a panel.
        panel: name, file, or one that was loaded.
        config: settings of `env`.
        settings: the agent's: tables ``agent`` and ``sampling``, on top of what is stored with it.
        tasks: of `env`: ids, or how many from the start of the configured split.
        seed: for `env`: of chance in the environment and in the agent.
        attempts: for `env`: at each task.
        temperature: of sampling, for policies; 0: the most probable token.
        pace: how many episodes are in flight.
        root: where evaluations are kept.
        on_episode: called with each episode that is played now.
        on_left: called before the first with how many those are.

    Raises:
        UnknownNameError: no such panel, environment or task.
        ConfigError: the agent cannot be loaded, a setting is wrong, or the panel's tasks are not the same here.
        CairnError: the evaluation's folder cannot be written.

    Warns:
        CairnWarning: the agent is a model without a chat template; `Evaluation.facts` has the text as ``warning``.
    """
    temperature = sampling_temperature(temperature)
    config, settings = as_table(config, "config"), as_table(settings, "settings")
    if (env is None) == (panel is None):
        raise ConfigError("Say what to evaluate on: an environment, or a panel (cairn panels list)")
    if env is not None:
        chosen = tasks_panel(env, config, tasks, seed, attempts)
    else:
        assert panel is not None
        chosen = panel if isinstance(panel, Panel) else load_panel(panel)
    if "temperature" in as_table(settings.get("sampling"), "sampling"):
        raise ConfigError("sampling.temperature: an evaluation has its own; say it by --temperature")
    loaded = load_agent(agent, settings)
    facts = _facts(loaded, chosen, temperature, settings)
    trained = loaded.trained
    if trained is not None:
        facts["training_tasks"] = [trained.among(part.env, part.tasks) for part in chosen.parts]
    folder = root / f"{chosen.name}-{_slug(loaded.name)}-{facts['key'][:10]}"
    with writing_to(folder, "an evaluation"), RunStore(folder / "run.sqlite") as store:
        played = EvaluationRunner(loaded, chosen, pace or Pace(), facts, store, on_episode, on_left).play()
    return replace(load_evaluation(folder), played=played)


def training_tasks(facts: Mapping[str, Any], number: int) -> int:  # Any: JSON, perhaps of a stranger
    """Return how many tasks of a part the facts of an evaluation count as training tasks; 0 where they do not say."""
    counts = facts.get("training_tasks")
    found = counts[number] if isinstance(counts, list) and number < len(counts) else 0
    return found if isinstance(found, int) else 0


def load_evaluation(folder: Path) -> Evaluation:
    """Return an evaluation that was kept.

    Raises:
        CairnError: there is none in the folder, or it has not come to its end.
    """
    with RunStore.read(folder) as store:
        kept = stored_evaluation(store)
        panel = kept.panel
        parts = tuple(_result(store, kept, number, part) for number, part in enumerate(panel.parts))
        wanted = sum(len(part.tasks) * part.attempts for part in panel.parts)
        found = sum(result.measures.episodes + result.measures.excluded for result in parts)
        if found < wanted:
            raise CairnError(
                f"The evaluation in {str(folder)!r} stopped after {found} of {wanted} episodes; the same cairn eval "
                "goes on"
            )
        return Evaluation(
            agent=kept.agent,
            panel=panel,
            facts=kept.facts.model_dump(),
            parts=parts,
            folder=folder,
            usage=kept.usage,
            played=0,
            seconds=kept.seconds or 0.0,
            gates=kept.gates,
        )


def outcomes(folder: Path, value: Callable[[EpisodeRow], float]) -> dict[tuple[int, str], list[float]]:
    """Return a value of every scored attempt of a kept evaluation, by part and task."""
    found: dict[tuple[int, str], list[float]] = {}
    with RunStore.read(folder) as store:
        for number, _ in enumerate(stored_evaluation(store).panel.parts):
            for row in latest(store, number):
                if row.success is not None:
                    found.setdefault((number, row.task), []).append(value(row))
    return found


# -- helpers -----------------------------------------------------------------------------------------------------------


def _facts(agent: Agent, panel: Panel, temperature: float, settings: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    who = fingerprint(agent, temperature)
    key = sha256(json.dumps([panel_key(panel), who]).encode()).hexdigest()
    return {
        "key": key,
        "agent_hash": who,
        "agent_settings": dict(settings),
        "agent_folder": None if agent.place is None else str(agent.place.resolve()),  # no part of the key: it may move
        "temperature": temperature,
        "warning": agent.warning,
        "cairn": VERSION,
    }


def _result(store: RunStore, kept: StoredEvaluation, number: int, part: PanelSection) -> PartResult:
    rows = latest(store, number)
    episodes = list(read.whole_episodes(store, rows, has_images=False))
    return PartResult(
        family=part.family,
        env=part.env,
        measures=measure(rows, kept.tasks[number]),
        signs=count_signs(episodes, kept.ranges[number]),
        digest=digest_all(episode for episode in episodes if not episode.is_failed),
    )


def _slug(agent: str) -> str:
    words = "".join(char if char.isalnum() else "-" for char in agent).strip("-").lower()
    return words[-40:].strip("-") or "agent"
