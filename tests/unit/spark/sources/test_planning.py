"""What is planned for batch and streaming queries over a cluster that answers from a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from kafka_zk.client.admin.admin_results import TopicDescription, TopicListing, TopicPartitionInfo
from kafka_zk.client.admin.offset_listing import Listed, ListedOffset
from kafka_zk.protocol.errors import LeaderNotAvailable, UnknownTopicOrPartition
from kafka_zk.protocol.types import NULL_UUID, TopicPartition, uuid_to_base64
from kafka_zk.spark.sources.errors import DataLossError, SourceError
from kafka_zk.spark.sources.kafka import planner as kafka_planner
from kafka_zk.spark.sources.kafka import stream_reader
from kafka_zk.spark.sources.kafka.planner import Planner
from kafka_zk.spark.sources.kafka.settings import batch_settings, stream_settings
from kafka_zk.spark.sources.kafka.stream_reader import KafkaStreamReader
from kafka_zk.spark.sources.offset_limits import EARLIEST, LATEST
from kafka_zk.spark.sources.ranges import OffsetRange

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


class Cluster:
    """Stands where the admin client stands: logs by partition, as (start, end)."""

    def __init__(self, logs: Mapping[TopicPartition, tuple[int, int]]) -> None:
        self.logs = dict(logs)
        self.committed: dict[str, Mapping[TopicPartition, int]] = {}
        self.leaderless: set[TopicPartition] = set()
        self.ids: dict[str, UUID] = {}
        self.open_since: dict[TopicPartition, int] = {}
        """Where the first transaction begins that is not over."""
        self.unready_count = 0
        """How often it does not know its leaders yet."""
        self.unheard: dict[TopicPartition, int] = {}
        """Partitions that it has not heard of yet, and for how many looks."""

    @property
    def heard(self) -> list[TopicPartition]:
        return sorted(each for each in self.logs if not self.unheard.get(each))

    def list_topics(self, *, internal: bool) -> list[TopicListing]:
        return [TopicListing(topic, NULL_UUID, False) for topic in sorted({each.topic for each in self.heard})]

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription]:
        if self.unready_count:
            self.unready_count -= 1
            raise LeaderNotAvailable
        found = {}
        heard = self.heard
        self.unheard = {each: count - 1 for each, count in self.unheard.items() if count}
        for name in names:
            infos = [TopicPartitionInfo(each.partition, 0, [0], [0]) for each in heard if each.topic == name]
            if not infos:
                raise UnknownTopicOrPartition
            found[name] = TopicDescription(name, self.ids.get(name, NULL_UUID), False, infos)
        return found

    def list_offsets(self, wanted: Mapping[TopicPartition, int], *, read_committed: bool) -> Listed:
        answers: Listed = {}
        for partition, number in wanted.items():
            start, end = self.logs[partition]
            if read_committed:
                end = min(end, self.open_since.get(partition, end))
            if partition in self.leaderless:
                answers[partition] = LeaderNotAvailable()
            else:
                # A record's offset is its time here.
                by_time = max(start, number) if number < end else -1
                answers[partition] = ListedOffset({LATEST: end, EARLIEST: start}.get(number, by_time), -1, 0)
        return answers

    def alter_consumer_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        self.committed[group] = offsets

    def close(self) -> None:
        pass


def given(**options: str) -> CaseInsensitiveDict:
    chosen = {} if options.keys() & {"subscribePattern", "assign"} else {"subscribe": "a"}
    return CaseInsensitiveDict({"kafka.bootstrap.servers": "b:1", **chosen, **options})


def plan(cluster: Cluster, **options: str) -> list[tuple[str, int, int]]:
    planner = Planner(batch_settings(given(**options)))
    planner._admin = cluster  # type: ignore[assignment]
    return [(str(each.topic_partition), each.start_offset, each.end_offset) for each in planner.batch_plan()[0]]


def stream(cluster: Cluster, **options: str) -> KafkaStreamReader:
    made = KafkaStreamReader(stream_settings(given(**options)))
    made._planner._admin = cluster  # type: ignore[assignment]
    return made


def test_a_batch_reads_from_start_to_end() -> None:
    cluster = Cluster({A0: (2, 10), A1: (5, 5), B0: (0, 3)})
    assert plan(cluster) == [("a-0", 2, 10)]
    assert plan(cluster, subscribe="a,b", minPartitions="4") == [
        ("a-0", 2, 4),
        ("a-0", 4, 7),
        ("a-0", 7, 10),
        ("b-0", 0, 3),
    ]
    assert plan(cluster, startingTimestamp="4", endingTimestamp="6", startingOffsetsByTimestampStrategy="latest") == [
        ("a-0", 4, 6)
    ]


def test_a_broker_that_knows_no_leaders_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has just started: no query ends because of that."""
    monkeypatch.setattr(kafka_planner, "RETRY_S", 0)
    cluster = Cluster({A0: (2, 10)})
    cluster.unready_count = 3
    assert plan(cluster) == [("a-0", 2, 10)]
    cluster.unready_count = 10**9
    with pytest.raises(SourceError, match="Could not describe topics"):
        plan(cluster, **{"kafka.request.timeout.ms": "1"})


