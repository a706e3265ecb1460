"""Sampling with vLLM: same results as `hf`, by an engine in other processes that takes new weights and may die.

All tests but the last two share one engine: it takes half a minute to start.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import scipy.stats
import torch
from peft import LoraConfig

from cairn.agents.agent import new_backend
from cairn.agents.backend import Reply, Request
from cairn.agents.backends._vllm_engine import VLLMEngine
from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.backends.vllm import VLLMBackend, VLLMConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.constraint import flatten
from cairn.agents.models.policy import ModelConfig, Policy, load_policy, load_pretrained
from cairn.core.errors import ConfigError, EpisodeFailure, MissingExtraError, ModelFailure
from cairn.core.records import Constraint
from cairn.core.store import RunStore
from cairn.trainer.train import train
from tests.agents.tiny import TEXTS, reference_logits, sharpened

pytestmark = pytest.mark.timeout(600)
CONFIG = VLLMConfig(cache_gib=0.25, restarts=2)
LONGEST = 512
Choices = Sequence[tuple[int, ...]]


def fresh(seed: int = 0, preset: str = "qwen3-tiny") -> Policy:
    """Return a policy of the smallest size that vLLM computes on a CPU."""
    config = ModelConfig(preset=preset, vocab_size=400, max_positions=LONGEST)
    return sharpened(load_policy(config, lambda: (TEXTS, ()), seed))


@cache
def shared() -> Policy:
    return fresh()


ENCODER = fresh().encoder
ACTIONS = [text for text in TEXTS if text.startswith(("open", "take", "wait"))]
CHOICES = [(*ENCODER.encode(action), ENCODER.end_id) for action in ACTIONS]
PROMPT = (*ENCODER.encode(TEXTS[0]), 1)


def sampling(**settings: float) -> SamplingConfig:
    return SamplingConfig.model_validate({"slots": 64, "max_context": LONGEST, **settings})


@pytest.fixture(scope="module")
def engine() -> Iterator[VLLMBackend]:
    """Keep the shared engine alive."""
    with contextlib.closing(VLLMBackend(CONFIG, shared(), sampling())) as kept:
        yield kept


@pytest.fixture
def backend(engine: VLLMBackend) -> Iterator[Callable[..., VLLMBackend]]:
    """Make back ends that are closed after the test."""
    with contextlib.ExitStack() as stack:

        def make(**settings: float) -> VLLMBackend:
            return stack.enter_context(contextlib.closing(VLLMBackend(CONFIG, shared(), sampling(**settings))))

        yield make


def hf(of: Policy, **settings: float) -> HFBackend:
    return HFBackend(HFConfig(), of, sampling(**settings))


def request(
    prompt: Sequence[int] = PROMPT,
    *,
    seed: int = 0,
    choices: Choices | None = None,
    extends: bool = False,
    partial: Reply | None = None,
) -> Request:
    return Request(prompt_ids=prompt, extends=extends, choices=choices, rng=random.Random(seed), partial=partial)


def outcomes(of: VLLMBackend | HFBackend, requests: Mapping[int, Request]) -> dict[int, Reply | EpisodeFailure]:
    """Submit the requests and return their outcomes by slot."""
    for slot, each in requests.items():
        of.submit(slot, each)
    return wait_for(of, len(requests))


def wait_for(of: VLLMBackend | HFBackend, count: int) -> dict[int, Reply | EpisodeFailure]:
    found: dict[int, Reply | EpisodeFailure] = {}
    deadline = time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < deadline, f"only slots {sorted(found)} answered"
        found.update(of.step())
    return found


def replies(of: VLLMBackend | HFBackend, requests: Mapping[int, Request]) -> dict[int, Reply]:
    found = {slot: reply for slot, reply in outcomes(of, requests).items() if isinstance(reply, Reply)}
    assert len(found) == len(requests)
    return found


def one(of: VLLMBackend | HFBackend, asked: Request) -> Reply:
    return replies(of, {0: asked})[0]


def logprobs_of(of: Policy, prompt: Sequence[int], reply: Reply, temperature: float = 1.0) -> np.ndarray:
    """Return each id's logprob by plain transformers in float64, renormalised over the allowed ids."""
    (row,) = reference_logits(of.model, [[*prompt, *reply.ids.tolist()]])
    found = []
    for place, token in enumerate(reply.ids.tolist()):
        scores = row[len(prompt) + place - 1] / temperature
        if reply.constraint is not None:
            ids = allowed_at(reply.constraint, place)
            found.append(float(torch.log_softmax(scores[ids], -1)[ids.index(token)]))
        else:
            found.append(float(torch.log_softmax(scores, -1)[token]))
    return np.array(found)


