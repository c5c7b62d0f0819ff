"""Groups beside Apache: `python -m bench.groups`. Heartbeats of 5,000 members, commits, a partition that is loaded.

Our broker and Apache Kafka 3.9.1 on one ZooKeeper, one after the other, with the same requests.
"""

from __future__ import annotations

import argparse
import re
import resource
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.brokers import Broker, apache_broker, our_broker
from bench.load import Exchange, ask, run
from bench.process import cpu_seconds, run_bench
from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.describe_groups import DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FindCoordinatorRequest
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HeartbeatRequest
from kafka_zk.protocol.messages.join_group import (
    JOIN_GROUP_REQUEST,
    JOIN_GROUP_RESPONSE,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from kafka_zk.protocol.messages.offset_commit import (
    OFFSET_COMMIT_REQUEST,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_zk.protocol.messages.sync_group import SYNC_GROUP_REQUEST, SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import EmbeddedZooKeeper

GROUPS, MEMBERS_PER_GROUP = 500, 10
HEARTBEAT_S = 3.0
TICKS_PER_SECOND = 50
CORE_SHARE_FLOOR = 0.10

COMMITTERS, COMMITS_IN_FLIGHT = 50, 4
COMMITS_FLOOR = 20_000

LOADED_OFFSETS, OFFSETS_PER_COMMIT = 1_000_000, 200
LOAD_FLOOR_S = 5.0
FILL_S = 120
LOADED_LINE = re.compile(r"Finished (?:the load|loading offsets and group metadata).*? in (\d+) milliseconds")

TOPIC = "bench-groups"
OVERRIDES = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "3000",
    "max.connections.per.ip": "20000",
    "socket.listen.backlog.size": "1000",
}
JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, COMMIT_VERSION = 3, 2, 3, 8


class Figures(NamedTuple):
    """Of one broker: shares of a core, requests a second, seconds."""

    heartbeats_a_second: float
    heartbeat_core_share: float
    commits_a_second: float
    commit_cpu_us: float
    load_s: float
    start_and_load_cpu_s: float


def frame(message: Message[Any], request: Any, version: int) -> bytes:
    assert message.api_key is not None
    head = encode_request_header(message.api_key, version, 1, "bench")
    body = message.encode(request, version)
    return struct.pack(">i", len(head) + len(body)) + head + body


# --- members ---------------------------------------------------------------------------------------------------------


class Member:
    """One member with a connection of its own, as a client has."""

    def __init__(self, port: int, group: str) -> None:
        self.group = group
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.id = self.leader = ""
        self.generation = -1
        self.heartbeat = b""

    def ask_to_join(self) -> None:
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=300_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(32))],
        )
        self.socket.sendall(frame(JOIN_GROUP_REQUEST, request, JOIN_VERSION))

    def take_join(self) -> None:
        answer = JOIN_GROUP_RESPONSE.decode(self.take()[4:], JOIN_VERSION)
        assert not answer.error_code, answer
        self.id, self.leader, self.generation = answer.member_id, answer.leader, answer.generation_id
        request = HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.id)
        self.heartbeat = frame(HEARTBEAT_REQUEST, request, HEARTBEAT_VERSION)

    def ask_to_sync(self, members: Sequence[Member]) -> None:
        assignments = [SyncGroupRequestAssignment(member_id=each.id, assignment=bytes(32)) for each in members]
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.id,
            assignments=assignments if self.id == self.leader else [],
        )
        self.socket.sendall(frame(SYNC_GROUP_REQUEST, request, SYNC_VERSION))

    def take(self) -> bytes:
        """A whole answer without its size."""
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
            received = self.socket.recv(65536)
            assert received, "the broker closed the connection"
            data += received
        return data[4:]


def gather(port: int) -> list[Member]:
    """All groups stable, each member with its heartbeat ready."""
    members = [Member(port, f"beating-{number % GROUPS}") for number in range(GROUPS * MEMBERS_PER_GROUP)]
    for member in members:
        member.ask_to_join()
    for member in members:
        member.take_join()
    by_group: dict[str, list[Member]] = {}
    for member in members:
        by_group.setdefault(member.group, []).append(member)
    for member in members:
        member.ask_to_sync(by_group[member.group])
    for member in members:
        member.take()
    assert {len(each) for each in by_group.values()} == {MEMBERS_PER_GROUP}
    return members


def beat(members: Sequence[Member], seconds: float) -> int:
    """Heartbeats evenly spread over time; how many were answered well."""
    count = 0
    a_tick = len(members) / HEARTBEAT_S / TICKS_PER_SECOND
    started = time.monotonic()
    for tick in range(int(seconds * TICKS_PER_SECOND)):
        chosen = [members[i % len(members)] for i in range(int(tick * a_tick), int((tick + 1) * a_tick))]
        for member in chosen:
            member.socket.sendall(member.heartbeat)
        for member in chosen:
            assert struct.unpack(">h", member.take()[8:10]) == (0,), "a member was put out"
        count += len(chosen)
        time.sleep(max(0.0, started + (tick + 1) / TICKS_PER_SECOND - time.monotonic()))
    return count


def heartbeats(broker: Broker, seconds: float) -> tuple[float, float]:
    members = gather(broker.port)
    try:
        beat(members, seconds / 2)
        before_s, started = cpu_seconds(broker.pid), time.monotonic()
        count = beat(members, seconds)
        took = time.monotonic() - started
        return count / took, (cpu_seconds(broker.pid) - before_s) / took
    finally:
        for member in members:
            member.socket.close()


# --- offsets ---------------------------------------------------------------------------------------------------------


