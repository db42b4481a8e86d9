"""``kindex query`` and ``kindex explain``: the right objects, in the form asked for, and what surprises is said."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner

from kindex.cli.app import app
from kindex.selectors import LabelSelector
from kindex.testing import generate_cluster

if TYPE_CHECKING:
    from pathlib import Path

RawObject = dict[str, Any]


def _obj(kind: str, name: str, namespace: str | None = "prod", version: str = "v1", **more: object) -> RawObject:
    metadata: RawObject = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    if "labels" in more:
        metadata["labels"] = more.pop("labels")
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


OBJECTS = [
    _obj("Pod", "web-10", labels={"app": "web", "tier": "gold"}, spec={"nodeName": "n1"}),
    _obj("Pod", "web-9", labels={"app": "web", "tier": "iron"}, spec={"nodeName": "n2"}),
    _obj("Pod", "api-1", "test", labels={"app": "api"}, spec={"nodeName": "n1"}),
    _obj("Pod", "bare", "test"),
    _obj("Service", "web", spec={"type": "ClusterIP", "clusterIP": "10.0.0.1", "selector": {"app": "web"}}),
    _obj("Deployment", "web", version="apps/v1", spec={"replicas": 2}),
    _obj("Node", "n1", None, labels={"zone": "a"}),
]


class Answer:
    """What a run of the command gave."""

    def __init__(self, *arguments: str, stdin: bytes | None = None) -> None:
        result = CliRunner().invoke(app, list(arguments), input=stdin)
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def names(self) -> list[str]:
        return [line.partition(" ")[0].rpartition("/")[2] for line in self.lines]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    return str(path)


def _names(file: str, *arguments: str) -> list[str]:
    answer = Answer("query", "pods", file, "-o", "name", *arguments)
    assert answer.code == 0, answer.err
    return answer.names


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["web-10", "web-9", "api-1", "bare"]),
        (["-l", "app=web"], ["web-10", "web-9"]),
        (["-l", "app=web,tier in (gold, silver)"], ["web-10"]),
        (["-l", "!app"], ["bare"]),
        (["-l", "app!=web"], ["api-1", "bare"]),
        (["-n", "test"], ["api-1", "bare"]),
        (["-n", "test,prod", "-l", "app"], ["web-10", "web-9", "api-1"]),
        (["-n", "test", "-n", "absent"], ["api-1", "bare"]),
        (["-n", "absent"], []),
        (["-n", "test", "-A"], ["web-10", "web-9", "api-1", "bare"]),
        (["--field-selector", "spec.nodeName=n1"], ["web-10", "api-1"]),
        (["--field-selector", "spec.nodeName="], ["bare"]),
        (["--field-selector", "metadata.name=bare,metadata.namespace!=prod"], ["bare"]),
        (["-l", "app=web", "--field-selector", "spec.nodeName=n2"], ["web-9"]),
        (["--limit", "2"], ["web-10", "web-9"]),
        (["--limit", "0"], []),
        (["--sort-by", "metadata.name"], ["api-1", "bare", "web-9", "web-10"]),
        (["--sort-by", "{.spec.nodeName}", "--limit", "3"], ["bare", "web-10", "api-1"]),
    ],
)
@pytest.mark.parametrize("indexes", [[], ["--index", "app", "--index", "tier", "--index", "spec.nodeName"]])
def test_what_is_asked_is_answered(file: str, arguments: list[str], names: list[str], indexes: list[str]) -> None:
    """Selectors, namespaces, order and limit choose the same objects with indexes and without, sorted by key."""
    assert _names(file, *arguments, *indexes) == names


@pytest.mark.parametrize("word", ["pods", "pod", "po", "Pod", "PODS", "pods.v1", "po,nothing.of.this,po"])
def test_a_kind_goes_by_many_names(file: str, word: str) -> None:
    """Plural, singular, short name and kind name the same; a group and a version may follow."""
    if "nothing" in word:
        assert "no kind is called 'nothing.of.this'" in Answer("query", word, file).err
    else:
        assert Answer("query", word, file, "-o", "name").lines[0] == "pod/web-10"


def test_a_group_tells_kinds_apart(file: str) -> None:
    """A kind with its group is asked for, and printed, as kubectl does."""
    assert Answer("query", "deployments.apps", file, "-o", "name").out == "deployment.apps/web\n"
    assert Answer("query", "deploy", file, "-o", "name").out == "deployment.apps/web\n"
    assert Answer("query", "deployments.extensions", file, "-o", "name").out == ""


def test_without_a_kind_every_kind_is_asked(file: str) -> None:
    """Several kinds are said on stderr and shown in a table each, with the kind in the names."""
    answer = Answer("query", file, "-n", "prod")
    assert answer.err == ("kindex: several kinds, each asked on its own: 4 pod, 1 service, 1 deployment.apps, 1 node\n")
    tables = [table.splitlines() for table in answer.out.split("\n\n")]
    assert [table[0].split()[0] for table in tables] == ["NAME"] * 4
    assert [table[1].split()[0] for table in tables] == ["pod/web-10", "service/web", "deployment.apps/web", "node/n1"]
    assert Answer("query", "po,svc", file).err == ""


def test_a_namespace_does_not_count_for_what_has_none(file: str) -> None:
    """Nodes are found whatever namespace is asked for; manifests of pods that name none are in none."""
    assert Answer("query", "nodes", file, "-n", "prod", "-o", "name").out == "node/n1\n"
    bare = json.dumps(_obj("Pod", "a", None)).encode()
    answer = Answer("query", "-", "-n", "prod", stdin=bare)
    assert (answer.code, answer.out, answer.err) == (0, "", "No resources found in prod namespace.\n")
    assert Answer("query", "-", "-o", "name", stdin=bare).out == "pod/a\n"
    own = json.dumps(_obj("Thing", "a", None, "example.com/v1")).encode()
    assert Answer("query", "-", "-n", "prod", "-o", "name", stdin=own).out == "thing.example.com/a\n"


def test_the_table_has_namespaces_where_there_are_several(file: str) -> None:
    """NAMESPACE is a column with -A, or when more than one is shown; --no-headers leaves the first line out."""
    assert Answer("query", "po", file).lines[0].split() == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert Answer("query", "po", file, "-n", "test").lines[0].split()[0] == "NAME"
    assert Answer("query", "po", file, "-n", "test", "-A", "-l", "app=api").lines[1].split()[:2] == ["test", "api-1"]
    assert Answer("query", "nodes", file, "-A").lines[0].split()[0] == "NAME"
    assert Answer("query", "po", file, "-n", "test", "--no-headers").lines[0].split()[0] == "api-1"
    assert "NODE" in Answer("query", "po", file, "-o", "wide").lines[0]


def test_json_and_yaml_are_a_list_of_whole_objects(file: str) -> None:
    """-o json and -o yaml give one List with the objects as they were, and an empty one for no answer."""
    for form, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        whole = read(Answer("query", "po,svc", file, "-n", "prod", "-o", form).out)
        assert (whole["kind"], whole["apiVersion"]) == ("List", "v1")
        assert whole["items"] == [OBJECTS[0], OBJECTS[1], OBJECTS[4]]
        nothing = Answer("query", "po", file, "-l", "app=none", "-o", form)
        assert (read(nothing.out)["items"], nothing.err) == ([], "")


def test_the_answer_can_be_asked_again(file: str) -> None:
    """What -o json and -o yaml print is input again, with the same answer."""
    for form in ("json", "yaml"):
        text = Answer("query", file, "-o", form).out.encode()
        assert Answer("query", "-o", "name", stdin=text).out == Answer("query", file, "-o", "name").out


def test_nothing_found_is_no_error(file: str) -> None:
    """An empty answer says so on stderr, as kubectl does, and ends with 0."""
    answer = Answer("query", "cronjobs", file)
    assert (answer.code, answer.out, answer.err) == (0, "", "No resources found\n")
    assert Answer("query", "po", file, "-n", "absent").err == "No resources found in absent namespace.\n"


def test_files_folders_and_stdin(tmp_path: Path) -> None:
    """Several files, a folder, and standard input, named or not, are read alike; .gz too."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.yaml").write_text(yaml.safe_dump_all(OBJECTS[:2]))
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, OBJECTS[2:4])).encode()))
    folder, stdin = str(tmp_path / "in"), json.dumps(OBJECTS[4]).encode()
    pods = ["web-10", "web-9", "api-1", "bare"]
    assert Answer("query", folder, "-o", "name").names == pods
    assert (
        Answer("query", str(tmp_path / "in" / "b.jsonl.gz"), str(tmp_path / "in" / "a.yaml"), "-o", "name").names
        == pods
    )
    assert Answer("query", "svc", folder, "-", "-o", "name", stdin=stdin).names == ["web"]
    assert Answer("query", "svc", "-o", "name", stdin=stdin).names == ["web"]


