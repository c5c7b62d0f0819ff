"""kill -9 of a member and of the broker while a group reads: every record is read, and committed positions count."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.client.consumer.records import ConsumerRecord
from tests.integration.consumer.conftest import PARTITIONS, MakeTopic, produce
from tests.support.broker import OurBroker
from tests.support.our_consumer import PATIENCE_S, Consumers
from tests.support.processes import ChildProcess, wait_until

RECORDS = 400


class Member:
    """The program consumer_member.py."""

    def __init__(self, folder: Path, broker: OurBroker, topic: str, group: str) -> None:
        command = [sys.executable, "-m", "tests.support.consumer_member", broker.bootstrap, topic, group]
        self.process = ChildProcess(command, folder / "member.log")

    def said(self, word: str) -> list[tuple[int, int]]:
        """(partition, offset) each time; a line that the kill cut off counts for nothing."""
        whole = self.process.output().rpartition("\n")[0].splitlines()
        found = (line.split() for line in whole)
        return [(int(words[1]), int(words[2])) for words in found if len(words) == 3 and words[0] == word]


@pytest.fixture
def member(broker: OurBroker, topic: MakeTopic, tmp_path: Path) -> Iterator[Member]:
    made = Member(tmp_path, broker, topic(RECORDS, name="kills"), "kills")
    yield made
    made.process.kill()


def test_nothing_is_lost_when_a_member_and_then_the_broker_is_killed(
    broker: OurBroker, consumers: Consumers, member: Member
) -> None:
    member.process.start()
    wait_until(lambda: len(member.said("committed")) >= 10, "the first member commits")
    member.process.kill()
    theirs, committed = set(member.said("read")), dict(member.said("committed"))

    survivor = consumers(group_id="kills", max_poll_records=10, session_timeout_ms=1500)
    survivor.subscribe(["kills"])
    read: list[ConsumerRecord] = []
    deadline_s = time.monotonic() + 2 * PATIENCE_S
    killed = False
    while len(theirs | {(record.partition, record.offset) for record in read}) < RECORDS + 40:
        assert time.monotonic() < deadline_s, f"{len(read)} records read of {RECORDS}"
        fresh = list(survivor.poll(0.2))
        read += fresh
        if fresh and not killed:
            killed = True
            broker.kill()
            read += survivor.poll(0)
            broker.start()
            produce(broker, "kills", range(RECORDS, RECORDS + 40))

    for partition in range(PARTITIONS):
        offsets = [record.offset for record in read if record.partition == partition]
        # What was committed is not read again.
        assert min(offsets) >= committed.get(partition, 0)
