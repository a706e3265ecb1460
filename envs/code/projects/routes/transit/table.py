"""Departures and arrivals of a line."""


def timetable(minutes, first, every, last):
    """List the times at all stops for every departure up to `last`."""
    return [_times(minutes, departure) for departure in _departures(first, every, last)]


def next_departure(time, first, every, last):
    """Return the first departure at a time or later, None after the last one."""
    for departure in _departures(first, every, last):
        if departure >= time:
            return departure
    return None


def _departures(first, every, last):
    if every < 1:
        raise ValueError(f"departures are at least 1 minute apart, got {every}")
    return range(first, last + 1, every)


def _times(minutes, departure):
    times = [departure]
    for ride in minutes:
        times.append(times[-1] + ride)
    return times
