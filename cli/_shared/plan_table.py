"""Prints a run's plan: memory by part and role, expected speed, and whether it fits."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from cairn.cli._shared.output import show_table

if TYPE_CHECKING:
    from cairn.trainer.plan.learning import LearningSetting
    from cairn.trainer.plan.plan import Role, RunPlan

_GIB = 1 << 30


def show_plan(plan: RunPlan) -> None:
    """Print the plan for people."""
    shape, device = plan.shape, plan.device
    trained = f"{shape.adapters / 1e6:.1f} M of them as adapters" if shape.adapters else "all of them trained"
    typer.echo(f"model    {shape.parameters / 1e9:.3f} B parameters, {trained}")
    count = f"{device.count} x " if device.count > 1 else ""
    typer.echo(f"device   {count}{device.name}, {device.memory / _GIB:.1f} GiB")
    typer.echo()
    show_table(("setting", "value", ""), [(each.name, str(each.value), _mark(each)) for each in plan.settings])
    for role in plan.roles:
        peaks = ", ".join(f"{process} in {phase}" for process, phase in role.peaks.items())
        typer.echo(f"\n{role.name}, {role.devices} of them, each; largest phase: {peaks}")
        rows = [(name, _gib(size)) for name, size in role.parts.items() if size]
        room = "unknown" if role.room is None else _gib(role.room)
        show_table(("part", "GiB"), [*rows, ("all", _gib(role.total)), ("room", room)])
    typer.echo()
    if plan.sampled_per_second is not None and plan.sequences is not None:
        typer.echo(f"cache    {plan.sequences:,.1f} sequences of full length")
        rate = _round(plan.sampled_per_second)
        typer.echo(f"sampling about {rate} tokens/s with sequences of half that length, without environments' time")
    typer.echo(f"learning about {_round(plan.learned_per_second)} tokens/s")
    for note in plan.notes:
        typer.secho(note, fg="yellow", err=True)
    for problem in plan.problems:
        typer.secho(f"does not fit: {problem}", fg="red", err=True)
    if plan.problems:
        typer.secho(plan.advice, fg="red", err=True)


def plan_tables(plan: RunPlan) -> dict[str, Any]:  # Any: JSON
    """Return the plan as JSON-ready tables, in bytes."""
    return {
        "fits": not plan.problems,
        "problems": plan.problems,
        "remedy": plan.remedy,
        "settings": [asdict(each) for each in plan.settings],
        "notes": plan.notes,
        "parameters": plan.shape.parameters,
        "trained": plan.shape.trained,
        "device": {"name": plan.device.name, "count": plan.device.count, "memory": plan.device.memory},
        "roles": [_role_table(role) for role in plan.roles],
        "cached_sequences": plan.sequences,
        "sampled_per_second": plan.sampled_per_second,
        "learned_per_second": plan.learned_per_second,
    }


def _role_table(role: Role) -> dict[str, Any]:  # Any: JSON
    return {
        "name": role.name,
        "devices": role.devices,
        "parts": role.parts,
        "phases": role.peaks,
        "total": role.total,
        "room": role.room,
    }


def _mark(setting: LearningSetting) -> str:
    return "default for pretrained models" if setting.source == "pretrained default" else ""


def _gib(size: float) -> str:
    return f"{size / _GIB:,.2f}"


def _round(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"
