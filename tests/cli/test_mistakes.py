"""Typical mistakes, one a line: each quickly ends with status 2 and a line that names the remedy."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cairn.cli.main import app
from cairn.core.store import RunStore

pytestmark = pytest.mark.rotating(3)

ENV = "examples.doors:Doors"
run = CliRunner()

MISTAKES = [  # command line, text in the answer
    ("envs list houshold", "Did you mean 'household'? List them with: cairn envs list"),
    ("envs list webshop --set sorce=x", "unknown key 'sorce'; did you mean 'source'?"),
    ("envs list webshop --set source=webshop-full", "Set CAIRN_DATA to the folder that holds webshop/"),
    ("envs list household --set split=valid_unseen", "Set CAIRN_DATA to the folder that holds alfworld/"),
    ("envs list half_written:Env", "Cannot import 'half_written' (from 'half_written:Env'): SyntaxError: "),
    ("envs list that_raises:Env", "RuntimeError: boom (that_raises.py, line 2)"),
    ("envs list no_such_module:Env", "Cannot import 'no_such_module'"),
    ("envs new Bad_Name", "lower case words joined by hyphens"),
    ("envs record gui/apps --out no/folder.jsonl", "make it: mkdir -p no"),
    ("envs record gui/apps --out there.toml", "move it away or choose another name"),
    ("envs serve webshop", "--web serves web pages"),
    ("sandbox serve --kind bubblewarp", "Did you mean 'bubblewrap'?"),
    ("sandbox serve --kind process --token-file gone", "Cannot read the sandbox token in 'gone'"),
    (f"eval {ENV} --agent oracl", "Unknown agent 'oracl'. Did you mean 'oracle'?"),
    (f"eval {ENV} --agent constnt:wait", "Unknown agent 'constnt'. Did you mean 'constant'?"),
    (f"eval {ENV} --agent ./gone", "There is no folder './gone'"),
    (f"eval {ENV} --agent runs/gone", "There is no folder 'runs/gone'"),
    (f"eval {ENV} --agent-set agent.constrain=false", "'oracle' is a script: it has no setting agent.constrain"),
    (f"eval {ENV} --agent-set sampling.temperature=1", "say it by --temperature"),
    (f"eval {ENV} --agent empty", "The run at 'empty' has no checkpoint yet"),
    (f"eval {ENV} --agent replay:empty", "the run at 'empty' has not been evaluated"),
    (f"eval {ENV} --agent replay:damaged", "Cannot open run store 'damaged/run.sqlite'"),
    (
        f"eval {ENV} --agent-set temperature=1",
        "expected agent.KEY or sampling.KEY, such as sampling.max_reply_tokens=64",
    ),
    (f"eval {ENV} --agent gpt2", "a model on a hub is hf:gpt2"),
    (f"eval {ENV} --agent nobody-here/no-model", "cannot load 'nobody-here/no-model': there is no such folder"),
    (f"eval {ENV} --folder there.toml/evals", "Cannot write an evaluation to 'there.toml/evals/"),
    ("eval nameless:Env", "Env needs `meta = EnvMeta("),
    ("train nameless.toml", "Env needs `meta = EnvMeta("),
    ("play nameless:Env", "Env needs `meta = EnvMeta("),
    ("eval", "an environment or a panel: cairn eval household"),
    (f"eval {ENV} --agent model --agent-set agent.context.method=chat", "Set model.chat_template to a file or to one"),
    ("train chat.toml", "'chat' needs a chat template, and the tokenizer of 'qwen3-tiny' has none"),
    ("eval --panel gone", "List them with: cairn panels list"),
    (f"panels make no/panel.toml --env {ENV}", "make it: mkdir -p no"),
    (f"panels make there.toml --env {ENV}", "name of a new .toml file"),
    (f"play {ENV} --agent oracle --task gone", "List them with: cairn envs list doors --tasks"),
    (f"play {ENV} --agent oracle --render no/film.html", "a folder that is there"),
    ("credit plain", "'plain' is not a run: expected a folder with run.sqlite"),
    ("compare plain empty", "'plain' is not a run: expected a folder with run.sqlite"),
    ("compare empty empty", "'empty' holds no evaluation"),
    ("leaderboard plain", "No evaluation was found"),
    ("attribute oracle --panel gone --part a:b=1", "List them with: cairn panels list"),
    ("attribute oracle --panel gone --part a", "expected NAME:KEY=VALUE"),
    ("view plain", "'plain' holds no run"),
    ("report plain", "'plain' holds no run"),
    ("report empty --out no/r.html", "Cannot write 'no/r.html'"),
    ("doctor --run plain", "'plain' is not a run"),
    ("export plain out", "'plain' is not a run"),
    ("export empty plain", "'plain' is there already"),
    ("import plain new", "'plain' has no meta.parquet"),
    ("panels renew there.toml", "there.toml"),
    ("panels make there.toml --add --env " + ENV, "there.toml"),
    (f"eval {ENV} --perturb renmae", "Unknown perturbation 'renmae'. Did you mean 'rename'?"),
    (f"eval {ENV} --panel gone", "leave one of the two out"),
    ("credit empty", "has no training episodes of any update"),
    ("credit damaged", "If the file is damaged, move it away"),
    ("train quikstart", "Did you mean 'quickstart'"),
    ("train empty", "cairn train --resume empty"),
    ("train there.toml", "Cannot read configuration 'there.toml'"),
    ("train quickstart --set trainer.updatse=1", "did you mean 'updates'?"),
    ("train quickstart --set trainer.updates=many", "trainer.updates: Input should be a valid integer"),
    ("train quickstart --set trackers.wandbb.on=true", "Unknown tracker 'wandbb'. Did you mean 'wandb'?"),
    ("train quickstart --folder there.toml", "Cannot write a run to 'there.toml'"),
    ("train --resume plain", "expected a folder with run.sqlite"),
    ("sweep quickstart --vary credit.method", "expected KEY=A,B"),
    ("plugins --point envs", "Did you mean 'env'?"),
    ("plugins --algorithms there.toml", "Expected a file of `cairn bench credit --out DIR`"),
    ("plugins --markdown --attacks", "ask for one at a time"),
    ("bench credti", "Did you mean 'credit'?"),
    ("bench credit --env household", "has no option --env"),
]


@pytest.fixture(autouse=True)
def _a_folder_of_broken_things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CAIRN_DATA", "WEBSHOP_DATA", "ALFWORLD_DATA", "CAIRN_SANDBOX_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "there.toml").write_text("a = [")
    (tmp_path / "half_written.py").write_text("class Env(:\n")
    (tmp_path / "that_raises.py").write_text("\nraise RuntimeError('boom')\n")
    (tmp_path / "nameless.py").write_text("from cairn.envs.base import TextEnv\nclass Env(TextEnv):\n    pass\n")
    (tmp_path / "nameless.toml").write_text('[env]\nid = "nameless:Env"\n')
    (tmp_path / "chat.toml").write_text(f'[env]\nid = "{ENV}"\n[agent.context]\nmethod = "chat"\n')
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer_config.json").write_text("{}")
    for name in ("plain", "empty", "damaged"):
        (tmp_path / name).mkdir()
    RunStore(tmp_path / "empty" / "run.sqlite").close()
    (tmp_path / "damaged" / "run.sqlite").write_text("no database at all, but long enough to be read as one " * 20)


def refusal(*arguments: str) -> str:
    done = run.invoke(app, list(arguments))
    assert isinstance(done.exception, SystemExit), repr(done.exception)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("cairn: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(("typed", "reported"), MISTAKES, ids=[typed for typed, _ in MISTAKES])
def test_a_mistake_gives_a_line_that_names_the_remedy(typed: str, reported: str) -> None:
    assert reported in refusal(*typed.split())


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "0 is any free one" in refusal("envs", "serve", "webshop", "--web", "--port", str(port))


def test_a_missing_package_is_reported_before_the_warm_start(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.util import find_spec

    monkeypatch.setattr(
        "cairn.agents.backends._vllm_engine.find_spec", lambda name: None if name == "vllm" else find_spec(name)
    )
    assert "pip install 'vllm>=" in refusal("train", "quickstart", "--set", "sampling.method=vllm")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert "Cannot write a run to" in refusal("train", "quickstart", "--folder", str(file / "run"))
