"""JSON paths: ``spec.nodeName``, ``metadata.labels['a.b/c']``, ``spec.volumes[*].configMap.name``."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, cast

from kindex.errors import PathSyntaxError
from kindex.lazy import LazyObject
from kindex.members import map_of, member_of
from kindex.objects import annotations_of, labels_of, text_of
from kindex.path_syntax import steps_of, text_of_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kindex.path_syntax import Step, Steps


class JsonPath:
    r"""Where in an object a value stands, in JSON names whatever the object is.

    Names are joined by dots; a name with other characters than letters, digits, ``_``, ``-``
    and ``$`` is quoted: ``['a.b/c']`` or ``["a.b/c"]``, with ``\`` before a quote or a
    backslash. ``[*]`` stands for each item of a list. There are no indexes, slices, filters
    or recursion.

    Paths are values: equal, hashed and printed by ``text``, the canonical spelling.

    Attributes:
        text: the canonical spelling.
        steps: the names in order, None for ``[*]``.
        plural: whether there is a ``[*]``, so that one object can have many values.
        first: object -> the value there, or None (of a plural path the first value); a missing
            or null step gives None. 0.2 us for two steps of dicts.
        values: object -> all values there, without nulls, in a tuple.

    >>> path = JsonPath.parse("spec.containers[*].image")
    >>> path.values({"spec": {"containers": [{"image": "a"}, {}, {"image": "b"}]}})
    ('a', 'b')
    >>> JsonPath.parse("spec.nodeName").first({"spec": {"nodeName": "n1"}})
    'n1'
    >>> str(JsonPath.parse('metadata["labels"]["a.b/c"]'))
    "metadata.labels['a.b/c']"
    """

    __slots__ = ("first", "plural", "steps", "text", "values")

    text: str
    steps: Steps
    plural: bool
    # Functions rather than methods: chosen once for the path's shape, and a call less for each object.
    first: Callable[[object], object]
    values: Callable[[object], tuple[object, ...]]

    def __init__(self, *steps: Step) -> None:
        """Make the path of these *steps*: names, and None for each item of a list.

        >>> JsonPath("metadata", "labels", "a.b/c")
        JsonPath.parse("metadata.labels['a.b/c']")
        """
        if not steps or steps[0] is None:
            raise PathSyntaxError(text_of_steps(steps), 0, "a path starts with a name")
        self.steps = steps
        self.text = text_of_steps(steps)
        self.plural = None in steps
        if self.plural:
            self.values = _all_at(steps, self.text)
            self.first = _first_of(self.values)
        else:
            self.first = _value_at(steps, self.text)
            self.values = _only_at(self.first)

    @staticmethod
    def parse(text: str) -> JsonPath:
        """Read a path from its text; the same text gives the same path, from a cache.

        O(length).

        Raises:
            PathSyntaxError: the text is no path; says where and why.

        >>> JsonPath.parse("spec.containers[0].image")
        Traceback (most recent call last):
        ...
        kindex.errors.PathSyntaxError: path 'spec.containers[0].image': no indexes; [*] is each item at position 16
        """
        if not isinstance(text, str):
            raise PathSyntaxError(repr(text), 0, "not text")
        return _parsed(str.__str__(text))

    def __str__(self) -> str:
        """Give the canonical spelling."""
        return self.text

    def __repr__(self) -> str:
        """Give the call that makes this path."""
        return f"JsonPath.parse({self.text!r})"

    def __eq__(self, other: object) -> bool:
        """Tell whether *other* is a path of the same steps."""
        return self.text == other.text if isinstance(other, JsonPath) else NotImplemented

    def __hash__(self) -> int:
        """Hash the canonical spelling."""
        return hash(self.text)

    def __reduce__(self) -> tuple[Callable[[str], JsonPath], tuple[str]]:
        """Copy and pickle by text; the compiled functions are made anew."""
        return JsonPath.parse, (self.text,)


def field_text(obj: object, path: JsonPath) -> str:
    """Give the text of the scalar at *path*, as a field selector compares it; ``""`` when absent.

    >>> field_text({"spec": {"hostNetwork": True}}, JsonPath.parse("spec.hostNetwork"))
    'true'
    """
    return text_of(path.first(obj))


def field_path(text: str) -> JsonPath:
    """Read the path of a field selector's field.

    Raises:
        PathSyntaxError: it is no path, or has a ``[*]``: its values are many, and a field selector compares one.

    >>> field_path("spec.containers[*].image")
    Traceback (most recent call last):
    ...
    kindex.errors.PathSyntaxError: path 'spec.containers[*].image': a field selector compares one value, and [*] \
