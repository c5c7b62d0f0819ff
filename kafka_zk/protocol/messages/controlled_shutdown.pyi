# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

CONTROLLED_SHUTDOWN_REQUEST: Message[ControlledShutdownRequest]
CONTROLLED_SHUTDOWN_RESPONSE: Message[ControlledShutdownResponse]

class ControlledShutdownRequest(Value):
    broker_id: int
    broker_epoch: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
    ) -> None: ...

class ControlledShutdownResponse(Value):
    error_code: int
    remaining_partitions: list[RemainingPartition]
    def __init__(
        self,
        *,
        error_code: int = ...,
        remaining_partitions: list[RemainingPartition] = ...,
    ) -> None: ...

class RemainingPartition(Value):
    topic_name: str
    partition_index: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
    ) -> None: ...

