"""JAAS configuration: login modules and their options, from a property's value or a file of sections.

Role        Pure. A value of sasl.jaas.config holds modules; a file (java.security.auth.login.config) holds sections of
            them: KafkaServer, KafkaClient, Client. Nothing is ever loaded: a module is a name out of a fixed list.
Invariants  Options are secrets: no repr and no error shows a value.
Source      JaasConfig, JaasUtils and JaasContext in Kafka 3.9; java.io.StreamTokenizer and
            sun.security.provider.ConfigFile of the JDK, whose rules for words, numbers, quotes and comments differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTHBEARER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
KERBEROS: Final = "com.sun.security.auth.module.Krb5LoginModule"
DIGEST: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"
"""ZooKeeper's."""

KNOWN_MODULES: Final = frozenset((PLAIN, SCRAM, OAUTHBEARER, KERBEROS, DIGEST))
DISALLOWED_MODULES: Final = (
    "com.sun.security.auth.module.JndiLoginModule",
    "com.sun.security.auth.module.LdapLoginModule",
)
"""Those that load what somebody else names (CVE-2023-25194, CVE-2025-27818): refused with Kafka's own words."""

_FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")


class JaasError(ValueError):
    """The text is no JAAS configuration, or names a module that is not known here. The message has no secret."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One module: its Java class, its control flag in upper case, and its options, which may be secrets."""

    name: str
    flag: str
    options: Mapping[str, str] = field(repr=False)


def parse_value(text: str) -> list[LoginModule]:
    """The modules of a sasl.jaas.config. Raises JaasError, with the texts of Kafka's JaasConfig."""
    tokens = _Tokens(text, _VALUE_WORD_CHARACTERS, single_quotes=True)
    modules = []
    while (token := tokens.next()).kind is not _Kind.END:
        modules.append(_module_of_value(token, tokens))
    if not modules:
        raise JaasError("Login module not specified in JAAS config")
    return modules


def single_module(text: str) -> LoginModule:
    """The one module that a sasl.jaas.config may have. Raises JaasError, also for a module that is not allowed."""
    modules = parse_value(text)
    if len(modules) != 1:
        raise JaasError(f"JAAS config property contains {len(modules)} login modules, should be 1 module")
    check_allowed(modules[0])
    return modules[0]


def parse_file(text: str) -> dict[str, list[LoginModule]]:
    """The sections of a JAAS file and their modules, in order. Raises JaasError with the line."""
    tokens = _Tokens(text, _FILE_WORD_CHARACTERS, single_quotes=False)
    sections: dict[str, list[LoginModule]] = {}
    while (token := tokens.next()).kind is not _Kind.END:
        name = tokens.word(token, "application name")
        tokens.symbol("{")
        modules = []
        while (token := tokens.next()) != _CLOSE:
            modules.append(_module_of_file(token, tokens))
        tokens.symbol(";")
        if name in sections:
            raise JaasError(f"Configuration Error:\n\tCan not specify multiple entries for {name}")
        if modules:
            sections[name] = modules
    return sections


def check_allowed(module: LoginModule) -> None:
    """Raise JaasError unless the module is one of those that are built in."""
    if module.name in DISALLOWED_MODULES:
        raise JaasError(
            f"{module.name} is not allowed. Update System property "
            f"'org.apache.kafka.disallowed.login.modules' to allow {module.name}"
        )
    if module.name not in KNOWN_MODULES:
        raise JaasError(f"No LoginModule found for {module.name}")


def _module_of_value(token: _Token, tokens: _Tokens) -> LoginModule:
    name = token.text
    flag_token = tokens.next()
    if flag_token.kind is _Kind.END:
        raise JaasError("Login module control flag not specified in JAAS config")
    if flag_token.text is None:
        raise JaasError("Login module control flag is not available in the JAAS config")
    if flag_token.text.upper() not in _FLAGS:
        raise JaasError(f"Invalid login module control flag '{flag_token.text}' in JAAS config")
    options: dict[str, str] = {}
    while (token := tokens.next()).kind is not _Kind.END and token != _SEMICOLON:
        key = token.text
        is_assigned = tokens.next() == _EQUALS
        value = tokens.next() if is_assigned else _END
        if value.text is None:
            raise JaasError(f"Value not specified for key '{'null' if key is None else key}' in JAAS config")
        if key is not None:
            options[key] = value.text
    if token != _SEMICOLON:
        raise JaasError("JAAS config entry not terminated by semi-colon")
    if not name:
        raise JaasError("Login module not specified in JAAS config")
    return LoginModule(name, flag_token.text.upper(), options)


def _module_of_file(token: _Token, tokens: _Tokens) -> LoginModule:
    name = tokens.word(token, "class name")
    flag = tokens.word(tokens.next(), "controlFlag").upper()
    if flag not in _FLAGS:
        raise JaasError(f"Configuration Error:\n\tInvalid control flag, {flag}")
    options: dict[str, str] = {}
    while (token := tokens.next()) != _SEMICOLON:
        key = tokens.word(token, "option key")
        tokens.symbol("=")
        options[key] = tokens.word(tokens.next(), "option value")
    return LoginModule(name, flag, options)


class _Kind(Enum):
    END = auto()
    WORD = auto()
    NUMBER = auto()
    SYMBOL = auto()


