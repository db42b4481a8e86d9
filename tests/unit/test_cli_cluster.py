"""``kindex query``, ``explain`` and ``analyze`` of a cluster: what they ask, what they print, and what goes wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from rich.console import Console as Terminal
from typer.testing import CliRunner

import kindex.cli.app as command_line
import kindex.cli.cluster as asked_cluster
from kindex.cli import progress
from kindex.cli.app import app
from kindex.cli.cluster import Cluster, ClusterError
from kindex.cli.printing import Output
from kindex.cli.query import Question
from kindex.cli.watching import watched
from kindex.testing import ApiServer, Resource, TlsFiles
from tests.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

TOKEN = "of-the-test"  # noqa: S105 - it is none
REFUSED_PORT = "http://127.0.0.1:1"


def _pod(name: str, namespace: str = "prod", app_label: str = "web", node: str = "n1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app_label}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}}


def _node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


OBJECTS = [
    _pod("web-2"),
    _pod("web-1"),
    _pod("db-1", app_label="db", node="n2"),
    _pod("web-1", namespace="test", node="n2"),
    _node("n1"),
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod"}},
]


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test finds a kubeconfig that happens to be here, or a file in the folder."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A cluster."""
    widgets = Resource("acme.io/v1", "Widget", short_names=("wd",), namespaced=False)
    with ApiServer(OBJECTS, token=TOKEN, resources=[widgets]) as server:
        yield server


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> str:
    """The way to it."""
    return str(server.kubeconfig(tmp_path / "kubeconfig"))


def _run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    return result.exit_code, result.stdout, result.stderr


def _names(out: str) -> list[str]:
    return out.split()


# --- what is asked ----------------------------------------------------------------------------------------------------


class _Still(datetime):
    """A clock that stands still: two answers that are compared show the same ages."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2100, 1, 1, tzinfo=tz)


def test_a_query_of_a_cluster_is_one_of_a_file(
    kubeconfig: str, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of a cluster is that of a file with the same objects, in every form."""
    monkeypatch.setattr(command_line, "datetime", _Still)
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": server.objects("pods")}))
    for form in ("table", "wide", "json", "yaml", "name"):
        flags = ("-l", "app=web", "--field-selector", "spec.nodeName!=n2", "-o", form)
        of_cluster = _run("query", "pods", "--kubeconfig", kubeconfig, *flags)
        assert of_cluster[0] == 0
        assert of_cluster == _run("query", str(file), *flags)


@pytest.mark.parametrize("word", ["pods", "po", "Pod", "pod", "PODS", "pods.v1"])
def test_a_kind_has_many_names(kubeconfig: str, word: str) -> None:
    """Plural, singular, kind and short name mean the same."""
    code, out, err = _run("query", word, "--kubeconfig", kubeconfig, "-n", "test", "-o", "name")
    assert (code, out, err) == (0, "pod/web-1\n", "")


@pytest.mark.parametrize("word", ["deployments", "deploy", "deployments.apps", "deployments.v1.apps", "Deployment"])
def test_a_kind_of_a_group(kubeconfig: str, word: str) -> None:
    """A kind outside the core is found with its group and without."""
    assert _run("query", word, "--kubeconfig", kubeconfig, "-o", "name")[:2] == (0, "deployment.apps/web\n")