def allowed_at(constraint: Constraint, place: int) -> list[int]:
    return [int(i) for i in constraint.ids[constraint.offsets[place] : constraint.offsets[place + 1]]]


def listed(constraint: Constraint | None) -> list[list[int]] | None:
    """Return the sets of allowed ids."""
    return None if constraint is None else [allowed_at(constraint, i) for i in range(len(constraint.offsets) - 1)]


def changed(of: Policy, seed: int) -> contextlib.AbstractContextManager[None]:
    """Change a policy's weights for a while, as an optimiser does: in place."""

    @contextlib.contextmanager
    def change() -> Iterator[None]:
        kept = {name: weight.clone() for name, weight in of.model.state_dict().items()}
        with torch.no_grad():
            for (_, weight), (_, other) in zip(
                of.model.named_parameters(), fresh(seed).model.named_parameters(), strict=True
            ):
                weight.copy_(other)
        try:
            yield
        finally:
            of.model.load_state_dict(kept)

    return change()


def core_pids() -> list[int]:
    """Return the processes of engines that run below this one."""
    return [
        child.pid
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and child.name().startswith("VLLM::Engine")
    ]


# -- sampling ----------------------------------------------------------------------------------------------------------


@pytest.mark.vllm
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_are_those_of_the_distribution_sampled_from(
    backend: Callable[..., VLLMBackend], temperature: float
) -> None:
    """Eight episodes of three turns in flight at once; constrained and free replies, prompts of several lengths."""
    of = backend(temperature=temperature, max_reply_tokens=12)
    sequences: list[list[int]] = [[] for _ in range(8)]
    lowest = 0.0
    for turn in range(3):
        asked = {
            slot: request(
                (*ENCODER.encode(TEXTS[(slot + turn) % 4] * (1 + slot % 3)), 1),
                seed=100 * slot + turn,
                choices=CHOICES if (slot + turn) % 2 else None,
                extends=turn > 0,
            )
            for slot in range(8)
        }
        for slot, reply in replies(of, asked).items():
            prompt = [*sequences[slot], *asked[slot].prompt_ids]
            expected = logprobs_of(shared(), prompt, reply, temperature)
            np.testing.assert_allclose(reply.logprobs, expected, atol=1e-4)
            lowest = min(lowest, float(expected.min()))
            sequences[slot] = [*prompt, *reply.ids.tolist()]
    assert lowest < -1


@pytest.mark.vllm
def test_constrained_replies_have_exactly_the_renormalised_probabilities(backend: Callable[..., VLLMBackend]) -> None:
    of, ours, count = backend(), hf(shared()), Counter[tuple[int, ...]]()
    log_p: dict[tuple[int, ...], float] = {}
    for seed in range(200):  # samples of the other back end estimate the probabilities
        reply = one(ours, request(seed=seed, choices=CHOICES))
        log_p[tuple(reply.ids.tolist())] = float(reply.logprobs.sum())
    for round_ in range(16):
        asked = {slot: request(seed=64 * round_ + slot, choices=CHOICES) for slot in range(64)}
        for reply in replies(of, asked).values():
            ids = tuple(reply.ids.tolist())
            assert ids in CHOICES
            if ids in log_p:
                assert float(reply.logprobs.sum()) == pytest.approx(log_p[ids], abs=1e-4)
            count[ids] += 1
    expected = np.array([np.exp(log_p.get(choice, -np.inf)) * count.total() for choice in CHOICES])
    observed = np.array([count[choice] for choice in CHOICES])
    is_common = expected >= 5  # the test's own condition; the rare ones are taken together
    pairs = [np.append(x[is_common], rest) for x, rest in ((observed, observed[~is_common].sum()), (expected, 0.0))]
    pairs[1][-1] = count.total() - pairs[1][:-1].sum()
    kept = pairs[1] > 0.5
    assert kept.sum() >= 3
    scale = pairs[0][kept].sum() / pairs[1][kept].sum()
    assert scipy.stats.chisquare(pairs[0][kept], pairs[1][kept] * scale).pvalue > 1e-3


