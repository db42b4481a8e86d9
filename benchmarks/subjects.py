"""What the suite compares: kindex, and what else a Python program keeps its objects in; an adapter for each.

All hold the same pods as dicts and answer with lists of them. A question is put into a subject's own words beforehand,
as a controller has its question written down; only the answer is timed. Each subject has the indexes that its kind
offers, on the same things: labels, node, owner, namespace. ``tests/unit/test_benchmark_subjects.py`` holds all of them
to the same answers.

``ducks`` was meant to be here; what it depends on could not be built.
"""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from kindex import FieldIndexer, LabelIndexer, ObjectKey, OwnerIndexer, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.named import Question, Requirement
    from benchmarks.workloads import RawObject

Answer: TypeAlias = "Callable[[], list[RawObject]]"
Key: TypeAlias = tuple[str, str]


def key_of(pod: RawObject) -> Key:
    """Give namespace and name."""
    metadata = pod["metadata"]
    return metadata["namespace"], metadata["name"]


def owners_of(pod: RawObject) -> list[str]:
    """Give the UIDs of the owners."""
    return [each["uid"] for each in pod["metadata"].get("ownerReferences", ())]


class Subject(ABC):
    """Keeps pods."""

    name: ClassVar[str]

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = labels

    @abstractmethod
    def replace(self, made: Sequence[RawObject]) -> None:
        """Keep these, and no others."""

    @abstractmethod
    def put(self, pod: RawObject) -> None:
        """Take in one."""

    @abstractmethod
    def delete(self, key: Key) -> None:
        """Drop one."""

    @abstractmethod
    def get(self, key: Key) -> RawObject | None:
        """Give one."""

    @abstractmethod
    def query(self, question: Question) -> Answer:
        """Put a question into its own words; calling what is returned answers."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of what is not memory."""

    def counter(self, question: Question) -> Callable[[], int]:
        """Do so for a question of how many; who cannot count lists."""
        answer = self.query(question)
        return lambda: len(answer())


class Kindex(Subject):
    name = "kindex"

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self.by_labels, self.by_node, self.by_owner = (
            LabelIndexer(*labels),
            FieldIndexer("spec.nodeName"),
            OwnerIndexer(),
        )
        self.store: Store[RawObject] = Store(name="pods", indexers=[self.by_labels, self.by_node, self.by_owner])

    def replace(self, made: Sequence[RawObject]) -> None:
        self.store.replace(made)

    def put(self, pod: RawObject) -> None:
        self.store.put(pod)

    def delete(self, key: Key) -> None:
        self.store.delete(ObjectKey(*key))

    def get(self, key: Key) -> RawObject | None:
        return self.store.get(ObjectKey(*key))

    def asked(self, question: Question) -> tuple[list[Any], dict[str, Any]]:
        """Give the arguments of a query."""
        terms: list[Any] = []
        if question.node is not None:
            terms.append(self.by_node.at(question.node))
        if question.owner is not None:
            terms.append(self.by_owner.at(question.owner))
        return terms, {"namespace": question.namespace, "label_selector": question.selector}

    def query(self, question: Question) -> Answer:
        terms, words = self.asked(question)
        return partial(self.store.select, *terms, **{word: given for word, given in words.items() if given is not None})

    def counter(self, question: Question) -> Callable[[], int]:
        terms, words = self.asked(question)
        return partial(self.store.count, *terms, **{word: given for word, given in words.items() if given is not None})


class DictAndScan(Subject):
    """What people write by hand: a dict under a lock, and a comprehension over its values."""

    name = "dict and scan"

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self._lock = threading.Lock()
        self._pods: dict[Key, RawObject] = {}

    def replace(self, made: Sequence[RawObject]) -> None:
        pods = {key_of(pod): pod for pod in made}
        with self._lock:
            self._pods = pods

    def put(self, pod: RawObject) -> None:
        with self._lock:
            self._pods[key_of(pod)] = pod

    def delete(self, key: Key) -> None:
        with self._lock:
            del self._pods[key]

    def get(self, key: Key) -> RawObject | None:
        with self._lock:
            return self._pods.get(key)

    def query(self, question: Question) -> Answer:
        def answer() -> list[RawObject]:
            with self._lock:
                pods = list(self._pods.values())
            return scanned(pods, question)

        return answer


class ObjectCache(Subject):
    """The cache of the official client's informer: it lists, and its users filter."""

    name = "kubernetes.informer"

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(labels)
        import kubernetes.informer

        informer: Any = kubernetes.informer  # it has no types
        self._cache = informer.ObjectCache()

    def replace(self, made: Sequence[RawObject]) -> None:
        self._cache._replace_all(made)

    def put(self, pod: RawObject) -> None:
        self._cache._put(pod)

    def delete(self, key: Key) -> None:
        self._cache._remove({"metadata": {"namespace": key[0], "name": key[1]}})

    def get(self, key: Key) -> RawObject | None:
        found: RawObject | None = self._cache.get_by_key("/".join(key))
        return found

    def query(self, question: Question) -> Answer:
        return lambda: scanned(self._cache.list(), question)


