"""Pictures over HTTP: pictures sent to a model behind a server, stored pictures, and token counts."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from typing import Any

import pytest

from cairn.agents.backend import Message, Request
from cairn.agents.backends.http.chat import ChatCompletions
from cairn.agents.config import SamplingConfig
from cairn.agents.evaluation.jobs import play_tasks
from cairn.core.config import nest
from cairn.core.episode_json import turn_from_json, turn_to_json
from cairn.core.records import Episode
from examples.doors import Doors
from tests.agents.backends.serving import Server, running
from tests.viewer.stored import png

ENV = "tests.agents.backends.test_pictures:Pictured"
LEFT_OUT = "(The picture of this turn is left out.)"


class Pictured(Doors):
    """The doors, with a picture that is another one at each turn."""

    def _info(self) -> dict[str, Any]:
        return super()._info() | {"image": png(width=2 + self.turn)}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


def played(server: Server, env: str = ENV, **context: Any) -> tuple[Episode, list[list[dict[str, Any]]]]:
    """Return an episode of three turns, and the conversations that its model was sent."""
    server.script([{"change": {"message": {"content": "wait"}}}])
    reported = nest({"sampling.openai": {"url": server.url, "attempts": 1}, "agent.context.messages": context})
    _, (episode,) = play_tasks("openai:m", env, tasks=["red-1"], settings=reported)
    return episode, [body["messages"] for body in server.bodies()]


def sent(conversation: list[dict[str, Any]]) -> list[bytes]:
    """Return the pictures in a conversation; each is the last part of a user's message, below its text."""
    found = []
    for message in conversation:
        if isinstance(message["content"], list):
            text, picture = message["content"]
            assert (message["role"], text["type"], picture["type"]) == ("user", "text", "image_url")
            mark, _, data = picture["image_url"]["url"].partition(",")
            assert mark == "data:image/png;base64"
            found.append(base64.b64decode(data, validate=True))
    return found


@pytest.mark.parametrize(("images", "most"), [({}, 1), ({"images": 2}, 2), ({"images": 9}, 3)])
def test_a_model_is_sent_the_environments_newest_pictures(server: Server, images: dict[str, Any], most: int) -> None:
    episode, conversations = played(server, **images)
    seen = [turn.observation.image for turn in episode.turns]
    assert (len(set(seen)), None in seen, episode.success) == (3, False, True)
    for number, conversation in enumerate(conversations, start=1):
        assert sent(conversation) == seen[:number][-most:]
        left_out = [message for message in conversation if message["content"][-len(LEFT_OUT) :] == LEFT_OUT]
        assert len(left_out) == max(0, number - most)


@pytest.mark.parametrize(
    ("memory", "shown"),
    [
        ({"memory": "window", "history": 1}, [1, 2, 2]),
        ({"memory": "markovian"}, [1, 1, 1]),
        ({"memory": "summary", "summary_turns": 2, "history": 0}, [1, 2, 0, 1]),  # the third asks for a summary
    ],
)
def test_turns_that_are_not_shown_show_no_picture(server: Server, memory: dict[str, Any], shown: list[int]) -> None:
    episode, conversations = played(server, images=9, **memory)
    assert [len(sent(conversation)) for conversation in conversations] == shown
    assert sent(conversations[-1])[-1] == episode.turns[-1].observation.image


def test_a_tool_is_followed_by_the_picture(server: Server) -> None:
    _, conversations = played(server, format="tool")
    assert [message["role"] for message in conversations[-1]][-3:] == ["assistant", "tool", "user"]
    assert [len(sent(conversation)) for conversation in conversations] == [1, 1, 1]


def test_without_pictures_requests_have_text_messages_only(server: Server) -> None:
    _, plain = played(server, env="examples.doors:Doors")
    _, none = played(server, images=0)
    assert none == plain
    assert all(isinstance(message["content"], str) for conversation in plain for message in conversation)


def test_a_turn_keeps_its_picture_once(server: Server) -> None:
    episode, _ = played(server, images=9)
    for turn in episode.turns:
        stored = turn_to_json(turn)
        assert turn_from_json(stored).observation == turn.observation
        assert str(stored).count(base64.b64encode(turn.observation.image or b"").decode()) == 1


def test_a_picture_counts_for_tokens_and_not_for_characters() -> None:
    """A thousand tokens each; the texts have 30 characters, three a token."""
    said = ChatCompletions(SamplingConfig(max_reply_tokens=12))

    def foreseen(*messages: Message) -> int:
        asked = Request(prompt_ids=(), extends=False, choices=None, rng=random.Random(0), messages=messages)
        return said.begin(0, asked)[1]

    text = Message("user", "x" * 15)
    assert foreseen(text, text) == 10 + 12
    for size in (10, 1_000_000):
        shown = Message("user", "x" * 15, image=bytes(size))
        assert foreseen(text, shown) == 10 + 1000 + 12
        assert foreseen(shown, shown) == 10 + 2000 + 12
