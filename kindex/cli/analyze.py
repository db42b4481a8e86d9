"""``kindex analyze``: what indexing each label would cost, and whether it is worth it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

import attrs
import msgspec
from rich.text import Text

from kindex.budgets import Budget
from kindex.cli.query import indexers_of
from kindex.errors import QueryError
from kindex.forecasts import IndexForecast, forecast, size_text
from kindex.indexers.fields import FieldIndexer
from kindex.indexers.labels import ANNOTATIONS, AnnotationIndexer, LabelIndexer
from kindex.near_unique import NEAR_UNIQUE
from kindex.selectors import validate_label_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kindex.cli.kinds import Kind
    from kindex.cli.query import Kinds, RawObject
    from kindex.indexers.base import AnyIndexer

_SMALL: Final = 100  # objects; so few are looked at one by one in a tenth of a millisecond
_CONSTANT: Final = 0.9  # of all objects
_RARE: Final = 0.01  # of all objects
_FEW: Final = 2  # objects a value
_ALL: Final = "all"
_ANY_PRICE: Final = Budget(max_bytes="1Ti")  # nothing is built into a store here


class AnalysisOutput(StrEnum):
    """The forms of an analysis."""

    TABLE = "table"
    JSON = "json"


class Verdict(StrEnum):
    """What to do about a key."""

    INDEX = "index"
    CONSTANT = "constant"
    NEAR_UNIQUE = "near-unique"
    RARE = "rare"
    SMALL = "small"

    @property
    def style(self) -> str:
        """How rich is to print it."""
        return {Verdict.INDEX: "green", Verdict.NEAR_UNIQUE: "red", Verdict.CONSTANT: "yellow"}.get(self, "dim")


@attrs.frozen
class Wanted:
    """What is to be looked at besides labels, and how many objects there will be."""

    paths: tuple[FieldIndexer, ...]
    annotations: tuple[str, ...]
    model: tuple[tuple[str, int], ...]

    @classmethod
    def parse(cls, *, paths: Sequence[str] = (), annotations: Sequence[str] = (), model: Sequence[str] = ()) -> Wanted:
        """Read what the command line says.

        Raises:
            PathSyntaxError: a path cannot be read.
            QueryError: an annotation that is none, or a model that is no ``pods=150000``.
        """
        keys = [key for several in annotations for key in several.split(",")]
        for key in keys:
            if key != _ALL and (problems := validate_label_key(key)):
                raise QueryError(f"--annotations {key!r} is no annotation: {'; '.join(problems)}")
        found = [_field_of(path) for several in paths for path in several.split(",")]
        return cls(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(keys)), tuple(map(_model_of, model)))

    def grow_of(self, kind: Kind, count: int) -> float:
        """Say how many times as many objects of *kind* there will be; the last word counts.

        Raises:
            QueryError: there are more already.
        """
        grow = 1.0
        for word, wanted in self.model:
            if kind.is_called(word):
                if wanted < count:
                    raise QueryError(f"--model {word}={wanted} is fewer than the {count:,} there are; leave it out")
                grow = wanted / count
        return grow

    def check(self, kinds: Iterable[Kind]) -> None:
        """Refuse a model of a kind that is not there."""
        there = list(kinds)
        for word, wanted in self.model:
            if not any(kind.is_called(word) for kind in there):
                names = ", ".join(sorted(kind.plural for kind in there)) or "nothing"
                raise QueryError(f"--model {word}={wanted}: there are no {word} (the input has: {names})")


def _field_of(path: str) -> FieldIndexer:
    # A path without a dot, such as type, is one too; what --index takes for a label key is none here.
    found = indexers_of([path if path.startswith((".", "{", "$")) else f".{path}"])
    assert isinstance(found[0], FieldIndexer)
    return found[0]


def _model_of(text: str) -> tuple[str, int]:
    word, equals, number = text.partition("=")
    digits = number.replace("_", "").replace(",", "")
    if not (equals and word and digits.isascii() and digits.isdigit() and int(digits)):
        raise QueryError(f"--model {text!r} is not such as pods=150000")
    return word, int(digits)


class Field(StrEnum):
    """Where a value stands."""

    LABEL = "label"
    ANNOTATION = "annotation"
    PATH = "path"


@attrs.frozen
class Row:
    """One label, annotation or path: what its index would take, and what to do about it."""

    field: Field
    key: str
    index: IndexForecast
    verdict: Verdict
    reason: str

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"annotation {self.key}" if self.field is Field.ANNOTATION else self.key

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values."""
        about = {"field": self.field.value, "key": self.key}
        return {**about, **self.index.to_dict(), "verdict": self.verdict.value, "reason": self.reason}


