"""Rebalances: revokes, joins, syncs and takes over the new assignment.

Role        Acts, through the CoordinatorLink and the program's listener; in the program's thread. `membership`
            interprets the responses.
Invariants  The listener is called for a partition's revocation (or loss) before another member can get it, and of its
            assignment before its first record is handed out.
            An eager member owns nothing while it joins; a cooperative one gives up only what the leader took.
            The result of an attempt that was given up, by `leave` or `abandoned`, is ignored.
            A joining or syncing member waits for a response or metadata, and a stable one owns its assignment or
            has it ready: after an exception in the middle of a step, `abandoned` is called.
Source      ConsumerCoordinator (onJoinPrepare, onJoinComplete, onLeaderElected, rejoinNeededOrPending); KIP-429.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kafka_zk.client.consumer.assignors import Assignor, Member, RebalanceProtocol
from kafka_zk.client.consumer.group.commits import Commits, is_worth_a_wait
from kafka_zk.client.consumer.group.coordinator_link import CoordinatorLink
from kafka_zk.client.consumer.group.led_topics import LedTopics, led_topics
from kafka_zk.client.consumer.group.member_requests import join_group, leave_group, sync_group
from kafka_zk.client.consumer.group.membership import Identity, Membership, MemberState, Outcome
from kafka_zk.client.consumer.group.subscription_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.consumer.sensors import Sensor
from kafka_zk.client.consumer.settings import GroupSettings
from kafka_zk.client.consumer.subscription_state import SubscriptionState
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.refusals import error_about_group
from kafka_zk.clock import Clock
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import BrokerError, code_of, is_retriable
from kafka_zk.protocol.messages.join_group import JOIN_GROUP_REQUEST, JOIN_GROUP_RESPONSE, JoinGroupResponse
from kafka_zk.protocol.messages.leave_group import LEAVE_GROUP_REQUEST, LEAVE_GROUP_RESPONSE
from kafka_zk.protocol.messages.sync_group import SYNC_GROUP_REQUEST, SYNC_GROUP_RESPONSE, SyncGroupResponse
from kafka_zk.protocol.types import TopicPartition

JOIN_GRACE_MS = 5000
"""Added to the time that the coordinator may wait for the other members, as in Java."""

log = logging.getLogger("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator")


class _LastCommit:
    """The commit of consumed positions before one rebalance."""

    is_over = False


class Rebalance:
    """One member's part in the rebalances of its group."""

    def __init__(
        self,
        link: CoordinatorLink,
        membership: Membership,
        subscriptions: SubscriptionState,
        commits: Commits,
        metadata: ClusterMetadata,
        assignors: Sequence[Assignor],
        settings: GroupSettings,
        clock: Clock,
        *,
        rack: str,
        is_internal: Callable[[str], bool],
    ) -> None:
        self.listener = ConsumerRebalanceListener()
        self.joins = Sensor(clock)
        self.rebalances = Sensor(clock)
        self._link = link
        self._membership = membership
        self._subscriptions = subscriptions
        self._commits = commits
        self._metadata = metadata
        self._assignors = {assignor.name: assignor for assignor in assignors}
        self._protocol = _common_protocol(assignors)
        self._settings = settings
        self._clock = clock
        self._rack = rack or None
        self._is_internal = is_internal
        self._prepared = False
        self._last_commit: _LastCommit | None = None
        self._last_commit_until_ms = 0
        self._retry_at_ms = 0
        self._failure_count = 0
        self._failure: Exception | None = None
        self._joined_topics: frozenset[str] = frozenset()
        self._remembered: tuple[list[TopicPartition] | None, int] = (None, -1)
        self._leads = False
        self._to_lead: tuple[Assignor, list[Member]] | None = None
        self._assigned: list[TopicPartition] | None = None
        self._taken_over = 0
        """The attempt whose assignment this member owns."""
        self._led: LedTopics | None = None
        self._led_topics: frozenset[str] = frozenset()
        self._lead_after = -1
        self._seen_update = -1
        self.match_after = -1
        """A pattern is matched only against later metadata: a member that joined before would have to rejoin."""
        self._began_ms = 0
        link.on_beat = self._on_beat
        link.on_slow_poll = self._on_slow_poll

    # --- poll by poll ------------------------------------------------------------------------------------------------

    def advance(self, now_ms: int) -> None:
        """Take the next step towards an assignment, if any. Raises permanent errors."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._notice_metadata()
        self._lead_if_known()
        membership = self._membership
        # Applied here, not when the response arrived: only poll may call the listener.
        assigned, self._assigned = self._assigned, None
        if assigned is not None and membership.state is MemberState.STABLE:
            self._take_over(assigned)
        if membership.state is MemberState.STABLE and membership.identity.has_generation:
            if self._subscriptions.topics != self._joined_topics:
                membership.request_rejoin("the subscription has changed")
            elif self._leads and self._has_to_share_out_anew():
                membership.request_rejoin("cached metadata has changed")
        if self._has_to_join and now_ms >= self._retry_at_ms and self._prepare():
            self._join()

    def abandoned(self) -> None:
        """A step or an outcome was ended by an exception: Ctrl-C, a gevent.Timeout, the program's own.

        The rest of the step would be awaited for ever, so the next `advance` starts again.
        """
        membership = self._membership
        is_lost = self._assigned is None and self._taken_over != membership.attempt
        if membership.state is MemberState.STABLE and is_lost:
            membership.request_rejoin("taking over the assignment was interrupted")
        membership.abandon()
        if self._last_commit is not None and not self._last_commit.is_over:
            self._last_commit = None

    @property
    def next_due_ms(self) -> int | None:
        """When `advance` has something to do without a response; None: not before one arrives."""
        return self._retry_at_ms if self._has_to_join and self._last_commit is None else None

    @property
    def _has_to_join(self) -> bool:
        membership = self._membership
        knows_topics = self._subscriptions.pattern is None or self._metadata.update_count > self.match_after
        may_join = membership.state in (MemberState.UNJOINED, MemberState.STABLE)
        return membership.rejoin_needed and may_join and knows_topics

    @property
    def is_settled(self) -> bool:
        stable = self._membership.state is MemberState.STABLE and self._assigned is None
        return stable and not self._membership.rejoin_needed

    def leave(self, reason: str, on_done: Callable[[], None] = lambda: None) -> None:
        """Give everything up and send LeaveGroup, unless a static member's name is to be kept.

        `on_done` is called when the coordinator has answered, or need not be asked.
        """
        identity = self._membership.identity
        owned = self._subscriptions.assigned
        try:
            if self._membership.lost or not identity.has_generation:
                self._tell_lost(owned)
            else:
                self._tell_revoked(owned)
        finally:
            self._leave_as(identity, reason, on_done)

    def _leave_as(self, identity: Identity, reason: str, on_done: Callable[[], None]) -> None:
        self._link.beat_as(None)
        self._membership.leave()
        self._joined_topics, self._prepared, self._leads = frozenset(), False, False
        self._last_commit_until_ms = 0
        static = self._settings.group_instance_id is not None
        if identity.member_id and not static and self._settings.leaves_on_close:
            log.info("Member %s sending LeaveGroup request to coordinator due to %s", identity.member_id, reason)
            self._link.ask(
                LEAVE_GROUP_REQUEST,
                LEAVE_GROUP_RESPONSE,
                lambda version: leave_group(self._settings, identity, reason, version),
                lambda _: on_done(),
                lambda _: on_done(),
            )
        else:
            on_done()

    # --- before ------------------------------------------------------------------------------------------------------

    def _prepare(self) -> bool:
        """Give up what must be given up before joining. False while a last commit is under way."""
        membership = self._membership
        is_forgotten = membership.lost and bool(self._subscriptions.assigned)
        if self._prepared and not is_forgotten:
            return True
        if self._settings.auto_commit_interval_ms is not None and membership.identity.has_generation:
            if self._last_commit is None:
                self._last_commit = _LastCommit()
                self._began_ms = now_ms = self._clock.monotonic_ms()
                longest_ms = self._settings.max_poll_interval_ms
                self._last_commit_until_ms = self._last_commit_until_ms or now_ms + longest_ms
                self._subscriptions.mark_pending_revocation(self._given_up())
                timeout_ms = min(longest_ms, self._settings.request_timeout_ms)
                on_outcome = partial(self._on_last_commit, self._last_commit)
                self._commits.commit(self._commits.consumed(), on_outcome, timeout_ms=timeout_ms)
                self._commits.run_callbacks()
            if self._last_commit is None or not self._last_commit.is_over:
                return False
        self._last_commit, self._last_commit_until_ms = None, 0
        self._began_ms = self._began_ms or self._clock.monotonic_ms()
        self._prepared = True
        is_lost = membership.lost or not membership.identity.has_generation
        given_up = self._subscriptions.assigned if is_lost else self._given_up()
        try:
            (self._tell_lost if is_lost else self._tell_revoked)(given_up)
        finally:
            kept = [partition for partition in self._subscriptions.assigned if partition not in set(given_up)]
            self._subscriptions.assign_from_group(kept)
        return True

    def _on_last_commit(
        self, commit: _LastCommit, offsets: Mapping[TopicPartition, object], error: Exception | None
    ) -> None:
        if commit is not self._last_commit:
            # Left over from an earlier rebalance: it is not the commit of this one.
            return
        now_ms = self._clock.monotonic_ms()
        if error is not None and is_worth_a_wait(error) and now_ms < self._last_commit_until_ms:
            # Most rebalances begin because the coordinator moved: that must not cause records to be read twice.
            self._last_commit, self._retry_at_ms = None, now_ms + self._settings.retry_backoff.wait_ms(1)
            return
        if error is not None:
            log.warning("Auto offset commit failed before the rebalance: %s. Will proceed anyway", error)
        commit.is_over = True

    def _given_up(self) -> list[TopicPartition]:
        owned = self._subscriptions.assigned
        if self._protocol is RebalanceProtocol.EAGER:
            return owned
        return [partition for partition in owned if partition.topic not in self._subscriptions.topics]

    # --- joining -----------------------------------------------------------------------------------------------------

    def _join(self) -> None:
        topics = self._subscriptions.topics
        identity = self._membership.identity
        owned = self._subscriptions.assigned if self._protocol is RebalanceProtocol.COOPERATIVE else []
        remembered, generation = self._remembered
        protocols = [
            (
                name,
                encode_subscription(topics, assignor.user_data(remembered, generation), owned, generation, self._rack),
            )
            for name, assignor in self._assignors.items()
        ]
        reason = self._membership.reason
        self._joined_topics = topics
        self._link.beat_as(None)
        attempt = self._membership.begin_join()
        log.info("(Re-)joining group")
        sent_ms = self._clock.monotonic_ms()

        def on_answer(answer: JoinGroupResponse) -> None:
            self.joins.record(self._clock.monotonic_ms() - sent_ms)
            self._joined(attempt, answer)

        self._link.ask(
            JOIN_GROUP_REQUEST,
            JOIN_GROUP_RESPONSE,
            lambda version: join_group(self._settings, identity, protocols, reason, version),
            on_answer,
            lambda error: self._unanswered(attempt, error),
            timeout_ms=max(self._settings.request_timeout_ms, self._settings.max_poll_interval_ms + JOIN_GRACE_MS),
        )

    def _joined(self, attempt: int, answer: JoinGroupResponse) -> None:
        if attempt != self._membership.attempt:
            return
        outcome = self._membership.on_joined(attempt, answer)
        if outcome is not Outcome.PROCEED:
            self._act_on(outcome, answer.error_code)
            return
        identity = self._membership.identity
        log.info("Successfully joined group with generation %s", identity)
        self._leads = answer.leader == answer.member_id
        self._link.beat_as(identity)
        if not self._leads:
            self._sync({})
            return
        try:
            self._begin_to_lead(answer)
        except KafkaException as error:
            self._failure = error
            self._membership.on_disconnected(attempt)

    def _sync(self, assignments: Mapping[str, bytes]) -> None:
        attempt, identity = self._membership.attempt, self._membership.identity
        self._link.ask(
            SYNC_GROUP_REQUEST,
            SYNC_GROUP_RESPONSE,
            lambda version: sync_group(self._settings, identity, assignments, version),
            lambda answer: self._synced(attempt, answer),
            lambda error: self._unanswered(attempt, error),
            timeout_ms=max(self._settings.request_timeout_ms, self._settings.max_poll_interval_ms + JOIN_GRACE_MS),
        )

    def _begin_to_lead(self, answer: JoinGroupResponse) -> None:
        """As the group's leader, request metadata of every topic that a member reads."""
        assignor = self._assignors.get(answer.protocol_name or "")
        if assignor is None:
            raise KafkaException(f"Coordinator selected invalid assignment protocol: {answer.protocol_name}")
        members = [
            decode_subscription(each.metadata, each.member_id, each.group_instance_id) for each in answer.members
        ]
        self._led_topics = frozenset(topic for member in members for topic in member.topics)
        # From now on metadata of the other members' topics is needed, to detect changes.
        self.want_topics()
        self._lead_after = self._metadata.update_count
        if not self._knows_led_topics:
            self._metadata.request_update()
        if answer.skip_assignment:
            # A static member that rejoined: all keep their partitions, until topics differ from what it finds now.
            self._led = None
            self._sync({})
        else:
            self._to_lead = assignor, members
            self._lead_if_known()

    def _lead_if_known(self) -> None:
        """Assign, once the metadata has every topic, or says that it does not exist."""
        if self._to_lead is None or self._membership.state is not MemberState.SYNCING:
            self._to_lead = None
            return
        if not self._knows_led_topics:
            return
        (assignor, members), self._to_lead = self._to_lead, None
        self._led = self._led_now()
        try:
            assignment = assignor.assign(self._led.counts, members, self._led.replica_racks)
        except BaseException:
            # The assignor may be the program's own. If nothing were sent, the group would wait for ever.
            self._membership.on_disconnected(self._membership.attempt)
            self._pause()
            raise
        self._sync({member_id: encode_assignment(partitions) for member_id, partitions in assignment.items()})

    @property
    def _knows_led_topics(self) -> bool:
        """Whether the metadata has every topic of the group, or says that it does not exist."""
        snapshot = self._metadata.snapshot
        if self._subscriptions.pattern is not None and self._metadata.update_count > self._lead_after:
            # All topics were requested: the response does not name missing topics of other members.
            return True
        return all(topic in snapshot.topics or topic in snapshot.topic_errors for topic in self._led_topics)

    def want_topics(self) -> None:
        """Request metadata of this member's topics and, as leader, of the other members' topics."""
        if self._subscriptions.pattern is not None:
            self._metadata.want_all_topics()
        else:
            led = self._led_topics if self._leads else frozenset()
            self._metadata.set_topics(self._subscriptions.topics | led, self._clock.monotonic_ms())

    def _led_now(self) -> LedTopics:
        return led_topics(self._metadata.snapshot, self._led_topics)

    def _has_to_share_out_anew(self) -> bool:
        """As leader: whether topics differ from the last assignment, or from what a rejoined leader found."""
        if self._led is None:
            self._led = self._led_now() if self._knows_led_topics else None
            return False
        return self._led.means_another(self._led_now(), self._rack)

    def _unanswered(self, attempt: int, error: Exception) -> None:
        if attempt != self._membership.attempt:
            return
        self._membership.on_disconnected(attempt)
        self._pause()
        if isinstance(error, BrokerError) and not is_retriable(error.code):
            self._failure = error

    def _act_on(self, outcome: Outcome, error_code: int) -> None:
        code = code_of(error_code)
        log.info("Rebalance failed due to %s: %s", code.name, outcome.value)
        self._link.beat_as(None)
        if outcome is Outcome.FIND_COORDINATOR:
            self._link.lose_coordinator(code.name)
        if outcome is Outcome.FATAL:
            self._failure = error_about_group(code, self._settings.group_id)
        if outcome is not Outcome.REJOIN_NOW:
            self._pause()

    def _pause(self) -> None:
        self._failure_count += 1
        self._retry_at_ms = self._clock.monotonic_ms() + self._settings.retry_backoff.wait_ms(self._failure_count)

    # --- afterwards --------------------------------------------------------------------------------------------------

    def _synced(self, attempt: int, answer: SyncGroupResponse) -> None:
        if attempt != self._membership.attempt:
            return
        outcome = self._membership.on_synced(attempt, answer)
        if outcome is not Outcome.PROCEED:
            self._act_on(outcome, answer.error_code)
            return
        try:
            self._assigned = decode_assignment(answer.assignment)
        except KafkaException as error:
            self._failure = error
        self._failure_count, self._retry_at_ms, self._prepared, self._last_commit = 0, 0, False, None
        self._last_commit_until_ms = 0
        self.rebalances.record(self._clock.monotonic_ms() - self._began_ms)
        self._began_ms = 0

    def _take_over(self, assigned: list[TopicPartition]) -> None:
        subscriptions = self._subscriptions
        if any(partition.topic not in subscriptions.topics for partition in assigned):
            log.warning("Got an assignment for topics that are not subscribed, will rejoin: %s", assigned)
            self._membership.request_rejoin("assignment does not match the subscription")
            return
        owned = subscriptions.assigned
        added = [partition for partition in assigned if partition not in set(owned)]
        self._remembered = (assigned, self._membership.identity.generation)
        log.info("Notifying assignor about the new Assignment(partitions=%s)", [str(each) for each in assigned])
        revoked: list[TopicPartition] = []
        if self._protocol is RebalanceProtocol.COOPERATIVE:
            revoked = [partition for partition in owned if partition not in set(assigned)]
            if revoked:
                self._membership.request_rejoin("need to revoke partitions and re-join")
        try:
            self._tell_revoked(revoked)
        finally:
            # Also if the listener fails: partitions that now belong to another must not be read.
            subscriptions.assign_from_group([each for each in owned if each not in set(revoked)])
            log.info("Adding newly assigned partitions: %s", ", ".join(map(str, added)))
            subscriptions.assign_from_group(assigned)
            self._taken_over = self._membership.attempt
            self.listener.on_partitions_assigned(added)

    def _tell_revoked(self, partitions: list[TopicPartition]) -> None:
        if partitions:
            log.info("Revoke previously assigned partitions %s", ", ".join(map(str, partitions)))
            self.listener.on_partitions_revoked(partitions)

    def _tell_lost(self, partitions: list[TopicPartition]) -> None:
        if partitions:
            log.info("Giving away all assigned partitions as lost since generation/memberID has been reset")
            self.listener.on_partitions_lost(partitions)

    # --- news --------------------------------------------------------------------------------------------------------

    def _notice_metadata(self) -> None:
        if self._subscriptions.pattern is None or self._seen_update == self._metadata.update_count:
            return
        self._seen_update = self._metadata.update_count
        if self._subscriptions.match_topics(sorted(self._metadata.snapshot.topic_names()), self._is_internal):
            self._membership.request_rejoin("the topics that match the pattern have changed")

    def _on_beat(self, identity: Identity, error_code: int) -> None:
        outcome = self._membership.on_heartbeat(identity, error_code)
        if outcome is Outcome.FATAL:
            self._failure = error_about_group(error_code, self._settings.group_id)

    def _on_slow_poll(self, identity: Identity) -> None:
        if identity == self._membership.identity:
            self._membership.forget("consumer poll timeout has expired")


def _common_protocol(assignors: Sequence[Assignor]) -> RebalanceProtocol:
    """Cooperative only if every assignor is: another member may choose any of them."""
    if not assignors:
        raise ConfigException("Missing partition assignment strategy")
    if all(assignor.protocol is RebalanceProtocol.COOPERATIVE for assignor in assignors):
        return RebalanceProtocol.COOPERATIVE
    return RebalanceProtocol.EAGER
