# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

DESCRIBE_LOG_DIRS_REQUEST: Message[DescribeLogDirsRequest]
DESCRIBE_LOG_DIRS_RESPONSE: Message[DescribeLogDirsResponse]

class DescribeLogDirsRequest(Value):
    topics: list[DescribableLogDirTopic] | None
    def __init__(
        self,
        *,
        topics: list[DescribableLogDirTopic] | None = ...,
    ) -> None: ...

class DescribableLogDirTopic(Value):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
    ) -> None: ...

class DescribeLogDirsResponse(Value):
    throttle_time_ms: int
    error_code: int
    results: list[DescribeLogDirsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        results: list[DescribeLogDirsResult] = ...,
    ) -> None: ...

class DescribeLogDirsResult(Value):
    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: int
    usable_bytes: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        log_dir: str = ...,
        topics: list[DescribeLogDirsTopic] = ...,
        total_bytes: int = ...,
        usable_bytes: int = ...,
    ) -> None: ...

class DescribeLogDirsTopic(Value):
    name: str
    partitions: list[DescribeLogDirsPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[DescribeLogDirsPartition] = ...,
    ) -> None: ...

class DescribeLogDirsPartition(Value):
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool
    def __init__(
        self,
        *,
        partition_index: int = ...,
        partition_size: int = ...,
        offset_lag: int = ...,
        is_future_key: bool = ...,
    ) -> None: ...

