"""The client against a real server that misbehaves: retries, requests that fail for good, and counters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import Any

import pytest

from cairn.agents.backends.http.client import Client, ServerRefusal
from cairn.agents.backends.http.config import ModelServerConfig
from cairn.core import http_client
from cairn.core.config import build
from cairn.core.errors import CairnError, ConfigError, ModelFailure
from tests.agents.backends.serving import Server, running

pytestmark = pytest.mark.rotating(3)

PATH = "/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "A note says: red."}]}
KEY = "sk-a-secret-of-the-tests"
QUICK = {"backoff_s": 0.01, "attempts": 4}
OK: dict[str, Any] = {}
HOLD = {"hold": True}  # no answer before the server is asked to release it


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


@contextmanager
def client(server: Server, **settings: Any) -> Iterator[Client]:
    found = Client(build(ModelServerConfig, {"url": server.url, **QUICK, **settings}, "test"))
    try:
        yield found
    finally:
        found.close()


def answers(of: Client, count: int = 1, tokens: int = 10) -> list[Any]:
    """Send `count` requests and return their outcomes in order."""
    tickets = [of.send(PATH, BODY, tokens) for _ in range(count)]
    found: dict[int, Any] = {}
    deadline = time.monotonic() + 30
    while len(found) < count:
        found |= dict(of.arrived(0.05))
        assert time.monotonic() < deadline
    return [found[ticket] for ticket in tickets]


def said(answer: Any) -> str:
    assert isinstance(answer, dict), answer
    return str(answer["choices"][0]["message"]["content"])


def test_sending_a_request_does_not_block(server: Server) -> None:
    server.script([HOLD])
    with client(server) as of:
        ticket = of.send(PATH, BODY, 1)  # returns although the server holds its answer
        began = time.monotonic()
        assert of.arrived(0.05) == []
        assert time.monotonic() - began >= 0.05
        server.release()
        assert [name for name, _ in of.arrived(30)] == [ticket]


@pytest.mark.parametrize(
    "act",
    [
        {"status": 500, "body": "oops"},
        {"status": 503, "body": ""},
        {"status": 408, "body": "{}"},
        {"status": 409, "body": "{}"},
        {"status": 429, "body": "{}"},
        {"cut": True},
    ],
)
def test_a_temporary_failure_is_retried_and_counted(server: Server, act: dict[str, Any]) -> None:
    server.script([act, act])
    with client(server) as of:
        assert said(answers(of)[0]) == "take key"
        total = of.tally.total
        assert (total.requests, total.retries, total.replies, total.failures) == (3, 2, 1, 0)
        assert (total.prompt_tokens, total.cached_tokens, total.completion_tokens) == (100, 40, 10)


def test_a_reply_beyond_its_time_limit_is_retried_and_counted(server: Server) -> None:
    server.script([HOLD, HOLD])
    with client(server, reply_s=0.3, attempts=50) as of:
        assert said(answers(of)[0]) == "take key"
        total = of.tally.total
        assert total.retries >= 2  # on a busy machine further replies may take too long
        assert (total.requests, total.replies, total.failures) == (total.retries + 1, 1, 0)


def test_a_request_fails_after_the_maximum_number_of_attempts(server: Server) -> None:
    server.script([{"status": 500, "body": "the reason"}] * 9)
    with client(server, attempts=3) as of:
        (failure,) = answers(of)
        assert type(failure) is ModelFailure
        assert "status 500: the reason; given up after 3 attempts" in str(failure)
        assert of.tally.total.failures == 1
    assert len(server.bodies()) == 3


def test_all_attempts_together_have_a_time_limit(server: Server) -> None:
    server.script([{"status": 503, "body": "", "headers": {"Retry-After": "60"}}])
    with client(server, retry_s=2.0) as of:
        began = time.monotonic()
        (failure,) = answers(of)
        assert "the next one in 60.0 s" in str(failure)
        assert time.monotonic() - began < 30


class Clock(datetime):
    """A clock that stands still, a fifth of a second before a full second."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Clock:
        return cls(2026, 1, 1, 0, 0, 0, 800_000, tz)


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "0.2"},
        {"Retry-After": "Thu, 01 Jan 2026 00:00:01 GMT"},
        {"retry-after-ms": "200", "Retry-After": "100"},
        {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "200ms"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "0m0.2s"},
    ],
)
def test_the_retry_after_header_is_respected(
    server: Server, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr(http_client, "datetime", Clock)
    server.script([{"status": 429, "body": "{}", "headers": headers}])
    with client(server, backoff_s=0.001) as of:
        answers(of)  # within 30 s
        assert of.tally.total.waited_s >= 0.2
    first, second = server.times()
    assert second - first >= 0.2


def test_a_retry_after_header_delays_all_requests(server: Server) -> None:
    server.script([{"status": 429, "body": "{}", "headers": {"Retry-After": "0.3"}}])
    with client(server, max_in_flight=1) as of:
        answers(of, 3)
        assert of.tally.total.requests == 4
    first, second, *_ = server.times()
    assert second - first >= 0.3


def test_a_limit_that_is_used_up_holds_the_next_request(server: Server) -> None:
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "300ms"}
    server.script([{"headers": headers}])
    with client(server) as of:
        answers(of)
        answers(of)
    first, second = server.times()
    assert second - first >= 0.3


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_refused_is_not_sent_again(server: Server, status: int) -> None:
    server.script([{"status": status, "body": "x" * 299 + "yz"}])
    with client(server) as of:
        (failure,) = answers(of)
        assert isinstance(failure, ServerRefusal)
        assert failure.status == status
        assert str(failure).endswith(f"status {status}: {'x' * 299}y")
    assert len(server.bodies()) == 1


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "is the key right"), (404, "are url and model right"), (302, "url")]
)
def test_a_wrong_setting_stops_the_run(server: Server, status: int, hint: str) -> None:
    server.script([{"status": status, "body": "no", "headers": {"Location": "/v1/models"}}])
    with client(server) as of:
        of.send(PATH, BODY, 1)
        with pytest.raises(CairnError, match=hint) as caught:
            of.arrived(20)
        assert not isinstance(caught.value, ModelFailure)


