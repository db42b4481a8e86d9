"""What a source asks its server, whichever client carries it: lists, watches, and discovery before them."""

from __future__ import annotations

import json
from typing import Final, NamedTuple
from urllib.parse import urlencode

from kindex.sources.base import ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.resources import Kind, Listed, Resource, ResourceError

_WHOLE: Final = "application/json"
_METADATA: Final = "application/json;as={kind};g=meta.k8s.io;v=v1,application/json"
"""The second form is for servers that have only whole objects: an aggregated API may be one."""


class Question(NamedTuple):
    """What is asked by a GET request: its target, and the headers that say in which form to answer."""

    target: str
    headers: dict[str, str]


class Questions:
    """The questions about one resource.

    Args:
        listed: what to list; a Kind becomes a Resource by discovery.
        metadata_only: ask not for whole objects, but for their metadata (PartialObjectMetadata).
        gzip: let lists come compressed. Watches never do: a proxy might hold events back to compress them together.

    >>> pods = Resource("v1", "pods", selectors=(("labelSelector", "app=web"),))
    >>> Questions(pods).about(ListRequest("prod", limit=500)).target
    '/api/v1/namespaces/prod/pods?labelSelector=app%3Dweb&limit=500'
    """

    def __init__(self, listed: Listed, *, metadata_only: bool = False, gzip: bool = False) -> None:
        self._listed = listed
        self._metadata_only = metadata_only
        self._gzip = gzip

    @property
    def name(self) -> str:
        """What is listed: the plural, or the kind while that is not known."""
        return self._listed.name

    @property
    def namespaced(self) -> bool | None:
        """Whether the objects have namespaces; None while that is not known."""
        return self._listed.namespaced if isinstance(self._listed, Resource) else None

    @property
    def discovery(self) -> Question | None:
        """What has to be asked first, if anything."""
        match self._listed:
            case Kind(discovery_path=path):
                return Question(path, {"Accept": _WHOLE, "Accept-Encoding": "identity"})
            case Resource():
                return None

    def learn(self, body: bytes) -> None:
        """Take the answer of discovery.

        Raises:
            SourceError: the kind is not in it, or it is none.
        """
        try:
            document = json.loads(body)
        except ValueError as error:
            raise SourceError(f"discovery gave no JSON: {error}", kind=ErrorKind.PROTOCOL) from error
        if isinstance(self._listed, Kind):  # another thread may have asked, too
            try:
                self._listed = self._listed.found_in(document)
            except ResourceError as error:
                # As a server says it of a group that it does not know: the definition may come later.
                raise SourceError(str(error), kind=ErrorKind.MISSING) from error

    @property
    def resource(self) -> Resource:
        """What is listed, when discovery has been asked."""
        assert isinstance(self._listed, Resource), f"{self._listed} was not looked up"
        return self._listed

    def about(self, request: ListRequest | WatchRequest) -> Question:
        """Give the question that asks for what *request* says.

        Raises:
            SourceError: that cannot be asked: the request names a namespace, and the resource has none.
        """
        resource = self.resource
        try:
            path = resource.path(request.namespace)
        except ResourceError as error:
            raise SourceError(str(error), kind=ErrorKind.REQUEST) from error
        query = urlencode([*resource.selectors, *request.query().items()])
        match request:
            case ListRequest():
                kind, encoding = "PartialObjectMetadataList", "gzip" if self._gzip else "identity"
            case WatchRequest():
                kind, encoding = "PartialObjectMetadata", "identity"
        accept = _METADATA.format(kind=kind) if self._metadata_only else _WHOLE
        return Question(f"{path}?{query}" if query else path, {"Accept": accept, "Accept-Encoding": encoding})
