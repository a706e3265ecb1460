"""Sampling in this process: exact logprobs, exact constraints, and replies that depend on nothing but their request."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import torch

from cairn.agents.backend import Reply, Request
from cairn.agents.backends.hf import HFBackend, HFConfig, draw
from cairn.agents.config import SamplingConfig
from cairn.agents.models.policy import Policy, load_pretrained, load_remote
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.trainer.learner.batch import make_batch
from cairn.trainer.learner.learner import logprobs_and_entropy, loss_weights
from cairn.trainer.learner.samples import make_samples
from tests.agents.tiny import TEXTS, policy, reference_logits, shared

ENCODER = shared().encoder
ACTIONS = [text for text in TEXTS if text.startswith(("open", "take", "wait"))]
CHOICES = [(*ENCODER.encode(action), ENCODER.end_id) for action in ACTIONS]
PROMPT = (*ENCODER.encode(TEXTS[0]), 1)
Choices = Sequence[tuple[int, ...]]


def backend(of: Policy | None = None, chunk: int = 96, **settings: float) -> HFBackend:
    sampling = SamplingConfig.model_validate({"slots": 8, **settings})
    return HFBackend(HFConfig(chunk=chunk), of or shared(), sampling)


def request(
    prompt: Sequence[int] = PROMPT, *, seed: int = 0, choices: Choices | None = None, extends: bool = False
) -> Request:
    return Request(prompt_ids=prompt, extends=extends, choices=choices, rng=random.Random(seed))


def replies(of: HFBackend, requests: Mapping[int, Request]) -> dict[int, Reply]:
    """Submit the requests and return the replies, by slot."""
    for slot, each in requests.items():
        of.submit(slot, each)
    found: dict[int, Reply] = {}
    for _ in range(2000):
        for slot, reply in of.step():
            assert isinstance(reply, Reply)
            found[slot] = reply
        if len(found) == len(requests):
            return found
    raise AssertionError(f"only slots {sorted(found)} answered")


def one(of: HFBackend, asked: Request, slot: int = 0) -> Reply:
    return replies(of, {slot: asked})[slot]


def exact(prompt: Sequence[int], choices: Choices, temperature: float = 1.0) -> dict[tuple[int, ...], float]:
    """Return the probability of each choice, in float64, from plain transformers: renormalised place by place."""
    rows = reference_logits(shared().model, [[*prompt, *choice] for choice in choices])
    out = {}
    for choice, row in zip(choices, rows, strict=True):
        p, left = 1.0, list(choices)
        for place, token in enumerate(choice):
            ids = sorted({c[place] for c in left})
            weights = torch.softmax(row[len(prompt) + place - 1][ids] / temperature, -1)
            p *= float(weights[ids.index(token)])
            left = [c for c in left if c[place] == token]
        out[choice] = p
    return out


def trained_on(turns: Sequence[tuple[Request, Reply]], temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the logprobs that were stored when sampling, and the trainer's own, of a transcript's decided places."""
    made = tuple(
        Turn(
            observation=Observation(text="", anchor=0),
            reply_text="",
            action="",
            reward=0.0,
            prompt_ids=np.array(asked.prompt_ids, np.int32),
            extends_previous=asked.extends,
            reply_ids=reply.ids,
            reply_logprobs=reply.logprobs,
            constraint=reply.constraint,
        )
        for asked, reply in turns
    )
    task = Task(env_id="e", task_id="t")
    episode = Episode(task=task, group_id=0, turns=made, ending=Ending.terminated(), score=0.0, success=False)
    samples = make_samples([episode], np.ones(len(made)))
    assert len(samples) == 1
    with torch.no_grad():
        batch = make_batch(samples, loss_weights(samples, "token"), torch.device("cpu"))
        return samples[0].old_logprobs, logprobs_and_entropy(shared(), batch, temperature)[0].numpy()


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_logprobs_are_the_trainers_on_the_whole_transcript(temperature: float) -> None:
    """Eight episodes of four turns in flight at once; constrained and free replies, prompts of several lengths."""
    of = backend(temperature=temperature, chunk=7, max_reply_tokens=12)
    turns: list[list[tuple[Request, Reply]]] = [[] for _ in range(8)]
    for turn in range(4):
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
            turns[slot].append((asked[slot], reply))
    for episode in turns:
        stored, trained = trained_on(episode, temperature)
        assert stored.min() < -0.1
        np.testing.assert_allclose(stored, trained, atol=1e-4)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_constrained_replies_have_exactly_the_renormalised_probabilities(temperature: float) -> None:
    of, count = backend(slots=64, temperature=temperature), Counter[tuple[int, ...]]()
    probabilities = exact(PROMPT, CHOICES, temperature)
    assert sum(probabilities.values()) == pytest.approx(1.0)
    for round_ in range(32):
        asked = {slot: request(seed=64 * round_ + slot, choices=CHOICES) for slot in range(64)}
        for reply in replies(of, asked).values():
            assert reply.finish == "end"
            ids = tuple(reply.ids.tolist())
            assert float(reply.logprobs.sum()) == pytest.approx(np.log(probabilities[ids]), abs=1e-4)
            count[ids] += 1
    expected = np.array([probabilities[choice] * count.total() for choice in CHOICES])
    observed = np.array([count[choice] for choice in CHOICES])
    is_common = expected >= 5  # the test's own condition; the rare ones are taken together
    pairs = [np.append(x[is_common], x[~is_common].sum()) for x in (observed, expected)]
    kept = pairs[1] > 0
    assert kept.sum() >= 3
    assert scipy.stats.chisquare(pairs[0][kept], pairs[1][kept]).pvalue > 1e-3


