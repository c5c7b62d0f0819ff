"""sasl.kerberos.principal.to.local.rules: from a principal to the name that ACLs and quotas know.

Role        Pure.
Invariants  The first rule that applies decides. A short name never has a slash or an @: `alice@OTHER.REALM` must not
            pass for somebody of this realm because a rule forgot the realm.
Layout      DEFAULT, or RULE:[parts:format](regexp)s/pattern/replacement/g/L (or U); all but the brackets may be missing
Source      KerberosShortNamer, KerberosRule in Kafka 3.9; Matcher.replaceAll in Java 17.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_zk.config.java_patterns import JavaPatternError, java_matches, java_pattern
from kafka_zk.sasl.kerberos.names import KerberosName

_RULE = re.compile(
    r"(?P<default>DEFAULT)|RULE:\[(?P<parts>\d*):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<pattern>[^/]*)/(?P<replacement>[^/]*)/(?P<repeat>g)?)?/?(?P<case>[LU])?",
    re.ASCII,
)
_PARAMETER = re.compile(r"\$(\d*)", re.ASCII)
_REFERENCE = re.compile(
    r"\\(?P<escaped>.?)|\$(?:(?P<number>\d+)|\{(?P<name>[a-zA-Z0-9]*)(?P<closed>\})?)?", re.ASCII | re.DOTALL
)
_NOT_SIMPLE = re.compile("[/@]")
_MAX_INT = 2**31 - 1


class BadRule(ValueError):
    """The text is no rule. The message is Kafka's, where it has one."""


class NoMatchingRule(Exception):
    """No rule gives the principal a short name, or one gives none that may be used. The message is Kafka's."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """`format` is None for DEFAULT."""

    parts: int = 0
    format: str | None = None
    match: re.Pattern[str] | None = None
    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    repeats: bool = False
    case: str = ""
    text: str = "DEFAULT"
    """As Kafka shows the rule in its errors."""

    def apply(self, name: KerberosName, default_realm: str) -> str | None:
        """None where this rule is not for the name. Raises NoMatchingRule."""
        found = self._result(name, default_realm)
        if found is None:
            return None
        if _NOT_SIMPLE.search(found):
            raise NoMatchingRule(f"Non-simple name {found} after auth_to_local rule {self.text}")
        return {"L": found.lower, "U": found.upper}[self.case]() if self.case else found

    def _result(self, name: KerberosName, default_realm: str) -> str | None:
        if self.format is None:
            return name.service_name if name.realm == default_realm else None
        values = [name.realm or "", name.service_name, *([] if name.host_name is None else [name.host_name])]
        if len(values) - 1 != self.parts:
            return None
        base = _formatted(self.format, values)
        if self.match is not None and not self.match.fullmatch(base):
            return None
        if self.pattern is None:
            return base
        return _replaced(self.pattern, self.replacement, base, repeats=self.repeats)


class ShortNamer:
    """Rules, parsed once. Raises BadRule."""

    def __init__(self, default_realm: str, rules: Iterable[str]) -> None:
        self._default_realm = default_realm
        self._rules = tuple(_parsed(rule) for rule in rules)

    def short_name(self, name: KerberosName) -> str:
        """Raises NoMatchingRule."""
        if name.host_name is None and name.realm is None:
            return name.service_name
        for rule in self._rules:
            found = rule.apply(name, self._default_realm)
            if found is not None:
                return found
        shown = ", ".join(rule.text for rule in self._rules)
        raise NoMatchingRule(f"No rules apply to {name}, rules [{shown}]")


def _parsed(text: str) -> _Rule:
    found = _RULE.match(text)
    if found is None:
        raise BadRule(f"Invalid rule: {text}")
    if found.end() != len(text):
        raise BadRule(f"Invalid rule: `{text}`, unmatched substring: `{text[found.end() :]}`")
    if found["default"] is not None:
        return _Rule()
    if not found["parts"] or int(found["parts"]) > _MAX_INT:
        raise BadRule(f'For input string: "{found["parts"]}"')
    try:
        match, pattern = (None if found[key] is None else java_pattern(found[key]) for key in ("match", "pattern"))
    except JavaPatternError as error:
        raise BadRule(f"Invalid rule: `{text}`: {error}") from None
    return _Rule(
        int(found["parts"]),
        found["format"],
        match,
        pattern,
        found["replacement"] or "",
        found["repeat"] is not None,
        found["case"] or "",
        _shown(found),
    )


def _shown(found: re.Match[str]) -> str:
    match = "" if found["match"] is None else f"({found['match']})"
    change = "" if found["pattern"] is None else f"s/{found['pattern']}/{found['replacement']}/{found['repeat'] or ''}"
    case = f"/{found['case']}" if found["case"] else ""
    return f"RULE:[{int(found['parts'])}:{found['format']}]{match}{change}{case}"


def _formatted(text: str, values: list[str]) -> str:
    """`$0` is the realm, `$1` and `$2` the parts of the name."""

    def value(found: re.Match[str]) -> str:
        if not found[1] or int(found[1]) > _MAX_INT:
            raise NoMatchingRule(f"bad format in username mapping in {found[1]}")
        index = int(found[1])
        if index >= len(values):
            raise NoMatchingRule(f"index {index} from {text} is outside of the valid range 0 to {len(values) - 1}")
        return values[index]

    return _PARAMETER.sub(value, text)


def _replaced(pattern: re.Pattern[str], replacement: str, text: str, *, repeats: bool) -> str:
    """Matcher.replaceAll, or replaceFirst."""
    parts, end = [], 0
    for match in itertools.islice(java_matches(pattern, text), None if repeats else 1):
        parts += [text[end : match.start()], _expanded(replacement, match)]
        end = match.end()
    return "".join(parts) + text[end:]


def _expanded(replacement: str, match: re.Match[str]) -> str:
    """`\\x` is x, `$1` and `${name}` are groups. A group that the pattern does not have is an error, as in Java."""

    def part(reference: re.Match[str]) -> str:
        escaped, number, name = reference["escaped"], reference["number"], reference["name"]
        if escaped is not None:
            if not escaped:
                raise NoMatchingRule("character to be escaped is missing")
            return escaped
        if number is not None:
            return _numbered(number, match)
        if name is None:
            is_last = reference.end() == len(replacement)
            raise NoMatchingRule("Illegal group reference" + (": group index is missing" if is_last else ""))
        return _named(name, reference["closed"] is not None, match)

    return _REFERENCE.sub(part, replacement)


def _numbered(number: str, match: re.Match[str]) -> str:
    # As many digits as still name a group: `$12` is the first group and a 2 where there are fewer than 12.
    size = 1
    while size < len(number) and int(number[: size + 1]) <= match.re.groups:
        size += 1
    if int(number[:size]) > match.re.groups:
        raise NoMatchingRule(f"No group {number[:size]}")
    return (match[int(number[:size])] or "") + number[size:]


def _named(name: str, is_closed: bool, match: re.Match[str]) -> str:
    if not name:
        raise NoMatchingRule("named capturing group has 0 length name")
    if not is_closed:
        raise NoMatchingRule("named capturing group is missing trailing '}'")
    if name[0].isdigit():
        raise NoMatchingRule(f"capturing group name {{{name}}} starts with digit character")
    if name not in match.re.groupindex:
        raise NoMatchingRule(f"No group with name {{{name}}}")
    return match[name] or ""
