"""Layouts: what LazyObjects that were decoded alike share, so that each of them is no larger than it must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import attrs

from kindex.errors import PartialObjectError
from kindex.lazy_metadata import reader_in
from kindex.path_decoding import reader_of
from kindex.path_syntax import Steps, text_of_steps

if TYPE_CHECKING:
    from kindex.lazy import LazyObject
    from kindex.read_only import Json


# Losses are compared by identity: few are made, and each object that is reduced looks its own up.
@attrs.frozen(eq=False)
class Without:
    """What a transform did: dropped the member at some steps. Without managedFields an object is as good as whole."""

    steps: Steps

    @property
    def partial(self) -> bool:
        """Whether writing the object back would delete something."""
        return self.steps != MANAGED_FIELDS

    def drops(self, steps: Steps) -> bool:
        """Tell whether the value at *steps* is gone."""
        return steps[: len(self.steps)] == self.steps

    def __str__(self) -> str:
        return text_of_steps(self.steps)


@attrs.frozen(eq=False)
class Only:
    """What a transform did: kept only what is at some steps."""

    paths: tuple[Steps, ...]
    shown: str
    partial = True

    def drops(self, steps: Steps) -> bool:
        """Tell whether the value at *steps*, or a part of it, is gone."""
        return not any(steps[: len(kept)] == kept for kept in self.paths)

    def __str__(self) -> str:
        return f"all but {self.shown}"


Loss: TypeAlias = Without | Only


class Layout:
    """What objects that were decoded alike share: their kind, and how each path of them is read."""

    __slots__ = ("_readers", "_reduced", "api_version", "kind", "lacks", "losses", "places")

    def __init__(
        self,
        api_version: str,
        kind: str,
        lacks: bytes,
        places: Mapping[str, int],
        losses: tuple[Loss, ...] = (),
    ) -> None:
        """Say what is shared.

        Args:
            api_version: filled in from the list where the object's own text lacks it.
            kind: the same.
            lacks: the members that the text lacks, as JSON text to put in front.
            places: path -> where in ``LazyObject._fields`` its value is.
            losses: what transforms have dropped.
        """
        self.api_version = api_version
        self.kind = kind
        self.lacks = lacks
        self.places = places
        self.losses = losses
        self._readers: dict[str, Callable[[LazyObject], Json]] = {}
        self._reduced: dict[Loss, Layout] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return Layout, (self.api_version, self.kind, self.lacks, self.places, self.losses)

    @property
    def partial(self) -> bool:
        """Whether writing an object back would delete something."""
        return any(loss.partial for loss in self.losses)

    def reduced(self, loss: Loss) -> Layout:
        """Give the layout of what a transform leaves."""
        made = self._reduced.get(loss)
        if made is None:
            if loss in self.losses:
                return self
            made = Layout(self.api_version, self.kind, self.lacks, self.places, (*self.losses, loss))
            self._reduced[loss] = made
        return made

    def whole(self, text: bytes) -> bytes:
        """Give *text* with the members that it lacks."""
        if not self.lacks:
            return text
        rest = text[1:]
        return b"{%b%b%b" % (self.lacks, b"" if rest.lstrip(SPACE) == b"}" else b",", rest)

    def reader(self, path: str, steps: Steps) -> Callable[[LazyObject], Json]:
        """Give the function that reads a path of an object."""
        reader = self._readers.get(path)
        if reader is None:
            if len(self._readers) >= _MOST_READERS:  # paths with a varying name in them
                self._readers.clear()
            reader = self._readers[path] = self._reader(path, steps)
        return reader

    def has(self, steps: Steps) -> bool:
        """Tell whether all that is at a path is still there."""
        return not any(loss.drops(steps) for loss in self.losses)

    def require(self, path: str, steps: Steps) -> None:
        """Refuse to read what a transform dropped.

        Raises:
            PartialObjectError: it did.
        """
        for loss in self.losses:
            if loss.drops(steps):
                raise PartialObjectError(
                    path, str(loss), "let it keep this, or declare the indexer when the objects are decoded"
                )

    def _reader(self, path: str, steps: Steps) -> Callable[[LazyObject], Json]:
        place = self.places.get(path)
        if place is not None:
            return lambda obj: obj._fields[place]
        self.require(path, steps)
        filled = {("kind",): self.kind, ("apiVersion",): self.api_version}.get(cast("tuple[str]", steps))
        if filled:
            return lambda _: filled
        return reader_at(steps, parsed=steps[:2] != ANNOTATIONS or self.has(ANNOTATIONS))


def reader_at(steps: Steps, *, parsed: bool = True) -> Callable[[LazyObject], Json]:
    """Make the function that reads a path from what is *parsed* of an object's metadata, else from its JSON."""
    if parsed and steps[0] == "metadata" and len(steps) > 1 and steps[1] is not None:
        reader = reader_in(steps[1], steps[2:])
        if reader is not None:
            return reader
    read = reader_of(steps)
    return lambda obj: read(obj.raw)


MANAGED_FIELDS: Final = ("metadata", "managedFields")
ANNOTATIONS: Final = ("metadata", "annotations")
NO_MANAGED_FIELDS: Final = Without(MANAGED_FIELDS)
SPACE: Final = b" \t\n\r"
"""What JSON allows between its parts."""

_MOST_READERS: Final = 1024
