"""Changes of an answer as text: a row, a line or a document for each, as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, assert_never

import attrs
import msgspec

from kindex.cli.printing import Output
from kindex.cli.tables import lines_of, rows_of, widths_of
from kindex.cli.yaml_text import dump_yaml
from kindex.deltas import Added, Deleted, Updated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from kindex.cli.kinds import Kind
    from kindex.deltas import Delta

RawObject: TypeAlias = dict[str, Any]  # Any: JSON

_HEADING: Final = "EVENT"
_WIDEST: Final = len("MODIFIED")


@attrs.frozen
class Happening:
    """An object that entered the answer, changed in it, or left it, in the words of a watch."""

    event: str
    obj: RawObject

    @classmethod
    def of(cls, delta: Delta[RawObject]) -> Happening:
        """Read a delta of the answer.

        >>> from kindex import ObjectKey
        >>> Happening.of(Deleted(ObjectKey("prod", "web-1"), old={"kind": "Pod"}))
        Happening(event='DELETED', obj={'kind': 'Pod'})
        """
        match delta:
            case Added(new=obj):
                return cls("ADDED", obj)
            case Updated(new=obj):
                return cls("MODIFIED", obj)
            case Deleted(old=obj):
                return cls("DELETED", obj)
            case _:
                assert_never(delta)


class ChangePrinter:
    """Makes text of what happens to one kind. Columns only grow wider, so that lines stay below each other."""

    def __init__(self, kind: Kind, output: Output, *, namespaces: bool, resources: bool, headers: bool) -> None:
        """Prepare.

        Args:
            kind: of the objects.
            output: the form.
            namespaces: whether tables have a column for them.
            resources: whether names have the kind before them.
            headers: whether tables begin with a line of headings.
        """
        self._kind = kind
        self._output = output
        self._namespaces = namespaces
        self._resources = resources
        self._headers = headers
        self._widths: list[int] = []

    def printed(self, happenings: Sequence[Happening], *, now: datetime, heading: bool) -> Iterator[str]:
        """Give the text, in pieces that end with a line; *heading* says whether the headings are due."""
        match self._output:
            case Output.JSON:
                for each in happenings:
                    yield msgspec.json.encode({"type": each.event, "object": each.obj}).decode() + "\n"
            case Output.YAML:
                for each in happenings:
                    yield "---\n" + dump_yaml({"type": each.event, "object": each.obj})
            case Output.NAME:
                for each in happenings:
                    yield f"{each.event.ljust(_WIDEST)}   {self._kind.resource}/{each.obj['metadata']['name']}\n"
            case Output.TABLE | Output.WIDE:
                headers = heading and self._headers
                cells = rows_of(
                    [each.obj for each in happenings],
                    self._kind,
                    now=now,
                    wide=self._output is Output.WIDE,
                    namespaces=self._namespaces,
                    resources=self._resources,
                    headers=headers,
                )
                events = [_HEADING] * headers + [each.event for each in happenings]
                rows = [[event, *row] for event, row in zip(events, cells, strict=True)]
                self._widths = widths_of(rows, self._widths or [_WIDEST, *[0] * (len(rows[0]) - 1)])
                yield "".join(f"{line}\n" for line in lines_of(rows, self._widths))
            case _:
                assert_never(self._output)
