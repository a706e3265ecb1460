"""Spans (start, end) in minutes: the start belongs to a span, the end does not."""


def overlap(first, second):
    """Return whether two spans share a minute."""
    return first[0] < second[1] and second[0] < first[1]


def joined(spans):
    """Sort spans and merge those that overlap or touch."""
    result = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def gaps(within, spans):
    """List what spans leave of another one."""
    left, last = within
    free = []
    for start, end in joined(spans):
        if end <= left:
            continue
        if start >= last:
            break
        if start > left:
            free.append((left, start))
        left = end
    if left < last:
        free.append((left, last))
    return free


def shared(first, second):
    """List what lies in a span of both lists."""
    first, second = joined(first), joined(second)
    both = []
    i = j = 0
    while i < len(first) and j < len(second):
        start = max(first[i][0], second[j][0])
        end = min(first[i][1], second[j][1])
        if start < end:
            both.append((start, end))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return both
