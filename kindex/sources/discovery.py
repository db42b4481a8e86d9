"""Discovery: which resource of a server people mean by a word, as kubectl takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from kindex.sources.api_clients import AnyApiClient
from kindex.sources.asking import Asking
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.questions import Question
from kindex.sources.resources import Resource, ResourceError

_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity"}
_VERSION: Final = re.compile(r"v[0-9]+(?:(?:alpha|beta)[0-9]+)?")


@attrs.frozen
class Served:
    """A resource that a server has, and what its objects call themselves."""

    resource: Resource
    kind: str


class Discovery:
    """Finds resources by what people call them: ``po``, ``Pod``, ``deployments.apps``, ``widgets.v2.acme.io``.

    The core group is looked at first, then the others in the server's order, each in the version that it prefers; the
    first match is it, so what comes after is not asked for. A group behind a dot is looked at alone. What was read is
    kept: one Discovery finds many words.

    >>> from kindex.testing import ApiServer
    >>> with ApiServer() as server, server.api_client() as client:
    ...     found = [Discovery(client).find(word) for word in ("po", "Deployment", "deployments.apps")]
    >>> [(each.kind, each.resource.path()) for each in found[:2]], found[1] == found[2]
    ([('Pod', '/api/v1/pods'), ('Deployment', '/apis/apps/v1/deployments')], True)
    """

    def __init__(self, client: AnyApiClient, *, answer_seconds: float = 75.0) -> None:
        self._asking = Asking(client, answer_seconds=answer_seconds)
        self._known: dict[str, Mapping[str, Any]] = {}  # Any: JSON

    def close(self) -> None:
        """Cut what is under way, and ask no more."""
        self._asking.connections.close()

    def version(self) -> str:
        """Give what the server says its version is, such as ``v1.33.0``; empty if it says none.

        Raises:
            SourceError: the server does not tell.
        """
        found = self._document("/version").get("gitVersion")
        return found if isinstance(found, str) else ""

    def find(self, word: str) -> Served:
        """Find what *word* names.

        Raises:
            ResourceError: the server has nothing of this name that can be listed.
            SourceError: the server does not tell; where a part of it fails, as an aggregated API may, this is the error
                only if no other part has the word.
        """
        name, _, group = word.lower().partition(".")
        failure: SourceError | None = None
        for api_version in self._api_versions(group):
            try:
                document = self._document(f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}")
            except SourceError as error:
                if error.kind in (ErrorKind.NETWORK, ErrorKind.CREDENTIALS):  # of no part, but of all
                    raise
                # Nothing is there any more, or its server is down.
                failure = failure or (None if error.kind is ErrorKind.MISSING else error)
                continue
            for each in _listable(document):
                if name in _words_of(each):
                    namespaced = each.get("namespaced")
                    known = namespaced if isinstance(namespaced, bool) else None
                    return Served(Resource(api_version, str(each["name"]), None, known), str(each.get("kind")))
        if failure is not None:
            raise failure
        raise ResourceError(f"the server has no resource {word!r} that can be listed")

    def _api_versions(self, group: str) -> Iterator[str]:
        """Give the versions to look at: of the core group, then of those that *group* means, or all."""
        if not group:
            yield "v1"
        elif _VERSION.fullmatch(group):  # pods.v1
            yield group
            return
        groups = self._document("/apis").get("groups")
        version, _, rest = group.partition(".")
        for each in groups if isinstance(groups, list) else ():
            if not isinstance(each, Mapping):
                continue
            if group in ("", each.get("name")):
                preferred = each.get("preferredVersion") or next(iter(each.get("versions") or ()), None)
                if isinstance(preferred, Mapping) and isinstance(preferred.get("groupVersion"), str):
                    yield preferred["groupVersion"]
            elif _VERSION.fullmatch(version) and rest == each.get("name"):
                yield f"{rest}/{version}"

    def _document(self, path: str) -> Mapping[str, Any]:  # Any: JSON
        if path not in self._known:
            body = self._asking.body(Question(path, _HEADERS))
            try:
                found = json.loads(body)
            except ValueError as error:
                raise SourceError(f"discovery gave no JSON: {error}", kind=ErrorKind.PROTOCOL) from error
            self._known[path] = found if isinstance(found, Mapping) else {}
        return self._known[path]


def _listable(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:  # Any: JSON
    """Give what a document says of its resources, without subresources such as ``pods/status``."""
    listed = document.get("resources")
    for each in listed if isinstance(listed, list) else ():
        named = isinstance(each, Mapping) and "/" not in str(each.get("name") or "/")
        if named and "list" in (each.get("verbs") or ("list",)):
            yield each


def _words_of(resource: Mapping[str, Any]) -> Iterable[str]:  # Any: JSON
    """Give what people call it, in small letters."""
    names = [resource.get("name"), resource.get("singularName"), resource.get("kind")]
    short = resource.get("shortNames")
    return [str(name).lower() for name in [*names, *(short if isinstance(short, list) else ())] if name]
