"""``kindex analyze``: the numbers of each label, the verdict with its reason, and what the choice would cost."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console as Terminal
from typer.testing import CliRunner

import kindex.cli.app as command_line
from kindex import Budget, FieldIndexer, LabelIndexer, Store, forecast
from kindex.cli.analyze import AnalysisOutput, Wanted, analyses, printed_analyses
from kindex.cli.app import app
from kindex.cli.kinds import Kind
from kindex.testing import generate_cluster

if TYPE_CHECKING:
    from pathlib import Path

RawObject = dict[str, Any]


def _pod(number: int, **labels: str) -> RawObject:
    metadata: RawObject = {"name": f"p{number:04d}", "namespace": "prod"}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": f"n{number % 8}"}}


def _labels_of(number: int) -> dict[str, str]:
    labels = {"app": f"app-{number % 12}", "managed-by": "Helm", "serial": f"s{number}", "pod-template-hash": "h"}
    if number < 3:
        labels["odd"] = "yes"
    if number % 5 == 0:
        labels["canary"] = "true"
    if number % 2:
        labels["pair"] = f"pair-{number // 4}"
    return labels


PODS = [_pod(number, **_labels_of(number)) for number in range(400)]
SERVICE: RawObject = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "prod"}}


def _run(*arguments: str, objects: list[RawObject] | None = None) -> tuple[int, str, str]:
    whole = {"apiVersion": "v1", "kind": "List", "items": PODS if objects is None else objects}
    result = CliRunner().invoke(app, ["analyze", *arguments], input=json.dumps(whole).encode())
    return result.exit_code, result.stdout, result.stderr


def _analysis(*arguments: str, objects: list[RawObject] | None = None) -> Any:
    code, out, err = _run(*arguments, "-o", "json", objects=objects)
    assert code == 0, err
    (only,) = json.loads(out)
    return only


def _rows(analysis: Any) -> dict[str, Any]:
    return {row["key"]: row for row in analysis["keys"]}


@pytest.mark.parametrize(
    ("key", "objects", "values", "singles", "largest", "verdict", "reason"),
    [
        ("app", 400, 12, 0, 34, "index", "33 objects a value, 8% in the largest"),
        ("canary", 80, 1, 0, 80, "index", "a mark that 20% have"),
        ("managed-by", 400, 1, 0, 400, "constant", "one value has 100% of the objects"),
        ("serial", 400, 400, 400, 1, "near-unique", "each object has its own value; only worth it to look single"),
        ("pod-template-hash", 400, 1, 0, 400, "near-unique", "a new value for each rollout"),
        ("odd", 3, 1, 0, 3, "rare", "3 of 400 objects have it"),
        ("pair", 200, 100, 0, 2, "index", "2 objects a value, 0.5% in the largest"),
    ],
)
def test_each_key_has_its_numbers_and_a_verdict(
    key: str, objects: int, values: int, singles: int, largest: int, verdict: str, reason: str
) -> None:
    """Objects, distinct values, singles and the largest value are counted, and say what to do."""
    row = _rows(_analysis())[key]
    assert (row["objects"], row["values"], row["singles"], row["largest"]) == (objects, values, singles, largest)
    assert row["verdict"] == verdict
    assert row["reason"].startswith(reason)


def test_bytes_are_those_of_the_index() -> None:
    """What is printed for a key is what a store's index of it takes, and the choice is what they take together."""
    analysis = _analysis("--paths", "spec.nodeName")
    rows = _rows(analysis)
    store: Store[RawObject] = Store(indexers=[LabelIndexer("app", "canary", "pair"), FieldIndexer("spec.nodeName")])
    store.replace(PODS)
    taken = {index.name: index.index_bytes for index in store.memory().indexes if index.name != "namespace"}
    assert {name: rows[name]["bytes"] for name in taken} == taken
    assert analysis["choice"]["bytes"] == sum(taken.values())
    everything = forecast(PODS, LabelIndexer.all(budget=Budget(max_bytes="1GiB"), deny=()))
    assert analysis["everything"]["bytes"] == everything.bytes + rows["spec.nodeName"]["bytes"]


