"""`cairn eval`: an agent on a panel or an environment's tasks, with intervals and caching."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cairn.cli._shared.output import AgentSettings, Json, Settings, show_json, show_table
from cairn.cli._shared.progress import progress

if TYPE_CHECKING:
    from cairn.agents.evaluation.evaluate import Evaluation, PartResult
    from cairn.agents.evaluation.metrics import Measures
    from cairn.agents.evaluation.panel import Panel
    from cairn.agents.evaluation.statistics import Interval


NOT_FINAL = 3  # exit status: too many episodes are excluded


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("eval")(evaluate)


def evaluate(
    env: Annotated[str, typer.Argument(help="Environment id; or give --panel.")] = "",
    agent: Annotated[
        str,
        typer.Option(
            help="oracle[:NAME], null, random, injection, constant:TEXT, replay:RUN, human, openai:MODEL, module:name "
            "(a function or a class), a folder (run, checkpoint, model), or a model on a hub: ORG/MODEL, hf:MODEL."
        ),
    ] = "oracle",
    panel: Annotated[str, typer.Option(help="A panel's name or file; see cairn panels list.")] = "",
    tasks: Annotated[
        int | None,
        typer.Option(min=1, help="Of an environment: how many, from the start of the split; default: 100."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of an environment: of everything random; default: 0.")] = None,
    attempts: Annotated[int | None, typer.Option(min=1, help="At each task; default: 1, or the panel's.")] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of sampling; 0: the most probable token.")] = 0.4,
    slots: Annotated[int | None, typer.Option(min=1, help="Episodes in flight; default: the agent's setting.")] = None,
    processes: Annotated[bool, typer.Option("--processes", help="Each environment in a process of its own.")] = False,
    held_out: Annotated[
        bool,
        typer.Option(
            "--held-out", help="Of an environment: tasks that the agent's run does not train on, as it evaluates them."
        ),
    ] = False,
    folder: Annotated[Path, typer.Option(help="Where evaluations are kept.")] = Path("evals"),
    perturb: Annotated[
        list[str], typer.Option(help="Tell the tasks otherwise: paraphrase, rename or shuffle; may be given again.")
    ] = [],
    gated: Annotated[
        bool | None,
        typer.Option(
            "--gates/--no-gates", help="Whether agents that should win nothing play a sample first; default: of panels."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit status 1 if one of them wins.")] = False,
    settings: Settings = [],
    agent_settings: AgentSettings = [],
    as_json: Json = False,
) -> None:
    """Evaluate an agent on a panel or on tasks of an environment.

    A panel fixes tasks, settings and seeds.

    `--attempts` that differ from the panel's make it a different panel. `--set` changes the environment, as in --set
    split=valid_unseen; `--agent-set` the agent, as in --agent-set sampling.openai.url=http://localhost:8000/v1. An
    evaluation is not repeated if it exists; an interrupted one is continued.

    Episodes that fail because of the infrastructure are excluded and retried next time. If more than 2 % of a part's
    episodes are excluded, the result is not final: exit status 3.
    """
    from cairn.agents.evaluation.evaluate import evaluate as run
    from cairn.agents.evaluation.jobs import Pace
    from cairn.agents.evaluation.panel import perturbed_panel
    from cairn.core.config import parse_flags
    from cairn.core.errors import ConfigError

    if not env and not panel:
        raise ConfigError(
            "Say what to evaluate on, an environment or a panel: cairn eval household --agent random, or "
            "cairn eval --panel cairn-mini. List them with: cairn envs list, cairn panels list"
        )
    fixed = {repr(env): bool(env), "--set": bool(settings), "--tasks": tasks is not None, "--seed": seed is not None}
    fixed["--held-out"] = held_out
    if panel and (given := [name for name, is_given in fixed.items() if is_given]):
        raise ConfigError(
            f"{' and '.join(given)} cannot be combined with --panel, which fixes environments, settings, tasks and "
            "seeds: leave one of the two out"
        )
    if held_out:
        chosen = _held_out_panel(agent, env, parse_flags(settings), tasks or 100, seed or 0, attempts or 1)
    else:
        chosen = _panel(env, panel, parse_flags(settings), tasks, seed, attempts)
    chosen = perturbed_panel(chosen, *perturb) if perturb else chosen
    total = sum(len(part.tasks) * part.attempts for part in chosen.parts)
    with progress(f"{agent} on {chosen.name}", total) as advance:
        found = run(
            agent,
            panel=chosen,
            settings=parse_flags(agent_settings),
            temperature=temperature,
            pace=Pace(slots=slots, processes=processes),
            root=folder,
            on_episode=lambda _, __: advance(),
            on_left=advance.expect,
        )
    if strict or (bool(panel) if gated is None else gated):
        found = _gated(found, folder)
    if as_json:
        show_json(found.to_dict())
    else:
        _show(found)
    unscored = [part for part in found.parts if part.measures.failed and not part.measures.episodes]
    for part in unscored:
        why = part.measures.first_failure
        typer.echo(f"cairn: no episode of {part.family} could be scored; the first failed by: {why:.300}", err=True)
    if unscored or (strict and any(not verdict["holds"] for verdict in found.gates or [])):
        raise typer.Exit(1)
    if not found.is_final:
        raise typer.Exit(NOT_FINAL)


def _gated(found: Evaluation, folder: Path) -> Evaluation:
    """Return the evaluation with its panel's sanity checks, which are stored with it."""
    from cairn.agents.evaluation.sanity_checks import CHANCE, KEPT_SAMPLE, MUST_LOSE, keep_verdicts, kept_gates

    panel = found.panel
    total = sum(min(KEPT_SAMPLE, len(part.tasks)) for part in panel.parts) * len((*MUST_LOSE, CHANCE))
    with progress(f"agents that should win nothing on {panel.name}", total) as advance:
        verdicts = kept_gates(panel, folder, lambda *_: advance())
    keep_verdicts(found.folder, verdicts)
    return replace(found, gates=verdicts)


