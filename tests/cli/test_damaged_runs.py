"""Runs that were damaged, cut short or edited: every command says so in one line, and no page is a server error."""

from __future__ import annotations

import json
import shutil
import sqlite3
import warnings
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from cairn.agents.evaluation.evaluate import evaluate
from cairn.cli.main import app
from cairn.core.folders import write_manifest
from cairn.trainer.train import train
from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs
from tests.sampling import sampled_params

pytestmark = pytest.mark.rotating(3)

ENV = "examples.doors:Doors"
SETTINGS = {
    "env.id": ENV,
    "model.preset": "qwen3-nano",
    "model.vocab_size": 300,
    "imitation.episodes": 0,
    "eval.tasks": 2,
    "trainer.updates": 1,
    "trainer.groups": 2,
    "trainer.group_size": 2,
    "sampling.slots": 4,
}
Damage = Callable[[Path], None]
run = CliRunner()


def sql(*statements: str, **values: object) -> Damage:
    """Change the run's file."""

    def damage(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "run.sqlite", isolation_level=None)) as db:
            for statement in statements:
                db.execute(statement, values)

    return damage


def fact(name: str, value: str) -> Damage:
    return sql("INSERT OR REPLACE INTO meta VALUES (:name, :value)", name=name, value=value)


def texts(json_text: str) -> Damage:
    return sql("UPDATE bodies SET texts = :texts", texts=zlib.compress(json_text.encode()))


