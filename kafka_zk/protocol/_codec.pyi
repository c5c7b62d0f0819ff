from collections.abc import Callable
from typing import Any

from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.tally import Tally as Tally
from kafka_zk.protocol.types import Buffer

class Plan:
    def __init__(self, name: str, struct: Struct, version: int, flexible: bool) -> None: ...
    def decode(self, buffer: Buffer, position: int) -> tuple[Any, int]: ...
    def encode(self, value: Any) -> bytes: ...
    def encode_parts(self, value: Any) -> list[Any]: ...

make_by_keywords: Callable[..., None]

def read_request_header(
    frame: Buffer, position: int, flexible_from: dict[int, int]
) -> tuple[int, int, int, str, int]: ...
