"""What clients' libraries raise when a connection fails, as SourceErrors that tell what failed."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import Final

from kindex.sources.errors import ErrorKind, SourceError

_TELLING: Final = (ssl.SSLError, socket.gaierror, TimeoutError, OSError)
"""Of all that an exception wraps these say most, the first before the others."""


def connection_error(error: BaseException) -> SourceError:
    """Say what failed: the name of the host, TLS, the time, or the connection.

    The libraries wrap what happened several times; Python's own exception of it is the cause, to be raised from. So a
    program can tell failures apart by the type of ``__cause__``: ``ssl.SSLError``, ``socket.gaierror``,
    ``TimeoutError``, ``ConnectionRefusedError`` and other OSErrors.

    >>> error = connection_error(RuntimeError(ssl.SSLError(1, "certificate verify failed")))
    >>> str(error), type(error.__cause__).__name__
    ('TLS failed: certificate verify failed', 'SSLError')
    """
    inside = list(_inside(error))
    found = [each for each in inside if type(each).__module__ in ("builtins", "ssl", "socket")]
    # Where urllib3 compares the names of hosts by itself, it raises an error of its own.
    found += [
        ssl.SSLCertVerificationError(1, str(each)) for each in inside if type(each).__name__ == "CertificateError"
    ]
    first = (next((each for each in found if isinstance(each, kind)), None) for kind in _TELLING)
    root = next((each for each in first if each is not None), error)
    match root:
        case ssl.SSLError():
            text = f"TLS failed: {getattr(root, 'verify_message', '') or root.strerror or root}"
        case socket.gaierror():
            text = f"the host has no address: {root.strerror or root}"
        case TimeoutError():
            text = "no answer in time"
        case ConnectionRefusedError():
            text = "the connection was refused"
        case ConnectionResetError():
            text = "the connection was reset"
        case _:
            text = f"the connection failed: {type(root).__name__}: {root}".rstrip(": ")
    made = SourceError(text, kind=ErrorKind.NETWORK)
    made.__cause__ = root
    return made


def _inside(error: BaseException) -> Iterator[BaseException]:
    """Give *error* and all that it wraps, whichever way its library does that."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        # urllib3 has reason, aiohttp os_error and certificate_error; many just pass the exception on as an argument.
        wrapped = (
            getattr(each, "reason", None),
            getattr(each, "os_error", None),
            getattr(each, "certificate_error", None),
            *each.args,
            each.__cause__,
            each.__context__,
        )
        waiting += [inner for inner in wrapped if isinstance(inner, BaseException)]
