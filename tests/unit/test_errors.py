"""Errors: the tree that the docstring draws is the one that there is, and sentences say whose they are."""

from __future__ import annotations

import builtins
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kindex
from kindex import (
    Budget,
    BudgetExceededError,
    FieldIndexer,
    IndexConflictError,
    Indexer,
    IndexFunctionError,
    IndexValueError,
    Informer,
    InformerError,
    InvalidObjectError,
    LabelIndexer,
    NotReachedError,
    NotSyncedError,
    ObjectNotFound,
    ScanRefusedError,
    ScopeError,
    Snapshot,
    SnapshotClosedError,
    SortedIndexer,
    Store,
    SyncTimeoutError,
    Transaction,
    TransactionError,
    UnknownIndexError,
    errors,
)
from kindex.errors import KindexError
from kindex.testing import FakeSource
from tests.pods import Pod, pod

_DRAWN = re.compile(r"^ {4}((?:│   |    )*)[├└]── (\w+)(?:\((\w+)\))?(?: +(?:``([\w.]+)``: )?\S.*)?$", re.MULTILINE)


def subclasses(parent: type[KindexError]) -> Iterator[type[KindexError]]:
    for child in parent.__subclasses__():
        yield child
        yield from subclasses(child)


def there_are() -> dict[str, type[KindexError]]:
    """Give every public error of the package, by its name."""
    for module in pkgutil.walk_packages(kindex.__path__, "kindex."):
        if not module.name.endswith("__main__"):  # that one runs
            importlib.import_module(module.name)
    found = [each for each in subclasses(KindexError) if each.__module__.startswith("kindex.")]
    return {each.__name__: each for each in found if not each.__name__.startswith("_")}


def drawn() -> Iterator[tuple[str, str, str, str]]:
    """Give name, parent, builtin and module of each line of the drawing."""
    parents = ["KindexError"]
    for line in _DRAWN.finditer(errors.__doc__ or ""):
        depth = 1 + len(line[1]) // 4
        parents[depth:] = [line[2]]
        yield line[2], parents[depth - 1], line[3] or "", line[4] or "errors"


def test_the_drawing_names_every_error() -> None:
    """Each public subclass of KindexError, in whatever module, stands in the drawing, once, and nothing else."""
    assert sorted(name for name, *_ in drawn()) == sorted(there_are())


def test_the_drawing_says_what_each_error_is() -> None:
    """Each stands under the error that it is, names the builtin that it is, and the module that has it."""
    there = there_are() | {"KindexError": KindexError}
    for name, parent, builtin, module in drawn():
        assert issubclass(there[name], there[parent]), name
        assert not builtin or issubclass(there[name], getattr(builtins, builtin)), name
        assert getattr(importlib.import_module(f"kindex.{module}"), name) is there[name]


def test_each_error_is_a_builtin_that_callers_catch() -> None:
    """No error is a KindexError alone: it is a ValueError, LookupError or the like, too, and the drawing says which."""
    builtin_of = {name: builtin for name, _, builtin, _ in drawn()}
    parent_of = {name: parent for name, parent, *_ in drawn()}
    silent = [name for name, builtin in builtin_of.items() if not builtin and not builtin_of.get(parent_of[name])]
    assert silent == []


def _odd(obj: Any) -> list[str]:
    return [obj["spec"]["nowhere"]]


def _store(*indexers: Any, **settings: Any) -> Store[Any]:
    store: Store[Any] = Store(name="fleet-7", indexers=indexers, **settings)
    store.put(pod("a", node="n1", app="web"))
    return store


def _in_transaction(store: Store[Any], act: Callable[[Transaction[Any]], object]) -> None:
    with store.transaction() as txn:
        act(txn)


def _closed_snapshot() -> Snapshot[Any]:
    with _store().snapshot() as moment:
        pass
    return moment


by_node, by_zone = FieldIndexer("spec.nodeName"), FieldIndexer("spec.zone")
sizes = SortedIndexer("size", lambda obj: obj["metadata"]["labels"].get("size"))
tight = LabelIndexer("app", budget=Budget(max_values=1))
other = pod("b", app="db")

