"""FilterIndexer: the objects that pass a fixed filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

from kindex.errors import IndexerError
from kindex.indexers.base import Indexer, OnError
from kindex.indexers.terms import Term
from kindex.objects import annotations_of, labels_of
from kindex.selectors import LabelSelector

T_contra = TypeVar("T_contra", contravariant=True)

Selectable: TypeAlias = "LabelSelector | str | Mapping[str, Any] | None"


@attrs.frozen
class Passes(Generic[T_contra]):
    """The index function of a FilterIndexer: True for objects that pass, else no value."""

    labels: LabelSelector | None
    annotations: LabelSelector | None
    predicate: Callable[[T_contra], object] | None

    def __call__(self, obj: T_contra) -> bool | None:
        """Tell whether *obj* passes; None is no value."""
        if self.labels is not None and not self.labels.matches(labels_of(obj)):
            return None
        if self.annotations is not None and not self.annotations.matches(annotations_of(obj)):
            return None
        return True if self.predicate is None or self.predicate(obj) else None


@attrs.frozen(init=False, repr=False)
class FilterIndexer(Indexer[T_contra, bool], Generic[T_contra]):
    """An index of the objects that pass a fixed filter, so that a query need not look at the others.

    The parts that are given must all pass.

    Args:
        name: what the filter means, such as ``"watched"``.
        label_selector: over the labels; takes what a query takes.
        annotation_filter: a selector with the same syntax, over the annotations.
        predicate: any function of an object; its answer may depend on the object alone.
        on_error: as for Indexer.

    Raises:
        IndexerError: none of the three is given.
        SelectorError: a selector cannot be understood.

    >>> from kindex import Store
    >>> watched = FilterIndexer("watched", label_selector="team=a", annotation_filter="ignore notin (true)")
    >>> store = Store(indexers=[watched])
    >>> _ = store.put({"metadata": {"name": "x", "namespace": "n", "labels": {"team": "a"}}})
    >>> _ = store.put({"metadata": {"name": "y", "namespace": "n"}})
    >>> store.keys(watched.passing())
    [ObjectKey(namespace='n', name='x')]
    """

    def __init__(
        self,
        name: str,
        *,
        label_selector: Selectable = None,
        annotation_filter: Selectable = None,
        predicate: Callable[[T_contra], object] | None = None,
        on_error: OnError = "raise",
    ) -> None:
        if label_selector is None and annotation_filter is None and predicate is None:
            raise IndexerError(f"FilterIndexer {name!r} needs a label_selector, an annotation_filter or a predicate")
        labels = None if label_selector is None else LabelSelector.of(label_selector)
        annotations = None if annotation_filter is None else LabelSelector.of(annotation_filter)
        super().__init__(name, Passes(labels, annotations, predicate), on_error=on_error)

    def passing(self) -> Term[T_contra]:
        """Select the objects that pass; ``~`` of it, those that do not."""
        return self.at(True)  # noqa: FBT003 - the index value
