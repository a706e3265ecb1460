"""`cairn eval`: any agent on tasks of any environment, with intervals."""

from __future__ import annotations

from typing import Annotated

import typer

from cairn.cli._output import AgentSettings, Json, Settings, show_json, show_table


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
    settings: Settings = [],
    agent_settings: AgentSettings = [],
    as_json: Json = False,
) -> None:
    """Evaluate an agent.

    `--set` changes the environment, as in --set split=valid_unseen; `--agent-set` the agent, as in --agent-set
    sampling.openai.url=http://localhost:8000/v1.
    """
    from rich.console import Console
    from rich.progress import Progress

    from cairn.agents.evaluate import evaluate as run
    from cairn.core.config import parse_flags

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(f"{agent} on {env}", total=tasks)
        report, _ = run(
            agent,
            env,
            config=parse_flags(settings),
            settings=parse_flags(agent_settings),
            tasks=tasks,
            seed=seed,
            temperature=temperature,
            on_episode=lambda _: progress.advance(bar),
        )
    if as_json:
        asked = {"settings": parse_flags(settings), "agent_settings": parse_flags(agent_settings), "seed": seed}
        show_json({"agent": agent, "env": env, **asked, **report.to_dict()})
        return
    rows = [(name, str(rate), str(rate.episodes)) for name, rate in [*report.by_type.items(), ("all", report.success)]]
    show_table(("task type", "success, 95 % interval", "episodes"), rows)
    if report.ceiling < 1:
        typer.echo(f"No agent can solve more than {100 * report.ceiling:.1f} % of these tasks.")
    typer.echo(
        f"mean score {report.mean_score:.3f}, mean turns {report.mean_turns:.1f}, failed episodes {report.failed}"
    )
    if report.usage is not None:
        typer.echo(str(report.usage))
