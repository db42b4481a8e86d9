"""What goes wrong between a source and its server, sorted by what can be done about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import Any

from kindex.errors import KindexError


class ErrorKind(Enum):
    """What can be done about an error; statistics are kept by these.

    >>> SourceError("no", status=403).kind
    <ErrorKind.RIGHTS: 'rights'>
    """

    RIGHTS = "rights"
    """403: somebody has to grant them; ask again now and then."""
    CREDENTIALS = "credentials"
    """401: the source has to renew them."""
    MISSING = "missing"
    """404: the server does not serve this kind, or not yet."""
    REQUEST = "request"
    """Other 4xx, and 501: the server refuses the request as it is, such as a malformed selector."""
    EXPIRED = "expired"
    """410: the server no longer knows the resource version or the continue token."""
    AHEAD = "ahead"
    """504 with "Too large resource version": the server does not know the version yet, or never will."""
    THROTTLED = "throttled"
    """429: too many requests."""
    SERVER = "server"
    """5xx and timeouts: the server failed."""
    NETWORK = "network"
    """No answer, or one that broke off."""
    PROTOCOL = "protocol"
    """An answer that is not what a list or a watch answers."""
    SILENCE = "silence"
    """A watch gave nothing by its deadline."""
    STORE = "store"
    """The store refused what the source gave."""


_REASONS = {
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "Gone": 410,
    "Expired": 410,
    "Invalid": 422,
    "TooManyRequests": 429,
    "InternalError": 500,
    "ServiceUnavailable": 503,
    "Timeout": 504,
}
"""The statuses of reasons that stand without one, as some ERROR events have them."""

_TOO_LARGE = "ResourceVersionTooLarge"


class SourceError(KindexError, OSError):
    """A list or a watch failed.

    Args:
        message: what the server or the network said.
        status: the HTTP status, or the ``code`` of a Status object; None where there was no answer.
        reason: the ``reason`` of a Status object.
        retry_after_seconds: how long the server asks to be left alone.
        kind: what can be done about it; concluded from the others when it is not given.

    >>> error = SourceError.of_response(410, '{"kind": "Status", "reason": "Expired", "message": "too old"}')
    >>> error.kind, str(error)
    (<ErrorKind.EXPIRED: 'expired'>, '410 Expired: too old')
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str = "",
        retry_after_seconds: float | None = None,
        kind: ErrorKind | None = None,
    ) -> None:
        self.message = message
        self.status = _REASONS.get(reason) if status is None else status
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds
        self.kind = kind or _kind_of(self.status, reason, message)
        heading = " ".join(str(part) for part in (self.status, reason) if part)
        super().__init__(f"{heading}: {message}" if heading and message else heading or message)

    @classmethod
    def of_status(
        cls, status: object, *, code: int | None = None, retry_after_seconds: float | None = None
    ) -> SourceError:
        """Read a Status object, as error responses and ERROR events carry it.

        Args:
            status: the decoded object; anything else gives an error of kind PROTOCOL.
            code: the HTTP status, which counts for more than the object's own.
            retry_after_seconds: of the header; that of the object's details, when there is none.

        >>> SourceError.of_status({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}).status
        403
        """
        if not isinstance(status, Mapping):
            return cls(f"not a Status object: {_shortened(status)}", status=code, kind=ErrorKind.PROTOCOL)
        found = status.get("code")
        if code is None and isinstance(found, int) and not isinstance(found, bool) and found > 0:
            code = found
        details = _map(status.get("details"))
        if retry_after_seconds is None:
            retry_after_seconds = _seconds(details.get("retryAfterSeconds"))
        causes = details.get("causes")
        ahead = isinstance(causes, list) and any(_map(cause).get("reason") == _TOO_LARGE for cause in causes)
        reason, message = _text(status.get("reason")), _text(status.get("message"))
        if code is None and reason not in _REASONS:
            return cls(f"a Status object that tells no error: {_shortened(dict(status))}", kind=ErrorKind.PROTOCOL)
        return cls(
            message,
            status=code,
            reason=reason,
            retry_after_seconds=retry_after_seconds,
            kind=ErrorKind.AHEAD if ahead else None,
        )

    @classmethod
    def of_response(cls, status: int, body: str | bytes = b"", retry_after: str | None = None) -> SourceError:
        """Read a response that is an error.

        Args:
            status: of HTTP.
            body: as it came; a Status object in JSON, or whatever a proxy writes.
            retry_after: the header of that name. Its seconds count; a date would need the clock, and is left out.
        """
        try:
            decoded = json.loads(body)
        except ValueError:  # which bytes that are no text raise, too
            decoded = None
        seconds = _seconds(retry_after)
        if isinstance(decoded, dict) and decoded.get("kind") == "Status":
            return cls.of_status(decoded, code=status, retry_after_seconds=seconds)
        text = body.decode(errors="replace") if isinstance(body, bytes) else body
        return cls(_shortened(text.strip()), status=status, retry_after_seconds=seconds)

    @classmethod
    def of(cls, error: Exception) -> SourceError:
        """Give *error* as a SourceError, whatever a source raised.

        An OSError, which every connection error and timeout is, is of kind NETWORK; anything else, such as text that
        is no JSON or a slip in the source, is of kind PROTOCOL. *error* becomes the cause.
        """
        if isinstance(error, SourceError):
            return error
        network = isinstance(error, OSError)
        made = cls(
            f"{type(error).__name__}: {error}".rstrip(": "), kind=ErrorKind.NETWORK if network else ErrorKind.PROTOCOL
        )
        made.__cause__ = error
        return made


def _kind_of(status: int | None, reason: str, message: str) -> ErrorKind:
    match status:
        case None:
            return ErrorKind.NETWORK
        case 401:
            return ErrorKind.CREDENTIALS
        case 403:
            return ErrorKind.RIGHTS
        case 404:
            return ErrorKind.MISSING
        case 410:
            return ErrorKind.EXPIRED
        case 429:
            return ErrorKind.THROTTLED
        case 408:
            return ErrorKind.SERVER
        case 501:
            return ErrorKind.REQUEST
    if reason in ("Expired", "Gone"):
        return ErrorKind.EXPIRED
    # Servers before 1.19 give no cause, only this sentence.
    if message.startswith("Too large resource version"):
        return ErrorKind.AHEAD
    if status >= 500:
        return ErrorKind.SERVER
    return ErrorKind.REQUEST if status >= 400 else ErrorKind.PROTOCOL


def _seconds(value: object) -> float | None:
    try:
        seconds = float(value)  # type: ignore[arg-type]  # whatever it cannot read raises
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if isfinite(seconds) and seconds > 0 else None


def _map(value: object) -> Mapping[str, Any]:  # Any: JSON
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _shortened(value: object, limit: int = 200) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[:limit] + "..."
