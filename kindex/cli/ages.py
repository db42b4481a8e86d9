"""Ages in kubectl's short form: ``45s``, ``5m30s``, ``3h``, ``12d``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

UNKNOWN: Final = "<unknown>"
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


def age_of(timestamp: object, now: datetime) -> str:
    """Tell how long ago *timestamp*, RFC 3339 text, was; ``<unknown>`` for anything else.

    >>> age_of("2026-01-01T00:00:00Z", datetime(2026, 1, 1, 0, 5, 30, tzinfo=UTC))
    '5m30s'
    """
    then = _instant(timestamp)
    return UNKNOWN if then is None else short_form(now - then)


def age_between(start: object, end: object, now: datetime) -> str:
    """Tell how long it took from *start* to *end*, or up to *now* when it has not ended."""
    began = _instant(start)
    ended = now if end is None else _instant(end)
    return UNKNOWN if began is None or ended is None else short_form(ended - began)


def short_form(span: timedelta) -> str:
    """Print a span of time: two units while it is short, one when that says enough.

    >>> [short_form(timedelta(seconds=s)) for s in (0, 119, 125, 600, 11_000, 90_000, 200_000, 8 * 86_400)]
    ['0s', '119s', '2m5s', '10m', '3h3m', '25h', '2d7h', '8d']
    >>> short_form(timedelta(days=800)), short_form(timedelta(days=4_000)), short_form(timedelta(seconds=-5))
    ('2y70d', '10y', '<invalid>')
    """
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(0, seconds)
    for limit, unit, name, smaller, smaller_name in _FORMS:
        if seconds < limit:
            count, rest = divmod(seconds, unit)
            part = rest // smaller if smaller else 0
            return f"{count}{name}{part}{smaller_name}" if part else f"{count}{name}"
    return f"{seconds // _YEAR}y"


# Below the limit: the unit, and a smaller one where the unit alone says too little.
_FORMS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def _instant(timestamp: object) -> datetime | None:
    if not isinstance(timestamp, str):
        return None
    try:
        instant = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
