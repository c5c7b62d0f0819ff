"""kafka-dump-log.sh: every command line answered by our tool as Apache's DumpLogSegments answers it, text for text.

What differs on purpose is in MASKS and EXIT_CODES.
"""

from __future__ import annotations

import itertools
import random
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_zk.protocol.messages.records import TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE, PartitionsSchema
from kafka_zk.protocol.types import uuid_from_base64
from kafka_zk.protocol.versioned import encode_versioned
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from kafka_zk.tools.dump_log.__main__ import main
from kafka_zk.tools.dump_log.remote_log_metadata import RECORD_TYPES
from tests.interop.tools.runs import Arguments, comparable, run_apache, run_ours
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka
from tests.support.masks import Excuse, Mask
from tests.support.zookeeper import ZooKeeperServer, eventually, fresh_chroot
from tests.unit.tools.dump_log.golden import unpack_cases

DUMP_LOG = "kafka.tools.DumpLogSegments"
FAST_CASES = 400
SEED = 20261122
T0 = 1_700_000_000_000
LOG = "00000000000000000000.log"

OF_ANY_FILE = (
    "",
    "--deep-iteration",
    "--print-data-log",
    "--print-data-log --skip-record-metadata",
    "--deep-iteration --skip-record-metadata",
    "--offsets-decoder",
    "--transaction-log-decoder",
    "--index-sanity-check",
    "--verify-index-only",
    "--max-bytes 700 --print-data-log",
    "--max-message-size 200",
    "--key-decoder-class org.apache.kafka.tools.api.StringDecoder --value-decoder-class kafka.serializer.LongDecoder",
    "--value-decoder-class",
)
# F stands for the folder of golden-plain-0, G for that of golden-multi-0.
WRONG_OR_ODD = """

--help
--version
--version --help
--bogus
-x
--files
--files=
--files ,
--files a,,b
--files F/00000000000000000000.log --files F/00000000000000000000.log
--deep-iteration
--files no-such-file
--files no-such.log
--files 00000000000000000099.log
--files 00000000000000000099.index
--files 00000000000000000099.timeindex
--files 00000000000000000099.snapshot
--files 00000000000000000099.txnindex
--files nope.txnindex
--files -5.log
--files +5.log
--files 99999999999999999999.log
--files .log
--files .index
--files x.
--files F/partition.metadata
--files F/leader-epoch-checkpoint
--files F//00000000000000000000.log
--files F/00000000000000000000.log,F/00000000000000000000.index,F/partition.metadata
--files F/00000000000000000000.log,nope.log,F/00000000000000000000.index
--files F/00000000000000000000.log --max-bytes
--files F/00000000000000000000.log --max-bytes x
--files F/00000000000000000000.log --max-bytes 0
--files F/00000000000000000000.log --max-bytes 17
--files F/00000000000000000000.log --max-bytes 118
--files F/00000000000000000000.log --max-bytes -1
--files F/00000000000000000000.log --max-bytes 99999999999
--files F/00000000000000000000.log --max-bytes 1 --max-bytes 2
--files F/00000000000000000000.index --max-bytes x
--files F/00000000000000000000.index --max-message-size x
--files F/00000000000000000000.index --max-message-size 0
--files F/00000000000000000000.index --max-message-size -1
--files F/00000000000000000000.timeindex --max-message-size x
--files F/00000000000000000000.log --max-message-size x
--files F/00000000000000000000.log --value-decoder-class org.apache.kafka.tools.api.IntegerDecoder
--files F/00000000000000000000.log --key-decoder-class org.apache.kafka.tools.api.LongDecoder
--files F/00000000000000000000.log --key-decoder-class kafka.serializer.IntegerDecoder --value-decoder-class no.Such
--files F/00000000000000000000.log --key-decoder-class --value-decoder-class
--files F/00000000000000000000.log --value-decoder-class -x
--files F/00000000000000000000.log --value-decoder-class=kafka.serializer.StringDecoder ignored
--files F/00000000000000000000.log --key-decoder-class a --key-decoder-class b
--files F/00000000000000000000.log --offsets-decoder --transaction-log-decoder
--files F/00000000000000000000.log --remote-log-metadata-decoder
--files F/00000000000000000000.log -- --bogus
--files G/00000000000000000000.log,G/00000000000000000072.log --deep-iteration
--files G/00000000000000000000.log,G/00000000000000000072.log --key-decoder-class kafka.serializer.StringDecoder
"""


_CODECS = allowed("codec-words")
MASKS = (
    Mask(re.compile(r"^Caused by: .*\n", re.MULTILINE), "", _CODECS),
    Mask(
        re.compile(r"^(Exception .*\.KafkaException): (java\..*|Failed to dec.*|Error ch.*)"), r"\1: <codec>", _CODECS
    ),
    Mask(re.compile(r"\n\nBeyond Apache Kafka:.*", re.DOTALL), "", allowed("dump-log-beyond")),
)
"""What is masked on stderr."""

