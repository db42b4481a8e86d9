"""Transactions: many writes, one commit; their own reads; and what ends or refuses them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Added,
    Deleted,
    FieldIndexer,
    Indexer,
    IndexFunctionError,
    InvalidObjectError,
    KindexError,
    LabelIndexer,
    ObjectKey,
    QueryError,
    ScopeError,
    SortedIndexer,
    Store,
    Transaction,
    TransactionError,
    UnknownIndexError,
    Updated,
)
from tests.pods import Pod, key, names_of, pod, versioned

if TYPE_CHECKING:
    from collections.abc import Callable

by_labels = LabelIndexer("app")
by_node = FieldIndexer("spec.nodeName")
by_size: SortedIndexer[Pod, Any] = SortedIndexer("size", lambda obj: obj.get("size"))


def filled() -> Store[Pod]:
    """Make a store of three pods."""
    store: Store[Pod] = Store(name="pods", indexers=[by_labels, by_node, by_size])
    store.replace([pod("a", app="web", node="n1"), pod("b", app="web"), pod("c", "test", app="db")])
    return store


def test_many_writes_are_one_commit() -> None:
    """Nothing is to be seen before the end, and then all of it, under one revision."""
    store = filled()
    a, d = pod("a", app="db"), pod("d", app="web")
    old_a, old_b = store.get(key("a")), store.get(key("b"))
    with store.transaction() as txn:
        txn.put(a)
        txn.put(d)
        txn.delete(key("b"))
        assert (store.revision, store.get(key("a")), key("b") in store, key("d") in store) == (1, old_a, True, False)
        assert txn.deltas == ()
    assert store.revision == 2
    assert txn.deltas == (Updated(key("a"), old_a, a, 2), Added(key("d"), d, 2), Deleted(key("b"), old_b, revision=2))
    assert names_of(store.select(label_selector="app=web")) == ["d"]
    store._check()


def test_the_last_write_of_a_key_wins() -> None:
    """Earlier writes of a key leave no trace: no delta, no index value, and the last one's place in the order."""
    store = filled()
    last = pod("e", app="last")
    with store.transaction() as txn:
        txn.put(pod("e", app="first"))
        txn.delete(key("a"))
        txn.put(pod("a", app="back"))
        txn.put(pod("f"))
        txn.delete(key("f"))
        txn.delete(key("e"))
        txn.put(last)
        txn.delete(key("b"))
        txn.delete(key("b"))
    assert [(type(delta), delta.key.name) for delta in txn.deltas] == [(Updated, "a"), (Added, "e"), (Deleted, "b")]
    assert store.get(key("e")) is last
    assert store.index_values(by_labels) == ["back", "db", "last"]
    assert store.revision == 2
    store._check()


def test_a_transaction_without_effect_commits_nothing() -> None:
    """An empty one, and one that deletes what is not there, raise no revision."""
    store = filled()
    with store.transaction() as empty:
        pass
    with store.transaction() as missing:
        missing.delete(key("missing"))
        missing.put(pod("x"))
        missing.delete(pod("x"))
    assert (store.revision, empty.deltas, missing.deltas) == (1, (), ())


def write_and_raise(txn: Transaction[Pod], error: type[BaseException]) -> None:
    """Fail at the end of the block."""
    with txn:
        txn.put(pod("x"))
        txn.delete(key("a"))
        raise error


def test_an_exception_in_the_block_applies_nothing() -> None:
    """Whatever is raised comes through, and the store is as it was."""
    store = filled()
    for error in (ValueError, KeyboardInterrupt):
        txn = store.transaction()
        with pytest.raises(error):
            write_and_raise(txn, error)
        assert (len(store), store.revision, key("a") in store, txn.deltas) == (3, 1, True, ())
    store._check()


def test_a_write_that_fails_is_not_part_of_it() -> None:
    """A bad object fails at ``put``; whoever catches that keeps the other writes, and the key's earlier one."""
    store: Store[Pod] = Store(indexers=[Indexer("value", lambda obj: obj["value"])])
    good, bad = {**pod("a"), "value": "v"}, pod("a")
    with store.transaction() as txn:
        txn.put(good)
        with pytest.raises(IndexFunctionError):
            txn.put(bad)
        with pytest.raises(InvalidObjectError):
            txn.put({})
        assert txn.get("a", namespace="prod") is good
    assert store.get(key("a")) is good
    store._check()


def test_index_functions_run_at_put_once() -> None:
    """The commit itself runs none."""
    calls: list[str] = []
    store: Store[Pod] = Store(indexers=[Indexer("name", lambda obj: calls.append(obj["metadata"]["name"]))])  # type: ignore[func-returns-value]
    with store.transaction() as txn:
        for name in "abc":
            txn.put(pod(name))
        assert calls == ["a", "b", "c"]
    assert calls == ["a", "b", "c"]