def test_a_file_called_like_a_kind_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first argument is a kind only if no file has that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pods").write_text(json.dumps(OBJECTS[4]))
    assert Answer("query", "pods", "-o", "name").out == "service/web\n"


def test_an_object_that_is_there_twice_counts_once(file: str) -> None:
    """Of two objects with one key the last one counts, and that is said."""
    newer = json.dumps(_obj("Pod", "bare", "test", labels={"app": "new"})).encode()
    answer = Answer("query", "po", file, "-", "-l", "app=new", "-o", "name", stdin=newer)
    assert (answer.out, answer.err) == ("pod/bare\n", "kindex: 1 object is there more than once; the last one counts\n")


def test_labels_that_are_no_text_are_told_once() -> None:
    """Boolean and number labels are not matched, and their number is said once, whatever is asked."""
    odd = [
        _obj("Pod", "a", labels={"on": True, "n": 5, "ok": "x", "empty": None}),
        _obj("Service", "b", labels={"on": True}),
    ]
    text = "\n".join(map(json.dumps, odd)).encode()
    answer = Answer("query", "po,svc", "-", "-l", "on", "-o", "name", stdin=text)
    said = "kindex: 3 label values are no text (5, true) and not matched; quote them in the file\n"
    assert (answer.out, answer.err) == ("", said + "No resources found\n")
    assert Answer("query", "po", "-", "-l", "ok=x,empty=", "-o", "name", stdin=text).out == "pod/a\n"