def test_a_custom_resource(kubeconfig: str, server: ApiServer) -> None:
    """What a definition added is found by the server's own short name; namespaces do not concern what has none."""
    server.create({"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "cog"}})
    for word in ("wd", "widgets.acme.io"):
        code, out, _ = _run("query", word, "--kubeconfig", kubeconfig, "-n", "prod", "-o", "name")
        assert (code, out) == (0, "widget.acme.io/cog\n")


def test_several_kinds_and_namespaces(kubeconfig: str, server: ApiServer) -> None:
    """Kinds are listed one after the other, and only in the namespaces that are named, where they have some."""
    code, out, _ = _run("query", "po,nodes,po", "--kubeconfig", kubeconfig, "-n", "test,prod", "-o", "name")
    assert code == 0
    assert _names(out) == ["pod/db-1", "pod/web-1", "pod/web-2", "pod/web-1", "node/n1"]
    lists = [each.path for each in server.requests if each.verb == "list"]
    assert lists == ["/api/v1/namespaces/test/pods", "/api/v1/namespaces/prod/pods", "/api/v1/nodes"]


def test_the_context_and_the_variable(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """$KUBECONFIG may name several files, of which some are missing; --context chooses."""
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["absent.yaml", kubeconfig]))
    assert _run("query", "no", "--context", "kindex", "-o", "name") == (0, "node/n1\n", "")


def test_the_default_kubeconfig_at_a_terminal(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal a kind alone is asked of the cluster of ~/.kube/config."""
    (folder := Path("~/.kube").expanduser()).mkdir()
    server.kubeconfig(folder / "config")
    monkeypatch.setattr(command_line, "is_terminal", lambda stream: stream is sys.stdin)
    assert _run("query", "no", "-o", "name") == (0, "node/n1\n", "")


def test_explain_and_analyze_ask_clusters_too(kubeconfig: str) -> None:
    """A plan and an analysis are made of what the cluster has, in the namespaces that are named."""
    code, out, _ = _run("explain", "po", "--kubeconfig", kubeconfig, "-l", "app=web", "--index", "app", "-n", "prod")
    assert code == 0
    assert out.startswith("2 of 3 objects")
    code, out, _ = _run("analyze", "po", "--kubeconfig", kubeconfig, "-o", "json", "-n", "prod")
    assert code == 0
    [analysis] = json.loads(out)
    assert analysis["objects_in_input"] == 3
    assert analysis["kind"] == "Pod"


def test_analyze_takes_namespaces_of_files(tmp_path: Path) -> None:
    """-n chooses among the objects of a file as well, and leaves those that have no namespace by nature."""
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    counts = [
        each["objects_in_input"] for each in json.loads(_run("analyze", str(file), "-o", "json", "-n", "test")[1])
    ]
    assert counts[:2] == [1, 1]  # a pod, and the node


# --- pages and progress -----------------------------------------------------------------------------------------------


def test_large_lists_come_in_pages(kubeconfig: str, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is read page by page, and nothing is lost between them."""
    monkeypatch.setattr(asked_cluster, "_PAGE", 3)
    assert len(_names(_run("query", "po", "--kubeconfig", kubeconfig, "-o", "name")[1])) == 4
    assert [each.query.get("limit") for each in server.requests if each.verb == "list"] == ["3", "3"]


def test_a_page_that_expired(kubeconfig: str, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the token of a page has expired, the list is read again in one piece, and no object is there twice."""
    monkeypatch.setattr(asked_cluster, "_PAGE", 3)
    server.faults.add("status", verb="list", page=2, code=410)
    code, out, err = _run("query", "po", "--kubeconfig", kubeconfig, "-o", "name")
    assert (code, len(_names(out)), err) == (0, 4, "")
    assert [each.query.get("limit") for each in server.requests if each.verb == "list"] == ["3", "3", None]


def test_progress_is_for_terminals(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many objects were listed shows on a terminal's stderr, and nothing of it in the answer."""
    quiet = _run("query", "po", "--kubeconfig", kubeconfig, "-o", "name")
    assert quiet[2] == ""
    monkeypatch.setattr(progress, "is_terminal", lambda stream: stream is sys.stderr)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "Console", lambda **_: Terminal(file=sys.stderr, force_terminal=True, width=80))
    loud = _run("query", "po", "--kubeconfig", kubeconfig, "-o", "name")
    assert loud[:2] == quiet[:2]
    assert "listing pods: 4" in loud[2]


# --- files or kinds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a kind to ask the cluster for, such as pods"),
        (["pods.json"], "'pods.json' is no kind, and with --kubeconfig, --context or -w no files are read"),
        (["-"], "'-' is no kind, and with --kubeconfig, --context or -w no files are read"),
        (["po", "svc"], "'svc' is one too many: a cluster is asked for one kind, or several as po,svc"),
    ],
)
def test_a_cluster_is_asked_for_kinds_alone(kubeconfig: str, arguments: list[str], message: str) -> None:
    """With --kubeconfig files have no place, and the error says so."""
    assert _run("query", *arguments, "--kubeconfig", kubeconfig) == (2, "", f"error: {message}\n")


