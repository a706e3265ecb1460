"""A running vLLM server as the back end of training: exact, following the policy, and lost and found again.

The server runs in the environment of ``CAIRN_VLLM_PYTHON`` (an interpreter), or of these tests.
"""

from __future__ import annotations

import copy
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pytest
import torch

from cairn.agents.agent import policy_interface
from cairn.agents.backend import Reply, Request
from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.backends.vllm_server import LOADER, PROCESSOR, VLLMServerBackend, VLLMServerConfig
from cairn.agents.config import AgentConfig, SamplingConfig
from cairn.agents.models.policy import ModelConfig, Policy, load_policy
from cairn.agents.rollout.engine import Engine, collect
from cairn.agents.rollout.episode import Job
from cairn.core.config import build
from cairn.core.errors import EpisodeFailure, ModelFailure
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.envs.pool.pool import EnvPool, PoolConfig
from cairn.trainer.learner.batch import make_batch
from cairn.trainer.learner.learner import logprobs_and_entropy, loss_weights
from cairn.trainer.learner.samples import make_samples
from tests.agents.tiny import TEXTS, sharpened

PYTHON = os.environ.get("CAIRN_VLLM_PYTHON", sys.executable)
_START_S = 280.0


def has_vllm() -> bool:
    looks = "import importlib.util as u, sys; sys.exit(u.find_spec('vllm') is None)"
    return subprocess.run([PYTHON, "-c", looks], check=False).returncode == 0


pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not has_vllm(), reason=f"{PYTHON} has no vLLM (set CAIRN_VLLM_PYTHON to one that has)"),
]


def fresh(seed: int = 0) -> Policy:
    """Return a policy whose heads are as wide as vLLM's attention on a CPU wants them."""
    config = ModelConfig(preset="qwen3-tiny", vocab_size=400, max_positions=512)
    return sharpened(load_policy(config, lambda: (TEXTS, ()), seed))


class VLLM:
    """A vLLM server on a port of its own."""

    def __init__(self, model: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._model = model
        self.start()
        self.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        flags = (
            "--dtype float32 --enforce-eager --logprobs-mode processed_logprobs --max-model-len 512 --max-num-seqs 16"
        )
        command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(self._model), *flags.split()]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--logits-processors", PROCESSOR]
        command += ["--worker-extension-cls", LOADER, "--enable-lora", "--max-lora-rank", "16"]
        environment = {
            **os.environ,
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "VLLM_SERVER_DEV_MODE": "1",
            "VLLM_USE_V2_MODEL_RUNNER": "0",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
            "OMP_NUM_THREADS": "1",
        }
        self._log = self._model.with_suffix(".log").open("ab")
        self.process = subprocess.Popen(
            command, env=environment, stdout=self._log, stderr=self._log, start_new_session=True
        )

    def wait(self) -> None:
        deadline = time.monotonic() + _START_S
        while True:
            try:
                if httpx.get(f"{self.url}/models").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            assert self.process.poll() is None, self._model.with_suffix(".log").read_text()[-2000:]
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.5)

    def sampled(self) -> float:
        """Return how many tokens it says it has sampled."""
        lines = httpx.get(f"http://127.0.0.1:{self.port}/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:generation_tokens_total"))

    def sampled_at_rest(self) -> float:
        """Return the same once it samples nothing any more for those who asked before."""
        count, before = self.sampled(), -1.0
        while count != before:
            time.sleep(1.0)
            count, before = self.sampled(), count
        return count

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._log.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VLLM]:
    folder = tmp_path_factory.mktemp("vllm") / "policy"
    fresh(seed=9).save(folder)  # not the weights of the tests, so that those have to be handed over
    found = VLLM(folder)
    yield found
    found.kill()


@pytest.fixture
def of(server: VLLM) -> Policy:
    return fresh()


def backend(server: VLLM, of: Policy, config: Mapping[str, Any] | None = None, **settings: Any) -> VLLMServerBackend:
    sampling = SamplingConfig.model_validate(
        {"method": "vllm_server", "slots": 8, "max_context": 256, "max_reply_tokens": 12, **settings}
    )
    made = build(VLLMServerConfig, {"url": server.url, "backoff_s": 0.1, **(config or {})}, "test")
    return VLLMServerBackend(made, of, sampling)


def request(
    of: Policy, text: str = TEXTS[0], seed: int = 0, *, extends: bool = False, choices: Any = None, partial: Any = None
) -> Request:
    ids = (*of.encoder.encode(text), 1)
    return Request(prompt_ids=ids, extends=extends, choices=choices, rng=random.Random(seed), partial=partial)


def replies(of: Any, requests: Mapping[int, Request]) -> dict[int, Any]:
    for slot, each in requests.items():
        of.submit(slot, each)
    found: dict[int, Reply | EpisodeFailure] = {}
    deadline = time.monotonic() + 120
    while len(found) < len(requests):
        found |= dict(of.step())
        assert time.monotonic() < deadline, f"only slots {sorted(found)} answered"
    return found


def one(of: Any, asked: Request) -> Reply:
    reply = replies(of, {0: asked})[0]
    assert isinstance(reply, Reply), reply
    return reply


