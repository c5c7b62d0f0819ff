"""The entities of client quotas, as clients name them: validated, and matched against filters.

Role        Pure.
Source      ZkAdminManager: parseAndSanitizeQuotaEntity, describeClientQuotas (wantExact, wantExcluded, matches).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafka_zk.protocol.errors import BrokerError, InvalidRequest, UnsupportedVersion
from kafka_zk.security.quotas.limits import Entity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ZNODE_TYPES = {USER: "users", CLIENT_ID: "clients", IP: "ips"}
WIRE_TYPES = {znode_type: wire_type for wire_type, znode_type in ZNODE_TYPES.items()}

Names = Mapping[str, str | None]
"""Names by type ("user", "client-id", "ip"); None for the default."""


class Anything:
    """A filter component that matches any name of its type."""


ANYTHING = Anything()

_UNFIT_NAMES = frozenset(("", ".", ".."))
"""As a part of a path; all other names are sanitized."""

_SHORT_NAMES = {USER: "user", CLIENT_ID: "client", IP: "ip"}


def entity_of(names: Names) -> Entity:
    """The entity in ZooKeeper. Raises InvalidRequest."""
    if not names:
        raise InvalidRequest("Invalid empty client quota entity")
    for entity_type, name in names.items():
        if entity_type not in ZNODE_TYPES:
            raise InvalidRequest(f"Unhandled client quota entity type: {entity_type}")
        if name == "":
            raise InvalidRequest(f"Empty {entity_type} not supported")
    if IP in names and len(names) > 1:
        raise InvalidRequest(
            "Invalid quota entity combination, IP entity should not be used with user/client ID entity."
        )
    return tuple((ZNODE_TYPES[kind], names[kind]) for kind in (USER, CLIENT_ID, IP) if kind in names)


def names_of(entity: Entity) -> dict[str, str | None]:
    return {WIRE_TYPES[znode_type]: name for znode_type, name in entity}


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """What must match for each entity type. Other types are allowed too, unless the filter is strict."""

    wanted: Mapping[str, str | Anything | None] = field(default_factory=dict)
    strict: bool = False

    @classmethod
    def of(cls, components: Iterable[tuple[str, str | Anything | None]], *, strict: bool) -> QuotaFilter:
        """Raises InvalidRequest, UnsupportedVersion, BrokerError."""
        wanted: dict[str, str | Anything | None] = {}
        for entity_type, name in components:
            if entity_type in wanted:
                raise InvalidRequest(f"Duplicate {_SHORT_NAMES[entity_type]} filter component entity type")
            if entity_type == "":
                raise InvalidRequest("Unexpected empty filter component entity type")
            if entity_type not in ZNODE_TYPES:
                raise UnsupportedVersion(f"Custom entity type '{entity_type}' not supported")
            wanted[entity_type] = name
        if IP in wanted and len(wanted) > 1:
            raise InvalidRequest(
                "Invalid entity filter component combination, IP filter component should not be used with user or "
                "clientId filter component."
            )
        asks_for_one = strict or IP in wanted or len(wanted) > 1
        if asks_for_one and ANYTHING not in wanted.values() and not _UNFIT_NAMES.isdisjoint(wanted.values()):
            # Kafka looks for this one in ZooKeeper, which has no such path.
            raise BrokerError
        return cls(wanted, strict)

    def lets_through(self, entity: Entity) -> bool:
        """Whether this entity is described."""
        names = names_of(entity)
        if IP in self.wanted or IP in names:
            # Addresses are described for themselves, or where nothing of clients is asked.
            may_be_ip = IP in self.wanted or (not self.wanted and not self.strict)
            return IP in names and may_be_ip and self._is_wanted(IP, names)
        return all(self._is_wanted(kind, names) for kind in (USER, CLIENT_ID))

    def _is_wanted(self, kind: str, names: Names) -> bool:
        if kind not in self.wanted:
            return kind not in names or not self.strict
        wanted = self.wanted[kind]
        return kind in names and (isinstance(wanted, Anything) or wanted == names[kind])