def commit_frame(group: str, partitions: range) -> bytes:
    lines = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=7, committed_metadata="")
        for index in partitions
    ]
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=lines)
    return frame(OFFSET_COMMIT_REQUEST, OffsetCommitRequest(group_id=group, topics=[topic]), COMMIT_VERSION)


def commits(broker: Broker, seconds: float) -> tuple[float, float]:
    """Commits a second of many clients, and the broker's CPU microseconds for one."""
    exchanges = []
    for number in range(COMMITTERS):
        sent = commit_frame(f"committing-{number}", range(1))
        answer = ask(broker.port, sent)
        assert answer[-5:-3] == b"\0\0", f"a commit was refused: {answer.hex()}"
        exchanges.append([Exchange(sent, len(answer) + 4)])
    run(broker.port, exchanges, in_flight=COMMITS_IN_FLIGHT, seconds=seconds / 2)
    before_s = cpu_seconds(broker.pid)
    outcome = run(broker.port, exchanges, in_flight=COMMITS_IN_FLIGHT, seconds=seconds)
    return outcome.per_second, (cpu_seconds(broker.pid) - before_s) / outcome.answered_count * 1e6


def load(broker: Broker) -> tuple[float, float]:
    """Seconds, by the broker's own word, that a million offsets take after a restart; its CPU seconds until then."""
    frames = [
        commit_frame(f"loaded-{number}", range(OFFSETS_PER_COMMIT))
        for number in range(LOADED_OFFSETS // OFFSETS_PER_COMMIT)
    ]
    answer_bytes = len(ask(broker.port, frames[0])) + 4
    exchanges = [Exchange(each, answer_bytes) for each in frames]
    # On one connection, so that each frame is sent once.
    run(broker.port, [exchanges], in_flight=8, seconds=FILL_S, max_count=len(frames))
    broker.stop()
    loads_before = len(LOADED_LINE.findall(broker.log()))
    broker.start()
    wait_until(lambda: len(LOADED_LINE.findall(broker.log())) > loads_before, f"{broker.name} has loaded")
    return max(map(int, LOADED_LINE.findall(broker.log())[loads_before:])) / 1000, cpu_seconds(broker.pid)


# --- both ------------------------------------------------------------------------------------------------------------


def coordinator_is_there(broker: Broker) -> bool:
    with RawClient(broker.bootstrap) as client:
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        if client.send(FIND_COORDINATOR_REQUEST, request, 4).coordinators[0].error_code:
            return False
        return not client.send(DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest(groups=["g"]), 4).groups[0].error_code


def measure(broker: Broker, seconds: float, parts: Sequence[str]) -> Figures:
    def say(what: str) -> None:
        print(f"{broker.name}: {what}", flush=True)

    broker.start()
    try:
        broker.create_topic(TOPIC, OFFSETS_PER_COMMIT)
        wait_until(lambda: coordinator_is_there(broker), f"the coordinator of {broker.name} has loaded")
        nothing = float("nan")
        beats, share = heartbeats(broker, 2 * seconds) if "heartbeats" in parts else (nothing, nothing)
        say(f"{beats:,.0f} heartbeats a second take {share:.1%} of a core")
        a_second, cpu_us = commits(broker, seconds) if "commits" in parts else (nothing, nothing)
        say(f"{a_second:,.0f} commits a second, {cpu_us:.0f} us of CPU each")
        load_s, load_cpu_s = load(broker) if "load" in parts else (nothing, nothing)
        say(f"{LOADED_OFFSETS:,} offsets loaded in {load_s:.2f} s; {load_cpu_s:.1f} s of CPU with the start")
        return Figures(beats, share, a_second, cpu_us, load_s, load_cpu_s)
    finally:
        broker.stop()


def missed(ours: Figures) -> Iterator[str]:
    if ours.heartbeat_core_share > CORE_SHARE_FLOOR:
        yield f"heartbeats took {ours.heartbeat_core_share:.1%} of a core, not {CORE_SHARE_FLOOR:.0%}"
    if ours.commits_a_second < COMMITS_FLOOR:
        yield f"{ours.commits_a_second:,.0f} commits a second, not {COMMITS_FLOOR:,}"
    if ours.load_s > LOAD_FLOOR_S:
        yield f"a load took {ours.load_s:.1f} s, not {LOAD_FLOOR_S:.0f}"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m bench.groups", description=__doc__)
    options.add_argument("--seconds", type=float, default=4, help="seconds of commits; heartbeats run twice as long")
    options.add_argument("--only", choices=("heartbeats", "commits", "load"), action="append")
    options.add_argument("--ours-alone", action="store_true")
    options.add_argument("--check", action="store_true", help="exit 1 when a floor of docs/performance.md is missed")
    chosen = options.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    kinds: list[Callable[[Path, str, Mapping[str, str]], Broker]] = [our_broker]
    if not chosen.ours_alone:
        kinds.append(apache_broker)
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder:
        zookeeper = EmbeddedZooKeeper(Path(folder) / "zookeeper")
        try:
            zookeeper.start()
            for kind in kinds:
                broker = kind(Path(folder) / kind.__name__, zookeeper.connect, OVERRIDES)
                found[broker.name] = measure(broker, chosen.seconds, chosen.only or ("heartbeats", "commits", "load"))
        finally:
            zookeeper.stop()
    print(f"{'':32s}" + "".join(f"{name:>16s}" for name in found))
    for field in Figures._fields:
        values = [getattr(figures, field) for figures in found.values()]
        print(f"{field.replace('_', ' '):32s}" + "".join(f"{value:16,.3f}" for value in values))
    sentences = list(missed(next(iter(found.values()))))
    for sentence in sentences:
        print(f"floor missed: {sentence}")
    return 1 if sentences and chosen.check else 0


if __name__ == "__main__":
    run_bench(main)