def choices_of(of: Policy) -> list[tuple[int, ...]]:
    return [
        (*of.encoder.encode(text), of.encoder.end_id) for text in TEXTS if text.startswith(("open", "take", "wait"))
    ]


def trained_on(of: Policy, turns: Sequence[tuple[Request, Reply]], temperature: float) -> tuple[Any, Any]:
    """Return the logprobs that were stored when sampling, and the trainer's own."""
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
    with torch.no_grad():
        batch = make_batch(samples, loss_weights(samples, "token"), torch.device("cpu"))
        return samples[0].old_logprobs, logprobs_and_entropy(of, batch, temperature)[0].numpy()


def hf(of: Policy, **settings: Any) -> HFBackend:
    sampling = SamplingConfig.model_validate({"slots": 8, "max_context": 256, "max_reply_tokens": 12, **settings})
    return HFBackend(HFConfig(), of, sampling)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_are_the_trainers_on_the_whole_transcript(server: VLLM, of: Policy, temperature: float) -> None:
    made = backend(server, of, temperature=temperature)
    choices = choices_of(of)
    turns: list[list[tuple[Request, Reply]]] = [[] for _ in range(8)]
    for turn in range(3):
        asked = {
            slot: request(
                of,
                TEXTS[(slot + turn) % 4] * (1 + slot % 3),
                100 * slot + turn,
                extends=turn > 0,
                choices=choices if (slot + turn) % 2 else None,
            )
            for slot in range(8)
        }
        for slot, reply in replies(made, asked).items():
            turns[slot].append((asked[slot], reply))
    made.close()
    for episode in turns:
        stored, trained = trained_on(of, episode, temperature)
        assert stored.min() < -0.1
        np.testing.assert_allclose(stored, trained, atol=1e-4)
        assert all(tuple(r.ids.tolist()) in choices for a, r in episode if a.choices)


