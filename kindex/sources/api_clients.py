"""ApiClients of the official client, its aio twin and kubernetes_asyncio: all that differs between their versions.

Credentials are made anew for each request, so that the client's own hook can renew a token that has expired: of an exec
plugin, an identity provider, or the file of a service account.
"""

from __future__ import annotations

import inspect
from typing import Any, Final, TypeAlias

from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.resources import ResourceError

AnyApiClient: TypeAlias = Any
"""An ApiClient of one of the three packages, in any of their versions; few of those have types."""

_SCHEMES: Final = ["BearerToken"]
"""What the API of Kubernetes calls its only scheme. Whatever a configuration knows, passwords too, it sends as this."""


def is_asynchronous(client: AnyApiClient) -> bool:
    """Tell whether *client* is for asyncio.

    >>> from kubernetes.client import ApiClient
    >>> is_asynchronous(ApiClient())
    False
    """
    return inspect.iscoroutinefunction(client.rest_client.request)


def check_client(client: AnyApiClient, *, asynchronous: bool) -> None:
    """Check that *client* is one, and for asyncio or not.

    Raises:
        ResourceError: it is not.

    >>> check_client("http://localhost", asynchronous=False)
    Traceback (most recent call last):
    ...
    kindex.sources.resources.ResourceError: a source takes an ApiClient, such as CoreV1Api().api_client, \
not 'http://localhost'
    """
    if not (hasattr(client, "rest_client") and hasattr(client, "update_params_for_auth")):
        raise ResourceError(f"a source takes an ApiClient, such as CoreV1Api().api_client, not {client!r}")
    if is_asynchronous(client) != asynchronous:
        source, wanted = ("AsyncClientSource", "for asyncio") if asynchronous else ("ClientSource", "without asyncio")
        raise ResourceError(f"{source} takes a client {wanted}, and {type(client).__module__} is the other sort")


def headers_of(client: AnyApiClient, path: str) -> dict[str, str]:
    """Give the headers that *client* sends with a request: its credentials, defaults and cookie.

    Raises:
        SourceError: the credentials could not be renewed.
    """
    headers = _defaults(client)
    try:
        _authenticate(client, headers, path)
    except Exception as error:  # a hook may be anybody's code
        raise _not_renewed(error) from error
    return headers


async def async_headers_of(client: AnyApiClient, path: str) -> dict[str, str]:
    """Give the headers of a client for asyncio, as ``headers_of`` does."""
    headers = _defaults(client)
    try:
        waiting = _authenticate(client, headers, path)
        if inspect.isawaitable(waiting):  # in the first versions of kubernetes_asyncio there is nothing to wait for
            await waiting
    except Exception as error:
        raise _not_renewed(error) from error
    return headers


async def async_response_of(
    client: AnyApiClient,
    target: str,
    headers: dict[str, str],
    limits: Any,  # noqa: ANN401 - aiohttp's ClientTimeout; aiohttp need not be installed for what else is here
) -> Any:  # noqa: ANN401 - the same
    """Send a GET request by a client for asyncio; give aiohttp's response, unread."""
    send = client.rest_client.request
    # Up to 36 a response comes as it is if it is not to be read at once; from 37 on it comes in another, unread.
    unread = {"_preload_content": False} if "_preload_content" in inspect.signature(send).parameters else {}
    response = await send("GET", url_of(client, target), headers=headers, _request_timeout=limits, **unread)
    return response if unread else response.response


def url_of(client: AnyApiClient, target: str) -> str:
    """Give the URL of a target at the client's server."""
    return str(client.configuration.host).rstrip("/") + target


def _defaults(client: AnyApiClient) -> dict[str, str]:
    headers = {str(name): str(text) for name, text in client.default_headers.items()}
    if client.cookie:
        headers["Cookie"] = client.cookie
    return headers


def _authenticate(client: AnyApiClient, headers: dict[str, str], path: str) -> object:
    """Add the credentials to *headers*; what it gives is to be awaited, if it can be."""
    add = client.update_params_for_auth
    query: list[object] = []  # for schemes that are not Kubernetes'
    if "resource_path" in inspect.signature(add).parameters:  # from 37 on
        return add(headers, query, _SCHEMES, path, "GET", None)
    return add(headers, query, _SCHEMES)


def _not_renewed(error: Exception) -> SourceError:
    return SourceError(f"no credentials: {type(error).__name__}: {error}", kind=ErrorKind.CREDENTIALS)
