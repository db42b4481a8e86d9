"""The feed: whom a commit tells, how changes are merged, what a swap leaves behind, and who is told no more."""

from __future__ import annotations

import gc
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kindex import (
    Added,
    Budget,
    Deleted,
    FieldIndexer,
    FollowerTooSlow,
    Indexer,
    LabelIndexer,
    ObjectKey,
    OwnerIndexer,
    Store,
    Updated,
)
from kindex.core import Core
from kindex.feed import Inbox, Relist
from tests.locks import owned
from tests.pods import Pod, key, pod, versioned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kindex import Delta, Follower

by_app = LabelIndexer("app")
by_node = FieldIndexer("spec.nodeName")
by_value: Indexer[Pod, Any] = Indexer("value", lambda obj: obj.get("value"))
by_number: Indexer[Pod, Any] = Indexer("number", lambda obj: int(obj["number"]), on_error="skip")
by_owner = OwnerIndexer()


# Merging


class Step(NamedTuple):
    """What one commit does to pod a: a UID and a label, or no UID for a deletion; by a relist or not."""

    uid: str
    app: str = "web"
    relist: bool = False


STEPS = [
    Step(uid, app, relist)
    for uid, app in (("u1", "web"), ("u1", "db"), ("u2", "web"), ("u2", "db"), ("", ""))
    for relist in (False, True)
]
STARTS = [Step(""), Step("u1", "web"), Step("u1", "db")]
OTHERS = [versioned(pod(f"other{number}", app="web"), f"o{number}") for number in range(9)]


class Merging:
    """A follower that takes the start, and then looks only after all of the steps; and what it must be told."""

    def __init__(self, start: Step, others: Sequence[Pod], *, indexed: bool, filtered: bool) -> None:
        self.store: Store[Pod] = Store(indexers=[by_app] if indexed else [])
        self.store.replace(others, "1")
        self.others = others
        self.filtered, self.narrowed = filtered, filtered and indexed
        self.number = 0
        self.present: Pod | None = None
        self.write(start)
        self.follower = self.store.follow(label_selector="app=web" if filtered else None)
        self.follower.take()
        self.seen = self.present if self.wanted(self.present) else None
        self.known: bool | None = None
        self.swapped = False
        self.revision = 0

    def wanted(self, obj: Pod | None) -> bool:
        return obj is not None and not (self.filtered and obj["metadata"]["labels"]["app"] != "web")

    def write(self, step: Step) -> None:
        self.number += 1
        before = self.before = self.present
        self.present = versioned(pod("a", app=step.app), step.uid, str(self.number)) if step.uid else None
        if step.relist:
            self.store.replace([*self.others, *([] if self.present is None else [self.present])], str(self.number))
        elif self.present is None:
            self.store.delete(key("a"))
        elif self.number % 2:
            self.store.put(self.present)
        else:
            put_all(self.store, self.present)
        self.gone = before is not None and before["metadata"]["uid"] != step.uid

    def step(self, step: Step) -> None:
        """Write, and note whether the last state is known of the object that the follower saw, if that has gone."""
        revision = self.store.revision
        self.write(step)
        if self.store.revision == revision:
            return
        self.swapped |= step.relist and not self.others
        if self.swapped and self.known is False and self.seen is not None:
            # What has been swapped is compared: who is there again has never gone.
            back = self.present is not None and step.uid == self.seen["metadata"]["uid"]
            self.known = None if back else False
        if self.swapped or not self.narrowed or self.wanted(self.before) or self.wanted(self.present):
            self.revision = self.store.revision
            if self.gone and self.known is None:
                self.known = not (step.relist or self.swapped)

    def expected(self) -> list[Delta[Pod]]:
        old, new, revision = self.seen, self.present if self.wanted(self.present) else None, self.revision
        known = True if self.known is None else self.known  # it left the filter, and is still there
        if new is None:
            return [] if old is None else [Deleted(key("a"), old, known, revision)]
        if old is None:
            return [Added(key("a"), new, revision)]
        if old["metadata"]["uid"] != new["metadata"]["uid"]:
            return [Deleted(key("a"), old, known, revision), Added(key("a"), new, revision)]
        return [Updated(key("a"), old, new, revision)]


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("others", [OTHERS, []], ids=["diffs", "swaps"])
def test_changes_of_a_key_are_merged(others: list[Pod], indexed: bool, filtered: bool) -> None:
    """First old, last new: whatever two or three commits did, a slow follower gets what is left of it.

    Added and deleted is nothing; another UID is a Deleted and an Added; the last state of what went is known unless
    a relist found that it had gone; an object that leaves the filter is Deleted, and known. Where an index tells, what
    happens outside of the filter is none of it.
    """
    cases = [*product(STARTS, STEPS, STEPS), *product(STARTS, STEPS[::3], STEPS[::2], STEPS[1::3])]
    told = 0
    for start, *steps in cases:
        if "u2 u1" in " ".join(step.uid for step in steps):
            continue  # no UID comes back
        merging = Merging(start, others, indexed=indexed, filtered=filtered)
        for step in steps:
            merging.step(step)
        found = merging.follower.take()
        assert found == merging.expected(), f"{start}, then {steps}"
        told += len(found)
    assert told > len(cases) / 2


