"""YAML text to JSON values and back, as kubectl reads and writes it.

kubectl turns YAML into JSON by the rules of go-yaml v2: YAML 1.1 booleans (``yes``, ``on``, ``n``), octal ``0644``,
keys as text, and timestamps as the text that they are. PyYAML's own loaders differ in the last three, and read
``22:22`` as a number to the base of sixty. Here PyYAML gives the events, and this module the values.

Anchors are copied where they are used, so no two parts of a value are one, and what that may add is bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs
import msgspec
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# The nodes that aliases may add to one document: far more than any manifest repeats, and at most some MB.
MOST_ALIASED: Final = 100_000

_WIDE: Final = 2**31 - 1  # what libyaml takes for "do not fold"
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NUMBER_STARTS: Final = frozenset("+-.0123456789")


class YamlError(ValueError):
    """YAML text that makes no JSON value; line and column count from 1."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        """Say what is wrong, and where."""
        self.reason = reason
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {reason}")


def parse_yaml(text: str) -> Iterator[JsonValue]:
    r"""Give the value of each document of *text*, one after the other; an empty document is None.

    O(length); aliases may add ``MOST_ALIASED`` values to a document.

    Raises:
        YamlError: what is wrong, and where; documents before it have been given.

    >>> list(parse_yaml("a: 2026-01-13T18:38:04Z\nb: yes\n---\n- 0644\n- 22:22\n"))
    [{'a': '2026-01-13T18:38:04Z', 'b': True}, [420, '22:22']]
    >>> list(parse_yaml("a: 1\na: 2\n"))
    Traceback (most recent call last):
    ...
    kindex.cli.yaml_text.YamlError: line 2, column 1: the key 'a' is there twice
    """
    document = _Document()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.DocumentStartEvent):
                document = _Document()
            elif isinstance(event, yaml.DocumentEndEvent):
                yield document.value
            elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                document.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise YamlError(error.problem or "bad YAML", line, column) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise YamlError(error.reason, line, column) from error


def dump_yaml(value: object) -> str:
    """Print a JSON value as YAML that kubectl, PyYAML and ``parse_yaml`` read as the same value.

    >>> print(dump_yaml({"name": "web", "annotations": {"on": "yes", "since": "2026-01-13"}, "mode": "0644"}), end="")
    name: web
    annotations:
      'on': 'yes'
      since: '2026-01-13'
    mode: '0644'
    """
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDE)
    return text


class _Dumper(_DUMPER):  # type: ignore[misc, valid-type]  # libyaml's if it is there
    """Quotes what PyYAML takes for text and Go does not; repeats a part rather than to point to it."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's
        return True


class _NotText:
    """Stands for the pattern of a PyYAML resolver: what go-yaml reads as something else than text."""

    @staticmethod
    def match(text: str) -> bool:
        return text in _WORDS or _NO_NUMBER.fullmatch(text) is not None or not isinstance(_number(text), str)


# Of resolvers the first that fits decides, so true numbers stay what they are; for text, any that fits means quotes.
_Dumper.add_implicit_resolver("tag:yaml.org,2002:kindex", _NotText, [*"yYnN+-.0123456789"])


@attrs.define
class _Frame:
    """A map or list that is open; a map has the key whose value comes next."""

    value: dict[str, JsonValue] | list[JsonValue]
    anchor: str | None
    started: int
    key: str | None = None
    merging: bool = False
    merged: list[JsonValue] = attrs.field(factory=list)


