"""Complete updates of the quick start's household task: Cairn and TRL in alternation.

Each runs in a fresh process.

The bar is on processor time, which on one thread equals the wall time of an idle machine.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence

from cairn.benchmarks.outcome import ResultTable, Row, row
from cairn.benchmarks.process import in_fresh_process, watched
from cairn.benchmarks.train import with_cairn, with_trl
from cairn.benchmarks.train.updates import PHASES, UpdateTimes, Workload, save_policy

FASTER = 3.0
_DEMONSTRATIONS, _EPOCHS = 400, 3  # enough for mostly valid actions
_ROUNDS = 3
OURS, THEIRS, HELD = "Cairn", "TRL", "Cairn, actions only"

Measured = Mapping[str, Sequence[UpdateTimes]]  # by side, in the order of the rounds


def compare(quick: bool) -> tuple[list[Row], list[ResultTable]]:
    """Return rows and a table; `quick` measures nothing and returns a row with the reason."""
    if quick:
        return [row("train: side by side with TRL, not measured: takes minutes; leave --quick out", None, "")], []
    with tempfile.TemporaryDirectory() as folder:
        in_fresh_process(save_policy, folder, _DEMONSTRATIONS, _EPOCHS)
        measured = _measured(folder, Workload(), _ROUNDS)
    return rows(measured), [table(measured)]


def _measured(folder: str, work: Workload, rounds: int) -> Measured:
    sides: dict[str, Callable[[], UpdateTimes]] = {
        OURS: lambda: in_fresh_process(with_cairn.measure, folder, work, False),
        HELD: lambda: in_fresh_process(with_cairn.measure, folder, work, True),
    }
    if with_trl.is_installed():
        sides[THEIRS] = lambda: in_fresh_process(with_trl.measure, folder, work)
    found: dict[str, list[UpdateTimes]] = {side: [] for side in sides}
    for _ in watched("train: rounds of every side", range(rounds)):
        for side, measure in sides.items():
            found[side].append(measure())
    return found


def rows(measured: Measured) -> list[Row]:
    """Return the rows of each side, and of their comparison."""
    out = [line for side, updates in measured.items() for line in _alone(side, updates)]
    if THEIRS not in measured:
        return [*out, row(f"train: TRL not measured: not installed; {with_trl.INSTALL}", None, "")]
    ours, theirs = measured[OURS], measured[THEIRS]
    return [
        *out,
        _ratio("episodes/s, end to end", ours, theirs, lambda u: u.episodes / u.cpu_seconds, f">= {FASTER}"),
        _ratio("the same by wall time", ours, theirs, lambda u: u.episode_rate),
        _ratio("sampled tokens/s of rollout", ours, theirs, lambda u: u.token_rate),
        _ratio("turns/s of the optimiser step", ours, theirs, lambda u: u.turns / u.phases["learn"]),
        _ratio("peak memory", ours, theirs, lambda u: u.peak_mb),
        _ratio("turns of an episode", ours, theirs, lambda u: u.turns / u.episodes),
        _ratio("sampled tokens of a turn", ours, theirs, lambda u: u.sampled / u.turns),
        _ratio("episodes/s, replies held to actions", measured[HELD], theirs, lambda u: u.episode_rate),
    ]


def _alone(side: str, updates: Sequence[UpdateTimes]) -> list[Row]:
    where = f"train: update, {side}"
    return [
        row(f"{where}, episodes/s", _median(updates, lambda u: u.episode_rate), "episodes/s"),
        row(f"{where}, sampled tokens/s of rollout", _median(updates, lambda u: u.token_rate), "tokens/s"),
        row(f"{where}, optimiser step", _median(updates, lambda u: u.phases["learn"]), "s"),
        *(row(f"{where}, share of {p}", statistics.median(u.share(p) for u in updates), "of time") for p in PHASES),
        row(f"{where}, peak memory", _median(updates, lambda u: u.peak_mb), "MB"),
    ]


def _ratio(
    what: str,
    ours: Sequence[UpdateTimes],
    theirs: Sequence[UpdateTimes],
    of: Callable[[UpdateTimes], float],
    bar: str | None = None,
) -> Row:
    """Return the median of the rounds' ratios; in each round both sides run in sequence."""
    ratios = [of(a) / of(b) for a, b in zip(ours, theirs, strict=True)]
    spread = f"rounds: {', '.join(f'{r:.2f}' for r in ratios)}"
    baseline = f"TRL's GRPOTrainer, {_median(theirs, of):,.4g}; {spread}"
    return row(f"train: update, {what}, Cairn against TRL", statistics.median(ratios), "x", bar, baseline)


def _median(updates: Sequence[UpdateTimes], of: Callable[[UpdateTimes], float]) -> float:
    return statistics.median(map(of, updates))


def table(measured: Measured) -> ResultTable:
    """Return a table with a line per update."""
    columns = ("side", "seconds", "processor", "episodes/s", "tokens/s", *PHASES, "turns", "tokens", "solved", "MB")
    lines = tuple(_line(side, update) for side, updates in measured.items() for update in updates)
    some = next(iter(measured.values()))[0]
    return ResultTable(title=f"Updates of {some.episodes} episodes, seconds by phase", columns=columns, rows=lines)


def _line(side: str, update: UpdateTimes) -> tuple[str, ...]:
    return (
        side, f"{update.seconds:.1f}", f"{update.cpu_seconds:.1f}", f"{update.episode_rate:.2f}",
        f"{update.token_rate:.0f}", *(f"{update.phases[phase]:.2f}" for phase in PHASES), f"{update.turns:,}",
        f"{update.sampled:,}", str(update.solved), f"{update.peak_mb:.0f}",
    )  # fmt: skip
