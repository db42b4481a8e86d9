"""JSON paths: ``spec.nodeName``, ``metadata.labels['a.b/c']``, ``spec.volumes[*].configMap.name``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from kindex.errors import PathSyntaxError
from kindex.members import map_of, member_of
from kindex.objects import annotations_of, labels_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# A member's JSON name, or None for [*]: each item of a list.
Step: TypeAlias = str | None

_NAME = re.compile(r"[\w$-]+")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


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
    steps: tuple[Step, ...]
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
            raise PathSyntaxError(_text_of_steps(steps), 0, "a path starts with a name")
        self.steps = steps
        self.text = _text_of_steps(steps)
        self.plural = None in steps
        if self.plural:
            self.values = _all_at(steps)
            self.first = _first_of_all_at(steps)
        else:
            self.first = _value_at(tuple(step for step in steps if step is not None))
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
        position = len(_text_of_steps(path.steps[: path.steps.index(None)]))
        raise PathSyntaxError(path.text, position, "[*] stands for many maps, and one is needed")
    if path.steps == ("metadata", "labels"):
        return labels_of
    if path.steps == ("metadata", "annotations"):
        return annotations_of
    first = path.first
    return lambda obj: map_of(first(obj))


def _value_at(names: tuple[str, ...]) -> Callable[[object], object]:
    """Make the reader of one value; the shapes that indexers use most have their own."""
    if len(names) == 1:
        (only,) = names
        return lambda obj: member_of(obj, only)
    if len(names) == 2:
        outer, inner = names

        def at_two(obj: object) -> object:
            part = obj.get(outer) if type(obj) is dict else member_of(obj, outer)
            return part.get(inner) if type(part) is dict else member_of(part, inner)

        return at_two

    def at_many(obj: object) -> object:
        for name in names:
            obj = obj.get(name) if type(obj) is dict else member_of(obj, name)
            if obj is None:
                return None
        return obj

    return at_many


def _only_at(first: Callable[[object], object]) -> Callable[[object], tuple[object, ...]]:
    def values(obj: object) -> tuple[object, ...]:
        value = first(obj)
        return () if value is None else (value,)

    return values


def _all_at(steps: tuple[Step, ...]) -> Callable[[object], tuple[object, ...]]:
    def values(obj: object) -> tuple[object, ...]:
        found: list[object] = [obj]
        for step in steps:
            if step is None:
                items = [item for part in found if isinstance(part, (list, tuple)) for item in part]
            else:
                items = [member_of(part, step) for part in found]
            found = [item for item in items if item is not None]
        return tuple(found)

    return values


def _first_of_all_at(steps: tuple[Step, ...]) -> Callable[[object], object]:
    all_at = _all_at(steps)
    return lambda obj: next(iter(all_at(obj)), None)


def _text_of_steps(steps: tuple[Step, ...]) -> str:
    text = ""
    for step in steps:
        if step is None:
            text += "[*]"
        elif _NAME.fullmatch(step) and not step.isdecimal():
            text += f".{step}" if text else step
        else:
            text += "['" + step.replace("\\", "\\\\").replace("'", "\\'") + "']"
    return text


@lru_cache(maxsize=1024)
def _parsed(text: str) -> JsonPath:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        step, position = _bracket(text, position) if text[position] == "[" else _dotted(text, position)
        if step is None and not steps:
            raise PathSyntaxError(text, 0, "a path starts with a name")
        steps.append(step)
    if not steps:
        raise PathSyntaxError(text, 0, "the path is empty")
    return JsonPath(*steps)


def _dotted(text: str, position: int) -> tuple[str, int]:
    """Read a name, with the dot before it unless it is the first."""
    start = position
    if position > 0:
        if text[position] != ".":
            raise PathSyntaxError(text, position, _why_not_plain(text[position]))
        start = position + 1
    name = _NAME.match(text, start)
    if name is None:
        if text.startswith("..", position):
            raise PathSyntaxError(text, position, "no recursion; a name is missing between two dots")
        if start == len(text) or text[start] in ".[":
            raise PathSyntaxError(text, start, "a name is missing here")
        raise PathSyntaxError(text, start, _why_not_plain(text[start]))
    if name[0].isdecimal():
        raise PathSyntaxError(text, start, f"no indexes; a name of digits is written ['{name[0]}']")
    return name[0], name.end()


def _why_not_plain(char: str) -> str:
    return f"{char!r} cannot stand in a plain name; quote the name, as in labels['a.b/c']"


def _bracket(text: str, position: int) -> tuple[Step, int]:
    """Read ``[*]`` or a quoted name in brackets."""
    if text.startswith("[*]", position):
        return None, position + 3
    inside = position + 1
    quoted = _QUOTED.match(text, inside)
    if quoted is None:
        raise PathSyntaxError(text, inside, _why_no_bracket(text, inside))
    if not text.startswith("]", quoted.end()):
        raise PathSyntaxError(text, quoted.end(), "']' is missing here")
    for escape in _ESCAPE.finditer(text, inside + 1, quoted.end() - 1):
        if escape[1] not in "'\"\\":
            raise PathSyntaxError(text, escape.start(), "a backslash stands only before a quote or a backslash")
    name = quoted[1] if quoted[1] is not None else quoted[2]
    return _ESCAPE.sub(r"\1", name), quoted.end() + 1


def _why_no_bracket(text: str, inside: int) -> str:
    if inside < len(text) and text[inside] in "'\"":
        return "the quote is not closed"
    content = text[inside:].partition("]")[0].strip()
    if content.startswith(("?", "(")):
        return "no filters"
    if re.fullmatch(r"-?\d+", content):
        return "no indexes; [*] is each item"
    if re.fullmatch(r"[-\d:\s]+", content):
        return "no slices; [*] is each item"
    return "[*] or a quoted name in brackets is meant to stand here"
