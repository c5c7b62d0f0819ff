"""What of the values that ZooKeeper holds for a broker it takes over.

Role        Pure. Whoever writes such values through the API is checked before; these may have been written by any hand.
Invariants  What is left out was named in a complaint. Unknown keys stay: plug-ins may know them.
Source      DynamicBrokerConfig.fromPersistentProps and updateBrokerConfig.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.declaration import Config, UpdateMode
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.layers import listener_key_base
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS


def take_over(
    config: BrokerConfig, *, default: Mapping[str, str], broker: Mapping[str, str]
) -> tuple[BrokerConfig, list[str]]:
    """`config` under the values of /config/brokers/<default> and of its own znode, and what an operator should know.

    Never raises: a broker starts without the values that it cannot use.
    """
    usable_default, complaints = _usable(default, for_all_brokers=True)
    usable_broker, more = _usable(broker, for_all_brokers=False)
    complaints += more
    try:
        return config.with_dynamic(default=usable_default, broker=usable_broker), complaints
    except ConfigException as error:
        # Each value may stand, together they break a rule.
        names = ", ".join(sorted({*usable_default, *usable_broker}))
        return config, [*complaints, f"Configs in ZooKeeper could not be applied and are ignored: {names}: {error}"]


def _usable(texts: Mapping[str, str], *, for_all_brokers: bool) -> tuple[dict[str, str], list[str]]:
    usable, complaints = {}, []
    for name, text in sorted(texts.items()):
        row = _row(name)
        if row is not None:
            complaint = _complaint(row, text, for_all_brokers=for_all_brokers)
            if complaint is not None:
                complaints.append(f"{complaint}: {name}")
                continue
        usable[name] = text
    return usable, complaints


def _row(name: str) -> Config | None:
    base = listener_key_base(name)
    return BROKER_KEYS.get(base) or DYNAMIC_ONLY_KEYS.get(base)


def _complaint(row: Config, text: str, *, for_all_brokers: bool) -> str | None:
    if row.update_mode is UpdateMode.READ_ONLY:
        return "A config that is not dynamic stands in ZooKeeper and is ignored"
    if for_all_brokers and row.update_mode is UpdateMode.PER_BROKER:
        return "A config of single brokers stands in ZooKeeper as the default of all and is ignored"
    try:
        row.parse(text)
    except ConfigException as error:
        return f"A dynamic config in ZooKeeper is invalid and ignored ({error})"
    return None
