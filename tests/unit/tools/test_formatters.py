"""What kafka-console-consumer.sh prints of a record."""

from __future__ import annotations

import struct

import pytest

from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.messages.records import (
    GROUP_METADATA_KEY,
    GROUP_METADATA_VALUE,
    OFFSET_COMMIT_KEY,
    OFFSET_COMMIT_VALUE,
    TRANSACTION_LOG_KEY,
    TRANSACTION_LOG_VALUE,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kafka_zk.protocol.versioned import encode_versioned
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.console_consumer.formatter_choice import find_formatter
from kafka_zk.tools.console_consumer.formatters import DEFAULT, PACKAGE, deprecation_warning
from kafka_zk.tools.console_consumer.value_texts import java_float

SERIALIZATION = "org.apache.kafka.common.serialization."
OLD_GROUPS = "kafka.coordinator.group.GroupMetadataManager$"
OLD_TRANSACTIONS = "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter"


def record(
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: tuple[tuple[str, bytes | None], ...] = (),
    timestamp_type: TimestampType | None = TimestampType.CREATE_TIME,
) -> ConsumerRecord:
    return ConsumerRecord("t", 3, 42, 1700, timestamp_type, key, value, headers)


def shown(given: ConsumerRecord, class_name: str = DEFAULT, **properties: str) -> bytes:
    return find_formatter(class_name, {name.replace("_", "."): text for name, text in properties.items()})(given)


ALL = dict.fromkeys(
    ("print_timestamp", "print_partition", "print_offset", "print_headers", "print_key", "print_value"), "true"
)


@pytest.mark.parametrize(
    ("given", "properties", "text"),
    [
        (record(), {}, b"v\n"),
        (record(value=None), {}, b"null\n"),
        (record(), {"print_key": "true"}, b"k\tv\n"),
        (record(), {"print_key": " True ", "print_value": "false"}, b"k\n"),
        (record(), {"print_key": "yes"}, b"v\n"),
        (record(), {"print_value": "false"}, b""),
        (record(), ALL, b"CreateTime:1700\tPartition:3\tOffset:42\tNO_HEADERS\tk\tv\n"),
        (record(timestamp_type=TimestampType.LOG_APPEND_TIME), {"print_timestamp": "true"}, b"LogAppendTime:1700\tv\n"),
        (record(timestamp_type=None), {"print_timestamp": "true"}, b"NO_TIMESTAMP\tv\n"),
        (record(headers=(("a", b"1"), ("b", None))), {"print_headers": "true"}, b"a:1,b:null\tv\n"),
        (
            record(headers=(("a", b"1"), ("b", None))),
            {"print_headers": "true", "headers_separator": "|"},
            b"a:1|b:null\tv\n",
        ),
        (record(key=None), {"print_key": "true", "null_literal": "-"}, b"-\tv\n"),
        (record(), {"print_key": "true", "key_separator": "::", "line_separator": ";"}, b"k::v;"),
        (record(value=b"\xff\x00"), {}, b"\xff\x00\n"),
    ],
)
def test_columns_are_printed_as_the_properties_ask(given: ConsumerRecord, properties: dict[str, str], text: bytes):
    assert shown(given, **properties) == text


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("String", b"a\xffb", "a�b"),
        ("Integer", struct.pack(">i", -5), "-5"),
        ("Long", struct.pack(">q", 1 << 40), str(1 << 40)),
        ("Short", struct.pack(">h", 7), "7"),
        ("Float", struct.pack(">f", 1.1), "1.1"),
        ("Double", struct.pack(">d", 1e10), "1.0E10"),
        ("Boolean", b"\1", "true"),
        ("UUID", b"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("Bytes", b"a\\\x00\xff", r"a\x5C\x00\xFF"),
        ("ByteBuffer", b"abc", "java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]"),
        ("ByteArray", b"abc", "YWJj"),
    ],
)
@pytest.mark.parametrize("place", ["key", "value", "headers"])
def test_a_deserializer_shows_its_value_as_java_prints_it(place: str, name: str, data: bytes, text: str) -> None:
    given = {
        "key": record(key=data, value=None),
        "value": record(value=data),
        "headers": record(value=None, headers=(("h", data),)),
    }[place]
    columns = {"print_key": str(place == "key"), "print_headers": str(place == "headers")}
    printed = shown(
        given,
        **columns,
        **{f"{place}_deserializer": f"{SERIALIZATION}{name}Deserializer"},
        print_value=str(place == "value"),
    )
    assert printed == (f"h:{text}\n" if place == "headers" else f"{text}\n").encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1e-3, "0.001"),
        (1e7, "1.0E7"),
        (16777216.0, "1.6777216E7"),
        (3.4028235e38, "3.4028235E38"),
        (0.0, "0.0"),
    ],
)
def test_a_float_has_the_fewest_digits_that_mean_it(value: float, text: str) -> None:
    assert java_float(struct.unpack(">f", struct.pack(">f", value))[0]) == text