@pytest.mark.vllm
@pytest.mark.parametrize("choices", [CHOICES, None])
def test_at_temperature_0_it_samples_the_same_ids_as_the_other_back_end(
    backend: Callable[..., VLLMBackend], choices: Choices | None
) -> None:
    settings = {"temperature": 0.0, "max_reply_tokens": 12}
    asked = {
        slot: request((*ENCODER.encode(TEXTS[slot % 6]), 1) * (1 + slot), choices=choices, seed=slot)
        for slot in range(8)
    }
    theirs, ours = replies(backend(**settings), asked), replies(hf(shared(), **settings), asked)
    for slot, reply in theirs.items():
        assert reply.ids.tolist() == ours[slot].ids.tolist()
        assert reply.logprobs.tolist() == [0.0] * len(reply.ids)
        assert listed(reply.constraint) == listed(ours[slot].constraint)
        assert reply.finish == ours[slot].finish


@pytest.mark.vllm
def test_a_constraint_is_recorded_and_forced_ids_have_logprob_0(backend: Callable[..., VLLMBackend]) -> None:
    asked = {slot: request(choices=CHOICES, seed=slot) for slot in range(16)}
    for reply in replies(backend(), asked).values():
        assert reply.constraint is not None
        sizes = np.diff(reply.constraint.offsets)
        assert sizes.max() > 1
        assert (reply.logprobs[sizes == 1] == 0).all()
        assert (reply.logprobs[sizes > 1] < 0).all()
        assert all(token in allowed_at(reply.constraint, place) for place, token in enumerate(reply.ids))
        assert reply.finish == "end"


@pytest.mark.vllm
def test_a_single_choice_costs_nothing_and_is_seen_by_the_next_turn(backend: Callable[..., VLLMBackend]) -> None:
    of = backend(max_reply_tokens=8)
    reply = one(of, request(choices=CHOICES[:1]))
    assert (tuple(reply.ids.tolist()), reply.logprobs.tolist()) == (CHOICES[0], [0.0] * len(CHOICES[0]))
    assert of.tokens_processed == 0
    second = one(of, request(PROMPT, extends=True, seed=4))
    expected = logprobs_of(shared(), (*PROMPT, *CHOICES[0], *PROMPT), second)
    np.testing.assert_allclose(second.logprobs, expected, atol=1e-4)


@pytest.mark.vllm
@pytest.mark.parametrize("choices", [CHOICES, None])
def test_a_reply_does_not_depend_on_other_requests_in_flight(
    backend: Callable[..., VLLMBackend], choices: Choices | None
) -> None:
    of = backend(max_reply_tokens=10)
    alone = one(of, request(seed=7, choices=choices))
    crowd = {slot: request((*ENCODER.encode(TEXTS[3]), 1) * slot, seed=slot) for slot in (1, 2, 3, 6)}
    among = replies(of, {5: request(seed=7, choices=choices), **crowd})
    assert among[5].ids.tolist() == alone.ids.tolist()
    np.testing.assert_allclose(among[5].logprobs, alone.logprobs, atol=1e-5)
    assert len({tuple(reply.ids.tolist()) for reply in among.values()}) == 5


# -- ends of replies and resumed replies -------------------------------------------------------------------------------


@pytest.mark.vllm
def test_free_replies_end_at_the_end_id_or_at_their_limit(backend: Callable[..., VLLMBackend]) -> None:
    of, finishes = backend(max_reply_tokens=60, temperature=2.0), Counter[str]()
    for reply in replies(of, {slot: request(seed=slot) for slot in range(64)}).values():
        finishes[reply.finish] += 1
        is_closed = reply.ids[-1] == ENCODER.end_id
        assert ENCODER.end_id not in reply.ids[:-1]
        assert reply.finish == ("end" if is_closed else "length")
        assert is_closed or len(reply.ids) == 60
    assert set(finishes) == {"end", "length"}


