"""Replies from a running vLLM server, with weights synchronised through a shared folder.

Requests carry ids; replies carry ids and logprobs. The policy saves new weights to a folder that both can read, and the
server loads them. During the load, the server pauses its replies and drops their cache; afterwards they continue with
the new weights. The server stores a version mark for each set of weights. After an outage, the mark shows whether the
server still has them; if not, it loads them again and all pending requests are repeated. A LoRA policy sends the
adapter only; the server must already have the base weights.

The server must be started in development mode, with logprobs of the sampling distribution and with the policy's model:
see ``docs/backends.md`` for the command. Servers on machines that cannot read the folder are not supported.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash
from pydantic import Field

from cairn.agents.backend import Request
from cairn.agents.backends.http.client import ServerRefusal
from cairn.agents.backends.http.completions import IdCompletions, remaining
from cairn.agents.backends.http.config import ModelServerConfig
from cairn.agents.backends.http.fields import wrong
from cairn.agents.backends.http.slots import ServedBackend
from cairn.agents.config import SamplingConfig
from cairn.agents.constraint import flatten
from cairn.core.errors import ConfigError, ModelFailure
from cairn.core.plugins import Plugin

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy

_SHARED = Path("/dev/shm")  # memory shared by the processes of a machine, if the system has it
_ADAPTER = "cairn-policy"  # the server's name for the policy's adapter
_MODE = "processed_logprobs"  # logprobs mode: of the sampling distribution
_PIECE = 2**24  # bytes per read
PROCESSOR = "cairn.agents.models.vllm_choices:ChoicesProcessor"  # logits processor: restricts replies to the choices
_CHOICES = "cairn_choices"  # name of the argument that the processor reads
LOADER = "cairn.agents.models.vllm_worker.WeightLoader"  # worker extension of the server: loads all weights


class VLLMServerConfig(ModelServerConfig):
    """The server, the folder for weights, and the request limits."""

    changes_no_reply = (*ModelServerConfig.changes_no_reply, "weights_folder")

    url: str | None = Field("http://127.0.0.1:8000/v1", description="Up to and with /v1.")
    model: str | None = Field(None, description="The server's name for the model. None: its first one.")
    key_env: str = Field("VLLM_API_KEY", description="Environment variable that holds the API key, if there is one.")
    attempts: int = Field(40, ge=1, description="How often a reply is asked for before its episode fails.")
    reply_s: float = Field(600.0, gt=0, description="Seconds until a whole reply must be there, pauses included.")
    retry_s: float = Field(1200.0, gt=0, description="Seconds that all attempts at a reply may take, waits included.")
    max_in_flight: int = Field(1024, ge=1, description="Requests at the server at once: it sees to their order itself.")
    weights_folder: str | None = Field(
        None, description="Folder that the server reads too, for weights. None: /dev/shm if it exists, else /tmp."
    )


class VLLMServerBackend(ServedBackend):
    """`agents.backend.Backend` over a server that samples with the policy's weights."""

    def __init__(self, config: VLLMServerConfig, policy: Policy | None, sampling: SamplingConfig) -> None:
        if policy is None or policy.model is None:
            raise ConfigError("sampling.method: 'vllm_server' samples with a local policy, and none is given")
        super().__init__(sampling, config, _Completions(policy, sampling), config.model or "")
        self._policy, self.version = policy, policy.version
        self._folder = _new_folder(config.weights_folder)
        self._mark = ""  # version mark of the last weights sent
        self._known_outages = 0  # outage count at the last check that the server has them
        try:
            self._constrains = _can_constrain(self.client.call("//server_info?config_format=json"))
            self._model = config.model or _first_model(self.client.call("/models"))
            self._save()
            self._load()
        except BaseException:  # includes interrupts: close connections and remove files, then raise
            self.close()
            raise

    def submit(self, slot: int, request: Request) -> None:
        """Request a reply in this slot; see `agents.backend.Backend`."""
        if request.choices is not None and not self._constrains:
            raise ConfigError(
                f"agent.constrain: the server was started without --logits-processors {PROCESSOR}; start it with that, "
                "or set agent.constrain = false"
            )
        if not self._asked:  # no pending request could have noticed an outage
            with contextlib.suppress(ModelFailure):  # the request itself will fail
                self._see_to_weights()
        super().submit(slot, request)

    def sync_weights(self, version: int) -> None:
        """Send the policy's current weights; unfinished replies continue with them.

        Raises:
            ModelFailure: the server did not load them.
        """
        self._save()
        self._load()
        self.version = version

    def close(self) -> None:
        """Cancel unfinished replies, close all connections and remove the weights."""
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _arrived(self, wait_s: float) -> list[tuple[int, Any]]:
        """Return the results that have arrived.

        Requests that were answered by a server without the policy's weights are repeated.
        """
        found = super()._arrived(wait_s)
        if self.client.outages == self._known_outages or all(_is_lost(value) for _, value in found):
            return found
        try:
            if self._see_to_weights():
                return found
        except ModelFailure as failure:
            return [(ticket, failure) for ticket, _ in found]
        for ticket, value in found:
            if not _is_lost(value):
                self._tickets.pop(ticket, None)
        self._send_again()
        return [(ticket, value) for ticket, value in found if _is_lost(value)]

    def _see_to_weights(self) -> bool:
        """Reload the weights if the server has lost them; return whether it still had them."""
        outages = self.client.outages
        info = self.client.call("//weight_info", once=True)
        had_them = isinstance(info, dict) and info.get("weight_version") == self._mark
        if not had_them:
            self._load()
        self._known_outages = outages
        return had_them

    def _save(self) -> None:
        """Write the policy's weights into the shared folder."""
        shutil.rmtree(self._folder / "policy", ignore_errors=True)
        self._policy.save(self._folder / "policy")
        digest = xxhash.xxh3_64()
        for file in sorted((self._folder / "policy").glob("*.safetensors")):
            with file.open("rb") as open_file:
                while piece := open_file.read(_PIECE):
                    digest.update(piece)
        self._mark = f"cairn-{digest.hexdigest()}"

    def _load(self) -> None:
        """Make the server load the saved weights and drop its cache of other weights."""
        folder = str((self._folder / "policy").resolve())
        self.client.call("//pause?mode=keep", {}, is_json=False)
        try:
            if (self._folder / "policy" / "adapter_config.json").is_file():
                adapter = {"lora_name": _ADAPTER, "lora_path": folder, "load_inplace": True}
                self.client.call("/load_lora_adapter", adapter, is_json=False)
                self._model = _ADAPTER
            else:
                self.client.call("//collective_rpc", {"method": "load_weights_from", "args": [folder]}, is_json=False)
            self.client.call("//update_weight_version", {"new_version": self._mark}, is_json=False)
        finally:
            self.client.call("//resume", {}, is_json=False)


