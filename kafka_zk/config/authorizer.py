"""The settings of the authorizer, which Kafka's own table of keys does not hold.

Role        Pure. Checked when a configuration is made, so that a mistake here stops the start.
Invariants  An authorizer that does not exist here is refused: without it every client could do everything.
Source      AclAuthorizer.configure, AuthorizerUtils.createAuthorizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_zk.config.errors import ConfigException, invalid_value

ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"

AUTHORIZERS = (ACL_AUTHORIZER,)
"""The classes that authorizer.class.name may name."""

SUPER_USERS = "super.users"
ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
PREFIX = "authorizer."
"""Of the keys for the authorizer's own session with ZooKeeper."""

_TLS_PREFIXES = (PREFIX + "zookeeper.ssl.", PREFIX + "zookeeper.clientCnxnSocket")


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    """`super_users` as `type:name`. The rest is of the authorizer's own ZooKeeper session; None: as the broker's."""

    super_users: frozenset[str] = frozenset()
    allow_everyone_if_no_acl_found: bool = False
    zookeeper_url: str | None = None
    connection_timeout_ms: int | None = None
    session_timeout_ms: int | None = None
    max_in_flight: int | None = None

    @staticmethod
    def of(originals: Mapping[str, str]) -> AuthorizerSettings:
        """Raises ConfigException."""
        return AuthorizerSettings(
            super_users=frozenset(_super_users(originals.get(SUPER_USERS, ""))),
            allow_everyone_if_no_acl_found=_truth(ALLOW_EVERYONE, originals.get(ALLOW_EVERYONE, "false")),
            zookeeper_url=originals.get(PREFIX + "zookeeper.url"),
            connection_timeout_ms=_number(PREFIX + "zookeeper.connection.timeout.ms", originals),
            session_timeout_ms=_number(PREFIX + "zookeeper.session.timeout.ms", originals),
            max_in_flight=_number(PREFIX + "zookeeper.max.in.flight.requests", originals),
        )


def with_own_zookeeper_keys(originals: Mapping[str, str]) -> dict[str, str]:
    """The properties, with those of `authorizer.zookeeper.ssl.*` in place of the broker's own.

    Source: AclAuthorizer.zkClientConfigFromKafkaConfigAndMap.
    """
    own = {name.removeprefix(PREFIX): value for name, value in originals.items() if name.startswith(_TLS_PREFIXES)}
    return {**originals, **own}


def _super_users(text: str) -> list[str]:
    """`User:CN=a,O=b;User:bob`. Empty ends are dropped, as Java's split does."""
    if not text:
        return []
    parts = [part.strip() for part in text.rstrip(";").split(";")]
    for part in parts:
        if ":" not in part:
            raise ConfigException(f"expected a string in format principalType:principalName but got {part}")
    return parts


def _truth(name: str, text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise invalid_value(name, text, "Expected value to be either true or false")
    return text.strip().lower() == "true"


def _number(name: str, originals: Mapping[str, str]) -> int | None:
    if name not in originals:
        return None
    try:
        return int(originals[name].strip())
    except ValueError:
        raise invalid_value(name, originals[name], "Not a number of type INT") from None
