"""The kind that isolates nothing says so."""

from __future__ import annotations

import sys

import pytest

from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.sandboxes.registry import new_sandbox
from tests.sandboxes.usable import usable


def test_it_runs_only_what_is_trusted() -> None:
    with pytest.raises(CairnError, match=r"isolates nothing.*set trusted = true"):
        new_sandbox("process").session()
    with usable("process").session() as session:
        assert session.run_python("import sys; print(sys.version_info[:2])").output == f"{sys.version_info[:2]}\n"


def test_names_and_settings_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'bubblewrap'"):
        new_sandbox("bublewrap")
    with pytest.raises(ConfigError, match="sandbox 'process': unknown key 'trust'"):
        new_sandbox("process", trust=True)
    assert new_sandbox("auto").name in ("bubblewrap", "landlock")