OF_A_STORE: list[tuple[type[KindexError], Callable[[], object]]] = [
    (UnknownIndexError, lambda: _store().select(by_zone.at("z1"))),
    (UnknownIndexError, lambda: _store().select(LabelIndexer("zone").key("zone").at("z1"))),
    (UnknownIndexError, lambda: _store().remove_indexer("zone")),
    (UnknownIndexError, lambda: _store().index_values(by_zone)),
    (UnknownIndexError, lambda: _store().snapshot().select(by_zone.at("z1"))),
    (UnknownIndexError, lambda: _store().readmit("zone")),
    (IndexConflictError, lambda: _store(by_node, FieldIndexer("spec.zone", name="spec.nodeName"))),
    (IndexConflictError, lambda: _store(by_node).add_indexers(FieldIndexer("spec.zone", name="spec.nodeName"))),
    (IndexFunctionError, lambda: _store(Indexer("odd", _odd))),
    (IndexFunctionError, lambda: _store().add_indexers(Indexer("odd", _odd))),
    (IndexFunctionError, lambda: Store(name="fleet-7", indexers=[Indexer("odd", _odd)]).replace([pod("a")])),
    (IndexFunctionError, lambda: _in_transaction(Store(name="fleet-7", indexers=[Indexer("odd", _odd)]), _put)),
    (IndexValueError, lambda: _store(Indexer("odd", lambda _: [1.5]))),
    (IndexValueError, lambda: _store(sizes).replace([sized("1"), sized(2)])),
    (IndexValueError, lambda: [store.put(sized(size)) for store in [_store(sizes)] for size in ("1", 2)]),
    (BudgetExceededError, lambda: _store(tight, on_budget="raise").put(other)),
    (BudgetExceededError, lambda: _store(tight, on_budget="raise").replace([pod("a", app="web"), other])),
    (InvalidObjectError, lambda: _store().put(None)),
    (InvalidObjectError, lambda: _store().put({"metadata": {}})),
    (InvalidObjectError, lambda: _store().replace([{"kind": "PodList", "items": []}])),
    (InvalidObjectError, lambda: Store(name="fleet-7", key=lambda obj: obj).put("a")),
    (ScopeError, lambda: _store().get("a")),
    (ScopeError, lambda: _store(scope="cluster")),
    (ScopeError, lambda: _store().replace([pod("a")], namespace="elsewhere")),
    (ObjectNotFound, lambda: _store().require("b", namespace="prod")),
    (TransactionError, lambda: _in_transaction(_store(), lambda txn: txn.replace([]))),
    (TransactionError, lambda: _store().transaction().put(other)),
    (SnapshotClosedError, lambda: _closed_snapshot().select()),
    (ScanRefusedError, lambda: _scanned(_store(scan="error"))),
    (NotReachedError, lambda: _store().wait_version("9", timeout_seconds=0)),
]


def sized(size: Any) -> Pod:
    """Make a pod whose label has a value of any type."""
    return pod(f"of-{size}", size=size)


def _put(txn: Transaction[Any]) -> None:
    txn.put(pod("a"))


def _scanned(store: Store[Any]) -> None:
    store.replace([pod(f"p{number}", app="web") for number in range(100)])
    store.select(label_selector="app=db")


@pytest.mark.parametrize(("kind", "call"), OF_A_STORE)
def test_what_a_store_refuses_names_the_store(kind: type[KindexError], call: Callable[[], object]) -> None:
    """A process has many stores, and a log has the sentence alone: it says which of them it was."""
    with pytest.raises(kind) as refused:
        call()
    assert type(refused.value) is kind
    assert "'fleet-7'" in str(refused.value)
    assert str(refused.value).count("fleet-7") == 1


OF_AN_INFORMER: list[tuple[type[KindexError], Callable[[Informer[Any]], object]]] = [
    (NotSyncedError, lambda informer: informer.view.select()),
    (InformerError, lambda informer: informer.wait_synced()),
    (InformerError, lambda informer: informer.add_namespace("prod")),
    (SyncTimeoutError, lambda informer: informer.start().wait_synced(timeout_seconds=0)),
    (InformerError, lambda informer: [informer.stop(), informer.start()]),
]


@pytest.mark.parametrize(("kind", "call"), OF_AN_INFORMER)
def test_what_an_informer_refuses_names_the_informer(
    kind: type[KindexError], call: Callable[[Informer[Any]], object]
) -> None:
    """So does what an informer refuses."""
    source: FakeSource[Any] = FakeSource([pod("a")], name="pods")
    source.fail("list", 500, times=None)
    informer: Informer[Any] = Informer(source, name="fleet-7")
    try:
        with pytest.raises(kind, match="'fleet-7'") as refused:
            call(informer)
        assert type(refused.value) is kind
    finally:
        informer.stop()


def test_an_error_of_an_index_function_keeps_its_cause() -> None:
    """The sentence is made anew with the store's name, and what the function raised is still its cause."""
    with pytest.raises(IndexFunctionError, match="nothing was changed in store 'fleet-7'") as refused:
        _store(Indexer("odd", _odd))
    assert isinstance(refused.value.__cause__, KeyError)
    assert (refused.value.index, refused.value.store) == ("odd", "fleet-7")
    with pytest.raises(IndexFunctionError, match=r"nothing was changed \(on_error"):
        Indexer("odd", _odd).values_of(pod("a"))
