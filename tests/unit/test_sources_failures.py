"""connection_error: what failed, from what libraries raise."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable

import pytest
import urllib3

from kindex.sources.errors import ErrorKind
from kindex.sources.failures import connection_error


class LibraryError(OSError):
    """What a library makes of an OSError: itself one, and with fewer facts."""


def by_cause(error: Exception) -> BaseException:
    outer = LibraryError("it failed")
    outer.__cause__ = error
    return outer


def by_context(error: Exception) -> BaseException:
    try:
        try:
            raise error
        except type(error):
            raise LibraryError("it failed")  # noqa: B904 - as libraries do
    except LibraryError as outer:
        return outer


def by_argument(error: Exception) -> BaseException:
    return urllib3.exceptions.ProtocolError("Connection aborted.", error)


def by_reason(error: Exception) -> BaseException:
    return urllib3.exceptions.MaxRetryError(None, "/", error)  # type: ignore[arg-type]  # no pool is needed


SENTENCES = [
    (ssl.SSLError(1, "[SSL] wrong version number"), "TLS failed: [SSL] wrong version number"),
    (socket.gaierror(-2, "Name or service not known"), "the host has no address: Name or service not known"),
    (TimeoutError("timed out"), "no answer in time"),
    (ConnectionRefusedError(111, "Connection refused"), "the connection was refused"),
    (ConnectionResetError(104, "Connection reset by peer"), "the connection was reset"),
    (OSError(101, "Network is unreachable"), "the connection failed: OSError: [Errno 101] Network is unreachable"),
]


@pytest.mark.parametrize("how", [lambda error: error, by_cause, by_context, by_argument, by_reason])
@pytest.mark.parametrize(("error", "sentence"), SENTENCES)
def test_what_happened_is_found(error: Exception, sentence: str, how: Callable[[Exception], BaseException]) -> None:
    """However a library wraps it, Python's own exception is found, said in a sentence, and the cause."""
    made = connection_error(how(error))
    assert (str(made), made.kind, made.__cause__) == (sentence, ErrorKind.NETWORK, error)


def test_what_is_no_error_of_the_system() -> None:
    """An answer that breaks off has no error of the system in it, and is shown as it is."""
    error = http.client.IncompleteRead(b"")
    made = connection_error(error)
    assert str(made) == "the connection failed: IncompleteRead: IncompleteRead(0 bytes read)"
    assert made.__cause__ is error


def test_a_host_whose_name_the_library_checks() -> None:
    """A library's own error about the name of a host counts as one of TLS."""

    class CertificateError(ValueError):
        """As urllib3's."""

    made = connection_error(by_reason(CertificateError("hostname 'a' doesn't match 'b'")))
    assert str(made) == "TLS failed: hostname 'a' doesn't match 'b'"
    assert isinstance(made.__cause__, ssl.SSLCertVerificationError)


def test_a_chain_that_bites_its_tail() -> None:
    """Exceptions that name each other as their causes are looked at once."""
    first, second = LibraryError("a"), LibraryError("b")
    first.__cause__, second.__cause__ = second, first
    assert "LibraryError: a" in str(connection_error(first))
