"""The store against client-go's: every operation of the traces, and where kindex decides otherwise.

A replay does what a trace says on a ``Store`` and puts each answer in Go's terms. Most traces must be answered alike,
operation by operation. Three kinds hold states that kindex refuses to have (an index function that failed half way, a
null object, an object that a reader changed in place). There a small model says what kindex holds instead; every
answer must be the model's, and must be Go's too but for the few keys at which Go's own state went astray.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

from kindex import (
    Budget,
    IndexConflictError,
    Indexer,
    IndexFunctionError,
    InvalidKeyError,
    InvalidObjectError,
    LabelIndexer,
    ObjectKey,
    ScopeError,
    Store,
    UnknownIndexError,
)
from tests.vectors_reader import Case, read_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kindex import Delta

TRACES = read_vectors("store-traces")
QUIRKS = ("aliasing", "index-func-error", "null-object")
PLAIN = [tag for tag in TRACES.tags() if tag not in QUIRKS]

OnError = Literal["raise", "skip"]


class Held(NamedTuple):
    """What a ThreadSafeStore trace stores: objects do not know their key there, and may be plain text."""

    key: str
    name: str
    obj: Any


# The index functions of the traces, as the header describes them.


def metadata_of(obj: Any) -> Any:
    return obj.get("metadata", {}) if isinstance(obj, dict) else {}


def spec_of(obj: Any) -> Any:
    return obj.get("spec", {}) if isinstance(obj, dict) else {}


def group_of(obj: Any) -> list[str]:
    return [spec_of(obj)["group"]] if "group" in spec_of(obj) else []


def labels_of(obj: Any) -> list[str]:
    metadata = metadata_of(obj)
    return [f"{metadata.get('namespace', '')}/{key}={value}" for key, value in metadata.get("labels", {}).items()]


def strict_of(obj: Any) -> list[str]:
    if spec_of(obj).get("bad"):
        raise ValueError("will not be indexed")
    return [spec_of(obj).get("group", "")]


FUNCTIONS: dict[str, Callable[[Any], list[str]]] = {
    "const": lambda _obj: ["all"],
    "group": group_of,
    "hosts": lambda obj: spec_of(obj).get("hosts", []),
    "labels": labels_of,
    "namespace": lambda obj: [metadata_of(obj).get("namespace", "")],
    "none": lambda _obj: [],
    "strict": strict_of,
    "twice": lambda obj: [metadata_of(obj)["name"]] * 2,
    "zone": lambda obj: [spec_of(obj).get("zone", "")],
}


def inside(function: Callable[[Any], Any]) -> Callable[[Held], Any]:
    """Let an index function read what a Held holds."""
    return lambda held: function(held.obj)


class Replay:
    """One trace on one store."""

    def __init__(self, trace: Case, *, on_error: OnError = "raise", extra: Sequence[LabelIndexer] = ()) -> None:
        self.trace = trace
        self.threadsafe = trace["api"] == "ThreadSafeStore"
        self.objects: dict[str, Any] = deepcopy(trace["objects"]) | {"<nil>": None}
        self.known = set(trace["indexers"])
        self.indexers = {name: self.indexer(name, function, on_error) for name, function in FUNCTIONS.items()}
        self.extra = {indexer.name for indexer in extra}
        first = [self.indexers[name] for name in trace["indexers"]]
        self.store: Store[Any]
        if self.threadsafe:
            self.store = Store(name=trace["id"], indexers=first, key=lambda held: self.key(held.key))
        else:
            self.store = Store(name=trace["id"], indexers=[*first, *extra])

    def indexer(self, name: str, function: Callable[[Any], list[str]], on_error: OnError) -> Indexer[Any, str]:
        # kindex has a namespace index of its own, which knows no value for objects without one.
        shown = "namespace or nothing" if name == "namespace" else name
        return Indexer(shown, inside(function) if self.threadsafe else function, on_error=on_error)

    def key(self, text: str) -> ObjectKey:
        """Give the key that a trace writes as text: any text in a ThreadSafeStore, also ``""`` and ``a/b/c``."""
        return ObjectKey("", f"key {text}") if self.threadsafe else ObjectKey.parse(text)

    def text(self, key: ObjectKey) -> str:
        return key.name.removeprefix("key ") if self.threadsafe else str(key)

    def held(self, key: str, name: str) -> Any:
        """Give the object as it is stored; null stays null."""
        obj = self.objects[name]
        return Held(key, name, obj) if self.threadsafe and obj is not None else obj

    def name(self, held: Any) -> str:
        assert held is not None, "no answer ever holds a null"
        name = held.name if self.threadsafe else held["metadata"]["uid"]
        assert (held.obj if self.threadsafe else held) is self.objects[name], "the very object that was stored"
        return str(name)

    def names(self, found: Iterable[Any]) -> list[str]:
        return sorted(map(self.name, found))

    def texts(self, keys: Iterable[ObjectKey]) -> list[str]:
        return sorted(map(self.text, keys))

    # What is done

    def do(self, op: Case) -> Case:
        """Do one operation; give the answer as a trace writes it, an error as True."""
        method = {"get": "get_by_key" if self.threadsafe else "get", "getByKey": "get_by_key"}.get(op["op"], op["op"])
        try:
            answer: Case = getattr(self, f"_{method}")(op)
        except (InvalidObjectError, IndexFunctionError, UnknownIndexError, IndexConflictError):
            answer = {"err": True}
        self.store._check()
        return answer

    def _add(self, op: Case) -> Case:
        self.store.put(self.held(op.get("key", ""), op["obj"]))
        return {}

    _update = _add

    def _delete(self, op: Case) -> Case:
        self.store.delete(self.key(op["key"]) if "key" in op else self.objects[op["obj"]])
        return {}

    def _replace(self, op: Case) -> Case:
        pairs = op["items"] if self.threadsafe else [("", name) for name in op["objs"]]
        self.store.replace([self.held(key, name) for key, name in pairs])
        return {}

    def _addIndexers(self, op: Case) -> Case:  # noqa: N802 - named by the traces
        self.store.add_indexers(*(self.indexers[name] for name in op["names"]))
        self.known.update(op["names"])
        return {}

    def _get(self, op: Case) -> Case:
        metadata = self.objects[op["obj"]]["metadata"]
        return self.found(ObjectKey(metadata.get("namespace", ""), metadata["name"]))

    def _get_by_key(self, op: Case) -> Case:
        try:
            key = self.key(op["key"])
        except InvalidKeyError:  # "", "/" and the like: nothing can be stored there
            return {"exists": False}
        return self.found(key)

    def found(self, key: ObjectKey) -> Case:
        obj = self.store.get(key)
        assert (key in self.store) is (obj is not None)
        return {"exists": False} if obj is None else {"exists": True, "res": self.name(obj)}

    def _list(self, _op: Case) -> Case:
        return {"res": self.names(self.store)}

    def _listKeys(self, _op: Case) -> Case:  # noqa: N802
        return {"res": self.texts(self.store.keys())}

    def _getIndexers(self, _op: Case) -> Case:  # noqa: N802
        return {
            "res": sorted(self.trace_name(name) for name in set(self.store.index_names) - {"namespace"} - self.extra)
        }

    @staticmethod
    def trace_name(name: str) -> str:
        return "namespace" if name == "namespace or nothing" else name

    def index_called(self, name: str) -> Indexer[Any, str]:
        """Give the indexer of this name; of an unknown one, an indexer that the store does not have."""
        return self.indexers.get(name) or Indexer(name or "(no name)", FUNCTIONS["none"])

    def _index(self, op: Case) -> Case:
        index = self.index_called(op["index"])
        values = index.values_of(self.held("", op["obj"])) if op["index"] in self.known else ()
        found = self.store.select(index.among(values))
        assert len(found) == self.store.count(index.among(values))
        return {"res": self.names(found)}

    def _byIndex(self, op: Case) -> Case:  # noqa: N802
        term = self.index_called(op["index"]).at(op["value"])
        found = self.store.select(term)
        assert self.store.count(term) == len(found)
        assert self.store.any(term) is bool(found)
        return {"res": self.names(found)}

    def _indexKeys(self, op: Case) -> Case:  # noqa: N802
        return {"res": self.texts(self.store.keys(self.index_called(op["index"]).at(op["value"])))}

    def _listIndexFuncValues(self, op: Case) -> Case:  # noqa: N802
        return {"res": self.store.index_values(self.index_called(op["index"]))}

    def _listSelected(self, op: Case) -> Case:  # noqa: N802
        # For all namespaces kindex wants None, where client-go takes "".
        query: dict[str, Any] = {"namespace": op["ns"] or None, "label_selector": op["sel"]}
        keys = self.store.keys()
        if op["ns"] and keys and not any(key.namespace for key in keys):
            # Where no object has a namespace, asking for one is taken for a slip.
            with pytest.raises(ScopeError):
                self.store.select(**query)
            return {"res": []}
        found = self.store.select(**query)
        assert self.store.count(**query) == len(found)
        return {"res": self.names(found)}

    def final(self) -> Case:
        """Give all items and every index, as a trace ends."""
        indices: Case = {}
        for name in self.known:
            index = self.indexers[name]
            values: list[Any] = self.store.index_values(index)
            indices[name] = {value: self.texts(self.store.keys(index.at(value))) for value in values}
            assert self.store.tally(index) == {value: len(indices[name][value]) for value in values}
        keys = self.store.keys()
        items = {self.text(key): self.name(self.store.get(key)) for key in keys}
        return {"items": items, "indices": indices}


def gos(op: Case) -> Case:
    """Give what Go answered, an error as True."""
    answer = {part: op[part] for part in ("res", "exists") if part in op}
    return answer | ({"err": True} if "err" in op else {})


def decided_otherwise(op: Case, known: set[str]) -> bool:
    """Tell whether kindex answers an operation differently in any trace: the two that are not about a bad object."""
    return (op["op"] == "addIndexers" and "err" in op) or (
        op["op"] == "listIndexFuncValues" and op["index"] not in known
    )


def check_decision(replay: Replay, op: Case) -> None:
    """Assert what kindex does for such an operation."""
    store, before = replay.store, replay.store.index_names
    if op["op"] == "listIndexFuncValues":
        with pytest.raises(UnknownIndexError):
            store.index_values(replay.index_called(op["index"]))
        assert gos(op) == {"res": []}
        return
    taken = [name for name in op["names"] if name in replay.known]
    # An equal indexer again is no conflict, whatever else there is.
    store.add_indexers(*(replay.indexers[name] for name in taken))
    assert store.index_names == before
    # Another one under a taken name is, and then none of them is added.
    others = [
        replay.indexer(name, lambda _obj: ["other"], "raise") if name in taken else replay.indexers[name]
        for name in op["names"]
    ]
    with pytest.raises(IndexConflictError) as caught:
        store.add_indexers(*others)
    assert replay.trace_name(caught.value.name) in taken
    assert store.index_names == before
    store._check()


def run_exactly(replay: Replay) -> int:
    """Replay a trace that kindex answers as Go does; give the number of operations whose answer was compared."""
    compared = 0
    for number, op in enumerate(replay.trace["ops"]):
        if decided_otherwise(op, replay.known):
            check_decision(replay, op)
            continue
        revision = replay.store.revision
        answer = replay.do(op)
        assert answer == gos(op), (replay.trace["id"], number, op)
        if answer.get("err"):
            assert replay.store.revision == revision
        compared += 1
    assert replay.final() == replay.trace["final"], replay.trace["id"]
    return compared


def exact_operations(traces: Iterable[Case]) -> int:
    """Count, from the traces alone, the operations that have to be compared."""
    count = 0
    for trace in traces:
        known = set(trace["indexers"])
        for op in trace["ops"]:
            count += not decided_otherwise(op, known)
            known.update(op["names"] if op["op"] == "addIndexers" and "err" not in op else ())
    return count


def test_every_trace_and_operation_of_the_header_is_read() -> None:
    """Nothing is lost between the file and the replays, and nearly all operations must be answered as Go does."""
    counts = {tag: len(TRACES.of_tag(tag)) for tag in TRACES.tags()}
    operations = sum(len(trace["ops"]) for trace in TRACES.cases)

    assert counts == TRACES.header["tags"]
    assert operations == TRACES.header["operations"]
    assert set(TRACES.header["index_functions"]) == set(FUNCTIONS)
    assert exact_operations(trace for tag in PLAIN for trace in TRACES.of_tag(tag)) > 0.75 * operations


@pytest.mark.parametrize("tag", PLAIN)
def test_a_store_answers_as_client_go_does(tag: str) -> None:
    """Every answer and the state at the end are Go's; only a conflict and an unknown index are decided otherwise."""
    traces = TRACES.of_tag(tag)

    assert sum(run_exactly(Replay(trace)) for trace in traces) == exact_operations(traces)


