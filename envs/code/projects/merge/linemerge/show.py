"""Shows changes as lines of text."""

from linemerge.diff import diff


def unified(old, new, context=1):
    """List hunks, with some matched lines around changes."""
    shown = []
    shift = 0
    for hunk in _hunks(diff(old, new), context):
        start = max(0, hunk[0][0] - context)
        end = min(len(old), hunk[-1][1] + context)
        body, grown = _body(old, hunk, start, end)
        shown.append(f"@@ {_range(start, end)} {_range(start + shift, end + shift + grown)} @@")
        shown += body
        shift += grown
    return shown


def summary(old, new):
    """Count added and removed lines in words."""
    changes = diff(old, new)
    if not changes:
        return "no changes"
    added = sum(len(lines) for _, _, lines in changes)
    removed = sum(end - start for start, end, _ in changes)
    return f"{added} added, {removed} removed"


def _hunks(changes, context):
    """List groups of changes whose surroundings touch."""
    hunks = []
    for change in changes:
        if hunks and change[0] - context <= hunks[-1][-1][1] + context:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _body(old, hunk, start, end):
    """Return the lines of a hunk, and by how many lines it grows."""
    body = []
    grown = 0
    place = start
    for change_start, change_end, lines in hunk:
        body += [" " + line for line in old[place:change_start]]
        body += ["-" + line for line in old[change_start:change_end]]
        body += ["+" + line for line in lines]
        grown += len(lines) - (change_end - change_start)
        place = change_end
    return body + [" " + line for line in old[place:end]], grown


def _range(start, end):
    return f"{start + 1 if end > start else start},{end - start}"
