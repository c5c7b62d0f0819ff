"""Values of the keys that a running broker follows, good and bad, for one broker and for all: who takes which.

Nothing is changed: each is only looked at, so each is measured by what a broker has at its start. Listeners with TLS or
SASL are not among them: ours refuses those (docs/compat.md).
"""

from __future__ import annotations

from tests.interop.replay.alter_configs import SET, change
from tests.interop.replay.configs import BROKER

_NO_NUMBERS = ("x", "", "1.5", "2147483648")
_AT = "127.0.0.1:9"
_B = f"PLAINTEXT://{_AT}"
_TWO = f"{_B},OTHER://127.0.0.1:10"
_MAP = "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"

_CLEANER = {
    "threads": ("2", "3", "9", "1", "0", "-1", *_NO_NUMBERS),
    "dedupe.buffer.size": ("1048576", "1048577", "2097152", "1000", "0", "-1", "x", "", "9223372036854775808"),
    "io.buffer.size": ("1048576", "1", "0", "-1", *_NO_NUMBERS),
    "io.buffer.load.factor": ("0.5", "0", "1", "2", "-1", "1e-9", "NaN", "x", ""),
    "io.max.bytes.per.second": ("1000000", "0.5", "0", "-1", "1.7976931348623157E308", "NaN", "x", ""),
    "backoff.ms": ("10", "0", "-1", "x", ""),
    "delete.retention.ms": ("10", "0", "-1", "x", ""),
    "min.cleanable.ratio": ("0.1", "0", "1", "1.1", "-0.1", "NaN", "x", ""),
    "min.compaction.lag.ms": ("10", "0", "-1", "9223372036854775807", "x", ""),
    "max.compaction.lag.ms": ("10", "1", "0", "-1", "x", ""),
    "enable": ("true", "false", "x"),
}
_THREADS = (
    "num.network.threads",
    "num.io.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "num.replica.alter.log.dirs.threads",
    "listener.name.plaintext.num.network.threads",
    "remote.log.reader.threads",
    "remote.log.manager.thread.pool.size",
)
_LIMITS = (
    "max.connections",
    "max.connection.creation.rate",
    "max.connections.per.ip",
    "listener.name.plaintext.max.connections",
    "listener.name.PLAINTEXT.max.connections",
    "listener.name.nobody.max.connections",
    "listener.name.plaintext.max.connection.creation.rate",
    "listener.name.plaintext.max.connections.per.ip",
    "listener.name.plaintext.connections.max.idle.ms",
    "connections.max.idle.ms",
    "socket.listen.backlog.size",
)
_SECURITY = (
    "listener.name.plaintext.ssl.client.auth",
    "listener.name.plaintext.ssl.keystore.location",
    "listener.name.plaintext.ssl.keystore.password",
    "listener.name.plaintext.ssl.enabled.protocols",
    "listener.name.plaintext.sasl.enabled.mechanisms",
    "listener.name.plaintext.principal.builder.class",
    "listener.name.other.ssl.keystore.location",
    "listener.name.other.principal.builder.class",
    "principal.builder.class",
    "sasl.enabled.mechanisms",
    "ssl.client.auth",
)
_LISTENERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("one more", {"listeners": _TWO}),
    ("one more with a protocol", {"listeners": _TWO, "listener.security.protocol.map": _MAP}),
    ("of Kafka's controllers", {"listeners": f"{_B},CONTROLLER://127.0.0.1:10"}),
    ("no name", {"listeners": "PLAINTEXT:/x"}),
    ("no number for a port", {"listeners": "PLAINTEXT://127.0.0.1:x"}),
    ("a port below zero", {"listeners": "PLAINTEXT://127.0.0.1:-1"}),
    ("a port out of range", {"listeners": "PLAINTEXT://127.0.0.1:70000"}),
    ("nothing", {"listeners": ""}),
    ("a comma too many", {"listeners": f"{_B},"}),
    ("spaces", {"listeners": f"{_B} , OTHER://127.0.0.1:10", "listener.security.protocol.map": _MAP}),
    ("in small letters", {"listeners": f"plaintext://{_AT}"}),
    ("another address", {"listeners": "PLAINTEXT://0.0.0.0:10"}),
    ("a name twice", {"listeners": f"{_B},PLAINTEXT://127.0.0.1:10"}),
    ("a port twice", {"listeners": f"{_B},OTHER://{_AT}", "listener.security.protocol.map": _MAP}),
    (
        "not the brokers' own",
        {
            "listeners": "OTHER://127.0.0.1:10",
            "advertised.listeners": "OTHER://127.0.0.1:10",
            "listener.security.protocol.map": _MAP,
        },
    ),
    (
        "the brokers' own unadvertised",
        {
            "listeners": _TWO,
            "advertised.listeners": "OTHER://127.0.0.1:10",
            "listener.security.protocol.map": _MAP,
        },
    ),
    ("nowhere", {"listeners": f"{_B},OTHER://10.1.2.3:9", "listener.security.protocol.map": _MAP}),
    ("a host nobody knows", {"listeners": f"{_B},OTHER://no.such.host:9", "listener.security.protocol.map": _MAP}),
    ("advertised elsewhere", {"advertised.listeners": "PLAINTEXT://localhost:10"}),
    ("advertised but not there", {"advertised.listeners": "OTHER://localhost:10"}),
    ("advertised as any host", {"advertised.listeners": "PLAINTEXT://0.0.0.0:9"}),
    ("advertised in other words", {"advertised.listeners": "x"}),
    ("advertised nowhere", {"advertised.listeners": ""}),
    ("advertised twice", {"advertised.listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}),
    (
        "advertised at one port",
        {
            "listeners": _TWO,
            "advertised.listeners": "PLAINTEXT://a:1,OTHER://a:1",
            "listener.security.protocol.map": _MAP,
        },
    ),
    ("protocols of more", {"listener.security.protocol.map": _MAP}),
    ("protocols without the brokers' own", {"listener.security.protocol.map": "OTHER:PLAINTEXT"}),
    ("no protocols", {"listener.security.protocol.map": ""}),
    ("a protocol without a listener", {"listener.security.protocol.map": "x"}),
    ("an unknown protocol", {"listener.security.protocol.map": "PLAINTEXT:FOO"}),
    ("the brokers' listener", {"inter.broker.listener.name": "OTHER"}),
    ("the brokers' protocol", {"security.inter.broker.protocol": "SSL"}),
    ("the controller's listener", {"control.plane.listener.name": "OTHER"}),
    ("limits of hosts", {"max.connections.per.ip.overrides": "127.0.0.1:5"}),
    ("limits of unknown hosts", {"max.connections.per.ip.overrides": "no.such.host:5"}),
    ("limits of hosts without a number", {"max.connections.per.ip.overrides": "127.0.0.1"}),
    ("negative limits of hosts", {"max.connections.per.ip.overrides": "127.0.0.1:-1"}),
)
_TOGETHER: tuple[tuple[str, dict[str, str]], ...] = (
    ("lags", {"log.cleaner.min.compaction.lag.ms": "10", "log.cleaner.max.compaction.lag.ms": "5"}),
    ("a small buffer for two", {"log.cleaner.threads": "2", "log.cleaner.dedupe.buffer.size": "1048577"}),
    ("a tiny buffer for two", {"log.cleaner.threads": "2", "log.cleaner.io.buffer.size": "1000"}),
    *_LISTENERS,
)

_TRIED = (
    *((f"log.cleaner.{key}", values) for key, values in _CLEANER.items()),
    *((key, ("0", "-1", "1", "2", "4", "5", "6", "7", "8", "16", "17", "20", "21", "x", "")) for key in _THREADS),
    *((key, ("5", "0", "-1", "x")) for key in _LIMITS),
    *((key, ("x",)) for key in _SECURITY),
)
_WHO = {"one": "0", "all": ""}

EXCHANGES = tuple(
    change(
        f"try {name} for {who}",
        (BROKER, broker, [(SET, key, value) for key, value in values.items()]),
        validate_only=True,
    )
    for who, broker in _WHO.items()
    for name, values in (*((f"{key}={value}", {key: value}) for key, values in _TRIED for value in values), *_TOGETHER)
)
