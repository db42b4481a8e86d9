"""The fault matrix: which faults there are, where they strike, and what ``last_error`` says then.

A *place* is where ApiServer lets a fault happen, within a stage of an informer's life. Which fault can happen at which
place is the server's to say: what it refuses has no cell, and all else has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import attrs

from kindex.sources.errors import ErrorKind
from kindex.testing.api_server.faults import Faults

Kinds: TypeAlias = frozenset[ErrorKind | None]
"""Of the errors that ``last_error`` may name after a hit; None is no error, and then the informer is live."""


Next: TypeAlias = Literal["list", "page", "watch", "nothing"]
"""A request: the first of a list, or a WatchList; a later page; a watch; none."""


@attrs.frozen
class Ordered:
    """A fault, as it is ordered.

    Attributes:
        name: as in the document.
        kind: as ApiServer calls it.
        options: what else it is told.
        repeats: whether it can happen time after time, since the informer asks again.
    """

    name: str
    kind: Any
    options: dict[str, Any] = attrs.field(factory=dict)
    repeats: bool = True


@attrs.frozen
class Stage:
    """A time in an informer's life.

    Attributes:
        name: as in the document.
        places: of ApiServer that belong to it.
        options: which requests are hit.
        after_events: how many events a watch sends first; there are four pods.
        watch_list: whether the informer asks for initial events.
        early: whether it comes before the informer is live.
    """

    name: str
    places: tuple[str, ...]
    options: dict[str, Any]
    after_events: int = 0
    watch_list: bool = False
    early: bool = False

    @property
    def lists(self) -> bool:
        """Whether the first request of a list is under way."""
        return self.watch_list or self.name in ("page 1", "relist")


@attrs.frozen
class Cell:
    """A fault at a place."""

    ordered: Ordered
    stage: Stage
    place: str

    def __str__(self) -> str:
        return f"{self.ordered.name} at {self.stage.name}, {self.place}"

    @property
    def hits(self) -> int:
        """How often it happens, one time after another, before the informer turns to something else."""
        if not self.ordered.repeats:
            return 1
        if "410" in self.ordered.name and self.stage.name == "busy":
            return 1  # the list that follows has what the events would have brought
        # A WatchList that fails twice is given up, and so are pages whose token expires twice.
        return 2 if self.stage.watch_list or self.stage.name == "page 2" else 3

    @property
    def silent(self) -> bool:
        """Whether only a deadline tells the client."""
        return self.ordered.kind in ("stall", "slow_headers") or self._has_no_end

    @property
    def expected(self) -> Kinds:
        """What ``last_error`` may name when the informer asks again."""
        match self.ordered.kind, self.place:
            case "status" | "error", _:
                return frozenset({_OF_CODES[self.ordered.options["code"]]})
            case "reset" | "truncate" | "slow_headers", _:
                return frozenset({ErrorKind.NETWORK})
            case "garbage", _:
                return frozenset({ErrorKind.PROTOCOL})
            case "stall", "body":
                return frozenset({ErrorKind.NETWORK})
            case "stall", _:
                return frozenset({ErrorKind.SILENCE})
            case "end", "initial":
                return frozenset({ErrorKind.PROTOCOL})
            case "end", "idle" | "bookmark":  # the first one is none; those that follow at once are
                return frozenset({None, ErrorKind.SERVER})
            case "compact", "request" if self.stage.name in ("page 2", "opening"):
                return frozenset({ErrorKind.EXPIRED})
            case "lose", _ if self._has_no_end:
                return frozenset({ErrorKind.SILENCE})
            case _:
                return frozenset({None})

    @property
    def asks(self) -> Next:
        """What the informer asks for next, because of it."""
        if self.expected == {None} and self.ordered.kind != "end":
            return "nothing"
        if self.expected == {ErrorKind.EXPIRED} or self.stage.lists:
            return "list"
        return "page" if self.stage.name == "page 2" else "watch"

    @property
    def _has_no_end(self) -> bool:
        """Whether what is lost is the word that a WatchList has come to its end."""
        return self.ordered.kind == "lose" and self.stage.name == "initial end"


_OF_CODES = {
    401: ErrorKind.CREDENTIALS,
    403: ErrorKind.RIGHTS,
    410: ErrorKind.EXPIRED,
    429: ErrorKind.THROTTLED,
    500: ErrorKind.SERVER,
    504: ErrorKind.SERVER,
}

FAULTS = (
    Ordered("reset", "reset"),
    Ordered("truncate", "truncate"),
    Ordered("end", "end"),
    Ordered("stall", "stall", repeats=False),
    Ordered("slow_headers", "slow_headers", repeats=False),
    Ordered("garbage", "garbage"),
    Ordered("blank", "blank", repeats=False),
    Ordered("error 410", "error", {"code": 410}),
    Ordered("error 500", "error", {"code": 500}),
    Ordered("status 401", "status", {"code": 401}),
    Ordered("status 403", "status", {"code": 403}),
    Ordered("status 410", "status", {"code": 410}),
    Ordered("status 429", "status", {"code": 429, "retry_after": 7}),
    Ordered("status 500", "status", {"code": 500}),
    Ordered("status 504", "status", {"code": 504}),
    Ordered("compact", "compact", repeats=False),
    Ordered("lose", "lose", repeats=False),
    Ordered("repeat", "repeat", repeats=False),
)

STAGES = (
    Stage("page 1", ("request", "body"), {"verb": "list", "page": 1}, early=True),
    Stage("page 2", ("request", "body"), {"verb": "list", "page": 2}, early=True),
    Stage("initial", ("request", "initial"), {"verb": "watch"}, after_events=2, watch_list=True, early=True),
    Stage("initial end", ("initial",), {"verb": "watch"}, after_events=4, watch_list=True, early=True),
    Stage("opening", ("request",), {"verb": "watch"}, early=True),
    Stage("idle", ("idle",), {"verb": "watch"}),
    Stage("busy", ("busy",), {"verb": "watch"}, after_events=1),
    Stage("bookmark", ("bookmark",), {"verb": "watch"}),
    Stage("relist", ("request", "body"), {"verb": "list", "relist": True}),
    Stage("relist initial", ("request", "initial"), {"verb": "watch", "relist": True}, 2, watch_list=True),
)


def _cells() -> Iterator[Cell]:
    """Give each fault at each place where the server can let it happen."""
    faults = Faults(lambda: None)
    for ordered in FAULTS:
        for stage in STAGES:
            for place in stage.places:
                try:
                    faults.add(ordered.kind, stage=place)  # type: ignore[arg-type]  # it checks
                except ValueError:
                    continue
                yield Cell(ordered, stage, place)


CELLS = tuple(_cells())
