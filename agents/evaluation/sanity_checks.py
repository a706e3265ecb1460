"""Sanity checks of a panel: agents that must not succeed play a sample of it.

The checks run before results are shown. `null` does nothing, `null:quit` ends the task as soon as it can, `random`
draws among the admissible actions, `injection` claims success. A part fails if `null`, `null:quit` or `injection`
solves a task or could not be scored. The success of `random` is the chance level, which is reported with the results of
the part.

`count_signs` counts signs of reward hacking in any episodes: scores without success, failures of the scoring, and
tampering that environments report in channels whose names begin with `TAMPERING`. A sign does not prove reward hacking,
since partial scores are valid in many environments. Tampering that no environment checks for is not counted.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cairn.agents.agent import load_agent
from cairn.agents.evaluation.fingerprint import panel_key
from cairn.agents.evaluation.panel import Panel, PanelSection, check_beginning, open_env, spread, task_seed
from cairn.agents.evaluation.report import Rate
from cairn.agents.evaluation.statistics import Interval, interval
from cairn.agents.evaluation.stored import stored_evaluation
from cairn.agents.rollout.engine import Engine, collect
from cairn.agents.rollout.episode import Job
from cairn.core.records import TAMPERING, Episode, Task
from cairn.core.seeding import derive_seed
from cairn.core.store import RunStore
from cairn.envs.pool.pool import EnvPool, PoolConfig
from cairn.envs.registry import closing_env

SAMPLE = 16  # tasks of a part
KEPT_SAMPLE = 8  # sample size of cached checks, which run before results are shown
CHANCE = "random"
MUST_LOSE = ("null", "null:quit", "injection")
_SLOTS = 8


@dataclass(frozen=True, kw_only=True)
class RewardHackingSigns:
    """Signs of reward hacking: the number of episodes with each."""

    episodes: int
    score_without_success: int  # a high score, and the task not solved
    validator_errors: int  # the scoring failed, so that there is no score
    failed: Mapping[str, int]  # failed episodes by cause
    tampering: Mapping[str, int]  # by the environment's name for it: a test file changed, ...

    @property
    def total(self) -> int:
        """Number of scores without success, failed scorings and cases of tampering."""
        return self.score_without_success + self.validator_errors + sum(self.tampering.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON-ready tables."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The fields of an episode that are checked for signs."""

    score: float | None
    success: bool | None
    cause: str | None  # cause of its failure; None: it did not fail
    tampering: frozenset[str] = frozenset()  # names of reported kinds of tampering


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One agent's results on a sample."""

    agent: str
    success: Rate
    score: Interval | None  # by task; None: no episode was scored
    signs: RewardHackingSigns


@dataclass(frozen=True, kw_only=True)
class SanityResult:
    """The results of the sanity checks on one part of a panel."""

    family: str
    env: str
    tasks: tuple[str, ...]  # the sample
    probes: tuple[Probe, ...]
    reasons: tuple[str, ...]  # why its results are not trustworthy; empty: no problem was found

    @property
    def holds(self) -> bool:
        """Whether every agent that must not succeed failed on all tasks."""
        return not self.reasons

    @property
    def is_null_winnable(self) -> bool:
        """Whether doing nothing, or giving up, solves a task."""
        return any(probe.success.successes for probe in self.probes if probe.agent.startswith("null"))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready tables."""
        return {**asdict(self), "holds": self.holds, "is_null_winnable": self.is_null_winnable}


def run_gates(
    panel: Panel | PanelSection,
    *,
    sample: int = SAMPLE,
    agents: Sequence[str] = (*MUST_LOSE, CHANCE),
    on_episode: Callable[[PanelSection, str, Episode], None] = lambda part, agent, episode: None,
) -> tuple[SanityResult, ...]:
    """Play `agents` on an evenly spread sample of each part, and return a result for each part.

    `on_episode` receives each episode with its part and agent.

    Raises:
        ConfigError: the panel's tasks are not the same here.
    """
    parts = panel.parts if isinstance(panel, Panel) else (panel,)
    return tuple(_verdict(part, spread(list(part.tasks), sample), agents, on_episode) for part in parts)


def kept_gates(
    panel: Panel, root: Path, on_episode: Callable[[PanelSection, str, Episode], None] = lambda *_: None
) -> list[dict[str, Any]]:  # Any: JSON
    """Return the results for each part of a panel, as JSON, cached below `root`.

    The cache has one file per panel and code. Results are not cached if an agent could not be scored, since the missing
    requirement may be present next time.
    """
    file = root / "gates" / f"{panel_key(panel)}.json"
    if file.is_file():
        kept: list[dict[str, Any]] = json.loads(file.read_text())
        return kept
    found = run_gates(panel, sample=KEPT_SAMPLE, on_episode=on_episode)
    verdicts = [verdict.to_dict() for verdict in found]
    if not all(probe.success.episodes for verdict in found for probe in verdict.probes):
        return verdicts
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(verdicts))
    partial.rename(file)
    return verdicts


def count_signs(
    episodes: Sequence[Episode], reward_range: tuple[float, float] = (0.0, 1.0), threshold: float = 0.5
) -> RewardHackingSigns:
    """Count signs of reward hacking.

    Args:
        episodes: of one environment.
        reward_range: lowest and highest score.
        threshold: a score is high from this fraction of the range on.
    """
    judged = [
        Judged(
            score=each.score,
            success=each.success,
            cause=str(each.ending.cause) if each.is_failed else None,
            tampering=tampering(turn.channels for turn in each.turns),
        )
        for each in episodes
    ]
    return signs_of(judged, reward_range, threshold)


def signs_of(
    judged: Sequence[Judged], reward_range: tuple[float, float] = (0.0, 1.0), threshold: float = 0.5
) -> RewardHackingSigns:
    """Count signs of reward hacking, as `count_signs` does."""
    low, high = reward_range
    failed: Counter[str] = Counter(each.cause for each in judged if each.cause is not None)
    is_high = [each.score is not None and each.score >= low + threshold * (high - low) for each in judged]
    return RewardHackingSigns(
        episodes=len(judged),
        score_without_success=sum(high and not each.success for high, each in zip(is_high, judged, strict=True)),
        validator_errors=failed["reward"],
        failed=dict(sorted(failed.items())),
        tampering=dict(sorted(Counter(sign for each in judged for sign in each.tampering).items())),
    )


def tampering(channels: Iterable[Mapping[str, float]]) -> frozenset[str]:
    """Return the names of the kinds of tampering in the channels of an episode's turns."""
    return frozenset(
        name.removeprefix(TAMPERING)
        for each in channels
        for name, value in each.items()
        if name.startswith(TAMPERING) and value > 0
    )


