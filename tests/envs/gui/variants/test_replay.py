"""Replays show the recorded observations, and end or are patched where an action diverges; they need no browser."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.evaluation.record_gui import record
from cairn.core.errors import CairnError, MissingDataError
from cairn.core.records import Ending
from cairn.envs import registry
from cairn.envs.base import TextEnv
from cairn.envs.checker import check_property
from cairn.envs.gui.recording import Recording
from cairn.envs.gui.recording_file import read, write
from cairn.envs.gui.variants.replay import SHIPPED, ReplayEnv
from cairn.envs.properties.subject import Subject
from tests.envs.gui.recordings import EPISODE, MOVES, shown, written

pytestmark = pytest.mark.rotating(4)

CALLS = ("click('1')", "fill('2', 'Garden fence')", "send_msg_to_user('Done.')")
INSTEAD = "In place of this, the recorded action was taken: "
Step = tuple[str, float, bool, bool, dict[str, Any]]  # Any: the values that `TextEnv.step` returns


def begun(folder: Path, **config: Any) -> ReplayEnv:
    env = ReplayEnv(path=written(folder), **config)
    env.reset(seed=0)
    return env


def played(env: TextEnv, *actions: str) -> list[Step]:
    return [env.step(action) for action in actions]


# -- the same as in the browser ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def live() -> tuple[Recording, str]:
    """A recording made now, and its environment."""
    found, left_out = record("oracle", "gui/apps-mail", tasks=["mail-count/3", "mail-reply/3", "mail-label/3"])
    assert not left_out
    return found, "gui/apps-mail"


def frames(env: TextEnv, task: str, seed: int, actions: list[str]) -> list[tuple[Any, ...]]:
    text, info = env.reset(seed=seed, options={"task": task})
    found: list[tuple[Any, ...]] = [(text, 0.0, False, False, info)]
    found += [env.step(action) for action in actions]
    return found


def assert_same(live: TextEnv, replayed: TextEnv, recording: Recording, tasks: list[str]) -> None:
    """Replay the recorded episodes beside the live environment."""
    count = 0
    for episode in (each for each in recording.episodes if each.task_id in tasks):
        replayed.reset(options={"task": episode.task_id})
        actions = []
        for _ in episode.moves:
            actions.append(replayed.oracle())
            replayed.step(actions[-1])
        actions.insert(1, "what shall I do?")  # a mistake changes nothing, and gets the same error
        pairs = zip(*(frames(env, episode.task_id, episode.seed, actions) for env in (live, replayed)), strict=True)
        known = set[int]()
        for one, two in pairs:
            assert one[:4] == two[:4]
            for key in ("admissible_actions", "tools", "success"):
                assert one[4][key] == two[4][key]
            anchor = one[4]["anchor"]
            assert anchor == two[4]["anchor"] or anchor in known  # the recording has been there before
            count += anchor == two[4]["anchor"]
            known.add(anchor)
        assert one[4]["score"] == two[4]["score"] == 1.0
    assert count > 4 * len(tasks)


def test_a_replay_is_as_the_browser_was(live: tuple[Recording, str], tmp_path: Path) -> None:
    recording, env_id = live
    write(recording, tmp_path / "live.jsonl")
    replayed = ReplayEnv(path=str(tmp_path / "live.jsonl"), rewards="recorded")
    there = registry.make(env_id)
    assert_same(there, replayed, recording, list(replayed.tasks()))
    there.close()


def test_the_shipped_recording_still_matches_the_environment() -> None:
    recording = read(SHIPPED)
    there = registry.make(recording.env_id, **recording.settings)
    assert recording.env_version == there.meta.version, "record it again: docs/envs/gui.md"
    assert_same(there, ReplayEnv(rewards="recorded"), recording, ["mail-archive/0", "mail-send/50"])
    there.close()


def test_the_shipped_recording_is_small_and_solved() -> None:
    assert SHIPPED.stat().st_size < 100_000
    assert all(episode.success and episode.score == 1.0 for episode in read(SHIPPED).episodes)


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("playwright", "PIL"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
from cairn.core.errors import MissingExtraError
from cairn.envs.registry import make

env = make("gui/replay")
text, info = env.reset(seed=0)
over = False
while not over:
    text, reward, over, cut, info = env.step(env.oracle())
assert info["success"], text
assert not {"playwright", "PIL"} & set(sys.modules)
try:
    make("gui/apps-mail")
except MissingExtraError:
    print("no browser")
"""


def test_no_browser_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True)
    assert done.stdout == "no browser\n", done.stderr


# -- divergences -------------------------------------------------------------------------------------------------------


