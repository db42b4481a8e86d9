"""Request: what a client asked, as the server recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs

from kindex.testing.api_server.statuses import ApiError

_VERBS: Final[Mapping[str, str]] = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_TRUE: Final = ("1", "t", "true")  # as Go's strconv reads them
_FALSE: Final = ("", "0", "f", "false")
# Behind an object's name; what stands there else, as in namespaces/prod/pods, is a resource in that namespace.
_OF_A_NAMESPACE: Final = ("status", "finalize")


@attrs.frozen
class Request:
    """One request, without a trace of time: two runs of a test record the same.

    Attributes:
        number: how many requests came before it.
        method: ``GET``, ``POST`` ...
        path: without the query.
        query: each parameter with its last value.
        headers: by their names in lower case.
        body: the bytes that were sent.
        verb: as in RBAC: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``,
            ``deletecollection``; of discovery and the like ``get``.
        api_version: of the resource; ``""`` where the path names none, as do the next four.
        resource: its plural.
        namespace: None for all.
        name: of one object.
        subresource: such as ``status``.

    >>> import urllib.request
    >>> from kindex.testing import ApiServer
    >>> with ApiServer() as server:
    ...     with urllib.request.urlopen(f"{server.url}/api/v1/namespaces/x/pods?limit=5"):
    ...         (request,) = server.requests
    >>> request.verb, request.resource, request.namespace, request.query
    ('list', 'pods', 'x', {'limit': '5'})
    """

    number: int
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = attrs.field(repr=False)
    body: bytes = attrs.field(repr=False)
    verb: str
    api_version: str
    resource: str
    namespace: str | None
    name: str
    subresource: str

    @classmethod
    def parse(cls, number: int, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Request:
        """Read what the request line asks for.

        >>> request = Request.parse(0, "GET", "/apis/apps/v1/namespaces/prod/deployments?watch=1", {})
        >>> request.verb, request.api_version, request.namespace, request.resource
        ('watch', 'apps/v1', 'prod', 'deployments')
        """
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        api_version, rest = _split_api_version([unquote(part) for part in parts.path.split("/") if part])
        namespace = None
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _OF_A_NAMESPACE:
            namespace, rest = rest[1], rest[2:]
        resource, name, *subresources = (*rest, "", "")[: max(2, len(rest))]
        return cls(
            number,
            method,
            parts.path,
            query,
            {name.lower(): value for name, value in headers.items()},
            body,
            _verb(method, query, of_many=bool(resource) and not name),
            api_version,
            resource,
            namespace,
            name,
            "/".join(subresources),
        )

    def flag(self, name: str) -> bool | None:
        """Give the truth of a parameter, or None where it is not given.

        Raises:
            ApiError: it is neither true nor false (400).
        """
        text = self.query.get(name)
        if text is None:
            return None
        if text.lower() not in (*_TRUE, *_FALSE):
            raise ApiError(400, f"{name}={text} is neither true nor false")
        return text.lower() in _TRUE

    def whole_number(self, name: str) -> int | None:
        """Give the number that a parameter says, or None where it says nothing.

        Raises:
            ApiError: it is no number, or a negative one (400).
        """
        text = self.query.get(name, "")
        if not text:
            return None
        if not (text.isascii() and text.isdigit()):
            raise ApiError(400, f"{name}={text} is no whole number")
        return int(text)


def _split_api_version(parts: list[str]) -> tuple[str, list[str]]:
    match parts:
        case ["api", version, *rest]:
            return version, rest
        case ["apis", group, version, *rest]:
            return f"{group}/{version}", rest
    return "", []


def _verb(method: str, query: Mapping[str, str], *, of_many: bool) -> str:
    if method == "DELETE":
        return "deletecollection" if of_many else "delete"
    if method == "GET" and of_many:
        return "watch" if query.get("watch", "").lower() in _TRUE else "list"
    return _VERBS.get(method, "get")
