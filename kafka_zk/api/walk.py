"""Walking a request's topics and partitions once, and turning each failure into that partition's code.

Role        Handlers give the three things that differ: who may, what to do with one partition, and how one partition's
            answer looks when it failed. Order and duplicates of the request are kept.
Invariants  One partition's failure never touches another's answer. What is not a BrokerError is our bug: it is logged
            with its traceback and answered with code -1.
Source      The loops of KafkaApis.handle* in Kafka 3.9.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from kafka_zk.giving_way import in_turns
from kafka_zk.network.errors import CloseConnection
from kafka_zk.protocol.errors import BrokerError, TopicAuthorizationFailed

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")

log = logging.getLogger("kafka.server.KafkaApis")


def per_partition(
    topics: Iterable[T],
    act: Callable[[T, P], R],
    refuse: Callable[[T, P, BrokerError], R],
    *,
    may: Callable[[str], bool] | None = None,
    name_of: Callable[[T], str] = attrgetter("name"),
    partitions_of: Callable[[T], Sequence[P]] = attrgetter("partitions"),
) -> list[tuple[T, list[R]]]:
    """Blocks in turns, and as `act` does. Each topic with the answers of its partitions, in the request's order.

    `act(topic, partition)` answers one partition or raises; `refuse(topic, partition, error)` makes the answer of a
    failure. Where `may(topic name)` is false, all its partitions are refused with TOPIC_AUTHORIZATION_FAILED.
    """
    answers: list[tuple[T, list[R]]] = []
    for topic in in_turns(topics):
        if may is not None and not may(name_of(topic)):
            denied = TopicAuthorizationFailed()
            answers.append((topic, [refuse(topic, partition, denied) for partition in in_turns(partitions_of(topic))]))
        else:
            answers.append(
                (topic, [_attempt(topic, partition, act, refuse) for partition in in_turns(partitions_of(topic))])
            )
    return answers


def per_item(items: Iterable[T], act: Callable[[T], R], refuse: Callable[[T, BrokerError], R]) -> list[R]:
    """Blocks in turns, and as `act` does. The same for requests that name topics, groups or resources only."""
    return [
        _attempt(None, item, lambda _, item: act(item), lambda _, item, error: refuse(item, error))
        for item in in_turns(items)
    ]


def once_each(key: Callable[[T], Hashable], act: Callable[[T], R]) -> Callable[[T], R]:
    """`act`, done once for all items of one `key`: equal items get the same answer, or fail alike."""
    known: dict[Hashable, R | BrokerError] = {}

    def answer(item: T) -> R:
        asked = key(item)
        found = known.get(asked, known)
        if found is known:
            try:
                found = act(item)
            except BrokerError as error:
                found = error
            known[asked] = found
        if isinstance(found, BrokerError):
            raise found
        return found  # type: ignore[return-value]

    return answer


def _attempt(topic: Any, partition: P, act: Callable[[Any, P], R], refuse: Callable[[Any, P, BrokerError], R]) -> R:
    try:
        return act(topic, partition)
    except BrokerError as error:
        return refuse(topic, partition, error)
    except CloseConnection:
        raise
    except Exception:
        # A bug of ours in one partition: what was done for the others must still be answered.
        log.exception("Unexpected error while handling %r of %r", partition, topic)
        return refuse(topic, partition, unknown_server_error())


def unknown_server_error() -> BrokerError:
    """What clients get to see of a bug of ours."""
    return BrokerError()
