"""SCRAM credentials of users, described and altered in ZooKeeper on behalf of clients.

Role        Acts, through quota_znodes: credentials stand beside the quotas of their user. First everything is checked,
            and a user of whom one change is wrong gets none of the others.
Source      ZkAdminManager.describeUserScramCredentials, alterUserScramCredentials; KIP-554.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kafka_zk.admin.quota_znodes import change_overrides, overrides_of
from kafka_zk.protocol.errors import (
    BrokerError,
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from kafka_zk.security.scram import BY_CODE, MAX_ITERATIONS, MIN_ITERATIONS, Mechanism, credential_of, iterations_of
from kafka_zk.zk.entity_configs import entities_with_config
from kafka_zk.zk.errors import ZkError
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import entities_of

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


Described = dict[str, dict[Mechanism, int] | BrokerError]
"""By user: iterations by mechanism, or why there are none."""


NO_ZNODE_NAMES = (".", "..")
"""ZooKeeper takes no such path, so nobody of that name has a credential."""


def describe_everybody(zk: ZkClient) -> Described:
    """Blocks. Of every user who has a credential."""
    users = [name for path in entities_with_config(zk, "users") for _, name in entities_of(f"users/{path}") if name]
    described = {user: _iterations(zk, user) for user in users}
    return {user: found for user, found in described.items() if found}


def describe_users(zk: ZkClient, users: Sequence[str]) -> Described:
    """Blocks. Of these users, each once."""
    described: Described = {}
    for user, count in Counter(users).items():
        if not user:
            described[user] = ResourceNotFound(NO_NAME)
        elif count > 1:
            described[user] = DuplicateResource(
                f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
            )
        else:
            found = _iterations(zk, user)
            described[user] = found or ResourceNotFound(
                f"Attempt to describe a user credential that does not exist: {user}"
            )
    return described


def _iterations(zk: ZkClient, user: str) -> dict[Mechanism, int]:
    if user in NO_ZNODE_NAMES:
        return {}
    overrides = overrides_of(zk, (("users", user),))
    return {mechanism: iterations_of(overrides[mechanism.key]) for mechanism in Mechanism if mechanism.key in overrides}


def alter_credentials(
    zk: ZkClient, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> dict[str, BrokerError | None]:
    """Blocks. What came of it for each user: None, or why nothing was changed."""
    outcomes: dict[str, BrokerError | None] = dict(_refusals(deletions, upsertions))
    for user in dict.fromkeys([upsertion.user for upsertion in upsertions] + [deletion.user for deletion in deletions]):
        if user not in outcomes:
            outcomes[user] = _alter_one(
                zk,
                user,
                [deletion for deletion in deletions if deletion.user == user],
                [upsertion for upsertion in upsertions if upsertion.user == user],
            )
    return outcomes


def _refusals(deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]) -> dict[str, BrokerError]:
    """The users whose changes are wrong by themselves."""
    refused: dict[str, BrokerError] = {}
    for deletion in deletions:
        if not deletion.user:
            refused[deletion.user] = UnacceptableCredential(NO_NAME)
        elif deletion.mechanism not in BY_CODE:
            refused[deletion.user] = UnsupportedSaslMechanism("Unknown SCRAM mechanism")
    for upsertion in upsertions:
        if not upsertion.user:
            refused[upsertion.user] = UnacceptableCredential(NO_NAME)
        elif upsertion.mechanism not in BY_CODE:
            refused[upsertion.user] = UnsupportedSaslMechanism("Unknown SCRAM mechanism")
        elif upsertion.iterations < MIN_ITERATIONS:
            refused[upsertion.user] = UnacceptableCredential("Too few iterations")
        elif upsertion.iterations > MAX_ITERATIONS:
            refused[upsertion.user] = UnacceptableCredential("Too many iterations")
    changes = [(upsertion.user, upsertion.mechanism) for upsertion in upsertions]
    changes += [(deletion.user, deletion.mechanism) for deletion in deletions]
    for (user, _), count in Counter(changes).items():
        if count > 1 and user not in refused:
            refused[user] = DuplicateResource("A user credential cannot be altered twice in the same request")
    return refused


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
