"""SelectorIndexer: by the selectors that objects carry."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError, SelectorObjectError
from kindex.indexers.base import Indexer, OnError
from kindex.indexers.terms import At, Selecting, Term
from kindex.label_selectors import selector_of_map
from kindex.members import EMPTY_MAP, map_of, member_of
from kindex.objects import label_text, labels_of
from kindex.paths import JsonPath
from kindex.selector_places import plainest
from kindex.selectors import LabelSelector
from kindex.values import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kindex.errors import IndexFunctionError
    from kindex.keys import ObjectKey
    from kindex.values import Filing, ValueKey

Form: TypeAlias = Literal["map", "object"]
Null: TypeAlias = Literal["nothing", "everything"]

_OBJECT_NAMES: Final = frozenset({"labelSelector", "namespaceSelector", "objectSelector", "podSelector"})
_TEXT: Final = {str}
_OBJECT_MEMBERS: Final = frozenset({"matchLabels", "matchExpressions"})

_NULL_IS_EVERYTHING: Final = frozenset({"spec.podSelector"})
"""Where the API has no pointer to a selector: a NetworkPolicy that leaves it out has an empty one."""


class SkippedWarning(UserWarning):
    """An index with ``on_error="skip"`` files an object under no value, since it cannot read what it files by.

    >>> import warnings
    >>> warnings.simplefilter("error", SkippedWarning)  # in a test: fail on the first one
    """


@attrs.frozen(cache_hash=True)
class SelectorsOf:
    """The index function of a SelectorIndexer: the texts of the selectors that an object carries."""

    path: JsonPath
    form: Form
    null: Null

    def __call__(self, obj: object) -> list[str]:
        """Give the texts of the selectors of *obj* that can match any labels."""
        found = self.path.values(obj) if self.path.plural else (self.path.first(obj),)
        plain = (plainest(self._selector(value)) for value in found)
        return [str(selector) for selector in plain if selector is not None]

    def _selector(self, value: object) -> LabelSelector:
        if value is None:
            return LabelSelector() if self.null == "everything" else LabelSelector.from_object(None)
        if self.form == "map":
            members = map_of(value)
            for name in _OBJECT_MEMBERS.intersection(members):
                if not isinstance(members[name], str):
                    reason = "must be text; a LabelSelector object is read by SelectorIndexer(..., form='object')"
                    raise SelectorObjectError(f"{self.path.text}[{name!r}]", reason)
            return selector_of_map(value, self.path.text)
        return LabelSelector.from_object(value)


@attrs.frozen(init=False, repr=False)
class SelectorIndexer(Indexer[object, str]):
    """An index of objects that carry a selector: who selects these labels?

    Each selector is filed under its most restrictive requirement, an equality before ``In`` before ``Exists``, so that
    labels are only compared with selectors that may match them. Selectors that can match nothing are not filed. Its
    values are selectors in canonical text, so ``at(selector)`` finds who has just this one.

    Namespaces are yours to say: a Service selects pods of its own, so ask with ``namespace=``.

    Args:
        path: where the selector stands. With ``[*]`` an object has several, and is found if one of them matches.
        form: ``"map"`` is a plain map, as a Service has: null and empty select nothing. ``"object"`` is a LabelSelector
            object, as a Deployment, PodDisruptionBudget or NetworkPolicy has: empty selects everything. Unless given,
            ``"object"`` where the path ends in ``podSelector``, ``namespaceSelector``, ``objectSelector`` or
            ``labelSelector``, else ``"map"``.
        null: what a missing selector object selects. Unless given, ``"nothing"``, but at ``spec.podSelector``, which
            the API takes for empty, ``"everything"``. With ``[*]``, what is missing is no selector.
        name: says what it is in plans, errors and reports; the path, unless given.
        on_error: what a selector that the API would refuse does to the write: ``"raise"`` fails it with
            IndexFunctionError; ``"skip"`` files the object under no value, counts it, and gives one SkippedWarning.
        budget: what it may cost; an index that breaks it is dropped, and its queries scan.

    Raises:
        IndexerError: *form* or *null* is none of its words, or *null* is given for a map.
        PathSyntaxError: the path cannot be read.

    >>> from kindex import Store
    >>> selecting = SelectorIndexer("spec.selector")
    >>> services = Store(indexers=[selecting])
    >>> for name, selector in {"web": {"app": "web"}, "gold": {"app": "web", "tier": "gold"}, "by-hand": None}.items():
    ...     _ = services.put({"metadata": {"name": name, "namespace": "x"}, "spec": {"selector": selector}})
    >>> [key.name for key in services.keys(selecting.matching({"app": "web", "pod": "1"}), namespace="x")]
    ['web']
    >>> services.index_values(selecting)
    ['app=web', 'app=web,tier=gold']
    """

    def __init__(
        self,
        path: str = "spec.selector",
        *,
        form: Form | None = None,
        null: Null | None = None,
        name: str | None = None,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None:
        parsed = JsonPath.parse(path)
        if form is None:
            form = "object" if parsed.steps[-1] in _OBJECT_NAMES else "map"
        if form not in ("map", "object"):
            raise IndexerError(f"SelectorIndexer: form is 'map' or 'object', not {form!r}")
        if null not in (None, "nothing", "everything"):
            raise IndexerError(f"SelectorIndexer: null is 'nothing' or 'everything', not {null!r}")
        if null is not None and form == "map":
            raise IndexerError("SelectorIndexer: null= is for form='object'; a missing map selects nothing")
        if null is None:
            null = "everything" if form == "object" and parsed.text in _NULL_IS_EVERYTHING else "nothing"
        function = SelectorsOf(parsed, form, null)
        super().__init__(name if name is not None else parsed.text, function, on_error=on_error, budget=budget)

    def __repr__(self) -> str:
        function = self.function
        assert isinstance(function, SelectorsOf)
        return f"SelectorIndexer({function.path.text!r}, form={function.form!r}, null={function.null!r})"

    @property
    def path(self) -> JsonPath:
        """Where the selector stands."""
        function = self.function
        assert isinstance(function, SelectorsOf)
        return function.path

    def matching(self, labels: object) -> Term[object]:
        """Select the objects whose selector matches *labels*: a map of labels, or an object, whose labels are meant.

        O(labels + candidates).

        Raises:
            IndexerError: it is neither; the labels of an object without any are ``{}``.
        """
        return Selecting(self, (_labels_given(labels),))

    def matching_either(self, old: object, new: object) -> Term[object]:
        """Select the objects whose selector matches *old* or *new*: all that an update of a pod may concern.

        Takes labels or objects; None is no object, as before it was added or after it was deleted. A pod that turns
        ready keeps its labels, and what selects it must look at it again: that is this, not ``matching_differs``.

        >>> print(SelectorIndexer().matching_either({"app": "web"}, {"app": "db"}))
        spec.selector matches {app=web} or {app=db}
        """
        sides = dict.fromkeys(_labels_given(each) for each in (old, new) if each is not None)
        return Selecting(self, tuple(sides)) if sides else At(self, ())

    def matching_differs(self, old: object, new: object) -> Term[object]:
        """Select the objects whose selector matches one of *old* and *new* but not the other: who gains or loses it.

        Takes labels or objects; None is no object. Nothing for equal labels, whatever else has changed.

        >>> print(SelectorIndexer().matching_differs({"app": "web"}, {"app": "db"}))
        spec.selector matches {app=web} or {app=db}, not both
        """
        sides = dict.fromkeys(_labels_given(each) for each in (old, new) if each is not None)
        if len(sides) == 1 and old is not None and new is not None:
            return At(self, ())
        return Selecting(self, tuple(sides), differs=len(sides) > 1) if sides else At(self, ())

    def at(self, value: object) -> Term[object]:
        """Select the objects that carry just this selector, however it is written; what ``label_selector=`` takes.

        Raises:
            SelectorError: it cannot be understood.
            IndexerError: it can match nothing, so it is not filed.
        """
        return At(self, (self._key(value),))

    def among(self, values: Iterable[object]) -> Term[object]:
        """Select the objects that carry one of these selectors; none for no selectors."""
        if isinstance(values, (str, Mapping)):
            raise IndexerError(f"among() of {self.name!r} takes several selectors; for one, use at({values!r})")
        return At(self, tuple(dict.fromkeys(map(self._key, values))))

    def _key(self, value: object) -> ValueKey:
        selector = plainest(LabelSelector.of(value))
        if selector is None:
            raise IndexerError(f"indexer {self.name!r} does not file selectors that can match nothing, as {value!r}")
        return str(selector)

    def _failed(self, kind: type[IndexFunctionError], obj: object, key: ObjectKey | None, error: Exception) -> Filing:
        filing = super()._failed(kind, obj, key, error)
        if filing is SKIPPED:
            # Python shows the same text from the same line once, so a relist does not repeat it.
            named = key if key is not None else type(obj).__name__
            warnings.warn(f"index {self.name!r} leaves out {named}: {error}", SkippedWarning, stacklevel=1)
        return filing


def _labels_given(value: object) -> tuple[tuple[str, str], ...]:
    """Read labels, or those of an object, as pairs in order; what is no label is left out, as everywhere."""
    labels = _map_given(value)
    if set(map(type, labels.values())) <= _TEXT:
        return tuple(sorted(labels.items()))
    if labels is value and any(isinstance(each, (Mapping, list, tuple)) for each in labels.values()):
        raise IndexerError(_NEITHER.format(f"a {type(value).__name__} like this is"))
    pairs = ((key, label_text(text)) for key, text in labels.items())
    return tuple(sorted((key, text) for key, text in pairs if text is not None))


def _map_given(value: object) -> Mapping[str, Any]:
    metadata = member_of(value, "metadata")
    if metadata is not None and not isinstance(metadata, str):  # text: somebody has a label of that name
        return labels_of(value)
    labels = map_of(value)
    if labels is EMPTY_MAP and value is not EMPTY_MAP:
        raise IndexerError(_NEITHER.format("None is" if value is None else f"a {type(value).__name__} is"))
    return labels


_NEITHER: Final = "{} neither a map of labels nor an object with metadata; the labels of an object without any are {{}}"
