"""The bridges in ``examples``: each runs as users run it, against ApiServer, and stays right when watches break."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from types import ModuleType
from typing import Any, Self

import pytest

from kindex import AsyncInformer
from kindex.sources import ErrorEvent, ErrorKind, ListRequest, SourceError, WatchRequest
from kindex.testing import ApiServer

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.name for path in EXAMPLES.glob("*.py") if path.stem.startswith(("kopf_", "kr8s_", "lightkube_")))
DEADLINE = 60.0
"""Each example is a process of its own, which imports a client on a machine that is busy with other tests."""


def pod(name: str, app: str = "web", node: str = "n1", **metadata: Any) -> dict[str, Any]:
    labels = {"app": app}
    meta = {"name": name, "namespace": "prod", "labels": labels, **metadata}
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "registry.example.com/main:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def service(name: str, app: str, turn: int = 0) -> dict[str, Any]:
    meta = {"name": name, "namespace": "prod", "annotations": {"turn": str(turn)}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": {"app": app}}}


class Example:
    """An example that runs, with what it prints."""

    def __init__(self, name: str, kubeconfig: Path, *arguments: str) -> None:
        command = [sys.executable, "-P", EXAMPLES / name, "--kubeconfig", kubeconfig, *arguments]
        self._log = kubeconfig.with_name("stderr").open("w+")
        self._process = subprocess.Popen(  # noqa: S603 - it is ours
            command, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        self._lines: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read)

    def line(self, text: str, timeout_seconds: float = DEADLINE) -> str:
        """Wait for a line that begins with *text*; what came before is passed over."""
        while True:
            try:
                line = self._lines.get(timeout=timeout_seconds)
            except Empty:
                self._log.seek(0)
                raise AssertionError(f"no line {text!r}; it said:\n{self._log.read()}") from None
            if line.startswith(text):
                return line

    def said(self, text: str) -> bool:
        """Tell whether a line that begins with *text* comes soon."""
        try:
            return bool(self.line(text, 0.5))
        except AssertionError:
            return False

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            assert self._process.wait(DEADLINE) == 0
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            self._log.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.strip())


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Two pods of one application and one of another, and the service of the first."""
    with ApiServer([pod("a"), pod("b", node="n2"), pod("c", "db"), service("web", "web")]) as server:
        yield server


@contextmanager
def no_watch_of_pods(server: ApiServer) -> Iterator[None]:
    """Let no watch of pods run meanwhile; what happens in the block is forgotten by the server at its end."""
    refusing = server.faults.add("status", verb="watch", resource="pods", code=503, times=None)
    server.faults.add("reset", verb="watch", resource="pods")
    server.wait_for(lambda: not [watch for watch in server.watches if watch.resource == "pods"])
    yield
    server.compact()
    refusing.cancel()


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_takes(name: str) -> None:
    """``--help`` of each example names ``--kubeconfig``."""
    pytest.importorskip(name.partition("_")[0])
    command = [sys.executable, "-P", EXAMPLES / name, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE)  # noqa: S603 - it is ours
    assert "--kubeconfig" in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_cannot_promise(name: str) -> None:
    """The docstring of each example names its limits, and a command that the list of examples has, too."""
    text = (EXAMPLES / name).read_text()
    assert "What this cannot promise" in text
    assert f"python examples/{name} --kubeconfig" in text
    assert f"python examples/{name} --kubeconfig" in (EXAMPLES / "README.md").read_text()


def test_a_kopf_operator_asks_an_informer(server: ApiServer, tmp_path: Path) -> None:
    """Handlers of kopf find what the informer has, also after its watch expired; the operator ends in good order."""
    pytest.importorskip("kopf")
    with Example("kopf_informer.py", server.kubeconfig(tmp_path / "config")) as operator:
        operator.line("prod/web: 2 pods on 2 nodes")
        server.create(pod("d"))
        touched_until(server, operator, "prod/web: 3 pods on 2 nodes")
        with no_watch_of_pods(server):
            server.delete(pod("b"))
        touched_until(server, operator, "prod/web: 2 pods on 1 nodes")
    assert server.watches == []


