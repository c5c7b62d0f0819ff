"""Znodes of security: ACLs with their change notifications, delegation tokens.

Role        Pure. Types and operations stay text, spelled as Kafka spells them in ZooKeeper (`Topic`, `Allow`, `Read`).
Source      kafka.zk.LiteralAclStore, ExtendedAclStore, ResourceZNode, DelegationTokenInfoZNode; KIP-290, KIP-48.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from kafka_zk.zk.errors import MalformedZNode
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import documents
from kafka_zk.zk.znodes.names import desanitize, sanitize

PatternType = Literal["LITERAL", "PREFIXED"]

RESOURCE_TYPES = ("Cluster", "DelegationToken", "Group", "Topic", "TransactionalId", "User")
ACL_ROOTS: dict[PatternType, str] = {"LITERAL": "/kafka-acl", "PREFIXED": "/kafka-acl-extended/prefixed"}
ACL_CHANGES: dict[PatternType, str] = {"LITERAL": "/kafka-acl-changes", "PREFIXED": "/kafka-acl-extended-changes"}


@dataclass(frozen=True, slots=True)
class AclEntry:
    """One rule: may (`Allow`) or may not (`Deny`) this principal do this operation from this host."""

    principal: str
    permission_type: str
    host: str
    operation: str


class ResourceZNode:
    """/kafka-acl/TYPE/NAME and /kafka-acl-extended/prefixed/TYPE/NAME: the rules of one resource pattern."""

    @staticmethod
    def path(pattern_type: PatternType, resource_type: str, name: str) -> str:
        return f"{ACL_ROOTS[pattern_type]}/{resource_type}/{name}"

    @staticmethod
    def encode(entries: Iterable[AclEntry]) -> bytes:
        acls = [
            {
                "principal": entry.principal,
                "permissionType": entry.permission_type,
                "operation": entry.operation,
                "host": entry.host,
            }
            for entry in entries
        ]
        return documents.write({"version": 1, "acls": acls})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None, path: str = "") -> list[AclEntry]:
        """Raises MalformedZNode. No data: no rules."""
        if not data:
            return []

        def build(document: dict[str, Any]) -> list[AclEntry]:
            if document["version"] != 1:
                raise ValueError(f"version {document['version']}")
            return [
                AclEntry(*(documents.text(entry[key]) for key in ("principal", "permissionType", "host", "operation")))
                for entry in document["acls"]
            ]

        return documents.read(data, path, build)


@dataclass(frozen=True, slots=True)
class AclChange:
    """Which resource pattern's rules have changed; `resource_type` in capitals (`TRANSACTIONAL_ID`)."""

    pattern_type: PatternType
    resource_type: str
    name: str


class AclChangeZNode:
    """/kafka-acl-changes/acl_changes_N (literal, plain text) and /kafka-acl-extended-changes/acl_changes_N (JSON)."""

    @staticmethod
    def prefix(pattern_type: PatternType) -> str:
        return f"{ACL_CHANGES[pattern_type]}/acl_changes_"

    @staticmethod
    def encode(change: AclChange) -> bytes:
        if change.pattern_type == "LITERAL":
            return f"{change.resource_type}:{change.name}".encode()
        return documents.write(
            {
                "version": 1,
                "resourceType": change.resource_type,
                "name": change.name,
                "patternType": change.pattern_type,
            }
        )

    @staticmethod
    def decode(data: bytes | None, pattern_type: PatternType) -> AclChange:
        """Raises MalformedZNode."""
        path = ACL_CHANGES[pattern_type]
        if pattern_type == "LITERAL":
            resource_type, colon, name = (data or b"").decode(errors="replace").partition(":")
            if not colon:
                raise MalformedZNode(path, f"expected a string in format ResourceType:ResourceName but got {data!r}")
            return AclChange(pattern_type, resource_type, name)

        def build(document: dict[str, Any]) -> AclChange:
            if document["version"] != 1 or document["patternType"] != pattern_type:
                raise ValueError("version or pattern type")
            return AclChange(pattern_type, documents.text(document["resourceType"]), documents.text(document["name"]))

        return documents.read(data, path, build)


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A delegation token without its secret. Principals as `User:alice`; times in epoch ms."""

    token_id: str
    owner: str
    token_requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiry_timestamp: int


class DelegationTokenZNode:
    """/delegation_token/tokens/ID."""

    PARENT = "/delegation_token/tokens"

    @staticmethod
    def path(token_id: str) -> str:
        return f"{DelegationTokenZNode.PARENT}/{token_id}"

    @staticmethod
    def encode(token: DelegationToken) -> bytes:
        return documents.write(
            {
                "version": 3,
                "owner": sanitize(token.owner),
                "tokenRequester": sanitize(token.token_requester),
                "renewers": [sanitize(renewer) for renewer in token.renewers],
                "issueTimestamp": token.issue_timestamp,
                "maxTimestamp": token.max_timestamp,
                "expiryTimestamp": token.expiry_timestamp,
                "tokenId": token.token_id,
            }
        )

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None, token_id: str = "") -> DelegationToken:
        """Raises MalformedZNode. Versions 1 and 2 have no requester: the owner."""

        def build(document: dict[str, Any]) -> DelegationToken:
            if documents.integer(document["version"]) not in (1, 2, 3):
                raise ValueError(f"version {document['version']}")
            return DelegationToken(
                token_id=documents.text(document["tokenId"]),
                owner=desanitize(document["owner"]),
                token_requester=desanitize(document.get("tokenRequester", document["owner"])),
                renewers=tuple(desanitize(renewer) for renewer in document.get("renewers", [])),
                issue_timestamp=documents.long_integer(document["issueTimestamp"]),
                max_timestamp=documents.long_integer(document["maxTimestamp"]),
                expiry_timestamp=documents.long_integer(document["expiryTimestamp"]),
            )

        return documents.read(data, DelegationTokenZNode.path(token_id), build)


class DelegationTokenChangeZNode:
    """/delegation_token/token_changes/token_change_N: the id of a token that has changed, as plain text."""

    PARENT = "/delegation_token/token_changes"
    PREFIX = f"{PARENT}/token_change_"

    @staticmethod
    def encode(token_id: str) -> bytes:
        return token_id.encode()

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> str:
        return (data or b"").decode(errors="replace")
