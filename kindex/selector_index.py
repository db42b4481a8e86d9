"""SelectorIndex: selectors, filed so that labels find those that match them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from kindex.footprints import shallow_bytes
from kindex.label_selectors import LabelSelector
from kindex.map_index import MapIndex
from kindex.selector_places import Place, Placed, placed, places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyroaring import BitMap

    from kindex.label_requirements import Requirement
    from kindex.values import Filing, ValueKey

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Pairs of key and value, ordered, each key once."""


class SelectorIndex(MapIndex):
    """A MapIndex whose values are the texts of selectors, with the way from labels to the selectors that match them.

    A selector that many objects carry is one value, and evaluated once for all of them.

    Invariants: ``parsed`` holds each text of ``forward``, and no other; a text is at a place of ``at`` exactly when
    ``parsed`` says so; no place is empty.

    Attributes:
        at: place -> the one text there, or the set of them.
        parsed: text -> its places, and what is left to evaluate for those that have them.
    """

    __slots__ = ("at", "parsed")

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[Place, str | set[str]] = {}
        self.parsed: dict[str, Placed] = {}

    @classmethod
    def build(cls, filings: Sequence[Filing], slots: Sequence[int]) -> SelectorIndex:
        """Index ``filings[i]`` for each of *slots*; O(values x requirements)."""
        index = super().build(filings, slots)
        assert isinstance(index, cls)
        for key in index.forward:
            index._opened(key)  # noqa: SLF001 - one of the same
        return index

    def candidates(self, labels: Labels) -> list[tuple[str, tuple[Requirement, ...]]]:
        """Give the selectors that may match *labels*, each once, with what is left to evaluate of it.

        O(labels + candidates). The caller holds the lock.
        """
        parsed, found = self.parsed, list(map(self.at.get, places_of(labels)))
        texts: list[str] = []
        for held in found:
            if held is not None:
                if type(held) is str:
                    texts.append(held)
                else:
                    texts += held
        return [(text, parsed[text].rest) for text in texts]

    def matching(self, labels: Labels) -> list[ValueKey]:
        """Give the selectors that match *labels*. O(labels + candidates). The caller holds the lock."""
        value_of = dict(labels).get
        matching: list[ValueKey] = []
        for text, rest in self.candidates(labels):
            for requirement in rest:
                if not requirement.matches_value(value_of(requirement.key)):
                    break
            else:
                matching.append(text)
        return matching

    def beside_bytes(self) -> int:
        """Count what stands beside the postings: places, and parsed selectors. O(values)."""
        total = shallow_bytes(self.at) + shallow_bytes(self.parsed)
        total += sum(map(_place_bytes, list(self.at)))
        total += sum(shallow_bytes(held) for held in list(self.at.values()) if type(held) is set)
        return total + sum(map(_parsed_bytes, list(self.parsed.values())))

    def new_bytes(self, key: ValueKey) -> int:
        """Give an upper estimate of what a new selector adds beside its posting. O(length)."""
        parts = cast("str", key).count(",") + 1
        return _SELECTOR + parts * _REQUIREMENT + 2 * len(key)

    def _opened(self, key: ValueKey) -> None:
        text = cast("str", key)
        found = self.parsed.get(text)
        if found is None:  # decided once: done again after an interruption, it might choose other places
            found = self.parsed[text] = placed(LabelSelector.parse(text), self._crowd)
        for place in found.places:
            held = self.at.get(place)
            if held is None:
                self.at[place] = text
            elif type(held) is set:
                held.add(text)
            elif held != text:
                self.at[place] = {cast("str", held), text}

    def _closed(self, key: ValueKey) -> None:
        text = cast("str", key)
        found = self.parsed.get(text)
        for place in () if found is None else found.places:
            held = self.at.get(place)
            if type(held) is set:
                held.discard(text)
                if len(held) == 1:
                    (self.at[place],) = held
            elif held == text:
                self.at.pop(place, None)
        self.parsed.pop(text, None)  # last: until then an interruption can be made good

    def _shrink(self) -> None:
        before = self.forward
        super()._shrink()
        if self.forward is not before:
            self.at, self.parsed = dict(self.at), dict(self.parsed)

    def _crowd(self, place: Place) -> int:
        held = self.at.get(place)
        return 0 if held is None else len(held) if type(held) is set else 1

    def _check(self, live: BitMap) -> None:
        super()._check(live)
        assert self.parsed.keys() == self.forward.keys()
        expected: dict[Place, set[str]] = {}
        for text, found in self.parsed.items():
            assert set(found.rest) <= set(LabelSelector.parse(text).requirements)
            for place in found.places:
                expected.setdefault(place, set()).add(text)
        assert {place: set(_texts_in(held)) for place, held in self.at.items()} == expected
        assert all(type(held) is str or len(held) > 1 for held in self.at.values())


def _texts_in(held: str | set[str]) -> Iterable[str]:
    return (held,) if isinstance(held, str) else held


_SELECTOR: Final = 640
"""At most so many bytes for a selector: its share of two dicts, of which one may double, and its tuples."""

_REQUIREMENT: Final = 720
"""At most so many bytes for one of its requirements or values: text, a set, a place with its dict entry."""


def _place_bytes(place: Place) -> int:
    return shallow_bytes(place) if place else 0


def _parsed_bytes(found: Placed) -> int:
    total = shallow_bytes(found) + shallow_bytes(found.places) + (shallow_bytes(found.rest) if found.rest else 0)
    total += sum(shallow_bytes(part) for place in found.places for part in place)
    return total + sum(map(_requirement_bytes, found.rest))


def _requirement_bytes(requirement: Requirement) -> int:
    values = requirement.values
    total = shallow_bytes(requirement) + shallow_bytes(requirement.key)
    total += shallow_bytes(frozenset(values)) + (shallow_bytes(values) if values else 0)
    return total + sum(map(shallow_bytes, values))
