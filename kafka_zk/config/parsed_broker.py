"""A parsed broker configuration: every key as an attribute, and where its value came from."""

from __future__ import annotations

from typing import Any

from kafka_zk.config.broker_attributes import BrokerAttributes
from kafka_zk.config.layers import Layers, listener_key
from kafka_zk.config.tables.broker import BROKER_KEYS
from kafka_zk.config.values import ConfigValue


class ParsedBroker(BrokerAttributes):
    """All broker keys as attributes.

    `originals`  the texts that the user set, in force now, unknown keys included.
    `values`     every declared key with its parsed value, before anything is resolved.
    `layers`     where each text came from.
    """

    originals: dict[str, str]
    values: dict[str, ConfigValue]
    layers: Layers

    @property
    def inter_broker_security_protocol(self) -> str:
        return self.listener_security_protocol_map.get(self.inter_broker_listener_name, "PLAINTEXT")

    def of_listeners(self, name: str) -> dict[str, Any]:
        """The values of `name` that single listeners have of their own: listener.name.<lower case>.<name>.

        Raises ConfigException when such a value is wrong.
        """
        row = BROKER_KEYS[name]
        given = {each.listener_name: listener_key(each.listener_name, name) for each in self.listeners}
        return {listener: row.parse(self.originals[key]) for listener, key in given.items() if key in self.originals}

    def protocol_of(self, listener_name: str) -> str:
        """The security protocol of a listener: SASL_SSL."""
        return self.listener_security_protocol_map.get(listener_name, "PLAINTEXT")

    def for_listener(self, listener_name: str, name: str, *, mechanism: str = "") -> ConfigValue:
        """The value of `name` that counts for one listener: its own, else the general one.

        For a mechanism of SASL, listener.name.<listener>.<mechanism>.<name> comes first, all in lower case.
        Raises ConfigException for a value that cannot be read.
        """
        row = BROKER_KEYS[name]
        own = listener_key(listener_name, name)
        of_mechanism = listener_key(listener_name, f"{mechanism.lower()}.{name}")
        for key in (of_mechanism, own) if mechanism else (own,):
            if key in self.originals:
                return row.parse(self.originals[key])
        return self.values[name]
