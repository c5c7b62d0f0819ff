"""Kerberos for ZooKeeper: the ticket of this program's keytab or of its user's ticket cache.

Role        Acts: fetches the first ticket; a thread renews it. Every connection begins an exchange of its own.
Source      ZooKeeperSaslClient, Login and SaslServerPrincipal in ZooKeeper 3.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_zk.sasl.client.gssapi import GssapiClient
from kafka_zk.sasl.kerberos.errors import GssError, KerberosUnavailable
from kafka_zk.sasl.kerberos.login import KerberosLogin, RenewalRules
from kafka_zk.sasl.kerberos.names import KerberosName, MalformedName
from kafka_zk.sasl.kerberos.options import BadOption, Krb5Options

PRINCIPAL: Final = "zookeeper.server.principal"
USERNAME: Final = "zookeeper.sasl.client.username"
KINIT: Final = "zookeeper.kinit"


class NoTicket(Exception):
    """No ticket could be had. The message has no secret."""


class KerberosIdentity:
    """A principal at ZooKeeper: znodes created belong to `sasl:` and what the server makes of its name."""

    def __init__(self, options: Mapping[str, str], properties: Mapping[str, str]) -> None:
        """Blocks for the first ticket. `options`: of Krb5LoginModule; `properties`: system properties.

        Raises NoTicket.
        """
        self._service, self._host = _server(properties)
        try:
            wanted = Krb5Options.of(options)
            # Imported here: programs without Kerberos need no library.
            from kafka_zk.sasl.kerberos.library import Initiator, use_krb5_conf

            use_krb5_conf(properties)
            tickets = Initiator(wanted)
        except (BadOption, GssError, KerberosUnavailable) as error:
            raise NoTicket(str(error)) from None
        self.username = tickets.principal
        self._login = KerberosLogin(tickets, RenewalRules(kinit_cmd=properties.get(KINIT, "/usr/bin/kinit")))
        self._login.start()

    def exchange(self, host: str) -> GssapiClient:
        """For one connection to a server."""
        return self._login.exchange(self._service, self._host or host)

    def __repr__(self) -> str:
        return f"KerberosIdentity({self.username})"


def _server(properties: Mapping[str, str]) -> tuple[str, str | None]:
    """Whose ticket is asked for: service and host, None for the host of each connection."""
    principal = properties.get(PRINCIPAL)
    if principal is None:
        return properties.get(USERNAME, "zookeeper"), None
    try:
        name = KerberosName.parse(principal)
    except MalformedName as error:
        raise NoTicket(f"{PRINCIPAL}: {error}") from None
    return name.service_name, name.host_name