def _panel(
    env: str, panel: str, config: dict[str, object], tasks: int | None, seed: int | None, attempts: int | None
) -> Panel:
    from cairn.agents.evaluation.panel import load_panel, tasks_panel, with_attempts

    if not panel:
        return tasks_panel(env, config, tasks or 100, seed or 0, attempts or 1)
    chosen = load_panel(panel)
    return chosen if attempts is None else with_attempts(chosen, attempts)


def _held_out_panel(agent: str, env: str, config: dict[str, object], tasks: int, seed: int, attempts: int) -> Panel:
    """Return a panel of tasks that the agent's run does not train on.

    It uses the run's settings of evaluation.
    """
    from cairn.agents.agent import stored_state
    from cairn.agents.evaluation.panel import tasks_panel
    from cairn.agents.trained_tasks import TrainedTasks
    from cairn.core.errors import ConfigError

    trained = TrainedTasks.from_checkpoint(stored_state(agent))
    if trained is None:
        raise ConfigError(f"--held-out: {agent!r} is not a run or a checkpoint that lists its training tasks")
    settings, names = trained.unseen(env, config)
    return tasks_panel(env, settings, names[:tasks], seed, attempts)


def _show(found: Evaluation) -> None:
    panel = found.panel
    typer.echo(f"{found.agent} on {panel.name}, version {panel.version}, hash {panel.content_hash()[:12]}")
    rows = [row for part in found.parts for row in _rows(part)]
    show_table(("family", "tasks of", "success, 95 % interval", "score, 95 % interval", "tasks"), rows)
    typer.echo()
    columns = ("family", "excluded", "score without success", "validator errors", "tampering")
    show_table(columns, [_signs(part) for part in found.parts])
    typer.echo()
    for number, part in enumerate(found.parts):
        if trained_on := found.training_tasks(number):
            of = len(found.panel.parts[number].tasks)
            typer.echo(f"{part.family}: TRAINING TASKS: the agent was trained on {trained_on} of these {of} tasks")
        for line in _lines(part):
            typer.echo(f"{part.family}: {line}")
    if found.gates is None:
        typer.echo("gates not run: nobody looked whether agents that should win nothing win here")
    for verdict in found.gates or []:
        typer.echo(f"{verdict['family']}: {_verdict(verdict)}")
    if found.usage is not None:
        typer.echo(f"server: {found.usage}")
    played = f"{found.played} episodes played now" if found.played else "nothing was left to play"
    typer.echo(f"\n{played}, {found.seconds:.1f} s in all; kept in {found.folder}")


