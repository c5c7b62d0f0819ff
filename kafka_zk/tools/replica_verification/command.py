"""The work of kafka-replica-verification.sh: fetches from all replicas at once, compares, and reports, for ever.

Source      org.apache.kafka.tools.ReplicaVerificationTool.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.offset_listing import ListedOffset
from kafka_zk.client.admin.replica_fetching import NOTHING, Fetched
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.bootstrap_option import check_bootstrap_servers
from kafka_zk.tools.common.endings import exit_code_of
from kafka_zk.tools.common.failures import FAILURES
from kafka_zk.tools.common.java_output import JavaError, execution_error, log_error, print_log_line, show_warnings
from kafka_zk.tools.common.java_values import python_pattern
from kafka_zk.tools.common.options import Option, Options
from kafka_zk.tools.replica_verification.verification import Mismatch, Verification

if TYPE_CHECKING:
    from kafka_zk.tools.common.program import Shutdown

ABOUT = "Validate that all replicas for a set of topics have the same data."
LOGGER = "org.apache.kafka.tools.ReplicaVerificationTool"
DEPRECATED = "This tool is deprecated and may be removed in a future major release."
NO_TOPICS = "No topics found. [topics-include] if specified, is either filtering out all topics or there is no topic."
OPTIONS = (
    *(
        Option(name, True)
        for name in (
            "broker-list",
            "fetch-size",
            "max-wait-ms",
            "topic-white-list",
            "topics-include",
            "time",
            "report-interval-ms",
        )
    ),
    Option("help"),
    Option("version"),
)
LATEST = -1
RETRY_S = 0.1


def work(arguments: Sequence[str], shutdown: Shutdown) -> int:
    """Blocks, until a signal ends the program or replicas differ in their offsets."""
    print_log_line("WARN", DEPRECATED, LOGGER)
    return exit_code_of(lambda: _run(arguments, shutdown), tool="replica_verification")


class _Settings(NamedTuple):
    time: int
    report_interval_ms: int
    fetch_size: int
    max_wait_ms: int


def _run(arguments: Sequence[str], shutdown: Shutdown) -> int:
    options = Options(OPTIONS, arguments)
    options.check_help_or_version(without_arguments=ABOUT, help_text=ABOUT)
    options.require("broker-list")
    options.refuse_beside("topics-include", ("topic-white-list",))
    servers = options.text("broker-list") or ""
    check_bootstrap_servers(servers)
    show_warnings()
    with ExitStack() as clients:
        admin = clients.enter_context(AdminClient({"bootstrap.servers": servers}))
        try:
            replicas, topic_ids = _replicas(admin, options)
        except JavaError:
            raise
        except FAILURES as error:
            raise execution_error(error) from error
        if not replicas:
            log_error(LOGGER, NO_TOPICS)
            return 1
        settings = _settings(options)
        offsets = _initial_offsets(admin, [*replicas], settings.time)
        brokers = sorted({each for ids in replicas.values() for each in ids})
        by_broker = {each: clients.enter_context(AdminClient({"bootstrap.servers": servers})) for each in brokers}
        print(f"{_now()}: verification process is started", flush=True)
        return _verify(Verification(offsets), replicas, topic_ids, by_broker, settings)


def _settings(options: Options) -> _Settings:
    def number(name: str, default: int, *, is_long: bool = False) -> int:
        value = options.long(name) if is_long else options.integer(name)
        return default if value is None else value

    return _Settings(
        number("time", LATEST, is_long=True),
        number("report-interval-ms", 30_000, is_long=True),
        number("fetch-size", 1 << 20),
        number("max-wait-ms", 1000),
    )


def _replicas(admin: AdminClient, options: Options) -> tuple[dict[TopicPartition, list[int]], dict[str, UUID]]:
    names = [topic.name for topic in admin.list_topics(internal=True)]
    described = admin.describe_each_topic(names)
    included = _filter(options)
    replicas: dict[TopicPartition, list[int]] = {}
    topic_ids: dict[str, UUID] = {}
    for name, topic in described.items():
        if isinstance(topic, BrokerError):
            raise topic
        if included.fullmatch(name):
            topic_ids[name] = topic.topic_id
            replicas.update({TopicPartition(name, each.partition): [*each.replicas] for each in topic.partitions})
    return replicas, topic_ids


def _filter(options: Options) -> re.Pattern[str]:
    text = options.text("topics-include" if options.has("topics-include") else "topic-white-list")
    text = ".*" if text is None else text
    try:
        re.compile(python_pattern(text))
        bare = text.strip().replace(",", "|").replace(" ", "").lstrip("\"'").rstrip("\"'")
        return re.compile(python_pattern(bare))
    except re.error:
        raise JavaError(f"{text} is an invalid regex", "java.lang.RuntimeException") from None


def _initial_offsets(admin: AdminClient, partitions: Sequence[TopicPartition], when: int) -> dict[TopicPartition, int]:
    listed = admin.list_offsets(dict.fromkeys(partitions, when))
    late = [each for each, found in listed.items() if isinstance(found, ListedOffset) and found.offset < 0]
    if late:
        # No record is that late: Java ends with a null pointer.
        listed |= admin.list_offsets(dict.fromkeys(late, LATEST))
    offsets = {}
    for partition, found in listed.items():
        if not isinstance(found, ListedOffset):
            raise found
        offsets[partition] = found.offset
    return offsets


def _verify(
    verification: Verification,
    replicas: Mapping[TopicPartition, Sequence[int]],
    topic_ids: Mapping[str, UUID],
    by_broker: Mapping[int, AdminClient],
    settings: _Settings,
) -> int:
    def fetch(broker_id: int) -> dict[TopicPartition, Fetched]:
        wanted = {each: verification.offsets[each] for each, ids in replicas.items() if broker_id in ids}
        try:
            return by_broker[broker_id].fetch_from_replica(
                broker_id,
                wanted,
                topic_ids,
                max_wait_ms=settings.max_wait_ms,
                partition_max_bytes=settings.fetch_size,
            )
        except FAILURES:
            # Its replicas are compared once it is back.
            time.sleep(RETRY_S)
            return dict.fromkeys(wanted, NOTHING)

    last_report_ms = time.time() * 1000
    with ThreadPoolExecutor(len(by_broker)) as pool:
        while True:
            fetched: dict[TopicPartition, dict[int, Fetched]] = {each: {} for each in replicas}
            for broker_id, found in zip(by_broker, pool.map(fetch, by_broker), strict=True):
                for partition, data in found.items():
                    fetched[partition][broker_id] = data
            try:
                verification.round(fetched)
            except Mismatch:
                _print(verification.lines)
                return 1
            _print(verification.lines)
            if time.time() * 1000 - last_report_ms > settings.report_interval_ms:
                _print([verification.report()])
                last_report_ms = time.time() * 1000


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"{_now()}: {line}", flush=True)


def _now() -> str:
    now = time.time()
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(now))},{int(now * 1000) % 1000:03}"
