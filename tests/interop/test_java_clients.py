"""Apache's own clients and tools, 3.9.1 and unmodified, on our broker: they print what they print on Apache's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.apache import ToolRun, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, Librdkafka, Written, as_written
from tests.support.names import fresh
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

CONSOLE_PRODUCER = "kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"
T0 = 1_700_000_000_000


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("java"), fresh_chroot(zookeeper, "java")).start()
    yield running
    running.stop()
    assert " ERROR " not in running.process.output()


def tool(main_class: str, *arguments: str, stdin: str | None = None) -> ToolRun:
    """Run a tool that must succeed and complain of nothing."""
    run = run_tool(main_class, *arguments, stdin=stdin)
    assert run.exit_code == 0, run
    complaints = [line for line in run.stderr.splitlines() if " WARN " in line or " ERROR " in line]
    assert not complaints, run.stderr
    return run


def lines(run: ToolRun) -> list[str]:
    return run.stdout.splitlines()


def test_the_console_consumer_prints_what_the_console_producer_was_given(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic()
    text = "".join(f"first:1,second:\u00e9{number}\tkey{number}\tvalue {number}\n" for number in range(1_000))
    parsing = ("parse.key=true", "parse.headers=true")
    properties = [argument for each in parsing for argument in ("--property", each)]
    server = ("--bootstrap-server", broker.bootstrap, "--topic", topic)
    tool(CONSOLE_PRODUCER, *server, *properties, stdin=text)
    printing = ("print.key=true", "print.headers=true", "print.offset=true", "print.partition=true")
    properties = [argument for each in printing for argument in ("--property", each)]
    limit = ("--from-beginning", "--max-messages", "1000", "--isolation-level", "read_committed")
    printed = lines(tool(CONSOLE_CONSUMER, *server, *properties, *limit))
    assert printed == [
        f"Partition:0\tOffset:{number}\tfirst:1,second:\u00e9{number}\tkey{number}\tvalue {number}"
        for number in range(1_000)
    ]


def test_a_console_consumer_with_a_group_goes_on_where_it_stopped(broker: OurBroker, kafka: Librdkafka) -> None:
    topic, group = kafka.topic(), fresh("console")
    kafka.write(topic, [Written(b"%d" % number) for number in range(10)])
    server = ("--bootstrap-server", broker.bootstrap)
    reading = (*server, "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "5")
    assert lines(tool(CONSOLE_CONSUMER, *reading)) == list("01234")
    assert lines(tool(CONSOLE_CONSUMER, *reading)) == list("56789")
    groups = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    assert group in lines(tool(groups, *server, "--list", "--timeout", "60000"))
    run = run_tool(groups, *server, "--describe", "--group", group, "--timeout", "60000")
    assert run.exit_code == 0 and f"Consumer group '{group}' has no active members." in run.stderr + run.stdout
    (row,) = [line.split() for line in lines(run) if line.startswith(group)]
    assert row == [group, topic, "0", "10", "10", "0", "-", "-", "-"]


def test_headers_keys_and_nulls_look_as_the_consumer_prints_them(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic()
    headers = (("null", None), ("twice", b"1"), ("twice", b"2"), ("empty", b""))
    kafka.write(topic, [Written(b"v", b"k", headers, T0), Written(None, None, (), T0 + 1), Written(b"", b"")])
    printing = ("print.key=true", "print.headers=true", "print.timestamp=true", "null.literal=NIL")
    properties = [argument for each in printing for argument in ("--property", each)]
    run = tool(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--partition", "0", "--offset", "0"),
        *("--max-messages", "2", *properties),
    )
    assert lines(run) == [
        f"CreateTime:{T0}\tnull:NIL,twice:1,twice:2,empty:\tk\tv",
        f"CreateTime:{T0 + 1}\tNO_HEADERS\tNIL\tNIL",
    ]


def test_topics_are_made_listed_described_grown_and_deleted(broker: OurBroker) -> None:
    server, topic = ("--bootstrap-server", broker.bootstrap), fresh("java")
    made = tool(TOPICS, *server, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=1000000")
    assert lines(made) == [f"Created topic {topic}."]
    described = lines(tool(TOPICS, *server, "--describe", "--topic", topic))
    topic_id = re.findall(r"TopicId: (\S{22})\t", described[0])
    assert described == [
        (
            f"Topic: {topic}\tTopicId: {topic_id[0]}\tPartitionCount: 2\tReplicationFactor: 1\t"
            "Configs: retention.ms=1000000"
        ),
        f"\tTopic: {topic}\tPartition: 0\tLeader: 0\tReplicas: 0\tIsr: 0\tElr: N/A\tLastKnownElr: N/A",
        f"\tTopic: {topic}\tPartition: 1\tLeader: 0\tReplicas: 0\tIsr: 0\tElr: N/A\tLastKnownElr: N/A",
    ]
    tool(TOPICS, *server, "--alter", "--topic", topic, "--partitions", "4")
    assert len(lines(tool(TOPICS, *server, "--describe", "--topic", topic))) == 5
    assert topic in lines(tool(TOPICS, *server, "--list"))
    tool(TOPICS, *server, "--delete", "--topic", topic)
    assert topic not in lines(tool(TOPICS, *server, "--list"))
    again = run_tool(TOPICS, *server, "--describe", "--topic", topic)
    assert again.exit_code == 1
    assert f"Topic 'Optional[{topic}]' does not exist as expected" in again.stdout + again.stderr


@pytest.mark.parametrize("codec", CODECS)
def test_producer_performance_writes_with_each_codec_what_consumer_performance_counts(
    broker: OurBroker, kafka: Librdkafka, codec: str
) -> None:
    topic = kafka.topic(partitions=2)
    total = 0
    for acks in ("1", "all"):
        run = tool(
            PRODUCER_PERFORMANCE,
            *("--topic", topic, "--num-records", "10000", "--record-size", "100", "--throughput", "-1"),
            *("--producer-props", f"bootstrap.servers={broker.bootstrap}", f"acks={acks}", f"compression.type={codec}"),
            *(() if acks == "all" else ("enable.idempotence=false",)),
        )
        assert lines(run)[-1].startswith("10000 records sent, ")
        total += 10_000
    run = tool(
        CONSUMER_PERFORMANCE,
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--messages", str(total), "--timeout", "60000"),
        "--hide-header",
    )
    assert int(lines(run)[-1].split(", ")[4]) == total


def test_records_of_a_megabyte_pass_through_the_java_clients(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic(max_message_bytes=3_000_000)
    run = tool(
        PRODUCER_PERFORMANCE,
        *("--topic", topic, "--num-records", "20", "--record-size", str(1 << 20), "--throughput", "-1"),
        *("--producer-props", f"bootstrap.servers={broker.bootstrap}", "max.request.size=3000000"),
    )
    assert lines(run)[-1].startswith("20 records sent, ")
    run = tool(
        CONSUMER_PERFORMANCE,
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--messages", "20", "--hide-header"),
    )
    assert lines(run)[-1].split(", ")[2] == "20.0000"


@pytest.mark.parametrize("acks", ["0", "1", "-1"])
def test_the_verifiable_producer_is_acknowledged_and_the_verifiable_consumer_sees_all(
    broker: OurBroker, kafka: Librdkafka, acks: str
) -> None:
    topic = kafka.topic()
    run = tool(
        "org.apache.kafka.tools.VerifiableProducer",
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--max-messages", "2000", "--acks", acks),
    )
    assert '"sent":2000,"acked":2000' in lines(run)[-1]
    assert sum("producer_send_error" in line for line in lines(run)) == 0
    run = tool(
        "org.apache.kafka.tools.VerifiableConsumer",
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--group-id", fresh(f"verifiable{acks}")),
        *("--max-messages", "2000", "--reset-policy", "earliest"),
    )
    consumed = [int(count) for count in re.findall(r'"name":"records_consumed","count":(\d+)', run.stdout)]
    assert sum(consumed) == 2_000


def test_get_offset_shell_tells_the_ends_and_the_times(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic(partitions=2)
    kafka.write(topic, [Written(b"", timestamp_ms=T0 + number) for number in range(7)], partition=1)
    shell = "org.apache.kafka.tools.GetOffsetShell"
    server = ("--bootstrap-server", broker.bootstrap, "--topic-partitions", f"{topic}:0-2")
    answers = {time: lines(tool(shell, *server, "--time", str(time))) for time in ("latest", "earliest", -3, T0 + 4)}
    assert answers == {
        "latest": [f"{topic}:0:0", f"{topic}:1:7"],
        "earliest": [f"{topic}:0:0", f"{topic}:1:0"],
        -3: [f"{topic}:1:6"],
        T0 + 4: [f"{topic}:1:4"],
    }


def test_the_versions_we_serve_are_known_to_the_java_client(broker: OurBroker) -> None:
    run = tool("kafka.admin.BrokerApiVersionsCommand", "--bootstrap-server", broker.bootstrap)
    assert f"{broker.bootstrap} (id: 0 rack: null) -> (" in run.stdout
    for served in ("Produce(0): 0 to 11 [usable: 11]", "Fetch(1): 0 to 17 [usable: 17]", "ApiVersions(18): 0 to 4"):
        assert served in run.stdout


def test_configs_are_described_as_they_were_given(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic(segment_bytes=123_456)
    command = ("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap, "--describe")
    of_topic = tool(*command, "--entity-type", "topics", "--entity-name", topic)
    assert (
        "  segment.bytes=123456 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.bytes=123456, "
        "DEFAULT_CONFIG:log.segment.bytes=1073741824}" in lines(of_topic)
    )
    of_broker = tool(*command, "--entity-type", "brokers", "--entity-name", "0", "--all")
    assert (
        "  broker.id=0 sensitive=false synonyms={STATIC_BROKER_CONFIG:broker.id=0, DEFAULT_CONFIG:broker.id=-1}"
        in lines(of_broker)
    )


@pytest.mark.parametrize("codec", CODECS)
def test_what_the_java_producer_compresses_librdkafka_reads(broker: OurBroker, kafka: Librdkafka, codec: str) -> None:
    topic = kafka.topic()
    text = [f"{codec} {number} \u2713" for number in range(500)]
    tool(
        CONSOLE_PRODUCER,
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--compression-codec", codec),
        stdin="\n".join(text) + "\n",
    )
    assert [as_written(message) for message in kafka.read(topic, len(text))] == [Written(t.encode()) for t in text]
