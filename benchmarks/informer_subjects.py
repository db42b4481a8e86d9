"""What ``bench_informers`` compares: whatever keeps a Python process's pods up to date, each by its usual call."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from kubernetes import client, watch
from kubernetes.informer import SharedInformer

from benchmarks.rendered_server import SENT
from kindex import FieldIndexer, Informer, LabelIndexer

if TYPE_CHECKING:
    from kindex import Updated

INDEXED = ("app", "tier", "pod-template-hash")


class Subject(ABC):
    """Keeps the pods of a server.

    Attributes:
        most: how many it is asked to keep.
        applied: how many changes it has taken in.
        delays: how long after it was sent each change came to a handler, in nanoseconds.
    """

    name: ClassVar[str]
    most: ClassVar[int] = 1_000_000

    def __init__(self, api: client.CoreV1Api) -> None:
        self.api = api
        self.applied = 0
        self.delays: list[int] = []

    @abstractmethod
    def start(self) -> None:
        """Begin to list."""

    @abstractmethod
    def count(self) -> int:
        """Tell how many pods it has."""

    def changes(self) -> int:
        """Tell how many changes it has taken in."""
        return self.applied

    @abstractmethod
    def listen(self) -> None:
        """Note the delays of changes from now on."""

    @abstractmethod
    def stop(self) -> None:
        """End."""

    def note(self, sent: str) -> None:
        """Note the delay of a change that was sent then."""
        self.delays.append(time.monotonic_ns() - int(sent))


class Kindex(Subject):
    """LazyObjects by paged lists, with three labels and the node indexed."""

    name = "kindex lazy"
    settings: ClassVar[dict[str, Any]] = {}

    def __init__(self, api: client.CoreV1Api) -> None:
        super().__init__(api)
        indexers = [LabelIndexer(*INDEXED), FieldIndexer("spec.nodeName")]
        self.informer: Informer[Any] = Informer(
            api.list_pod_for_all_namespaces, indexers=indexers, strip=None, **self.settings
        )

    def start(self) -> None:
        self.informer.start()

    def count(self) -> int:
        return len(self.informer.view) if self.informer.synced else 0

    def changes(self) -> int:
        return self.informer.stats.events

    def listen(self) -> None:
        def noted(delta: Updated[Any]) -> None:
            self.note(delta.new["metadata"]["annotations"][SENT])

        self.informer.view.add_event_handler(on_update=noted, replay=False)

    def stop(self) -> None:
        self.informer.stop()


class KindexStripped(Kindex):
    """The same without managedFields, as is the default."""

    name = "kindex lazy, stripped"
    settings: ClassVar[dict[str, Any]] = {}

    def __init__(self, api: client.CoreV1Api) -> None:
        super().__init__(api)
        indexers = [LabelIndexer(*INDEXED), FieldIndexer("spec.nodeName")]
        self.informer = Informer(api.list_pod_for_all_namespaces, indexers=indexers)


class KindexWatchList(Kindex):
    """LazyObjects by WatchList."""

    name = "kindex lazy, WatchList"
    settings: ClassVar[dict[str, Any]] = {"watch_list": True}


class KindexDicts(Kindex):
    """Dicts by paged lists."""

    name = "kindex dict"
    settings: ClassVar[dict[str, Any]] = {"objects": "dict"}


class Shared(Subject):
    """The official client's informer; no index."""

    name = "SharedInformer"

    def __init__(self, api: client.CoreV1Api) -> None:
        super().__init__(api)
        self.informer = SharedInformer(api.list_pod_for_all_namespaces)
        self.informer.add_event_handler("MODIFIED", self._modified)
        self.listening = False

    def _modified(self, pod: Any) -> None:
        if self.listening:
            self.note(pod.metadata.annotations[SENT])
        self.applied += 1

    def start(self) -> None:
        self.informer.start()

    def count(self) -> int:
        return len(self.informer.cache.list_keys())

    def listen(self) -> None:
        self.listening = True

    def stop(self) -> None:
        """Nothing: it waits for the watch to end, and its thread is a daemon."""


class ListAndDict(Subject):
    """The official client's list and watch, and a dict."""

    name = "official list + dict"

    def __init__(self, api: client.CoreV1Api) -> None:
        super().__init__(api)
        self.pods: dict[tuple[str, str], Any] = {}
        self.listening = False

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        listed = self.api.list_pod_for_all_namespaces()
        self.pods = {(pod.metadata.namespace, pod.metadata.name): pod for pod in listed.items}
        version = listed.metadata.resource_version
        del listed
        for event in watch.Watch().stream(self.api.list_pod_for_all_namespaces, resource_version=version):
            pod = event["object"]
            self.pods[pod.metadata.namespace, pod.metadata.name] = pod
            if self.listening:
                self.note(pod.metadata.annotations[SENT])
            self.applied += 1

    def count(self) -> int:
        return len(self.pods)

    def listen(self) -> None:
        self.listening = True

    def stop(self) -> None:
        """Nothing: its thread is a daemon."""


class Kopf(Subject):
    """kopf's in-memory index of pods by label; its operator runs in a thread.

    It needs much more than twice as long for twice as many pods, so it is asked for few.
    """

    name = "kopf index, 2,000 pods"
    most = 2_000

    def __init__(self, api: client.CoreV1Api) -> None:
        super().__init__(api)
        import kopf

        self.keys: set[tuple[str, str]] = set()
        self.listening = False
        self.stopping = threading.Event()
        registry = kopf.OperatorRegistry()

        @kopf.index("pods", registry=registry)
        async def by_app(namespace: str, name: str, labels: Any, annotations: Any, **_: Any) -> Any:
            self.keys.add((namespace, name))
            if SENT in annotations:
                if self.listening:
                    self.note(annotations[SENT])
                self.applied += 1
            return {labels.get("app", ""): name}

        @kopf.on.startup(registry=registry)
        def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
            settings.posting.enabled = False
            settings.scanning.disabled = True

        @kopf.on.login(registry=registry)
        def connect(**_: Any) -> kopf.ConnectionInfo:
            return kopf.ConnectionInfo(server=api.api_client.configuration.host)

        self.operator = lambda: asyncio.run(
            kopf.operator(registry=registry, standalone=True, clusterwide=True, stop_flag=self.stopping)
        )

    def start(self) -> None:
        threading.Thread(target=self.operator, daemon=True).start()

    def count(self) -> int:
        return len(self.keys)

    def listen(self) -> None:
        self.listening = True

    def stop(self) -> None:
        self.stopping.set()


SUBJECTS: dict[str, type[Subject]] = {
    each.name: each for each in (Kindex, KindexStripped, KindexWatchList, KindexDicts, Shared, ListAndDict, Kopf)
}
