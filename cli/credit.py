"""`cairn credit`: a credit method on a run's stored episodes, compared with another one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._shared.output import Json, Settings, show_json, show_table
from cairn.cli._shared.progress import progress

if TYPE_CHECKING:
    from cairn.core.store import RunStore
    from cairn.trainer.stored_credit import StoredStep


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(credit)


def credit(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    method: Annotated[str, typer.Option(help="The method to compute.")] = "closure",
    compare: Annotated[str, typer.Option(help="The method to set beside it.")] = "gigpo",
    update: Annotated[int | None, typer.Option(min=1, help="One update's episodes; default: all.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many disagreements to show.")] = 10,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Recompute advantages without new rollouts; --set gives settings of --method."""
    from cairn.core.config import parse_flags
    from cairn.core.store import RunStore
    from cairn.trainer.credit import advantages
    from cairn.trainer.metrics import credit_metrics
    from cairn.trainer.stored_credit import compare as agreement
    from cairn.trainer.stored_credit import stored_steps

    with progress("credit", 4) as advance, RunStore.read(run) as store:
        table, places = stored_steps(store, update)
        advance(f"{len(table):,} steps, {method}")
        ours = advantages(table, method, **parse_flags(settings))
        advance(compare)
        theirs = advantages(table, compare)
        advance("where they disagree")
        correlation, signs, apart = agreement(places, ours, theirs, top)
        seen = [_seen(store, each.step) for each in apart]
        both = ((method, ours), (compare, theirs))
        metrics = {name: credit_metrics(table, found[table.order]) for name, found in both}
        advance()
    if as_json:
        disagreements = [asdict(each) | {"observation": text} for each, text in zip(apart, seen, strict=True)]
        answer = {"steps": len(table), "correlation": correlation, "equal_signs": signs, "metrics": metrics}
        show_json({**answer, "disagreements": disagreements})
        return
    typer.echo(f"{len(table):,} steps of {table.num_episodes:,} episodes")
    typer.echo(f"{method} and {compare}: correlation {correlation:.2f}, equal signs {signs:.0%}")
    names = list(dict.fromkeys((method, compare)))
    show_table(("metric", *names), [(key, *(f"{metrics[n][key]:.3f}" for n in names)) for key in metrics[method]])
    typer.echo(f"\nWidest disagreements; {method} and {compare} in standard deviations of each")
    show_table(
        ("update", "episode", "turn", method, compare, "action", "observation"),
        [
            (
                *(str(x) for x in (each.step.update, each.step.episode, each.step.turn)),
                f"{each.first:+.2f}", f"{each.second:+.2f}", each.step.action[:60], _first_line(text),
            )
            for each, text in zip(apart, seen, strict=True)
        ],
    )  # fmt: skip


def _seen(store: RunStore, step: StoredStep) -> str:
    """Return the observation of a step, or "" if it was deleted."""
    body = store.body(step.episode)
    return "" if body is None else body.observations[step.turn]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:80]
