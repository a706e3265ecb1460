"""The optimisers: weights that each one changes, learning rates, and restored states."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch

from cairn.agents.models.lora import LoraConfig, add_lora
from cairn.core.errors import CairnError
from cairn.trainer.learner.optimizers import OptimizerConfig, PolicyOptimizer
from tests.agents.tiny import policy

Kind = Literal["adamw", "muon"]
NO_LIMIT = 1e9  # of the gradient's norm


def stepped(kind: Kind, *rates: float, **settings: Any) -> tuple[Any, PolicyOptimizer, dict[str, torch.Tensor]]:
    """Return a model after steps along a gradient of ones, the optimiser, and the weights before."""
    model = policy().model
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = PolicyOptimizer(model, OptimizerConfig(kind=kind, **settings))
    for rate in rates:
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        optimizer.step(rate, NO_LIMIT)
    return model, optimizer, before


def is_hidden_matrix(name: str, p: torch.Tensor) -> bool:
    return p.ndim == 2 and ".layers." in name


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_adamw_moves_every_weight_by_its_rate(rate: float) -> None:
    # The first step of AdamW on a gradient of ones is lr x rate x 1 / (1 + 1e-8).
    model, _, before = stepped("adamw", rate, lr=0.01)
    for name, p in model.named_parameters():
        torch.testing.assert_close(before[name] - p.detach(), torch.full_like(p, 0.01 * rate), rtol=0, atol=2e-6)


def test_muon_moves_hidden_matrices_and_adamw_the_rest() -> None:
    model, _, before = stepped("muon", 1.0, lr=0.01, muon_lr=0.02)
    alone, _, _ = stepped("muon", 1.0, lr=0.01, muon_lr=0.04)
    hidden = 0
    for (name, p), other in zip(model.named_parameters(), alone.parameters(), strict=True):
        change, change_of_other = before[name] - p.detach(), before[name] - other.detach()
        if is_hidden_matrix(name, p):
            hidden += 1
            torch.testing.assert_close(change_of_other, 2 * change, rtol=1e-3, atol=2e-6)
            assert torch.linalg.matrix_rank(change, rtol=1e-2) == 1  # a gradient of ones has rank one
        else:
            torch.testing.assert_close(change, torch.full_like(p, 0.01), rtol=0, atol=2e-6)
    assert hidden == 2 * 7  # four of attention and three of the feed-forward part, in two layers


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("max_norm", "scale"), [(0.5, 0.1), (5.0, 1.0), (1e9, 1.0)])
def test_the_gradient_is_scaled_down_to_the_largest_norm(fused: bool, max_norm: float, scale: float) -> None:
    """The gradient is 3 and 4 at two weights and 0 elsewhere; AdamW's first moment is a tenth of what it is given."""
    model = policy().model
    optimizer = PolicyOptimizer(model, OptimizerConfig(), fused=fused)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    model.model.norm.weight.grad[0] = 3.0
    model.model.layers[0].mlp.up_proj.weight.grad[1, 2] = -4.0
    assert float(optimizer.step(1.0, max_norm)) == pytest.approx(5.0)
    state = optimizer.tensors()
    assert float(state["model.norm.weight/exp_avg"][0]) == pytest.approx(0.1 * 3.0 * scale)
    assert float(state["model.layers.0.mlp.up_proj.weight/exp_avg"][1, 2]) == pytest.approx(-0.1 * 4.0 * scale)


def test_fused_steps_are_the_plain_ones() -> None:
    found = []
    for fused in (False, True):
        model = policy().model
        optimizer = PolicyOptimizer(model, OptimizerConfig(weight_decay=0.1), fused=fused)
        for step in range(3):
            for i, p in enumerate(model.parameters()):
                p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(100 * step + i))
            optimizer.step(0.5, max_norm=0.7)
        found.append(list(model.parameters()))
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(("kind", "fused"), [("adamw", False), ("adamw", True), ("muon", False), ("muon", True)])
def test_a_gradient_that_is_not_finite_changes_nothing(kind: Kind, fused: bool, value: float) -> None:
    model = policy().model
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = PolicyOptimizer(model, OptimizerConfig(kind=kind, weight_decay=0.5), fused=fused)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    model.model.norm.weight.grad[3] = value
    assert not torch.isfinite(optimizer.step(1.0, max_norm=1.0))
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(p.grad is None for p in model.parameters())


def test_gradients_of_micro_batches_are_summed_in_float32() -> None:
    """In bfloat16, 1 + 2^-9 is 1, so that 512 such gradients after a 1 would be lost."""
    model, optimizer = halved()
    weight = model.model.norm.weight
    with optimizer.summing_gradients():
        for scale in (1.0, *[2.0**-9] * 512):
            (scale * weight[0]).backward()
            assert weight.grad is None
    weight[0].backward()  # outside, gradients are the weight's own: two optimisers may have one model
    assert weight.grad is not None
    weight.grad = None
    optimizer.step(1.0, NO_LIMIT)
    assert float(optimizer.tensors()["model.norm.weight/exp_avg"][0]) == pytest.approx(0.2)


