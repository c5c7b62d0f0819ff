"""The calls of transactions, as exchanges are built from them: who asks is a transactional id that a `World` knows.

A world remembers of each id the producer id and epoch that it was given last. Each call waits until the markers of all
transactions before it are written: whether the call comes before or after them is not what is compared.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_zk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_zk.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafka_zk.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafka_zk.protocol.messages.end_txn import EndTxnRequest
from kafka_zk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FindCoordinatorRequest
from kafka_zk.protocol.messages.init_producer_id import INIT_PRODUCER_ID_REQUEST, InitProducerIdRequest
from kafka_zk.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_zk.protocol.messages.list_transactions import LIST_TRANSACTIONS_REQUEST, ListTransactionsRequest
from kafka_zk.protocol.messages.offset_fetch import (
    OFFSET_FETCH_REQUEST,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafka_zk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_zk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_zk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafka_zk.record.builder import build_batch
from tests.interop.replay import groups
from tests.interop.replay.data import NOBODYS_ID, TOPIC_IDS_FROM, records
from tests.interop.replay.scenario import Build, World
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

TOPIC = "txn-topic"
PARTITIONS = 3
TRANSACTION_KEY = 1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
UNSTABLE_OFFSET_COMMIT = 88
STUCK = "stuck"
"""So begin the ids of transactions whose markers are never written."""
BROKERS_FROM = 4
"""The first version of AddPartitionsToTxn that only brokers send."""


class Owner(NamedTuple):
    """Whom a transactional id belongs to."""

    producer_id: int
    producer_epoch: int


NOBODY = Owner(-1, -1)
Topics = Mapping[str, Sequence[int]]


# --- what must be so before a call -----------------------------------------------------------------------------------


def settle(world: World) -> None:
    """Until the coordinators have loaded and no transaction waits for its markers."""
    request = ListTransactionsRequest(state_filters=["PrepareCommit", "PrepareAbort"])

    def is_settled() -> bool:
        with RawClient(world.bootstrap) as client:
            answer = client.send(LIST_TRANSACTIONS_REQUEST, request, 1)
        waiting = [each for each in answer.transaction_states if not each.transactional_id.startswith(STUCK)]
        return not answer.error_code and not waiting

    wait_until(is_settled, "all markers are written")


def settle_for_a_marker(world: World) -> None:
    """As `settle`, and the next marker has a later time: of equal ones the first counts as the largest."""
    settle(world)
    time.sleep(0.002)


def wait_for_coordinators(world: World) -> None:
    """Until both topics of coordinators have leaders, and there are producer ids to hand out."""
    groups.find_once_created(world, 4)
    found = FindCoordinatorRequest(key_type=TRANSACTION_KEY, coordinator_keys=[str(number) for number in range(20)])
    without_id = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)

    def are_there() -> bool:
        with RawClient(world.bootstrap) as client:
            answer = client.send(FIND_COORDINATOR_REQUEST, found, 6)
            return not any(each.error_code for each in answer.coordinators)

    def are_ids() -> bool:
        with RawClient(world.bootstrap) as client:
            return not client.send(INIT_PRODUCER_ID_REQUEST, without_id, 5).error_code

    wait_until(are_there, "the transaction coordinators are there")
    wait_until(are_ids, "there are producer ids")
    settle(world)


def remember_owner(txn: str) -> Any:
    """A `keep` for InitProducerId: what was refused is not remembered."""

    def keep(world: World, answer: Any) -> None:
        if not answer.error_code:
            world.remembered[txn] = Owner(answer.producer_id, answer.producer_epoch)

    return keep


def owner_of(world: World, txn: str, ahead: int = 0) -> Owner:
    """`ahead`: how many epochs later than the one it was given last."""
    known = world.remembered.get(txn, NOBODY)
    return Owner(known.producer_id, known.producer_epoch + ahead)


# --- the transaction -------------------------------------------------------------------------------------------------


def find(*txns: str) -> Build:
    def build(world: World, version: int) -> FindCoordinatorRequest:
        settle(world)
        if version < 4:
            return FindCoordinatorRequest(key_type=TRANSACTION_KEY, key=txns[0])
        return FindCoordinatorRequest(key_type=TRANSACTION_KEY, coordinator_keys=list(txns))

    return build


def init(txn: str | None, *, timeout_ms: int = 60_000, owner: Owner | None = None, ahead: int | None = None) -> Build:
    """With `owner`, or with the remembered one some epochs `ahead`, as KIP-360 has it from version 3 on."""

    def build(world: World, version: int) -> InitProducerIdRequest:
        settle_for_a_marker(world)
        known = owner if ahead is None else owner_of(world, txn or "", ahead)
        given: dict[str, Any] = {} if known is None else known._asdict()
        return InitProducerIdRequest(transactional_id=txn, transaction_timeout_ms=timeout_ms, **given)

    return build


def add(txn: str, topics: Topics, *, ahead: int = 0, owner: Owner | None = None) -> Build:
    def build(world: World, version: int) -> AddPartitionsToTxnRequest:
        settle(world)
        producer_id, producer_epoch = owner or owner_of(world, txn, ahead)
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=txn,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=producer_epoch,
            v3_and_below_topics=topics_to_add(topics),
        )

    return build


class Wanted(NamedTuple):
    """One transaction of the request of a broker."""

    txn: str
    topics: Topics
    verify_only: bool = True
    ahead: int = 0
    owner: Owner | None = None


def add_as_a_broker(*wanted: Wanted) -> Build:
    def build(world: World, version: int) -> AddPartitionsToTxnRequest:
        settle(world)
        return AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnTransaction(
                    transactional_id=each.txn,
                    **(each.owner or owner_of(world, each.txn, each.ahead))._asdict(),
                    verify_only=each.verify_only,
                    topics=topics_to_add(each.topics),
                )
                for each in wanted
            ]
        )

    return build


def topics_to_add(topics: Topics) -> list[Any]:
    return [AddPartitionsToTxnTopic(name=topic, partitions=list(indexes)) for topic, indexes in topics.items()]


def add_offsets(txn: str, group: str, *, ahead: int = 0, owner: Owner | None = None) -> Build:
    def build(world: World, version: int) -> AddOffsetsToTxnRequest:
        settle(world)
        return AddOffsetsToTxnRequest(
            transactional_id=txn, **(owner or owner_of(world, txn, ahead))._asdict(), group_id=group
        )

    return build


def commit_offset(
    txn: str,
    group: str,
    offset: int,
    *,
    topics: Topics | None = None,
    ahead: int = 0,
    owner: Owner | None = None,
    metadata: str | None = "m",
    member: Mapping[str, Any] | None = None,
) -> Build:
    """`member`: generation_id, member_id and group_instance_id, which exist from version 3 on."""

    def build(world: World, version: int) -> TxnOffsetCommitRequest:
        settle(world)
        epoch: dict[str, Any] = {"committed_leader_epoch": 0} if version >= 2 else {}
        return TxnOffsetCommitRequest(
            transactional_id=txn,
            group_id=group,
            **(owner or owner_of(world, txn, ahead))._asdict(),
            **(member or {}),
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index, committed_offset=offset, committed_metadata=metadata, **epoch
                        )
                        for index in indexes
                    ],
                )
                for topic, indexes in ({TOPIC: [0]} if topics is None else topics).items()
            ],
        )

    return build


def produce(
    txn: str,
    partition: int,
    sequence: int,
    *,
    named: str | None = "",
    transactional: bool = True,
    ahead: int = 0,
    owner: Owner | None = None,
    count: int = 1,
) -> Build:
    """`named` is the transactional id of the request, where it is another than that of the batch."""

    def build(world: World, version: int) -> ProduceRequest:
        settle(world)
        data = build_batch(
            records(count, value=f"{txn} {sequence}".encode()),
            **(owner or owner_of(world, txn, ahead))._asdict(),
            base_sequence=sequence,
            transactional=transactional,
        )
        partition_data = [PartitionProduceData(index=partition, records=bytes(data))]
        return ProduceRequest(
            acks=-1,
            timeout_ms=10_000,
            transactional_id=txn if named == "" else named,
            topic_data=[TopicProduceData(name=TOPIC, partition_data=partition_data)],
        )

    return build


def end(txn: str, *, committed: bool, ahead: int = 0, owner: Owner | None = None) -> Build:
    def build(world: World, version: int) -> EndTxnRequest:
        settle_for_a_marker(world)
        return EndTxnRequest(
            transactional_id=txn, **(owner or owner_of(world, txn, ahead))._asdict(), committed=committed
        )

    return build


def write_marker(
    topics: Topics, *, committed: bool, owner: Owner | None = None, txn: str = "", ahead: int = 0, coordinator: int = 0
) -> Build:
    """As a coordinator sends it, for the producer of `txn` or another one."""

    def build(world: World, version: int) -> WriteTxnMarkersRequest:
        settle_for_a_marker(world)
        marker = WritableTxnMarker(
            **(owner or owner_of(world, txn, ahead))._asdict(),
            transaction_result=committed,
            topics=[
                WritableTxnMarkerTopic(name=topic, partition_indexes=list(indexes)) for topic, indexes in topics.items()
            ],
            coordinator_epoch=coordinator,
        )
        return WriteTxnMarkersRequest(markers=[marker])

    return build


# --- what there is to see --------------------------------------------------------------------------------------------


def list_transactions(
    states: Sequence[str] = (), producer_ids: Sequence[int] = (), of: Sequence[str] = (), duration_ms: int = -1
) -> Build:
    """`of`: transactional ids by whose producers, too, the list is filtered."""

    def build(world: World, version: int) -> ListTransactionsRequest:
        settle(world)
        return ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=[*producer_ids, *(owner_of(world, txn).producer_id for txn in of)],
            **({"duration_filter": duration_ms} if version >= 1 else {}),
        )

    return build


def describe_producers(topics: Topics) -> Build:
    def build(world: World, version: int) -> DescribeProducersRequest:
        settle(world)
        asked = [TopicRequest(name=topic, partition_indexes=list(indexes)) for topic, indexes in topics.items()]
        return DescribeProducersRequest(topics=asked)

    return build


def fetch(partition: int, offset: int, isolation_level: int) -> Build:
    def build(world: World, version: int) -> FetchRequest:
        settle(world)
        topic = {"topic_id": world.remembered.get(TOPIC, NOBODYS_ID)} if version >= TOPIC_IDS_FROM else {"topic": TOPIC}
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=isolation_level,
            topics=[FetchTopic(**topic, partitions=[wanted])],
        )

    return build


def list_offsets(timestamp: int, isolation_level: int) -> Build:
    """Of all partitions."""

    def build(world: World, version: int) -> ListOffsetsRequest:
        settle(world)
        wanted = [ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in range(PARTITIONS)]
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=TOPIC, partitions=wanted)],
        )

    return build


def fetch_offset(group: str, *, stable: bool, is_pending: bool) -> Build:
    """Waits until the coordinator of the group has (`is_pending`), or has not, an offset whose end is open: it learns
    of a marker a little later than the transaction is complete."""

    def build(world: World, version: int) -> OffsetFetchRequest:
        settle(world)
        wait_until(lambda: has_pending_offset(world, group) == is_pending, f"{group} has pending offsets: {is_pending}")
        return ask_for_offset(group, version, stable=stable)

    return build


def ask_for_offset(group: str, version: int, *, stable: bool) -> OffsetFetchRequest:
    given: dict[str, Any] = {"require_stable": stable} if version >= 7 else {}
    if version < 8:
        topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        return OffsetFetchRequest(group_id=group, topics=topics, **given)
    wanted = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=wanted)], **given)


def has_pending_offset(world: World, group: str) -> bool:
    with RawClient(world.bootstrap) as client:
        answer = client.send(OFFSET_FETCH_REQUEST, ask_for_offset(group, 7, stable=True), 7)
    return bool(answer.topics[0].partitions[0].error_code == UNSTABLE_OFFSET_COMMIT)


def create_topic(world: World, version: int) -> CreateTopicsRequest:
    """It keeps records that are older than the default retention."""
    keep = CreatableTopicConfig(name="retention.ms", value="-1")
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1, configs=[keep])
    return CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
