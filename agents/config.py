"""Settings of an agent that is built on a policy: prompts, replies and sampling."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugin_config import PluginConfig


class BackendConfig(Config):
    """Settings of a back end, and its capabilities."""

    changes_no_reply: ClassVar[tuple[str, ...]] = ()  # fields that do not affect replies, such as timeouts

    @property
    def reads(self) -> Literal["ids", "messages", "turn_context"]:
        """The part of a request that it reads; only replies to ids can be trained on."""
        return "ids"

    @property
    def constrains(self) -> bool:
        """Whether it can constrain replies to admissible actions."""
        return True

    def identity(self) -> dict[str, Any]:  # Any: JSON
        """Return the settings that affect replies."""
        return self.model_dump(mode="json", exclude=set(self.changes_no_reply))


class TurnBackendConfig(BackendConfig):
    """Settings of a back end that reads the turn context and replies in text; it gets no prompt."""

    @property
    def reads(self) -> Literal["ids", "messages", "turn_context"]:
        """The turn context: observation and task, without a prompt."""
        return "turn_context"

    @property
    def constrains(self) -> bool:
        """Whether it can constrain replies: it cannot."""
        return False


class AgentConfig(Config):
    """How observations become prompts and replies become actions."""

    context: PluginConfig = Field(PluginConfig(method="transcript"), description="History to prompt ids.")
    constrain: bool = Field(True, description="Replies are admissible actions, where the environment lists them.")
    invalid_limit: int | None = Field(
        None,
        ge=1,
        description="Invalid replies in a row that end an episode, which is scored as it stands. None: none.",
    )


class SamplingConfig(PluginConfig):
    """The back end and the settings that all back ends share.

    A back end's own settings are in the table of its name.
    """

    method: str = Field("hf", description="Back end.")
    slots: int = Field(64, ge=1, description="Episodes in flight.")
    temperature: float = Field(1.0, ge=0.0, description="0: the most probable token.")
    max_reply_tokens: int = Field(64, ge=1, description="A free reply is cut here; a constrained one ends by itself.")
    max_context: int = Field(4096, ge=64, description="Longest sequence of an episode, in tokens.")
    cache_tokens: int | None = Field(
        None,
        ge=64,
        description="Tokens that sequences in flight may hold together: an episode begins only where the predicted "
        "peak leaves room. None: the back end's own capacity.",
    )