@pytest.mark.vllm
def test_a_constrained_reply_is_longer_than_the_limit_of_free_ones(backend: Callable[..., VLLMBackend]) -> None:
    reply = one(backend(max_reply_tokens=1), request(choices=CHOICES))
    assert (reply.finish, tuple(reply.ids.tolist()) in CHOICES) == ("end", True)


@pytest.mark.vllm
@pytest.mark.parametrize("choices", [CHOICES, None])
def test_a_sequence_that_is_full_ends(backend: Callable[..., VLLMBackend], choices: Choices | None) -> None:
    of = backend()
    reply = one(of, request((PROMPT * 40)[: LONGEST - 1], choices=choices))
    assert (reply.finish, len(reply.ids)) == ("context", 1)
    before = of.tokens_processed
    beyond = one(of, request(PROMPT * 60, choices=choices))
    assert (beyond.finish, len(beyond.ids), of.tokens_processed) == ("context", 0, before)


@pytest.mark.vllm
@pytest.mark.parametrize("choices", [CHOICES, None])
def test_a_partial_reply_is_resumed(backend: Callable[..., VLLMBackend], choices: Choices | None) -> None:
    whole = one(backend(temperature=0.0, max_reply_tokens=9), request(choices=choices))
    kept = 2
    constraint = whole.constraint
    if constraint is not None:
        offsets = constraint.offsets[: kept + 1]
        constraint = Constraint(ids=constraint.ids[: offsets[-1]], offsets=offsets)
    logprobs = np.array([-0.25, -0.5], np.float32)
    partial = Reply(ids=whole.ids[:kept], logprobs=logprobs, constraint=constraint, finish="abort", version=3)
    rest = one(backend(temperature=0.0, max_reply_tokens=9), request(choices=choices, partial=partial))
    assert rest.ids.tolist() == whole.ids.tolist()
    assert rest.logprobs[:kept].tolist() == logprobs.tolist()
    assert (rest.version, rest.finish, listed(rest.constraint)) == (3, whole.finish, listed(whole.constraint))


@pytest.mark.vllm
def test_an_aborted_reply_frees_its_slot(backend: Callable[..., VLLMBackend]) -> None:
    of = backend(max_reply_tokens=400)
    of.submit(0, request(seed=1))
    with pytest.raises(RuntimeError, match="slot 0 is still working"):
        of.submit(0, request())
    while of.so_far(0) is None:
        assert of.step() == []
    so_far = of.so_far(0)
    assert so_far is not None
    assert so_far.finish == "abort"
    of.abort(0)
    assert of.so_far(0) is None
    reply = one(of, request(PROMPT[:9], choices=CHOICES, seed=2))
    np.testing.assert_allclose(reply.logprobs, logprobs_of(shared(), PROMPT[:9], reply), atol=1e-4)


@pytest.mark.vllm
def test_a_fork_continues_the_same_sequence_and_computes_little_of_it(backend: Callable[..., VLLMBackend]) -> None:
    of = backend(max_reply_tokens=4)
    first = one(of, request(PROMPT * 12, seed=1))
    of.fork(0, 1)
    before = of.tokens_processed
    reply = replies(of, {1: request(PROMPT, extends=True, seed=5)})[1]
    sequence = (*(PROMPT * 12), *first.ids.tolist(), *PROMPT)
    np.testing.assert_allclose(reply.logprobs, logprobs_of(shared(), sequence, reply), atol=1e-4)
    assert len(sequence) > 150
    assert 0 < of.tokens_processed - before < len(PROMPT) + 32 + 2 * 4  # a block of keys and values has 32 tokens


@pytest.mark.vllm
def test_the_cache_is_as_large_as_was_asked_for(engine: VLLMBackend) -> None:
    layers, heads, width = 3, 4, 32
    bytes_a_token = 2 * 4 * layers * heads * width
    assert engine.cache_tokens == pytest.approx(0.25 * 2**30 / bytes_a_token, rel=0.01)


# -- time and weights --------------------------------------------------------------------------------------------------