@attrs.frozen
class Total:
    """What several indexes take together."""

    keys: int
    values: int
    bytes: int
    bytes_range: tuple[int, int]

    @classmethod
    def of(cls, rows: Sequence[Row], shared: int = 0) -> Self:
        """Add them up, and *shared* bytes."""
        low, high = (sum(row.index.bytes_range[end] for row in rows) + shared for end in (0, 1))
        values = sum(row.index.values for row in rows)
        return cls(len(rows), values, sum(row.index.bytes for row in rows) + shared, (low, high))

    @property
    def text(self) -> str:
        """The bytes, and their range where they are no more than an estimate."""
        low, high = self.bytes_range
        return size_text(self.bytes) + ("" if low == high else f" ({size_text(low)} to {size_text(high)})")


@attrs.frozen
class Analysis:
    """What one kind has to say.

    Attributes:
        kind: what was looked at.
        count: how many objects the input has.
        objects: how many there will be.
        rows: what was looked at, the most expensive first.
        choice: how to write the indexers of what is worth it.
        chosen: what these take.
        everything: what all take.
    """

    kind: Kind
    count: int
    objects: int
    rows: tuple[Row, ...]
    choice: tuple[str, ...]
    chosen: Total
    everything: Total

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values."""
        return {
            "kind": self.kind.name,
            "group": self.kind.group,
            "objects": self.objects,
            "objects_in_input": self.count,
            "keys": [row.to_dict() for row in self.rows],
            "choice": {"indexers": list(self.choice), **attrs.asdict(self.chosen)},
            "everything": attrs.asdict(self.everything),
        }


def analyses(wanted: Wanted, kinds: Kinds) -> Iterator[Analysis]:
    """Look at each kind on its own.

    Raises:
        QueryError: a model that cannot be.
    """
    wanted.check(kinds)
    for kind, objects in kinds.items():
        yield _analysis(wanted, kind, objects)


def _analysis(wanted: Wanted, kind: Kind, objects: list[RawObject]) -> Analysis:
    grow = wanted.grow_of(kind, len(objects))
    every = LabelIndexer.all(budget=_ANY_PRICE, deny=())
    looked_at: list[tuple[Field, AnyIndexer[object]]] = [(Field.LABEL, every)]
    if _ALL in wanted.annotations:
        looked_at.append((Field.ANNOTATION, AnnotationIndexer.all(budget=_ANY_PRICE, deny=())))
    elif wanted.annotations:
        looked_at.append((Field.ANNOTATION, AnnotationIndexer(*wanted.annotations)))
    looked_at += [(Field.PATH, indexer) for indexer in wanted.paths]
    rows: list[Row] = []
    shared = total = 0
    for field, indexer in looked_at:
        found = forecast(objects, indexer, grow=grow)
        shared += found.shared_bytes
        total = found.objects
        for index in found.indexes:
            key = index.name[len(ANNOTATIONS) + 2 : -2] if field is Field.ANNOTATION else index.name
            rows.append(Row(field, key, index, *_judge(index, key, total)))
    rows.sort(key=lambda row: (-row.index.bytes, row.name))
    chosen = [row for row in rows if row.verdict is Verdict.INDEX]
    choice = tuple(_choice(chosen, wanted))
    return Analysis(kind, len(objects), total, tuple(rows), choice, Total.of(chosen), Total.of(rows, shared))


def _judge(index: IndexForecast, key: str, objects: int) -> tuple[Verdict, str]:
    if objects < _SMALL:
        return Verdict.SMALL, f"{objects} object{' is' if objects == 1 else 's are'} scanned as fast"
    if not index.objects:
        return Verdict.RARE, "no object has it"
    if key in NEAR_UNIQUE:
        return Verdict.NEAR_UNIQUE, NEAR_UNIQUE[key]
    if index.objects < _RARE * objects:
        return Verdict.RARE, f"{index.objects:,} of {objects:,} objects have it"
    if index.largest >= _CONSTANT * objects:
        return Verdict.CONSTANT, f"one value has {_percent(index.largest, objects)} of the objects"
    each = index.objects / index.values if index.values else 0.0
    if each < _FEW:
        few = "each object has its own value" if each < 1.05 else f"{int(each * 10) / 10} objects a value"
        return Verdict.NEAR_UNIQUE, f"{few}; only worth it to look single objects up"
    if index.values == 1:
        return Verdict.INDEX, f"a mark that {_percent(index.objects, objects)} have"
    largest = _percent(index.largest, objects)
    return Verdict.INDEX, f"{each:,.0f} objects a value, {largest} in the largest"


def _choice(chosen: Sequence[Row], wanted: Wanted) -> Iterator[str]:
    for field, indexer in ((Field.LABEL, LabelIndexer), (Field.ANNOTATION, AnnotationIndexer)):
        keys = [row.key for row in chosen if row.field is field]
        if keys:
            yield f"{indexer.__name__}({', '.join(map(_quoted, keys))})"
    paths = {row.key for row in chosen if row.field is Field.PATH}
    for by_path in wanted.paths:
        if by_path.name in paths:
            yield f"FieldIndexer({', '.join(_quoted(path.text) for path in by_path.paths)})"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _percent(part: float, whole: float) -> str:
    share = part / whole * 100 if whole else 0.0
    return f"{share:.0f}%" if share >= 1 or not share else f"{share:.1f}%"


# --- text -------------------------------------------------------------------------------------------------------------

_SHOWN_ROWS: Final = 30
_SHORTEST_REASON: Final = 40
_BARS: Final = " ▏▎▍▌▋▊▉█"


def printed_analyses(
    found: Sequence[Analysis], output: AnalysisOutput, *, width: int | None, all_rows: bool = False
) -> Iterator[Text]:
    """Give the lines of *found*.

    Args:
        found: what to print.
        output: as tables, or as one list in JSON.
        width: of the terminal; None where there is none, and lines may be long.
        all_rows: every key, not only those that cost most.
    """
    if output is AnalysisOutput.JSON:
        whole = msgspec.json.encode([each.to_dict() for each in found])
        yield _whole(Text(msgspec.json.format(whole, indent=2).decode()))
        return
    for number, analysis in enumerate(found):
        if number:
            yield Text()
        yield from _lines(analysis, width, all_rows=all_rows)


def _lines(analysis: Analysis, width: int | None, *, all_rows: bool) -> Iterator[Text]:
    kind, rows = analysis.kind.plural, analysis.rows
    grown = f", taken for a sample of {analysis.objects:,}" if analysis.objects != analysis.count else ""
    yield Text(f"{analysis.count:,} {kind}{grown}", style="bold")
    if not rows:
        yield Text("None of them has a label; --paths and --annotations look at other fields.")
        return
    shown = rows if all_rows else rows[:_SHOWN_ROWS]
    yield from _table(shown, analysis.objects, width)
    if len(shown) < len(rows):
        rest = sum(row.index.bytes for row in rows[len(shown) :])
        yield Text(f"and {len(rows) - len(shown)} more that take {size_text(rest)}; --all shows them", style="dim")
    yield Text()
    yield from _conclusion(analysis)
    if width is not None:
        yield from _traps(shown)


def _traps(rows: Sequence[Row]) -> Iterator[Text]:
    """Give the reasons that tables may have no room for, each once."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.verdict in (Verdict.NEAR_UNIQUE, Verdict.CONSTANT):
            found.setdefault((row.verdict.value, row.reason), []).append(_printable(row.name))
    for (verdict, reason), names in found.items():
        yield Text(f"{verdict}: {', '.join(names)}: {reason}", style="dim")


