"""`cairn train`: one run, from configuration to checkpoint, curves and summary."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._shared.output import Json, Settings, program, show_json, show_table

if TYPE_CHECKING:
    from cairn.trainer.config import RunConfig
    from cairn.trainer.run.result import Run


_INTERRUPTED = 130  # exit status of a command that Ctrl-C ended: 128 + SIGINT


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(train)


def train(
    config: Annotated[str, typer.Argument(help="A TOML file, or the name of a run that ships with Cairn.")] = "",
    settings: Settings = [],
    folder: Annotated[
        Path | None, typer.Option(help="Where the run is written; default: a new folder in runs/.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Continue the run in this folder; --set changes its settings from here on."),
    ] = None,
    imports: Annotated[
        list[str],
        typer.Option(
            "--import",
            metavar="MODULE:NAME",
            help="With --resume: a module in the current folder that the run names, and that you trust.",
        ),
    ] = [],
    accept_env_version: Annotated[
        bool, typer.Option("--accept-env-version", help="Continue although the environment's version has changed.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the needs of the run and whether it fits, without training.")
    ] = False,
    on: Annotated[
        str | None,
        typer.Option(
            help="With --plan: for other devices: h100, h200, a100, a100-40, l40s, 4090, or several, as h100x8."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a policy with progress on the screen.

    At the end draw its curves and print a summary.

    The exit status is 130 if Ctrl-C stopped the run before its end.
    """
    if plan or on:
        _plan(_configuration(config, settings, resume, imports), on, as_json, _defaulted(config, settings, resume))
        return
    from rich.console import Console

    from cairn.cli._shared.training_view import TrainingView
    from cairn.trainer.train import train as run_training

    chosen = _configuration(config, settings, resume, imports)
    with TrainingView(Console(stderr=True), chosen.trainer.updates) as watch:
        run = run_training(
            chosen,
            folder=resume or folder,
            callback=watch,
            resume=resume is not None,
            accept_env_version=accept_env_version,
        )
    picture = _draw(run, chosen)
    if as_json:
        reports = {str(update): report.to_dict() for update, report in run.reports.items()}
        saved = str(run.checkpoint) if run.has_checkpoint else None
        places = {"folder": str(run.folder), "checkpoint": saved, "curves": str(picture)}
        show_json({**places, "is_finished": run.is_finished, "reports": reports})
    else:
        _summarise(run, chosen, picture)
    if not run.is_finished:
        raise typer.Exit(_INTERRUPTED)


def _plan(config: RunConfig, on: str | None, as_json: bool, defaulted: frozenset[str]) -> None:
    from cairn.cli._shared.plan_table import plan_tables, show_plan
    from cairn.trainer.plan.device import device
    from cairn.trainer.plan.plan import plan

    made = plan(config, device(on), defaulted)
    if as_json:
        show_json(plan_tables(made))
    else:
        show_plan(made)
    if made.problems:
        raise typer.Exit(1)


def _defaulted(config: str, settings: list[str], resume: Path | None) -> frozenset[str]:
    """Return the settings that a run takes from the defaults for pretrained models.

    A stored run has all settings of its own.
    """
    from cairn.core.config import parse_flags
    from cairn.trainer.config import defaulted

    return frozenset() if resume is not None else defaulted(config, parse_flags(settings))


def _configuration(config: str, settings: list[str], resume: Path | None, imports: list[str]) -> RunConfig:
    from cairn.agents.stored_settings import refuse_modules, refuse_servers
    from cairn.core.config import nest, parse_flags
    from cairn.core.errors import CairnError
    from cairn.core.store import RunStore
    from cairn.trainer.config import load_run_config

    if (resume is None) == (not config):
        raise CairnError("Say what to train: cairn train CONFIG, or cairn train --resume RUN")
    if resume is None:
        return load_run_config(config, parse_flags(settings))
    if not (resume / "run.sqlite").is_file():
        raise CairnError(f"No run at {str(resume)!r}: expected a folder with run.sqlite")
    with RunStore(resume / "run.sqlite") as store:
        meta = store.meta()
    stored = meta.get("config")
    if stored is None:
        raise CairnError(f"The run at {str(resume)!r} ended before it had stored its configuration; start it again")
    refuse_modules([stored, meta.get("configs")], imports, str(resume))  # it is rebuilt with earlier settings, too
    given = parse_flags(settings)
    refuse_servers(stored, nest(given), str(resume))
    return load_run_config(stored, given, is_stored=True)


def _draw(run: Run, config: RunConfig) -> Path:
    from cairn.core.store import RunStore
    from cairn.viewer.curves import draw_curves

    with RunStore(run.folder / "run.sqlite") as store:
        return draw_curves(store, run.folder / "curves.png", f"{config.name}: {config.env.id}, {config.credit.method}")


def _summarise(run: Run, config: RunConfig, picture: Path) -> None:
    from cairn.agents.stored_settings import resume_flags
    from cairn.core.config import as_flag

    cairn, folder = program("cairn"), quote(str(run.folder))
    if run.reports:
        _show_success(run)
    if not run.is_finished:
        flags = resume_flags(config.model_dump())
        typer.echo(f"\nStopped before the end. Continue with: {cairn} train --resume {folder}{flags}")
    typer.echo(f"\ncurves      {picture}")
    if "tensorboard" in config.trackers.chosen():
        typer.echo(f"metrics     {program('tensorboard')} --logdir {quote(str(run.folder / 'tensorboard'))}")
    if not run.has_checkpoint or not run.reports:
        return
    as_here = f"--tasks 500 --temperature {config.eval.temperature:g}"
    held_out = " ".join(f"--set {as_flag(key, value)}" for key, value in config.eval_env.items())
    typer.echo(f"watch it    {cairn} play {config.env.id} --agent {folder} {held_out}".rstrip())
    typer.echo(f"test it     {cairn} eval {config.env.id} --agent {folder} --held-out {as_here}")
    typer.echo(f"the model   {run.checkpoint}  (transformers loads it as is)")


def _show_success(run: Run) -> None:
    first, last = run.reports[min(run.reports)], run.final
    kinds = sorted(set(first.by_type) | set(last.by_type))
    rows = [(kind, str(first.by_type.get(kind, "")), str(last.by_type.get(kind, ""))) for kind in kinds]
    typer.echo(f"\nSuccess on {last.success.episodes} {last.tasks}, with 95 % intervals:")
    show_table(
        ("task type", f"after {min(run.reports)} updates", f"after {max(run.reports)}"),
        [*rows, ("all", str(first.success), str(last.success))],
    )
    if last.ceiling < 1:
        typer.echo(f"No agent can solve more than {100 * last.ceiling:.1f} % of these tasks.")
