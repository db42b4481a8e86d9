"""The demo's cluster in motion: at a steady pace pods turn ready or not, and are relabelled, created and deleted."""

from __future__ import annotations

import threading
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kindex.keys import ObjectKey
from kindex.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kindex.testing import ApiServer

RawObject: TypeAlias = dict[str, Any]  # Any: JSON

_FEWEST: Final = 1  # pods, so that there is always one to change
_WEIGHTS: Final = {"readiness": 6, "relabel": 2, "create": 1, "delete": 1}


class Churn:
    """Changes pods of an ApiServer in a thread of its own; the only one who writes there.

    Attributes:
        changes: made so far.
        failure: what ended it before it was stopped.
    """

    def __init__(self, server: ApiServer, pods: Sequence[RawObject], *, a_second: float, seed: int) -> None:
        """Prepare; ``start`` begins."""
        self.changes = 0
        self.failure: BaseException | None = None
        self._server = server
        self._keys = [key_of(pod) for pod in pods]
        self._apps = sorted({app for pod in pods if (app := (pod["metadata"].get("labels") or {}).get("app"))})
        self._pause_seconds = 1 / a_second
        self._random = Random(seed)  # noqa: S311 - it hides nothing
        self._written_at: dict[str, float] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kindex-demo-churn", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; returns when nothing more is changed. May be done again."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()

    def seconds_since(self, version: str) -> float | None:
        """Say how long ago the object of this resource version was written, if it was written here."""
        written = self._written_at.get(version)
        return None if written is None else perf_counter() - written

    def _run(self) -> None:
        due = perf_counter()
        try:
            while not self._ending.wait(max(0.0, due - perf_counter())):
                self._change()
                due = max(due + self._pause_seconds, perf_counter() - 1)  # what was missed is not made up for ever
        except Exception as error:  # noqa: BLE001 - the demo ends with it
            self.failure = error

    def _change(self) -> None:
        what = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        place = self._random.randrange(len(self._keys))
        key = self._keys[place]
        if what == "delete" and len(self._keys) > _FEWEST:
            self._keys[place] = self._keys[-1]
            self._keys.pop()
            self._server.delete("pods", key.name, namespace=key.namespace)
        else:
            pod = self._server.get("pods", key.name, namespace=key.namespace)
            match what:
                case "create":
                    self._keys.append(self._create_like(pod))
                case "relabel" if self._relabelled(pod):
                    self._server.update(pod)
                case _:
                    _turn_readiness(pod)
                    self._server.update(pod)
        # Nobody else writes, so this is the version of what was just written.
        self._written_at[self._server.resource_version] = perf_counter()
        self.changes += 1

    def _relabelled(self, pod: RawObject) -> bool:
        """Give *pod* another app, if there is one."""
        labels = pod["metadata"].get("labels") or {}
        others = [app for app in self._random.sample(self._apps, min(2, len(self._apps))) if app != labels.get("app")]
        if others:
            pod["metadata"]["labels"] = {**labels, "app": others[0]}
        return bool(others)

    def _create_like(self, pod: RawObject) -> ObjectKey:
        metadata = {
            name: pod["metadata"][name]
            for name in ("namespace", "labels", "ownerReferences")
            if name in pod["metadata"]
        }
        created = self._server.create(
            {**pod, "metadata": {**metadata, "generateName": f"{pod['metadata']['name'][:40]}-"}}
        )
        return key_of(created)


def _turn_readiness(pod: RawObject) -> None:
    """Make a pod ready that was not, or the other way round."""
    status = pod.setdefault("status", {})
    conditions = status.setdefault("conditions", [])
    ready = next((each for each in conditions if each.get("type") == "Ready"), None)
    if ready is None:
        conditions.append(ready := {"type": "Ready", "status": "False"})
    ready["status"] = "False" if ready["status"] == "True" else "True"
    for container in status.get("containerStatuses") or ():
        container["ready"] = ready["status"] == "True"
