"""The learner against a float64 reference and against itself: settings that keep a gradient, and settings that change
it.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from cairn.agents.models.lora import LoraConfig, add_lora, trained
from cairn.agents.models.policy import Policy
from cairn.core.errors import ConfigError, DivergedError
from cairn.core.plugin_config import PluginConfig
from cairn.core.records import Constraint
from cairn.trainer.learner.batch import make_batch
from cairn.trainer.learner.learner import Learner, LearnerConfig, logprobs_and_entropy, loss_weights
from cairn.trainer.learner.optimizers import OptimizerConfig
from cairn.trainer.learner.samples import Sample
from cairn.trainer.learner.update_metrics import StepSums
from tests.agents.tiny import policy, reference_logits, shared

CPU = torch.device("cpu")


def sample(seed: int, length: int, *, is_constrained: bool, advantage: float = 1.0) -> Sample:
    """Return a sequence of random ids, every second of which was decided, perhaps among four choices."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(3, 200, length).astype(np.int32)
    places = np.arange(1, length, 2).astype(np.int32)
    choices = [np.sort(np.append(rng.choice(np.arange(200, 330), 3, replace=False), ids[place])) for place in places]
    kept = [c if is_constrained else c[:0] for c in choices]
    return Sample(
        ids=ids,
        positions=places,
        old_logprobs=rng.uniform(-3, -1, len(places)),
        advantages=advantage * rng.uniform(0.5, 1.5, len(places)),
        turns=np.zeros(len(places), np.int32),
        allowed=Constraint(
            ids=np.concatenate(kept).astype(np.int32),
            offsets=np.cumsum([0, *map(len, kept)]).astype(np.int32),
        ),
    )


def mixed() -> list[Sample]:
    return [
        sample(0, 12, is_constrained=True),
        sample(1, 5, is_constrained=False, advantage=-1.0),
        sample(2, 30, is_constrained=True, advantage=-1.0),
        sample(3, 17, is_constrained=False),
    ]


