"""The kind that isolates nothing says so."""

from __future__ import annotations

import sys

import pytest

from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.sandboxes.registry import new_sandbox
from tests.sandboxes.usable import usable


@pytest.mark.as_root  # with the interpreter of the tests, which only root may be able to start
def test_it_runs_only_trusted_programs() -> None:
    with pytest.raises(CairnError, match=r"isolates nothing.*set trusted = true"):
        new_sandbox("process").session()
    with usable("process").session() as session:
        assert session.run_python("import sys; print(sys.version_info[:2])").output == f"{sys.version_info[:2]}\n"


def test_a_program_that_ends_in_time_is_not_late_when_its_end_is_noticed_late() -> None:
    ends_while_we_stand_still = """import os, signal, time
above = os.getppid()
os.kill(above, signal.SIGSTOP)
if os.fork() == 0:
    time.sleep(1)
    os.kill(above, signal.SIGCONT)
else:
    print("done")"""
    with usable("process").session() as session:
        result = session.run_python(ends_while_we_stand_still, wall_s=0.5)
    assert (result.limit, result.output) == (None, "done\n")
    assert result.wall_s > 0.9


def test_names_and_settings_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'bubblewrap'"):
        new_sandbox("bublewrap")
    with pytest.raises(ConfigError, match="sandbox 'process': unknown key 'trust'"):
        new_sandbox("process", trust=True)
    assert new_sandbox("auto").name in ("bubblewrap", "landlock")
