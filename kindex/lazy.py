"""LazyObject: an object's metadata, parsed, beside its JSON bytes, which are decoded where they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, final

import msgspec
from msgspec import UNSET

from kindex.errors import DecodeError, InvalidObjectError, PartialObjectError, ReadOnlyError
from kindex.json_text import without_member
from kindex.keys import ObjectKey
from kindex.layouts import ANNOTATIONS, MANAGED_FIELDS, NO_MANAGED_FIELDS, SPACE, Layout, Loss, reader_at
from kindex.lazy_metadata import DROPPED, Metadata, changed, refuse_edits, with_texts, without_managed_fields
from kindex.path_decoding import JSON_ERRORS, NOT_OBJECTS, PathDecoder, member_at, members_of, plain_json
from kindex.path_syntax import steps_of, text_of_steps
from kindex.read_only import Json, read_only

if TYPE_CHECKING:
    from kindex.path_syntax import Steps
    from kindex.paths import JsonPath

    _Mapping = Mapping[str, Json]
else:

    class _Mapping:
        """What Mapping gives its subclasses. A Struct cannot be one in all versions of msgspec; it is registered."""

        __slots__ = ()
        get, keys, items, values = Mapping.get, Mapping.keys, Mapping.items, Mapping.values

        def __setitem__(self, name: object, _value: object) -> NoReturn:
            raise ReadOnlyError(f"{name!r}")

        def __delitem__(self, name: object) -> NoReturn:
            raise ReadOnlyError(f"{name!r}")


T = TypeVar("T")


@final
class LazyObject(msgspec.Struct, _Mapping, frozen=True, gc=False, eq=False):
    """An object as the server's JSON: metadata is parsed, the rest is bytes until it is asked for.

    A read-only mapping of the JSON. Metadata is at hand; anything else is decoded at each access, in about the time of
    one pass over the bytes, and not remembered. What is lent cannot be edited; ``to_dict()`` gives a dict that can.
    Equal to another one, or to a dict, of the same JSON value; not hashable.

    Takes about 1.2 times its JSON, and is nothing that the garbage collector visits.

    Made by a ``Decoder``, ``from_json`` or ``from_dict``.

    Attributes:
        raw: the bytes as they came, so without kind and apiVersion if they came in a list; ``to_json()`` has them.
        metadata: name, namespace, uid, labels and more, under the official client's names.

    >>> text = b'{"metadata":{"namespace":"prod","name":"web-1","labels":{"app":"web"}},"spec":{"nodeName":"n1"}}'
    >>> pod = LazyObject.from_json(text, api_version="v1", kind="Pod")
    >>> pod.key, pod.kind, pod.metadata.labels["app"], pod["spec"]["nodeName"], pod.path("status.phase")
    (ObjectKey(namespace='prod', name='web-1'), 'Pod', 'web', 'n1', None)
    >>> pod["spec"]["nodeName"] = "n2"
    Traceback (most recent call last):
    ...
    kindex.errors.ReadOnlyError: a map of a LazyObject is read-only; edit a copy: obj.to_dict() gives a fresh dict
    """

    raw: bytes
    metadata: Metadata
    _layout: Layout
    _fields: tuple[Json, ...]

    @staticmethod
    def from_json(text: bytes | str, *, api_version: str = "", kind: str = "") -> LazyObject:
        """Make one of JSON text; *api_version* and *kind* stand in where the text has none.

        Raises:
            DecodeError: it is not the JSON of an object.

        >>> LazyObject.from_json('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}')
        <LazyObject v1 Pod a, 62 bytes>
        """
        try:
            encoded = text.encode() if isinstance(text, str) else bytes(text)
        except UnicodeEncodeError as error:
            raise DecodeError("an object", str(error)) from error
        return _PLAIN.take(encoded, api_version, kind)

    @staticmethod
    def from_dict(obj: Mapping[str, Json]) -> LazyObject:
        """Make one of plain JSON data.

        Raises:
            DecodeError: it has something that is not JSON.

        >>> LazyObject.from_dict({"metadata": {"name": "a"}}).key
        ObjectKey(namespace='', name='a')
        """
        try:
            text = msgspec.json.encode(obj if type(obj) is dict else dict(obj))
        except (TypeError, ValueError, RecursionError) as error:
            raise DecodeError("a dict", str(error)) from error
        return _PLAIN.take(text)

    # Metadata

    @property
    def key(self) -> ObjectKey:
        """Namespace and name.

        Raises:
            InvalidObjectError: there is no name.
        """
        name, namespace = name_in(self)
        if type(name) is str and name and (namespace is None or type(namespace) is str):
            return tuple.__new__(ObjectKey, (namespace or "", name))  # half the cost of ObjectKey(...)
        raise InvalidObjectError(f"{self!r} has no metadata.name that is text, and so no key")

    @property
    def name(self) -> str:
        """The name, or ``""``."""
        return self.metadata.name or ""

    @property
    def namespace(self) -> str:
        """The namespace, or ``""`` for an object of cluster scope."""
        return self.metadata.namespace or ""

    @property
    def uid(self) -> str:
        """The UID, or ``""``."""
        return self.metadata.uid or ""

    @property
    def resource_version(self) -> str:
        """The resource version, or ``""``."""
        return self.metadata.resource_version or ""

    @property
    def kind(self) -> str:
        """The kind, its own or that of the list it came in; ``""`` if neither is known."""
        return self._layout.kind

    @property
    def api_version(self) -> str:
        """The API version, as ``kind``."""
        return self._layout.api_version

    @property
    def partial(self) -> bool:
        """Whether a transform dropped parts, so that writing the object back would delete them."""
        return self._layout.partial

    # The mapping

    def __getitem__(self, name: str) -> Json:
        layout = self._layout
        if name == "kind" and layout.kind:
            return layout.kind
        if name == "apiVersion" and layout.api_version:
            return layout.api_version
        layout.require(name, (name,))
        try:
            return read_only(member_at(self.raw, name))
        except JSON_ERRORS as error:
            raise self._wrong(name, error) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __len__(self) -> int:
        return len(self._members())

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self._layout.require(name, (name,))
        return name in self._members()

    __hash__ = None  # type: ignore[assignment]  # as a mapping's

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyObject):
            if self.raw == other.raw and self._layout.lacks == other._layout.lacks:
                return True
            return bool(self._plain() == other._plain())
        return self._plain() == other if isinstance(other, dict) else NotImplemented

    def path(self, path: str | JsonPath) -> Json:
        """Read the value at a JSON path, None if there is none; with ``[*]`` in it all values, in a tuple.

        Raises:
            PathSyntaxError: it is no path.
            PartialObjectError: a transform dropped it.

        >>> job = LazyObject.from_dict({"spec": {"containers": [{"image": "a"}, {"image": "b"}]}})
        >>> job.path("spec.containers[*].image")
        ('a', 'b')
        """
        steps, text = _parsed(path if type(path) is str else str(path))
        value = self.read(text, steps)
        return tuple(map(read_only, value)) if None in steps else read_only(value)

    def read(self, path: str, steps: Steps) -> Json:
        """Read a path that is parsed, as index functions do: what is given is borrowed, and may be the object's own."""
        try:
            return self._layout.reader(path, steps)(self)
        except JSON_ERRORS as error:
            raise self._wrong(path, error) from error

    # Whole

    def to_json(self, *, partial: bool = False) -> bytes:
        """Give the whole JSON, with kind and apiVersion.

        Args:
            partial: give what is left of an object of which a transform dropped parts.

        Raises:
            PartialObjectError: parts were dropped, and *partial* does not say that this is known.
        """
        if self._layout.partial and not partial:
            losses = " and ".join(map(str, self._layout.losses))
            raise PartialObjectError(
                repr(self), losses, "written back, it would delete that; partial=True gives what is left"
            )
        return self._layout.whole(self.raw)

    def to_dict(self, *, partial: bool = False) -> dict[str, Json]:
        """Give a fresh dict of the whole JSON, to be edited at will.

        Raises:
            PartialObjectError: as ``to_json``.

        >>> pod = LazyObject.from_json(b'{"metadata": {"name": "a"}}', api_version="v1", kind="Pod").to_dict()
        >>> pod["metadata"]["labels"] = {"app": "web"}
        >>> pod
        {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a', 'labels': {'app': 'web'}}}
        """
        self.to_json(partial=partial)
        return self._plain()

    def to(self, cls: type[T], *, partial: bool = False) -> T:
        """Give the object as a *cls*: a msgspec Struct, dataclass, attrs class, TypedDict or pydantic model.

        Raises:
            DecodeError: the object is not one.
            PartialObjectError: as ``to_json``.

        >>> import dataclasses
        >>> @dataclasses.dataclass
        ... class Named:
        ...     kind: str
        >>> LazyObject.from_dict({"kind": "Pod", "metadata": {"name": "a"}}).to(Named)
        Named(kind='Pod')
        """
        text = self.to_json(partial=partial)
        try:
            made: T = decoder_to(cls)(text)  # type: ignore[arg-type]  # classes are hashable
        except (*JSON_ERRORS, ValueError) as error:  # pydantic's is a ValueError
            raise DecodeError(f"{self!r} as {getattr(cls, '__name__', cls)}", str(error)) from error
        return made

    def to_model(self, name: str, *, partial: bool = False) -> Any:  # noqa: ANN401 - a class of the client, by its name
        """Give the object as a model of the official client, such as ``"V1Pod"``; imports ``kubernetes``.

        Raises:
            DecodeError: the model refuses it, or the client has none of this name.
            PartialObjectError: as ``to_json``.
        """
        # By name: only sources import a client, and they are above this module.
        models = import_module("kindex.sources.official_models")
        return models.model_of(self.to_json(partial=partial), name)

    def _plain(self) -> dict[str, Json]:
        try:
            plain: dict[str, Json] = plain_json(self._layout.whole(self.raw))
        except JSON_ERRORS as error:
            raise self._wrong("a part", error) from error
        return plain

    def _members(self) -> dict[str, msgspec.Raw]:
        return members_of(self._layout.whole(self.raw))

    def _wrong(self, what: str, error: Exception) -> DecodeError:
        """Say what is wrong with text that was skipped when the object came."""
        return DecodeError(f"{what} of {self!r}", str(error))

    # Transforms

    def without_managed_fields(self) -> LazyObject:
        """Give the same object without ``metadata.managedFields``; it is not partial, since the server keeps them."""
        value, metadata = without_managed_fields(self.metadata)
        raw = without_member(self.raw, MANAGED_FIELDS, value) if value else self.raw
        return LazyObject(raw, metadata, self._layout.reduced(NO_MANAGED_FIELDS), self._fields)

    def with_texts(self, shared: Callable[[Json], Json]) -> LazyObject:
        """Give the same object with *shared* texts for its namespace, its labels, and the values read for indexers."""
        fields = tuple(map(shared, self._fields)) if self._fields else self._fields
        return LazyObject(self.raw, with_texts(self.metadata, shared), self._layout, fields)

    def reduced(self, text: bytes, loss: Loss) -> LazyObject:
        """Give the same object with another *text*, from which *loss* is missing; values read for indexers stay."""
        return _restored(text, self._layout.reduced(loss), self._fields)

    def __copy__(self) -> LazyObject:
        return self

    def __deepcopy__(self, _memo: object) -> LazyObject:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.raw, self._layout, self._fields)

    def __repr__(self) -> str:
        key = f"{self.namespace}/{self.name}" if self.namespace else self.name
        what = " ".join(filter(None, (self.api_version, self.kind, str(key))))
        return f"<LazyObject {what}, {len(self.raw):,} bytes{', partial' if self.partial else ''}>"


