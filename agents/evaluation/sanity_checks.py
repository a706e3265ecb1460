"""Sanity checks of an evaluation panel: agents that should win nothing play a sample of it before numbers are reported.

`null` does nothing, `null:quit` ends the task as soon as it can, `random` draws among the admissible actions,
`injection` claims success. A part fails if `null`, `null:quit` or `injection` solves a task or could not be scored. The
success of `random` is the level of chance, reported beside the numbers of the part.

`count_signs` counts signs of reward hacking in any episodes: scores without success, failures of the scoring, and
tampering that environments report in channels whose names begin with `TAMPERING`. A sign is no proof, since partial
scores are valid in many environments. Tampering that no environment looks for is not counted.
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
KEPT_SAMPLE = 8  # of those that are kept: they are played before any number is told
CHANCE = "random"
MUST_LOSE = ("null", "null:quit", "injection")
_SLOTS = 8


@dataclass(frozen=True, kw_only=True)
class RewardHackingSigns:
    """Signs of reward hacking among some episodes: how many have each."""

    episodes: int
    score_without_success: int  # a high score, and the task not solved
    validator_errors: int  # the scoring failed, so that there is no score
    failed: Mapping[str, int]  # of all that failed: by cause
    tampering: Mapping[str, int]  # by what the environment calls it: a file of the tests changed, ...

    @property
    def total(self) -> int:
        """How many there are of scores without success, of failed scorings and of tampering."""
        return self.score_without_success + self.validator_errors + sum(self.tampering.values())

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready tables."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of an episode, as far as signs are looked for in it."""

    score: float | None
    success: bool | None
    cause: str | None  # of its failure; None: it did not fail
    tampering: frozenset[str] = frozenset()  # what its environment reports, by name


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What one agent got on a sample."""

    agent: str
    success: Rate
    score: Interval | None  # by task; None: nothing was scored
    signs: RewardHackingSigns


@dataclass(frozen=True, kw_only=True)
class SanityResult:
    """What the gates say of one part of a panel."""

    family: str
    env: str
    tasks: tuple[str, ...]  # the sample
    probes: tuple[Probe, ...]
    reasons: tuple[str, ...]  # why its numbers are not to be trusted; none: nothing was found

    @property
    def holds(self) -> bool:
        """Whether nobody won who should not."""
        return not self.reasons

    @property
    def is_null_winnable(self) -> bool:
        """Whether doing nothing, or giving up, solves a task."""
        return any(probe.success.successes for probe in self.probes if probe.agent.startswith("null"))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready tables."""
        return {**asdict(self), "holds": self.holds, "is_null_winnable": self.is_null_winnable}


def run_gates(
    panel: Panel | PanelSection,
    *,
    sample: int = SAMPLE,
    agents: Sequence[str] = (*MUST_LOSE, CHANCE),
    on_episode: Callable[[PanelSection, str, Episode], None] = lambda part, agent, episode: None,
) -> tuple[SanityResult, ...]:
    """Play `agents` on a sample of each part, evenly spread over its tasks, and return a verdict for each.

    `on_episode` hears of each episode with its part and agent.

    Raises:
        ConfigError: the panel's tasks are not the same here.
    """
    parts = panel.parts if isinstance(panel, Panel) else (panel,)
    return tuple(_verdict(part, spread(list(part.tasks), sample), agents, on_episode) for part in parts)


def kept_gates(
    panel: Panel, root: Path, on_episode: Callable[[PanelSection, str, Episode], None] = lambda *_: None
) -> list[dict[str, Any]]:  # Any: JSON
    """Return the verdict on each part of a panel, as JSON; one is kept below `root` for each panel and its code.

    None is kept where an agent could not be tried: what was missing may be there next time.
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
        reward_range: its scores' lowest and highest.
        threshold: a score counts as high from this share of the way from the lowest to the highest.
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
    """Return what the channels of an episode's turns report of tampering, each once."""
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
    """What stands beside the numbers of a part."""

    holds: bool | None  # None: the gates were not run
    reasons: str = ""  # why it does not hold

    def __str__(self) -> str:
        if self.holds is None:
            return "gates not run"
        return "held" if self.holds else f"DOES NOT HOLD: {self.reasons}"


def mark_of(verdicts: Verdicts | None, number: int) -> Mark:
    """Return the mark of the part of this number; None: the gates were not run."""
    if verdicts is None:
        return Mark(holds=None)
    return Mark(holds=bool(verdicts[number]["holds"]), reasons="; ".join(map(str, verdicts[number]["reasons"])))


def keep_verdicts(folder: Path, verdicts: Verdicts) -> None:
    """Note in a kept evaluation what the gates said of its panel.

    Raises:
        CairnError: it cannot be written.
    """
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"gates": list(verdicts)})


def kept_marks(folder: Path) -> list[tuple[str, Mark]]:
    """Return the parts of a kept evaluation's panel, each with its mark.

    Raises:
        CairnError: there is no run store in the folder, or no evaluation in it.
    """
    with RunStore.read(folder) as store:
        found = stored_evaluation(store)
    return [(part.family, mark_of(found.gates, number)) for number, part in enumerate(found.panel.parts)]
