"""The SCRAM credentials of all users, as this broker knows them.

Role        Pure state: filled before the first connection is accepted, then changed by notices of /config/users.
Invariants  Only credentials of enabled mechanisms are kept. Those of the entity <default>, and of a user's clients, are
            none. Of a text that stores no credential the log is told, and the old credential stays.
Source      CredentialCache, CredentialProvider.updateCredentials, UserConfigHandler in Kafka 3.9.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from kafka_zk.sasl.scram_credentials import BY_KEY, Credential, Mechanism, credential_from
from kafka_zk.security.quotas.limits import USERS, Entity

log = logging.getLogger("org.apache.kafka.common.security.scram.internals.ScramCredentialUtils")


class CredentialCache:
    """`mechanisms`: the names of all enabled mechanisms, of which those of SCRAM count."""

    def __init__(self, mechanisms: Iterable[str]) -> None:
        self._credentials: dict[Mechanism, dict[str, Credential]] = {
            BY_KEY[name]: {} for name in mechanisms if name in BY_KEY
        }

    def enable(self, mechanism: Mechanism) -> None:
        """Keep credentials of one more mechanism, those told from now on."""
        self._credentials.setdefault(mechanism, {})

    def credentials_of(self, mechanism: Mechanism) -> Callable[[str], Credential | None]:
        """Looks up a user's credential of an enabled mechanism."""
        return self._credentials[mechanism].get

    def apply(self, entity: Entity, overrides: Mapping[str, str]) -> None:
        """All overrides of one entity of /config/users have changed, or are read for the first time."""
        (kind, user), *narrower = entity
        if kind != USERS or user is None or narrower:
            return
        for mechanism, users in self._credentials.items():
            text = overrides.get(mechanism.key)
            if text is None:
                users.pop(user, None)
                continue
            try:
                users[user] = credential_from(text)
            except ValueError:
                log.error("The credential of user %s for %s in ZooKeeper is none: it is ignored", user, mechanism.key)

    def replace(self, stored: Mapping[str, Mapping[str, str]]) -> None:
        """These are the overrides of all users now, by name: who is not among them has no credential any more."""
        gone = {user for users in self._credentials.values() for user in users} - stored.keys()
        for user, overrides in [*stored.items(), *((user, {}) for user in gone)]:
            self.apply(((USERS, user),), overrides)

    def __repr__(self) -> str:
        counts = " ".join(f"{mechanism.key}={len(users)}" for mechanism, users in self._credentials.items())
        return f"credentials {counts}"
