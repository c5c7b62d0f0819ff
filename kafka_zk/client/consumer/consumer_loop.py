"""Drives the network, the group, positions and fetches inside every blocking consumer call.

Role        Acts; in the program's thread. `wakeup` may come from any other, or from a signal handler.
Invariants  Only `poll` maintains the group membership; other calls deliver answers but begin no rebalance.
            Every wait can be interrupted with WakeupException, and loses nothing.
Source      ClassicKafkaConsumer (poll, pollForFetches), ConsumerNetworkClient.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka_zk.client.consumer.errors import WakeupException
from kafka_zk.client.consumer.fetcher import Fetcher
from kafka_zk.client.consumer.group.group_member import GroupMember
from kafka_zk.client.consumer.positions import Positions
from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.client.consumer.subscription_state import FetchState, SubscriptionState
from kafka_zk.client.errors import IllegalStateException
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.clock import Clock
from kafka_zk.protocol.types import TopicPartition

LONGEST_WAIT_S = 1.0


class ConsumerLoop:
    """The parts of one consumer, driven together."""

    def __init__(
        self,
        network: NetworkClient,
        subscriptions: SubscriptionState,
        positions: Positions,
        fetcher: Fetcher,
        member: GroupMember | None,
        clock: Clock,
        *,
        retry_backoff_ms: int,
    ) -> None:
        self._network = network
        self._subscriptions = subscriptions
        self._positions = positions
        self._fetcher = fetcher
        self._member = member
        self._clock = clock
        self._retry_backoff_s = retry_backoff_ms / 1000
        self._woken = False
        self._is_uninterruptible = False

    def wakeup(self) -> None:
        """Make the blocked call, or the next one that would block, raise WakeupException."""
        self._woken = True
        self._network.wakeup()

    def disable_wakeups(self) -> None:
        """Ignore `wakeup` from now on."""
        self._is_uninterruptible = True

    def check_wakeup(self) -> None:
        if self._woken and not self._is_uninterruptible:
            self._woken = False
            raise WakeupException()

    def check_refused(self) -> None:
        """Raise the AuthenticationException of a broker that refused this client, once; not while closing."""
        if self._is_uninterruptible:
            return
        self._network.metadata.raise_if_refused()
        if self._member is not None:
            self._member.network.metadata.raise_if_refused()

    def check_open(self) -> None:
        """Raise IllegalStateException once the consumer is closed: a listener or a commit's callback may do that."""
        if self._network.is_closed:
            raise IllegalStateException("This consumer has already been closed.")

    def fetch(self, timeout_s: float) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Blocks. Returns records, or none after `timeout_s`."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            if self._member is not None:
                # In each iteration: a program that blocks here longer than max.poll.interval.ms is still alive.
                self._member.note_poll()
            self.check_wakeup()
            self.check_refused()
            self.advance()
            records = self._fetcher.collect()
            self._fetcher.send_fetches()
            left_s = deadline_s - time.monotonic()
            if records or left_s <= 0:
                # The next fetch is under way while the program processes what it has.
                self._network.poll(0)
                return records or self._fetcher.collect()
            self._network.poll(min(left_s, self._wait_s()))

    def wait_for_position(self, is_known: Callable[[], bool], timeout_s: float) -> bool:
        """Blocks. Look for positions until `is_known`; returns whether it became true in time."""

        def is_done() -> bool:
            self.advance_positions()
            return is_known()

        return self.wait_for(is_done, timeout_s, wait_s=lambda: self._due_in_s(self._positions.next_due_ms))

    def wait_for(
        self, is_done: Callable[[], bool], timeout_s: float, *, wait_s: Callable[[], float] = lambda: LONGEST_WAIT_S
    ) -> bool:
        """Blocks. Returns whether `is_done` became true in time. Checks after each event, or after `wait_s()`."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            self._deliver()
            if is_done():
                return True
            self.check_open()
            self.check_wakeup()
            self.check_refused()
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return False
            self._network.poll(min(left_s, LONGEST_WAIT_S, wait_s()))

    def _deliver(self) -> None:
        if self._member is not None:
            self._member.deliver()

    def advance(self) -> None:
        """Do what is due for the group and positions. Raises errors that waiting cannot resolve."""
        if self._member is not None:
            self._member.advance()
            self.check_open()
        self.advance_positions()

    def advance_positions(self) -> None:
        """For positions only: outside of `poll` no rebalance is in progress."""
        if self._member is None:
            self._positions.reset_missing()
        else:
            self._member.advance_positions()
        self._positions.advance()

    def _wait_s(self) -> float:
        """How long to wait if no event arrives."""
        wait_s = self._due_in_s(self._positions.next_due_ms, None if self._member is None else self._member.next_due_ms)
        if not self._fetcher.is_asking and self._subscriptions.in_state(FetchState.FETCHING):
            # Connections and leaders recover without an event.
            wait_s = min(wait_s, self._retry_backoff_s)
        return wait_s

    def _due_in_s(self, *due_ms: int | None) -> float:
        now_ms = self._clock.monotonic_ms()
        return min((max(0.0, (each - now_ms) / 1000) for each in due_ms if each is not None), default=LONGEST_WAIT_S)
