"""One member of a group: identity, protocols, and its pending requests.

Role        Pure state; changed only by its group.
Source      Kafka 3.9 MemberMetadata.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.coordinator.group.decisions.actions import JoinReply, SyncReply

Protocols = tuple[tuple[str, bytes], ...]
"""Name and metadata, the most preferred first."""


class Member:
    """`is_new` until its first generation is complete. Timeouts in ms."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "join_reply",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_reply",
    )

    def __init__(
        self,
        *,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
        is_new: bool = False,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.is_new = is_new
        self.join_reply: JoinReply | None = None
        self.sync_reply: SyncReply | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    def metadata(self, protocol_name: str) -> bytes:
        """Its metadata for a protocol that it supports."""
        return next(metadata for name, metadata in self.protocols if name == protocol_name)

    def vote(self, candidates: Iterable[str]) -> str:
        """The member's preferred candidate; it supports at least one."""
        wanted = set(candidates)
        return next(name for name, _ in self.protocols if name in wanted)

    @property
    def outlives_silence(self) -> bool:
        """Whether it is kept after its session expired: the broker owes it a response.

        Not while it is new: a dead client cannot be told from one that waits for its first answer.
        """
        return not self.is_new and (self.join_reply is not None or self.sync_reply is not None)

    def __repr__(self) -> str:
        static = f" ({self.group_instance_id})" if self.is_static else ""
        waits = "".join(mark for mark, reply in (("J", self.join_reply), ("S", self.sync_reply)) if reply)
        return f"{self.member_id}{static}{' waits ' + waits if waits else ''}"
