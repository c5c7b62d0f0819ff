"""Small batches of each codec that claim or hold far too much, all at once: refused, and memory stays bounded."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from crc32c import crc32c

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import produce
from kafka_zk.record.batch import CRC_AT, CRC_FROM, HEADER_SIZE, LOG_OVERHEAD
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.legacy import build_message_set
from kafka_zk.record.record import Record
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

TOPIC = "bombs"
MEGABYTE = 1 << 20
HELD_BYTES = 400 * MEGABYTE
"""More than a batch may hold: 256 MiB."""
CLAIMED_BYTES = 4 << 40
BOUND_BYTES = 900 * MEGABYTE
"""Twice what the threads may hold (log/produce/checking.py: 320 MiB), the requests, and what the allocator keeps."""
LENGTH_AT = 8
MESSAGE_CRC_AT, MESSAGE_CRC_FROM, VALUE_SIZE_AT = 12, 16, 30


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(
        tmp_path_factory.mktemp("bombs"),
        fresh_chroot(zookeeper, "bombs"),
        overrides={"message.max.bytes": str(8 * MEGABYTE)},
    ).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC)
    yield running
    running.kill()


def zstd_of_zeros() -> bytes:
    """A frame that claims CLAIMED_BYTES and holds HELD_BYTES, in blocks of one repeated byte."""
    block = 128 * 1024
    head = (0xFD2FB528).to_bytes(4, "little") + b"\xc0\x58" + CLAIMED_BYTES.to_bytes(8, "little")
    more, last = (block << 3 | 1 << 1).to_bytes(3, "little") + b"\0", (block << 3 | 1 << 1 | 1).to_bytes(3, "little")
    return head + more * (HELD_BYTES // block - 1) + last + b"\0"


def gzip_of_zeros() -> bytes:
    deflate, zeros = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16), bytes(MEGABYTE)
    return b"".join(deflate.compress(zeros) for _ in range(HELD_BYTES // MEGABYTE)) + deflate.flush()


def lz4_of_zeros() -> bytes:
    """The blocks of a frame, each of 64 KiB."""
    block = Codec.LZ4.compress(bytes(64 * 1024))
    (size,) = struct.unpack_from("<I", block, 7)
    return block[:7] + block[7 : 11 + size] * (HELD_BYTES // (64 * 1024)) + bytes(4)


def snappy_of_zeros() -> bytes:
    """Claims the most that its header can say."""
    return b"\xff\xff\xff\xff\x0f" + b"\xfe\x01\x00" * 1000


PAYLOADS = {
    Codec.GZIP: gzip_of_zeros,
    Codec.SNAPPY: snappy_of_zeros,
    Codec.LZ4: lz4_of_zeros,
    Codec.ZSTD: zstd_of_zeros,
}


def batch_of(codec: Codec, payload: bytes) -> bytes:
    batch = bytearray(build_batch([Record(0, 0, None, b"", ())], codec=codec)[:HEADER_SIZE] + payload)
    struct.pack_into(">i", batch, LENGTH_AT, len(batch) - LOG_OVERHEAD)
    struct.pack_into(">I", batch, CRC_AT, crc32c(batch[CRC_FROM:]))
    return bytes(batch)


def message_of(codec: Codec, payload: bytes) -> bytes:
    """The same in a wrapper of magic 1."""
    message = build_message_set([Record(0, 0, None, b"")], magic=1, codec=codec)[: VALUE_SIZE_AT + 4] + payload
    struct.pack_into(">i", message, LENGTH_AT, len(message) - LOG_OVERHEAD)
    struct.pack_into(">i", message, VALUE_SIZE_AT, len(payload))
    struct.pack_into(">I", message, MESSAGE_CRC_AT, zlib.crc32(message[MESSAGE_CRC_FROM:]))
    return bytes(message)


def begin_a_new_peak(broker: OurBroker) -> None:
    Path(f"/proc/{broker.process.pid}/clear_refs").write_text("5")


def peak_bytes(broker: OurBroker) -> int:
    lines = Path(f"/proc/{broker.process.pid}/status").read_text().splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(kilobytes) * 1024


def test_bombs_of_every_codec_at_once_are_refused_in_bounded_memory(broker: OurBroker) -> None:
    made = {codec: make() for codec, make in PAYLOADS.items()}
    bombs = [(9, batch_of(codec, payload)) for codec, payload in made.items()]
    bombs += [(2, message_of(codec, payload)) for codec, payload in made.items() if codec is not Codec.ZSTD]
    assert max(len(data) for _, data in bombs) < 8 * MEGABYTE
    begin_a_new_peak(broker)
    before = broker.process.resident_bytes
    with ExitStack() as open_ones:
        clients = []
        for version, data in bombs:
            client = open_ones.enter_context(RawClient(broker.bootstrap, timeout_s=120))
            request = wire.produce_request(TOPIC, [])
            request.topic_data[0].partition_data[0].records = data
            client.post(produce.PRODUCE_REQUEST, request, version)
            clients.append((client, version))
        for client, version in clients:
            answer = produce.PRODUCE_RESPONSE.decode(client.receive_frame(), version, 5 if version == 9 else 4)
            code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
            assert code in (ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_SERVER_ERROR), (version, code)
    more = peak_bytes(broker) - before
    print(f"{len(clients)} bombs: {more >> 20} MiB more at the peak")
    assert more < BOUND_BYTES
    with RawClient(broker.bootstrap) as client:
        wire.write(client, TOPIC, [b"goes on"])
