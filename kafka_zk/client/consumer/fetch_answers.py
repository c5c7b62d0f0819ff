"""Builds Fetch requests and reads Fetch responses, over all versions.

Role        Pure.
Source      FetchRequest.Builder, FetchResponse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_zk.client.consumer.fetch_session import FetchPlan
from kafka_zk.client.consumer.fetched_partition import AbortedTransaction
from kafka_zk.client.consumer.settings import FetchSettings
from kafka_zk.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafka_zk.protocol.types import Buffer, TopicPartition

_BY_ID_FROM = 13


class FetchAnswer(NamedTuple):
    """A broker's answer for one partition. -1 for missing values."""

    partition: TopicPartition
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    preferred_replica: int
    aborted: list[AbortedTransaction]
    records: Buffer


def fetch_request(plan: FetchPlan, settings: FetchSettings, version: int) -> FetchRequest:
    """The request of `plan`. Topics are named by id from version 13 on, by name before."""
    topics: dict[str, FetchTopic] = {}
    for partition, want in plan.partitions.items():
        topic = topics.get(partition.topic)
        if topic is None:
            topic = FetchTopic(topic_id=want.topic_id) if version >= _BY_ID_FROM else FetchTopic(topic=partition.topic)
            topics[partition.topic] = topic
        topic.partitions.append(
            FetchPartition(
                partition=partition.partition,
                current_leader_epoch=want.leader_epoch,
                fetch_offset=want.fetch_offset,
                last_fetched_epoch=want.last_fetched_epoch,
                partition_max_bytes=want.max_bytes,
            )
        )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=settings.max_wait_ms,
        min_bytes=settings.min_bytes,
        max_bytes=settings.max_bytes,
        topics=list(topics.values()),
    )
    if version >= 4:
        request.isolation_level = settings.isolation_level
    if version >= 7:
        request.session_id, request.session_epoch = plan.session_id, plan.session_epoch
        request.forgotten_topics_data = _forgotten(plan, version)
    if version >= 11:
        request.rack_id = settings.rack
    return request


def _forgotten(plan: FetchPlan, version: int) -> list[ForgottenTopic]:
    topics: dict[tuple[str, UUID], ForgottenTopic] = {}
    for partition, topic_id in plan.forgotten.items():
        key = partition.topic, topic_id
        by_id = version >= _BY_ID_FROM
        if not by_id and partition in plan.partitions:
            # For a recreated topic: brokers add before they forget, and by name the old and the new one are the same.
            continue
        if key not in topics:
            topics[key] = ForgottenTopic(topic_id=topic_id) if by_id else ForgottenTopic(topic=partition.topic)
        topics[key].partitions.append(partition.partition)
    return list(topics.values())


def partitions_of(answer: FetchResponse, names: Mapping[UUID, str]) -> Iterator[FetchAnswer]:
    """The answer by partition. Topics with an id that was not requested are named by their id."""
    for topic in answer.responses:
        name = topic.topic or names.get(topic.topic_id, str(topic.topic_id))
        for each in topic.partitions:
            records = each.records
            yield FetchAnswer(
                TopicPartition(name, each.partition_index),
                each.error_code,
                each.high_watermark,
                each.last_stable_offset,
                each.log_start_offset,
                each.preferred_read_replica,
                [
                    AbortedTransaction(found.first_offset, found.producer_id)
                    for found in each.aborted_transactions or ()
                ],
                b"" if records is None else records,  # type: ignore[arg-type]
            )
