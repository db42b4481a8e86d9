"""observe: what a watch says, with what is late or said twice left out; and how resource versions compare."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import Added, Deleted, Indexer, InvalidObjectError, LabelIndexer, ObjectKey, QueryError, Store, Updated
from kindex.resource_versions import compare, usable
from tests.pods import Pod, key, pod, versioned

by_app = LabelIndexer("app")


def store_of(*pods: Pod) -> Store[Pod]:
    store: Store[Pod] = Store(name="pods", indexers=[by_app])
    for each in pods:
        store.put(each)
    return store


@given(st.integers(1), st.integers(1))
def test_numbers_compare_as_numbers(left: int, right: int) -> None:
    """Of any length, without ever being made numbers."""
    assert compare(str(left), str(right)) == (left > right) - (left < right)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("999999", "1000000", -1),
        ("1" + "0" * 40, "9" * 40, 1),
        ("abc", "abc", 0),
        ("0", "0", 0),
        ("007", "7", None),
        ("0", "1", None),
        ("abc", "12", None),
        ("12", "", None),
        ("", "", None),
        ("-1", "1", None),
        ("١٢", "12", None),
        ("12 ", "12", None),
        ("12\n", "12", None),
    ],
)
def test_other_forms_are_known_to_be_equal_at_most(left: str, right: str, order: int | None) -> None:
    """As apimachinery: leading zeros, signs, other digits and text have no order, nor has what is not there."""
    assert compare(left, right) == order
    assert compare(right, left) == (None if order is None else -order)


def test_a_version_to_start_from_is_text_of_a_server() -> None:
    """None, the empty text and a None that was made text are none."""
    assert [usable(each) for each in ("1", "abc", "0", "", None, "None", "null")] == [True] * 3 + [False] * 4


def test_events_are_written_as_they_say() -> None:
    """Each is one commit with its deltas, and moves the resource version."""
    store = store_of()
    first, second = versioned(pod("a", app="web"), "u1", "5"), versioned(pod("a", app="db"), "u1", "7")
    assert store.observe("ADDED", first) == (Added(key("a"), first, 1),)
    assert store.resource_version() == "5"
    assert store.observe("MODIFIED", second) == (Updated(key("a"), first, second, 2),)
    assert store.index_values(by_app) == ["db"]
    last = versioned(pod("a", app="db"), "u1", "9")
    assert store.observe("DELETED", last) == (Deleted(key("a"), second, True, 3),)
    assert (len(store), store.resource_version(), store.revision) == (0, "9", 3)
    assert store.ignored == (0, 0, 0)


def test_b26_a_late_delete_of_an_older_object_leaves_the_new_one() -> None:
    """Deleted by its UID, which is another one's by now: ignored and counted."""
    new = versioned(pod("a"), "u2", "9")
    store = store_of(new)
    assert store.observe("DELETED", versioned(pod("a"), "u1", "8")) == ()
    assert store.get(key("a")) is new
    assert store.ignored.late_deletes == 1
    assert store.revision == 1


def test_b28_an_update_from_999999_to_1000000_is_newer() -> None:
    """Versions are not compared as text."""
    store = store_of(versioned(pod("a"), "u", "999999"))
    assert len(store.observe("MODIFIED", versioned(pod("a", app="new"), "u", "1000000"))) == 1
    assert store.resource_version() == "1000000"


@pytest.mark.parametrize("version", ["abc", "", "0", "007", "9" * 40, None])
def test_b29_odd_versions_are_accepted(version: str | None) -> None:
    """What cannot be compared is taken for new; nothing raises."""
    store = store_of(versioned(pod("a"), "u", "12"))
    event = versioned(pod("a", app="new"), "u", "x")
    event["metadata"]["resourceVersion"] = version
    assert len(store.observe("MODIFIED", event)) == 1
    assert store.index_values(by_app) == ["new"]