def test_a_uid_that_changed_stays_two_deltas() -> None:
    """A Deleted and an Added, as with put."""
    store = filled()
    first, second = versioned(pod("a"), "u1"), versioned(pod("a"), "u2")
    store.put(first)
    with store.transaction() as txn:
        txn.put(second)
    assert txn.deltas == (Deleted(key("a"), first, revision=3), Added(key("a"), second, revision=3))


def test_a_transaction_reads_its_own_writes() -> None:
    """``get`` and ``select`` answer as the store would after it, whatever the others see."""
    store = filled()
    with store.transaction() as txn:
        new, changed = {**pod("d", app="web", node="n9"), "size": 3}, pod("a", app="db")
        txn.put(new)
        txn.put(changed)
        txn.delete(key("b"))
        assert txn.get("d", namespace="prod") is new
        assert txn.get(key("a")) is changed
        assert txn.get(key("b")) is None
        assert txn.get("c", namespace="test") is store.get(key("c", "test"))
        assert names_of(txn.select()) == ["a", "c", "d"]
        assert names_of(txn.select(label_selector="app=web")) == ["d"]
        assert names_of(txn.select(label_selector="app!=web")) == ["a", "c"]
        assert names_of(txn.select(namespace="prod", label_selector="app=db")) == ["a"]
        assert names_of(txn.select(namespace="test")) == ["c"]
        assert names_of(txn.select(by_node.at("n9"))) == ["d"]
        assert names_of(txn.select(~by_node.at("n9"))) == ["a", "c"]
        assert txn.select(by_node.at("n1")) == []
        assert names_of(txn.select(field_selector="spec.nodeName=n9")) == ["d"]
        assert names_of(txn.select(by_size.between(1, 5))) == ["d"]
        assert names_of(txn.select(where=lambda obj: obj["metadata"]["name"] > "c")) == ["d"]
        expected = {
            question: names_of(txn.select(label_selector=question)) for question in ("app", "!app", "app in (web,db)")
        }
        assert store.count(label_selector="app=web") == 2
    assert {question: names_of(store.select(label_selector=question)) for question in expected} == expected


def test_what_depends_on_all_objects_is_refused_inside() -> None:
    """The smallest and largest values cannot be told from the store and the own writes apart, so they are not."""
    store = filled()
    store.put({**pod("small"), "size": 1})
    with store.transaction() as txn:
        txn.put({**pod("smaller"), "size": 0})
        for term in (by_size.smallest(), ~by_size.largest(), by_node.at("n1") | by_size.largest()):
            with pytest.raises(QueryError):
                txn.select(term)


def test_a_slip_inside_a_transaction_is_the_same_error() -> None:
    """Names, scopes, selectors and terms are checked as in the store, also where only own writes are there."""
    store: Store[Pod] = Store(indexers=[by_labels])
    with store.transaction() as txn:
        txn.put(pod("a"))
        with pytest.raises(QueryError):
            txn.get("prod/a")
        with pytest.raises(ScopeError, match="have namespaces; say which 'a'"):
            txn.get("a")
        with pytest.raises(QueryError):
            txn.select(namespace="")
        with pytest.raises(ValueError, match="selector"):
            txn.select(label_selector="a in")
        with pytest.raises(UnknownIndexError):
            txn.select(by_node.at("n1"))
        with pytest.raises(QueryError):
            txn.select(scan="never")  # type: ignore[arg-type]


def test_replace_inside_is_refused() -> None:
    """A replace is relative to all of the state at its commit, so it is one of its own."""
    store = filled()
    with store.transaction() as txn:
        with pytest.raises(TransactionError) as refused:
            txn.replace([], "7")
        assert str(refused.value) == (
            "replace() is a commit of its own; call it on store 'pods', outside the transaction"
        )
        assert isinstance(refused.value, (KindexError, RuntimeError))
    assert store.revision == 1


def test_a_transaction_is_used_once_and_inside_its_block() -> None:
    """Before, after and again are errors that say what to do."""
    store = filled()
    txn = store.transaction()
    uses: list[Callable[[Transaction[Pod]], object]] = [
        lambda txn: txn.put(pod("x")),
        lambda txn: txn.delete(key("a")),
        lambda txn: txn.get(key("a")),
        lambda txn: txn.select(),
    ]

    def outside() -> None:
        for use in uses:
            with pytest.raises(TransactionError) as refused:
                use(txn)
            assert str(refused.value) == "this transaction of store 'pods' is not open; use it inside its with block"

    outside()
    with txn:
        txn.put(pod("d"))
        with pytest.raises(TransactionError, match="a transaction is used once"), txn:
            pass
    outside()
    with pytest.raises(TransactionError) as again, txn:
        pass
    assert str(again.value) == "a transaction is used once; start another of store 'pods' with transaction()"
    assert (len(store), store.revision) == (4, 2)


def test_entering_twice_does_not_close_it() -> None:
    """The refused second use leaves the first one open, and its writes are committed."""
    store = filled()
    with store.transaction() as txn:
        with pytest.raises(TransactionError), txn:
            pass
        txn.put(pod("d"))
    assert key("d") in store


