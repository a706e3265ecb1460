"""Which addresses the programs of a sandbox may reach: a list of names and addresses, each with its port.

    pypi.org:443          this name
    *.example.org:443     every name below example.org, and not example.org itself
    127.0.0.1:8080        this very address, wherever it leads; [::1]:8080 likewise
    pypi.org:443@10.0.0.5 this name, at this address; DNS is not asked

Names are resolved on the host, and only those that the list has: no program can send anything by asking for names. A
name leads to public addresses alone, whatever its DNS says: never to the host, its networks or link-local services,
which are reached only where the list has the address itself or says that the name is there.

Not kept: two names that share an address and a port, as at many hosting companies, are not told apart behind it; and a
listed server passes on what it likes.
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
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # as a last label: the C library takes 127.1 and 0x7f000001 for addresses
_PORT = re.compile(r"[0-9]{1,5}")
_UNICAST = ipaddress.ip_network("2000::/3")
_MOST_NAME, _MOST_PORT = 253, 65535

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class NotAllowed(Exception):  # noqa: N818  (an answer)
    """An address that programs may not reach; the text says why."""


class Unknown(Exception):  # noqa: N818  (an answer)
    """A name that leads nowhere."""


def split(text: str) -> tuple[str, int]:
    """Return host and port as they are compared: in lower case, addresses in their one usual form.

    Raises:
        ValueError: it is no `host:port`.
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
    """Check an entry of a list, and return it as it is compared."""
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
    """What may be reached."""

    def __init__(self, entries: Sequence[str]) -> None:
        """`entries`: as `Destination` has checked them."""
        self._places = {what: where for what, _, where in (entry.partition("@") for entry in entries)}

    def __str__(self) -> str:
        """What may be reached, for programs: not where it is."""
        return ", ".join(self._places)

    def route(self, host: str, port: int) -> list[str]:
        """Return the addresses at which a listed host is; waits for DNS.

        Raises:
            NotAllowed: the list does not have it, or it leads to what is not public.
            Unknown: its name leads nowhere.
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
        """Return the address that the list gives for it; empty: it gives none, None: it does not have it."""
        labels = [] if _address(host) is not None else host.split(".")
        above = (f"*.{joined('.'.join(labels[i:]), port)}" for i in range(1, len(labels)))
        return next((self._places[name] for name in (joined(host, port), *above) if name in self._places), None)


def is_public(address: Address) -> bool:
    """Whether an address belongs to the Internet at large, and not to this machine."""
    if not address.is_global or address.is_multicast:
        return False
    if address.version == 6 and (address not in _UNICAST or address.sixtofour is not None):
        return False  # among these are all that hide an IPv4 address
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