def test_the_order_of_keys_is_that_of_their_first_change() -> None:
    """Keys come in the order in which each was first changed; one that came and went leaves its place."""
    store: Store[Pod] = Store()
    follower = store.follow()
    follower.take()
    for name in "abcd":
        store.put(pod(name))
    store.delete(key("a"))
    store.put(pod("b", app="new"))
    store.put(pod("a"))
    assert [(type(delta), delta.key.name, delta.revision) for delta in follower.take()] == [
        (Added, "b", 6),
        (Added, "c", 3),
        (Added, "d", 4),
        (Added, "a", 7),
    ]


def test_memory_is_bounded_by_keys_touched() -> None:
    """A thousand writes of one key are one pending change, and the writer never waits for the follower."""
    store: Store[Pod] = Store()
    follower = store.follow(replay=False)
    for number in range(1000):
        store.put(pod("a", app=str(number)))
        store.put(pod("b"))
        store.delete(key("b"))
    assert follower.lag == 1
    assert follower._inbox.bell.qsize() <= 1
    assert follower.take() == [Added(key("a"), pod("a", app="999"), 2998)]


def test_a_transaction_is_one_revision() -> None:
    """All deltas of one commit have its revision."""
    store: Store[Pod] = Store()
    store.put(pod("a"))
    follower = store.follow(replay=False)
    with store.transaction() as txn:
        txn.delete(key("a"))
        txn.put(pod("b"))
        txn.put(pod("c"))
    assert follower.take() == [
        Deleted(key("a"), pod("a"), revision=2),
        Added(key("b"), pod("b"), 2),
        Added(key("c"), pod("c"), 2),
    ]


def test_replacing_one_namespace_tells_of_no_other() -> None:
    """A relist of a namespace gives deltas of its keys; what went there is a tombstone."""
    store: Store[Pod] = Store()
    store.replace([pod("a"), pod("b"), pod("a", "test"), *(pod(f"x{n}", "test") for n in range(9))])
    follower = store.follow(replay=False)
    store.replace([pod("b"), pod("c")], namespace="prod")
    assert sorted(follower.take(), key=lambda delta: delta.key) == [
        Deleted(key("a"), pod("a"), final_state_known=False, revision=2),
        Added(key("c"), pod("c"), 2),
    ]


