"""GSSAPI with the ticket of a keytab or of a ticket cache: what Krb5LoginModule and KerberosLogin do in Java.

Role        Reads the configuration once for each client, and fetches the first ticket. The client's connections share
            the ticket and its renewal.
Source      KerberosLogin, SaslClientAuthenticator in Kafka 3.9.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import UnsupportedSecurity
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.java_options import system_properties
from kafka_zk.sasl.client.logins import NewExchange
from kafka_zk.sasl.kerberos.errors import GssError, KerberosUnavailable
from kafka_zk.sasl.kerberos.login import KerberosLogin, RenewalRules
from kafka_zk.sasl.kerberos.options import BadOption, Krb5Options, service_name


def kerberos_login(config: ClientConfig, options: Mapping[str, str]) -> Callable[[str], NewExchange]:
    """What logs connections to a host in. Blocks for the first ticket.

    Raises ConfigException, UnsupportedSecurity without a Kerberos library.
    """
    configured = config.raw("sasl.kerberos.service.name")
    try:
        wanted = Krb5Options.of(options)
        service = service_name(options, None if configured is None else str(configured))
    except BadOption as error:
        raise ConfigException(str(error)) from None
    try:
        from kafka_zk.sasl.kerberos.library import Initiator, use_krb5_conf
    except KerberosUnavailable as error:
        raise UnsupportedSecurity(f"sasl.mechanism=GSSAPI cannot be used: {error}") from None

    use_krb5_conf(system_properties(os.environ))
    factor, jitter = (config.raw(f"sasl.kerberos.ticket.renew.{name}") for name in ("window.factor", "jitter"))
    assert isinstance(factor, float | int) and isinstance(jitter, float | int)
    least_ms = config.integer("sasl.kerberos.min.time.before.relogin")
    rules = RenewalRules(factor, jitter, least_ms, config.text("sasl.kerberos.kinit.cmd"))
    try:
        login = KerberosLogin(Initiator(wanted), rules)
    except GssError as error:
        raise ConfigException(f"Failed to log in with Kerberos: {error}") from None
    login.start()
    return lambda host: partial(login.exchange, service, host)
