"""``kindex doctor``: what it finds, what it says when something does not work, and what a bug report gets."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import yaml
from rich.console import Console as Terminal
from typer.testing import CliRunner

import kindex.cli.cluster as asked_cluster
from kindex.cli import doctor, progress
from kindex.cli.app import app
from kindex.sources.base import ListRequest
from kindex.sources.client import ClientSource
from kindex.sources.kubeconfigs import way_of
from kindex.testing import ApiServer, Resource
from kindex.testing.api_server.watching import WatchOptions
from tests.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "of-the-test"  # noqa: S105 - it is none


def _pod(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "secret-namespace"}}


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test finds a kubeconfig that happens to be here."""
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
    widgets = Resource("acme.io/v1", "Widget", namespaced=False)
    with ApiServer([_pod("secret-1"), _pod("secret-2")], token=TOKEN, resources=[widgets]) as server:
        yield server


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> str:
    """The way to it."""
    return str(server.kubeconfig(tmp_path / "kubeconfig"))


def _doctor(*arguments: str) -> tuple[int, dict[str, str], str, str]:
    """Run it; give the exit code, the verdicts, the paragraph and standard error."""
    result = CliRunner().invoke(app, ["doctor", *arguments])
    head, _, report = result.stdout.partition("\nFor a bug report:\n")
    lines = head.splitlines()
    assert lines[0].startswith("kindex ")
    verdicts = {line.split()[1]: line.split()[0] for line in lines[1:]}
    assert "Traceback" not in result.stderr
    assert report.count("\n") == 1, "one paragraph"
    return result.exit_code, verdicts, report, result.stderr


def test_a_cluster_in_good_health(kubeconfig: str, server: ApiServer) -> None:
    """With all rights everything is ok, on standard output, and one paragraph sums it up."""
    code, verdicts, report, err = _doctor("--kubeconfig", kubeconfig)
    assert (code, err) == (0, "")
    asked = ("kubeconfig", "server", "list", "pages", "watch", "WatchList")
    assert verdicts == dict.fromkeys(asked, "ok")
    assert "; list: ok (all namespaces)" in report
    for name in ("kubernetes", "msgspec", "pyroaring", "Python"):
        assert name in report
    server.wait_for(lambda: not server.watches)


def test_it_says_where_it_asks(kubeconfig: str, server: ApiServer) -> None:
    """Whoever sits there sees the file, its context, the server and its version."""
    out = CliRunner().invoke(app, ["doctor", "--kubeconfig", kubeconfig]).stdout
    assert f"{kubeconfig}, its current context kindex" in out
    assert f"{server.url}: v1." in out
    out = CliRunner().invoke(app, ["doctor", "--kubeconfig", kubeconfig, "--context", "kindex"]).stdout
    assert f"{kubeconfig}, context kindex" in out


def test_a_bug_report_names_nothing(kubeconfig: str, server: ApiServer) -> None:
    """The paragraph has no host, file, namespace or object in it, whatever went wrong."""
    server.faults.add("status", verb="list", code=403, times=None, message="user secret-user may not")
    for flags in ([], ["-n", "secret-namespace"]):
        code, _, report, err = _doctor("--kubeconfig", kubeconfig, *flags)
        assert code == 1
        assert "secret-user" in err
        for secret in ("secret", kubeconfig, server.url, "127.0.0.1"):
            assert secret not in report


def test_without_a_kubeconfig() -> None:
    """Without a cluster there is one sentence that says so, the paragraph all the same, and code 1."""
    code, verdicts, report, err = _doctor()
    assert (code, verdicts) == (1, {"kubeconfig": "failed"})
    assert err.startswith("error: there is no kubeconfig")
    assert err.count("\n") == 1
    assert "kubeconfig: failed" in report


def test_without_a_cluster(server: ApiServer, tmp_path: Path) -> None:
    """A server that is not there is one sentence, and nothing more is asked."""
    config = server.config()
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1"
    path = tmp_path / "nobody"
    path.write_text(yaml.safe_dump(config))
    code, verdicts, report, err = _doctor("--kubeconfig", str(path))
    assert (code, verdicts) == (1, {"kubeconfig": "ok", "server": "failed"})
    assert err == "error: http://127.0.0.1:1: the connection was refused\n"
    assert "server: failed (network)" in report