def test_what_changes_no_object_tells_nobody() -> None:
    """Bookmarks, added and removed indexers, a relist of the same and a table made smaller give no deltas."""
    store: Store[Pod] = Store()
    pods = [pod(f"p{number}") for number in range(100)]
    store.replace(pods)
    follower, each = store.follow(replay=False), store.follow(replay=False, overflow="close")
    store.bookmark("5")
    store.add_indexers(by_app)
    store.remove_indexer(by_app.name)
    store.replace(pods, "6")
    assert follower.take() == each.take() == []
    capacity = store._core.generation.slots.capacity
    with store.transaction() as txn:
        for obj in pods[5:]:
            txn.delete(obj)
    assert store._core.generation.slots.capacity < capacity
    for told in (follower.take(), each.take()):
        assert {type(delta) for delta in told} == {Deleted}
        assert sorted(delta.key.name for delta in told) == sorted(obj["metadata"]["name"] for obj in pods[5:])
        assert {delta.revision for delta in told} == {2}


# Swaps


def fresh(store: Store[Pod], pods: Sequence[Pod]) -> None:
    """Replace nearly everything, so that another generation is swapped in."""
    before = store._core.generation
    store.replace(pods)
    assert store._core.generation is not before


def seen_in(deltas: Sequence[Delta[Pod]], seen: dict[ObjectKey, Pod]) -> None:
    """Apply *deltas* to what was *seen*; each old object must be the one that was."""
    for delta in deltas:
        assert delta.old is seen.get(delta.key)
        if delta.new is None:
            del seen[delta.key]
        else:
            seen[delta.key] = delta.new


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("swaps", [1, 2, 3])
def test_swaps_are_compared_when_the_follower_looks(swaps: int, filtered: bool) -> None:
    """Several relists that were not taken, with commits before, between and after them, leave the same state."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.replace([pod(name, app="web") for name in "abcdefgh"])
    follower = store.follow(label_selector="app=web" if filtered else None)
    seen: dict[ObjectKey, Pod] = {}
    seen_in(follower.take(), seen)
    store.put(pod("a", app="web", tier="gold"))
    store.delete(key("b"))
    store.put(pod("new", app="web"))
    store.put(pod("gone", app="web"))
    store.delete(key("gone"))
    store.put(pod("c", app="db"))
    for number in range(swaps):
        kept = store.get(key("d"))
        assert kept is not None
        fresh(store, [kept, *(pod(name, app="web", number=str(number)) for name in "acefij")])
        store.put(pod("k", app="web", number=str(number)))
        store.delete(key("e"))
        store.put(pod("f", app="db"))
    told = follower.take()
    seen_in(told, seen)
    wanted = store.select(label_selector="app=web" if filtered else None)
    assert sorted(map(id, seen.values())) == sorted(map(id, wanted))
    assert len({delta.key for delta in told}) == len(told)  # no UID: none is two
    assert key("d") not in {delta.key for delta in told}
    assert {delta.revision for delta in told} == {store.revision}
    assert follower.take() == []
    store.put(pod("a", app="web"))
    seen_in(follower.take(), seen)
    assert seen[key("a")] is store.get(key("a"))


def test_a_swap_tells_each_commit_in_its_own_place() -> None:
    """With overflow="close" a relist is told between the commits around it, as it was then."""
    store: Store[Pod] = Store()
    store.replace([versioned(pod(name), f"u-{name}") for name in "abc"])
    follower = store.follow(replay=False, overflow="close")
    made: list[Delta[Pod]] = [*store.put(versioned(pod("a", app="1"), "u-a"))]
    made += store.replace([versioned(pod(name), f"v-{name}") for name in "cde"])
    made += store.put(versioned(pod("c", app="2"), "v-c"))
    made += store.replace([], "9")
    told = follower.take()
    assert [delta.revision for delta in told] == sorted(delta.revision for delta in told)
    assert sorted(told, key=in_order) == sorted(made, key=in_order)
    assert Deleted(key("c"), versioned(pod("c"), "u-c"), final_state_known=False, revision=3) in told


def test_a_swap_is_copied_once_for_all() -> None:
    """However many followers want each commit, they share one copy of what a relist left."""
    store: Store[Pod] = Store()
    store.replace([pod("a"), pod("b")])
    followers = [store.follow(replay=False, overflow="close") for _ in range(5)]
    fresh(store, [pod("c"), pod("d")])
    copies: set[int] = set()
    for follower in followers:
        assert follower._inbox.queue is not None
        ((_, part),) = follower._inbox.queue
        assert isinstance(part, Relist)
        copies.add(id(part.objects))
    assert len(copies) == 1
    store.put(pod("c", app="new"))
    for follower in followers:
        assert [delta.new for delta in follower.take()] == [pod("c"), pod("d"), None, None, pod("c", app="new")]


def in_order(delta: Delta[Pod]) -> tuple[int, ObjectKey, bool]:
    """Sort by commit and key; of two deltas of a key the Deleted comes first."""
    return delta.revision, delta.key, delta.new is not None


def test_each_commit_gives_its_own_deltas() -> None:
    """With overflow="close" a follower is told exactly what the writes gave, commit by commit."""
    store: Store[Pod] = Store()
    store.put(versioned(pod("a"), "u1"))
    follower = store.follow(overflow="close")
    assert follower.take() == [Added(key("a"), versioned(pod("a"), "u1"), 1)]
    others = [pod(f"other{number}") for number in range(9)]
    made: list[Delta[Pod]] = []
    for obj in (*others, versioned(pod("a", app="x"), "u1"), versioned(pod("a"), "u2"), pod("b"), pod("b")):
        made += store.put(obj)
    gone = store.delete(key("b"))
    assert gone is not None
    made.append(gone)
    with store.transaction() as txn:
        txn.put(pod("c"))
        txn.delete(key("a"))
    made += [*txn.deltas, *store.replace(others)]
    assert follower.lag == 16
    assert follower.take() == made
    assert Deleted(key("c"), pod("c"), final_state_known=False, revision=17) in made


def test_who_falls_too_far_behind_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,024 commits may wait; with one more the follower raises FollowerTooSlow, once, and is closed."""
    assert Store[Pod]().follow(overflow="close")._inbox.limit == 1024
    monkeypatch.setattr("kindex.following.LIMIT", 24)
    store: Store[Pod] = Store()
    slow, quick = store.follow(replay=False, overflow="close"), store.follow(replay=False, overflow="close")
    for number in range(24):
        store.put(pod(f"p{number}"))
    assert (len(quick.take()), slow.lag, quick.lag) == (24, 24, 0)
    store.put(pod("last"))
    with pytest.raises(FollowerTooSlow, match="24 commits behind") as caught:
        slow.take()
    assert (caught.value.store, caught.value.waiting) == ("store", 24)
    assert slow.closed
    assert slow.take() == [] == list(slow)
    assert [delta.key for delta in quick.take()] == [key("last")]
    assert store._core.feed is not None
    assert list(store._core.feed._inboxes) == [quick._inbox]


