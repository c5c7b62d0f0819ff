"""KafkaController: one greenlet that takes events from one queue, elected or not.

Role        Acts. Every broker runs one, which takes part in every controller election.
Invariants  All controller state belongs to the greenlet; others queue events and wait for their `Pending`.
            An `ActiveController` exists iff this broker is the controller; events queued in an earlier controller epoch
            do not see that epoch's state (KAFKA-4447).
            Callers that wait for an event which is dropped get an error (KAFKA-10193).
            After a lost session the controller resigns before it does anything else; the broker competes again only
            once it is registered in the new session.
Source      KafkaController (startup, elect, onControllerFailover, onControllerResignation, process).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

import gevent

from kafka_zk.admin.metadata_wait import MetadataWait
from kafka_zk.clock import Clock
from kafka_zk.controller import events
from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.channel import BrokerChannels, Connect, socket_connect
from kafka_zk.controller.decisions.context import ControllerContext
from kafka_zk.controller.decisions.versions import RequestVersions
from kafka_zk.controller.election_store import ElectionStore
from kafka_zk.controller.errors import RESIGNATION_ERRORS, BatchAbandoned
from kafka_zk.controller.events import ControllerState, Event
from kafka_zk.controller.handlers.dispatch import dispatch
from kafka_zk.controller.handlers.failover import fail_over
from kafka_zk.controller.mailbox import Mailbox, Queued, dropped_error
from kafka_zk.controller.metrics import ControllerMetrics
from kafka_zk.controller.outbox import Outbox
from kafka_zk.controller.partition_machine import PartitionMachine
from kafka_zk.controller.replica_machine import ReplicaMachine
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.controller.state_change_log import StateChangeLog
from kafka_zk.controller.store import FencedStore
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.supervision import caught, spawn_for_life
from kafka_zk.zk.errors import ConnectionClosed, ControllerMoved, SessionExpired
from kafka_zk.zk.session import ZkClient

log = logging.getLogger("kafka.controller.KafkaController")

NOBODY = -1

FAILED_FAILOVER_PAUSE_MS = 1_000
"""How long a broker that could not complete a failover waits before it takes part in an election again."""

SHUTDOWN_GRACE_S = 2.0
"""How long the event being handled may still take when the broker stops."""


class KafkaController:
    """The controller of one broker."""

    def __init__(
        self,
        *,
        settings: ControllerSettings,
        zk: ZkClient,
        clock: Clock,
        metrics: MetricsRegistry,
        connect: Connect | None = None,
        metadata_cache: MetadataCache | None = None,
        register_broker: Callable[[int], object] = lambda generation: None,
        new_topic_id: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        """`register_broker(generation)` creates /brokers/ids/N again in a new session; it may block and raise.

        `connect` opens connections to brokers (default: plain sockets). ElectLeaders waits for `metadata_cache`.
        """
        self.settings = settings
        self._zk = zk
        self._clock = clock
        self._connect = socket_connect(settings, lambda: None) if connect is None else connect
        cache = MetadataCache() if metadata_cache is None else metadata_cache
        self.leader_waits = MetadataWait("ElectLeader", cache, clock)
        """The elections that wait until the metadata cache shows their outcome."""
        self.leader_waits.show_in(metrics)
        self._register_broker = register_broker
        self._new_topic_id = new_topic_id
        self._mailbox = Mailbox(clock)
        self._elections = ElectionStore(zk)
        self._metrics = ControllerMetrics(metrics, self)
        self._registered_generation = zk.generation
        self._active_controller: ActiveController | None = None
        self._competes_from_ms = 0
        self._left: FencedStore | None = None
        """Of a controller epoch that has ended, while its /controller may still exist."""
        self._greenlet: gevent.Greenlet[[], None] | None = None
        self.active_controller_id = NOBODY
        """The active controller as far as this broker knows; -1: unknown."""
        self.state = ControllerState.IDLE

    # For other packages

    def startup(self, registered_generation: int | None = None) -> None:
        """Blocks if the session of `registered_generation` (default: the present one) is over. Start the greenlet.

        Call it once the broker is registered; the election follows in the greenlet.
        """
        assert self._greenlet is None, "started twice"
        generation = self._zk.generation
        self._registered_generation = generation if registered_generation is None else registered_generation
        self._zk.on_session_expired(self._on_session_lost, self._on_new_session)
        if self._registered_generation != generation:
            # It ended before we were notified, and the registration with it.
            self._register_broker(generation)
            self._registered_generation = generation
        self._greenlet = spawn_for_life(f"Controller id={self._id}", self._run)
        self._mailbox.put(events.Startup())

    def shutdown(self) -> None:
        """Blocks. Stop; /controller goes when the ZooKeeper session is closed."""
        if self._greenlet is not None:
            self._mailbox.end_with(events.Shutdown())
            self._greenlet.join(SHUTDOWN_GRACE_S)
            # Still there? Then it waits for a ZooKeeper that does not answer (KAFKA-9189).
            self._greenlet.kill()
            self._greenlet = None
            self._resign()
        self.leader_waits.shutdown()

    def wait_until_answered(self, timeout_s: float) -> None:
        """Blocks. Wait until the brokers have answered all requests; returns at once if not the controller."""
        if self._active_controller is not None and not self._active_controller.channels.wait_until_answered(timeout_s):
            log.warning("[Controller id=%d] Some brokers have not answered within %.1f s", self._id, timeout_s)

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self._active_controller is not None

    @property
    def controller_epoch(self) -> int:
        """The current controller epoch; 0 if not active."""
        return 0 if self._active_controller is None else self._active_controller.context.epoch

    @property
    def active_controller(self) -> ActiveController | None:
        """None if this broker is not the controller. Read-only, for request handlers, metrics and tests."""
        return self._active_controller

    @property
    def queue_size(self) -> int:
        return len(self._mailbox)

    def submit(self, event: Event) -> Pending[Any]:
        """Blocks while the queue is full. Queue a request; the `Pending` gets its outcome or its error.

        Fails with NotController (ControlledShutdown: StaleControllerEpoch) if this broker is not the controller.
        """
        if self._greenlet is None:
            refused: Pending[Any] = Pending()
            refused.fail(dropped_error(event))
            return refused
        return self._mailbox.put_request(event)

    def use_default_unclean_election(self, is_enabled: bool) -> None:
        """unclean.leader.election.enable of the broker changed; when it became true, elections are tried at once."""
        self.settings.unclean_leader_election_enable = is_enabled
        self._mailbox.put(events.UncleanElectionDefault())

    def enable_topic_unclean_election(self, topic: str) -> None:
        """The topic's unclean.leader.election.enable became true."""
        self._mailbox.put(events.TopicUncleanElectionEnable(topic))

    # Session

    def _on_session_lost(self) -> None:
        self._mailbox.clear_and_put(events.Expire())

    def _on_new_session(self, generation: int) -> None:
        """Blocks. Register first: otherwise a broker without a registration could be elected."""
        self._register_broker(generation)
        self._registered_generation = generation
        self._mailbox.put(events.RegisterBrokerAndReelect())

    # The greenlet

    def _run(self) -> None:
        while True:
            queued = self._mailbox.take()
            if isinstance(queued.event, events.Shutdown):
                self._resign()
                return
            self._process(queued)

    def _process(self, queued: Queued) -> None:
        event = queued.event
        self.state = event.state
        started_ms = self._clock.monotonic_ms()
        self._metrics.on_taken(started_ms - queued.enqueued_ms)
        try:
            self._handle(queued)
        except ControllerMoved as error:
            log.info("[Controller id=%d] Controller moved to another broker when processing %s.", self._id, event)
            self._fail(queued, error)
            self._safely(self._maybe_resign)
        except (SessionExpired, ConnectionClosed) as error:
            # Expire (or Shutdown) is on its way; until then this controller must not act.
            log.info("[Controller id=%d] Session lost when processing %s.", self._id, event)
            self._fail(queued, error)
            self._resign()
        except BatchAbandoned as error:
            log.error("[Controller id=%d] Forcing the controller to resign", self._id, exc_info=_bug(error))
            self._fail(queued, error)
            self._safely(self._move_on)
        except BrokerError as error:
            if not self._fail(queued, error):
                log.error("[Controller id=%d] Error processing event %s: %s", self._id, event, error)
        except Exception as error:
            # A bug of ours in one event must not end the greenlet that handles all others.
            caught(f"Controller id={self._id}", f"processing event {event}")
            self._fail(queued, error)
        except gevent.GreenletExit:
            # Stopped while it waited for ZooKeeper; whoever waits for the outcome is not to wait for ever.
            self._fail(queued, dropped_error(event))
            raise
        finally:
            self._metrics.on_processed(event.state, self._clock.monotonic_ms() - started_ms)
            self.state = ControllerState.IDLE

    def _fail(self, queued: Queued, error: Exception) -> bool:
        """Whether a caller waited for the event and now has the error."""
        return queued.reply is not None and queued.reply.fail(error)

    def _safely(self, act: Callable[[], None]) -> None:
        """What follows an error must not end the greenlet: the next event tries again."""
        try:
            act()
        except BrokerError as error:
            log.error("[Controller id=%d] Error while resigning: %s", self._id, error)
            self._resign()
        except Exception:
            caught(f"Controller id={self._id}", "resigning")
            self._resign()

    @property
    def _id(self) -> int:
        return self.settings.broker_id

    def _handle(self, queued: Queued) -> None:
        match queued.event:
            case events.Startup():
                self._elections.watch_controller(lambda: self._mailbox.put(events.ControllerChange()))
                self._elect()
            case events.ControllerChange() | events.Reelect() | events.RegisterBrokerAndReelect():
                self._give_up_election()
                self._maybe_resign()
                self._elect()
            case events.Expire():
                # An election that was going on while the session was replaced may have been won in the new one.
                if self._active_controller is None or self._active_controller.generation != self._zk.generation:
                    self.active_controller_id = NOBODY
                    self._resign()
            case event if self._active_controller is None:
                if queued.reply is not None:
                    queued.reply.fail(dropped_error(event))
            case _:
                dispatch(self._active_controller, queued)

    def _maybe_resign(self) -> None:
        """Blocks. Read who the controller is; resign if it is another broker."""
        found = self._elections.active_controller_id()
        self.active_controller_id = NOBODY if found is None else found
        if found != self._id:
            self._resign()

    def _elect(self) -> None:
        """Blocks. Run for controller if there is none, and fail over if elected."""
        # Whatever happens to the session from here on, the election is tied to a session this broker is registered in.
        generation = self._registered_generation
        if self._active_controller is not None or generation != self._zk.generation:
            return
        if self._clock.monotonic_ms() < self._competes_from_ms:
            # What broke the last failover may still be there: without a pause the cluster would do nothing but elect.
            self._clock.call_at(self._competes_from_ms, lambda: self._mailbox.put(events.Reelect()))
            return
        found = self._elections.active_controller_id()
        if found is not None:
            self.active_controller_id = found
            log.debug("[Controller id=%d] Broker %d has been elected as the controller, so stopping the election "
                          "process.", self._id, found)  # fmt: skip
            return
        epoch, zk_version = self._win(generation)
        log.info(
            "[Controller id=%d] %d successfully elected as the controller. Epoch incremented to %d and epoch zk "
            "version is now %d",
            self._id,
            self._id,
            epoch,
            zk_version,
        )
        self.active_controller_id = self._id
        self._active_controller = self._new_active_controller(epoch, zk_version, generation)
        try:
            fail_over(self._active_controller)
        except (ControllerMoved, SessionExpired, ConnectionClosed):
            raise
        except Exception as error:
            # Refused by ZooKeeper or a bug of ours: a controller that failed over in part is worse than none.
            log.error("[Controller id=%d] Error while electing or becoming controller on broker: %s",
                          self._id, error, exc_info=_bug(error))  # fmt: skip
            self._competes_from_ms = self._clock.monotonic_ms() + FAILED_FAILOVER_PAUSE_MS
            raise BatchAbandoned(f"The failover was not completed: {error!r}") from error

    def _win(self, generation: int) -> tuple[int, int]:
        """Blocks. Take /controller: (controller epoch, version of its znode)."""
        try:
            return self._elections.win(self._id, self._clock.wall_ms(), generation)
        except (ControllerMoved, SessionExpired, ConnectionClosed):
            raise
        except BrokerError:
            # For instance a /controller_epoch that is not a number: no watch tells when it is repaired.
            self._competes_from_ms = self._clock.monotonic_ms() + FAILED_FAILOVER_PAUSE_MS
            self._clock.call_at(self._competes_from_ms, lambda: self._mailbox.put(events.Reelect()))
            raise

    def _new_active_controller(self, epoch: int, zk_version: int, generation: int) -> ActiveController:
        context = ControllerContext(epoch=epoch, epoch_zk_version=zk_version)
        store = FencedStore(self._zk, epoch_zk_version=zk_version, generation=generation)
        versions = RequestVersions.of(self.settings.inter_broker_protocol_version)
        state_changes = StateChangeLog(self._id, epoch)
        channels = BrokerChannels(
            controller_id=self._id,
            controller_epoch=epoch,
            listener=self.settings.listener,
            connect=self._connect,
            clock=self._clock,
            on_answer=self._mailbox.put_answer,
            metrics=self._metrics,
        )
        outbox = Outbox(
            self._id,
            context,
            versions,
            self.settings.listener,
            channels.send,
            state_changes,
            self._metrics.on_unclean_election,
        )
        unclean = self.settings.unclean_leader_election_enable
        return ActiveController(
            settings=self.settings,
            generation=generation,
            versions=versions,
            context=context,
            store=store,
            channels=channels,
            outbox=outbox,
            partitions=PartitionMachine(
                context,
                store,
                outbox,
                state_changes,
                unclean_by_default=unclean,
                has_leader_recovery=versions.has_leader_recovery,
            ),
            replicas=ReplicaMachine(context, store, outbox, state_changes),
            clock=self._clock,
            put=self._mailbox.put,
            new_topic_id=self._new_topic_id,
        )

    def _move_on(self) -> None:
        """Blocks. Resign and delete /controller, so that a new controller is elected."""
        active_controller = self._active_controller
        self._left = None if active_controller is None else active_controller.store
        self._resign()
        self.active_controller_id = NOBODY
        self._give_up_election()

    def _give_up_election(self) -> None:
        """Blocks. Delete our /controller, if need be later: as long as it is there, nobody is elected."""
        store, self._left = self._left, None
        if store is None:
            return
        try:
            store.resign()
        except RESIGNATION_ERRORS:
            pass  # It is another controller's, or went with our session.
        except Exception:
            self._left = store
            again_ms = self._clock.monotonic_ms() + FAILED_FAILOVER_PAUSE_MS
            self._clock.call_at(again_ms, lambda: self._mailbox.put(events.Reelect()))
            raise

    def _resign(self) -> None:
        """Drop all state of the current controller epoch."""
        active_controller, self._active_controller = self._active_controller, None
        if active_controller is None:
            return
        log.debug("[Controller id=%d] Resigning", self._id)
        active_controller.stop()
        log.info("[Controller id=%d] Resigned", self._id)


def _bug(error: Exception) -> Exception | None:
    """`error` if it, or what it represents, is a bug of ours and must leave its traceback in the log."""
    origin = error.__cause__ if isinstance(error, BatchAbandoned) else error
    return None if isinstance(origin, BrokerError) else error
