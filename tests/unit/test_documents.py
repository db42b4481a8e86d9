"""Objects out of files: every form that people have them in, and every way in which a file can be wrong."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml

from kindex.cli.documents import InputError, read_documents, size_of
from kindex.cli.yaml_text import MOST_ALIASED, YamlError, dump_yaml, parse_yaml

RawObject = dict[str, Any]


def _pod(name: str, **more: object) -> RawObject:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "prod"}, **more}


def _list(*objects: RawObject, kind: str = "List") -> RawObject:
    return {"apiVersion": "v1", "items": list(objects), "kind": kind, "metadata": {"resourceVersion": "1"}}


def _stdin(data: bytes = b"") -> io.BytesIO:
    return io.BytesIO(data)


def _names(*paths: str | Path, stdin: bytes = b"") -> list[str]:
    return [document.object["metadata"]["name"] for document in read_documents(paths, _stdin(stdin))]


def _places(data: bytes) -> list[str]:
    return [document.where for document in read_documents(["-"], _stdin(data))]


def _reason(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        list(read_documents(["-"], _stdin(data)))
    told = f"{caught.value.where}: {caught.value.reason}"
    assert str(caught.value) == told.replace("-", "standard input", 1)  # as people call it
    return told


PODS = [_pod("web-1"), _pod("web-2", spec={"nodeName": "n1"}), _pod("web-3")]
FORMS = {
    "list": json.dumps(_list(*PODS), indent=4).encode(),
    "compact list": json.dumps(_list(*PODS)).encode(),
    "list of one kind": json.dumps(_list(*PODS, kind="PodList")).encode(),
    "array": json.dumps(PODS).encode(),
    "lines": b"".join(json.dumps(pod).encode() + b"\n" for pod in PODS),
    "lines with gaps and no end": b"\n\n".join(json.dumps(pod).encode() for pod in PODS),
    "lines of Windows": b"\r\n".join(json.dumps(pod).encode() for pod in PODS),
    "pretty objects in a row": b"\n".join(json.dumps(pod, indent=2).encode() for pod in PODS),
    "objects on one line": b" ".join(json.dumps(pod).encode() for pod in PODS),
    "a line, then pretty": b"\n".join(json.dumps(pod, indent=i or None).encode() for i, pod in enumerate(PODS)),
    "lists in a list": json.dumps(_list(_list(PODS[0]), _list(_list(PODS[1]), PODS[2]))).encode(),
    "yaml list": yaml.safe_dump(_list(*PODS)).encode(),
    "yaml documents": yaml.safe_dump_all(PODS).encode(),
    "yaml array": yaml.safe_dump(PODS).encode(),
    "yaml with empty documents": b"---\n---\n# nothing\n---\n" + yaml.safe_dump_all(PODS).encode() + b"---\n",
    "byte order mark, json": b"\xef\xbb\xbf" + json.dumps(_list(*PODS)).encode(),
    "byte order mark, yaml": b"\xef\xbb\xbf" + yaml.safe_dump_all(PODS).encode(),
    "white space before": b"\n \n" + json.dumps(_list(*PODS), indent=1).encode(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_form_gives_the_same_objects(form: str, tmp_path: Path, *, zipped: bool) -> None:
    """Lists, arrays, lines and documents, JSON or YAML, zipped or not, from a file of any name or stdin: the same."""
    data = gzip.compress(FORMS[form]) if zipped else FORMS[form]
    file = tmp_path / "no-suffix"
    file.write_bytes(data)
    assert [document.object for document in read_documents([file], _stdin())] == PODS
    assert [document.object for document in read_documents(["-"], _stdin(data))] == PODS


def test_files_are_read_in_the_order_given(tmp_path: Path) -> None:
    """Several paths give their objects one after the other, with - where it stands."""
    for name in ("b", "a"):
        (tmp_path / name).write_text(json.dumps(_pod(name)))
    stdin = json.dumps(_pod("from-stdin")).encode()
    assert _names(tmp_path / "b", "-", str(tmp_path / "a"), stdin=stdin) == ["b", "from-stdin", "a"]


def test_a_folder_gives_its_files_by_name(tmp_path: Path) -> None:
    """A folder gives its files, then its folders'; files of other kinds, hidden and empty ones are passed over."""
    for name in (
        "b.yml",
        "a.json",
        "sub/z.ndjson",
        "sub/deep/c.yaml",
        "d.JSONL",
        "README.md",
        "x.txt",
        ".hidden.json",
        ".git/e.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(_pod(Path(name).stem)))
    (tmp_path / "e.json.gz").write_bytes(gzip.compress(json.dumps(_pod("zipped")).encode()))
    (tmp_path / "f.yaml").write_text("# all of it is commented out\n")
    assert _names(tmp_path) == ["a", "b", "d", "zipped", "z", "c"]


def test_where_tells_file_and_place(tmp_path: Path) -> None:
    """A place is the file alone for a single object, else its item, line or document, counted from 1."""
    file = tmp_path / "pods.json"
    file.write_bytes(FORMS["list"])
    places = [document.where for document in read_documents([file], _stdin())]
    assert places == [f"{file}, item {number}" for number in (1, 2, 3)]
    assert _places(json.dumps(PODS[0], indent=1).encode()) == ["-"]
    assert _places(json.dumps(PODS[0]).encode()) == ["-"]
    assert _places(FORMS["lines with gaps and no end"]) == ["-, line 1", "-, line 3", "-, line 5"]
    assert _places(FORMS["a line, then pretty"])[:2] == ["-, line 1", "-, line 2"]
    assert _places(FORMS["yaml with empty documents"]) == [f"-, document {number}" for number in (3, 4, 5)]
    assert _places(FORMS["yaml list"])[2] == "-, document 1, item 3"
    assert _places(FORMS["lists in a list"]) == ["-, item 1, item 1", "-, item 2, item 1, item 1", "-, item 2, item 2"]


@pytest.mark.parametrize("dump", [lambda value: json.dumps(value), lambda value: yaml.safe_dump(value)])  # noqa: PLW0108
def test_items_of_a_list_of_one_kind_are_given_it(dump: Any) -> None:
    """What a PodList's items leave out they get from the list, and what they say themselves stays."""
    bare: list[RawObject] = [{"metadata": {"name": "a"}}, {"apiVersion": "v2", "metadata": {"name": "b"}, "kind": None}]
    items = _list(*bare, kind="PodList")
    first, second = (document.object for document in read_documents(["-"], _stdin(dump(items).encode())))
    assert first == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    assert list(first)[:2] == ["apiVersion", "kind"]
    assert second == {"apiVersion": "v2", "kind": "Pod", "metadata": {"name": "b"}}


def test_an_empty_list_is_an_answer() -> None:
    """A List of no items holds no objects and is no error: it is what kubectl prints when it found nothing."""
    assert _places(json.dumps(_list()).encode()) == []
    assert _places(b"kind: List\napiVersion: v1\nitems: []\n") == []
    assert _places(b'{"kind": "PodList", "apiVersion": "v1", "items": null}') == []


def test_a_kind_that_only_sounds_like_a_list_is_an_object() -> None:
    """A kind that ends in List but has no items is an object of that kind."""
    access = {"apiVersion": "example.com/v1", "kind": "AllowList", "metadata": {"name": "a"}, "spec": {}}
    assert _names("-", stdin=json.dumps(access).encode()) == ["a"]


def test_lines_are_streamed() -> None:
    """JSON lines are read as they are asked for, not to the end first."""
    stdin = _stdin(b"".join(json.dumps(_pod(f"pod-{number}")).encode() + b"\n" for number in range(20_000)))
    documents = read_documents(["-"], stdin)
    assert next(documents).object["metadata"]["name"] == "pod-0"
    assert stdin.tell() < 200_000 < len(stdin.getvalue())


def test_a_large_list_takes_little_more_than_its_text() -> None:
    """Going through a List whose objects are not kept needs less than three times its size."""
    text = json.dumps(_list(*(_pod(f"pod-{number}", spec={"x": ["y"] * 50}) for number in range(5_000)))).encode()
    stdin = _stdin(text)
    tracemalloc.start()
    count = sum(1 for _ in read_documents(["-"], stdin))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 5_000
    assert peak < 3 * len(text)


def test_progress_adds_up_to_the_size(tmp_path: Path) -> None:
    """The reported bytes are those of the files as they lie on the disk, and size_of knows their sum beforehand."""
    plain, zipped = tmp_path / "a.json", tmp_path / "b.json.gz"
    plain.write_bytes(FORMS["list"])
    zipped.write_bytes(gzip.compress(FORMS["lines"]))
    reported: list[int] = []
    assert len(list(read_documents([tmp_path, plain], _stdin(), on_progress=reported.append))) == 9
    assert sum(reported) == size_of([tmp_path, plain]) == 2 * plain.stat().st_size + zipped.stat().st_size
    assert size_of([plain, "-"]) is None
    assert size_of([tmp_path / "absent"]) is None


# --- bad input --------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(InputError, match=r"absent\.json: no such file or directory$"):
        _names(tmp_path / "absent.json")


def test_nothing_at_all(tmp_path: Path) -> None:
    """An empty file, white space, comments alone, and a folder without a fitting file are errors."""
    for data in (b"", b" \n\n\t\n", b"# a comment\n---\n", gzip.compress(b"")):
        assert _reason(data) == "-: empty, there are no objects in it"
    (tmp_path / "README.md").write_text("hello")
    with pytest.raises(InputError, match=r"holds no objects \(read are \.json .*\.yml\)"):
        _names(tmp_path)


def test_gzip_that_ends_too_early() -> None:
    """Gzip data that is cut off anywhere is an error and never a shorter answer."""
    data = gzip.compress(FORMS["lines"])
    for length in (2, 9, len(data) // 2, len(data) - 1):
        assert _reason(data[:length]) == "-: the gzip data is truncated: it ends before its end mark"


def test_gzip_that_is_damaged() -> None:
    """Gzip data whose bytes changed, or with something behind it, is an error."""
    data = bytearray(gzip.compress(FORMS["lines"]))
    data[-6] ^= 0xFF
    assert _reason(bytes(data)).startswith("-: the gzip data is damaged: CRC check failed")
    assert _reason(gzip.compress(FORMS["lines"]) + b"rest").startswith("-: the gzip data is damaged: ")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1,\n "b": }\n', "-: bad JSON at line 2, column 7: expecting value"),
        (b'\n\n{"a": 1,\n "b": }\n', "-: bad JSON at line 4, column 7: expecting value"),
        (b'{"kind": "List", "items": [\n{"a": 1}', "-: the JSON ends too early, as if truncated (line 2, column 9)"),
        (b'{"kind": "Li', "-: the JSON ends too early, as if truncated (line 1, column 10)"),
        (b'{"a": NaN}', "-, line 1: NaN has no place in JSON"),
        (b'{{ template "x" }}', "-: bad JSON at line 1, column 2: expecting property name enclosed in double quotes"),
        (b"[" * 100_000, "-: the JSON is nested too deeply"),
        (FORMS["lines"] + b"\n{oops}\n" + FORMS["lines"], "-: bad JSON at line 5, column 2: expecting property name"),
        (FORMS["lines"][:-10], "-: the JSON ends too early, as if truncated (line 3, column"),
    ],
)
def test_json_that_is_wrong(data: bytes, reason: str) -> None:
    """Bad JSON is told with line and column, and a text that merely stops is told as such."""
    assert _reason(data).startswith(reason)