def test_free_replies_are_drawn_from_the_whole_vocabulary() -> None:
    of, count = backend(slots=64, max_reply_tokens=1), Counter[int]()
    for round_ in range(16):
        asked = {slot: request(seed=64 * round_ + slot) for slot in range(64)}
        count.update(int(reply.ids[0]) for reply in replies(of, asked).values())
    p = torch.softmax(reference_logits(shared().model, [PROMPT])[0][-1], -1).numpy()
    is_common = p * count.total() >= 5
    observed = np.array([count[i] for i in range(len(p))])
    pairs = [np.append(x[is_common], x[~is_common].sum()) for x in (observed, p * count.total())]
    assert is_common.sum() >= 3
    assert scipy.stats.chisquare(pairs[0], pairs[1]).pvalue > 1e-3


def test_forced_tokens_have_logprob_0_and_one_allowed_id() -> None:
    reply = one(backend(), request(choices=CHOICES, seed=3))
    constraint = reply.constraint
    assert constraint is not None
    sizes = np.diff(constraint.offsets)
    assert sizes.max() > 1
    assert (reply.logprobs[sizes == 1] == 0).all()
    assert (reply.logprobs[sizes > 1] < 0).all()
    for i, token in enumerate(reply.ids):
        assert token in constraint.ids[constraint.offsets[i] : constraint.offsets[i + 1]]


def test_a_single_choice_costs_no_pass() -> None:
    of = backend()
    reply = one(of, request(choices=CHOICES[:1]))
    assert tuple(reply.ids.tolist()) == CHOICES[0]
    assert reply.logprobs.tolist() == [0.0] * len(CHOICES[0])
    assert of.tokens_processed == 0


def test_the_next_turn_sees_tokens_that_were_forced_without_a_forward_pass() -> None:
    of = backend()
    first = request(choices=CHOICES[:1])
    turns = [(first, one(of, first))]
    second = request((*ENCODER.encode(TEXTS[1]), 1), choices=CHOICES, extends=True, seed=5)
    turns.append((second, one(of, second)))
    stored, trained = trained_on(turns, 1.0)
    np.testing.assert_allclose(stored, trained, atol=1e-4)


