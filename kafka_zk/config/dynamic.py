"""Which broker configs can be changed at run time, and which of those in ZooKeeper are applied.

Role        Pure. Changes through the API are validated and rejected as a whole. Values in ZooKeeper may have been
            written by other tools, so invalid ones are skipped, with a log line each.
Invariants  Unknown keys stay: plug-ins may know them. Passwords are encoded in ZooKeeper, plain in the configuration.
Source      DynamicBrokerConfig.validateConfigs, fromPersistentProps, toPersistentProps; DynamicConfig.Broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.declaration import Config, UpdateMode
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.layers import PER_LISTENER, listener_key_base
from kafka_zk.config.password_encoder import PasswordEncoder
from kafka_zk.config.support import check_loadable
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from kafka_zk.config.values import ConfigType

ONLY_OF_LISTENERS: Final = frozenset(
    f"ssl.{name}"
    for name in (
        "keystore.type",
        "keystore.location",
        "keystore.password",
        "key.password",
        "truststore.type",
        "truststore.location",
        "truststore.password",
        "keystore.certificate.chain",
        "keystore.key",
        "truststore.certificates",
    )
)
"""Dynamic only as a listener's own key. Source: SslConfigs.RECONFIGURABLE_CONFIGS."""

_PASSWORDS = tuple(
    name
    for name, row in BROKER_KEYS.items()
    if row.type is ConfigType.PASSWORD and row.update_mode is not UpdateMode.READ_ONLY
)


def is_password(name: str) -> bool:
    """Whether the value of `name`, perhaps a listener's or a mechanism's own key, is a secret."""
    return name.endswith(_PASSWORDS)


def check_changes(texts: Mapping[str, str], *, for_all_brokers: bool) -> None:
    """Raise ConfigException unless a user may set all of `texts`, each for itself."""
    _refuse(filter(_is_fixed, texts), "Cannot update these configs dynamically")
    unprefixed = list(filter(ONLY_OF_LISTENERS.__contains__, texts))
    if unprefixed:
        why = "These security configs can be dynamically updated only per-listener using the listener prefix"
        raise ConfigException(f"{why}: HashSet({', '.join(unprefixed)})")
    for name, text in texts.items():
        _check_value(name, text)
    if for_all_brokers:
        _refuse(
            # Those of listeners stand behind the others.
            sorted(filter(_is_of_one_broker, texts), key=lambda name: listener_key_base(name) != name),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def take_over(
    config: BrokerConfig,
    *,
    default: Mapping[str, str],
    broker: Mapping[str, str],
    encoder: PasswordEncoder | None = None,
) -> tuple[BrokerConfig, list[str]]:
    """`config` under the values of /config/brokers/<default> and of its own znode, and what an operator should know.

    Never raises: a broker starts without the values that it cannot use.
    """
    usable_default, complaints = usable(default, for_all_brokers=True, encoder=encoder)
    usable_broker, more = usable(broker, for_all_brokers=False, encoder=encoder)
    complaints += more
    try:
        return config.with_dynamic(default=usable_default, broker=usable_broker), complaints
    except ConfigException as error:
        # Each value may stand, together they break a rule.
        names = ", ".join(sorted({*usable_default, *usable_broker}))
        return config, [*complaints, f"Ignoring configs in ZooKeeper that could not be applied: {names}: {error}"]


def usable(
    stored: Mapping[str, str], *, for_all_brokers: bool, encoder: PasswordEncoder | None
) -> tuple[dict[str, str], list[str]]:
    """What of the `stored` values a broker can use, passwords decoded, and a complaint for each of the others."""
    taken, complaints = {}, []
    for name, text in sorted(stored.items()):
        complaint = _complaint(name, text, for_all_brokers=for_all_brokers)
        if complaint is None and is_password(name):
            try:
                text = _needed(encoder).decode(text)
            except ConfigException as error:
                complaint = f"Ignoring a dynamic password config that could not be decoded ({error})"
        if complaint is None:
            taken[name] = text
        else:
            complaints.append(f"{complaint}: {name}")
    return taken, complaints


def to_store(texts: Mapping[str, str], *, for_all_brokers: bool, encoder: PasswordEncoder | None) -> dict[str, str]:
    """`texts` as they are written to ZooKeeper. Raises ConfigException for passwords that cannot be encoded."""
    stored = dict(texts)
    for name in filter(is_password, texts):
        if for_all_brokers:
            raise ConfigException("Password config can be defined only at broker level")
        stored[name] = _needed(encoder).encode(texts[name])
    return stored


def scala_set(names: Iterable[str]) -> str:
    """A set of keys as Kafka prints it inside its messages."""
    given = list(names)
    return f"{'Set' if len(given) <= 4 else 'HashSet'}({', '.join(given)})"


def _needed(encoder: PasswordEncoder | None) -> PasswordEncoder:
    if encoder is None:
        raise ConfigException("Password encoder secret not configured")
    return encoder


def _refuse(names: Iterable[str], why: str) -> None:
    found = list(names)
    if found:
        raise ConfigException(f"{why}: {scala_set(found)}")


def _is_fixed(name: str) -> bool:
    row = BROKER_KEYS.get(name)
    return row is not None and row.update_mode is UpdateMode.READ_ONLY


def _is_of_one_broker(name: str) -> bool:
    base = listener_key_base(name)
    if base != name:
        return base not in PER_LISTENER
    row = BROKER_KEYS.get(name)
    return row is not None and row.update_mode is UpdateMode.PER_BROKER


def _dynamic_row(name: str) -> Config | None:
    """The declaration that the value must fit; None for an unknown key, and for a listener's own read-only key."""
    base = listener_key_base(name)
    row = BROKER_KEYS.get(base) or DYNAMIC_ONLY_KEYS.get(base)
    return None if row is None or row.update_mode is UpdateMode.READ_ONLY else row


def _check_value(name: str, text: str) -> None:
    """Raises ConfigException."""
    row = _dynamic_row(name)
    if row is not None:
        check_loadable(row, row.parse(text))


def _complaint(name: str, text: str, *, for_all_brokers: bool) -> str | None:
    try:
        _check_value(name, text)
    except ConfigException as error:
        return f"Ignoring an invalid dynamic config in ZooKeeper ({error})"
    if _is_fixed(name):
        return "Ignoring a config in ZooKeeper that cannot be changed dynamically"
    if name in ONLY_OF_LISTENERS:
        return "Ignoring a security config in ZooKeeper without a listener prefix"
    if for_all_brokers and _is_of_one_broker(name):
        return "Ignoring a per-broker config in ZooKeeper that is set as the default of all brokers"
    return None