@pytest.mark.vllm
@pytest.mark.parametrize("choices", [CHOICES, None])
def test_new_weights_are_used_at_once(backend: Callable[..., VLLMBackend], choices: Choices | None) -> None:
    settings = {"temperature": 0.0, "max_reply_tokens": 12}
    of = backend(**settings)
    asked = [request(PROMPT * times, choices=choices) for times in (1, 5)]
    old = [one(of, each).ids.tolist() for each in asked]
    with changed(shared(), seed=1):
        of.sync_weights(1)
        for each in asked:
            reply, expected = one(of, each), one(hf(shared(), **settings), each)
            assert reply.version == 1
            assert reply.ids.tolist() == expected.ids.tolist()
    of.sync_weights(2)
    assert [one(of, each).ids.tolist() for each in asked] == old


@pytest.mark.vllm
def test_a_pending_reply_continues_with_new_weights(backend: Callable[..., VLLMBackend]) -> None:
    of = backend(max_reply_tokens=300)
    of.submit(0, request(PROMPT * 5, seed=3))
    while (early := of.so_far(0)) is None or len(early.ids) < 3:
        assert of.step() == []
    of._engine.pause()  # so that no token is sampled in between
    of.step()
    early = of.so_far(0)
    assert early is not None
    old = logprobs_of(shared(), PROMPT * 5, early)
    with changed(shared(), seed=1):
        of.sync_weights(8)
        of.step()
        of._engine.resume()
        (reply,) = wait_for(of, 1).values()
        assert isinstance(reply, Reply)
        new = logprobs_of(shared(), PROMPT * 5, reply)
    of.sync_weights(9)
    first = len(early.ids)
    assert reply.version == 0
    assert len(reply.ids) > first + 2
    np.testing.assert_allclose(reply.logprobs[:first], old, atol=1e-4)
    np.testing.assert_allclose(reply.logprobs[first:], new[first:], atol=1e-4)
    assert np.abs(reply.logprobs[:first] - new[:first]).max() > 0.1


@pytest.mark.vllm
def test_the_random_state_of_the_process_is_left_alone(backend: Callable[..., VLLMBackend]) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]
    one(backend(), request())
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # type: ignore[index]
    assert random.getstate() == before[2]


@pytest.mark.vllm
def test_choices_without_an_end_id_are_rejected(engine: VLLMBackend) -> None:
    from vllm import SamplingParams

    from cairn.agents.models.vllm_choices import KEY, ChoicesProcessor

    def check(flat: Any) -> None:
        params = SamplingParams(stop_token_ids=[ENCODER.end_id], extra_args={KEY: flat})
        ChoicesProcessor.validate_params(params)

    check(flatten(CHOICES))
    for flat in ([], [5], [[5, ENCODER.end_id]], [5, 6, -1], [ENCODER.end_id, 5, ENCODER.end_id, -1], "5", [True, -1]):
        with pytest.raises(ValueError, match="expected"):
            check(flat)


@pytest.mark.vllm
def test_a_constraint_is_taken_up_in_the_middle_of_a_reply(engine: VLLMBackend) -> None:
    """A preempted request comes to the processor again, with ids in its reply."""
    from vllm import SamplingParams

    from cairn.agents.models.vllm_choices import KEY, ChoicesProcessor

    made = ChoicesProcessor(None, torch.device("cpu"), False)
    params = SamplingParams(stop_token_ids=[2], extra_args={KEY: flatten([(5, 6, 2), (5, 7, 2), (4, 8, 2)])})
    reply = [5]
    allow = made.new_req_logits_processor(params)
    assert allow is not None
    logits = torch.arange(10.0)
    assert torch.isfinite(allow(reply, logits)).nonzero()[:, 0].tolist() == [6, 7]
    reply.append(7)
    out = allow(reply, logits)
    assert torch.isfinite(out).nonzero()[:, 0].tolist() == [2]
    assert out[2] == 2.0
    assert made.new_req_logits_processor(SamplingParams()) is None


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.vllm
def test_a_dead_engine_fails_its_replies_and_is_started_again_within_a_bound(
    backend: Callable[..., VLLMBackend],
) -> None:
    """Three deaths under two allowed restarts; weights that came while it was dead are those of the new one."""
    settings = {"max_reply_tokens": 400, "temperature": 1.0}
    of = backend(**settings)
    (pid,) = core_pids()
    for slot in range(4):
        of.submit(slot, request(seed=slot))
    while any(of.so_far(slot) is None for slot in range(4)):
        of.step()
    os.kill(pid, signal.SIGKILL)
    found = wait_for(of, 4)
    assert {type(each) for each in found.values()} == {ModelFailure}
    assert "engine" in str(found[0])
    with changed(shared(), seed=1):
        of.sync_weights(1)
        reply = one(of, request(choices=CHOICES, seed=6))
        assert reply.version == 1
        np.testing.assert_allclose(reply.logprobs, logprobs_of(shared(), PROMPT, reply), atol=1e-4)
    of.sync_weights(2)
    os.kill(core_pids()[0], signal.SIGKILL)
    of.submit(0, request(seed=1))  # before or after it is noticed
    wait_for(of, 1)
    one(of, request(choices=CHOICES, seed=6))
    os.kill(core_pids()[0], signal.SIGKILL)
    of.submit(0, request(seed=1))
    wait_for(of, 1)
    (last,) = outcomes(of, {0: request()}).values()
    assert isinstance(last, ModelFailure)
    assert "sampling.vllm.restarts" in str(last)


