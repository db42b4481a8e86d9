"""Read-only JSON: read as dicts and lists are, never edited, and plain once it is copied."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from kindex.errors import ReadOnlyError
from kindex.read_only import ReadOnlyList, ReadOnlyMap, ReadOnlySection, read_only, text_map

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN: dict[str, Any] = {"a": {"b": [1, {"c": 2}, [3]]}, "d": "text", "e": None}


def section() -> Any:
    return read_only(copy.deepcopy(PLAIN))


def test_it_reads_as_plain_json_does() -> None:
    """Items, iteration, slices, equality, truth and types are those of a dict and a list."""
    found = section()

    assert isinstance(found, dict)
    assert isinstance(found["a"]["b"], list)
    assert found == PLAIN
    assert found == PLAIN
    assert list(found) == list(PLAIN)
    assert dict(found.items()) == PLAIN
    assert list(found.values()) == list(PLAIN.values())
    assert (found.get("d"), found.get("x"), found.get("x", 5)) == ("text", None, 5)
    assert (len(found), "a" in found, "x" in found) == (3, True, False)
    numbers = found["a"]["b"]
    assert (numbers[0], numbers[-1], numbers[1:], len(numbers)) == (1, [3], [{"c": 2}, [3]], 3)
    assert list(numbers) == PLAIN["a"]["b"]
    assert list(reversed(numbers)) == PLAIN["a"]["b"][::-1]
    assert numbers.index(1) == 0
    with pytest.raises(KeyError):
        _ = found["x"]
    assert text_map(None) == text_map("text") == text_map({}) == {}


def test_it_is_written_as_plain_json_is() -> None:
    """Both JSON writers take it for a dict."""
    assert json.loads(json.dumps(section())) == PLAIN
    assert msgspec.json.decode(msgspec.json.encode(section())) == PLAIN


PARTS: dict[str, Callable[[Any], Any]] = {
    "item": lambda found: found["a"],
    "get": lambda found: found.get("a"),
    "items": lambda found: next(value for name, value in found.items() if name == "a"),
    "values": lambda found: next(iter(found.values())),
    "list item": lambda found: found["a"]["b"][1],
    "slice": lambda found: found["a"]["b"][1:][0],
    "iteration": lambda found: list(found["a"]["b"])[1],
    "reversed": lambda found: next(reversed(found["a"]["b"])),
    "copy of a list": lambda found: found["a"]["b"].copy()[1],
}


@pytest.mark.parametrize("way", PARTS)
def test_no_part_can_be_edited(way: str) -> None:
    """However one gets at a part, it is read-only."""
    assert type(PARTS[way](section())) in (ReadOnlySection, ReadOnlyList)


MAP_EDITS: list[Callable[[Any], object]] = [
    lambda held: held.__setitem__("a", 1),
    lambda held: held.__delitem__("a"),
    lambda held: held.__ior__({"a": 1}),
    lambda held: held.clear(),
    lambda held: held.pop("a"),
    lambda held: held.popitem(),
    lambda held: held.setdefault("z", 1),
    lambda held: held.update(a=1),
]
LIST_EDITS: list[Callable[[Any], object]] = [
    lambda held: held.__setitem__(0, 1),
    lambda held: held.__delitem__(0),
    lambda held: held.__iadd__([1]),
    lambda held: held.__imul__(2),
    lambda held: held.append(1),
    lambda held: held.clear(),
    lambda held: held.extend([1]),
    lambda held: held.insert(0, 1),
    lambda held: held.pop(),
    lambda held: held.remove(1),
    lambda held: held.reverse(),
    lambda held: held.sort(),
]


@pytest.mark.parametrize("edit", [*MAP_EDITS, *LIST_EDITS])
def test_every_edit_is_refused(edit: Callable[[Any], object]) -> None:
    """Each method that changes a dict or a list is an error, and changes nothing."""
    of_map = edit in MAP_EDITS
    for held in [ReadOnlyMap(PLAIN), section()] if of_map else [section()["a"]["b"]]:
        before = copy.deepcopy(held)
        with pytest.raises(ReadOnlyError, match=r"to_dict\(\)"):
            edit(held)
        assert held == before


def test_no_method_that_edits_is_forgotten() -> None:
    """What makes Python's mappings and sequences mutable is refused, and what dict and list add to that."""
    of_mapping = {name for name in dir(MutableMapping) if not hasattr(Mapping, name) and "marker" not in name}
    assert of_mapping | {"__ior__"} <= vars(ReadOnlyMap).keys()
    assert (set(dir(MutableSequence)) - set(dir(Sequence))) | {"__imul__", "sort"} <= vars(ReadOnlyList).keys()


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda held: pickle.loads(pickle.dumps(held))],  # noqa: S301 - our own
)
def test_copies_are_plain(copied: Callable[[Any], Any]) -> None:
    """A copy is an ordinary dict or list, to be edited."""
    for held, plain in [(section(), dict), (section()["a"]["b"], list), (text_map({"a": "b"}), dict)]:
        made = copied(held)
        assert type(made) is plain
        assert made == held
    deep = copy.deepcopy(section())
    deep["a"]["b"][1]["c"] = 5
    assert type(section() | {"x": 1}) is dict
