"""Settings of every back end over a server: address, timeouts, request limits, prices."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from pydantic import Field, field_validator

from cairn.agents.config import BackendConfig
from cairn.core.config import Config
from cairn.core.errors import ConfigError
from cairn.core.http_client import sound_url


class PriceConfig(Config):
    """Prices per million tokens, in any currency."""

    prompt: float = Field(0.0, ge=0, description="Of prompts.")
    cached: float | None = Field(None, ge=0, description="Of prompts, where the server had them; None: as `prompt`.")
    completion: float = Field(0.0, ge=0, description="Of replies.")


class ModelServerConfig(BackendConfig):
    """The server and the request limits."""

    changes_no_reply: ClassVar[tuple[str, ...]] = (
        "key_env", "connect_s", "reply_s", "attempts", "retry_s", "backoff_s", "max_in_flight", "requests_per_minute",
        "tokens_per_minute", "max_answer_mib", "prices",
    )  # fmt: skip

    url: str | None = Field(
        None, description="Up to and with /v1. None: what OPENAI_BASE_URL says, else https://api.openai.com/v1."
    )
    model: str | None = Field(None, description="The server's name for the model.")
    key_env: str = Field(
        "OPENAI_API_KEY",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable that holds the API key; the key itself is never in a configuration.",
    )
    connect_s: float = Field(10.0, gt=0, description="Seconds until a connection must be open.")
    reply_s: float = Field(
        120.0, gt=0, description="Seconds until a whole reply must be there; then it is asked again."
    )
    attempts: int = Field(6, ge=1, description="How often a reply is asked for before its episode fails.")
    retry_s: float = Field(300.0, gt=0, description="Seconds that all attempts at a reply may take, waits included.")
    backoff_s: float = Field(
        0.5, gt=0, description="Scale of the waits between attempts: doubled each time, at random."
    )
    max_in_flight: int = Field(32, ge=1, description="Requests at the server at once; others wait.")
    requests_per_minute: int | None = Field(
        None, ge=1, description="Requests beyond it wait. None: no limit on this side."
    )
    tokens_per_minute: int | None = Field(
        None, ge=1, description="Of prompts and replies; requests beyond it wait. None: no limit on this side."
    )
    max_answer_mib: int = Field(64, ge=1, description="A longer answer is given up.")
    prices: PriceConfig | None = Field(None, description="Per million tokens; None: cost is not counted.")
    extra: dict[str, Any] = Field({}, description="Further fields of every request's body.")  # Any: JSON
    leave_out: tuple[str, ...] = Field((), description="Fields of the body that this server refuses, such as seed.")

    def identity(self) -> dict[str, Any]:  # Any: JSON
        """Return the settings that affect replies, with the server's URL."""
        return {**super().identity(), "url": address(self)}

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        return None if url is None else sound_url(url)


def address(config: ModelServerConfig) -> str:
    """Return the server's URL.

    Raises:
        ConfigError: OPENAI_BASE_URL is not a valid URL.
    """
    if config.url is not None:
        return config.url
    try:
        return sound_url(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    except ValueError as error:
        raise ConfigError(f"OPENAI_BASE_URL: {error}") from None