def test_lines_before_a_bad_one_are_given() -> None:
    """The objects before the place of an error have been given, so the caller decides what they are worth."""
    documents = read_documents(["-"], _stdin(FORMS["lines"] + b"{oops\n"))
    assert [next(documents).object for _ in PODS] == PODS
    with pytest.raises(InputError, match="line 4"):
        next(documents)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"kind: Pod\n  metadata: {}\n", "-: line 2, column 11: mapping values are not allowed in this context"),
        (b"a: [1, 2\nb: 3\n", "-: line 2, column 2: "),
        (b"a: 1\nb: 2\na: 3\n", "-: line 3, column 1: the key 'a' is there twice"),
        (b"a: \x07\n", "-: line 1, column 4: control characters are not allowed"),
        (b"a: *b\n", "-: line 1, column 4: "),
        (b"a: &a\n  b: *a\n", "-: line 2, column 6: the anchor 'a' is not defined before this place"),
        (b"a: !Ref b\n", "-: line 1, column 4: the tag !Ref has no JSON form"),
        (b"? {a: 1}\n: b\n", "-: line 1, column 3: a key is a map or a list"),
        (b"a: " + b"[" * 5_000, "-: line "),  # and where it ends is told by libraries in their ways
        (b"just text\n", "-, document 1: not a Kubernetes object but the text 'just text'"),
    ],
)
def test_yaml_that_is_wrong(data: bytes, reason: str) -> None:
    """Bad YAML, keys that are there twice, and what JSON cannot hold are told with line and column."""
    assert _reason(data).startswith(reason)