def test_a_refusal_after_a_success_fails_only_the_episode(server: Server) -> None:
    server.script([OK, {"status": 404, "body": "no"}])
    with client(server) as of:
        answers(of)
        assert isinstance(answers(of)[0], ServerRefusal)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        ({"body": "{'choices': 1"}, "expected JSON"),
        ({"body": "[" * 200_000}, "expected JSON"),
        ({"body": "1" * 10_000}, "expected JSON"),
        ({"size": 3 * 2**20}, "longer than 2097152 bytes"),
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_episode(server: Server, act: dict[str, Any], message: str) -> None:
    server.script([act])
    with client(server, max_answer_mib=2) as of:
        (failure,) = answers(of)
        assert type(failure) is ModelFailure
        assert message in str(failure)
        assert said(answers(of)[0]) == "take key"


def test_the_client_waits_for_a_server_that_restarts(server: Server) -> None:
    server.script([{"die": True}])
    with client(server, attempts=200, backoff_s=0.05) as of:
        ticket = of.send(PATH, BODY, 1)
        server.process.wait(10)
        assert of.arrived(0.05) == []
        server.start()
        found: list[tuple[int, Any]] = []
        for _ in range(400):
            found = found or of.arrived(0.05)
        assert [name for name, _ in found] == [ticket]
        assert said(found[0][1]) == "take key"
        assert of.tally.total.retries > 0
        assert of.outages > 0


def test_no_more_requests_are_at_the_server_than_allowed(server: Server) -> None:
    server.script([HOLD] * 9)
    with client(server, max_in_flight=3) as of:
        tickets = [of.send(PATH, BODY, 10) for _ in range(9)]
        server.wait_for(3)
        assert of.arrived(0.1) == []  # time in which a fourth request could reach the server
        server.release()
        while tickets:
            del tickets[: len(of.arrived(30))]
    assert server.seen()["most"] == 3


