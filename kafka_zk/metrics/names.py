"""MBean names: `domain:type=Type,name=Name,tag=value`, the identity of every metric.

Role        Pure.
Invariants  Tags keep the order they were given in; a value that JMX does not accept as it is gets quoted.
Source      KafkaMetricsGroup.explicitMetricName, JmxReporter, Sanitizer.jmxSanitize, ObjectName.quote.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PLAIN = re.compile(r"[\w\-%. \t]*", re.ASCII)


class MBeanName(NamedTuple):
    """One MBean. `tags` are those besides type and name."""

    domain: str
    type: str
    name: str | None
    tags: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        parts = [("type", self.type)]
        if self.name is not None:
            parts.append(("name", self.name))
        return f"{self.domain}:" + ",".join(f"{key}={_quoted(value)}" for key, value in (*parts, *self.tags))


def parse_name(text: str, tags: dict[str, object]) -> MBeanName:
    """The MBean that `text` ("domain:type=T[,name=N][,tag=v...]") and further tags name.

    Values inside `text` are plain; pass those with commas or quotes in `tags`.
    """
    domain, _, properties = text.partition(":")
    parts = dict(part.split("=", 1) for part in properties.split(",") if part)
    assert "type" in parts, f"{text} names no type"
    kind, name = parts.pop("type"), parts.pop("name", None)
    all_tags = (*parts.items(), *((key, str(value)) for key, value in tags.items()))
    return MBeanName(domain, kind, name, all_tags)


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = re.sub(r'([\\"*?])', r"\\\1", value).replace("\n", "\\n")
    return f'"{escaped}"'
