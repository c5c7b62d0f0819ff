"""Which dynamic changes of a broker's configuration are allowed.

Role        Pure. Both configurations are valid by themselves; only the change between them is checked here.
Invariants  A part is asked only when one of its keys has changed.
Source      DynamicBrokerConfig.processReconfiguration; validateReconfiguration of DynamicThreadPool, DynamicLogConfig,
            DynamicListenerConfig, DynamicMetricsReporters, DynamicRemoteLogConfig, LogCleaner, ConnectionQuotas and
            DataPlaneAcceptor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.declaration import UpdateMode
from kafka_zk.config.dynamic import ONLY_OF_LISTENERS, scala_set
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.config.errors import ConfigException, invalid_value
from kafka_zk.config.layers import PER_LISTENER, listener_key
from kafka_zk.config.support import check_loadable
from kafka_zk.config.tables.broker import BROKER_KEYS
from kafka_zk.config.tables.topic import TOPIC_KEYS

_THREADS = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")
_REMOTE_THREADS = (
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.reader.threads",
)
_REMOTE_SIZES = (
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.fetch.max.bytes.per.second",
)
_CLEANER = (
    "log.cleaner.threads",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "message.max.bytes",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.backoff.ms",
)
_OF_LOGS = tuple(row.broker_keys[0] for row in TOPIC_KEYS.values() if row.broker_keys)
_OF_LISTENERS = tuple(
    name
    for name, row in BROKER_KEYS.items()
    if row.update_mode is UpdateMode.PER_BROKER or name in PER_LISTENER
)  # fmt: skip


def changed_keys(old: BrokerConfig, new: BrokerConfig) -> set[str]:
    """The keys whose texts differ, those that came and those that went."""
    before, after = old.originals, new.originals
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def check_step(old: BrokerConfig, new: BrokerConfig) -> None:
    """Raise ConfigException, in Kafka's words, where a part of the broker cannot follow."""
    changed = changed_keys(old, new)
    if not changed:
        return
    try:
        for listener in old.listeners:
            _check_own_keys_of(listener, new)
            _check_limits_of(listener, old, new)
        for keys, check in _PARTS:
            if not changed.isdisjoint(keys):
                check(old, new)
    except ConfigException as error:
        raise nested(error) from error


def nested(error: ConfigException) -> ConfigException:
    """A part's refusal as Kafka tells it: it hands its own exception on as the wrong value."""
    cause = f"org.apache.kafka.common.config.ConfigException: {error}"
    return ConfigException(f"Invalid value {cause} for configuration Invalid dynamic configuration")


def _check_own_keys_of(listener: EndPoint, new: BrokerConfig) -> None:
    """Every key of this listener must have a value of its kind, also one that no listener reads."""
    prefix = listener_key(listener.listener_name, "")
    for name, text in new.originals.items():
        if not name.startswith(prefix):
            continue
        base = name.removeprefix(prefix)
        # Whatever is before the first dot may be the name of a mechanism.
        row = BROKER_KEYS.get(base) or BROKER_KEYS.get(base.partition(".")[2])
        if row is not None:
            check_loadable(row, row.parse(text))


def _check_limits_of(listener: EndPoint, old: BrokerConfig, new: BrokerConfig) -> None:
    name = listener.listener_name
    for key in ("max.connections", "max.connection.creation.rate"):
        before, after = _of_listener(old, name, key), _of_listener(new, name, key)
        if before != after and after <= 0:
            raise ConfigException(f"Invalid {key} {after}")
    key = "num.network.threads"
    _check_thread_count(key, _of_listener(old, name, key), _of_listener(new, name, key))


def _of_listener(config: BrokerConfig, listener_name: str, key: str) -> int:
    text = config.originals.get(listener_key(listener_name, key))
    value = config.values[key] if text is None else BROKER_KEYS[key].parse(text)
    assert isinstance(value, int)
    return value