@pytest.mark.parametrize("choices", [CHOICES, None])
def test_at_temperature_0_the_most_probable_id_is_taken(choices: Choices | None) -> None:
    reply = one(backend(temperature=0.0, max_reply_tokens=6), request(choices=choices))
    assert reply.logprobs.tolist() == [0.0] * len(reply.ids)
    (row,) = reference_logits(shared().model, [[*PROMPT, *reply.ids.tolist()]])
    for place, token in enumerate(reply.ids):
        scores = row[len(PROMPT) + place - 1]
        if reply.constraint is not None:
            ids = reply.constraint.ids[reply.constraint.offsets[place] : reply.constraint.offsets[place + 1]].tolist()
            assert token == ids[int(scores[ids].argmax())]
        else:
            assert token == int(scores.argmax())


@pytest.mark.parametrize("choices", [CHOICES, None])
def test_a_reply_does_not_depend_on_other_requests_in_flight(choices: Choices | None) -> None:
    alone = one(backend(max_reply_tokens=10), request(seed=7, choices=choices))
    crowd = {slot: request((*ENCODER.encode(TEXTS[3]), 1) * slot, seed=slot) for slot in (1, 2, 3, 6)}
    among = replies(backend(max_reply_tokens=10), {5: request(seed=7, choices=choices), **crowd})[5]
    assert among.ids.tolist() == alone.ids.tolist()
    np.testing.assert_allclose(among.logprobs, alone.logprobs, atol=1e-5)


def test_different_seeds_give_different_replies() -> None:
    found = replies(backend(), {slot: request(seed=slot) for slot in range(8)})
    assert len({tuple(reply.ids.tolist()) for reply in found.values()}) > 4


@pytest.mark.parametrize("chunk", [1, 5, 48])
def test_the_size_of_chunks_changes_nothing(chunk: int) -> None:
    long = PROMPT * 5
    reply = one(backend(chunk=chunk, max_reply_tokens=8), request(long, seed=2))
    expected = one(backend(chunk=4096, max_reply_tokens=8), request(long, seed=2))
    assert reply.ids.tolist() == expected.ids.tolist()
    np.testing.assert_allclose(reply.logprobs, expected.logprobs, atol=1e-5)


def test_a_slot_computes_only_the_tokens_that_differ_from_its_last_prompt() -> None:
    of = backend(max_reply_tokens=1)
    old, new = (*PROMPT[:10], 40, 41, 42), (*PROMPT[:10], 50, 51)
    one(of, request(old))
    before = of.tokens_processed
    reply = one(of, request(new, seed=4))
    assert of.tokens_processed - before == len(new) - 10
    fresh = one(backend(max_reply_tokens=1), request(new, seed=4))
    assert reply.ids.tolist() == fresh.ids.tolist()
    np.testing.assert_allclose(reply.logprobs, fresh.logprobs, atol=1e-5)


@pytest.mark.parametrize("prompt", [PROMPT, PROMPT[:6], (*PROMPT, *PROMPT)])
def test_a_slot_forgets_its_last_episode(prompt: tuple[int, ...]) -> None:
    """The same prompt again, a shorter one that the cache covers wholly, and a longer one."""
    of = backend(max_reply_tokens=4)
    one(of, request(PROMPT, seed=1))
    again = one(of, request(prompt, seed=9))
    fresh = one(backend(max_reply_tokens=4), request(prompt, seed=9))
    assert again.ids.tolist() == fresh.ids.tolist()
    np.testing.assert_allclose(again.logprobs, fresh.logprobs, atol=1e-5)


def test_new_weights_are_used_at_once() -> None:
    changing = policy()
    of = backend(changing, max_reply_tokens=4)
    assert one(of, request(seed=1)).version == 0
    with torch.no_grad():
        for weight in changing.model.parameters():
            weight.mul_(0.9)
    of.sync_weights(1)
    again, fresh = one(of, request(seed=1)), one(backend(changing, max_reply_tokens=4), request(seed=1))
    assert again.version == 1
    np.testing.assert_allclose(again.logprobs, fresh.logprobs, atol=1e-5)


def test_free_replies_end_at_the_end_id_or_at_their_limit() -> None:
    finishes = Counter[str]()
    of = backend(slots=64, max_reply_tokens=60)
    for reply in replies(of, {slot: request(seed=slot) for slot in range(64)}).values():
        finishes[reply.finish] += 1
        is_closed = reply.ids[-1] == ENCODER.end_id
        assert ENCODER.end_id not in reply.ids[:-1]
        assert reply.finish == ("end" if is_closed else "length")
        assert is_closed or len(reply.ids) == 60
        assert reply.constraint is None
    assert set(finishes) == {"end", "length"}


