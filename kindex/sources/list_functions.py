"""List functions of the clients: which resource one lists, and with which client.

The function is asked itself, since names and signatures differ between the versions of three clients, and what a
generated function does is its own affair. It is called with a copy of its client that sends nothing: the request that
it would have made, at the very end, is caught. So there is no I/O, no credential is looked at, and whatever arguments
the function takes mean here what they mean there.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlencode

import attrs

from kindex.sources.api_clients import AnyApiClient, is_asynchronous
from kindex.sources.resources import Resource, ResourceError

ListFunction: TypeAlias = Callable[..., Any]  # Any: what it returns is never looked at
"""A bound method that lists, such as ``CoreV1Api().list_namespaced_pod``, or a ``functools.partial`` of one."""


_EACH: Final = "each_namespace"
"""Stands where a namespace will be; with its underscore it is the name of none."""


class ListCall(NamedTuple):
    """What a list function lists, and the client that it would use."""

    resource: Resource
    client: AnyApiClient


def read_list_function(
    function: ListFunction, /, *args: object, each_namespace: bool = False, **arguments: object
) -> ListCall:
    """Say what ``function(*args, **arguments)`` would list. It is not sent.

    Args:
        function: of the official client, sync or aio, or of kubernetes_asyncio.
        args: as the function takes them: a namespace; group, version and plural of custom objects.
        each_namespace: whether each request will name a namespace, so that none need be given to a function that lists
            one; none is the resource's own, then.
        arguments: the same by name, and ``label_selector``, ``field_selector``.

    Raises:
        ResourceError: it is no such function, or does not take these arguments, or they do more than select.

    >>> from kubernetes.client import CoreV1Api
    >>> call = read_list_function(CoreV1Api().list_namespaced_pod, "prod", label_selector="app=web")
    >>> call.resource.path(), call.resource.selectors
    ('/api/v1/namespaces/prod/pods', (('labelSelector', 'app=web'),))
    """
    while isinstance(function, functools.partial):
        args = (*function.args, *args)
        arguments = {**function.keywords, **arguments}
        function = function.func
    name = getattr(function, "__name__", repr(function))
    api = getattr(function, "__self__", None)
    client = getattr(api, "api_client", None)
    if client is None or not isinstance(function, MethodType) or not hasattr(client, "rest_client"):
        raise ResourceError(
            f"{name} is no list function of a client, such as CoreV1Api().list_namespaced_pod; what else is listed"
            " is told by a path, or by api_version and kind"
        )
    arguments = {argument: given for argument, given in arguments.items() if given is not None}
    arguments = _checked_arguments(function, args, arguments, each_namespace=each_namespace)
    caught = _catch(function, api, client, args, arguments)
    if caught.method != "GET":
        raise ResourceError(f"{name} does not list: it sends {caught.method}")
    try:
        resource = Resource.parse(caught.target)
    except ResourceError as error:
        raise ResourceError(f"{name}: {error}") from error
    namespace = None if resource.namespace == _EACH else resource.namespace
    return ListCall(attrs.evolve(resource, namespace=namespace, namespaced=_namespaced(name, resource)), client)


def _checked_arguments(
    function: MethodType, args: tuple[object, ...], arguments: dict[str, object], *, each_namespace: bool
) -> dict[str, object]:
    """Refuse what some versions would take in silence; with *each_namespace* put one in where it is missing."""
    name, signature = function.__name__, inspect.signature(function)
    for argument in arguments:
        if argument.startswith("_") or argument in ("async_req", "watch"):
            raise ResourceError(f"{name}: {argument} is for whoever lists and watches to say; leave it out")
    try:
        missing = "namespace" in signature.parameters.keys() - signature.bind_partial(*args, **arguments).arguments
        if each_namespace and missing:
            arguments = {**arguments, "namespace": _EACH}
        bound = signature.bind(*args, **arguments)
    except TypeError as error:
        raise ResourceError(f"{name}: {error}") from error
    namespace = bound.arguments.get("namespace", _EACH)
    if not isinstance(namespace, str) or not namespace:
        raise ResourceError(f"{name}: a namespace is a name, not {namespace!r}")
    return arguments


def _namespaced(name: str, resource: Resource) -> bool | None:
    """Tell whether the objects have namespaces, as far as path and *name* show it."""
    if resource.namespace is not None or name.endswith("_for_all_namespaces"):
        return True
    return None if "custom_object" in name else False


class _Caught(Exception):  # noqa: N818 - no error: it ends a call before anything is sent
    """The request that a function was about to send."""

    def __init__(self, method: str, target: str) -> None:
        self.method = method
        self.target = target
        super().__init__(method, target)


class _Sender:
    """Stands in for the client's own sender (``rest_client``), and sends nothing.

    Up to 36 a function calls the one of these methods that is named after its own, and gives the query beside the URL;
    from 37 on it calls ``request``, with all in the URL. Where the functions are coroutines, so are these; they raise
    before they would give anything to wait for.
    """

    def __init__(self, *, asynchronous: bool) -> None:
        self._asynchronous = asynchronous

    def request(self, method: str, url: str, query_params: Any = None, **_: object) -> Any:  # noqa: ANN401 - as given
        """Raise what was to be sent."""
        caught = _Caught(method, f"{url}?{urlencode(query_params)}" if query_params else url)
        if self._asynchronous:
            return _raising(caught)
        raise caught

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.isupper():
            raise AttributeError(name)
        return functools.partial(self.request, name)


async def _raising(error: Exception) -> None:
    raise error


def _catch(
    function: MethodType,
    api: Any,  # noqa: ANN401 - of one of three packages
    client: AnyApiClient,
    args: tuple[object, ...],
    arguments: dict[str, object],
) -> _Caught:
    """Call *function* with a client that sends nothing, and give what it would have sent."""
    mute = copy.copy(client)
    mute.configuration = type(client.configuration)(host="")  # no credentials, so no hook that renews them
    mute.rest_client = _Sender(asynchronous=is_asynchronous(client))
    mute_api = copy.copy(api)
    mute_api.api_client = mute
    name = function.__name__
    try:
        result = function.__func__(mute_api, *args, **arguments)
        if inspect.iscoroutine(result):
            try:
                result.send(None)
            finally:
                result.close()
    except _Caught as caught:
        return caught
    except Exception as error:  # each version refuses arguments with exceptions of its own
        raise ResourceError(f"{name} does not take these arguments: {' '.join(str(error).split())}") from error
    raise ResourceError(f"{name} sends no request")