def test_the_pattern_finds_topics_and_assign_partitions() -> None:
    cluster = Cluster({A0: (0, 1), A1: (0, 1), B0: (0, 1)})
    for name, value, expected in (("subscribePattern", "b|c", ["b-0"]), ("assign", '{"a":[1]}', ["a-1"])):
        planner = Planner(batch_settings(CaseInsensitiveDict({"kafka.bootstrap.servers": "b:1", name: value})))
        planner._admin = cluster  # type: ignore[assignment]
        assert [str(each.topic_partition) for each in planner.batch_plan()[0]] == expected


def test_what_is_not_there_is_named() -> None:
    cluster = Cluster({A0: (0, 1)})
    with pytest.raises(SourceError, match=r"There is no topic b in the cluster \(subscribe a, b\)"):
        plan(cluster, subscribe="a,b")
    cluster.leaderless.add(A0)
    with pytest.raises(SourceError, match="Could not look up offsets of partition a-0 at b:1: "):
        plan(cluster)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"startingOffsets": '{"a":{"0":1}}'}, "Offsets 1 to 1 of partition a-0 are gone: its log starts at offset 2"),
        ({"endingOffsets": '{"a":{"0":11}}'}, "lies beyond the end of its log, offset 10"),
        ({"startingOffsets": '{"a":{"0":12}}'}, "lies beyond the end of its log, offset 10"),
    ],
)
def test_offsets_outside_of_a_log_are_an_error_or_left_out(options: dict[str, str], words: str) -> None:
    cluster = Cluster({A0: (2, 10)})
    with pytest.raises(DataLossError, match=words):
        plan(cluster, **options)
    assert plan(cluster, failOnDataLoss="false", **options) in ([("a-0", 2, 10)], [])


def test_a_stream_starts_at_the_end_unless_told_otherwise() -> None:
    cluster = Cluster({A0: (2, 10), A1: (0, 4)})
    assert stream(cluster).initialOffset() == {"a": {"0": 10, "1": 4}}
    assert stream(cluster, startingOffsets="earliest").initialOffset() == {"a": {"0": 2, "1": 0}}


def test_a_micro_batch_has_at_most_about_so_many_offsets() -> None:
    made = stream(Cluster({A0: (0, 90), A1: (0, 10)}), maxOffsetsPerTrigger="20")
    assert made.getDefaultReadLimit() == ReadMaxRows(20)
    start = {"a": {"0": 0, "1": 0}}
    assert made.latestOffset(start, ReadMaxRows(20)) == {"a": {"0": 18, "1": 2}}
    assert made.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 90, "1": 10}}
    assert made.reportLatestOffset() == {"a": {"0": 90, "1": 10}}


def test_a_stream_may_wait_for_more() -> None:
    cluster = Cluster({A0: (0, 5)})
    made = stream(cluster, minOffsetsPerTrigger="6", maxTriggerDelay="1h")
    start = {"a": {"0": 0}}
    assert made.latestOffset(start, ReadMinRows(6)) == start
    cluster.logs[A0] = (0, 6)
    assert made.latestOffset(start, ReadMinRows(6)) == {"a": {"0": 6}}
    impatient = stream(Cluster({A0: (0, 5)}), minOffsetsPerTrigger="6", maxTriggerDelay="0ms")
    assert impatient.latestOffset(start, ReadMinRows(6)) == {"a": {"0": 5}}


