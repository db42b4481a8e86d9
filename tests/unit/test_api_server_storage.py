"""The storage of ApiServer: versions, snapshots of the past, history and what a compaction forgets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import ObjectKey
from kindex.testing import ApiError
from kindex.testing.api_server.inboxes import HungUp, Inbox
from kindex.testing.api_server.storage import BookmarkDue, Change, Message, Storage

KEYS = [ObjectKey(namespace, name) for namespace in ("a", "a-b") for name in "xyz"]


def put(storage: Storage, key: ObjectKey, value: int = 0) -> int:
    obj = {"metadata": {"namespace": key.namespace, "name": key.name}, "value": value}
    return storage.commit("things", key, obj).version


def content(storage: Storage, version: int | None = None) -> dict[ObjectKey, Any]:
    return {state.key: state.obj["value"] for state in storage.snapshot("things", version).states}


@pytest.fixture
def inbox() -> Iterator[Inbox[Message]]:
    """An inbox whose client stays."""
    ours, clients = socket.socketpair()
    with ours, clients, closing(Inbox[Message](ours)) as inbox:
        yield inbox


writes = st.lists(st.tuples(st.sampled_from(KEYS), st.none() | st.integers(0, 9)), max_size=20)


@given(writes, st.data())
def test_the_past_can_be_read(done: list[tuple[ObjectKey, int | None]], data: st.DataObject) -> None:
    """Each version since the compaction shows what was there then, in whatever order they are asked for."""
    storage = Storage(100)
    model: dict[ObjectKey, int] = {}
    history = {100: dict(model)}
    for key, value in done:
        if value is not None:
            model[key] = value
            put(storage, key, value)
        elif key in model:
            del model[key]
            storage.commit("things", key, None)
        history[storage.version] = dict(model)
    for version in data.draw(st.lists(st.sampled_from(sorted(history)), max_size=30)):
        assert content(storage, version) == history[version]
    assert content(storage) == model


def test_objects_are_in_the_order_of_their_paths() -> None:
    """As in etcd, keys are ordered by their text: a-b/x comes before a/x. A namespace is a run of them."""
    storage = Storage(0)
    for key in reversed(KEYS):
        put(storage, key)
    snapshot = storage.snapshot("things")
    assert [state.path for state in snapshot.part(None)] == ["a-b/x", "a-b/y", "a-b/z", "a/x", "a/y", "a/z"]
    assert [state.path for state in snapshot.part("a")] == ["a/x", "a/y", "a/z"]
    assert [state.path for state in snapshot.part("a", "a/x")] == ["a/y", "a/z"]
    assert [state.path for state in snapshot.part("a-b", "a")] == ["a-b/x", "a-b/y", "a-b/z"]
    assert snapshot.part("b") == []


def test_every_write_counts_up() -> None:
    """Every write, of whatever resource, takes the next version; a deleted object's last state has it too."""
    storage = Storage(999_999)
    assert [put(storage, KEYS[0]), storage.commit("others", KEYS[0], {"metadata": {"name": "x"}}).version] == [
        1_000_000,
        1_000_001,
    ]
    gone = storage.commit("things", KEYS[0], None)
    assert gone.version == 1_000_002
    assert gone.obj["metadata"]["resourceVersion"] == "1000002"


def test_what_a_snapshot_gave_is_never_edited() -> None:
    """A snapshot stays as it was, and an object that is read from it is the reader's own."""
    storage = Storage(0)
    put(storage, KEYS[0], 1)
    snapshot = storage.snapshot("things")
    snapshot.states[0].obj["value"] = 5
    put(storage, KEYS[0], 2)
    assert [state.obj["value"] for state in snapshot.states] == [1]


def test_a_compaction_forgets() -> None:
    """After a compaction every version before it is expired, for lists and watches, also one that was just read."""
    storage = Storage(0)
    put(storage, KEYS[0], 1)
    put(storage, KEYS[0], 2)
    assert content(storage, 1) == {KEYS[0]: 1}
    oldest = storage.compact()
    for version in range(oldest):
        for read in (storage.snapshot, storage.changes_since):
            with pytest.raises(ApiError, match="too old") as caught:
                read("things", version)
            assert (caught.value.code, caught.value.reason) == (410, "Expired")
    assert content(storage, oldest) == {KEYS[0]: 2}
    assert storage.changes_since("things", oldest) == []


def test_the_future_cannot_be_read() -> None:
    """A version that has not been reached cannot be read, and nothing has happened since."""
    storage = Storage(5)
    with pytest.raises(ApiError, match="Too large"):
        storage.snapshot("things", 6)
    assert storage.changes_since("things", 6) == []


def test_who_subscribes_misses_nothing(inbox: Inbox[Message]) -> None:
    """A subscriber gets every later change of its resource in order, and bookmarks in their place, until it leaves."""
    storage = Storage(0)
    put(storage, KEYS[0])
    storage.subscribe("things", inbox)
    put(storage, KEYS[1])
    storage.commit("others", KEYS[0], {"metadata": {"name": "x"}})
    storage.bookmark()
    storage.commit("things", KEYS[1], None)
    storage.unsubscribe("things", inbox)
    put(storage, KEYS[2])
    taken = list(iter(inbox.take, None))
    assert [type(message) for message in taken] == [Change, BookmarkDue, Change]
    assert [message.version for message in taken] == [2, 3, 4]
    assert taken[0] == storage.changes_since("things", 1)[0]


def test_an_inbox_wakes_and_hangs_up() -> None:
    """wait() returns for an item and for a wake, however many, and raises when the client left."""
    ours, clients = socket.socketpair()
    with ours, clients, closing(Inbox[str](ours)) as inbox:
        for number in range(50_000):  # more than a socket holds
            inbox.put(str(number))
        inbox.wait(None)
        assert inbox.take() == "0"
        inbox.clear()
        assert inbox.empty
        inbox.wait(0)
        inbox.wake()
        inbox.wait(None)
        clients.close()
        with pytest.raises(HungUp):
            inbox.wait(None)
    inbox.wake()  # of a connection that has ended: nothing
