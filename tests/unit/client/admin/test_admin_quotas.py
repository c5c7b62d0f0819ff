"""Quotas and credentials over the admin client: what is asked, what is answered, what never leaves the process."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.quotas import CLIENT_ID, USER, ClientQuotaEntity, FilterComponent, Match
from kafka_zk.client.admin.scram import ScramCredentialInfo, ScramDeletion, ScramMechanism, ScramUpsertion
from kafka_zk.protocol.errors import ErrorCode, InvalidRequest, ResourceNotFound, UnacceptableCredential
from kafka_zk.protocol.messages import alter_client_quotas as altering
from kafka_zk.protocol.messages import alter_user_scram_credentials as scram_altering
from kafka_zk.protocol.messages import describe_client_quotas as describing
from kafka_zk.protocol.messages import describe_user_scram_credentials as scram_describing
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

METADATA, DESCRIBE_QUOTAS, ALTER_QUOTAS, DESCRIBE_SCRAM, ALTER_SCRAM = 3, 48, 49, 50, 51
VERSIONS = {
    METADATA: (0, 12),
    API_VERSIONS_KEY: (0, 4),
    DESCRIBE_QUOTAS: (0, 1),
    ALTER_QUOTAS: (0, 1),
    DESCRIBE_SCRAM: (0, 0),
    ALTER_SCRAM: (0, 0),
}
ALICE = ClientQuotaEntity.of({USER: "alice", CLIENT_ID: None})


class Answers:
    """A scripted broker's handler that keeps the request."""

    def __init__(self, answer: Any) -> None:
        self.asked: Any = None
        self._answer = answer

    def __call__(self, request: Any, version: int) -> Any:
        self.asked = request
        return self._answer


def admin_of(broker: ScriptedBroker) -> AdminClient:
    nodes = [MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)]
    broker.handlers[METADATA] = lambda request, version: MetadataResponse(brokers=nodes, controller_id=1)
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def test_quotas_come_by_entity_with_none_for_a_default() -> None:
    entity = [
        describing.EntityData(entity_type=USER, entity_name="alice"),
        describing.EntityData(entity_type=CLIENT_ID, entity_name=None),
    ]
    values = [describing.ValueData(key="producer_byte_rate", value=1024.0)]
    answers = Answers(
        describing.DescribeClientQuotasResponse(entries=[describing.EntryData(entity=entity, values=values)])
    )
    with ScriptedBroker({DESCRIBE_QUOTAS: answers}, versions=VERSIONS) as broker, admin_of(broker) as admin:
        found = admin.describe_client_quotas([FilterComponent(USER, Match.EXACT, "alice"), FilterComponent(CLIENT_ID)])
    assert found == {ALICE: {"producer_byte_rate": 1024.0}}
    assert [(c.entity_type, c.match_type, c.match) for c in answers.asked.components] == [
        ("user", 0, "alice"),
        ("client-id", 2, None),
    ]


def test_a_quota_that_is_none_is_removed() -> None:
    answers = Answers(altering.AlterClientQuotasResponse())
    with ScriptedBroker({ALTER_QUOTAS: answers}, versions=VERSIONS) as broker, admin_of(broker) as admin:
        admin.alter_client_quotas({ALICE: {"producer_byte_rate": 5.0, "request_percentage": None}}, validate_only=True)
    (entry,) = answers.asked.entries
    assert [(op.key, op.value, op.remove) for op in entry.ops] == [
        ("producer_byte_rate", 5.0, False),
        ("request_percentage", 0.0, True),
    ]
    assert answers.asked.validate_only


def test_the_first_entity_that_fails_is_raised() -> None:
    refused = altering.ResponseEntryData(error_code=ErrorCode.INVALID_REQUEST, error_message="no such key")
    answers = Answers(altering.AlterClientQuotasResponse(entries=[altering.ResponseEntryData(), refused]))
    with (
        ScriptedBroker({ALTER_QUOTAS: answers}, versions=VERSIONS) as broker,
        admin_of(broker) as admin,
        pytest.raises(InvalidRequest, match="no such key"),
    ):
        admin.alter_client_quotas({ALICE: {"x": 1.0}})


def test_a_password_leaves_as_its_salted_hash() -> None:
    # The example of RFC 7677: user "user", password "pencil".
    salt = b"[m\x99h\x9d\x125\x8e\xec\xa0K\x14\x126\xfa\x81"
    answers = Answers(scram_altering.AlterUserScramCredentialsResponse())
    given = ScramUpsertion("user", ScramMechanism.SCRAM_SHA_256, b"pencil", 4096, salt)
    gone = ScramDeletion("user", ScramMechanism.SCRAM_SHA_512)
    with ScriptedBroker({ALTER_SCRAM: answers}, versions=VERSIONS) as broker, admin_of(broker) as admin:
        admin.alter_user_scram_credentials(deletions=[gone], upsertions=[given])
    (upsertion,) = answers.asked.upsertions
    salted = "c4a49510323ab4f952cac1fa99441939e78ea74d6be81ddf7096e87513dc615d"
    assert bytes(upsertion.salted_password).hex() == salted
    assert (upsertion.mechanism, upsertion.iterations, bytes(upsertion.salt)) == (1, 4096, salt)
    assert [(each.name, each.mechanism) for each in answers.asked.deletions] == [("user", 2)]
    assert "pencil" not in repr(given)


def test_an_empty_user_or_password_is_refused_before_anything_is_sent() -> None:
    with ScriptedBroker({}, versions=VERSIONS) as broker, admin_of(broker) as admin:
        for upsertion in (
            ScramUpsertion("", ScramMechanism.SCRAM_SHA_256, b"x"),
            ScramUpsertion("u", ScramMechanism.SCRAM_SHA_256, b""),
        ):
            with pytest.raises(UnacceptableCredential, match="must not be empty"):
                admin.alter_user_scram_credentials(upsertions=[upsertion])
        assert broker.seen == []


def test_one_user_without_credentials_does_not_hide_the_others() -> None:
    result = scram_describing.DescribeUserScramCredentialsResult
    answers = Answers(
        scram_describing.DescribeUserScramCredentialsResponse(
            results=[
                result(user="a", credential_infos=[scram_describing.CredentialInfo(mechanism=1, iterations=8192)]),
                result(user="b", error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message="none"),
            ]
        )
    )
    with ScriptedBroker({DESCRIBE_SCRAM: answers}, versions=VERSIONS) as broker, admin_of(broker) as admin:
        found = admin.describe_user_scram_credentials(["a", "b"])
    assert found["a"] == [ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)]
    assert isinstance(found["b"], ResourceNotFound)
