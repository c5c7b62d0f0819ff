"""The same requests to Apache Kafka and to us, and what of the answers must be equal.

An `Exchange` is one request in a list of versions. A `World` is one side (a fresh broker): it remembers what later
requests need, such as topic ids, which differ between the sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kafka_zk.protocol.errors import EncodeError
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from kafka_zk.protocol.types import NULL_UUID
from tests.support.allowed import Allowed, allowed
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient, all_versions, as_plain

CLOSED = "the connection was closed"
NO_ANSWER = "no answer"
ANSWER_TIMEOUT_S = 12
"""Longer than any request here may wait by its own time-outs."""


class World:
    """One side of the comparison. `own` are texts that only this side can show, each with what is compared instead."""

    def __init__(self, bootstrap: str, own: Mapping[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self.remembered: dict[str, Any] = {}
        self.left_out: LeftOut = {}
        self.plain: Answers = {}
        self._own = dict(own or {})

    def wait_until_known(self) -> None:
        """Until the broker is in its own metadata: before, it can create no topic."""

        def knows_itself() -> bool:
            with RawClient(self.bootstrap) as client:
                return bool(client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 12).brokers)

        wait_until(knows_itself, "the broker knows itself")

    def without_own(self, value: Any) -> Any:
        """A plain answer with what is compared instead of the texts of this side."""
        if isinstance(value, dict):
            return {name: self.without_own(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.without_own(item) for item in value]
        if isinstance(value, str):
            for text, instead in self._own.items():
                value = value.replace(text, instead)
        return value


Build = Callable[[World, int], Any]
"""Makes the request for a side and a version."""


@dataclass(frozen=True)
class Exchange:
    """One request, `build(world, version)`, in each of `versions`.

    `keep` may remember something of the decoded answer for later exchanges. `ignore` names fields that may differ,
    each with what allows it. `unordered` names lists of this answer that come in any order, as those in UNORDERED do;
    `by_kind` names values of it that each side chooses, as those in BY_KIND. `own_host` is the address that the broker
    sees.
    """

    name: str
    message: Message[Any]
    build: Build
    versions: Sequence[int] = ()
    keep: Callable[[World, Any], None] | None = None
    ignore: Mapping[str, Allowed] = field(default_factory=dict)
    unordered: frozenset[str] = frozenset()
    by_kind: frozenset[str] = frozenset()
    client_id: str | None = "replay"
    own_host: str = ""

    def each_version(self) -> Sequence[int]:
        return self.versions or list(all_versions(self.message))


Answers = dict[tuple[str, int], Any]
"""By exchange name and version."""
LeftOut = dict[tuple[str, str], list[Any]]
"""By exchange name and field: what was there in each answer that is not compared."""


def play(world: World, exchanges: Sequence[Exchange]) -> Answers:
    """Send everything in order, each request on a connection of its own."""
    answers: Answers = {}
    world.wait_until_known()
    for exchange in exchanges:
        for version in exchange.each_version():
            key = exchange.name, version
            assert key not in answers, f"two exchanges are called {exchange.name}"
            own_host = exchange.own_host
            with RawClient(world.bootstrap, exchange.client_id, ANSWER_TIMEOUT_S, own_host=own_host) as client:
                try:
                    answer = client.send(exchange.message, exchange.build(world, version), version)
                except ConnectionClosed:
                    answers[key] = CLOSED
                    continue
                except TimeoutError:
                    answers[key] = NO_ANSWER
                    continue
                except EncodeError as error:
                    raise AssertionError(f"{exchange.name} v{version} cannot be sent: {error}") from error
            if exchange.keep is not None:
                exchange.keep(world, answer)
            plain = world.plain[key] = world.without_own(as_plain(answer))
            ignored = {name: world.left_out.setdefault((exchange.name, name), []) for name in exchange.ignore}
            unordered, by_kind = UNORDERED.keys() | exchange.unordered, BY_KIND.keys() | exchange.by_kind
            answers[key] = normalise(plain, ignored, unordered, by_kind=by_kind)
    return answers


def needless(exchanges: Sequence[Exchange], apache: LeftOut, ours: LeftOut) -> list[str]:
    """Fields that need not be ignored any more: what was left out of all answers to an exchange is the same."""
    return [
        f"{exchange.name}: {name} ({reason.row})"
        for exchange in exchanges
        for name, reason in exchange.ignore.items()
        if not reason.by_chance and apache.get((exchange.name, name)) == ours.get((exchange.name, name))
    ]


def needed(apache: Mapping[tuple[str, int], Any], ours: Mapping[tuple[str, int], Any]) -> set[str]:
    """Of UNORDERED and BY_KIND, the names without which plain answers of the two sides would differ more than with."""
    pairs = [(apache[key], ours[key]) for key in apache.keys() & ours.keys() if apache[key] != ours[key]]

    def differing(unordered: Set[str], by_kind: Set[str]) -> int:
        return sum(
            normalise(theirs, {}, unordered, by_kind=by_kind) != normalise(own, {}, unordered, by_kind=by_kind)
            for theirs, own in pairs
        )

    unordered, by_kind = UNORDERED.keys(), BY_KIND.keys()
    at_best = differing(unordered, by_kind)
    return {
        *(name for name in unordered if differing(unordered - {name}, by_kind) > at_best),
        *(name for name in by_kind if differing(unordered, by_kind - {name}) > at_best),
    }


def normalise(
    value: Any,
    ignored: Mapping[str, list[Any]],
    unordered: Set[str],
    key: str = "",
    *,
    by_kind: Set[str] | None = None,
) -> Any:
    """What must be equal on both sides: ids and ports by kind, sets in a fixed order. What is ignored is kept apart."""
    by_kind = BY_KIND.keys() if by_kind is None else by_kind
    if key in ignored:
        ignored[key].append(value)
        return "<ignored>"
    if isinstance(value, dict):
        return {name: normalise(item, ignored, unordered, name, by_kind=by_kind) for name, item in value.items()}
    if isinstance(value, list):
        items = [normalise(item, ignored, unordered, key, by_kind=by_kind) for item in value]
        return sorted(items, key=repr) if key in unordered else items
    if isinstance(value, UUID) and value != NULL_UUID:
        return "<uuid>"
    if key in by_kind and value not in (None, "", -1):
        return f"<{key}>"
    if isinstance(value, str):
        return re.sub(r"127\.0\.0\.1:\d+", "<address>", value)
    return value


UNORDERED = dict.fromkeys(
    (
        "topics",
        "results",
        "partition_responses",
        "partition_result",
        "entries",
        "entity",
    ),
    allowed("hash-maps"),
)

BY_KIND = {
    **dict.fromkeys(
        ("cluster_id", "port", "log_append_time_ms", "session_id", "member_id", "leader"), allowed("ids-and-times")
    ),
    "documentation": allowed("documentation-texts"),
}
"""Values that each side chooses for itself, where there are some."""
