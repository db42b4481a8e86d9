"""Which JSON paths indexers read, for a decoder that has their values at hand when an object comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kindex.indexers.derived import DerivedValues
from kindex.indexers.fields import FieldValues
from kindex.indexers.filters import Passes
from kindex.indexers.labels import ANNOTATIONS, LABELS, LabelIndexer
from kindex.indexers.owners import OwnersOf
from kindex.indexers.selecting import SelectorsOf
from kindex.paths import JsonPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kindex.indexers.base import AnyIndexer


def paths_read(indexers: Iterable[AnyIndexer[Any]]) -> tuple[JsonPath, ...]:  # Any: of objects of whatever type
    """Give the paths that *indexers* read, each once; what a plain index function reads cannot be known.

    >>> from kindex import FieldIndexer, LabelIndexer
    >>> paths_read([FieldIndexer("spec.nodeName"), LabelIndexer("app", path="spec.selector")])
    (JsonPath.parse('spec.nodeName'), JsonPath.parse('spec.selector'))
    """
    return tuple(dict.fromkeys(path for indexer in indexers for path in _paths_of(indexer)))


def _paths_of(indexer: AnyIndexer[Any]) -> Iterator[JsonPath]:
    if isinstance(indexer, LabelIndexer):
        yield JsonPath.parse(indexer.path)
    match getattr(indexer, "function", None):
        case FieldValues(paths) | DerivedValues(paths):
            yield from paths
        case SelectorsOf(path):
            yield path
        case OwnersOf():
            yield JsonPath.parse("metadata.ownerReferences")
        case Passes(labels, annotations):
            yield from (JsonPath.parse(path) for path, asked in ((LABELS, labels), (ANNOTATIONS, annotations)) if asked)