_EXIT_CODE = allowed("dump-log-exit-code")
EXIT_CODES = (
    Excuse("2 where it says 0", _EXIT_CODE, lambda theirs, ours: (theirs, ours) == (0, 2)),
    Excuse("2 where it says 1", _EXIT_CODE, lambda theirs, ours: (theirs, ours) == (1, 2)),
)


def differences(lines: Sequence[Arguments], theirs: Sequence[ToolRun], ours: Sequence[ToolRun]) -> list[str]:
    return [
        f"{' '.join(line)} ({their.exit_code}, {our.exit_code})\n{first_difference(plain(their), plain(our))}"
        for line, their, our in zip(lines, theirs, ours, strict=True)
        if plain(their) != plain(our)
        or (their.exit_code != our.exit_code and not masks.excused(EXIT_CODES, their.exit_code, our.exit_code))
    ]


def first_difference(theirs: tuple[str, str], ours: tuple[str, str]) -> str:
    pairs = itertools.zip_longest("\n".join(theirs).splitlines(), "\n".join(ours).splitlines())
    return next((f"  Apache: {their}\n  ours:   {our}" for their, our in pairs if their != our), "  (exit codes)")


def plain(run: ToolRun) -> tuple[str, str]:
    """What is printed, without what is masked."""
    run = comparable(run)
    return run.stdout, masks.masked(run.stderr, MASKS).rstrip()


def assert_same(lines: Sequence[Arguments], folder: Path) -> None:
    different = differences(lines, run_apache(DUMP_LOG, lines, folder), run_ours(main, lines))
    assert not different, f"{len(different)} of {len(lines)} differ:\n" + "\n".join(different[:20])


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_cases(tmp_path_factory.mktemp("cases"))


def test_wrong_and_odd_command_lines(cases: Path, tmp_path: Path) -> None:
    places = {"F/": f"{cases}/01-plain/golden-plain-0/", "G/": f"{cases}/11-multi-segment/golden-multi-0/"}
    table = WRONG_OR_ODD.removeprefix("\n")
    for word, place in places.items():
        table = table.replace(word, place)
    assert_same([line.split() for line in table.splitlines()], tmp_path)


