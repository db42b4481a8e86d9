"""How the example controllers run: over files or beside a cluster, one change at a time.

Each of them is a class that knows its kinds, is told of changes, and keeps what it makes of each object in ``Results``.
``controller_main`` is the command line of all of them.

A controller that is told of a service reads pods, of which it may be told later. So it must be told of every state
that it may have read: a pod that had label A, was read with B, and has C by the time that the controller is told of
it, would otherwise be one change from A to C, and nobody would look again at what selects B. That is
``overflow="close"``: each commit is told, and who falls too far behind begins anew.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import attrs
from kubernetes import config

from kindex import Delta, FollowerTooSlow, InformerGroup, ObjectKey, Store, StoreView
from kindex.cli.documents import InputError, read_documents
from kindex.indexers.base import AnyIndexer
from kindex.indexers.owners import group_of

Views: TypeAlias = Mapping[str, StoreView[Any]]
"""What there is of each kind."""

_log = logging.getLogger("examples")


@attrs.frozen
class Kind:
    """A kind that a controller follows, and what it asks of it: version and kind as in manifests."""

    api_version: str
    kind: str
    indexers: tuple[AnyIndexer[Any], ...] = ()
    namespaced: bool = True


class Controller(Protocol):
    """What an example is: told of every change, after the views know it."""

    kinds: ClassVar[tuple[Kind, ...]]
    results: Results

    def __init__(self, views: Views, tell: Callable[[str], object]) -> None: ...

    def handle(self, kind: str, delta: Delta[Any]) -> None:
        """Do what a change of an object of *kind* asks for."""


class Results:
    """What a controller has made of each object: what is new is told, and what is wrong is said once."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._made: dict[ObjectKey, object] = {}
        self._warned: dict[ObjectKey, str] = {}

    def put(self, key: ObjectKey, value: object, *, wrong: str = "") -> None:
        """Keep what was made of *key*; *wrong* is what to warn of, unless that was said of it last time."""
        if key not in self._made or self._made[key] != value:
            self._tell(f"{key}: {value}")
        self._made[key] = value
        if wrong and self._warned.get(key) != wrong:
            _log.warning("%s: %s", key, wrong)
        self._warned[key] = wrong

    def drop(self, key: ObjectKey) -> None:
        """Forget what was made of *key*, which is gone or none of ours."""
        self._warned.pop(key, None)
        if self._made.pop(key, None) is not None:
            self._tell(f"{key}: none")

    def get(self, key: ObjectKey) -> Any:
        """Give what was made of *key*, or None."""
        return self._made.get(key)

    def values(self) -> dict[ObjectKey, Any]:
        """Give all results."""
        return dict(self._made)


def stores_of(controller: type[Controller], objects: Iterable[Any] = (), **settings: Any) -> dict[str, Store[Any]]:
    """Make a store for each kind of a controller, and file *objects* there; those of other kinds are passed over."""
    stores = {
        kind.kind: Store[Any](
            name=kind.kind,
            indexers=kind.indexers,
            scope="namespaced" if kind.namespaced else "cluster",
            **settings,
        )
        for kind in controller.kinds
    }
    wanted = {(group_of(kind.api_version), kind.kind): kind for kind in controller.kinds}
    for obj in objects:
        kind = wanted.get((group_of(obj.get("apiVersion") or ""), obj.get("kind")))
        if kind is not None:
            if kind.namespaced and not obj["metadata"].get("namespace"):
                obj = {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}  # noqa: PLW2901 - as kubectl does
            stores[kind.kind].put(obj)
    return stores


class Loop:
    """Tells a controller of what changes, one change at a time; close it, or use it in a ``with`` block."""

    def __init__(self, controller: Controller, views: Views) -> None:
        self._controller = controller
        self._turn = threading.Lock()
        self._followers = {kind: view.follow(overflow="close") for kind, view in views.items()}
        # A follower begins with what is there when it is first asked: all are asked before the controller reads.
        self._first = {kind: follower.take() for kind, follower in self._followers.items()}

    def tell(self, kind: str) -> None:
        """Tell of the changes of one kind."""
        for delta in [*self._first.pop(kind, ()), *self._followers[kind].take()]:
            self._controller.handle(kind, delta)

    def settle(self) -> None:
        """Tell of all changes, first those of the kinds that the controller named first."""
        for kind in self._followers:
            self.tell(kind)

    def run(self, over: threading.Event) -> None:
        """Tell of changes as they come, each kind in a thread of its own, until it is *over*.

        Returns earlier when the controller is so slow that changes were lost: then begin anew, with another controller.
        """
        self.settle()
        ending = threading.Event()
        threads = [threading.Thread(target=self._serve, args=(kind, ending)) for kind in self._followers]
        for thread in threads:
            thread.start()
        while not (over.wait(0.1) or ending.is_set()):
            pass
        self.close()
        for thread in threads:
            thread.join()

    def close(self) -> None:
        """Follow no more."""
        for follower in self._followers.values():
            follower.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self, kind: str, ending: threading.Event) -> None:
        try:
            for delta in self._followers[kind]:
                with self._turn:
                    try:
                        self._controller.handle(kind, delta)
                    except Exception:  # noqa: BLE001 - one object must not stop the others
                        _log.exception("%s %s", kind, delta.key)
        except FollowerTooSlow:
            _log.warning("%s: too many changes; beginning anew", kind)
        finally:
            ending.set()


def run_on_files(make: type[Controller], paths: list[str], tell: Callable[[str], object]) -> None:
    """Read manifests, and settle once.

    Raises:
        InputError: a file cannot be read, or holds something else.
    """
    stores = stores_of(make, (document.object for document in read_documents(paths, sys.stdin.buffer)))
    with Loop(make(stores, tell), stores) as loop:
        loop.settle()


def run_on_cluster(
    make: type[Controller], kubeconfig: str, tell: Callable[[str], object], over: threading.Event
) -> None:
    """Follow a cluster, until it is *over*."""
    group = InformerGroup(sync_timeout=60)
    api = config.new_client_from_config(config_file=kubeconfig)  # type: ignore[no-untyped-call]
    informers = {
        kind.kind: group.of(kind.api_version, kind.kind, client=api, indexers=kind.indexers) for kind in make.kinds
    }
    try:
        with group:  # all kinds are listed before the first change is told
            views = {kind: informer.view for kind, informer in informers.items()}
            while not over.is_set():
                with Loop(make(views, tell), views) as loop:
                    loop.run(over)
    finally:
        api.close()


def controller_main(make: type[Controller]) -> None:
    """Run a controller as a program: until all files are read, or until it is interrupted."""
    parser = argparse.ArgumentParser(description=str(make.__doc__).partition("\n")[0])
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--file", nargs="+", metavar="FILE", help="manifests or lists, JSON or YAML; - is standard input"
    )
    where.add_argument("--kubeconfig", metavar="FILE", help="the cluster to follow")
    given = parser.parse_args()
    logging.basicConfig(format="%(levelname)s %(message)s")
    logging.captureWarnings(capture=True)  # of indexes, about objects that they leave out
    tell = partial(print, flush=True)
    try:
        if given.file:
            run_on_files(make, given.file, tell)
        else:
            run_on_cluster(make, given.kubeconfig, tell, threading.Event())
    except InputError as error:
        parser.exit(1, f"{error}\n")
    except KeyboardInterrupt:
        parser.exit()
