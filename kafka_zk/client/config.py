"""A client's configuration: properties or Python values, validated against the declared keys.

Role        Pure but for its warnings. One `ClientConfig` per client of any kind.
Invariants  An undeclared key is named in a warning and has no effect.
Source      AbstractConfig, AdminClientConfig; config/tables holds the keys.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_zk.config.declaration import ConfigTable
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.values import ConfigValue

log = logging.getLogger("org.apache.kafka.clients.ClientConfig")


class ClientConfig:
    """Checked values by Kafka's names."""

    def __init__(self, keys: ConfigTable, properties: Mapping[str, object]) -> None:
        """Raises ConfigException for a wrong value.

        Numbers, booleans and lists of texts are converted to text. Any other object (a serializer, a
        class, a function) is kept; `given` returns it.
        """
        self._given = dict(properties)
        self._values = keys.parse_all(
            {name: _as_text(value) for name, value in properties.items() if value is not None}
        )
        own = tuple(f"{name}.encoding" for name in (*keys, "serializer", "deserializer"))
        unknown = sorted(name for name in properties if name not in keys and name not in own)
        if unknown:
            log.info("These configurations '[%s]' were supplied but are not used yet.", ", ".join(unknown))

    def check_timeouts(self) -> None:
        """Raise ConfigException if the API timeout is shorter than the request timeout."""
        request_ms = self.integer("request.timeout.ms")
        if self.integer("default.api.timeout.ms") >= request_ms:
            return
        if "default.api.timeout.ms" in self._given:
            raise ConfigException(
                "The specified value of default.api.timeout.ms must be no smaller than the value of request.timeout.ms."
            )
        log.warning("Overriding the default value for default.api.timeout.ms with the request timeout %s", request_ms)
        self._values["default.api.timeout.ms"] = request_ms

    def integer(self, name: str) -> int:
        """The value of an integer key."""
        value = self._values[name]
        assert isinstance(value, int), f"{name} is not an integer"
        return value

    def boolean(self, name: str) -> bool:
        """The value of a boolean key."""
        value = self._values[name]
        assert isinstance(value, bool), f"{name} is not a boolean"
        return value

    def given(self, name: str) -> object:
        """The raw value given for a key, declared or not; None if none was given."""
        return self._given.get(name)

    def raw(self, name: str) -> ConfigValue:
        """The checked value of a key of any type; None if unset."""
        return self._values[name]

    def text(self, name: str) -> str:
        """The value of a string key; empty if unset."""
        value = self._values[name]
        assert value is None or isinstance(value, str), f"{name} is not a string"
        return value or ""

    def texts(self, name: str) -> list[str]:
        """The value of a list key."""
        value: ConfigValue = self._values[name]
        if not isinstance(value, list):
            raise ConfigException(f"Invalid value {value} for configuration {name}: Expected a comma separated list.")
        return value


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_as_text(each) for each in value)
    return str(value)
