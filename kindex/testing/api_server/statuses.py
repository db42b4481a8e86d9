"""What the server refuses, and how it says so: the Status objects of the Kubernetes API."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from kindex.errors import KindexError

if TYPE_CHECKING:
    from kindex.testing.api_server.requests import Request
    from kindex.testing.manifests import RawObject

# Where the API's word is not the one that HTTP has for the code.
_REASONS: Final[Mapping[int, str]] = {
    400: "BadRequest",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    504: "Timeout",
}


class ApiError(KindexError, RuntimeError):
    """A request that the server refuses: an HTTP client sees a Status, a caller in Python this.

    Attributes:
        code: the HTTP status.
        reason: the API's word for it, which clients decide by: ``NotFound``, ``Conflict``, ``Expired`` ...
        details: ``details`` of the Status, or None.
        continue_token: what an expired list may be continued with, inconsistently.
        retry_after: the seconds that the client is told to wait, or None.

    >>> error = ApiError(409, "the object was changed meanwhile")
    >>> error.reason, error.status()["status"]
    ('Conflict', 'Failure')
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        details: RawObject | None = None,
        continue_token: str = "",
        retry_after: int | None = None,
    ) -> None:
        """Say what is refused with *code*; *reason* is the API's word for the code where none is given."""
        self.code = code
        self.reason = reason_of(code) if reason is None else reason
        self.details = details
        self.continue_token = continue_token
        self.retry_after = retry_after
        super().__init__(message)

    def status(self) -> RawObject:
        """Give the Status object that a client gets."""
        metadata = {"continue": self.continue_token} if self.continue_token else {}
        status: RawObject = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
        status |= {"message": str(self), "reason": self.reason}
        details = dict(self.details or {})
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        if details:
            status["details"] = details
        return {**status, "code": self.code}


def reason_of(code: int) -> str:
    """Give the API's word for an HTTP status.

    >>> reason_of(404), reason_of(410), reason_of(599)
    ('NotFound', 'Expired', 'Unknown')
    """
    if code in _REASONS:
        return _REASONS[code]
    try:
        return "".join(word.capitalize() for word in HTTPStatus(code).phrase.split())
    except ValueError:
        return "Unknown"


def not_found(resource: str, name: str) -> ApiError:
    """Refuse since there is no object *name*."""
    return ApiError(404, f'{resource} "{name}" not found', details={"name": name, "kind": resource})


def unknown_path(request: Request) -> ApiError:
    """Refuse since the server has nothing at the path."""
    return ApiError(404, f"the server has no resource at {request.path}")


def invalid(field: str, message: str, *, cause: str = "FieldValueInvalid") -> ApiError:
    """Refuse since *field*, of the object or of the query, cannot be so: 422."""
    causes = [{"reason": cause, "message": message, "field": field}]
    return ApiError(422, f"{field}: {message}", details={"causes": causes})


def expired(version: int, oldest: int) -> ApiError:
    """Refuse since the history no longer reaches back to *version*."""
    return ApiError(410, f"too old resource version: {version} ({oldest})")


def too_large(version: int, newest: int) -> ApiError:
    """Refuse since *version* is in the future: clients know it by the cause, old ones by the first words."""
    message = f"Too large resource version: {version}, current: {newest}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(504, message, details={"causes": causes}, retry_after=1)
