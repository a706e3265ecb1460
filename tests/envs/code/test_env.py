"""The code environment: tools and their output, endings, anchors, and every kind of task solved by its reference."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

from cairn.agents.rollout.play import play as play_episode
from cairn.core.errors import ConfigError, MissingDataError, SandboxFailure, UnknownNameError
from cairn.core.records import TAMPERING, Ending, Task
from cairn.core.table import StepTable
from cairn.envs.base import TextEnv
from cairn.envs.checker import check_property
from cairn.envs.code import env as code_env
from cairn.envs.code import tasks
from cairn.envs.code.actions import TOOLS
from cairn.envs.code.data import rows
from cairn.envs.code.env import CodeEnv
from cairn.envs.code.judge import Judge
from cairn.envs.properties.subject import Subject
from cairn.envs.registry import declared, make
from cairn.trainer.credit import advantages
from tests.interrupts import interrupted_when
from tests.sampling import sampled_params

pytestmark = [pytest.mark.rotating(3), pytest.mark.xdist_group("code")]
TASK = "repair/bank-3"
SAMPLE = {
    "mbpp_plus": 3,
    "quixbugs": 3,
    "repair": 3,
    "classeval": 4,
}  # tasks of a kind that are tried here; benchmarks try all
STUB = {"repair", "quixbugs", "humaneval", "classeval"}  # kinds whose work folder begins with something to submit


@pytest.fixture(scope="module")
def shared() -> Iterator[CodeEnv]:
    env = make("code", kind="repair")
    assert isinstance(env, CodeEnv)
    yield env
    env.close()


@pytest.fixture
def env(shared: CodeEnv) -> CodeEnv:
    shared.reset(seed=0, options={"task": TASK})
    return shared


def said(env: TextEnv, action: str) -> str:
    text, _, terminated, truncated, _ = env.step(action)
    assert not terminated
    assert not truncated
    return text


def test_each_tool_returns_its_output(env: CodeEnv) -> None:
    files = said(env, "list_files")
    assert "README.md  " in files
    assert "visible_tests.py  " in files
    assert said(env, "run_python\nx = 6\nx * 7") == "42\n"
    assert said(env, "run_python\nprint(x)\n1 / 0").startswith(
        '6\nTraceback (most recent call last):\n  File "<cell 2>"'
    )
    assert said(env, "shell echo out; echo err >&2; exit 3") == "out\nerr\n[exit status 3]"
    assert said(env, "shell kill -SEGV $$") == "[ended by signal 11]"
    assert said(env, "write_file notes/a.txt\none\ntwo\nthree") == "wrote notes/a.txt, 3 lines"
    assert said(env, "read_file notes/a.txt 2 3") == "two\nthree\n"
    assert said(env, "edit_file notes/a.txt\n<<<<<<<\ntwo\n=======\n2\n>>>>>>>") == "edited notes/a.txt"
    assert said(env, "shell cat notes/a.txt") == "one\n2\nthree"
    assert said(env, "edit_file notes/a.txt\n<<<<<<<\ne\n=======\n2\n>>>>>>>") == (
        "notes/a.txt: the text to replace occurs 3 times; it must occur exactly once"
    )
    assert said(env, "read_file ../etc/passwd").startswith("'../etc/passwd': expected a path below the work folder")
    assert said(env, "read_file nothing") == "nothing: No such file or directory"
    tests = said(env, "run_tests")
    assert "passed" in tests
    assert said(env, "fly") == f"Unknown tool 'fly'. Tools: {', '.join(TOOLS)}."


def test_the_middle_of_a_long_output_is_replaced_by_a_note(env: CodeEnv) -> None:
    text = said(env, "run_python\nprint('a' * 3000 + 'b' * 3000)")
    assert text == "a" * 2000 + "\n[... 2001 characters left out ...]\n" + "b" * 1999 + "\n"


def test_reached_limits_are_reported(shared: CodeEnv) -> None:
    env = make("code", kind="repair", limits={"wall_s": 1})
    env.reset(seed=0, options={"task": TASK})
    text = said(env, "run_python\nkept = 1\nwhile True: pass")
    assert text.endswith("KeyboardInterrupt\n[limit reached: wall]")
    assert said(env, "run_python\nkept") == "1\n"  # the variable is kept
    assert said(env, "shell sleep 9") == "[limit reached: wall]"
    env.close()


def test_submitting_scores_the_share_of_passed_tests_and_the_reference_scores_1(env: CodeEnv) -> None:
    text, reward, terminated, truncated, info = env.step("submit")
    assert (terminated, truncated, info["success"]) == (True, False, False)
    passed, total = [int(word) for word in text.split() if word.isdigit()]
    assert 0 < passed < total
    assert reward == info["score"] == passed / total
    assert play(env, TASK)["success"]


def test_the_last_turn_reports_which_hidden_tests_passed(env: CodeEnv) -> None:
    assert env.step("list_files")[4]["channels"] == {"submission": 0.0}
    _, score, *_, info = env.step("submit")
    channels = info["channels"]
    assert channels.pop("submission") == score
    assert list(channels) == [f"test/{i}" for i in range(len(channels))]
    assert set(channels.values()) == {0.0, 1.0}
    assert sum(channels.values()) / len(channels) == score
    env.reset(seed=0, options={"task": TASK})
    env.step("shell rm -r bank")
    assert set(env.step("submit")[4]["channels"].values()) == {0.0}


def test_hidden_tests_may_run_after_every_turn_and_are_not_shown() -> None:
    env = make("code", kind="repair", tests="turns")
    env.reset(seed=0, options={"task": TASK})
    text, reward, *_, begun = env.step("list_files")
    assert "hidden" not in text
    assert (reward, begun["score"]) == (0.0, 0.0)
    assert env.step("shell rm -r bank")[4]["channels"] != begun["channels"]
    env.reset(seed=0, options={"task": TASK})
    _, score, *_, info = env.step("submit")
    assert info["channels"] == {**begun["channels"], "submission": score}
    env.close()


@pytest.mark.parametrize(
    ("kind", "tests", "channels"),
    [
        ("repair", "end", ("test/*", "tampering/*")),
        ("repair", "turns", ("test/*", "tampering/*")),
        ("tools", "end", ()),
    ],
)
def test_declared_parts_and_channels_are_those_of_the_turns(kind: str, tests: str, channels: tuple[str, ...]) -> None:
    config = {"kind": kind, "tests": tests}
    meta = declared("code", config)
    assert (meta.parts, meta.channels) == (("submission",), channels)
    report = check_property("channels", Subject("code", config={**config, "turn_limit": 4}, share=1 / 16))
    assert report.holds, report.detail


def test_the_sandbox_has_the_settings_that_are_given() -> None:
    env = make("code", kind="repair", sandbox="bubblewrap", sandbox_settings={"network": ["127.0.0.1:9"]})
    env.reset(seed=0, options={"task": TASK})
    assert said(env, "shell echo $http_proxy") == "http://127.0.0.1:3128"
    assert env.step("submit")[4]["channels"]
    env.close()
    with pytest.raises(ConfigError, match="takes no `network`"):
        make("code", sandbox="process", sandbox_settings={"network": ["127.0.0.1:9"]}).reset()


def test_all_or_nothing() -> None:
    env = make("code", kind="repair", score="all")
    env.reset(seed=0, options={"task": TASK})
    assert env.step("submit")[1] == 0.0
    assert play(env, TASK)["score"] == 1.0
    env.close()


def test_the_last_turn_submits_the_current_files() -> None:
    env = make("code", kind="repair", turn_limit=2)
    _, info = env.reset(seed=0, options={"task": TASK})
    env.step("list_files")
    text, reward, terminated, truncated, info = env.step("list_files")
    assert (terminated, truncated, info["success"]) == (True, False, False)
    assert text.endswith("[No turn is left: the folder was submitted as it is.]")
    assert 0 < reward == info["score"] < 1
    env.close()


def test_solving_the_task_in_the_last_turn_is_a_success() -> None:
    env = make("code", kind="repair", turn_limit=1)
    _, info = env.reset(seed=0, options={"task": TASK})
    _, reward, terminated, truncated, info = env.step(env.oracle())
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    env.close()


def test_an_episode_that_is_judged_at_the_turn_limit_gets_no_bootstrapped_future() -> None:
    env = make("code", kind="repair", turn_limit=2)
    task = Task(env_id="code", task_id=TASK, split="train", seed=0)
    episodes = [play_episode(env, task, choose) for choose in (lambda _: "list_files", lambda _: env.oracle())]
    env.close()
    assert [episode.ending for episode in episodes] == [Ending.terminated()] * 2
    table = StepTable.from_episodes(episodes)
    assert not table.truncated.any()
    assert table.knows_next.all()
    by_open, by_failure = (advantages(table, "graphgpo", timeout=timeout) for timeout in ("open", "failure"))
    np.testing.assert_array_equal(by_open, by_failure)
    value = np.full(len(table), 0.5)
    ends = [replace(table, value=value, final_value=np.full(len(table), end)) for end in (0.0, 9.0)]
    without, with_future = (advantages(each, "gae", lam=0.5) for each in ends)
    np.testing.assert_array_equal(without, with_future)


def test_turns_are_added_where_something_changed() -> None:
    env = make("code", kind="repair", turn_limit=2, horizon={"control": "dynamic", "extension": 1})
    for action, turns in (("list_files", 2), ("write_file a\nx", 3)):
        env.reset(seed=0, options={"task": TASK})
        for turn in range(1, turns + 1):
            _, _, terminated, truncated, _ = env.step(
                action.replace("a", str(turn)) if action != "list_files" else action
            )
            assert (terminated, truncated) == (turn == turns, False)
    env.close()


def test_an_edited_test_and_a_changed_readme_are_put_back(env: CodeEnv) -> None:
    env.step("write_file visible_tests.py\ndef test_nothing():\n    pass")
    text, reward, *_ = env.step("submit")
    env.reset(seed=0, options={"task": TASK})
    assert env.step("submit")[:2] == (text, reward)


def test_anchors_depend_on_the_folder_the_interpreter_and_the_shown_text(env: CodeEnv) -> None:
    def anchor(*actions: str) -> int:
        env.reset(seed=0, options={"task": TASK})
        return int([env.step(action)[4]["anchor"] for action in actions][-1])

    assert anchor("write_file a\nx", "list_files") == anchor("shell printf 'x\\n' > a", "list_files")
    assert anchor("write_file a\nx", "list_files") != anchor("write_file a\ny", "list_files")
    assert anchor("run_python\nx = 1", "list_files") != anchor("run_python\nx = 2", "list_files")
    assert anchor("shell echo 1 > /tmp/a", "list_files") != anchor("shell echo 2 > /tmp/a", "list_files")
    assert anchor("shell true", "shell true") == anchor("list_files", "shell true")


def test_a_sandbox_that_dies_fails_the_episode_and_the_next_one_has_another(env: CodeEnv) -> None:
    assert env._sessions.session is not None
    env._sessions.session._place.close()
    with pytest.raises(SandboxFailure, match="is gone"):
        env.step("list_files")
    assert play(env, TASK)["success"]


HOSTILE = {
    "an unreadable work folder": "run_python\nimport os; os.chmod('.', 0)",
    "an unreadable temporary folder": "run_python\nimport os; os.chmod('/tmp', 0)",
    "a supervisor without descriptors": "run_python\nimport resource, os\n"
    "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))",
    "threads that stay": "run_python\nimport threading, time\n"
    "for _ in range(80): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
    "bytes that are not UTF-8 on descriptor 3": "run_python\nimport os; os.write(3, b'\\xff\\xfe')",
    "a long number on descriptor 3": "run_python\nimport os; os.write(3, b'9' * 5000 + b'\\n')",
    "a line number of 5,000 digits": f"read_file README.md {'9' * 4000}",
    "a JSON number of 5,000 digits": '{"name": "read_file", "arguments": {"path": "a", "first": ' + "9" * 3900 + "}}",
    "a lone surrogate as a path": '{"name": "write_file", "arguments": {"path": "\\ud800", "content": "x"}}',
    "a lone surrogate as content": '{"name": "write_file", "arguments": {"path": "a", "content": "\\ud800"}}',
    "a lone surrogate as code": '{"name": "run_python", "arguments": {"code": "\\ud800"}}',
    "a lone surrogate as an answer": '{"name": "submit", "arguments": {"answer": "\\ud800"}}',
    "a lone surrogate in plain text": "write_file a\n\ud800",
}


@pytest.mark.parametrize("name", sampled_params(HOSTILE, parts=3))
def test_no_action_raises_out_of_the_environment_and_the_next_episode_is_whole(env: CodeEnv, name: str) -> None:
    for each in (HOSTILE[name], "run_python\n1", "shell ls", "list_files", "run_tests", HOSTILE[name]):
        text, reward, terminated, *_ = env.step(each)
        assert isinstance(text, str)
        assert (reward, terminated) == (0.0, False)
    env.step("submit")
    assert play(env, TASK)["success"]


def test_environments_in_several_threads_keep_apart() -> None:
    def work(number: int) -> list[str]:
        env = make("code", kind="repair")
        env.reset(seed=0, options={"task": f"repair/bank-{number}"})
        actions = [f"run_python\nkept = {number}", "shell sleep 0.2", "run_python\nkept", "submit"]
        texts = [env.step(action)[0] for action in actions]
        env.close()
        return texts[2:]

    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(work, range(3, 6)))
    assert together == [work(number) for number in range(3, 6)]
    assert [text for text, _ in together] == ["3\n", "4\n", "5\n"]


def test_nothing_of_an_episode_is_left_for_the_next(env: CodeEnv) -> None:
    for action in ("run_python\nx = 1", "shell echo x > /tmp/left; (sleep 60 &)", "write_file left\nx"):
        env.step(action)
    env.reset(seed=0, options={"task": TASK})
    assert said(env, "shell set -- /proc/[0-9]*; echo $#") == "2"  # the supervisor and the shell
    assert "left" not in said(env, "shell ls /tmp .")
    assert "NameError" in said(env, "run_python\nx")


def play(env: TextEnv, task: str) -> dict[str, Any]:  # Any: info of `step`
    env.reset(seed=0, options={"task": task})
    while True:
        _, _, terminated, truncated, info = env.step(env.oracle())
        if terminated or truncated:
            return info


@pytest.fixture
def _short_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut calls of submissions after one second: some stubs never return."""
    monkeypatch.setattr(code_env, "Judge", partial(Judge, call_timeout_s=1.0))
    monkeypatch.setattr(code_env, "_judge", code_env._judge.__wrapped__)


