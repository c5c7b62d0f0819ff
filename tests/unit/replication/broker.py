"""One broker without sockets: real logs in a temporary directory, a simulated clock, handlers called directly."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import kafka_zk.api.all as all_apis
from kafka_zk.api.registry import HandledApi
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.services import Services
from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.coordinator.transaction.marker_writer import MarkerWriter
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.manager import LogManager
from kafka_zk.log.pools import LogPools
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.first_update import FirstUpdate
from kafka_zk.metadata.snapshot import Node
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.alter_partition import AlterPartitionRequest
from kafka_zk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_zk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_zk.protocol.messages.stop_replica import StopReplicaPartitionState, StopReplicaRequest, StopReplicaTopicState
from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Codec, Record, build_batch
from kafka_zk.replication.following.leader_endpoint import Connect
from kafka_zk.replication.leadership import EPOCH_DURING_DELETE
from kafka_zk.replication.manager import ReplicaManager
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.serving.transaction_verifier import TransactionVerifier

BROKER_ID = 1
LISTENER = "PLAINTEXT"


class Controller:
    """What leaders ask the controller, and its answers when the test gives them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Pending[Any]]] = []

    def send(self, request: Any) -> Pending[Any]:
        assert isinstance(request, AlterPartitionRequest)
        pending: Pending[Any] = Pending()
        self.asked.append((request, pending))
        return pending

    @property
    def proposed(self) -> list[list[int]]:
        """The ISRs that were asked for, one for each partition of each request."""
        return [
            [state.broker_id for state in partition.new_isr_with_epochs]
            for request, _ in self.asked
            for topic in request.topics
            for partition in topic.partitions
        ]