stands for many; FieldIndexer(path).at(value) asks for any of them at position 15
    """
    path = JsonPath.parse(text)
    if path.plural:
        advice = "FieldIndexer(path).at(value) asks for any of them"
        raise PathSyntaxError(
            text, _star(path), f"a field selector compares one value, and [*] stands for many; {advice}"
        )
    return path


def _star(path: JsonPath) -> int:
    """Give the place of the first ``[*]``."""
    return len(text_of_steps(path.steps[: path.steps.index(None)]))


def map_at(path: JsonPath) -> Callable[[object], Mapping[str, object]]:
    """Make the reader of the string map at *path*, such as ``spec.selector``; a missing map is empty.

    What the reader gives is borrowed from the object.

    Raises:
        PathSyntaxError: the path has a ``[*]``, so there is no one map.

    >>> selector_of = map_at(JsonPath.parse("spec.selector"))
    >>> selector_of({"spec": {"selector": {"app": "web"}}}), dict(selector_of({}))
    ({'app': 'web'}, {})
    """
    if path.plural:
        raise PathSyntaxError(path.text, _star(path), "[*] stands for many maps, and one is needed")
    if path.steps == ("metadata", "labels"):
        return labels_of
    if path.steps == ("metadata", "annotations"):
        return annotations_of
    first = path.first
    return lambda obj: map_of(first(obj))


def _value_at(steps: Steps, text: str) -> Callable[[object], object]:
    """Make the reader of one value; the shapes that indexers use most have their own."""
    names = cast("tuple[str, ...]", steps)
    if len(names) == 1:
        return _at_one(names, text)
    return _at_two(names, text) if len(names) == 2 else _at_many(names, text)


def _at_one(names: tuple[str, ...], text: str) -> Callable[[object], object]:
    (only,) = names

    def at_one(obj: object) -> object:
        if type(obj) is dict:
            return obj.get(only)
        return obj.read(text, names) if type(obj) is LazyObject else member_of(obj, only)

    return at_one


def _at_two(names: tuple[str, ...], text: str) -> Callable[[object], object]:
    outer, inner = names

    def at_two(obj: object) -> object:
        if type(obj) is dict:
            part = obj.get(outer)
        elif type(obj) is LazyObject:
            return obj.read(text, names)
        else:
            part = member_of(obj, outer)
        return part.get(inner) if type(part) is dict else member_of(part, inner)

    return at_two


def _at_many(names: tuple[str, ...], text: str) -> Callable[[object], object]:
    def at_many(obj: object) -> object:
        for name in names:
            if type(obj) is dict:
                obj = obj.get(name)
            elif type(obj) is LazyObject:  # at the first step, if ever
                return obj.read(text, names)
            else:
                obj = member_of(obj, name)
            if obj is None:
                return None
        return obj

    return at_many


def _only_at(first: Callable[[object], object]) -> Callable[[object], tuple[object, ...]]:
    def values(obj: object) -> tuple[object, ...]:
        value = first(obj)
        return () if value is None else (value,)

    return values


def _all_at(steps: Steps, text: str) -> Callable[[object], tuple[object, ...]]:
    def values(obj: object) -> tuple[object, ...]:
        if type(obj) is LazyObject:
            return cast("tuple[object, ...]", obj.read(text, steps))
        found: list[object] = [obj]
        for step in steps:
            if step is None:
                items = [item for part in found if isinstance(part, (list, tuple)) for item in part]
            else:
                items = [member_of(part, step) for part in found]
            found = [item for item in items if item is not None]
        return tuple(found)

    return values


def _first_of(values: Callable[[object], tuple[object, ...]]) -> Callable[[object], object]:
    return lambda obj: next(iter(values(obj)), None)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> JsonPath:
    return JsonPath(*steps_of(text))