@pytest.mark.usefixtures("_short_calls")
@pytest.mark.parametrize("kind", sampled_params(tasks.names(), parts=3))
def test_the_reference_solves_and_nothing_and_the_stub_do_not(kind: str) -> None:
    env = make("code", kind=kind)
    try:
        ids = list(env.tasks())
    except MissingDataError as error:
        pytest.skip(str(error))
    count = min(SAMPLE.get(kind, 8), len(ids))
    for task in [ids[i * len(ids) // count] for i in range(count)]:
        info = play(env, task)
        assert info["success"], task
        env.reset(seed=0, options={"task": task})
        _, score, _, _, info = env.step("submit")
        assert not info["success"], task
        assert score == 0 or kind in STUB, task
    env.close()


def test_unknown_kinds_unknown_tasks_and_missing_files_raise_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'repair'"):
        make("code", kind="repairs")
    env = make("code", kind="repair")
    with pytest.raises(UnknownNameError, match="Unknown task of code 'repair/bank'"):
        env.reset(options={"task": "repair/bank"})
    monkeypatch.setenv("CAIRN_DATA", "/no/such/folder")
    with pytest.raises(MissingDataError, match="Set CAIRN_DATA to the folder that holds other"):
        rows("other.jsonl")


def test_a_test_that_was_changed_is_a_sign_of_tampering(env: CodeEnv) -> None:
    said(env, "write_file visible_tests.py\ndef test(): pass\n")
    channels = env.step("submit")[-1]["channels"]
    assert {name: value for name, value in channels.items() if name.startswith(TAMPERING)} == {
        f"{TAMPERING}given_files": 1.0
    }
    assert "test/0" in channels


@pytest.mark.rotating(5)
def test_honest_work_shows_no_sign_of_tampering(env: CodeEnv) -> None:
    said(env, "write_file notes.txt\nnothing\n")
    assert not [name for name in env.step("submit")[-1]["channels"] if name.startswith(TAMPERING)]


def test_after_an_interrupted_step_a_reset_starts_a_whole_episode() -> None:
    with contextlib.closing(make("code", kind="repair")) as env:
        assert isinstance(env, CodeEnv)
        task = env.tasks()[0]
        first, _ = env.reset(seed=0, options={"task": task})
        session = env._sessions.session
        assert session is not None
        with interrupted_when(lambda: session._is_asking):
            env.step("run_python\nimport time\ntime.sleep(5)")
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step("list_files")
        assert env.reset(seed=0, options={"task": task})[0] == first
        assert "Traceback" not in env.step("list_files")[0]
    with contextlib.closing(make("code", kind="repair")) as other:
        assert other.reset(seed=0, options={"task": task})[0] == first