def test_free_replies_end_at_each_end_of_the_generation_configuration(tmp_path: Path) -> None:
    """As those of transformers do; a choice is over at the end id alone."""
    more = int(CHOICES[0][0])  # begins a choice, so that it is seen often
    shared().save(tmp_path)
    file = tmp_path / "generation_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "eos_token_id": [ENCODER.end_id, more]}))
    of = load_pretrained(str(tmp_path))
    assert of.encoder.end_ids == load_remote(str(tmp_path)).encoder.end_ids == {ENCODER.end_id, more}
    sampled = backend(of, slots=64, max_reply_tokens=60)
    found = replies(sampled, {slot: request(seed=slot) for slot in range(64)}).values()
    ended = [reply for reply in found if reply.finish == "end"]
    assert {int(reply.ids[-1]) for reply in ended} == {ENCODER.end_id, more}
    assert all(of.encoder.end_ids.isdisjoint(reply.ids[:-1].tolist()) for reply in found)
    for reply in ended:
        assert of.encoder.without_end(reply.ids.tolist()) == reply.ids[:-1].tolist()
        assert of.encoder.is_closed(reply.ids.tolist()) == (
            reply.ids[-1] == ENCODER.end_id
        )  # else the context closes it
    chosen = one(backend(of), request(choices=CHOICES))
    assert tuple(chosen.ids) in CHOICES


def test_a_constrained_reply_is_longer_than_the_limit_of_free_ones() -> None:
    reply = one(backend(max_reply_tokens=1), request(choices=CHOICES))
    assert reply.finish == "end"
    assert tuple(reply.ids.tolist()) in CHOICES


@pytest.mark.parametrize("choices", [CHOICES, None])
def test_a_sequence_that_is_full_ends(choices: Choices | None) -> None:
    fits = (PROMPT * 20)[: 64 - 1]
    reply = one(backend(max_context=64), request(fits, choices=choices))
    assert reply.finish == "context"
    assert len(reply.ids) == 1


def test_a_prompt_beyond_the_context_ends_without_a_pass() -> None:
    of = backend(max_context=64)
    reply = one(of, request(PROMPT * 20))
    assert (reply.finish, len(reply.ids), of.tokens_processed) == ("context", 0, 0)


def test_a_slot_works_on_one_reply() -> None:
    of = backend()
    of.submit(0, request())
    with pytest.raises(RuntimeError, match="slot 0 is still working"):
        of.submit(0, request())


def test_an_idle_backend_does_nothing() -> None:
    assert backend().step() == []


def test_the_random_state_of_the_process_is_left_alone() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one(backend(), request())
    policy(seed=4)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_draw_follows_the_distribution_and_skips_tokens_of_probability_zero(device: str) -> None:
    chances = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    draws = torch.tensor([0.0, 0.249, 0.2501, 0.749, 0.7501, 1 - 2**-53], dtype=torch.float64, device=device)
    tokens, logprobs = draw(chances.log().repeat(6, 1).to(device), draws)
    assert tokens.tolist() == [1, 1, 3, 3, 4, 4]
    torch.testing.assert_close(logprobs.cpu().exp(), torch.tensor([0.25, 0.25, 0.5, 0.5, 0.25, 0.25]))


@pytest.mark.gpu
def test_draws_of_a_large_vocabulary_on_a_gpu_are_the_cpus() -> None:
    torch.manual_seed(0)
    logits, draws = 3 * torch.randn(64, 150_000), torch.rand(64, dtype=torch.float64)
    logits[:, ::2] = -torch.inf
    tokens, logprobs = draw(logits.cuda(), draws.cuda())
    expected, of_them = draw(logits, draws)
    assert (tokens.cpu() != expected).sum() <= 1  # a draw on the border of two
    torch.testing.assert_close(logprobs.cpu(), of_them, rtol=0, atol=1e-4)
    assert (tokens % 2 == 1).all()
