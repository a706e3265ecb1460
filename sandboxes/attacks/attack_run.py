"""Runs attacks in a sandbox, and checks that each was stopped and left nothing behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cairn.core.errors import CairnError
from cairn.sandboxes.attacks.attack import Attack, attacks
from cairn.sandboxes.base import Limits, Sandbox, Session
from cairn.sandboxes.records import Result

LIMITS = Limits(wall_s=20, cpu_s=5, memory_bytes=256 << 20, disk_bytes=32 << 20, file_bytes=24 << 20, files=2000)
_LIMITS_OF_PROGRAMS = ("memory_bytes", "processes", "disk_bytes", "files", "open_files")
_VARIABLE = "CAIRN_BATTERY_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRun:
    """The outcome of one attack."""

    attack: Attack
    problem: str | None  # the failure of the sandbox; None: the attack was stopped
    ended_by: str  # the limit, the signal or the exit status, for people


@dataclass(kw_only=True)
class Canary:
    """Targets on the host: servers on loopback addresses that record connections, and secrets."""

    tcp: int
    udp: int
    abstract: str
    unix: str
    secret: str
    secret_file: str
    visits: list[str] = field(default_factory=list)

    def prelude(self, limits: Limits) -> str:
        """Return source lines that define the names of the targets and the limits for a program."""
        names = {"TCP": self.tcp, "UDP": self.udp, "ABSTRACT": self.abstract, "UNIX": self.unix, "PID": os.getpid()}
        names |= {"SECRET": self.secret, "SECRET_FILE": self.secret_file}
        names |= {name.upper(): getattr(limits, name) for name in _LIMITS_OF_PROGRAMS}
        return "".join(f"{name} = {value!r}\n" for name, value in names.items())


def run_battery(
    sandbox: Sandbox, chosen: Sequence[Attack] | None = None, limits: Limits = LIMITS
) -> Iterator[AttackRun]:
    """Run attacks in one session, which is reset after each, as between episodes.

    Attacks that this kind of sandbox does not promise to stop are left out.

    Args:
        sandbox: the kind of sandbox.
        chosen: the attacks; None: all.
        limits: limits of the session, which determine the sizes of the attacks.

    Raises:
        CairnError: the sandbox cannot be used here.
    """
    with bait() as found, sandbox.session(limits) as session:
        for attack in attacks() if chosen is None else chosen:
            if sandbox.name not in attack.open_to:  # an attack that is not stopped would harm this machine
                yield _tried(session, attack, found)


def _tried(session: Session, attack: Attack, found: Canary) -> AttackRun:
    found.visits.clear()
    try:
        result = session.run_python(found.prelude(session.limits) + attack.source, wall_s=attack.wall_s)
        problem = _problem(attack, result, found) or _harm(session)
    except CairnError as error:
        return AttackRun(attack=attack, problem=str(error)[:200], ended_by="-")
    ended = result.limit or (f"signal {result.signal}" if result.exit_code is None else f"status {result.exit_code}")
    return AttackRun(attack=attack, problem=problem, ended_by=ended)


def _problem(attack: Attack, result: Result, found: Canary) -> str | None:
    if result.is_lost and result.limit is None:
        return "it broke the sandbox"
    if "ESCAPED" in result.output:
        return result.output[result.output.index("ESCAPED") :][:200].strip()
    if found.visits:
        return f"reached {', '.join(sorted(set(found.visits)))} of the host"
    if b"FORGED" in result.stdout:
        return "its forged answer was taken for the supervisor's"
    if attack.limits and result.limit not in attack.limits:
        return (
            f"ended by {result.limit or result.signal or result.exit_code}, not by {' or '.join(sorted(attack.limits))}"
        )
    return None


def _harm(session: Session) -> str | None:
    """Reset the session, and return the effects of the attack that the next episode would see."""
    left = session.run_python(
        "import os\nprint(sum(n.isdigit() for n in os.listdir('/proc')) if os.access('/proc', 4) else 2)"
    )
    loss = session.last_loss
    session.reset()
    if session.last_loss is not loss:
        return f"it broke the sandbox: {session.last_loss}"[:200]
    if session.list_files():
        return "files are left"
    if session.run_python("print(6 * 7)").stdout != b"42\n":
        return "the next program does not run"
    own_processes = {"bubblewrap", "docker"}  # kinds whose /proc has only the supervisor and this program
    if left.stdout.strip().isdigit() and int(left.stdout) > 2 and session.kind in own_processes:
        return f"{int(left.stdout) - 2} processes are left"
    return None


@contextlib.contextmanager
def bait() -> Iterator[Canary]:
    """Set up the canaries, on loopback addresses and in a temporary folder only."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cairn-bait-")))
        tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        abstract, unix = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        name, secret = f"cairn-bait-{secrets.token_hex(8)}", secrets.token_hex(16)
        abstract.bind(f"\0{name}")
        unix.bind(str(folder / "socket"))
        (folder / "secret").write_text(f"ESCAPED {secret}")
        (folder / "secret").chmod(0o600)
        (folder / "socket").chmod(0o777)  # as agents and databases do: only the sandbox protects it
        folder.chmod(0o711)
        found = Canary(
            tcp=tcp.getsockname()[1],
            udp=udp.getsockname()[1],
            abstract=name,
            unix=str(folder / "socket"),
            secret=secret,
            secret_file=str(folder / "secret"),
        )
        os.environ[_VARIABLE] = secret
        stack.callback(os.environ.pop, _VARIABLE, None)
        for what, server in (("a TCP server", tcp), ("an abstract socket", abstract), ("a socket file", unix)):
            server.listen()
            stack.enter_context(_attended(server, what, found))
        stack.enter_context(_attended(udp, "a UDP server", found))
        yield found


@contextlib.contextmanager
def _attended(server: socket.socket, what: str, found: Canary) -> Iterator[None]:
    """Record connections to a server until the context exits."""
    terminated = threading.Event()
    server.settimeout(0.05)

    def attend() -> None:
        while not terminated.is_set():
            with contextlib.suppress(TimeoutError):
                if server.type == socket.SOCK_DGRAM:
                    server.recv(1)
                else:
                    server.accept()[0].close()
                found.visits.append(what)

    thread = threading.Thread(target=attend, daemon=True)
    thread.start()
    try:
        yield
    finally:
        terminated.set()
        thread.join()
        server.close()