def test_a_call_bypasses_the_limit_of_requests_in_flight(server: Server) -> None:
    server.script([HOLD])
    with client(server, max_in_flight=1, requests_per_minute=1) as of:
        ticket = of.send(PATH, BODY, 1)
        server.wait_for(1)
        assert said(of.call(PATH, BODY)) == "take key"
        assert of.arrived(0) == []  # the request that has the only place is still not answered
        server.release()
        assert [name for name, _ in of.arrived(30)] == [ticket]


def test_the_answer_to_a_cancelled_request_is_dropped(server: Server) -> None:
    server.script([HOLD])
    with client(server) as of:
        unwanted = of.send(PATH, BODY, 1)
        server.wait_for(1)
        of.cancel(unwanted)
        answers(of)
        server.release()
        answers(of)
        assert of.arrived(0.05) == []


def test_closing_drops_requests_in_flight_at_once(server: Server) -> None:
    server.script([HOLD] * 3)
    of = Client(build(ModelServerConfig, {"url": server.url}, "test"))
    for _ in range(3):
        of.send(PATH, BODY, 1)
    server.wait_for(3)
    began = time.monotonic()
    of.close()
    of.close()
    assert time.monotonic() - began < 30  # the server holds the answers for 60 s
    server.release()


def test_the_key_is_sent_and_shown_nowhere(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    server.script([OK, {"status": 400, "body": f"{'x' * 280}{KEY}"}, {"status": 500, "body": KEY}, {"body": KEY}])
    with client(server, key_env="THE_KEY", attempts=1) as of:
        shown = "".join(str(answer) for answer in answers(of) + answers(of) + answers(of) + answers(of))
        assert shown.count("[the API key]") >= 3
        assert "sk-" not in shown + repr(of.tally.total) + repr(of._config)
    assert server.seen()["requests"][0]["headers"]["authorization"] == f"Bearer {KEY}"
    assert "sk-" not in "".join(capfd.readouterr())


def test_without_a_key_no_authorization_header_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server.script()
    with client(server) as of:
        answers(of)
    assert "authorization" not in server.seen()["requests"][0]["headers"]


def test_a_malformed_key_is_rejected_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one\nsk-two")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY: expected an API key") as caught:
        Client(ModelServerConfig())
    assert "sk-" not in str(caught.value)


def test_the_address_is_read_from_the_environment_variable(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    server.script()
    of = Client(ModelServerConfig())
    answers(of)
    of.close()
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:1")
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL: expected an address"):
        Client(ModelServerConfig())


@pytest.mark.parametrize("url", ["ftp://x/v1", "x/v1", "http://", "http://me:sk-secret@x/v1"])
def test_an_invalid_url_is_rejected(url: str) -> None:
    with pytest.raises(ConfigError, match="url: "):
        build(ModelServerConfig, {"url": url}, "test")


def test_cost_follows_the_prices(server: Server) -> None:
    server.script()
    with client(server, prices={"prompt": 2.0, "cached": 0.5, "completion": 8.0}) as of:
        answers(of, 2)
        # per reply 60 prompt tokens at 2, 40 cached at 0.5 and 10 of its own at 8: 220 in millionths
        assert of.tally.total.cost == pytest.approx(2 * 220e-6)
    with client(server, prices={"prompt": 2.0}) as of:
        answers(of)
        assert of.tally.total.cost == pytest.approx(200e-6)


@pytest.mark.parametrize(
    "usage", [None, [], {"prompt_tokens": -1}, {"prompt_tokens": "9"}, {"prompt_tokens": True, "completion_tokens": 1}]
)
def test_replies_without_a_count_of_tokens_are_counted_as_such(server: Server, usage: Any) -> None:
    server.script([{"top": {"usage": usage}}])
    with client(server) as of:
        answers(of)
        total = of.tally.total
        assert (total.unreported, total.prompt_tokens, total.cost) == (1, 0, None)
