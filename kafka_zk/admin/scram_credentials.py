"""Describes and alters users' SCRAM credentials in ZooKeeper on behalf of clients.

Role        Acts, through quota_znodes: credentials are stored beside the quotas of their user. All changes are
            validated first, and a user with one invalid change gets none.
Source      ZkAdminManager.describeUserScramCredentials, alterUserScramCredentials; KIP-554.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kafka_zk.admin.quota_znodes import change_overrides, overrides_of
from kafka_zk.giving_way import in_turns, let_go
from kafka_zk.protocol.errors import (
    BrokerError,
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from kafka_zk.sasl.scram_credentials import (
    BY_CODE,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    Mechanism,
    credential_of,
    iterations_of,
)
from kafka_zk.zk.entity_configs import entities_with_config
from kafka_zk.zk.errors import ZkError
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.siblings import Siblings
from kafka_zk.zk.znodes import ConfigEntityTypeZNode, entities_of, sanitize

NO_NAME = "Username must not be empty"


class Upsertion(NamedTuple):
    """A credential to store; `mechanism` is a code that may be unknown."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class Deletion(NamedTuple):
    user: str
    mechanism: int


NO_ZNODE_NAMES = (".", "..")
"""ZooKeeper takes no such path, so no user of that name has a credential."""


def describe_everybody(zk: ZkClient) -> dict[str, dict[Mechanism, int]]:
    """Blocks. Iterations by mechanism of every user with a credential."""
    users = [name for path in entities_with_config(zk, "users") for _, name in entities_of(f"users/{path}") if name]
    described = {user: _iterations(zk, user) for user in users}
    return {user: found for user, found in described.items() if found}


def describe_users(zk: ZkClient, users: Iterable[str]) -> Iterator[tuple[str, dict[Mechanism, int] | BrokerError]]:
    """Blocks in turns. Of these users, each once: iterations by mechanism, or why there are none."""
    counts = Counter(in_turns(users))
    there = Siblings(zk, ConfigEntityTypeZNode.path("users"))
    for user, count in in_turns(counts.items()):
        if not user:
            yield user, ResourceNotFound(NO_NAME)
        elif count > 1:
            yield (
                user,
                DuplicateResource(
                    f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
                ),
            )
        else:
            found = _iterations(zk, user) if there.may_have(sanitize(user)) else {}
            yield (
                user,
                found or ResourceNotFound(f"Attempt to describe a user credential that does not exist: {user}"),
            )


def _iterations(zk: ZkClient, user: str) -> dict[Mechanism, int]:
    if user in NO_ZNODE_NAMES:
        return {}
    overrides = overrides_of(zk, (("users", user),))
    return {mechanism: iterations_of(overrides[mechanism.key]) for mechanism in Mechanism if mechanism.key in overrides}


def alter_credentials(
    zk: ZkClient, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> dict[str, BrokerError | None]:
    """Blocks. The result for each user: None, or why nothing was changed."""
    outcomes = _refusals(deletions, upsertions)
    by_user: dict[str, tuple[list[Deletion], list[Upsertion]]] = {}
    for upsertion in in_turns(upsertions):
        if upsertion.user not in outcomes:
            by_user.setdefault(upsertion.user, ([], []))[1].append(upsertion)
    for deletion in in_turns(deletions):
        if deletion.user not in outcomes:
            by_user.setdefault(deletion.user, ([], []))[0].append(deletion)
    for user, (taken_away, stored) in in_turns(by_user.items()):
        outcomes[user] = _alter_one(zk, user, taken_away, stored)
    let_go(by_user)
    return outcomes


def _refusals(deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]) -> dict[str, BrokerError | None]:
    """Blocks in turns. The users whose changes are wrong by themselves. Equal ones have one error."""
    refused: dict[str, BrokerError | None] = {}
    for deletion in in_turns(deletions):
        if not deletion.user:
            refused[deletion.user] = _WITHOUT_NAME
        elif deletion.mechanism not in BY_CODE:
            refused[deletion.user] = _UNKNOWN_MECHANISM
    for upsertion in in_turns(upsertions):
        if not upsertion.user:
            refused[upsertion.user] = _WITHOUT_NAME
        elif upsertion.mechanism not in BY_CODE:
            refused[upsertion.user] = _UNKNOWN_MECHANISM
        elif upsertion.iterations < MIN_ITERATIONS:
            refused[upsertion.user] = _TOO_FEW
        elif upsertion.iterations > MAX_ITERATIONS:
            refused[upsertion.user] = _TOO_MANY
    seen: set[tuple[str, int]] = set()
    for user, mechanism in in_turns(_changed(deletions, upsertions)):
        if (user, mechanism) in seen and user not in refused:
            refused[user] = _TWICE
        seen.add((user, mechanism))
    let_go(seen)
    return refused


def _changed(deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]) -> Iterator[tuple[str, int]]:
    for upsertion in upsertions:
        yield upsertion.user, upsertion.mechanism
    for deletion in deletions:
        yield deletion.user, deletion.mechanism


_WITHOUT_NAME = UnacceptableCredential(NO_NAME)
_UNKNOWN_MECHANISM = UnsupportedSaslMechanism("Unknown SCRAM mechanism")
_TOO_FEW, _TOO_MANY = UnacceptableCredential("Too few iterations"), UnacceptableCredential("Too many iterations")
_TWICE = DuplicateResource("A user credential cannot be altered twice in the same request")


def _alter_one(
    zk: ZkClient, user: str, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> BrokerError | None:
    def change(overrides: dict[str, str]) -> dict[str, str]:
        for deletion in deletions:
            if overrides.pop(BY_CODE[deletion.mechanism].key, None) is None:
                raise ResourceNotFound("Attempt to delete a user credential that does not exist")
        for given in upsertions:
            mechanism = BY_CODE[given.mechanism]
            credential = credential_of(
                mechanism, salt=given.salt, salted_password=given.salted_password, iterations=given.iterations
            )
            overrides[mechanism.key] = credential.text()
        return overrides

    try:
        change_overrides(zk, (("users", user),), change)
    except ValueError:
        return BrokerError()
    except (BrokerError, ZkError) as error:
        # The other users' changes are made all the same.
        return error if isinstance(error, BrokerError) else BrokerError()
    return None
