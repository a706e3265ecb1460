"""Models behind a server: whole evaluations over HTTP, server faults as failed episodes, and bad settings."""

from __future__ import annotations

import atexit
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cairn.agents.agent import load_agent
from cairn.agents.backend import Message, Reply, Request
from cairn.agents.backends.openai import OpenAIBackend, OpenAIConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.evaluation.evaluate import Evaluation, evaluate
from cairn.agents.evaluation.jobs import Pace, play_tasks
from cairn.agents.evaluation.report import Report
from cairn.agents.models.policy import load_pretrained
from cairn.agents.tool_calls import read_answer
from cairn.cli.main import app
from cairn.core.config import build, nest
from cairn.core.errors import ConfigError, EpisodeFailure, ModelFailure
from cairn.core.records import Ending, Episode, Note, function_schema
from cairn.core.store import RunStore
from cairn.envs.code.actions import TOOLS
from cairn.trainer.config import load_run_config
from tests.agents.backends.serving import Server, running
from tests.agents.backends.test_hf import trained_on
from tests.agents.tiny import TEXTS, shared

pytestmark = pytest.mark.rotating(3)

ENV = "examples.doors:Doors"
ASK = (Message("user", "A note says: red."),)
OK: dict[str, Any] = {}
END = shared().encoder.end_id


@cache
def model() -> str:
    """Return a folder with the policy, for the server."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    shared().save(Path(folder.name))
    return folder.name


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


def settings(server: Server, **more: Any) -> dict[str, Any]:
    """Return an agent's settings: those of the back end by name, all others dotted."""
    quick = {"url": server.url, "backoff_s": 0.01, "attempts": 3, "reply_s": 20.0}
    own = {name: more.pop(name) for name in list(more) if "." not in name}
    return nest({"sampling.openai": quick | own, **more})


def backend(server: Server, sampling: Mapping[str, Any] | None = None, **config: Any) -> OpenAIBackend:
    chosen = SamplingConfig.model_validate({"slots": 4, "max_reply_tokens": 12, "max_context": 256, **(sampling or {})})
    own = {"url": server.url, "model": model(), "backoff_s": 0.01, "attempts": 3, **config}
    return OpenAIBackend(build(OpenAIConfig, own, "test"), shared(), chosen)


def request(**more: Any) -> Request:
    given = {"prompt_ids": (), "extends": False, "choices": None, "rng": random.Random(0), "messages": ASK, **more}
    return Request(**given)


def ids(text: str = TEXTS[0], **more: Any) -> Request:
    return request(prompt_ids=(*shared().encoder.encode(text), 1), messages=(), **more)


def replies(of: OpenAIBackend, requests: Mapping[int, Request]) -> dict[int, Any]:
    for slot, each in requests.items():
        of.submit(slot, each)
    found: dict[int, Reply | EpisodeFailure] = {}
    deadline = time.monotonic() + 30
    while len(found) < len(requests):
        found |= dict(of.step())
        assert time.monotonic() < deadline
    return found


def one(of: OpenAIBackend, asked: Request) -> Any:
    try:
        return replies(of, {0: asked})[0]
    finally:
        of.close()


def test_an_evaluation_of_a_server_stores_tokens_cost_and_requests(server: Server, tmp_path: Path) -> None:
    server.script()
    reported = settings(server, prices={"prompt": 1.0, "completion": 10.0})
    tasks = ["red-1", "blue-2", "amber-0"]

    def play() -> Evaluation:
        return evaluate("openai:m", ENV, tasks=tasks, settings=reported, root=tmp_path)

    found, again = play(), play()
    assert (found.played, again.played, again.usage) == (3, 0, found.usage)
    assert found.usage is not None
    assert found.usage.requests == 6
    measures = found.parts[0].measures
    assert measures.prompt_tokens == 200.0
    assert measures.cost == pytest.approx(found.usage.cost)
    assert list(measures.budgets) == ["turns", "tokens", "cost"]
    assert found.usage + found.usage == replace(
        found.usage,
        **{name: 2 * value for name, value in asdict(found.usage).items()},
    )