def test_data_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(KafkaException, match=r"^Size of data received by IntegerDeserializer is not 4$"):
        shown(record(value=b"12345"), value_deserializer=f"{SERIALIZATION}IntegerDeserializer")


def test_a_null_is_deserialized_from_its_literal_as_there() -> None:
    assert shown(record(value=None), value_deserializer=f"{SERIALIZATION}IntegerDeserializer") == b"1853189228\n"


def test_an_unknown_deserializer_is_logged_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(record(), value_deserializer="foo.Bar") == b"v\n"
    logged = capsys.readouterr().err
    assert f"ERROR Unable to instantiate a deserializer from foo.Bar ({DEFAULT})" in logged
    assert logged.endswith("\njava.lang.ClassNotFoundException: foo.Bar\n")


def test_the_other_formatters() -> None:
    assert shown(record(), f"{PACKAGE}NoOpMessageFormatter") == b""
    assert shown(record(), f"{PACKAGE}LoggingMessageFormatter", print_key="true") == b"k\tv\n"
    with pytest.raises(JavaError, match=r"^foo\.Bar$"):
        shown(record(), "foo.Bar")


def test_an_old_name_is_taken_with_a_warning() -> None:
    assert shown(record(), "kafka.tools.DefaultMessageFormatter") == b"v\n"
    assert deprecation_warning(DEFAULT) is None
    assert deprecation_warning(OLD_TRANSACTIONS) == (
        f"WARNING: {OLD_TRANSACTIONS} is deprecated and will be removed in the next major release. "
        f"Please use {PACKAGE}TransactionLogMessageFormatter instead"
    )


# --- the coordinators' topics ----------------------------------------------------------------------------------------

OFFSET = record(
    encode_versioned(OFFSET_COMMIT_KEY, OffsetCommitKey(group="cg1", topic="t1", partition=2), 1),
    encode_versioned(
        OFFSET_COMMIT_VALUE, OffsetCommitValue(offset=7, leader_epoch=-1, metadata="", commit_timestamp=1795), 3
    ),
)
GROUP = record(
    encode_versioned(GROUP_METADATA_KEY, GroupMetadataKey(group="cg1"), 2),
    encode_versioned(
        GROUP_METADATA_VALUE,
        GroupMetadataValue(
            protocol_type="consumer",
            generation=1,
            protocol="range",
            leader="m",
            current_state_timestamp=5,
            members=[
                MemberMetadata(
                    member_id="m",
                    group_instance_id=None,
                    client_id="c",
                    client_host="/127.0.0.1",
                    rebalance_timeout=300000,
                    session_timeout=45000,
                    subscription=b"s",
                    assignment=b"a",
                )
            ],
        ),
        3,
    ),
)
TRANSACTION = record(
    encode_versioned(TRANSACTION_LOG_KEY, TransactionLogKey(transactional_id="x"), 0),
    encode_versioned(
        TRANSACTION_LOG_VALUE,
        TransactionLogValue(
            producer_id=1000,
            producer_epoch=0,
            transaction_timeout_ms=60000,
            transaction_status=1,
            transaction_partitions=[PartitionsSchema(topic="tx-t", partition_ids=[0])],
            transaction_last_update_timestamp_ms=18,
            transaction_start_timestamp_ms=17,
        ),
        0,
    ),
)


