# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

DESCRIBE_CLIENT_QUOTAS_REQUEST: Message[DescribeClientQuotasRequest]
DESCRIBE_CLIENT_QUOTAS_RESPONSE: Message[DescribeClientQuotasResponse]

class DescribeClientQuotasRequest(Value):
    components: list[ComponentData]
    strict: bool
    def __init__(
        self,
        *,
        components: list[ComponentData] = ...,
        strict: bool = ...,
    ) -> None: ...

class ComponentData(Value):
    entity_type: str
    match_type: int
    match: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        match_type: int = ...,
        match: str | None = ...,
    ) -> None: ...

class DescribeClientQuotasResponse(Value):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[EntryData] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        entries: list[EntryData] | None = ...,
    ) -> None: ...

class EntryData(Value):
    entity: list[EntityData]
    values: list[ValueData]
    def __init__(
        self,
        *,
        entity: list[EntityData] = ...,
        values: list[ValueData] = ...,
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

class ValueData(Value):
    key: str
    value: float
    def __init__(
        self,
        *,
        key: str = ...,
        value: float = ...,
    ) -> None: ...

