"""Which login modules a listener of the broker has: those of its own key, else those of a section of the JAAS file.

Role        Pure: the file was read before. `JaasFile` is also what the broker logs in with itself.
Source      JaasContext.loadServerContext, defaultContext in Kafka 3.9.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.layers import listener_key
from kafka_zk.sasl import jaas
from kafka_zk.sasl.jaas import JaasError, LoginModule

SERVER_SECTION = "KafkaServer"

_MODULE_OF = {"PLAIN": jaas.PLAIN, "OAUTHBEARER": jaas.OAUTHBEARER, "GSSAPI": jaas.KERBEROS}

log = logging.getLogger("org.apache.kafka.common.security.JaasContext")


@dataclass(frozen=True, slots=True)
class JaasFile:
    """The file that java.security.auth.login.config names: its path, "" for none, and its sections."""

    path: str = ""
    sections: Mapping[str, list[LoginModule]] = field(default_factory=dict, repr=False)


def login_modules(config: BrokerConfig, listener_name: str, mechanism: str, file: JaasFile) -> list[LoginModule]:
    """The modules of one mechanism of a listener. Raises ConfigException if there are none."""
    text = config.originals.get(listener_key(listener_name, f"{mechanism.lower()}.sasl.jaas.config"))
    try:
        if text is not None:
            return [jaas.single_module(text)]
        if "sasl.jaas.config" in config.originals:
            log.warning("Server config sasl.jaas.config should be prefixed with SASL mechanism name, ignoring config")
        of_listener = f"{listener_name.lower()}.{SERVER_SECTION}"
        modules = list(jaas.modules_in(file.sections, of_listener, SERVER_SECTION))
        for module in modules:
            jaas.check_allowed(module)
    except JaasError as error:
        raise ConfigException(str(error)) from None
    if not modules:
        raise ConfigException(
            f"Could not find a '{SERVER_SECTION}' or '{of_listener}' entry in the JAAS configuration. "
            f"System property 'java.security.auth.login.config' is {file.path or 'not set'}"
        )
    return modules


def login_options(config: BrokerConfig, listener_name: str, mechanism: str, file: JaasFile) -> Mapping[str, str]:
    """The options of the module that belongs to a mechanism; none where only others are named. ConfigException."""
    wanted = _MODULE_OF.get(mechanism, jaas.SCRAM)
    for module in login_modules(config, listener_name, mechanism, file):
        if module.name == wanted:
            return module.options
    return {}
