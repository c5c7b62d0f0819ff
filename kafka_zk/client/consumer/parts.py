"""Builds the parts of a consumer from its configuration.

Role        Acts: makes sockets, but no threads yet.
Source      ClassicKafkaConsumer's constructor, ConsumerUtils.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_zk.client.addresses import BOOTSTRAP_SERVERS, bootstrap_addresses
from kafka_zk.client.client_metrics import MetricName
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.consumer.assignors import Assignor, assignors_by_class_name
from kafka_zk.client.consumer.consumer_loop import ConsumerLoop
from kafka_zk.client.consumer.errors import RecordDeserializationFailed
from kafka_zk.client.consumer.fetch_metrics import FetchMetrics
from kafka_zk.client.consumer.fetcher import Fetcher
from kafka_zk.client.consumer.group.commits import Offsets
from kafka_zk.client.consumer.group.group_member import GroupMember
from kafka_zk.client.consumer.leader_questions import LeaderQuestions
from kafka_zk.client.consumer.listener import ConsumerInterceptor, ConsumerInterceptors
from kafka_zk.client.consumer.positions import Positions
from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.client.consumer.searches import OffsetSearch, TopicSearch
from kafka_zk.client.consumer.sensors import MetricNames, Sensor
from kafka_zk.client.consumer.settings import (
    FetchSettings,
    GroupSettings,
    fetch_settings,
    group_settings,
    reset_strategy,
)
from kafka_zk.client.consumer.subscription_state import FetchPosition, SubscriptionState
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.network.settings import metadata_settings, network_settings
from kafka_zk.client.serialization import Deserialize, class_named, deserializer_of
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.tables.consumer import CONSUMER_KEYS
from kafka_zk.protocol.types import TopicPartition

_sequence = itertools.count(1)

log = logging.getLogger("org.apache.kafka.clients.consumer.KafkaConsumer")


@dataclass(slots=True)
class ConsumerParts:
    """What a consumer is made of. `member` is None without group.id."""

    client_id: str
    clock: Clock
    network: NetworkClient
    subscriptions: SubscriptionState
    fetcher: Fetcher
    fetch_settings: FetchSettings
    fetch_metrics: FetchMetrics
    loop: ConsumerLoop
    member: GroupMember | None
    offset_search: OffsetSearch
    topic_search: TopicSearch
    interceptors: ConsumerInterceptors
    key_deserializer: Deserialize | None
    value_deserializer: Deserialize | None
    api_timeout_ms: int
    polls: Sensor
    last_poll_ms: int = field(default=-1)

    def note_poll(self) -> None:
        """A poll begins."""
        now_ms = self.clock.monotonic_ms()
        if self.last_poll_ms >= 0:
            self.polls.record(now_ms - self.last_poll_ms)
        self.last_poll_ms = now_ms

    def poll_metrics(self) -> dict[MetricName, float]:
        name = MetricNames("consumer-metrics", {"client-id": self.client_id})
        idle_s = -1.0 if self.last_poll_ms < 0 else float((self.clock.monotonic_ms() - self.last_poll_ms) // 1000)
        networks = [self.network] if self.member is None else [self.network, self.member.network]
        return {
            **name.latency("time-between-poll", self.polls),
            name("last-poll-seconds-ago"): idle_s,
            name("connection-count"): float(sum(each.connection_count() for each in networks)),
            name("outgoing-byte-total"): float(sum(each.bytes_sent for each in networks)),
            name("incoming-byte-total"): float(sum(each.bytes_received for each in networks)),
        }

    def deserialize(
        self, records: dict[TopicPartition, list[ConsumerRecord]]
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Keys and values as the program wants them.

        Records before a failing one are returned; the next poll starts at that record and raises.
        """
        if self.key_deserializer is None and self.value_deserializer is None:
            return records
        done: dict[TopicPartition, list[ConsumerRecord]] = {}
        failure: RecordDeserializationFailed | None = None
        for partition, each in records.items():
            made: list[ConsumerRecord] = []
            for record in each:
                try:
                    made.append(self._deserialized(record))
                except Exception as error:
                    # A deserializer may be the program's own and raise anything: the error names the record.
                    failure = RecordDeserializationFailed(partition, record.offset)
                    failure.__cause__ = error
                    self.subscriptions.of(partition).position = FetchPosition(record.offset, record.leader_epoch)
                    break
            if made:
                done[partition] = made
        if failure is not None and not done:
            raise failure
        return done

    def _deserialized(self, record: ConsumerRecord) -> ConsumerRecord:
        key, value = record.key, record.value
        if key is not None and self.key_deserializer is not None:
            key = self.key_deserializer(key)
        if value is not None and self.value_deserializer is not None:
            value = self.value_deserializer(value)
        return record._replace(key=key, value=value)

    def log_failed_commit(self, offsets: Offsets, error: Exception | None) -> None:
        """The default callback of an asynchronous commit."""
        if error is not None:
            log.error("Offset commit with offsets %s failed: %s", dict(offsets), error)

    def close(self) -> None:
        """Blocks while the link's thread ends."""
        try:
            if self.member is not None:
                self.member.link.close()
        finally:
            # Also if the wait for the thread is interrupted: no later call closes these.
            self.network.close()
            self.interceptors.close()


