# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

WRITE_TXN_MARKERS_REQUEST: Message[WriteTxnMarkersRequest]
WRITE_TXN_MARKERS_RESPONSE: Message[WriteTxnMarkersResponse]

class WriteTxnMarkersRequest(Value):
    markers: list[WritableTxnMarker]
    def __init__(
        self,
        *,
        markers: list[WritableTxnMarker] = ...,
    ) -> None: ...

class WritableTxnMarker(Value):
    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        producer_epoch: int = ...,
        transaction_result: bool = ...,
        topics: list[WritableTxnMarkerTopic] = ...,
        coordinator_epoch: int = ...,
    ) -> None: ...

class WritableTxnMarkerTopic(Value):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
    ) -> None: ...

class WriteTxnMarkersResponse(Value):
    markers: list[WritableTxnMarkerResult]
    def __init__(
        self,
        *,
        markers: list[WritableTxnMarkerResult] = ...,
    ) -> None: ...

class WritableTxnMarkerResult(Value):
    producer_id: int
    topics: list[WritableTxnMarkerTopicResult]
    def __init__(
        self,
        *,
        producer_id: int = ...,
        topics: list[WritableTxnMarkerTopicResult] = ...,
    ) -> None: ...

class WritableTxnMarkerTopicResult(Value):
    name: str
    partitions: list[WritableTxnMarkerPartitionResult]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[WritableTxnMarkerPartitionResult] = ...,
    ) -> None: ...

class WritableTxnMarkerPartitionResult(Value):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
    ) -> None: ...

