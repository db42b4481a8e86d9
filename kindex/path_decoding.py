"""Compiled decoding: the values at some JSON paths, read from an object's JSON in one pass that skips the rest.

The paths become msgspec Structs, one for each object that they go through, with a member for each name that they ask
for. Every step admits any JSON type, so no object is refused for its shape; one that has, say, a text where a path goes
on is read once more through plain dicts, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from kindex.errors import PathSyntaxError
from kindex.path_syntax import text_of_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kindex.path_syntax import Step, Steps
    from kindex.read_only import Json

JSON_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for text that is no JSON: before 0.19 also the second, for text nested too deep the third."""

Made: TypeAlias = Any
"""Types made at run time, and their instances."""

SCALARS: Made = str | int | float | bool | None
NOT_OBJECTS: Made = list[msgspec.Raw] | SCALARS
"""Any JSON but an object; with a Struct beside it, any JSON."""

_UNFIT_NAME = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
"""What msgspec cannot have in the name of a member."""


plain_json: Callable[[bytes | msgspec.Raw | str], Json] = msgspec.json.Decoder().decode
"""Decode text to dicts and lists."""

members_of: Callable[[bytes | msgspec.Raw], dict[str, msgspec.Raw]] = msgspec.json.Decoder(
    dict[str, msgspec.Raw]
).decode
"""Decode the names of an object's members; their values stay text, a view of what was given."""


class PathDecoder:
    """Decodes the values at some paths, and members of the object itself that have types of their own.

    Attributes:
        paths: the paths, in the order in which ``values`` gives them.
        misfits: how many objects were read through dicts.

    >>> decoder = PathDecoder([("spec", "nodeName"), ("spec", "containers", None, "image")])
    >>> decoder.read(b'{"spec": {"nodeName": "n1", "containers": [{"image": "a"}, {"image": "b"}]}}')
    ('n1', ('a', 'b'))
    >>> decoder.read(b'{"spec": "odd"}'), decoder.misfits
    ((None, ()), 1)
    """

    def __init__(
        self, paths: Iterable[Steps], members: Sequence[tuple[str, Made, object]] = (), *, leaf_type: Made = Any
    ) -> None:
        """Compile *paths*.

        Args:
            paths: in any order; what one of them contains may be asked for by another.
            members: JSON name, type and default of members that ``decode`` gives too, under the JSON name.
            leaf_type: what the values are decoded to: JSON, or msgspec.Raw for their text.
        """
        self.misfits = 0
        asked = tuple(dict.fromkeys(paths))
        tree = _Node(leaf_type=leaf_type)
        for steps in asked:
            tree.add(steps)
        # Sorted only now, since a path may end in the middle of one that came earlier.
        simple = [steps for steps in asked if None not in steps and not tree.attributes(steps)[1]]
        other = [steps for steps in asked if steps not in simple]
        self.paths = (*simple, *other)
        self.decode: Callable[[bytes | msgspec.Raw], Made] = msgspec.json.Decoder(tree.struct(members)).decode
        self._simple = _getter([".".join(map(str, tree.attributes(steps)[0])) for steps in simple])
        self._other = [_reader(*tree.attributes(steps), plural=None in steps) for steps in other]

    def read(self, text: bytes) -> tuple[Json, ...]:
        """Decode the values at all paths: of a plural path all, in a tuple; of another its value, or None.

        Raises:
            JSON_ERRORS: *text* is not the JSON of an object.
        """
        return self.values(self.decode(text), text)

    def values(self, decoded: Made, text: bytes) -> tuple[Json, ...]:
        """Give the values at all paths of what ``decode`` made of *text*."""
        try:
            values = self._simple(decoded)
        except AttributeError:  # a null, or another type, where a path goes on
            self.misfits += 1
            obj = plain_json(text)
            return tuple(value_at(obj, steps) for steps in self.paths)
        return (*values, *(read(decoded, text) for read in self._other)) if self._other else values


def value_at(obj: object, steps: Steps) -> Json:
    """Read the value at a path of plain JSON, None if there is none; of a plural path all values, in a tuple.

    >>> value_at({"a": [{"b": 1}, {}, {"b": 2}]}, ("a", None, "b")), value_at({"a": "x"}, ("a", "b"))
    ((1, 2), None)
    """
    found = _all_in([obj], steps, _member)
    if None in steps:
        return tuple(found)
    return found[0] if found else None


@lru_cache(maxsize=256)
def reader_of(steps: Steps) -> Callable[[bytes], Json]:
    """Make the function that reads one path from an object's JSON, and skips the rest of it."""
    decoder = PathDecoder([steps])
    return lambda text: decoder.read(text)[0]


def member_at(text: bytes, name: str) -> Json:
    """Decode one member of an object.

    Raises:
        KeyError: it has none of this name.
        JSON_ERRORS: *text* is not the JSON of an object.
    """
    decode = _member_decoder(name)
    if decode is None:
        return plain_json(members_of(text)[name])
    value = decode(text).value
    if value is msgspec.UNSET:
        raise KeyError(name)
    return value


@lru_cache(maxsize=256)
def _member_decoder(name: str) -> Callable[[bytes], Made] | None:
    if not isinstance(name, str) or _UNFIT_NAME.search(name):
        return None
    struct = msgspec.defstruct("Member", [("value", Any, msgspec.UNSET)], rename={"value": name})
    return msgspec.json.Decoder(struct).decode