def test_a_file_called_like_a_kind(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of that name is read, unless options say that a cluster is asked."""
    Path("pods").write_text(json.dumps(_pod("of-the-file")))
    monkeypatch.setattr(command_line, "is_terminal", lambda stream: stream is sys.stdin)
    assert _run("query", "pods", "-o", "name") == (0, "pod/of-the-file\n", "")
    code, out, _ = _run("query", "pods", "-o", "name", "--kubeconfig", kubeconfig)
    assert code == 0
    assert "pod/of-the-file" not in out


def test_neither_a_file_nor_a_kind(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word alone that is neither a file nor a kind of a cluster gets a sentence that names both."""
    monkeypatch.setattr(command_line, "is_terminal", lambda stream: stream is sys.stdin)
    first = "error: 'frobs' is no file here, and taken for a kind of a cluster: "
    code, _, err = _run("query", "frobs")
    assert code == 1
    assert err.startswith(f"{first}there is no kubeconfig: $KUBECONFIG is not set, ~/.kube/config is not there")
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    code, _, err = _run("query", "frobs")
    assert code == 2
    assert err.startswith(f"{first}http://127.0.0.1:")
    assert err.endswith("the server has no resource 'frobs' that can be listed\n")


def test_a_kind_alone_in_a_script() -> None:
    """Where standard input is no terminal it is read; if nothing is there, the error says how to ask a cluster."""
    assert _run("query", "po", "-o", "name", stdin=json.dumps(_pod("piped")).encode())[1] == "pod/piped\n"
    message = "error: standard input: empty, there are no objects in it (--kubeconfig or --context asks a cluster)\n"
    assert _run("query", "po") == (1, "", message)
    assert _run("query", "-") == (1, "", "error: standard input: empty, there are no objects in it\n")


# --- what goes wrong --------------------------------------------------------------------------------------------------


def _written(path: Path, config: dict[str, Any]) -> str:
    path.write_text(json.dumps(config))
    return str(path)


def _error(code: int, *arguments: str) -> str:
    """Give the one sentence that a command ends with."""
    found, out, err = _run(*arguments)
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err.removeprefix("error: ").strip()


def test_contexts_and_files_that_are_not_there(
    kubeconfig: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A context that there is not is answered with those that there are; a missing file with its name."""
    asked = ("query", "po")
    message = f"kubeconfig {kubeconfig}: there is no context 'nope'; there are: kindex"
    assert _error(1, *asked, "--kubeconfig", kubeconfig, "--context", "nope") == message
    absent = str(tmp_path / "absent")
    assert _error(1, *asked, "--kubeconfig", absent) == f"kubeconfig {absent}: no such file"
    monkeypatch.setenv("KUBECONFIG", absent)
    assert _error(1, *asked, "--context", "kindex") == f"$KUBECONFIG is {absent}: no such file"
    assert _error(1, *asked, "--kubeconfig", str(tmp_path)) == f"kubeconfig {tmp_path}: is a directory"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is empty"),
        ("a: [", "cannot be read: while parsing"),
        ("[1, 2]", "cannot be read: "),
        ("text", "cannot be read: "),
        ("{}", "it has no current context, so one has to be named"),
        ("current-context: a", "Expected object with name a in"),
        ("\0", "cannot be read: "),
    ],
)
def test_kubeconfigs_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    """Whatever a file holds that is no kubeconfig, the sentence names it."""
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    sentence = _error(1, "explain", "po", "--kubeconfig", str(path))
    assert sentence.startswith(f"kubeconfig {path}")
    assert message in sentence


def test_a_context_without_a_current_one(server: ApiServer, tmp_path: Path) -> None:
    """A kubeconfig without a current context serves whoever names one."""
    config = server.config()
    del config["current-context"]
    path = _written(tmp_path / "kubeconfig", config)
    assert _run("query", "no", "--kubeconfig", path, "--context", "kindex", "-o", "name") == (0, "node/n1\n", "")
    sentence = _error(1, "query", "no", "--kubeconfig", path, "--context", "nope")
    assert sentence == f"kubeconfig {path}: there is no context 'nope'"


def test_a_plugin_that_gives_no_credentials(server: ApiServer, tmp_path: Path) -> None:
    """An exec plugin that is missing, or fails, ends with what it said, and the server is not asked without."""
    config = server.config()
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": plugin}
    path = _written(tmp_path / "kubeconfig", config)
    sentence = _error(1, "query", "po", "--kubeconfig", path)
    assert sentence.startswith(f"kubeconfig {path} gives no credentials: ")
    assert "no-such-plugin" in sentence
    assert server.requests == []


def test_in_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pod without a kubeconfig its service account is used; what it lacks is said."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    sentence = _error(1, "query", "po", "--context", "kindex")
    assert sentence == "there is no context 'kindex': in a pod, without a kubeconfig, there are none"
    monkeypatch.setattr(command_line, "is_terminal", lambda stream: stream is sys.stdin)
    assert "this pod has no service account to ask its cluster with: " in _error(1, "query", "po")


def test_the_service_account_of_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pod without a kubeconfig a kind alone is asked of its own cluster, with the pod's token and authority."""
    authority = Authority(tmp_path)
    (token := tmp_path / "token").write_text(TOKEN)
    monkeypatch.setattr("kubernetes.config.incluster_config.SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr("kubernetes.config.incluster_config.SERVICE_CERT_FILENAME", str(authority.file))
    monkeypatch.setattr(command_line, "is_terminal", lambda stream: stream is sys.stdin)
    with ApiServer(OBJECTS, tls=authority.server(), token=TOKEN) as server:
        host, _, port = server.url.removeprefix("https://").partition(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        assert _run("query", "no", "-o", "name") == (0, "node/n1\n", "")


def test_a_connection_that_is_refused(server: ApiServer, tmp_path: Path) -> None:
    """A server that is not there is named."""
    config = server.config()
    config["clusters"][0]["cluster"]["server"] = REFUSED_PORT
    path = _written(tmp_path / "kubeconfig", config)
    for command in (["query", "po"], ["query", "po", "-w"], ["explain", "po"], ["analyze", "po"]):
        assert _error(1, *command, "--kubeconfig", path) == f"{REFUSED_PORT}: the connection was refused"


def test_a_host_without_an_address(server: ApiServer, tmp_path: Path) -> None:
    """So is a host whose name nobody knows."""
    config = server.config()
    config["clusters"][0]["cluster"]["server"] = "http://no-such-host.invalid"
    sentence = _error(1, "query", "po", "--kubeconfig", _written(tmp_path / "kubeconfig", config))
    assert sentence.startswith("http://no-such-host.invalid: the host has no address")


def test_a_list_that_is_forbidden(kubeconfig: str, server: ApiServer) -> None:
    """A refused list says what the server said, and points at -n where all namespaces were asked for."""
    server.faults.add("status", verb="list", code=403, times=None, message="pods is forbidden")
    sentence = _error(1, "query", "po", "--kubeconfig", kubeconfig)
    assert sentence.startswith(f"{server.url}: 403 Forbidden: pods is forbidden (-n asks for one namespace")
    assert _error(1, "query", "po", "--kubeconfig", kubeconfig, "-n", "prod").endswith("pods is forbidden")
    for namespaces in ([], ["-n", "prod"]):
        sentence = _error(1, "query", "po", "-w", "--kubeconfig", kubeconfig, *namespaces)
        assert sentence.startswith(f"{server.url}: 403 Forbidden: pods is forbidden")


def test_a_list_of_a_kind_without_namespaces_that_is_forbidden(kubeconfig: str, server: ApiServer) -> None:
    """No -n can help there, so what would is said, by query, with -w and by doctor alike."""
    server.faults.add("status", verb="list", code=403, times=None, message="nodes is forbidden")
    wanted = (
        f"{server.url}: 403 Forbidden: nodes is forbidden (nodes have no namespace: only a ClusterRole gives rights to"
        " them)"
    )
    for command in (["query", "nodes"], ["query", "nodes", "-n", "prod"], ["query", "nodes", "-w"], ["analyze", "no"]):
        assert _error(1, *command, "--kubeconfig", kubeconfig) == wanted
    code, out, err = _run("doctor", "nodes", "--kubeconfig", kubeconfig)
    assert (code, err) == (1, f"error: {wanted}\n")
    assert wanted in out


def test_a_token_that_has_expired(kubeconfig: str, server: ApiServer) -> None:
    """A token that the server no longer takes is said to be one."""
    server.token = "another"  # noqa: S105 - as above
    sentence = _error(1, "analyze", "po", "--kubeconfig", kubeconfig)
    assert sentence.startswith(f"{server.url}: 401 Unauthorized")
    assert "what the kubeconfig says of the user has expired" in sentence


def test_a_kind_that_there_is_not(kubeconfig: str, server: ApiServer) -> None:
    """A kind that the server does not know ends with 2, as one that files do not have."""
    for word in ("frobs", "pods.acme.io", "deployments.v7.apps", "pods.v7"):
        message = f"{server.url}: the server has no resource {word!r} that can be listed"
        assert _error(2, "query", word, "--kubeconfig", kubeconfig) == message


def test_a_part_of_discovery_that_fails(kubeconfig: str, server: ApiServer) -> None:
    """An API group that is down hides no kind of another group; for what is found nowhere it is the error."""
    server.faults.add("status", verb="get", skip=2, code=503, times=1, message="no endpoints")
    code, out, _ = _run("query", "wd,no", "--kubeconfig", kubeconfig, "-o", "name")
    assert (code, out) == (0, "node/n1\n")
    server.faults.add("status", verb="get", skip=2, code=503, times=1, message="no endpoints")
    assert "503 ServiceUnavailable: no endpoints" in _error(1, "query", "frobs", "--kubeconfig", kubeconfig)


def test_certificates_that_nobody_vouches_for(tmp_path: Path) -> None:
    """TLS that cannot be trusted is said, with the reason."""
    files: TlsFiles = Authority(tmp_path).server()
    with ApiServer(OBJECTS, tls=files) as server:
        config = server.config()
        assert _run("query", "no", "--kubeconfig", _written(tmp_path / "good", config), "-o", "name")[0] == 0
        del config["clusters"][0]["cluster"]["certificate-authority-data"]
        config["clusters"][0]["cluster"]["certificate-authority"] = str(Authority(tmp_path, "other").file)
        sentence = _error(1, "query", "no", "--kubeconfig", _written(tmp_path / "bad", config))
        assert sentence == f"{server.url}: TLS failed: unable to get local issuer certificate"
        config["clusters"][0]["cluster"]["certificate-authority"] = "absent.pem"
        path = _written(tmp_path / "worse", config)
        assert "absent.pem" in _error(1, "query", "no", "--kubeconfig", path)


def test_a_server_that_is_none(kubeconfig: str, server: ApiServer) -> None:
    """Lists that are no JSON, or break off, are told."""
    server.faults.add("garbage", verb="list")
    assert _error(1, "query", "po", "--kubeconfig", kubeconfig).startswith(server.url)
    server.faults.add("truncate", verb="list")
    assert _error(1, "query", "po", "--kubeconfig", kubeconfig).startswith(server.url)


# --- watching ---------------------------------------------------------------------------------------------------------


def _watching(
    server: ApiServer, words: str, output: Output, said: list[str], **asked: Any
) -> Generator[str, None, None]:
    """Watch as ``kindex query -w`` does."""
    question = Question.parse(kind=words, **asked)
    with Cluster(server.api_client()) as cluster:
        wanted = cluster.wanted(question.words, question.namespaces)
        yield from watched(question, cluster, wanted, output, say=said.append)


def test_an_answer_that_is_watched(server: ApiServer) -> None:
    """First come the objects of the answer by key, then each that enters, changes in or leaves it."""
    said: list[str] = []
    watching = _watching(server, "po", Output.NAME, said, label_selector="app=web", namespaces=["prod"])
    with contextlib.closing(watching):
        assert [next(watching), next(watching)] == ["ADDED      pod/web-1\n", "ADDED      pod/web-2\n"]
        server.create(_pod("web-3"))
        assert next(watching) == "ADDED      pod/web-3\n"
        server.create(_pod("web-3", namespace="test"))  # of no concern, as the next
        server.update(_pod("db-1", app_label="db", node="n3"))
        server.update(_pod("web-3", node="n7"))
        assert next(watching) == "MODIFIED   pod/web-3\n"
        server.update(_pod("web-3", app_label="db"))
        assert next(watching) == "DELETED    pod/web-3\n"
        server.delete("pods", "web-1", namespace="prod")
        assert next(watching) == "DELETED    pod/web-1\n"
    assert said == []


def test_a_table_that_goes_on(server: ApiServer) -> None:
    """A table has its headings once, and its columns stay below each other."""
    watching = _watching(server, "po", Output.TABLE, [], namespaces=["prod"], label_selector="app=web")
    with contextlib.closing(watching):
        first = next(watching).splitlines()
        assert first[0].split() == ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert [line.split()[:2] for line in first[1:]] == [["ADDED", "web-1"], ["ADDED", "web-2"]]
        server.update(_pod("web-1", node="n9"))
        line = next(watching)
        assert line.split()[:2] == ["MODIFIED", "web-1"]
        assert line.index("web-1") == first[0].index("NAME")


@pytest.mark.parametrize("output", [Output.JSON, Output.YAML])
def test_documents_of_a_watch(server: ApiServer, output: Output) -> None:
    """As JSON or YAML each change is a document with the words of a watch."""
    with contextlib.closing(_watching(server, "no", output, [])) as watching:
        text = next(watching)
        if output is Output.JSON:
            found = json.loads(text)
            assert text.count("\n") == 1
            assert (found["type"], found["object"]["metadata"]["name"]) == ("ADDED", "n1")
        else:
            assert text.startswith("---\n")
            assert "type: ADDED" in text
            assert "name: n1" in text


def test_several_kinds_are_watched(server: ApiServer) -> None:
    """Changes of several kinds come in one stream, with the kind before the name, and headings where it changes."""
    with contextlib.closing(_watching(server, "no,deploy", Output.TABLE, [])) as watching:
        assert "node/n1" in next(watching)
        assert "deployment.apps/web" in next(watching)
        server.create(_node("n2"))
        heading, line = next(watching).splitlines()
        assert heading.startswith("EVENT")
        assert line.split()[:2] == ["ADDED", "node/n2"]


def test_a_namespace_that_is_refused_is_said(server: ApiServer) -> None:
    """Where one of several namespaces is refused, the others are watched, and that is said."""
    server.faults.add("status", verb="list", namespace="test", code=403, times=None)
    said: list[str] = []
    watching = _watching(server, "po", Output.NAME, said, namespaces=["prod", "test"], label_selector="app=db")
    with contextlib.closing(watching):
        assert next(watching) == "ADDED      pod/db-1\n"
    assert said == ["no rights to list pods in namespace test; it is asked for again now and then"]


def test_a_watch_that_breaks_is_taken_up_again(server: ApiServer) -> None:
    """A connection that breaks is said, and no change is lost or told twice."""
    said: list[str] = []
    with contextlib.closing(_watching(server, "no", Output.NAME, said)) as watching:
        assert next(watching) == "ADDED      node/n1\n"
        server.wait_for(lambda: server.watches)
        broken = server.faults.add("reset", verb="watch")
        broken.wait()
        server.create(_node("n2"))
        assert next(watching) == "ADDED      node/n2\n"
    assert said
    assert all(sentence.startswith("nodes: ") for sentence in said)


@pytest.mark.parametrize("flags", [["--limit", "3"], ["--sort-by", ".metadata.name"], ["--explain"]])
def test_what_cannot_be_watched(kubeconfig: str, server: ApiServer, flags: list[str]) -> None:
    """What needs the whole answer goes not with -w, and the server is not asked."""
    message = f"-w prints changes as they come, so it takes no {flags[0]}"
    assert _error(2, "query", "po", "-w", "--kubeconfig", kubeconfig, *flags) == message
    assert server.requests == []


def test_files_cannot_be_watched(tmp_path: Path) -> None:
    """-w asks a cluster, whatever files there are."""
    assert "is no kind" in _error(2, "query", str(tmp_path / "pods.json"), "-w")


def test_an_error_of_a_watch_is_one_of_the_cluster(server: ApiServer) -> None:
    """The first list of a watch fails at once, rather than being tried for ever."""
    server.faults.add("status", verb="list", code=500, times=None)
    with pytest.raises(ClusterError, match="500"):
        next(_watching(server, "po", Output.NAME, []))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_a_watch(kubeconfig: str, server: ApiServer) -> None:
    """Ctrl-C while it watches ends the process with 130 and without a word, and the connection is closed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command = [sys.executable, "-m", "kindex", "query", "no", "-w", "-o", "name", "--kubeconfig", kubeconfig]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 - ours
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline() == b"ADDED      node/n1\n"
            server.create(_node("n2"))
            assert process.stdout.readline() == b"ADDED      node/n2\n"
            while process.poll() is None:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.5)
            assert (process.returncode, process.stderr.read()) == (130, b"")
    finally:
        signal.signal(signal.SIGINT, before)
    server.wait_for(lambda: not server.watches)