def test_files_damaged_at_random(cases: Path, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    lines = list(damaged_command_lines(cases, tmp_path, random.Random(SEED), FAST_CASES))
    assert_same(lines, tmp_path)


def damaged_command_lines(cases: Path, folder: Path, chance: random.Random, count: int) -> Iterator[Arguments]:
    """A segment with one file spoilt, in a folder of its own; the file, and the indexes that lean on it, are dumped."""
    files = [path for path in sorted(cases.rglob("0*")) if path.is_file() and path.stat().st_size]
    for number in range(count):
        original = chance.choice(files)
        place = folder / f"case-{number}"
        place.mkdir()
        for sibling in original.parent.glob(f"{original.stem}.*"):
            (place / sibling.name).write_bytes(sibling.read_bytes())
        spoilt = place / original.name
        spoilt.write_bytes(spoil(original.read_bytes(), chance))
        options = chance.choice(OF_ANY_FILE).split()
        leaning = sorted(place.glob("*index")) if original.suffix == ".log" else []
        for path in [spoilt, *leaning]:
            yield ["--files", str(path), *options]


def spoil(data: bytes, chance: random.Random) -> bytes:
    spoilt = bytearray(data)
    match chance.choice(("flip", "flip", "flip", "cut", "zeros", "rest", "noise", "nothing")):
        case "flip":
            for _ in range(chance.choice((1, 1, 3))):
                at = chance.randrange(min(len(data), chance.choice((61, 200, len(data)))))
                spoilt[at] ^= 1 << chance.randrange(8)
        case "cut":
            del spoilt[chance.randrange(len(data)) :]
        case "zeros":
            spoilt += bytes(chance.choice((1, 8, 12, 16, 17, 18, 61, 100)))
        case "rest":
            spoilt += chance.randbytes(chance.choice((1, 8, 12, 17, 34, 61, 100)))
        case "noise":
            spoilt[:] = chance.randbytes(chance.choice((7, 8, 12, 16, 34, 46, 80, 120)))
    return bytes(spoilt)


# --- the records of the internal topics ------------------------------------------------------------------------------


def write_log(folder: Path, records: Sequence[tuple[bytes | None, bytes | None]]) -> str:
    folder.mkdir()
    listed = [Record(offset, T0, key, value) for offset, (key, value) in enumerate(records)]
    (folder / LOG).write_bytes(build_batch(listed))
    return str(folder / LOG)


def test_transactions_over_many_partitions_and_versions(tmp_path: Path) -> None:
    key = encode_versioned(TRANSACTION_LOG_KEY, TRANSACTION_LOG_KEY.value_class(transactional_id="täter"), 0)
    values = [
        encode_versioned(
            TRANSACTION_LOG_VALUE,
            TRANSACTION_LOG_VALUE.value_class(
                producer_id=count,
                transaction_status=status,
                transaction_partitions=[
                    PartitionsSchema(topic=f"topic-{name}", partition_ids=list(range(0, count, 3))) for name in range(3)
                ],
            ),
            version,
        )
        for count in (1, 4, 9, 11, 12, 13, 35, 70, 200)
        for status, version in ((1, 0), (2, 1), (7, 1))
    ]
    strange = [(key, b"\0\1"), (key, None), (b"\0\1abc", None), (None, b"x")]
    for number, records in enumerate(([(key, value) for value in values], *([each] for each in strange))):
        path = write_log(tmp_path / f"log-{number}", records)
        if number != 1:  # Java has words of its own for a value that ends too soon
            assert_same([["--files", path, "--transaction-log-decoder"]], tmp_path)


def test_remote_log_metadata(tmp_path: Path) -> None:
    segments, updates, deletions, snapshots = RECORD_TYPES
    partition = {"name": "t", "id": uuid_from_base64("wWJS0hslRBuKZ1edRx30RA"), "partition": 3}
    segment_id = segments.class_of("RemoteLogSegmentIdEntry")(
        topic_id_partition=segments.class_of("TopicIdPartitionEntry")(**partition),
        id=uuid_from_base64("1eQ2ZjQIQfiwVojgCAGIug"),
    )
    epochs = [segments.class_of("SegmentLeaderEpochEntry")(leader_epoch=each, offset=each * 10) for each in (0, 2)]
    content = {
        "start_offset": 1,
        "end_offset": 9,
        "broker_id": 1,
        "max_timestamp_ms": T0,
        "event_timestamp_ms": T0 + 1,
        "segment_leader_epochs": epochs,
        "segment_size_in_bytes": 77,
    }
    values = [
        b"\1\0\0" + segments.encode(segments.value_class(remote_log_segment_id=segment_id, **content), 0),
        b"\1\1\0"
        + updates.encode(
            updates.value_class(
                remote_log_segment_id=segment_id, broker_id=2, custom_metadata=b"abc", remote_log_segment_state=3
            ),
            0,
        ),
        b"\1\2\0"
        + deletions.encode(
            deletions.value_class(topic_id_partition=segment_id.topic_id_partition, remote_partition_delete_state=1), 0
        ),
        b"\1\3\0" + snapshots.encode(snapshots.value_class(segment_id=segment_id.id, **content), 0),
        b"\1\4\0",
        b"\2\0\0",
        b"\1\0\0abc",
        b"",
    ]
    path = write_log(tmp_path / "log", [(None, value) for value in values])
    assert_same([["--files", path, "--remote-log-metadata-decoder"]], tmp_path)


# --- a directory written live ----------------------------------------------------------------------------------------


def test_a_directory_that_apache_has_just_written(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    broker = ApacheBroker(
        tmp_path / "apache",
        fresh_chroot(zookeeper, "dump-log"),
        overrides={"log.segment.bytes": "20000", "log.index.interval.bytes": "500"},
    ).start()
    try:
        live(broker.bootstrap)
        killed = copy_of(broker.log_dir, tmp_path / "running")
    finally:
        broker.stop()
    lines = []
    for log_dir in (killed, broker.log_dir):
        for path in sorted(log_dir.glob("*-*/0*")):
            lines += [["--files", str(path), *options.split()] for options in OF_ANY_FILE]
    assert len(lines) > 500
    assert_same(lines, tmp_path)


def live(bootstrap: str) -> None:
    """Plain, compressed and transactional records, and a group that commits."""
    clients = Librdkafka(bootstrap)
    eventually(lambda: clients.admin.list_topics(timeout=PATIENCE_S).brokers)
    topic = clients.topic()
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 50})
        for number in range(200):
            producer.produce(topic, key=f"{codec}-{number}", value="välue" * (number % 40), headers=[("h", b"1")])
        producer.flush(30)
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": "dumped"})
    transactional.init_transactions(30)
    for end in (transactional.commit_transaction, transactional.abort_transaction):
        transactional.begin_transaction()
        transactional.produce(topic, value="in a transaction")
        transactional.flush(30)
        end(30)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "dumping", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    assert consumer.consume(10, timeout=30)
    consumer.commit(offsets=[TopicPartition(topic, 0, 10)], asynchronous=False)
    consumer.close()


def copy_of(log_dir: Path, target: Path) -> Path:
    """While the broker runs: its indexes have room behind their entries."""
    return Path(shutil.copytree(log_dir, target, ignore=shutil.ignore_patterns(".lock")))


def test_what_is_left_out_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless((*MASKS, *EXIT_CODES)) == []
