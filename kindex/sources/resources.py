"""What to list: where a server keeps a resource, and which part of it is wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import attrs

from kindex.errors import KindexError

_SELECTORS: Final = ("labelSelector", "fieldSelector", "shardSelector")
"""What may stand in the query of a Resource; everything else is a list's or a watch's own."""

_API_VERSION: Final = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[a-z](?:[-a-z0-9]*[a-z0-9])?")


class ResourceError(KindexError, ValueError):
    """Something that cannot be listed; the sentence says what was given, and what is taken.

    >>> Resource.parse("/api/v1/namespaces/prod/pods/web-1")
    Traceback (most recent call last):
    ...
    kindex.sources.resources.ResourceError: '/api/v1/namespaces/prod/pods/web-1' is not the path of a list; such paths \
are /api/v1/pods, /api/v1/namespaces/prod/pods, /apis/apps/v1/deployments
    """


@attrs.frozen
class Resource:
    """A resource, as its path names it, and which part of it is wanted.

    Attributes:
        api_version: its group and version, ``apps/v1``; of the core group ``v1``.
        plural: its name in the path.
        namespace: of the objects, where a request does not say another; None for all.
        namespaced: whether its objects have namespaces; None where that is not known.
        selectors: parameters of the query that select, such as ``("labelSelector", "app=web")``.

    >>> Resource("apps/v1", "deployments", namespace="prod").path()
    '/apis/apps/v1/namespaces/prod/deployments'
    >>> Resource.parse("/api/v1/pods?labelSelector=app%3Dweb").selectors
    (('labelSelector', 'app=web'),)
    """

    api_version: str
    plural: str
    namespace: str | None = None
    namespaced: bool | None = None
    selectors: tuple[tuple[str, str], ...] = attrs.field(default=(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        _check_api_version(self.api_version)
        if not isinstance(self.plural, str) or not self.plural or "/" in self.plural:
            raise ResourceError(f"the plural of a resource is a name such as 'pods', not {self.plural!r}")
        _check_namespace(self.namespace, namespaced=self.namespaced)

    @classmethod
    def parse(cls, path: str) -> Resource:
        """Read the path of a list.

        Raises:
            ResourceError: it is the path of something else, or its query does more than select.
        """
        split = urlsplit(path)
        # Split before unquoting: a quoted slash is no separator. An empty part is no name.
        match [unquote(part) for part in split.path.removeprefix("/").split("/")]:
            case ["api", version, *rest] if version:
                api_version = version
            case ["apis", group, version, *rest] if group and version:
                api_version = f"{group}/{version}"
            case _:
                raise _no_list(path)
        match rest:
            case [plural] if plural:
                namespace = None
            case ["namespaces", namespace, plural] if namespace and plural:
                pass
            case _:
                raise _no_list(path)
        selectors = _checked_selectors(parse_qsl(split.query, keep_blank_values=True))
        return cls(api_version, plural, namespace, True if namespace else None, selectors=selectors)

    @classmethod
    def named(
        cls,
        api_version: str,
        kind: str,
        *,
        plural: str | None = None,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Resource | Kind:
        """Name what to list by its kind, as manifests do; without *plural* discovery has to find that.

        Raises:
            ResourceError: one of them is no name.

        >>> Resource.named("networking.istio.io/v1", "Gateway", plural="gateways", namespace="prod").path()
        '/apis/networking.istio.io/v1/namespaces/prod/gateways'
        >>> Resource.named("v1", "Pod").name
        'Pod'
        """
        given = {"labelSelector": label_selector, "fieldSelector": field_selector}
        selectors = tuple((name, str(text)) for name, text in given.items() if text)
        if plural is not None:
            return cls(api_version, plural, namespace, True if namespace else None, selectors=selectors)
        return Kind(api_version, kind, namespace, selectors=selectors)

    @property
    def name(self) -> str:
        """What people call it: its plural."""
        return self.plural

    def path(self, namespace: str | None = None) -> str:
        """Give the path of its list, in *namespace* or its own.

        Raises:
            ResourceError: it has no namespaces, or that is no name of one.
        """
        _check_namespace(namespace, namespaced=self.namespaced)
        namespace = self.namespace if namespace is None else namespace
        within = "" if namespace is None else f"namespaces/{quote(namespace, safe='')}/"
        return f"{_root(self.api_version)}/{within}{quote(self.plural, safe='')}"


@attrs.frozen
class Kind:
    """A resource whose plural is not known yet: discovery tells it.

    Attributes:
        api_version: its group and version.
        kind: as in manifests.
        namespace: of the objects; None for all.
        selectors: as a Resource's.
    """

    api_version: str
    kind: str
    namespace: str | None = None
    selectors: tuple[tuple[str, str], ...] = attrs.field(default=(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        _check_api_version(self.api_version)
        if not isinstance(self.kind, str) or not self.kind.replace("-", "").isalnum():
            raise ResourceError(f"a kind is a name such as 'Pod', not {self.kind!r}")
        _check_namespace(self.namespace, namespaced=None)

    @property
    def name(self) -> str:
        """What people call it: its kind."""
        return self.kind

    @property
    def discovery_path(self) -> str:
        """Where the server tells of the resources of its API version."""
        return _root(self.api_version)

    def found_in(self, document: object) -> Resource:
        """Find it in what the server has at ``discovery_path``.

        Raises:
            ResourceError: that has no such kind, or none that can be listed; names those that there are.

        >>> Kind("v1", "Pod").found_in({"resources": [{"kind": "Pod", "name": "pods", "namespaced": True}]})
        Resource(api_version='v1', plural='pods', namespace=None, namespaced=True, selectors=())
        """
        listed: Any = document.get("resources") if isinstance(document, Mapping) else None  # Any: JSON
        served = [each for each in listed or () if isinstance(each, Mapping) and "/" not in str(each.get("name", "/"))]
        for each in served:
            if each.get("kind") == self.kind and "list" in (each.get("verbs") or ("list",)):
                namespaced = each.get("namespaced")
                known = namespaced if isinstance(namespaced, bool) else None
                return Resource(self.api_version, each["name"], self.namespace, known, selectors=self.selectors)
        kinds = sorted({str(each.get("kind")) for each in served if "list" in (each.get("verbs") or ("list",))})
        raise ResourceError(
            f"the server has no kind {self.kind!r} in {self.api_version} that can be listed;"
            f" there are: {', '.join(kinds) or 'none'}"
        )


Listed: TypeAlias = Resource | Kind
"""What a source lists."""


def _root(api_version: str) -> str:
    """Give the path of an API version: that of the core group stands apart."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _no_list(path: str) -> ResourceError:
    return ResourceError(
        f"{path!r} is not the path of a list; such paths are"
        " /api/v1/pods, /api/v1/namespaces/prod/pods, /apis/apps/v1/deployments"
    )


def _checked_selectors(query: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    selectors = []
    for name, text in query:
        if name not in _SELECTORS:
            raise ResourceError(f"{name}={text} is for whoever lists and watches to say; leave it out")
        if text:
            selectors.append((name, text))
    return tuple(selectors)


def _check_api_version(api_version: object) -> None:
    if not isinstance(api_version, str) or not _API_VERSION.fullmatch(api_version):
        raise ResourceError(f"an API version is 'v1' or a group and a version, 'apps/v1', not {api_version!r}")


def _check_namespace(namespace: object, *, namespaced: bool | None) -> None:
    if namespace is None:
        return
    if not isinstance(namespace, str) or not namespace or "/" in namespace:
        raise ResourceError(f"a namespace is a name, or None for all of them, not {namespace!r}")
    if namespaced is False:
        raise ResourceError(f"namespace {namespace!r}: the objects of this resource have no namespaces")