def test_a_relist_can_be_the_commit_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A swap counts as the one commit that it is."""
    monkeypatch.setattr("kindex.following.LIMIT", 2)
    store: Store[Pod] = Store()
    follower = store.follow(replay=False, overflow="close")
    for name in "ab":
        fresh(store, [pod(name)])
    assert len(follower.take()) == 3
    for name in "abc":
        fresh(store, [pod(name)])
    with pytest.raises(FollowerTooSlow):
        follower.next()


class Mortal:
    """A pod that notes, when it goes, whether the lock of the store is held by whoever lets it go."""

    def __init__(self, name: str, stores: list[Store[Any]], seen: list[bool]) -> None:
        self.metadata = {"name": name, "namespace": "prod"}
        self.stores, self.seen = stores, seen

    def __del__(self) -> None:
        self.seen.append(bool(self.stores) and owned(self.stores[0]))


@pytest.mark.parametrize("overflow", ["merge", "close"])
@pytest.mark.parametrize("how", ["close", "forget"])
@pytest.mark.parametrize("swapped", [False, True])
def test_what_a_follower_let_go_of_is_finalized_when_the_lock_is_free(
    overflow: Any, how: str, swapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pending objects are users' objects: none goes under the lock, also when the follower is too slow or gone."""
    monkeypatch.setattr("kindex.following.LIMIT", 5)
    stores: list[Store[Any]] = [Store()]
    seen: list[bool] = []
    store = stores[0]
    followers = [store.follow(replay=False, overflow=overflow)]
    for _ in range(20):
        store.put(Mortal("a", stores, seen))
        store.delete(key("a"))
        store.put(Mortal("b", stores, seen))
    if swapped:
        store.replace([pod("c")])
    else:
        store.put(pod("b"))
    follower = followers.pop()
    if how == "close":
        follower.close()
    del follower
    gc.collect()
    store.put(pod("c"))
    assert len(seen) == 40
    assert not any(seen)


