"""Connection: one client's HTTP connection, from its requests to the bytes that answer them."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Final

import attrs
import msgspec

from kindex.keys import ObjectKey
from kindex.testing.api_server.bodies import WatchBody
from kindex.testing.api_server.discovery import document_at
from kindex.testing.api_server.inboxes import HungUp, Inbox
from kindex.testing.api_server.listing import list_page
from kindex.testing.api_server.patches import PatchError, json_patch, merge_patch
from kindex.testing.api_server.selection import Selection
from kindex.testing.api_server.states import Rendering, decoded, encoded
from kindex.testing.api_server.statuses import ApiError, not_found, unknown_path
from kindex.testing.api_server.watching import Reset, Truncated, Watch, WatchOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.testing.api_server.activity import Activity
    from kindex.testing.api_server.faults import Fault, Faults
    from kindex.testing.api_server.requests import Request
    from kindex.testing.api_server.resources import Registry, Resource
    from kindex.testing.api_server.states import ObjectState
    from kindex.testing.api_server.storage import Message, Storage
    from kindex.testing.api_server.writing import Part, Writer
    from kindex.testing.manifests import RawObject

_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_MERGE_PATCH: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_GARBAGE: Final = b'{"kind":"List","items":[{"meta'


@attrs.define(eq=False)
class Shared:
    """What all connections of one server share."""

    storage: Storage
    registry: Registry
    writer: Writer
    faults: Faults
    activity: Activity
    token: str | None
    latency_seconds: float
    bookmark_seconds: float


class Connection(BaseHTTPRequestHandler):
    """Answers one client until it leaves. Making one runs it; it returns when the connection has ended."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, connection: socket.socket, shared: Shared, inbox: Inbox[Message]) -> None:
        self._shared = shared
        self._inbox = inbox
        # The base class keeps the client's address and the server for others; here nobody asks.
        super().__init__(connection, "", None)  # type: ignore[arg-type]

    def handle(self) -> None:
        """Answer requests until the client leaves, or the server stops."""
        # OSError: the client is gone in the middle of a request or an answer.
        with contextlib.suppress(HungUp, OSError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing: requests are recorded."""

    def _answer(self) -> None:
        shared = self._shared
        length = self.headers.get("Content-Length", "0")
        measured = length.isdecimal() and "Transfer-Encoding" not in self.headers
        body = self.rfile.read(int(length)) if measured else b""
        request = shared.activity.record(self.command, self.path, dict(self.headers), body)
        try:
            self._check_length(measured=measured)
            shared.faults.note(request)
            self._wait(shared.latency_seconds, until=lambda: False)
            self._meet_before_answer(request)
            self._check_token(request)
            self._serve(request)
        except ApiError as error:
            retry = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
            self._begin(error.code, encoded(error.status()), retry)
        except Reset:
            # With no time to linger, closing resets.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        except Truncated:
            self.close_connection = True
        finally:
            shared.activity.answered()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the base class looks for these

    # --- what is asked --------------------------------------------------------------------------------------------

    def _serve(self, request: Request) -> None:
        if request.path in _HEALTH:
            self._send(request, 200, b"ok", {"Content-Type": "text/plain"})
            return
        if not request.resource:
            document = document_at(request.path, self._shared.registry) if request.method == "GET" else None
            if document is None:
                raise unknown_path(request)
            self._send(request, 200, encoded(document))
            return
        if request.query.get("dryRun"):
            raise ApiError(400, "this server has no dryRun: it would write")
        resource = self._resource(request)
        rendering = Rendering.accepted(request.headers.get("accept", ""), resource)
        match request.verb:
            case "list":
                page = list_page(self._shared.storage, resource, request, Selection.of(request, resource))
                self._send(request, 200, rendering.many(page.states, page.metadata))
            case "watch":
                self._watch(request, rendering)
            case "get":
                state = self._shared.storage.get(resource.name, _key(request))
                if state is None:
                    raise not_found(resource.name, request.name)
                self._send(request, 200, rendering.whole(state))
            case "create":
                state = self._shared.writer.create(resource, _object_in(request), namespace=request.namespace)
                self._send(request, 201, rendering.whole(state))
            case "update" | "patch":
                self._send(request, 200, rendering.whole(self._change(request, resource)))
            case "delete":
                self._delete(request, rendering)
            case _:
                self._delete_collection(request, rendering)

    def _check_length(self, *, measured: bool) -> None:
        if not measured:
            self.close_connection = True  # where the next request would begin is not known
            raise ApiError(411, "this server reads bodies of a Content-Length only")

    def _check_token(self, request: Request) -> None:
        token = self._shared.token
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        # As kube-apiserver does: the official client writes "bearer" in a pod, and "Bearer" by a kubeconfig.
        if token is not None and (scheme.lower(), sent) != ("bearer", token):
            raise ApiError(401, "the bearer token is not the server's")

    def _resource(self, request: Request) -> Resource:
        """Give the resource that *request* is about.

        Raises:
            ApiError: there is none (404), or it has no such method there (405).
        """
        resource = self._shared.registry.at(request.api_version, request.resource)
        if resource is None or (request.namespace is not None and not resource.namespaced):
            raise unknown_path(request)
        if request.subresource and (request.subresource != "status" or not resource.status):
            raise unknown_path(request)
        whole_cluster = resource.namespaced and request.namespace is None
        if request.verb in ("create", "deletecollection") and (request.name or whole_cluster):
            raise ApiError(405, f"{request.verb} is not allowed at {request.path}")
        if request.verb in ("update", "patch", "delete") and (not request.name or whole_cluster):
            raise ApiError(405, f"{request.verb} is not allowed at {request.path}")
        return resource

    def _watch(self, request: Request, rendering: Rendering) -> None:
        shared = self._shared
        Watch(
            request=request,
            options=WatchOptions.of(request),
            selection=Selection.of(request, rendering.resource),
            rendering=rendering,
            storage=shared.storage,
            faults=shared.faults,
            activity=shared.activity,
            inbox=self._inbox,
            body=WatchBody(self.wfile.write),
            bookmark_seconds=shared.bookmark_seconds,
            send_headers=self._send_watch_headers,
            pause=self._pause,
        ).run()

    def _change(self, request: Request, resource: Resource) -> ObjectState:
        part: Part = "status" if request.subresource else ""
        if request.verb == "update":
            new = _object_in(request)
            return self._shared.writer.update(
                resource, _key(request), lambda _: new, part=part, unconditional=not resource.custom
            )
        return self._shared.writer.update(resource, _key(request), _patch_in(request), part=part)

    def _delete(self, request: Request, rendering: Rendering) -> None:
        options = decoded_body(request) if request.body else {}
        preconditions = options.get("preconditions") if isinstance(options, dict) else None
        if not isinstance(preconditions, dict | None):
            raise ApiError(400, "preconditions are a map")
        resource = rendering.resource
        state = self._shared.writer.delete(resource, _key(request), preconditions)
        metadata = state.obj["metadata"]
        if resource.returns_deleted or metadata.get("finalizers"):
            self._send(request, 200, rendering.whole(state))
            return
        details = {"name": request.name, "group": resource.group, "kind": resource.plural, "uid": metadata["uid"]}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        self._send(request, 200, encoded(status))

    def _delete_collection(self, request: Request, rendering: Rendering) -> None:
        resource, writer, storage = rendering.resource, self._shared.writer, self._shared.storage
        selection = Selection.of(request, resource)
        with storage.lock:
            found = storage.snapshot(resource.name).part(selection.namespace)
            deleted = [writer.delete(resource, state.key) for state in found if selection.matches_selectors(state)]
            metadata = {"resourceVersion": str(storage.version)}
        self._send(request, 200, rendering.many(deleted, metadata))

    # --- what is sent, and what goes wrong with it ----------------------------------------------------------------

    def _send(self, request: Request, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send an answer, cut, delayed or garbled where a fault says so."""
        for fault in self._shared.faults.take(request, "body"):
            match fault.kind:
                case "garbage":
                    body = _GARBAGE
                case "stall":
                    self._begin(code, body, headers, end=len(body) // 2)
                    self._pause(fault)
                    self.wfile.write(body[len(body) // 2 :])
                    return
                case "truncate":
                    self._begin(code, body, headers, end=len(body) // 2)
                    raise Truncated
                case _:
                    self._begin(code, body, headers, end=len(body) // 2)
                    raise Reset
        self._begin(code, body, headers)

    def _begin(self, code: int, body: bytes, headers: dict[str, str] | None = None, end: int | None = None) -> None:
        """Send the headers of an answer, and *body* up to *end*."""
        self.send_response(code)
        for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:end])

    def _send_watch_headers(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _meet_before_answer(self, request: Request) -> None:
        for fault in self._shared.faults.take(request, "request"):
            match fault.kind:
                case "compact":
                    self._shared.storage.compact()
                case "slow_headers":
                    self._pause(fault)
                case "status":
                    raise fault.error
                case _:
                    raise Reset

    def _pause(self, fault: Fault) -> None:
        """Be silent until *fault* is released, or its time is over."""
        self._wait(fault.seconds, until=lambda: fault.released)

    def _wait(self, seconds: float | None, *, until: Callable[[], bool]) -> None:
        """Wait for *until*, no longer than *seconds*; HungUp when the client leaves meanwhile."""
        ends = float("inf") if seconds is None else time.monotonic() + seconds
        while not until() and (left := ends - time.monotonic()) > 0:
            self._inbox.wait(left if left < float("inf") else None)


def decoded_body(request: Request) -> object:
    """Read the JSON that *request* brings.

    Raises:
        ApiError: it is none (400).
    """
    try:
        read: object = decoded(request.body)
    except (ValueError, RecursionError, msgspec.MsgspecError) as cause:
        raise ApiError(400, f"the body is no JSON: {cause}") from cause
    return read


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip()


def _object_in(request: Request) -> RawObject:
    if _content_type(request) not in ("", "application/json"):
        raise ApiError(415, f"this server reads application/json, not {_content_type(request)}")
    obj = decoded_body(request)
    if not isinstance(obj, dict):
        raise ApiError(400, "the body is no object")
    return obj


def _patch_in(request: Request) -> Callable[[RawObject], RawObject]:
    """Give what the patch makes of an object.

    Raises:
        ApiError: it is no patch that this server knows (415), or no JSON (400).
    """
    kind = _content_type(request)
    if kind not in (_MERGE_PATCH, _JSON_PATCH):
        raise ApiError(
            415, f"this server has {_MERGE_PATCH} and {_JSON_PATCH}; it does not know {kind or 'that patch'}"
        )
    patch = decoded_body(request)

    def patched(obj: RawObject) -> RawObject:
        try:
            made = merge_patch(obj, patch) if kind == _MERGE_PATCH else json_patch(obj, patch)
        except PatchError as cause:
            raise ApiError(400 if cause.malformed else 422, str(cause)) from cause
        if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
            raise ApiError(422, "after the patch it is no object with metadata")
        return made

    return patched


def _key(request: Request) -> ObjectKey:
    return ObjectKey(request.namespace or "", request.name)