def _verdict(
    part: PanelSection,
    tasks: list[str],
    agents: Sequence[str],
    on_episode: Callable[[PanelSection, str, Episode], None],
) -> SanityResult:
    with closing_env(open_env(part)) as env:
        reward_range = env.meta.reward_range
    probes = []
    for agent in agents:

        def heard(episode: Episode, agent: str = agent) -> None:
            if episode.turns:
                check_beginning(part, episode.task.task_id, episode.turns[0].observation)
            on_episode(part, agent, episode)

        probes.append(_probe(agent, _played(agent, part, tasks, heard), reward_range))
    reasons = tuple(reason for probe in probes for reason in _reasons(probe))
    return SanityResult(family=part.family, env=part.env, tasks=tuple(tasks), probes=tuple(probes), reasons=reasons)


def _played(
    agent: str, part: PanelSection, tasks: Sequence[str], on_episode: Callable[[Episode], None]
) -> list[Episode]:
    jobs = [
        Job(
            task=Task(env_id=part.env, task_id=name, seed=task_seed(part.seed, name)),
            group_id=group,
            sample_seed=derive_seed(part.seed, "gates", agent, name),
        )
        for group, name in enumerate(tasks)
    ]
    loaded = load_agent(agent)
    backend = loaded.backend(slots=max(1, min(_SLOTS, len(jobs))))
    try:
        with EnvPool(part.env, part.config, PoolConfig(size=backend.num_slots)) as pool:
            return collect(Engine(backend, pool, loaded.interface), jobs, on_episode)
    finally:
        backend.close()


def _probe(agent: str, episodes: Sequence[Episode], reward_range: tuple[float, float]) -> Probe:
    scores = {each.task.task_id: [each.score] for each in episodes if each.score is not None}
    return Probe(
        agent=agent,
        success=Rate.of([bool(each.success) for each in episodes if not each.is_failed]),
        score=interval(scores) if scores else None,
        signs=count_signs(episodes, reward_range),
    )


def _reasons(probe: Probe) -> list[str]:
    won, played = probe.success.successes, probe.success.episodes
    if not played:
        return [f"no episode of the agent {probe.agent!r} could be scored: {dict(probe.signs.failed)}"]
    if won and probe.agent != CHANCE:
        return [f"the agent {probe.agent!r}, which should win nothing, solved {won} of {played} tasks"]
    return []


Verdicts = Sequence[Mapping[str, Any]]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The result of the sanity checks, shown with the results of a part."""

    holds: bool | None  # None: the checks were not run
    reasons: str = ""  # reasons for a failed check

    def __str__(self) -> str:
        if self.holds is None:
            return "gates not run"
        return "held" if self.holds else f"DOES NOT HOLD: {self.reasons}"


def mark_of(verdicts: Verdicts | None, number: int) -> Mark:
    """Return the mark of part `number`; with `verdicts` None, the checks were not run."""
    if verdicts is None:
        return Mark(holds=None)
    return Mark(holds=bool(verdicts[number]["holds"]), reasons="; ".join(map(str, verdicts[number]["reasons"])))


def keep_verdicts(folder: Path, verdicts: Verdicts) -> None:
    """Store the results of the sanity checks in a stored evaluation.

    Raises:
        CairnError: it cannot be written.
    """
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"gates": list(verdicts)})


def kept_marks(folder: Path) -> list[tuple[str, Mark]]:
    """Return the families of a stored evaluation's parts, each with its mark.

    Raises:
        CairnError: there is no run store in the folder, or no evaluation in it.
    """
    with RunStore.read(folder) as store:
        found = stored_evaluation(store)
    return [(part.family, mark_of(found.gates, number)) for number, part in enumerate(found.panel.parts)]
