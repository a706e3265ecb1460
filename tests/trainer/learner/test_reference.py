"""The reference policy: which weights it has, and the divergence from it, in value and in gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from cairn.agents.models.lora import LoraConfig, add_lora, trained
from cairn.agents.models.policy import Policy
from cairn.core.config import build
from cairn.core.errors import CairnError, ConfigError
from cairn.trainer.learner.learner import Learner, LearnerConfig
from cairn.trainer.learner.reference import Reference, ReferenceConfig, divergence
from cairn.trainer.learner.samples import Sample
from cairn.trainer.run.checkpoint import latest, restore_learner, save
from tests.agents.tiny import policy
from tests.trainer.learner.test_learner import computed, expected, gradients, mixed

Estimator = Literal["k1", "k2", "k3"]
ESTIMATORS: tuple[Estimator, ...] = ("k1", "k2", "k3")


def learner_of(of: Policy, reference: dict[str, Any], **settings: Any) -> Learner:
    optimizer = {"lr": 1e-2}
    return Learner(of, LearnerConfig.model_validate({"reference": reference, "optimizer": optimizer, **settings}), 10)


def flat(of: Policy) -> torch.Tensor:
    return torch.cat([p.detach().float().flatten() for p in of.model.parameters()])


@pytest.mark.parametrize(("estimator", "value"), [("k1", 0.5), ("k2", 0.125), ("k3", 0.106531)])
def test_values_and_gradient_by_hand(estimator: Estimator, value: float) -> None:
    """x = -1 - -1.5 = 0.5. Sampled at -1.2, so rho = e^0.2 and the gradient is 0.5 e^0.2."""
    logprobs = torch.tensor([-1.0], requires_grad=True)
    found = divergence(logprobs, torch.tensor([-1.5]), torch.tensor([-1.2]), estimator)
    assert float(found.detach()) == pytest.approx(value, abs=1e-6)
    torch.autograd.backward(found.sum())
    assert logprobs.grad is not None
    assert float(logprobs.grad) == pytest.approx(0.5 * np.exp(0.2), rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_mean_gradient_is_that_of_the_divergence_though_another_policy_sampled(estimator: Estimator) -> None:
    generator = torch.Generator().manual_seed(1)
    z, reference, old = (0.7 * torch.randn(7, dtype=torch.float64, generator=generator) for _ in range(3))
    reference, old = torch.log_softmax(reference, -1), torch.log_softmax(old, -1)
    ours, exact = z.clone().requires_grad_(), z.clone().requires_grad_()
    places = divergence(torch.log_softmax(ours, -1), reference, old, estimator)
    torch.autograd.backward((old.exp() * places).sum())  # the mean over samples of the old policy
    logprobs = torch.log_softmax(exact, -1)
    torch.autograd.backward((logprobs.exp() * (logprobs - reference)).sum())
    assert ours.grad is not None
    assert exact.grad is not None
    assert float(exact.grad.abs().max()) > 0.1
    torch.testing.assert_close(ours.grad, exact.grad, rtol=0, atol=1e-12)


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_the_mean_value_is_the_divergence(estimator: Estimator) -> None:
    logprobs, reference = (torch.log_softmax(torch.tensor(z), -1) for z in ([0.3, -1.0, 2.0], [1.0, 0.0, -0.5]))
    found = (logprobs.exp() * divergence(logprobs, reference, logprobs, estimator)).sum()
    assert float(found) == pytest.approx(float((logprobs.exp() * (logprobs - reference)).sum()), abs=1e-6)


def test_far_off_tokens_stay_finite_and_count_ten_times_at_most() -> None:
    logprobs = torch.tensor([-1.0, -400.0], requires_grad=True)
    found = divergence(logprobs, torch.tensor([-300.0, -1.0]), torch.tensor([-90.0, -400.0]), "k3")
    torch.autograd.backward(found.sum())
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == [10 * 20.0, -20.0]
    assert bool(torch.isfinite(found).all())


def held(samples: list[Sample], **settings: Any) -> tuple[list[torch.Tensor], dict[str, float]]:
    return gradients(samples, reference={"kind": "initial", "weight": 0.5, **settings})


def test_a_policy_that_is_its_reference_has_no_divergence_and_no_other_gradient() -> None:
    found, metrics = held(mixed())
    plain, metrics_of_plain = gradients(mixed())
    assert metrics["kl_reference"] == 0.0
    assert "kl_reference" not in metrics_of_plain
    for one, two in zip(found, plain, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_metric_is_over_the_distribution_that_sampling_uses(estimator: Estimator) -> None:
    """Constrained to the allowed ids, at the sampling temperature: held against a float64 reference."""
    of, samples = policy(), mixed()
    before = expected(of, samples, 0.7)[0]
    settings = {"kind": "initial", "estimator": estimator}
    learner = Learner(of, LearnerConfig.model_validate({"reference": settings}), 10, temperature=0.7)
    learner.update(samples, 0)
    x = expected(of, samples, 0.7)[0] - before
    assert np.abs(x).max() > 0.05
    value = {"k1": x, "k2": x**2 / 2, "k3": np.exp(-x) + x - 1}[estimator].mean()
    assert learner.update(samples, 1)["kl_reference"] == pytest.approx(value, rel=2e-2, abs=1e-4)


def test_the_cut_into_micro_batches_changes_nothing() -> None:
    found = {}
    for budget in (8192, 1):
        learner = learner_of(of := policy(), {"kind": "initial", "weight": 1.0}, micro_batch_tokens=budget)
        metrics = [learner.update(mixed(), 0) for _ in range(2)]
        found[budget] = metrics[1]["kl_reference"], flat(of)
    assert found[1][0] == pytest.approx(found[8192][0], rel=1e-3)
    torch.testing.assert_close(found[1][1], found[8192][1], rtol=0, atol=2e-4)


@pytest.mark.parametrize("kind", ["initial", "ema"])
def test_a_heavy_reference_holds_the_policy_back(kind: str) -> None:
    def moved(weight: float) -> float:
        of = policy()
        decay = {"decay": 0.999} if kind == "ema" else {}
        learner = learner_of(of, {"kind": kind, "weight": weight, **decay}, optimizer={"lr": 1e-3})
        return [learner.update(mixed(), update)["kl_reference"] for update in range(8)][-1]

    assert moved(20.0) < 0.5 * moved(0.0)


def test_the_reference_also_applies_to_samples_without_advantage() -> None:
    idle = [Sample(**{**{f: getattr(s, f) for f in s.__slots__}, "advantages": 0 * s.advantages}) for s in mixed()]
    _, metrics = held(idle)
    assert metrics["skipped_sequences"] == 0.0


def test_measuring_alone_changes_no_weight() -> None:
    one, two = policy(), policy()
    for of, reference in ((one, {"kind": "none"}), (two, {"kind": "initial"})):
        learner = learner_of(of, reference)
        metrics = [learner.update(mixed(), update) for update in range(3)]
    assert metrics[-1]["kl_reference"] > 1e-4
    assert torch.equal(flat(one), flat(two))


def test_a_moving_average_by_hand() -> None:
    of = policy()
    reference = Reference(of.model, ReferenceConfig(kind="ema", decay=0.75))
    begun = {name: p.detach().clone() for name, p in of.model.named_parameters()}
    for _ in range(2):
        with torch.no_grad():
            for p in of.model.parameters():
                p.add_(1.0)
        reference.update_ema()
    # 0.75 x 0 + 0.25 x 1 = 0.25, then 0.75 x 0.25 + 0.25 x 2 = 0.6875 above the beginning
    for name, tensor in reference.tensors().items():
        torch.testing.assert_close(tensor, begun[name] + 0.6875, rtol=0, atol=1e-5)


def test_a_moving_average_follows_every_step() -> None:
    of = policy()
    begun = {name: p.detach().clone() for name, p in of.model.named_parameters()}
    learner = learner_of(of, {"kind": "ema", "decay": 0.75})
    learner.update(mixed(), 0)
    assert learner.reference is not None
    for name, tensor in learner.reference.tensors().items():
        now = of.model.get_parameter(name).detach()
        torch.testing.assert_close(tensor, 0.75 * begun[name] + 0.25 * now, rtol=0, atol=1e-6)
    assert not torch.allclose(learner.reference.tensors()["model.norm.weight"], begun["model.norm.weight"], atol=1e-3)


def test_an_average_of_bfloat16_weights_keeps_changes_below_their_precision() -> None:
    of = policy()
    of.model.bfloat16()
    reference = Reference(of.model, ReferenceConfig(kind="ema", decay=0.999))
    name, weight = next(iter(of.model.named_parameters()))
    begun = weight.detach().float().clone()
    with torch.no_grad():
        weight.add_(1.0)
    target = weight.detach().float()
    for _ in range(100):
        reference.update_ema()
    torch.testing.assert_close(reference.tensors()[name], target + 0.999**100 * (begun - target), rtol=0, atol=1e-3)
    shown = weight.detach().clone()
    with reference.swapped_in():
        assert torch.equal(weight, reference.tensors()[name].bfloat16())
    assert torch.equal(weight, shown)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_is_shown_in_place_of_the_policy_and_taken_away_even_after_an_error(dtype: torch.dtype) -> None:
    of = policy()
    of.model.to(dtype)
    reference = Reference(of.model, ReferenceConfig(kind="initial"))
    begun, places = flat(of), [p.data_ptr() for p in of.model.parameters()]
    with torch.no_grad():
        for p in of.model.parameters():
            p.mul_(1.5)
    moved = flat(of)
    seen = []

    def fail() -> None:
        with reference.swapped_in():
            seen.append(flat(of))
            raise RuntimeError("within")

    with pytest.raises(RuntimeError, match="within"):
        fail()
    assert torch.equal(seen[0], begun)
    assert torch.equal(flat(of), moved)
    assert [p.data_ptr() for p in of.model.parameters()] == places


def test_adapters_need_no_second_copy_of_the_base() -> None:
    of = policy()
    add_lora(of.model, LoraConfig(rank=4), 0)
    learner = learner_of(of, {"kind": "initial"})
    assert learner.reference is not None
    assert learner.reference.tensors().keys() == trained(of.model).keys()
    base = computed(policy(), mixed())[0]
    learner.update(mixed(), 0)
    assert not torch.allclose(computed(of, mixed())[0], base, atol=1e-3)
    with learner.reference.swapped_in():
        torch.testing.assert_close(computed(of, mixed())[0], base, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "reference", [{"kind": "initial", "weight": 0.3}, {"kind": "ema", "weight": 0.3, "decay": 0.9}]
)
def test_a_resumed_run_is_held_to_the_same_reference(reference: dict[str, Any], tmp_path: Path) -> None:
    of = policy()
    learner = learner_of(of, reference)
    save(tmp_path, 0, of, learner, {}, None, 1)
    for update in range(3):
        learner.update(mixed(), update)
    save(tmp_path, 3, of, learner, {}, None, 1)  # the first checkpoint is gone
    found, _ = latest(tmp_path)
    assert found is not None
    again = policy(seed=5)
    again.model.load_state_dict(of.model.state_dict())
    resumed = learner_of(again, reference)
    restore_learner(found, resumed)
    assert resumed.update(mixed(), 7) == learner.update(mixed(), 7)
    assert torch.equal(flat(again), flat(of))


@pytest.mark.parametrize("fault", ["missing", "another", "kind"])
def test_a_run_cannot_resume_with_another_reference(fault: str, tmp_path: Path) -> None:
    of = policy()
    save(tmp_path, 0, of, learner_of(of, {"kind": "none" if fault == "kind" else "initial"}), {}, None, 1)
    kept = tmp_path / "reference.safetensors"
    if fault == "missing":
        kept.unlink()
    elif fault == "another":
        whole = kept.read_bytes()
        kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    found, _ = latest(tmp_path)
    assert found is not None
    with pytest.raises(CairnError, match=r"learner\.reference: .*reference\.safetensors' is missing, or is not"):
        restore_learner(found, learner_of(of, {"kind": "initial"}))


def test_a_reference_of_another_model_is_refused() -> None:
    reference = Reference(policy().model, ReferenceConfig(kind="initial"))
    tensors = reference.tensors()
    tensors["model.norm.weight"] = torch.zeros(3)
    with pytest.raises(CairnError, match=r"'model\.norm\.weight' as \(3,\) where \(64,\) is expected"):
        reference.load_tensors(tensors)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight": 0.1}, "weight 0.1 needs a reference"),
        ({"kind": "ema"}, "decay belongs to kind 'ema'"),
        ({"kind": "initial", "decay": 0.9}, "decay belongs to kind 'ema'"),
        ({"kind": "ema", "decay": 1.0}, "decay"),
        ({"kind": "initial", "estimator": "k4"}, "estimator"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(ReferenceConfig, settings, "learner.reference")
