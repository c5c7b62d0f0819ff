"""Garbage, crowds and idlers on the port of a whole broker: the others do not notice, and memory stays what it was."""

from __future__ import annotations

import os
import random
import resource
import socket
import statistics
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from crc32c import crc32c

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import api_versions, fetch, produce
from kafka_zk.record.batch import CRC_AT, CRC_FROM, HEADER_SIZE, LOG_OVERHEAD
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.record import Record
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

TOPIC = "crowd"
CROWD = 1000
KILOBYTE = 1 << 10
MEGABYTE = 1 << 20
LENGTH_AT = 8  # of a batch: the bytes behind its offset and length
MAX_REQUEST_BYTES = 104_857_600

GARBAGE = {
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: broker:9092\r\nUser-Agent: curl/8\r\n\r\n",
    "a TLS hello": bytes.fromhex("16030100c8010000c40303") + bytes(200),
    "a negative size": struct.pack(">i", -1) + b"abc",
    "an oversized frame": struct.pack(">i", MAX_REQUEST_BYTES + 1) + b"abc",
    "random bytes": b"\xff" + random.Random(5).randbytes(300),
    "an unknown api key": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "an unknown version": struct.pack(">ihhih", 10, 0, 99, 1, -1),
    "an empty frame": struct.pack(">i", 0),
    "a body that ends too early": struct.pack(">ihhih", 10, 0, 7, 1, -1),
    "a body of random bytes": struct.pack(">ihhih", 310, 1, 11, 1, -1) + random.Random(6).randbytes(300),
}
REFUSALS = ("closing connection: ", "Closing socket for ")


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # With the default backlog of 50 some of a thousand connects are sent again after a second.
    overrides = {"socket.listen.backlog.size": "1024"}
    running = OurBroker(tmp_path_factory.mktemp("crowd"), fresh_chroot(zookeeper, "crowd"), overrides=overrides).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC)
    yield running
    running.kill()
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def connect(broker: OurBroker, *, receive_buffer_bytes: int | None = None) -> socket.socket:
    connection = socket.socket()
    if receive_buffer_bytes is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    connection.settimeout(20)
    connection.connect(("127.0.0.1", broker.port))
    return connection


