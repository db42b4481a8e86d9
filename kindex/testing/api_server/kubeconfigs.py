"""Kubeconfigs: how a client is told where the server is and who it is itself."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from kindex.testing.manifests import RawObject


@attrs.frozen
class TlsFiles:
    """The files with which the server speaks TLS, in PEM.

    Attributes:
        certificate: the server's, with whatever stands between it and the authority.
        private_key: its key.
        authority: whom clients shall trust; None where the certificate signs itself.

    >>> files = TlsFiles("tls.crt", "tls.key", authority="ca.crt")
    >>> files.authority.name
    'ca.crt'
    """

    certificate: Path = attrs.field(converter=Path)
    private_key: Path = attrs.field(converter=Path)
    authority: Path | None = attrs.field(default=None, converter=attrs.converters.optional(Path))


def kubeconfig(url: str, *, token: str | None, tls: TlsFiles | None) -> RawObject:
    """Give the content of a kubeconfig file for the server at *url*.

    >>> kubeconfig("http://127.0.0.1:80", token=None, tls=None)["current-context"]
    'kindex'
    """
    cluster: RawObject = {"server": url}
    if tls is not None:
        authority = (tls.authority or tls.certificate).read_bytes()
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kindex", "cluster": cluster}],
        "users": [{"name": "kindex", "user": {"token": token} if token is not None else {}}],
        "contexts": [
            {"name": "kindex", "context": {"cluster": "kindex", "user": "kindex", "namespace": "default"}},
        ],
        "current-context": "kindex",
    }
