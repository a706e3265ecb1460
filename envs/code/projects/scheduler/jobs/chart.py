"""Draws what ran as lines of letters."""


def chart(rows, width=1):
    """Return a line for each worker that has rows."""
    lines = []
    for worker in sorted({row[1] for row in rows}):
        line = ""
        at = 0
        for name, _, begin, end in sorted((row for row in rows if row[1] == worker), key=lambda row: row[2]):
            line += "." * (begin - at) * width + name[0] * (end - begin) * width
            at = end
        lines.append(f"{worker}: {line}")
    return lines