def test_a_query_over_what_is_available_ends_there() -> None:
    cluster = Cluster({A0: (0, 5)})
    made = stream(cluster)
    made.prepareForTriggerAvailableNow()
    cluster.logs[A0] = (0, 9)
    assert made.latestOffset({"a": {"0": 0}}, ReadAllAvailable()) == {"a": {"0": 5}}


def pieces(made: KafkaStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[int, int, int]]:
    return [(each.partition, each.start_offset, each.end_offset) for each in made.partitions(start, end)]


def test_new_partitions_are_read_from_their_start() -> None:
    cluster = Cluster({A0: (0, 5), A1: (0, 3)})
    made = stream(cluster)
    assert made.latestOffset({"a": {"0": 5}}, ReadAllAvailable()) == {"a": {"0": 5, "1": 3}}
    assert pieces(made, {"a": {"0": 5}}, {"a": {"0": 5, "1": 3}}) == [(1, 0, 3)]
    cluster.logs[A1] = (2, 3)
    with pytest.raises(DataLossError, match="The new partition a-1 starts at offset 2 instead of 0"):
        made.partitions({"a": {"0": 5}}, {"a": {"0": 5, "1": 3}})


@pytest.mark.parametrize("unheard", [(A0, A1, B0), (A1,)])
@pytest.mark.parametrize("once", [True, False])
def test_what_a_broker_has_not_heard_of_yet_is_not_gone(
    monkeypatch: pytest.MonkeyPatch, unheard: tuple[TopicPartition, ...], once: bool
) -> None:
    """It has just started. Spark notes the end of a batch before it is planned: a run would end there again and again,
    or read all anew in the next batch."""
    monkeypatch.setattr(kafka_planner, "RETRY_S", 0)
    cluster = Cluster({A0: (0, 5), A1: (0, 7), B0: (0, 3)})
    made = stream(cluster, subscribePattern="a|b")
    cluster.unheard = dict.fromkeys(unheard, 3)
    if once:
        made.prepareForTriggerAvailableNow()
    was = {"a": {"0": 5, "1": 6}, "b": {"0": 3}}
    now = made.latestOffset(was, ReadAllAvailable())
    assert now == {"a": {"0": 5, "1": 7}, "b": {"0": 3}}
    assert pieces(made, was, now) == [(1, 6, 7)]


@pytest.mark.parametrize(
    ("options", "unheard"),
    [
        ({"subscribe": "a,b"}, (B0,)),
        ({"subscribe": "a,b"}, (A0, A1, B0)),
        ({"assign": '{"a":[0,1],"b":[0]}'}, (A1,)),
        ({"assign": '{"a":[0,1],"b":[0]}'}, (B0,)),
    ],
)
@pytest.mark.parametrize("once", [True, False])
def test_what_is_named_and_was_read_is_there_though_a_broker_has_not_heard_of_it_yet(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str], unheard: tuple[TopicPartition, ...], once: bool
) -> None:
    monkeypatch.setattr(kafka_planner, "RETRY_S", 0)
    cluster = Cluster({A0: (0, 5), A1: (0, 7), B0: (0, 3)})
    made = stream(cluster, **options)
    cluster.unheard = dict.fromkeys(unheard, 3)
    if once:
        made.prepareForTriggerAvailableNow()
    was = {"a": {"0": 5, "1": 6}, "b": {"0": 3}}
    now = {"a": {"0": 5, "1": 7}, "b": {"0": 3}}
    assert made.latestOffset(was, ReadAllAvailable()) == now
    cluster.unheard = dict.fromkeys(unheard, 3)
    assert made.reportLatestOffset() == now
    cluster.unheard = dict.fromkeys(unheard, 3)
    assert pieces(made, was, now) == [(1, 6, 7)]
    cluster.unheard = dict.fromkeys(unheard, 10**9)
    impatient = stream(cluster, **options, **{"kafka.request.timeout.ms": "1"})
    with pytest.raises(SourceError, match="There is no "):
        impatient.latestOffset(was, ReadAllAvailable())


