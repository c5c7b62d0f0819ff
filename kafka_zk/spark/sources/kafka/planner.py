"""Planner: looks up, on the driver, the partitions and the ends of their logs.

Role        Acts. offset_limits.py and ranges.py decide what to plan from the answers.
Invariants  Ends are looked up with the query's isolation level: what is planned can be read.
            Offsets that are not in a log are an error, or with failOnDataLoss=false a warning and left out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import TopicDescription
from kafka_zk.client.admin.offset_listing import ListedOffset
from kafka_zk.client.errors import KafkaException
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.tables.admin import ADMIN_KEYS
from kafka_zk.protocol.errors import BrokerError, UnknownTopicOrPartition, is_retriable
from kafka_zk.protocol.types import NULL_UUID, TopicPartition, uuid_to_base64
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.sources.errors import DataLossError, SourceError, SourceOptionError
from kafka_zk.spark.sources.kafka.settings import BOOTSTRAP, ReadSettings
from kafka_zk.spark.sources.offset_limits import EARLIEST, LATEST, OffsetLimit
from kafka_zk.spark.sources.ranges import OffsetRange, divide, ranges_between
from kafka_zk.spark.sources.stream_offsets import StreamOffsets

Offsets = dict[TopicPartition, int]

REQUEST_TIMEOUT_MS = 30_000
"""As the client has it, where request.timeout.ms does not say."""
RETRY_S = 0.2
NOWHERE = StreamOffsets({})

log = logging.getLogger(__name__)


class NotThere(SourceError):
    """A subscription names something the broker does not know: it does not exist, or the broker has just started."""

    def __init__(self, message: str, topics: Collection[str] = (), partitions: Collection[TopicPartition] = ()) -> None:
        """Without topics and partitions: brokers do not agree yet."""
        super().__init__(message)
        self._topics = topics
        self._partitions = partitions

    def may_come(self, seen: Collection[TopicPartition]) -> bool:
        """Whether something missing was `seen` before, or brokers do not agree yet."""
        is_named = bool(self._topics or self._partitions)
        return not is_named or any(each.topic in self._topics or each in self._partitions for each in seen)


class Planner:
    """Close it, or use it in a `with`. Connects on first use."""

    def __init__(self, settings: ReadSettings) -> None:
        self._settings = settings
        self._admin: AdminClient | None = None
        self._gone: set[TopicPartition] = set()
        """What did not appear in time: it is not waited for again."""

    def __enter__(self) -> Planner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    # --- partitions --------------------------------------------------------------------------------------------------

    def _partitions(self) -> tuple[list[TopicPartition], dict[str, str]]:
        """Blocks. Resolve the subscription into partitions and known topic ids. Raises SourceError."""
        wanted = self._settings.subscription
        try:
            topics = self._topics()
            described = self._described(topics)
        except UnknownTopicOrPartition:
            missing = sorted(set(topics) - self._existing())
            named = () if wanted.pattern else missing
            message = f"There is no topic {', '.join(missing) or wanted} in the cluster ({wanted})."
            raise NotThere(message, topics=named) from None
        except (BrokerError, KafkaException) as error:
            raise self._failed("could not describe topics", error) from error
        there = [TopicPartition(name, each.partition) for name, topic in described.items() for each in topic.partitions]
        if wanted.assigned:
            missing_partitions = sorted(set(wanted.assigned) - set(there))
            if missing_partitions:
                message = f"There is no partition {', '.join(map(str, missing_partitions))} in the cluster ({wanted})."
                raise NotThere(message, partitions=missing_partitions)
        ids = {name: uuid_to_base64(topic.topic_id) for name, topic in described.items() if topic.topic_id != NULL_UUID}
        return sorted(each for each in there if wanted.has(each)), ids

    def partitions_since(self, since: StreamOffsets) -> tuple[list[TopicPartition], dict[str, str]]:
        """Blocks. Like `_partitions`. A broker that has just started, or is slow, may lack some: waits for those where
        the query was, for as long as a request may take, before they count as deleted. Raises SourceError."""
        deadline_s = self._deadline_s()
        while True:
            is_last = time.monotonic() >= deadline_s
            try:
                found, ids = self._partitions()
            except NotThere as error:
                if is_last or not error.may_come(since.offsets):
                    raise
            else:
                known = set(filter(self._settings.subscription.has, since.without(since.replaced(ids)).offsets))
                self._gone.difference_update(found)
                missing = known - self._gone.union(found)
                if is_last or not missing:
                    self._gone |= missing
                    return found, ids
            time.sleep(RETRY_S)

    def _deadline_s(self) -> float:
        timeout_ms = int(self._settings.client.get("request.timeout.ms", REQUEST_TIMEOUT_MS))
        return time.monotonic() + timeout_ms / 1000

    def _described(self, topics: Sequence[str]) -> Mapping[str, TopicDescription]:
        """Blocks. Retry for as long as a request may take: a broker that has just started knows no leaders yet."""
        deadline_s = self._deadline_s()
        while True:
            try:
                return self._client().describe_topics(topics)
            except UnknownTopicOrPartition:
                raise
            except BrokerError as error:
                if not is_retriable(error.code) or time.monotonic() >= deadline_s:
                    raise
            time.sleep(RETRY_S)

    def _topics(self) -> list[str]:
        wanted = self._settings.subscription
        if wanted.pattern:
            return sorted(name for name in self._existing() if wanted.matches(name))
        return sorted({*wanted.topics, *(each.topic for each in wanted.assigned)})

    def _existing(self) -> set[str]:
        return {listing.name for listing in self._client().list_topics(internal=True)}

    # --- offsets -----------------------------------------------------------------------------------------------------

    def ends(self, since: StreamOffsets = NOWHERE) -> StreamOffsets:
        """Blocks. Returns the log ends of the current subscription, with topic ids; `since` is where
        the query was. Raises SourceError.

        A leader returns its log end without a topic id: so the topics are checked before and after.
        """
        partitions, ids = self.partitions_since(since)
        while True:
            latest = self.latest(partitions)
            before = (partitions, ids)
            partitions, ids = self.partitions_since(StreamOffsets(latest, ids))
            if (partitions, ids) == before:
                return StreamOffsets(latest, ids)

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Blocks. Returns the log ends for this query's isolation level. Raises SourceError."""
        return self._listed(dict.fromkeys(partitions, LATEST))

    def settled(self, latest: Offsets) -> Offsets:
        """Blocks. Returns the ends, looked up before, at which no transaction was open. Raises SourceError.

        Readers of committed records could read all that was replicated then: so there was no transaction in it that
        lacked its marker.
        """
        committed = self._listed(dict.fromkeys(latest, LATEST), read_committed=False)
        return {each: end for each, end in latest.items() if committed[each] == end}

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Blocks. Returns the log starts. Raises SourceError."""
        return self._listed(dict.fromkeys(partitions, EARLIEST))

    def resolved(self, limit: OffsetLimit, partitions: Collection[TopicPartition], latest: Offsets) -> Offsets:
        """Blocks. Returns a limit's offset for each partition. Raises SourceOptionError, SourceError."""
        look_ups = limit.look_ups(partitions)
        found = {each: latest[each] for each, number in look_ups.items() if number == LATEST}
        found |= self._listed({each: number for each, number in look_ups.items() if number != LATEST})
        return {each: limit.resolve(each, found, latest) for each in partitions}

    def _listed(self, look_ups: Mapping[TopicPartition, int], *, read_committed: bool | None = None) -> Offsets:
        """`read_committed`: as the query does unless it is given."""
        if not look_ups:
            return {}
        isolation = self._settings.read_committed if read_committed is None else read_committed
        try:
            answers = self._client().list_offsets(look_ups, read_committed=isolation)
        except (BrokerError, KafkaException) as error:
            raise self._failed("could not look up offsets", error) from error
        found = {}
        for partition, answer in answers.items():
            if not isinstance(answer, ListedOffset):
                raise self._failed(f"could not look up offsets of partition {partition}", answer)
            found[partition] = answer.offset
        return found

    def commit(self, group: str, offsets: Offsets) -> None:
        """Blocks. Commit offsets for a group without members. Only warns on failure: the query does not need them."""
        try:
            self._client().alter_consumer_group_offsets(group, offsets)
        except (BrokerError, KafkaException) as error:
            log.warning("Could not commit offsets for group %s: %s", group, error)

    # --- plans -------------------------------------------------------------------------------------------------------

    def batch_plan(self) -> tuple[list[OffsetRange], Mapping[str, str]]:
        """Blocks. Returns the pieces of a batch query, and the ids of topics. Raises SourceError, SourceOptionError,
        DataLossError."""
        found = self.ends()
        latest = dict(found.offsets)
        partitions = list(latest)
        starts = self.resolved(self._settings.start, partitions, latest)
        ends = self.resolved(self._settings.end, partitions, latest)
        return self.plan(*self.checked(starts, ends, latest)), found.topic_ids

    def plan(self, starts: Offsets, ends: Offsets) -> list[OffsetRange]:
        """The pieces that tasks read."""
        return divide(
            ranges_between(starts, ends),
            min_partitions=self._settings.min_partitions,
            max_records=self._settings.max_records,
        )

    def checked(self, starts: Offsets, ends: Offsets, latest: Offsets) -> tuple[Offsets, Offsets]:
        """Blocks. Starts and ends that lie in the logs. Raises DataLossError, SourceError."""
        earliest = self.earliest(starts)
        kept_starts, kept_ends = dict(starts), dict(ends)
        for each, start in starts.items():
            first, behind_last, end = earliest[each], latest[each], ends[each]
            if start < first and end > start:
                self.lost(
                    f"Offsets {start} to {min(end, first) - 1} of partition {each} are gone: "
                    f"its log starts at offset {first}."
                )
                kept_starts[each] = first
            if max(start, end) > behind_last:
                self.lost(
                    f"The range of offsets {start} to {max(start, end - 1)} of partition {each} lies beyond the end of "
                    f"its log, offset {behind_last}."
                )
                kept_ends[each] = behind_last
        return kept_starts, kept_ends

    def lost(self, what: str) -> None:
        """Raise DataLossError, or only log a warning with failOnDataLoss=false."""
        if self._settings.fail_on_data_loss:
            raise DataLossError(f"{what} Set failOnDataLoss=false to continue with the records that are left.")
        log.warning("%s", what)

    def made_anew(self, topic: str) -> None:
        """Raise DataLossError for a topic that was deleted and recreated, or only warn as `lost` does."""
        what = f"Topic {topic} was deleted and created again: records of the old one that were not read yet are lost"
        if self._settings.fail_on_new_topic and not self._settings.fail_on_data_loss:
            raise DataLossError(f"{what}, and the output of this query could not tell the offsets of the two apart.")
        self.lost(f"{what}, and the new one is read from its start.")

    def _client(self) -> AdminClient:
        if self._admin is None:
            given = self._settings.client
            try:
                self._admin = AdminClient({key: value for key, value in resolved(given).items() if key in ADMIN_KEYS})
            except KafkaException as error:
                raise SourceError(
                    f"Could not create a client for {given[BOOTSTRAP]}: {error.__cause__ or error}"
                ) from error
            except ConfigException as error:
                raise SourceOptionError(str(error)) from error
        return self._admin

    def _failed(self, what: str, error: Exception) -> SourceError:
        return SourceError(f"{what[0].upper()}{what[1:]} at {self._settings.client[BOOTSTRAP]}: {error}")