class Coordinator:
    """The brokers that transaction coordinators run on, as a verifier reaches them: answers come from the test."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Any, Pending[Any]]] = []
        self.gone: set[int] = set()

    def node(self, broker_id: int) -> object | None:
        return None if broker_id < 0 or broker_id in self.gone else broker_id

    def send(self, broker_id: int, request: Any, *, lowest_version: int = 0) -> Pending[Any]:
        assert lowest_version == 4
        pending: Pending[Any] = Pending()
        self.asked.append((broker_id, request, pending))
        return pending


NOBODY = -2
"""The coordinator of transactions is elsewhere."""


class Broker:
    """The parts that replication touches, put together as the broker does."""

    def __init__(
        self,
        path: Path,
        properties: dict[str, str] | None = None,
        overrides: dict[str, str] | None = None,
        *,
        broker_id: int = BROKER_ID,
        connect: Connect | None = None,
        disk: Disk = DISK,
        pools: LogPools | None = None,
        on_log_dir_failure: Callable[[str], None] | None = None,
        broker_epoch: Callable[[], int] = lambda: 77,
        chance: random.Random | None = None,
    ) -> None:
        self.failed_dirs: list[str] = []
        """The log directories of whose failure the controller would have been told."""
        self.clock = SimClock()
        self.config = BrokerConfig.from_properties(
            {
                "zookeeper.connect": "z:1",
                "broker.id": str(broker_id),
                "log.dirs": str(path),
                # Most tests append without a coordinator that could be asked.
                "transaction.partition.verification.enable": "false",
                **(properties or {}),
            }
        )
        self.metrics = MetricsRegistry(self.clock)
        self.cache = MetadataCache()
        self.controller = Controller()
        self.coordinator = Coordinator()
        self.log_manager = LogManager(
            config=self.config,
            topic_config=lambda topic: LogConfig.from_overrides(self.config, overrides or {}),
            clock=self.clock,
            metrics=self.metrics,
            on_log_dir_failure=lambda directory: self.manager.handle_log_dir_failure(directory),
            disk=disk,
            pools=pools,
            chance=chance,
        )
        self.log_manager.startup()
        self.manager = ReplicaManager(
            config=self.config,
            broker_id=broker_id,
            clock=self.clock,
            log_manager=self.log_manager,
            metadata_cache=self.cache,
            metrics=self.metrics,
            controller=self.controller,
            broker_epoch=broker_epoch,
            connect=connect or refuse_connection,
            on_log_dir_failure=on_log_dir_failure or self.failed_dirs.append,
            rng=chance,
        )
        self.manager.startup()
        self.services = Services(
            config=self.config,
            clock=self.clock,
            metrics=self.metrics,
            broker_id=broker_id,
            metadata_cache=self.cache,
            first_update=FirstUpdate(self.cache),
            log_manager=self.log_manager,
            replica_manager=self.manager,
            marker_writer=MarkerWriter(
                replica_manager=self.manager,
                clock=self.clock,
                timeout_ms=lambda: self.config.request_timeout_ms,
                ended=lambda producer_id, markers, *, is_commit: self.services.group_coordinator.handle_txn_completion(
                    producer_id, markers, is_commit=is_commit
                ),
            ),
            transaction_verifier=TransactionVerifier(
                broker_id=NOBODY,
                own_coordinator=lambda *_: {},
                hosted=self.manager.hosted,
                peers=self.coordinator,
                metadata_cache=self.cache,
                partition_for=lambda transactional_id: 0,
                is_enabled=lambda: self.config.transaction_partition_verification_enable,
                clock=self.clock,
                metrics=self.metrics,
            ),
        )
        self.registry = all_apis.load()

    def close(self) -> None:
        self.manager.shutdown()
        self.log_manager.shutdown()

    def call(self, request: Any, api_version: int, *, client_id: str = "test") -> Any:
        """The handler's answer: a response, a Pending, or None."""
        name = type(request).__name__
        served = next(api for api in self.registry if api.request.name == name)
        return served.handler(request, self.context(served, api_version, client_id=client_id))

    def context(self, served: HandledApi, api_version: int, *, client_id: str = "test") -> RequestContext:
        """The surroundings of one request. The connection is only what handlers see of one."""
        client: Any = SimpleNamespace(
            received_ns=self.clock.monotonic_ms() * 1_000_000,
            principal="User:ANONYMOUS",
            client_host="127.0.0.1",
            listener_name=LISTENER,
        )
        return RequestContext(served.key, api_version, 1, client_id, client, self.services)

    # --- what the controller says ------------------------------------------------------------------------------------

    def update_metadata(
        self,
        topics: dict[str, dict[int, int]],
        *,
        alive: tuple[int, ...] = (1, 2, 3),
        first_port: int = 9000,
        id_of_topic: UUID | None = None,
        leader_epoch: int = 0,
        broker_epoch: int = 77,
        controller_epoch: int = 1,
    ) -> None:
        """Topics with the leaders of their partitions, and the brokers that are alive, each at a port of its own."""
        brokers = [
            UpdateMetadataBroker(
                id=broker_id,
                rack=f"rack-{broker_id}",
                endpoints=[
                    UpdateMetadataEndpoint(
                        host="h", port=first_port + broker_id, listener=LISTENER, security_protocol=0
                    )
                ],
            )
            for broker_id in alive
        ]
        states = [
            UpdateMetadataTopicState(
                topic_name=name,
                topic_id=id_of_topic or topic_id(name),
                partition_states=[
                    UpdateMetadataPartitionState(
                        partition_index=index,
                        leader=leader,
                        leader_epoch=leader_epoch,
                        isr=[leader],
                        replicas=[leader],
                    )
                    for index, leader in leaders.items()
                ],
            )
            for name, leaders in topics.items()
        ]
        request = UpdateMetadataRequest(
            controller_id=1,
            controller_epoch=controller_epoch,
            broker_epoch=broker_epoch,
            live_brokers=brokers,
            topic_states=states,
        )
        self.call(request, 8)

    def lead(
        self,
        topic: str = "t",
        index: int = 0,
        *,
        replicas: tuple[int, ...] = (1,),
        isr: tuple[int, ...] | None = None,
        epoch: int = 0,
        partition_epoch: int = 0,
        leader: int = BROKER_ID,
    ) -> Partition:
        """Metadata and LeaderAndIsr for one partition; the partition."""
        if self.cache.partition(topic, index) is None:
            self.update_metadata({topic: {index: leader}})
        answer = self.order(
            topic, index, replicas=replicas, isr=isr, epoch=epoch, partition_epoch=partition_epoch, leader=leader
        )
        assert answer == 0
        return self.partition(topic, index)

    def order(
        self,
        topic: str = "t",
        index: int = 0,
        *,
        replicas: tuple[int, ...] = (1,),
        isr: tuple[int, ...] | None = None,
        epoch: int = 0,
        partition_epoch: int = 0,
        leader: int = BROKER_ID,
        controller_epoch: int = 1,
        id_of_topic: UUID | None = None,
        adding: tuple[int, ...] = (),
        removing: tuple[int, ...] = (),
        is_new: bool = True,
    ) -> int:
        """One LeaderAndIsr for one partition; its code."""
        state = LeaderAndIsrPartitionState(
            partition_index=index,
            controller_epoch=controller_epoch,
            leader=leader,
            leader_epoch=epoch,
            isr=list(isr if isr is not None else replicas),
            partition_epoch=partition_epoch,
            replicas=list(replicas),
            adding_replicas=list(adding),
            removing_replicas=list(removing),
            is_new=is_new,
        )
        response = self.call(
            LeaderAndIsrRequest(
                controller_id=1,
                controller_epoch=controller_epoch,
                broker_epoch=77,
                topic_states=[
                    LeaderAndIsrTopicState(
                        topic_name=topic, topic_id=id_of_topic or topic_id(topic), partition_states=[state]
                    )
                ],
            ),
            7,
        )
        code: int = response.topics[0].partition_errors[0].error_code
        return code

    def stop_replica(
        self, topic: str = "t", index: int = 0, *, epoch: int = EPOCH_DURING_DELETE, delete: bool = True
    ) -> int:
        """One StopReplica for one partition; its code."""
        state = StopReplicaPartitionState(partition_index=index, leader_epoch=epoch, delete_partition=delete)
        topics = [StopReplicaTopicState(topic_name=topic, partition_states=[state])]
        response = self.call(
            StopReplicaRequest(controller_id=1, controller_epoch=1, broker_epoch=77, topic_states=topics), 3
        )
        code: int = response.partition_errors[0].error_code
        return code

    def partition(self, topic: str = "t", index: int = 0) -> Partition:
        return self.manager.get_partition(TopicPartition(topic, index))

    # --- what clients ask --------------------------------------------------------------------------------------------

    def produce(
        self, count: int = 1, *, topic: str = "t", index: int = 0, acks: int = 1, version: int = 9, **batch: Any
    ) -> Any:
        return self.call(produce_request(records(count, **batch), topic=topic, index=index, acks=acks), version)

    def fetch(self, offset: int, **how: Any) -> Any:
        version = how.pop("version", 12)
        return self.call(fetch_request(offset, **how), version)