def test_a_kopf_feed_forgets_what_was_deleted_unseen(server: ApiServer, tmp_path: Path) -> None:
    """A deletion that kopf never tells of is found by the next list; events come in between."""
    pytest.importorskip("kopf")
    with Example("kopf_feed.py", server.kubeconfig(tmp_path / "config"), "--relist-seconds", "0.5") as operator:
        operator.line("prod/web: 2 pods")
        server.create(pod("d"))
        touched_until(server, operator, "prod/web: 3 pods")
        with no_watch_of_pods(server):
            server.delete(pod("b"))
        touched_until(server, operator, "prod/web: 2 pods")
    assert server.watches == []


def touched_until(server: ApiServer, operator: Example, line: str) -> None:
    """Change the service until the operator says *line* of it: it may hear of a service before it knows of a pod."""
    for turn in count(1):
        server.update(service("web", "web", turn))
        if operator.said(line):
            return
        assert turn < 2 * DEADLINE, f"it never said {line!r}"


@pytest.mark.parametrize("name", ["kr8s_feed.py", "lightkube_feed.py"])
def test_an_informer_follows_by_another_client(name: str, server: ApiServer, tmp_path: Path) -> None:
    """What is added, changed and deleted is told, also what happened while no watch ran and the history was lost."""
    pytest.importorskip(name.removesuffix("_feed.py"))
    with Example(name, server.kubeconfig(tmp_path / "config")) as feed:
        feed.line("Added prod/c {'db': 1, 'web': 2}")
        server.wait_for(lambda: server.watches)
        server.update(pod("a", "db"))
        feed.line("Updated prod/a {'db': 2, 'web': 1}")
        server.create(pod("d"))
        feed.line("Added prod/d {'db': 2, 'web': 2}")
        with no_watch_of_pods(server):
            server.delete(pod("b"))
        feed.line("Deleted prod/b {'db': 2, 'web': 1}")
        server.wait_for(lambda: server.watches)
        server.delete(pod("c"))
        feed.line("Deleted prod/c {'db': 1, 'web': 1}")
    server.wait_for(lambda: not server.watches)


# The sources that are written there, by themselves


