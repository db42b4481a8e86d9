"""Reading: at which JSON paths indexers look, so that whoever decodes objects can have the values at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kindex.indexers.base import Indexer, NamespaceIndexer
from kindex.indexers.derived import DerivedValues
from kindex.indexers.fields import FieldValues
from kindex.indexers.filters import Passes
from kindex.indexers.labels import ANNOTATIONS, LABELS, LabelIndexer
from kindex.indexers.owners import OwnersOf
from kindex.indexers.selecting import SelectorsOf

if TYPE_CHECKING:
    from kindex.indexers.base import AnyIndexer

_OWNERS = "metadata.ownerReferences"


def paths_read(*indexers: AnyIndexer[Any]) -> tuple[str, ...]:  # Any: of whatever objects
    """Give the paths that *indexers* read, each once, as far as they are known: what a plain function reads is not.

    >>> from kindex import FieldIndexer, LabelIndexer, OwnerIndexer
    >>> paths_read(FieldIndexer("spec.nodeName"), LabelIndexer("app", path="spec.selector"), OwnerIndexer())
    ('spec.nodeName', 'spec.selector', 'metadata.ownerReferences')
    """
    return tuple(dict.fromkeys(path for indexer in indexers for path in _paths_of(indexer)))


def _paths_of(indexer: AnyIndexer[Any]) -> tuple[str, ...]:
    match indexer:
        case LabelIndexer(path=path):
            return (path,)
        case NamespaceIndexer():
            return ()
        case Indexer(function=FieldValues(paths=paths) | DerivedValues(paths=paths)):
            return tuple(path.text for path in paths)
        case Indexer(function=SelectorsOf(path=read)):
            return (read.text,)
        case Indexer(function=OwnersOf()):
            return (_OWNERS,)
        case Indexer(function=Passes(labels=labels, annotations=annotations)):
            return (*([] if labels is None else [LABELS]), *([] if annotations is None else [ANNOTATIONS]))
        case _:
            return ()
