"""vLLM's engine in processes of its own, fed from an event loop in a thread of ours; started again when it dies.

All back ends of one policy share one engine (an evaluation's beside a rollout's): it takes half a minute to start, and
one is as much as a device has memory for. Weights reach it as files, in shared memory where they fit: a folder that is
written anew for each version, and that an engine which is started again reads too. A LoRA policy saves adapters only:
then the engine holds the base model, and the files are swapped under the adapter's name.

`AsyncLLM` rather than `LLMEngine`: it is the one that can pause and go on, and that notices when its process is killed.
Nothing here knows slots, replies or versions: that is `agents.backends.vllm`.
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
Answer = Any  # Any: vLLM's RequestOutput, or the exception that came in its stead

_END_S = 1.0  # that processes have to end by themselves; workers on a CPU do not
_LOOK_S = 0.5  # how often a call to the engine looks whether it still lives
_SHARED_MEMORY = Path("/dev/shm")
_LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that vLLM makes room for
_ENVIRONMENT = {  # what vLLM reads from there alone; what is set already stays
    "VLLM_USE_V2_MODEL_RUNNER": "0",  # see `agents.models.vllm_choices`
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork of a process with threads may hang
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # OMP_NUM_THREADS is heeded, and the learner's cores are left alone
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}


def check_installed() -> None:
    """See to it that vLLM is here.

    Raises:
        MissingExtraError: it is not.
    """
    if find_spec("vllm") is None:
        raise MissingExtraError("sampling.method = 'vllm'", "vllm")


class VLLMEngine:
    """One engine for all back ends of a policy."""

    _shared: ClassVar[dict[tuple[int, VLLMConfig, int], VLLMEngine]] = {}

    @classmethod
    def of(cls, policy: Policy, sampling: SamplingConfig, config: VLLMConfig) -> VLLMEngine:
        """Return the policy's engine with its present weights; whoever took it gives it back by `release`."""
        key = id(policy.model), config, sampling.max_context  # the engine holds the policy: no other gets its id
        if key in cls._shared:
            cls._shared[key].load_weights()
        else:
            cls._shared[key] = cls(policy, sampling, config)
        cls._shared[key]._users += 1
        return cls._shared[key]

    def __init__(self, policy: Policy, sampling: SamplingConfig, config: VLLMConfig) -> None:
        """Start one.

        Raises:
            MissingExtraError: vLLM is not installed.
            ConfigError: the model cannot run in vLLM, or not with these settings.
        """
        check_installed()
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        _check_model(policy.model.config, sampling.max_context)
        self.policy, self.sampling, self.config = policy, sampling, config
        self._restarts_left, self._users, self._pauses = config.restarts, 0, 0
        self._numbers = itertools.count()  # of folders and requests
        self._llm: Any = None  # Any: AsyncLLM
        self._root = _folder_for(policy)
        self._weights = self._save()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()
        try:
            self._start()
        except BaseException:  # interrupts too: thread and files must not stay; raised again
            self._end()
            raise
        atexit.register(self._end)

    @property
    def cache_tokens(self) -> int:
        """Tokens that the cache holds."""
        cache = self._llm.vllm_config.cache_config
        return int(cache.num_gpu_blocks * cache.block_size)

    def submit(self, ids: list[int], params: Any, tell: Callable[[Answer], None]) -> futures.Future[None]:
        """Have a prompt gone on with, and hand on what comes, from another thread; to cancel it is to abort it."""
        return asyncio.run_coroutine_threadsafe(self._stream(ids, params, tell), self._loop)

    def revive(self) -> bool:
        """Start the engine again if it died and may be; return whether it lives."""
        if self._llm.errored and self._restarts_left:
            self._restarts_left -= 1
            self._start()
        return not self._llm.errored

    def pause(self) -> None:
        """Sample nothing, for any back end, until `resume` was called as often."""
        self._pauses += 1
        if self._pauses == 1:
            self._ask(lambda llm: llm.pause_generation(mode="keep", clear_cache=False))

    def resume(self) -> None:
        """Go on."""
        self._pauses -= 1
        if self._pauses == 0:
            self._ask(lambda llm: llm.resume_generation())

    def load_weights(self) -> None:
        """Sample with the policy's present weights from now on; what is cached is computed anew."""
        old, self._weights = self._weights, self._save()
        self.pause()
        self._ask(self._reload)
        self.resume()
        shutil.rmtree(old)

    def release(self) -> None:
        """Do without it; it ends with its last user."""
        self._users -= 1
        if self._users == 0:
            for key in [key for key, engine in self._shared.items() if engine is self]:
                del self._shared[key]
            atexit.unregister(self._end)
            self._end()

    # -- in this thread ---------------------------------------------------------------------------------------------

    def _save(self) -> Path:
        folder = self._root / f"weights-{next(self._numbers)}"
        self.policy.save(folder)
        settings = folder / "adapter_config.json"
        self._adapter = (
            json.loads(settings.read_text()) if settings.is_file() else None
        )  # None: these are whole weights
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
                f"sampling.vllm: the engine did not start: {reason} (its own messages are above). If memory is what it "
                "lacks, lower sampling.vllm.memory_share or set sampling.vllm.cache_gib"
            ) from error
        if self._pauses:
            self._ask(lambda llm: llm.pause_generation(mode="keep", clear_cache=False))

    def _ask(self, call: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:  # Any: of AsyncLLM
        """Call the engine. A dead one has nothing to pause, and reads the newest weights when it is started again."""
        from vllm.v1.engine.exceptions import EngineDeadError

        if self._llm is None:  # it could not be started again
            return
        try:
            self._wait(call(self._llm))
        except EngineDeadError:
            return

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        from vllm.v1.engine.exceptions import EngineDeadError

        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        while not futures.wait([future], _LOOK_S).done:
            if self._llm is not None and self._llm.errored:  # some calls would wait for ever
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
        # Keys and values are found again by whole blocks: on a CPU, 128 tokens unless it is said otherwise.
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
            "logprobs_mode": "processed_logprobs",  # of the distribution sampled from
            "logits_processors": [vllm_choices.PATH],
            "worker_extension_cls": vllm_worker.PATH,
            "generation_config": "vllm",  # else the model's own file changes top_p and the like
            "skip_tokenizer_init": True,
            "async_scheduling": False,  # simple on purpose: a constraint reads each id before the next is sampled
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
        except Exception as error:  # noqa: BLE001  (a bug: raised again in the thread that reads answers)
            tell(error)


async def _cancel_all() -> None:
    """Let every other task of the loop come to its end."""
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
        if size not in sizes:  # vLLM itself notices at the first request, and dies of it
            raise ConfigError(
                f"sampling.method: vLLM on a CPU wants attention heads of {sizes} numbers, this model's have {size}; "
                "choose another model (of the presets: qwen3-tiny or larger), or sampling.method = 'hf'"
            )


def _folder_for(policy: Policy) -> Path:
    """Return a new folder, in shared memory if there is room for two versions of the weights."""
    needed = 2 * sum(p.numel() * p.element_size() for p in policy.model.parameters())
    fits = _SHARED_MEMORY.is_dir() and shutil.disk_usage(_SHARED_MEMORY).free > 2 * needed
    return Path(tempfile.mkdtemp(prefix="cairn-vllm-", dir=_SHARED_MEMORY if fits else None))


def _room(rank: int) -> int:
    fitting = [room for room in _LORA_RANKS if room >= rank]
    if not fitting:
        raise ConfigError(f"model.lora.rank: vLLM takes adapters of rank {_LORA_RANKS[-1]} at most, got {rank}")
    return fitting[0]