def example(name: str) -> ModuleType:
    """Import an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def kr8s_source(kubeconfig: Path) -> AsyncIterator[Any]:
    import kr8s.asyncio

    api = await kr8s.asyncio.api(kubeconfig=str(kubeconfig))
    try:
        yield example("kr8s_feed").Kr8sSource(api, "v1", "pods")
    finally:
        await api._session.aclose()  # it offers no way to close


@asynccontextmanager
async def lightkube_source(kubeconfig: Path) -> AsyncIterator[Any]:
    from lightkube import AsyncClient, KubeConfig
    from lightkube.resources.core_v1 import Pod

    async with AsyncClient(KubeConfig.from_file(kubeconfig)) as client:
        yield example("lightkube_feed").LightkubeSource(client, Pod)


SOURCES = {"kr8s": kr8s_source, "lightkube": lightkube_source}


@pytest.fixture(params=SOURCES)
def ask(request: pytest.FixtureRequest, server: ApiServer, tmp_path: Path) -> Callable[[Any], Any]:
    """Run a coroutine function with the source of each example."""
    pytest.importorskip(request.param)
    kubeconfig = server.kubeconfig(tmp_path / "config")

    def run(act: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        async def with_source() -> Any:
            async with asyncio.timeout(DEADLINE), SOURCES[request.param](kubeconfig) as source:
                return await act(source)

        return asyncio.run(with_source())

    return run


async def raised(source: Any, request: ListRequest | WatchRequest) -> SourceError:
    """Give the error that a list ends with, or a watch, whether it raises that or tells it."""
    try:
        if isinstance(request, ListRequest):
            await source.list_page(request)
        else:
            stream = await source.watch(request)
            try:
                async for event in stream:
                    if isinstance(event, ErrorEvent):
                        return event.error
            finally:
                await stream.aclose()
    except SourceError as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize(
    ("code", "kind"),
    [(403, ErrorKind.RIGHTS), (401, ErrorKind.CREDENTIALS), (410, ErrorKind.EXPIRED), (503, ErrorKind.SERVER)],
)
def test_refusals_are_told_apart(ask: Any, server: ApiServer, verb: str, code: int, kind: ErrorKind) -> None:
    """Each HTTP status is the kind of error that an informer acts by."""
    server.faults.add("status", verb=verb, resource="pods", code=code, times=None)
    request = ListRequest() if verb == "list" else WatchRequest(resource_version="1")
    assert ask(lambda source: raised(source, request)).kind is kind


def test_an_error_event_is_told(ask: Any, server: ApiServer) -> None:
    """A watch from a version that is forgotten is EXPIRED, though HTTP says 200."""
    version = server.objects("pods")[0]["metadata"]["resourceVersion"]
    server.compact()
    assert ask(lambda source: raised(source, WatchRequest(resource_version=version))).kind is ErrorKind.EXPIRED


def test_no_answer_is_an_error_of_the_network(ask: Any, server: ApiServer) -> None:
    """A connection that is reset is NETWORK, for a list and within a watch."""
    server.faults.add("reset", resource="pods", times=2)
    version = server.objects("pods")[-1]["metadata"]["resourceVersion"]
    requests = (ListRequest(), WatchRequest(resource_version=version))

    async def act(source: Any) -> list[ErrorKind]:
        return [(await raised(source, each)).kind for each in requests]

    assert ask(act) == [ErrorKind.NETWORK, ErrorKind.NETWORK]


def test_all_pages_come(ask: Any, server: ApiServer) -> None:
    """An informer that asks for pages of one object has all of them."""

    async def act(source: Any) -> int:
        async with AsyncInformer(source, page_size=1) as pods:
            return len(pods)

    assert ask(act) == 3
    assert len([request for request in server.requests if request.verb == "list" and request.resource == "pods"]) == 3


def test_a_list_of_which_a_page_expired_is_an_error(ask: Any, server: ApiServer) -> None:
    """Half a list is never given."""
    server.faults.add("status", verb="list", resource="pods", page=2, code=410)

    async def act(source: Any) -> SourceError:
        token = ""
        while True:  # which of the pages fails depends on who asks for them
            try:
                page = await source.list_page(ListRequest(limit=1, continuation=token))
            except SourceError as error:
                return error
            token = page.continuation
            assert token, "the list came to its end"

    assert ask(act).kind is ErrorKind.EXPIRED


def test_one_namespace_is_asked_for_alone(ask: Any, server: ApiServer) -> None:
    """A request that names a namespace needs rights in it, and no other."""
    server.create({**pod("x"), "metadata": {"name": "x", "namespace": "test"}})

    async def act(source: Any) -> list[str]:
        async with AsyncInformer(source, namespaces=["test"]) as pods:
            return [str(key) for key in pods.keys()]  # noqa: SIM118 - a view is no dict

    assert ask(act) == ["test/x"]
    paths = {request.path for request in server.requests if request.resource == "pods"}
    assert paths == {"/api/v1/namespaces/test/pods"}


def test_odd_text_comes_whole(ask: Any, server: ApiServer) -> None:
    """An object whose text has what Python takes for the end of a line comes by the watch, or by a list after it."""
    note = "one\x85two\u2028three"

    async def act(source: Any) -> str:
        async with AsyncInformer(source, objects="dict") as pods:
            await asyncio.to_thread(server.wait_for, lambda: server.watches)
            server.create(pod("odd", annotations={"note": note}))
            async for delta in pods.follow():
                if delta.key.name == "odd":
                    return str(delta.new["metadata"]["annotations"]["note"])
        raise AssertionError("it followed no longer")

    assert ask(act) == note


def test_every_example_is_listed() -> None:
    """The list of examples names nothing that is not there, and all that can be run."""
    text = (EXAMPLES / "README.md").read_text()
    bridges = set(re.findall(r"python examples/(\w+)\.py", text))
    controllers = set(re.findall(r"python -m examples\.(\w+)", text))
    assert {f"{name}.py" for name in bridges} == set(NAMES)
    assert bridges | controllers | {"running"} == {path.stem for path in EXAMPLES.glob("*.py")}
