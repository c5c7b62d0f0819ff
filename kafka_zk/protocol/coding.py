"""Chooses the codec: table-driven in the compiled module if it was built, else generated Python source.

Role        Pure. The only place that knows there are two; each name here has the same promises in both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal, Protocol

from kafka_zk.protocol.decoder import Decoder, TurnsDecoder, compile_decoder, compile_turns_decoder
from kafka_zk.protocol.encoder import (
    Encoder,
    PartsEncoder,
    TurnsEncoder,
    compile_encoder,
    compile_parts_encoder,
    compile_turns_encoder,
)
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.value import make_with

__all__ = ["CODEC", "Codec", "PureCodec", "Tally", "compiled_header_reader", "make_codec"]


class Codec(Protocol):
    """One version of a message: bytes to object, object to bytes, object to bytes with slices of files between.

    The same "in turns" for large messages: other greenlets may run between the elements of arrays.
    """

    @property
    def decode(self) -> Decoder: ...
    @property
    def encode(self) -> Encoder: ...
    @property
    def encode_parts(self) -> PartsEncoder: ...
    @property
    def decode_in_turns(self) -> TurnsDecoder: ...
    @property
    def encode_in_turns(self) -> TurnsEncoder: ...


class PureCodec:
    """A Codec of generated Python; each function is compiled on first use."""

    def __init__(self, name: str, struct: Struct, version: int, flexible: bool) -> None:
        self._name = name
        self._struct = struct
        self._version = version
        self._flexible = flexible

    @cached_property
    def decode(self) -> Decoder:
        return compile_decoder(self._name, self._struct, self._version, flexible=self._flexible)

    @cached_property
    def encode(self) -> Encoder:
        return compile_encoder(self._name, self._struct, self._version, flexible=self._flexible)

    @cached_property
    def encode_parts(self) -> PartsEncoder:
        return compile_parts_encoder(self._name, self._struct, self._version, flexible=self._flexible)

    @cached_property
    def decode_in_turns(self) -> TurnsDecoder:
        return compile_turns_decoder(self._name, self._struct, self._version, flexible=self._flexible)

    @cached_property
    def encode_in_turns(self) -> TurnsEncoder:
        return compile_turns_encoder(self._name, self._struct, self._version, flexible=self._flexible)


CODEC: Literal["compiled", "pure"]
make_codec: Callable[[str, Struct, int, bool], Codec]
"""The codec of a struct's version: (name for errors, struct, version, whether it has compact lengths and tags)."""

compiled_header_reader: Callable[[Buffer, int, dict[int, int]], tuple[int, int, int, str, int]] | None
"""The twin of header.read_request_header; None where nothing is compiled."""

try:
    from kafka_zk.protocol import _codec
    from kafka_zk.protocol._codec import Tally

    CODEC = "compiled"
    make_codec = _codec.Plan
    make_with(_codec.make_by_keywords)
    compiled_header_reader = _codec.read_request_header
except ImportError:
    from kafka_zk.protocol.tally import Tally

    CODEC = "pure"
    make_codec = PureCodec
    compiled_header_reader = None
