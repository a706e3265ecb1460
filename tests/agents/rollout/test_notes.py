"""Notes of an active episode: given to its context, stored with the turn after them, and given again on a replay."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.agents.backend import Reply, text_reply
from cairn.agents.context.messages import Messages, MessagesConfig
from cairn.agents.rollout.episode import Answer, EpisodeRunner, Job, PolicyInterface
from cairn.core.episode_json import turn_from_json, turn_to_json
from cairn.core.records import Ending, Note, Observation, Task


def runner() -> EpisodeRunner:
    config = MessagesConfig(memory="summary", summary_turns=1, history=0)
    job = Job(task=Task(env_id="x", task_id="t"), group_id=0, sample_seed=0)
    found = EpisodeRunner.of(
        job, PolicyInterface(new_context=lambda: Messages(config), decode=lambda _: "", constrain=True)
    )
    found.build_prompt(Observation(text="text 0", anchor=0))
    return found


def answer(number: int) -> Answer:
    info: dict[str, Any] = {"anchor": number, "admissible_actions": None, "score": 0.0, "success": False}
    return f"text {number}", 0.0, False, False, info


def says(text: str) -> Reply:
    return text_reply(text, "end", 0)


def test_a_summary_is_stored_with_the_next_turn_and_is_not_a_turn_itself() -> None:
    of = runner()
    assert not of.takes_note(says("a"))
    assert of.on_reply(says("a")) == "a"
    of.on_step(answer(1), 0.0)
    assert of.prompt.asks == "summary"
    assert of.takes_note(says("so far"))
    assert (of.prompt.asks, len(of.turns)) == ("action", 1)
    assert "so far" in of.prompt.messages[0].content
    of.on_reply(says("b"))
    of.on_step(answer(2), 0.0)
    assert [turn.notes for turn in of.turns] == [(), (Note(kind="summary", text="so far"),)]


def test_a_summary_beyond_the_context_ends_the_episode() -> None:
    of = runner()
    of.on_reply(says("a"))
    of.on_step(answer(1), 0.0)
    assert not of.takes_note(text_reply("", "context", 0))
    assert of.on_reply(text_reply("", "context", 0)) == Ending.truncated("tokens")


def test_a_resumed_episode_has_its_summaries() -> None:
    first = runner()
    first.on_reply(says("a"))
    first.on_step(answer(1), 0.0)
    first.takes_note(says("so far"))
    first.on_reply(says("b"))
    first.on_step(answer(2), 0.0)
    again = runner()
    for number, turn in enumerate(first.turns, start=1):
        kept = turn_from_json(turn_to_json(turn))
        assert kept.notes == turn.notes
        with pytest.MonkeyPatch.context() as patch:  # only sequences of ids have a length
            patch.setattr(EpisodeRunner, "_sequence", lambda _: ())
            again.replay_turn(kept, answer(number))
    assert again.prompt == first.prompt
    assert [turn.notes for turn in again.turns] == [turn.notes for turn in first.turns]


def test_an_old_turn_without_notes_is_loaded_with_none() -> None:
    of = runner()
    of.on_reply(says("a"))
    of.on_step(answer(1), 0.0)
    stored = turn_to_json(of.turns[0])
    del stored["notes"]
    assert turn_from_json(stored).notes == ()