def _rows(part: PartResult) -> list[tuple[str, ...]]:
    measures = part.measures
    kinds = [*measures.by_type.items(), *((f"difficulty {k}", v) for k, v in measures.by_difficulty.items())]
    rows = [
        (part.family, kind, _percent(each.success), str(each.score), str(each.success.tasks)) for kind, each in kinds
    ]
    score = "" if measures.score is None else str(measures.score)
    return [*rows, (part.family, "all", _percent(measures.success), score, str(measures.tasks))]


def _percent(found: Interval | None) -> str:
    if found is None:
        return "nothing was scored"
    return f"{100 * found.mean:.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _lines(part: PartResult) -> list[str]:
    """Return the lines below the table."""
    m = part.measures
    lines = [costs] if (costs := _costs(m)) else []
    if m.ceiling < 1:
        lines.append(f"no agent can solve more than {100 * m.ceiling:.1f} % of these tasks")
    for name, found in (("pass@", m.pass_at), ("pass^", m.pass_hat), ("best score of ", m.best_of)):
        if found:
            lines.append(", ".join(f"{name}{k} {each}" for k, each in found.items()))
    if m.cut:
        lines.append(f"{m.cut} of {m.episodes} episodes ended early because sampling.max_context was full")
    if m.agent_errors:
        lines.append(
            f"{m.agent_errors} of {m.episodes} episodes ended because the agent failed, and count as they stood: "
            f"{m.first_agent_error}"
        )
    if m.failed:
        lines.append(_exclusions(m))
    return lines


def _exclusions(m: Measures) -> str:
    from cairn.agents.evaluation.metrics import MOST_EXCLUDED

    causes = ", ".join(f"{count} by {cause}" for cause, count in m.failed.items())
    share = f"{m.excluded} of {m.episodes + m.excluded} episodes ({100 * m.excluded_share:.1f} %)"
    if not m.is_final:
        share = f"NOT FINAL, more than {100 * MOST_EXCLUDED:g} % are excluded: {share}"
    return (
        f"{share} failed and are excluded ({causes}); success with these counted as failures: "
        f"{_percent(m.pessimistic_success)}. The same command tries them again"
    )


def _signs(part: PartResult) -> tuple[str, ...]:
    signs = part.signs
    tampering = ", ".join(f"{name}: {count}" for name, count in signs.tampering.items())
    counts = (part.measures.excluded, signs.score_without_success, signs.validator_errors)
    return (part.family, *map(str, counts), tampering or "0")


def _verdict(verdict: Mapping[str, Any]) -> str:  # Any: JSON
    """Return the sanity-check result of a part."""
    if not verdict["holds"]:
        return f"THESE NUMBERS SAY LITTLE: {'; '.join(verdict['reasons'])}"
    won = [(each["agent"], each["success"]) for each in verdict["probes"]]
    wins = [f"{agent} wins {success['successes']} of {success['episodes']}" for agent, success in won]
    return "on a sample, " + ", ".join(wins)


def _costs(m: Measures) -> str:
    means = [("return", m.reward), ("turns", m.turns)]
    parts = [f"{name} {each.mean:.3g} [{each.low:.3g}, {each.high:.3g}]" for name, each in means if each is not None]
    if m.prompt_tokens is not None and m.reply_tokens is not None:
        parts.append(f"tokens an episode {m.prompt_tokens:,.0f} read and {m.reply_tokens:,.0f} written")
    if m.cost is not None:
        parts.append(f"cost {m.cost:.4f}")
    return ", ".join(parts)