def test_an_interrupted_evaluation_counts_its_requests(server: Server, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def play(on_episode: Callable[..., None]) -> Evaluation:
        return evaluate(
            "openai:m", ENV, tasks=["red-1", "blue-2"], settings=settings(server), pace=Pace(slots=1), root=tmp_path,
            on_episode=on_episode,
        )  # fmt: skip

    server.script()
    with pytest.raises(KeyboardInterrupt):
        play(stop)
    (folder,) = tmp_path.iterdir()
    with RunStore.read(folder) as store:
        before = store.meta()["usage"]["requests"]
    assert before >= 2  # those of the first episode, and maybe one for the second
    found = play(lambda *_: None)
    assert found.usage is not None
    assert found.usage.requests == before + 2


# -- conversations ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["plain", "tool"])
def test_a_model_plays_over_http(server: Server, form: str) -> None:
    server.script()
    prices = {"prompt": 1.0, "completion": 10.0}
    reported = settings(server, prices=prices, **{"agent.context.messages.format": form})
    report, episodes = play_tasks("openai:some-model", ENV, tasks=6, settings=reported, temperature=0.3)
    assert (report.success.successes, report.failed, report.mean_turns) == (6, 0, 2.0)
    assert report.usage is not None
    assert (report.usage.requests, report.usage.prompt_tokens, report.usage.cached_tokens) == (12, 1200, 480)
    assert report.usage.cost == pytest.approx(12 * (100 * 1 + 10 * 10) / 1e6)
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    for body in server.bodies():
        assert (body["model"], body["temperature"], body["max_tokens"]) == ("some-model", 0.3, 1024)
        assert ("tools" in body) == (form == "tool")
        assert_well_formed(body["messages"])
    later = [body["messages"] for body in server.bodies() if len(body["messages"]) > 1]
    assert len(later) == 6
    for _, reply, answer in later:
        assert (reply["content"], answer["role"]) == (("", "tool") if form == "tool" else ("take key", "user"))
    assert all(turn.reply_ids is None for episode in episodes for turn in episode.turns)
    assert [turn.is_valid for turn in episodes[0].turns] == [True, True]


def assert_well_formed(messages: Sequence[dict[str, Any]]) -> None:
    """Assert that all calls are answered at once and in their order, nothing else is, and roles take turns."""
    assert messages[0]["role"] == "user"
    open_calls, is_asked = list[str](), False
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            is_asked = True
            continue
        assert not open_calls
        assert message["role"] == ("assistant" if is_asked else "user")
        is_asked = not is_asked
        open_calls = [call["id"] for call in message.get("tool_calls", [])]
        assert len(set(open_calls)) == len(open_calls)
        assert all(
            isinstance(json.loads(call["function"]["arguments"]), dict) for call in message.get("tool_calls", [])
        )
    assert not open_calls
    assert is_asked


def test_the_tool_is_offered_with_the_admissible_actions(server: Server) -> None:
    server.script()
    act = function_schema("act", "Do it.", {"action": {"type": "string", "enum": ("go", "stay \ud800")}}, ["action"])
    reply = one(backend(server), request(tools=(act,)))
    (made,) = read_answer(reply.text).calls
    assert (made.name, json.loads(made.arguments)) == ("act", {"action": "take key"})
    (tool,) = server.bodies()[0]["tools"]
    assert tool["function"]["name"] == "act"
    assert tool["function"]["parameters"]["properties"] == {"action": {"type": "string", "enum": ["go", "stay ?"]}}


def test_an_environments_tools_are_called(server: Server) -> None:
    def asks(name: str, arguments: str) -> dict[str, Any]:
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"change": {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}}

    server.script([asks("run_python", '{"code": "6 * 7"}'), asks("read_file", "{}"), asks("submit", "{}")])
    reported = settings(server, **{"agent.context.messages.format": "tool"})
    _, (episode,) = play_tasks(
        "openai:m", "code", config={"kind": "repair"}, tasks=["repair/bank-3"], settings=reported
    )
    assert [turn.is_valid for turn in episode.turns] == [True, False, True]
    assert episode.ending == Ending.terminated()
    first, *_, last = server.bodies()
    assert [tool["function"]["name"] for tool in first["tools"]] == list(TOOLS)
    answers = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    wrong = "the call of read_file does not fit its schema: 'path' is a required property"
    assert answers == ["42\n", f"[Your answer was not valid: {wrong}.]\n\nUnknown tool ''. Tools: {', '.join(TOOLS)}."]