def is_closed_by_the_broker(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def refusals(broker: OurBroker) -> list[str]:
    return [line for line in broker.process.output().splitlines() if any(words in line for words in REFUSALS)]


def produce_times_ms(broker: OurBroker, client: RawClient, count: int = 100) -> list[float]:
    """How long each of some produces took, but for the time in which broker or test were ready and no core was free."""
    times = []
    for _ in range(count):
        began, waited_ns = time.perf_counter_ns(), queued_ns(broker.process.pid) + queued_ns(os.getpid())
        wire.write(client, TOPIC, [b"value"], acks=-1)
        waited_ns = queued_ns(broker.process.pid) + queued_ns(os.getpid()) - waited_ns
        times.append((time.perf_counter_ns() - began - waited_ns) / 1e6)
    return times


def queued_ns(pid: int) -> int:
    """How long the main thread of a process has waited for a core since its start: what the load of a machine takes."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1])


def assert_nobody_waits(times_ms: Sequence[float]) -> None:
    # What is left is work of the loop, and what it waits for. Whoever stalls it stalls it for far longer.
    assert statistics.median(times_ms) < 20
    assert max(times_ms) < 1000


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_ends_its_connection_with_one_line_and_no_one_elses(broker: OurBroker, kind: str) -> None:
    before = broker.process.output()
    lines_before = len(refusals(broker))
    with RawClient(broker.bootstrap) as other, closing(connect(broker)) as bad:
        wire.write(other, TOPIC, [b"before"])
        host, port = bad.getsockname()
        bad.sendall(GARBAGE[kind])
        assert is_closed_by_the_broker(bad)
        wire.write(other, TOPIC, [b"after"])
    wait_until(lambda: len(refusals(broker)) > lines_before, "the refusal is logged")
    said = broker.process.output()[len(before) :]
    (line,) = [line for line in said.splitlines() if f"-{host}:{port}-" in line]
    assert " WARN " in line or " ERROR " in line
    assert "Traceback" not in said


@pytest.mark.alone
def test_a_flood_of_garbage_costs_a_line_each_and_no_memory(broker: OurBroker) -> None:
    chance = random.Random(7)
    lines_before = len(refusals(broker))
    with RawClient(broker.bootstrap) as other:
        produce_times_ms(broker, other)
        resident = broker.process.resident_bytes
        times_ms: list[float] = []
        for _ in range(20):
            with ExitStack() as crowd:
                for _ in range(50):
                    bad = crowd.enter_context(closing(connect(broker)))
                    bad.sendall(b"\xff" + chance.randbytes(200))
                times_ms += produce_times_ms(broker, other, 5)
        wait_until(lambda: len(refusals(broker)) >= lines_before + 1000, "all are refused")
        assert len(refusals(broker)) == lines_before + 1000
        assert_nobody_waits(times_ms)
        assert broker.process.resident_bytes - resident < 10 * MEGABYTE


def test_a_frame_in_two_halves_with_a_pause_between_is_a_frame(broker: OurBroker) -> None:
    request = struct.pack(">ihhih", 10, 18, 0, 77, -1)
    with RawClient(broker.bootstrap) as other, closing(connect(broker)) as slow:
        for cut in range(1, len(request)):
            slow.sendall(request[:cut])
            wire.write(other, TOPIC, [b"in between"])
            slow.sendall(request[cut:])
            size, correlation_id = struct.unpack(">ii", slow.recv(8, socket.MSG_WAITALL))
            assert correlation_id == 77
            slow.recv(size - 4, socket.MSG_WAITALL)


@pytest.mark.alone
def test_half_open_connections_by_the_thousand_cost_little_and_delay_nobody(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as other, ExitStack() as crowd:
        produce_times_ms(broker, other)
        resident, sockets = broker.process.resident_bytes, broker.process.open_sockets
        half_open = [crowd.enter_context(closing(connect(broker))) for _ in range(CROWD)]
        for connection in half_open:
            # Announced: 100 MB. Sent: a few bytes of a produce.
            connection.sendall(struct.pack(">ihhi", MAX_REQUEST_BYTES, 0, 9, 1))
        wait_until(lambda: broker.process.open_sockets >= sockets + CROWD, "all are accepted")
        assert_nobody_waits(produce_times_ms(broker, other))
        grown = broker.process.resident_bytes - resident
        assert grown < CROWD * 60 * KILOBYTE, f"{grown / CROWD / KILOBYTE:.1f} KB a connection"
        crowd.close()
        wait_until(lambda: broker.process.open_sockets <= sockets, "the broker has closed its ends")
        assert_nobody_waits(produce_times_ms(broker, other))


@pytest.mark.alone
def test_a_thousand_clients_that_have_asked_and_wait_cost_less_than_60_kb_each(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as other, ExitStack() as crowd:
        produce_times_ms(broker, other)
        resident = broker.process.resident_bytes
        clients = [crowd.enter_context(RawClient(broker.bootstrap)) for _ in range(CROWD)]
        for client in clients:
            client.send(api_versions.API_VERSIONS_REQUEST, api_versions.ApiVersionsRequest(), 3)
        assert_nobody_waits(produce_times_ms(broker, other))
        grown = broker.process.resident_bytes - resident
        assert grown < CROWD * 60 * KILOBYTE, f"{grown / CROWD / KILOBYTE:.1f} KB a connection"


@pytest.mark.alone
def test_a_slow_reader_of_a_big_fetch_holds_up_nobody_and_gets_every_byte(broker: OurBroker) -> None:
    topic, batch = "slow-reader", random.Random(8).randbytes(900 * KILOBYTE)
    with RawClient(broker.bootstrap) as other:
        wire.create_topic(other, topic)
        for _ in range(20):
            wire.write(other, topic, [batch])
        with ExitStack() as crowd:
            slow = [crowd.enter_context(RawClient(broker.bootstrap, receive_buffer_bytes=4096)) for _ in range(10)]
            resident = broker.process.resident_bytes
            request = wire.fetch_request(topic, 0, max_bytes=20 * MEGABYTE)
            for reader in slow:
                reader.post(fetch.FETCH_REQUEST, request, 11)
            assert_nobody_waits(produce_times_ms(broker, other))
            assert [record.value for record in wire.read(other, topic)] == [batch] * 20
            assert broker.process.resident_bytes - resident < 10 * MEGABYTE
            answer = fetch.FETCH_RESPONSE.decode(slow[0].receive_frame(), 11, 4)
            assert [record.value for record in wire.fetched(answer)[1]] == [batch] * 20


def test_readers_that_leave_in_the_middle_of_a_big_fetch_leave_no_trace(broker: OurBroker) -> None:
    topic = "leavers"
    with RawClient(broker.bootstrap) as other:
        wire.create_topic(other, topic)
        for _ in range(10):
            wire.write(other, topic, [bytes(900 * KILOBYTE)])
        before, sockets = broker.process.output(), broker.process.open_sockets
        for _ in range(20):
            with RawClient(broker.bootstrap, receive_buffer_bytes=4096) as leaver:
                leaver.post(fetch.FETCH_REQUEST, wire.fetch_request(topic, 0, max_bytes=20 * MEGABYTE), 11)
                leaver.receive_exactly(1000)
        wait_until(lambda: broker.process.open_sockets <= sockets, "the broker has closed its ends")
        assert len(list(wire.read(other, topic))) == 10
        assert broker.process.output() == before


def test_a_batch_that_does_not_decompress_is_refused_without_a_trace(broker: OurBroker) -> None:
    # Large and compressed: a thread looks into it.
    records = [Record(0, 0, None, random.Random(9).randbytes(200 * KILOBYTE), [])]
    good = build_batch(records, codec=Codec.GZIP)
    broken = good[:HEADER_SIZE] + bytes(byte ^ 0x55 for byte in good[HEADER_SIZE:])
    struct.pack_into(">I", broken, CRC_AT, crc32c(broken[CRC_FROM:]))
    request = wire.produce_request(TOPIC, [])
    request.topic_data[0].partition_data[0].records = broken
    with RawClient(broker.bootstrap) as client:
        before = broker.process.output()
        answer = client.send(produce.PRODUCE_REQUEST, request, 9)
        assert answer.responses[0].partition_responses[0].error_code != 0
        wire.write(client, TOPIC, [b"afterwards"])
        assert "Traceback" not in broker.process.output()[len(before) :]


@pytest.mark.alone
def test_a_batch_that_unpacks_to_far_more_than_it_may_leaves_no_memory_behind(broker: OurBroker) -> None:
    # 800 MB of zeros in 800 KB.
    deflate = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    zeros = bytes(MEGABYTE)
    payload = b"".join([deflate.compress(zeros) for _ in range(800)]) + deflate.flush()
    bomb = bytearray(build_batch([Record(0, 0, None, b"", [])], codec=Codec.GZIP)[:HEADER_SIZE] + payload)
    struct.pack_into(">i", bomb, LENGTH_AT, len(bomb) - LOG_OVERHEAD)
    struct.pack_into(">I", bomb, CRC_AT, crc32c(bomb[CRC_FROM:]))
    request = wire.produce_request(TOPIC, [])
    request.topic_data[0].partition_data[0].records = bomb
    with RawClient(broker.bootstrap) as client, RawClient(broker.bootstrap) as other:
        produce_times_ms(broker, other)
        resident = broker.process.resident_bytes
        for _ in range(2):
            client.post(produce.PRODUCE_REQUEST, request, 9)
            assert_nobody_waits(produce_times_ms(broker, other))
            answer = produce.PRODUCE_RESPONSE.decode(client.receive_frame(), 9, 5)
            assert ErrorCode(answer.responses[0].partition_responses[0].error_code) is ErrorCode.INVALID_RECORD
        # What one kept would be 256 MB; what the allocator keeps is less.
        assert broker.process.resident_bytes - resident < 100 * MEGABYTE


def test_the_limit_of_open_files_is_raised_as_far_as_the_system_allows(broker: OurBroker) -> None:
    with open(f"/proc/{broker.process.pid}/limits") as limits:
        (line,) = [line for line in limits if line.startswith("Max open files")]
    _, soft, hard = line.rsplit(maxsplit=3)[0:3]
    assert soft == hard
