"""The options of Krb5LoginModule: where a program's Kerberos identity comes from.

Role        Pure.
Source      Krb5LoginModule in OpenJDK 17 (validateConfiguration and its texts), KerberosLogin.getServiceName in 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_FILE = "file:"
ANY_PRINCIPAL = "*"

NO_PASSWORD = (
    "Could not login: the client is being asked for a password, but the Kafka client code does not currently support "
    "obtaining a password from the user."
)
"""What Kafka says where neither a ticket cache nor a keytab has what is needed."""


class BadOption(ValueError):
    """Options that give no identity. The message is the JDK's or Kafka's."""


@dataclass(frozen=True, slots=True)
class Krb5Options:
    """`keytab`, `ticket_cache`: paths, None for the default ones of the Kerberos library."""

    principal: str | None
    uses_keytab: bool = False
    keytab: str | None = None
    uses_ticket_cache: bool = False
    ticket_cache: str | None = None
    is_initiator: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Krb5Options:
        """Raises BadOption."""

        def is_true(key: str) -> bool:
            return options.get(key, "").lower() == "true"

        _check(options, is_true("useKeyTab"), is_true("useTicketCache"), is_true("doNotPrompt"))
        if is_true("renewTGT") and not is_true("useTicketCache"):
            raise BadOption("Configuration Error - either useTicketCache should be  true or renewTGT should be false")
        found = cls(
            options.get("principal"),
            is_true("useKeyTab"),
            _path(options.get("keyTab")),
            is_true("useTicketCache"),
            _path(options.get("ticketCache")),
            is_true("isInitiator") if "isInitiator" in options else True,
        )
        if found.principal == ANY_PRINCIPAL and found.is_initiator:
            raise BadOption("Configuration Error - principal cannot be * when isInitiator is true")
        return found


def _check(options: Mapping[str, str], uses_keytab: bool, uses_ticket_cache: bool, may_not_prompt: bool) -> None:
    if may_not_prompt and not uses_ticket_cache and not uses_keytab:
        raise BadOption(
            "Configuration Error - either doNotPrompt should be  false or at least one of useTicketCache,  useKeyTab, "
            "tryFirstPass and useFirstPass should be true"
        )
    if "ticketCache" in options and not uses_ticket_cache:
        raise BadOption(
            "Configuration Error  - useTicketCache should be set to true to use the ticket cache"
            f"{options['ticketCache']}"
        )
    if "keyTab" in options and not uses_keytab:
        raise BadOption(
            f"Configuration Error - useKeyTab should be set to true to use the keytab{_path(options['keyTab'])}"
        )


def _path(text: str | None) -> str | None:
    if text is not None and text[: len(_FILE)].lower() == _FILE:
        return text[len(_FILE) :]
    return text


def service_name(options: Mapping[str, str], configured: str | None) -> str:
    """Whose ticket a client asks for: the option serviceName, else sasl.kerberos.service.name. Raises BadOption."""
    own = options.get("serviceName")
    if own is not None and configured is not None and own != configured:
        raise BadOption(
            f"Conflicting serviceName values found in JAAS and Kafka configs value in JAAS file {own}, value in Kafka "
            f"config {configured}"
        )
    found = configured if own is None else own
    if found is None:
        raise BadOption("No serviceName defined in either JAAS or Kafka config")
    return found
