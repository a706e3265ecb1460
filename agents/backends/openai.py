"""Replies from any server with an OpenAI-compatible API: hosted services, vLLM and others.

``api = "chat"`` sends a conversation, optionally with images, and gets text: for evaluation, with the context
`messages`. ``api = "completions"`` sends ids and gets ids with logprobs, which can be used for training, if the server
supports it. The server's weights are never changed here; `vllm_server` is the back end for a server that samples with
the policy's weights. Replies cannot be constrained to admissible actions.
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
from cairn.core.plugins import Plugin

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy


class OpenAIConfig(ModelServerConfig):
    """The server, the API to use, and the request limits."""

    api: Literal["chat", "completions"] = Field(
        "chat", description="Text in, text out; or ids in, ids and logprobs out, where the server has them."
    )
    tokenizer: str | None = Field(
        None,
        description="With completions, for `openai:MODEL`: folder or hub name of the model's tokenizer; None: MODEL.",
    )

    @property
    def reads(self) -> Literal["ids", "messages", "turn_context"]:
        """The part of a request that this back end reads."""
        return "messages" if self.api == "chat" else "ids"

    @property
    def constrains(self) -> bool:
        """Whether replies can be constrained; an OpenAI-compatible API has no field for it."""
        return False


class OpenAIBackend(ServedBackend):
    """`agents.backend.Backend` over a server with its own weights."""

    def __init__(self, config: OpenAIConfig, policy: Policy | None, sampling: SamplingConfig) -> None:
        if config.model is None:
            raise ConfigError("sampling.openai.model: say which model, or name the agent openai:MODEL")
        super().__init__(sampling, config, _api(policy, sampling, config), config.model)


def _api(policy: Policy | None, sampling: SamplingConfig, config: OpenAIConfig) -> Api:
    if config.api == "chat":
        return ChatCompletions(sampling)
    if policy is None:
        raise ConfigError("sampling.openai.api: 'completions' needs a tokenizer, and none is given")
    return IdCompletions(policy, sampling)


BACKEND = Plugin(OpenAIConfig, OpenAIBackend)