class PathKeeper:
    """Keeps what is at some paths of an object's JSON, as it stands there, and drops the rest.

    >>> keeper = PathKeeper([("spec", "nodeName"), ("a", None, "b")])
    >>> keeper.keep(b'{"spec": {"nodeName": "n1", "hostNetwork": true}, "a": [{"b": 1}, {"c": 2}]}')
    b'{"spec":{"nodeName":"n1"},"a":[{"b":1},{}]}'
    """

    def __init__(self, paths: Iterable[Steps]) -> None:
        """Compile *paths*.

        Raises:
            PathSyntaxError: a name in one of them has a quote, a backslash or a control character.
        """
        tree = _Node(leaf_type=msgspec.Raw, missing=msgspec.UNSET)
        for steps in paths:
            for step in steps:
                if step is not None and _UNFIT_NAME.search(step):
                    raise PathSyntaxError(text_of_steps(steps), 0, f"a path with the name {step!r} cannot be kept")
            tree.add(steps)
        self._decode = msgspec.json.Decoder(tree.struct()).decode

    def keep(self, text: bytes) -> bytes:
        """Give what is kept of an object.

        Raises:
            JSON_ERRORS: *text* is not the JSON of an object.
        """
        return msgspec.json.encode(self._decode(text))


class _Node:
    """A place in the tree of all paths."""

    def __init__(self, *, leaf_type: Made = Any, missing: object = None) -> None:
        self._leaf_type = leaf_type
        self._missing = missing
        self.names: dict[str, _Node] = {}
        self.items: _Node | None = None
        self.leaf = False

    def add(self, steps: Steps) -> None:
        """Grow the branch of a path, up to a name that no Struct can have: from there on dicts are read."""
        node = self
        for step in steps:
            if step is None:
                if node.items is None:
                    node.items = self._new()
                node = node.items
            elif _UNFIT_NAME.search(step):
                break
            else:
                node = node.names.setdefault(step, self._new())
        node.leaf = True

    def _new(self) -> _Node:
        return _Node(leaf_type=self._leaf_type, missing=self._missing)

    def attributes(self, steps: Steps) -> tuple[list[Step], Steps]:
        """Give the attributes that lead along a path, None for each item, and the steps that are left at a leaf."""
        node = self
        attributes: list[Step] = []
        for position, step in enumerate(steps):
            if node.leaf:
                return attributes, steps[position:]
            if step is None:
                assert node.items is not None
                attributes.append(None)
                node = node.items
            else:
                attributes.append(f"_{list(node.names).index(step)}")
                node = node.names[step]
        return attributes, ()

    def struct(self, members: Sequence[tuple[str, Made, object]] = ()) -> Made:
        """Make the Struct of an object at this place."""
        fields = [(f"_{number}", *child.type_and_default()) for number, child in enumerate(self.names.values())]
        rename = {f"_{number}": name for number, name in enumerate(self.names)}
        assert self.names.keys().isdisjoint(name for name, _, _ in members)
        # gc=False: nothing decoded from JSON can refer back to it.
        return msgspec.defstruct("Decoded", [*members, *fields], rename=rename, frozen=True, gc=False)

    def type_and_default(self) -> tuple[Made, Made]:
        """Give the type of a value at this place, and what stands for a missing one."""
        if self.leaf:
            return self._leaf_type, self._missing
        struct = self.struct()
        items: Made = msgspec.Raw if self.items is None else self.items.type_and_default()[0]
        # Without members the Struct skips an object. As a default it lets one getter go through what is missing.
        default = struct() if self.names and self._missing is None else self._missing
        return struct | GenericAlias(list, (items,)) | SCALARS, default


def _getter(attributes: list[str]) -> Callable[[Made], tuple[Json, ...]]:
    if not attributes:
        return lambda _: ()
    get = attrgetter(*attributes)
    return get if len(attributes) > 1 else lambda decoded: (get(decoded),)


def _reader(attributes: Sequence[Step], rest: Steps, *, plural: bool) -> Callable[[Made, bytes], Json]:
    """Make the reader of a path that has a [*] or goes on at another path's end."""
    start, *gets = _getters(attributes)

    def read(decoded: Made, text: bytes) -> Json:
        try:
            found = [start(decoded)]
            for get in gets:
                found = [get(item) for part in found if type(part) is list for item in part]
        except AttributeError:  # an odd type in between
            found = _all_in([decoded], attributes, _attribute)
        if not attributes:  # the first name is one that no Struct can have
            found = [plain_json(text)]
        found = _all_in(found, rest, _member) if rest else [value for value in found if value is not None]
        if plural:
            return tuple(found)
        return found[0] if found else None

    return read


def _getters(attributes: Sequence[Step]) -> list[Callable[[object], object]]:
    """Make a getter of all attributes up to each None, which is each item, and one of the rest."""
    parts: list[list[str]] = [[]]
    for attribute in attributes:
        if attribute is None:
            parts.append([])
        else:
            parts[-1].append(attribute)
    return [attrgetter(".".join(part)) if part else _itself for part in parts]


def _itself(part: object) -> object:
    return part


def _all_in(found: list[object], steps: Sequence[Step], part_of: Callable[[object, str], object]) -> list[object]:
    """Follow *steps* from every value found so far; nulls are missing."""
    for step in steps:
        if step is None:
            found = [item for part in found if type(part) is list for item in part if item is not None]
        else:
            found = [value for part in found if (value := part_of(part, step)) is not None]
    return found


def _attribute(part: object, name: str) -> object:
    return getattr(part, name, None)


def _member(part: object, name: str) -> object:
    return part.get(name) if type(part) is dict else None
