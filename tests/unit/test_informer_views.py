"""InformerView: what an informer hands out, before and after its first list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kindex import Informer, InformerView, LabelIndexer, NamespaceIndexer, NotSyncedError, View
from kindex.informer.views import GuardedView
from kindex.testing import FakeSource
from tests.informers import PATIENCE, Heard, fails, listen, no_thread_left
from tests.pods import Pod, key, pod

by_app = LabelIndexer("app")

READS: dict[str, Callable[[InformerView[Pod]], object]] = {
    "get": lambda view: view.get("a", namespace="prod"),
    "get a key": lambda view: view.get(key("a")),
    "require": lambda view: view.require("a", namespace="prod"),
    "get_many": lambda view: view.get_many([key("a")]),
    "in": lambda view: key("a") in view,
    "len": len,
    "iter": list,
    "select": lambda view: view.select(label_selector="app=web"),
    "keys": lambda view: view.keys(),
    "first": lambda view: view.first(),
    "any": lambda view: view.any(),
    "count": lambda view: view.count(),
    "explain": lambda view: view.explain(),
    "index_values": lambda view: view.index_values(NamespaceIndexer()),
    "tally": lambda view: view.tally(by_app.key("app")),
    "skipped": lambda view: view.skipped(),
    "snapshot": lambda view: view.snapshot(),
}


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def informer_of(**settings: Any) -> Informer[Pod]:
    return Informer(FakeSource([pod("a", app="web")], name="pods"), indexers=[by_app], **settings)


@pytest.mark.parametrize("read", READS)
def test_no_read_says_that_nothing_is_there(read: str) -> None:
    """Before the first list each way of reading raises NotSyncedError; then none does, also after the end."""
    informer = informer_of()
    view = informer.view
    with pytest.raises(NotSyncedError, match="informer 'pods' has not synced: it was not started"):
        READS[read](view)
    with informer:
        READS[read](view)
    READS[read](view)


def test_each_way_of_reading_is_guarded() -> None:
    """No query method of a view was forgotten."""
    names = {name for name in vars(View) if not name.startswith("_")}
    known = {"name", "revision", "index_names", "resource_version"}  # which say nothing of objects
    guarded = {*READS, "get_many"}
    assert names - known <= guarded
    assert {*guarded, "__len__", "__contains__", "__iter__"} - {"get a key", "in", "len", "iter"} <= vars(
        GuardedView
    ).keys()


def test_a_read_says_why_it_has_not_synced() -> None:
    """The error has what the server said last, as its cause too."""
    source = FakeSource(name="pods")
    fails(source, "list", status=403)
    informer = Informer(source).start()
    assert informer._bells.wait_until(lambda: informer.last_error is not None, PATIENCE)
    with pytest.raises(NotSyncedError, match="has not synced: 403: as the test said; wait_synced") as raised:
        informer.view.select()
    assert raised.value.__cause__ is informer.last_error
    informer.stop()
    with pytest.raises(NotSyncedError, match="has not synced"):
        len(informer.view)


def test_what_says_nothing_of_objects_may_be_asked_before() -> None:
    """Names, versions, costs and who follows: that is known from the beginning."""
    view = informer_of().view
    assert repr(view) == "InformerView('pods', not synced)"
    assert (view.name, view.revision, view.index_names) == ("pods", 0, ("app", "namespace"))
    assert view.resource_version() is None
    assert view.memory().objects == 0
    assert view.dropped == ()
    follower = view.follow()
    assert follower.take() == []


def test_followers_end_with_the_informer() -> None:
    """Whoever iterates over changes is not left waiting; handlers are removed."""
    informer, heard = informer_of(), Heard()
    with informer as view:
        registration = listen(view, heard)
        follower = view.follow()
        assert follower.next(PATIENCE) is not None
    assert list(follower) == []
    assert follower.closed
    assert not registration.active


def test_who_has_left_is_forgotten() -> None:
    """Handlers that were removed and followers that were let go of are not kept by the view."""
    informer = informer_of()
    with informer as view:
        for _ in range(5):
            registration = listen(view, Heard())
            registration.remove()
            registration.join(PATIENCE)
            view.follow().close()
        listen(view, Heard())
        assert len(informer._door._registrations) == 1
        assert len(informer._door._followers) == 0


def test_a_snapshot_outlives_the_informer() -> None:
    """A state that was taken can be read as long as one likes."""
    informer = informer_of()
    with informer as view:
        snapshot = view.snapshot()
    assert len(snapshot) == 1