def test_a_topic_of_a_pattern_that_one_broker_lists_and_another_has_not_heard_of_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Disagreeing(Cluster):
        def list_topics(self, *, internal: bool) -> list[TopicListing]:
            return [TopicListing(topic, NULL_UUID, False) for topic in ("a", "b")]

    monkeypatch.setattr(kafka_planner, "RETRY_S", 0)
    cluster = Disagreeing({A0: (0, 5), B0: (0, 3)})
    made = stream(cluster, subscribePattern="a|b")
    cluster.unheard = {B0: 3}
    assert made.latestOffset({"a": {"0": 5}}, ReadAllAvailable()) == {"a": {"0": 5}, "b": {"0": 3}}


def test_what_is_gone_is_waited_for_once_while_there_is_too_little_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the query was goes on naming it, until there is a next batch."""
    waits: list[float] = []
    monkeypatch.setattr(kafka_planner, "RETRY_S", 0.001)
    monkeypatch.setattr(kafka_planner.time, "sleep", waits.append)
    cluster = Cluster({A0: (0, 5)})
    minimum = {"minOffsetsPerTrigger": "100", "maxTriggerDelay": "1h"}
    made = stream(cluster, subscribePattern="a|b", **minimum, **{"kafka.request.timeout.ms": "1"})
    start = {"a": {"0": 0}, "b": {"0": 3}}
    assert made.latestOffset(start, ReadMinRows(100)) == start
    assert waits
    waits.clear()
    assert made.latestOffset(start, ReadMinRows(100)) == start
    assert not waits
    cluster.logs[B0] = (0, 3)
    made.latestOffset(start, ReadMinRows(100))
    del cluster.logs[B0]
    made.latestOffset(start, ReadMinRows(100))
    assert waits, "it had come back"


def test_what_is_gone_is_waited_for_no_longer_than_a_request_and_what_is_not_read_any_more_not_at_all() -> None:
    made = stream(Cluster({A0: (0, 5)}), **{"kafka.request.timeout.ms": "1"})
    assert made.latestOffset({"a": {"0": 5, "1": 6}}, ReadAllAvailable()) == {"a": {"0": 5}}
    made = stream(Cluster({A0: (0, 5), B0: (0, 3)}))
    assert made.latestOffset({"a": {"0": 5}, "b": {"0": 3}}, ReadAllAvailable()) == {"a": {"0": 5}}


def test_what_a_stream_has_lost_is_told() -> None:
    cluster = Cluster({A0: (4, 5)})
    made = stream(cluster)
    with pytest.raises(DataLossError, match="Partition a-1 no longer exists; it was read up to offset 7"):
        made.partitions({"a": {"0": 5, "1": 7}}, {"a": {"0": 5}})
    with pytest.raises(DataLossError, match="The end of partition a-0 moved back from offset 9 to 5"):
        made.partitions({"a": {"0": 9}}, {"a": {"0": 5}})
    with pytest.raises(DataLossError, match="Offsets 1 to 3 of partition a-0 are gone"):
        made.partitions({"a": {"0": 1}}, {"a": {"0": 5}})
    with pytest.raises(DataLossError, match="beyond the end of its log, offset 5"):
        made.partitions({"a": {"0": 4}}, {"a": {"0": 8}})
    forgiving = stream(cluster, failOnDataLoss="false")
    assert pieces(forgiving, {"a": {"0": 1, "1": 7}}, {"a": {"0": 5}}) == [(0, 4, 5)]
    assert pieces(forgiving, {"a": {"0": 4}}, {"a": {"0": 4}}) == []


@pytest.mark.parametrize("gone", ["deleted", "of a start that is gone", "made anew"])
def test_a_batch_that_is_done_again_gives_each_task_what_it_had_whatever_is_gone_since(gone: str) -> None:
    """With exactlyOnce a task looks under its number for what it has written: another one's rows would come twice."""
    cluster = Cluster({A0: (0, 5), A1: (0, 5), B0: (0, 8)})
    cluster.ids = {"a": OLD, "b": OLD}
    options = {"subscribePattern": "a|b", "failOnDataLoss": "false", "minPartitions": "4"}
    options["kafka.request.timeout.ms"] = "1"
    ids = {"a": uuid_to_base64(OLD), "b": uuid_to_base64(OLD)}
    # Partition a-1 is new in this batch.
    start, end = {"a": {"0": 1}, "b": {"0": 0}, "@ids": ids}, {"a": {"0": 5, "1": 4}, "b": {"0": 8}, "@ids": ids}
    first = stream(cluster, **options).partitions(start, end)
    assert [(each.topic, each.start_offset, each.end_offset) for each in first] == [
        *(("a", 1, 5), ("a", 0, 4)),
        *(("b", 0, 4), ("b", 4, 8)),
    ]
    if gone == "made anew":
        cluster.ids["a"] = NEW
    elif gone == "deleted":
        del cluster.logs[A0], cluster.logs[A1]
    else:
        cluster.logs |= {A0: (5, 9), A1: (4, 9), B0: (5, 8)}
    again = stream(cluster, **options).partitions(start, end)
    for before, now in zip(first, again, strict=True):
        assert (before.topic, before.partition, before.end_offset) == (now.topic, now.partition, now.end_offset)
        assert before.start_offset <= now.start_offset <= now.end_offset
    sizes = [each.end_offset - each.start_offset for each in again]
    assert sizes == ([0, 0, 0, 3] if gone == "of a start that is gone" else [0, 0, 4, 4])