def test_the_billion_laughs() -> None:
    """Aliases of aliases that would make a billion values are refused before they are made."""
    bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    tracemalloc.start()
    assert f"aliases repeat more than {MOST_ALIASED:,} values" in _reason(bomb.encode())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000


def test_aliases_are_copies() -> None:
    """What an alias repeats is a value of its own, and what is written wins over what is merged."""
    value: Any = next(parse_yaml("a: &x {k: [1]}\nb: *x\nc: {<<: [*x, {k: 2, m: 3}], o: 4}\nd: {k: 0, <<: *x}\n"))
    assert value == {"a": {"k": [1]}, "b": {"k": [1]}, "c": {"k": [1], "m": 3, "o": 4}, "d": {"k": 0}}
    assert value["a"]["k"] is not value["b"]["k"]
    assert next(parse_yaml("'<<': 1\n")) == {"<<": 1}
    with pytest.raises(YamlError, match="takes a map"):
        next(parse_yaml("<<: 1\n"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-13T18:38:04Z", "2026-01-13T18:38:04Z"), ("2026-01-13", "2026-01-13"),
        ("!!timestamp 2026-01-13", "2026-01-13"), ("'yes'", "yes"), ("~", None), ("null", None), ("", None), ('""', ""),
        ("yes", True), ("On", True), ("y", True), ("no", False), ("OFF", False), ("N", False), ("true", True),
        ("12", 12), ("-0x1F", -31), ("0644", 420), ("0o17", 15), ("0b101", 5), ("089", 89.0), ("1_000", 1000),
        ("+1", 1), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("1e999", "1e999"),
        ("18446744073709551616", 18446744073709551616.0),
        ("22:22", "22:22"), ("1.2.3", "1.2.3"), ("=", "="), ("!!str 12", "12"), ("!!int '12'", 12),
        ("!!float 3", 3), ("!!null ''", None), ("!!bool yes", True),
    ],
)  # fmt: skip
def test_scalars_are_those_of_kubectl(text: str, value: object) -> None:
    """Plain scalars become what go-yaml v2 makes of them; timestamps and sexagesimals stay text."""
    got: Any = next(parse_yaml("v: " + text + "\n"))
    assert (got["v"], type(got["v"])) == (value, type(value))


