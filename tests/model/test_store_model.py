"""The store against a dict: any sequence of writes, late indexers, failures and edits behind its back.

The model keeps a plain dict, and beside each object a copy of what every index saw of it when it was last filed there.
What an index answers must be what a scan over these copies gives; the rest, a scan over the objects as they are.
"""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext, suppress
from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kindex import (
    Added,
    BudgetExceededError,
    Deleted,
    IndexConflictError,
    Indexer,
    IndexerError,
    IndexFunctionError,
    InvalidObjectError,
    LabelIndexer,
    NamespaceIndexer,
    ObjectKey,
    QueryError,
    ScopeError,
    Store,
    UnknownIndexError,
    Updated,
)
from kindex.indexers.labels import LabelKey
from tests.strategies import (
    INDEXERS,
    KEYS,
    TIGHT_INDEXERS,
    VALUES,
    Asker,
    Plain,
    Question,
    labels_at,
    lenient,
    pod,
    seeded,
    strict,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kindex import Delta

QUESTIONS = 3
"""After each step."""

ALL_INDEXERS = [*INDEXERS, strict, lenient, LabelIndexer("app", "env", name="shares a key")]
TIGHT = {indexer.name for indexer in TIGHT_INDEXERS}

contents = st.integers(0, 9_999).map(Random)
"""What is in an object: many choices, none of which Hypothesis would have to shrink."""
keys = st.builds(
    ObjectKey,
    st.sampled_from(["prod", "prod", "default", "kube-system", ""]),
    st.sampled_from(["p1", "p2", "p3", "p30", "p5"]),
)
uids = st.sampled_from(["same", "same", "same", "other", "none"])


class Row:
    """One object as it is, and what each index saw of it when it was last filed there."""

    def __init__(self, obj: Plain, filed: dict[str, Plain]) -> None:
        self.obj = obj
        self.filed = filed


def indexes_of(indexer: Any) -> list[str]:
    """Name the indexes that an indexer needs; LabelIndexers that name the same key share one."""
    if not isinstance(indexer, LabelIndexer):
        return [str(indexer.name)]
    if indexer.keys:
        return [f"{indexer.path} {key}" for key in indexer.keys]
    return [f"{indexer.path} all but {sorted(indexer.deny)}"]


def uid_of(obj: Plain) -> str:
    return str(obj["metadata"].get("uid", ""))


def is_same(old: Plain, new: Plain) -> bool:
    """Tell whether a relisted object is no news."""
    before, after = ([obj["metadata"].get(name) for name in ("uid", "resourceVersion")] for obj in (old, new))
    return before == after if all(after) else old == new


def pooled(**sizes: Any) -> st.SearchStrategy[list[Any]]:
    """Choose among the indexers of the machine."""
    return st.runner().flatmap(lambda machine: st.lists(st.sampled_from(machine.pool), unique_by=id, **sizes))


class StoreMachine(RuleBasedStateMachine):
    """Writes to a store and to its model, and asks both."""

    pool: ClassVar[list[Any]] = ALL_INDEXERS
    tight: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.store: Store[Plain] = Store(name="pods")
        self.rows: dict[ObjectKey, Row] = {}
        self.indexers: list[Any] = []
        self.revision = 0
        self.versions: dict[str | None, str] = {}
        self.step = 0

    # The model

    @property
    def indexes(self) -> list[str]:
        return list(dict.fromkeys(name for indexer in self.indexers for name in indexes_of(indexer)))

    def has(self, indexer: Any) -> bool:
        return indexer in self.indexers

    def filed(self, obj: Plain) -> dict[str, Plain]:
        """See an object as all indexes see it now."""
        return dict.fromkeys(self.indexes, deepcopy(obj))

    def model_put(self, key: ObjectKey, obj: Plain) -> None:
        self.rows[key] = Row(obj, self.filed(obj))

    def made(self, random: Random, key: ObjectKey, uid: str = "same") -> Plain:
        """Make an object for *key*."""
        obj = pod(random, *key)
        if uid == "other":
            obj["metadata"]["uid"] += " again"
        elif uid == "none":
            del obj["metadata"]["uid"]
        return obj

    def expected(self, key: ObjectKey, new: Plain, *, final_state_known: bool = True) -> list[Delta[Plain]]:
        """Give the deltas of a put."""
        row = self.rows.get(key)
        if row is None:
            return [Added(key, new)]
        before, after = uid_of(row.obj), uid_of(new)
        if before and after and before != after:
            return [Deleted(key, row.obj, final_state_known), Added(key, new)]
        return [Updated(key, row.obj, new)]

    # Writes

    @initialize(chosen=pooled(max_size=8))
    def start(self, chosen: list[Any]) -> None:
        self.store = Store(name="pods", indexers=chosen)
        self.indexers = chosen

    @rule(random=contents, key=keys, uid=uids)
    def put(self, random: Random, key: ObjectKey, uid: str) -> None:
        obj = self.made(random, key, uid)
        expected = self.expected(key, obj)
        assert_deltas(self.store.put(obj), expected)
        self.model_put(key, obj)
        self.revision += 1

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def put_the_same_again(self, data: st.DataObject) -> None:
        """A put always commits, and files an object as it is now, also one that was edited in place."""
        key = data.draw(st.sampled_from(sorted(self.rows)))
        obj = self.rows[key].obj
        now = ObjectKey(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        expected = self.expected(now, obj)
        assert_deltas(self.store.put(obj), expected)
        self.model_put(now, obj)
        self.revision += 1

    @rule(random=contents, key=keys)
    def put_what_an_index_function_fails_on(self, random: Random, key: ObjectKey) -> None:
        """Strictly, nothing changes; leniently, it is filed under no value."""
        obj = self.made(random, key)
        obj["spec"]["bad"] = True
        if self.has(strict):
            with pytest.raises(IndexFunctionError) as caught:
                self.store.put(obj)
            assert (caught.value.index, caught.value.key) == (strict.name, key)
            with pytest.raises(IndexFunctionError):
                self.store.replace([*(row.obj for row in self.rows.values()), obj])
            with self.store.transaction() as txn, pytest.raises(IndexFunctionError):
                txn.put(obj)
            assert txn.deltas == ()
        else:
            self.store.put(obj)
            self.model_put(key, obj)
            self.revision += 1

    @rule(
        what=st.sampled_from(
            [None, {}, {"metadata": {}}, {"metadata": {"name": ""}}, {"metadata": {"name": 7}}, "text"]
        )
    )
    def put_what_has_no_key(self, what: Any) -> None:
        for write in (self.store.put, self.store.delete, lambda obj: self.store.replace([obj])):
            with pytest.raises(InvalidObjectError):
                write(what)

    @rule(key=keys, by_object=st.booleans())
    def delete(self, key: ObjectKey, by_object: bool) -> None:
        row = self.rows.pop(key, None)
        what: Any = {"metadata": {"name": key.name, "namespace": key.namespace or None}} if by_object else key
        deleted = self.store.delete(what)
        assert_deltas([] if deleted is None else [deleted], [] if row is None else [Deleted(key, row.obj)])
        assert deleted is None or deleted.revision == self.store.revision
        self.revision += row is not None

    @rule(
        random=contents,
        keep=st.sampled_from([0, 0.3, 0.7, 1, 1]),
        new=st.integers(0, 6),
        scope=st.sampled_from([None, None, "prod"]),
    )
    def replace(self, random: Random, keep: float, new: int, scope: str | None) -> None:
        """A relist: some are gone, some are new, some have changed, and of some there is an equal copy."""
        present = {key: row for key, row in self.rows.items() if scope in (None, key.namespace)}
        wanted: list[Plain] = []
        for key, row in present.items():
            if random.random() >= keep:
                continue
            if random.random() < 0.3:
                wanted.append(self.made(random, key, random.choice(["same", "other", "none"])))
            elif ObjectKey(row.obj["metadata"].get("namespace", ""), row.obj["metadata"]["name"]) == key:
                wanted.append(deepcopy(row.obj))
        for _ in range(new):
            namespace = random.choice(["prod", "default", ""]) if scope is None else scope
            wanted.append(self.made(random, ObjectKey(namespace, random.choice(["p1", "p2", "n1", "n2", "n3"]))))
        version = random.choice([None, str(random.randrange(1000))])
        self.relist(wanted, version, scope)

    def relist(self, wanted: list[Plain], version: str | None, scope: str | None) -> None:
        last = {ObjectKey(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in wanted}
        expected: dict[ObjectKey, list[Delta[Plain]]] = {}
        kept = {}
        for key, obj in last.items():
            row = self.rows.get(key)
            if row is not None and is_same(row.obj, obj):
                kept[key] = obj
            else:
                expected[key] = self.expected(key, obj, final_state_known=False)
        for key, row in self.rows.items():
            if scope in (None, key.namespace) and key not in last:
                expected[key] = [Deleted(key, row.obj, final_state_known=False)]
        deltas = self.store.replace(iter(wanted), version, namespace=scope)
        found: dict[ObjectKey, list[Delta[Plain]]] = {}
        for delta in deltas:
            found.setdefault(delta.key, []).append(delta)
        assert found.keys() == expected.keys()
        for key, mine in expected.items():
            assert_deltas(found[key], mine)
        self.revision += bool(expected)
        self.rows = {key: row for key, row in self.rows.items() if scope not in (None, key.namespace) or key in last}
        for key, obj in last.items():
            if key not in kept:
                self.model_put(key, obj)
        if version is not None:
            self.versions[scope] = version

    @rule(random=contents, key=keys)
    def replace_with_a_stranger(self, random: Random, key: ObjectKey) -> None:
        """A list of one namespace with an object of another is refused."""
        if key.namespace != "prod":
            with pytest.raises(ScopeError):
                self.store.replace([self.made(random, key)], "1", namespace="prod")

    @rule(random=contents, size=st.integers(0, 12), fails=st.sampled_from([False, False, True]))
    def transaction(self, random: Random, size: int, fails: bool) -> None:
        last: dict[ObjectKey, Plain | None] = {}
        with pytest.raises(KeyboardInterrupt) if fails else nullcontext(), self.store.transaction() as txn:
            for _ in range(size):
                self.write_in(txn, last, random)
                self.check_transaction(txn, last, random)
            if fails:
                raise KeyboardInterrupt
        if fails:
            assert txn.deltas == ()
            return
        expected: list[Delta[Plain]] = []
        for key, obj in last.items():
            if obj is not None:
                expected += self.expected(key, obj)
            elif key in self.rows:
                expected.append(Deleted(key, self.rows[key].obj))
        assert_deltas(txn.deltas, expected)
        self.revision += bool(expected)
        for key, obj in last.items():
            if obj is not None:
                self.model_put(key, obj)
            else:
                self.rows.pop(key, None)

    def write_in(self, txn: Any, last: dict[ObjectKey, Plain | None], random: Random) -> None:
        """Put or delete something in a transaction; *last* is the last word on each key, in the order of these."""
        key = ObjectKey(random.choice(["prod", "default", ""]), random.choice(["p1", "p2", "p3", "n1"]))
        last.pop(key, None)
        if random.random() < 0.35:
            last[key] = None
            txn.delete(key)
        else:
            obj = last[key] = self.made(random, key, random.choice(["same", "other", "none"]))
            txn.put(obj)

    def check_transaction(self, txn: Any, last: dict[ObjectKey, Plain | None], random: Random) -> None:
        """A transaction reads its own writes, on top of the store, which shows none of them."""
        after = {key: row for key, row in self.rows.items() if key not in last}
        after |= {key: Row(obj, self.filed(obj)) for key, obj in last.items() if obj is not None}
        for key, obj in last.items():
            assert txn.get(key) is obj
            assert self.store.get(key) is (self.rows[key].obj if key in self.rows else None)
        question = self.asker(after, random).question(exact=True)
        if question.edge:
            with pytest.raises(QueryError):
                txn.select(*question.terms, **question.query)
        elif "namespace" not in question.query or any(key.namespace for key in self.rows):
            found = txn.select(*question.terms, **question.query)
            assert_objects(found, chosen(after, question), question)

    @rule(random=contents, scope=st.sampled_from([None, "prod"]))
    def bookmark(self, random: Random, scope: str | None) -> None:
        version = str(random.randrange(1000))
        self.store.bookmark(version, namespace=scope)
        self.versions[scope] = version

    @rule(random=contents, size=st.sampled_from([20, 70, 150]), at_once=st.booleans())
    def grow(self, random: Random, size: int, at_once: bool) -> None:
        """Bring many, so that tables, and columns of more than 255 values, are in play."""
        objects = [
            self.made(random, ObjectKey(random.choice(["prod", "default"]), f"m{random.randrange(400)}"))
            for _ in range(size)
        ]
        if at_once:
            self.relist(
                [*(deepcopy(row.obj) for key, row in self.rows.items() if self.unmoved(key)), *objects], None, None
            )
            return
        with self.store.transaction() as txn:
            for obj in objects:
                txn.put(obj)
        for obj in objects:
            self.model_put(ObjectKey(obj["metadata"]["namespace"], obj["metadata"]["name"]), obj)
        self.revision += 1

    def unmoved(self, key: ObjectKey) -> bool:
        metadata = self.rows[key].obj["metadata"]
        return (metadata.get("namespace", ""), metadata["name"]) == key

    @precondition(lambda self: len(self.rows) > 20)
    @rule(random=contents, left=st.sampled_from([0, 1, 5, 18]), one_by_one=st.booleans())
    def shrink(self, random: Random, left: int, one_by_one: bool) -> None:
        """Delete nearly all: the store gives memory back, and keeps the rest as it was filed."""
        gone = random.sample(sorted(self.rows), k=len(self.rows) - left)
        if one_by_one:
            for key in gone[:40]:
                self.store.delete(key)
            self.revision += len(gone[:40])
            gone_now, gone = gone[:40], gone[40:]
            for key in gone_now:
                del self.rows[key]
        with self.store.transaction() as txn:
            for key in gone:
                txn.delete(key)
        self.revision += bool(gone)
        for key in gone:
            del self.rows[key]

    # Indexers

    @rule(chosen=pooled(min_size=1, max_size=3))
    def add_indexers(self, chosen: list[Any]) -> None:
        """At any time; those that are there already change nothing."""
        new = [indexer for indexer in chosen if not self.has(indexer)]
        if strict in new and any(row.obj["spec"].get("bad") for row in self.rows.values()):
            with pytest.raises(IndexFunctionError):
                self.store.add_indexers(*chosen)
            return
        known = set(self.indexes)
        self.store.add_indexers(*chosen)
        self.indexers += new
        late = [name for name in self.indexes if name not in known]
        for row in self.rows.values():
            row.filed.update(dict.fromkeys(late, deepcopy(row.obj)))

    @precondition(lambda self: self.indexers)
    @rule(data=st.data())
    def add_another_of_the_same_name(self, data: st.DataObject) -> None:
        """A different indexer under a taken name is refused, and nothing of the call is added."""
        taken = data.draw(st.sampled_from(self.indexers))
        fresh = [indexer for indexer in self.pool if not self.has(indexer) and indexer is not strict]
        with pytest.raises(IndexConflictError) as caught:
            self.store.add_indexers(*fresh[:1], Indexer(taken.name, lambda _obj: "x"))
        assert caught.value.name == taken.name

    @precondition(lambda self: self.indexers)
    @rule(data=st.data())
    def remove_indexer(self, data: st.DataObject) -> None:
        """What it shares with another stays."""
        gone = data.draw(st.sampled_from(self.indexers))
        self.store.remove_indexer(gone.name)
        self.indexers = [indexer for indexer in self.indexers if indexer is not gone]
        for row in self.rows.values():
            row.filed = {name: row.filed[name] for name in self.indexes}

    @rule()
    def remove_what_is_not_there(self) -> None:
        with pytest.raises(UnknownIndexError):
            self.store.remove_indexer("no such index")

    # Behind its back

    @precondition(lambda self: self.rows and not self.tight)
    @rule(random=contents, data=st.data())
    def edit_in_place(self, random: Random, data: st.DataObject) -> None:
        """A reader edits a stored object, even what its key was made of."""
        key = data.draw(st.sampled_from(sorted(self.rows)))
        obj = self.rows[key].obj
        other = pod(random, *key)
        match random.randrange(4):
            case 0:
                obj["metadata"]["labels"] = other["metadata"].get("labels")
            case 1:
                obj["spec"] = other["spec"] | ({"bad": True} if obj["spec"].get("bad") else {})
            case 2 if isinstance(obj["metadata"].get("labels"), dict):
                obj["metadata"]["labels"]["app"] = random.choice(["web", "edited", None])
            case _:
                obj["metadata"]["namespace"], obj["metadata"]["name"] = "elsewhere", "renamed"

    # What holds after each step

    def asker(self, rows: dict[ObjectKey, Row], random: Random) -> Asker:
        def seen(where: str, what: str) -> tuple[Sequence[Plain], bool]:
            index = self.index_for(where, what)
            return [row.obj if index is None else row.filed[index] for row in rows.values()], index is not None

        return Asker(random, list(rows), self.indexers, seen)

    def index_for(self, where: str, what: str) -> str | None:
        """Name the index that answers a question; None when the objects are looked at."""
        if where == "index":
            return what
        if where == "field":
            paths = {f.name: [path.text for path in getattr(f, "paths", ())] for f in self.indexers}
            return next((name for name, texts in paths.items() if texts == [what]), None)
        if f"{where} {what}" in self.indexes:
            return f"{where} {what}"
        families = [i for i in self.indexers if isinstance(i, LabelIndexer) and not i.keys and i.path == where]
        return next((indexes_of(family)[0] for family in families if what not in family.deny), None)

    @invariant()
    def it_is_sound(self) -> None:
        self.store._check()
        slots = self.store._core.generation.slots
        assert slots.capacity <= max(64 if self.rows else 0, 4 * len(self.rows))

    @invariant()
    def it_holds_what_the_model_holds(self) -> None:
        store = self.store
        assert len(store) == len(self.rows)
        assert store.revision == self.revision
        assert store.get_many(self.rows.keys()).keys() == self.rows.keys()
        assert all(store.get(key) is row.obj for key, row in self.rows.items())
        assert set(map(id, store)) == {id(row.obj) for row in self.rows.values()}
        assert store.keys(order_by="key") == sorted(self.rows)
        assert set(store.index_names) == {"namespace", *(indexer.name for indexer in self.indexers)}
        assert store.resource_version() == self.versions.get(None)
        assert store.resource_version(namespace="prod") == self.versions.get("prod")

    @invariant()
    def its_indexes_hold_what_was_filed(self) -> None:
        namespaces = Counter(key.namespace for key in self.rows if key.namespace)
        assert self.store.tally(NamespaceIndexer()) == namespaces
        for indexer in self.indexers:
            if isinstance(indexer, Indexer):
                self.check_values(indexer)
            else:
                self.check_labels(indexer)
        bad = (
            sum(bool(row.filed[lenient.name]["spec"].get("bad")) for row in self.rows.values())
            if self.has(lenient)
            else 0
        )
        assert self.store.skipped() == ({lenient.name: bad} if self.has(lenient) else {})

    def check_values(self, indexer: Indexer[Any, Any]) -> None:
        tally = Counter(value for row in self.rows.values() for value in distinct(indexer, row))
        values = self.store.index_values(indexer)
        assert {typed(value): self.store.count(indexer.at(value)) for value in values} == tally
        if len(set(values)) == len(values):  # no 1 beside True, which are one key of a dict
            assert self.store.tally(indexer) == {value: tally[typed(value)] for value in values}

    def check_labels(self, indexer: LabelIndexer) -> None:
        """Check the index of one key, of another one after each step."""
        key = KEYS[indexer.path][self.step % len(KEYS[indexer.path])]
        index = self.index_for(indexer.path, key)
        if index is None:
            with pytest.raises(IndexerError):
                indexer.key(key)
            return
        label = LabelKey(indexer.path, key)
        values = [labels_at(row.filed[index], indexer.path).get(key) for row in self.rows.values()]
        assert self.store.tally(label) == Counter(value for value in values if value is not None)
        assert self.store.count(label.exists()) == len(values) - values.count(None)
        assert self.store.count(label.absent()) == values.count(None)

    @invariant()
    def it_answers_as_a_scan_does(self) -> None:
        self.step += 1
        asker = self.asker(self.rows, seeded(f"{self.step} {self.revision} {len(self.rows)}"))
        for _ in range(QUESTIONS):
            question = asker.question(exact=True)
            terms, query = question.terms, question.query
            rows = chosen(self.rows, question)
            found = self.store.select(*terms, **query)
            assert_objects(found, rows, question)
            assert sorted(self.store.keys(*terms, **query)) == sorted(rows), question
            assert self.store.count(*terms, **query) == len(rows), question
            plan = self.store.explain(*terms, **query)
            assert plan.returned == len(rows), question
            if not self.tight:
                assert plan.scanned == (question.candidates.bit_count() if question.checked else 0), question


def distinct(indexer: Indexer[Any, Any], row: Row) -> set[Any]:
    """Give the values under which a row was filed; 1 and True are two."""
    return set(map(typed, VALUES[indexer.name](row.filed[indexer.name])))


def chosen(rows: dict[ObjectKey, Row], question: Question) -> dict[ObjectKey, Row]:
    return {key: row for number, (key, row) in enumerate(rows.items()) if question.rows >> number & 1}


def assert_objects(found: Iterable[Plain], rows: dict[ObjectKey, Row], question: Question) -> None:
    """Assert that these very objects were found, each once."""
    assert sorted(map(id, found)) == sorted(id(row.obj) for row in rows.values()), question


def assert_deltas(found: Iterable[Delta[Plain]], expected: Iterable[Delta[Plain]]) -> None:
    """Assert that the deltas are these, with the very objects that were stored."""

    def shown(delta: Delta[Plain]) -> tuple[Any, ...]:
        match delta:
            case Added(key=key, new=new):
                return "added", key, id(new)
            case Updated(key=key, old=old, new=new):
                return "updated", key, id(old), id(new)
            case Deleted(key=key, old=old, final_state_known=known):
                return "deleted", key, id(old), known

    assert list(map(shown, found)) == list(map(shown, expected))


class TightMachine(StoreMachine):
    """The same under budgets that most indexes break: no answer changes, whatever is dropped and comes back.

    Nobody edits in place here: what an index that comes back is built from would then depend on when it does.
    """

    pool: ClassVar[list[Any]] = [*TIGHT_INDEXERS, *(indexer for indexer in ALL_INDEXERS if indexer.name not in TIGHT)]
    tight: ClassVar[bool] = True

    @precondition(lambda self: self.indexers)
    @rule(data=st.data())
    def readmit(self, data: st.DataObject) -> None:
        """What still breaks its budget stays out; in any case no answer changes."""
        known: Any = self.store._core.generation.schema.dropped
        dropped = sorted(known, key=lambda identity: str(identity.name))
        if dropped:
            with suppress(BudgetExceededError):
                self.store.readmit(data.draw(st.sampled_from(dropped)))


StoreMachine.TestCase.settings = settings(max_examples=settings().max_examples * 2 // 5, stateful_step_count=25)
TightMachine.TestCase.settings = settings(max_examples=settings().max_examples // 4, stateful_step_count=25)
TestTheStoreIsADictWithIndexes = StoreMachine.TestCase
TestBudgetsChangeNoAnswer = TightMachine.TestCase