Mapping.register(LazyObject)  # pyright: ignore[reportAttributeAccessIssue] - Mapping is an ABC
refuse_edits(LazyObject)


name_in: Callable[[LazyObject], tuple[Json, Json]] = attrgetter("metadata.name", "metadata.namespace")
"""Give name and namespace as they are in JSON: text or null, or whatever stands there."""

labels_in: Callable[[LazyObject], Json] = attrgetter("metadata._labels")
"""Give the labels as they are in JSON: a dict that is the object's own, or null, or whatever stands there."""


class Intake:
    """Makes LazyObjects of JSON text, with the values at some paths read in the same pass.

    Attributes:
        misfits: how many objects were not of the shape that metadata and the paths expect; they are read right, slowly.
    """

    def __init__(self, paths: Iterable[Steps] = (), *, taken: Iterable[Steps] = ()) -> None:
        """Compile *paths*.

        Args:
            paths: what is to be read in the same pass. What is in the metadata is at hand anyway, and left out.
            taken: paths into the metadata that are to be read now, since a transform will drop them.
        """
        members = [("metadata", Metadata | NOT_OBJECTS, _NO_METADATA), ("apiVersion", Any, UNSET), ("kind", Any, UNSET)]
        self._decoder = PathDecoder([steps for steps in paths if steps[0] not in _HELD], members)
        taken = tuple(taken)
        self._taken = [reader_at(steps) for steps in taken]
        order = (*self._decoder.paths, *taken)
        self._places = {text_of_steps(steps): place for place, steps in enumerate(order)}
        self._layouts: dict[tuple[object, ...], Layout] = {}
        self._misfits = 0

    @property
    def misfits(self) -> int:
        """How many objects were read the slow way."""
        return self._misfits + self._decoder.misfits

    def take(self, text: bytes, api_version: str = "", kind: str = "") -> LazyObject:
        """Make one of *text*, which it keeps; *api_version* and *kind* stand in where the text has none.

        Raises:
            DecodeError: it is not the JSON of an object.
        """
        text = text.strip(SPACE)
        try:
            found = self._decoder.decode(text)
            metadata = found.metadata
            if type(metadata) is not Metadata:
                self._misfits += 1
                metadata = _NO_METADATA
            fields = self._decoder.values(found, text) if self._places else ()
        except JSON_ERRORS as error:
            raise DecodeError("an object", str(error)) from error
        own = (found.apiVersion, found.kind)
        try:
            layout = self._layouts[own, api_version, kind]
        except (KeyError, TypeError):  # TypeError: a map or a list where a text belongs
            given = zip(_TYPE, (api_version, kind), own, strict=True)
            odd = [name for name, instead, there in given if instead and is_odd(there)]
            if odd:
                self._misfits += 1
                return self.take(_without_members(text, odd), api_version, kind)
            layout = self._layout_for(own, api_version, kind)
        obj = LazyObject(text, metadata, layout, fields)
        return self._with_taken(obj) if self._taken else obj

    def _with_taken(self, obj: LazyObject) -> LazyObject:
        try:
            taken = [read(obj) for read in self._taken]
        except JSON_ERRORS as error:
            raise DecodeError("an object", str(error)) from error
        return LazyObject(obj.raw, obj.metadata, obj._layout, (*obj._fields, *taken))  # noqa: SLF001 - this module's own

    def _layout_for(self, own: tuple[object, object], api_version: str, kind: str) -> Layout:
        """Make the layout of objects whose text has an API version and kind of its *own*, or lacks them."""
        texts = [text if isinstance(text, str) else "" for text in own]
        filled = [text if there is UNSET else "" for text, there in zip((api_version, kind), own, strict=True)]
        lacks = msgspec.json.encode({name: text for name, text in zip(_TYPE, filled, strict=True) if text})[1:-1]
        layout = Layout(filled[0] or texts[0], filled[1] or texts[1], lacks, self._places)
        if layout.kind == "Table":
            raise DecodeError("a Table", NO_TABLE)
        if not any(map(is_odd, own)):
            if len(self._layouts) >= _MOST_LAYOUTS:  # whoever sends so many kinds may send more
                self._layouts.clear()
            self._layouts[own, api_version, kind] = layout
        return layout


