"""Options of kafka-producer-perf-test.sh.

Role        Pure.
Source      ProducerPerformance.argParser, readProps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_zk.tools.common.argparse4j import DOUBLE, INTEGER, LONG, Argument, ArgumentParser, Kind
from kafka_zk.tools.common.java_output import illegal_argument
from kafka_zk.tools.common.java_values import java_split

CLIENT_ID = "perf-producer-client"
PARSER = ArgumentParser(
    "producer-performance",
    (
        Argument("--topic", required=True),
        Argument("--num-records", LONG, required=True),
        Argument("--record-size", INTEGER, group="payload"),
        Argument("--payload-file", group="payload"),
        Argument("--payload-monotonic", kind=Kind.FLAG, group="payload"),
        Argument("--payload-delimiter", default="\\n"),
        Argument("--throughput", DOUBLE, required=True),
        Argument("--producer-props", kind=Kind.SOME),
        Argument("--producer.config"),
        Argument("--print-metrics", kind=Kind.FLAG),
        Argument("--transactional-id", default="performance-producer-default-transactional-id"),
        Argument("--transaction-duration-ms", LONG, default=0),
    ),
    "producer_perf_test",
)


def producer_properties(values: Mapping[str, Any], from_file: Mapping[str, str]) -> dict[str, str]:
    """The file's properties, overridden by those of the command line. Raises JavaError."""
    properties = {**from_file, **_pairs(values["producer-props"] or ())}
    if values["transaction-duration-ms"] > 0:
        properties["transactional.id"] = values["transactional-id"]
    properties.setdefault("client.id", CLIENT_ID)
    return properties


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        parts = java_split(word, "=")
        if len(parts) != 2:
            raise illegal_argument(f"Invalid property: {word}")
        pairs[parts[0]] = parts[1]
    return pairs
