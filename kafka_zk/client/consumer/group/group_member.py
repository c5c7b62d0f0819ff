"""A consumer's membership of its group: link, rebalances and commits behind one object.

Role        Acts; in the program's thread, but for the link's own.
Source      ConsumerCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from kafka_zk.client.client_metrics import MetricName
from kafka_zk.client.consumer.assignors import Assignor
from kafka_zk.client.consumer.group.commits import Commits, may_be_retried
from kafka_zk.client.consumer.group.coordinator_link import CoordinatorLink
from kafka_zk.client.consumer.group.membership import Membership
from kafka_zk.client.consumer.group.rebalance import Rebalance
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.consumer.sensors import MetricNames
from kafka_zk.client.consumer.settings import GroupSettings
from kafka_zk.client.consumer.subscription_state import FetchPosition, FetchState, SubscriptionState
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.clock import Clock
from kafka_zk.protocol.types import TopicPartition

METRICS_GROUP = "consumer-coordinator-metrics"


class GroupMember:
    """Exists only with a group.id."""

    def __init__(
        self,
        network: NetworkClient,
        metadata: ClusterMetadata,
        subscriptions: SubscriptionState,
        settings: GroupSettings,
        assignors: Sequence[Assignor],
        clock: Clock,
        notify: Callable[[], None],
        *,
        rack: str,
        is_internal: Callable[[str], bool],
    ) -> None:
        """`network` is for the coordinator alone; `metadata` is the consumer's."""
        self.network = network
        self.settings = settings
        self.membership = Membership()
        self.link = CoordinatorLink(network, settings, clock, notify)
        self.commits = Commits(self.link, self.membership, subscriptions, settings, clock)
        self.rebalance = Rebalance(
            self.link,
            self.membership,
            subscriptions,
            self.commits,
            metadata,
            assignors,
            settings,
            clock,
            rack=rack,
            is_internal=is_internal,
        )
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._clock = clock
        self._is_fetching = False
        self._fetch_again_ms = 0
        self._failure: Exception | None = None

    def note_poll(self) -> None:
        self.link.note_poll()

    def advance(self) -> None:
        """Do what is due in the group: callbacks, the next step of a rebalance, automatic commits."""
        now_ms = self._clock.monotonic_ms()
        self.deliver()
        with self._whole():
            if self._subscriptions.is_auto_assigned:
                self.rebalance.advance(now_ms)
            self.commits.commit_if_due(now_ms)

    def deliver(self) -> None:
        """Process the coordinator's responses, and run callbacks."""
        with self._whole():
            self.link.deliver()
        # Outside: an error in a callback of the program leaves no step of ours half done.
        self.commits.run_callbacks()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """If an exception ends the block half way, abandon the step; the next call starts it again."""
        try:
            yield
        except BaseException:
            self.rebalance.abandoned()
            self._is_fetching = False
            raise

    def advance_positions(self) -> None:
        """Ask for committed offsets where there is no position."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._fetch_positions(self._clock.monotonic_ms())

    @property
    def next_due_ms(self) -> int | None:
        """When to call `advance` if nothing arrives."""
        due = [self.commits.next_due_ms]
        if self._subscriptions.is_auto_assigned:
            due.append(self.rebalance.next_due_ms)
        if not self._is_fetching and self._subscriptions.in_state(FetchState.INITIALIZING):
            due.append(self._fetch_again_ms)
        return min((each for each in due if each is not None), default=None)

    def _fetch_positions(self, now_ms: int) -> None:
        """Set missing positions to the group's committed offsets."""
        wanted = self._subscriptions.in_state(FetchState.INITIALIZING)
        if wanted and not self._is_fetching and now_ms >= self._fetch_again_ms:
            self._is_fetching = True
            try:
                self.commits.fetch(wanted, self._take_positions)
            except Exception:
                # The request could not be made: the next call makes it.
                self._is_fetching = False
                raise

    def _take_positions(self, found: dict[TopicPartition, OffsetAndMetadata | None] | Exception) -> None:
        self._is_fetching = False
        if isinstance(found, Exception):
            self._fetch_again_ms = self._clock.monotonic_ms() + self.settings.retry_backoff.wait_ms(1)
            if not may_be_retried(found):
                self._failure = found
            return
        for partition, committed in found.items():
            state = self._subscriptions.get(partition)
            if state is None or state.state is not FetchState.INITIALIZING:
                continue
            if committed is None:
                # Without a reset strategy it stays, and poll raises.
                state.position = None
                self._subscriptions.request_reset(partition)
            else:
                if committed.leader_epoch is not None:
                    self._metadata.saw_leader_epoch(partition, committed.leader_epoch)
                self._subscriptions.seek(partition, FetchPosition(committed.offset, committed.leader_epoch))

    def metrics(self, client_id: str) -> dict[MetricName, float]:
        """Under Java's names; see ConsumerCoordinatorMetrics, AbstractCoordinator.GroupCoordinatorMetrics."""
        name = MetricNames(METRICS_GROUP, {"client-id": client_id})
        beat_ms = self.link.last_beat_ms
        now_ms = self._clock.monotonic_ms()
        return {
            **name.rate("commit", self.commits.latency),
            **name.latency("commit-latency", self.commits.latency),
            **name.rate("join", self.rebalance.joins),
            **name.latency("join-time", self.rebalance.joins),
            name("rebalance-total"): float(self.rebalance.rebalances.count),
            **name.latency("rebalance-latency", self.rebalance.rebalances),
            name("rebalance-latency-total"): self.rebalance.rebalances.total,
            name("heartbeat-total"): float(self.link.beat_count),
            name("last-heartbeat-seconds-ago"): -1.0 if beat_ms is None else float((now_ms - beat_ms) // 1000),
            name("assigned-partitions"): float(len(self._subscriptions.assigned)),
        }
