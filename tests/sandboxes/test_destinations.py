"""Lists of addresses: valid entries, resolved addresses, and the subset of HTTP that the proxy parses."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from cairn.core.errors import ConfigError
from cairn.sandboxes import destinations
from cairn.sandboxes.destinations import AllowList, NotAllowed, Unknown
from cairn.sandboxes.network import proxy
from cairn.sandboxes.registry import new_sandbox


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("PyPI.org:443", "pypi.org:443"),
        ("*.Example.org:80", "*.example.org:80"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("[0:0::1]:22", "[::1]:22"),
        ("a_b.c-d:1", "a_b.c-d:1"),
        ("Mirror.corp:443@10.0.0.5", "mirror.corp:443@10.0.0.5"),
        ("*.corp.net:443@0:0::1", "*.corp.net:443@::1"),
        ("localhost:80@127.0.0.1", "localhost:80@127.0.0.1"),
    ],
)
def test_entries_are_kept_in_one_form(given: str, kept: str) -> None:
    assert new_sandbox("bubblewrap", network=[given]).config.network == (kept,)


@pytest.mark.parametrize(
    "given",
    [
        *("pypi.org", "pypi.org:0", "pypi.org:65536", "pypi.org:000443", "pypi.org:x", "pypi.org:²", ":443", "*:443"),
        *("*.org:443", "*.1.2.3.4:80", "a.*.org:443", "127.1:80", "0x7f000001:80", "1.2.3.4.5:80", "::1:80"),
        *("[::1:80", "[1.2.3.4]:80", "[fe80::1%eth0]:80", "http://pypi.org:443", "user@pypi.org:443", "pypi.org.:443"),
        *("exämple.org:443", "-a.org:443", f"{'a.' * 130}org:443", "localhost:80", "a.localhost:80", ""),
        *(
            "a.org:443@",
            "a.org:443@b.org",
            "1.2.3.4:80@1.2.3.4",
            "a.org:443@127.1",
            "a.org@127.0.0.1",
            "a.org:1@::1%lo",
        ),
    ],
)
def test_an_invalid_entry_is_rejected_with_the_expected_form(given: str) -> None:
    with pytest.raises(ConfigError, match=r"network\.0: .*(expected|list the address itself)"):
        new_sandbox("bubblewrap", network=[given])


def test_a_list_has_its_names_and_ports_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def looked_up(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["1.1.1.1", "10.0.0.1"]

    monkeypatch.setattr(destinations, "_looked_up", looked_up)
    allowed = AllowList(["example.org:443", "*.example.net:80", "127.0.0.1:8080", "[::1]:8080"])
    for host, port in (("example.org", 443), ("a.example.net", 80), ("a.b.example.net", 80)):
        assert allowed.route(host, port) == ["1.1.1.1"]  # and the private one is left out
    assert asked == ["example.org", "a.example.net", "a.b.example.net"]
    pinned = AllowList(["a.corp:443@10.0.0.5", "*.b.corp:80@::1"])
    assert (pinned.route("a.corp", 443), pinned.route("x.b.corp", 80)) == (["10.0.0.5"], ["::1"])
    assert len(asked) == 3
    assert allowed.route("127.0.0.1", 8080) == ["127.0.0.1"]
    assert allowed.route("::1", 8080) == ["::1"]
    others = [
        *(("example.org", 80), ("a.example.org", 443), ("example.net", 80), ("badexample.net", 80), ("127.0.0.1", 80)),
        *(("example.org.evil.com", 443), ("::ffff:7f00:1", 8080), ("1.1.1.1", 443)),
    ]
    for host, port in others:
        with pytest.raises(NotAllowed, match="it is not on the list"):
            allowed.route(host, port)
    assert len(asked) == 3  # DNS hears of no name that is not listed


def test_a_name_leads_to_no_address_of_this_machine() -> None:
    with pytest.raises(NotAllowed, match=r"its name leads to .*, which is not public"):
        AllowList(["localhost:80"]).route("localhost", 80)  # entries say no to it before
    with pytest.raises(Unknown, match="its name leads nowhere"):
        AllowList(["name.invalid:80"]).route("name.invalid", 80)


def test_which_addresses_are_public() -> None:
    private = [
        *("127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1"),
        *("::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:1.1.1.1"),
        *("64:ff9b::7f00:1", "64:ff9b:1::1", "fec0::1", "2002:7f00:1::", "2001:0:7f00:1::", "::7f00:1"),
    ]
    assert [text for text in private if destinations.is_public(ipaddress.ip_address(text))] == []
    for text in ("1.1.1.1", "151.101.0.223", "2606:4700:4700::1111"):
        assert destinations.is_public(ipaddress.ip_address(text))


def test_a_public_address_of_this_machine_itself_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine of these tests has one: the kernel is asked to let any address be bound, as it does its own."""
    whole = socket.socket.bind
    monkeypatch.setattr(socket.socket, "bind", lambda self, _: whole(self, ("127.0.0.1", 0)))
    assert not destinations.is_public(ipaddress.ip_address("1.1.1.1"))


def test_a_request_is_passed_on_to_the_host_that_it_names() -> None:
    head = (
        b"POST http://Example.org/a?b=c#d HTTP/1.1\r\nHost: other.org\r\nX-Kept: 1\r\nProxy-Authorization: x\r\n"
        b"Connection: keep-alive\r\nContent-Length: 2\r\n\r\n"
    )
    request = proxy.parsed(head)
    assert (request.host, request.port, request.target) == ("example.org", 80, "example.org:80")
    assert request.onward == (
        b"POST /a?b=c HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\n"
    )
    assert proxy.parsed(b"GET http://[::1]:81 HTTP/1.0\r\n\r\n").onward == (
        b"GET / HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\n\r\n"
    )
    opened = proxy.parsed(b"CONNECT example.org:443 HTTP/1.1\r\nHost: other.org\r\n\r\n")
    assert (opened.host, opened.port, opened.onward) == ("example.org", 443, b"")


@pytest.mark.parametrize(
    "head",
    [
        *(
            "",
            "GET / HTTP/1.1",
            "CONNECT example.org HTTP/1.1",
            "CONNECT example.org:443",
            "GET https://a.org/ HTTP/1.1",
        ),
        *("GET http://a.org@b.org/ HTTP/1.1", "GET http:/// HTTP/1.1", "GET http://[::1/ HTTP/1.1"),
        *("GET http://a.org:0/ HTTP/1.1", "GET http://a.org:99999/ HTTP/1.1", "GET http://a.org/ HTTP/2.0"),
        *("GET http://a.org/ HTTP/1.1\r\n folded", "GET http://a.org/ HTTP/1.1\r\nA: b\nHost: c"),
        *("GET http://a.org/ HTTP/1.1\r\nHost : c", "GET http://a\\b.org/ HTTP/1.1", "get http://a.org/ HTTP/1.1"),
    ],
)
def test_a_malformed_request_is_not_forwarded(head: str) -> None:
    with pytest.raises(proxy.ProxyRefusal, match="expected CONNECT host:port") as refused:
        proxy.parsed(f"{head}\r\n\r\n".encode("latin-1"))
    assert refused.value.answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
