"""Kubernetes objects out of files: what ``kubectl get -o json``, ``-o yaml`` and people's manifests contain."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, TypeAlias

import attrs
import msgspec

from kindex.cli.yaml_text import YamlError, parse_yaml
from kindex.errors import KindexError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

RawObject: TypeAlias = dict[str, Any]  # Any: JSON

_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml", ".jsonl", ".ndjson"})
_GZIP_MAGIC: Final = b"\x1f\x8b"
_UTF8_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_BUFFER: Final = 1 << 16


class InputError(KindexError, ValueError):
    """Input that is not Kubernetes objects; ``where`` names file and document, ``reason`` says what is wrong."""

    def __init__(self, where: str, reason: str) -> None:
        """Say what is wrong, and in which document of which file."""
        self.where = where
        self.reason = reason
        name, comma, place = where.partition(", ")
        spoken = f"standard input{comma}{place}" if name == "-" else where
        super().__init__(f"{spoken}: {reason}")


@attrs.frozen
class Document:
    """One object, and the place it was read from: ``pods.json, item 12`` or ``-, document 3``."""

    object: RawObject
    where: str


def read_documents(
    paths: Sequence[str | Path], stdin: BinaryIO, *, on_progress: Callable[[int], None] | None = None
) -> Iterator[Document]:
    r"""Read every object of *paths*, in their order: files, folders, and ``-`` for *stdin*.

    A file holds a kubectl List, a list of one kind such as a PodList, a single object, a JSON array of objects,
    JSON lines, or JSON or YAML documents one after the other; each may be gzipped. What it is its content says, not
    its name. A folder gives its files that end with .json, .yaml, .yml, .jsonl or .ndjson, with or without .gz, and
    those of its folders; what begins with a dot is left out, as a shell does.

    The items of a PodList, which carry no kind, are given it. In JSON a key that is there twice has its last value,
    as for kubectl; in YAML it is an error.

    JSON lines are read line by line; other JSON is held once as text, and its items are decoded as they are asked
    for; YAML is held one document at a time. *on_progress* is told the bytes read since it was last called.

    Raises:
        InputError: a file is missing, damaged, no UTF-8, or holds something else than Kubernetes objects with names.

    >>> text = b'{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "web-1"}}]}'
    >>> for document in read_documents(["-"], io.BytesIO(text)):
    ...     print(document.where, document.object)
    -, item 1 {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'web-1'}}
    """
    report = on_progress or _ignore
    for path in paths:
        name = str(path)
        found = is_folder = False
        if name == "-":
            found = yield from _read(name, stdin, report)
        elif is_folder := Path(name).is_dir():
            for file in _files_under(name):
                # An empty file says nothing against its folder: manifests are commented out as a whole.
                found = (yield from _read_file(file, report)) or found
        else:
            found = yield from _read_file(name, report)
        if not found:
            endings = " ".join(sorted(_SUFFIXES))
            raise InputError(
                name, f"holds no objects (read are {endings})" if is_folder else "empty, there are no objects in it"
            )


def size_of(paths: Iterable[str | Path]) -> int | None:
    """Give the bytes that ``read_documents`` will report for *paths*; None when that cannot be known beforehand.

    >>> size_of(["-"]) is None
    True
    """
    try:
        total = 0
        for path in map(Path, paths):
            if str(path) == "-":
                return None
            files = _files_under(str(path)) if path.is_dir() else [str(path)]
            total += sum(Path(file).stat().st_size for file in files)
    except (OSError, InputError):
        return None  # reading will say what is wrong
    return total


def _ignore(_: int) -> None:
    pass


def _files_under(folder: str) -> list[str]:
    def refuse(error: OSError) -> NoReturn:
        raise InputError(str(error.filename), _reason_of(error)) from error

    files: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [str(Path(parent, name)) for name in sorted(names) if _is_wanted(name)]
    return files


def _is_wanted(name: str) -> bool:
    return Path(name.lower().removesuffix(".gz")).suffix in _SUFFIXES and not name.startswith(".")


def _read_file(name: str, report: Callable[[int], None]) -> Generator[Document, None, bool]:
    try:
        stream = Path(name).open("rb")  # noqa: SIM115 - closed below; opening alone is what may fail here
    except OSError as error:
        raise InputError(name, _reason_of(error)) from error
    with stream:
        return (yield from _read(name, stream, report))


def _read(name: str, raw: BinaryIO, report: Callable[[int], None]) -> Generator[Document, None, bool]:
    """Give the objects of one stream, and say whether there was anything at all, be it an empty List."""
    try:
        head = _exactly(raw, len(_GZIP_MAGIC))
        stream: BinaryIO = io.BufferedReader(_Watched(head, raw, report), _BUFFER)
        if head == _GZIP_MAGIC:
            stream = io.BufferedReader(gzip.GzipFile(fileobj=stream), _BUFFER)
        return (yield from _parse(name, stream))
    except EOFError as error:
        raise InputError(name, "the gzip data is truncated: it ends before its end mark") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(name, f"the gzip data is damaged: {error}") from error
    except OSError as error:
        raise InputError(name, _reason_of(error)) from error


def _exactly(raw: BinaryIO, count: int) -> bytes:
    head = b""
    while len(head) < count and (more := raw.read(count - len(head))):
        head += more
    return head


class _Watched(io.RawIOBase):
    """A stream whose first bytes were read already, and that tells how much is read; closing it closes nothing."""

    def __init__(self, head: bytes, raw: BinaryIO, report: Callable[[int], None]) -> None:
        self._head = head
        self._raw = raw
        self._report = report

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer; collections.abc.Buffer is 3.12
        data, self._head = self._head or self._raw.read(len(buffer)), b""
        buffer[: len(data)] = data
        self._report(len(data))
        return len(data)


def _reason_of(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()


# --- text -> values ---------------------------------------------------------------------------------------------------


def _parse(name: str, stream: BinaryIO) -> Generator[Document, None, bool]:
    lines = _lines_of(name, stream)
    number, line = next(lines, (0, b""))
    if not line:
        return False
    # As kubectl decides it.
    if line.lstrip()[:1] in (b"{", b"["):
        yield from _parse_json(name, number, line, lines, stream)
        return True
    data = b"\n" * (number - 1) + line + stream.read()
    text = _decoded(name, data)
    del data
    found = False
    try:
        for position, value in enumerate(parse_yaml(text), start=1):
            if value is not None:
                found = True
                yield from _objects_of(value, f"{name}, document {position}")
    except YamlError as error:
        raise InputError(name, str(error)) from error
    return found


def _lines_of(name: str, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Give each line that is not blank, with its number."""
    for number, line in enumerate(stream, start=1):
        if number == 1:
            if line[:2] in _UTF16_BOMS or b"\0" in line[:4]:
                raise InputError(
                    name, "is UTF-16 or UTF-32 text; UTF-8 is wanted (in PowerShell: | Out-File -Encoding utf8)"
                )
            line = line.removeprefix(_UTF8_BOM)  # noqa: PLW2901 - the line without what is not of it
        if not line.isspace() and line:
            yield number, line


