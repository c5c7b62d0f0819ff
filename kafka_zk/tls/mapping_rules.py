"""ssl.principal.mapping.rules: which part of a certificate's name is the principal.

Role        Pure.
Invariants  The first rule whose pattern is the whole name decides; later ones are not asked.
Source      SslPrincipalMapper in Kafka 3.9; Matcher.replaceAll in Java 17.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kafka_zk.config.java_patterns import JavaPatternError, java_pattern
from kafka_zk.tls.errors import TlsError

_RULE = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_PARSER = re.compile(_RULE)
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|$)", re.ASCII)
_REFERENCE = re.compile(r"\\(.)|\$(?:(\d+)|\{([a-zA-Z][a-zA-Z0-9]*)\})", re.ASCII | re.DOTALL)


class NoMatchingRule(Exception):
    """No rule is for this name."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str] | None
    """None: DEFAULT, the whole name."""
    shown: str
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if not self.pattern.fullmatch(name):
            return None
        result = self.pattern.sub(self._replaced, name)
        return {"L": result.lower, "U": result.upper}[self.case]() if self.case else result

    def _replaced(self, match: re.Match[str]) -> str:
        return _REFERENCE.sub(lambda reference: _expanded(reference, match), self.replacement)


class PrincipalMapper:
    """Rules, parsed once. `PrincipalMapper.of(text)`."""

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._rules = tuple(rules)

    @classmethod
    def of(cls, text: str) -> PrincipalMapper:
        """From the value of the key. Raises TlsError with Kafka's text."""
        rules = (_parsed(found[1]) for found in _SPLITTER.finditer(text.strip()))
        return cls([rule for rule in rules if rule is not None])

    def name_of(self, distinguished_name: str) -> str:
        """The name of the principal, without its type. Raises NoMatchingRule with the text of Kafka's error."""
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        shown = ", ".join(rule.shown for rule in self._rules)
        raise NoMatchingRule(f"No rules apply to {distinguished_name}, rules [{shown}]")


def _parsed(text: str) -> _Rule | None:
    """None for nothing between two commas."""
    found = _PARSER.match(text)
    if found is None:
        raise TlsError(f"Invalid rule: {text}")
    if found.end() != len(text):
        raise TlsError(f"Invalid rule: `{text}`, unmatched substring: `{text[found.end() :]}`")
    if found[1] is not None:
        return _Rule(None, "DEFAULT")
    if found[2] is None:
        return None
    pattern, replacement, case = found[2], found[4], found[6]
    try:
        compiled = java_pattern(pattern)
    except JavaPatternError as error:
        raise TlsError(f"Invalid rule: `{text}`: {error}") from None
    return _Rule(compiled, f"RULE:{pattern}/{replacement}" + (f"/{case}" if case else ""), replacement, case)


def _expanded(reference: re.Match[str], match: re.Match[str]) -> str:
    """What `$1`, `${name}` or `\\x` of a replacement stands for. A group beyond the last is literal: `$9`."""
    escaped, number, name = reference.groups()
    if escaped is not None:
        return escaped
    if name is not None:
        return match[name] or "" if name in match.re.groupindex else reference[0]
    # As many digits as still name a group: `$12` is the first group and a 2 where there are fewer than 12.
    size = len(number)
    while size > 1 and int(number[:size]) > match.re.groups:
        size -= 1
    if int(number[:size]) > match.re.groups:
        return reference[0]
    return (match[int(number[:size])] or "") + number[size:]
