"""Evaluates an agent on a panel and stores the episodes in a run store per evaluation.

The folder's name has a hash of everything that the result depends on: the panel's tasks, the agent's weights and
settings, and the code, which is Cairn's version and the files of environments outside it. A finished evaluation is read
from its folder and not played again; an interrupted one is resumed, and its infrastructure failures are retried. Only
one process can play an evaluation at a time.
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
    """The results on one part of a panel."""

    family: str
    env: str
    measures: Measures
    signs: RewardHackingSigns  # of reward hacking
    digest: str  # equal for identical episodes: see core.store.digest

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the results as JSON-ready tables."""
        fields = {"family": self.family, "env": self.env, "digest": self.digest, "signs": self.signs.to_dict()}
        return fields | self.measures.to_dict()


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The results of an evaluation and its folder."""

    agent: str
    panel: Panel
    facts: Mapping[str, Any]  # Any: JSON; settings, hashes and versions
    parts: tuple[PartResult, ...]
    folder: Path
    usage: TokenUsage | None  # of a server, summed over all sessions; None: no server was used
    played: int  # episodes played in this call
    seconds: float  # of playing, summed over all sessions
    gates: Verdicts | None = None  # of the panel's parts, in order; None: the checks were not run

    def training_tasks(self, number: int) -> int:
        """Return how many tasks of part `number` the agent was trained on; 0 if unknown."""
        return training_tasks(self.facts, number)

    def mark(self, number: int) -> Mark:
        """Return the sanity check result of part `number`."""
        return mark_of(self.gates, number)

    @property
    def is_final(self) -> bool:
        """Whether each part is final, that is, has few enough excluded episodes.

        See `agents.evaluation.metrics`.
        """
        return all(part.measures.is_final for part in self.parts)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the evaluation as JSON-ready tables."""
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
    """Play an agent on a panel, or on tasks of one environment, unless it is already stored.

    Args:
        agent: name, function or class; see `agents.agent.load_agent` and `agents.code_agent`.
        env: registered id; instead of a panel.
        panel: name, file or loaded panel.
        config: settings of `env`.
        settings: the agent's settings: tables ``agent`` and ``sampling``, merged over its stored ones.
        tasks: of `env`: ids, or a number of tasks from the start of the configured split.
        seed: for `env`: seed of the environment and the agent.
        attempts: for `env`: attempts per task.
        temperature: sampling temperature, for policies; 0: the most probable token.
        pace: number of episodes in flight.
        root: folder of stored evaluations.
        on_episode: called with each episode that is played now.
        on_left: called before the first episode with the number of missing ones.

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


def training_tasks(facts: Mapping[str, Any], number: int) -> int:  # Any: untrusted JSON
    """Return the number of training tasks in part `number` of an evaluation; 0 if unknown."""
    counts = facts.get("training_tasks")
    found = counts[number] if isinstance(counts, list) and number < len(counts) else 0
    return found if isinstance(found, int) else 0


def load_evaluation(folder: Path) -> Evaluation:
    """Return a stored evaluation.

    Raises:
        CairnError: there is no evaluation in the folder, or it is unfinished.
    """
    with RunStore.read(folder) as store:
        kept = stored_evaluation(store)
        panel = kept.panel
        parts = tuple(_result(store, kept, number, part) for number, part in enumerate(panel.parts))
        wanted = sum(len(part.tasks) * part.attempts for part in panel.parts)
        found = sum(result.measures.episodes + result.measures.excluded for result in parts)
        if found < wanted:
            raise CairnError(
                f"The evaluation in {str(folder)!r} stopped after {found} of {wanted} episodes; repeat the "
                "same cairn eval to continue"
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
    """Return a value of every scored attempt of a stored evaluation, by part and task."""
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
        "agent_folder": None if agent.place is None else str(agent.place.resolve()),  # not in the key: it may move
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