def test_the_choice_is_code_that_indexes_what_is_worth_it() -> None:
    """The indexers are printed as they are written, and are indexers."""
    texts = _analysis("--paths", "spec.nodeName,.status.phase")["choice"]["indexers"]
    made = [eval(text, {"LabelIndexer": LabelIndexer, "FieldIndexer": FieldIndexer}) for text in texts]  # noqa: S307 - our own
    assert set(made[0].keys) == {"app", "canary", "pair"}
    assert made[1:] == [FieldIndexer("spec.nodeName")]


def test_the_most_expensive_comes_first_with_the_longest_bar() -> None:
    """Rows are sorted by bytes, and the bar of each is as long as its share of the largest."""
    code, out, _ = _run()
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "400 pods"
    assert lines[1].split() == ["KEY", "OBJECTS", "VALUES", "SINGLES", "LARGEST", "BYTES", "VERDICT", "REASON"]
    assert lines[2].split()[:5] == ["pair", "200", "100", "0%", "0.5%"]
    assert "████████  index        2 objects a value" in lines[2]
    assert "  near-unique  each object has its own value" in lines[3]
    bars = [line.count("█") for line in lines[2:9]]
    assert bars == sorted(bars, reverse=True)
    assert lines[9] == ""
    assert lines[10].startswith("This choice, 3 of 7: ")
    assert lines[11].strip().startswith("LabelIndexer(")
    assert lines[12].startswith("Everything, 7: ")
    assert lines[12].endswith(" times as much")
    assert "\x1b" not in out


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_tables_fit_the_terminal(width: int) -> None:
    """No line of the table is longer than the terminal is wide, and every verdict is there with its reason."""
    long_names = [
        {**each, "metadata": each["metadata"] | {"labels": {f"example.com/a-very-long-prefix-{key}": value}}}
        for each in PODS
        for key, value in [("of-" + "many-" * 6 + "words", each["metadata"]["labels"]["app"])]
    ]
    for objects in (PODS, long_names):
        found = list(analyses(Wanted.parse(), {Kind("Pod", ""): objects}))
        lines = [line.plain for line in printed_analyses(found, AnalysisOutput.TABLE, width=width)]
        table = lines[1 : lines.index("")]
        assert max(map(len, table)) <= width
        assert all("index" in line or "-unique" in line or "constant" in line or "rare" in line for line in table[1:])
    text = "\n".join(
        line.plain
        for line in printed_analyses(
            list(analyses(Wanted.parse(), {Kind("Pod", ""): PODS})), AnalysisOutput.TABLE, width=width
        )
    )
    assert "near-unique: serial: each object has its own value" in text
    assert "constant: managed-by: one value has 100% of the objects" in text


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal shows verdicts in colour; a pipe and a file get plain text."""
    screen = io.StringIO()

    def terminal(**options: Any) -> Terminal:
        return Terminal(file=screen, force_terminal=True, color_system="standard", width=120, **options)

    monkeypatch.setattr(command_line, "Console", terminal)
    assert _run()[0] == 0
    assert "\x1b[32mindex" in screen.getvalue()
    assert "\x1b[31mnear-unique" in screen.getvalue()


@pytest.mark.parametrize("width", [60, 80])
def test_prose_is_folded_between_words(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal sentences are folded between words, while code to copy and rows of the table stay whole."""
    screen = io.StringIO()
    terminal = Terminal(file=screen, force_terminal=True, color_system=None, width=width)
    monkeypatch.setattr(command_line, "Console", lambda **_: terminal)
    keys = [f"a-rather-long-key-of-a-label-{number}" for number in range(9)]
    traps = [{key: f"{key}-{number}" for key in keys} for number in range(200)]
    worth = {f"team-{number}-that-owns-what-it-is": "a" for number in range(9)}
    objects = [_pod(number, **trap, **(worth if number % 2 else {})) for number, trap in enumerate(traps)]
    assert _run(objects=objects)[0] == 0
    lines = screen.getvalue().splitlines()
    note = lines[lines.index(next(line for line in lines if line.startswith("near-unique: "))) :]
    assert max(map(len, note)) <= width
    joined = " ".join(line.strip() for line in note)
    assert all(key in joined for key in keys)
    assert f"    LabelIndexer({', '.join(json.dumps(key) for key in worth)})" in lines