def is_odd(text: object) -> bool:
    """Tell whether a kind or API version is there, and is no text that says something."""
    return text is not UNSET and (not isinstance(text, str) or not text)


def _without_members(text: bytes, names: Collection[str]) -> bytes:
    return msgspec.json.encode({name: value for name, value in members_of(text).items() if name not in names})


def _restored(text: bytes, layout: Layout, fields: tuple[Json, ...]) -> LazyObject:
    metadata = _PLAIN.take(text).metadata
    if not layout.has(ANNOTATIONS):
        metadata = changed(metadata, _annotations=DROPPED)
    return LazyObject(text, metadata, layout, fields)


@lru_cache(maxsize=1024)
def _parsed(path: str) -> tuple[Steps, str]:
    steps = steps_of(path)
    return steps, text_of_steps(steps)


@lru_cache(maxsize=64)
def decoder_to(cls: type[T]) -> Callable[[bytes], T]:
    """Make the function that decodes JSON text to a *cls*: pydantic's own, or msgspec's."""
    validate = getattr(cls, "model_validate_json", None)
    decode: Callable[[bytes], T] = validate if validate is not None else msgspec.json.Decoder(cls).decode
    return decode


NO_TABLE: Final = "its rows are for people to read; ask for application/json without as=Table"

_TYPE = ("apiVersion", "kind")
_HELD = ("metadata", *_TYPE)
_MOST_LAYOUTS = 1024
_NO_METADATA = Metadata()
_PLAIN = Intake()
