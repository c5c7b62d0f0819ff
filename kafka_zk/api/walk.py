"""Walks a request's topics and partitions, and turns each failure into that partition's error code.

Role        Handlers provide what differs: the authorization, the action on one partition, and the error response of
            one partition. Order and duplicates of the request are kept.
Invariants  One partition's failure never affects another's response. Other errors than BrokerError are our bugs: logged
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
A = TypeVar("A")
P = TypeVar("P")
R = TypeVar("R")

IN_WORDS = 1_000
"""Number of failures in one request that get a message."""

log = logging.getLogger("kafka.server.KafkaApis")


def per_partition(
    topics: Iterable[T],
    act: Callable[[T, P], R],
    refuse: Callable[[T, P, BrokerError], R],
    answer: Callable[[str, list[R]], A],
    *,
    may: Callable[[str], bool] | None = None,
    name_of: Callable[[T], str] = attrgetter("name"),
    partitions_of: Callable[[T], Sequence[P]] = attrgetter("partitions"),
) -> list[A]:
    """Yields to other greenlets, and blocks as `act`. Returns the answers of all topics, in the request's order.

    `act(topic, partition)` answers one partition or raises; `refuse(topic, partition, error)` builds the answer of a
    failure; `answer(topic name, partitions' answers)` that of a topic. If `may(topic name)` is false, all its
    partitions are refused with TOPIC_AUTHORIZATION_FAILED.
    """
    answers: list[A] = []
    empty: tuple[str, A] | None = None
    for topic in in_turns(topics):
        name, partitions = name_of(topic), partitions_of(topic)
        if not partitions:
            # A request may repeat a topic without partitions: that is one answer.
            if empty is None or empty[0] != name:
                empty = name, answer(name, [])
            answers.append(empty[1])
        elif may is not None and not may(name):
            denied = TopicAuthorizationFailed()
            answers.append(answer(name, [refuse(topic, partition, denied) for partition in in_turns(partitions)]))
        else:
            answers.append(
                answer(name, [_attempt(topic, partition, act, refuse) for partition in in_turns(partitions)])
            )
    return answers


def per_item(items: Iterable[T], act: Callable[[T], R], refuse: Callable[[T, BrokerError], R]) -> list[R]:
    """Yields to other greenlets, and blocks as `act`. For requests that name topics, groups or resources only."""
    refusal = _Refusal(refuse)
    return [_attempt(None, item, lambda _, item: act(item), refusal.of) for item in in_turns(items)]


def per_distinct(
    items: Iterable[T], key: Callable[[T], Hashable], act: Callable[[T], R], refuse: Callable[[T, BrokerError], R]
) -> list[R]:
    """Blocks as `per_item`. Items with equal `key` share one answer: a request may repeat them many times."""
    done: dict[Hashable, R] = {}
    refused: dict[Hashable, R] = {}
    refusal = _Refusal(refuse)
    answers: list[R] = []
    for item in in_turns(items):
        asked = key(item)
        if asked in done:
            answers.append(done[asked])
        elif asked in refused and refusal.count != IN_WORDS:
            answers.append(refused[asked])
            refusal.count += 1
        else:
            if refusal.count == IN_WORDS:
                refused.clear()
            before = refusal.count
            answer = _attempt(None, item, lambda _, item: act(item), refusal.of)
            answers.append(answer)
            if refusal.count == before:
                done[asked] = answer
            elif len(refused) < IN_WORDS:
                refused[asked] = answer
    return answers


class _Refusal:
    """Refuses items of one request. Of many failures only the first have a message: the answer would be large."""

    __slots__ = ("_refuse", "count")

    def __init__(self, refuse: Callable[[Any, BrokerError], Any]) -> None:
        self._refuse = refuse
        self.count = 0

    def of(self, _: Any, item: Any, error: BrokerError) -> Any:
        self.count += 1
        return self._refuse(item, error if self.count <= IN_WORDS else type(error)(""))


def _attempt(topic: Any, partition: P, act: Callable[[Any, P], R], refuse: Callable[[Any, P, BrokerError], R]) -> R:
    try:
        return act(topic, partition)
    except BrokerError as error:
        return refuse(topic, partition, error)
    except CloseConnection:
        raise
    except Exception:
        # A bug of ours in one partition: the others must still be answered.
        log.exception("Unexpected error while handling %r of %r", partition, topic)
        return refuse(topic, partition, unknown_server_error())


def unknown_server_error() -> BrokerError:
    """The error that clients get for a bug of ours."""
    return BrokerError()
