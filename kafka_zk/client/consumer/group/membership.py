"""A member's state machine: which request to send next, given the responses so far.

Role        Pure. Owned by the thread that calls the consumer; heartbeats only read `identity`.
Invariants  Nothing is committed, and no heartbeat sent, under an identity that the coordinator has refused.
            A member that lost its identity owns nothing.
            A fenced static member keeps its member id: joining without one would take the name back.
            An answer to a request of an earlier attempt changes nothing.
Source      AbstractCoordinator (JoinGroupResponseHandler, SyncGroupResponseHandler, HeartbeatResponseHandler).
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from kafka_zk.protocol.errors import ErrorCode, code_of
from kafka_zk.protocol.messages.join_group import JoinGroupResponse
from kafka_zk.protocol.messages.sync_group import SyncGroupResponse

NO_GENERATION: Final = -1
NO_MEMBER: Final = ""


class MemberState(Enum):
    """This member's progress in the current generation."""

    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


class Identity(NamedTuple):
    """The identity that this member sends."""

    generation: int = NO_GENERATION
    member_id: str = NO_MEMBER
    protocol: str | None = None

    @property
    def has_generation(self) -> bool:
        return self.generation != NO_GENERATION


class Outcome(Enum):
    """What to do after a response."""

    PROCEED = "proceed"
    REJOIN_NOW = "rejoin now"
    REJOIN_LATER = "rejoin after a pause"
    FIND_COORDINATOR = "find the coordinator, then rejoin"
    FATAL = "give up"


_ELSEWHERE = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.NETWORK_EXCEPTION})
_FORGOTTEN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
_KEEPS_MEMBER_ID = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID})


class Membership:
    """One member of one group."""

    def __init__(self) -> None:
        self.state = MemberState.UNJOINED
        self.identity = Identity()
        self.rejoin_needed = True
        self.lost = False
        self.reason = ""
        self.attempt = 0

    def __repr__(self) -> str:
        return f"{self.state.value} {self.identity} rejoin={self.rejoin_needed}"

    @property
    def sends_heartbeats(self) -> bool:
        return self.identity.has_generation and self.state in (MemberState.SYNCING, MemberState.STABLE)

    def request_rejoin(self, reason: str) -> None:
        """Join again at the next poll."""
        if not self.rejoin_needed:
            self.reason = reason
        self.rejoin_needed = True

    def begin_join(self) -> int:
        """A JoinGroup is being sent. Returns the number of the attempt, which its response must carry."""
        self.state = MemberState.JOINING
        self.rejoin_needed = False
        self.attempt += 1
        return self.attempt

    def on_joined(self, attempt: int, answer: JoinGroupResponse) -> Outcome:
        """PROCEED: send SyncGroup."""
        if attempt != self.attempt or self.state is not MemberState.JOINING:
            return Outcome.REJOIN_LATER
        code = answer.error_code
        if code == ErrorCode.NONE:
            self.identity = Identity(answer.generation_id, answer.member_id, answer.protocol_name)
            self.state, self.lost = MemberState.SYNCING, False
            return Outcome.PROCEED
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self._fail("need to re-join with the given member-id")
            self.identity = Identity(NO_GENERATION, answer.member_id)
            return Outcome.REJOIN_NOW
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.forget(f"encountered {code_of(code).name} from JoinGroup response")
            return Outcome.REJOIN_NOW
        self._fail_by(code, f"rebalance failed due to {code_of(code).name}")
        return self._outcome(code, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REBALANCE_IN_PROGRESS)

    def on_synced(self, attempt: int, answer: SyncGroupResponse) -> Outcome:
        """PROCEED: this member owns the assignment in the response."""
        if attempt != self.attempt or self.state is not MemberState.SYNCING:
            return Outcome.REJOIN_LATER
        code = answer.error_code
        if code == ErrorCode.NONE:
            self.state = MemberState.STABLE
            return Outcome.PROCEED
        if code in _FORGOTTEN:
            self.forget(f"encountered {code_of(code).name} from SyncGroup response", code)
            return Outcome.REJOIN_NOW
        self._fail_by(code, f"sync failed due to {code_of(code).name}")
        return self._outcome(code, ErrorCode.REBALANCE_IN_PROGRESS)

    def on_disconnected(self, attempt: int) -> None:
        """A JoinGroup or SyncGroup found no coordinator, or lost it."""
        if attempt == self.attempt and self.state in (MemberState.JOINING, MemberState.SYNCING):
            self._fail("the coordinator is not available")

    def abandon(self) -> None:
        """A step of a rebalance was left half way: join again, and ignore its response."""
        if self.state in (MemberState.JOINING, MemberState.SYNCING):
            self.attempt += 1
            self._fail("a step of the rebalance was interrupted")

    def on_heartbeat(self, sent_as: Identity, error_code: int) -> Outcome:
        """PROCEED: nothing to do."""
        if sent_as != self.identity or error_code == ErrorCode.NONE:
            return Outcome.PROCEED
        if error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            if self.state is MemberState.STABLE:
                self.request_rejoin("group is already rebalancing")
            return Outcome.PROCEED
        if error_code in _FORGOTTEN:
            self.forget(f"encountered {code_of(error_code).name} from heartbeat", error_code)
            return Outcome.REJOIN_NOW
        if error_code in _ELSEWHERE:
            return Outcome.FIND_COORDINATOR
        if error_code == ErrorCode.FENCED_INSTANCE_ID:
            # The program gets the error. If it polls on, it must not read another's partitions, and gets it again.
            self.forget("encountered FENCED_INSTANCE_ID from heartbeat", error_code)
        return Outcome.FATAL

    def forget(self, reason: str, error_code: int = ErrorCode.UNKNOWN_MEMBER_ID) -> None:
        """The coordinator does not know this member, or this generation, any more: what it owned is lost."""
        member_id = self.identity.member_id if error_code in _KEEPS_MEMBER_ID else NO_MEMBER
        self.identity = Identity(NO_GENERATION, member_id)
        self.state = MemberState.UNJOINED
        self.lost = True
        self.rejoin_needed = True
        self.reason = reason

    def leave(self) -> None:
        """A voluntary leave: nothing is lost, and the member does not join again until it is asked to."""
        self.identity = Identity()
        self.state = MemberState.UNJOINED
        self.rejoin_needed = True
        self.attempt += 1

    def _fail_by(self, code: int, reason: str) -> None:
        if code == ErrorCode.FENCED_INSTANCE_ID:
            self.forget(reason, code)
        else:
            self._fail(reason)

    def _fail(self, reason: str) -> None:
        self.state = MemberState.UNJOINED
        self.rejoin_needed = True
        self.reason = reason

    def _outcome(self, code: int, *passing: ErrorCode) -> Outcome:
        if code in _ELSEWHERE:
            return Outcome.FIND_COORDINATOR
        return Outcome.REJOIN_LATER if code in passing else Outcome.FATAL
