"""Sources over each client: trust, certificates, and the ways in which a kubeconfig says who somebody is."""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kindex.sources.base import ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from kindex.testing import ApiServer
from tests.certificates import Authority
from tests.sources import ASYNC_PACKAGES, PACKAGES, SYNC, ScriptedServer, body, connected, plain_config

EACH_PACKAGE = pytest.mark.parametrize("package", PACKAGES)
FIRST, SECOND = "first", "second"
USER = {"username": "u", "password": "p"}
EMPTY_LIST = b'{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}'


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whom clients trust."""
    return Authority(tmp_path)


@pytest.fixture
def server(authority: Authority) -> Iterator[ApiServer]:
    """A server that speaks TLS and wants a token."""
    with ApiServer(tls=authority.server(), token=FIRST) as server:
        yield server


def listed(source: Any) -> None:
    assert source.list_page(ListRequest()).objects == []


def caught(call: Callable[[], object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        call()
    return caught.value


# --- TLS --------------------------------------------------------------------------------------------------------------


@EACH_PACKAGE
def test_a_server_that_is_trusted(server: ApiServer, package: str) -> None:
    """Lists and watches go over TLS, with the authority of the kubeconfig."""
    with connected(package, server.config()) as client:
        source = client.source()
        listed(source)
        with closing(source.watch(WatchRequest())):
            server.wait_for(lambda: server.watches)


@EACH_PACKAGE
def test_a_server_that_nobody_vouches_for(server: ApiServer, package: str, tmp_path: Path) -> None:
    """A certificate of another authority is refused, and the error says that and why."""
    config = server.config()
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    config["clusters"][0]["cluster"]["certificate-authority"] = str(Authority(tmp_path, "other").file)
    with connected(package, config) as client:
        error = caught(lambda: client.source().list_page(ListRequest()))
    assert error.kind is ErrorKind.NETWORK
    assert str(error) == "TLS failed: unable to get local issuer certificate"
    assert isinstance(error.__cause__, ssl.SSLCertVerificationError)
    assert server.requests == []


@EACH_PACKAGE
def test_a_server_of_another_name(authority: Authority, package: str) -> None:
    """A certificate for another host is refused, unless the kubeconfig says that the server is called so."""
    with ApiServer(tls=authority.server(address="192.0.2.1", host="api.example")) as server:
        config = server.config()
        with connected(package, config) as client:
            error = caught(lambda: client.source().list_page(ListRequest()))
        assert str(error).startswith("TLS failed: ")
        assert isinstance(error.__cause__, ssl.SSLCertVerificationError)
        config["clusters"][0]["cluster"]["tls-server-name"] = "api.example"
        with connected(package, config) as client:
            if getattr(client.client.configuration, "tls_server_name", None) != "api.example":
                pytest.skip("this version of the client does not read tls-server-name")
            listed(client.source())


@EACH_PACKAGE
def test_a_client_that_does_not_look(server: ApiServer, package: str) -> None:
    """Who says insecure-skip-tls-verify trusts everyone."""
    config = server.config()
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    config["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    with connected(package, config) as client:
        if package == SYNC:
            with pytest.warns(match="Unverified HTTPS request"):
                listed(client.source())
        else:
            listed(client.source())


@EACH_PACKAGE
def test_a_client_that_has_a_certificate(authority: Authority, package: str) -> None:
    """A server that wants to know its clients by certificate gets that of the kubeconfig, and nothing without it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files = authority.server()
    context.load_cert_chain(files.certificate, files.private_key)
    context.load_verify_locations(authority.file)
    context.verify_mode = ssl.CERT_REQUIRED
    certificate, key = authority.client("web-controller")
    with ScriptedServer(body(EMPTY_LIST), body(EMPTY_LIST), context=context) as server:
        config = plain_config(server.url, **{"client-certificate": str(certificate), "client-key": str(key)})
        config["clusters"][0]["cluster"]["certificate-authority"] = str(authority.file)
        with connected(package, config) as client:
            listed(client.source())
        config["users"][0]["user"] = {}
        with connected(package, config) as client:
            assert caught(lambda: client.source().list_page(ListRequest())).kind is ErrorKind.NETWORK
        assert len(server.heads) == 1


def test_an_authority_that_is_replaced(server: ApiServer, authority: Authority, tmp_path: Path) -> None:
    """After TLS has failed the files are read again: a source outlives a rotation of certificates."""
    trusted = Authority(tmp_path, "stale").file
    config = server.config()
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    config["clusters"][0]["cluster"]["certificate-authority"] = str(trusted)
    with connected(SYNC, config) as client:
        source = client.source()
        assert "TLS failed" in str(caught(lambda: source.list_page(ListRequest())))
        trusted.write_bytes(authority.file.read_bytes())
        listed(source)