def build_parts(properties: Mapping[str, object]) -> ConsumerParts:
    """Raises ConfigException for an invalid value, KafkaException with the cause for the rest."""
    config = ClientConfig(CONSUMER_KEYS, properties)
    try:
        return _put_together(config)
    except (ConfigException, KafkaException) as error:
        raise KafkaException("Failed to construct kafka consumer") from error


def _put_together(config: ClientConfig) -> ConsumerParts:
    clock = SystemClock()
    of_group = group_settings(config)
    client_id = config.text("client.id") or _client_id(of_group)
    prefix = f"Consumer clientId={client_id}" + (f", groupId={of_group.group_id}" if of_group else "")
    addresses = bootstrap_addresses(config.texts(BOOTSTRAP_SERVERS))
    allow_creation = config.boolean("allow.auto.create.topics")
    metadata = ClusterMetadata(addresses, metadata_settings(config, allow_auto_topic_creation=allow_creation))
    of_network = network_settings(config, client_id, prefix)
    network = NetworkClient(of_network, metadata, clock=clock)
    subscriptions = SubscriptionState(reset_strategy(config))
    of_fetch = fetch_settings(config)
    questions = LeaderQuestions(network, of_fetch.isolation_level)
    metrics = FetchMetrics(client_id, clock)
    backoff_ms, request_timeout_ms = of_fetch.retry_backoff_ms, config.integer("request.timeout.ms")
    positions = Positions(
        subscriptions, questions, metadata, clock, retry_backoff_ms=backoff_ms, request_timeout_ms=request_timeout_ms
    )
    fetcher = Fetcher(network, subscriptions, of_fetch, metrics, clock)
    interceptors = ConsumerInterceptors([_made(each) for each in _listed(config, "interceptor.classes")])
    member = None
    if of_group is not None:
        own_metadata = ClusterMetadata(addresses, metadata_settings(config))
        own_network = NetworkClient(of_network, own_metadata, clock=clock)
        member = GroupMember(
            own_network,
            metadata,
            subscriptions,
            of_group,
            _assignors(config),
            clock,
            network.wakeup,
            rack=of_fetch.rack,
            is_internal=_internal_filter(config, metadata),
        )
        member.commits.on_committed = interceptors.on_commit
    loop = ConsumerLoop(network, subscriptions, positions, fetcher, member, clock, retry_backoff_ms=backoff_ms)
    return ConsumerParts(
        client_id,
        clock,
        network,
        subscriptions,
        fetcher,
        of_fetch,
        metrics,
        loop,
        member,
        OffsetSearch(network, questions, loop.wait_for, clock, backoff_ms),
        TopicSearch(network, loop.wait_for, clock, backoff_ms, allow_auto_topic_creation=allow_creation),
        interceptors,
        _deserializer(config, "key.deserializer"),
        _deserializer(config, "value.deserializer"),
        config.integer("default.api.timeout.ms"),
        Sensor(clock),
    )


def _client_id(settings: GroupSettings | None) -> str:
    number = next(_sequence)
    if settings is None:
        return f"consumer-null-{number}"
    return f"consumer-{settings.group_id}-{settings.group_instance_id or number}"


def _deserializer(config: ClientConfig, name: str) -> Deserialize | None:
    found = deserializer_of(config, name)
    # The records hold bytes already.
    return None if found is bytes else found


def _listed(config: ClientConfig, name: str) -> Sequence[object]:
    given = config.given(name)
    return list(given) if isinstance(given, list | tuple) else config.texts(name)


def _assignors(config: ClientConfig) -> list[Assignor]:
    return assignors_by_class_name(_listed(config, "partition.assignment.strategy"))


def _made(interceptor: object) -> ConsumerInterceptor:
    if isinstance(interceptor, str):
        interceptor = class_named("interceptor.classes", interceptor)
    made: ConsumerInterceptor = interceptor() if isinstance(interceptor, type) else interceptor  # type: ignore[assignment]
    return made


def _internal_filter(config: ClientConfig, metadata: ClusterMetadata) -> Callable[[str], bool]:
    excluded = config.boolean("exclude.internal.topics")

    def is_internal(topic: str) -> bool:
        known = metadata.snapshot.topics.get(topic)
        return excluded and known is not None and known.is_internal

    return is_internal
