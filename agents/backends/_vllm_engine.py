"""vLLM's engine in its own processes, driven by an event loop in a thread.

A dead engine is restarted. All back ends of one policy share one engine (such as those of a rollout and an evaluation):
it takes half a minute to start, and a device has memory for one only. Weights are passed as files, in shared memory if
they fit: each version gets a new folder, which a restarted engine also reads. A LoRA policy saves adapters only: then
the engine holds the base model, and the files are swapped under the adapter's name.

`AsyncLLM` is used rather than `LLMEngine` because only it can pause and resume, and notices when its process is killed.
This module does not know slots, replies or versions; `agents.backends.vllm` does.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine
from concurrent import futures
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cairn.agents.config import SamplingConfig
from cairn.agents.models.policy import Policy
from cairn.core.errors import CairnError, ConfigError, MissingExtraError, ModelFailure

if TYPE_CHECKING:
    from cairn.agents.backends.vllm import VLLMConfig

T = TypeVar("T")
Answer = Any  # Any: vLLM's RequestOutput, or an exception

_END_S = 1.0  # seconds for processes to exit by themselves; CPU workers do not
_LOOK_S = 0.5  # interval at which a call checks that the engine is alive
_SHARED_MEMORY = Path("/dev/shm")
_LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # maximum ranks that vLLM supports
_ENVIRONMENT = {  # settings that vLLM reads only from the environment; existing values are kept
    "VLLM_USE_V2_MODEL_RUNNER": "0",  # see `agents.models.vllm_choices`
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork of a process with threads may hang
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # vLLM honours OMP_NUM_THREADS and does not pin the learner's cores
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}


def check_installed() -> None:
    """Check that vLLM is installed.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec("vllm") is None:
        raise MissingExtraError("sampling.method = 'vllm'", "vllm")