@pytest.mark.parametrize(
    ("class_name", "given", "text"),
    [
        (
            f"{PACKAGE}OffsetsMessageFormatter",
            OFFSET,
            (
                '{"key":{"version":1,"data":{"group":"cg1","topic":"t1","partition":2}},"value":{"version":3,"data":'
                '{"offset":7,"leaderEpoch":-1,"metadata":"","commitTimestamp":1795}}}'
            ),
        ),
        (
            f"{PACKAGE}GroupMetadataMessageFormatter",
            GROUP,
            (
                '{"key":{"version":2,"data":{"group":"cg1"}},"value":{"version":3,"data":{"protocolType":"consumer",'
                '"generation":1,"protocol":"range","leader":"m","currentStateTimestamp":5,"members":[{"memberId":"m",'
                '"groupInstanceId":null,"clientId":"c","clientHost":"/127.0.0.1","rebalanceTimeout":300000,'
                '"sessionTimeout":45000,"subscription":"cw==","assignment":"YQ=="}]}}}'
            ),
        ),
        (
            f"{PACKAGE}TransactionLogMessageFormatter",
            TRANSACTION,
            (
                '{"key":{"version":0,"data":{"transactionalId":"x"}},"value":{"version":0,"data":{"producerId":1000,'
                '"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":1,"transactionPartitions":'
                '[{"topic":"tx-t","partitionIds":[0]}],"transactionLastUpdateTimestampMs":18,'
                '"transactionStartTimestampMs":17}}}'
            ),
        ),
        (
            f"{OLD_GROUPS}OffsetsMessageFormatter",
            OFFSET,
            (
                "[cg1,t1,2]::OffsetAndMetadata(offset=7, leaderEpoch=Optional.empty, metadata=, commitTimestamp=1795, "
                "expireTimestamp=None)\n"
            ),
        ),
        (
            f"{OLD_GROUPS}GroupMetadataMessageFormatter",
            GROUP,
            (
                "cg1::GroupMetadata(groupId=cg1, generation=1, protocolType=Some(consumer), currentState=Stable, "
                "members=HashMap(m -> MemberMetadata(memberId=m, groupInstanceId=None, clientId=c, "
                "clientHost=/127.0.0.1, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, "
                "supportedProtocols=List(range))))\n"
            ),
        ),
        (
            OLD_TRANSACTIONS,
            TRANSACTION,
            (
                "x::TransactionMetadata(transactionalId=x, producerId=1000, producerEpoch=0, txnTimeoutMs=60000, "
                "state=Ongoing, pendingState=None, topicPartitions=HashSet(tx-t-0), txnStartTimestamp=17, "
                "txnLastUpdateTimestamp=18)\n"
            ),
        ),
        (f"{PACKAGE}OffsetsMessageFormatter", GROUP, ""),
        (f"{PACKAGE}GroupMetadataMessageFormatter", OFFSET, ""),
        (f"{OLD_GROUPS}OffsetsMessageFormatter", GROUP, ""),
        (f"{OLD_GROUPS}OffsetsMessageFormatter", OFFSET._replace(value=None), "[cg1,t1,2]::NULL\n"),
        (f"{OLD_GROUPS}OffsetsMessageFormatter", record(key=None), ""),
        (f"{PACKAGE}OffsetsMessageFormatter", record(key=None, value=None), '{"key":null,"value":null}'),
        (
            f"{PACKAGE}TransactionLogMessageFormatter",
            record(key=b"\0\7", value=b"\0\7"),
            '{"key":{"version":7,"data":"unknown"},"value":{"version":7,"data":"unknown"}}',
        ),
        (OLD_TRANSACTIONS, record(key=b"\0\7"), "unknown::version=7\n"),
    ],
)
def test_records_of_the_coordinators_are_decoded(class_name: str, given: ConsumerRecord, text: str) -> None:
    assert shown(given, class_name).decode() == text


def test_what_is_too_short_for_a_version_is_refused() -> None:
    with pytest.raises(JavaError) as caught:
        shown(record(key=b"\0"), f"{PACKAGE}OffsetsMessageFormatter")
    assert caught.value.java_class == "java.nio.BufferUnderflowException"