def test_following_the_recording_succeeds(tmp_path: Path) -> None:
    steps = played(begun(tmp_path), *CALLS)
    assert [step[0] for step in steps] == [shown(1).text, shown(2).text, "The task is over."]
    assert [step[1] for step in steps] == [1.0, 1.0, 1.0]  # .1 + .9
    assert [step[2] for step in steps] == [False, False, True]
    assert [step[4]["score"] for step in steps] == [1 / 3, 2 / 3, 1.0]
    assert [step[4]["success"] for step in steps] == [False, False, True]
    assert [step[4]["anchor"] for step in steps] == [1001, 1002, 1003]
    assert [step[4]["channels"]["step"] for step in steps] == [0.0, 1.0, 2.0]
    assert steps[-1][4]["admissible_actions"] == ()


@pytest.mark.parametrize(
    ("action", "reward", "parts"),
    [
        ("fill('2', 'Garden fence')", 1.0, (1, 1, 1, 1, 1)),  # .1 + .9
        ("fill('2', 'garden fence')", 0.55, (1, 1, 1, 0, 0)),  # .1 + .9 * .5
        ("fill('9', 'Garden fence')", 0.55, (1, 1, 0, 1, 0)),
        ("click('2')", 0.19, (1, 0, 0, 0, 0)),  # .1 + .9 * .1
        ("type it", 0.0, (0, 0, 0, 0, 0)),
        ("hover('2')", 0.0, (0, 0, 0, 0, 0)),  # no function of the recording
        ("fill('2', '" + "a" * 5000 + "')", 0.0, (0, 0, 0, 0, 0)),
    ],
)
def test_a_step_earns_the_share_of_its_correct_parts(
    action: str, reward: float, parts: tuple[int, ...], tmp_path: Path
) -> None:
    _, step = played(begun(tmp_path), CALLS[0], action)
    channels = step[4]["channels"]
    assert step[1] == pytest.approx(reward, abs=1e-12)
    assert tuple(channels[name] for name in ("format", "function", "element", "text", "match")) == parts
    assert channels["patched"] == (parts[0] and not parts[-1])
    assert channels["step"] == 1.0
    assert channels["format_reward"] + channels["action_reward"] == pytest.approx(reward, abs=1e-12)
    assert channels["format_reward"] == (0.1 if parts[0] else 0.0)


@pytest.mark.parametrize("rewards", ["steps", "recorded"])
def test_parts_are_of_the_rewards_that_are_given(rewards: str) -> None:
    report = check_property("channels", Subject("gui/replay", config={"rewards": rewards}))
    assert report.holds, report.detail
    parts = ("recorded_reward",) if rewards == "recorded" else ("format_reward", "action_reward")
    assert registry.declared("gui/replay", {"rewards": rewards}).parts == parts


def test_a_divergence_is_patched_and_reported(tmp_path: Path) -> None:
    steps = played(begun(tmp_path, patches=1), "click('2')", *CALLS[1:])
    assert steps[0][0] == f"{INSTEAD}{CALLS[0]}\n{shown(1).text}"
    assert [step[4]["channels"]["patched"] for step in steps] == [1.0, 0.0, 0.0]
    assert [step[2] for step in steps] == [False, False, True]
    assert steps[-1][4]["score"] == pytest.approx(2 / 3)
    assert not steps[-1][4]["success"]
    assert not {1001, 1002, 1003} & {step[4]["anchor"] for step in steps}


@pytest.mark.parametrize(("patches", "turns"), [(0, 1), (1, 2), (2, 3), (3, 3), (-1, 3)])
def test_an_episode_is_over_when_the_patches_are_used_up(patches: int, turns: int, tmp_path: Path) -> None:
    env = begun(tmp_path, patches=patches)
    count, terminated = 0, False
    while not terminated:
        text, _, terminated, truncated, info = env.step("noop()")
        count += 1
    assert (count, truncated, info["success"], info["score"]) == (turns, False, False, 0.0)
    is_lost = patches in (0, 1, 2)
    assert text == ("The episode is over: the recording goes on otherwise." if is_lost else
                    f"{INSTEAD}{CALLS[2]}\nThe task is over.")  # fmt: skip
    assert info["channels"]["patched"] == (not is_lost)
    assert info["admissible_actions"] == ()


def test_two_patches_are_the_default(tmp_path: Path) -> None:
    assert [step[2] for step in played(begun(tmp_path), *["noop()"] * 3)] == [False, False, True]


def test_mistakes_return_the_errors_of_the_browser_and_change_nothing(tmp_path: Path) -> None:
    env = begun(tmp_path, patches=0)
    first, _, second = played(env, "?", CALLS[0], "")
    said = "Expected one call such as click('417'), got "
    assert first[0] == f'Error: {said}\'?\'.\nPage "Mail 0" at "http://mail/0"\n[1] button "Search"'
    assert second[0] == f'Error: {said}\'\'.\nPage "Mail 1" at "http://mail/1"\n[1] button "Search"'
    assert (first[4]["anchor"], second[4]["anchor"]) == (1000, 1001)
    assert played(env, *CALLS[1:])[-1][4]["success"]


