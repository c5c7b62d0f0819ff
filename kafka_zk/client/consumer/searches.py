"""Blocking look-ups for a program: offsets by time, and topic metadata.

Role        Acts; in the program's thread. Each blocks until everything is answered or its time is over.
Source      OffsetFetcher.fetchOffsetsByTimes, TopicMetadataFetcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_zk.client.consumer.leader_questions import FoundOffset, LeaderQuestions
from kafka_zk.client.consumer.positions import may_pass
from kafka_zk.client.errors import TimeoutException
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.refusals import error_about_topics
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import ErrorCode, is_retriable
from kafka_zk.protocol.messages.metadata import (
    METADATA_REQUEST,
    METADATA_RESPONSE,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_zk.protocol.types import TopicPartition

WaitFor = Callable[[Callable[[], bool], float], bool]
"""Drives the consumer until a condition holds; returns whether it did within so many seconds."""


class OffsetSearch:
    """Offsets by time, of any partitions of the cluster."""

    def __init__(
        self, network: NetworkClient, questions: LeaderQuestions, wait_for: WaitFor, clock: Clock, retry_backoff_ms: int
    ) -> None:
        self._network = network
        self._questions = questions
        self._wait_for = wait_for
        self._clock = clock
        self._retry_backoff_ms = retry_backoff_ms

    def look_up(self, timestamps: Mapping[TopicPartition, int], timeout_s: float) -> dict[TopicPartition, FoundOffset]:
        """Blocks. Raises TimeoutException, and errors that a retry cannot resolve."""
        metadata, topics = self._network.metadata, {partition.topic for partition in timestamps}
        metadata.borrow_topics(topics, self._clock.monotonic_ms())
        try:
            return self._look_up(timestamps, topics, timeout_s)
        finally:
            metadata.return_topics(topics)

    def _look_up(
        self, timestamps: Mapping[TopicPartition, int], topics: set[str], timeout_s: float
    ) -> dict[TopicPartition, FoundOffset]:
        deadline_ms = self._clock.monotonic_ms() + int(timeout_s * 1000)
        found: dict[TopicPartition, FoundOffset] = {}
        self._learn_topics(topics, deadline_ms)
        while len(found) < len(timestamps):
            failed: dict[TopicPartition, Exception] = {}
            missing = {partition: at for partition, at in timestamps.items() if partition not in found}

            def on_failure(partitions: list[TopicPartition], error: Exception, failed: dict = failed) -> None:  # type: ignore[type-arg]
                failed.update(dict.fromkeys(partitions, error))

            self._questions.ask_offsets(missing, found.__setitem__, on_failure)

            def is_answered(missing: Iterable[TopicPartition] = missing, failed: dict = failed) -> bool:  # type: ignore[type-arg]
                return all(partition in found or partition in failed for partition in missing)

            if not self._wait_for(is_answered, self._left_s(deadline_ms)):
                break
            for error in failed.values():
                if not may_pass(error):
                    raise error
            if failed:
                self._network.metadata.request_update()
                self._wait_for(lambda: False, min(self._left_s(deadline_ms), self._retry_backoff_ms / 1000))
                if self._left_s(deadline_ms) <= 0:
                    break
        if len(found) < len(timestamps):
            raise TimeoutException(f"Failed to get offsets by times in {int(timeout_s * 1000)}ms")
        return {partition: found[partition] for partition in timestamps}

    def _learn_topics(self, topics: set[str], deadline_ms: int) -> None:
        """Wait until the leaders of topics are known that are not subscribed. Raises for refused ones."""
        metadata = self._network.metadata
        unknown = [topic for topic in topics if topic not in metadata.snapshot.topics]
        if unknown:
            # Also for refused topics: they may be allowed by now.
            known_update = metadata.request_update()

            def is_known() -> bool:
                known = metadata.snapshot.topics.keys() | metadata.snapshot.topic_errors.keys()
                return metadata.update_count != known_update and known.issuperset(unknown)

            self._wait_for(is_known, self._left_s(deadline_ms))
            metadata.snapshot.raise_for_refused(unknown)

    def _left_s(self, deadline_ms: int) -> float:
        return max(0.0, (deadline_ms - self._clock.monotonic_ms()) / 1000)


class TopicSearch:
    """Topics and their partitions, by a request of its own: the subscription is not affected."""

    def __init__(
        self,
        network: NetworkClient,
        wait_for: WaitFor,
        clock: Clock,
        retry_backoff_ms: int,
        *,
        allow_auto_topic_creation: bool,
    ) -> None:
        self._network = network
        self._wait_for = wait_for
        self._clock = clock
        self._retry_backoff_ms = retry_backoff_ms
        self._allow_auto_topic_creation = allow_auto_topic_creation

    def find(self, topics: Sequence[str] | None, timeout_s: float) -> dict[str, list[int]]:
        """Blocks. Returns those of the topics (None: all) that exist. Raises TimeoutException, and permanent errors."""
        deadline_ms = self._clock.monotonic_ms() + int(timeout_s * 1000)
        while (left_s := (deadline_ms - self._clock.monotonic_ms()) / 1000) > 0:
            answers: list[MetadataResponse | Exception] = []
            node_id = self._network.least_loaded_node()
            if node_id is not None:
                self._network.send(
                    node_id,
                    METADATA_REQUEST,
                    METADATA_RESPONSE,
                    lambda version: self._request(topics, version),
                    answers.append,
                    answers.append,
                )
                self._wait_for(lambda answers=answers: bool(answers), left_s)  # type: ignore[misc]
            if answers and isinstance(answers[0], MetadataResponse):
                found = _topics_of(answers[0])
                if found is not None:
                    return found
            self._wait_for(lambda: False, min(left_s, self._retry_backoff_ms / 1000))
        raise TimeoutException("Timeout expired while fetching topic metadata")

    def _request(self, topics: Sequence[str] | None, version: int) -> MetadataRequest:
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        if wanted is None and version == 0:
            wanted = []
        allow = self._allow_auto_topic_creation if topics is not None and version >= 4 else True
        return MetadataRequest(topics=wanted, allow_auto_topic_creation=allow)


def _topics_of(answer: MetadataResponse) -> dict[str, list[int]] | None:
    """None if the request must be repeated."""
    found: dict[str, list[int]] = {}
    for topic in answer.topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or topic.name is None:
            continue
        if topic.error_code != ErrorCode.NONE:
            if is_retriable(topic.error_code):
                return None
            raise error_about_topics(topic.error_code, [topic.name])
        found[topic.name] = sorted(each.partition_index for each in topic.partitions)
    return found
