"""What goes wrong between a source and its server: read from what it sends, sorted by what can be done."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kindex import KindexError
from kindex.sources import ErrorKind, SourceError


def status(code: int | None = None, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    if code is not None:
        found["code"] = code
    return {**found, "reason": reason, "message": message, "details": details}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, ErrorKind.REQUEST),
        (401, ErrorKind.CREDENTIALS),
        (403, ErrorKind.RIGHTS),
        (404, ErrorKind.MISSING),
        (405, ErrorKind.REQUEST),
        (408, ErrorKind.SERVER),
        (409, ErrorKind.REQUEST),
        (410, ErrorKind.EXPIRED),
        (422, ErrorKind.REQUEST),
        (429, ErrorKind.THROTTLED),
        (500, ErrorKind.SERVER),
        (501, ErrorKind.REQUEST),
        (503, ErrorKind.SERVER),
        (504, ErrorKind.SERVER),
        (200, ErrorKind.PROTOCOL),
        (302, ErrorKind.PROTOCOL),
        (None, ErrorKind.NETWORK),
    ],
)
def test_the_status_says_what_can_be_done(code: int | None, kind: ErrorKind) -> None:
    """Without a status there was no answer."""
    assert SourceError("no", status=code).kind is kind


def test_a_reason_stands_for_a_status() -> None:
    """Some ERROR events have no code; and a reason counts where a code is too general."""
    assert SourceError.of_status(status(reason="Expired")).status == 410
    assert SourceError.of_status(status(reason="Forbidden")).kind is ErrorKind.RIGHTS
    assert SourceError.of_status(status(500, "Expired")).kind is ErrorKind.EXPIRED
    assert SourceError.of_status(status(400, "Gone")).kind is ErrorKind.EXPIRED


def test_a_version_that_is_too_large_is_no_failure_of_the_server() -> None:
    """504 by its cause, and without one by its sentence; another 504 is the server's."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    by_cause = SourceError.of_status(status(504, "Timeout", "later", causes=[cause], retryAfterSeconds=1))
    assert (by_cause.kind, by_cause.retry_after_seconds) == (ErrorKind.AHEAD, 1.0)
    sentence = "Too large resource version: 9, current: 8"
    assert SourceError.of_status(status(504, "Timeout", sentence)).kind is ErrorKind.AHEAD
    assert SourceError.of_status(status(504, "Timeout", "etcd")).kind is ErrorKind.SERVER
    assert SourceError.of_status(status(504, "Timeout", causes=["odd", None])).kind is ErrorKind.SERVER


@pytest.mark.parametrize("odd", [None, "", [], "Status", 410, {}, {"kind": "Status"}, {"kind": "Pod", "code": "410"}])
def test_what_is_no_status_is_against_the_protocol(odd: Any) -> None:
    """Never an exception: it is an error that says what came."""
    error = SourceError.of_status(odd)
    assert error.kind is ErrorKind.PROTOCOL
    assert "Status object" in str(error)


def test_a_status_with_odd_members_is_read_as_far_as_it_goes() -> None:
    """Members of the wrong type count as missing."""
    error = SourceError.of_status({"kind": "Status", "code": 403, "reason": 1, "message": None, "details": "odd"})
    assert (error.kind, str(error)) == (ErrorKind.RIGHTS, "403")
    assert SourceError.of_status({"code": True, "reason": "NotFound"}).status == 404


def test_a_response_is_read_with_its_header() -> None:
    """The HTTP status counts for more than that of the body; Retry-After in seconds is taken, a date is not."""
    body = json.dumps(status(500, "TooManyRequests", "slower", retryAfterSeconds=9))
    error = SourceError.of_response(429, body, retry_after="2")
    assert (error.status, error.kind, error.retry_after_seconds) == (429, ErrorKind.THROTTLED, 2.0)
    assert SourceError.of_response(429, body.encode()).retry_after_seconds == 9.0
    dated = SourceError.of_response(503, "", retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert (dated.kind, dated.retry_after_seconds) == (ErrorKind.SERVER, None)


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", "<html>Bad Gateway</html>", "[1]", '{"kind": "Pod"}', "null"])
def test_a_response_of_somebody_else_is_read_by_its_status(body: str | bytes) -> None:
    """A proxy's page is no Status object; its text is kept, shortened."""
    error = SourceError.of_response(502, body)
    assert (error.status, error.kind) == (502, ErrorKind.SERVER)
    assert len(str(SourceError.of_response(502, "x" * 10_000))) < 250


@pytest.mark.parametrize("seconds", [0, -1, "", "soon", "nan", "inf", None, [], "1e999"])
def test_a_delay_that_is_none_is_left_out(seconds: Any) -> None:
    """The policy decides then."""
    assert SourceError.of_status(status(429, retryAfterSeconds=seconds)).retry_after_seconds is None


def test_whatever_a_source_raises_becomes_a_source_error() -> None:
    """Errors of connections are the network's, others are against the protocol, and the cause is kept."""
    given = SourceError("no", status=403)
    assert SourceError.of(given) is given
    for raised, kind, text in (
        (ConnectionResetError("reset"), ErrorKind.NETWORK, "ConnectionResetError: reset"),
        (TimeoutError(), ErrorKind.NETWORK, "TimeoutError"),
        (ValueError("no JSON"), ErrorKind.PROTOCOL, "ValueError: no JSON"),
        (AttributeError("a slip"), ErrorKind.PROTOCOL, "AttributeError: a slip"),
    ):
        error = SourceError.of(raised)
        assert (error.kind, str(error), error.__cause__) == (kind, text, raised)


def test_a_source_error_is_what_one_would_catch() -> None:
    """A KindexError and an OSError, which says status, reason and message, and can be copied."""
    error = SourceError("pods is forbidden", status=403, reason="Forbidden", retry_after_seconds=3)
    assert isinstance(error, KindexError)
    assert isinstance(error, OSError)
    assert str(error) == "403 Forbidden: pods is forbidden"
    copied = copy.copy(error)
    assert (str(copied), copied.status, copied.reason, copied.kind) == (str(error), 403, "Forbidden", error.kind)
    assert copied.retry_after_seconds == 3
