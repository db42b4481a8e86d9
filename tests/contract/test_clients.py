"""The clients that users have, against ApiServer: each lists, watches and writes without knowing that it is none."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kindex import LabelIndexer, Store
from kindex.testing import ApiServer, Resource

WIDGET = Resource("acme.io/v1", "Widget", status=False)
MERGE = "application/merge-patch+json"


def pod(name: str, app: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "prod", "labels": {"app": app}}
    spec = {"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example.com/main:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def widget(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "prod"}
    return {"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": metadata, "spec": {"color": "red"}}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Three pods and a custom object."""
    objects = [pod("a", "web"), pod("b", "web"), pod("c", "db"), widget("w")]
    with ApiServer(objects, resources=[WIDGET]) as server:
        yield server


def test_the_official_client(server: ApiServer) -> None:
    """CoreV1Api lists by selector and by pages, watches, creates, patches, deletes, and sees errors as its own."""
    from kubernetes import client, watch

    with server.api_client() as api:
        v1 = client.CoreV1Api(api)
        by_label = v1.list_namespaced_pod("prod", label_selector="app=web", field_selector="spec.nodeName=n1")
        assert [item.metadata.name for item in by_label.items] == ["a", "b"]
        first = v1.list_pod_for_all_namespaces(limit=2)
        assert first.metadata.remaining_item_count == 1
        rest = v1.list_pod_for_all_namespaces(limit=2, _continue=first.metadata._continue)
        assert [item.metadata.name for item in rest.items] == ["c"]
        spec = client.V1PodSpec(containers=[client.V1Container(name="main", image="x")])
        made = v1.create_namespaced_pod("prod", client.V1Pod(metadata=client.V1ObjectMeta(name="d"), spec=spec))
        assert made.metadata.uid
        v1.delete_namespaced_pod("d", "prod")
        stream = watch.Watch().stream(
            v1.list_namespaced_pod, "prod", resource_version=first.metadata.resource_version, timeout_seconds=10
        )
        seen = [(event["type"], event["object"].metadata.name) for event in islice(stream, 2)]
        stream.close()
        assert seen == [("ADDED", "d"), ("DELETED", "d")]
        with pytest.raises(client.ApiException) as caught:
            v1.read_namespaced_pod("none", "prod")
        assert (caught.value.status, caught.value.reason) == (404, "Not Found")


def test_the_official_clients_custom_objects(server: ApiServer) -> None:
    """CustomObjectsApi lists, creates, replaces and patches custom objects."""
    from kubernetes import client

    with server.api_client() as api:
        custom = client.CustomObjectsApi(api)
        place = ("acme.io", "v1", "prod", "widgets")
        (found,) = custom.list_cluster_custom_object("acme.io", "v1", "widgets")["items"]
        found["spec"]["color"] = "blue"
        assert custom.replace_namespaced_custom_object(*place, "w", found)["metadata"]["generation"] == 2
        custom.create_namespaced_custom_object(*place, widget("v"))
        assert [each["spec"]["color"] for each in server.objects("widgets")] == ["red", "blue"]


def test_the_dynamic_client(server: ApiServer) -> None:
    """DynamicClient discovers resources, and lists, watches and patches through what it found."""
    from kubernetes import dynamic

    with server.api_client() as api:
        found = dynamic.DynamicClient(api)
        pods = found.resources.get(api_version="v1", kind="Pod")
        assert [item.metadata.name for item in pods.get(namespace="prod", label_selector="app=db").items] == ["c"]
        watching = pods.watch(namespace="prod", timeout=10)
        event = next(watching)
        watching.close()
        assert (event["type"], event["object"].metadata.name) == ("ADDED", "a")
        widgets = found.resources.get(api_version="acme.io/v1", kind="Widget")
        patched = widgets.patch(name="w", namespace="prod", body={"spec": {"color": "green"}}, content_type=MERGE)
        assert patched.spec.color == "green"


def test_the_official_asyncio_client(server: ApiServer) -> None:
    """kubernetes.aio, where the client has it, lists and watches."""
    pytest.importorskip("kubernetes.aio")
    from kubernetes.aio import client, config, watch

    async def ask() -> tuple[int, tuple[str, str]]:
        async with await config.new_client_from_config_dict(server.config()) as api:
            v1 = client.CoreV1Api(api)
            count = len((await v1.list_namespaced_pod("prod", label_selector="app=web")).items)
            async with watch.Watch() as watching:
                async for event in watching.stream(v1.list_namespaced_pod, "prod", timeout_seconds=10):
                    return count, (event["type"], event["object"].metadata.name)
        raise AssertionError("the watch ended without an event")

    assert asyncio.run(ask()) == (2, ("ADDED", "a"))


