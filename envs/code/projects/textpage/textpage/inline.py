"""Marks within a text: capitals, links, and characters that stand for themselves."""

import re

_MARKS = re.compile(r"\\([*\[])|\*([^*]+)\*|\[([^\]]*)\]\(([^)]*)\)")


def plain(text, targets):
    """Return a text without marks; new targets of links are appended to `targets`."""

    def replaced(match):
        escaped, loud, label, target = match.groups()
        if escaped:
            return escaped
        if loud:
            return loud.upper()
        return f"{label} [{_number(target, targets)}]"

    return _MARKS.sub(replaced, text)


def _number(target, targets):
    if target not in targets:
        targets.append(target)
    return targets.index(target) + 1