class _Completions(IdCompletions):
    """Adds the allowed ids to each request."""

    def _body(self, prompt: list[int], left: int, request: Request) -> dict[str, Any]:
        body = super()._body(prompt, left, request)
        choices = remaining(request)
        return body if choices is None else body | {"vllm_xargs": {_CHOICES: flatten(choices)}}


def _is_lost(value: object) -> bool:
    """Return whether a request failed without a reply or a refusal from a running server."""
    return isinstance(value, ModelFailure) and not isinstance(value, ServerRefusal)


def _can_constrain(info: Any) -> bool:  # Any: JSON
    """Return whether the server's start options let it constrain replies.

    Raises:
        ConfigError: its start options do not allow training.
    """
    config = info.get("vllm_config") if isinstance(info, dict) else None
    model, workers = ((config or {}).get(name) for name in ("model_config", "parallel_config"))
    if not isinstance(model, dict) or not isinstance(workers, dict):
        raise wrong("vLLM's configuration", info)
    if (mode := model.get("logprobs_mode")) != _MODE:
        raise ConfigError(f"The server runs with logprobs_mode = {mode!r}; start it with --logprobs-mode {_MODE}")
    if (loader := workers.get("worker_extension_cls")) != LOADER:
        raise ConfigError(
            f"The server's workers have worker_extension_cls = {loader!r}; start it with --worker-extension-cls "
            f"{LOADER}"
        )
    return PROCESSOR in (model.get("logits_processors") or ())


def _first_model(models: Any) -> str:  # Any: JSON
    data = models.get("data") if isinstance(models, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    if not isinstance(first, dict) or not isinstance(first.get("id"), str):
        raise wrong("a list of models", models)
    return str(first["id"])


def _new_folder(inside: str | None) -> Path:
    """Return a new folder that only this user can read."""
    if inside is None:
        return Path(tempfile.mkdtemp(prefix="cairn-weights-", dir=_SHARED if _SHARED.is_dir() else None))
    try:
        Path(inside).expanduser().mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="cairn-weights-", dir=Path(inside).expanduser()))
    except OSError as error:
        raise ConfigError(f"sampling.vllm_server.weights_folder: cannot write to {inside!r}: {error}") from error


BACKEND = Plugin(VLLMServerConfig, VLLMServerBackend)
