"""A server whose answers were made beforehand: ``python -m benchmarks.rendered_server``. So it is not what is measured.

It lists pods, whole or in pages, and watches them, with initial events if these are asked for. Nothing changes by
itself: ``/control/burst`` sends a number of changes to all watches at once, ``/control/paced`` one after the other,
each with the time at which it was sent. It speaks as much HTTP as the clients need, and prints its port.

Options: ``--pods N``; ``--costly``: kindex's ApiServer with the same pods instead, whose answers cost it time.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import threading
import time
from functools import cached_property, lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import msgspec

from benchmarks.pod_texts import pod_texts

SENT = "benchmark/sent"
"""The annotation that says when a change was sent, in nanoseconds of the machine's monotonic clock."""
PIECE = 1 << 18
FIRST_VERSION = 1_000_000
RESOURCES = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["list", "patch", "watch"]},
        # kopf begins when it knows of these.
        {
            "name": "namespaces",
            "singularName": "namespace",
            "namespaced": False,
            "kind": "Namespace",
            "verbs": ["list"],
        },
        {"name": "events", "singularName": "event", "namespaced": True, "kind": "Event", "verbs": ["create"]},
    ],
}
DOCUMENTS = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": RESOURCES,
}


class Rendered:
    """The bytes of all answers."""

    def __init__(self, count: int) -> None:
        self.texts = [_as_stored(text, number) for number, text in enumerate(pod_texts(count))]
        self.bytes = sum(map(len, self.texts))
        self.version = FIRST_VERSION

    @lru_cache  # noqa: B019 - there is one, and it lasts
    def page(self, start: int, limit: int) -> bytes:
        """Give the body of a page."""
        items = self.texts[start : start + limit] if limit else self.texts[start:]
        end = start + len(items)
        follows = f',"continue":"{end}"' if end < len(self.texts) else ""
        metadata = f'{{"resourceVersion":"{FIRST_VERSION}"{follows}}}'
        head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":['
        return head.encode() + b",".join(items) + b"]}"

    @cached_property
    def initial(self) -> bytes:
        """Give the initial events, and the bookmark that ends them, in chunks."""
        lines = [b'{"type":"ADDED","object":%b}\n' % _of_kind(text) for text in self.texts]
        metadata = {
            "resourceVersion": str(FIRST_VERSION),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        end = {"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}}
        return _chunks([*lines, json.dumps(end).encode() + b"\n"])

    def changes(self, count: int) -> list[bytes]:
        """Make the lines of so many changes, each of another pod as long as there are any."""
        return [self.change(number) for number in range(count)]

    def change(self, number: int) -> bytes:
        """Make the line of one change, as of now."""
        pod = msgspec.json.decode(_of_kind(self.texts[number * 7 % len(self.texts)]))
        self.version += 1
        metadata = pod["metadata"]
        metadata["resourceVersion"] = str(self.version)
        metadata.setdefault("labels", {})["benchmark"] = f"round-{number % 10}"
        metadata.setdefault("annotations", {})[SENT] = str(time.monotonic_ns())
        return b'{"type":"MODIFIED","object":%b}\n' % msgspec.json.encode(pod)


def _as_stored(text: bytes, number: int) -> bytes:
    pod = msgspec.json.decode(text)
    pod["metadata"]["resourceVersion"] = str(number + 1)
    return msgspec.json.encode(pod)


def _of_kind(text: bytes) -> bytes:
    return b'{"kind":"Pod","apiVersion":"v1",' + text[1:]


def _chunks(lines: list[bytes]) -> bytes:
    """Give the lines as HTTP sends them in chunks, some lines in each, as a busy server does."""
    found, size, piece = [], 0, []
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= PIECE:
            found.append(_chunk(b"".join(piece)))
            piece, size = [], 0
    return b"".join([*found, _chunk(b"".join(piece))]) if piece else b"".join(found)


def _chunk(text: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text)


class Handler(BaseHTTPRequestHandler):
    """Answers with what is rendered."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    rendered: ClassVar[Rendered]
    watches: ClassVar[list[queue.Queue[bytes]]] = []
    prepared: ClassVar[bytes] = b""

    def do_GET(self) -> None:
        """Answer."""
        split = urlsplit(self.path)
        query = dict(parse_qsl(split.query))
        match split.path:
            case "/api/v1/pods" if query.get("watch", "").lower() in ("true", "1"):
                self._watch(initial=query.get("sendInitialEvents") == "true")
            case "/api/v1/pods":
                self._send(self.rendered.page(int(query.get("continue", 0)), int(query.get("limit", 0))))
            case path if path.startswith("/control/"):
                self._send(json.dumps(self._control(path.removeprefix("/control/"), query)).encode())
            case path if path in DOCUMENTS:
                self._send(json.dumps(DOCUMENTS[path]).encode())
            case path:
                status = {"kind": "Status", "apiVersion": "v1", "code": 404, "reason": "NotFound", "message": path}
                self._send(json.dumps(status).encode(), 404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, *, initial: bool) -> None:
        pending: queue.Queue[bytes] = queue.Queue()
        self.watches.append(pending)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            if initial:
                self.wfile.write(self.rendered.initial)
            while piece := pending.get():
                self.wfile.write(piece)
        except OSError:  # the client has left
            pass
        self.close_connection = True

    def _control(self, what: str, query: dict[str, str]) -> dict[str, Any]:
        events = int(query.get("events", 0))
        match what:
            case "reset":  # whoever watched has left, which nobody notices before something is sent
                for pending in self.watches:
                    pending.put(b"")
                self.watches.clear()
            case "prepare":  # and let it be sent later: making it takes time
                type(self).prepared = _chunks(self.rendered.changes(events))
                if query.get("initial"):
                    _ = self.rendered.initial
            case "burst":
                for pending in self.watches:
                    pending.put(self.prepared)
            case "paced":
                pause = 1 / float(query["rate"])
                due = time.monotonic()
                for number in range(events):
                    due += pause
                    time.sleep(max(0.0, due - time.monotonic()))
                    line = _chunk(self.rendered.change(number))
                    for pending in self.watches:
                        pending.put(line)
        return {"watches": len(self.watches), "version": str(self.rendered.version), "bytes": self.rendered.bytes}


def main() -> None:
    """Serve until standard input is closed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--costly", action="store_true")
    options = parser.parse_args()
    if options.costly:
        from kindex.testing import ApiServer

        pods = [msgspec.json.decode(_of_kind(text)) for text in pod_texts(options.pods)]
        with ApiServer(pods) as server:
            print(server.url.rpartition(":")[2], flush=True)
            sys.stdin.read()
        return
    Handler.rendered = Rendered(options.pods)
    for start in range(0, options.pods, 500):
        Handler.rendered.page(start, 500)
    Handler.rendered.page(0, 0)
    http_server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http_server.daemon_threads = True
    threading.Thread(target=http_server.serve_forever, daemon=True).start()
    print(http_server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