def _decoded(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(name, f"is no UTF-8 text: byte 0x{data[error.start]:02x} in line {line}") from error


def _parse_json(
    name: str, number: int, line: bytes, lines: Iterator[tuple[int, bytes]], stream: BinaryIO
) -> Iterator[Document]:
    """Read values line by line for as long as each line is one; from where one is not, the rest as a whole."""
    first = True
    while True:
        following, after = next(lines, (number, b""))
        try:
            value = _take_apart(line)
        except _MALFORMED:
            gap = b"\n" * (following - number - 1)
            yield from _parse_json_text(name, number, b"".join((line, gap, after, stream.read())), alone=first)
            return
        yield from _objects_in(value, name if first and not after else f"{name}, line {number}")
        if not after:
            return
        number, line, first = following, after, False


def _parse_json_text(name: str, number: int, data: bytes, *, alone: bool) -> Iterator[Document]:
    """Read a value of several lines, the first in line *number* of the file, or several such values."""
    try:
        value = _take_apart(data)
    except _MALFORMED:
        text = _decoded(name, b"\n" * (number - 1) + data)
    else:
        yield from _objects_in(value, name if alone else f"{name}, line {number}")
        return
    # Slower, but it knows where values end, and the line and column of what is wrong.
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    position = number - 1
    while position < len(text):
        where = f"{name}, line {text.count(chr(10), 0, position) + 1}"
        try:
            _, end = decoder.raw_decode(text, position)
            value = _take_apart(text[position:end].encode())
        except json.JSONDecodeError as error:
            raise InputError(name, _json_reason(error, text)) from error
        except RecursionError as error:
            raise InputError(name, "the JSON is nested too deeply") from error
        except ValueError as error:
            raise InputError(where, str(error)) from error
        yield from _objects_in(value, where)
        while end < len(text) and text[end].isspace():
            end += 1
        position = end


def _refuse_constant(constant: str) -> NoReturn:
    message = f"{constant} has no place in JSON"
    raise ValueError(message)


def _json_reason(error: json.JSONDecodeError, text: str) -> str:
    place = f"line {error.lineno}, column {error.colno}"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"the JSON ends too early, as if truncated ({place})"
    return f"bad JSON at {place}: {error.msg[0].lower()}{error.msg[1:]}"


class _Envelope(msgspec.Struct):
    """A JSON object whose items, if it is a list, are still text, to be decoded one at a time."""

    kind: Any = None  # Any: whatever is there
    apiVersion: Any = None  # noqa: N815 - the member's name
    items: msgspec.Raw = msgspec.Raw(b"")


@attrs.frozen
class _Value:
    """One JSON value: the items of a list as text, and what they leave to the list to say; or any other value."""

    items: list[msgspec.Raw] | None
    said: RawObject
    plain: object = None


_MALFORMED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_AS_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_AS_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_AS_VALUE: Final = msgspec.json.Decoder()


def _take_apart(data: bytes) -> _Value:
    if data[:_BUFFER].lstrip()[:1] == b"[":
        return _Value(_AS_ITEMS.decode(data), {})
    envelope = _AS_ENVELOPE.decode(data)
    if _is_list(envelope.kind) and memoryview(envelope.items)[:1].tobytes() == b"[":
        return _Value(_AS_ITEMS.decode(envelope.items), _said_by_list(envelope.kind, envelope.apiVersion))
    return _Value(None, {}, _AS_VALUE.decode(data))


# --- values -> objects ------------------------------------------------------------------------------------------------


def _objects_in(value: _Value, where: str) -> Iterator[Document]:
    if value.items is None:
        yield from _objects_of(value.plain, where)
        return
    for position, item in enumerate(value.items, start=1):
        place = f"{where}, item {position}"
        try:
            decoded = _AS_VALUE.decode(item)
        except _MALFORMED as error:
            raise InputError(place, str(error)) from error
        yield from _objects_of(decoded, place, value.said)


def _objects_of(value: object, where: str, said: RawObject | None = None) -> Iterator[Document]:
    """Give the objects of a decoded value; lists may hold lists."""
    waiting = [(value, where, said or {})]
    while waiting:
        value, where, said = waiting.pop()
        if isinstance(value, list):
            items, said = value, {}
        elif isinstance(value, dict) and _is_list(kind := value.get("kind")) and ("items" in value or kind == "List"):
            items, said = value.get("items") or [], _said_by_list(kind, value.get("apiVersion"))
            if not isinstance(items, list):
                raise InputError(where, "the items of a list are no list")
        else:
            yield Document(_checked(value, where, said), where)
            continue
        numbered = list(enumerate(items, start=1))
        waiting += [(item, f"{where}, item {number}", said) for number, item in reversed(numbered)]


def _is_list(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith("List")


def _said_by_list(kind: object, version: object) -> RawObject:
    """Give what items need not say themselves: those of a PodList are Pods; a List may hold anything."""
    return {} if kind == "List" else {"apiVersion": version, "kind": str(kind).removesuffix("List")}


def _checked(value: object, where: str, said: RawObject) -> RawObject:
    if not isinstance(value, dict):
        raise InputError(where, f"not a Kubernetes object but {_named(value)}")
    obj: RawObject = (
        said | {member: part for member, part in value.items() if part or member not in said} if said else value
    )
    missing = [member for member in ("apiVersion", "kind") if not (isinstance(obj.get(member), str) and obj[member])]
    if not isinstance(obj.get("metadata"), dict):
        missing.append("metadata")
    if missing:
        has = ", ".join(map(str, list(value)[:6])) or "nothing"
        raise InputError(where, f"not a Kubernetes object: it has no {' and no '.join(missing)} (it has: {has})")
    name = obj["metadata"].get("name")
    kind = obj["kind"]
    if name is None or name == "":
        generated = obj["metadata"].get("generateName")
        hint = f", only a generateName, {generated!r}: the server would give it a name" if generated else ""
        raise InputError(where, f"this {kind} has no metadata.name{hint}")
    for member in ("name", "namespace"):
        if not isinstance(obj["metadata"].get(member) or "", str):
            raise InputError(
                where, f"the metadata.{member} of this {kind} is {_named(obj['metadata'][member])}; quote it"
            )
    return obj


def _named(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:40]!r}"
        case _:
            return "a list" if isinstance(value, list) else "a map"
