"""A cluster as raw HTTP, for the contract that ApiServer and a real server both fulfil."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any, TypeAlias
from urllib.parse import urlencode

import attrs
import urllib3

from kindex.testing import ApiServer

Json: TypeAlias = Any  # Any: JSON of every shape

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


@attrs.frozen
class Answer:
    """A status and the JSON, or text, that came with it."""

    status: int
    body: Json
    headers: dict[str, str]


@attrs.define
class RawCluster:
    """One cluster, and a namespace in it that is the test's own; *server* is None where the cluster is a real one."""

    url: str
    pool: urllib3.PoolManager
    headers: dict[str, str]
    namespace: str
    server: ApiServer | None

    @classmethod
    def of(cls, server: ApiServer) -> RawCluster:
        """Talk to a running ApiServer."""
        return cls(server.url, urllib3.PoolManager(retries=False, timeout=30), {}, "contract", server)

    @classmethod
    def at(cls, kubeconfig: str) -> RawCluster:
        """Talk to the real cluster of a kubeconfig, with the credentials that the official client reads from it."""
        from kubernetes import config

        client = config.new_client_from_config(config_file=kubeconfig)
        settings = client.configuration
        token = settings.get_api_key_with_prefix("authorization")
        pool = urllib3.PoolManager(
            retries=False,
            timeout=30,
            ca_certs=settings.ssl_ca_cert,
            cert_file=settings.cert_file,
            key_file=settings.key_file,
            cert_reqs="CERT_REQUIRED" if settings.verify_ssl else "CERT_NONE",
        )
        headers = {"Authorization": token} if token else {}
        return cls(settings.host, pool, headers, f"kindex-{uuid.uuid4().hex[:10]}", None)

    def path(self, resource: str, name: str = "") -> str:
        """Give the path of ``secrets``, or of ``networking.k8s.io/v1/networkpolicies``, in the namespace."""
        api_version, _, plural = resource.rpartition("/")
        root = f"/apis/{api_version}" if api_version else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def ask(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        **query: object,
    ) -> Answer:
        """Send one request, and read its whole answer."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = {**self.headers, "Accept": accept} | ({"Content-Type": content_type} if content is not None else {})
        answer = self.pool.request(method, self._target(path, query), body=content, headers=headers)
        text = answer.data.decode()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return Answer(answer.status, json.loads(text) if is_json else text, dict(answer.headers))

    def watch(self, path: str, *, accept: str = "application/json", **query: object) -> Iterator[Json]:
        """Begin a watch, and give its events as they come, to the end of the stream; closed with the iterator.

        Every watch of the contract has an end: an event that is missing must not hang the run.
        """
        target = self._target(path, {"watch": "true", "timeoutSeconds": "20", **query})
        answer = self.pool.request(
            "GET", target, headers={**self.headers, "Accept": accept}, preload_content=False, timeout=60
        )
        assert answer.status == 200, answer.read()
        return self._events(answer)

    @staticmethod
    def _events(answer: urllib3.BaseHTTPResponse) -> Iterator[Json]:
        buffered = b""
        # urllib3 has it from 2 on; before, what it reads from is Python's own answer, which has it.
        read1 = getattr(answer, "read1", None) or answer._fp.read1  # type: ignore[attr-defined]
        try:
            while part := read1(65536):
                *lines, buffered = (buffered + part).split(b"\n")
                yield from map(json.loads, lines)
        finally:
            answer.close()

    def create(self, resource: str, obj: Json) -> Json:
        """Create an object in the namespace."""
        answer = self.ask("POST", self.path(resource), obj)
        assert answer.status == 201, answer.body
        return answer.body

    def version(self, resource: str = "secrets") -> str:
        """Give the version of a list."""
        return self.ask("GET", self.path(resource), limit=1).body["metadata"]["resourceVersion"]

    def forgotten_version(self) -> str:
        """Give a version that is compacted; a real cluster must be some minutes old."""
        if self.server is None:
            return "1"
        version = self.version()
        self.server.compact()
        return version

    def forgotten_token(self, resource: str) -> str:
        """Give a continue token whose version is compacted; there must be two objects."""
        if self.server is None:
            token = {"v": "meta.k8s.io/v1", "rv": 1, "start": f"{self.namespace}/\u0000"}
            return base64.urlsafe_b64encode(json.dumps(token).encode()).decode().rstrip("=")
        token = self.ask("GET", self.path(resource), limit=1).body["metadata"]["continue"]
        self.server.compact()
        return str(token)

    def _target(self, path: str, query: dict[str, object]) -> str:
        # "from" and "continue" are words of Python: a query may say continue_.
        return f"{self.url}{path}?{urlencode({name.rstrip('_'): value for name, value in query.items()})}"


def secret(name: str, **labels: str) -> Json:
    """Make an object that no controller of a cluster touches."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": labels},
        "type": "kindex.dev/contract",
    }


def pod(name: str) -> Json:
    """Make a pod that nobody schedules."""
    spec = {"schedulerName": "kindex-none", "containers": [{"name": "main", "image": "registry.example.com/none:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def policy(name: str) -> Json:
    """Make an object whose generation counts, and which no controller touches."""
    spec = {"podSelector": {}, "policyTypes": ["Ingress"]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec}