def test_a_group_is_shown_how_far_a_stream_is() -> None:
    cluster = Cluster({A0: (0, 5)})
    made = stream(cluster, groupIdForCommit="g")
    made.commit({"a": {"0": 3}})
    assert cluster.committed == {"g": {A0: 3}}


WHOLE = {"wholeTransactions": "true", "kafka.isolation.level": "read_committed"}


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int, int]]:
    """Partition, start, limit and end of each look for the ends of transactions, which takes two offsets from each."""
    found: list[tuple[str, int, int, int]] = []

    def whole_ends(_: object, wanted: Sequence[OffsetRange], readable_to: Mapping[TopicPartition, int], ids: object):
        for each, start, limit in wanted:
            found.append((str(each), start, limit, readable_to[each]))
        return {each: limit - 2 for each, _, limit in wanted}

    monkeypatch.setattr(stream_reader, "whole_ends", whole_ends)
    return found


def test_only_ends_that_may_cut_a_transaction_are_looked_at(scanned: list[tuple[str, int, int, int]]) -> None:
    cluster = Cluster({A0: (0, 90), A1: (0, 10)})
    cluster.open_since[A1] = 8
    made = stream(cluster, **WHOLE)
    start = {"a": {"0": 0, "1": 0}}
    # At the end of a-0 nothing is open, and one of a-1 may overlap with one that is.
    assert made.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 90, "1": 6}}
    assert scanned == [("a-1", 0, 8, 8)]
    scanned.clear()
    assert made.latestOffset(start, ReadMaxRows(49)) == {"a": {"0": 43, "1": 1}}
    assert scanned == [("a-0", 0, 45, 90), ("a-1", 0, 3, 8)]
    scanned.clear()
    # Nothing new in either.
    end = {"a": {"0": 90, "1": 8}}
    assert made.latestOffset(end, ReadMaxRows(49)) == end
    assert not scanned


def test_a_query_over_what_is_available_looks_at_its_end_though_all_is_over_by_then(
    scanned: list[tuple[str, int, int, int]],
) -> None:
    cluster = Cluster({A0: (0, 20)})
    cluster.open_since[A0] = 10
    made = stream(cluster, **WHOLE)
    made.prepareForTriggerAvailableNow()
    cluster.open_since.clear()
    assert made.latestOffset({"a": {"0": 0}}, ReadAllAvailable()) == {"a": {"0": 8}}
    assert scanned == [("a-0", 0, 10, 10)]


