"""Allowed destinations of a sandbox's programs: names and addresses with ports.

    pypi.org:443          this name
    *.example.org:443     every name below example.org, and not example.org itself
    127.0.0.1:8080        this exact address, even if it is not public; [::1]:8080 likewise
    pypi.org:443@10.0.0.5 this name, at this address; DNS is not asked

Names are resolved on the host, and only listed names are: a program cannot send data through DNS queries. A name leads
to public addresses only, regardless of its DNS records: never to the host, its networks or link-local services. Those
are reached only if the list has the address itself or gives it for a name.

Limits: two names that share an address and a port, as at many hosting companies, cannot be distinguished behind it. A
listed server may forward any data.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # as a last label: the C library accepts 127.1 and 0x7f000001 as addresses
_PORT = re.compile(r"[0-9]{1,5}")
_UNICAST = ipaddress.ip_network("2000::/3")
_MOST_NAME, _MOST_PORT = 253, 65535

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class NotAllowed(Exception):  # noqa: N818  (an answer)
    """An address that programs may not reach; the text has the reason."""


class Unknown(Exception):  # noqa: N818  (an answer)
    """A name that cannot be resolved."""


def split(text: str) -> tuple[str, int]:
    """Return host and port in canonical form: lower case, and addresses in their usual form.

    Raises:
        ValueError: it is not `host:port`.
    """
    host, _, port = text.lower().rpartition(":")
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= _MOST_PORT:
        raise ValueError(f"expected host:port with a port of 1 to {_MOST_PORT}, got {text!r:.80}")
    is_bracketed = host.startswith("[") and host.endswith("]")
    address = _address(host[1:-1] if is_bracketed else host)
    if address is not None and is_bracketed == (address.version == 6):
        return str(address), int(port)
    if len(host) > _MOST_NAME or not _NAME.fullmatch(host) or _NUMBER.fullmatch(host.rpartition(".")[2]):
        raise ValueError(f"expected a name, an IPv4 address or an IPv6 address in brackets, got {host!r:.80}")
    return host, int(port)


def joined(host: str, port: int) -> str:
    """Return `host:port`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _entry(text: str) -> str:
    """Check an entry of a list, and return it in canonical form."""
    what, at, where = text.partition("@")
    is_below = what.startswith("*.")
    host, port = split(what.removeprefix("*."))
    if is_below and ("." not in host or _address(host) is not None):
        raise ValueError(f"expected a name with a dot behind '*.', got {text!r:.80}")
    if at and (_address(where) is None or _address(host) is not None):
        raise ValueError(f"expected name:port@address, got {text!r:.80}")
    if not at and f".{host}".endswith(".localhost"):
        raise ValueError(f"names lead to public addresses alone; list the address itself: 127.0.0.1:{port}")
    return ("*." if is_below else "") + joined(host, port) + (f"@{_address(where)}" if at else "")


Destination = Annotated[str, AfterValidator(_entry)]


class AllowList:
    """The allowed destinations of a sandbox."""

    def __init__(self, entries: Sequence[str]) -> None:
        """Store the entries, which `Destination` has checked."""
        self._places = {what: where for what, _, where in (entry.partition("@") for entry in entries)}

    def __str__(self) -> str:
        """The allowed names for programs, without the addresses given for them."""
        return ", ".join(self._places)

    def route(self, host: str, port: int) -> list[str]:
        """Return the addresses of a listed host; blocks on DNS.

        Raises:
            NotAllowed: the list does not have it, or its addresses are not public.
            Unknown: its name cannot be resolved.
        """
        place = self._place(host, port)
        if place is None:
            raise NotAllowed("it is not on the list")
        if place or _address(host) is not None:
            return [place or host]
        found = _looked_up(host, port)
        public = [text for text in found if is_public(ipaddress.ip_address(text))]
        if not public:
            raise NotAllowed(f"its name leads to {', '.join(found[:4])}, which is not public")
        return public

    def _place(self, host: str, port: int) -> str | None:
        """Return the address that the list gives for a host.

        "" if it is listed without one, None if it is not listed.
        """
        labels = [] if _address(host) is not None else host.split(".")
        above = (f"*.{joined('.'.join(labels[i:]), port)}" for i in range(1, len(labels)))
        return next((self._places[name] for name in (joined(host, port), *above) if name in self._places), None)


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public Internet, and not to this machine."""
    if not address.is_global or address.is_multicast:
        return False
    if address.version == 6 and (address not in _UNICAST or address.sixtofour is not None):
        return False  # the other ranges include all that embed an IPv4 address
    return not _is_of_this_machine(address)


def _is_of_this_machine(address: Address) -> bool:
    """Whether a socket can be bound to it here."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def _address(text: str) -> Address | None:
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def _looked_up(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unknown(f"its name leads nowhere ({error.strerror})") from None
    return list(dict.fromkeys(str(at[0]).partition("%")[0] for *_, at in found))