@pytest.mark.parametrize(
    "extra",
    [
        LabelIndexer("app"),
        LabelIndexer("tier", "env"),
        LabelIndexer("app", "tier", "env", "a.b/c"),
        LabelIndexer.all(budget=Budget(max_bytes="1GiB")),
        LabelIndexer.all(budget=Budget(max_bytes="1GiB"), deny=["app"]),
    ],
    ids=["one key", "two keys", "four keys", "all keys", "all but one"],
)
def test_lists_by_selector_are_those_of_client_go_with_any_label_index(extra: LabelIndexer) -> None:
    """A label index changes how a namespace is listed by selector, never what is found."""
    traces = TRACES.of_tag("lister")

    assert sum(run_exactly(Replay(trace, extra=[extra])) for trace in traces) == exact_operations(traces)


# Where Go's answer is a quirk


class Row(NamedTuple):
    """What kindex is to hold under one key: the object's name, and its values when it was last written."""

    name: str
    values: dict[str, list[str]]


class Decided(Replay):
    """A replay beside a model of what kindex is to hold, and of the keys at which Go is astray.

    Attributes:
        rows: what kindex is to hold.
        go_items: keys at which Go's object is another one (or null, or still there), with that object's name.
        go_values: keys at which Go's index entries are other ones; until the next replace, which builds them anew.
        exact: how many answers were Go's as they stand.
        narrowed: how many were Go's but for those keys.
    """

    def __init__(self, trace: Case, *, on_error: OnError = "raise") -> None:
        super().__init__(trace, on_error=on_error)
        self.on_error = on_error
        self.rows: dict[str, Row] = {}
        self.go_items: dict[str, str | None] = {}
        self.go_values: set[str] = set()
        self.exact = self.narrowed = 0

    def row(self, name: str) -> Row:
        """File one object as the model does; an index function that fails gives no value."""
        values = {}
        for index, function in FUNCTIONS.items():
            bad = index == "strict" and spec_of(self.objects[name]).get("bad")
            values[index] = [] if bad else list(function(self.objects[name]))
        return Row(name, values)

    def refused(self, name: str) -> bool:
        """Tell whether kindex must refuse to store this object."""
        obj = self.objects[name]
        return obj is None or bool("strict" in self.known and self.on_error == "raise" and spec_of(obj).get("bad"))

    def key_text(self, op: Case) -> str:
        if "key" in op:
            return str(op["key"])
        metadata = self.objects[op["obj"]]["metadata"]
        return str(ObjectKey(metadata.get("namespace", ""), metadata["name"]))

    def run(self) -> Decided:
        for number, op in enumerate(self.trace["ops"]):
            where = (self.trace["id"], number, op)
            match op["op"]:
                case _ if decided_otherwise(op, self.known):
                    check_decision(self, op)
                case "add" | "update":
                    self.put(op, where)
                case "delete":
                    self.drop(op)
                case "replace":
                    self.swap(op, where)
                case "mutate":
                    self.mutate(op)
                case "addIndexers":
                    assert self.do(op) == {}
                case _:
                    self.read(op, where)
        self.check_final()
        return self

    # Writes

    def put(self, op: Case, where: object) -> None:
        key, name = self.key_text(op), op["obj"]
        if self.refused(name):
            error = InvalidObjectError if self.objects[name] is None else IndexFunctionError
            self.check_refusal(error, lambda: self.store.put(self.held(key, name)), where)
        else:
            old = self.rows.get(key)
            deltas = self.store.put(self.held(key, name))
            self.check_deltas(deltas, key, old, where)
            self.rows[key] = self.row(name)
        self.follow_go(key, name, panicked="panic" in op)

    def follow_go(self, key: str, name: str, *, panicked: bool) -> None:
        """Note what Go has under *key* after a put, where that is not what kindex is to have."""
        if panicked:  # stored all the same, with the entries of whatever was there before
            self.go_values.add(key)
        row = self.rows.get(key)
        if self.objects[name] is None:
            # Follow Go as far as kindex goes along: what was there before is gone.
            self.store.delete(self.key(key))
            self.rows.pop(key, None)
            self.go_items[key] = "<nil>"
        elif row is None or row.name != name:
            self.go_items[key] = name
        else:
            self.go_items.pop(key, None)

    def drop(self, op: Case) -> None:
        key = self.key_text(op)
        answer = self.do(op)
        assert answer == {}, "deleting never asks the stored object, so it cannot fail"
        row = self.rows.pop(key, None)
        if "panic" not in op:
            self.go_items.pop(key, None)
        elif key not in self.go_items:
            assert row is not None
            self.go_items[key] = row.name  # Go could not bring itself to delete it
        assert self.key(key) not in self.store

    def swap(self, op: Case, where: object) -> None:
        pairs = op["items"] if self.threadsafe else [(self.key_text({"obj": name}), name) for name in op["objs"]]
        good = [(key, name) for key, name in pairs if self.objects[name] is not None]
        if len(good) < len(pairs):
            everything = [self.held(key, name) for key, name in pairs]
            self.check_refusal(InvalidObjectError, lambda: self.store.replace(everything), where)
        assert not any(self.refused(name) for _, name in good), "no trace has such a list"
        self.store.replace([self.held(key, name) for key, name in good])
        self.rows = {key: self.row(name) for key, name in good}
        self.go_items = {key: "<nil>" for key, name in pairs if self.objects[name] is None}
        self.go_values = set()

    def mutate(self, op: Case) -> None:
        """Change a stored object in place, as a careless reader does."""
        obj, change = self.objects[op["obj"]], op["set"]
        obj["metadata"]["labels"] = change["labels"]
        obj["spec"] = obj.get("spec", {}) | {"group": change["group"], "hosts": change["hosts"]}
        self.go_values.add(self.key_text(op))
        self.store._check()

    def check_refusal(self, error: type[Exception], write: Callable[[], object], where: object) -> None:
        """Assert that a write fails and changes nothing at all."""
        before = (self.store.revision, self.final())
        with pytest.raises(error):
            write()
        assert (self.store.revision, self.final()) == before, where
        self.store._check()

    def check_deltas(self, deltas: tuple[Delta[Any], ...], key: str, old: Row | None, where: object) -> None:
        for delta in deltas:
            assert delta.key == self.key(key), where
        kinds = [type(delta).__name__ for delta in deltas]
        assert kinds in ([["Added"]] if old is None else [["Updated"], ["Deleted", "Added"]]), where

    # Reads

    def expected(self, op: Case) -> Case:
        """Give the answer of the model."""
        rows, index = self.rows, op.get("index", "")
        match op["op"]:
            case "get" | "getByKey":
                row = rows.get(self.key_text(op))
                return {"exists": False} if row is None else {"exists": True, "res": row.name}
            case "list":
                return {"res": sorted(row.name for row in rows.values())}
            case "listKeys":
                return {"res": sorted(rows)}
            case "getIndexers":
                return {"res": sorted(self.known)}
            case _ if index not in self.known:
                return {"err": True}
            case "listIndexFuncValues":
                return {"res": sorted({value for row in rows.values() for value in row.values[index]})}
            case "byIndex":
                return {"res": sorted(row.name for row in rows.values() if op["value"] in row.values[index])}
            case "indexKeys":
                return {"res": sorted(key for key, row in rows.items() if op["value"] in row.values[index])}
            case "index":
                if self.objects[op["obj"]] is not None and spec_of(self.objects[op["obj"]]).get("bad"):
                    return {"err": True} if self.on_error == "raise" else {"res": []}
                wanted = set(FUNCTIONS[index](self.objects[op["obj"]]))
                return {"res": sorted(row.name for row in rows.values() if wanted.intersection(row.values[index]))}
        raise AssertionError(op)

    def read(self, op: Case, where: object) -> None:
        answer = self.do(op)
        assert answer == self.expected(op), where
        go = gos(op)
        if answer == go:
            self.exact += 1
            return
        self.narrowed += 1
        assert self.without_astray(op, answer) == self.without_astray(op, go), where

    def without_astray(self, op: Case, answer: Case) -> Case | None:
        """Leave out of an answer what belongs to the keys at which Go is astray; None when that is all of it."""
        by_value = op["op"] not in ("get", "getByKey", "list", "listKeys")
        astray = self.go_items.keys() | (self.go_values if by_value else set())
        if op["op"] == "index" and spec_of(self.objects[op["obj"]]).get("bad"):
            assert self.on_error == "skip"
            return None  # no value here, an error there
        assert astray, "where Go's state is sound, its answer is kindex's"
        match op["op"]:
            case "get" | "getByKey":
                return None if self.key_text(op) in astray else answer
            case "listKeys" | "indexKeys":
                return {"res": [key for key in answer["res"] if key not in astray]}
            case "listIndexFuncValues":
                sound = {v for key, row in self.rows.items() if key not in astray for v in row.values[op["index"]]}
                return {"res": sorted(sound.intersection(answer["res"]))}
            case _:
                theirs = Counter(name for key, name in self.go_items.items() if key in astray)
                mine = Counter(self.rows[key].name for key in astray if key in self.rows)
                left_out = theirs.keys() | mine.keys() | {"<nil>"}
                return {"res": [name for name in answer["res"] if name not in left_out]}

    def check_final(self) -> None:
        final = self.final()
        assert final["items"] == {key: row.name for key, row in self.rows.items()}
        indices: dict[str, dict[str, list[str]]] = {name: {} for name in self.known}
        for key, row in sorted(self.rows.items()):
            for name in self.known:
                for value in dict.fromkeys(row.values[name]):
                    indices[name].setdefault(value, []).append(key)
        assert final["indices"] == indices
        go = self.trace["final"]
        assert {key: name for key, name in go["items"].items() if key not in self.go_items} == {
            key: name for key, name in final["items"].items() if key not in self.go_items
        }
        for name, values in go["indices"].items():
            astray = self.go_items.keys() | self.go_values
            assert leave_out(values, astray) == leave_out(final["indices"][name], astray)


