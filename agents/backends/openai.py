"""Replies from any server that speaks OpenAI's protocol: services, vLLM, and others of that kind.

``api = "chat"`` sends a conversation, perhaps with pictures, and gets text: for evaluation, with the context
`messages`.
``api = "completions"`` sends ids and gets ids with their logprobs, which can be trained on, from servers that return
them. The server's weights are not ours and never change here: `vllm_server` is the back end of a server that follows
the policy. Replies cannot be kept to admissible actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cairn.agents.backends.http.chat import ChatCompletions
from cairn.agents.backends.http.completions import IdCompletions
from cairn.agents.backends.http.config import ModelServerConfig
from cairn.agents.backends.http.slots import Api, ServedBackend
from cairn.agents.config import SamplingConfig
from cairn.core.errors import ConfigError

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy


class OpenAIConfig(ModelServerConfig):
    """Which server, what is said to it, and how it is treated."""

    api: Literal["chat", "completions"] = Field(
        "chat", description="Text in, text out; or ids in, ids and logprobs out, where the server has them."
    )
    tokenizer: str | None = Field(
        None,
        description="With completions, for `openai:MODEL`: folder or hub name of the model's tokenizer; None: MODEL.",
    )

    @property
    def reads(self) -> Literal["ids", "messages", "turn_context"]:
        """What it answers."""
        return "messages" if self.api == "chat" else "ids"

    @property
    def constrains(self) -> bool:
        """Servers take no list of what is allowed."""
        return False


class OpenAIBackend(ServedBackend):
    """`agents.backend.Backend` over a server whose weights are its own."""

    def __init__(self, policy: Policy | None, sampling: SamplingConfig, config: OpenAIConfig) -> None:
        if config.model is None:
            raise ConfigError("sampling.openai.model: say which model, or name the agent openai:MODEL")
        super().__init__(sampling, config, _api(policy, sampling, config), config.model)


def _api(policy: Policy | None, sampling: SamplingConfig, config: OpenAIConfig) -> Api:
    if config.api == "chat":
        return ChatCompletions(sampling)
    if policy is None:
        raise ConfigError("sampling.openai.api: 'completions' needs a tokenizer, and there is none")
    return IdCompletions(policy, sampling)


BACKEND = (OpenAIBackend, OpenAIConfig)