def topic_id(name: str) -> UUID:
    return uuid5(NAMESPACE_URL, name)


def refuse_connection(node: Node, client_id: str) -> Any:
    raise NetworkError(f"nobody listens at {node}")


def records(
    count: int = 1, *, size_bytes: int = 10, codec: Codec = Codec.NONE, timestamp: int = 1_000, **how: Any
) -> memoryview:
    """A batch as a client sends it."""
    made = [Record(offset, timestamp + offset, b"k", b"v" * size_bytes) for offset in range(count)]
    return memoryview(build_batch(made, codec=codec, **how))


def produce_request(
    batch: memoryview | None, *, topic: str = "t", index: int = 0, acks: int = 1, timeout_ms: int = 1_000
) -> ProduceRequest:
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=batch)])]
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=data)


def fetch_request(
    offset: int,
    *,
    topic: str = "t",
    index: int = 0,
    replica: int = -1,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    isolation: int = 0,
    leader_epoch: int = -1,
    last_epoch: int = -1,
    rack: str = "",
    session: tuple[int, int] = (0, -1),
    by_id: bool = False,
) -> FetchRequest:
    wanted = FetchPartition(
        partition=index,
        fetch_offset=offset,
        partition_max_bytes=partition_max_bytes,
        current_leader_epoch=leader_epoch,
        last_fetched_epoch=last_epoch,
        log_start_offset=0 if replica >= 0 else -1,
    )
    named = FetchTopic(topic_id=topic_id(topic)) if by_id else FetchTopic(topic=topic)
    named.partitions = [wanted]
    request = FetchRequest(
        replica_id=replica,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=[named],
        rack_id=rack,
    )
    request.replica_state.replica_id = replica
    return request


def answered(response: Any) -> Any:
    """The only partition of a Produce or Fetch response, waiting until it is there."""
    if isinstance(response, Pending):
        response = response.value
    topic = response.responses[0]
    return (topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions)[0]


def offsets_in(data: Any) -> list[int]:
    """The offsets of the records that a fetch answered."""
    from kafka_zk.record import batches, decode_records

    raw = b"".join(piece.read() for piece in data.records) if data.records else b""
    for piece in data.records or ():
        piece.release()
    return [record.offset for batch in batches(raw) for record in decode_records(batch)]
