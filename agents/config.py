"""How an agent built on a policy sees and answers."""

from __future__ import annotations

from pydantic import Field

from cairn.core.choice import MethodChoice
from cairn.core.config import Config


class AgentConfig(Config):
    """How observations become prompts and replies become actions."""

    context: MethodChoice = Field(MethodChoice(method="transcript"), description="History to prompt ids.")
    constrain: bool = Field(True, description="Replies are admissible actions, where the environment lists them.")
