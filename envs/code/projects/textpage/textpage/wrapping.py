"""Breaks texts into lines."""


def wrap(text, width):
    """List the lines of a text, none longer than `width`."""
    lines = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) <= width:
            line += " " + word
            continue
        if line:
            lines.append(line)
        while len(word) > width:
            lines.append(word[:width])
            word = word[width:]
        line = word
    if line:
        lines.append(line)
    return lines


def hang(text, width, first, rest):
    """Wrap a text behind a prefix for its first line and one for all others."""
    lines = wrap(text, width - len(first))
    return [(rest if number else first) + line for number, line in enumerate(lines)]
