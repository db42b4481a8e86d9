"""Certificates made for a test, by an authority of its own."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path
from typing import Any

import pytest

from kindex.testing import TlsFiles


class Authority:
    """Signs certificates, and writes them as files below *folder*. Without ``cryptography`` the test is skipped."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        pytest.importorskip("cryptography")
        self._folder = folder
        self._serial = 0
        self._name = name
        self._key = _new_key()
        self._certificate = self._signed(name, self._key, authority=True)
        self.file = self._write(f"{name}.pem", _pem(self._certificate))

    def server(self, *, address: str = "127.0.0.1", host: str = "localhost") -> TlsFiles:
        """Give the files of a server that is found at *address*, and as *host*."""
        from cryptography import x509

        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address)), x509.DNSName(host)])
        certificate, key = self._files("server", names)
        return TlsFiles(certificate, key, self.file)

    def client(self, name: str) -> tuple[Path, Path]:
        """Give the certificate and the key of a client."""
        return self._files(name)

    def _files(self, name: str, *extensions: Any) -> tuple[Path, Path]:
        from cryptography.hazmat.primitives import serialization

        key = _new_key()
        certificate = self._write(f"{name}-{self._serial}.pem", _pem(self._signed(name, key, *extensions)))
        encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return certificate, self._write(f"{certificate.stem}-key.pem", key.private_bytes(*encoding))

    def _signed(self, name: str, key: Any, *extensions: Any, authority: bool = False) -> Any:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        self._serial += 1
        now = dt.datetime.now(dt.UTC)
        public, issuer = key.public_key(), self._key.public_key()
        uses = dict.fromkeys(
            (
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self._name)]))
            .public_key(public)
            .serial_number(self._serial)
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=authority, crl_sign=authority, **uses),
                critical=True,
            )
            # Without these two the strict checks of Python 3.13 refuse it.
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(content)
        return path


def _new_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization

    pem: bytes = certificate.public_bytes(serialization.Encoding.PEM)
    return pem
