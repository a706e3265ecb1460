"""Writes and reads amounts."""

import re

_AMOUNT = re.compile(r"(-?)(\d+|\d{1,3}(?:,\d{3})+)\.(\d\d)")


def euros(cents):
    """Return cents as a text like "1,234.05"."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}.{rest:02d}"


def cents(text):
    """Return the cents of such a text."""
    match = _AMOUNT.fullmatch(text)
    if not match:
        raise ValueError(f"no amount: {text!r}")
    sign, whole, rest = match.groups()
    amount = int(whole.replace(",", "")) * 100 + int(rest)
    return -amount if sign else amount
