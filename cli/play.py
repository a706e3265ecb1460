"""`cairn play`: a person or an agent plays a task in the terminal, and a film of it is kept if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cairn.cli._output import Settings
from cairn.core.printable import printable

if TYPE_CHECKING:
    from cairn.core.records import Observation, Turn
    from cairn.envs.base import TextEnv

    _Played = tuple[Sequence[Turn], Observation | None, str]  # the turns, what is shown last, how it ended


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
    render: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Leave a film of it: .gif (of pictures) or .html.")
    ] = None,
    settings: Settings = [],
) -> None:
    """Play one task; type an action, ? for the admissible ones, or leave with Ctrl-D."""
    from cairn.agents.film import check_film, write_film
    from cairn.core.config import parse_flags
    from cairn.envs.registry import load, make

    config = parse_flags(settings)
    if render is not None and "image" in load(env).Config.model_fields:
        config.setdefault("image", True)
    world = make(env, **config)
    if render is not None:
        check_film(render, has_pictures=getattr(world.config, "image", False))
    name = task or world.tasks()[0]
    turns, final, ending = _person(world, name, seed) if agent == "you" else _agent(agent, env, config, name, seed)
    typer.secho(ending, bold=True)
    if render is not None:
        write_film(render, f"{env}: {name}", turns, final, ending)
        typer.echo(f"The film is in {render}")


def _agent(agent: str, env: str, config: dict[str, Any], task: str, seed: int) -> _Played:  # Any: settings
    from cairn.agents.evaluate import evaluate

    _, (episode,) = evaluate(agent, env, config=config, tasks=[task], seed=seed)
    for turn in episode.turns:
        _say(turn.observation.text)
        typer.secho(f"> {printable(turn.action)}", bold=True)
    if episode.final is not None:
        _say(episode.final.text)
    ending = _verdict(bool(episode.success), len(episode.turns))
    return episode.turns, episode.final, f"{ending}: {episode.ending.detail}" if episode.is_failed else ending


def _person(world: TextEnv, task: str, seed: int) -> _Played:
    """Let a person play until the task is over, or until they leave."""
    from cairn.agents.play import observe
    from cairn.core.records import Turn

    turns: list[Turn] = []
    text, info = world.reset(seed=seed, options={"task": task})
    seen, is_over = observe(text, info), False
    _say(text)
    while not is_over:
        action = _typed(seen)
        if action is None:
            typer.echo()
            return turns, seen, f"left after {world.turn} turns"
        text, reward, is_terminated, is_cut, info = world.step(action)
        turns.append(
            Turn(observation=seen, reply_text=action, action=action, reward=float(reward), acted=info.get("acted"))
        )
        seen, is_over = observe(text, info), is_terminated or is_cut
        _say(text)
    return turns, seen, _verdict(bool(info["success"]), world.turn)


def _typed(seen: Observation) -> str | None:
    """Return the next action that a person types; None: they leave."""
    while True:
        try:
            action = input("> ").strip()
        except EOFError:
            return None
        if action != "?":
            return action
        typer.echo("\n".join(map(printable, seen.admissible or ("(this environment does not list them)",))))


def _say(text: str) -> None:
    typer.secho(printable(text), fg="cyan")


def _verdict(success: bool, turns: int) -> str:
    return f"{'solved' if success else 'not solved'} after {turns} turns"