def test_without_the_option_no_end_is_moved(scanned: list[tuple[str, int, int, int]]) -> None:
    cluster = Cluster({A0: (0, 20)})
    cluster.open_since[A0] = 10
    made = stream(cluster, **{"kafka.isolation.level": "read_committed"})
    assert made.latestOffset({"a": {"0": 0}}, ReadMaxRows(5)) == {"a": {"0": 5}}
    assert not scanned


OLD, NEW = UUID(int=1), UUID(int=2)


def at(offset: int, topic_id: UUID = OLD) -> dict[str, Any]:
    """Where a stream of a-0 is, in its checkpoint."""
    return {"a": {"0": offset}, "@ids": {"a": uuid_to_base64(topic_id)}}


def made_anew(end: int) -> Cluster:
    """Topic a, which was deleted, made anew, and has grown to `end`."""
    cluster = Cluster({A0: (0, end)})
    cluster.ids["a"] = NEW
    return cluster


def test_a_stream_knows_its_topics_by_their_ids() -> None:
    cluster = Cluster({A0: (2, 10), B0: (0, 3)})
    cluster.ids["a"] = OLD
    assert stream(cluster, startingOffsets="earliest").initialOffset() == at(2)
    made = stream(cluster, subscribe="a,b")
    both = {"a": {"0": 10}, "b": {"0": 3}, "@ids": {"a": uuid_to_base64(OLD)}}
    assert made.latestOffset(at(2), ReadAllAvailable()) == made.reportLatestOffset() == both
    assert [piece.topic_id for piece in made.partitions(at(2), both)] == [uuid_to_base64(OLD), ""]


@pytest.mark.parametrize("end", [2, 5, 9])
def test_a_topic_that_was_made_anew_ends_a_stream(end: int) -> None:
    made = stream(made_anew(end))
    with pytest.raises(DataLossError, match="Topic a was deleted and created again"):
        made.latestOffset(at(5), ReadAllAvailable())
    with pytest.raises(DataLossError, match="Topic a was deleted and created again"):
        made.partitions(at(5), at(end, NEW))
    with pytest.raises(DataLossError, match="Topic a was deleted and created again"):
        made.partitions(at(5), at(7))


@pytest.mark.parametrize("end", [2, 5, 9])
def test_with_data_loss_allowed_the_new_topic_is_read_from_its_start(end: int) -> None:
    made = stream(made_anew(end), failOnDataLoss="false")
    until = made.latestOffset(at(5), ReadAllAvailable())
    assert until == at(end, NEW)
    assert pieces(made, at(5), until) == [(0, 0, end)]
    # A batch of the old topic that is done again has nothing any more; the one after it has all of the new topic.
    assert pieces(made, at(5), at(7)) == [(0, 7, 7)]
    assert pieces(made, at(7), at(end, NEW)) == [(0, 0, end)]


def test_a_query_that_cannot_hold_two_topics_of_one_name_ends_in_any_case() -> None:
    made = stream(made_anew(9), failOnDataLoss="false", failOnNewTopic="true")
    with pytest.raises(DataLossError, match="could not tell the offsets of the two apart"):
        made.latestOffset(at(5), ReadAllAvailable())


def test_a_checkpoint_of_an_earlier_version_goes_on_and_learns_the_ids() -> None:
    made = stream(made_anew(9))
    assert made.latestOffset({"a": {"0": 5}}, ReadAllAvailable()) == at(9, NEW)
    assert pieces(made, {"a": {"0": 5}}, at(9, NEW)) == [(0, 5, 9)]
    assert pieces(made, {"a": {"0": 9}}, at(9, NEW)) == []


def test_a_topic_that_is_made_anew_while_its_end_is_looked_up_is_looked_up_again() -> None:
    class Replaced(Cluster):
        def list_offsets(self, wanted: Mapping[TopicPartition, int], *, read_committed: bool) -> Listed:
            answers = super().list_offsets(wanted, read_committed=read_committed)
            self.logs, self.ids = {A0: (0, 3)}, {"a": NEW}
            return answers

    cluster = Replaced({A0: (0, 8)})
    cluster.ids["a"] = OLD
    assert stream(cluster).reportLatestOffset() == at(3, NEW)
