"""`cairn play`: a person or an agent plays a task in the terminal; optionally saves a film."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cairn.cli._shared.output import Json, Settings, show_json
from cairn.cli._shared.progress import progress
from cairn.core.text import printable

if TYPE_CHECKING:
    from cairn.core.records import Observation, Turn
    from cairn.envs.base import TextEnv


@dataclass(frozen=True, slots=True)
class _Played:
    turns: Sequence[Turn]
    final: Observation | None  # the last observation
    ending: str  # for people
    success: bool | None  # None: left, or failed
    score: float | None


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
    as_json: Json = False,
) -> None:
    """Play one task; type an action, ? for the admissible ones, or leave with Ctrl-D.

    With --json, the output during play goes to standard error.
    """
    from cairn.agents.evaluation.render import check_film, write_film
    from cairn.core.config import parse_flags
    from cairn.envs.registry import closing_env, load, make, task_ids

    config = parse_flags(settings)
    if render is not None and "image" in load(env).Config.model_fields:
        config.setdefault("image", True)
    with closing_env(make(env, **config)) as world:
        if render is not None:
            check_film(render, has_pictures=getattr(world.config, "image", False))
        name = task or task_ids(world)[0]
        if agent == "you":
            played = _person(world, name, seed, to_stderr=as_json)
        else:
            played = _agent(agent, env, config, name, seed, to_stderr=as_json)
    typer.secho(played.ending, bold=True, err=as_json)
    if render is not None:
        write_film(render, f"{env}: {name}", played.turns, played.final, played.ending)
        typer.echo(f"The film is in {render}", err=as_json)
    if as_json:
        asked = {"env": env, "task": name, "agent": agent, "seed": seed, "film": str(render) if render else None}
        show_json(asked | _result_json(played))


def _agent(agent: str, env: str, config: dict[str, Any], task: str, seed: int, to_stderr: bool) -> _Played:
    from cairn.agents.evaluation.jobs import play_tasks

    with progress(f"{agent} plays {task}"):
        _, (episode,) = play_tasks(agent, env, config=config, tasks=[task], seed=seed)
    for turn in episode.turns:
        _print_text(turn.observation.text, to_stderr)
        typer.secho(f"> {printable(turn.action)}", bold=True, err=to_stderr)
    if episode.final is not None:
        _print_text(episode.final.text, to_stderr)
    ending = _verdict(bool(episode.success), len(episode.turns))
    ending = f"{ending}: {episode.ending.detail}" if episode.is_failed else ending
    return _Played(episode.turns, episode.final, ending, episode.success, episode.score)


def _person(world: TextEnv, task: str, seed: int, to_stderr: bool) -> _Played:
    """Let a person play until the task is over or they leave."""
    from cairn.agents.rollout.play import observe
    from cairn.core.records import Turn

    turns: list[Turn] = []
    text, info = world.reset(seed=seed, options={"task": task})
    seen, has_ended = observe(text, info), False
    _print_text(text, to_stderr)
    while not has_ended:
        action = _typed(seen, to_stderr)
        if action is None:
            typer.echo(err=to_stderr)
            return _Played(turns, seen, f"left after {world.turn} turns", None, None)
        text, reward, terminated, truncated, info = world.step(action)
        turns.append(
            Turn(observation=seen, reply_text=action, action=action, reward=float(reward), acted=info.get("acted"))
        )
        seen, has_ended = observe(text, info), terminated or truncated
        _print_text(text, to_stderr)
    success = bool(info["success"])
    return _Played(turns, seen, _verdict(success, world.turn), success, float(info["score"]))


def _typed(seen: Observation, to_stderr: bool) -> str | None:
    """Return the next typed action, or None if the person leaves."""
    while True:
        try:
            typer.echo("> " if to_stderr else "", nl=False, err=True)
            action = input("" if to_stderr else "> ").strip()  # line editing has to know its prompt
        except EOFError:
            return None
        if action != "?":
            return action
        typer.echo(
            "\n".join(map(printable, seen.admissible or ("(this environment does not list them)",))), err=to_stderr
        )


def _print_text(text: str, to_stderr: bool) -> None:
    typer.secho(printable(text), fg="cyan", err=to_stderr)


def _result_json(played: _Played) -> dict[str, Any]:  # Any: JSON
    turns = [{"observation": t.observation.text, "action": t.action, "reward": t.reward} for t in played.turns]
    final = None if played.final is None else played.final.text
    return {"turns": turns, "final": final, "ending": played.ending, "success": played.success, "score": played.score}


def _verdict(success: bool, turns: int) -> str:
    return f"{'solved' if success else 'not solved'} after {turns} turns"
