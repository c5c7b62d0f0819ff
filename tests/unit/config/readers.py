"""Which module reads which config key, found in the sources; `python -m tests.unit.config.readers` corrects the rows.

A module reads a key when it says `config.<attribute>`, `_config.<attribute>` or `configs.<attribute>`, the attribute
being the key in snake case. A module that says `for_listener` reads the keys that it has as texts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from kafka_zk.config.declaration import Config, ConfigTable
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from kafka_zk.config.tables.topic import TOPIC_KEYS

PACKAGE = Path(__file__).parents[3] / "kafka_zk"
_TEXT = re.compile(r'"((?:ssl|sasl|principal|connections)\.[a-z.0-9]+)"')
_READ = re.compile(r"\b(?:\w*_)?configs?(?:\(\))?\.([a-z0-9_]+)\b")
# Keys that reach their reader under another attribute: weaker synonyms, and what is parsed further.
_READ_THROUGH: dict[str, tuple[str, ...]] = {
    "delegation.token.master.key": ("delegation_token_secret_key",),
    "listener.security.protocol.map": ("listeners", "inter_broker_security_protocol"),
    "log.dir": ("log_dirs",),
    "log.flush.scheduler.interval.ms": ("log_flush_interval_ms",),
    "log.message.timestamp.difference.max.ms": ("log_message_timestamp_before_max_ms",),
    "log.retention.hours": ("log_retention_ms",),
    "log.retention.minutes": ("log_retention_ms",),
    "log.roll.hours": ("log_roll_ms",),
    "log.roll.jitter.hours": ("log_roll_jitter_ms",),
    "node.id": ("broker_id",),
    # By PasswordEncoder.of, for whom the old secret is only a reason to be asked once more.
    **{
        f"password.encoder.{name}": ("password_encoder_old_secret",)
        for name in ("cipher.algorithm", "iterations", "key.length", "keyfactory.algorithm", "secret")
    },
    "security.inter.broker.protocol": ("inter_broker_listener_name",),
    # With the system properties that stand in for them (zk/tls_settings.py).
    **{
        f"zookeeper.{name}": ("zookeeper_ssl_client_enable",)
        for name in (
            "clientCnxnSocket",
            "ssl.cipher.suites",
            "ssl.crl.enable",
            "ssl.enabled.protocols",
            "ssl.endpoint.identification.algorithm",
            "ssl.keystore.location",
            "ssl.keystore.password",
            "ssl.keystore.type",
            "ssl.ocsp.enable",
            "ssl.protocol",
            "ssl.truststore.location",
            "ssl.truststore.password",
            "ssl.truststore.type",
        )
    },
}
_TOPIC_READ_THROUGH: dict[str, tuple[str, ...]] = {
    "cleanup.policy": ("compact", "delete"),
    "follower.replication.throttled.replicas": ("throttled_followers",),
    "leader.replication.throttled.replicas": ("throttled_leaders",),
    "message.timestamp.difference.max.ms": ("message_timestamp_before_max_ms",),
}


def modules_by_attribute() -> dict[str, list[str]]:
    """Attribute to the modules (dotted, below kafka_zk) that read it, sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] != "config":
            module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
            text = path.read_text()
            for attribute in _READ.findall(text):
                found[attribute].add(module)
            for key in _TEXT.findall(text) if ".for_listener(" in text else ():
                found[key.replace(".", "_")].add(module)
    return {attribute: sorted(modules) for attribute, modules in found.items()}


def readers() -> dict[str, dict[str, list[str]]]:
    """Kind of table, then key, then the modules that read it. A topic key's reader reads its broker keys too."""
    modules = modules_by_attribute()
    topic = {
        name: _merged(modules, row.attribute, *_TOPIC_READ_THROUGH.get(name, ())) for name, row in TOPIC_KEYS.items()
    }
    broker = {name: _merged(modules, row.attribute, *_READ_THROUGH.get(name, ())) for name, row in BROKER_KEYS.items()}
    for name, row in TOPIC_KEYS.items():
        for broker_key in row.broker_keys:
            broker[broker_key] = broker[broker_key] or topic[name]
    for name, through in _READ_THROUGH.items():
        stronger = [key for key, row in BROKER_KEYS.items() if row.attribute in through]
        broker[name] = broker[name] or [module for key in stronger for module in broker[key]]
    return {"topic": topic, "broker": broker}


def wrong_rows() -> list[tuple[str, Config, str | None]]:
    """(kind, row, what its read_by should be) of every row that does not tell the truth."""
    found = readers()
    tables: dict[str, ConfigTable] = {"topic": TOPIC_KEYS, "broker": BROKER_KEYS}
    wrong = []
    for kind, table in tables.items():
        for name, row in table.items():
            modules = found[kind][name]
            if row.read_by not in (modules or [None]):
                wrong.append((kind, row, modules[0] if modules else None))
    assert all(row.read_by is None for row in DYNAMIC_ONLY_KEYS.values())
    return wrong


def _merged(modules: dict[str, list[str]], *attributes: str) -> list[str]:
    return sorted({module for attribute in attributes for module in modules.get(attribute, [])})


def correct_rows() -> int:
    """Rewrite the wrong rows of the tables; how many there were."""
    tables = PACKAGE / "config" / "tables"
    wrong = wrong_rows()
    for kind, row, reader in wrong:
        for path in tables.glob("topic.py" if kind == "topic" else "broker_*.py"):
            text = path.read_text()
            match = re.search(rf'    Config\("{re.escape(row.name)}",.*?\),\n(?=    Config|\))', text, re.S)
            if match:
                path.write_text(text[: match.start()] + _with_reader(match[0], reader) + text[match.end() :])
    return len(wrong)


def _with_reader(source: str, reader: str | None) -> str:
    source = re.sub(r',\s*read_by="[^"]*"', "", source)
    if reader is None:
        return source
    body = source.rstrip().removesuffix("),")
    addition = f' read_by="{reader}"),'
    last_line = body.rsplit("\n", 1)[-1]
    separator = "," if len(last_line) + 1 + len(addition) <= 120 else ",\n          "
    return body + separator + addition + "\n"


if __name__ == "__main__":
    print(f"{correct_rows()} rows corrected")
