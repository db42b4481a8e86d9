"""Transforms: what is done to an object before it is stored, so that it takes less memory.

A transform is a function from an object to an object, for a decoder's ``transform=``. One that drops something from a
LazyObject makes it say so: it is ``partial``, and reading what is gone is an error, never an empty answer. The values
that indexers read are taken before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from kindex.errors import DecodeError, InvalidObjectError
from kindex.json_text import without_member
from kindex.layouts import MANAGED_FIELDS, NO_MANAGED_FIELDS, Loss, Only, Without
from kindex.lazy import LazyObject
from kindex.lazy_metadata import ALWAYS_KEPT
from kindex.path_decoding import JSON_ERRORS, PathDecoder, PathKeeper
from kindex.path_syntax import Steps, steps_of, text_of_steps

if TYPE_CHECKING:
    from kindex.read_only import Json

T = TypeVar("T")
Object = TypeVar("Object", LazyObject, dict[str, Any])  # Any: JSON

Transform: TypeAlias = Callable[[T], T]
"""Makes of an object the one that is stored. It does not edit what it is given."""

LAST_APPLIED: Final = ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
"""The annotation in which ``kubectl apply`` keeps a copy of the object."""

_LAST_APPLIED_NAME: Final = LAST_APPLIED[-1].encode()
_NO_LAST_APPLIED: Final = Without(LAST_APPLIED)
_last_applied = PathDecoder([LAST_APPLIED], leaf_type=msgspec.Raw)


def strip_managed_fields(obj: Object) -> Object:
    """Drop ``metadata.managedFields``, often a quarter of the JSON, from a LazyObject or a dict.

    The object is not partial: a server that is sent it without them keeps its own. About 3 us.

    >>> strip_managed_fields({"metadata": {"name": "a", "managedFields": [{"manager": "kubectl"}]}})
    {'metadata': {'name': 'a'}}
    """
    if isinstance(obj, LazyObject):
        return obj.without_managed_fields()
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or MANAGED_FIELDS[1] not in metadata:
        return obj
    kept = {name: value for name, value in metadata.items() if name != MANAGED_FIELDS[1]}
    return {**obj, "metadata": kept}


def strip_last_applied(obj: LazyObject) -> LazyObject:
    """Drop the annotation in which ``kubectl apply`` keeps a copy of the object; makes an object that has it partial.

    >>> from kindex import LazyObject
    >>> annotations = {"team": "red", LAST_APPLIED[-1]: "{}"}
    >>> pod = strip_last_applied(LazyObject.from_dict({"metadata": {"name": "a", "annotations": annotations}}))
    >>> pod.partial, dict(pod.metadata.annotations)
    (True, {'team': 'red'})
    """
    _require_lazy(obj, "strip_last_applied")
    if _LAST_APPLIED_NAME not in obj.raw:
        return obj
    (value,) = _last_applied.read(obj.raw)
    if type(value) is not msgspec.Raw:  # the name stands elsewhere
        return obj
    return obj.reduced(without_member(obj.raw, LAST_APPLIED, bytes(value)), _NO_LAST_APPLIED)


def keep_paths(*paths: str) -> KeepPaths:
    """Make the transform that keeps only what is at some JSON paths, beside kind and most of the metadata.

    Of the metadata all stays that a LazyObject has at hand, but annotations: name them, too, if they are read. What is
    kept stands as the server sent it. Objects become partial.

    Raises:
        PathSyntaxError: a path cannot be read, or has a name with a quote, a backslash or a control character.

    >>> from kindex import LazyObject
    >>> slim = keep_paths("spec.nodeName", "status.phase")
    >>> pod = slim(LazyObject.from_dict({"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "containers": []}}))
    >>> pod.path("spec.nodeName"), pod.to_dict(partial=True)
    ('n1', {'metadata': {'name': 'a'}, 'spec': {'nodeName': 'n1'}})
    >>> pod.path("spec.containers")
    Traceback (most recent call last):
    ...
    kindex.errors.PartialObjectError: spec.containers: a transform dropped all but spec.nodeName, status.phase; ...
    """
    return KeepPaths(tuple(map(steps_of, paths)))


class KeepPaths:
    """The transform that ``keep_paths`` makes."""

    def __init__(self, paths: tuple[Steps, ...]) -> None:
        """Compile *paths*."""
        kept = (("apiVersion",), ("kind",), *(("metadata", name) for name in ALWAYS_KEPT), *paths)
        self._keeper = PathKeeper(kept)
        self.loss = Only(kept, ", ".join(map(text_of_steps, paths)) or "metadata")

    def __call__(self, obj: LazyObject) -> LazyObject:
        """Drop everything else from *obj*."""
        _require_lazy(obj, "keep_paths")
        try:
            text = self._keeper.keep(obj.raw)
        except JSON_ERRORS as error:  # text that nobody has looked at yet
            raise DecodeError(repr(obj), str(error)) from error
        return obj.reduced(text, self.loss)

    def __repr__(self) -> str:
        return f"keep_paths({self.loss.shown})"


def intern_strings(obj: Object) -> Object:
    """Share the texts that many objects have in common: namespace, labels, and the values that indexers read.

    For a LazyObject or a dict. About a microsecond; saves some 60 bytes for each text that another object has, too.

    >>> a, b = (intern_strings({"metadata": {"labels": {"app": "-".join(["web", "1"])}}}) for _ in range(2))
    >>> a["metadata"]["labels"]["app"] is b["metadata"]["labels"]["app"]
    True
    """
    if isinstance(obj, LazyObject):
        return obj.with_texts(_shared)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    shared = {name: _shared(metadata[name]) for name in ("namespace",) if name in metadata}
    labels = metadata.get("labels")
    if isinstance(labels, dict):
        shared["labels"] = {_shared(key): _shared(value) for key, value in labels.items()}
    return {**obj, "metadata": {**metadata, **shared}}


def several(transform: Transform[T] | Sequence[Transform[T]] | None) -> tuple[Transform[T], ...]:
    """Give the transforms that an argument names: none, one or some.

    >>> several(None), len(several([strip_managed_fields, intern_strings]))
    ((), 2)
    """
    if transform is None:
        return ()
    return (transform,) if callable(transform) else tuple(transform)


def drops(transform: Callable[[Any], Any], steps: Steps) -> bool:  # Any: of whatever objects
    """Tell whether a transform may drop what is at a path; one that is not kindex's may drop anything.

    >>> drops(keep_paths("spec.nodeName"), ("spec", "nodeName")), drops(keep_paths("spec.nodeName"), ("spec",))
    (False, True)
    """
    if isinstance(transform, KeepPaths):
        return transform.loss.drops(steps)
    for known, loss in _LOSSES:
        if transform is known:
            return loss is not None and loss.drops(steps)
    return True


_LOSSES: list[tuple[Callable[[Any], Any], Loss | None]] = [
    (strip_managed_fields, NO_MANAGED_FIELDS),
    (strip_last_applied, _NO_LAST_APPLIED),
    (intern_strings, None),
]


def _require_lazy(obj: object, transform: str) -> None:
    if not isinstance(obj, LazyObject):
        raise InvalidObjectError(
            f"{transform} takes LazyObjects, not {type(obj).__name__}: nothing else can say that it is partial"
        )


def _shared(text: Json) -> Json:
    """Give a text that is equal and may be shared; anything else as it is."""
    if type(text) is not str:
        return text
    shared = _TEXTS.get(text)
    if shared is None:
        if len(_TEXTS) >= _MOST_TEXTS:
            _TEXTS.clear()
        shared = _TEXTS[text] = text
    return shared


# Not sys.intern: in some releases of Python 3.12 what it has seen stays for ever.
_TEXTS: dict[str, str] = {}
_MOST_TEXTS: Final = 10_000
