"""Keeping: in what form an informer keeps objects, and so how it decodes what a server sends.

The values at the paths that indexers read are taken while an object is decoded, before transforms drop anything. An
indexer that is added later finds what the transforms have left; where that is not enough, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast

import attrs
import msgspec

from kindex.decoding import Decoder, DictDecoder, LazyDecoder, OnDecodeError, TypeDecoder
from kindex.errors import DecodeError, IndexerError
from kindex.indexers.base import AnyIndexer
from kindex.indexers.reading import paths_read
from kindex.informer.settings import SettingError
from kindex.keys import ObjectKey
from kindex.layouts import Only
from kindex.lazy import LazyObject, decoder_to
from kindex.path_syntax import steps_of
from kindex.transforms import Transform, drops, several, strip_managed_fields

T = TypeVar("T")

Objects: TypeAlias = Literal["lazy", "dict", "metadata"]


class LeftOut(NamedTuple):
    """An object that is none of the type that is kept, where such are left out."""

    key: ObjectKey | None
    """None if it has no name."""
    error: DecodeError


TakeIn: TypeAlias = Callable[[Any], T | LeftOut]
"""Makes of what a source gives what is kept. Any: sources give what they like."""


@attrs.frozen(kw_only=True)
class Keeping(Generic[T]):
    """In what form objects are kept; two informers may share their objects if theirs are equal.

    Attributes:
        objects: ``"lazy"``, ``"dict"`` or ``"metadata"``; None: lazy, or as a Source object gives them.
        decode: the type that is kept instead.
        on_decode_error: what becomes of an object that is not of this type.
        strip: a transform that comes before the others; None for none.
        transform: what is done to each object before it is kept.
    """

    objects: Objects | None = None
    decode: type[T] | None = None
    on_decode_error: OnDecodeError = "raise"
    strip: Transform[Any] | None = strip_managed_fields  # Any: a LazyObject or a dict
    transform: tuple[Transform[Any], ...] = attrs.field(default=(), converter=several)  # Any: whatever is kept

    def __attrs_post_init__(self) -> None:
        if self.objects not in (None, "lazy", "dict", "metadata"):
            raise SettingError("objects", self.objects, "'lazy', 'dict' or 'metadata'")
        if self.on_decode_error not in ("raise", "skip"):
            raise SettingError("on_decode_error", self.on_decode_error, "'raise' or 'skip'")
        if self.decode is not None and (self.objects is not None or self.transform):
            raise SettingError("decode", self.decode, "left out beside objects= and transform=, for which it stands")
        if self.on_decode_error == "skip" and self.decode is None:
            raise SettingError("on_decode_error", "skip", "for decode= alone: anything else takes what is an object")
        if self.decode is not None:
            _check_decodable(self.decode)

    def check(self, indexers: Iterable[AnyIndexer[Any]], at_hand: Collection[str] | None = None) -> None:
        """Refuse indexers that would find nothing of what they read.

        Args:
            indexers: of whatever objects.
            at_hand: paths whose values every object has had taken before its transforms; None while there is no object
                yet, so that all will be taken.

        Raises:
            IndexerError: it is not kept, or may not be; the sentence says why.
        """
        for indexer in indexers:
            for path in paths_read(indexer):
                if self.objects == "metadata" and _ONLY_METADATA.drops(steps_of(path)):
                    raise IndexerError(f'indexer {indexer.name!r} reads {path}; objects="metadata" keeps no such thing')
                if self._is_lazy and at_hand is not None and path not in at_hand:
                    self._check_kept(indexer, path)

    def decoder(self, paths: Iterable[str]) -> Decoder[T]:
        """Make a decoder that takes the values at *paths*, where it can, before transforms are at work."""
        if self.decode is not None:
            return TypeDecoder(self.decode, on_decode_error=self.on_decode_error)
        if self.objects == "dict":
            return cast("Decoder[T]", DictDecoder(transform=self._transforms))
        transforms = self._transforms if self.objects != "metadata" else (*self._transforms, _without_the_rest)
        return cast("Decoder[T]", LazyDecoder(paths, transform=transforms))

    def take_in(self, decoder: Decoder[T]) -> TakeIn[T] | None:
        """Make the function for the objects of a Source object, by its *decoder*; None if they are kept as they are."""
        if not self.as_given:
            return partial(_decoded, decoder)
        if self.strip is None and not self.transform:
            return None
        strip, transforms = self.strip, self.transform

        def take_in(obj: Any) -> T:  # noqa: ANN401 - sources give what they like
            if strip is not None and type(obj) in (dict, LazyObject):
                obj = strip(obj)
            for transform in transforms:
                obj = transform(obj)
            return cast("T", obj)

        return take_in

    @property
    def as_given(self) -> bool:
        """Whether the objects of a Source object are kept in the form in which it gives them."""
        return self.objects is None and self.decode is None

    @property
    def _is_lazy(self) -> bool:
        return self.decode is None and self.objects != "dict"

    @property
    def _transforms(self) -> tuple[Transform[Any], ...]:
        return self.transform if self.strip is None else (self.strip, *self.transform)

    def _check_kept(self, indexer: AnyIndexer[Any], path: str) -> None:
        for transform in self._transforms:
            if drops(transform, steps_of(path)):
                raise IndexerError(
                    f"indexer {indexer.name!r} reads {path}, which transform"
                    f" {getattr(transform, '__name__', transform)} may have dropped from objects that are there;"
                    " declare it where the informer is made: Informer(..., indexers=[...])"
                )


_ONLY_METADATA = Only((("apiVersion",), ("kind",), ("metadata",)), "metadata")


def _without_the_rest(obj: LazyObject) -> LazyObject:
    """Let an object of which the server sent the metadata alone say so: what it lacks is not absent, but not here."""
    return obj.reduced(obj.raw, _ONLY_METADATA)


def _decoded(decoder: Decoder[T], obj: object) -> T | LeftOut:
    text = _json_of(obj)
    try:
        return decoder.decode(text)
    except DecodeError as error:
        left_out = decoder.leave_out(text)
        if left_out is None:
            raise
        return LeftOut(left_out.key if left_out.name else None, error)


def _check_decodable(cls: type) -> None:
    """Refuse a type that nothing can be decoded to: each list would fail, and be tried again, for ever."""
    try:
        decoder_to(cls)
    except Exception as error:
        raise SettingError("decode", cls, f"a type that JSON can be decoded to ({error})") from error


def _json_of(obj: object) -> bytes:
    return obj.to_json(partial=True) if isinstance(obj, LazyObject) else msgspec.json.encode(obj)