@pytest.mark.parametrize(
    "text", ["!!int yes", "!!bool 1", "!!int x", "!!null 1", ".inf", "-.Inf", ".nan", "!!binary aGk="]
)
def test_scalars_that_json_cannot_hold(text: str) -> None:
    """Infinity, and a tag that its text contradicts, are errors."""
    with pytest.raises(YamlError, match="line 1, column 4"):
        next(parse_yaml("v: " + text + "\n"))


def test_keys_are_text() -> None:
    """Numbers and booleans as keys become text as in Go; null as a key is an error."""
    assert next(parse_yaml("on: 1\n1: 2\n1.5: 3\n2026-01-13: 4\n")) == {"true": 1, "1": 2, "1.5": 3, "2026-01-13": 4}
    with pytest.raises(YamlError, match="a key is null"):
        next(parse_yaml("~: 1\n"))


def test_the_parser_without_libyaml_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML's own parser, for where libyaml is missing, gives the same values and the same kind of error."""
    wanted = list(parse_yaml(FORMS["yaml documents"].decode()))
    monkeypatch.setattr("kindex.cli.yaml_text._LOADER", yaml.SafeLoader)
    assert list(parse_yaml(FORMS["yaml documents"].decode())) == wanted == PODS
    for text in ("a: [1", "a: \x07", "a: *b"):
        with pytest.raises(YamlError, match="line 1"):
            list(parse_yaml(text))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (json.dumps(_pod("a")).encode("utf-16"), "-: is UTF-16 or UTF-32 text; UTF-8 is wanted (in PowerShell: "),
        ("kind: Pod".encode("utf-16-be"), "-: is UTF-16 or UTF-32 text"),
        (b'{"kind": "Pod",\n "metadata": {"name": "\xff"}}', "-: is no UTF-8 text: byte 0xff in line 2"),
        (b"kind: Pod\nmetadata:\n  name: \xe9t\xe9\n", "-: is no UTF-8 text: byte 0xe9 in line 3"),
        (b"\x89PNG\r\n\x1a\n", "-: is no UTF-8 text: byte 0x89 in line 1"),
        (json.dumps(_list(_pod("a"))).encode().replace(b'"a"', b'"\xff"'), "-, item 1: "),
    ],
)
def test_bytes_that_are_no_utf8(data: bytes, reason: str) -> None:
    """UTF-16 is refused with what to do about it, other bytes with their place."""
    assert _reason(data).startswith(reason)
    assert "UTF-8" in _reason(data).upper()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            {"source": "x", "object": _pod("a")},
            "-: not a Kubernetes object: it has no apiVersion and no kind and no",
        ),
        ({}, "-: not a Kubernetes object: it has no apiVersion and no kind and no metadata (it has: nothing)"),
        (
            {"kind": "Pod", "metadata": {"name": "a"}},
            "-: not a Kubernetes object: it has no apiVersion (it has: kind, met",
        ),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": None}, "-: not a Kubernetes object: it has no metadata"),
        ({"apiVersion": "v1", "kind": 5, "metadata": {"name": "a"}}, "-: not a Kubernetes object: it has no kind"),
        (_list(_pod("a"), {"kind": "Pod"}), "-, item 2: not a Kubernetes object: it has no apiVersion and no metadata"),
        (
            _list(_pod("a"), {"metadata": {"name": "b"}}),
            "-, item 2: not a Kubernetes object: it has no apiVersion",
        ),
        ([_pod("a"), 5], "-, item 2: not a Kubernetes object but the number 5"),
        ([None], "-, item 1: not a Kubernetes object but null"),
        ([True], "-, item 1: not a Kubernetes object but the boolean true"),
        ([[[]], "x"], "-, item 2: not a Kubernetes object but the text 'x'"),
        (_list(kind="PodList") | {"items": {"a": 1}}, "-: the items of a list are no list"),
        (_pod(""), "-: this Pod has no metadata.name"),
        (
            _list(_pod("a"), _pod("b") | {"metadata": {"generateName": "web-"}}),
            "-, item 2: this Pod has no metadata.name, only a",
        ),
        (_pod("a") | {"metadata": {"name": 5}}, "-: the metadata.name of this Pod is the number 5; quote it"),
        (
            _pod("a") | {"metadata": {"name": "a", "namespace": ["x"]}},
            "-: the metadata.namespace of this Pod is a list",
        ),
    ],
)
def test_what_is_no_kubernetes_object(value: object, reason: str) -> None:
    """Anything but an object with kind, version, metadata and name is an error that names file and document."""
    assert _reason(json.dumps(value).encode()).startswith(reason)


