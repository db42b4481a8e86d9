"""Lists: what a page holds, at which version, and the token that leads to the next."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import attrs
import msgspec

from kindex.testing.api_server.statuses import ApiError, expired, invalid

if TYPE_CHECKING:
    from kindex.testing.api_server.requests import Request
    from kindex.testing.api_server.resources import Resource
    from kindex.testing.api_server.selection import Selection
    from kindex.testing.api_server.states import ObjectState
    from kindex.testing.api_server.storage import Storage
    from kindex.testing.manifests import RawObject

# The version in a token that goes on with whatever is there now.
_INCONSISTENT: Final = -1


class ContinueToken(msgspec.Struct, frozen=True):
    """Where a list goes on: at which version, after which path; the page is for faults to count by.

    >>> token = ContinueToken(version=7, after="prod/web-1", page=2)
    >>> ContinueToken.parse(str(token)) == token
    True
    """

    version: int
    after: str
    page: int

    @classmethod
    def parse(cls, text: str) -> ContinueToken:
        """Read a token back.

        Raises:
            ApiError: this server never gave it (400).
        """
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text), type=cls)
        except (ValueError, msgspec.MsgspecError) as cause:
            raise ApiError(400, f"the continue token is none of this server's: {cause}") from cause

    def __str__(self) -> str:
        """Give the text that clients send back."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


@attrs.frozen
class Page:
    """The states on one page, and the list's metadata."""

    states: list[ObjectState]
    metadata: RawObject


def page_number(request: Request) -> int:
    """Give which page of its list *request* asks for, from 1; 0 where it is no list."""
    if request.verb != "list":
        return 0
    token = request.query.get("continue")
    return ContinueToken.parse(token).page if token else 1


def list_page(storage: Storage, resource: Resource, request: Request, selection: Selection) -> Page:
    """Answer one list request.

    O(objects) with a selector; without one a bisection and the page.

    Raises:
        ApiError: the parameters contradict one another (400, 422), or the version cannot be read (410, 504).
    """
    check_versions(request)
    limit = request.whole_number("limit") or 0
    version = request.whole_number("resourceVersion")
    token = ContinueToken.parse(request.query["continue"]) if request.query.get("continue") else None
    if token is not None and version:
        raise ApiError(400, "a continued list has the version of its first page; resourceVersion cannot be given")
    if version == 0:
        limit = 0  # answered from the watch cache, which has no pages
    with storage.lock:
        snapshot = storage.snapshot(resource.name, _version_to_read(storage, request, version, token))
    states = snapshot.part(selection.namespace, token.after if token is not None else "")
    if selection.by_selector:
        states = [state for state in states if selection.matches_selectors(state)]
    metadata: RawObject = {"resourceVersion": str(snapshot.version)}
    if selection.shard is not None:
        metadata["shardInfo"] = {"selector": selection.shard.text}
    if limit and len(states) > limit:
        left, states = len(states) - limit, states[:limit]
        page = token.page + 1 if token is not None else 2
        metadata["continue"] = str(ContinueToken(snapshot.version, states[-1].path, page))
        if not selection.by_selector:
            metadata["remainingItemCount"] = left
    return Page(states, metadata)


def check_versions(request: Request) -> None:
    """Refuse parameters that say together what cannot be meant.

    Raises:
        ApiError: 422, as the real server's validation.
    """
    match = request.query.get("resourceVersionMatch", "")
    version = request.query.get("resourceVersion", "")
    initial_events = request.flag("sendInitialEvents")
    if match and request.query.get("continue"):
        raise invalid("resourceVersionMatch", "forbidden together with continue", cause="FieldValueForbidden")
    if request.verb == "watch":
        if initial_events is not None and match != "NotOlderThan":
            message = "sendInitialEvents needs resourceVersionMatch=NotOlderThan"
            raise invalid("resourceVersionMatch", message, cause="FieldValueForbidden")
        if match and initial_events is None:
            message = "forbidden for a watch without sendInitialEvents"
            raise invalid("resourceVersionMatch", message, cause="FieldValueForbidden")
        return
    if initial_events is not None:
        raise invalid("sendInitialEvents", "forbidden for a list", cause="FieldValueForbidden")
    if match not in ("", "Exact", "NotOlderThan"):
        raise invalid("resourceVersionMatch", f"{match!r} is not supported", cause="FieldValueNotSupported")
    if match and not version:
        raise invalid("resourceVersionMatch", "forbidden without resourceVersion", cause="FieldValueForbidden")
    if match == "Exact" and version == "0":
        raise invalid("resourceVersionMatch", "Exact is forbidden for version 0", cause="FieldValueForbidden")


def _version_to_read(
    storage: Storage, request: Request, version: int | None, token: ContinueToken | None
) -> int | None:
    """Choose the version whose state is the answer; None is the newest. The caller holds the lock."""
    if token is not None:
        if token.version == _INCONSISTENT:
            return None
        if token.version < storage.oldest:
            fresh = ContinueToken(_INCONSISTENT, token.after, token.page)
            reason = str(expired(token.version, storage.oldest))
            message = (
                f"the continue token is too old ({reason}); list again, or go on inconsistently with the new token"
            )
            raise ApiError(410, message, continue_token=str(fresh))
        return token.version
    if not version:
        return None
    match = request.query.get("resourceVersionMatch", "")
    # A limit with a version and without a match means Exact, from the time when there was no match.
    if match == "Exact" or (not match and request.whole_number("limit")):
        return version
    storage.refuse_future(version)
    return None