class _Token(NamedTuple):
    """`text` is that of a word or of something quoted; a number has none, and a symbol is in `symbol`."""

    kind: _Kind
    text: str | None = None
    symbol: str = ""


_END: Final = _Token(_Kind.END)
_NUMBER: Final = _Token(_Kind.NUMBER)
_EQUALS: Final = _Token(_Kind.SYMBOL, None, "=")
_SEMICOLON: Final = _Token(_Kind.SYMBOL, None, ";")
_CLOSE: Final = _Token(_Kind.SYMBOL, None, "}")

_VALUE_WORD_CHARACTERS: Final = "-_$"
_FILE_WORD_CHARACTERS: Final = "-_$*"
_DIGITS: Final = "0123456789"
_OCTAL: Final = "01234567"
_ESCAPES: Final = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class _Tokens:
    """Words, numbers, quoted texts and symbols, as java.io.StreamTokenizer tells them apart."""

    def __init__(self, text: str, word_characters: str, *, single_quotes: bool) -> None:
        self._text = text
        self._at = 0
        self._word_characters = word_characters
        self._single_quotes = single_quotes

    def next(self) -> _Token:
        text, size = self._text, len(self._text)
        while self._at < size:
            letter = text[self._at]
            if letter <= " ":
                self._at += 1
            elif letter in _DIGITS or letter in ".-":
                return self._number(letter)
            elif self._is_word(letter):
                return self._word()
            elif letter in "\"'":
                return self._quoted(letter)
            elif letter == "/":
                # A single slash begins a comment, too: it does in every StreamTokenizer.
                self._skip_comment()
            else:
                self._at += 1
                return _Token(_Kind.SYMBOL, None, letter)
        return _END

    def word(self, token: _Token, what: str) -> str:
        """The text of a word or of something quoted. Raises JaasError."""
        if token.text is None:
            found = "end of file" if token.kind is _Kind.END else token.symbol or "a number"
            raise self._unexpected(what, found)
        return token.text

    def symbol(self, wanted: str) -> None:
        """Take `wanted`. Raises JaasError."""
        token = self.next()
        if token.symbol != wanted:
            raise self._unexpected(wanted, "end of file" if token.kind is _Kind.END else token.symbol or "a word")

    def _unexpected(self, wanted: str, found: str) -> JaasError:
        line = self._text.count("\n", 0, self._at) + 1
        return JaasError(f"Configuration Error:\n\tLine {line}: expected [{wanted}], found [{found}]")

    def _is_word(self, letter: str) -> bool:
        return (letter.isascii() and letter.isalpha()) or letter in self._word_characters or letter >= "\xa0"

    def _number(self, letter: str) -> _Token:
        text, size = self._text, len(self._text)
        at = self._at
        if letter == "-":
            at += 1
            if at == size or text[at] not in "." + _DIGITS:
                self._at = at
                return _Token(_Kind.SYMBOL, None, "-")
        has_dot = False
        while at < size and (text[at] in _DIGITS or (text[at] == "." and not has_dot)):
            has_dot = has_dot or text[at] == "."
            at += 1
        self._at = at
        return _NUMBER

    def _word(self) -> _Token:
        begin = self._at
        while self._at < len(self._text):
            letter = self._text[self._at]
            if not (self._is_word(letter) or letter in _DIGITS or letter in ".-"):
                break
            self._at += 1
        return _Token(_Kind.WORD, self._text[begin : self._at])

    def _quoted(self, quote: str) -> _Token:
        """Ends at the quote, and at the end of the line, which is not part of it."""
        found: list[str] = []
        self._at += 1
        while self._at < len(self._text) and self._text[self._at] not in (quote, "\n", "\r"):
            found.append(self._escape() if self._text[self._at] == "\\" else self._text[self._at])
            self._at += 1
        if self._at < len(self._text) and self._text[self._at] == quote:
            self._at += 1
        if quote == "'" and not self._single_quotes:
            return _Token(_Kind.SYMBOL, None, "'")
        return _Token(_Kind.WORD, "".join(found))

    def _escape(self) -> str:
        """The character behind a backslash; leaves the position at the last one taken."""
        text = self._text
        self._at += 1
        letter = text[self._at : self._at + 1]
        if not letter:
            # Java stores the end of its input as a character.
            return "\uffff"
        if letter not in _OCTAL:
            return _ESCAPES.get(letter, letter)
        digits = letter
        most = 3 if letter <= "3" else 2
        while len(digits) < most and text[self._at + 1 : self._at + 2] in tuple(_OCTAL):
            self._at += 1
            digits += text[self._at]
        return chr(int(digits, 8))

    def _skip_comment(self) -> None:
        text = self._text
        if text.startswith("/*", self._at):
            # As in Java, a star that opens the comment does not close it.
            end = text.find("*/", self._at + 2)
            self._at = len(text) if end < 0 else end + 2
            return
        # Whatever follows the slash is taken with it, the end of a line, too: then the next line is the comment.
        ends = [end for end in (text.find("\n", self._at + 2), text.find("\r", self._at + 2)) if end >= 0]
        self._at = min(ends, default=len(text))


def modules_in(sections: Mapping[str, list[LoginModule]], *names: str) -> Iterator[LoginModule]:
    """The modules of the first of these sections that is there."""
    for name in names:
        if name in sections:
            yield from sections[name]
            return
