"""Transactional calls at random: three ids, a topic of three partitions, two groups; most of them make sense.

What is asked depends on chance alone, so that both sides are asked the same; ids, epochs and sequences are those that
each side has told. No produce comes from an epoch of the future: it leaves a transaction stuck for ever
(`transactions.STUCK_FOREVER`); and no offsets come from one of the past (`transactions.ZOMBIE`).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from kafka_zk.protocol.message import Message
from tests.interop.replay.scenario import Exchange, World
from tests.interop.replay.transaction_calls import (
    PARTITIONS,
    TOPIC,
    Wanted,
    add,
    add_as_a_broker,
    add_offsets,
    commit_offset,
    describe_producers,
    end,
    fetch,
    fetch_offset,
    init,
    list_offsets,
    list_transactions,
    owner_of,
    produce,
    remember_owner,
    write_marker,
)
from tests.interop.replay.transactions import (
    ADD,
    ADD_OFFSETS,
    BEGINNING,
    COMMIT,
    COMMITTED,
    DESCRIBE,
    END,
    EVENLY,
    FETCH,
    INIT,
    LIST,
    MARK,
    OFFSETS,
    PRODUCE,
    PRODUCERS,
    STATES,
    call,
    describe,
)

TXNS = ("red", "green", "blue")
GROUPS = ("left", "right")
CONCURRENT_TRANSACTIONS = 51
EPOCHS = (0,) * 12 + (-1, 1)
PAST_EPOCHS = (0,) * 12 + (-1,)
TIMESTAMPS = (-1, -2)


# --- what later calls need of an answer ------------------------------------------------------------------------------


def sequences(world: World, txn: str) -> defaultdict[int, int]:
    """The next sequence by partition."""
    found: defaultdict[int, int] = world.remembered.setdefault(f"sequences of {txn}", defaultdict(int))
    return found


def pending(world: World, group: str) -> set[int]:
    """The producers of offsets whose transaction goes on."""
    found: set[int] = world.remembered.setdefault(f"pending of {group}", set())
    return found


def forget_pending(world: World, txn: str) -> None:
    for group in GROUPS:
        pending(world, group).discard(owner_of(world, txn).producer_id)


def keep_init(txn: str) -> Callable[[World, Any], None]:
    def keep(world: World, answer: Any) -> None:
        if answer.error_code == CONCURRENT_TRANSACTIONS:
            forget_pending(world, txn)
        if not answer.error_code:
            sequences(world, txn).clear()
        remember_owner(txn)(world, answer)

    return keep


def keep_end(txn: str) -> Callable[[World, Any], None]:
    def keep(world: World, answer: Any) -> None:
        if not answer.error_code:
            forget_pending(world, txn)

    return keep


def keep_produced(txn: str, partition: int, count: int) -> Callable[[World, Any], None]:
    def keep(world: World, answer: Any) -> None:
        if not answer.responses[0].partition_responses[0].error_code:
            sequences(world, txn)[partition] += count

    return keep


def keep_commit(txn: str, group: str) -> Callable[[World, Any], None]:
    def keep(world: World, answer: Any) -> None:
        if not answer.topics[0].partitions[0].error_code:
            pending(world, group).add(owner_of(world, txn).producer_id)

    return keep


# --- the calls -------------------------------------------------------------------------------------------------------


class Calls:
    """Draws one exchange after the other."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._count = 0
        self._kinds: dict[Callable[[], Exchange], int] = {
            self.init: 2,
            self.add: 16,
            self.produce: 30,
            self.add_offsets: 12,
            self.commit: 18,
            self.end: 10,
            self.verify: 3,
            self.mark: 2,
            self.look: 22,
        }

    def first(self) -> list[Exchange]:
        """Each id has a producer."""
        return [call(f"init {txn} first", INIT, init(txn), EVENLY[INIT][-1:], keep_init(txn)) for txn in TXNS]

    def draw(self) -> Exchange:
        (kind,) = self._chance.choices(list(self._kinds), list(self._kinds.values()))
        self._count += 1
        return kind()

    def _call(self, name: str, message: Message[Any], build: Any, keep: Any = None) -> Exchange:
        version = self._chance.choice(EVENLY[message])
        return call(f"{self._count}: {name}", message, build, (version,), keep)

    def _txn(self) -> str:
        return self._chance.choice(TXNS)

    def _partitions(self) -> list[int]:
        return self._chance.sample(range(PARTITIONS), self._chance.randint(1, PARTITIONS))

    def init(self) -> Exchange:
        txn, ahead = self._txn(), self._chance.choice((None, None, 0, -1, 1))
        message, versions = INIT, EVENLY[INIT]
        # Only from version 3 on a producer says who it was.
        version = self._chance.choice(versions if ahead is None else versions[3:])
        build = init(txn, ahead=ahead, timeout_ms=self._chance.choice((60_000, 300_000)))
        return call(f"{self._count}: init {txn} {ahead}", message, build, (version,), keep_init(txn))

    def add(self) -> Exchange:
        txn, ahead = self._txn(), self._chance.choice(EPOCHS)
        return self._call(f"add {txn} {ahead}", ADD, add(txn, {TOPIC: self._partitions()}, ahead=ahead))

    def produce(self) -> Exchange:
        txn, partition, count = self._txn(), self._chance.randrange(PARTITIONS), self._chance.randint(1, 3)
        ahead, skipped = self._chance.choice(PAST_EPOCHS), self._chance.choice((0,) * 9 + (1,))

        def build(world: World, version: int) -> Any:
            sequence = sequences(world, txn)[partition] + skipped
            return produce(txn, partition, sequence, ahead=ahead, count=count)(world, version)

        name = f"produce {count} to {partition} by {txn} {ahead}, {skipped} left out"
        return self._call(name, PRODUCE, build, keep_produced(txn, partition, count))

    def add_offsets(self) -> Exchange:
        txn, group, ahead = self._txn(), self._chance.choice(GROUPS), self._chance.choice(EPOCHS)
        return self._call(f"add {group} to {txn} {ahead}", ADD_OFFSETS, add_offsets(txn, group, ahead=ahead))

    def commit(self) -> Exchange:
        txn, group = self._txn(), self._chance.choice(GROUPS)
        build = commit_offset(txn, group, self._count)
        return self._call(f"offset of {group} by {txn}", COMMIT, build, keep_commit(txn, group))

    def end(self) -> Exchange:
        txn, committed, ahead = self._txn(), self._chance.random() < 0.6, self._chance.choice(EPOCHS)
        build = end(txn, committed=committed, ahead=ahead)
        return self._call(f"end {txn} {ahead} {committed}", END, build, keep_end(txn))

    def verify(self) -> Exchange:
        wanted = [
            Wanted(txn, {TOPIC: self._partitions()}, ahead=self._chance.choice(EPOCHS))
            for txn in self._chance.sample(TXNS, self._chance.randint(1, 2))
        ]
        return call(f"{self._count}: verify", ADD, add_as_a_broker(*wanted), (self._chance.choice((4, 5)),))

    def mark(self) -> Exchange:
        """By a stranger, but with an epoch that is known: a later one would fence the producer."""
        txn, committed, ahead = self._txn(), self._chance.random() < 0.5, self._chance.choice(PAST_EPOCHS)
        build = write_marker({TOPIC: self._partitions()}, committed=committed, txn=txn, ahead=ahead)
        return self._call(f"mark {txn} {ahead} {committed}", MARK, build)

    def look(self) -> Exchange:
        level, partition, group = self._chance.randrange(2), self._chance.randrange(PARTITIONS), self._group()
        message, build = self._chance.choice(
            (
                (DESCRIBE, describe(*TXNS)),
                (LIST, list_transactions(self._chance.sample(STATES, 2))),
                (LIST, list_transactions(of=[self._txn()])),
                (PRODUCERS, describe_producers({TOPIC: range(PARTITIONS)})),
                (FETCH, fetch(partition, self._chance.choice((0, 0, 1, 5)), level)),
                (OFFSETS, list_offsets(self._chance.choice(TIMESTAMPS), level)),
                (COMMITTED, self._fetch_offset(group, stable=self._chance.random() < 0.5)),
            )
        )
        return self._call("look", message, build)

    def _group(self) -> str:
        return self._chance.choice(GROUPS)

    def _fetch_offset(self, group: str, *, stable: bool) -> Any:
        def build(world: World, version: int) -> Any:
            is_pending = bool(pending(world, group))
            return fetch_offset(group, stable=stable, is_pending=is_pending)(world, version)

        return build


def drawn(seed: int, count: int) -> tuple[Exchange, ...]:
    """The beginning that all scenarios have, then `count` calls."""
    calls = Calls(random.Random(seed))
    return (*BEGINNING, *calls.first(), *(calls.draw() for _ in range(count)))
