"""`cairn eval`: any agent on tasks of any environment, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cairn.cli._output import AgentSettings, Json, Settings, show_json, show_table

if TYPE_CHECKING:
    from cairn.agents.report import Report


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("eval")(evaluate)


def evaluate(
    env: Annotated[str, typer.Argument(help="Environment id.")] = "household",
    agent: Annotated[
        str,
        typer.Option(
            help="oracle[:NAME], random, constant:TEXT, replay:RUN, human, openai:MODEL, or a folder: run, checkpoint, "
            "model."
        ),
    ] = "oracle",
    tasks: Annotated[int, typer.Option(min=1, help="How many, from the start of the split.")] = 100,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of sampling; 0: the most probable token.")] = 0.4,
    panel: Annotated[
        str, typer.Option(help="A panel's name or file, in place of an environment; see cairn panels.")
    ] = "",
    settings: Settings = [],
    agent_settings: AgentSettings = [],
    as_json: Json = False,
) -> None:
    """Evaluate an agent, on tasks of an environment or on a panel, which fixes tasks, settings and seeds.

    `--set` changes the environment, as in --set split=valid_unseen; `--agent-set` the agent, as in --agent-set
    sampling.openai.url=http://localhost:8000/v1.
    """
    from cairn.agents.evaluate import evaluate as run
    from cairn.core.config import parse_flags
    from cairn.core.errors import ConfigError

    if panel and settings:
        raise ConfigError("--set changes an environment, and a panel's are fixed: leave one of the two out")
    if panel:
        _on_panel(panel, agent, parse_flags(agent_settings), temperature, as_json)
        return
    with _progress(f"{agent} on {env}", tasks) as advance:
        report, _ = run(
            agent,
            env,
            config=parse_flags(settings),
            settings=parse_flags(agent_settings),
            tasks=tasks,
            seed=seed,
            temperature=temperature,
            on_episode=lambda _: advance(),
        )
    if as_json:
        asked = {"settings": parse_flags(settings), "agent_settings": parse_flags(agent_settings), "seed": seed}
        show_json({"agent": agent, "env": env, **asked, **report.to_dict()})
        return
    rows = [(name, str(rate), str(rate.episodes)) for name, rate in [*report.by_type.items(), ("all", report.success)]]
    show_table(("task type", "success, 95 % interval", "episodes"), rows)
    _show_rest(report)


def _on_panel(name: str, agent: str, settings: dict[str, Any], temperature: float, as_json: bool) -> None:  # Any: JSON
    from cairn.agents.evaluate import evaluate_panel
    from cairn.agents.panel import load_panel

    panel = load_panel(name)
    with _progress(f"{agent} on {panel.name}", sum(len(p.tasks) * p.attempts for p in panel.parts)) as advance:
        found = evaluate_panel(
            agent, panel, settings=settings, temperature=temperature, on_episode=lambda _, __: advance()
        )
    if as_json:
        parts = [{"family": part.family, "env": part.env, **report.to_dict()} for part, report, _ in found]
        asked = {"agent_settings": settings, "temperature": temperature}
        show_json({"agent": agent, "panel": panel.name, "hash": panel.hash, **asked, "parts": parts})
        return
    typer.echo(f"{panel.name}, version {panel.version}, hash {panel.hash[:12]}")
    rows = [
        (part.family, kind, str(rate), str(rate.episodes))
        for part, report, _ in found
        for kind, rate in [*report.by_type.items(), ("all", report.success)]
    ]
    show_table(("family", "task type", "success, 95 % interval", "episodes"), rows)
    for part, report, _ in found:
        _show_rest(report, f"{part.family}: ")


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show how far it has come, with the time that is left; gives what is called when an episode ends."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda: progress.advance(bar)


def _show_rest(report: Report, where: str = "") -> None:
    if report.ceiling < 1:
        typer.echo(f"{where}No agent can solve more than {100 * report.ceiling:.1f} % of these tasks.")
    told = f"mean score {report.mean_score:.3f}, mean turns {report.mean_turns:.1f}, failed episodes {report.failed}"
    typer.echo(f"{where}{told}")
    if report.usage is not None:
        typer.echo(f"{where}{report.usage}")
