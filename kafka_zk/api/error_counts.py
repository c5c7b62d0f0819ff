"""How often each error code stands in a response, for the meters ErrorsPerSec.

Role        Pure. Compiled from the declaration of a response, once per version: every produce and fetch passes here, so
            it must not cost more than the loops one would write by hand.
Invariants  Codes of fields that the version does not have are not counted; NONE is.
            Differs from Kafka where no monitoring looks: a LeaderAndIsr or StopReplica that failed as a whole counts
            each partition under its own code, and an empty answer counts nothing.
Source      errorCounts of each response class in org.apache.kafka.common.requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_zk.api.error_form import CODE_FIELDS
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Array, Struct

# Fetch, DescribeLogDirs and ElectLeaders have their own code only in later versions; Kafka counts it in all.
_TOP_CODE_ALWAYS = (1, 35, 43)

# Single deleted ACLs, and the summary above the users of DescribeUserScramCredentials, are not counted.
_UNCOUNTED = {31: "filter_results.matching_acls", 50: "error_code"}

ErrorCounter = Callable[[Any, dict[int, int]], None]


def compile_error_counter(response: Message[Any], api_version: int) -> ErrorCounter:
    """A function (response, counts) that adds one to `counts[code]` for every error code; counts is a defaultdict."""
    skipped = _UNCOUNTED.get(response.api_key or 0, "")
    body = _counting_lines(response.struct, "response", api_version, skipped=skipped, depth=1) or ["    pass"]
    if response.api_key in _TOP_CODE_ALWAYS and not any("response.error_code" in line for line in body):
        body.append("    counts[response.error_code] += 1")
    names: dict[str, Any] = {}
    exec("\n".join(["def count(response, counts):", *body]), names)
    counter: ErrorCounter = names["count"]
    return counter


def _counting_lines(struct: Struct, value: str, api_version: int, *, skipped: str, depth: int) -> list[str]:
    """Lines that count what is in `value`; none where no code can be found in it."""
    indent = "    " * depth
    lines = []
    for field in struct.fields:
        if api_version not in field.versions or field.name == skipped:
            continue
        if field.name in CODE_FIELDS:
            lines.append(f"{indent}counts[{value}.{field.name}] += 1")
        elif field.struct is not None and isinstance(field.type, Array):
            element = f"element_{depth}"
            inner_skipped = skipped.partition(f"{field.name}.")[2]
            inner = _counting_lines(field.struct, element, api_version, skipped=inner_skipped, depth=depth + 1)
            if inner:
                lines.append(f"{indent}for {element} in {value}.{field.name} or ():")
                lines += inner
    return lines
