"""Replies from a running vLLM server that follows the policy: ids in, ids and logprobs out, weights by a shared folder.

New weights are saved where both can read and loaded there; what is under way is held meanwhile, its cache dropped, and
goes on with them from where it was. The server is told a mark for each set of weights: after an outage the mark says
whether it is still the server that has them, and if not it gets them again and is asked everything anew. A policy with
an adapter hands over the adapter alone; the weights below it have to be the server's own.

The server has to be started with development mode, logprobs of the distribution sampled from, and the policy's model:
``docs/backends.md`` has the command. Not covered: servers on other machines that do not see the folder.
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

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy

_SHARED = Path("/dev/shm")  # memory that processes of a machine share, where there is such
_ADAPTER = "cairn-policy"  # the server's name for the policy's adapter
_MODE = "processed_logprobs"  # of logprobs: those of the distribution sampled from
_PIECE = 2**24  # bytes read at once
PROCESSOR = "cairn.agents.models.vllm_choices:ChoicesProcessor"  # of the server: keeps replies to what is allowed
_CHOICES = "cairn_choices"  # what it reads
LOADER = "cairn.agents.models.vllm_worker.WeightLoader"  # of the server's workers: takes in weights, all of them


class VLLMServerConfig(ModelServerConfig):
    """Which server, where weights are handed over, and how it is treated."""

    changes_no_reply = (*ModelServerConfig.changes_no_reply, "weights_folder")

    url: str | None = Field("http://127.0.0.1:8000/v1", description="Up to and with /v1.")
    model: str | None = Field(None, description="The server's name for the model. None: its first one.")
    key_env: str = Field("VLLM_API_KEY", description="Environment variable that holds the API key, if there is one.")
    attempts: int = Field(40, ge=1, description="How often a reply is asked for before its episode fails.")
    reply_s: float = Field(600.0, gt=0, description="Seconds until a whole reply must be there, pauses included.")
    retry_s: float = Field(1200.0, gt=0, description="Seconds that all attempts at a reply may take, waits included.")
    max_in_flight: int = Field(1024, ge=1, description="Requests at the server at once: it sees to their order itself.")
    weights_folder: str | None = Field(
        None, description="Folder that the server reads too, for weights. None: /dev/shm, or where there is none, /tmp."
    )


class VLLMServerBackend(ServedBackend):
    """`agents.backend.Backend` over a server that samples with the policy's weights."""

    def __init__(self, policy: Policy | None, sampling: SamplingConfig, config: VLLMServerConfig) -> None:
        if policy is None or policy.model is None:
            raise ConfigError("sampling.method: 'vllm_server' samples with a policy of ours, and there is none")
        super().__init__(sampling, config, _Completions(policy, sampling), config.model or "")
        self._policy, self.version = policy, policy.version
        self._folder = _new_folder(config.weights_folder)
        self._mark = ""  # of the weights handed over last
        self._known_outages = 0  # since which the server is known to have them
        try:
            self._constrains = _can_constrain(self.client.call("//server_info?config_format=json"))
            self._model = config.model or _first_model(self.client.call("/models"))
            self._save()
            self._load()
        except BaseException:  # interrupts too: connections and files must not stay; raised again
            self.close()
            raise

    def submit(self, slot: int, request: Request) -> None:
        """Ask for a reply in this slot; see `agents.backend.Backend`."""
        if request.choices is not None and not self._constrains:
            raise ConfigError(
                f"agent.constrain: the server was started without --logits-processors {PROCESSOR}; start it with that, "
                "or set agent.constrain = false"
            )
        if not self._asked:  # an outage that nothing was under way to notice
            with contextlib.suppress(ModelFailure):  # the request itself will tell
                self._see_to_weights()
        super().submit(slot, request)

    def pause(self) -> None:
        """Have the server hold what is under way, and ask nothing new."""
        super().pause()
        self.client.call("//pause?mode=keep", {}, is_json=False)

    def resume(self) -> None:
        """Go on."""
        self.client.call("//resume", {}, is_json=False)
        super().resume()

    def sync_weights(self, version: int) -> None:
        """Hand over the policy's present weights; what is under way goes on with them.

        Raises:
            ModelFailure: the server did not take them.
        """
        self._save()
        self._load()
        self.version = version

    def close(self) -> None:
        """Give up what is under way, close all connections and remove the weights."""
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _arrived(self, wait_s: float) -> list[tuple[int, Any]]:
        """Return what has arrived; what a server sampled that had lost the weights is asked again."""
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
        """Hand the weights over again if the server has lost them; return whether it had them."""
        outages = self.client.outages
        info = self.client.call("//weight_info", once=True)
        had_them = isinstance(info, dict) and info.get("weight_version") == self._mark
        if not had_them:
            self._load()
        self._known_outages = outages
        return had_them

    def _save(self) -> None:
        """Write the policy's weights where the server reads them."""
        shutil.rmtree(self._folder / "policy", ignore_errors=True)
        self._policy.save(self._folder / "policy")
        digest = xxhash.xxh3_64()
        for file in sorted((self._folder / "policy").glob("*.safetensors")):
            with file.open("rb") as open_file:
                while piece := open_file.read(_PIECE):
                    digest.update(piece)
        self._mark = f"cairn-{digest.hexdigest()}"

    def _load(self) -> None:
        """Have the server load what was written last, and drop what it cached with other weights."""
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
            if not self._is_paused:
                self.client.call("//resume", {}, is_json=False)


class _Completions(IdCompletions):
    """Tells the server what is allowed, too."""

    def _body(self, prompt: list[int], left: int, request: Request) -> dict[str, Any]:
        body = super()._body(prompt, left, request)
        choices = remaining(request)
        return body if choices is None else body | {"vllm_xargs": {_CHOICES: flatten(choices)}}


def _is_lost(value: object) -> bool:
    """Return whether a request came to nothing, rather than to a reply or a refusal of a server that is up."""
    return isinstance(value, ModelFailure) and not isinstance(value, ServerRefusal)


def _can_constrain(info: Any) -> bool:  # Any: JSON
    """Return whether the server was started in a way that it can constrain replies.

    Raises:
        ConfigError: it was started in a way in which it cannot be trained with.
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
    """Return a fresh folder that this user alone reads."""
    if inside is None:
        return Path(tempfile.mkdtemp(prefix="cairn-weights-", dir=_SHARED if _SHARED.is_dir() else None))
    try:
        Path(inside).expanduser().mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="cairn-weights-", dir=Path(inside).expanduser()))
    except OSError as error:
        raise ConfigError(f"sampling.vllm_server.weights_folder: cannot write to {inside!r}: {error}") from error


BACKEND = (VLLMServerBackend, VLLMServerConfig)