class VLLMEngine:
    """One engine for all back ends of a policy."""

    _shared: ClassVar[dict[tuple[int, VLLMConfig, int], VLLMEngine]] = {}

    @classmethod
    def of(cls, policy: Policy, sampling: SamplingConfig, config: VLLMConfig) -> VLLMEngine:
        """Return the policy's engine with its current weights; the caller must call `release` later."""
        key = id(policy.model), config, sampling.max_context  # the engine keeps the model alive, so its id stays unique
        if key in cls._shared:
            cls._shared[key].load_weights()
        else:
            cls._shared[key] = cls(policy, sampling, config)
        cls._shared[key]._users += 1
        return cls._shared[key]

    def __init__(self, policy: Policy, sampling: SamplingConfig, config: VLLMConfig) -> None:
        """Start an engine.

        Raises:
            MissingExtraError: vLLM is not installed.
            ConfigError: vLLM does not support the model or these settings.
        """
        check_installed()
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        _check_model(policy.model.config, sampling.max_context)
        self.policy, self.sampling, self.config = policy, sampling, config
        self._restarts_left, self._users, self._pauses = config.restarts, 0, 0
        self._numbers = itertools.count()  # counter of folders and requests
        self._llm: Any = None  # Any: AsyncLLM
        self._root = _folder_for(policy)
        self._weights = self._save()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()
        try:
            self._start()
        except BaseException:  # includes interrupts: end the thread and remove files, then raise
            self._end()
            raise
        atexit.register(self._end)

    @property
    def cache_tokens(self) -> int:
        """Capacity of the cache in tokens."""
        cache = self._llm.vllm_config.cache_config
        return int(cache.num_gpu_blocks * cache.block_size)

    def submit(self, ids: list[int], params: Any, tell: Callable[[Answer], None]) -> futures.Future[None]:
        """Generate from a prompt and pass each output to `tell`, in the engine's thread.

        Cancel the returned future to abort the request.
        """
        return asyncio.run_coroutine_threadsafe(self._stream(ids, params, tell), self._loop)

    def revive(self) -> bool:
        """Restart a dead engine if restarts are left; return whether the engine is alive."""
        if self._llm.errored and self._restarts_left:
            self._restarts_left -= 1
            self._start()
        return not self._llm.errored

    def pause(self) -> None:
        """Pause sampling for all back ends, until `resume` has been called as many times as `pause`."""
        self._pauses += 1
        if self._pauses == 1:
            self._ask(lambda llm: llm.pause_generation(mode="keep", clear_cache=False))

    def resume(self) -> None:
        """Resume sampling once every pause has ended."""
        self._pauses -= 1
        if self._pauses == 0:
            self._ask(lambda llm: llm.resume_generation())

    def load_weights(self) -> None:
        """Sample with the policy's current weights from now on; the cache is recomputed."""
        old, self._weights = self._weights, self._save()
        self.pause()
        self._ask(self._reload)
        self.resume()
        shutil.rmtree(old)

    def release(self) -> None:
        """Release the engine; it is shut down when its last user releases it."""
        self._users -= 1
        if self._users == 0:
            for key in [key for key, engine in self._shared.items() if engine is self]:
                del self._shared[key]
            atexit.unregister(self._end)
            self._end()

    # -- in the caller's thread ----------------------------------------------------------------------------------------

    def _save(self) -> Path:
        folder = self._root / f"weights-{next(self._numbers)}"
        self.policy.save(folder)
        settings = folder / "adapter_config.json"
        self._adapter = json.loads(settings.read_text()) if settings.is_file() else None  # None: full weights
        return folder

    def _start(self) -> None:
        if self._llm is not None:
            self._llm.shutdown()
        self._llm = None
        try:
            self._llm = self._wait(self._new())
        except (RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0][:300]
            raise ConfigError(
                f"sampling.vllm: the engine did not start: {reason} (its own messages are above). If it lacks "
                "memory, lower sampling.vllm.memory_share or set sampling.vllm.cache_gib"
            ) from error
        if self._pauses:
            self._ask(lambda llm: llm.pause_generation(mode="keep", clear_cache=False))

    def _ask(self, call: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:  # Any: of AsyncLLM
        """Call the engine; do nothing if it is dead.

        A dead engine has nothing to pause, and reads the newest weights when it is restarted.
        """
        from vllm.v1.engine.exceptions import EngineDeadError

        if self._llm is None:  # the restart failed
            return
        try:
            self._wait(call(self._llm))
        except EngineDeadError:
            return

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        from vllm.v1.engine.exceptions import EngineDeadError

        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        while not futures.wait([future], _LOOK_S).done:
            if self._llm is not None and self._llm.errored:  # some calls would block forever
                future.cancel()
                raise EngineDeadError
        return future.result()

    def _end(self) -> None:
        llm, self._llm = self._llm, None
        self._wait(_cancel_all())
        if llm is not None:
            llm.shutdown(timeout=_END_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._root)

    # -- in the event loop ------------------------------------------------------------------------------------------

    async def _new(self) -> Any:  # Any: AsyncLLM
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_engine_args(AsyncEngineArgs(**self._arguments()))

    def _arguments(self) -> dict[str, Any]:  # Any: of AsyncEngineArgs
        from vllm.platforms import current_platform

        from cairn.agents.models import vllm_choices, vllm_worker

        adapter, config = self._adapter, self.config
        lora = {} if adapter is None else {"enable_lora": True, "max_loras": 1, "max_lora_rank": _room(adapter["r"])}
        dtype = str(self.policy.model.dtype).removeprefix("torch.") if config.dtype == "policy" else config.dtype
        # The prefix cache reuses whole blocks, which have 128 tokens by default on a CPU.
        block = {"block_size": 32} if current_platform.is_cpu() else {}
        return {
            "model": str(self._weights) if adapter is None else adapter["base_model_name_or_path"],
            "dtype": dtype,
            "max_model_len": self.sampling.max_context,
            "max_num_seqs": self.sampling.slots,
            "tensor_parallel_size": config.tensor_parallel,
            "gpu_memory_utilization": config.memory_share,
            "kv_cache_memory_bytes": None if config.cache_gib is None else int(config.cache_gib * 2**30),
            "enforce_eager": config.enforce_eager,
            "enable_prefix_caching": True,
            "logprobs_mode": "processed_logprobs",  # of the sampling distribution
            "logits_processors": [vllm_choices.PATH],
            "worker_extension_cls": vllm_worker.PATH,
            "generation_config": "vllm",  # otherwise the model's generation_config.json changes top_p etc.
            "skip_tokenizer_init": True,
            "async_scheduling": False,  # a constraint must read each id before the next is sampled
            "disable_log_stats": True,
            "use_tqdm_on_load": False,
            **block,
            **lora,
        }

    async def _reload(self, llm: Any) -> None:  # Any: AsyncLLM
        if self._adapter is None:
            await llm.collective_rpc("load_weights_from", args=(str(self._weights),))
        else:
            await llm.add_lora(self._lora(load_inplace=True))
        if not await llm.reset_prefix_cache(reset_running_requests=True):
            raise CairnError("vLLM kept keys and values of the old weights")

    def _lora(self, **settings: bool) -> Any:  # Any: LoRARequest
        from vllm.lora.request import LoRARequest

        return LoRARequest("policy", 1, str(self._weights), **settings)

    async def _stream(self, ids: list[int], params: Any, tell: Callable[[Answer], None]) -> None:
        from vllm.inputs import tokens_input
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        lora = None if self._adapter is None else self._lora()
        try:
            name = f"reply-{next(self._numbers)}"
            async for output in self._llm.generate(tokens_input(ids), params, name, lora_request=lora):
                tell(output)
        except (EngineDeadError, EngineGenerateError) as error:
            failure = ModelFailure(f"vLLM's engine failed in the middle of a reply: {error}")
            failure.__cause__ = error
            tell(failure)
        except Exception as error:  # noqa: BLE001  (a bug: raised again in the thread that reads results)
            tell(error)


async def _cancel_all() -> None:
    """Cancel every other task of the loop and wait for their ends."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _check_model(settings: Any, max_context: int) -> None:  # Any: transformers picks the class
    from vllm.platforms import current_platform

    longest = getattr(settings, "max_position_embeddings", max_context)
    if max_context > longest:
        raise ConfigError(
            f"sampling.max_context: vLLM computes no more positions than the model's {longest}, got {max_context}; "
            f"set sampling.max_context to {longest} or less"
        )
    if current_platform.is_cpu():
        from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend

        sizes = CPUAttentionBackend.get_supported_head_sizes()
        size = getattr(settings, "head_dim", None) or settings.hidden_size // settings.num_attention_heads
        if size not in sizes:  # otherwise vLLM crashes at the first request
            raise ConfigError(
                f"sampling.method: vLLM on a CPU wants attention heads of {sizes} numbers, this model's have {size}; "
                "choose another model (of the presets: qwen3-tiny or larger), or sampling.method = 'hf'"
            )


def _folder_for(policy: Policy) -> Path:
    """Return a new folder, in shared memory if there is space for two versions of the weights."""
    needed = 2 * sum(p.numel() * p.element_size() for p in policy.model.parameters())
    fits = _SHARED_MEMORY.is_dir() and shutil.disk_usage(_SHARED_MEMORY).free > 2 * needed
    return Path(tempfile.mkdtemp(prefix="cairn-vllm-", dir=_SHARED_MEMORY if fits else None))


def _room(rank: int) -> int:
    fitting = [room for room in _LORA_RANKS if room >= rank]
    if not fitting:
        raise ConfigError(f"model.lora.rank: vLLM takes adapters of rank {_LORA_RANKS[-1]} at most, got {rank}")
    return fitting[0]
