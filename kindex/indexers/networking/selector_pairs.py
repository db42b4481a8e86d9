"""SelectorPairIndexer: by the pairs of a plain selector, such as ``app=web``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from kindex.errors import IndexerError
from kindex.indexers.derived import DerivedIndexer
from kindex.indexers.terms import Absent, AllOf, At, Not, Term
from kindex.members import map_of
from kindex.objects import label_text

Pair: TypeAlias = tuple[str, str]
"""Key and value of a label."""


class SelectorPairIndexer(DerivedIndexer[Pair]):
    """What the indexes over plain selectors have in common: each pair of the map is an index value."""

    def pair(self, key: str, value: str) -> Term[object]:
        """Select the objects whose selector asks for this value of this label."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise IndexerError(f"pair() of {self.name!r} takes a key and a value as text, not {key!r} and {value!r}")
        return self.at((key, value))

    def holding(self, selector: Mapping[str, str] | None) -> Term[object]:
        """Select the objects whose selector has all pairs of *selector*, and perhaps more; all objects for no pair."""
        terms = [self.pair(key, value) for key, value in (selector or {}).items()]
        if not terms:
            return Not(At(self, ()))
        return terms[0] if len(terms) == 1 else AllOf(tuple(terms))

    def without(self) -> Term[object]:
        """Select the objects that have no selector, or an empty one."""
        return Absent(self)


def pairs(_namespace: str, selectors: tuple[object, ...]) -> list[Pair]:
    """Give the pairs of the map that is the only one of *selectors*, if it is a map; odd values are none."""
    found = [(key, label_text(value)) for selector in selectors for key, value in map_of(selector).items()]
    return [(key, text) for key, text in found if text is not None and isinstance(key, str)]