def computed(of: Policy, samples: list[Sample], temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    weights = loss_weights(samples, "token")
    with torch.no_grad():
        return logprobs_and_entropy(of, make_batch(samples, weights, CPU), temperature)


def expected(of: Policy, samples: list[Sample], temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return logprobs and entropies in float64, place by place, from a padded forward pass of plain transformers."""
    logprobs, entropies = [], []
    for one, logits in zip(samples, reference_logits(of.model, [s.ids.tolist() for s in samples]), strict=True):
        for i, place in enumerate(one.positions):
            row = (logits[place - 1] / temperature).numpy()
            allowed = one.allowed.ids[one.allowed.offsets[i] : one.allowed.offsets[i + 1]]
            ids = allowed if len(allowed) else np.arange(len(row))
            p = np.exp(row[ids] - row[ids].max())
            p /= p.sum()
            logprobs.append(np.log(p[list(ids).index(one.ids[place])]))
            entropies.append(-(p * np.log(p)).sum())
    return np.array(logprobs), np.array(entropies)


def gradients(samples: list[Sample], loss: str = "clip", **settings: Any) -> tuple[list[Tensor], dict[str, float]]:
    """Return the gradient of one optimiser step and its metrics."""
    of = policy()
    learner = Learner(of, LearnerConfig(max_grad_norm=1e9, **settings), 1, loss=PluginConfig(method=loss))
    hold(learner)
    metrics = learner.update(samples, 0)
    return [p.grad for p in of.model.parameters()], metrics


def hold(learner: Learner) -> list[float]:
    """Keep the optimiser from changing weights and from clearing gradients; return where it notes its rates."""
    rates: list[float] = []

    def step(rate: float, max_norm: float) -> Tensor:
        rates.append(rate)
        return torch.nn.utils.get_total_norm([p.grad for p in learner.policy.model.parameters() if p.grad is not None])

    learner.optimizer.step = step  # type: ignore[method-assign]  # gradients are looked at, not applied
    return rates


def assert_same(found: list[Tensor], other: list[Tensor]) -> None:
    scale = max(float(gradient.abs().max()) for gradient in other)
    assert scale > 1e-3
    for one, two in zip(found, other, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-5 * scale)


def turns(seed: int, *, is_constrained: bool) -> list[Sample]:
    """Return three episodes' turns whose prompts hold all turns before, as one sequence each; some are equal."""
    out = []
    for episode in range(3):
        whole = sample(seed, 40, is_constrained=is_constrained, advantage=(-1.0) ** episode)
        other = sample(seed + 1 + episode, 40, is_constrained=is_constrained)
        fork = 8 + 4 * episode
        ids = np.concatenate([whole.ids[:fork], other.ids[fork:]])
        for length in range(8, 41, 8):
            kept = slice(length // 2 - 2, length // 2)  # each turn decides two ids
            offsets = (whole if length <= fork else other).allowed.offsets
            choices = (whole if length <= fork else other).allowed.ids[offsets[kept.start] : offsets[kept.stop]]
            out.append(
                Sample(
                    ids=ids[:length],
                    positions=whole.positions[kept],
                    old_logprobs=whole.old_logprobs[kept],
                    advantages=whole.advantages[kept] + episode,
                    turns=whole.turns[kept],
                    allowed=Constraint(
                        ids=choices,
                        offsets=offsets[kept.start : kept.stop + 1] - offsets[kept.start],
                    ),
                )
            )
    return out


def reference_gradients(samples: list[Sample], entropy_weight: float) -> tuple[float, list[Tensor]]:
    """Return loss and gradients of plain transformers in float32, one sequence and one place at a time."""
    ours = policy().model
    plain: Any = type(ours)(copy.deepcopy(ours.config))  # Any: a transformers model
    plain.set_attn_implementation("sdpa")
    plain.load_state_dict(ours.state_dict())
    count = sum(len(s.positions) for s in samples)
    total = 0.0
    for one in samples:
        logits = plain(input_ids=torch.as_tensor(one.ids).long()[None]).logits[0]
        loss = torch.zeros(())
        for i, place in enumerate(one.positions):
            allowed = one.allowed.ids[one.allowed.offsets[i] : one.allowed.offsets[i + 1]]
            ids = torch.as_tensor(allowed if len(allowed) else np.arange(logits.shape[-1])).long()
            logprobs = torch.log_softmax(logits[place - 1, ids], -1)
            chosen = logprobs[int((ids == int(one.ids[place])).nonzero())]
            ratio, advantage = torch.exp(chosen - one.old_logprobs[i]), one.advantages[i]
            clipped = torch.maximum(-advantage * ratio, -advantage * ratio.clamp(0.8, 1.2))
            loss = loss + (clipped + entropy_weight * (logprobs.exp() * logprobs).sum()) / count
        torch.autograd.backward(loss)
        total += float(loss.detach())
    return total, [weight.grad for weight in plain.parameters()]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_and_entropies_are_those_of_a_padded_float64_reference(temperature: float) -> None:
    logprobs, entropies = computed(shared(), mixed(), temperature)
    of_reference, of_reference_entropies = expected(shared(), mixed(), temperature)
    assert of_reference.std() > 0.5  # a reference that is nearly uniform would prove nothing
    np.testing.assert_allclose(logprobs.numpy(), of_reference, atol=1e-4)
    np.testing.assert_allclose(entropies.numpy(), of_reference_entropies, atol=1e-4)


def test_other_samples_of_the_batch_change_nothing() -> None:
    together = torch.cat([t[None] for t in computed(shared(), mixed())])
    alone = torch.cat([torch.cat([t[None] for t in computed(shared(), [s])]) for s in mixed()], dim=1)
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


def test_the_allowed_ids_share_all_probability() -> None:
    one = sample(0, 12, is_constrained=True)
    totals = np.zeros(len(one.positions))
    for member in range(4):
        ids = one.ids.copy()
        for i, place in enumerate(one.positions):
            ids[place] = one.allowed.ids[one.allowed.offsets[i] + member]
        batch = make_batch([one], loss_weights([one], "token"), CPU)
        asked = replace(batch, targets_D=torch.as_tensor(ids[one.positions], dtype=torch.long))
        with torch.no_grad():
            totals += logprobs_and_entropy(shared(), asked, 1.0)[0].exp().numpy()
    np.testing.assert_allclose(totals, 1.0, atol=1e-5)


def test_entropy_of_two_choices_by_hand() -> None:
    one = replace(
        sample(0, 2, is_constrained=False),
        allowed=Constraint(
            ids=np.array([7, 9], np.int32),
            offsets=np.array([0, 2], np.int32),
        ),
        ids=np.array([5, 9], np.int32),
    )
    logprobs, entropies = computed(shared(), [one])
    p = float(logprobs.exp())
    assert float(entropies) == pytest.approx(-p * np.log(p) - (1 - p) * np.log(1 - p), abs=1e-6)


@pytest.mark.parametrize("is_constrained", [False, True])
@pytest.mark.parametrize("entropy_weight", [0.0, 0.1])
@pytest.mark.parametrize("budget", [50, 8192])
def test_turns_that_share_prefixes_give_the_gradient_of_each_by_itself(
    is_constrained: bool, entropy_weight: float, budget: int
) -> None:
    samples = turns(0, is_constrained=is_constrained)
    found, metrics = gradients(samples, micro_batch_tokens=budget, entropy_weight=entropy_weight)
    loss, expected = reference_gradients(samples, entropy_weight)
    assert metrics["loss"] - entropy_weight * metrics["entropy"] == pytest.approx(loss, rel=1e-5)
    scale = max(float(gradient.abs().max()) for gradient in expected)
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-5 * scale)
    assert metrics["tokens_unshared"] == 3 * (8 + 16 + 24 + 32 + 40)
    assert metrics["computed_tokens"] < metrics["tokens_unshared"] / (3 if budget == 8192 else 2)


def test_an_update_counts_the_computed_tokens() -> None:
    learner = Learner(policy(), LearnerConfig(epochs=2), 2)
    metrics = learner.update(turns(0, is_constrained=True), 0)
    # Each episode's turns begin its last one, whose last id need not be computed: 39 ids, of which the second episode
    # shares 12 with the third, and the first 8 with both.
    assert metrics["computed_tokens"] == 2 * (39 + (39 - 12) + (39 - 8))
    assert metrics["tokens_unshared"] == 2 * 3 * (8 + 16 + 24 + 32 + 40)
    assert metrics["padding"] < 0.05


@pytest.mark.parametrize("average", ["token", "sequence"])
@pytest.mark.parametrize("entropy_weight", [0.0, 0.1])
@pytest.mark.parametrize("budget", [1, 40])
def test_the_cut_into_micro_batches_changes_nothing(average: str, entropy_weight: float, budget: int) -> None:
    settings: dict[str, Any] = {"average": average, "entropy_weight": entropy_weight}
    whole, metrics = gradients(mixed(), micro_batch_tokens=8192, **settings)
    cut, metrics_of_cut = gradients(mixed(), micro_batch_tokens=budget, **settings)
    assert_same(cut, whole)
    for metric in ("computed_tokens", "padding"):
        metrics_of_cut.pop(metric)
        metrics.pop(metric)
    assert metrics_of_cut == pytest.approx(metrics, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("average", ["token", "sequence"])
def test_sequences_without_advantage_are_skipped_without_changing_the_gradient(average: str) -> None:
    idle = [replace(s, advantages=0.0 * s.advantages) for s in (sample(8, 9, is_constrained=True), mixed()[1])]
    nearly = [replace(s, advantages=s.advantages + 1e-30) for s in idle]
    skipped, metrics = gradients([*mixed(), *idle], average=average)
    counted, metrics_of_counted = gradients([*mixed(), *nearly], average=average)
    assert (metrics["skipped_sequences"], metrics_of_counted["skipped_sequences"]) == (2.0, 0.0)
    assert_same(skipped, counted)
    without, _ = gradients(mixed(), average=average)
    with pytest.raises(AssertionError):  # they do count in the divisor
        assert_same(skipped, without)


@pytest.mark.parametrize("average", ["token", "sequence"])
@pytest.mark.parametrize("cap", [None, 0.5])
@pytest.mark.parametrize("measure", ["trained", "all"])
def test_metrics_are_means_over_all_measured_tokens(average: str, cap: float | None, measure: str) -> None:
    """Each token counts once, whatever its sequence's length; with "all", sequences without advantage count too."""
    idle = replace(sample(8, 31, is_constrained=True), advantages=np.zeros(15))
    _, metrics = gradients([*mixed(), idle], average=average, importance_cap=cap, measure=measure)
    samples = [*mixed(), idle] if measure == "all" else mixed()
    assert metrics["tokens_unshared"] == sum(len(s.ids) for s in samples)
    logprobs, entropies = expected(policy(), samples)
    old = logprobs if cap is not None else np.concatenate([s.old_logprobs for s in samples])  # recomputed with a cap
    advantages, ratio = np.concatenate([s.advantages for s in samples]), np.exp(logprobs - old)
    plain, bounded = -advantages * ratio, -advantages * np.clip(ratio, 0.8, 1.2)
    assert metrics["entropy"] == pytest.approx(entropies.mean(), rel=1e-4)
    assert metrics["loss"] == pytest.approx(np.maximum(plain, bounded).mean(), rel=1e-4)
    assert metrics["clipped"] == pytest.approx((bounded > plain).mean(), abs=1e-6)
    assert metrics["kl"] == pytest.approx((ratio - 1 - np.log(ratio)).mean(), rel=1e-3, abs=1e-6)
    assert metrics["skipped_sequences"] == 1.0


@pytest.mark.parametrize("measure", ["trained", "all"])
def test_an_update_without_any_advantage_still_reports_its_entropy(measure: Literal["trained", "all"]) -> None:
    idle = [replace(s, advantages=0.0 * s.advantages) for s in mixed()]
    metrics = Learner(policy(), LearnerConfig(measure=measure), 1).update(idle, 0)
    assert metrics["entropy"] == pytest.approx(expected(policy(), idle)[1].mean(), rel=1e-4)
    assert metrics["loss"] == 0.0


def test_an_entropy_bonus_skips_nothing() -> None:
    idle = [replace(s, advantages=0.0 * s.advantages) for s in mixed()]
    found, metrics = gradients(idle, entropy_weight=0.1)
    assert metrics["skipped_sequences"] == 0.0
    assert max(float(gradient.abs().max()) for gradient in found) > 1e-4


def test_an_update_without_any_advantage_leaves_the_weights_alone() -> None:
    of = policy()
    before = [p.clone() for p in of.model.parameters()]
    idle = [replace(s, advantages=0.0 * s.advantages) for s in mixed()]
    metrics = Learner(of, LearnerConfig(optimizer=OptimizerConfig(weight_decay=0.1)), 1).update(idle, 0)
    assert metrics["skipped_sequences"] == len(idle)
    assert all(torch.equal(a, b) for a, b in zip(before, of.model.parameters(), strict=True))


class Reads(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types for it
    """Lists the operations for which a GPU would have to be waited for, apart from copies to the CPU."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in WAITING:
            self.found.append(str(func))
        return func(*args, **(kwargs or {}))


WAITING = {
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
    torch.ops.aten.equal.default,
}


@pytest.mark.parametrize(
    "settings", [{}, {"entropy_weight": 0.1}, {"reference": {"kind": "ema", "weight": 0.5, "decay": 0.9}}]
)
def test_the_loop_over_micro_batches_reads_nothing_from_the_device(settings: dict[str, Any]) -> None:
    learner = Learner(policy(), LearnerConfig(micro_batch_tokens=20, **settings), 1)
    with Reads() as reads:
        assert bool(torch.ones(1) > 0)
        assert len(reads.found) == 1  # the list works
        sums = StepSums()
        weights = loss_weights(mixed(), "token")
        learner._accumulate(mixed(), weights, sums, has_gradient=True, compares=True)
        assert len(reads.found) == 1, reads.found
    assert sums.tokens == sum(len(s.positions) for s in mixed())


def test_an_update_without_samples_succeeds() -> None:
    assert Learner(policy(), LearnerConfig(minibatches=2), 1).update([], 0)["grad_norm"] == 0.0


def test_the_gradient_is_that_of_the_loss_by_finite_differences() -> None:
    of = policy()
    samples = [replace(s, old_logprobs=computed(of, [s])[0].double().numpy()) for s in mixed()]
    learner = Learner(of, LearnerConfig(max_grad_norm=1e9), 1)
    hold(learner)
    learner.update(samples, 0)
    weight = of.model.model.layers[0].mlp.down_proj.weight
    place = divmod(int(weight.grad.abs().argmax()), weight.shape[1])
    weights = np.concatenate(loss_weights(samples, "token"))
    advantages = np.concatenate([s.advantages for s in samples])
    old = np.concatenate([s.old_logprobs for s in samples])

    def loss(shift: float) -> float:
        with torch.no_grad():
            weight[place] += shift
            ratio = np.exp(expected(of, samples)[0] - old)
            weight[place] -= shift
        bounded = -advantages * np.clip(ratio, 0.8, 1.2)
        return float((weights * np.maximum(-advantages * ratio, bounded)).sum())

    slope = (loss(1e-3) - loss(-1e-3)) / 2e-3
    assert float(weight.grad[place]) == pytest.approx(slope, rel=2e-2)


def test_shares_of_the_loss() -> None:
    two, eight = sample(0, 4, is_constrained=False), sample(1, 16, is_constrained=False)
    assert [len(two.positions), len(eight.positions)] == [2, 8]
    assert [w[0] for w in loss_weights([two, eight], "token")] == [0.1, 0.1]
    assert [w[0] for w in loss_weights([two, eight], "sequence")] == [0.25, 0.0625]
    assert [w.tolist() for w in loss_weights([two, eight], "constant", 5)] == [[0.1] * 2, [0.1] * 8]
    turns = replace(eight, turns=np.array([0, 0, 0, 0, 0, 2, 2, 3], np.int32))  # turn 1 decides nothing
    shares = loss_weights([two, turns], "turn")
    assert [w.tolist() for w in shares] == [[1 / 8] * 2, [1 / 20] * 5 + [1 / 8] * 2 + [1 / 4]]
    assert sum(w.sum() for w in shares) == 1


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_rewarded_reply_becomes_more_probable_and_a_punished_one_less(kind: Literal["adamw", "muon"]) -> None:
    for sign in (1.0, -1.0):
        of = policy()
        one = [sample(0, 12, is_constrained=True, advantage=sign)]
        before = computed(of, one)[0]
        one = [replace(one[0], old_logprobs=before.double().numpy())]
        Learner(of, LearnerConfig(optimizer=OptimizerConfig(kind=kind)), 1).update(one, 0)
        assert sign * float((computed(of, one)[0] - before).sum()) > 0


def test_the_rate_rises_to_its_peak_and_falls_from_there() -> None:
    learner = Learner(policy(), LearnerConfig(warmup=2, decay_to=0.2), total_steps=6)
    rates = hold(learner)
    for _ in range(6):
        learner.update(mixed()[:1], 0)
    # warm-up: 1/3, 2/3; then a line from 1 that reaches 0.2 after the last of the four steps left
    assert rates == pytest.approx([1 / 3, 2 / 3, 1.0, 0.8, 0.6, 0.4])


def test_epochs_and_minibatches_are_optimiser_steps() -> None:
    learner = Learner(policy(), LearnerConfig(epochs=3, minibatches=2), 6)
    learner.update(mixed(), 0)
    assert learner.steps == 6


def test_a_gradient_that_is_not_finite_stops_the_run() -> None:
    broken = [replace(s, advantages=np.full(len(s.positions), np.inf)) for s in mixed()]
    with pytest.raises(DivergedError, match=r"the norm of the gradient is (nan|inf)"):
        Learner(policy(), LearnerConfig(), 1).update(broken, 0)


def test_a_setting_that_the_loss_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'high'"):
        Learner(policy(), LearnerConfig(), 1, loss=PluginConfig.model_validate({"method": "clip", "clip": {"hihg": 1}}))


@pytest.mark.parametrize("rank_of_lora", [0, 4])
def test_checkpointing_computes_layers_twice_and_gives_the_same_gradients(rank_of_lora: int) -> None:
    def run(**settings: Any) -> tuple[list[Tensor], dict[str, float], int]:
        of, calls = policy(), []
        if rank_of_lora:
            add_lora(of.model, LoraConfig(rank=rank_of_lora), 0)
            with torch.no_grad():
                for weight in trained(of.model).values():
                    weight.add_(0.05)
        of.model.model.layers[0].mlp.register_forward_pre_hook(lambda *_: calls.append(1))
        learner = Learner(of, LearnerConfig(max_grad_norm=1e9, **settings), 1)
        hold(learner)
        metrics = learner.update(turns(0, is_constrained=True), 0)
        gradients_of_trained = [p.grad for p in trained(of.model).values()]
        calls_of_update = len(calls)
        computed(of, mixed())  # sampling keeps nothing, so there is nothing to compute twice
        assert len(calls) == calls_of_update + 1
        return [g for g in gradients_of_trained if g is not None], metrics, calls_of_update

    plain, metrics, calls = run(micro_batch_tokens=60)
    found, metrics_of_found, twice = run(micro_batch_tokens=60, checkpointing=True)
    assert twice == 2 * calls
    assert metrics_of_found == metrics
    assert len(found) == len(plain) > 0
    for one, two in zip(found, plain, strict=True):
        assert torch.equal(one, two)


def test_checkpointing_is_as_the_newest_learner_has_it() -> None:
    of = policy()
    Learner(of, LearnerConfig(checkpointing=True), 1)
    assert any(getattr(module, "gradient_checkpointing", False) for module in of.model.modules())
    Learner(of, LearnerConfig(), 1)
    assert not any(getattr(module, "gradient_checkpointing", False) for module in of.model.modules())
