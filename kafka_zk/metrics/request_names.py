"""The request names that have metrics from the start.

Source  RequestMetrics.java, RequestChannel.Metrics: ApiKeys of the broker listener, FetchConsumer, FetchFollower,
        AddPartitionsToTxnVerification.
"""

REQUEST_NAMES = (
    "AddOffsetsToTxn", "AddPartitionsToTxn", "AddPartitionsToTxnVerification", "AllocateProducerIds",
    "AlterClientQuotas", "AlterConfigs", "AlterPartition", "AlterPartitionReassignments", "AlterReplicaLogDirs",
    "AlterUserScramCredentials", "ApiVersions", "ConsumerGroupDescribe", "ConsumerGroupHeartbeat",
    "ControlledShutdown", "CreateAcls", "CreateDelegationToken", "CreatePartitions", "CreateTopics", "DeleteAcls",
    "DeleteGroups", "DeleteRecords", "DeleteTopics", "DescribeAcls", "DescribeClientQuotas", "DescribeCluster",
    "DescribeConfigs", "DescribeDelegationToken", "DescribeGroups", "DescribeLogDirs", "DescribeProducers",
    "DescribeTransactions", "DescribeUserScramCredentials", "ElectLeaders", "EndTxn", "Envelope",
    "ExpireDelegationToken", "Fetch", "FetchConsumer", "FetchFollower", "FindCoordinator", "Heartbeat",
    "IncrementalAlterConfigs", "InitProducerId", "JoinGroup", "LeaderAndIsr", "LeaveGroup", "ListGroups",
    "ListOffsets", "ListPartitionReassignments", "ListTransactions", "Metadata", "OffsetCommit", "OffsetDelete",
    "OffsetFetch", "OffsetForLeaderEpoch", "Produce", "RenewDelegationToken", "SaslAuthenticate", "SaslHandshake",
    "StopReplica", "SyncGroup", "TxnOffsetCommit", "UpdateFeatures", "UpdateMetadata", "WriteTxnMarkers",
)  # fmt: skip