# Whom a commit tells


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Inbox[Any]]]:
    """Collect the inboxes that commits put something into."""
    inboxes: list[Inbox[Any]] = []
    note = Inbox.note

    def noting(inbox: Inbox[Any], changes: Any, revision: int) -> None:
        inboxes.append(inbox)
        note(inbox, changes, revision)

    monkeypatch.setattr(Inbox, "note", noting)
    return iter([inboxes])


def names_told(followers: dict[str, Follower[Pod]]) -> dict[str, list[str]]:
    """Take from each, and give what those got who got something."""
    told = {name: [str(delta.key.name) for delta in follower.take()] for name, follower in followers.items()}
    return {name: names for name, names in told.items() if names}


def test_a_commit_looks_at_those_whom_it_concerns(noted: Iterator[list[Inbox[Any]]]) -> None:
    """Of a thousand followers with selectors on an indexed key, a write notes those of its old and new value only."""
    inboxes = next(noted)
    store: Store[Pod] = Store(indexers=[by_app])
    followers = {str(number): store.follow(label_selector=f"app={number}") for number in range(1000)}
    for follower in followers.values():
        follower.take()
    writes: list[tuple[Callable[[], object], dict[str, list[str]]]] = [
        (lambda: store.put(pod("a", app="7")), {"7": ["a"]}),
        (lambda: store.put(pod("a", app="7", tier="gold")), {"7": ["a"]}),
        (lambda: store.put(pod("a", app="8")), {"7": ["a"], "8": ["a"]}),
        (lambda: store.put(pod("b", app="nobody's")), {}),
        (lambda: store.put(pod("b")), {}),
        (lambda: store.delete(key("a")), {"8": ["a"]}),
        (lambda: put_all(store, *(pod(f"m{number}", app=str(number)) for number in range(5))), {}),
    ]
    writes[-1][1].update({str(number): [f"m{number}"] for number in range(5)})
    for write, concerned in writes:
        inboxes.clear()
        write()
        assert sorted(map(id, inboxes)) == sorted(id(followers[name]._inbox) for name in concerned)
        assert names_told({name: followers[name] for name in concerned}) == concerned
    assert names_told(followers) == {}


def put_all(store: Store[Pod], *pods: Pod) -> None:
    """Put several pods in one commit."""
    with store.transaction() as txn:
        for obj in pods:
            txn.put(obj)


def test_where_no_index_tells_a_commit_tells_all(noted: Iterator[list[Inbox[Any]]]) -> None:
    """Of a thousand followers with selectors on a key that is not indexed, each is told each commit, and decides."""
    inboxes = next(noted)
    store: Store[Pod] = Store(indexers=[by_app])
    followers = {str(number): store.follow(label_selector=f"tier={number}") for number in range(1000)}
    store.put(pod("a", tier="7"))
    assert len(inboxes) == 1000
    assert names_told(followers) == {"7": ["a"]}
    inboxes.clear()
    store.add_indexers(LabelIndexer("tier"))
    store.put(pod("a", tier="8"))  # the table is made anew after this one
    assert len(inboxes) == 1000
    store.put(pod("a", tier="9"))
    assert len(inboxes) == 1002
    assert names_told(followers) == {"7": ["a"], "9": ["a"]}


