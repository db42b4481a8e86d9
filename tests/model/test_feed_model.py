"""Followers against the store: whatever is written and whenever they look, what they were told makes the state.

The writes are those of the store's own model. Beside it stand followers of every kind, each with what it has been told
so far. Applying deltas must always fit: the old object is the one that the follower last saw. After it has taken all,
it knows exactly the objects of the store that fulfil its filter, whose meaning is spelled out in plain Python here. One
that wants each commit must go through every state that the store ever had, in order.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from kindex import Added, Deleted, FollowerTooSlow, ObjectKey, Updated
from kindex.core import Core
from tests.model.test_store_model import StoreMachine, TightMachine, contents, keys, uid_of, uids
from tests.strategies import (
    VALUES,
    Plain,
    by_app,
    by_host,
    by_image,
    by_mixed,
    by_node,
    by_owner,
    by_phase,
    labels_at,
    lenient,
    may_pass,
    priority,
    text_at,
    typed,
    watched,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from kindex import Delta, Follower

LIMIT = 30
"""So many commits may wait here: few enough that some followers are too slow."""


class Wish(NamedTuple):
    """A filter, the indexers that it needs, and what it means."""

    meaning: Callable[[ObjectKey, Plain], bool]
    terms: tuple[Any, ...] = ()
    query: dict[str, Any] = {}  # noqa: RUF012 - never changed
    needs: tuple[Any, ...] = ()


def label(obj: Plain, key: str) -> str | None:
    return labels_at(obj).get(key)


def filed(indexer: Any, obj: Plain, value: Any) -> bool:
    return typed(value) in map(typed, VALUES[indexer.name](obj))


def at(indexer: Any, value: Any) -> Wish:
    """Wish for the objects with an index value, which an index may answer."""
    return Wish(lambda _, obj: filed(indexer, obj, value), (indexer.at(value),), needs=(indexer,))


WISHES: Final[dict[str, Wish]] = {
    "all": Wish(lambda _key, _obj: True),
    "app=web": Wish(lambda _, obj: label(obj, "app") == "web", query={"label_selector": "app=web"}),
    "app=": Wish(lambda _, obj: label(obj, "app") == "", query={"label_selector": {"app": ""}}),
    "a set": Wish(
        lambda _, obj: label(obj, "app") in ("web", "db") and label(obj, "tier") != "gold",
        query={"label_selector": "app in (web,db),tier!=gold"},
    ),
    "absent": Wish(lambda _, obj: label(obj, "tier") is None, query={"label_selector": "!tier"}),
    "where app": Wish(lambda _, obj: label(obj, "app") == "web", query={"where": "app=web"}),
    "id": Wish(lambda _, obj: label(obj, "id") == "p1", query={"label_selector": "id=p1"}),
    "prod": Wish(lambda key, _: key.namespace == "prod", query={"namespace": "prod"}),
    "two namespaces": Wish(
        lambda key, obj: key.namespace in ("prod", "default") and label(obj, "app") == "web",
        query={"namespace": ["prod", "default"], "label_selector": "app=web"},
    ),
    "n1": Wish(lambda _, obj: text_at(obj, "spec.nodeName") == "n1", query={"field_selector": "spec.nodeName=n1"}),
    "no node": Wish(lambda _, obj: not text_at(obj, "spec.nodeName"), query={"field_selector": "spec.nodeName="}),
    "name": Wish(lambda key, _: key.name == "p1", query={"field_selector": "metadata.name=p1"}),
    "not prod": Wish(lambda key, _: key.namespace != "prod", query={"field_selector": "metadata.namespace!=prod"}),
    "predicate": Wish(lambda _, obj: may_pass(obj), query={"where": may_pass}),
    "at node": at(by_node, "n1"),
    "at host": Wish(lambda _, obj: filed(by_host, obj, "true"), (by_host.at(True),), needs=(by_host,)),
    "at image": at(by_image, "nginx:1"),
    "at mixed": at(by_mixed, 1),
    "at owner": at(by_owner, "Job-a"),
    "at phase": at(lenient, "Running"),
    "range": Wish(
        lambda _, obj: any(0 <= value <= 5 for value in VALUES[priority.name](obj)),
        query={"where": priority.between(0, 5)},
        needs=(priority,),
    ),
    "passing": Wish(lambda _, obj: filed(watched, obj, value=True), (watched.passing(),), needs=(watched,)),
    "either": Wish(
        lambda _, obj: filed(by_node, obj, "n1") or filed(by_phase, obj, "Running"),
        (by_node.at("n1") | by_phase.at("Running"),),
        needs=(by_node, by_phase),
    ),
    "many": Wish(
        lambda key, obj: (
            label(obj, "app") == "web" and filed(by_node, obj, "n1") and key.namespace == "prod" and may_pass(obj)
        ),
        (by_app.key("app").at("web"), by_node.at("n1")),
        {"namespace": "prod", "where": may_pass},
        (by_app, by_node),
    ),
}


class Told:
    """A follower, and what it has been told.

    Attributes:
        seen: the objects that it knows.
        revisions: of the last delta of each key.
        at: the revision that it has reached, of one that wants each commit; None before its first delta.
    """

    def __init__(self, name: str, follower: Follower[Plain], seen: dict[ObjectKey, Plain], at: int | None) -> None:
        self.name = name
        self.wish = WISHES[name]
        self.follower = follower
        self.seen = seen
        self.revisions: dict[ObjectKey, int] = {}
        self.renewing: Deleted[Plain] | None = None
        self.at = at

    def __repr__(self) -> str:
        return f"{self.name} with {len(self.seen)} at {self.at}"

    def wanted(self, objects: dict[ObjectKey, Plain]) -> dict[ObjectKey, int]:
        """Tell which objects it wants, by identity."""
        return {key: id(obj) for key, obj in objects.items() if self.wish.meaning(key, obj)}

    def knows(self) -> dict[ObjectKey, int]:
        return {key: id(obj) for key, obj in self.seen.items()}

    def apply(self, delta: Delta[Plain]) -> None:
        """Learn what a delta says; it must fit to what was said before."""
        key = delta.key
        assert delta.old is self.seen.get(key), self
        assert self.revisions.get(key, 0) <= delta.revision
        self.revisions[key] = delta.revision
        match delta:
            case Added(new=new):
                self.seen[key] = new
            case Updated(old=old, new=new):
                assert not (uid_of(old) and uid_of(new) and uid_of(old) != uid_of(new)), self
                self.seen[key] = new
            case Deleted():
                del self.seen[key]


class FeedMachine(StoreMachine):
    """Followers come, look now and then, and go, while the store is written to."""

    def __init__(self) -> None:
        super().__init__()
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr("kindex.following.LIMIT", LIMIT)
        self.history: dict[int, dict[ObjectKey, Plain]] = {0: {}}
        self.patched.setattr(Core, "commit", self.recording(Core.commit))
        self.patched.setattr(Core, "swap", self.recording(Core.swap))
        self.followers: list[Told] = []

    def recording(self, commit: Callable[..., Any]) -> Callable[..., Any]:
        """Let each commit of the store leave its state in the history."""

        def recorded(core: Core[Plain], *arguments: Any, **options: Any) -> Any:
            done = commit(core, *arguments, **options)
            if core is self.store._core:
                slots = core.generation.slots
                self.history[core.generation.revision] = {
                    key: obj for key, slot in slots.slot_of.items() if (obj := slots.objects[slot]) is not None
                }
            return done

        return recorded

    def teardown(self) -> None:
        """Whoever still follows gets all that is left, and the store has no feed when they are gone."""
        for told in self.followers:
            self.take_all(told)
        for told in self.followers:
            told.follower.close()
        assert self.store._core.feed is None or self.closed_lately()
        self.patched.undo()
        super().teardown()

    def closed_lately(self) -> bool:
        """Tell whether the feed is there for some that nobody refers to only, which the next commit takes out."""
        gc.collect()
        self.store.put({"metadata": {"name": "last"}, "spec": {}})
        return self.store._core.feed is None

    # Followers

    @rule(data=st.data(), overflow=st.sampled_from(["merge", "merge", "close"]), replay=st.booleans())
    def follow(self, data: st.DataObject, overflow: Any, replay: bool) -> None:
        there = {name: wish for name, wish in WISHES.items() if all(map(self.has, wish.needs))}
        name = data.draw(st.sampled_from(sorted(there)))
        wish = there[name]
        follower = self.store.follow(*wish.terms, replay=replay, overflow=overflow, **wish.query)
        each = overflow == "close"
        told = Told(name, follower, {}, None)
        if not replay:
            told.seen = {key: row.obj for key, row in self.rows.items() if wish.meaning(key, row.obj)}
            told.at = self.revision if each else None
        self.followers.append(told)

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        """After taking all, a follower knows what the store holds."""
        self.take_all(self.chosen(data))

    @precondition(lambda self: self.followers)
    @rule(data=st.data(), count=st.integers(1, 8))
    def look(self, data: st.DataObject, count: int) -> None:
        """It takes a few, and is in the middle of something."""
        told = self.chosen(data)
        for _ in range(count):
            delta = self.next_of(told)
            if delta is None:
                return
            self.apply(told, delta)

    @precondition(lambda self: self.followers)
    @rule(data=st.data(), how=st.sampled_from(["close", "forget"]))
    def leave(self, data: st.DataObject, how: str) -> None:
        told = self.chosen(data)
        self.followers.remove(told)
        if how == "close":
            told.follower.close()
            assert told.follower.next(0) is None

    def chosen(self, data: st.DataObject) -> Told:
        """Choose a follower, by number: Hypothesis would keep the follower itself."""
        return self.followers[data.draw(st.integers(0, len(self.followers) - 1))]

    def take_all(self, told: Told) -> None:
        while (delta := self.next_of(told)) is not None:
            self.apply(told, delta)
        if told.follower.closed:
            return
        there = {key: row.obj for key, row in self.rows.items()}
        assert told.knows() == told.wanted(there), told
        assert told.follower.synced
        assert told.follower.lag == 0
        if told.follower._inbox.queue is not None:
            self.pass_on(told, self.revision + 1)
            told.at = self.revision

    def next_of(self, told: Told) -> Delta[Plain] | None:
        try:
            return told.follower.next(0)
        except FollowerTooSlow:
            assert told.follower._inbox.queue is not None
            assert told.follower.closed
            assert self.revision - (told.at or 0) >= LIMIT
            self.followers.remove(told)
            return None

    def apply(self, told: Told, delta: Delta[Plain]) -> None:
        assert delta.revision <= self.revision
        if told.follower._inbox.queue is not None:
            self.pass_on(told, delta.revision)
            told.at = delta.revision
        told.apply(delta)

    def pass_on(self, told: Told, revision: int) -> None:
        """Before it reaches *revision*, a follower of each commit has seen all states before it, one by one."""
        if told.at is not None and told.at < revision:
            for between in range(told.at, revision):
                assert told.knows() == told.wanted(self.history[between]), (told, between, revision)

    # More ways to write

    @rule(
        random=contents,
        key=keys,
        uid=uids,
        event=st.sampled_from(["ADDED", "MODIFIED", "MODIFIED", "DELETED", "BOOKMARK"]),
    )
    def observe(self, random: Random, key: ObjectKey, uid: str, event: Any) -> None:
        """A watch says something, which may be no news."""
        obj = self.made(random, key, uid)
        deltas = self.store.observe(event, obj)
        if deltas:
            self.revision += 1
            if event == "DELETED":
                del self.rows[key]
            else:
                self.model_put(key, obj)

    def edit_in_place(self) -> None:  # type: ignore[override]
        """Nobody does it here: what a follower last saw would change behind its back."""

    # What holds after each step, of what the store's own model does not check again

    @invariant()
    def it_holds_what_the_model_holds(self) -> None:
        assert self.store.revision == self.revision
        assert self.history[self.revision].keys() == self.rows.keys()
        assert len(self.store) == len(self.rows)

    @invariant()
    def the_feed_knows_who_follows(self) -> None:
        feed = self.store._core.feed
        inboxes = {} if feed is None else feed._inboxes
        assert all(told.follower._inbox in inboxes or told.follower.closed for told in self.followers)

    def its_indexes_hold_what_was_filed(self) -> None:
        """Checked by the store's own model."""

    def it_answers_as_a_scan_does(self) -> None:
        """Checked by the store's own model."""


class TightFeedMachine(FeedMachine, TightMachine):
    """The same while indexes are dropped and come back, by which commits find whom they concern."""


FeedMachine.TestCase.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=40)
TightFeedMachine.TestCase.settings = settings(max_examples=settings().max_examples // 4, stateful_step_count=40)
TestFollowersAreTold = FeedMachine.TestCase
TestFollowersAreToldUnderBudgets = TightFeedMachine.TestCase