def test_the_store_may_change_in_between() -> None:
    """What others commit meanwhile is kept, except for the keys that the transaction writes: there it is the last."""
    store = filled()
    mine = pod("a", app="mine")
    with store.transaction() as txn:
        txn.put(mine)
        txn.delete(key("b"))
        theirs = pod("a", app="theirs")
        store.put(theirs)
        store.put(pod("d", app="theirs"))
        store.delete(key("b"))
        assert names_of(txn.select(label_selector="app=theirs")) == ["d"]
    assert txn.deltas == (Updated(key("a"), theirs, mine, revision=5),)
    assert names_of(store.select()) == ["a", "c", "d"]
    store._check()


@pytest.mark.parametrize("change", ["add", "remove", "both"])
@pytest.mark.parametrize("reads", [False, True])
def test_the_indexers_may_change_in_between(change: str, reads: bool) -> None:
    """Objects that were filed before an indexer came or went are filed anew, once."""
    store = filled()
    late: Indexer[Pod, str] = Indexer("late", lambda obj: obj["metadata"]["name"])
    with store.transaction() as txn:
        txn.put(pod("d", app="web", node="n1"))
        if change in ("add", "both"):
            store.add_indexers(late)
        if change in ("remove", "both"):
            store.remove_indexer(by_node.name)
        if reads:
            assert names_of(txn.select(label_selector="app=web")) == ["a", "b", "d"]
            if change != "remove":
                assert names_of(txn.select(late.among(["a", "d"]))) == ["a", "d"]
        txn.put(pod("e", app="web"))
    store._check()
    assert names_of(store.select(label_selector="app=web")) == ["a", "b", "d", "e"]
    if change != "remove":
        assert store.index_values(late) == ["a", "b", "c", "d", "e"]


def test_an_index_that_came_in_between_may_refuse_the_commit() -> None:
    """Then nothing is applied."""
    store = filled()
    picky: Indexer[Pod, str] = Indexer("picky", lambda obj: {"a": "x", "b": "y", "c": "z"}[obj["metadata"]["name"]])

    def late() -> None:
        with store.transaction() as txn:
            txn.put(pod("a", app="new"))
            txn.put(pod("d"))
            store.add_indexers(picky)

    with pytest.raises(IndexFunctionError, match="index 'picky' failed on prod/d"):
        late()
    assert (store.revision, len(store)) == (1, 3)
    assert store.index_values(by_labels) == ["db", "web"]
    store._check()


def test_transactions_may_nest_and_interleave() -> None:
    """Each is a commit of its own; the one that ends last has the last word."""
    store = filled()
    with store.transaction() as outer:
        outer.put(pod("a", app="outer"))
        with store.transaction() as inner:
            inner.put(pod("a", app="inner"))
            inner.put(pod("d", app="inner"))
        assert outer.get(key("d")) is not None
    assert store.index_values(by_labels) == ["db", "inner", "outer", "web"]
    assert (store.revision, [type(each) for each in outer.deltas]) == (3, [Updated])
    store._check()


def test_a_slot_that_is_freed_is_not_used_again_in_the_same_commit() -> None:
    """Deletes and puts of one commit do not meet in a slot, so a commit can be applied again."""
    store = filled()
    with store.transaction() as txn:
        for found in store.keys():  # noqa: SIM118 - no dict
            txn.delete(found)
        for number in range(5):
            txn.put(pod(f"n{number}", app="new"))
    store._check()
    assert names_of(store.select(label_selector="app=new")) == [f"n{number}" for number in range(5)]
    assert store.get(ObjectKey("prod", "a")) is None


def test_a_transaction_of_another_store_inside_is_refused() -> None:
    """Two stores do not change in one moment: the error names both, and the first transaction goes on."""
    store, nodes = filled(), Store[Pod](name="nodes")
    with store.transaction() as txn:
        with pytest.raises(TransactionError, match=r"that of 'pods' is open here, and 'nodes' cannot join it"):
            nodes.transaction().__enter__()
        txn.put(pod("z"))
    assert key("z") in store
    with nodes.transaction() as txn:
        txn.put(pod("n"))
    assert len(nodes) == 1


def test_a_transaction_that_was_forgotten_hinders_nobody() -> None:
    """One that was begun and never ended, as after an interrupt, is no longer open when nobody refers to it."""
    store, nodes = filled(), Store[Pod](name="nodes")
    store.transaction().__enter__()
    with nodes.transaction() as txn:
        txn.put(pod("n"))
    assert len(nodes) == 1


def test_transactions_of_two_stores_may_run_in_two_threads() -> None:
    """What is open in one thread is no matter of another's."""
    store, nodes = filled(), Store[Pod](name="nodes")

    def write() -> None:
        with nodes.transaction() as txn:
            txn.put(pod("n"))

    with store.transaction():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(20)
    assert len(nodes) == 1
