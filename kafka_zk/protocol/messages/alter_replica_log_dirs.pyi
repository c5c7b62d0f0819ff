# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

ALTER_REPLICA_LOG_DIRS_REQUEST: Message[AlterReplicaLogDirsRequest]
ALTER_REPLICA_LOG_DIRS_RESPONSE: Message[AlterReplicaLogDirsResponse]

class AlterReplicaLogDirsRequest(Value):
    dirs: list[AlterReplicaLogDir]
    def __init__(
        self,
        *,
        dirs: list[AlterReplicaLogDir] = ...,
    ) -> None: ...

class AlterReplicaLogDir(Value):
    path: str
    topics: list[AlterReplicaLogDirTopic]
    def __init__(
        self,
        *,
        path: str = ...,
        topics: list[AlterReplicaLogDirTopic] = ...,
    ) -> None: ...

class AlterReplicaLogDirTopic(Value):
    name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[int] = ...,
    ) -> None: ...

class AlterReplicaLogDirsResponse(Value):
    throttle_time_ms: int
    results: list[AlterReplicaLogDirTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AlterReplicaLogDirTopicResult] = ...,
    ) -> None: ...

class AlterReplicaLogDirTopicResult(Value):
    topic_name: str
    partitions: list[AlterReplicaLogDirPartitionResult]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[AlterReplicaLogDirPartitionResult] = ...,
    ) -> None: ...

class AlterReplicaLogDirPartitionResult(Value):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
    ) -> None: ...