def test_one_object_is_one() -> None:
    """Sentences know one from many."""
    assert {row["reason"] for row in _analysis(objects=PODS[:1])["keys"]} == {"1 object is scanned as fast"}
    assert {row["reason"] for row in _analysis(objects=PODS[:2])["keys"]} == {"2 objects are scanned as fast"}


def test_few_objects_need_no_index() -> None:
    """Below a hundred objects nothing is worth an index, and that is said."""
    analysis = _analysis(objects=PODS[:99])
    assert {row["verdict"] for row in analysis["keys"]} == {"small"}
    assert analysis["choice"] == {"indexers": [], "keys": 0, "values": 0, "bytes": 0, "bytes_range": [0, 0]}
    assert "No index is worth it: so few pods are scanned as fast." in _run(objects=PODS[:99])[1]
    assert _rows(_analysis(objects=PODS[:100]))["app"]["verdict"] == "index"


def test_a_model_scales_what_there_is() -> None:
    """With a model the numbers are those of so many objects: shared values stay, unique ones grow, with a range."""
    analysis = _analysis("--model", "pods=40_000")
    rows = _rows(analysis)
    assert (analysis["objects"], analysis["objects_in_input"]) == (40_000, 400)
    assert (rows["app"]["values"], rows["app"]["objects"]) == (12, 40_000)
    assert (rows["serial"]["values"], rows["serial"]["singles"]) == (40_000, 40_000)
    for row in rows.values():
        low, high = row["bytes_range"]
        assert low <= row["bytes"] <= high
    assert rows["app"]["bytes"] > 40_000
    assert _run("--model", "po=40000")[1].startswith("400 pods, taken for a sample of 40,000\n")
    small = _analysis("--model", "pods=40000", objects=PODS[:60])
    assert _rows(small)["app"]["verdict"] == "index"


def test_annotations_are_looked_at_when_asked_for() -> None:
    """One annotation, several, or all of them; near-unique ones are known here too."""
    objects = [
        each
        | {"metadata": each["metadata"] | {"annotations": {"team": f"t{n % 3}", "kubernetes.io/config.hash": f"{n}"}}}
        for n, each in enumerate(PODS)
    ]

    def annotations(*arguments: str) -> dict[str, str]:
        rows = _analysis(*arguments, objects=objects)["keys"]
        return {row["key"]: row["verdict"] for row in rows if row["field"] == "annotation"}

    assert annotations() == {}
    assert annotations("--annotations", "team") == {"team": "index"}
    both = {"team": "index", "kubernetes.io/config.hash": "near-unique"}
    assert annotations("--annotations", "team,kubernetes.io/config.hash") == both
    assert annotations("--annotations", "all") == both
    assert annotations("--annotations", "absent") == {"absent": "rare"}
    choice = _analysis("--annotations", "all", objects=objects)["choice"]["indexers"]
    assert 'AnnotationIndexer("team")' in choice
    assert "annotation team " in _run("--annotations", "all", objects=objects)[1]


def test_kinds_are_looked_at_one_by_one() -> None:
    """A kind may be named; without it each has a table of its own, and that is said."""
    code, out, err = _run("-o", "json", objects=[*PODS, SERVICE])
    assert code == 0
    assert [each["kind"] for each in json.loads(out)] == ["Pod", "Service"]
    assert "several kinds, each asked on its own: 400 pod, 1 service" in err
    assert (
        "1 services\nNone of them has a label; --paths and --annotations look at other fields.\n"
        in _run(objects=[*PODS, SERVICE])[1]
    )
    only = CliRunner().invoke(
        app,
        ["analyze", "svc", "-", "-o", "json"],
        input=json.dumps({"apiVersion": "v1", "kind": "List", "items": [*PODS, SERVICE]}).encode(),
    )
    assert [each["kind"] for each in json.loads(only.stdout)] == ["Service"]


