"""LabelIndexer: opt-in by key, over any map of text; AnnotationIndexer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.base import AnyIndexer
from kindex.indexers.terms import Absent, At, Not, Satisfying, Term
from kindex.near_unique import NEAR_UNIQUE
from kindex.objects import label_text
from kindex.paths import JsonPath, map_at
from kindex.selectors import LabelSelector

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kindex.values import Filing

LABELS = "metadata.labels"
ANNOTATIONS = "metadata.annotations"


@attrs.frozen
class LabelKey:
    """One key of one map of labels: what ``LabelIndexer.key`` gives, and the identity of an index.

    >>> from kindex import LabelIndexer
    >>> app = LabelIndexer("app", "tier").key("app")
    >>> print(app.at("web"), "|", app.among(["web", "api"]), "|", app.absent())
    app = 'web' | app in ('web', 'api') | app is absent
    """

    path: str
    key: str

    @property
    def name(self) -> str:
        """How plans and reports call the index: the key, with the path in front unless that is the labels'."""
        return self.key if self.path == LABELS else f"{self.path}[{self.key!r}]"

    def at(self, value: str) -> Term[object]:
        """Select the objects whose label has this value."""
        return At(self, (self._text(value),))

    def among(self, values: Iterable[str]) -> Term[object]:
        """Select the objects whose label has one of these values; none for no values."""
        if isinstance(values, str):
            raise IndexerError(f"among() of {self.name!r} takes several values; for one, use at({values!r})")
        return At(self, tuple(dict.fromkeys(map(self._text, values))))

    def exists(self) -> Term[object]:
        """Select the objects that have the label."""
        return Not(Absent(self))

    def absent(self) -> Term[object]:
        """Select the objects that do not have the label."""
        return Absent(self)

    def filing_of(self, obj: object) -> Filing:
        """Tell where *obj* would be filed: under its label's value, or under none."""
        labels = map_at(JsonPath.parse(self.path))(obj)
        return label_text(labels[self.key]) if self.key in labels else None

    def _text(self, value: object) -> str:
        if not isinstance(value, str):
            raise IndexerError(f"label {self.name!r} has text values, not {type(value).__name__} {value!r}")
        return str.__str__(value)


