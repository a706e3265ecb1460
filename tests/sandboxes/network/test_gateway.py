"""A network by allow-list: reachable addresses, blocked addresses, and the errors for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.sandboxes import destinations
from cairn.sandboxes.attacks.attack import attacks
from cairn.sandboxes.attacks.attack_run import run_battery
from cairn.sandboxes.base import Session
from tests.sandboxes.network.listening import LIMITS, NEVER, PRELUDE, Listener, listener, networked, ran
from tests.sandboxes.usable import usable

pytestmark = pytest.mark.xdist_group("sandbox-network")


@pytest.fixture
def session(network_session: Session) -> Session:
    return network_session


# -- listed addresses --------------------------------------------------------------------------------------------------


def test_a_listed_address_is_reached_and_answers_whole(session: Session, listed: Listener) -> None:
    result = ran(
        session, f"print(get('http://{listed.address}/a?b'), get('http://{listed.address}/c', b'sent' * 9999))"
    )
    assert result.output.startswith("b'body of /a?b' b'body of /csentsent")
    assert len(result.output) > 4 * 9999
    assert (result.refused, result.num_refused) == ((), 0)
    assert listed.visits[1] == f"/a?b {listed.address} close"
    assert ran(session, f"print(len(get('http://{listed.address}/long')))").output == f"{1 << 20}\n"


def test_a_tunnel_for_any_bytes_is_opened_to_a_listed_address(session: Session, listed: Listener) -> None:
    program = f"""
connection, said = opened("{listed.address}")
connection.sendall(b"GET /through HTTP/1.0\\r\\n\\r\\n")
print(said.splitlines()[0], connection.makefile("rb").read().endswith(b"body of /through"))
"""
    assert ran(session, program).output == "HTTP/1.1 200 Connection established True\n"
    assert listed.visits == ["connection", "/through None None"]


def test_commands_use_the_proxy_variables(session: Session, listed: Listener) -> None:
    program = f"import urllib.request; print(urllib.request.urlopen('http://{listed.address}/').status)"
    assert session.run(["/usr/bin/python3", "-c", program]).output == "200\n"
    reported = session.run(["env"]).output.splitlines()
    assert {"http_proxy=http://127.0.0.1:3128", "HTTPS_PROXY=http://127.0.0.1:3128", "no_proxy="} <= set(reported)


def test_a_name_is_at_the_address_that_the_list_gives_it(listed: Listener) -> None:
    with networked(f"mirror.example:{listed.port}@127.0.0.1").session(LIMITS) as session:
        listed.visits.clear()
        ran(session, f"print(get('http://mirror.example:{listed.port}/'))")
        assert listed.visits[1:] == [f"/ mirror.example:{listed.port} close"]
        refused = ran(session, f"print(get('http://127.0.0.1:{listed.port}/'))")
        assert refused.num_refused == 1
        assert refused.output.endswith(f"Programs may reach mirror.example:{listed.port}\n")  # and not where that is


def test_a_listed_server_that_is_down_gives_bad_gateway() -> None:
    with listener() as gone:
        pass
    with networked(gone.address).session(LIMITS) as session:
        result = ran(session, f"print(get('http://{gone.address}/'))")
    assert result.output.startswith("502 Bad Gateway: " + gone.address)
    assert result.num_refused == 0


def test_certificates_of_the_system_are_there(session: Session) -> None:
    folder = Path("/etc/ssl/certs")
    if not (folder / "ca-certificates.crt").exists():
        pytest.skip("this machine has no certificates in /etc/ssl/certs")
    asked = "import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 10)"
    assert session.run(["/usr/bin/python3", "-c", asked]).output == "True\n"
    with usable("bubblewrap").session(LIMITS) as without:
        assert without.run(["ls", "/etc/ssl"]).exit_code != 0


# -- other addresses ---------------------------------------------------------------------------------------------------


def test_without_a_list_programs_have_no_network(listed: Listener) -> None:
    with usable("bubblewrap").session(LIMITS) as session:
        result = session.run_python(PRELUDE + f"print(get('http://{listed.address}/'))")
        assert "Address family not supported" in result.output
        assert "proxy" not in session.run(["env"]).output.lower()
        assert result.num_refused == 0


def test_another_address_is_refused_reported_and_counted(session: Session, listed: Listener, other: Listener) -> None:
    program = f"""
