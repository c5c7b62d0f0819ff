"""Which quota applies to a user and client id: the most specific one.

Role        Pure. One `Limits` for each kind of quota.
Invariants  Clients that share a quota's own entity share its tags, and so its sensor: two clients of a user with a
            quota for the user count together.
Source      ClientQuotaManager.DefaultQuotaCallback: quotaMetricTags, quotaLimit; KIP-55, KIP-257.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

Entity = tuple[tuple[str, str | None], ...]
"""As `znodes.entities_of` reads a path: (("users", "bob"), ("clients", None)) is bob with any client id."""

USERS = "users"
CLIENTS = "clients"


class Tags(NamedTuple):
    """Who shares a sensor. An empty part does not matter."""

    user: str
    client_id: str


class _Kind(Enum):
    CLIENT = auto()
    USER = auto()
    USER_AND_CLIENT = auto()


class Limits:
    """The bounds of one kind of quota, by entity."""

    def __init__(self) -> None:
        self._bounds: dict[Entity, float] = {}
        self._kinds: set[_Kind] = set()

    def __len__(self) -> int:
        return len(self._bounds)

    def update(self, entity: Entity, bound: float | None) -> None:
        """Set the bound of an entity, or take it away. The kind of entity counts as used from now on either way."""
        parts = {entity_type for entity_type, _ in entity}
        if USERS not in parts:
            self._kinds.add(_Kind.CLIENT)
        else:
            self._kinds.add(_Kind.USER_AND_CLIENT if CLIENTS in parts else _Kind.USER)
        if bound is None:
            self._bounds.pop(entity, None)
        else:
            self._bounds[entity] = bound

    def tags(self, user: str, client_id: str) -> Tags:
        """Who shares the sensor of this user and client id."""
        if self._kinds <= {_Kind.CLIENT}:
            return Tags("", client_id)
        if self._kinds == {_Kind.USER}:
            return Tags(user, "")
        if self._kinds == {_Kind.USER_AND_CLIENT}:
            return Tags(user, client_id)
        of_user, of_client = (USERS, user), (CLIENTS, client_id)
        any_user, any_client = (USERS, None), (CLIENTS, None)
        for entity, tags in (
            ((of_user, of_client), Tags(user, client_id)),
            ((of_user, any_client), Tags(user, client_id)),
            ((of_user,), Tags(user, "")),
            ((any_user, of_client), Tags(user, client_id)),
            ((any_user, any_client), Tags(user, client_id)),
            ((any_user,), Tags(user, "")),
        ):
            if entity in self._bounds:
                return tags
        return Tags("", client_id)

    def bound(self, tags: Tags) -> float | None:
        """The bound of those who share these tags; None without one."""
        user, client_id = tags
        candidates: tuple[Entity, ...] = ()
        if user and client_id:
            candidates = (
                ((USERS, user), (CLIENTS, client_id)),
                ((USERS, user), (CLIENTS, None)),
                ((USERS, None), (CLIENTS, client_id)),
                ((USERS, None), (CLIENTS, None)),
            )
        elif user:
            candidates = (((USERS, user),), ((USERS, None),))
        elif client_id:
            candidates = (((CLIENTS, client_id),), ((CLIENTS, None),))
        return next((self._bounds[entity] for entity in candidates if entity in self._bounds), None)
