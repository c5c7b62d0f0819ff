# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.value import Value

ENTITY_DATA: Struct
ALTER_CLIENT_QUOTAS_REQUEST: Message[AlterClientQuotasRequest]
ALTER_CLIENT_QUOTAS_RESPONSE: Message[AlterClientQuotasResponse]

class AlterClientQuotasRequest(Value):
    entries: list[RequestEntryData]
    validate_only: bool
    def __init__(
        self,
        *,
        entries: list[RequestEntryData] = ...,
        validate_only: bool = ...,
    ) -> None: ...

class RequestEntryData(Value):
    entity: list[EntityData]
    ops: list[OpData]
    def __init__(
        self,
        *,
        entity: list[EntityData] = ...,
        ops: list[OpData] = ...,
    ) -> None: ...

class EntityData(Value):
    entity_type: str
    entity_name: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        entity_name: str | None = ...,
    ) -> None: ...

class OpData(Value):
    key: str
    value: float
    remove: bool
    def __init__(
        self,
        *,
        key: str = ...,
        value: float = ...,
        remove: bool = ...,
    ) -> None: ...

class AlterClientQuotasResponse(Value):
    throttle_time_ms: int
    entries: list[ResponseEntryData]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        entries: list[ResponseEntryData] = ...,
    ) -> None: ...

class ResponseEntryData(Value):
    error_code: int
    error_message: str | None
    entity: list[EntityData]
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        entity: list[EntityData] = ...,
    ) -> None: ...