@attrs.frozen(init=False)
class LabelIndexer(AnyIndexer[object]):
    """An index over chosen keys of a map of text: labels, unless *path* names another map.

    Over ``metadata.labels`` it answers ``label_selector=``, requirement by requirement. Keys are opt-in, since an
    index costs memory for each value that a label ever has at one time; ``LabelIndexer.all`` takes every key, under a
    budget. Two LabelIndexers that name one key of one map share its index.

    Args:
        keys: the keys, at least one.
        path: the map whose keys are meant.
        name: says what it is in plans, errors and reports.
        budget: what it may cost in all; the key that takes most is dropped when it is broken.
        key_budget: what each of its keys may cost; a key that breaks it is dropped, the others stay.

    Raises:
        IndexerError: no key, or one given twice.
        PathSyntaxError: the path cannot be read.

    >>> from kindex import Store
    >>> by_labels = LabelIndexer("app", "tier")
    >>> pods = Store(indexers=[by_labels])
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x", "labels": {"app": "web", "tier": "gold"}}})
    >>> pods.count(label_selector="app=web,tier in (gold,silver)"), pods.count(by_labels.key("app").at("web"))
    (1, 1)
    >>> by_selector = LabelIndexer("app", path="spec.selector")
    >>> by_selector.values_of({"spec": {"selector": {"app": "web"}}})
    (('app', 'web'),)
    """

    keys: tuple[str, ...]
    path: str
    deny: frozenset[str]
    key_budget: Budget | None
    _read: Any = attrs.field(eq=False, repr=False)  # Any: a function of one object, made from the path

    def __init__(
        self,
        *keys: str,
        path: str = LABELS,
        name: str | None = None,
        budget: Budget | None = None,
        key_budget: Budget | None = None,
    ) -> None:
        for key in keys:
            if not isinstance(key, str) or not key:
                raise IndexerError(f"a label key is text that is not empty, not {key!r}")
        if not keys:
            raise IndexerError(
                "LabelIndexer needs a key, such as LabelIndexer('app'); for all keys, LabelIndexer.all(budget=...)"
            )
        if len(set(keys)) < len(keys):
            raise IndexerError(f"LabelIndexer: a key is given twice in {', '.join(keys)}")
        self._set(keys, path, frozenset(), name, budget, key_budget)

    @classmethod
    def all(
        cls,
        *,
        budget: Budget,
        deny: Iterable[str] = NEAR_UNIQUE,
        path: str = LABELS,
        name: str | None = None,
        key_budget: Budget | None = None,
    ) -> Self:
        """Index every key that objects have, but those in *deny*, under a budget.

        Args:
            budget: what it may cost in all; the key that takes most is dropped when it is broken.
            deny: keys to leave out; unless given, those of ``NEAR_UNIQUE``, which cost the most and narrow the least.
                ``deny=()`` indexes them all the same; ``deny={*NEAR_UNIQUE, "build-id"}`` leaves out one more.
            path: the map whose keys are meant.
            name: says what it is in plans, errors and reports.
            key_budget: what each of its keys may cost.

        Raises:
            IndexerError: there is no budget; labels are unbounded, so indexing all of them must not be.
        """
        if not isinstance(budget, Budget):
            raise IndexerError(
                f"LabelIndexer.all() needs budget=Budget(...), not {budget!r}: labels are unbounded and change,"
                " so what indexing all of them may cost has to be said"
            )
        if isinstance(deny, str):
            raise IndexerError(f"deny takes several keys, such as [{deny!r}], not one text")
        self = cls.__new__(cls)
        self._set((), path, frozenset(deny), name, budget, key_budget)
        return self

    def _set(
        self,
        keys: tuple[str, ...],
        path: str,
        deny: frozenset[str],
        name: str | None,
        budget: Budget | None,
        key_budget: Budget | None,
    ) -> None:
        if key_budget is not None and not isinstance(key_budget, Budget):
            raise IndexerError(f"key_budget is a Budget or None, not {key_budget!r}")
        parsed = JsonPath.parse(path)
        if parsed.plural:
            raise IndexerError(f"path {path!r} leads to many maps; a LabelIndexer reads one")
        if name is None:
            shown = ",".join(keys) if keys else "*"
            # A label may be called as the index that every store has.
            name = shown if parsed.text == LABELS and shown != "namespace" else f"{parsed.text}[{shown}]"
        init = self.__attrs_init__  # pyright: ignore[reportAttributeAccessIssue]  # attrs makes it
        init(name, keys, parsed.text, deny, key_budget, map_at(parsed), budget=budget)

    @property
    def takes_all(self) -> bool:
        """Whether it indexes every key, not chosen ones."""
        return not self.keys

    def covers(self, key: str) -> bool:
        """Tell whether it indexes *key*."""
        return key in self.keys if self.keys else key not in self.deny

    def key(self, key: str) -> LabelKey:
        """Name one of the keys, to make terms of or to tally.

        Raises:
            IndexerError: it does not index this key.
        """
        if not self.covers(key):
            if self.takes_all and key in NEAR_UNIQUE:
                raise IndexerError(
                    f"indexer {self.name!r} does not index key {key!r}: {NEAR_UNIQUE[key]}; with deny=() it would"
                )
            there = f"all but {', '.join(sorted(self.deny))}" if self.takes_all else ", ".join(self.keys)
            raise IndexerError(f"indexer {self.name!r} does not index key {key!r}; it indexes {there}")
        return LabelKey(self.path, key)

    def satisfying(self, selector: LabelSelector | str | Mapping[str, Any] | None) -> Term[object]:
        """Select the objects whose map satisfies a label selector, such as services whose selector holds a gateway's.

        Takes what ``label_selector=`` takes. Requirements on keys that are not indexed are checked on the objects.

        Raises:
            SelectorError: the selector cannot be understood.
        """
        return Satisfying(self, LabelSelector.of(selector))

    def labels_of(self, obj: object) -> Mapping[str, object]:
        """Read the map that it indexes, as it stands; empty when there is none."""
        labels: Mapping[str, object] = self._read(obj)
        return labels

    def values_of(self, obj: object) -> tuple[tuple[str, str], ...]:
        """Give the pairs of key and value under which *obj* would be filed."""
        labels = self.labels_of(obj)
        pairs = ((key, label_text(labels[key])) for key in (self.keys or labels) if key in labels)
        return tuple((key, text) for key, text in pairs if text is not None and self.covers(key))


class AnnotationIndexer(LabelIndexer):
    """An index over chosen annotations.

    >>> by_class = AnnotationIndexer("kubernetes.io/ingress.class")
    >>> by_class.values_of({"metadata": {"annotations": {"kubernetes.io/ingress.class": "nginx"}}})
    (('kubernetes.io/ingress.class', 'nginx'),)
    """

    def __init__(
        self,
        *keys: str,
        name: str | None = None,
        budget: Budget | None = None,
        key_budget: Budget | None = None,
    ) -> None:
        super().__init__(*keys, path=ANNOTATIONS, name=name, budget=budget, key_budget=key_budget)

    @classmethod
    def all(
        cls,
        *,
        budget: Budget,
        deny: Iterable[str] = NEAR_UNIQUE,
        path: str = ANNOTATIONS,
        name: str | None = None,
        key_budget: Budget | None = None,
    ) -> Self:
        """Index every annotation that objects have, but those in *deny*, under a budget, as ``LabelIndexer.all``."""
        return super().all(budget=budget, deny=deny, path=path, name=name, key_budget=key_budget)
