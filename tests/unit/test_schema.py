"""Schema: many objects at once are filed as each of them alone, and indexes built together share nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import LabelIndexer, ObjectKey, Store
from kindex.column_index import ColumnIndex, Twins
from kindex.map_index import MapIndex
from kindex.schema import _AT_ONCE, Schema
from tests.pods import pod

KEYS = ("app", "tier", "zone")
ODD: tuple[Any, ...] = (None, 7, True, "", ["web"])

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("web", "db", *map(str, range(20)), *ODD)))


@pytest.mark.parametrize("keys", [KEYS, KEYS[:1]])
@given(odd=st.dictionaries(st.integers(0, 2 * _AT_ONCE + 10), labels, max_size=8))
def test_many_labels_are_filed_as_each_alone(keys: tuple[str, ...], odd: dict[int, Any]) -> None:
    """Wherever among many an object lacks a label, or has one that is null or no text."""
    schema: Schema[Any] = Schema([LabelIndexer(*keys)])
    objects = [pod(f"p{n}", app="web", tier=f"t{n % 3}", zone=f"z{n % 5}") for n in range(2 * _AT_ONCE + 11)]
    for number, its in odd.items():
        objects[number]["metadata"]["labels"] = its
    names = [ObjectKey("prod", each["metadata"]["name"]) for each in objects]
    alone = [list(schema.filings(key, obj)) for key, obj in zip(names, objects, strict=True)]
    assert [list(each) for each in zip(*schema.columns(names, objects), strict=True)] == alone


def test_labels_that_go_together_have_postings_of_their_own() -> None:
    """Their columns are equal, so one is copied from the other; a write that parts them changes only one."""
    store: Store[Any] = Store(indexers=[LabelIndexer(*KEYS)])
    store.replace([pod(f"p{n}", app=f"a{n % 3}", tier=f"t{n % 3}", zone=f"z{n % 3}") for n in range(30)])
    one, other, third = store._core.generation.indexes[1:]
    assert one.column == other.column == third.column  # type: ignore[union-attr]
    store.put(pod("p0", app="a0", tier="t1", zone="z0"))
    store.put(pod("new", app="a0", zone="z2"))
    assert store.count(label_selector="app=a0") == 11
    assert store.count(label_selector="tier=t0") == 9
    assert store.count(label_selector="zone=z2") == 11
    assert store.count(label_selector="!tier") == 1
    store._check()


def test_columns_of_one_hash_are_compared() -> None:
    """A hash alone does not make a twin."""
    alike: list[Any] = ["x", "y", None, "x"]
    alone = ColumnIndex.build(alike, range(4))
    assert isinstance(alone, ColumnIndex)
    wrong = ColumnIndex.build(["x", "x", "x", "y"], range(4))
    assert isinstance(wrong, ColumnIndex)
    twins: Twins = {hash(alone.column.tobytes()): wrong}
    built = ColumnIndex.build(alike, range(4), twins)
    assert isinstance(built, ColumnIndex)
    assert (built.column, built.postings, built.present) == (alone.column, alone.postings, alone.present)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 64])
def test_few_and_many_values_are_grouped_alike(n: int) -> None:
    """Whether values have many slots each or few, the postings are the same."""
    filings: list[Any] = [None if slot % 5 == 4 else f"v{slot % n}" for slot in range(64)]
    built = ColumnIndex.build(filings, range(64))
    assert isinstance(built, ColumnIndex)
    mapped = MapIndex.build(filings, range(64))
    assert {key: built.posting(key) for key in built.keys()} == mapped.forward  # noqa: SIM118 - an index is no dict
    built._check(mapped.present)
