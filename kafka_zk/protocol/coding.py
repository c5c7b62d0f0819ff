"""Chooses the codec: tables read by the compiled module where it could be built, else compiled Python source.

Role        Pure. The only place that knows there are two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from kafka_zk.protocol.decoder import Decoder, compile_decoder
from kafka_zk.protocol.encoder import Encoder, PartsEncoder, compile_encoder, compile_parts_encoder
from kafka_zk.protocol.schema import Struct
from kafka_zk.protocol.types import Buffer

CODEC: Literal["compiled", "pure"]
make_by_keywords: Callable[..., None] | None
"""Serves the calls of a message class without running its initializer; None where nothing is compiled."""

compiled_header_reader: Callable[[Buffer, int, dict[int, int]], tuple[int, int, int, str, int]] | None
"""The twin of header.read_request_header; None where nothing is compiled."""

try:
    from kafka_zk.protocol import _codec

    compiled_header_reader = _codec.read_request_header
    make_by_keywords = _codec.make_by_keywords
    CODEC = "compiled"
except ImportError:
    compiled_header_reader = make_by_keywords = None
    CODEC = "pure"


class Codec(NamedTuple):
    """One version of a message: bytes to object, object to bytes, object to bytes with slices of files between."""

    decode: Callable[[], Decoder]
    encode: Callable[[], Encoder]
    encode_parts: Callable[[], PartsEncoder]


def codec_for(name: str, root: Struct, version: int, *, flexible: bool) -> Codec:
    """The functions of one version; each is made when it is asked for."""
    if CODEC == "compiled":
        plan = _codec.Plan(name, root, version, flexible)
        return Codec(lambda: plan.decode, lambda: plan.encode, lambda: plan.encode_parts)
    return pure_codec_for(name, root, version, flexible=flexible)


def pure_codec_for(name: str, root: Struct, version: int, *, flexible: bool) -> Codec:
    """The same from generated Python."""

    def made_by(compiler: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: compiler(name, root, version, flexible=flexible)

    return Codec(made_by(compile_decoder), made_by(compile_encoder), made_by(compile_parts_encoder))