def _conclusion(analysis: Analysis) -> Iterator[Text]:
    chosen, everything = analysis.chosen, analysis.everything
    if analysis.objects < _SMALL:
        yield Text(f"No index is worth it: so few {analysis.kind.plural} are scanned as fast.")
        return
    if chosen.keys:
        yield Text(f"This choice, {chosen.keys} of {everything.keys}: {chosen.text}")
        for indexer in analysis.choice:
            yield _whole(Text(f"    {indexer}", style="green"))
        times = f", {everything.bytes / chosen.bytes:.1f} times as much"
    else:
        yield Text("None is worth an index.")
        times = ""
    yield Text(f"Everything, {everything.keys}: {everything.text}{times}")


def _table(rows: Sequence[Row], objects: int, width: int | None) -> Iterator[Text]:
    """Give a line for each row; where *width* is too little, reasons go first, then columns, then parts of names."""
    heads = ["KEY", "OBJECTS", "VALUES", "SINGLES", "LARGEST", "BYTES", "", "VERDICT"]
    cells = [_cells(row, objects, max(row.index.bytes for row in rows)) for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    columns = list(range(len(heads)))
    reasons = True
    if width is not None:
        needed = sum(widths) + 2 * (len(widths) - 1)
        if needed + 2 + _SHORTEST_REASON > width:
            reasons = False
        if needed > width:
            columns = [column for column in columns if heads[column] not in ("SINGLES", "LARGEST")]
            needed = sum(widths[column] + 2 for column in columns) - 2
        widths[0] = min(widths[0], max(8, widths[0] - (needed - width)))
    titles = [*(_fitted(heads[column], widths[column], left=column in _LEFT) for column in columns)]
    yield _whole(Text("  ".join([*titles, *(["REASON"] if reasons else [])]).rstrip(), style="bold"))
    room = None if width is None else width - sum(widths[column] + 2 for column in columns)
    for row, texts in zip(rows, cells, strict=True):
        line = Text("  ".join(_fitted(texts[column], widths[column], left=column in _LEFT) for column in columns[:-1]))
        line.append("  ")
        line.append(texts[-1].ljust(widths[-1]), style=row.verdict.style)
        if reasons:
            line.append("  " + (row.reason if room is None else _fitted(row.reason, room, left=True).rstrip()))
        line.rstrip()
        yield _whole(line)


def _whole(line: Text) -> Text:
    """Mark what is not to be folded between words: rows, and code to be copied."""
    line.no_wrap = True
    return line


_LEFT: Final = (0, 6, 7)


def _cells(row: Row, objects: int, most: int) -> list[str]:
    index = row.index
    return [
        _printable(row.name),
        f"{index.objects:,}",
        f"{index.values:,}",
        _percent(index.singles, index.values),
        _percent(index.largest, objects),
        size_text(index.bytes),
        _bar(index.bytes, most),
        row.verdict.value,
    ]


def _bar(part: int, whole: int, length: int = 8) -> str:
    eighths = max(1, round(8 * length * part / whole)) if whole else 0
    return (_BARS[8] * (eighths // 8) + _BARS[eighths % 8]).rstrip()


def _fitted(text: str, width: int, *, left: bool) -> str:
    """Cut a text in its middle: keys differ in what they begin and what they end with."""
    if len(text) > width:
        head = (width - 1) // 2
        text = f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
    return text.ljust(width) if left else text.rjust(width)


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)
