"""What handlers ask the authorizer, and what they tell of its answers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.acl import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from kafka_zk.protocol.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    ErrorCode,
    SecurityDisabled,
    TransactionalIdAuthorizationFailed,
)
from kafka_zk.protocol.messages import (
    create_acls,
    create_topics,
    delete_acls,
    describe_acls,
    elect_leaders,
    fetch,
    incremental_alter_configs,
    init_producer_id,
    metadata,
    produce,
)
from kafka_zk.record import Record, build_batch
from kafka_zk.record.legacy import build_message_set
from kafka_zk.security.acl.authorizer import TRACE, AclAuthorizer
from kafka_zk.security.acl.cache import AclCache, VersionedAcls
from kafka_zk.security.acl.decision import Policy
from kafka_zk.security.acl.rules import Acl, ResourcePattern
from tests.unit.replication.broker import Broker

ME = "User:ANONYMOUS"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    made.update_metadata({"t": {0: 1}, "u": {0: 1}})
    made.lead("t")
    made.lead("u")
    yield made
    made.close()


def authorize(
    broker: Broker, *rules: tuple[ResourceType, str, Operation], policy: Policy | None = None
) -> AclAuthorizer:
    cache = AclCache()
    for kind, name, operation in rules:
        pattern = ResourcePattern(kind, name, PatternType.LITERAL)
        before = cache.get(pattern)
        acls = (before.acls if before else frozenset()) | {Acl(ME, "*", operation, Permission.ALLOW)}
        cache.put(pattern, VersionedAcls(acls, 0))
    authorizer: Any = AclAuthorizer(cache, policy or Policy(), SimpleNamespace())  # type: ignore[arg-type]
    broker.services.authorizer = authorizer
    return authorizer


def batch(*, transactional: bool = False) -> bytearray:
    producer = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0} if transactional else {}
    return build_batch([Record(0, 1, None, b"x", [])], transactional=transactional, **producer)


def produce_of(**records: bytearray) -> produce.ProduceRequest:
    return produce.ProduceRequest(
        acks=1,
        timeout_ms=1000,
        topic_data=[
            produce.TopicProduceData(name=name, partition_data=[produce.PartitionProduceData(index=0, records=content)])
            for name, content in records.items()
        ],
    )


def test_a_transactional_batch_fails_the_whole_request_whatever_the_request_says(broker: Broker) -> None:
    """CVE-2018-17196: no transactional id, one transactional batch. Nothing is written, forbidden topic or not."""
    authorize(broker, (ResourceType.TOPIC, "t", Operation.WRITE))
    for request in (
        produce_of(t=batch(), u=batch(transactional=True)),
        produce_of(t=batch(transactional=True), u=batch()),
    ):
        with pytest.raises(BrokerError) as refused:
            broker.call(request, 9)
        assert refused.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert broker.partition("t").log.log_end_offset == 0


@pytest.mark.parametrize("api_version", [0, 1, 2])
@pytest.mark.parametrize("with_authorizer", [True, False])
def test_an_old_version_is_no_way_around_the_check_of_transactional_batches(
    broker: Broker, api_version: int, with_authorizer: bool
) -> None:
    """Message sets may hold batches of any format: such a transaction could never end, and nobody reads past it."""
    if with_authorizer:
        authorize(broker, (ResourceType.TOPIC, "t", Operation.WRITE))
    plain = build_message_set([Record(0, 1, None, b"x", [])], magic=1)
    for records in (batch(transactional=True), bytearray(bytes(plain) + bytes(batch(transactional=True)))):
        with pytest.raises(TransactionalIdAuthorizationFailed):
            broker.call(produce_of(t=records, u=batch()), api_version)
    assert broker.partition("t").log.log_end_offset == broker.partition("u").log.log_end_offset == 0


def test_a_client_that_fetches_as_a_replica_is_refused_and_moves_nothing(broker: Broker) -> None:
    """CVE-2018-1288: Read is not enough, and its fetch says nothing about a replica."""
    authorize(broker, (ResourceType.TOPIC, "t", Operation.READ))
    wanted = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
    request = fetch.FetchRequest(
        replica_id=2, max_wait_ms=0, session_epoch=-1, topics=[fetch.FetchTopic(topic="t", partitions=[wanted])]
    )
    answer = broker.call(request, 11)
    answer = answer.value if isinstance(answer, Pending) else answer
    assert answer.responses[0].partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    authorize(broker, (ResourceType.CLUSTER, CLUSTER_NAME, Operation.CLUSTER_ACTION))
    answer = broker.call(request, 11)
    answer = answer.value if isinstance(answer, Pending) else answer
    assert answer.responses[0].partitions[0].error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_the_values_of_a_broker_are_looked_at_for_those_only_who_may_set_them(broker: Broker) -> None:
    looked_at: list[str] = []
    admin: Any = SimpleNamespace(check_broker=lambda name, changes, keep_others: looked_at.append(name))
    broker.services.config_admin = admin
    authorize(broker)
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[
            incremental_alter_configs.AlterConfigsResource(
                resource_type=4,
                resource_name="1",
                configs=[
                    incremental_alter_configs.AlterableConfig(
                        name="ssl.keystore.location", config_operation=0, value="/x"
                    )
                ],
            )
        ]
    )
    (result,) = broker.call(request, 1).responses
    assert result.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert looked_at == []


def test_an_idempotent_producer_needs_some_topic_to_write_to(broker: Broker) -> None:
    ids: Any = SimpleNamespace(next_producer_id=lambda: done(7))
    broker.services.producer_ids = ids
    request = init_producer_id.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    for rules in (
        [(ResourceType.CLUSTER, CLUSTER_NAME, Operation.IDEMPOTENT_WRITE)],
        [(ResourceType.TOPIC, "some", Operation.WRITE)],
    ):
        authorize(broker, *rules)
        assert broker.call(request, 3).value.producer_id == 7
    authorize(broker, (ResourceType.TOPIC, "some", Operation.READ))
    with pytest.raises(ClusterAuthorizationFailed):
        broker.call(request, 3)


def done(value: int) -> Pending[int]:
    pending: Pending[int] = Pending()
    pending.complete(value)
    return pending


def test_a_hidden_topic_keeps_the_half_of_its_identity_that_the_client_has_not_said(broker: Broker) -> None:
    topic_id = broker.cache.topic("t").topic_id  # type: ignore[union-attr]
    authorize(broker)
    by_id = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=None, topic_id=topic_id)])
    (found,) = broker.call(by_id, 12).topics
    assert (found.error_code, found.name, found.topic_id) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic_id)
    by_name = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name="t")])
    (found,) = broker.call(by_name, 12).topics
    assert (found.error_code, found.name, found.topic_id.int) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t", 0)
    assert broker.call(metadata.MetadataRequest(topics=None), 12).topics == [], "all: left out"


# --- the audit log ---------------------------------------------------------------------------------------------------


def audit(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    lines = [(record.levelno, record.getMessage()) for record in caplog.records]
    caplog.clear()
    return [(level, line) for level, line in lines if line.startswith("Principal")]


def test_the_audit_log_says_who_was_denied_what_and_at_trace_what_nobody_asked_for(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    authorize(broker, (ResourceType.TOPIC, "t", Operation.DESCRIBE))
    with caplog.at_level(TRACE, "kafka.authorizer.logger"):
        request = metadata.MetadataRequest(
            topics=[metadata.MetadataRequestTopic(name="t"), metadata.MetadataRequestTopic(name="u")]
        )
        broker.call(request, 9)
        allowed, denied = (
            f"Principal = {ME} is {outcome} Operation = Describe from host = 127.0.0.1 "
            f"on resource = Topic:LITERAL:{name} for request = Metadata with resourceRefCount = 1"
            for outcome, name in (("Allowed", "t"), ("Denied", "u"))
        )
        assert audit(caplog) == [(logging.DEBUG, allowed), (logging.INFO, denied)]
        broker.call(metadata.MetadataRequest(topics=None), 9)
        assert audit(caplog) == [(logging.DEBUG, allowed), (TRACE, denied)]


def test_no_name_makes_two_lines_of_one(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    authorize(broker)
    forged = "t\nPrincipal = User:eve is Allowed Operation = Alter"
    with caplog.at_level(logging.INFO, "kafka.authorizer.logger"):
        broker.call(metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=forged)]), 4)
    ((_, line),) = audit(caplog)
    assert "\n" not in line and r"Topic:LITERAL:t\nPrincipal" in line


def test_names_that_only_fill_memory_are_not_remembered(broker: Broker) -> None:
    """Whoever may connect may ask about 50,000 groups with names of 32 KB."""
    authorizer = authorize(broker, (ResourceType.TOPIC, "t", Operation.READ))
    asker: Any = SimpleNamespace(api_key=3, principal=ME, client_host="127.0.0.1")
    assert authorizer.may(asker, Operation.READ, ResourceType.TOPIC, "t")
    for name in ("g" * 32_000, "g" * 249):
        assert not authorizer.may(asker, Operation.READ, ResourceType.GROUP, name)
    assert {len(name) for *_, name in authorizer._remembered} == {1, 249}


def test_a_topic_is_asked_about_once_however_many_of_its_partitions_are_read(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    authorize(broker)
    wanted = [fetch.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1) for index in range(3)]
    request = fetch.FetchRequest(
        max_wait_ms=0, session_epoch=-1, topics=[fetch.FetchTopic(topic="t", partitions=wanted)]
    )
    with caplog.at_level(logging.INFO, "kafka.authorizer.logger"):
        broker.call(request, 11)
    ((_, line),) = audit(caplog)
    assert line.endswith("on resource = Topic:LITERAL:t for request = Fetch with resourceRefCount = 3")


def test_a_super_user_is_told_of_in_the_audit_log(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    authorize(broker, policy=Policy(frozenset({ME})))
    with caplog.at_level(logging.DEBUG, "kafka.authorizer.logger"):
        broker.call(produce_of(t=batch()), 9)
    assert [record.getMessage() for record in caplog.records] == [
        f"principal = {ME} is a super user, allowing operation without checking acls.",
        (
            f"Principal = {ME} is Allowed Operation = Write from host = 127.0.0.1 on resource = Topic:LITERAL:t "
            "for request = Produce with resourceRefCount = 1"
        ),
    ]


def test_a_decision_is_forgotten_when_a_rule_changes(broker: Broker) -> None:
    authorizer = authorize(broker)
    context = broker.context(next(iter(broker.registry)), 0)
    asked = context, Operation.READ, ResourceType.TOPIC, "t"
    assert not authorizer.may(*asked)
    pattern = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
    authorizer.cache.put(pattern, VersionedAcls(frozenset({Acl(ME, "*", Operation.READ, Permission.ALLOW)}), 0))
    assert authorizer.may(*asked)
    authorizer.cache.put(pattern, VersionedAcls(frozenset(), 1))
    assert not authorizer.may(*asked)


# --- the APIs of ACLs ------------------------------------------------------------------------------------------------


def creation(**fields: Any) -> create_acls.AclCreation:
    usual = {
        "resource_type": ResourceType.TOPIC,
        "resource_name": "t",
        "resource_pattern_type": PatternType.LITERAL,
        "principal": "User:bob",
        "host": "*",
        "operation": Operation.READ,
        "permission_type": Permission.ALLOW,
    }
    return create_acls.AclCreation(**{**usual, **fields})


def acl_filter(kind: type[Any]) -> Any:
    return kind(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def test_without_an_authorizer_there_are_no_acls(broker: Broker) -> None:
    for request, text in (
        (acl_filter(describe_acls.DescribeAclsRequest), "No Authorizer is configured on the broker"),
        (create_acls.CreateAclsRequest(creations=[creation()]), "No Authorizer is configured."),
        (
            delete_acls.DeleteAclsRequest(filters=[acl_filter(delete_acls.DeleteAclsFilter)]),
            "No Authorizer is configured.",
        ),
    ):
        with pytest.raises(SecurityDisabled, match=text):
            broker.call(request, 3)
    authorize(broker)
    with pytest.raises(ClusterAuthorizationFailed):
        broker.call(create_acls.CreateAclsRequest(creations=[creation()]), 3)


@pytest.mark.parametrize(
    "fields",
    [{"resource_type": 0}, {"resource_pattern_type": 0}, {"operation": 0}, {"permission_type": 0}],
    ids=str,
)
def test_what_is_unknown_ends_the_connection(broker: Broker, fields: dict[str, int]) -> None:
    with pytest.raises(CloseConnection):
        broker.call(create_acls.CreateAclsRequest(creations=[creation(**fields)]), 3)


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_pattern_type": PatternType.ANY},
        {"resource_pattern_type": PatternType.MATCH},
        {"operation": Operation.ANY},
        {"permission_type": Permission.ANY},
    ],
    ids=str,
)
def test_what_only_filters_say_fails_all_creations(broker: Broker, fields: dict[str, int]) -> None:
    authorize(broker, policy=Policy(frozenset({ME})))
    with pytest.raises(BrokerError) as refused:
        broker.call(create_acls.CreateAclsRequest(creations=[creation(), creation(**fields)]), 3)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_topics_that_may_not_be_made_do_not_show_whether_they_exist(broker: Broker) -> None:
    active: Any = SimpleNamespace(is_active=True)
    broker.services.controller = active
    authorize(broker)
    request = create_topics.CreateTopicsRequest(
        topics=[create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("t", "x")]
    )
    for result in broker.call(request, 7).topics:
        assert (result.error_code, result.error_message, result.topic_config_error_code) == (
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "Authorization failed.",
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        )


def test_who_may_not_elect_leaders_does_not_learn_which_partitions_exist(broker: Broker) -> None:
    """Of many partitions the controller is asked about those only that it knows."""
    known = SimpleNamespace(
        assignment=lambda partition: SimpleNamespace(replicas=[1] if partition.topic == "t" else [])
    )
    active: Any = SimpleNamespace(active_controller=SimpleNamespace(context=known))
    broker.services.controller = active
    authorize(broker)
    request = elect_leaders.ElectLeadersRequest(
        election_type=0,
        topic_partitions=[
            elect_leaders.TopicPartitions(topic=name, partitions=list(range(1_000))) for name in ("t", "nowhere")
        ],
        timeout_ms=1,
    )
    told = broker.call(request, 2)
    assert told.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert {topic.topic: len(topic.partition_result) for topic in told.replica_election_results} == {
        "t": 1_000,
        "nowhere": 1_000,
    }