def file(change: Callable[[bytes], bytes]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "run.sqlite"
        path.write_bytes(change(path.read_bytes()))

    return damage


def checkpoint(name: str, content: str | None) -> Damage:
    """Change a file of the newest checkpoint, which then fits its manifest again; None: delete it."""

    def damage(folder: Path) -> None:
        newest = max((folder / "checkpoints").glob("update-*"))
        if content is None:
            (newest / name).unlink()
        else:
            (newest / name).write_text(content)
            if name != "manifest.json":
                write_manifest(newest)

    return damage


DEEP = "[" * 100_000
OF_ALL: dict[str, Damage] = {
    "a table is missing": sql("DROP TABLE advantages"),
    "turns have no rewards": sql("ALTER TABLE turns DROP COLUMN reward"),
    "episodes have no seeds": sql("ALTER TABLE episodes DROP COLUMN seed"),
    "events have no texts": sql("ALTER TABLE events DROP COLUMN text"),
    "rewards are texts": sql("UPDATE turns SET reward = 'much'"),
    "anchors are texts": sql("UPDATE turns SET anchor = 'here'"),
    "actions are bytes": sql("UPDATE turns SET action = x'00ff'"),
    "validity is 7": sql("UPDATE turns SET valid = 7"),
    "scores are texts": sql("UPDATE episodes SET score = 'good'"),
    "success is a text": sql("UPDATE episodes SET success = 'yes'"),
    "episodes are longer than their turns": sql("UPDATE episodes SET turns = turns + 3"),
    "steps are texts": sql("UPDATE episodes SET step = 'first'"),
    "seconds are texts": sql("UPDATE episodes SET seconds = 'long'"),
    "task ids are bytes": sql("UPDATE tasks SET task = CAST(task AS BLOB)"),
    "task types are bytes": sql("UPDATE tasks SET type = x'ff'"),
    "times are texts": sql("UPDATE updates SET stored = 'yesterday'"),
    "channels are no JSON": sql("UPDATE turns SET channels = 'tests'"),
    "channels are a list": sql("UPDATE turns SET channels = '[1]'"),
    "channels are texts": sql("""UPDATE turns SET channels = '{"tests": "all"}'"""),
    "what was acted on has one number": sql("UPDATE turns SET acted = '[1]'"),
    "what was acted on is a table": sql("UPDATE turns SET acted = '{}'"),
    "texts are empty": sql("UPDATE bodies SET texts = x''"),
    "texts are cut short": sql("UPDATE bodies SET texts = substr(texts, 1, length(texts) - 9)"),
    "texts are of no turns": texts('[[], [], "", []]'),
    "texts are numbers": texts("[[1, 2], [3, 4], 5, [[], []]]"),
    "texts are nested too deeply": texts(DEEP),
    "texts are in other tables": texts('{"a": 1}'),
    "turns are missing": sql("DELETE FROM turns WHERE turn = 0"),
    "tasks are missing": sql("DELETE FROM tasks"),
    "episodes are missing": sql("DELETE FROM episodes WHERE id % 2"),
    "facts are no JSON": sql("UPDATE meta SET value = 'x'"),
    "facts are bytes": sql("UPDATE meta SET value = x'ff'"),
    "facts are nested too deeply": fact("config", DEEP),
    "the file is cut in half": file(lambda content: content[: len(content) // 2]),
    "the file is its first page": file(lambda content: content[:4096]),
    "the file is empty": file(lambda content: b""),
    "the file has a page of zeros": file(lambda content: content[:8192] + bytes(4096) + content[12288:]),
    "the file is of another version": sql("PRAGMA user_version = 99"),
    "the file is of version 2": sql("PRAGMA user_version = 2"),
}
OF_TRAINING: dict[str, Damage] = {
    **{f"{name} is {value}": fact(name, value) for name, value in (
        ("config", "[]"), ("config", '"text"'), ("config", '{"env": 3}'),
        ("config", '{"trainer": {"updates": "many"}}'),
        ("configs", "{}"), ("configs", "[3]"), ("configs", '[{"update": "x", "config": {}}]'),
        ("configs", '[{"update": 0, "config": {}}]'), ("reports", "[]"), ("reports", '{"0": {}}'),
        ("reports", '{"0": {"success": 3}}'), ("reports", '{"first": {}}'), ("tasks", "3"),
        ("tasks", '{"held_out": 3}'),
        ("declared", "3"), ("declared", '{"parts": 3}'), ("versions", "[]"), ("rollbacks", "3"),
        ("parameters", '"many"'), ("writer", "3"),
    )},
    "metrics are texts": sql("UPDATE metrics SET value = 'abc'"),
    "metrics have bytes for names": sql("UPDATE metrics SET name = CAST(name AS BLOB)"),
    "advantages are cut short": sql("""UPDATE advantages SET "values" = substr("values", 1, 3)"""),
    "advantages are of fewer turns": sql("""UPDATE advantages SET "values" = substr("values", 1, 8)"""),
    "token ids are cut short": sql("UPDATE bodies SET reply_ids = substr(reply_ids, 1, length(reply_ids) - 3)"),
    "token ids are of fewer tokens": sql("UPDATE bodies SET reply_ids = substr(reply_ids, 1, length(reply_ids) - 4)"),
    "the log-probabilities are texts": sql("UPDATE bodies SET reply_logprobs = 'none'"),
    "the checkpoint's state is a list": checkpoint("trainer.json", "[]"),
    "the checkpoint's state is nested too deeply": checkpoint("trainer.json", DEEP),
    "the checkpoint's state is missing": checkpoint("trainer.json", None),
    "the checkpoint's weights are no weights": checkpoint("model.safetensors", "x"),
    "the checkpoint's settings are a list": checkpoint("config.json", "[]"),
    "the checkpoint's tokenizer is a list": checkpoint("tokenizer.json", "[]"),
    "the checkpoint's manifest is a list": checkpoint("manifest.json", "[]"),
    "the checkpoint's manifest is missing": checkpoint("manifest.json", None),
}  # fmt: skip
OF_EVALUATION: dict[str, Damage] = {
    f"{name} is {value}": fact(name, value) for name, value in (
        ("panel", "{}"), ("panel", "[]"), ("panel", '{"name": "x", "summary": "", "parts": []}'), ("facts", "{}"),
        ("facts", "3"), ("facts", '{"temperature": "hot"}'), ("facts", '{"agent_settings": 3}'), ("tasks", "[]"),
        ("tasks", '[{"red-0": 3}]'), ("tasks", '[{"red-0": {"type": 3}}]'), ("ranges", "[]"),
        ("ranges", '[["low", "high"]]'), ("ranges", "[3]"), ("usage", "3"), ("usage", '{"prompt_tokens": "many"}'),
        ("seconds", '"long"'), ("gates", "3"), ("gates", "[3]"), ("gates", "[{}]"), ("agent", "3"),
    )
}  # fmt: skip

PAGES = (
    "", "/live", "/groups", "/groups?phase=eval", "/groups/train/1/0", "/groups/eval/0/0", "/groups/train/1/0/graph",
    "/episodes", "/episodes/1", "/episodes/2", "/episodes/3", "/episodes/1/turns/0/observation.txt",
    "/episodes/1/turns/0/picture.png", "/anchors/0000000000000001", "/credit", "/system",
)  # fmt: skip
OF_A_RUN = (
    "report RUN --out r.html", "doctor --run RUN", "export RUN out", f"eval {ENV} --agent replay:RUN --tasks 1",
)  # fmt: skip
OF_A_TRAINING = (
    "credit RUN", "train --resume RUN", f"eval {ENV} --agent RUN --tasks 1",
    "report RUN --out r.html --figures figures",
)  # fmt: skip
OF_AN_EVALUATION = ("compare RUN ../evaluation", "leaderboard RUN", f"eval {ENV} --agent oracle --tasks 2 --folder .")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a training run and an evaluation."""
    folder = tmp_path_factory.mktemp("kept")
    train({}, SETTINGS, folder=folder / "training")
    found = evaluate("oracle", ENV, tasks=2, root=folder)
    found.folder.rename(folder / "evaluation")
    return folder


def check(folder: Path, commands: tuple[str, ...]) -> None:
    """Run every command on the run in `folder` and look at each page of it."""
    for command in commands:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = run.invoke(app, command.replace("RUN", folder.name).split())
        reported = f"{command}: {done.exception!r}\n{done.output}"
        assert done.exception is None or isinstance(done.exception, SystemExit), reported
        assert done.exit_code in (0, 1, 2), reported
        assert "Traceback" not in done.output, reported
        if done.exit_code == 2:
            assert len([line for line in done.stderr.splitlines() if line.startswith("cairn: ")]) == 1, reported
    client = TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1")
    for page in ("/", *(f"/runs/1-{folder.name}{page}" for page in PAGES)):
        assert client.get(page).status_code in (200, 404), page


@pytest.fixture
def damaged(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Damage], Path]:
    def make(name: str, damage: Damage) -> Path:
        shutil.copytree(kept / "evaluation", tmp_path / "evaluation")
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        folder = Path(shutil.copytree(kept / name, tmp_path / "here" / "damaged"))
        damage(folder)
        return folder

    return make


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", sampled_params([*OF_ALL, *OF_TRAINING], parts=16))
def test_a_damaged_training_run_gives_an_error_of_one_line(name: str, damaged: Callable[[str, Damage], Path]) -> None:
    check(damaged("training", {**OF_ALL, **OF_TRAINING}[name]), (*OF_A_RUN, *OF_A_TRAINING))


@pytest.mark.parametrize("name", sampled_params([*OF_ALL, *OF_EVALUATION], parts=16))
def test_a_damaged_evaluation_gives_an_error_of_one_line(name: str, damaged: Callable[[str, Damage], Path]) -> None:
    check(damaged("evaluation", {**OF_ALL, **OF_EVALUATION}[name]), (*OF_A_RUN, *OF_AN_EVALUATION))


@pytest.mark.parametrize("name", [name for name in OF_ALL if name != "the file is empty"])  # a run that has not begun
def test_the_doctor_finds_damage(name: str, damaged: Callable[[str, Damage], Path]) -> None:
    folder = damaged("training", OF_ALL[name])
    done = run.invoke(app, ["doctor", "--run", str(folder), "--json"])
    (found,) = [each for each in json.loads(done.stdout) if each["section"] == "run"]
    assert found["is_well"] is False, found


@pytest.mark.parametrize("digits", [19, 20, 5000])
def test_addresses_with_many_digits_are_not_found(digits: int, kept: Path) -> None:
    client = TestClient(make_app(find_runs([kept / "training"])), base_url="http://127.0.0.1")
    number = "9" * digits
    for page in (
        f"groups/train/{number}/0", f"groups/train/1/{number}", f"groups/train/1/{number}/graph", f"episodes/{number}",
        f"episodes/1/turns/{number}/picture.png", f"episodes/{number}/turns/0/observation.txt", f"anchors/{number}",
        f"groups?step={number}", f"episodes?page={number}", f"credit?step={number}", f"episodes/1?from={number}",
    ):  # fmt: skip
        assert client.get(f"/runs/1-training/{page}").status_code in (200, 404), page