class _Document:
    """One document in the making, from events; no recursion, however deep the text is."""

    def __init__(self) -> None:
        self.value: JsonValue = None
        self._open: list[_Frame] = []
        self._anchored: dict[str, tuple[JsonValue, int]] = {}
        self._nodes = 0
        self._aliased = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._nodes += 1
                value = _scalar(event)
                if event.anchor:
                    self._anchored[event.anchor] = (value, 1)
                self._add(value, event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._start(event)
            case yaml.AliasEvent():
                self._add(self._copied(event), event)
            case _:
                self._end(event)

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if event.tag not in (None, "!", _TAG_PREFIX + "map", _TAG_PREFIX + "seq"):
            raise _error(event, f"the tag {_shown(event.tag)} has no JSON form")
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.value, dict) and top.key is None and not top.merging:
            raise _error(event, "a key is a map or a list; keys are text")
        self._nodes += 1
        value: dict[str, JsonValue] | list[JsonValue] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Frame(value, event.anchor, self._nodes))

    def _end(self, event: yaml.Event) -> None:
        frame = self._open.pop()
        if isinstance(frame.value, dict):
            for merged in frame.merged:
                for part in merged if isinstance(merged, list) else [merged]:
                    if not isinstance(part, dict):
                        raise _error(event, "'<<' takes a map or a list of maps")
                    frame.value = part | frame.value  # what is written wins over what is merged
        if frame.anchor:
            self._anchored[frame.anchor] = (frame.value, self._nodes - frame.started + 1)
        self._add(frame.value, event)

    def _copied(self, event: yaml.AliasEvent) -> JsonValue:
        if event.anchor not in self._anchored:
            raise _error(event, f"the anchor {event.anchor!r} is not defined before this place")
        value, size = self._anchored[event.anchor]
        self._nodes += size
        self._aliased += size
        if self._aliased > MOST_ALIASED:
            raise _error(event, f"aliases repeat more than {MOST_ALIASED:,} values")
        copy: JsonValue = msgspec.json.decode(msgspec.json.encode(value))
        return copy

    def _add(self, value: JsonValue, event: yaml.Event) -> None:
        if not self._open:
            self.value = value
            return
        frame = self._open[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.merging:
            frame.merged.append(value)
            frame.merging = False
        elif frame.key is not None:
            frame.value[frame.key] = value
            frame.key = None
        elif isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value == "<<":
            frame.merging = True
        else:
            frame.key = self._key(value, event, frame.value)

    @staticmethod
    def _key(value: JsonValue, event: yaml.Event, present: dict[str, JsonValue]) -> str:
        match value:
            case str():
                key = value
            case bool():
                key = "true" if value else "false"
            case int():
                key = str(value)
            case float():
                key = f"{value:.15g}"
            case _:
                raise _error(event, "a key is null, a map or a list; keys are text")
        if key in present:
            raise _error(event, f"the key {key!r} is there twice")
        return key


def _scalar(event: yaml.ScalarEvent) -> JsonValue:
    text = event.value
    if event.implicit[0]:
        if text in _WORDS:
            return _WORDS[text]
        return _finite(event, text) if text[0] in _NUMBER_STARTS else text
    tag = event.tag
    if tag in (None, "!", _TAG_PREFIX + "str", _TAG_PREFIX + "timestamp"):
        return text
    value = _WORDS[text] if text in _WORDS else _finite(event, text)
    wanted = {"int": int, "float": int | float, "bool": bool, "null": None.__class__}.get(tag.removeprefix(_TAG_PREFIX))
    if wanted is None:
        raise _error(event, f"the tag {_shown(tag)} has no JSON form")
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise _error(event, f"{text!r} is no {_shown(tag)}")
    return value


def _finite(event: yaml.Event, text: str) -> int | float | str:
    if _NO_NUMBER.fullmatch(text):
        raise _error(event, f"{text} has no JSON form")
    return _number(text)


def _number(text: str) -> int | float | str:
    """Give the number that *text* is, or *text*."""
    plain = text.replace("_", "")
    if found := _INTEGER.fullmatch(plain):
        sign, *digits = found.groups()
        value = next(int(digit, base) for digit, base in zip(digits, _BASES, strict=True) if digit)
        value = -value if sign == "-" else value
        if -(2**63) <= value < 2**64:
            return value
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return text if number in (float("inf"), float("-inf")) else number
    return text


def _shown(tag: str | None) -> str:
    return str(tag).replace(_TAG_PREFIX, "!!")


def _error(event: yaml.Event, reason: str) -> YamlError:
    mark = event.start_mark
    return YamlError(reason, *((mark.line + 1, mark.column + 1) if mark else (1, 1)))
