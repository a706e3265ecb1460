"""Several processes that train one policy: they meet, share its weights out (FSDP2), and add up what each computed.

A rank is one process with its part of every weight, gradient and moment. Samples are dealt so that the step is that of
one rank: see `batch.dealt`. Gradients are summed, never averaged, for every place's share of the loss is fixed before.
One rank needs no process group, and every function here then does nothing.

Not covered: several meshes, pipeline or tensor parallelism, ranks that come and go. A rank that fails ends the group.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # torch does not say that it exports it
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, start_processes

from cairn.agents.models.policy import Policy
from cairn.core.errors import CairnError, DivergedError

T = TypeVar("T")


@dataclass(frozen=True)
class ProcessGroup:
    """Which of how many processes this is."""

    rank: int = 0
    world: int = 1

    def sum(self, values: Sequence[float]) -> list[float]:
        """Return the sums over all ranks, in float64, equal on each."""
        return self._reduced(values, dist.ReduceOp.SUM)

    def max(self, values: Sequence[float]) -> list[float]:
        """Return the largest of all ranks' values."""
        return self._reduced(values, dist.ReduceOp.MAX)

    def _reduced(self, values: Sequence[float], how: Any) -> list[float]:  # Any: torch has no type for it
        if self.world == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor, how)
        out: list[float] = tensor.tolist()
        return out


SINGLE = ProcessGroup()


def shard(policy: Policy, ranks: ProcessGroup) -> None:
    """Share the policy's weights out over the ranks, in place; each must hold the same ones.

    Every layer is gathered by itself; embeddings, last norm and output layer, which may share weights, together. What
    was gathered is let go after every pass, so that weights changed between passes are the ones that the next uses.
    """
    if ranks.world == 1:
        return
    mesh = init_device_mesh(policy.device.type, (ranks.world,))
    precision = MixedPrecisionPolicy(reduce_dtype=torch.float32)
    for module in (*policy.model.get_decoder().layers, policy.model):
        fully_shard(module, mesh=mesh, reshard_after_forward=True, mp_policy=precision)
    for module in policy.model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
            module.set_gradient_divide_factor(1.0)


def gather(tensor: Tensor) -> Tensor:
    """Return the tensor in one piece; every rank must ask."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def shared_like(tensor: Tensor, model: Tensor) -> Tensor:
    """Return this rank's part of a tensor that every rank holds whole, cut as `model` is."""
    if not isinstance(model, DTensor):
        return tensor
    return distribute_tensor(tensor.to(model.device), model.device_mesh, model.placements)


def full_weights(model: Any) -> dict[str, Tensor]:  # Any: see Policy
    """Return the state dict in one piece, as transformers loads it; every rank must ask."""
    stored: dict[str, Tensor] = model.state_dict(keep_vars=True)
    parts = {id(tensor): gather(tensor.detach()) for tensor in stored.values()}  # tied weights stay one tensor
    return {name: parts[id(tensor)] for name, tensor in stored.items()}


def clip(weights: Iterable[Tensor], max_norm: float) -> float:
    """Scale the gradients down to `max_norm` together and return the norm that they had, over all ranks.

    Raises:
        DivergedError: it is not finite; nothing has been changed.
    """
    given = [weight for weight in weights if weight.grad is not None]
    norm = gather(torch.nn.utils.get_total_norm([weight.grad for weight in given if weight.grad is not None]))
    if not torch.isfinite(norm):
        raise DivergedError(f"the norm of the gradient is {float(norm)}")
    torch.nn.utils.clip_grads_with_norm_(given, max_norm, norm)
    return float(norm)


def open_meeting(host: str = "127.0.0.1") -> TCPStore:
    """Return the place where ranks meet, at a free port (see its `port`); it is there while the object is."""
    return TCPStore(host, 0, is_master=True, wait_for_workers=False)


def join(rank: int, world: int, host: str, port: int, timeout_s: float = 600.0) -> ProcessGroup:
    """Become one of `world` ranks that meet there: what is on a GPU goes over nccl, all else over gloo."""
    wait = timedelta(seconds=timeout_s)
    if host == "127.0.0.1":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # else the machine's name must resolve
    is_gpu = torch.cuda.is_available()
    if is_gpu:
        torch.cuda.set_device(rank % torch.cuda.device_count())
    store = TCPStore(host, port, is_master=False, timeout=wait)
    backend = "cpu:gloo,cuda:nccl" if is_gpu else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=wait)
    return ProcessGroup(rank, world)


def leave(ranks: ProcessGroup) -> None:
    """End this process's membership."""
    if ranks.world > 1:
        dist.destroy_process_group()


def run_ranks(world: int, function: Callable[..., T], *args: object, timeout_s: float = 600.0) -> list[T]:
    """Return what `function(ranks, *args)` returns in each of `world` new processes on this machine.

    Function, arguments and results are pickled between our own processes; the function must be importable.

    Raises:
        CairnError: it raised in one of them, or they took longer than `timeout_s`; all of them have ended.
    """
    meeting = open_meeting()
    context = torch.multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    given = (world, meeting.port, timeout_s, results, function, args)
    processes = start_processes(_become_rank, given, world, join=False, start_method="spawn")  # type: ignore[no-untyped-call]  # torch has no types for it
    out: dict[int, T] = {}
    deadline = time.monotonic() + timeout_s
    try:
        while len(out) < world:
            if not results.empty():
                rank, result, error_text = results.get()
                if error_text is not None:  # the first to fail; the others fail for want of it
                    raise CairnError(f"Rank {rank} failed: {error_text}")
                out[rank] = result
            elif processes.join(0.05) and results.empty() and len(out) < world:
                raise CairnError(f"Only {len(out)} of {world} ranks gave a result")
            elif time.monotonic() > deadline:
                raise CairnError(f"{world} ranks took longer than {timeout_s:g} s; {len(out)} of them were done")
        processes.join(max(deadline - time.monotonic(), 1.0))
    except (ProcessRaisedException, ProcessExitedException) as error:
        raise CairnError(f"A rank ended: {error}") from error
    finally:
        for process in processes.processes:
            if process.is_alive():
                process.kill()
            process.join()
    return [out[rank] for rank in range(world)]


def _become_rank(
    rank: int, world: int, port: int, timeout_s: float, results: Any, function: Callable[..., object], args: Any
) -> None:  # Any: a queue of torch.multiprocessing; the function's arguments
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    ranks = join(rank, world, "127.0.0.1", port, timeout_s)
    try:
        result = function(ranks, *args)
    except Exception:  # of another process: what it was goes to the one that waits, and this one ends
        results.put((rank, None, traceback.format_exc()))  # before the others see that this one is gone
        raise
    leave(ranks)
    results.put((rank, result, None))
