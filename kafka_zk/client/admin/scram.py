"""Describes and alters users' SCRAM credentials over the wire.

Role        Acts, through `Calls`. A password never leaves this process: what is sent is its salted hash.
Source      KafkaAdminClient.describeUserScramCredentials, alterUserScramCredentials; ScramFormatter; RFC 5802, KIP-554.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnacceptableCredential, error_class_for
from kafka_zk.protocol.messages import alter_user_scram_credentials as altering
from kafka_zk.protocol.messages import describe_user_scram_credentials as describing


class ScramMechanism(IntEnum):
    """The mechanisms by their codes; Kafka writes them as `mechanism_name`."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return f"sha{self.name.rpartition('_')[2]}"


class ScramCredentialInfo(NamedTuple):
    """The visible part of a credential. An unknown mechanism keeps its code."""

    mechanism: ScramMechanism | int
    iterations: int


def random_salt() -> bytes:
    """As Kafka generates it: about 130 random bits as text."""
    return secrets.token_urlsafe(17).encode()


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """A password for a user, to be stored as a credential."""

    user: str
    mechanism: ScramMechanism
    password: bytes = field(repr=False)
    iterations: int = 4096
    salt: bytes = field(default_factory=random_salt)

    def salted_password(self) -> bytes:
        """Takes some ms: PBKDF2 over `iterations` rounds."""
        return hashlib.pbkdf2_hmac(self.mechanism.hash_name, self.password, self.salt, self.iterations)


class ScramDeletion(NamedTuple):
    user: str
    mechanism: ScramMechanism


def describe_user_scram_credentials(
    calls: Calls, users: Sequence[str] = ()
) -> Mapping[str, list[ScramCredentialInfo] | BrokerError]:
    """Blocks. Returns the credentials of `users` (none: of all that have some), or a user's error.

    Raises ClusterAuthorizationFailed and other errors of the whole request.
    """

    def build(_: int) -> describing.DescribeUserScramCredentialsRequest:
        return describing.DescribeUserScramCredentialsRequest(users=[describing.UserName(name=user) for user in users])

    def check(answer: describing.DescribeUserScramCredentialsResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    request = describing.DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST
    response = describing.DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE
    answer = calls.to_any_node(Call("describeUserScramCredentials", request, response, build, check))
    return {result.user: _credentials(result) for result in answer.results}


def alter_user_scram_credentials(
    calls: Calls, *, deletions: Sequence[ScramDeletion] = (), upsertions: Sequence[ScramUpsertion] = ()
) -> None:
    """Blocks. Delete, then store credentials. Raises the first error of the response: UnacceptableCredential ..."""
    if "" in [deletion.user for deletion in deletions] + [upsertion.user for upsertion in upsertions]:
        raise UnacceptableCredential("Username must not be empty")
    for upsertion in upsertions:
        if not upsertion.password:
            raise UnacceptableCredential("Password must not be empty")

    def build(_: int) -> altering.AlterUserScramCredentialsRequest:
        return altering.AlterUserScramCredentialsRequest(
            deletions=[
                altering.ScramCredentialDeletion(name=each.user, mechanism=each.mechanism) for each in deletions
            ],
            upsertions=[
                altering.ScramCredentialUpsertion(
                    name=each.user,
                    mechanism=each.mechanism,
                    iterations=each.iterations,
                    salt=each.salt,
                    salted_password=each.salted_password(),
                )
                for each in upsertions
            ],
        )

    def check(answer: altering.AlterUserScramCredentialsResponse) -> None:
        for result in answer.results:
            raise_for(result.error_code, result.error_message)

    request = altering.ALTER_USER_SCRAM_CREDENTIALS_REQUEST
    response = altering.ALTER_USER_SCRAM_CREDENTIALS_RESPONSE
    calls.to_controller(Call("alterUserScramCredentials", request, response, build, check))


def _credentials(
    result: describing.DescribeUserScramCredentialsResult,
) -> list[ScramCredentialInfo] | BrokerError:
    if result.error_code != ErrorCode.NONE:
        return error_class_for(result.error_code)(result.error_message)
    known = {mechanism.value for mechanism in ScramMechanism}
    return [
        ScramCredentialInfo(
            ScramMechanism(info.mechanism) if info.mechanism in known else info.mechanism, info.iterations
        )
        for info in result.credential_infos
    ]