def test_the_document_without_a_name_is_told(tmp_path: Path) -> None:
    """In a file of many documents, the one without a name is told by its number."""
    file = tmp_path / "many.yaml"
    file.write_text(yaml.safe_dump_all([*PODS, {"apiVersion": "v1", "kind": "Service", "metadata": {}}]))
    with pytest.raises(InputError, match=r"many\.yaml, document 4: this Service has no metadata\.name$"):
        _names(file)


@pytest.mark.parametrize(
    "text", ["n", "y", "yes", "on", "~", "", "1e3", "089", "0o17", "1_000", ".5", "-1", ".inf", "2026-01-13", "22:22"]
)
def test_text_that_looks_like_something_else_survives_yaml(text: str) -> None:
    """What is written as YAML is read back as the same text, here and by PyYAML, as key and as value."""
    value = {text: text, "list": [text, 1, 1000.0, 1e20, True, None, -5, "a\nb\n", "é" * 200]}
    assert list(parse_yaml(dump_yaml(value))) == [value]
    assert yaml.safe_load(dump_yaml(value)) == value


def test_yaml_is_written_without_aliases_or_folds() -> None:
    """A part that is there twice is written twice, addresses are not quoted, and a long line stays one."""
    shared = ["10.0.0.1"]
    assert dump_yaml({"a": shared, "b": shared, "c": "word " * 50 + "end"}) == (
        "a:\n- 10.0.0.1\nb:\n- 10.0.0.1\nc: " + "word " * 50 + "end\n"
    )
