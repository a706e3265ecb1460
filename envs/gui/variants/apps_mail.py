"""The mail application alone; see `apps`."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from cairn.envs.base import EnvConfig
from cairn.envs.gui.variants.apps import AppsConfig, AppsEnv


class MailConfig(AppsConfig):
    """Configuration for tasks in the mail application only."""

    apps: tuple[str, ...] = Field(("mail",), description="Only tasks that need no other applications.")


class MailEnv(AppsEnv):
    """Read, search, sort and write mail."""

    meta = replace(AppsEnv.meta, name="gui/apps-mail", summary="A mail client in a real browser, judged by its data.")
    Config: ClassVar[type[EnvConfig]] = MailConfig


ENV = MailEnv
