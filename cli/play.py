"""`cairn play`: a person or an agent plays a task in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._output import Settings
from cairn.core.printable import printable

if TYPE_CHECKING:
    from cairn.envs.base import TextEnv


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(play)


def play(
    env: Annotated[str, typer.Argument(help="Environment id.")] = "household",
    task: Annotated[str, typer.Option(help="Task id; default: the first of the split.")] = "",
    agent: Annotated[
        str, typer.Option(help="you, oracle[:NAME], random, or a folder: run, checkpoint, model.")
    ] = "you",
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    settings: Settings = [],
) -> None:
    """Play one task; type an action, ? for the admissible ones, or leave with Ctrl-D."""
    from cairn.core.config import parse_flags
    from cairn.envs.registry import make

    config = parse_flags(settings)
    world = make(env, **config)
    name = task or world.tasks()[0]
    if agent == "you":
        _person(world, name, seed)
        return
    from cairn.agents.evaluate import evaluate

    _, episodes = evaluate(agent, env, config=config, tasks=[name], seed=seed)
    for turn in episodes[0].turns:
        _say(turn.observation.text)
        typer.secho(f"> {printable(turn.action)}", bold=True)
    if (final := episodes[0].final) is not None:
        _say(final.text)
    _verdict(bool(episodes[0].success), len(episodes[0].turns))


def _person(world: TextEnv, task: str, seed: int) -> None:
    text, info = world.reset(seed=seed, options={"task": task})
    is_over = is_cut = False
    _say(text)
    while not (is_over or is_cut):
        try:
            action = input("> ").strip()
        except EOFError:
            typer.echo()
            return
        if action == "?":
            typer.echo(
                "\n".join(map(printable, info["admissible_actions"] or ("(this environment does not list them)",)))
            )
            continue
        text, _, is_over, is_cut, info = world.step(action)
        _say(text)
    _verdict(bool(info["success"]), world.turn)


def _say(text: str) -> None:
    typer.secho(printable(text), fg="cyan")


def _verdict(success: bool, turns: int) -> None:
    typer.secho(f"{'solved' if success else 'not solved'} after {turns} turns", bold=True)
