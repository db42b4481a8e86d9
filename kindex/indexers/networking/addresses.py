"""IPIndexer: by IP addresses."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING

from kindex.indexers.derived import DerivedIndexer, texts

if TYPE_CHECKING:
    from kindex.values import ValueKey


class IPIndexer(DerivedIndexer[str]):
    """What the indexes by IP address have in common: IPv6 addresses are equal in every spelling."""

    def _key(self, value: object) -> ValueKey:
        return super()._key(ip_text(value) if isinstance(value, str) else value)


def addresses(_namespace: str, *found: tuple[object, ...]) -> list[str]:
    """Give all addresses at some paths."""
    return [ip_text(text) for values in found for text in texts(values)]


def ip_text(address: str) -> str:
    """Give an address as it is compared: of IPv6 the short form of RFC 5952; all other text as it is.

    >>> ip_text("2001:DB8:0:0::1"), ip_text("10.0.0.1"), ip_text("None")
    ('2001:db8::1', '10.0.0.1', 'None')
    """
    if ":" not in address:
        return address
    try:
        return IPv6Address(address).compressed
    except AddressValueError:
        return address