CALL = {"id": "c1", "type": "function", "function": {"name": "act", "arguments": '{"action": "wait"}'}}


@pytest.mark.parametrize(
    ("calls", "action"),
    [
        ([CALL], "wait"),
        ([CALL, {**CALL, "function": {"name": "act", "arguments": '{"action": "take key"}'}}], "wait"),
        ([{**CALL, "id": None}], "wait"),
        ([{**CALL, "function": {"name": "act", "arguments": "{"}}], ""),
        ([{**CALL, "function": {"name": "act", "arguments": {"action": "wait"}}}], "wait"),
        ([{**CALL, "function": {"name": "open", "arguments": "{}"}}], ""),
        ([{**CALL, "function": {"name": "open it", "arguments": "{}"}}], ""),
        ([{**CALL, "function": {"name": "act", "arguments": '{"action": "fly"}'}}], ""),
        ([{**CALL, "function": None}], ""),
        ([7], ""),
        ([], ""),
        (None, ""),
    ],
)
def test_a_malformed_tool_call_of_a_model_is_data(server: Server, calls: Any, action: str) -> None:
    server.script([{"change": {"message": {"role": "assistant", "content": "Hm.", "tool_calls": calls}}}])
    reported = settings(server, **{"agent.context.messages.format": "tool"})
    _, episodes = play_tasks("openai:m", ENV, tasks=["red-1"], settings=reported)
    (first, *others) = episodes[0].turns
    assert (first.action, first.is_valid) == (action, bool(action))
    assert episodes[0].success
    assert [turn.action for turn in others] == ["take key", "open red"]
    for body in server.bodies():
        assert_well_formed(body["messages"])


def test_summaries_by_the_model_are_stored_apart_from_its_turns_and_counted(server: Server) -> None:
    def says(text: str) -> dict[str, Any]:
        return {"change": {"message": {"role": "assistant", "content": text}}}

    # a turn, then before each of the next two a summary of the one before
    server.script([says("wait"), says("I waited."), says("take key"), says("I have the key."), says("open red")])
    reported = settings(
        server, **{"agent.context.messages": {"memory": "summary", "summary_turns": 1, "history": 0, "format": "plain"}}
    )
    report, (episode,) = play_tasks("openai:m", ENV, tasks=["red-1"], settings=reported)
    assert [turn.action for turn in episode.turns] == ["wait", "take key", "open red"]
    assert [turn.notes for turn in episode.turns] == [
        (),
        (Note(kind="summary", text="I waited."),),
        (Note(kind="summary", text="I have the key."),),
    ]
    assert (report.success.successes, report.mean_turns, report.summaries) == (1, 3.0, 2)
    assert report.usage is not None
    assert (report.usage.requests, report.usage.completion_tokens) == (5, 50)  # the two summaries count
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    bodies = server.bodies()
    assert [len(body["messages"]) for body in bodies] == [1] * 5
    assert "Your summary of the 2 turns before:\nI have the key." in bodies[4]["messages"][0]["content"]


def test_a_summary_too_long_for_the_model_truncates_the_episode(server: Server) -> None:
    refusal = {"status": 400, "body": json.dumps({"error": {"code": "context_length_exceeded"}})}
    server.script([{"change": {"message": {"content": "wait"}}}, refusal])
    reported = settings(server, **{"agent.context.messages": {"memory": "summary", "summary_turns": 1, "history": 0}})
    _, (episode,) = play_tasks("openai:m", ENV, tasks=["red-1"], settings=reported)
    assert episode.ending == Ending.truncated("tokens")
    assert [turn.action for turn in episode.turns] == ["wait"]