@pytest.mark.vllm
def test_models_and_settings_that_vllm_cannot_run_are_refused() -> None:
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match=r"heads of .*this model's have 16; choose another model"):
            VLLMBackend(CONFIG, fresh(preset="qwen3-nano"), sampling())
    with pytest.raises(ConfigError, match=r"set sampling\.max_context to 512 or less"):
        VLLMBackend(CONFIG, shared(), sampling(max_context=513))


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_the_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match="pip install 'vllm>="):
        new_backend(SamplingConfig(method="vllm"), shared())


# -- with engines of their own -----------------------------------------------------------------------------------------


@pytest.mark.vllm
def test_adapters_are_swapped_and_a_closed_engine_leaves_nothing(tmp_path: Path) -> None:
    fresh().save(tmp_path / "base")
    of = load_pretrained(str(tmp_path / "base"))
    of.model.add_adapter(LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"]))
    settings = {"temperature": 0.0, "max_reply_tokens": 16}
    before = set(core_pids())
    made = VLLMBackend(CONFIG, of, sampling(**settings))
    folders = [engine._root for engine in VLLMEngine._shared.values() if engine.policy is of]
    assert len(set(core_pids()) - before) == len(folders) == 1
    said = []
    with contextlib.closing(made):
        for version in (1, 2):
            with torch.no_grad(), torch.random.fork_rng():
                torch.manual_seed(version)
                for name, weight in of.model.named_parameters():
                    if "lora_" in name:
                        weight.copy_(torch.randn_like(weight))
            made.sync_weights(version)
            reply, expected = one(made, request(PROMPT * 3)), one(hf(of, **settings), request(PROMPT * 3))
            assert reply.ids.tolist() == expected.ids.tolist()
            said.append(reply.ids.tolist())
    assert said[0] != said[1]
    deadline = time.monotonic() + 20
    while set(core_pids()) - before:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not folders[0].exists()


@pytest.mark.vllm
def test_a_policy_learns_from_samples_of_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[VLLMBackend] = []
    start = VLLMBackend.__init__

    def noted(self: VLLMBackend, *given: Any) -> None:
        start(self, *given)
        made.append(self)

    monkeypatch.setattr(VLLMBackend, "__init__", noted)
    config = {
        "name": "doors",
        "env": {"id": "examples.doors:Doors"},
        "sampling": {"method": "vllm", "slots": 16, "max_context": 256, "vllm": {"cache_gib": 0.25}},
        "model": {"preset": "qwen3-tiny", "max_positions": 256},
        "imitation": {"oracle": "reader", "episodes": 40, "epochs": 1},
        "trainer": {"updates": 2, "groups": 4, "group_size": 4},
        "eval": {"tasks": 12, "every": 1},
    }
    run = train(config, folder=tmp_path)
    assert len(made) == 4  # the rollout's and three evaluations'
    with RunStore(tmp_path / "run.sqlite") as store:
        assert [update for update, count in store.series("mismatch/tokens") if count > 30] == [1, 2]
        assert max(worst for _, worst in store.series("mismatch/max")) < 1e-3
    assert sorted(run.reports) == [0, 1, 2]
    assert not [engine for engine in VLLMEngine._shared.values() if engine.sampling.max_context == 256]
