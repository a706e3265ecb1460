"""Training by several processes: rendezvous, sharded weights (FSDP2) and reductions.

A rank is one process with its shard of every weight, gradient and moment. Samples are distributed so that the step
equals that of a single rank: see `batch.rank_micro_batches`. Gradients are summed, never averaged, because every
position's share of the loss is fixed in advance. A single rank needs no process group, and every function here then
does nothing.

Not covered: several meshes, pipeline or tensor parallelism, changes of the number of ranks. A rank that fails ends the
group.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # torch does not declare the export
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, start_processes

from cairn.agents.models.policy import Policy
from cairn.core.errors import CairnError

T = TypeVar("T")


@dataclass(frozen=True)
class ProcessGroup:
    """The rank of this process and the number of ranks."""

    rank: int = 0
    world: int = 1

    def sum(self, values: Sequence[float]) -> list[float]:
        """Return the sums over all ranks, in float64, equal on each."""
        return self._reduced(values, dist.ReduceOp.SUM)

    def max(self, values: Sequence[float]) -> list[float]:
        """Return the largest over all ranks."""
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
    """Shard the policy's weights over the ranks, in place; all ranks must hold equal weights.

    Each layer is gathered separately; embeddings, last norm and output layer, which may share weights, are gathered
    together. Gathered weights are released after every pass, so that the next pass uses weights that changed in
    between.
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
    """Return the full tensor; a collective operation that every rank must call."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gather_on_first(tensor: Tensor) -> Tensor:
    """Return the full tensor, in main memory, on the first rank, and an empty one on others; every rank must call it.

    A GPU holds one gathered tensor at a time: the whole optimiser's state would not fit beside the shards.
    """
    if not isinstance(tensor, DTensor):
        return tensor
    full = tensor.full_tensor()
    return full.cpu() if tensor.device_mesh.get_rank() == 0 else full.new_empty(0)


def shared_like(tensor: Tensor, model: Tensor) -> Tensor:
    """Return this rank's shard of a full tensor, sharded like `model`."""
    if not isinstance(model, DTensor):
        return tensor
    return distribute_tensor(tensor.to(model.device), model.device_mesh, model.placements)


def full_weights(model: Any) -> dict[str, Tensor]:  # Any: see Policy
    """Return the full state dict in transformers' format; see `gather_on_first`."""
    stored: dict[str, Tensor] = model.state_dict(keep_vars=True)
    parts = {id(tensor): gather_on_first(tensor.detach()) for tensor in stored.values()}  # tied weights stay one tensor
    return {name: parts[id(tensor)] for name, tensor in stored.items()}


def open_meeting(host: str = "127.0.0.1") -> TCPStore:
    """Return the ranks' rendezvous store on a free port (its `port`); it must stay referenced."""
    return TCPStore(host, 0, is_master=True, wait_for_workers=False)


def join(rank: int, world: int, host: str, port: int, timeout_s: float = 600.0) -> ProcessGroup:
    """Join `world` ranks at a rendezvous; GPU tensors use nccl, all others gloo."""
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
    """Leave the process group."""
    if ranks.world > 1:
        dist.destroy_process_group()


def run_ranks(world: int, function: Callable[..., T], *args: object, timeout_s: float = 600.0) -> list[T]:
    """Return the results of `function(ranks, *args)` in `world` new processes on this machine.

    Function, arguments and results are pickled between these processes only; the function must be importable.

    Raises:
        CairnError: the function raised in one process, or the processes took longer than `timeout_s`; all processes
            have ended.
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
                if error_text is not None:  # the first failure; the others fail as a consequence
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
    except Exception:  # the waiting process receives the traceback, and this process ends
        results.put((rank, None, traceback.format_exc()))  # before the other ranks notice the exit
        raise
    leave(ranks)
    results.put((rank, result, None))