def _check_thread_count(key: str, before: int, after: int, *, any_from: int | None = None) -> None:
    if after == before:
        return
    failed = f"Dynamic thread count update validation failed for {key}={after}"
    if after <= 0:
        raise ConfigException(f"{failed}, value should be at least 1")
    if before == any_from:
        return
    if after < before // 2:
        raise ConfigException(f"{failed}, value should be at least half the current value {before}")
    if after > before * 2:
        raise ConfigException(f"{failed}, value should not be greater than double the current value {before}")


def _check_reporters(old: BrokerConfig, new: BrokerConfig) -> None:
    if any(name != "org.apache.kafka.common.metrics.JmxReporter" for name in new.metric_reporters):
        # It is a Java class, of which a broker in Python can load none.
        changed = scala_set(name for name, text in new.originals.items() if old.originals.get(name) != text)
        raise ConfigException(
            f"Validation of dynamic config update of {changed} failed with class "
            "class kafka.server.DynamicMetricsReporters"
        )


def _check_threads(old: BrokerConfig, new: BrokerConfig) -> None:
    for key in _THREADS:
        _check_thread_count(key, _count(old, key), _count(new, key))


def _check_logs(old: BrokerConfig, new: BrokerConfig) -> None:
    for unit, total in (("ms", new.log_retention_ms), ("bytes", new.log_retention_bytes)):
        key = f"log.local.retention.{unit}"
        local = _count(new, key)
        if total <= -1 or local == -2:
            continue
        if local == -1:
            raise invalid_value(key, local, f"Value must not be -1 as log.retention.{unit} value is set as {total}.")
        if local > total:
            reason = f"Value must not be more than log.retention.{unit} property value: {total}"
            raise invalid_value(key, local, reason)


def _check_listeners(old: BrokerConfig, new: BrokerConfig) -> None:
    before = {end.listener_name: end for end in old.listeners}
    for end in new.listeners:
        name = end.listener_name
        if name not in before:
            continue
        # As in Kafka: a key that a listener has got since the start stands in the way of every later change.
        if _fixed_keys_of(name, old.layers.static) != _fixed_keys_of(name, new.originals):
            raise ConfigException(
                f"Configs cannot be updated dynamically for existing listener ListenerName({name}), "
                "restart broker or create a new listener for update"
            )
        if old.listener_security_protocol_map[name] != new.listener_security_protocol_map[name]:
            raise ConfigException(f"Security protocol cannot be updated for existing listener ListenerName({name})")


def _fixed_keys_of(listener_name: str, originals: Mapping[str, str]) -> dict[str, str]:
    prefix = listener_key(listener_name, "")
    return {
        name: text
        for name, text in originals.items()
        if name.startswith(prefix) and name.removeprefix(prefix) not in (*ONLY_OF_LISTENERS, *PER_LISTENER)
    }


def _check_remote(old: BrokerConfig, new: BrokerConfig) -> None:
    for key in _REMOTE_SIZES:
        if _count(new, key) != _count(old, key) and _count(new, key) <= 0:
            failed = f"Dynamic remote log manager config update validation failed for {key}={_count(new, key)}"
            raise ConfigException(f"{failed}, value should be at least 1")
    for key in _REMOTE_THREADS:
        _check_thread_count(key, _count(old, key), _count(new, key), any_from=-1)


def _check_cleaner(old: BrokerConfig, new: BrokerConfig) -> None:
    before, after = old.log_cleaner_threads, new.log_cleaner_threads
    if after < before // 2:
        raise ConfigException(f"Log cleaner threads cannot be reduced to less than half the current value {before}")
    if after > before * 2:
        raise ConfigException(f"Log cleaner threads cannot be increased to more than double the current value {before}")


def _count(config: BrokerConfig, key: str) -> int:
    value = config.values[key]
    assert isinstance(value, int)
    return value


_Check = Callable[[BrokerConfig, BrokerConfig], None]
_PARTS: tuple[tuple[Collection[str], _Check], ...] = (
    (("metric.reporters",), _check_reporters),
    (_THREADS, _check_threads),
    (_OF_LOGS, _check_logs),
    (_OF_LISTENERS, _check_listeners),
    ((*_REMOTE_SIZES, *_REMOTE_THREADS), _check_remote),
    (_CLEANER, _check_cleaner),
)
"""In Kafka's order: of several faults the first is reported."""
