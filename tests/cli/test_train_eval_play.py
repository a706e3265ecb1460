"""The commands that train, evaluate and play: their output for people and programs, and their errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cairn.cli.main import app
from tests.agents.tiny import shared

pytestmark = pytest.mark.rotating(3)

ENV = "examples.doors:Doors"
CONFIG = f"""
name = "doors"
[env]
id = "{ENV}"
[model]
preset = "qwen3-nano"
vocab_size = 400
[sampling]
slots = 8
max_context = 256
[trainer]
updates = 2
groups = 2
group_size = 4
threads = 1
[eval]
tasks = 6
"""
run = CliRunner()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep files that commands write out of the repository."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "doors.toml"
    file.write_text(CONFIG)
    return file


def answer(*arguments: str) -> Any:
    done = run.invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refusal(*arguments: str) -> str:
    done = run.invoke(app, list(arguments))
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("cairn: ")
    assert "Traceback" not in done.output
    return done.stderr


def test_a_run_from_start_to_report_and_on(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    found = answer("train", str(config), "--folder", str(folder), "--json")
    assert found["folder"] == str(folder)
    assert sorted(found["reports"]) == ["0", "2"]
    assert found["reports"]["2"]["success"]["episodes"] == 6
    assert Path(found["curves"]).read_bytes().startswith(b"\x89PNG")
    assert Path(found["checkpoint"]).name == "update-000002"

    again = answer("train", "--resume", str(folder), "--json")
    assert again["reports"] == found["reports"]
    longer = answer("train", "--resume", str(folder), "--set", "trainer.updates=3", "--json")
    assert sorted(longer["reports"]) == ["0", "2", "3"]

    report = answer("eval", ENV, "--agent", str(folder), "--tasks", "5", "--json")
    assert report["parts"][0]["episodes"] == 5
    assert report["training_tasks"] == [5]
    unseen = answer("eval", ENV, "--agent", str(folder), "--held-out", "--tasks", "50", "--json")
    assert unseen["parts"][0]["tasks"] == 6  # those that the run held out
    assert unseen["training_tasks"] == [0]
    shown = run.invoke(app, ["eval", ENV, "--agent", str(folder), "--tasks", "5"])
    assert "TRAINING TASKS: the agent was trained on 5 of these 5 tasks" in shown.output
    assert "is not a run" in refusal("eval", ENV, "--agent", str(tmp_path), "--held-out")
    shown = run.invoke(app, ["play", ENV, "--agent", str(folder), "--task", "red-1"])
    assert shown.exit_code == 0
    assert shown.output.startswith("A note says: red.")


def test_a_person_sees_updates_and_a_summary(config: Path, tmp_path: Path) -> None:
    done = run.invoke(app, ["train", str(config), "--folder", str(tmp_path / "run"), "--set", "trainer.updates=1"])
    assert done.exit_code == 0, done.output
    for text in (
        "update 1/1: success",
        "success on held-out tasks",
        "Success on 6 held-out tasks",
        "cairn play",
        "cairn eval",
    ):
        assert text in done.output


def test_settings_of_the_command_line_override_the_file(config: Path) -> None:
    assert "trainer.group_size must be at least 2" in refusal("train", str(config), "--set", "trainer.group_size=1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Say what to train"),
        (("quikstart",), "Did you mean 'quickstart'"),
        (("nowhere.toml",), "No configuration file 'nowhere.toml'"),
        (("quickstart", "--set", "trainer.updatse=1"), "did you mean 'updates'"),
        (("quickstart", "--set", "seed"), "Expected KEY=VALUE"),
        (("--resume", "nowhere"), "No run at 'nowhere'"),
        (("quickstart", "--resume", "nowhere"), "Say what to train"),
    ],
)
def test_invalid_training_arguments_are_rejected(arguments: tuple[str, ...], message: str) -> None:
    assert message in refusal("train", *arguments).replace("\n", " ")


def test_a_run_that_stored_nothing_cannot_be_resumed(tmp_path: Path) -> None:
    from cairn.core.store import RunStore

    RunStore(tmp_path / "run.sqlite").close()
    assert "start it again" in refusal("train", "--resume", str(tmp_path))


def test_an_evaluation_for_programs() -> None:
    found = answer("eval", ENV, "--tasks", "7", "--seed", "4", "--set", "turn_limit=3", "--json")
    (part,) = found["parts"]
    assert (found["agent"], part["env"], part["tasks"], part["episodes"]) == ("oracle", ENV, 7, 7)
    assert part["success"]["mean"] == 1.0
    assert 0.6 < part["success"]["low"] < part["success"]["high"] == 1.0
    assert found["played"] == 7
    again = answer("eval", ENV, "--tasks", "7", "--seed", "4", "--set", "turn_limit=3", "--json")
    assert again == found | {"played": 0}
    assert answer("eval", ENV, "--tasks", "7", "--seed", "5", "--set", "turn_limit=3", "--json")["played"] == 7


def test_an_evaluation_for_people() -> None:
    done = run.invoke(app, ["eval", ENV, "--tasks", "4", "--agent", "constant:wait"])
    assert done.exit_code == 0
    assert "0.0 % [0.0, 49.0]" in done.output
    assert "turns 6" in done.output
    assert "4 episodes played now" in done.output
    again = run.invoke(app, ["eval", ENV, "--tasks", "4", "--agent", "constant:wait"])
    assert "nothing was left to play" in again.output


def test_a_panel_is_made_shown_and_played(tmp_path: Path) -> None:
    file = str(tmp_path / "doors.toml")
    made = answer("panels", "make", file, "--env", ENV, "--tasks", "5", "--attempts", "2", "--json")
    assert made["tasks"] == 5
    (shown,) = answer("panels", "list", file, "--json")
    assert shown["hash"] == made["hash"]
    found = answer("eval", "--panel", file, "--agent", "constant:wait", "--json")
    assert (found["panel"], found["hash"]) == ("doors", made["hash"])
    (part,) = found["parts"]
    assert (part["tasks"], part["episodes"], part["success"]["mean"]) == (5, 10, 0.0)
    reported = run.invoke(app, ["eval", "--panel", file])
    assert reported.exit_code == 0
    assert "100.0 %" in reported.output
    assert made["hash"][:12] in reported.output
    for arguments, message in (
        (["panels", "make", file, "--env", ENV], "name of a new .toml file"),
        (["eval", "--panel", file, "--set", "turn_limit=3"], "--set cannot be combined with --panel"),
        (
            ["eval", "--panel", file, "--tasks", "3", "--seed", "0"],
            "--tasks and --seed cannot be combined with --panel",
        ),
        (["eval", "--panel", "nothing"], "panel"),
    ):
        refused = run.invoke(app, arguments)
        assert refused.exit_code == 2
        assert message in refused.output


def test_tasks_of_a_panel_are_attempted_more_often() -> None:
    made = answer("panels", "make", "doors.toml", "--env", ENV, "--tasks", "3", "--json")
    asked = ("eval", "--panel", "doors.toml", "--no-gates", "--json")
    found = answer(*asked, "--attempts", "3")
    assert (found["panel"], found["parts"][0]["episodes"]) == ("doors.x3", 9)
    assert list(found["parts"][0]["pass_at"]) == ["1", "2", "3"]
    assert answer(*asked, "--attempts", "1")["hash"] == answer(*asked)["hash"] == made["hash"] != found["hash"]


def test_a_panel_that_doing_nothing_wins_is_marked_and_fails_strictly() -> None:
    answer(
        "panels",
        "make",
        "easy.toml",
        "--env",
        "tests.agents.evaluation.test_sanity_checks:WonBySubmitting",
        "--tasks",
        "3",
        "--json",
    )
    answer("panels", "make", "doors.toml", "--env", ENV, "--tasks", "3", "--json")
    reported = run.invoke(app, ["eval", "--panel", "easy.toml"])
    assert reported.exit_code == 0, reported.output
    assert (
        "THESE NUMBERS SAY LITTLE: the agent 'null:quit', which should win nothing, solved 3 of 3 tasks"
        in reported.output
    )
    assert run.invoke(app, ["eval", "--panel", "easy.toml", "--strict"]).exit_code == 1
    assert run.invoke(app, ["eval", "--panel", "doors.toml", "--strict"]).exit_code == 0
    (verdict,) = answer("eval", "--panel", "doors.toml", "--json")["gates"]
    assert {each["agent"]: each["success"]["successes"] for each in verdict["probes"] if each["agent"] != "random"} == {
        "null": 0, "null:quit": 0, "injection": 0,
    }  # fmt: skip
    assert answer("eval", "--panel", "doors.toml", "--no-gates", "--json")["gates"] == [verdict]  # kept, not run again
    untried = ("eval", "--panel", "doors.toml", "--agent", "random", "--no-gates")
    assert "gates not run" in run.invoke(app, untried).output
    assert answer(*untried, "--json")["gates"] is None


def test_a_comparison_shows_the_results_of_the_sanity_checks() -> None:
    answer(
        "panels",
        "make",
        "easy.toml",
        "--env",
        "tests.agents.evaluation.test_sanity_checks:WonBySubmitting",
        "--tasks",
        "3",
        "--json",
    )
    gated = answer("eval", "--panel", "easy.toml", "--json")["folder"]
    untried = answer("eval", "--panel", "easy.toml", "--agent", "random", "--no-gates", "--json")["folder"]
    reported = run.invoke(app, ["compare", gated, untried]).output
    assert (
        "A, tests.agents.evaluation.test_sanity_checks:WonBySubmitting: DOES NOT HOLD: the agent 'null:quit'"
        in reported
    )
    assert "B, tests.agents.evaluation.test_sanity_checks:WonBySubmitting: gates not run" in reported
    (found,) = answer("compare", gated, untried, "--json")
    assert [line[:1] for line in found["gates"]] == ["A", "B"]


def test_an_evaluation_without_a_score_exits_with_status_1() -> None:
    doomed = ("eval", "tests.trainer.doomed:Doomed", "--tasks", "2", "--set", "doom=abcdefghijklmnopqrstuvwxyz")
    done = run.invoke(app, [*doomed, "--agent", "random"])
    assert done.exit_code == 1
    assert "no episode of tests.trainer.doomed:Doomed could be scored; the first failed by" in done.output
    assert "the house is gone" in done.output
    assert "nothing was scored" in done.output


def test_an_evaluation_that_excludes_many_episodes_is_not_final() -> None:
    doomed = ("eval", "tests.trainer.doomed:Doomed", "--tasks", "60", "--set", "doom=b")
    done = run.invoke(app, [*doomed, "--agent", "random"])
    assert done.exit_code == 3, done.output
    text = " ".join(done.output.split())
    assert "NOT FINAL, more than 2 % are excluded: 10 of 60 episodes (16.7 %) failed and are excluded" in text
    assert "(10 by environment); success with these counted as failures: " in text
    reported = answer(*doomed, "--agent", "oracle", "--json")
    assert (reported["is_final"], reported["parts"][0]["excluded_share"]) == (True, 0.0)
    folder = next(Path("evals").glob("*-random-*"))
    compared = run.invoke(app, ["compare", str(folder), reported["folder"]])
    assert compared.exit_code == 2
    assert "have no episode that could be scored" in " ".join(compared.output.split())


def test_tasks_are_perturbed_on_request() -> None:
    asked = ("eval", "household", "--tasks", "2", "--set", "size=tiny", "--json")
    plain, renamed = answer(*asked), answer(*asked, "--perturb", "rename")
    assert [each["parts"][0]["success"]["mean"] for each in (plain, renamed)] == [1.0, 1.0]
    assert (renamed["panel"], renamed["played"]) == ("household.rename", 2)
    assert renamed["hash"] != plain["hash"]
    assert "perturbation" in run.invoke(app, [*asked, "--perturb", "remane"]).output
    reported = run.invoke(app, ["compare", plain["folder"], renamed["folder"]])
    assert "The wording differs: A's tasks are in their own words, B's are under rename" in reported.output
    assert "wording" not in run.invoke(app, ["compare", plain["folder"], plain["folder"]]).output


def test_two_evaluations_are_compared() -> None:
    oracle, waits = (
        answer("eval", ENV, "--tasks", "12", "--agent", agent, "--json")["folder"] for agent in ("oracle", "constant:a")
    )
    (found,) = answer("compare", waits, oracle, "--json")
    assert found["paired"]["difference"]["mean"] == 1.0
    reported = run.invoke(app, ["compare", waits, oracle, "--measure", "success", "--measure", "turns"])
    assert reported.exit_code == 0, reported.output
    for text in ("A: constant:a", "B: oracle", "+1.000", "McNemar", "turns"):
        assert text in reported.output
    other = answer("eval", ENV, "--tasks", "5", "--json")["folder"]
    refused = run.invoke(app, ["compare", waits, other])
    assert refused.exit_code == 2
    assert "different tasks are not compared" in refused.output
    assert "is not a run" in run.invoke(app, ["compare", waits, "nothing"]).output


def test_parts_of_an_agent_have_values_and_malformed_parts_are_rejected(tmp_path: Path) -> None:
    answer("panels", "make", "doors.toml", "--env", ENV, "--tasks", "4", "--json")
    answer("eval", "--panel", "doors.toml", "--json")
    parts = ["--part", "planner:sampling.scripted.agent=oracle", "--part", "memory:sampling.max_context=512"]
    found = answer("attribute", "constant:wait", "--panel", "doors.toml", *parts, "--json")
    assert {name: each["mean"] for name, each in found["parts"].items()} == {"memory": 0.0, "planner": 1.0}
    reported = run.invoke(app, ["attribute", "constant:wait", "--panel", "doors.toml", *parts])
    assert "+ planner" in reported.output
    refused = run.invoke(app, ["attribute", "random", "--panel", "doors.toml", "--part", "planner"])
    assert "expected NAME:KEY=VALUE" in refused.output
    table = run.invoke(app, ["leaderboard"]).output
    assert table.startswith("## doors, version 1")
    assert len([line for line in table.splitlines() if line.startswith("| ")]) == 1 + 5
    assert len(answer("leaderboard", "evals", "--json")) == 5
    assert "No evaluation was found" in run.invoke(app, ["leaderboard", str(tmp_path / "none")]).output


def test_an_evaluation_reports_the_share_of_tasks_that_can_be_solved() -> None:
    done = run.invoke(app, ["eval", "tests.envs.faulty:Unsolvable", "--tasks", "24"])
    assert "75.0 % [55.1, 88.0]" in done.output
    assert "no agent can solve more than 75.0 % of these tasks" in done.output
    assert "no agent can solve more" not in run.invoke(app, ["eval", ENV, "--tasks", "4"]).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("houshold",), "Did you mean 'household'"),
        ((ENV, "--agent", "./nowhere"), "There is no folder './nowhere'"),
        ((ENV, "--agent", "oracle:raeder"), "Did you mean 'reader'"),
        ((ENV, "--set", "turn_limt=3"), "did you mean 'turn_limit'"),
        (("no.such.module:Env",), "Cannot import 'no.such.module'"),
    ],
)
@pytest.mark.parametrize("command", ["eval", "play"])
def test_invalid_arguments_of_evaluations_and_plays_are_rejected(
    command: str, arguments: tuple[str, ...], message: str
) -> None:
    extra = ("--agent", "oracle") if command == "play" and "--agent" not in arguments else ()
    assert message in refusal(command, *arguments, *extra).replace("\n", " ")


def test_a_task_that_is_not_there_is_refused() -> None:
    assert "'pink-1'" in refusal("play", ENV, "--task", "pink-1", "--agent", "oracle")
    assert "'pink-1'" in refusal("play", ENV, "--task", "pink-1")


def test_the_oracle_plays() -> None:
    done = run.invoke(app, ["play", ENV, "--agent", "oracle", "--task", "red-1"])
    assert done.exit_code == 0
    assert [line for line in done.output.splitlines() if line.startswith(">")] == ["> take key", "> open red"]
    assert done.output.endswith("The door opens.\nsolved after 2 turns\n")


def test_a_person_plays_and_lists_the_possible_actions() -> None:
    done = run.invoke(app, ["play", ENV, "--task", "red-1"], input="?\ntake key\nopen blue\n")
    assert done.exit_code == 0
    assert "take key\nwait\n" in done.output
    assert done.output.endswith("not solved after 2 turns\n")


def test_a_person_leaves() -> None:
    done = run.invoke(app, ["play", ENV, "--task", "red-1"], input="take key\n")
    assert done.exit_code == 0
    assert "solved" not in done.output


def test_a_model_plays(tmp_path: Path) -> None:
    shared().save(tmp_path)
    done = run.invoke(app, ["play", ENV, "--agent", str(tmp_path), "--task", "red-1"])
    assert done.exit_code == 0
    assert "solved after" in done.output


def test_text_of_an_environment_or_a_model_cannot_control_the_terminal() -> None:
    done = run.invoke(app, ["play", ENV, "--agent", "constant:\x1b[2Jboom", "--task", "red-1"])
    assert done.exit_code == 0
    assert "\x1b[2J" not in done.output
    assert "> \\x1b[2Jboom" in done.output


@pytest.mark.parametrize("agent", ["oracle", "random", "you"])
def test_every_kind_of_player_writes_a_film_of_texts(agent: str, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    arguments = ["play", ENV, "--agent", agent, "--task", "red-1", "--render", str(file)]
    done = run.invoke(app, arguments, input="take key\nopen red\n")
    assert done.exit_code == 0, done.output
    assert f"The film is in {file}" in done.output.replace("\n", " ")
    page = file.read_text("utf-8")
    assert "A note says: red." in page
    num_turns = page.count('<dd class="action">')
    assert f"solved after {num_turns} turns</dd>" in page
    if agent != "random":
        assert (num_turns, "<dt>Reward</dt><dd>1.0</dd>" in page) == (2, True)


def test_a_film_ends_where_a_person_leaves(tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    done = run.invoke(app, ["play", ENV, "--task", "red-1", "--render", str(file)], input="take key\n")
    assert done.exit_code == 0, done.output
    assert "left after 1 turns" in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "message"), [("out.mp4", "ends in .gif or .html"), ("out.gif", "Name a file that ends in .html")]
)
def test_a_film_that_cannot_be_is_refused_before_anything_is_played(name: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    done = run.invoke(app, ["play", ENV, "--agent", "oracle", "--render", str(file)])
    assert (done.exit_code, done.stdout, file.exists()) == (2, "", False)
    assert message in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("export EVALUATION out --json", "writing out"),
        ("import exported back --json", "reading exported"),
        ("report EVALUATION --out report.html --json", "writing report.html"),
        ("leaderboard --json", "reading evaluations"),
    ],
)
def test_long_commands_show_progress_in_a_terminal(command: str, shown: str) -> None:
    folder = answer("eval", ENV, "--tasks", "2", "--json")["folder"]
    answer("export", folder, "exported", "--json")
    done = run.invoke(app, command.replace("EVALUATION", folder).split(), env={"FORCE_COLOR": "1", "COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    assert shown in done.stderr
    assert json.loads(done.stdout)


def test_a_run_is_written_as_parquet_and_read_back() -> None:
    folder = answer("eval", ENV, "--tasks", "3", "--json")["folder"]
    assert answer("export", folder, "out", "--json")["rows"]["episodes"] == 3
    assert answer("import", "out", "back", "--json")["episodes"] == 3
    assert answer("leaderboard", "back", "--json")[0]["agent"] == "oracle"
    refused = run.invoke(app, ["export", folder, "out"])
    assert refused.exit_code == 2
    assert "is there already" in refused.output
