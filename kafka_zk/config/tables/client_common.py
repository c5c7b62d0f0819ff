"""Client keys that producer, consumer and admin client share. Source: CommonClientConfigs."""

from __future__ import annotations

from kafka_zk.config.declaration import BOOLEAN, INT, KIB, LONG, LOW, MEDIUM, STRING, Config
from kafka_zk.config.validators import at_least, one_of, one_of_ignoring_case

# fmt: off
COMMON_KEYS: tuple[Config, ...] = (
    Config("auto.include.jmx.reporter", BOOLEAN, True, None, LOW,
           "Report metrics over JMX even when no reporter asks for it."),
    Config("client.dns.lookup", STRING, "use_all_dns_ips", one_of("use_all_dns_ips",
           "resolve_canonical_bootstrap_servers_only"), MEDIUM,
           "What to do with a name that has several addresses."),
    Config("enable.metrics.push", BOOLEAN, True, None, LOW,
           "Send this client's metrics to the cluster when it asks for them."),
    Config("metadata.max.age.ms", LONG, 300_000, at_least(0), LOW,
           "Time after which metadata is fetched again without cause."),
    Config("metadata.recovery.strategy", STRING, "none", one_of_ignoring_case("REBOOTSTRAP", "NONE"), LOW,
           "What to do when no known broker can be reached."),
    Config("metrics.num.samples", INT, 2, at_least(1), LOW,
           "Samples of a rate."),
    Config("metrics.recording.level", STRING, "INFO", one_of("INFO", "DEBUG", "TRACE"), LOW,
           "How detailed the metrics are."),
    Config("metrics.sample.window.ms", LONG, 30_000, at_least(0), LOW,
           "Length of one sample of a rate."),
    Config("reconnect.backoff.max.ms", LONG, 1000, at_least(0), LOW,
           "Longest wait before a broker is tried again."),
    Config("reconnect.backoff.ms", LONG, 50, at_least(0), LOW,
           "First wait before a broker is tried again."),
    Config("request.timeout.ms", INT, 30_000, at_least(0), MEDIUM,
           "Longest wait for an answer."),
    Config("retry.backoff.max.ms", LONG, 1000, at_least(0), LOW,
           "Longest wait before a request is tried again."),
    Config("retry.backoff.ms", LONG, 100, at_least(0), LOW,
           "First wait before a request is tried again."),
    Config("send.buffer.bytes", INT, 128 * KIB, at_least(-1), MEDIUM,
           "Send buffer of a socket; -1 leaves it to the system."),
    Config("socket.connection.setup.timeout.max.ms", LONG, 30_000, None, MEDIUM,
           "Longest wait for a connection to be set up."),
    Config("socket.connection.setup.timeout.ms", LONG, 10_000, None, MEDIUM,
           "First wait for a connection to be set up."),
)
# fmt: on