def test_without_rights_to_list(kubeconfig: str, server: ApiServer) -> None:
    """A list that is refused is one sentence; that a watch is allowed is said, too."""
    server.faults.add("status", verb="list", code=403, times=None, message="pods is forbidden")
    code, verdicts, report, err = _doctor("--kubeconfig", kubeconfig)
    assert code == 1
    assert (verdicts["list"], verdicts["watch"]) == ("failed", "ok")
    assert err.startswith(f"error: {server.url}: 403 Forbidden: pods is forbidden (-n asks for one namespace")
    assert err.count("\n") == 1
    assert "list: failed (rights, 403)" in report


def test_without_rights_to_watch(kubeconfig: str, server: ApiServer) -> None:
    """The right to list is not the right to watch."""
    server.faults.add("status", verb="watch", code=403, times=None, message="may not watch")
    code, verdicts, _, err = _doctor("--kubeconfig", kubeconfig)
    assert code == 1
    assert (verdicts["list"], verdicts["watch"]) == ("ok", "failed")
    assert "WatchList" not in verdicts
    assert "may not watch" in err


def test_with_an_expired_token(kubeconfig: str, server: ApiServer) -> None:
    """A token that the server does not take is one sentence that says so."""
    server.token = "another"  # noqa: S105 - as above
    code, verdicts, report, err = _doctor("--kubeconfig", kubeconfig)
    assert code == 1
    assert verdicts["server"] == "failed"
    assert "what the kubeconfig says of the user has expired" in err
    assert err.count("\n") == 1
    assert "credentials, 401" in report


