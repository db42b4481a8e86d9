"""Resource versions: the server's text for the state of an object or a list, compared as Kubernetes compares it."""

from __future__ import annotations


def compare(left: str, right: str) -> int | None:
    """Say whether *left* is older (-1) than *right*, the same (0) or newer (1); None where nobody can tell.

    As apimachinery's ``CompareResourceVersion``: versions are decimal numbers without leading zeros, of any length. Of
    anything else only equality is known.

    >>> compare("999999", "1000000"), compare("12", "12"), compare("12", "007"), compare("a", "a")
    (-1, 0, None, 0)
    """
    if left == right:
        return 0 if left else None
    if not (_well_formed(left) and _well_formed(right)):
        return None
    return -1 if (len(left), left) < (len(right), right) else 1


def usable(version: str | None) -> bool:
    """Tell whether a list or a watch can start from *version*: not from none, ``""``, nor from a ``None`` made text.

    >>> usable("1234"), usable(""), usable("None")
    (True, False, False)
    """
    return bool(version) and version not in ("None", "null")


def _well_formed(version: str) -> bool:
    return version.isascii() and version.isdigit() and version[0] != "0"
