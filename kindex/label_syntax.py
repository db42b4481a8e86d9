"""How labels and label selectors are written: what can be a key and a value, and the grammar of selector text.

Nothing here knows what an operator means.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kindex.errors import SelectorSyntaxError

# Lengths count bytes, as Go does. All three patterns are used with fullmatch: ``$`` would let a line end pass.
_LONGEST_NAME = 63
_LONGEST_PREFIX = 253
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")

# White space is these four characters; a NUL is in no token.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^ \t\r\n=!(),<>\0]+)|\Z)")
_SETS: Final = ("in", "notin")
_OPERATORS: Final = ("=", "==", "!=", "<", ">", *_SETS)

_NAME_CHARACTERS = "letters, digits, '-', '_' and '.', with a letter or digit at both ends"
_PREFIX_CHARACTERS = "a domain name in lower case, such as example.com"


def validate_label_key(key: str) -> list[str]:
    """List what keeps *key* from being a label key; empty when it is one.

    A key is a name, or a domain name, a slash and a name. O(length).

    >>> validate_label_key("app.kubernetes.io/name")
    []
    >>> validate_label_key("a/b/c")
    ['it has more than one slash']
    """
    if len(key) <= _LONGEST_NAME and _NAME.fullmatch(key):  # the usual key has no prefix
        return []
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return ["it has more than one slash"]
    problems = []
    if slash and not prefix:
        problems.append("the prefix before its slash is empty")
    elif slash:
        if _bytes_in(prefix) > _LONGEST_PREFIX:
            problems.append(f"its prefix is longer than {_LONGEST_PREFIX} bytes")
        if not _PREFIX.fullmatch(prefix):
            problems.append(f"its prefix must be {_PREFIX_CHARACTERS}")
    if not name:
        problems.append("its name is empty")
    if _bytes_in(name) > _LONGEST_NAME:
        problems.append(f"its name is longer than {_LONGEST_NAME} bytes")
    if not _NAME.fullmatch(name):
        problems.append(f"its name must be {_NAME_CHARACTERS}")
    return problems


def validate_label_value(value: str) -> list[str]:
    """List what keeps *value* from being a label's value; empty when it is one.

    The empty text is a value. O(length).

    >>> validate_label_value(""), validate_label_value("v1.2")
    ([], [])
    >>> validate_label_value("a b")
    ["it must be empty, or letters, digits, '-', '_' and '.', with a letter or digit at both ends"]
    """
    well_formed = not value or _NAME.fullmatch(value)
    if well_formed and len(value) <= _LONGEST_NAME:
        return []
    problems = []
    if _bytes_in(value) > _LONGEST_NAME:
        problems.append(f"it is longer than {_LONGEST_NAME} bytes")
    if not well_formed:
        problems.append(f"it must be empty, or {_NAME_CHARACTERS}")
    return problems


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class Token(NamedTuple):
    """A word, a symbol, or the end of a text (whose text is empty), and where it starts."""

    text: str
    start: int
    is_word: bool


class Term(NamedTuple):
    """One requirement as it was written: ``operator`` is None for a key alone, ``!`` for ``!key``."""

    key: Token
    operator: str | None
    values: tuple[Token, ...]


def tokens_of(text: str) -> list[Token]:
    """Cut selector text into tokens, the last of which is its end; O(length).

    Raises:
        SelectorSyntaxError: the text has a NUL character.

    >>> [token.text for token in tokens_of("app!=web")]
    ['app', '!=', 'web', '']
    """
    tokens = []
    position = 0
    while found := _TOKEN.match(text, position):
        kind = found.lastgroup
        if kind is None:
            tokens.append(Token("", found.end(), is_word=False))
            return tokens
        tokens.append(Token(found[kind], found.start(kind), kind == "word"))
        position = found.end()
    raise SelectorSyntaxError(text, text.index("\0", position), "a NUL character")


def terms_of(text: str) -> list[Term]:
    """Read the terms of selector text, none for blank text; O(length), without recursion.

    Keys and values are words here, not yet checked.

    Raises:
        SelectorSyntaxError: the text breaks the grammar.

    >>> [(term.key.text, term.operator) for term in terms_of("app, !canary")]
    [('app', None), ('canary', '!')]
    """
    return _Reader(text).terms()


class _Reader:
    """One pass over the tokens of a text, looking one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0

    def terms(self) -> list[Term]:
        if not self._tokens[0].text:
            return []
        terms = [self._term("")]
        while (token := self._take()).text:
            if token.text != ",":
                raise self._unexpected(token, "',' or the end")
            terms.append(self._term(" after ','"))
        return terms

    def _term(self, after: str) -> Term:
        negated = self._peek().text == "!"
        if negated:
            self._take()
        key = self._take()
        if not key.is_word:
            raise self._unexpected(key, "a key after '!'" if negated else f"a key{after}")
        if negated or self._peek().text in ("", ","):
            return Term(key, "!" if negated else None, ())
        operator = self._take()
        if operator.text not in _OPERATORS:
            raise self._unexpected(operator, "',' or an operator (=, ==, !=, in, notin, <, >)")
        values = self._set(operator) if operator.text in _SETS else (self._value(operator),)
        return Term(key, operator.text, values)

    def _value(self, operator: Token) -> Token:
        """Take the one word after an operator; nothing there is the empty value."""
        token = self._peek()
        if token.is_word:
            return self._take()
        if token.text in ("", ","):
            return token._replace(text="")
        raise self._unexpected(token, f"a value after {operator.text!r}")

    def _set(self, operator: Token) -> tuple[Token, ...]:
        """Take a list in parentheses; where a value is missing between its commas, it is the empty value."""
        token = self._take()
        if token.text != "(":
            raise self._unexpected(token, f"'(' after {operator.text!r}")
        values = []
        while True:
            token = self._take()
            if token.is_word:
                values.append(token)
                token = self._take()
            else:
                values.append(token._replace(text=""))
            if token.text == ")":
                return tuple(values)
            if token.text != ",":
                raise self._unexpected(token, "',' or ')'")

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        if token.text:  # the end stays
            self._at += 1
        return token

    def _unexpected(self, token: Token, expected: str) -> SelectorSyntaxError:
        found = f"found {_shortened(token.text)!r}" if token.text else "the text ends"
        return SelectorSyntaxError(self._text, token.start, f"expected {expected}, but {found}{_hint(token)}")


def _hint(token: Token) -> str:
    """Say what is meant by words that are operators elsewhere."""
    if token.is_word and token.text.lower() in _SETS:
        return " (operators are in lower case)"
    return ""


def _shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[:limit] + "..."
