"""Making sources of what people name: a list function of a client, a path, or a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict, TypeVar

import attrs

from kindex.sources.api_clients import AnyApiClient
from kindex.sources.list_functions import ListFunction, read_list_function
from kindex.sources.resources import Kind, Listed, Resource, ResourceError

if TYPE_CHECKING:
    from typing import Unpack

    from kindex.decoding import Decoder
    from kindex.sources.async_client import AsyncClientSource
    from kindex.sources.client import ClientSource

T = TypeVar("T")


Listable: TypeAlias = ListFunction | str | Listed
"""A list function of a client, bound; a path; a resource or a kind."""


class Form(TypedDict, total=False):
    """How the server is asked: as the arguments of ClientSource and AsyncClientSource are called."""

    metadata_only: bool
    gzip: bool
    watch_list: bool
    connect_seconds: float
    answer_seconds: float


def source_of(
    what: Listable,
    *,
    decoder: Decoder[T],
    client: AnyApiClient = None,
    namespace: str | None = None,
    label_selector: str = "",
    field_selector: str = "",
    each_namespace: bool = False,
    **form: Unpack[Form],
) -> ClientSource[T]:
    """Make a source for threads.

    Args:
        what: to list: a list function of the official client, a path, a Resource or a Kind.
        decoder: makes the objects.
        client: an ApiClient. A list function brings its own; for anything else it is one of the default configuration,
            which ``kubernetes.config.load_kube_config`` sets.
        namespace: of the objects; None for all, or as *what* says.
        label_selector: which objects.
        field_selector: the same.
        each_namespace: whether every request will name a namespace, so that a list function need not be given one.
        form: how the server is asked, as ClientSource takes it.

    Raises:
        ResourceError: that cannot be listed.

    >>> from kindex.decoding import LazyDecoder
    >>> from kubernetes.client import CoreV1Api
    >>> source_of(CoreV1Api().list_namespaced_pod, namespace="prod", decoder=LazyDecoder()).resource().path()
    '/api/v1/namespaces/prod/pods'
    >>> source_of("/apis/acme.io/v1/widgets", label_selector="app=web", decoder=LazyDecoder()).name
    'widgets'
    """
    from kindex.sources.client import ClientSource  # noqa: PLC0415 - it loads urllib3

    asked = _asked(what, client, namespace, label_selector, field_selector, each_namespace=each_namespace)
    return ClientSource(asked.listed, asked.client or _default_client(), decoder=decoder, **form)


def async_source_of(
    what: Listable,
    *,
    decoder: Decoder[T],
    client: AnyApiClient = None,
    namespace: str | None = None,
    label_selector: str = "",
    field_selector: str = "",
    each_namespace: bool = False,
    **form: Unpack[Form],
) -> AsyncClientSource[T]:
    """Make a source for asyncio, as ``source_of`` does; where *what* brings no client, one is to be given.

    None is made of a default configuration, since whoever makes such a client has to close it.

    Raises:
        ResourceError: that cannot be listed, or there is no client.

    >>> from kindex.decoding import LazyDecoder
    >>> async_source_of("/api/v1/pods", decoder=LazyDecoder())
    Traceback (most recent call last):
    ...
    kindex.sources.resources.ResourceError: '/api/v1/pods' needs client=: an ApiClient for asyncio, which you close ...
    """
    from kindex.sources.async_client import AsyncClientSource  # noqa: PLC0415 - it loads aiohttp

    asked = _asked(what, client, namespace, label_selector, field_selector, each_namespace=each_namespace)
    if asked.client is None:
        raise ResourceError(f"{what!r} needs client=: an ApiClient for asyncio, which you close in the end")
    return AsyncClientSource(asked.listed, asked.client, decoder=decoder, **form)


class _Asked(NamedTuple):
    """What is to be listed, and by whom."""

    listed: Listed
    client: AnyApiClient


def _asked(
    what: Listable,
    client: AnyApiClient,
    namespace: str | None,
    label_selector: str,
    field_selector: str,
    *,
    each_namespace: bool,
) -> _Asked:
    match what:
        case str():
            listed: Listed = Resource.parse(what)
        case Resource() | Kind():
            listed = what
        case _:
            call = read_list_function(
                what,
                each_namespace=each_namespace,
                namespace=namespace,
                label_selector=label_selector or None,
                field_selector=field_selector or None,
            )
            return _Asked(call.resource, client or call.client)
    return _Asked(_narrowed(listed, namespace, label_selector, field_selector), client)


def _narrowed(listed: Listed, namespace: str | None, label_selector: str, field_selector: str) -> Listed:
    """Give a part of what is listed; what was said before cannot be said in another way."""
    selectors = dict(listed.selectors)
    for name, text in (("labelSelector", label_selector), ("fieldSelector", field_selector)):
        if text and selectors.setdefault(name, text) != text:
            raise ResourceError(f"{name} is {selectors[name]!r} already, so it cannot be {text!r}")
    if None not in (namespace, listed.namespace) and namespace != listed.namespace:
        raise ResourceError(f"the namespace is {listed.namespace!r} already, so it cannot be {namespace!r}")
    namespace = listed.namespace if namespace is None else namespace
    return attrs.evolve(listed, namespace=namespace, selectors=tuple(selectors.items()))


def _default_client() -> AnyApiClient:
    from kubernetes.client import ApiClient  # noqa: PLC0415 - it takes a second

    return ApiClient()