def test_settings_about_tools_are_sent_only_with_tools(server: Server) -> None:
    extra = {"tool_choice": "required", "parallel_tool_calls": False, "top_p": 0.9}
    tool = function_schema("act", "Do it.", {"action": {"type": "string"}}, ["action"])
    for tools, sent in (((), {"top_p"}), ((tool,), {"top_p", "tool_choice", "parallel_tool_calls"})):
        server.script()
        one(backend(server, extra=extra), request(tools=tools))
        assert extra.keys() & server.bodies()[0].keys() == sent


@pytest.mark.parametrize(
    ("change", "text", "finish"),
    [
        ({"message": {"content": "go"}}, "go", "end"),
        ({"message": {"content": [{"type": "text", "text": "g"}, {"type": "text", "text": "o"}]}}, "go", "end"),
        ({"message": {"content": None}}, "", "end"),
        ({"message": {"content": None, "refusal": "No."}}, "No.", "end"),
        ({"message": {"content": "go"}, "finish_reason": "length"}, "go", "length"),
    ],
)
def test_the_text_of_a_message_is_the_reply(server: Server, change: dict[str, Any], text: str, finish: str) -> None:
    server.script([{"change": change}])
    reply = one(backend(server), request())
    assert (reply.text, reply.finish, len(reply.ids)) == (text, finish, 0)


def test_characters_that_no_file_can_store_are_replaced(server: Server) -> None:
    server.script([{"body": r'{"choices": [{"message": {"content": "a lone \ud800 surrogate\u0000"}}]}'}])
    assert one(backend(server), request()).text == "a lone ? surrogate\u0000"


@pytest.mark.parametrize(
    "act",
    [
        {"body": "[]"},
        {"body": "{}"},
        {"body": '{"choices": {}}'},
        {"body": '{"choices": []}'},
        {"body": '{"choices": [3]}'},
        {"body": ""},
        {"change": {"message": "go"}},
        {"change": {"message": {"content": 3}}},
        {"change": {"message": {"content": ["go"]}}},
    ],
)
def test_a_malformed_answer_fails_its_reply(server: Server, act: dict[str, Any]) -> None:
    server.script([act])
    failure = one(backend(server), request())
    assert type(failure) is ModelFailure
    assert "expected" in str(failure)


def test_a_conversation_too_long_for_the_model_truncates_the_episode(server: Server) -> None:
    body = json.dumps({"error": {"code": "context_length_exceeded", "message": "too long"}})
    server.script([OK, {"status": 400, "body": body}])
    _, (episode,) = play_tasks("openai:m", ENV, tasks=["red-1"], settings=settings(server))
    assert (episode.ending.kind, episode.ending.cause, episode.score) == ("truncated", "tokens", 0.0)


# -- faults of the server -----------------------------------------------------------------------------------------

