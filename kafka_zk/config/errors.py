"""Configuration errors, in Kafka's own words.

Role        Pure. The classes below are all that leaves this package.
Source      ConfigException, Scala's `require` (its text starts with "requirement failed: ").
"""

from __future__ import annotations


class ConfigException(Exception):
    """A value, or a combination of values, that Kafka refuses."""


class RefusedOverride(ConfigException):
    """A topic's override that no value makes right: an unknown key, or one that contradicts another.

    Source: InvalidConfigurationException in LogConfig, where a wrong value is a ConfigException.
    """


class UnsupportedConfig(ConfigException):
    """Kafka would accept it; this broker cannot do it yet, and going on without it would be unsafe."""


def invalid_value(name: str, value: object, reason: str) -> ConfigException:
    """The standard sentence of a refused value; `value` is printed as Java prints it."""
    return ConfigException(f"Invalid value {value} for configuration {name}: {reason}")


def require(holds: bool, message: str) -> None:
    """Raise ConfigException unless `holds`; the text is Kafka's for a broken rule between keys."""
    if not holds:
        raise ConfigException(f"requirement failed: {message}")
