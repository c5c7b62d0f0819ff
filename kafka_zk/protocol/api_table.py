"""The APIs of a ZooKeeper-mode broker: key, name, versions, and where the messages are declared.

Role        The list that headers, dispatch and tools look keys up in. A tool that needs two messages does not pay for
            all of them: each API's module is imported when its request or response is first asked for.
Invariants  Versions and flexibility repeat what the declarations say; a test compares them.
Source      Kafka 3.9 ApiKeys.zkBrokerApis, and the versions that a 3.9.1 broker in ZooKeeper mode advertises.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Versions


class Api:
    """One API key."""

    def __init__(self, key: int, name: str, versions: str, flexible: str) -> None:
        self.key = key
        self.name = name
        self.versions = Versions.parse(versions)
        self.min_version, self.max_version = self.versions
        self.flexible_from = Versions.parse(flexible).low
        self._module_name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]

    def __repr__(self) -> str:
        return f"{self.name}({self.key})"

    @property
    def enum_name(self) -> str:
        """As Kafka's enum of APIs spells it: SASL_HANDSHAKE."""
        return self._module_name.upper()

    @property
    def request(self) -> Message[Any]:
        return self._message("REQUEST")

    @property
    def response(self) -> Message[Any]:
        return self._message("RESPONSE")

    def _message(self, kind: str) -> Message[Any]:
        module = import_module(f"kafka_zk.protocol.messages.{self._module_name}")
        message: Message[Any] = getattr(module, f"{self._module_name.upper()}_{kind}")
        return message


_APIS = (
    Api(0, "Produce", "0-11", flexible="9+"),
    Api(1, "Fetch", "0-17", flexible="12+"),
    Api(2, "ListOffsets", "0-9", flexible="6+"),
    Api(3, "Metadata", "0-12", flexible="9+"),
    Api(4, "LeaderAndIsr", "0-7", flexible="4+"),
    Api(5, "StopReplica", "0-4", flexible="2+"),
    Api(6, "UpdateMetadata", "0-8", flexible="6+"),
    Api(7, "ControlledShutdown", "0-3", flexible="3+"),
    Api(8, "OffsetCommit", "0-9", flexible="8+"),
    Api(9, "OffsetFetch", "0-9", flexible="6+"),
    Api(10, "FindCoordinator", "0-6", flexible="3+"),
    Api(11, "JoinGroup", "0-9", flexible="6+"),
    Api(12, "Heartbeat", "0-4", flexible="4+"),
    Api(13, "LeaveGroup", "0-5", flexible="4+"),
    Api(14, "SyncGroup", "0-5", flexible="4+"),
    Api(15, "DescribeGroups", "0-5", flexible="5+"),
    Api(16, "ListGroups", "0-5", flexible="3+"),
    Api(17, "SaslHandshake", "0-1", flexible="none"),
    Api(18, "ApiVersions", "0-4", flexible="3+"),
    Api(19, "CreateTopics", "0-7", flexible="5+"),
    Api(20, "DeleteTopics", "0-6", flexible="4+"),
    Api(21, "DeleteRecords", "0-2", flexible="2+"),
    Api(22, "InitProducerId", "0-5", flexible="2+"),
    Api(23, "OffsetForLeaderEpoch", "0-4", flexible="4+"),
    Api(24, "AddPartitionsToTxn", "0-5", flexible="3+"),
    Api(25, "AddOffsetsToTxn", "0-4", flexible="3+"),
    Api(26, "EndTxn", "0-4", flexible="3+"),
    Api(27, "WriteTxnMarkers", "0-1", flexible="1+"),
    Api(28, "TxnOffsetCommit", "0-4", flexible="3+"),
    Api(29, "DescribeAcls", "0-3", flexible="2+"),
    Api(30, "CreateAcls", "0-3", flexible="2+"),
    Api(31, "DeleteAcls", "0-3", flexible="2+"),
    Api(32, "DescribeConfigs", "0-4", flexible="4+"),
    Api(33, "AlterConfigs", "0-2", flexible="2+"),
    Api(34, "AlterReplicaLogDirs", "0-2", flexible="2+"),
    Api(35, "DescribeLogDirs", "0-4", flexible="2+"),
    Api(36, "SaslAuthenticate", "0-2", flexible="2+"),
    Api(37, "CreatePartitions", "0-3", flexible="2+"),
    Api(38, "CreateDelegationToken", "0-3", flexible="2+"),
    Api(39, "RenewDelegationToken", "0-2", flexible="2+"),
    Api(40, "ExpireDelegationToken", "0-2", flexible="2+"),
    Api(41, "DescribeDelegationToken", "0-3", flexible="2+"),
    Api(42, "DeleteGroups", "0-2", flexible="2+"),
    Api(43, "ElectLeaders", "0-2", flexible="2+"),
    Api(44, "IncrementalAlterConfigs", "0-1", flexible="1+"),
    Api(45, "AlterPartitionReassignments", "0", flexible="0+"),
    Api(46, "ListPartitionReassignments", "0", flexible="0+"),
    Api(47, "OffsetDelete", "0", flexible="none"),
    Api(48, "DescribeClientQuotas", "0-1", flexible="1+"),
    Api(49, "AlterClientQuotas", "0-1", flexible="1+"),
    Api(50, "DescribeUserScramCredentials", "0", flexible="0+"),
    Api(51, "AlterUserScramCredentials", "0", flexible="0+"),
    Api(56, "AlterPartition", "0-3", flexible="0+"),
    Api(57, "UpdateFeatures", "0-1", flexible="0+"),
    Api(58, "Envelope", "0", flexible="0+"),
    Api(60, "DescribeCluster", "0-1", flexible="0+"),
    Api(61, "DescribeProducers", "0", flexible="0+"),
    Api(65, "DescribeTransactions", "0", flexible="0+"),
    Api(66, "ListTransactions", "0-1", flexible="0+"),
    Api(67, "AllocateProducerIds", "0", flexible="0+"),
    Api(68, "ConsumerGroupHeartbeat", "0", flexible="0+"),
    Api(69, "ConsumerGroupDescribe", "0", flexible="0+"),
)

API_TABLE: dict[int, Api] = {api.key: api for api in _APIS}
