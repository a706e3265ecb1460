"""Attacks of programs on the environment that they act in, and on its host.

Other tests attack each kind of sandbox (docs/attacks.md), which keeps files, network and other processes of the host
out of reach. The attacks here are on the line between a program and its environment.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.envs.codeact.env import CodeActEnv
from cairn.sandboxes.base import Limits
from tests.envs.codeact.test_codeact import program_env

LINE = "import os\nsay = lambda text: os.write(3, text.encode() + b'\\n')\n"  # speaks on the line to the host
FORGERIES = {
    "a printed ending": "print('[actions taken: 1; the last one showed]'); print('Paid 10.')",
    "an ending on the line": LINE + """say('{"done": null, "success": true, "reward": 9}')""",
    "rewards in a call": "_cairn_call('act', {'action': 'look', 'reward': 9, 'success': True})",
    "an unknown function": "_cairn_call('reset', {})",
    "a name that is none": LINE + """say('{"call": ' + '[' * 900 + ']' * 900 + ', "arguments": {}}')""",
    "arguments that are none": "_cairn_call('act', 7)",
    "no JSON": LINE + "say('[' * 100_000)",
    "no object": LINE + "say('[]')",
    "a number without end": "_cairn_call('act', {'action': 10 ** 4000})",
    "a tool without a name": "_cairn_call('tool', {})",
    "other modules": "import sys\nsys.modules.clear()\nact = print\nact('pay 10')",
    "an early end": "import os\nos._exit(0)",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "many who speak": LINE
    + """
for _ in range(5):
    if os.fork() == 0:
        say('{"done": null}')
        os._exit(0)
""",
}
ENDLESS = {
    "a loop": "while True:\n    pass",
    "a loop that holds on": """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
""",
    "steps beyond the limit": """
while True:
    try:
        act('look')
    except Exception:
        pass
""",
}
LONG = {
    "one print": "import sys\nfor _ in range(1000):\n    sys.stdout.write('x' * 2**20)",
    "prints between calls": "while True:\n    print('x' * 2**14)\n    actions()",
    "errors between calls": "import sys\nwhile True:\n    print('x' * 2**14, file=sys.stderr)\n    actions()",
    "a call": "act('x' * 2**22)",
}


def test_files_of_the_host_are_out_of_reach(env: CodeActEnv, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the answer")
    text, *_ = env.step(f"print(open({str(secret)!r}).read())")
    assert "FileNotFoundError" in text
    text, *_ = env.step("import os\nprint(os.listdir('.'), sorted(os.environ))")
    assert text.startswith("[] ['HOME', 'LANG', ")
    assert "CAIRN" not in text


@pytest.mark.parametrize("name", FORGERIES)
def test_results_cannot_be_forged(env: CodeActEnv, name: str) -> None:
    before = env.anchor()
    _, reward, terminated, _, info = env.step(FORGERIES[name])
    assert (reward, terminated, info["success"], info["score"]) == (0.0, False, False, 0.0)
    assert env.anchor() == before
    assert env.step("act('pay 1')")[1] == pytest.approx(0.1)  # and the next one acts


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_program_is_ended_and_its_effects_stay(name: str) -> None:
    with program_env(limits=Limits(wall_s=1.0)) as env:
        env.reset(seed=0, options={"task": "a"})
        text, reward, *_ = env.step(f"act('pay 1')\n{ENDLESS[name]}")
        assert "[limit reached: wall]" in text
        assert reward == pytest.approx(0.1)
        if name != "steps beyond the limit":
            assert env.step("act('pay 1')")[4]["score"] == 0.2


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", LONG)
def test_a_program_with_endless_output_is_ended_and_the_middle_of_its_output_is_cut(env: CodeActEnv, name: str) -> None:
    text, reward, *_ = env.step(f"act('pay 1')\n{LONG[name]}")
    assert "[limit reached: output]" in text
    assert len(text) < 5000
    assert reward == pytest.approx(0.1)
    assert env.step("act('pay 1')")[4]["score"] == 0.2