def test_long_lists_are_cut_and_shown_when_asked_for() -> None:
    """The thirty most expensive keys are shown; the rest is summed up, unless all are wanted. JSON has them all."""
    objects = [_pod(number, **{f"key-{key}": str(number % (key + 2)) for key in range(50)}) for number in range(120)]
    assert "and 20 more that take " in _run(objects=objects)[1]
    whole = _run("--all", objects=objects)[1]
    assert "more that take" not in whole
    assert all(f"key-{key} " in whole for key in range(50))
    assert len(_analysis(objects=objects)["keys"]) == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--paths", "spec..b"], "error: bad path: "),
        (["--paths", ""], "error: bad path: "),
        (["--annotations", "a b"], "error: --annotations 'a b' is no annotation: its name must"),
        (["--annotations", ""], "error: --annotations '' is no annotation: its name is empty"),
        (["--model", "pods"], "error: --model 'pods' is not such as pods=150000\n"),
        (["--model", "pods=many"], "error: --model 'pods=many' is not such as pods=150000\n"),
        (["--model", "=5"], "error: --model '=5' is not such as pods=150000\n"),
        (["--model", "pods=0"], "error: --model 'pods=0' is not such as pods=150000\n"),
        (["--model", "pods=-5"], "error: --model 'pods=-5' is not such as pods=150000\n"),
        (["--model", "pods=399"], "error: --model pods=399 is fewer than the 400 there are; leave it out\n"),
        (["--model", "svc=500"], "error: --model svc=500: there are no svc (the input has: pods)\n"),
        (["-o", "yaml"], "Usage: "),
    ],
)
def test_what_was_typed_and_cannot_be_ends_with_2(arguments: list[str], message: str) -> None:
    """Slips are told in a sentence, without a traceback, and nothing is printed as an answer."""
    code, out, err = _run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert "Traceback" not in err


def test_a_kind_that_is_not_there_is_told() -> None:
    """A kind of which the input has none is no kind of its, or has nothing to look at."""
    unknown = CliRunner().invoke(app, ["analyze", "frobs", "-"], input=json.dumps(PODS).encode())
    assert (unknown.exit_code, unknown.stderr) == (2, "error: no kind is called 'frobs' (the input has: pods)\n")
    nothing = CliRunner().invoke(app, ["analyze", "svc", "-"], input=json.dumps(PODS).encode())
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == "No resources found\n"


def test_odd_labels_do_not_disturb(tmp_path: Path) -> None:
    """Values that are no text are no labels; null is empty; a label may be called as an index is."""
    odd: list[RawObject] = [_pod(number, app="web") for number in range(100)]
    for number, each in enumerate(odd):
        each["metadata"]["labels"] |= {"flag": True, "nothing": None, "namespace": f"v{number % 4}", "a\x1b[31m": "x"}
    odd.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "labels": None}})
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(odd))
    result = CliRunner().invoke(app, ["analyze", str(path)])
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    analysis = json.loads(CliRunner().invoke(app, ["analyze", str(path), "-o", "json"]).stdout)[0]
    rows = _rows(analysis)
    assert "flag" not in rows
    assert rows["nothing"]["values"] == 1
    assert rows["namespace"]["values"] == 4


def test_a_whole_cluster_is_looked_at() -> None:
    """The labels of a generated cluster: workloads are worth an index, rollouts and single pods are traps."""
    pods = generate_cluster(pods=2_000, namespaces=10, seed=5).pods
    rows = _rows(_analysis(objects=pods))
    assert rows["app"]["verdict"] == "index"
    for key in ("pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name", "job-name"):
        assert rows[key]["verdict"] == "near-unique"
    assert rows["apps.kubernetes.io/pod-index"]["verdict"] == "index"