@pytest.mark.parametrize("is_constrained", [False, True])
def test_the_most_probable_reply_is_that_of_the_back_end_in_this_process(
    server: VLLM, of: Policy, is_constrained: bool
) -> None:
    made, reference = backend(server, of, temperature=0.0), hf(of, temperature=0.0)
    choices = choices_of(of) if is_constrained else None
    asked = {slot: request(of, TEXTS[slot % 4] * (1 + slot // 4), choices=choices) for slot in range(8)}
    found, expected = replies(made, asked), replies(reference, asked)
    made.close()
    for slot in asked:
        assert found[slot].ids.tolist() == expected[slot].ids.tolist()
        assert found[slot].finish == expected[slot].finish
        assert found[slot].logprobs.tolist() == expected[slot].logprobs.tolist()


def test_a_reply_depends_on_its_seed_and_not_on_other_requests_in_flight(server: VLLM, of: Policy) -> None:
    made = backend(server, of)
    alone = one(made, request(of, seed=7))
    among = replies(made, {5: request(of, seed=7), **{slot: request(of, TEXTS[3], slot) for slot in (0, 1, 2)}})[5]
    assert among.ids.tolist() == alone.ids.tolist()
    assert one(made, request(of, seed=8)).ids.tolist() != alone.ids.tolist()
    made.close()


def test_a_partial_reply_is_resumed(server: VLLM, of: Policy) -> None:
    made = backend(server, of, temperature=0.0)
    whole = one(made, request(of))
    part = Reply(ids=whole.ids[:5], logprobs=np.full(5, -0.5, np.float32), constraint=None, finish="abort", version=-3)
    again = one(made, request(of, partial=part))
    assert again.ids.tolist() == whole.ids.tolist()
    assert again.logprobs.tolist() == [-0.5] * 5 + [0.0] * (len(whole.ids) - 5)
    assert again.version == -3
    made.close()


def test_new_weights_are_used_from_then_on(server: VLLM, of: Policy) -> None:
    made = backend(server, of, temperature=0.0)
    before = one(made, request(of))
    changed = fresh(seed=5)
    of.model.load_state_dict(changed.model.state_dict())
    assert one(made, request(of)).ids.tolist() == before.ids.tolist()  # they are handed over when it is said
    made.sync_weights(1)
    after = one(made, request(of))
    assert after.ids.tolist() == one(hf(changed, temperature=0.0), request(of)).ids.tolist() != before.ids.tolist()
    assert (before.version, after.version) == (0, 1)
    made.close()


def test_pending_replies_continue_with_new_weights(server: VLLM, of: Policy) -> None:
    """Logprobs are those of the old weights up to some place, and from there on those of the new ones."""
    made = backend(server, of, max_context=500, max_reply_tokens=400)
    changed = fresh(seed=5)
    before = server.sampled_at_rest()
    for slot in range(8):
        made.submit(slot, request(of, seed=slot))
    deadline = time.monotonic() + 60
    while server.sampled() < before + 24:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    made.client.call("//pause?mode=keep", {}, is_json=False)  # else all could have ended before the weights are written
    of.model.load_state_dict(changed.model.state_dict())
    made.sync_weights(1)  # resumes the server's replies
    found: dict[int, Any] = {}
    while len(found) < 8:
        found |= dict(made.step())
        assert time.monotonic() < deadline + 120
    made.close()
    switches = []
    for reply in found.values():
        assert isinstance(reply, Reply), reply
        assert reply.version == 0
        (stored, old), (_, new) = (trained_on(each, [(request(of), reply)], 1.0) for each in (fresh(), changed))
        is_old, is_new = np.abs(stored - old) < 1e-4, np.abs(stored - new) < 1e-4
        switch = len(stored) if is_old.all() else int(np.argmin(is_old))  # the first that is not
        assert is_new[switch:].all()
        switches.append(0 < switch < len(stored))
    assert any(switches)


def test_an_adapter_is_handed_over_alone(server: VLLM, of: Policy) -> None:
    from peft import LoraConfig, get_peft_model

    base = fresh(seed=9)  # the server's first weights
    backend(server, base).close()
    torch.manual_seed(1)
    adapted: Any = get_peft_model(
        base.model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    )
    policy = Policy(model=adapted, encoder=base.encoder)
    made = backend(server, policy, temperature=0.0)
    found = [one(made, request(of)).ids.tolist()]
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            weight.data.mul_(-3.0)
    merged = [copy.deepcopy(adapted).merge_and_unload()]
    made.sync_weights(1)
    found.append(one(made, request(of)).ids.tolist())
    made.close()
    expected = one(hf(Policy(model=merged[0], encoder=base.encoder), temperature=0.0), request(of)).ids.tolist()
    assert found[1] == expected != found[0]


def test_an_aborted_reply_frees_its_slot(server: VLLM, of: Policy) -> None:
    made = backend(server, of, max_reply_tokens=200)
    made.submit(0, request(of))
    made.abort(0)
    assert len(one(made, request(of, seed=3)).ids) > 0
    made.close()


def test_a_fork_continues_like_its_source(server: VLLM, of: Policy) -> None:
    made = backend(server, of, temperature=0.0)
    one(made, request(of))
    made.fork(0, 3)
    asked = {slot: request(of, TEXTS[1], extends=True) for slot in (0, 3)}
    found = replies(made, asked)
    assert found[0].ids.tolist() == found[3].ids.tolist()
    made.close()


def test_the_folder_for_weights_is_removed(server: VLLM, of: Policy, tmp_path: Path) -> None:
    made = backend(server, of, {"weights_folder": str(tmp_path / "shared")})
    assert len(list((tmp_path / "shared").glob("*/policy/model.safetensors"))) == 1
    made.close()
    assert list((tmp_path / "shared").iterdir()) == []


def jobs(count: int) -> list[Job]:
    names = [f"{colour}-{i}" for i in range(2) for colour in ("amber", "blue", "green", "red")]
    return [
        Job(task=Task(env_id="examples.doors:Doors", task_id=names[i], seed=i), group_id=i, sample_seed=i)
        for i in range(count)
    ]


def test_a_killed_server_fails_episodes_which_are_played_again_when_it_is_back(server: VLLM, of: Policy) -> None:
    """The server comes back with the weights that it was started with; it is given ours before it is believed."""
    made = backend(server, of, {"attempts": 2, "backoff_s": 0.05}, max_reply_tokens=400, max_context=500)
    before, deadline = server.sampled_at_rest(), time.monotonic() + 60
    for slot in range(8):
        made.submit(slot, request(of, seed=slot))
    while server.sampled() == before:
        assert time.monotonic() < deadline
    server.kill()
    found: dict[int, Any] = {}
    while len(found) < 8:
        found |= dict(made.step())
        assert time.monotonic() < deadline
    kinds = {type(each) for each in found.values()}  # a short reply may have ended before
    assert ModelFailure in kinds, found
    assert kinds <= {ModelFailure, Reply}, found
    server.start()
    made.close()

    patient = build(AgentConfig, {"context": {"method": "transcript"}}, "test")
    server.wait()
    again = backend(server, of, {"attempts": 400, "retry_s": 400.0}, max_context=500)
    with EnvPool("examples.doors:Doors", {}, PoolConfig(size=8)) as pool:
        engine = Engine(again, pool, policy_interface(patient, of), retries=0)
        first = collect(engine, jobs(4))
        server.kill()
        server.start()  # the episodes wait for it
        second = collect(engine, jobs(8))
    assert not any(episode.is_failed for episode in (*first, *second)), [e.ending for e in second]
    assert again.usage.retries > 0
    for episode in second:
        asked = [(_asked(turn), _said(turn)) for turn in episode.turns]
        stored, trained = trained_on(of, asked, 1.0)
        np.testing.assert_allclose(stored, trained, atol=1e-4)
    again.close()


def _asked(turn: Turn) -> Request:
    assert turn.prompt_ids is not None
    return Request(
        prompt_ids=turn.prompt_ids.tolist(), extends=turn.extends_previous, choices=None, rng=random.Random(0)
    )


def _said(turn: Turn) -> Reply:
    assert turn.reply_ids is not None
    assert turn.reply_logprobs is not None
    return Reply(ids=turn.reply_ids, logprobs=turn.reply_logprobs, constraint=turn.constraint, finish="end", version=0)
