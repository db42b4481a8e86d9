"""Asking a server by the official client: answers that are no errors, and their bodies."""

from __future__ import annotations

import http.client
import ssl
import threading

from urllib3.exceptions import HTTPError

from kindex.sources.api_clients import AnyApiClient, check_client, headers_of
from kindex.sources.connections import Connections, Response
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.questions import Question


class Asking:
    """Sends questions with a client's credentials. Any thread may call any method.

    Certificates are read from their files again after the server refused them, or their check failed.

    Args:
        client: an ApiClient of the official client.
        connect_seconds: how long connecting may take.
        answer_seconds: how long the server may be silent before and in an answer.

    Raises:
        ResourceError: *client* is none, or is for asyncio.

    >>> from kindex.testing import ApiServer
    >>> with ApiServer() as server, server.api_client() as client:
    ...     asking = Asking(client)
    ...     body = asking.body(Question("/apis/acme.io/v1", {}))
    Traceback (most recent call last):
    ...
    kindex.sources.errors.SourceError: 404 NotFound: the server has no resource at /apis/acme.io/v1
    """

    def __init__(self, client: AnyApiClient, *, connect_seconds: float = 10.0, answer_seconds: float = 75.0) -> None:
        check_client(client, asynchronous=False)
        self.connections = Connections(client, connect_seconds=connect_seconds, answer_seconds=answer_seconds)
        self._client = client
        self._renewing = threading.Lock()  # so that a token which has expired is renewed once, and not by each thread

    def answer(self, question: Question) -> Response:
        """Give a response that is no error; its body is still to be read.

        Raises:
            SourceError: the server refused, or there is no answer.
        """
        with self._renewing:
            headers = headers_of(self._client, question.target)
        try:
            response = self.connections.get(question.target, headers | question.headers)
        except SourceError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                self.connections.renew()
            raise
        if response.status == 200:
            return response
        refusal = SourceError.of_response(response.status, self._read(response), response.headers.get("Retry-After"))
        if refusal.kind is ErrorKind.CREDENTIALS:
            self.connections.renew()
        raise refusal

    def body(self, question: Question) -> bytes:
        """Give the body of the answer; raises as ``answer`` does, and where it breaks off."""
        return self._read(self.answer(question))

    def _read(self, response: Response) -> bytes:
        """Read all of a response, and let its connection be used again."""
        try:
            body: bytes = response.read(decode_content=True)
        except (HTTPError, http.client.HTTPException, OSError) as error:
            response.close()
            failure = self.connections.failure(error)
            raise failure from failure.__cause__
        self.connections.check_open()
        response.release_conn()
        return body