class KopfIndex(Subject):
    """kopf's in-memory indices, driven without its operator; one asked, and what else is wanted filtered.

    As a handler would have it, there is an index of all labels by key and value, and one each of nodes, owners and
    namespaces. None of them tells how large an answer is before it is read: the first condition that an index knows is
    looked up.
    """

    name = "kopf's Index"

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self.replace(())

    def replace(self, made: Sequence[RawObject]) -> None:
        from kopf._core.engines.indexing import OperatorIndexer

        self._all, self._labels, self._nodes, self._owners, self._namespaces = (OperatorIndexer() for _ in range(5))
        self._uids: dict[Key, str] = {}  # deletions name what they delete; kopf's come with the object
        for pod in made:
            self.put(pod)

    def put(self, pod: RawObject) -> None:
        (namespace, name), uid = key_of(pod), pod["metadata"]["uid"]
        labels = pod["metadata"]["labels"]
        key: Any = (namespace, name, uid)  # kopf has a type for namespaces
        self._uids[namespace, name] = uid
        self._all.replace(key, {(namespace, name): pod})
        self._labels.replace(key, {(label, labels[label]): pod for label in self.labels if label in labels})
        self._nodes.replace(key, {pod["spec"].get("nodeName"): pod})
        self._owners.replace(key, dict.fromkeys(owners_of(pod), pod))
        self._namespaces.replace(key, {namespace: pod})

    def delete(self, key: Key) -> None:
        known: Any = (*key, self._uids.pop(key))
        for indexer in (self._all, self._labels, self._nodes, self._owners, self._namespaces):
            indexer.discard(known)

    def get(self, key: Key) -> RawObject | None:
        index = self._all.index
        return next(iter(index[key])) if key in index else None

    def query(self, question: Question) -> Answer:
        return lambda: scanned(self._candidates(question), question)

    def _candidates(self, question: Question) -> Iterable[RawObject]:
        for value, indexer in ((question.node, self._nodes), (question.owner, self._owners)):
            if value is not None:
                return _stored(indexer, value)
        for requirement in question.labels:
            if requirement.operator == "in":
                stores = [_stored(self._labels, (requirement.label, value)) for value in requirement.values]
                return chain.from_iterable(stores)
        if question.namespace is not None:
            return _stored(self._namespaces, question.namespace)
        return chain.from_iterable(self._all.index.values())


class Sqlite(Subject):
    """A database in memory with an index on each thing asked for; the objects are beside it, in a list by row."""

    name = "sqlite3"

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self._db = sqlite3.connect(":memory:")
        self.replace(())

    def close(self) -> None:
        self._db.close()

    def replace(self, made: Sequence[RawObject]) -> None:
        self.close()
        self._pods: dict[int, RawObject] = dict(enumerate(made))
        self._next = len(self._pods)
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.executescript(
            """
            CREATE TABLE pods (id INTEGER PRIMARY KEY, namespace TEXT, name TEXT, node TEXT);
            CREATE TABLE labels (label TEXT, value TEXT, id INTEGER, PRIMARY KEY (label, value, id)) WITHOUT ROWID;
            CREATE TABLE owners (uid TEXT, id INTEGER, PRIMARY KEY (uid, id)) WITHOUT ROWID;
            BEGIN;
            """
        )
        rows = self._pods.items()
        self._db.executemany(
            "INSERT INTO pods VALUES (?, ?, ?, ?)",
            ((row, *key_of(pod), pod["spec"].get("nodeName")) for row, pod in rows),
        )
        labelled = sorted((*pair, row) for row, pod in rows for pair in self._pairs(pod))
        self._db.executemany("INSERT INTO labels VALUES (?, ?, ?)", labelled)
        owned = ((uid, row) for row, pod in rows for uid in owners_of(pod))
        self._db.executemany("INSERT INTO owners VALUES (?, ?)", owned)
        self._db.executescript(
            """
            CREATE UNIQUE INDEX by_key ON pods (namespace, name);
            CREATE INDEX by_node ON pods (node);
            CREATE INDEX by_pod ON labels (id);
            CREATE INDEX by_owned ON owners (id);
            ANALYZE;
            """
        )

    def put(self, pod: RawObject) -> None:
        db = self._db
        found = self._row(key_of(pod))
        db.execute("BEGIN")
        if found is None:
            found, self._next = self._next, self._next + 1
            db.execute("INSERT INTO pods VALUES (?, ?, ?, ?)", (found, *key_of(pod), pod["spec"].get("nodeName")))
            before: set[tuple[str, str]] = set()
        else:
            before = set(self._pairs(self._pods[found]))
            db.execute("UPDATE pods SET node = ? WHERE id = ?", (pod["spec"].get("nodeName"), found))
            if owners_of(self._pods[found]) != owners_of(pod):
                db.execute("DELETE FROM owners WHERE id = ?", (found,))
        after = set(self._pairs(pod))
        gone, new = [(*pair, found) for pair in before - after], [(*pair, found) for pair in after - before]
        if gone:
            db.executemany("DELETE FROM labels WHERE label = ? AND value = ? AND id = ?", gone)
        if new:
            db.executemany("INSERT INTO labels VALUES (?, ?, ?)", new)
        db.executemany("INSERT OR IGNORE INTO owners VALUES (?, ?)", [(uid, found) for uid in owners_of(pod)])
        db.execute("COMMIT")
        self._pods[found] = pod

    def delete(self, key: Key) -> None:
        row = self._row(key)
        assert row is not None
        self._db.execute("BEGIN")
        for statement in (
            "DELETE FROM pods WHERE id = ?",
            "DELETE FROM labels WHERE id = ?",
            "DELETE FROM owners WHERE id = ?",
        ):
            self._db.execute(statement, (row,))
        self._db.execute("COMMIT")
        del self._pods[row]

    def get(self, key: Key) -> RawObject | None:
        row = self._row(key)
        return None if row is None else self._pods[row]

    def query(self, question: Question) -> Answer:
        statement, arguments = _statement("SELECT pods.id", question)

        def answer() -> list[RawObject]:
            pods = self._pods
            return [pods[row] for (row,) in self._db.execute(statement, arguments)]

        return answer

    def counter(self, question: Question) -> Callable[[], int]:
        statement, arguments = _statement("SELECT count(*)", question)

        def answer() -> int:
            (count,) = self._db.execute(statement, arguments).fetchone()
            return int(count)

        return answer

    def _row(self, key: Key) -> int | None:
        found = self._db.execute("SELECT id FROM pods WHERE namespace = ? AND name = ?", key).fetchone()
        return None if found is None else int(found[0])

    def _pairs(self, pod: RawObject) -> list[tuple[str, str]]:
        labels = pod["metadata"]["labels"]
        return [(label, labels[label]) for label in self.labels if label in labels]


