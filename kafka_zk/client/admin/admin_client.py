"""AdminClient: describes and changes topics, configs, groups and the cluster over the wire.

Role        Acts, through `Calls`. Each method is one call, limited to default.api.timeout.ms.
Invariants  Topic changes go to the controller, changes of a broker's own configuration to that broker.
            Errors of single topics or resources are raised as `BrokerError`, the first one in the answer's order.
            Messages are imported where they are used: a tool pays only for what it uses.
Source      KafkaAdminClient.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from kafka_zk.client.admin.admin_results import (
    ClusterDescription,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    Node,
    PartitionReassignment,
    TopicDescription,
    TopicListing,
    topic_description,
)
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.client.admin.cluster import Cluster
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import KafkaException
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.tables.admin import ADMIN_KEYS
from kafka_zk.protocol.errors import BrokerError, UnsupportedVersion
from kafka_zk.protocol.messages.metadata import (
    METADATA_REQUEST,
    METADATA_RESPONSE,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_zk.protocol.types import TopicPartition

if TYPE_CHECKING:
    from kafka_zk.client.admin.acls import AccessControlEntry, AclBinding, ResourcePattern
    from kafka_zk.client.admin.elections import ElectionType
    from kafka_zk.client.admin.features import FeatureMetadata, FeatureUpdate
    from kafka_zk.client.admin.group_offsets import Committed
    from kafka_zk.client.admin.group_results import (
        CommittedOffset,
        ConsumerGroupDescription,
        ConsumerGroupListing,
        ConsumerGroupState,
        GroupType,
        MemberToRemove,
    )
    from kafka_zk.client.admin.log_dirs import LogDirDescription, Replica, ReplicaDirectories
    from kafka_zk.client.admin.offset_listing import Listed
    from kafka_zk.client.admin.partition_producers import Described
    from kafka_zk.client.admin.quotas import ClientQuotaEntity, FilterComponent
    from kafka_zk.client.admin.replica_fetching import Fetched
    from kafka_zk.client.admin.scram import ScramCredentialInfo, ScramDeletion, ScramUpsertion
    from kafka_zk.client.admin.tokens import DelegationToken, Principal
    from kafka_zk.client.admin.transaction_results import (
        AbortTransactionSpec,
        TransactionDescription,
        TransactionListing,
        TransactionState,
    )
    from kafka_zk.protocol.messages.api_versions import ApiVersion

_client_numbers = itertools.count(1)


class AdminClient:
    """A client for administration. Close it, or use it in a `with`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Blocks (resolves names).

        Raises ConfigException for an invalid value, UnsupportedSecurity, KafkaException with the cause
        for the rest.
        """
        config = ClientConfig(ADMIN_KEYS, properties)
        client_id = config.text("client.id") or f"adminclient-{next(_client_numbers)}"
        try:
            config.check_timeouts()
            if not config.texts("bootstrap.servers"):
                raise ConfigException("You must set either bootstrap.servers or bootstrap.controllers")
            self._cluster = Cluster(config, client_id=client_id, log_prefix=f"AdminClient clientId={client_id}")
        except (ConfigException, KafkaException) as error:
            raise KafkaException("Failed to create new KafkaAdminClient") from error
        self._calls = Calls(self._cluster, config)
        self._request_timeout_ms = config.integer("request.timeout.ms")

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._cluster.close()

    # --- topics ------------------------------------------------------------------------------------------------------

    def list_topics(self, *, internal: bool = False) -> list[TopicListing]:
        """Blocks. Lists all topics in the order of the response, with or without `internal` ones."""
        answer = self._metadata("listTopics", None)
        return [
            TopicListing(topic.name or "", topic.topic_id, topic.is_internal)
            for topic in answer.topics
            if internal or not topic.is_internal
        ]

    def describe_topics(self, names: Sequence[str], *, timeout_ms: int | None = None) -> dict[str, TopicDescription]:
        """Blocks. Describe topics by name. Raises UnknownTopicOrPartition and similar errors."""
        from kafka_zk.client.admin.topics import refuse_unnamed

        refuse_unnamed(names)
        wanted = [MetadataRequestTopic(name=name) for name in names]
        return {topic.name: topic for topic in self._describe_topics(wanted, timeout_ms)}

    def describe_each_topic(self, names: Sequence[str]) -> dict[str, TopicDescription | BrokerError]:
        """Blocks. Describe topics by name, or say why not: UnknownTopicOrPartition, InvalidTopicException ..."""
        from kafka_zk.client.admin.topics import describe_each

        return describe_each(names, self._metadata_of)

    def _metadata_of(self, names: Sequence[str]) -> MetadataResponse:
        return self._metadata("describeTopics", [MetadataRequestTopic(name=name) for name in names])

    def describe_topics_by_id(self, ids: Sequence[UUID]) -> dict[UUID, TopicDescription]:
        """Blocks. Describe topics by id. Raises UnknownTopicId and similar errors."""
        wanted = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]
        return {topic.topic_id: topic for topic in self._describe_topics(wanted)}

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> None:
        """Blocks. Create topics. Raises TopicAlreadyExists, InvalidReplicationFactor ..."""
        from kafka_zk.client.admin.topics import create_topics

        create_topics(self._calls, topics, timeout_ms=self._request_timeout_ms, validate_only=validate_only)

    def delete_topics(self, names: Sequence[str]) -> None:
        """Blocks. Delete topics. Raises UnknownTopicOrPartition, TopicDeletionDisabled ..."""
        from kafka_zk.client.admin.topics import delete_topics

        delete_topics(self._calls, names, timeout_ms=self._request_timeout_ms)

    def create_partitions(
        self, counts: Mapping[str, int], assignments: Mapping[str, Sequence[Sequence[int]]] | None = None
    ) -> None:
        """Blocks. Increase topics to `counts` partitions; `assignments` may place the new ones.

        Raises InvalidPartitions, InvalidReplicaAssignment ...
        """
        from kafka_zk.client.admin.topics import create_partitions

        create_partitions(self._calls, counts, assignments or {}, timeout_ms=self._request_timeout_ms)

    def _describe_topics(
        self, wanted: list[MetadataRequestTopic], timeout_ms: int | None = None
    ) -> list[TopicDescription]:
        if not wanted:
            return []
        # Java asks for the nodes first, and names that call if there are none.
        answer = self._metadata("listNodes", wanted, timeout_ms)
        for topic in answer.topics:
            raise_for(topic.error_code, None)
        live = {broker.node_id for broker in answer.brokers}
        return [topic_description(topic, live) for topic in answer.topics]

    def _metadata(
        self, name: str, topics: list[MetadataRequestTopic] | None, timeout_ms: int | None = None
    ) -> MetadataResponse:
        def build(version: int) -> MetadataRequest:
            if version < 4 and topics is not None:
                raise UnsupportedVersion("MetadataRequest versions older than 4 would create missing topics")
            # All topics: null, but in version 0 an empty list.
            wanted = [] if topics is None and version == 0 else topics
            return MetadataRequest(topics=wanted, allow_auto_topic_creation=version < 4)

        answer = self._calls.within(timeout_ms).to_any_node(Call(name, METADATA_REQUEST, METADATA_RESPONSE, build))
        self._cluster.learn(answer)
        return answer

    # --- records and offsets -----------------------------------------------------------------------------------------

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False, timeout_ms: int | None = None
    ) -> Listed:
        """Blocks. Lists offsets by time in ms or by OffsetSpec; a partition that fails gets its error."""
        from kafka_zk.client.admin.offset_listing import list_offsets

        calls = self._calls.within(timeout_ms)
        return list_offsets(calls, self._leaders("listOffsets"), wanted, isolation_level=int(read_committed))

    def delete_records(
        self, wanted: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, int | BrokerError | KafkaException]:
        """Blocks. Delete the records before the given offsets (-1: the high watermark).

        Returns the low watermark of each partition, or its error.
        """
        from kafka_zk.client.admin.record_deletion import delete_records

        return delete_records(self._calls.within(timeout_ms), self._leaders("deleteRecords"), wanted)

    def _leaders(self, name: str) -> Callable[[Iterable[str], int], MetadataResponse]:
        def look_up(topics: Iterable[str], timeout_ms: int) -> MetadataResponse:
            wanted = [MetadataRequestTopic(name=topic) for topic in topics]
            return self._metadata(f"{name}(api=METADATA)", wanted, timeout_ms)

        return look_up

    # --- groups ------------------------------------------------------------------------------------------------------

    def list_consumer_groups(
        self,
        *,
        states: Collection[ConsumerGroupState] = (),
        types: Collection[GroupType] = (),
        timeout_ms: int | None = None,
    ) -> list[ConsumerGroupListing]:
        """Blocks. Lists the groups of all brokers, or of `states` and `types`. Raises the first broker's error."""
        from kafka_zk.client.admin import groups

        calls = self._calls.within(timeout_ms)
        try:
            brokers = self._metadata("findAllBrokers", [], timeout_ms).brokers
        except (BrokerError, KafkaException) as error:
            raise KafkaException("Failed to find brokers to send ListGroups") from error
        nodes = [Node(broker.node_id, broker.host, broker.port, broker.rack) for broker in brokers]
        return groups.list_consumer_groups(calls, nodes, states=states, types=types)

    def describe_consumer_groups(
        self, groups: Collection[str], *, timeout_ms: int | None = None
    ) -> dict[str, ConsumerGroupDescription | BrokerError | KafkaException]:
        """Blocks. Returns state and members of each group, or its error; a missing group is DEAD."""
        from kafka_zk.client.admin.groups import describe_consumer_groups

        return describe_consumer_groups(self._calls.within(timeout_ms), groups)

    def delete_consumer_groups(
        self, groups: Collection[str], *, timeout_ms: int | None = None
    ) -> dict[str, BrokerError | KafkaException | None]:
        """Blocks. Delete groups. Returns None or an error for each (NonEmptyGroup, GroupIdNotFound ...)."""
        from kafka_zk.client.admin.groups import delete_consumer_groups

        return delete_consumer_groups(self._calls.within(timeout_ms), groups)

    def remove_members_from_consumer_group(
        self,
        group: str,
        members: Sequence[MemberToRemove] | None = None,
        *,
        reason: str | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        """Blocks. Remove the given members of a group, or all. Raises KafkaException, BrokerError."""
        from kafka_zk.client.admin.groups import remove_members

        remove_members(self._calls.within(timeout_ms), group, members, reason)

    def list_consumer_group_offsets(self, group: str) -> dict[TopicPartition, int]:
        """Blocks. Lists every offset that the group has committed. Raises BrokerError, KafkaException."""
        from kafka_zk.client.admin.coordinators import value_of

        committed = value_of(self.list_offsets_of_consumer_groups([group]), group)
        return {partition: each.offset for partition, each in committed.items()}

    def list_offsets_of_consumer_groups(
        self, groups: Collection[str], *, timeout_ms: int | None = None
    ) -> dict[str, Committed | BrokerError | KafkaException]:
        """Blocks. Lists every offset that each group has committed, with epoch and metadata, or the group's error."""
        from kafka_zk.client.admin.group_offsets import list_group_offsets

        return list_group_offsets(self._calls.within(timeout_ms), groups)

    def alter_consumer_group_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int | CommittedOffset], *, timeout_ms: int | None = None
    ) -> None:
        """Blocks. Commit for a group without members. Raises UnknownMemberId while it has some."""
        from kafka_zk.client.admin.group_offsets import alter_group_offsets
        from kafka_zk.client.admin.group_results import CommittedOffset

        wanted = {
            partition: CommittedOffset(each) if isinstance(each, int) else each for partition, each in offsets.items()
        }
        problems = alter_group_offsets(self._calls.within(timeout_ms), group, wanted)
        failed = {partition: error for partition, error in problems.items() if error is not None}
        for error in failed.values():
            partitions = ", ".join(map(str, failed))
            raise type(error)(
                f"Failed altering consumer group offsets for the following partitions: [{partitions}]"
            ) from error

    def delete_consumer_group_offsets(
        self, group: str, partitions: Collection[TopicPartition], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, BrokerError | KafkaException | None]:
        """Blocks. Delete committed offsets. Returns None or an error for each. Raises GroupIdNotFound ..."""
        from kafka_zk.client.admin.group_offsets import delete_group_offsets

        return delete_group_offsets(self._calls.within(timeout_ms), group, partitions)

    # --- transactions ------------------------------------------------------------------------------------------------

    def list_transactions(
        self,
        *,
        states: Collection[TransactionState] = (),
        producer_ids: Collection[int] = (),
        longer_than_ms: int = -1,
    ) -> dict[int, list[TransactionListing]]:
        """Blocks. Lists the transactions of all coordinators, by broker; -1: of any duration.

        Raises the first broker's error.
        """
        from kafka_zk.client.admin.transactions import LIST_NAME, list_transactions_by_broker

        brokers = self._metadata(f"{LIST_NAME}(api=METADATA)", []).brokers
        return list_transactions_by_broker(
            self._calls,
            [broker.node_id for broker in brokers],
            states=states,
            producer_ids=producer_ids,
            longer_than_ms=longer_than_ms,
        )

    def describe_transactions(
        self, transactional_ids: Collection[str]
    ) -> dict[str, TransactionDescription | BrokerError | KafkaException]:
        """Blocks. Returns the state of each id, or its error: TransactionalIdNotFound ..."""
        from kafka_zk.client.admin.transactions import describe_transactional_ids

        return describe_transactional_ids(self._calls, transactional_ids)

    def describe_producers(self, partitions: Collection[TopicPartition], *, broker_id: int | None = None) -> Described:
        """Blocks. Returns what the leader of each partition remembers of producers, or `broker_id`; or an error."""
        from kafka_zk.client.admin import partition_producers as producers

        if broker_id is not None:
            return producers.describe_producers_of_replica(self._calls, broker_id, partitions)
        return producers.describe_producers(self._calls, self._leaders(producers.DESCRIBE_NAME), partitions)

    def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Blocks. Abort a transaction in one partition, past its coordinator. Raises InvalidProducerEpoch ..."""
        from kafka_zk.client.admin import partition_producers as producers

        producers.abort_transaction(self._calls, self._leaders(producers.ABORT_NAME), spec)

    # --- configs -----------------------------------------------------------------------------------------------------

    def describe_configs(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, list[ConfigEntry]]:
        """Blocks. All configs of topics and brokers, in the response's order. Raises UnknownTopicOrPartition ..."""
        from kafka_zk.client.admin.configs import describe_configs

        return describe_configs(self._calls, resources, synonyms=synonyms)

    def alter_configs(self, values: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False) -> None:
        """Blocks. Replace all overrides of topics and brokers. Raises InvalidConfig, InvalidRequest ..."""
        from kafka_zk.client.admin.configs import alter_configs

        alter_configs(self._calls, values, validate_only=validate_only)

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
    ) -> None:
        """Blocks. Change single keys, leaving the others as they are. Raises InvalidConfig ..."""
        from kafka_zk.client.admin.configs import incremental_alter_configs

        incremental_alter_configs(self._calls, changes, validate_only=validate_only)

    # --- quotas and credentials --------------------------------------------------------------------------------------

    def describe_client_quotas(
        self, components: Sequence[FilterComponent], *, strict: bool = False
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        """Blocks. Returns the quotas of the entities that match a filter. Raises InvalidRequest ..."""
        from kafka_zk.client.admin.quotas import describe_client_quotas

        return describe_client_quotas(self._calls, components, strict=strict)

    def alter_client_quotas(
        self, alterations: Mapping[ClientQuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> None:
        """Blocks. Set quotas, or remove those that are None. Raises InvalidRequest ..."""
        from kafka_zk.client.admin.quotas import alter_client_quotas

        alter_client_quotas(self._calls, alterations, validate_only=validate_only)

    def describe_user_scram_credentials(
        self, users: Sequence[str] = ()
    ) -> Mapping[str, list[ScramCredentialInfo] | BrokerError]:
        """Blocks. Returns mechanisms and iterations of users (none: of all), or a user's error."""
        from kafka_zk.client.admin.scram import describe_user_scram_credentials

        return describe_user_scram_credentials(self._calls, users)

    def alter_user_scram_credentials(
        self, *, deletions: Sequence[ScramDeletion] = (), upsertions: Sequence[ScramUpsertion] = ()
    ) -> None:
        """Blocks. Store and delete credentials. Raises UnacceptableCredential, ResourceNotFound ..."""
        from kafka_zk.client.admin.scram import alter_user_scram_credentials

        alter_user_scram_credentials(self._calls, deletions=deletions, upsertions=upsertions)

    # --- ACLs and delegation tokens ----------------------------------------------------------------------------------

    def describe_acls(self, pattern: ResourcePattern | None = None) -> list[AclBinding]:
        """Blocks. All rules of what `pattern` matches (None: of everything). Raises SecurityDisabled ..."""
        from kafka_zk.client.admin.acls import ANY_PATTERN, describe_acls

        return describe_acls(self._calls, ANY_PATTERN if pattern is None else pattern)

    def create_acls(self, bindings: Sequence[AclBinding]) -> None:
        """Blocks. Add rules. Raises the error of the first that was refused."""
        from kafka_zk.client.admin.acls import create_acls

        create_acls(self._calls, bindings)

    def delete_acls(
        self, pattern: ResourcePattern, entries: Sequence[AccessControlEntry] | None = None
    ) -> list[AclBinding]:
        """Blocks. Remove these rules of what `pattern` matches (None: all); returns what was removed."""
        from kafka_zk.client.admin.acls import delete_acls

        return delete_acls(self._calls, pattern, entries)

    def create_delegation_token(
        self,
        *,
        renewers: Sequence[Principal] = (),
        max_lifetime_ms: int = -1,
        owner: Principal | None = None,
    ) -> DelegationToken:
        """Blocks. A new token, of this client or of `owner`. Raises DelegationTokenRequestNotAllowed ..."""
        from kafka_zk.client.admin.tokens import create_delegation_token

        return create_delegation_token(self._calls, renewers=renewers, max_lifetime_ms=max_lifetime_ms, owner=owner)

    def renew_delegation_token(self, hmac: bytes, period_ms: int = -1) -> int:
        """Blocks. The token's new end, epoch ms; -1: the cluster's usual period. Raises DelegationTokenNotFound ..."""
        from kafka_zk.client.admin.tokens import renew_delegation_token

        return renew_delegation_token(self._calls, hmac, period_ms)

    def expire_delegation_token(self, hmac: bytes, period_ms: int = -1) -> int:
        """Blocks. The token's new end, epoch ms; -1: now. Raises DelegationTokenNotFound ..."""
        from kafka_zk.client.admin.tokens import expire_delegation_token

        return expire_delegation_token(self._calls, hmac, period_ms)

    def describe_delegation_tokens(self, owners: Sequence[Principal] | None = None) -> list[DelegationToken]:
        """Blocks. The tokens that this client may see: of `owners`, or all. Raises DelegationTokenAuthDisabled ..."""
        from kafka_zk.client.admin.tokens import describe_delegation_tokens

        return describe_delegation_tokens(self._calls, owners)

    # --- the cluster -------------------------------------------------------------------------------------------------

    def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Blocks. Lists the ongoing reassignments of `partitions` (None: all). Raises ClusterAuthorizationFailed ..."""
        from kafka_zk.client.admin.reassignments import list_partition_reassignments

        return list_partition_reassignments(self._calls, partitions, timeout_ms=self._request_timeout_ms)

    def alter_partition_reassignments(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, BrokerError | None]:
        """Blocks. Begin moving partitions to these replicas, or cancel what moves them (None).

        Returns None or an error for each: NoReassignmentInProgress ... Raises ClusterAuthorizationFailed ...
        """
        from kafka_zk.client.admin.reassignments import alter_partition_reassignments

        return alter_partition_reassignments(self._calls, wanted, timeout_ms=self._request_timeout_ms)

    def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, BrokerError | None]:
        """Blocks. Elect leaders of `partitions` (None: of all that need it). Returns None or an error for each.

        Raises ClusterAuthorizationFailed, TimeoutException ...
        """
        from kafka_zk.client.admin.elections import elect_leaders

        return elect_leaders(self._calls, election_type, partitions, timeout_ms=self._request_timeout_ms)

    def fetch_from_replica(
        self,
        broker_id: int,
        offsets: Mapping[TopicPartition, int],
        topic_ids: Mapping[str, UUID],
        *,
        max_wait_ms: int,
        partition_max_bytes: int,
    ) -> dict[TopicPartition, Fetched]:
        """Blocks. Returns what a broker's replicas have from `offsets` on, whether it leads them or not."""
        from kafka_zk.client.admin.replica_fetching import fetch_from_replica

        return fetch_from_replica(
            self._calls,
            broker_id,
            offsets,
            topic_ids,
            max_wait_ms=max_wait_ms,
            partition_max_bytes=partition_max_bytes,
        )

    def alter_replica_log_dirs(
        self, wanted: Mapping[Replica, str]
    ) -> dict[Replica, BrokerError | KafkaException | None]:
        """Blocks. Begin moving replicas to these directories of their brokers. Returns None or an error for each."""
        from kafka_zk.client.admin.log_dirs import alter_replica_log_dirs

        return alter_replica_log_dirs(self._calls, wanted)

    def describe_replica_log_dirs(self, replicas: Collection[Replica]) -> dict[Replica, ReplicaDirectories]:
        """Blocks. Returns where each replica is, and where it is being moved to. Raises TimeoutException ..."""
        from kafka_zk.client.admin.log_dirs import describe_replica_log_dirs

        return describe_replica_log_dirs(self._calls, replicas)

    def describe_log_dirs(self, broker_ids: Collection[int]) -> dict[int, dict[str, LogDirDescription]]:
        """Blocks. Returns log directories by broker and path. Raises ClusterAuthorizationFailed ..."""
        from kafka_zk.client.admin.log_dirs import describe_log_dirs

        return describe_log_dirs(self._calls, broker_ids)

    def describe_api_versions(self) -> dict[Node, list[ApiVersion] | BrokerError | KafkaException]:
        """Blocks. Returns each broker's API versions, or its error. Raises NoNode at once if none can be reached."""
        from kafka_zk.client.admin.api_versions import describe_api_versions

        return describe_api_versions(self._calls)

    def describe_cluster(self, *, of_controllers: bool = False, call_name: str = "listNodes") -> ClusterDescription:
        """Blocks. Returns cluster id, controller and live brokers. Only KRaft controllers describe controllers.

        `call_name` is the call named by a timeout.
        """
        from kafka_zk.client.admin.cluster_description import describe_cluster

        return describe_cluster(self._calls, of_controllers=of_controllers, call_name=call_name)

    def describe_features(self, *, of_controllers: bool = False) -> FeatureMetadata:
        """Blocks. Returns the features that one broker supports, and the cluster's finalized levels.

        A node that is not a KRaft controller refuses such a request.
        """
        from kafka_zk.client.admin.features import describe_features

        return describe_features(self._calls, of_controllers=of_controllers)

    def update_features(
        self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False, of_controllers: bool = False
    ) -> dict[str, BrokerError | KafkaException | None]:
        """Blocks. Update features. Returns None or an error for each. Raises ValueError for a blank name."""
        from kafka_zk.client.admin.features import update_features

        return update_features(
            self._calls,
            updates,
            timeout_ms=self._request_timeout_ms,
            validate_only=validate_only,
            of_controllers=of_controllers,
        )
