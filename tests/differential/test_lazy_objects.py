"""LazyObjects against dicts: two stores that are told the same, one of each, give the same answers.

The objects come as text through a decoder that knows what the indexers read, as an informer's do; every other one has
no such decoder, so that its values are read from its JSON.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import settings

from kindex import Indexer, KindexError, LabelIndexer, LazyObject, ObjectKey, Store
from kindex.decoding import DictDecoder, LazyDecoder
from kindex.indexers.labels import ANNOTATIONS, LABELS
from kindex.indexers.reading import paths_read
from kindex.testing.clusters import generate_cluster
from kindex.transforms import intern_strings, strip_managed_fields
from tests.strategies import (
    INDEXERS,
    NAMESPACES,
    NODE_SELECTOR,
    Asker,
    Plain,
    by_app,
    by_node,
    by_owner,
    pod,
    seeded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

QUESTIONS = 5 * settings().max_examples
"""For each pair of stores; more under ``make stress``."""


class Pair(NamedTuple):
    """A store of dicts and one of LazyObjects."""

    dicts: Store[Plain]
    lazies: Store[LazyObject]
    plain: list[Plain]
    indexers: Sequence[Any]

    def both(self, write: Callable[[Store[Any], Callable[[Plain], Any]], object]) -> None:
        """Write to both, each in its own form; they must agree on what happened."""
        outcomes = [outcome(write, self.dicts, as_dict), outcome(write, self.lazies, as_lazy)]
        assert outcomes[0] == outcomes[1]

    def asker(self, seed: object) -> Asker:
        def seen(where: str, what: str) -> tuple[list[Plain], bool]:
            if where in (LABELS, ANNOTATIONS, NODE_SELECTOR):
                labels = [i for i in self.indexers if isinstance(i, LabelIndexer) and i.path == where]
                return self.plain, any(what in i.keys or (not i.keys and what not in i.deny) for i in labels)
            paths = [[str(path) for path in getattr(indexer, "paths", ())] for indexer in self.indexers]
            return self.plain, where == "index" or [what] in paths

        return Asker(seeded(seed), sorted(self.dicts.keys()), self.indexers, seen)


def phase_of(obj: Mapping[str, Any]) -> str | None:
    """Be an index function that may fail: on a pod with ``spec.bad``."""
    if obj["spec"].get("bad"):
        raise ValueError("this pod is bad")
    phase: str | None = obj.get("status", {}).get("phase")
    return phase


knowing = LazyDecoder(paths_read(*INDEXERS), transform=[strip_managed_fields, intern_strings])
unknowing = LazyDecoder(transform=strip_managed_fields)
dicts = DictDecoder(transform=strip_managed_fields)


def text_of(obj: Plain) -> bytes:
    """Write an object as a server does, with managedFields."""
    managed = [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]
    return json.dumps(
        {**obj, "metadata": {**obj["metadata"], "managedFields": managed}}, separators=(",", ":")
    ).encode()


def as_dict(obj: Plain) -> Plain:
    return dicts.decode(text_of(obj))


def as_lazy(obj: Plain) -> LazyObject:
    return (knowing if len(obj["metadata"]["name"]) % 2 else unknowing).decode(text_of(obj))


def outcome(
    write: Callable[[Store[Any], Callable[[Plain], Any]], object], store: Store[Any], make: Callable[[Plain], Any]
) -> object:
    """Give what a write did, in plain words: the deltas, or its error."""
    try:
        done = write(store, make)
    except KindexError as error:
        return type(error), str(error)
    finally:
        store._check()
    deltas = done if isinstance(done, tuple) else () if done is None else (done,)
    return [
        (type(delta).__name__, delta.key, getattr(delta, "old", None), getattr(delta, "new", None)) for delta in deltas
    ]


@cache
def pair(name: str) -> Pair:
    """Make two stores and bring them through the same history."""
    random = seeded(name)
    indexers = {"no index": [], "some": [by_app, by_node, by_owner], "all": [*INDEXERS, Indexer("strict", phase_of)]}[
        name
    ]
    made = Pair(Store(indexers=indexers), Store(indexers=indexers), [], indexers)
    keys = list(dict.fromkeys((random.choice(NAMESPACES), f"p{number}") for number in range(120)))
    objects = {key: pod(random, *key) for key in keys}
    made.both(lambda store, make: store.replace(list(map(make, list(objects.values())[:80])), resource_version="1"))
    for key in random.choices(keys, k=60):
        match random.random():
            case chance if chance < 0.2:
                made.both(lambda store, _, key=key: store.delete(ObjectKey(*key)))
                objects.pop(key, None)
                continue
            case chance if chance < 0.3:
                bad = pod(random, *key)
                bad["spec"]["bad"] = True
                if name == "all":
                    made.both(lambda store, make, bad=bad: store.put(make(bad)))
                    continue
        objects[key] = pod(random, *key)
        made.both(lambda store, make, obj=objects[key]: store.put(make(obj)))
    made.both(lambda store, make: store.replace(list(map(make, objects.values())), resource_version="2"))
    made.plain.extend(objects[key] for key in sorted(made.dicts.keys()))
    return made


@pytest.mark.parametrize("name", ["no index", "some", "all"])
def test_both_give_the_same_answers(name: str) -> None:
    """Objects, counts, keys, orders and plans agree, and with a scan in plain Python."""
    made = pair(name)
    asker = made.asker(name)

    for _ in range(QUESTIONS):
        question = asker.question()
        found = made.lazies.select(*question.terms, **question.query)
        assert found == made.dicts.select(*question.terms, **question.query), question
        assert len(found) == question.rows.bit_count(), question
        plans = [store.explain(*question.terms, **question.query) for store in (made.lazies, made.dicts)]
        assert plans[0].scanned == plans[1].scanned, question
        assert plans[0].steps == plans[1].steps, question


def test_both_file_under_the_same_values() -> None:
    """Every index has the same values, with as many objects under each."""
    made = pair("all")
    for indexer in made.indexers:
        keys = [indexer.key(key) for key in indexer.keys] if isinstance(indexer, LabelIndexer) else [indexer]
        for key in keys:
            values = made.lazies.index_values(key)
            assert list(map(repr, values)) == list(map(repr, made.dicts.index_values(key))), key
            for value in values:
                assert made.lazies.count(key.at(value)) == made.dicts.count(key.at(value)), (key, value)


def test_both_hold_the_same_objects() -> None:
    """What is stored is equal, key by key, and gives the same dict."""
    made = pair("all")
    for key in made.dicts.keys():  # noqa: SIM118 - a method of the store
        lazy, plain = made.lazies.require(key), made.dicts.require(key)
        assert lazy == plain
        assert lazy.to_dict() == plain


def test_a_whole_cluster_is_the_same() -> None:
    """A generated cluster, of all kinds, as lists: equal objects, keys and labels."""
    cluster = generate_cluster(pods=300, namespaces=6)
    for objects in (cluster.pods, cluster.nodes, cluster.deployments, cluster.services, cluster.jobs):
        kind, api_version = objects[0]["kind"], objects[0]["apiVersion"]
        items = [{name: value for name, value in obj.items() if name not in ("kind", "apiVersion")} for obj in objects]
        body = json.dumps({"kind": f"{kind}List", "apiVersion": api_version, "items": items}).encode()
        page = knowing.decode_list(body)
        assert page.objects == objects
        store: Store[LazyObject] = Store(indexers=[by_app, by_node, by_owner])
        store.replace(page.objects)
        assert sorted(store.keys()) == sorted(
            (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) for obj in objects
        )
