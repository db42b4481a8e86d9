"""Currency: whether a store has caught up with what its server says is there now.

The server is asked for a list, which is compared with the store and not kept. What differs is on its way: a watch
brings all that was changed since. Where the version of the store is as far as the list's, there is nothing to compare;
but a version goes forward by changes of this very resource and by bookmarks only, and these may be a minute apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from kindex.keys import ObjectKey
from kindex.objects import key_of, resource_version_of
from kindex.resource_versions import compare
from kindex.sources.base import ListRequest, Page
from kindex.store import Store

T = TypeVar("T")


class Comparison(Generic[T]):
    """A list of what is there now, and how far the store is from it.

    Attributes:
        request: for the next page of the list; None when all of it has come.
        error: why the last request failed.
        given_up: whether nobody waits for it any more.
        version: of the list.

    >>> comparison, pods = Comparison(None, 500), Store(name="pods")
    >>> pod = {"metadata": {"name": "a", "uid": "u1", "resourceVersion": "7"}}
    >>> comparison.take(Page([pod], resource_version="8"))
    >>> comparison.request, comparison.caught_up(pods), comparison.behind
    (None, False, 1)
    >>> _ = pods.put(pod)
    >>> comparison.caught_up(pods)
    True
    """

    def __init__(self, namespace: str | None, page_size: int, key_of: Callable[[Any], ObjectKey] = key_of) -> None:
        """Compare the objects of *namespace*, or all. Any: what is listed need not be what is stored."""
        self.request: ListRequest | None = ListRequest(namespace, limit=page_size)
        self.error: Exception | None = None
        self.given_up = False
        self.version = ""
        self._first = self.request
        self._key_of = key_of
        self._listed: dict[ObjectKey, str] = {}
        self._behind: set[ObjectKey] | None = None

    @property
    def settled(self) -> bool:
        """Whether nobody need ask any more."""
        return self.request is None or self.given_up

    @property
    def behind(self) -> int:
        """How many objects of the list the store has yet to hear of, when it was last asked."""
        return len(self._behind or ())

    def take(self, page: Page[Any]) -> None:  # Any: see above
        """Take the answer to ``request``."""
        assert self.request is not None, "all of the list has come"
        self.version = self.version or page.resource_version
        self._listed.update((self._key_of(obj), resource_version_of(obj)) for obj in page.objects)
        following = msgspec.structs.replace(self.request, continuation=page.continuation)
        self.request = following if page.continuation else None

    def restart(self, error: Exception) -> None:
        """Begin anew after an error: the token for the next page may be what was wrong."""
        self.request, self.error, self.version = self._first, error, ""
        self._listed.clear()

    def caught_up(self, store: Store[T]) -> bool:
        """Tell whether *store* is as far as the list. O(objects) the first time, then O(what was behind)."""
        namespace = self._first.namespace
        seen = store.resource_version(namespace=namespace)
        if seen and compare(seen, self.version) in (0, 1):
            return True
        if self._behind is None:
            there = store.keys(namespace=namespace) if len(store) else ()
            self._behind = {*self._listed, *there}
        objects = store.get_many(self._behind)
        self._behind = {key for key in self._behind if self._differs(key, objects.get(key))}
        return not self._behind

    def _differs(self, key: ObjectKey, obj: T | None) -> bool:
        """Tell whether the store has yet to hear of what the list says of *key*."""
        listed = self._listed.get(key)
        if obj is None:
            return listed is not None
        version = resource_version_of(obj)
        if not version:  # a type that does not keep it
            return listed is None
        return compare(version, self.version) != 1 if listed is None else compare(version, listed) not in (0, 1)