SUBJECTS: dict[str, type[Subject]] = {each.name: each for each in (Kindex, DictAndScan, ObjectCache, KopfIndex, Sqlite)}


def scanned(pods: Iterable[RawObject], question: Question) -> list[RawObject]:
    """Walk over pods, with the cheapest comparison that Python has for the question."""
    wanted = {each.label: each.values[0] for each in question.labels if _is_equality(each)}
    only_labels = question.namespace is question.node is question.owner is None and len(wanted) == len(question.labels)
    if only_labels and len(wanted) == 1:
        ((label, value),) = wanted.items()
        return [pod for pod in pods if pod["metadata"]["labels"].get(label) == value]
    if only_labels:
        pairs = wanted.items()
        return [pod for pod in pods if pairs <= pod["metadata"]["labels"].items()]
    if question.node is not None:
        pods = [pod for pod in pods if pod["spec"].get("nodeName") == question.node]
    if question.namespace is not None:
        pods = [pod for pod in pods if pod["metadata"]["namespace"] == question.namespace]
    if question.owner is not None:
        pods = [pod for pod in pods if question.owner in owners_of(pod)]
    for each in question.labels:
        label, values = each.label, each.values
        match each.operator:
            case "in":
                pods = [pod for pod in pods if pod["metadata"]["labels"].get(label) in values]
            case "notin":
                pods = [pod for pod in pods if pod["metadata"]["labels"].get(label) not in values]
            case "exists":
                pods = [pod for pod in pods if label in pod["metadata"]["labels"]]
    return list(pods)


def _is_equality(requirement: Requirement) -> bool:
    return requirement.operator == "in" and len(requirement.values) == 1


def _stored(indexer: Any, value: object) -> Iterable[RawObject]:
    index = indexer.index
    stored: Iterable[RawObject] = index.get(value, ())
    return stored


def _statement(what: str, question: Question) -> tuple[str, list[str]]:
    conditions: list[str] = []
    arguments: list[str] = []
    for column, value in (("namespace", question.namespace), ("node", question.node)):
        if value is not None:
            conditions.append(f"{column} = ?")
            arguments.append(value)
    if question.owner is not None:
        conditions.append("id IN (SELECT id FROM owners WHERE uid = ?)")
        arguments.append(question.owner)
    for each in question.labels:
        having = "SELECT id FROM labels WHERE label = ?"
        if each.values:
            having += f" AND value IN ({', '.join('?' * len(each.values))})"
        conditions.append(f"id {'NOT IN' if each.operator == 'notin' else 'IN'} ({having})")
        arguments += [each.label, *each.values]
    return f"{what} FROM pods WHERE {' AND '.join(conditions)}", arguments