ROUTED: list[tuple[dict[str, Any], tuple[Any, ...], Pod]] = [
    ({"namespace": "prod"}, (), pod("a")),
    ({"namespace": ["prod", "test"]}, (), pod("a", "test")),
    ({"label_selector": "app=web"}, (), pod("a", app="web")),
    ({"label_selector": "app in (web, db),tier!=gold"}, (), pod("a", app="db")),
    ({"label_selector": {"app": "web"}, "where": bool}, (), pod("a", app="web")),
    ({"where": "app=web"}, (), pod("a", app="web")),
    ({"field_selector": "spec.nodeName=n1"}, (), pod("a", node="n1")),
    ({"field_selector": "metadata.namespace=prod"}, (), pod("a")),
    ({}, (by_node.at("n1"),), pod("a", node="n1")),
    ({}, (by_node.among(["n1", "n2"]),), pod("a", node="n2")),
    ({"where": by_value.at(1)}, (), {**pod("a"), "value": ["x", 1]}),
    ({}, (by_value.at("x") & by_node.at("n1"),), {**pod("a", node="n1"), "value": ["x", 1]}),
    ({}, (by_number.at(3),), {**pod("a"), "number": "3"}),
]


@pytest.mark.parametrize(("query", "terms", "inside"), ROUTED)
def test_every_indexed_equality_finds_its_followers(
    query: dict[str, Any], terms: tuple[Any, ...], inside: Pod, noted: Iterator[list[Inbox[Any]]]
) -> None:
    """Namespaces, labels, fields and terms: nobody is told of what cannot concern them, or misses what does."""
    inboxes = next(noted)
    store: Store[Pod] = Store(indexers=[by_app, by_node, by_value, by_number, by_owner])
    follower = store.follow(*terms, replay=False, **query)
    outside: Pod = {**pod("a", "elsewhere", app="other", node="n9"), "value": [True, "y"], "number": "no number"}
    store.put(outside)
    store.delete(outside)
    assert inboxes == []
    same = {**outside, "metadata": {**outside["metadata"], "namespace": inside["metadata"]["namespace"]}}
    store.put(same)
    before = len(follower.take())
    assert before == (1 if query.get("namespace") and not terms else 0) or "metadata.namespace" in str(query)
    store.put(inside)
    store.put(same)
    store.delete(same)
    assert len(inboxes) >= 2
    follower.close()


def test_a_label_of_a_family_finds_its_followers(noted: Iterator[list[Inbox[Any]]]) -> None:
    """Where all labels are indexed, a key that comes up for the first time is as good as any other."""
    inboxes = next(noted)
    store: Store[Pod] = Store(indexers=[LabelIndexer.all(budget=Budget(max_values=1000))])
    followers = {str(number): store.follow(label_selector=f"key{number}=x", replay=False) for number in range(100)}
    store.put({**pod("a"), "metadata": {"name": "a", "namespace": "prod", "labels": {"key7": "x", "key8": "y"}}})
    assert [inbox is followers["7"]._inbox for inbox in inboxes] == [True]
    store.put(pod("a", key8="x"))
    assert names_told(followers) == {"8": ["a"]}
    assert len(inboxes) == 3
    store.put(pod("a"))
    store.put(pod("a"))
    assert len(inboxes) == 4
    assert names_told(followers) == {"8": ["a"]}


# Indexers come and go