def test_the_plan_goes_to_stderr_beside_the_answer(file: str) -> None:
    """--explain prints the plan on stderr and leaves the answer as it was."""
    arguments = ["query", "po", file, "-l", "app=web", "--index", "app", "-o", "name"]
    plain, explained = Answer(*arguments), Answer(*arguments, "--explain")
    assert plain.out == explained.out
    assert explained.err.startswith("2 of 4 objects in store 'pods'\n")
    assert "[index app]" in explained.err


def test_explain_prints_the_plan(file: str) -> None:
    """``kindex explain`` prints the plan alone; without --index it says what no index answers."""
    indexed = Answer("explain", "po", file, "-l", "app=web", "-n", "prod", "--index", "app")
    assert "[index app]" in indexed.out
    assert "[index namespace]" in indexed.out
    assert "check" not in indexed.out
    assert "check app=web: 4 looked at, 2 left" in Answer("explain", "po", file, "-l", "app=web").out


def test_a_plan_as_data(file: str) -> None:
    """-o json gives a list of plans, each with its kind."""
    answer = Answer("explain", file, "-l", "app=web", "-o", "json", "--index", "app")
    plans = json.loads(answer.out)
    assert [(plan["kind"], plan["group"], plan["returned"]) for plan in plans] == [
        ("Pod", "", 2),
        ("Service", "", 0),
        ("Deployment", "apps", 0),
        ("Node", "", 0),
    ]
    assert plans[0]["steps"][0]["index"] == "app"


def test_what_is_indexed_or_sorted_by_but_not_there_is_told(file: str) -> None:
    """An index of a label that no object has, and a sort path that leads nowhere, are probably slips: they are said."""
    answer = Answer("query", "po", file, "--index", "ap", "--index", "spec.node", "--sort-by", ".spec.nodename")
    assert answer.err.splitlines() == [
        "kindex: --index ap: none of the pods has it",
        "kindex: --index spec.node: none of the pods has it",
        "kindex: --sort-by spec.nodename: none of the pods has it",
    ]


@pytest.mark.parametrize(
    "selector", ["app", "tier=backend,app", "app notin (cilium)", "!app", "tier in (cache,frontend)"]
)
def test_counts_are_those_of_a_plain_filter(tmp_path: Path, selector: str) -> None:
    """On a generated cluster, the command finds what a loop over all pods finds."""
    cluster = generate_cluster(pods=1_500, namespaces=8)
    path = tmp_path / "pods.jsonl"
    path.write_text("\n".join(map(json.dumps, cluster.pods)))
    matches = LabelSelector.parse(selector).matches
    wanted = [pod["metadata"]["name"] for pod in cluster.pods if matches(pod["metadata"].get("labels"))]
    assert 0 < len(wanted) < len(cluster.pods)
    assert Answer("query", str(path), "-l", selector, "-o", "name", "--index", "tier").names == wanted
