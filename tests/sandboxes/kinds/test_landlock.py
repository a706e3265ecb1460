"""What Landlock alone promises, and what it says where it cannot work."""

from __future__ import annotations

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes.inside import confine
from tests.sandboxes.usable import usable


def test_programs_have_a_folder_for_the_moment_and_no_other() -> None:
    source = """
import os, tempfile
with tempfile.NamedTemporaryFile() as file:
    print(file.name.startswith(os.environ["TMPDIR"]))
for path in ("/tmp", "/var/tmp", "/etc", "/proc", "/sys", "/"):
    try:
        print(path, os.listdir(path))
    except OSError:
        pass
"""
    with usable("landlock").session() as session:
        assert session.run_python(source).output == "True\n"
        assert session.run(["sh", "-c", "echo x > $TMPDIR/kept"]).is_ok
        session.reset()
        assert session.run(["sh", "-c", "ls $TMPDIR"]).stdout == b""


def test_a_kernel_without_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = usable("landlock")
    monkeypatch.setattr(confine, "abi", lambda: 0)
    with pytest.raises(CairnError, match="Landlock switched off; version 4 is needed"):
        sandbox.session()