@EACH_PACKAGE
def test_a_proxy(package: str) -> None:
    """Requests go through the proxy of the kubeconfig, which is asked for the whole URL."""
    with ScriptedServer(body(EMPTY_LIST)) as proxy:
        config = plain_config("http://api.example")
        config["clusters"][0]["cluster"]["proxy-url"] = proxy.url
        with connected(package, config) as client:
            if client.client.configuration.proxy != proxy.url:
                pytest.skip("this version of the client does not read proxy-url")
            listed(client.source())
    assert proxy.heads[0].startswith("GET http://api.example/api/v1/pods HTTP/1.1\r\n")


# --- who the client is ------------------------------------------------------------------------------------------------


@EACH_PACKAGE
def test_a_password(package: str) -> None:
    """A user and a password of the kubeconfig are sent."""
    with ApiServer() as server, connected(package, plain_config(server.url, **USER)) as client:
        listed(client.source())
        assert server.requests[0].headers["authorization"] == "Basic dTpw"


@EACH_PACKAGE
def test_a_token_that_is_refused(server: ApiServer, package: str) -> None:
    """A wrong token is an error of the credentials; the right one, put into the configuration, is sent next."""
    with connected(package, server.config()) as client:
        source = client.source()
        server.token = SECOND
        assert caught(lambda: source.list_page(ListRequest())).kind is ErrorKind.CREDENTIALS
        names = [name for name in ("BearerToken", "authorization") if name in client.client.configuration.api_key]
        client.client.configuration.refresh_api_key_hook = None  # with which the kubeconfig's token would come back
        client.client.configuration.api_key |= dict.fromkeys(names, f"Bearer {SECOND}")
        listed(source)


def exec_plugin(folder: Path) -> tuple[dict[str, Any], Path]:
    """Give the user of a kubeconfig whose token a program tells, and the file from which that takes it.

    What it tells has always expired already.
    """
    token, program = folder / "token", folder / "plugin.py"
    credential = {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1",
        "status": {"token": "TOKEN", "expirationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")},
    }
    told, path = json.dumps(credential), str(token)
    program.write_text(f"print({told!r}.replace('TOKEN', open({path!r}).read()))\n")
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(program)],
        "interactiveMode": "Never",
    }
    return {"exec": plugin}, token


def test_an_exec_plugin(server: ApiServer, tmp_path: Path) -> None:
    """The token of an exec plugin is sent, and a new one as soon as the old one has expired."""
    user, token = exec_plugin(tmp_path)
    token.write_text(FIRST)
    config = server.config() | {"users": [{"name": "kindex", "user": user}]}
    with connected(SYNC, config) as client:
        source = client.source()
        listed(source)
        token.write_text(SECOND)
        server.token = SECOND
        listed(source)


@pytest.mark.parametrize("package", ASYNC_PACKAGES)
def test_an_exec_plugin_in_asyncio(server: ApiServer, package: str, tmp_path: Path) -> None:
    """The token of an exec plugin is sent; these clients ask the plugin again only where a task does it for them."""
    user, token = exec_plugin(tmp_path)
    token.write_text(FIRST)
    config = server.config() | {"users": [{"name": "kindex", "user": user}]}
    with connected(package, config) as client:
        source = client.source()
        listed(source)
        server.token = SECOND
        client.client.configuration.api_key["BearerToken"] = f"Bearer {SECOND}"  # as their refresh_token() does
        listed(source)


@pytest.mark.parametrize("package", ["kubernetes.aio"])
def test_a_hook_that_waits(server: ApiServer, package: str) -> None:
    """In asyncio the hook that renews a token may be a coroutine."""

    async def renew(configuration: Any) -> None:
        configuration.api_key["BearerToken"] = f"Bearer {SECOND}"

    with connected(package, server.config()) as client:
        client.client.configuration.refresh_api_key_hook = renew
        server.token = SECOND
        listed(client.source())


def test_the_token_of_a_service_account(server: ApiServer, authority: Authority, tmp_path: Path) -> None:
    """In a cluster the token's file is read again as the client does it, so a token that was rotated is sent."""
    from kubernetes.client import ApiClient, Configuration
    from kubernetes.config.incluster_config import InClusterConfigLoader

    from kindex.decoding import LazyDecoder
    from kindex.sources.client import ClientSource
    from tests.sources import PODS

    token = tmp_path / "token"
    token.write_text(FIRST)
    server.token = None  # which it would want in another spelling than the client's
    host, _, port = server.url.removeprefix("https://").partition(":")
    loader = InClusterConfigLoader(
        token_filename=str(token),
        cert_filename=str(authority.file),
        environ={"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port},
    )
    configuration = Configuration()
    loader.load_and_set(configuration)
    with ApiClient(configuration) as client, closing(ClientSource(PODS, client, decoder=LazyDecoder())) as source:
        listed(source)
        token.write_text(SECOND)
        loader.token_expires_at = datetime.min  # noqa: DTZ901 - the loader's times are naive
        listed(source)
    sent = [request.headers["authorization"].lower() for request in server.requests]
    assert sent == [f"bearer {FIRST}", f"bearer {SECOND}"]
