"""Weights & Biases (extra `wandb`): runs on its server, or offline for ``wandb sync`` later.

Metrics use their own step field (the update or pass) instead of W&B's step, which cannot decrease: a run that rolled
back writes an update again. Console output, code and git are not sent.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal

from pydantic import Field

from cairn.core.errors import CairnError, MissingExtraError
from cairn.core.plugins import Plugin
from cairn.trainer.trackers.base import TrackedRun, Tracker, TrackerConfig

_STEPS = {"imitation": "imitation/pass", "train": "update", "eval": "update"}


class WandbConfig(TrackerConfig):
    """Settings of Weights & Biases."""

    project: str = Field("cairn", min_length=1, description="Under which the run is listed.")
    entity: str | None = Field(None, description="User or team; None: that of the login.")
    group: str | None = Field(None, description="Runs that belong together, as the seeds of a comparison.")
    tags: tuple[str, ...] = Field((), description="Words to find the run by.")
    mode: Literal["online", "offline"] | None = Field(
        None, description="offline: into the run's folder, for `wandb sync`. None: what WANDB_MODE says, else online."
    )
    timeout_s: float = Field(60.0, gt=0, description="Seconds to wait for the server at the beginning.")

    @property
    def chosen_mode(self) -> str:
        """The mode from the settings, or else from WANDB_MODE."""
        return self.mode or os.environ.get("WANDB_MODE", "online")


class Wandb(Tracker):
    """Writes a run of a W&B project."""

    def __init__(self, config: WandbConfig, run: TrackedRun) -> None:
        self._config, self._about = config, run

    def open(self) -> None:
        """Log in without a prompt, and start or resume the run."""
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # W&B's reports of its own crashes
        import wandb

        config, about = self._config, self._about
        if config.chosen_mode == "online" and not wandb.login(prompt=False):
            raise CairnError(
                "not logged in: run `wandb login`, or set trackers.wandb.mode=offline and run `wandb sync` later"
            )
        self._run = wandb.init(
            project=config.project,
            entity=config.entity,
            group=config.group,
            tags=config.tags,
            name=about.name,
            notes=about.link,
            id=about.identity("wandb", lambda: secrets.token_hex(4)),
            resume="allow",
            dir=str(about.folder / "trackers"),
            mode=config.chosen_mode,
            config={**about.config, "versions": dict(about.versions), "folder": about.link},
            settings=wandb.Settings(
                console="off", silent=True, disable_code=True, disable_git=True, init_timeout=config.timeout_s
            ),
        )
        for phase, step in _STEPS.items():
            self._run.define_metric(f"{phase}/*", step_metric=step)

    def write(self, phase: str, step: int, metrics: Mapping[str, float]) -> None:
        """Log metrics with their step."""
        self._run.log({**{f"{phase}/{name}": value for name, value in metrics.items()}, _STEPS[phase]: step})

    def close(self, *, has_failed: bool) -> None:
        """Send the remaining data and finish the run."""
        self._run.finish(exit_code=int(has_failed))


def _check_installed() -> None:
    if find_spec("wandb") is None:
        raise MissingExtraError("The tracker 'wandb'", "wandb")


TRACKER = Plugin(WandbConfig, Wandb, _check_installed)
