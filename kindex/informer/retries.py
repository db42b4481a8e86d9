"""When to ask again: exponential delays with jitter, and a bound on the rate of requests that nothing can lift."""

from __future__ import annotations

import attrs
import msgspec

from kindex.informer.settings import number

_BURST = 4
_WINDOW_SECONDS = 1.25  # not 1.0: then a second that counts both of its ends would see a fifth request
_MOST_STEPS = 64  # of growth: no cap is further away, and no power overflows


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How long to wait after errors.

    The delay grows from the first by *factor* with each failure in a row, up to *cap_seconds*. A random part of up to
    *jitter* of it is taken off, so that the clients of a server that comes back do not all come at once. What the
    server asks for (Retry-After) is kept, up to *longest_retry_after_seconds*.

    A row of failures ends with a watch that was healthy: it brought something, or lived for *healthy_seconds*.

    >>> [RetryPolicy(jitter=0).delay_seconds(failures, 0.5) for failures in (1, 2, 3, 10)]
    [1.0, 2.0, 4.0, 30.0]
    """

    first_seconds: float = attrs.field(default=1.0, validator=number())
    factor: float = attrs.field(default=2.0, validator=number(least=1))
    cap_seconds: float = attrs.field(default=30.0, validator=number())
    jitter: float = attrs.field(default=0.5, validator=number(most=1))
    healthy_seconds: float = attrs.field(default=10.0, validator=number())
    longest_retry_after_seconds: float = attrs.field(default=300.0, validator=number())

    def delay_seconds(self, failures: int, luck: float, retry_after_seconds: float | None = None) -> float:
        """Give the delay after so many failures in a row.

        Args:
            failures: in a row, from 1.
            luck: a random number from 0 to 1.
            retry_after_seconds: what the server asked for; never less than that, and not the same for everyone.

        >>> RetryPolicy().delay_seconds(1, 1.0), RetryPolicy().delay_seconds(1, 0.0, retry_after_seconds=7)
        (0.5, 7.5)
        """
        full = min(self.cap_seconds, self.first_seconds * self.factor ** min(failures - 1, _MOST_STEPS))
        delay = full * (1 - self.jitter * luck)
        if retry_after_seconds is None:
            return delay
        asked = min(retry_after_seconds, self.longest_retry_after_seconds)
        return max(delay, asked + self.jitter * (1 - luck) * min(self.first_seconds, full))


class Pace(msgspec.Struct, frozen=True):
    """When the last requests were sent, and so when the next one may be.

    Four may follow each other at once, as a list and its watch do; in the long run there are 3.2 a second. Unlike a
    delay after errors this holds whatever happens: also for a server that answers well, and at once, for ever.

    >>> pace = Pace().sent(10.0).sent(10.0).sent(10.5).sent(10.5)
    >>> pace.earliest(10.5)
    11.25
    """

    times: tuple[float, ...] = ()

    def earliest(self, at: float) -> float:
        """Give the time from which a request may be sent, *at* the earliest."""
        return at if len(self.times) < _BURST else max(at, self.times[0] + _WINDOW_SECONDS)

    def sent(self, at: float) -> Pace:
        """Give the pace after a request."""
        return Pace((*self.times[1 - _BURST :], at))