def test_b31_an_older_delete_event_deletes_and_takes_no_version_back() -> None:
    """The event of a deletion may carry the object's last version."""
    store = store_of()
    store.observe("ADDED", versioned(pod("a"), "u", "20"))
    store.observe("ADDED", versioned(pod("b"), "v", "30"))
    assert len(store.observe("DELETED", versioned(pod("a"), "u", "20"))) == 1
    assert (store.resource_version(), store.count()) == ("30", 1)


def test_b32_a_repeat_changes_nothing() -> None:
    """No delta, no commit, no index function; counted."""
    calls: list[Pod] = []
    store: Store[Pod] = Store(indexers=[Indexer("calls", calls.append)])
    store.observe("ADDED", versioned(pod("a"), "u", "1"))
    follower = store.follow(replay=False)
    calls.clear()
    for event_type in ("ADDED", "MODIFIED"):
        assert store.observe(event_type, versioned(pod("a"), "u", "1")) == ()  # type: ignore[arg-type]  # of the two
    assert (store.revision, store.ignored.repeats, follower.take(), calls) == (1, 2, [], [])


def test_b33_an_older_version_does_not_overwrite_a_newer_one() -> None:
    """12, then 11: the store keeps 12; also when the older one had another UID."""
    new = versioned(pod("a", app="new"), "u2", "12")
    store = store_of(new)
    assert store.observe("MODIFIED", versioned(pod("a", app="old"), "u2", "11")) == ()
    assert store.observe("ADDED", versioned(pod("a", app="old"), "u1", "9")) == ()
    assert (store.get(key("a")), store.ignored.older) == (new, 2)
    assert len(store.put(versioned(pod("a", app="old"), "u2", "11"))) == 1  # put does as it is told


def test_a_deletion_that_was_missed_is_told() -> None:
    """Deleted and created anew, seen as one event: a Deleted and an Added."""
    old, new = versioned(pod("a"), "u1", "5"), versioned(pod("a"), "u2", "9")
    store = store_of(old)
    for event_type in ("MODIFIED", "ADDED"):
        store.put(old)
        deltas = store.observe(event_type, new)  # type: ignore[arg-type]  # of the two
        assert [type(delta) for delta in deltas] == [Deleted, Added]


def test_deleting_what_is_not_there_notes_the_version() -> None:
    """No commit, but all up to this version was seen."""
    store = store_of()
    assert store.observe("DELETED", versioned(pod("a"), "u", "7")) == ()
    assert (store.resource_version(), store.revision) == ("7", 0)


def test_a_bookmark_moves_the_version_only() -> None:
    """Of its namespace, where each has its own; never back, and not to what is no version."""
    store = store_of()
    bookmark: Any = {"kind": "Pod", "metadata": {"resourceVersion": "50"}, "spec": None}
    assert store.observe("BOOKMARK", bookmark, namespace="prod") == ()
    for version in ("49", "None", ""):
        store.observe("BOOKMARK", {"metadata": {"resourceVersion": version}}, namespace="prod")
    assert (store.resource_version(namespace="prod"), store.resource_version(), len(store)) == ("50", None, 0)


@pytest.mark.parametrize("event_type", ["ERROR", "added", "", None])
def test_what_is_no_event_of_an_object_is_refused(event_type: Any) -> None:
    """The store is not touched; the sentence says what there is, and what an ERROR means."""
    store = store_of(pod("a"))
    status = {"kind": "Status", "code": 410, "metadata": {}}
    with pytest.raises(QueryError, match="list again"):
        store.observe(event_type, status)
    assert store.revision == 1


def test_an_object_without_a_name_is_refused() -> None:
    """As by put; B39."""
    store = store_of()
    for event_type in ("ADDED", "DELETED"):
        with pytest.raises(InvalidObjectError):
            store.observe(event_type, {"metadata": {}})  # type: ignore[arg-type]  # of the two
    assert len(store) == 0
    assert ObjectKey("", "") not in store
