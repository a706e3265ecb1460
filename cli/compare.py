"""`cairn compare`: two evaluations on one panel, task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._shared.output import Json, show_json, show_table

if TYPE_CHECKING:
    from cairn.agents.evaluation.compare import Comparison, Side


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compare)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="An evaluation's folder; of several seeds: A1,A2,...")],
    second: Annotated[str, typer.Argument(metavar="B", help="The evaluation to compare with it, likewise.")],
    measure: Annotated[list[str], typer.Option(help="success, score, return or turns; may be given again.")] = [
        "success"
    ],
    as_json: Json = False,
) -> None:
    """Compare two evaluations on the same panel.

    Prints differences by task, with intervals, tests and the number of tasks needed. One panel may be the other's with
    `--perturb`: the same tasks in other words.
    """
    from cairn.agents.evaluation.compare import compare as run

    sides = {"A": _folders(first), "B": _folders(second)}
    found = run(sides["A"], sides["B"], measure)
    gates = _gates(sides)
    if as_json:
        show_json([{**each.to_dict(), "gates": gates} for each in found])
        return
    typer.echo(f"A: {', '.join(found[0].first.agents)}\nB: {', '.join(found[0].second.agents)}")
    for line in _wordings(found):
        typer.echo(line)
    columns = ("part", "measure", "A", "B", "B - A, 95 % interval", "only A", "only B", "p", "d", "tasks needed")
    show_table(columns, [_cells(each) for each in found])
    typer.echo(
        f"\np: {found[0].paired.test}. d: mean difference in standard deviations, where they vary. Tasks needed: to"
    )
    typer.echo("tell this difference from none 8 times of 10, at 5 %.")
    for each in found:
        for name, side in (("A", each.first), ("B", each.second)):
            if side.over_seeds is not None:
                typer.echo(f"{each.family}, {each.measure}, {name}: {_seeds(side)}")
    for line in (*_exclusions(found), *gates):
        typer.echo(line)


def _exclusions(found: list[Comparison]) -> list[str]:
    """Return lines on the sides with excluded episodes, by part.

    The comparison leaves these out.
    """
    lines = []
    for each in {each.family: each for each in found}.values():
        for name, side in (("A", each.first), ("B", each.second)):
            if any(side.excluded):
                mark = "" if side.is_final else "NOT FINAL: "
                shares = ", ".join(f"{100 * share:.1f} %" for share in side.excluded)
                lines.append(f"{mark}{name}, {each.family}: {shares} of the episodes failed and are excluded")
    return lines


def _gates(sides: Mapping[str, Sequence[Path]]) -> list[str]:
    """Return the parts that failed the sanity checks of their evaluation, or were not checked."""
    from cairn.agents.evaluation.sanity_checks import kept_marks

    marks = [(side, *each) for side, folders in sides.items() for folder in folders for each in kept_marks(folder)]
    return list(dict.fromkeys(f"{side}, {family}: {mark}" for side, family, mark in marks if not mark.holds))


def _folders(listed: str) -> list[Path]:
    return [Path(each.strip()) for each in listed.split(",") if each.strip()]


def _wordings(found: list[Comparison]) -> list[str]:
    """Return a note if the two evaluations worded the tasks differently."""
    pairs = dict.fromkeys((each.first.perturbations, each.second.perturbations) for each in found)
    return [f"The wording differs: A's tasks are {_words(a)}, B's are {_words(b)}" for a, b in pairs if a != b]


def _words(perturbations: tuple[str, ...]) -> str:
    return f"under {', '.join(perturbations)}" if perturbations else "in their own words"


def _cells(found: Comparison) -> tuple[str, ...]:
    result = found.paired
    return (
        found.family,
        found.measure,
        str(found.first.mean),
        str(found.second.mean),
        f"{result.difference.mean:+.3f} [{result.difference.low:+.3f}, {result.difference.high:+.3f}]",
        str(result.only_first),
        str(result.only_second),
        "< 0.0001" if result.p_value < 0.0001 else f"{result.p_value:.4f}",
        "" if result.effect is None else f"{result.effect:+.2f}",
        "" if result.tasks_needed is None else f"{result.tasks_needed:,}",
    )


def _seeds(side: Side) -> str:
    assert side.over_seeds is not None
    low, high = side.over_seeds
    values = ", ".join(f"{value:.3f}" for value in side.by_seed)
    return f"{len(side.by_seed)} seeds ({values}), Student's 95 % interval over seeds [{low:.3f}, {high:.3f}]"
