# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from uuid import UUID

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

DELETE_TOPICS_REQUEST: Message[DeleteTopicsRequest]
DELETE_TOPICS_RESPONSE: Message[DeleteTopicsResponse]

class DeleteTopicsRequest(Value):
    topics: list[DeleteTopicState]
    topic_names: list[str]
    timeout_ms: int
    def __init__(
        self,
        *,
        topics: list[DeleteTopicState] = ...,
        topic_names: list[str] = ...,
        timeout_ms: int = ...,
    ) -> None: ...

class DeleteTopicState(Value):
    name: str | None
    topic_id: UUID
    def __init__(
        self,
        *,
        name: str | None = ...,
        topic_id: UUID = ...,
    ) -> None: ...

class DeleteTopicsResponse(Value):
    throttle_time_ms: int
    responses: list[DeletableTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[DeletableTopicResult] = ...,
    ) -> None: ...

class DeletableTopicResult(Value):
    name: str | None
    topic_id: UUID
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        name: str | None = ...,
        topic_id: UUID = ...,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