CHANGES: list[tuple[str, Callable[[Store[Pod]], object]]] = [
    ("added", lambda store: store.add_indexers(LabelIndexer("tier"), by_owner)),
    ("removed", lambda store: store.remove_indexer(by_app.name)),
    ("node removed", lambda store: store.remove_indexer(by_node.name)),
    ("value removed", lambda store: store.remove_indexer(by_value.name)),
    ("removed and added", lambda store: (store.remove_indexer(by_app.name), store.add_indexers(by_app))),
    (
        "all come and go",
        lambda store: (
            store.add_indexers(LabelIndexer("tier")),
            *map(store.remove_indexer, ("app", by_node.name, by_value.name)),
            store.add_indexers(by_value, by_app),
        ),
    ),
    ("nothing", lambda store: store.revision),
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[name for name, _ in CHANGES])
@pytest.mark.parametrize("twice", [False, True])
def test_followers_are_told_while_indexers_come_and_go(change: Callable[[Store[Pod]], object], twice: bool) -> None:
    """Whatever becomes of the index by which a follower is found, it is told all, and nothing twice."""
    store: Store[Pod] = Store(indexers=[by_app, by_node, by_value])
    store.replace([pod("a", app="web", node="n1"), pod("b", app="db", node="n2"), pod("c")])
    follow: dict[str, Callable[[], Follower[Pod]]] = {
        "app=web": lambda: store.follow(label_selector="app=web"),
        "node": lambda: store.follow(by_node.at("n1")),
        "value": lambda: store.follow(where=by_value.at("x")),
        "tier": lambda: store.follow(label_selector="tier=gold"),
        "prod": lambda: store.follow(namespace="prod"),
        "where": lambda: store.follow(where=lambda obj: "spec" in obj),
        "all": store.follow,
    }
    followers = {name: make() for name, make in follow.items()}
    seen: dict[str, dict[ObjectKey, Pod]] = {name: {} for name in followers}
    wanted: dict[str, Callable[[Pod], bool]] = {
        "app=web": lambda obj: obj["metadata"].get("labels", {}).get("app") == "web",
        "node": lambda obj: obj.get("spec", {}).get("nodeName") == "n1",
        "value": lambda obj: obj.get("value") == "x",
        "tier": lambda obj: obj["metadata"].get("labels", {}).get("tier") == "gold",
        "prod": lambda obj: obj["metadata"]["namespace"] == "prod",
        "where": lambda obj: "spec" in obj,
        "all": lambda _obj: True,
    }

    def check() -> None:
        there = store.get_many(store.keys())
        for name, follower in followers.items():
            seen_in(follower.take(), seen[name])
            assert seen[name] == {at: obj for at, obj in there.items() if wanted[name](obj)}, name

    def write(number: int) -> None:
        labels = {"app": ["web", "db"][number % 2], "tier": ["gold", "silver"][number // 2 % 2]}
        store.put({**pod("a", node=f"n{number % 3}", **labels), "value": ["x", "y", None][number % 3]})
        store.put({**pod("b", "test", **labels), "value": "x"})
        store.delete(ObjectKey("test", f"t{number - 1}"))
        store.put(pod(f"t{number}", "test", node="n1", **labels))

    check()
    for _ in range(2 if twice else 1):
        store.add_indexers(by_app, by_node, by_value)
        for number in range(3):
            write(number)
        check()
        write(7)
        change(store)
        for number in range(3):
            write(number)
            check()
    if "app" not in store.index_names:
        store.add_indexers(by_app)
    write(1)
    check()
    assert store._core.feed is not None
    assert store._core.feed._rest.keys() >= {followers["all"]._inbox, followers["where"]._inbox}
    assert followers["app=web"]._inbox not in store._core.feed._rest


def test_followers_are_told_when_a_budget_drops_their_index(noted: Iterator[list[Inbox[Any]]]) -> None:
    """A key that breaks its budget finds nobody any more; its followers are then told all, and told right."""
    inboxes = next(noted)
    store: Store[Pod] = Store(indexers=[LabelIndexer("app", key_budget=Budget(max_values=3))])
    followers = {name: store.follow(label_selector=f"app={name}", replay=False) for name in "abcd"}
    for name in "abc":
        store.put(pod(name, app=name))
    assert len(inboxes) == 3
    store.put(pod("d", app="d"))
    assert store.dropped
    assert names_told(followers) == {name: [name] for name in "abcd"}
    inboxes.clear()
    store.put(pod("d", app="a"))
    assert names_told(followers) == {"a": ["d"], "d": ["d"]}
    store.delete(key("a"))
    store.delete(key("b"))
    store.readmit("app")
    store.put(pod("e", app="c"))
    inboxes.clear()
    store.put(pod("f", app="c"))
    assert len(inboxes) == 1
    assert names_told(followers) == {"a": ["a"], "b": ["b"], "c": ["e", "f"]}


# Who is told no more


def feed_of(store: Store[Any]) -> Any:
    return store._core.feed


def test_a_store_that_nobody_follows_has_no_feed() -> None:
    """Closing the last follower takes the feed away, whoever came and went in whatever order."""
    store: Store[Pod] = Store(indexers=[by_app])
    assert feed_of(store) is None
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        followers = [store.follow(), store.follow(label_selector="app=web"), store.follow(label_selector="app=web")]
        for place in order:
            assert feed_of(store) is not None
            followers[place].close()
            followers[place].close()
        assert feed_of(store) is None
    store.put(pod("a"))
    with store.follow() as follower:
        assert len(follower.take()) == 1
    assert feed_of(store) is None


def test_a_follower_that_was_closed_leaves_nothing_in_the_table() -> None:
    """Followers that come and go for short-lived values leave no trace."""
    store: Store[Pod] = Store(indexers=[by_app, by_node])
    stays = store.follow(label_selector="app=web")
    for number in range(50):
        with store.follow(label_selector=f"app=x{number}"), store.follow(by_node.among(["n1", f"n{number}"])):
            store.put(pod("a", app=f"x{number}", node=f"n{number}"))
    feed = feed_of(store)
    assert list(feed._inboxes) == [stays._inbox]
    assert len(feed._table) == 1
    assert [list(by_value.values()) for by_value in feed._table.values()] == [[{stays._inbox: None}]]
    assert feed._rest == {}


@pytest.mark.parametrize("query", [{}, {"label_selector": "app=never"}, {"where": lambda _obj: True}])
def test_a_follower_that_nobody_refers_to_leaves_the_feed(query: dict[str, Any]) -> None:
    """The next commit takes out who was let go of, whether the commit concerned it or not."""
    store: Store[Pod] = Store(indexers=[by_app])
    stays = store.follow(label_selector="app=web")
    for _ in range(3):
        follower = store.follow(**query)
        follower.take()
        del follower
        gc.collect()
        store.put(pod("a", app="other"))
        assert list(feed_of(store)._inboxes) == [stays._inbox]
        assert feed_of(store)._rest == {}
    del stays
    gc.collect()
    store.put(pod("a", app="other"))
    assert feed_of(store) is None


def test_one_who_was_let_go_of_costs_the_others_nothing(noted: Iterator[list[Inbox[Any]]]) -> None:
    """Clearing up after a follower that closed itself does not make a write linear in those that stay."""
    inboxes = next(noted)
    store: Store[Pod] = Store(indexers=[by_app])
    followers = [store.follow(label_selector=f"app={number}", replay=False) for number in range(100)]
    store.put(pod("a", app="7"))
    followers.pop(7)
    gc.collect()
    inboxes.clear()
    for app in ("7", "7", "8"):
        store.put(pod("a", app=app))
    assert len(inboxes) <= 2
    assert len(feed_of(store)._inboxes) == 99


def test_a_feed_may_vanish_while_a_writer_is_about_to_ring() -> None:
    """Another thread closes the last follower between a writer's look at the feed and its call of it."""

    class Vanishing:
        """A core whose feed is there for one look."""

        def __init__(self, feed: Any) -> None:
            self.looks = [feed]

        @property
        def feed(self) -> Any:
            return self.looks.pop() if self.looks else None

    store: Store[Pod] = Store()
    follower = store.follow()
    store._core.ring()
    vanishing: Any = Vanishing(feed_of(store))
    Core.ring(vanishing)
    assert vanishing.looks == []
    follower.close()