def test_texts_may_be_matched_tolerantly(tmp_path: Path) -> None:
    assert played(begun(tmp_path, match="tolerant", patches=0), CALLS[0], "fill('2', 'garden  FENCE')")[1][1] == 1.0


def test_recorded_rewards_are_earned_until_something_is_patched(tmp_path: Path) -> None:
    env = begun(tmp_path, rewards="recorded")
    assert [step[1] for step in played(env, *CALLS)] == [0.0, 0.0, 1.0]
    env.reset(seed=0)
    assert [step[1] for step in played(env, "noop()", *CALLS[1:])] == [0.0, 0.0, 0.0]
    env.reset(seed=0)
    assert [step[1] for step in played(env, *CALLS[:2], "send_msg_to_user('?')")] == [0.0, 0.0, 0.0]


# -- anchors, tasks and pictures ---------------------------------------------------------------------------------------


def test_anchors_depend_on_the_number_of_patches_and_not_on_their_place(tmp_path: Path) -> None:
    env = begun(tmp_path, patches=-1)
    early = played(env, "noop()", CALLS[1])[-1][4]["anchor"]
    env.reset(seed=0)
    late = played(env, CALLS[0], "noop()")[-1][4]["anchor"]
    env.reset(seed=0)
    twice = played(env, "noop()", "noop()")[-1][4]["anchor"]
    assert early == late
    assert len({early, twice, 1002}) == 3


def test_a_state_that_a_recording_visits_twice_has_two_anchors(tmp_path: Path) -> None:
    again = replace(MOVES[1], shown=replace(MOVES[1].shown, anchor=1000))
    env = ReplayEnv(path=written(tmp_path, moves=(MOVES[0], again, MOVES[2])))
    _, info = env.reset(seed=0)
    anchors = [info["anchor"], *(step[4]["anchor"] for step in played(env, *CALLS))]
    assert (anchors[0], anchors[2], anchors[3]) == (1000, 1002, 1003)
    assert len(set(anchors)) == 4


def test_episodes_of_one_task_are_tasks_of_their_own(tmp_path: Path) -> None:
    env = ReplayEnv(path=written(tmp_path, EPISODE, replace(EPISODE, moves=MOVES[:2]), EPISODE))
    assert env.tasks() == ("mail/0", "mail/0#2", "mail/0#3")
    assert env.task_type("mail/0#2") == "simple"
    anchors = {env.reset(options={"task": task})[1]["anchor"] for task in env.tasks()}
    assert len(anchors) == 3


def test_a_recording_that_was_cut_ends_where_it_ends(tmp_path: Path) -> None:
    path = written(tmp_path, moves=MOVES[:2], ending=Ending.truncated("turns"), success=False, score=0.0)
    env = ReplayEnv(path=path)
    env.reset(seed=0)
    *_, (_, _, terminated, truncated, info) = played(env, *CALLS[:2])
    assert (terminated, truncated, info["success"]) == (True, False, True)


def test_pictures_are_shown_where_they_were_recorded(tmp_path: Path) -> None:
    pictured = replace(MOVES[0], shown=replace(MOVES[0].shown, image=b"\x89PNG"))
    env = ReplayEnv(path=written(tmp_path, moves=(pictured, *MOVES[1:])))
    assert env.reset(seed=0)[1]["image"] == b"\x89PNG"
    assert "image" not in env.step(CALLS[0])[4]


def test_a_snapshot_goes_back(tmp_path: Path) -> None:
    env = begun(tmp_path)
    env.step("noop()")
    saved = env.snapshot()
    onward = played(env, *CALLS[1:])
    other = ReplayEnv(path=env.config.path)
    other.reset(seed=0)
    for each in (env, other):
        each.restore(saved)
        assert played(each, *CALLS[1:]) == onward


def test_a_recording_longer_than_the_turns_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, moves=MOVES * 34)  # 102 of 100
    with pytest.raises(CairnError, match="102 turns; set turn_limit"):
        ReplayEnv(path=path)
    assert ReplayEnv(path=path, turn_limit=102).turn_limit == 102


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    file = Path(written(tmp_path))
    assert ReplayEnv(path=str(file)).tasks() == ("mail/0",)
    file.unlink()
    written(tmp_path, task_id="another")
    assert ReplayEnv(path=str(file)).tasks() == ("another",)


def test_a_missing_recording_is_missing_data(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="cairn envs record"):
        ReplayEnv(path=str(tmp_path / "none.jsonl"))
