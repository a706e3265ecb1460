"""Containers: blocked actions of programs, cleanup, and errors without an engine."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import CairnError, MissingExtraError, SandboxFailure
from cairn.sandboxes.attacks.attack import attacks
from cairn.sandboxes.attacks.attack_run import run_battery
from cairn.sandboxes.base import Limits, Session
from cairn.sandboxes.container import container, docker_engine
from cairn.sandboxes.container.container import ContainerPlace
from cairn.sandboxes.container.stream import Attached
from cairn.sandboxes.kinds.docker import Docker, DockerConfig
from tests.sandboxes.container import engine as engines
from tests.sandboxes.network.listening import listener

MIB = 1 << 20
LIMITS = Limits(wall_s=8, cpu_s=5, memory_bytes=96 * MIB, processes=16, disk_bytes=4 * MIB, file_bytes=4 * MIB)
ASK = "import urllib.request; print(urllib.request.urlopen('http://{}/', timeout=20).read())"
pytestmark = pytest.mark.xdist_group("sandbox-docker")


@pytest.fixture(scope="module")
def sandbox(container_config: DockerConfig) -> Docker:
    return Docker(container_config)


@pytest.fixture(scope="module")
def session(sandbox: Docker) -> Iterator[Session]:
    with sandbox.session(LIMITS) as session:
        yield session


@pytest.fixture
def engine(container_config: DockerConfig) -> Iterator[Any]:  # Any: the SDK has no types
    with contextlib.closing(docker_engine.connect()) as connection:
        yield connection


def containers(engine: Any) -> dict[str, str]:
    """Return the state of every container by its identifier."""
    return {found["Id"]: found["State"] for found in engine.containers(all=True)}


# -- a network by allow-list -------------------------------------------------------------------------------------------


def test_a_listed_address_is_reached_and_no_other(container_config: DockerConfig) -> None:
    with listener() as listed, listener() as other:
        sandbox = Docker(container_config.model_copy(update={"network": (listed.address,)}))
        with sandbox.session(LIMITS) as session:
            reached = session.run_python(ASK.format(listed.address))
            assert (reached.output, reached.num_refused) == ("b'body of /'\n", 0)
            refused = session.run_python(ASK.format(other.address))
            assert "HTTP Error 403: Not allowed by the sandbox" in refused.output
            assert refused.refused == (f"{other.address}: it is not on the list",)
            session.reset()
            assert session.run(["python3", "-c", ASK.format(listed.address)]).output == "b'body of /'\n"
            assert (
                session.run(["sh", "-c", "test -e /cairn && ! test -e /cairn/socket && ! echo > /cairn/x"]).exit_code
                == 0
            )
            names = ("tcp", "udp", "raw", "socket", "streams", "kill", "parent", "namespaces")
            chosen = [attack for attack in attacks() if any(name in attack.name.lower() for name in names)]
            problems = [trial.problem for trial in run_battery(sandbox, chosen)]
        assert problems == [None] * len(chosen)
        assert len(chosen) > 8
        assert other.visits == []


def test_a_network_needs_an_engine_of_this_machine(
    container_config: DockerConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sandbox = Docker(container_config.model_copy(update={"network": ("pypi.org:443",)}))
    monkeypatch.setattr(docker_engine, "is_of_this_machine", lambda: False)
    assert "needs an engine of this machine" in (sandbox.problem() or "")
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(
        "cairn.sandboxes.container.fd_socket.PATH", "/elsewhere"
    )  # as where the engine has other folders
    with pytest.raises(SandboxFailure, match=r"hands out no socket: .*No such file"):
        sandbox.session(LIMITS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "is_here"), [(None, True), ("unix:///x", True), ("ssh://other", False), ("tcp://127.0.0.1:1", False)]
)
def test_which_engines_are_of_this_machine(monkeypatch: pytest.MonkeyPatch, where: str | None, is_here: bool) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    if where is not None:
        monkeypatch.setenv("DOCKER_HOST", where)
    assert docker_engine.is_of_this_machine() is is_here


# -- blocked actions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "least_filters"), [("self", 2), ("1", 1)])
def test_programs_and_their_supervisor_have_no_rights_and_gain_none(
    session: Session, who: str, least_filters: int
) -> None:
    lines = session.run(["cat", f"/proc/{who}/status"]).stdout.decode().splitlines()
    seen = dict(line.split(":\t", 1) for line in lines if "\t" in line)
    sets = [seen[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
    assert sets == ["0" * 16] * 5
    assert (seen["NoNewPrivs"], seen["Seccomp"]) == ("1", "2")
    assert int(seen["Seccomp_filters"]) >= least_filters  # Docker's, and ours for programs
    assert (seen["Uid"].split(), seen["Gid"].split()) == (["1000"] * 4, ["1000"] * 4)


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "import ctypes, os; assert ctypes.CDLL(None).unshare(0x10000000) == 0, 'refused'",
        "import ctypes, os; assert ctypes.CDLL(None).msgget(1, 0o1600) >= 0, 'refused'",
        "open('/x', 'w')",
        "open('/open/x', 'w')",
        "open('/data/x', 'w')",
        "open('/proc/sys/kernel/core_pattern', 'w')",
        "open('/proc/1/environ').read()",
        "open('/proc/1/mem', 'rb').read(1)",
        "import os; os.listdir('/proc/1/fd')",
        "import supervisor",
        "import bootstrap",
    ],
)
def test_forbidden_actions_of_programs_fail(session: Session, code: str) -> None:
    result = session.run_python(code)
    assert result.exit_code == 1, result
    assert result.stderr.decode().splitlines()[-1].split(":")[0] in (
        "AssertionError", "OSError", "PermissionError", "ModuleNotFoundError"
    ), result.stderr  # fmt: skip


def test_the_supervisor_cannot_be_ended_or_led_astray(session: Session) -> None:
    session.reset()
    assert session.run_python("import os\nfor number in (9, 15, 19, 2): os.kill(1, number)").is_ok
    assert session.run_python("import sys; print([p for p in sys.path if 'fd' in p or not p])").stdout == b"['']\n"
    for name in ("json", "struct", "traceback", "files"):  # where a supervisor that looked again would look
        session.write_file(f"{name}.py", "raise SystemExit('taken over')")
    assert session.run_python("print(1)").stdout == b"1\n"
    assert [entry.path for entry in session.list_files()] == ["files.py", "json.py", "struct.py", "traceback.py"]
    session.reset()


def test_a_container_has_no_network_and_not_the_name_of_the_host(session: Session) -> None:
    assert session.run_python("import socket; print(socket.gethostname())").stdout == b"sandbox\n"
    links = session.run(["cat", "/proc/net/dev"]).stdout.decode().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in links] == ["lo"]


def test_sizes_and_counts_are_the_limits(session: Session) -> None:
    code = "import os, json; print(json.dumps([os.statvfs(p).f_frsize * os.statvfs(p).f_blocks for p in {!r}]))"
    sizes = session.run_python(code.format(["/work", "/tmp", "/dev/shm"])).stdout
    assert json.loads(sizes) == [4 * MIB, 4 * MIB, MIB]
    code = (
        "import resource; print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    assert session.run_python(code).stdout == b"(0, 0) (256, 256)\n"
    assert b"Max core file size        0                    0 " in session.run(["cat", "/proc/1/limits"]).stdout


def test_programs_may_be_run_from_the_work_folder_and_see_the_images_environment(session: Session) -> None:
    session.write_file("tool", "#!/bin/sh\necho $CAIRN_TEST $HOME\n", mode=0o755)
    assert session.run(["./tool"]).stdout == b"image /work\n"


def test_the_engine_reports_the_settings_that_are_invisible_from_within(session: Session, engine: Any) -> None:
    (name,) = [name for name, state in containers(engine).items() if state == "running"]
    reported = engine.inspect_container(name)
    host = reported["HostConfig"]
    assert host["LogConfig"]["Type"] == "none"  # it keeps no output
    assert (host["NetworkMode"], host["IpcMode"], host["Privileged"]) == ("none", "private", False)
    assert (host["Memory"], host["MemorySwap"]) == (96 * MIB, 96 * MIB)
    assert (host["PidsLimit"], host["CpuQuota"], host["CpuPeriod"]) == (17, 100_000, 100_000)
    assert [mount["Type"] for mount in reported["Mounts"] if mount["Type"] != "tmpfs"] == []


def test_an_engine_out_of_sight_has_the_supervisor_watch(sandbox: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ContainerPlace, "_seen_group", lambda _: {})
    with sandbox.session(LIMITS.model_copy(update={"memory_bytes": 400 * MIB})) as session:
        grow = "import time\nheld = []\nwhile True: held.append(b'x' * (8 << 20)); time.sleep(.01)"
        result = session.run_python(grow)
        assert (result.limit, result.signal) == ("memory", 9)
        assert 400 * MIB < result.peak_memory_bytes < 500 * MIB
        code = "import os, time\ntry:\n    while os.fork(): pass\nfinally: time.sleep(.2)\nraise SystemExit(1)"
        assert session.run_python(code).limit == "processes"


def test_no_attack_succeeds(sandbox: Docker) -> None:
    trials = list(run_battery(sandbox))
    assert [f"{trial.attack.name}: {trial.problem}" for trial in trials if trial.problem is not None] == []
    assert len(trials) >= 40


# -- cleanup -----------------------------------------------------------------------------------------------------------


def test_a_container_that_memory_brings_down_is_replaced_and_the_limit_is_reported(
    sandbox: Docker, engine: Any
) -> None:
    limits = LIMITS.model_copy(update={"memory_bytes": 48 * MIB, "disk_bytes": 64 * MIB, "file_bytes": 64 * MIB})
    before = containers(engine)
    with sandbox.session(limits) as session:
        fill = "with open('x', 'wb') as file:\n    while True: file.write(bytes(1 << 16))"
        results = [session.run_python(fill, wall_s=3)]
        while not results[-1].is_lost and len(results) < 6:
            results.append(session.run_python("x = bytes(1 << 20)"))
        assert results[-1].is_lost, results
        assert results[-1].limit == "memory"
        assert session.run_python("print(1)").stdout == b"1\n"
        assert session.list_files() == ()
        assert len(containers(engine)) == len(before) + 1
    assert containers(engine) == before


def test_a_container_that_ends_before_any_program_is_a_failure_of_the_machine(sandbox: Docker, engine: Any) -> None:
    before = containers(engine)
    with sandbox.session(LIMITS) as session:
        (name,) = set(containers(engine)) - set(before)
        engine.kill(name)
        with pytest.raises(SandboxFailure, match="gone"):
            session.list_files()
    assert containers(engine) == before


def test_a_container_that_ends_after_a_program_is_replaced(sandbox: Docker, engine: Any) -> None:
    before = containers(engine)
    with sandbox.session(LIMITS) as session:
        session.run(["touch", "kept"])
        (name,) = set(containers(engine)) - set(before)
        engine.kill(name)
        assert session.run(["true"]).is_lost
        assert session.list_files() == ()
        assert len(containers(engine)) == len(before) + 1
    assert containers(engine) == before


def test_containers_of_a_killed_process_end_and_are_removed_at_the_next_start(sandbox: Docker, engine: Any) -> None:
    before = containers(engine)
    program = (
        "import time\nfrom cairn.sandboxes.kinds.docker import Docker, DockerConfig\n"
        f"session = Docker(DockerConfig(image={engines.IMAGE!r})).session()\n"
        "session.open(['sleep', '600'])\nprint('open', flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        (name,) = set(containers(engine)) - set(before)
        process.kill()
    until = time.monotonic() + 10
    while containers(engine)[name] == "running" and time.monotonic() < until:
        time.sleep(0.05)
    assert containers(engine)[name] == "exited"  # with its standard input
    container.remove_left_over(engine)
    assert containers(engine) == before


def test_only_containers_of_dead_owners_here_are_left_over(
    engine: Any, container_config: DockerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    machine = container._machine()
    kept = [(str(os.getpid()), machine), (str(dead.pid), "another")]
    names = []
    for owner, where in [*kept, (str(dead.pid), machine)]:
        labels = {"cairn.owner": owner, "cairn.machine": where}
        names.append(engine.create_container(container_config.image, ["true"], labels=labels)["Id"])
    container.remove_left_over(engine)
    assert [name in containers(engine) for name in names] == [True, True, False]
    for name in names[:2]:
        container.remove(engine, name)


def test_a_session_that_does_not_start_leaves_no_container(container_config: DockerConfig, engine: Any) -> None:
    before = containers(engine)
    with pytest.raises(SandboxFailure, match="no-python"):
        Docker(container_config.model_copy(update={"python": "no-python"})).session()
    with pytest.raises(SandboxFailure, match=r"did not (answer|start)"):  # whichever is noticed first
        Docker(container_config.model_copy(update={"python": "true"})).session()
    assert containers(engine) == before


# -- images ------------------------------------------------------------------------------------------------------------


def test_an_image_is_built_once_per_content_of_its_folder(
    container_config: DockerConfig, engine: Any, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {container_config.image}\nCOPY said /said\n")
    (tmp_path / "said").write_text("first\n")
    docker = Docker(DockerConfig(build=str(tmp_path)))
    with docker.session(LIMITS) as session:
        assert session.run(["cat", "/said"]).stdout == b"first\n"
    first = docker_engine.image_made(engine, tmp_path)
    (tmp_path / "said").write_text("second\n")
    with docker.session(LIMITS) as session:
        assert session.run(["cat", "/said"]).stdout == b"second\n"
    (tmp_path / "said").write_text("first\n")
    engine.build = None  # it is not asked again
    assert docker_engine.image_made(engine, tmp_path) == first


def test_a_hash_of_a_folder_sees_contents_names_and_who_may_run_them(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "tool").write_text("x")
    seen = [docker_engine.digest(tmp_path)]
    (tmp_path / "a" / "tool").chmod(0o755)
    seen.append(docker_engine.digest(tmp_path))
    (tmp_path / "a" / "tool").rename(tmp_path / "a" / "tools")
    seen.append(docker_engine.digest(tmp_path))
    (tmp_path / "a" / "tools").write_text("y")
    seen.append(docker_engine.digest(tmp_path))
    (tmp_path / "link").symlink_to("a")
    seen.append(docker_engine.digest(tmp_path))
    assert len(set(seen)) == len(seen)
    assert docker_engine.digest(tmp_path) == seen[-1]


def test_the_error_of_an_image_that_cannot_be_built_names_the_cause(
    container_config: DockerConfig, tmp_path: Path
) -> None:
    docker = Docker(DockerConfig(build=str(tmp_path)))
    with pytest.raises(CairnError, match=r"there is no .*Dockerfile"):
        docker.session()
    (tmp_path / "Dockerfile").write_text(f"FROM {container_config.image}\nCOPY nothing /said\n")
    with pytest.raises(SandboxFailure, match="nothing"):
        docker.session()


# -- missing requirements ----------------------------------------------------------------------------------------------


def test_the_error_of_a_missing_image_names_the_command(container_config: DockerConfig) -> None:
    docker = Docker(DockerConfig(image="cairn-test:none"))
    assert (
        docker.problem()
        == "the engine has no image 'cairn-test:none'; get it (docker pull cairn-test:none), or name another"
    )
    with pytest.raises(CairnError, match="'docker' cannot be used: the engine has no image"):
        docker.session()


def test_the_error_of_missing_gvisor_names_the_command(container_config: DockerConfig) -> None:
    problem = Docker(container_config.model_copy(update={"gvisor": True})).problem()
    assert problem is not None
    assert "no runtime 'runsc'" in problem
    assert "sudo runsc install" in problem


def test_the_error_of_a_missing_engine_names_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    problem = Docker(DockerConfig()).problem()
    assert problem is not None
    assert f"no engine answers at unix://{tmp_path}/none.sock" in problem
    assert "DOCKER_HOST" in problem
    with pytest.raises(SandboxFailure, match="did not start"):
        Docker(DockerConfig()).launch(Limits())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_error_of_missing_permission_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "engine.sock"))
        listening.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
        found: list[str | None] = []

        def look() -> None:
            _become_nobody()
            found.append(Docker(DockerConfig()).problem())

        as_nobody = threading.Thread(target=look)
        as_nobody.start()
        as_nobody.join()
    assert found[0] is not None
    assert "may not talk to the engine" in found[0]
    assert "usermod -aG docker" in found[0]


def _become_nobody() -> None:
    """Give up this thread's rights, not the process's: the C library would change all threads."""
    import ctypes
    import platform

    number = {"x86_64": 117, "aarch64": 147}[platform.machine()]  # setresuid
    assert ctypes.CDLL(None).syscall(number, 65534, 65534, 65534) == 0


def test_without_the_sdk_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    monkeypatch.setitem(sys.modules, "docker.errors", None)
    assert "pip install 'docker>=" in str(Docker(DockerConfig()).problem())
    with pytest.raises(MissingExtraError):
        Docker(DockerConfig()).launch(Limits())


# -- frames ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def attached(*parts: bytes) -> Iterator[Attached]:
    """Give streams over which these bytes come, one part after another, and then their end."""
    ours, theirs = socket.socketpair()

    def say() -> None:
        for part in parts:
            theirs.sendall(part)
            time.sleep(0.002)
        theirs.close()

    saying = threading.Thread(target=say)
    saying.start()
    yield Attached(ours)
    saying.join()
    ours.close()


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BxxxI", kind, len(data)) + data


def test_frames_are_put_together_and_errors_kept_aside() -> None:
    whole = frame(1, b"abc") + frame(2, b"oh ") + frame(1, b"") + frame(1, b"defg") + frame(2, b"no\n")
    for cut in range(len(whole)):  # however it comes
        with attached(whole[:cut], whole[cut:]) as streams:
            assert [streams.read(2, 5), streams.read(4, 5)] == [b"ab", b"cdef"]
            assert streams.read(1, 5) == b"g"
            with pytest.raises(OSError, match="ended"):
                streams.read(1, 5)
            assert streams.error_output() == "oh no"


def test_data_that_does_not_arrive_in_time_raises_an_error() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(frame(1, b"abc"))
        began = time.monotonic()
        with pytest.raises(OSError, match="timed out"):
            Attached(ours).read(4, 0.2)
        assert time.monotonic() - began < 2