FAULTS: dict[str, dict[str, Any]] = {
    "malformed": {"body": "{'choices'"},
    "schema": {"body": '{"choices": 7}'},
    "refused": {"status": 400, "body": "no"},
    "errors": {"status": 500, "body": "oops"},
    "cut": {"cut": True},
    "huge": {"size": 2 * 2**20},
    "slow": {"sleep_s": 1.5},
    "busy": {"status": 429, "body": "{}", "headers": {"Retry-After": "60"}},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_an_episode_that_is_then_played_again(server: Server, fault: str) -> None:
    """The second turn of the only episode meets the fault; the episode restarts and scores as without it."""
    server.script([OK, FAULTS[fault], OK, OK])
    reported = settings(server, attempts=1, reply_s=1.0, max_answer_mib=1)
    report, (episode,) = play_tasks("openai:m", ENV, tasks=["red-1"], settings=reported)
    assert (report.failed, episode.ending.kind, episode.score, len(episode.turns)) == (0, "terminated", 1.0, 2)
    assert report.usage is not None
    assert report.usage.requests == 4
    assert server.seen()["left"] == 0


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_a_failed_episode_and_no_score(server: Server, fault: str) -> None:
    server.script([OK, FAULTS[fault], OK, FAULTS[fault]])
    reported = settings(server, attempts=1, reply_s=1.0, max_answer_mib=1, **{"sampling.slots": 1})
    report, (bad, good) = play_tasks("openai:m", ENV, tasks=["red-1", "red-2"], settings=reported)
    assert (bad.ending.kind, bad.ending.cause, bad.score, bad.success) == ("failed", "model", None, None)
    assert (good.ending.kind, good.score) == ("terminated", 1.0)
    assert (report.failed, report.success.episodes, report.success.share, report.mean_score) == (1, 1, 1.0, 1.0)
    assert report.usage is not None
    assert report.usage.failures == (0 if fault == "schema" else 2)


def test_a_server_that_dies_in_the_middle_of_replies_is_waited_for(server: Server) -> None:
    """Every episode has a turn behind it when the server goes."""
    server.script([OK] * 8 + [{"sleep_s": 0.3, "die": True}])
    heard: list[Episode] = []
    reported = settings(server, attempts=400, backoff_s=0.05)

    def back() -> None:
        server.process.wait(30)
        server.start()

    watcher = threading.Thread(target=back)
    watcher.start()
    report, _ = play_tasks("openai:m", ENV, tasks=8, settings=reported, on_episode=heard.append)
    watcher.join(60)
    assert (report.success.successes, report.failed) == (8, 0)
    assert report.usage is not None
    assert report.usage.retries > 0


# -- ids ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_a_server_returns_ids_with_the_trainers_logprobs(server: Server, temperature: float) -> None:
    server.script()
    of = backend(server, {"temperature": temperature}, api="completions")
    turns: list[list[tuple[Request, Reply]]] = [[] for _ in range(4)]
    for turn in range(3):
        asked = {
            slot: ids(TEXTS[(slot + turn) % 4], extends=turn > 0, rng=random.Random(10 * slot + turn))
            for slot in range(4)
        }
        for slot, reply in replies(of, asked).items():
            turns[slot].append((asked[slot], reply))
    of.close()
    for episode in turns:
        stored, trained = trained_on(episode, temperature)
        assert stored.min() < -0.1
        np.testing.assert_allclose(stored, trained, atol=1e-4)
    sent = [body["prompt"] for body in server.bodies()]
    for (first, said), (second, _), _ in turns:
        assert [*first.prompt_ids, *said.ids.tolist(), *second.prompt_ids] in sent
    assert of.tokens_processed == of.usage.prompt_tokens + of.usage.completion_tokens


def test_ids_written_as_token_texts_are_parsed(server: Server) -> None:
    server.script()
    expected = one(backend(server, api="completions"), ids())
    server.script([{"change": {"token_ids": None}}])
    found = one(backend(server, api="completions"), ids())
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.logprobs.tolist() == expected.logprobs.tolist()


def test_a_served_reply_ends_at_each_end_of_the_generation_configuration(server: Server, tmp_path: Path) -> None:
    for file in Path(model()).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    file = tmp_path / "generation_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "eos_token_id": [END, 7]}))
    server.script()
    own = {"url": server.url, "model": model(), "api": "completions"}
    sampling = SamplingConfig(slots=4, max_reply_tokens=12, max_context=256)
    one(OpenAIBackend(build(OpenAIConfig, own, "test"), load_pretrained(str(tmp_path)), sampling), ids())
    assert server.bodies()[0]["stop_token_ids"] == sorted({END, 7})


def test_a_server_without_token_ids_stops_the_run_and_names_the_missing_setting(server: Server) -> None:
    logprobs = {"tokens": ["take", " key"], "token_logprobs": [-1.0, -2.0]}
    for change in ({"token_ids": None, "logprobs": logprobs}, {"token_ids": None, "logprobs": None}):
        server.script([{"change": change}])
        with pytest.raises(ConfigError, match=r"returns no token ids.*return_token_ids"):
            one(backend(server, api="completions"), ids())


@pytest.mark.parametrize(
    "change",
    [
        {"token_ids": "7"},
        {"token_ids": [END, 5]},
        {"token_ids": [10**6, END]},
        {"token_ids": [True, END]},
        {"token_ids": [5, -1, END]},
        {"token_ids": []},
        {"token_ids": [5] * 13},
        {"token_ids": [5, 6]},
        {"prompt_token_ids": [1, 2]},
        {"logprobs": None},
        {"logprobs": {"token_logprobs": [-0.5]}},
        {"logprobs": {"token_logprobs": [-0.5, None]}},
        {"logprobs": {"token_logprobs": [-0.5, 0.5]}},
        {"logprobs": {"token_logprobs": [-0.5, "-0.5"]}},
        {"token_ids": None, "logprobs": {"tokens": ["token_id:x", "token_id:2"], "token_logprobs": [-1, -1]}},
        {"token_ids": None, "logprobs": {"tokens": ["token_id:99999999", "token_id:2"], "token_logprobs": [-1, -1]}},
    ],
)
def test_invalid_ids_or_logprobs_fail_their_reply(server: Server, change: dict[str, Any]) -> None:
    sound = {"token_ids": [5, END], "logprobs": {"token_logprobs": [-0.5, -0.5]}}
    server.script([{"change": sound}, {"change": sound | change}])
    of = backend(server, api="completions")
    assert replies(of, {0: ids()})[0].ids.tolist() == [5, END]
    failure = one(of, ids())
    assert type(failure) is ModelFailure, failure


def test_a_reply_is_cut_at_its_limit_and_at_the_sequences(server: Server) -> None:
    server.script()
    cut = one(backend(server, {"max_reply_tokens": 2}, api="completions"), ids())
    assert (len(cut.ids), cut.finish) == (2, "length")
    full = one(backend(server, {"max_context": 64}, api="completions"), long(63))
    assert (len(full.ids), full.finish) == (1, "context")
    before = len(server.bodies())
    none = one(backend(server, {"max_context": 64}, api="completions"), long(64))
    assert (len(none.ids), none.finish, len(server.bodies())) == (0, "context", before)


def long(count: int) -> Request:
    return request(prompt_ids=(5,) * count, messages=())


def test_a_partial_reply_is_resumed(server: Server) -> None:
    server.script()
    greedy = {"temperature": 0.0}
    whole = one(backend(server, greedy, api="completions"), ids())
    begun = Reply(ids=whole.ids[:4], logprobs=np.full(4, -0.5, np.float32), constraint=None, finish="abort", version=-3)
    again = one(backend(server, greedy, api="completions"), ids(partial=begun))
    assert again.ids.tolist() == whole.ids.tolist()
    assert (again.logprobs[:5].tolist(), again.version) == ([-0.5] * 4 + [0.0], -3)
    closed = Reply(
        ids=np.array([5, END], np.int32), logprobs=begun.logprobs[:2], constraint=None, finish="end", version=0
    )
    before = len(server.bodies())
    assert one(backend(server, greedy, api="completions"), ids(partial=closed)).finish == "end"
    assert len(server.bodies()) == before


def test_sampling_settings_that_change_the_distribution_are_disabled(server: Server) -> None:
    server.script()
    one(backend(server, api="completions", extra={"priority": 3}, leave_out=["min_p"]), ids())
    (body,) = server.bodies()
    assert (body["top_p"], body["top_k"], body["repetition_penalty"], body["stop_token_ids"]) == (1.0, 0, 1.0, [END])
    assert body["priority"] == 3
    assert "min_p" not in body


def test_a_fork_continues_the_sequence_of_its_source(server: Server) -> None:
    server.script()
    of = backend(server, {"temperature": 0.0}, api="completions")
    replies(of, {0: ids()})
    of.fork(0, 2)
    found = replies(of, {slot: ids(TEXTS[1], extends=True) for slot in (0, 2)})
    assert found[0].ids.tolist() == found[2].ids.tolist()
    of.close()


def test_a_policys_folder_plays_through_a_server(server: Server, tmp_path: Path) -> None:
    shared().save(tmp_path)
    server.script()
    reported = settings(
        server,
        api="completions",
        model=model(),
        **{"sampling.method": "openai", "sampling.max_reply_tokens": 5, "agent.constrain": False},
    )
    for agent in (str(tmp_path), f"openai:{tmp_path}"):
        report, episodes = play_tasks(agent, ENV, tasks=2, settings=reported, temperature=1.0)
        assert report.failed == 0
        for turn in (turn for episode in episodes for turn in episode.turns):
            assert turn.reply_ids is not None
            assert turn.reply_logprobs is not None
            assert 0 < len(turn.reply_ids) <= 5
            assert turn.reply_logprobs.max() < 0


# -- slots --------------------------------------------------------------------------------------------------------


def test_an_aborted_reply_is_not_returned(server: Server) -> None:
    server.script([{"sleep_s": 0.3}])
    of = backend(server)
    of.submit(0, request())
    with pytest.raises(RuntimeError, match="slot 0 is still working"):
        of.submit(0, request())
    of.abort(0)
    deadline = time.monotonic() + 0.6
    while time.monotonic() < deadline:
        assert of.step() == []
    assert one(of, request()).text == "take key"


def test_weights_of_a_server_keep_version_0(server: Server) -> None:
    server.script()
    of = backend(server)
    of.sync_weights(3)
    assert one(of, request()).version == 0


# -- rejected settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "more", "message"),
    [
        ("openai:m", {"agent.constrain": True}, "agent.constrain: 'openai' cannot keep replies"),
        ("openai:m", {"agent.context.method": "chat"}, "'chat' makes ids, and .* reads messages; choose 'messages'"),
        ("openai:m", {"api": "completions", "agent.context.method": "messages"}, "'messages' makes messages, and"),
        ("openai:m", {"api": "completions"}, "sampling.openai.tokenizer: cannot load 'm'"),
        ("openai:", {}, "sampling.openai.model: say which model"),
        ("openai:m", {"api": "responses"}, "api: .* 'responses'"),
        ("openai:m", {"key": "sk-1"}, "unknown key 'key'"),
    ],
)
def test_settings_that_cannot_be_evaluated_are_rejected(
    server: Server, agent: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        play_tasks(agent, ENV, tasks=1, settings=settings(server, **more))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampling.method": "openai", "agent.context.method": "messages"}, "gives text, without the token ids"),
        ({"sampling.method": "openai", "sampling.openai.api": "completions"}, "agent.constrain: 'openai' cannot keep"),
        (
            {"agent.context.method": "messages"},
            "'messages' makes messages, and sampling.method 'hf' as it is set reads",
        ),
    ],
)
def test_settings_that_cannot_be_trained_are_rejected(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_run_config({}, given)


def test_training_accepts_token_ids_of_a_server() -> None:
    chosen = {"sampling.method": "openai", "sampling.openai.api": "completions", "agent.constrain": False}
    assert load_run_config({}, chosen).sampling.method == "openai"


def test_a_plain_agent_of_a_server_gets_its_defaults(server: Server) -> None:
    agent = load_agent("openai:m", settings(server))
    assert (agent.sampling.slots, agent.sampling.max_reply_tokens, agent.interface.constrain) == (32, 1024, False)


# -- the command line ---------------------------------------------------------------------------------------------


def test_the_command_line(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    server.script()
    arguments = ["eval", ENV, "--agent", "openai:m", "--tasks", "3", "--agent-set", f"sampling.openai.url={server.url}"]
    shown = CliRunner().invoke(app, [*arguments, "--agent-set", "sampling.openai.prices.prompt=1"])
    assert shown.exit_code == 0, shown.output
    assert "6 requests (0 retries, 0 given up)" in shown.output
    assert "600 prompt tokens (240 cached), 60 completion tokens, cost 0.0006" in shown.output
    found = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert found["played"] == 0  # prices do not belong to the requests; stored costs stay
    assert (found["usage"]["requests"], found["usage"]["cost"]) == (6, pytest.approx(0.0006))
    assert found["parts"][0]["success"]["mean"] == 1.0
    assert found["agent_settings"]["sampling"]["openai"]["url"] == server.url


def test_a_household_is_played_over_http(server: Server) -> None:
    server.script()
    report, episodes = play_tasks("openai:m", "household", tasks=1, settings=settings(server))
    assert report.failed == 0
    assert len(episodes[0].turns) > 1