def test_zero_grad_clears_what_micro_batches_have_summed() -> None:
    model, optimizer = halved()
    with optimizer.summing_gradients():
        model.model.norm.weight.sum().backward()
    optimizer.zero_grad()
    assert float(optimizer.step(1.0, NO_LIMIT)) == 0.0


def test_gradients_are_cleared() -> None:
    model, _, _ = stepped("muon", 1.0)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_weights_without_a_gradient_stay(kind: Kind) -> None:
    model = policy().model
    before = [p.detach().clone() for p in model.parameters()]
    PolicyOptimizer(model, OptimizerConfig(kind=kind, weight_decay=0.5)).step(1.0, NO_LIMIT)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_restored_state_continues_as_before(kind: Kind) -> None:
    whole, _, _ = stepped(kind, 1.0, 0.5, 0.25)
    half, first, _ = stepped(kind, 1.0, 0.5)
    second = PolicyOptimizer(half, OptimizerConfig(kind=kind))
    second.load_tensors({name: tensor.clone() for name, tensor in first.tensors().items()})
    for p in half.parameters():
        p.grad = torch.ones_like(p)
    second.step(0.25, NO_LIMIT)
    for one, two in zip(whole.parameters(), half.parameters(), strict=True):
        assert torch.equal(one, two)


def test_the_state_of_another_model_is_refused() -> None:
    _, optimizer, _ = stepped("adamw", 1.0)
    with pytest.raises(CairnError, match=r"'model\.layers\.9\.weight', which this model does not train"):
        optimizer.load_tensors({"model.layers.9.weight/exp_avg": torch.zeros(1)})


@pytest.mark.parametrize(("written", "read"), [("muon", "adamw"), ("adamw", "muon")])
def test_the_state_of_another_kind_of_optimiser_is_refused(written: Kind, read: Kind) -> None:
    _, first, _ = stepped(written, 1.0)
    with pytest.raises(CairnError, match="another kind of optimiser"):
        PolicyOptimizer(policy().model, OptimizerConfig(kind=read)).load_tensors(first.tensors())


def halved(kind: Kind = "adamw", **settings: Any) -> tuple[Any, PolicyOptimizer]:
    """Return a bfloat16 model and its optimiser."""
    model = policy().model.bfloat16()
    return model, PolicyOptimizer(model, OptimizerConfig(kind=kind, **settings))


def push(model: Any, optimizer: PolicyOptimizer, times: int) -> None:
    for _ in range(times):
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        optimizer.step(1.0, NO_LIMIT)


@pytest.mark.rotating(3)
def test_steps_too_small_for_bfloat16_add_up() -> None:
    """Each step of AdamW is 1e-5; a bfloat16 at 1 changes by 2^-8 at least, so each by itself is lost."""
    model, optimizer = halved(lr=1e-5)
    norm = model.model.norm.weight
    assert set(norm.tolist()) == {1.0}
    push(model, optimizer, 100)
    assert set(norm.tolist()) == {1.0}  # 0.999 is still nearest to 1
    push(model, optimizer, 900)
    assert set(norm.tolist()) == {0.98828125}  # 0.99, to the nearest of 2^-8
    assert norm.dtype == torch.bfloat16
    assert optimizer.tensors()["model.norm.weight/master"][0] == pytest.approx(0.99, abs=5e-5)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_the_master_is_part_of_the_state(kind: Kind) -> None:
    whole, one = halved(kind, lr=1e-5, muon_lr=1e-5)
    push(whole, one, 16)
    half, first = halved(kind, lr=1e-5, muon_lr=1e-5)
    push(half, first, 8)
    second = PolicyOptimizer(half, OptimizerConfig(kind=kind, lr=1e-5, muon_lr=1e-5))
    second.load_tensors({name: tensor.clone() for name, tensor in first.tensors().items()})
    push(half, second, 8)
    for name, tensor in one.tensors().items():
        assert torch.equal(second.tensors()[name], tensor)
    for a, b in zip(whole.parameters(), half.parameters(), strict=True):
        assert torch.equal(a, b)


def test_float32_weights_are_their_own_master() -> None:
    _, optimizer, _ = stepped("adamw", 1.0)
    assert not [name for name in optimizer.tensors() if name.endswith("/master")]
    mixed = policy().model.bfloat16()
    mixed.requires_grad_(False)
    add_lora(mixed, LoraConfig(rank=2), 0)
    push_adapters = PolicyOptimizer(mixed, OptimizerConfig())
    assert push_adapters.tensors() == {}


def test_gradients_of_bfloat16_weights_are_cleared() -> None:
    model, optimizer = halved()
    push(model, optimizer, 1)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(("dtype", "said"), [(torch.bfloat16, "lacks"), (torch.float32, "has")])
def test_the_state_of_another_precision_is_refused(dtype: torch.dtype, said: str) -> None:
    other = policy().model.to(torch.float32 if dtype == torch.bfloat16 else torch.bfloat16)
    state = PolicyOptimizer(other, OptimizerConfig()).tensors()
    with pytest.raises(CairnError, match=rf"{said} a float32 master of .*model\.dtype"):
        PolicyOptimizer(policy().model.to(dtype), OptimizerConfig()).load_tensors(state)