def test_a_store_beside_the_official_informer(server: ApiServer) -> None:
    """Who stays on SharedInformer has indexes in a store that its handlers write: docs/informers.md says so."""
    informers = pytest.importorskip("kubernetes.informer")
    from kubernetes import client

    store: Store[Any] = Store(name="pods", indexers=[LabelIndexer("app")])
    with server.api_client() as api:
        informer = informers.SharedInformer(client.CoreV1Api(api).list_namespaced_pod, namespace="prod")
        for event_type, write in (("ADDED", store.put), ("MODIFIED", store.put), ("DELETED", store.delete)):
            informer.add_event_handler(event_type, write)
        informer.start()
        try:
            assert store.wait_until(lambda pods: pods.count(label_selector="app=web") == 2, 10)
            server.wait_for(lambda: server.watches)
            server.update(pod("a", "db"))
            server.delete("pods", "b", namespace="prod")
            assert store.wait_until(lambda pods: [key.name for key in pods.keys(order_by="key")] == ["a", "c"], 10)
            assert store.count(label_selector="app=db") == 2
        finally:
            server.stop()  # else its stop() would wait until the watch says something
            informer.stop()


def test_kr8s(server: ApiServer, tmp_path: Path) -> None:
    """kr8s lists, watches and labels by its asyncio side."""
    pytest.importorskip("kr8s")
    import kr8s.asyncio
    from kr8s.asyncio.objects import Pod

    async def ask() -> tuple[list[str], tuple[str, str]]:
        api = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig(tmp_path / "config")))
        try:
            names = [item.name async for item in api.get("pods", namespace="prod", label_selector="app=web")]
            one = await Pod.get("c", namespace="prod", api=api)
            await one.label({"seen": "yes"})
            watching = api.watch("pods", namespace="prod")
            kind, obj = await anext(watching)
            await watching.aclose()
            return names, (kind, obj.name)
        finally:
            await api._session.aclose()  # it offers no way to close

    assert asyncio.run(ask()) == (["a", "b"], ("ADDED", "a"))
    assert server.get("pods", "c", namespace="prod")["metadata"]["labels"] == {"app": "db", "seen": "yes"}
    gc.collect()


def test_lightkube(server: ApiServer) -> None:
    """Lightkube lists by pages, watches, patches, and has generic resources."""
    pytest.importorskip("lightkube")
    from lightkube import Client, KubeConfig
    from lightkube.generic_resource import create_namespaced_resource
    from lightkube.resources.core_v1 import Pod
    from lightkube.types import PatchType

    client = Client(KubeConfig.from_dict(server.config()))
    assert [item.metadata.name for item in client.list(Pod, namespace="*", chunk_size=1)] == ["a", "b", "c"]
    watching = client.watch(Pod, namespace="prod", labels={"app": "db"}, server_timeout=10)
    kind, obj = next(watching)
    assert (kind, obj.metadata.name) == ("ADDED", "c")
    watching.close()
    patch = {"metadata": {"labels": {"seen": "yes"}}}
    patched = client.patch(Pod, "b", patch, namespace="prod", patch_type=PatchType.MERGE)
    assert patched.metadata.labels == {"app": "web", "seen": "yes"}
    widgets = create_namespaced_resource("acme.io", "v1", "Widget", "widgets")
    assert [item.metadata.name for item in client.list(widgets, namespace="prod")] == ["w"]
    client._client._client.close()  # it offers no way to close


def test_kopf(server: ApiServer) -> None:
    """A kopf operator sees an object created, changed and deleted, and writes its status and finalizer."""
    kopf = pytest.importorskip("kopf")
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def log_in(**_: Any) -> Any:
        return kopf.ConnectionInfo(server=server.url)

    @kopf.on.create("widgets", registry=registry)
    @kopf.on.update("widgets", registry=registry)
    def paint(spec: Any, patch: Any, **_: Any) -> None:
        patch.status["color"] = spec["color"]

    @kopf.on.delete("widgets", registry=registry)
    def scrap(**_: Any) -> None:
        """Kopf holds the object with a finalizer until this is done."""

    def color() -> str:
        return server.get("widgets", "w", namespace="prod").get("status", {}).get("color", "")

    stop = threading.Event()
    arguments = {"registry": registry, "standalone": True, "clusterwide": True, "stop_flag": stop}
    operator = threading.Thread(target=kopf.run, kwargs=arguments, daemon=True)
    operator.start()
    try:
        server.wait_for(lambda: color() == "red")
        painted = server.get("widgets", "w", namespace="prod")
        server.update(painted | {"spec": {"color": "blue"}})
        server.wait_for(lambda: color() == "blue")
        assert server.get("widgets", "w", namespace="prod")["metadata"]["finalizers"]
        server.delete("widgets", "w", namespace="prod")
        server.wait_for(lambda: not server.objects("widgets"))
    finally:
        stop.set()
        operator.join()
