"""Snapshots against copies of the model: whatever is written since, each answers as the store did when it was taken.

The machines are those of the store, with the same random writes and schema changes. A snapshot that is taken freezes
the model beside it; all that holds of the store must go on to hold of the snapshot and its frozen model.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.model.test_store_model import Row, StoreMachine, TightMachine, chosen
from tests.strategies import seeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kindex import ObjectKey, Snapshot
    from tests.strategies import Plain

OPEN = 3
"""So many snapshots at most are open at one time."""


class Frozen(NamedTuple):
    """A snapshot, the model as it was when it was taken, and after how many steps it is asked each time."""

    snapshot: Snapshot[Plain]
    rows: dict[ObjectKey, Row]
    order: list[ObjectKey]
    indexers: list[Any]
    revision: int
    versions: dict[str | None, str]
    pace: int


class Snapshots(StoreMachine):
    """Takes snapshots of the store, and lets them go, between its writes."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen: list[Frozen] = []

    @precondition(lambda self: len(self.frozen) < OPEN)
    @rule(through_a_view=st.booleans(), pace=st.sampled_from([1, 2, 5, 99]))
    def take(self, through_a_view: bool, pace: int) -> None:
        """Freeze the model; objects are shared, since a snapshot borrows them out as the store does."""
        view = self.store.view() if through_a_view else self.store
        rows = {key: Row(row.obj, dict(row.filed)) for key, row in self.rows.items()}
        indexers, versions = list(self.indexers), dict(self.versions)
        order = self.store.keys()
        self.frozen.append(Frozen(view.snapshot(), rows, order, indexers, self.revision, versions, pace))

    @precondition(lambda self: len(self.frozen) < OPEN - 1)
    @rule(version=st.integers(0, 999).map(str), scope=st.sampled_from([None, "prod"]))
    def take_around_a_bookmark(self, version: str, scope: str | None) -> None:
        """Two of one revision, of which one knows more."""
        self.take(through_a_view=False, pace=1)
        self.store.bookmark(version, namespace=scope)
        self.versions[scope] = version
        self.take(through_a_view=True, pace=2)

    @precondition(lambda self: self.frozen)
    @rule(data=st.data(), close=st.booleans())
    def let_go(self, data: st.DataObject, close: bool) -> None:
        """Close a snapshot, or forget it."""
        gone = self.frozen.pop(data.draw(st.integers(0, len(self.frozen) - 1)))
        self.check(gone)
        if close:
            gone.snapshot.close()

    @contextmanager
    def as_of(self, frozen: Frozen) -> Iterator[None]:
        """Let the machine take a snapshot for its store, and the frozen model for its own."""
        present = self.store, self.rows, self.indexers, self.revision, self.versions
        snapshot: Any = frozen.snapshot
        self.store, self.rows, self.indexers = snapshot, frozen.rows, frozen.indexers
        self.revision, self.versions = frozen.revision, frozen.versions
        try:
            yield
        finally:
            self.store, self.rows, self.indexers, self.revision, self.versions = present

    def check(self, frozen: Frozen) -> None:
        """All that holds of the store holds of the snapshot, at its moment; its answers are in the order of then."""
        with self.as_of(frozen):
            self.it_holds_what_the_model_holds()
            self.its_indexes_hold_what_was_filed()
            self.it_answers_as_a_scan_does()
            random = seeded(f"{self.step} {frozen.revision}")
            question, limit = self.asker(frozen.rows, random).question(exact=True), random.randrange(5)
        rows = chosen(frozen.rows, question)
        keys = [key for key in frozen.order if key in rows]
        asked = frozen.snapshot
        assert asked.keys(*question.terms, **question.query) == keys, question
        assert asked.keys(*question.terms, **question.query, limit=limit) == keys[:limit], question
        found = asked.select(*question.terms, **question.query)
        assert list(map(id, found)) == [id(rows[key].obj) for key in keys], question

    @invariant()
    def snapshots_answer_as_scans_of_what_was(self) -> None:
        """Some are asked after each step; others take in what several steps have changed."""
        for frozen in self.frozen:
            if not self.step % frozen.pace:
                self.check(frozen)

    @invariant()
    def it_is_sound(self) -> None:
        """Check now and then only: it makes snapshots take in what has changed."""
        if self.step % 4:
            self.store._core.generation._check()
        else:
            super().it_is_sound()

    @invariant()
    def pasts_go_with_their_snapshots(self) -> None:
        """The store knows no more states than there are open snapshots."""
        assert len(self.store._core.pasts) <= len(self.frozen)

    def teardown(self) -> None:
        """All answer to the end; nothing is kept for those that are gone."""
        while self.frozen:
            self.check(self.frozen.pop())
        self.store._check()
        assert self.store._core.pasts == []


class TightSnapshots(Snapshots, TightMachine):
    """The same under budgets that most indexes break: what is dropped and comes back is so in no snapshot."""


Snapshots.TestCase.settings = settings(max_examples=settings().max_examples * 3 // 10, stateful_step_count=25)
TightSnapshots.TestCase.settings = settings(max_examples=settings().max_examples // 5, stateful_step_count=25)
TestSnapshotsStayAsTheyWere = Snapshots.TestCase
TestBudgetsChangeNoSnapshot = TightSnapshots.TestCase
