# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import Value

ALTER_USER_SCRAM_CREDENTIALS_REQUEST: Message[AlterUserScramCredentialsRequest]
ALTER_USER_SCRAM_CREDENTIALS_RESPONSE: Message[AlterUserScramCredentialsResponse]

class AlterUserScramCredentialsRequest(Value):
    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]
    def __init__(
        self,
        *,
        deletions: list[ScramCredentialDeletion] = ...,
        upsertions: list[ScramCredentialUpsertion] = ...,
    ) -> None: ...

class ScramCredentialDeletion(Value):
    name: str
    mechanism: int
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
    ) -> None: ...

class ScramCredentialUpsertion(Value):
    name: str
    mechanism: int
    iterations: int
    salt: Buffer
    salted_password: Buffer
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
        iterations: int = ...,
        salt: Buffer = ...,
        salted_password: Buffer = ...,
    ) -> None: ...

class AlterUserScramCredentialsResponse(Value):
    throttle_time_ms: int
    results: list[AlterUserScramCredentialsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AlterUserScramCredentialsResult] = ...,
    ) -> None: ...

class AlterUserScramCredentialsResult(Value):
    user: str
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        user: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