print(get("http://{other.address}/"), get("http://{other.address}/", bytes(4 << 20)))
print(opened("{other.address}")[1])
print(opened("evil.example:443")[1].splitlines()[0])
"""
    result = ran(session, program)
    why = f"{other.address}: it is not on the list"
    reported = f"{why}. Programs may reach {listed.address}"
    lines = result.output.splitlines()
    assert lines[0] == f"403 Not allowed by the sandbox: {reported} 403 Not allowed by the sandbox: {reported}"
    assert lines[1].startswith("HTTP/1.1 403 Not allowed by the sandbox")
    assert reported in lines
    assert lines[-1] == "HTTP/1.1 403 Not allowed by the sandbox"
    assert (result.refused, result.num_refused) == ((why, "evil.example:443: it is not on the list"), 4)
    assert other.visits == []
    assert ran(session, "print(1)").num_refused == 0


def test_nothing_is_reached_but_through_the_gateway(session: Session, listed: Listener) -> None:
    program = f"""
try:
    socket.create_connection(("127.0.0.1", {listed.port}), 5)
except ConnectionRefusedError:
    print("refused: this is another loopback")
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(error.strerror)
"""
    assert ran(session, program).output == "refused: this is another loopback\nNetwork is unreachable\n"
    assert listed.visits == []


def test_no_sockets_but_streams_over_tcp(session: Session) -> None:
    program = """
for kind in ((2, 1, 0), (2, 1 | 0o4000, 6), (2, 2, 0), (2, 3, 1), (2, 3, 255), (2, 1, 132), (2, 1, 262), (10, 1, 0),
             (10, 2, 0), (16, 3, 0), (17, 3, 768), (38, 5, 0), (40, 1, 0)):
    try:
        socket.socket(*kind).close()
        print(kind)
    except OSError:
        pass
"""
    assert ran(session, program).output == "(2, 1, 0)\n(2, 2049, 6)\n".replace("2049", str(1 | 0o4000))


@pytest.mark.parametrize("leads_to", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"])
def test_a_listed_name_that_leads_to_the_host_or_its_networks_is_refused(
    monkeypatch: pytest.MonkeyPatch, listed: Listener, leads_to: str
) -> None:
    """As the owner of a name can have it: here the answer of DNS is put in the place of the real one."""
    monkeypatch.setattr(destinations, "_looked_up", lambda *_: [leads_to])
    listed.visits.clear()
    with networked(f"name.example:{listed.port}").session(LIMITS) as session:
        result = ran(session, f"print(get('http://name.example:{listed.port}/'))")
    assert result.refused == (f"name.example:{listed.port}: its name leads to {leads_to}, which is not public",)
    assert result.output.startswith("403 ")
    assert listed.visits == []


def test_attacks_do_not_succeed_beside_a_network_either() -> None:
    names = ("tcp", "udp", "raw", "socket", "streams", "descriptors", "kill", "parent", "namespaces", "forged")
    chosen = [attack for attack in attacks() if any(name in attack.name.lower() for name in names)]
    assert len(chosen) > 10
    trials = list(run_battery(networked(NEVER), chosen))
    assert [f"{trial.attack.name}: {trial.problem}" for trial in trials if trial.problem is not None] == []


def test_a_gateway_with_a_hole_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destinations.AllowList, "_place", lambda *_: "")
    chosen = [attack for attack in attacks() if attack.name == "TCP by way of the gateway"]
    (trial,) = run_battery(networked(NEVER), chosen)
    assert "ESCAPED: CONNECT 127.0.0.1:" in (trial.problem or "")