def leave_out(values: dict[str, list[str]], keys: set[str]) -> dict[str, list[str]]:
    kept = {value: [key for key in found if key not in keys] for value, found in values.items()}
    return {value: found for value, found in kept.items() if found}


def reads_of(trace: Case) -> int:
    """Count the operations of a trace that only read."""
    writes = ("add", "update", "delete", "replace", "mutate", "addIndexers")
    return sum(op["op"] not in writes for op in trace["ops"])


def unknown_values(trace: Case) -> int:
    known = set(trace["indexers"])
    for op in trace["ops"]:
        known.update(op["names"] if op["op"] == "addIndexers" and "err" not in op else ())
    return sum(op["op"] == "listIndexFuncValues" and op["index"] not in known for op in trace["ops"])


@pytest.mark.parametrize("trace", TRACES.of_tag("index-func-error"), ids=lambda trace: str(trace["id"]))
def test_a_write_whose_index_function_fails_changes_nothing(trace: Case) -> None:
    """Go stores such an object unindexed, and can then neither update nor delete it; kindex keeps what it had."""
    replay = Decided(trace).run()

    assert replay.exact + replay.narrowed == reads_of(trace) - unknown_values(trace)
    assert replay.exact > replay.narrowed


@pytest.mark.parametrize("trace", TRACES.of_tag("index-func-error"), ids=lambda trace: str(trace["id"]))
def test_an_index_function_that_may_fail_files_under_no_value(trace: Case) -> None:
    """With on_error="skip" the object is stored, as in Go, and can be updated and deleted, unlike there."""
    replay = Decided(trace, on_error="skip").run()

    assert replay.exact + replay.narrowed == reads_of(trace) - unknown_values(trace)
    assert replay.exact > 3 * replay.narrowed
    bad = sum(bool(spec_of(replay.objects[row.name]).get("bad")) for row in replay.rows.values())
    assert replay.store.skipped()["strict"] == bad


@pytest.mark.parametrize("trace", TRACES.of_tag("null-object"), ids=lambda trace: str(trace["id"]))
def test_a_null_object_is_refused(trace: Case) -> None:
    """Go stores and lists null; kindex refuses it, unchanged, and no answer ever holds one."""
    replay = Decided(trace).run()

    assert replay.exact + replay.narrowed == reads_of(trace) - unknown_values(trace)
    assert replay.exact > 3 * replay.narrowed


@pytest.mark.parametrize("trace", TRACES.of_tag("aliasing"), ids=lambda trace: str(trace["id"]))
def test_an_object_that_was_changed_in_place_is_found_where_it_was_filed(trace: Case) -> None:
    """Until its next write it stays there, and then moves; Go leaves entries behind, and answers null for them."""
    replay = Decided(trace).run()

    assert replay.exact + replay.narrowed == reads_of(trace) - unknown_values(trace)
    assert replay.exact > 3 * replay.narrowed