def test_an_expired_token_where_everybody_may_read_the_version(
    kubeconfig: str, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real servers tell anybody their version; the token is found out by the next question."""
    from kindex.cli.cluster import Cluster

    monkeypatch.setattr(Cluster, "server_version", lambda _: "v1.33.0")
    server.token = "another"  # noqa: S105 - as above
    code, verdicts, report, err = _doctor("--kubeconfig", kubeconfig)
    assert (code, verdicts) == (1, {"kubeconfig": "ok", "server": "ok", "kind": "failed"})
    assert "has expired" in err
    assert "kind: failed (credentials, 401)" in report


def test_a_server_that_nobody_vouches_for(tmp_path: Path) -> None:
    """A certificate that cannot be trusted is one sentence with the reason; the report says network and no more."""
    with ApiServer([_pod("secret-1")], tls=Authority(tmp_path).server()) as server:
        config = server.config()
        cluster = config["clusters"][0]["cluster"]
        del cluster["certificate-authority-data"]
        cluster["certificate-authority"] = str(Authority(tmp_path, "other").file)
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        code, verdicts, report, err = _doctor("--kubeconfig", str(path))
    assert (code, verdicts) == (1, {"kubeconfig": "ok", "server": "failed"})
    assert err == f"error: {server.url}: TLS failed: unable to get local issuer certificate\n"
    assert report.endswith("; server: failed (network)\n")


@pytest.mark.parametrize(
    ("faults", "failed"),
    [
        ([{"kind": "slow_headers", "times": 1}], "server"),
        ([{"kind": "slow_headers", "verb": "list", "times": None}], "list"),
    ],
)
def test_a_server_that_hangs(
    faults: list[dict[str, Any]], failed: str, kubeconfig: str, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that takes a request and does not answer is given up after a while, and that is one sentence."""
    for module in (asked_cluster, doctor):
        monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    for fault in faults:
        server.faults.add(**fault)
    code, verdicts, report, err = _doctor("--kubeconfig", kubeconfig)
    assert (code, verdicts[failed]) == (1, "failed")
    assert err == f"error: {server.url}: no answer in time\n"
    assert f"{failed}: failed (network)" in report


def test_a_terminal_sees_that_something_is_asked(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a server sees that it is asked, and the findings are what they are elsewhere."""
    quiet = _doctor("--kubeconfig", kubeconfig)
    monkeypatch.setattr(progress, "is_terminal", lambda stream: stream is sys.stderr)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "Console", lambda **_: Terminal(file=sys.stderr, force_terminal=True, width=80))
    loud = _doctor("--kubeconfig", kubeconfig)
    assert loud[:3] == quiet[:3]
    assert "asking the cluster" in loud[3]


def test_a_version_that_is_not_told(kubeconfig: str, server: ApiServer) -> None:
    """A server that keeps its version to itself can be followed all the same."""
    server.faults.add("status", verb="get", code=403, times=1)
    code, verdicts, report, _ = _doctor("--kubeconfig", kubeconfig)
    assert (code, verdicts["server"], verdicts["watch"]) == (0, "?", "ok")
    assert "version not told" in report


def test_a_server_without_watch_list(kubeconfig: str, server: ApiServer) -> None:
    """Initial events that are refused are no fault: informers list in pages."""
    server.faults.add("status", verb="watch", code=422, skip=1, times=1)
    code, verdicts, report, _ = _doctor("--kubeconfig", kubeconfig)
    assert (code, verdicts["WatchList"]) == (0, "no")
    assert "WatchList: no (request, 422)" in report


def test_a_server_that_ignores_what_it_does_not_know(
    kubeconfig: str, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older servers send no end of initial events, and do not refuse: that is told from the end of the watch."""
    read = WatchOptions.of
    monkeypatch.setattr(WatchOptions, "of", lambda request: attrs.evolve(read(request), initial_end=False))
    server.faults.add("end", verb="watch", stage="idle", skip=1, times=1)
    code, verdicts, report, _ = _doctor("--kubeconfig", kubeconfig)
    assert (code, verdicts["WatchList"]) == (0, "no")
    assert "no end of initial events" in report


def test_initial_events_that_end_in_an_error(kubeconfig: str, server: ApiServer) -> None:
    """An ERROR event instead of the end of the initial events is a no, and no fault."""
    server.faults.add("error", verb="watch", code=500, skip=1, times=1)
    code, verdicts, report, _ = _doctor("--kubeconfig", kubeconfig)
    assert (code, verdicts["WatchList"]) == (0, "no")
    assert "WatchList: no (server, 500)" in report


def test_a_server_that_ignores_the_limit(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two objects where one was asked for, and no token, is a server without pages."""
    whole = ClientSource.list_page
    monkeypatch.setattr(ClientSource, "list_page", lambda source, _: whole(source, ListRequest()))
    code, verdicts, report, _ = _doctor("--kubeconfig", kubeconfig)
    assert (code, verdicts["pages"]) == (0, "no")
    assert "limit is ignored" in report


def test_the_way_of_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pod without a kubeconfig it is the pod's own account."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert way_of() == "the service account of this pod"


def test_pages_need_two_objects(kubeconfig: str) -> None:
    """With fewer objects nothing can be said about pages, and it is not."""
    code, verdicts, report, _ = _doctor("widgets.acme.io", "--kubeconfig", kubeconfig)
    assert (code, verdicts["pages"]) == (0, "?")
    assert "too few objects" in report


def test_each_namespace_is_tried(kubeconfig: str, server: ApiServer) -> None:
    """With -n rights in each namespace are tried, by comma or by repeating, each once."""
    assert _doctor("po", "--kubeconfig", kubeconfig, "-n", "a,secret-namespace", "-n", "a")[0] == 0
    lists = [each.path for each in server.requests if each.verb == "list"]
    assert lists == ["/api/v1/namespaces/a/pods", "/api/v1/namespaces/secret-namespace/pods"]


def test_a_kind_that_there_is_not(kubeconfig: str) -> None:
    """A kind that the server has not is a slip of who typed it."""
    code, verdicts, report, err = _doctor("frobs", "--kubeconfig", kubeconfig)
    assert (code, verdicts["kind"]) == (2, "failed")
    assert "no resource 'frobs'" in err
    assert "frobs" not in report


def test_several_kinds(kubeconfig: str, server: ApiServer) -> None:
    """Kinds are joined by commas, as for a query, and each is tried."""
    assert _doctor("po,widgets.acme.io", "--kubeconfig", kubeconfig)[0] == 0
    lists = [each.path for each in server.requests if each.verb == "list"]
    assert lists == ["/api/v1/pods", "/apis/acme.io/v1/widgets"]


def test_a_namespace_that_is_empty_is_a_slip(kubeconfig: str, server: ApiServer) -> None:
    """Slips in options are told before anything is asked."""
    result = CliRunner().invoke(app, ["doctor", "--kubeconfig", kubeconfig, "-n", ""])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: a namespace is empty")
    assert server.requests == []


def test_it_finds_what_kubectl_finds(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """$KUBECONFIG with several files, of which some are missing, is what it says."""
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["absent.yaml", kubeconfig]))
    assert _doctor()[0] == 0


def test_a_traceback_is_shown_when_asked_for(kubeconfig: str, server: ApiServer) -> None:
    """-v shows where an error comes from."""
    server.token = "another"  # noqa: S105 - as above
    result = CliRunner().invoke(app, ["doctor", "--kubeconfig", kubeconfig, "-v"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
