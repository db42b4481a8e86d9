"""The demo's two controllers: for each pod that changes, both find its peers, one by index and one by scan.

The peers of a pod are those with its label ``app`` in its namespace, as who keeps a Service's endpoints needs them; of
one without the label those on its node.
"""

from __future__ import annotations

import threading
from time import thread_time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kindex.cli.demo_questions import by_labels, by_node
from kindex.objects import resource_version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kindex.following import Follower
    from kindex.informer.views import InformerView
    from kindex.views import View

RawObject: TypeAlias = dict[str, Any]  # Any: JSON
Found: TypeAlias = "list[RawObject]"

by_app: Final = by_labels.key("app")


class Controller:
    """Follows a view in a thread of its own, and answers for each change.

    Attributes:
        answers: given so far.
        seconds: of the thread's CPU that they took; what it waited, also for other threads, is not in it.
        lag_seconds: how long before the last answer the change was made.
        failure: what ended it before it was stopped.
    """

    def __init__(self, name: str, view: InformerView[RawObject], seconds_since: Callable[[str], float | None]) -> None:
        """Prepare; what changes from now on is waiting when it is started."""
        self.answers = 0
        self.seconds = 0.0
        self.lag_seconds = 0.0
        self.failure: BaseException | None = None
        self._view = view
        self._seconds_since = seconds_since
        self._follower: Follower[RawObject] = view.follow(replay=False)
        self._thread = threading.Thread(target=self._run, name=f"kindex-demo-{name}", daemon=True)

    @property
    def waiting(self) -> int:
        """How many pods have changes that it has not come to yet."""
        return self._follower.lag

    @property
    def seconds_an_answer(self) -> float | None:
        """The mean; None before the first."""
        return self.seconds / self.answers if self.answers else None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; returns when it has. What waits is left. May be done again."""
        self._follower.close()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            for delta in self._follower:
                pod = delta.old if delta.new is None else delta.new
                assert pod is not None, delta
                self._answer(pod)
                self.answers += 1
                # What was deleted has the version of an earlier change.
                lag = None if delta.new is None else self._seconds_since(resource_version_of(pod))
                self.lag_seconds = self.lag_seconds if lag is None else lag
        except Exception as error:  # noqa: BLE001 - the demo ends with it
            self.failure = error

    def _answer(self, pod: RawObject) -> None:
        """Find the peers of *pod*, and count the time."""
        raise NotImplementedError


class IndexController(Controller):
    """Asks the view."""

    def _answer(self, pod: RawObject) -> None:
        started = thread_time()
        peers_by_index(self._view, pod)
        self.seconds += thread_time() - started


class ScanController(Controller):
    """Looks at each pod, and checks that the index would have said the same of the same state."""

    def _answer(self, pod: RawObject) -> None:
        with self._view.snapshot() as moment:
            pods = list(moment)  # which a controller that keeps its own list would have
            started = thread_time()
            found = peers_by_scan(pods, pod)
            self.seconds += thread_time() - started
            same = peers_by_index(moment, pod)
        assert sorted(map(id, found)) == sorted(map(id, same)), pod["metadata"]


def peers_by_index(view: View[RawObject], pod: RawObject) -> Found:
    """Give the peers of *pod*.

    >>> from kindex import Store
    >>> pods = Store(name="pods", indexers=[by_labels, by_node])
    >>> pod = {"metadata": {"name": "web-1", "namespace": "prod", "labels": {"app": "web"}}}
    >>> _ = pods.put(pod)
    >>> peers_by_index(pods, pod) == peers_by_scan(list(pods), pod) == [pod]
    True
    """
    app, node = _app_of(pod), _node_of(pod)
    if app:
        return view.select(by_app.at(app), namespace=pod["metadata"]["namespace"])
    return view.select(by_node.at(node)) if node else []


def peers_by_scan(pods: Iterable[RawObject], pod: RawObject) -> Found:
    """Give the peers of *pod* among *pods*."""
    app, node, namespace = _app_of(pod), _node_of(pod), pod["metadata"]["namespace"]
    if app:
        return [each for each in pods if each["metadata"]["namespace"] == namespace and _app_of(each) == app]
    return [each for each in pods if _node_of(each) == node] if node else []


def _app_of(pod: RawObject) -> str:
    labels = pod["metadata"].get("labels")
    return labels.get("app", "") if labels else ""


def _node_of(pod: RawObject) -> str:
    node: str = pod.get("spec", {}).get("nodeName", "")
    return node
