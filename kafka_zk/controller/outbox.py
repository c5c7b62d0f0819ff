"""Turns a batch of state changes into requests on the brokers' channels, in order.

Role        Acts only by queueing: nothing here waits for a broker.
Source      ControllerBrokerRequestBatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from kafka_zk.controller.decisions.context import ControllerContext
from kafka_zk.controller.decisions.requests import BrokerRequest, RequestBatch
from kafka_zk.controller.decisions.versions import RequestVersions
from kafka_zk.controller.errors import BatchAbandoned
from kafka_zk.controller.state_change_log import StateChangeLog
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaRequest
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.errors import ControllerMoved, SessionExpired


class Outbox:
    """Collects batches of one controller epoch, and sends each when it is complete."""

    def __init__(
        self,
        broker_id: int,
        context: ControllerContext,
        versions: RequestVersions,
        listener: str,
        send: Callable[[BrokerRequest], None],
        log: StateChangeLog,
        on_unclean_election: Callable[[], None] = lambda: None,
    ) -> None:
        self._broker_id = broker_id
        self._context = context
        self._versions = versions
        self._listener = listener
        self._send = send
        self._log = log
        self.on_unclean_election = on_unclean_election

    @contextmanager
    def batch(self) -> Iterator[RequestBatch]:
        """A batch that is sent when the block ends.

        Raises BatchAbandoned if the block fails: part of its changes may be in ZooKeeper without any broker having
        heard of them, which only a new controller epoch can repair.
        """
        batch = RequestBatch(self._broker_id, self._context, self._versions, self._listener)
        try:
            yield batch
            for request in batch.requests():
                self._log_request(request)
                self._send(request)
        except (ControllerMoved, SessionExpired):
            raise
        except Exception as error:
            # Whatever it was, a bug of ours too: what follows is the same.
            raise BatchAbandoned(f"A batch of state changes failed: {error!r}") from error

    def update_metadata(self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition] = ()) -> None:
        """Send the broker list, and the state of `partitions`, to `broker_ids`."""
        with self.batch() as batch:
            batch.add_update_metadata(broker_ids, partitions)

    def _log_request(self, sent: BrokerRequest) -> None:
        request = sent.request
        if isinstance(request, LeaderAndIsrRequest):
            states = [s for topic in request.topic_states for s in topic.partition_states]
            states += request.ungrouped_partition_states
            leaders = sum(1 for state in states if state.leader == sent.broker_id)
            self._log.info(
                f"Sending LeaderAndIsr request to broker {sent.broker_id} with {leaders} become-leader "
                f"and {len(states) - leaders} become-follower partitions"
            )
        elif isinstance(request, StopReplicaRequest):
            count = sum(len(topic.partition_states) for topic in request.topic_states)
            self._log.info(f"Sending StopReplica request for {count} replicas to broker {sent.broker_id}")
        else:
            count = sum(len(topic.partition_states) for topic in request.topic_states)
            self._log.info(f"Sending UpdateMetadata request to broker {sent.broker_id} for {count} partitions")
